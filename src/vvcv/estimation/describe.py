"""A kernel fit in words, as results and explanations show it."""

from __future__ import annotations

from ..candidates.fits import KernelFit
from ..candidates.one_function import OneFunctionFit


def describe(fit: KernelFit | OneFunctionFit) -> str:
    """Family, how its parameters are tied, coordinates, and the polynomials beside it."""
    shape = ("all axes alike", "a weight for each axis", "a weight and lengthscale for each axis")[fit.found.level]
    polynomial = f" + polynomial of degree {fit.degree}" if fit.degree else ""
    parts = " + polynomials and curves" if fit.found.model.log_parts.size else ""
    family = fit.found.family if isinstance(fit.found.family, str) else type(fit.found.family).__name__
    one_function = ", tasks taken as one function" if isinstance(fit, OneFunctionFit) else ""
    return f"{family}, {shape}, {fit.found.system} axes{parts}{polynomial}{one_function}"
