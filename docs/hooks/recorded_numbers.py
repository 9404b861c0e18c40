"""Tables of recorded numbers, for the pages and for the README: no page holds a number of its own.

    python docs/hooks/recorded_numbers.py     writes the README's table anew

A hook of MkDocs: a line `<!-- recorded: NAME -->` of a page becomes the table NAME. In the README, which no hook sees,
the table stands between that line and `<!-- end -->`, and a test compares.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from recorded import benchmark, table_rows  # noqa: E402

MARK = re.compile(r"<!-- recorded: ([\w-]+) -->")
BETWEEN = re.compile(r"(<!-- recorded: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with its tables of recorded numbers."""
    return MARK.sub(lambda found: TABLES[found[1]](), markdown)


def with_tables(text: str) -> str:
    """A file with the tables between its marks written anew."""
    return BETWEEN.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[4]}", text)


def results() -> str:
    """Mean errors on the paper's problems: plain average, published, the paper's method run here, ours."""
    problems = [
        ("borehole, 10 + 10 runs", "borehole", "m=10"),
        ("borehole, 50 + 50 runs", "borehole", "m=50"),
        ("borehole, 150 + 150 runs", "borehole", "m=150"),
        ("step function, 40 + 40 points", "step", "m=40"),
        ("model evidence, 20 draws for each temperature", "evidence", "samples=20"),
        ("Lotka-Volterra, 10 integrals, 500 draws", "lotka-volterra", "T=10, m=500"),
    ]
    rows = []
    for words, name, cell in problems:
        plain, paper, ours = (_row(name, cell, start) for start in ("MC", "vv-CV, B estimated", "ours: "))
        numbers = [plain["error"], paper["published"], paper["error"], f"**{ours['error']}**"]
        rows.append([words, *numbers, f"`results/{name}`"])
    header = ["mean absolute error", "plain average", "published vv-CV", "vv-CV run here", "vvcv", "recorded in"]
    return _markdown(header, rows)


def polynomials() -> str:
    """The borehole by polynomials and by everything."""
    cells = ("m=20", "m=50", "m=100", "m=150")
    rows = [
        [cell, *(_row("borehole", cell, start)["error"] for start in ("MC", "ours: zv", "ours: "))] for cell in cells
    ]
    return _markdown(["borehole", "plain average", "ZVCV (`zv`)", "vvcv"], rows)


def unrelated() -> str:
    """The benchmark of transfer: related and unrelated tasks."""
    record = benchmark("transfer")
    rows = [[kind, *(f"{record[kind][m]:.2g}" for m in ("mc", "cf", "vv"))] for kind in ("related", "unrelated")]
    return _markdown(["the cheap task is", "plain average", "dear task alone", "both tasks"], rows)


def trust() -> str:
    """All problems of the trust suite: error over that of the plain average, and coverage."""
    rows = [
        [
            name,
            f"{problem['methods']['auto']['rmse']:.2g}",
            f"{problem['methods']['zv']['rmse']:.2g}" if "zv" in problem["methods"] else "",
            f"{problem['methods']['auto']['coverage']:.0%}",
            f"{problem['plain coverage']:.0%}",
        ]
        for name, problem in benchmark("trust/suite")["problems"].items()
    ]
    header = ["problem", "vvcv", "ZVCV", "coverage of 95 % intervals", "plain average's"]
    return _markdown(header, rows)


def trust_words() -> str:
    """The trust suite in two sentences."""
    record = benchmark("trust/suite")
    suite = record["problems"]
    pooled = record["limits"]["pooled coverage"][0]
    worst = max(problem["methods"]["auto"]["rmse"] for problem in suite.values())
    least = min(suite, key=lambda name: suite[name]["methods"]["auto"]["coverage"])
    ours, plain = suite[least]["methods"]["auto"]["coverage"], suite[least]["plain coverage"]
    words = (
        f"On {len(suite)} problems with exact answers, easy and hard, errors of the default are at most {worst:.2f} "
        f"times those of the plain average, and its 95 % intervals hold {pooled:.1%} of the "
        f"exact answers (`benchmarks/trust/suite.json`). They hold least, {ours:.0%} (plain average {plain:.0%}), for "
        f"the {least}."
    )
    return textwrap.fill(words, 120)


def hard() -> str:
    """The rows of the trust suite where control variates help least."""
    suite = benchmark("trust/suite")["problems"]
    rows = [
        [words, f"{suite[name]['methods']['auto']['rmse']:.2f}", f"{suite[name]['methods']['auto']['coverage']:.0%}"]
        for name, words in HARD.items()
    ]
    return _markdown(["problem", "error over the plain average's", "coverage of 95 % intervals"], rows)


def simulators() -> str:
    """Simulators of three costs: plain average, multifidelity Monte Carlo, a Gaussian process over the tasks, vvcv."""
    peers = benchmark("peers")
    rows = [
        [
            name,
            " + ".join(str(n) for n in row["runs"].values()),
            f"{row['plain average']:.2g}",
            *(f"{peers[name][method]['mean absolute error']:.2g}" for method in ("mfmc", "gp")),
            f"{row['mean absolute error']:.2g}",
        ]
        for name, row in benchmark("simulators").items()
    ]
    header = ["problem", "runs", "plain average of the dear runs", "multifidelity Monte Carlo"]
    return _markdown([*header, "Gaussian process over the tasks", "vvcv"], rows)


def alarms() -> str:
    """How often the checks find a mistake in the scores, and name it."""
    rows = [
        [name, f"{row['flagged']:.0%}", f"{row['named']:.0%}"]
        for name, row in benchmark("trust/check_power")["mistakes"].items()
        if name.startswith("gaussian")
    ]
    return _markdown(["mistake", "found", "named"], rows)


def time_to_answer() -> str:
    """Seconds of default estimates."""
    rows = [
        [name, f"{row['seconds']:.0f}", f"{row['peak_gigabytes']:.2g}", f"{row['error_over_plain']:.1g}"]
        for name, row in benchmark("time_to_answer")["rows"].items()
    ]
    return _markdown(["problem", "seconds", "memory, GB", "error over the plain average's"], rows)


def stacking() -> str:
    """Rules by which the same candidates are weighed."""
    rows = [
        [
            rule,
            *(f"{row[key]:.2f}" for key in ("error over that of powers", "largest such ratio")),
            f"{row['interval score over that of powers']:.2f}",
            f"{row['coverage']:.0%}",
            f"{row['least coverage']:.0%}",
        ]
        for rule, row in benchmark("trust/stacking")["pooled"].items()
    ]
    header = ["weights by", "error over that of powers", "on the worst problem", "interval score over that of powers"]
    return _markdown([*header, "coverage of 95 % intervals", "on the worst problem"], rows)


HARD = {
    "discontinuous, step": "a step in one dimension, two fidelities",
    "discontinuous, 2-d corner": "a step along a line in two dimensions",
    "rare event": "the probability of a rare event",
    "misspecified, fast wave": "a wave much faster than the points are dense",
    "student target, bounded": "a target with heavy tails",
    "unbounded integrand": "an integrand that grows exponentially",
    "multimodal target": "two modes with a gap between them",
    "banana target": "a banana-shaped target",
    "d = 50, n = 60": "50 dimensions, 60 points",
}

TABLES = {
    "results": results,
    "polynomials": polynomials,
    "transfer": unrelated,
    "trust": trust,
    "trust-words": trust_words,
    "hard": hard,
    "simulators": simulators,
    "alarms": alarms,
    "time": time_to_answer,
    "stacking": stacking,
}


def _row(experiment: str, cell: str, start: str) -> dict[str, str]:
    """The first row of an experiment's table in this cell whose method starts with the word."""
    return next(row for row in table_rows(experiment) if row["cell"] == cell and row["method"].startswith(start))


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, *rows]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], "|" + "---|" * len(header), *text[1:]])


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")
