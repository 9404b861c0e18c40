"""Every adapter with its real package: two lines of user code, checked scores, exact answers, and the gain.

500 draws each (2 chains of 250), of the three posteriors in `posteriors`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import posteriors
import pytest

import vvcv

PROBLEMS = list(posteriors.LOG_DENSITIES)

#: What a user writes after sampling; `asked` and `method` are those of `SETTINGS`.
ESTIMATE = "est = vvcv.estimate(posterior.expect(asked), method)"
USER_CODE = {
    "numpyro": ("posterior = vvcv.from_numpyro(mcmc)", ESTIMATE),
    "blackjax": ("posterior = vvcv.from_blackjax(states, constrain=constrain)", ESTIMATE),
    "logdensity": ("posterior = vvcv.from_logdensity(log_density, draws, constrain=constrain)", ESTIMATE),
    "pymc": ("posterior = vvcv.from_pymc(idata, model)", ESTIMATE),
    "nutpie": ("posterior = vvcv.from_nutpie(trace)", ESTIMATE),
    "arviz": ("posterior = vvcv.from_arviz(idata)", ESTIMATE),
    "stan": ("posterior = vvcv.from_stan(fit)", ESTIMATE),
}

#: The variables of each problem, None for all, and the method: the default, but where 25 integrands would take minutes.
SETTINGS = {"schools": (["mu", "tau"], "auto"), "simplex": (None, "auto"), "logistic": (None, "zv")}

#: A posterior mean may be this many standard errors off; the largest of 25 exceeds it once in a thousand times.
LARGEST_Z = 4.2


class Run(NamedTuple):
    """One adapter's answers to one problem, and the sampler's way from its simplex coordinates to shares."""

    posterior: vvcv.Posterior
    estimate: vvcv.Estimate
    shares: Callable[[Any], Any]


def sampled(adapter: str, problem: str) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The objects a user has after sampling, by the names in `USER_CODE`."""
    if adapter == "numpyro":
        pytest.importorskip("numpyro")
        import numpyro_runs as runs

        return {"mcmc": runs.run(problem)}, runs.shares
    if adapter in ("blackjax", "logdensity"):
        pytest.importorskip("blackjax")
        import blackjax_runs as runs

        states, constrain = runs.run(problem), runs.WRITTEN[problem].constrain
        density = runs.log_density(problem)
        return {
            "states": states,
            "draws": states.position,
            "constrain": constrain,
            "log_density": density,
        }, runs.shares
    if adapter == "stan":
        pytest.importorskip("stan", reason="PyStan is not installed; it has no builds for ARM")
        import stan_runs as runs

        return {"fit": runs.run(problem)}, runs.shares
    pytest.importorskip("pymc")
    import pymc_runs as runs

    if adapter == "pymc":
        return {"idata": runs.run(problem), "model": runs.model(problem)}, runs.shares
    pytest.importorskip("nutpie")
    trace = runs.run_nutpie(problem)
    return {"trace": trace, "idata": trace.to_datatree() if hasattr(trace, "to_datatree") else trace}, runs.shares


@cache
def run(adapter: str, problem: str) -> Run:
    objects, shares = sampled(adapter, problem)
    asked, method = SETTINGS[problem]
    namespace = {"vvcv": vvcv, "asked": asked, "method": method, **objects}
    exec("\n".join(USER_CODE[adapter]), namespace)
    return Run(namespace["posterior"], namespace["est"], shares)


each_problem = pytest.mark.parametrize("problem", PROBLEMS)


class Claims:
    """What is true of every adapter; a class for each, so that `--dist loadscope` keeps its runs in one process."""

    adapter: str

    def test_two_lines_of_user_code_are_enough(self):
        lines = "\n".join(USER_CODE[self.adapter]).splitlines()
        assert len(lines) <= 2 and not any(";" in line for line in lines)

    @each_problem
    def test_the_check_passes(self, problem):
        found = vvcv.check(run(self.adapter, problem).posterior)
        assert found.ok, str(found)

    @each_problem
    def test_estimates_agree_with_the_exact_means_within_error_bars(self, problem):
        answers = run(self.adapter, problem)
        everything = vvcv.estimate(answers.posterior, method="zv")  # all variables, element by element
        for est in (answers.estimate, everything):
            exact, error = means_of(problem, est.names)
            z = (est.mean - exact) / np.hypot(est.std_error, error)
            assert np.abs(z).max() < LARGEST_Z, dict(zip(est.names, z.round(1), strict=True))

    @each_problem
    def test_control_variates_are_worth_ten_times_as_many_draws(self, problem):
        answers = run(self.adapter, problem)
        assert answers.posterior.sizes[0] == 500
        assert answers.estimate.gain.min() >= 10, dict(zip(answers.estimate.names, answers.estimate.gain, strict=True))

    @each_problem
    def test_scores_equal_automatic_differentiation_of_the_same_density(self, problem):
        """One density for all samplers, in each one's own coordinates: what agrees with it agrees with each other."""
        answers = run(self.adapter, problem)
        points, scores = canonical(answers.posterior)
        density = unconstrained_density(problem, answers.shares)
        with jax.enable_x64(True):
            expected = np.asarray(jax.jit(jax.vmap(jax.grad(density)))(points))
        np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-8)

    def test_variables_and_chains_keep_their_names_and_shapes(self):
        posterior = run(self.adapter, "schools").posterior
        assert {"mu", "tau", "eta", "theta"} <= set(posterior.draws)
        assert posterior.draws["theta"].shape == (2, 250, 8)
        assert posterior[0].chains == (2, 250)
        labels = "ABCDEFGH" if self.adapter in ("pymc", "nutpie", "arviz") else "01234567"
        assert [name for name in posterior.names if name.startswith("theta")] == [f"theta[{label}]" for label in labels]
        theta = posterior.draws["mu"][..., None] + posterior.draws["tau"][..., None] * posterior.draws["eta"]
        np.testing.assert_allclose(posterior.draws["theta"], theta, rtol=1e-6)


class TestNumPyro(Claims):
    adapter = "numpyro"

    @pytest.mark.parametrize("problem", ["schools", "logistic"])
    def test_the_default_serves_every_variable_at_once(self, problem):
        """No method and no variable chosen: 18 smooth integrands of 10 coordinates, and 25 of 25."""
        est = vvcv.estimate(run(self.adapter, problem).posterior)
        exact, error = means_of(problem, est.names)
        z = (est.mean - exact) / np.hypot(est.std_error, error)
        assert np.abs(z).max() < LARGEST_Z, dict(zip(est.names, z.round(1), strict=True))
        assert est.gain.min() >= 10, dict(zip(est.names, est.gain, strict=True))


class TestBlackJAX(Claims):
    adapter = "blackjax"


class TestLogDensity(Claims):
    adapter = "logdensity"


class TestPyMC(Claims):
    adapter = "pymc"


class TestNutpie(Claims):
    adapter = "nutpie"


class TestArviZ(Claims):
    adapter = "arviz"


class TestStan(Claims):
    adapter = "stan"


def means_of(problem: str, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Reference means and their errors for elements such as theta[3] or theta[D]."""
    reference = posteriors.reference(problem)
    found = [(reference[name], index) for name, index in map(element, names)]
    return tuple(np.array([np.ravel(getattr(r, part))[i] for r, i in found]) for part in ("mean", "std_error"))


def element(name: str) -> tuple[str, int]:
    """The variable and the place of a coordinate: theta[3], theta[D], tau_log__, log_tau, eta_3, eta.4 (from one)."""
    base, bracket, stan, underscore = re.fullmatch(r"(.*?)(?:\[(\w+)\]|\.(\d+)|_(\d+))?", name).groups()
    base = re.sub(r"^log_|_(log|simplex|interval)__$|_(log|simplex|interval)_*$", "", base)
    if bracket is not None:
        return base, int(bracket) if bracket.isdigit() else "ABCDEFGH".index(bracket)
    return base, int(stan) - 1 if stan is not None else int(underscore or 0)


def canonical(posterior: vvcv.Posterior) -> tuple[np.ndarray, np.ndarray]:
    """Points and scores (n, d), coordinates sorted by variable and place, whatever the sampler's order."""
    order = sorted(range(len(posterior.parameters)), key=lambda j: element(posterior.parameters[j]))
    d = len(order)
    arrays = posterior.unconstrained, posterior.unconstrained_scores
    return tuple(array[..., order].reshape(-1, d) for array in arrays)


def unconstrained_density(problem: str, shares: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Log density of the sorted coordinates of `canonical`, Jacobian by automatic differentiation."""
    if problem == "schools":  # eta, mu, log tau
        return lambda z: posteriors.schools({"eta": z[:8], "mu": z[8], "tau": jnp.exp(z[9])}) + z[9]
    if problem == "logistic":
        return lambda z: posteriors.logistic({"beta": z})
    jacobian = jax.jacfwd(lambda z: shares(z)[:-1])
    return lambda z: posteriors.simplex({"p": shares(z)}) + jnp.linalg.slogdet(jacobian(z))[1]
