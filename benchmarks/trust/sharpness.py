"""Are error bars honest and no wider than they need be? Smooth problems: coverage, sharpness, interval score.

    python benchmarks/trust/sharpness.py [--replications 50] [--jobs 2] [--out FILE]

    interval score = (u - l) + 2 / .05 (distance of the exact mean from [l, u]), of the 95 % interval [l, u]

in units of the plain average's root mean square error (Gneiting and Raftery 2007, section 6.2). The five smooth
problems of `problems.py`, ten new ones, and the demo (the borehole's dear mean from 20 runs of each model, by "vv").
Scores relative to those of an earlier version: `earlier.py`.

Bars: pooled coverage 93 to 97.5 %, median over problems of standard error over RMSE .8 to 2, the demo's standard error
within a factor 4 of its error.
Tuned on seeds from 20000 and, of the pairs, from 13800, reported from 107100.
"""

from __future__ import annotations

import functools

import numpy as np
from distributions import Banana, Gaussian, Logistic, Modes
from misses import cases as pairs
from nested import LogGamma
from scipy import special
from study import Column, Lines, chosen, collect, measured, only, options, record, show, summarised

import vvcv
from problems import Problem, one, problems, separate
from vvcv.problems import borehole

COLUMNS = (
    Column("runs", "replications", "{:d}"),
    Column("covers", "coverage", "{:.1%}"),
    Column("bar / RMSE", "bar over error", "{:.2f}"),
    Column("RMSE / plain", "over plain"),
    Column("interval score", "interval score", "{:.3g}"),
    Column("largest z", "largest z", "{:.1f}"),
    Column("s", "seconds", "{:.1f}"),
)
POOLED = (
    Column("pooled coverage", "coverage", "{:.1%}", 0.93, 0.975),
    Column("median bar / RMSE", "bar over error", "{:.2f}", 0.8, 2.0),
    Column("demo's bar / RMSE", "demo", "{:.2f}", 0.25, 4.0),
)


@functools.cache
def cases() -> dict[str, Problem]:
    """The smooth problems, old and new, and the demo."""
    old = [problem for problem in problems().values() if problem.smooth]
    return {problem.name: problem for problem in [*old, *_new()]}


def _new() -> list[Problem]:
    three, eight, banana = Gaussian.standard(3), Gaussian.standard(8), Banana(0.7, 0.6)
    weights = 0.6 / np.arange(1, 9)
    bent = Gaussian((0.5, -0.5), ((1.0, -0.6), (-0.6, 1.0)))
    both = np.array([borehole.EXACT_LOW, borehole.EXACT_HIGH])
    return [
        one("new: wave, 3-d", three, 100, lambda x: np.sin(x.sum(axis=1) + 0.5), np.sin(0.5) * np.exp(-1.5)),
        one("new: ridge, 8-d", eight, 150, lambda x: np.exp(x @ weights / 2), np.exp(weights @ weights / 8)),
        one("new: hill, 2-d", bent, 60, lambda x: np.exp((x[:, 0] - x[:, 1]) / 4), np.exp(0.25 + 3.2 / 32)),
        one("new: logistic, square", Logistic(), 80, lambda x: x[:, 0] ** 2 / 4, np.pi**2 / 12),
        one("new: banana", banana, 100, lambda x: x[:, 0] ** 2 * x[:, 1], 2 * 0.7),
        one("new: near modes", Modes((1.0, 0.5), 0.8, 0.6), 100, lambda x: x[:, 0] * x[:, 1], 0.5),
        one(
            "new: log-gamma, root",
            LogGamma(3.0, 2),
            80,
            lambda x: np.exp(x.sum(axis=1) / 2),
            float(special.gamma(3.5) / special.gamma(3.0)) ** 2,
        ),
        Problem("new: fifteen integrands", _many, np.concatenate([np.exp(-(RATES**2) / 2), np.zeros(7), [1.0]])),
        Problem("new: currin", pairs()["currin"].draw, pairs()["currin"].exact),
        Problem("new: epidemic", pairs()["epidemic"].draw, pairs()["epidemic"].exact),
        Problem("demo", separate([(borehole, 20, borehole.low), (borehole, 20, borehole.high)]), both),
    ]


RATES = np.linspace(0.3, 1.5, 7)


def _many(seed: int) -> vvcv.Tasks:
    """Waves of two coordinates and a product, all at the same 100 points."""
    x = np.random.default_rng(seed).normal(size=(100, 2))
    waves = [np.cos(np.outer(x[:, 0], RATES)), np.sin(np.outer(x[:, 1], RATES))]
    return vvcv.Tasks.shared(x, -x, np.column_stack([*waves, 1 + x[:, 0] * x[:, 1]]))


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """One data set."""
    problem = cases()[case]
    if case == "demo":
        return only(measured(case, seed, problem.draw(seed), problem.exact, ["vv"]), [1])
    return measured(case, seed, problem.draw(seed), problem.exact, methods)


def pooled(rows: dict[str, dict]) -> dict:
    """Over problems: each counts once."""
    demo = rows.get("demo")
    smooth = [row for name, row in rows.items() if name != "demo"]
    return {
        "coverage": float(np.mean([row["coverage"] for row in smooth])) if smooth else None,
        "bar over error": float(np.median([row["bar over error"] for row in smooth])) if smooth else None,
        "demo": demo["bar over error"] if demo else None,
    }


def main() -> None:
    """Run, print and record."""
    given = options(__doc__).parse_args()
    names = chosen(cases(), given.cases)
    lines = collect(replicate, names, given)
    rows = summarised(lines, names, given.methods[:1]) | summarised(lines, ["demo"], ["vv"])
    show("sharpness", rows, COLUMNS)
    show("all smooth problems", {"together": pooled(rows)}, POOLED)
    record(given, rows=rows, together=pooled(rows))


if __name__ == "__main__":
    main()
