"""`vvcv estimate FILE`, `vvcv summary FILE` and `vvcv convert IN OUT`: from files to answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..estimation.methods import METHODS
from .messages import DOUBTFUL, File, MaxGigabytes, in_one_line, most_bytes, require_places, say

if TYPE_CHECKING:
    from ..estimation import Estimate

Method = Annotated[str, typer.Option(help=f"auto, or one of {', '.join(METHODS)}.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def estimate_command(
    file: File,
    method: Method = "auto",
    as_json: AsJson = False,
    report: Annotated[Path | None, typer.Option(help="Write a page, OUT.html, with tables and pictures.")] = None,
    save: Annotated[Path | None, typer.Option(help="Store the estimate in a netCDF file.")] = None,
    max_gb: MaxGigabytes = 2.0,
) -> None:
    """Estimate the expectations of all tasks in a file, with error bars.

    Exit code 0: done; 1: done, but the data are wrong (the lines under the table say how), so do not believe the
    numbers; 2: the file cannot be read or the method cannot be used.

    Example: vvcv estimate draws.csv --report report.html
    """
    from .. import estimate
    from ..estimation.netcdf import need_engine
    from ..files.formats import read_tasks, require_ending

    with in_one_line():
        require_places(file, report, save)
        for path, kind in ((report, "HTML"), (save, "netCDF")):
            if path is not None:
                require_ending(path, kind)
        if save is not None:
            need_engine()
        # Alarms stand under the table and in the exit code.
        result = estimate(read_tasks(file, most_bytes(max_gb)), method, on_alarm="ignore")
    say(json.dumps(_as_json(result), indent=2, allow_nan=False) if as_json else str(result))
    with in_one_line():  # what cannot be written must not take the answer with it
        for path, write in ((report, result.report), (save, result.save)):
            if path is not None:
                write(path)
    if result.check is not None and result.check.worst == "error":
        raise typer.Exit(DOUBTFUL)


def summary_command(
    file: File,
    var_names: Annotated[list[str] | None, typer.Option("--var", help="Only this variable; may be repeated.")] = None,
    kind: Annotated[str, typer.Option(help="Interval of the draws: hdi (shortest) or eti (equal tails).")] = "hdi",
    prob: Annotated[float, typer.Option(help="Probability of that interval.")] = 0.94,
    method: Method = "auto",
    as_json: AsJson = False,
    max_gb: MaxGigabytes = 2.0,
) -> None:
    """Mean, standard deviation, interval and diagnostics of every variable, as after sampling.

    Exit codes are those of `vvcv estimate`.

    Example: vvcv summary posterior.nc --method zv
    """
    from ..estimation.summary import summary
    from ..files import read_tasks

    with in_one_line():
        tasks = read_tasks(file, most_bytes(max_gb))
        options = {"kind": kind, "prob": prob, "method": method, "on_alarm": "ignore"}  # alarms stand under the table
        table = summary(tasks, var_names or None, **options)  # type: ignore[arg-type]
    if as_json:
        rows = {str(name): {key: _number(value) for key, value in row.items()} for name, row in table.iterrows()}
        say(json.dumps({"variables": rows, "remarks": table.attrs["remarks"]}, indent=2))
    else:
        say(str(table))
    if any(remark.startswith("error") for remark in table.attrs["remarks"]):
        raise typer.Exit(DOUBTFUL)


def convert_command(
    source: Annotated[Path, typer.Argument(metavar="IN", help="The file to read, in any format.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write: .csv, .parquet, .npz, .nc, .zarr.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it exists.")] = False,
    max_gb: MaxGigabytes = 2.0,
) -> None:
    """Read points, scores and values from one format and write them in another.

    Example: vvcv convert draws.csv draws.nc
    """
    from ..files import read_tasks, write_tasks

    with in_one_line():
        if target.exists() and not overwrite:
            raise ValueError(f"{str(target)!r} exists. Choose another name, or add --overwrite.")
        tasks = read_tasks(source, most_bytes(max_gb))
        write_tasks(target, tasks)
    say(f"{target}: {tasks}")


def _as_json(result: Estimate) -> dict[str, Any]:
    columns = {name: column.tolist() for name, column in result.columns().items()}
    low, high = result.interval()
    columns |= {"interval_low": low.tolist(), "interval_high": high.tolist()}
    tasks = [
        {"name": name, **{key: _number(column[t]) for key, column in columns.items()}}
        for t, name in enumerate(result.names)
    ]
    return {"method": result.method, "seconds": result.seconds, "tasks": tasks, "alarms": result.alarms()}


def _number(value: Any) -> Any:
    """JSON has no nan and no infinity: null stands for them."""
    return None if isinstance(value, float) and value - value != 0 else value
