"""Table 1: measured growth of the time in n, T and d, beside the paper's orders.

Exact solutions: n T^2 unknowns in the paper's parametrisation, n T in the reduced one (the same function), n per task
for scalar CVs. Stochastic optimisation: a fixed number L of iterations on batches of 5 rows of every task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import Task, Tasks
from ..kernels import SquaredExponential
from ..paper.exact import Exact
from ..paper.fitting import fit
from ..paper.stochastic import BlockCoordinateDescent, StochasticOptimisation
from ..paper.variates import KernelVariate
from ..report import pyplot
from .experiment import Cell, Experiment, Method, Vector
from .results import Results
from .tables import markdown, preamble

AXES = ("n", "T", "d")
BASE = {"n": 100, "T": 2, "d": 4}
SMALL_N = 20  # of the cells that vary T, where the paper's system has n T^2 unknowns
SIZES = {"n": (100, 200, 400, 800), "T": (2, 4, 8, 12), "d": (4, 64, 256, 1024)}
QUICK_SIZES = {"n": (50, 100, 200), "T": (2, 4), "d": (4, 64)}
ITERATIONS, BATCH = 400, 5

#: Orders of the paper's Table 1 and their exponents of (n, T, d); d multiplies the cost of the Gram matrix alone.
ORDERS = {
    "cv_exact": ("d n^2 T + n^3 T", (3, 1, 1)),
    "vv_paper_exact": ("d n^2 T^4 + n^3 T^6", (3, 6, 1)),
    "vv_reduced_exact": ("ours: d n^2 T^2 + n^3 T^3", (3, 3, 1)),
    "cv_stochastic": ("d b n L T", (1, 1, 1)),
    "vv_stochastic": ("d b n L T^4", (1, 4, 1)),
}


class Complexity(Experiment):
    """Seconds of one fit, for growing n, T and d."""

    name = "complexity"
    title = "Growth of the time (Table 1)"
    metric = "largest absolute error of the means; seconds are in seconds.csv"
    replications, quick_replications = 7, 5
    notes = (
        "Exponent: slope of log seconds between the two largest sizes, the fastest of the replications. "
        "At these sizes fixed costs flatten the slopes, the more the cheaper the method.",
        "b and L are the batch size and the number of iterations. Where the Gram matrix is kept, as here, an "
        "iteration does not depend on d, and one coefficient in R^T for each of the n T points costs T^3, not T^4.",
    )

    def cells(self, quick: bool) -> tuple[Cell, ...]:
        sizes = QUICK_SIZES if quick else SIZES
        return tuple(_cell(axis, size) for axis in AXES for size in sizes[axis])

    def methods(self, quick: bool) -> dict[str, Method]:
        return {
            "cv_exact": Method("CV, exact", _separate(Exact())),
            "vv_paper_exact": Method("vv-CV, exact, n T^2 unknowns", _joint(Exact(), "paper")),
            "vv_reduced_exact": Method("vv-CV, exact, n T unknowns", _joint(Exact(), "reduced")),
            "cv_stochastic": Method("CV, stochastic", _separate(None)),
            "vv_stochastic": Method("vv-CV, stochastic", _joint(None, "paper")),
        }

    def data(self, cell: Cell, seed: int) -> Tasks:
        rng = np.random.default_rng(seed)
        parts = []
        for t in range(cell["T"]):
            x = rng.standard_normal((cell["n"], cell["d"]))
            parts.append(Task(x, -x, (1 + t) * np.mean(x**2, axis=1), name=f"task {t + 1}"))
        return Tasks(parts)

    def columns(self, cell: Cell) -> tuple[str, ...]:
        return tuple(f"task {t + 1}" for t in range(cell["T"]))

    def error(self, cell: Cell, answer: Vector) -> float:
        return float(np.max(np.abs(answer - np.arange(1, len(answer) + 1))))

    def table(self, results: Results) -> str:
        rows = [
            [
                results.methods[method].label,
                ORDERS[method][0],
                *(f"{exponent(results, method, axis):.1f} ({ORDERS[method][1][k]})" for k, axis in enumerate(AXES)),
                *(f"{results.fastest(method, _along(results, axis)[-1]):.3g}" for axis in AXES),
            ]
            for method in results.methods
        ]
        largest = [str(_along(results, axis)[-1]) for axis in AXES]
        header = ["method", "order", *(f"exponent of {axis} (of the order)" for axis in AXES)]
        header += [f"seconds at {cell}" for cell in largest]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([*preamble(results), markdown(header, rows), "", *notes]) + "\n"

    def figure(self, results: Results) -> Any:
        figure, axes = pyplot().subplots(1, 3, figsize=(13, 4.2), layout="constrained", sharey=True)
        for ax, axis in zip(axes, AXES, strict=True):
            cells = _along(results, axis)
            sizes = [cell[axis] for cell in cells]
            for k, (method, about) in enumerate(results.methods.items()):
                ax.loglog(
                    sizes, [results.fastest(method, c) for c in cells], "o-", ms=4, color=f"C{k}", label=about.label
                )
            fixed = ", ".join(f"{name} = {cells[0][name]}" for name in AXES if name != axis)
            ax.set_xlabel(f"{axis} ({fixed})")
            ax.set_xticks(sizes, [str(size) for size in sizes])
            ax.minorticks_off()
        axes[0].set_ylabel("seconds")
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8
        )
        return figure


def exponent(results: Results, method: str, axis: str) -> float:
    """Slope of log seconds against log size between the two largest sizes."""
    before, last = _along(results, axis)[-2:]
    ratio = results.fastest(method, last) / results.fastest(method, before)
    return float(np.log(ratio) / np.log(last[axis] / before[axis]))


def _along(results: Results, axis: str) -> list[Cell]:
    return [cell for cell in results.cells if cell["axis"] == axis]


def _cell(axis: str, size: int) -> Cell:
    values = BASE | ({"n": SMALL_N} if axis == "T" else {}) | {axis: size}
    return Cell.of(axis=axis, **values)


def _kernel(cell: Cell) -> SquaredExponential:
    return SquaredExponential(np.sqrt(cell["d"]))


def _descent(cell: Cell, tasks: int) -> StochasticOptimisation:
    batches = cell["n"] // BATCH
    settings: dict[str, Any] = {"epochs": ITERATIONS // batches, "batch_size": BATCH * tasks, "learning_rate": 1e-5}
    return BlockCoordinateDescent(**settings) if tasks > 1 else StochasticOptimisation(**settings)


def _joint(selection: Exact | None, parametrization: Any):
    def run(cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
        count = cell["T"]
        b = 0.5 + 0.5 * np.eye(count)
        variate = KernelVariate(_kernel(cell), b, parametrization=parametrization, scores="shared")
        return [fit(tasks, variate, selection or _descent(cell, count), seed=0).mean for tasks in data]

    return run


def _separate(selection: Exact | None):
    def run(cell: Cell, data: Sequence[Tasks], seeds: Sequence[int]) -> list[Vector]:
        variate = KernelVariate(_kernel(cell))
        return [
            np.array([fit(Tasks([t]), variate, selection or _descent(cell, 1), seed=0).mean[0] for t in tasks])
            for tasks in data
        ]

    return run
