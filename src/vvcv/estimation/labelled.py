"""An estimate in the containers of other tools: pandas tables, xarray datasets, ArviZ's inference data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import require
from ..data.validation import repeated
from .numbers import Numbers

if TYPE_CHECKING:
    import xarray as xr

    from ..report.frame import Frame


def summary_of(estimate: Numbers) -> Frame:
    """One row per task: the estimate, the plain average, the gain, and the independent draws it is worth."""
    from ..report.frame import frame  # pandas takes half a second

    plain = estimate.monte_carlo
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(estimate.sizes) * plain.std_error if plain.std_dev is None else plain.std_dev
        worth = (spread / estimate.std_error) ** 2
    columns = {
        "mean": estimate.mean,
        "std_error": estimate.std_error,
        "plain_mean": plain.mean,
        "plain_std_error": plain.std_error,
        "gain": estimate.gain,
        "ess_worth": worth,
        "n": np.array(estimate.sizes),
        "method": np.array(estimate.methods, dtype=object),
    }
    return frame(estimate.names, columns, [f"method {estimate.method}, {estimate.seconds:.1f} s", *estimate.alarms()])


def to_xarray(estimate: Numbers) -> xr.Dataset:
    """A dataset with one row per task."""
    import xarray as xr  # takes half a second, and a table does not need it

    return xr.Dataset(
        {name: ("task", column) for name, column in estimate.columns().items()},
        coords={"task": list(estimate.names)},
        attrs={"method": estimate.method, "seconds": estimate.seconds, "shared_points": int(estimate.share_points)},
    )


def matrices(estimate: Numbers) -> xr.Dataset:
    """What tasks have in common, task by task: the correlation of the model, and the covariance of the estimates."""
    import xarray as xr

    dims = ("task", "other_task")
    return xr.Dataset(
        {"task_correlation": (dims, estimate.task_correlation), "covariance": (dims, estimate.covariance)},
        coords={name: list(estimate.names) for name in dims},
    )


def to_inference_data(estimate: Numbers) -> Any:
    """ArviZ's `InferenceData` (0.x) or xarray's `DataTree` (ArviZ 1.x) with the draws and the estimates.

    `posterior` holds the values of each task, `sample_stats` points and scores under the names that nutpie gives them,
    `estimate` one row per task. A slash in a name, which to netCDF is a group, is an underscore in the posterior.
    """
    try:
        import arviz
    except ImportError as error:
        raise ImportError('to_inference_data needs ArviZ: pip install "vvcv[arviz]"') from error
    groups: dict[str, Any] = {**_draws(estimate), "estimate": to_xarray(estimate)}
    if arviz.__version__.startswith("0."):  # 1.x answers to the old name, with another class
        import warnings

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*not defined in the InferenceData scheme", category=UserWarning)
            return arviz.InferenceData(**groups)
    import xarray as xr

    return xr.DataTree.from_dict(groups)


def _draws(estimate: Numbers) -> dict[str, xr.Dataset]:
    import xarray as xr

    tasks = estimate.tasks
    if tasks is None:
        raise ValueError(
            "Inference data hold the draws, but this estimate has none: it was loaded from a file, or its rows were "
            "read block by block. Run estimate on draws in memory, or use to_xarray."
        )
    require(
        len(tasks) == 1 or tasks.share_points,
        "Inference data hold many integrands on one sample, but these tasks have points of their own. Use to_xarray.",
    )
    chains = tasks[0].chains or (1, tasks[0].size)
    axes = ("chain", "draw", "unconstrained_parameter")
    names = [name.replace("/", "_") for name in tasks.names]
    twice = repeated(names)
    require(
        not twice,
        f"Inference data have underscores for the slashes in names, so that {twice} occur more than once. Rename "
        "these tasks, or use to_xarray.",
    )
    taken = [name for name in names if name in axes[:2]]
    require(not taken, f"Inference data have axes named {taken}, so that no task can be. Rename it, or use to_xarray.")
    ticks = {"chain": np.arange(chains[0]), "draw": np.arange(chains[1])}
    values = {name: (axes[:2], task.values.reshape(chains)) for name, task in zip(names, tasks, strict=True)}
    rows = {"unconstrained_draw": tasks[0].points, "gradient": tasks[0].scores}
    stats = {name: (axes, array.reshape(*chains, -1)) for name, array in rows.items()}
    return {"posterior": xr.Dataset(values, coords=ticks), "sample_stats": xr.Dataset(stats, coords=ticks)}
