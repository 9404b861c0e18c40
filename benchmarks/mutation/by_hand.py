"""Changes that a reader would call a bug, written by hand: each must be noticed."""

from __future__ import annotations

from typing import NamedTuple

PAPER = "src/vvcv/paper/"


class Mistake(NamedTuple):
    """What is wrong, in which function of which file, and the text before and after."""

    what: str
    path: str
    where: str
    before: str
    after: str


MISTAKES = (
    Mistake("Split fits the fraction it should average", PAPER + "estimators.py", "Split.estimate",
            "1 - self.fraction", "self.fraction"),
    Mistake("the nugget of the mini-batch likelihood does not grow", PAPER + "marginal_likelihood.py", "_nugget",
            "candidates[jnp.argmax(fine)]", "candidates[0]"),
    Mistake("the mini-batch likelihood has no constant", PAPER + "marginal_likelihood.py", "_batch_criterion",
            "jnp.where(together, settings.constant, 0.0)", "0.0"),
    Mistake("the rate of the mini-batch likelihood does not decay", PAPER + "marginal_likelihood.py", "_adam",
            "rate * settings.decay", "rate"),
    Mistake("Algorithm 1 always has one Adam state", PAPER + "descent.py", "_rules",
            "shared_state=learn_b and settings.shared_state", "shared_state=learn_b"),
    Mistake("Algorithm 1 never has one Adam state", PAPER + "descent.py", "_rules",
            "shared_state=learn_b and settings.shared_state", "shared_state=False"),
    Mistake("error bars of a descent without its jackknife", PAPER + "error_bars.py", "descent_covariance",
            "np.fill_diagonal(jackknife, np.maximum(np.diag(own), np.diag(jackknife)))", "jackknife = own"),
    Mistake("published settings without decay", PAPER + "stochastic.py", "BlockCoordinateDescent.as_published",
            '"decay": 0.99', '"decay": 1.0'),
    Mistake("published settings with two Adam states", PAPER + "stochastic.py", "BlockCoordinateDescent.as_published",
            '"shared_state": True', '"shared_state": False'),
    Mistake("standard errors along a chain without its lags", PAPER + "error_bars.py", "average_variance",
            "variance, draws = variance_of_mean(remainder, chains)",
            "variance, draws = float(np.var(remainder, ddof=1) / len(remainder)), float(len(remainder))"),
    Mistake("errors of a closed form along a chain without its lags", PAPER + "error_bars.py", "_error_of_sum",
            "variance, draws = variance_of_mean(series, chains)",
            "variance, draws = float(np.var(series, ddof=1) / len(series)), float(len(series))"),
    Mistake("the restricted likelihood without its normal matrix", "src/vvcv/linear_system/system.py",
            "System.restricted_likelihood", "self._log_determinant + log_determinant(self._normal)",
            "self._log_determinant"),
    Mistake("left-out values not divided by their share", "src/vvcv/linear_system/system.py",
            "System.leave_one_out", "self.weights / diagonal", "self.weights * 1.0"),
    Mistake("the gain is not a square", "src/vvcv/estimation/numbers.py", "Numbers.gain",
            "(self.monte_carlo.std_error / self.std_error) ** 2", "self.monte_carlo.std_error / self.std_error"),
)  # fmt: skip
