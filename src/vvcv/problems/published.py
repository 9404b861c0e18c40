"""The numbers printed in the paper, and those recomputed from its authors' replicates where it shows only a plot.

    load("borehole")["vv_estimated_B"]     mean absolute errors at the sample sizes load("borehole")["m"]

Reference: paper, Tables 2, 3 and 5 and the figures of Section 5 and Appendix E; each entry names its place in `where`.
"""

from typing import Any

from vvcv.problems.data import read_json

_FILE = "published.json"


def names() -> tuple[str, ...]:
    """The experiments whose published numbers are stored."""
    return tuple(name for name in read_json(_FILE) if name != "source")


def load(name: str) -> dict[str, Any]:
    """The published numbers of one experiment, with notes on where text and program differ."""
    if name not in names():
        raise ValueError(f"name must be an experiment of the paper; found {name!r}; choose from {', '.join(names())}.")
    return read_json(_FILE)[name]
