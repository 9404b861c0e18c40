"""Sites that NumPyro samples in the place of others: steps of a scan, angles on a line, entries that are missing."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vvcv

numpyro = pytest.importorskip("numpyro")
control_flow = pytest.importorskip("numpyro.contrib.control_flow")
dist = numpyro.distributions

RNG = np.random.default_rng(5)
SERIES = np.array([0.5, -0.3, 1.2, 0.8])


def finished(model, draws, *args):
    """Draws of a model, (chain, draw, ...), as if a sampler had made them, in its single precision."""
    kept = {name: np.asarray(values, dtype=np.float32) for name, values in draws.items()}
    return SimpleNamespace(
        sampler=SimpleNamespace(model=model),
        last_state=0,
        _args=args,
        _kwargs={},
        get_samples=lambda group_by_chain: kept,
        get_extra_fields=lambda group_by_chain: {},
    )


@pytest.mark.parametrize("centred", [1.0, 0.0])
def test_time_series_with_scan(centred):
    def series(values):
        s = numpyro.sample("s", dist.HalfNormal(1))

        def step(state, value):
            with numpyro.handlers.reparam(config={"h": numpyro.infer.reparam.LocScaleReparam(centred)}):
                state = numpyro.sample("h", dist.Normal(0.5 * state, s))
            numpyro.sample("y", dist.Normal(state, 0.5), obs=value)
            return state, state

        control_flow.scan(step, 0.0, values)

    def density(z):
        """Of the four steps, as they are or divided by their scale, and log s."""
        s, state, log_density = jnp.exp(z[4]), 0.0, z[4] - jnp.exp(2 * z[4]) / 2
        for free, value in zip(z[:4], SERIES.tolist(), strict=True):
            noise = (free - 0.5 * state) / s if centred else free
            state = 0.5 * state + s * noise
            log_density += -(noise**2) / 2 - centred * z[4] - 2 * (value - state) ** 2
        return log_density

    site = "h" if centred else "h_decentered"
    draws = {site: RNG.normal(size=(2, 9, 4)), "s": RNG.exponential(size=(2, 9))}
    posterior = vvcv.from_numpyro(finished(series, draws, SERIES))
    assert posterior.parameters == (*(f"{site}[{i}]" for i in range(4)), "s")
    with jax.enable_x64(True):
        expected = jax.vmap(jax.vmap(jax.grad(density)))(posterior.unconstrained)
    np.testing.assert_allclose(posterior.unconstrained_scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [(), (2,)])
def test_angles_on_a_line_are_cut_open(size):
    """E[x^2] of a von Mises distribution with mean 0 and concentration 1; its line is endless, and no density."""

    def winds():
        reparam = numpyro.handlers.reparam(config={"wind": numpyro.infer.reparam.CircularReparam()})
        with reparam, numpyro.plate_stack("places", size):
            numpyro.sample("wind", dist.VonMises(0, 1))

    wind = RNG.vonmises(0, 1, size=(2, 500, *size))
    turns = 2 * np.pi * RNG.integers(-3, 4, size=wind.shape)
    posterior = vvcv.from_numpyro(finished(winds, {"wind": wind, "wind_unwrapped": wind + turns}), moments=2)
    assert set(posterior.draws) == {"wind"} and posterior.dimension == max(1, *size, 0)
    expected = vvcv.unconstrain(wind.reshape(2, 500, -1), -np.sin(wind).reshape(2, 500, -1), -np.pi, np.pi)
    np.testing.assert_allclose(posterior.unconstrained_scores, expected.scores, atol=1e-4)
    est = vvcv.estimate(posterior, "zv", on_alarm="ignore")
    exact = np.repeat([0, 1.6042543], len(est.mean) // 2)
    np.testing.assert_array_less(np.abs(est.mean - exact), 4 * est.std_error)


def test_a_variable_may_be_named_like_an_angle_on_a_line():
    def model():
        numpyro.sample("wind_unwrapped", dist.Normal(0, 1))

    posterior = vvcv.from_numpyro(finished(model, {"wind_unwrapped": 9 * np.ones((1, 5))}))
    np.testing.assert_allclose(posterior.scores, -9)


def test_entries_that_were_observed_are_no_coordinates():
    """Where `obs_mask` says that a value is known, NumPyro samples one all the same, of no density."""
    seen = np.array([True, False, True, False])

    def model(values):
        mu = numpyro.sample("mu", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(mu, 1).expand([4]), obs=values, obs_mask=seen)

    mu = RNG.normal(size=(2, 300))
    unseen = np.where(seen, np.cumsum(RNG.normal(size=(2, 300, 4)), axis=1), mu[..., None] + RNG.normal(size=4))
    draws = {"mu": mu, "y": np.where(seen, SERIES, unseen), "y_unobserved": unseen}
    posterior = vvcv.from_numpyro(finished(model, draws, SERIES))
    assert posterior.parameters == ("mu", "y_unobserved[1]", "y_unobserved[3]")
    assert set(posterior.draws) == {"mu", "y"}
    mu, y = (np.asarray(posterior.draws[name]) for name in ("mu", "y"))
    np.testing.assert_allclose(posterior.unconstrained_scores[..., 0], (y - mu[..., None]).sum(-1) - mu, atol=1e-5)
    np.testing.assert_allclose(posterior.unconstrained_scores[..., 1], mu - y[..., 1], atol=1e-5)
