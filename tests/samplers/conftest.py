"""PyTensor by JAX: compiling C takes longer than all these tests together, and needs a compiler."""

import os

import pytest

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,mode=JAX")

collect_ignore_glob = ["*_run*.py"]  # they import samplers that may be missing, and hold no doctests

#: Adapters that read the draws of another's run.
SAME_RUN = {"logdensity": "blackjax", "arviz": "nutpie"}


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(config, items):
    """Tests of one run in one process (with `--dist loadgroup`), so that nothing is sampled twice."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if "adapter" in params:
            run = f"{SAME_RUN.get(params['adapter'], params['adapter'])} {params.get('problem', 'schools')}"
            item.add_marker(pytest.mark.xdist_group(run))
