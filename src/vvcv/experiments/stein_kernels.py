"""Appendix E.1: the matrix-valued Stein kernel K_0 of three base kernels, seen through 1' K_0(x, y), two targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import Kernel, Polynomial, Separable, Side, SquaredExponential
from ..kernels.coregionalization import Full
from ..report import pyplot
from ..stein import SteinKernel, gram
from .experiment import Cell, Experiment, Method, Vector
from .results import Results
from .tables import markdown, preamble

UNIT: Any = 1.0  # lengthscale
VARIANCES = (1.0, 1.25)
B = np.array([[1.0, 0.1], [0.1, 1.0]])
BASES: dict[str, Kernel] = {
    "squared exponential": SquaredExponential(UNIT),
    "polynomial, degree 1": Polynomial(1, 1.0),
    "polynomial, degree 2": Polynomial(2, 1.0),
}
GRID = np.linspace(-3, 3, 121)
CENTRES = (-1.0, 0.0, 1.0, 2.0)


class SteinKernels(Experiment):
    """Curves of both outputs of 1' K_0(x, y) against x, for several y."""

    name = "stein-kernels"
    title = "The matrix-valued Stein kernel K_0 (Appendix E.1, figure)"
    metric = "distance of the mean of 1' K_0(., y) under the targets from zero, by quadrature"
    replications = quick_replications = 1
    notes = (
        "Targets N(0, 1) and N(0, 1.25), B = [[1, 0.1], [0.1, 1]], K = B k, as in the paper; a figure without numbers.",
    )

    def cells(self, quick: bool) -> tuple[Cell, ...]:
        return tuple(Cell.of(kernel=base, y=y) for base in BASES for y in CENTRES)

    def methods(self, quick: bool) -> dict[str, Method]:
        return {"K0": Method("K_0", _curves)}

    def data(self, cell: Cell, seed: int) -> None:
        return None

    def columns(self, cell: Cell) -> tuple[str, ...]:
        return tuple(f"output {t + 1} at x={x:.2f}" for t in range(2) for x in GRID)

    def error(self, cell: Cell, answer: Vector) -> float:
        """Each output must have mean zero under its own target (paper, eq. 5), here by Gauss-Hermite quadrature."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        means = [
            weights @ projection(BASES[cell["kernel"]], np.sqrt(v) * nodes, cell["y"], t) / weights.sum()
            for t, v in enumerate(VARIANCES)
        ]
        return float(np.max(np.abs(means)))

    def figure(self, results: Results) -> Any:
        figure, axes = pyplot().subplots(3, 2, figsize=(10, 9), layout="constrained", sharex=True, sharey="row")
        for row, base in zip(axes, BASES, strict=True):
            for y in CENTRES:
                curves = results.answers("K0", Cell.of(kernel=base, y=y))[0].reshape(2, -1)
                for ax, curve in zip(row, curves, strict=True):
                    ax.plot(GRID, curve, label=f"y = {y:g}")
            row[0].set_ylabel(base)
        for t, ax in enumerate(axes[0]):
            ax.set_title(f"$(1^T K_0(x, y))_{t + 1}$, target N(0, {VARIANCES[t]:g})")
            axes[-1, t].set_xlabel("x")
        axes[0, 1].legend(frameon=False)
        return figure

    def table(self, results: Results) -> str:
        rows = [
            [cell["kernel"], f"{cell['y']:g}", *(f"{v:.4g}" for v in _at_zero(results, cell)), f"{error:.1e}"]
            for cell in results.cells
            for error in results.errors("K0", cell)
        ]
        header = ["kernel", "y", "output 1 at x = 0", "output 2 at x = 0", "distance of the mean from 0"]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([*preamble(results), markdown(header, rows), "", *notes]) + "\n"


def projection(base: Kernel, x: np.ndarray, y: float, output: int) -> np.ndarray:
    """(1' K_0(y, x))_t = sum_u K_0(y, x)_ut at points x."""
    stein = SteinKernel(Separable(Full(B), base))
    right = Side(x[:, None], -x[:, None] / VARIANCES[output], np.full(len(x), output))
    centre = np.full((2, 1), y)
    left = Side(centre, -centre / np.array(VARIANCES)[:, None], np.arange(2))
    return np.asarray(gram(stein, left, right)).sum(axis=0)


def _curves(cell: Cell, data: Sequence[Any], seeds: Sequence[int]) -> list[Vector]:
    base = BASES[cell["kernel"]]
    return [np.concatenate([projection(base, GRID, cell["y"], t) for t in range(2)]) for _ in data]


def _at_zero(results: Results, cell: Cell) -> np.ndarray:
    return results.answers("K0", cell)[0].reshape(2, -1)[:, len(GRID) // 2]
