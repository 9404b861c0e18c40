"""Heavy tails and separate modes: coverage or an alarm that says why, no harm, and no alarm where none is due.

    python benchmarks/trust/tails.py [--cases modes ...] [--replications 40] [--jobs 2] [--out FILE]

    Student    |x_1| + x_d under t with 3 and 5 degrees of freedom, d = 1, 2, 4, 8, n = 50, 100, 400
    lognormal  exp(x) and exp(2x) under N(0, 1), n = 50, 100, 400
    modes      x_1 under N(0, I) / 2 + N(a e_1, I) / 2, a = 6, 8, 10, d = 1, 2, 5, 10, n = 200; a point is of the second
               mode with probability .5 (even visits), .2 or .05 (uneven ones, with the scores of even modes)

Bars: a case covers in at least 85 % of samples or raises an alarm that says why in at least 95 %; RMSE at most 1.05
times the plain average's. On the well-behaved targets of `alarms.py` any alarm is false: at most 2 % of all samples.
Tuned on seeds from 20000, reported from 50000.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from alarms import Draw, linear, task_of
from alarms import cases as alarm_cases
from distributions import Gaussian, Student
from scipy import integrate, stats
from study import Column, Lines, chosen, collect, grouped, loud, measured, options, record, show, summarised

import vvcv

COVERS, ALARMS, FALSE, HARM = 0.85, 0.95, 0.02, 1.05
TAILS, MODES = ("heavy-tails", "heavy-values", "heavy-scores"), ("separate-modes",)

COLUMNS = (
    Column("runs", "replications", "{:d}"),
    Column("covers", "coverage", "{:.0%}"),
    Column("alarm that says why", "alarms", "{:.0%}"),
    Column("covers or alarm", "held", "{:d}", low=1),
    Column("RMSE / plain", "over plain", high=HARM),
    Column("(se)", "over plain, standard error", "{:.2g}"),
    Column("plain covers", "plain coverage", "{:.0%}"),
    Column("s", "seconds", "{:.1f}"),
)
CHECKED = (Column("runs", "replications", "{:d}"), Column("false alarms", "false", "{:.1%}", high=FALSE))


class Hard(NamedTuple):
    """Data, their exact mean, and the codes of alarms that say what is hard."""

    draw: Draw
    exact: float
    codes: tuple[str, ...]


@functools.cache
def cases() -> dict[str, Hard]:
    """All hard cases by name."""
    found = {}
    for freedom in (3, 5):
        exact = 2 * integrate.quad(lambda x, law: x * law.pdf(x), 0, np.inf, args=(stats.t(freedom),))[0]
        for d in (1, 2, 4, 8):
            for n in (50, 100, 400):
                draw = task_of(Student(freedom, d), linear, n)
                found[f"Student {freedom}, d={d}, n={n}"] = Hard(draw, exact, TAILS)
    for rate in (1, 2):
        for n in (50, 100, 400):
            draw = task_of(Gaussian.standard(1), functools.partial(_growth, rate), n)
            found[f"lognormal exp({rate}x), n={n}"] = Hard(draw, float(np.exp(rate**2 / 2)), TAILS)
    for distance in (6.0, 8.0, 10.0):
        for d in (1, 2, 5, 10):
            for share in (0.5, 0.2, 0.05):
                visits = "even" if share == 0.5 else f"{share:.0%}"
                name = f"modes {distance:g} apart, d={d}, visits {visits}"
                found[name] = Hard(modes(d, distance, share), distance / 2, MODES)
    return found


@functools.cache
def well_behaved() -> dict[str, Draw]:
    """Targets on which no alarm is due."""
    return {f"well-behaved: {name}": draw for name, due, draw in alarm_cases() if not due}


def modes(d: int, distance: float, share: float, n: int = 200) -> Draw:
    """Modes of equal weight, of which the second is visited with probability `share`."""

    def draw(rng: np.random.Generator) -> vvcv.Task:
        x = rng.normal(size=(n, d))
        x[rng.random(n) < share, 0] += distance
        scores = -x
        scores[:, 0] += distance * stats.logistic.cdf(distance * x[:, 0] - distance**2 / 2)
        return vvcv.Task(x, scores, x[:, 0])

    return draw


def _growth(rate: float, x: np.ndarray) -> np.ndarray:
    return np.exp(rate * x[:, 0])


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """Estimates on hard cases with the alarms that say why, checks alone on well-behaved ones."""
    rng = np.random.default_rng(seed)
    if case in well_behaved():
        found = vvcv.check(well_behaved()[case](rng))
        return [{"case": case, "seed": seed, "method": "check", "alarms": loud(found)}]
    hard = cases()[case]
    lines = measured(case, seed, vvcv.Tasks([hard.draw(rng)]), np.array([hard.exact]), methods, check=True)
    return [line | {"alarms": [code for code in line["alarms"] if code in hard.codes]} for line in lines]


def main() -> None:
    """Run, print and record."""
    given = options(__doc__).parse_args()
    hard, good = chosen(cases(), given.cases), chosen(well_behaved(), given.cases)
    lines = collect(replicate, hard + good, given)
    rows = summarised(lines, hard, given.methods)
    for row in rows.values():
        row["held"] = int(row["coverage"] >= COVERS or row["alarms"] >= ALARMS)
    show("tails and modes", rows, COLUMNS)
    quiet = [line for line in lines if line["method"] == "check"]
    checked = {case: _rate(group) for (case, _), group in grouped(quiet).items()} | {"all": _rate(quiet)}
    show("well-behaved targets", checked, CHECKED)
    record(given, rows=rows, well_behaved=checked)


def _rate(lines: Lines) -> dict:
    false = sum(bool(line["alarms"]) for line in lines)
    return {"replications": len(lines), "false": false / max(len(lines), 1)}


if __name__ == "__main__":
    main()
