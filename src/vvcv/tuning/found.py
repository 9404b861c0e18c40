"""What a search finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import AnySystem
from ..kernels import Kernel
from ..linear_system.mean_errors import Judgement
from ..linear_system.model import Model
from .tune import Tuned


@dataclass(frozen=True, eq=False)
class Found:
    """A tuned model, where it was found, how its parameters are tied, and its merit (less is better).

    `credit` is what a model may lag behind by in the merit of each task and still be preferred, for reasons that
    values left out cannot tell. `judgement` is what the merit was told from, and of which model; `merit_at_first` is
    the merit before the model was tuned on more rows; `turned` is how many numbers turn its axes to directions that
    values have led.
    """

    tuned: Tuned
    merit: float
    system: AnySystem
    family: str | Kernel
    level: int
    credit: float = 0.0
    judgement: tuple[Model, Judgement] | None = None
    merit_at_first: float | None = None
    turned: int = 0

    @property
    def chosen(self) -> int:
        """How many numbers were chosen on the values."""
        return self.tuned.free + self.turned

    @property
    def left_out(self) -> float:
        """What is left of values, each left out, of the task that most is left of, in units of their spread."""
        return np.inf if self.judgement is None else float(np.max(self.judgement[1].errors.left_out))

    @property
    def merit_of_search(self) -> float:
        """The merit on the rows that were searched on, which alone compares with that of another search."""
        return self.merit if self.merit_at_first is None else self.merit_at_first

    @property
    def model(self) -> Model:
        """The model itself."""
        return self.tuned.model

    def judged_on(self, rows: int) -> Judgement | None:
        """How the model was judged, if it was, and on so many rows."""
        model, judgement = self.judgement or (None, None)
        known = judgement is not None and model is self.model and len(judgement.errors.residual) == rows
        return judgement if known else None
