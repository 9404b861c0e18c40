"""Section 5.3 and Appendix E.6: posterior mean abundance of the hare at T times, by 500 draws of NUTS (Tables 3 and 5).

No program was published for this problem. What the text leaves out is taken from the borehole's program: squared
lengthscales start at 10, B starts at 1.024e-5 I with its own rate 2e-5, the closed form has a nugget of 0.001. All
integrands are evaluated at one sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..data import Tasks
from ..kernels import Side, SquaredExponential
from ..paper.marginal_likelihood import MiniBatchMarginalLikelihood
from ..paper.variates.space import FeatureSpace
from ..problems import lotka_volterra, lotka_volterra_reference
from ..problems.published import load
from ..report import pyplot
from .errors import ErrorsByCell
from .experiment import Cell, Method, Published, Vector
from .figures import draw_errors
from .our_methods import our_methods
from .paper_methods import PaperVariate, Recipe, control_functional, joint, plain_average
from .results import Results

CHAINS, DRAWS = 4, 125
ROWS = {"mc": "MCMC", "cf_paper": "CF", "cf_single": "CF"}

#: Lengthscales from which tuning starts: squares of 10.
START: Any = np.full(8, np.sqrt(10.0))


class LotkaVolterra(ErrorsByCell):
    """Hares at 2, 5 or 10 times around 1913."""

    name = "lotka-volterra"
    title = "Lotka-Volterra, abundance of the hare (Table 3)"
    metric = "sum over tasks of the absolute error"
    replications, quick_replications = 10, 2
    times: ClassVar[Mapping[int, tuple[float, ...]]] = lotka_volterra.TASK_TIMES
    published_as: ClassVar[str] = "lotka_volterra"
    notes: tuple[str, ...] = (
        f"m = 500: {CHAINS} chains of NUTS (BlackJAX; paper: Stan) with {DRAWS} draws each after 500 of warmup; all "
        "integrands at the same draws. Truth: the project's long run, standard errors in its reference file.",
        "Batches of 10 points of each task. Starts of the lengthscales and of B, the rate of B and the nugget are not "
        "in the text, nor was a program published; those of the borehole's program are used. v_2(0) is read as "
        "exp(v_2(0)).",
        "The closed form in double precision is 40 to 570 times more accurate than published. Single precision, in "
        "which the authors' programs of the other problems run, loses its inverse to rounding: errors then range from "
        "far below the published ones to hundreds of times above, and a singular matrix has no number.",
        "Ten replications of errors that are nearly the same for all T tasks leave standard errors of a quarter; the "
        "paper gives none, and ours stand in for them.",
    )

    def cells(self, quick: bool) -> tuple[Cell, ...]:
        return tuple(Cell.of(T=count, m=CHAINS * DRAWS) for count in ((2,) if quick else sorted(self.times)))

    def methods(self, quick: bool) -> dict[str, Method]:
        fixed, learned, block = recipe(), recipe(learn_b=True), 2 if quick else 10
        return {
            "mc": replace(plain_average(), label="MCMC"),
            "cf_paper": control_functional("CF (closed form)", fixed, 1e-3),
            "cf_single": control_functional("CF (closed form, float32)", fixed, 1e-4, "float32"),
            "vv_fixed_B": joint("vv-CV, B fixed", fixed, block),
            "vv_estimated_B": joint("vv-CV, B estimated", learned, block),
        } | our_methods(quick)

    def data(self, cell: Cell, seed: int) -> Tasks:
        chains = lotka_volterra.sample_chains(seed, DRAWS, CHAINS)
        times = self.times[cell["T"]]
        values = lotka_volterra.abundance(chains.points.reshape(-1, chains.points.shape[-1]), times)
        return Tasks.shared(
            chains.points, chains.scores, values.reshape(CHAINS, DRAWS, -1), names=[f"hares {t:.1f}" for t in times]
        )

    def columns(self, cell: Cell) -> tuple[str, ...]:
        return tuple(f"task {t + 1}" for t in range(cell["T"]))

    def error(self, cell: Cell, answer: Vector) -> float:
        return float(np.sum(np.abs(answer - lotka_volterra_reference.load(self.times[cell["T"]]).mean)))

    def published(self, cell: Cell, method: str) -> Published | None:
        numbers = load(self.published_as)
        row = ROWS.get(method, method)
        row = row if row in numbers else "MC" if method == "mc" else row
        return Published(numbers[row][numbers["T"].index(cell["T"])]) if row in numbers else None

    def figure(self, results: Results) -> Any:
        figure, (left, middle, right) = pyplot().subplots(1, 3, figsize=(19, 4.5), layout="constrained")
        draw_posterior(left, self.times[10], "hare")
        draw_posterior(middle, self.times[10], "lynx")
        draw_errors(right, results)
        figure.legend(*right.get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=8)
        return figure


class LotkaVolterraAdditional(LotkaVolterra):
    """The same around 1915."""

    name = "lotka-volterra-additional"
    title = "Lotka-Volterra, additional times (Table 5)"
    notes = (
        *LotkaVolterra.notes,
        "By the standard deviations and effective sizes of the long run, plain averages of 500 draws have expected "
        "errors of 0.13, 0.27 and 0.85 here. The published ones are those of 120 to 160 effective draws, and published "
        "vv-CVs are larger than ours by factors alike (1.5 to 3): what differs is the draws.",
    )
    times = lotka_volterra.ADDITIONAL_TASK_TIMES
    published_as = "lotka_volterra_additional"


def recipe(learn_b: bool = False) -> Recipe:
    """Appendix E.6: batches of 10 points, rate 0.001, 400 epochs, lambda 1e-5; tuning with rate 0.01, 10 epochs."""

    def fixed_b(cell: Cell) -> np.ndarray:
        return 5e-5 + 4.5e-4 * np.eye(cell["T"])

    return Recipe(
        kernel=lambda cell: SquaredExponential(START),
        tuning=MiniBatchMarginalLikelihood(epochs=10, batch_size=10, learning_rate=0.01),
        rate=lambda cell: 1e-3,
        batch_size=lambda cell: 10 * cell["T"],
        coregionalization=(lambda cell: 1.024e-5 * np.eye(cell["T"])) if learn_b else fixed_b,
        learn_b=learn_b,
        rate_b=2e-5,
        variate=SharedCentres,
    )


@dataclass(frozen=True, eq=False)
class SharedCentres(PaperVariate):
    """The paper's parametrisation when all tasks have the same points, with one copy of every centre.

    The T copies of a centre have equal kernels, so that from equal starts their coefficients get equal updates and stay
    equal: one copy with T times its kernel is the same descent with T times fewer unknowns (up to lambda).
    """

    def space(self, rows: Side, centres: Side, tasks: int) -> FeatureSpace:
        first = Side(*(np.asarray(array)[np.asarray(centres.task) == 0] for array in centres))
        space = super().space(rows, first, tasks)
        assert isinstance(space, FeatureSpace)
        return FeatureSpace(space.task, tasks * space.features, tasks=tasks)


def draw_posterior(ax: Any, times: tuple[float, ...], species: lotka_volterra.Species) -> None:
    """Animals observed, their posterior mean with the central 95 percent, and where the tasks are."""
    years = np.linspace(lotka_volterra.YEARS[0], lotka_volterra.YEARS[-1], 201)
    orbits = lotka_volterra.abundance(lotka_volterra_reference.load_points()[:500], years, species)
    ax.plot(years, orbits.mean(axis=0), color="C0", label="posterior mean")
    for level in (2.5, 97.5):
        ax.plot(years, np.percentile(orbits, level, axis=0), ":", color="C0")
    observed = lotka_volterra.OBSERVATIONS[:, lotka_volterra.SPECIES.index(species)]
    ax.plot(lotka_volterra.YEARS, observed, "ko", ms=3, label="observed")
    for edge in (min(times), max(times)):
        ax.axvline(edge, color="C3", lw=1)
    ax.set_xticks(range(1900, 1921, 5))
    ax.set_ylabel(f"{species}, thousands")
    ax.set_title(f"posterior of the {species}; tasks between the red lines", fontsize=10)
    ax.legend(frameon=False)
