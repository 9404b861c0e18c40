"""Are candidates better weighed by their merits, or stacked? The same fits, four rules.

    python benchmarks/trust/stacking.py [--replications 50] [--first-seed 20000] [--jobs 2] [--out FILE]

    powers         w_k ~ exp(-5 merit_k), the merit with its price and credits: `vvcv/estimation/weights.py`
    stacking       min sum_i (sum_k w_k r_ik)^2,  w >= 0, sum w = 1, r_ik the residual of value i left out by fit k
    cross-fitted   the same weights, of the fits' cross-fitted means and their errors
    pseudo-BMA+    w_k ~ mean over Bayesian bootstraps b of exp(n sum_i b_i log N(r_ik; 0, s_k^2)),  s_k^2 = mean r_ik^2

(Yao, Vehtari, Simpson, Gelman 2018.) The plain average is one of the fits everywhere. The error bar is that of the
mixture, as in `weights.combine`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import hypot

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls
from scipy.stats import t
from study import Column, Lines, chosen, collect, options, record, show, summarised

from problems import problems
from vvcv.candidates.fits import KernelFit
from vvcv.candidates.kernel import Options
from vvcv.candidates.one_function import OneFunctionFit
from vvcv.candidates.polynomial import PolynomialFit
from vvcv.data import Prepared
from vvcv.estimation.ladder import Ladder
from vvcv.estimation.weights import Answer, combine
from vvcv.estimation.witness import in_order

#: Problems that take a second or less, easy and hard.
CHEAP = (
    "smooth, 1-d",
    "smooth, correlated 3-d",
    "smooth, logistic target",
    "discontinuous, step",
    "rare event",
    "misspecified, kinks",
    "student target, bounded",
    "unbounded integrand",
    "banana target",
    "n = 5",
    "very unequal sizes",
    "unrelated tasks",
)
COLUMNS = (
    Column("runs", "replications", "{:d}"),
    Column("RMSE / plain", "over plain"),
    Column("covers", "coverage", "{:.1%}"),
    Column("bar / RMSE", "bar over error", "{:.2f}"),
    Column("interval score", "interval score", "{:.3g}"),
)


class Remembering(Ladder):
    """A ladder that keeps the left-out residuals of every fit beside its answer."""

    def __init__(self, prepared: Prepared) -> None:
        super().__init__(prepared, Options())
        self.residuals: dict[Answer, Float[np.ndarray, " n"]] = {}

    def _polynomial_answers(self, fit: PolynomialFit, task: int) -> list[Answer]:
        return self._kept(super()._polynomial_answers(fit, task), fit.leave_one_out, task)

    def _answers(self, method: str, fit: KernelFit | OneFunctionFit, task: int) -> list[Answer]:
        return self._kept(super()._answers(method, fit, task), fit.left_out(fit.members.index(task)), task)

    def _kept(self, answers: list[Answer], left_out: Float[np.ndarray, " n"], task: int) -> list[Answer]:
        distinct = self.prepared.distinct[task]
        self.residuals[answers[0]] = in_order(distinct, left_out * distinct.multiplicity)
        return answers

    def offered(self) -> list[list[Answer]]:
        """All candidates for each task; the plain average has residuals too."""
        answers = self.automatic()
        for task, plain in zip(self.prepared.tasks, self.plain, strict=True):
            self.residuals[plain] = (task.values - task.values.mean()) * task.size / (task.size - 1)
        return answers


def powers(answers: Sequence[Answer], residuals: dict) -> Answer:
    """The rule of the library."""
    return combine(answers)


def stacking(answers: Sequence[Answer], residuals: dict) -> Answer:
    """The convex program on left-out residuals."""
    fits = [answer for answer in answers if answer in residuals]
    return _mixed(fits, stacked(np.column_stack([residuals[fit] for fit in fits])))


def cross_fitted(answers: Sequence[Answer], residuals: dict) -> Answer:
    """The same weights for the fits' witnesses, which follow them in the list."""
    fits = [k for k, answer in enumerate(answers) if answer in residuals]
    witnesses = [answers[k] if answers[k].method == "mc" else answers[k + 1] for k in fits]
    return _mixed(witnesses, stacked(np.column_stack([residuals[answers[k]] for k in fits])))


def pseudo_bma(answers: Sequence[Answer], residuals: dict) -> Answer:
    """Averages over Bayesian bootstraps of the rows."""
    fits = [answer for answer in answers if answer in residuals]
    left = np.column_stack([residuals[fit] for fit in fits])
    squares = np.maximum(np.mean(left**2, axis=0), 1e-300)
    density = -0.5 * (np.log(squares) + left**2 / squares)
    shares = np.random.default_rng(0).dirichlet(np.ones(len(left)), size=1000)
    total = len(left) * shares @ density
    weights = np.exp(total - total.max(axis=1, keepdims=True))
    return _mixed(fits, np.mean(weights / weights.sum(axis=1, keepdims=True), axis=0))


RULES: dict[str, Callable[[Sequence[Answer], dict], Answer]] = {
    "powers": powers, "stacking": stacking, "cross-fitted": cross_fitted, "pseudo-BMA+": pseudo_bma
}  # fmt: skip


def stacked(residuals: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """Weights that make the mixed residuals smallest, by non-negative least squares with a heavy row for their sum.

    >>> stacked(np.array([[1.0, -1.0], [-1.0, 1.0]])).round(3)
    array([0.5, 0.5])
    """
    scale = max(np.sqrt(np.mean(residuals**2, axis=0)).min(), 1e-300)
    columns = np.vstack([residuals / scale, np.full((1, residuals.shape[1]), 1e4 * np.sqrt(len(residuals)))])
    weights = nnls(columns, np.append(np.zeros(len(residuals)), columns[-1, 0]), maxiter=1000)[0]
    return weights / weights.sum()


def _mixed(answers: Sequence[Answer], weights: Float[np.ndarray, " k"]) -> Answer:
    best = answers[int(np.argmax(weights))]
    mean = best.mean + sum(w * (a.mean - best.mean) for w, a in zip(weights, answers, strict=True))
    doubt = [np.sqrt(w) * hypot(a.std_error, a.mean - mean) for w, a in zip(weights, answers, strict=True)]
    freedom = float(sum(w * a.freedom for w, a in zip(weights, answers, strict=True)))
    return replace(best, mean=mean, std_error=hypot(*doubt), freedom=freedom)


def replicate(case: str, seed: int, rules: list[str]) -> Lines:
    """One data set, one ladder, all rules."""
    problem = problems()[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ladder = Remembering(Prepared.of(problem.draw(seed)))
        offered = ladder.offered()
    plain = {"plain": [a.mean for a in ladder.plain], "plain_std_error": [a.std_error for a in ladder.plain]}
    plain["plain"] = (np.array(plain["plain"]) - problem.exact).tolist()
    lines = []
    for rule in rules:
        made = [RULES[rule](answers, ladder.residuals) for answers in offered]
        error = np.array([a.mean for a in made]) - problem.exact
        bar = np.array([a.std_error for a in made])
        reach = bar * t.ppf(0.975, [a.freedom for a in made])
        line = {"case": case, "seed": seed, "method": rule, "error": error, "std_error": bar}
        line |= {"low": error - reach, "high": error + reach, "alarms": [], "seconds": 0.0}
        line |= {"rungs": [a.method for a in made], **plain}
        lines.append(line)
    return lines


def pooled(rows: dict[str, dict]) -> dict[str, dict]:
    """Over problems: errors and interval scores relative to those of the powers, as geometric means; coverage."""
    cases = [name.removesuffix(": powers") for name in rows if name.endswith(": powers")]
    result = {}
    for rule in RULES:
        pairs = [(rows[f"{case}: {rule}"], rows[f"{case}: powers"]) for case in cases if f"{case}: {rule}" in rows]
        ratio = {
            key: float(np.exp(np.mean([np.log(max(a[key], 1e-9) / max(b[key], 1e-9)) for a, b in pairs])))
            for key in ("over plain", "interval score")
        }
        worst = max(a["over plain"] / max(b["over plain"], 1e-9) for a, b in pairs)
        result[rule] = {
            "error over that of powers": ratio["over plain"],
            "largest such ratio": worst,
            "interval score over that of powers": ratio["interval score"],
            "coverage": float(np.mean([a["coverage"] for a, _ in pairs])),
            "least coverage": min(a["coverage"] for a, _ in pairs),
        }
    return result


def main() -> None:
    """Run, print and record."""
    given = options(__doc__, tuple(RULES), first_seed=20000).parse_args()
    names = chosen(CHEAP, given.cases)
    rows = summarised(collect(replicate, names, given), names, given.methods)
    show("problem", rows, COLUMNS)
    for rule, figures in (totals := pooled(rows)).items():
        print(f"{rule:14}", {key: round(value, 3) for key, value in figures.items()})
    record(given, pooled=totals, rows=rows)


if __name__ == "__main__":
    main()
