"""Settings of the whole test suite: one thread, no display, reproducible examples.

VVCV_FUZZ_EXAMPLES says how many examples each property test draws, from a fresh seed:
`VVCV_FUZZ_EXAMPLES=500 pytest -m hypothesis --hypothesis-seed=1`.
"""

import os
import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts programs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

import pytest  # noqa: E402  (threads are read when NumPy is first imported)
from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "default",
    derandomize="VVCV_FUZZ_EXAMPLES" not in os.environ,  # derandomised, Hypothesis ignores its seed
    deadline=None,
    database=None,
    max_examples=int(os.environ.get("VVCV_FUZZ_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("default")


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    """Of more than twenty open figures matplotlib warns, whichever test opened them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
