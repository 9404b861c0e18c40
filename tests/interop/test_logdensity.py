"""Any JAX log density: scores in double precision whatever the user's setting, draws as any pytree."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vvcv
from vvcv.interop import logdensity as module

RNG = np.random.default_rng(5)


class Location(NamedTuple):
    mu: np.ndarray
    deep: dict


def quartic(z):
    """A density of any pytree: the sum of -z^4 / 4 over its numbers, with score -z^3."""
    return -sum(jnp.sum(leaf**4) for leaf in jax.tree.leaves(z)) / 4


@pytest.mark.parametrize(
    ("draws", "leading", "parameters"),
    [
        (RNG.normal(size=(300, 2)), (1, 300), ("x[0]", "x[1]")),
        (RNG.normal(size=(4, 30, 2)), (4, 30), ("x[0]", "x[1]")),
        ({"b": RNG.normal(size=(3, 20)), "a": RNG.normal(size=(3, 20, 1, 2))}, (3, 20), ("a[0,0]", "a[0,1]", "b")),
        ({"b": RNG.normal(size=20), "a": RNG.normal(size=(20, 2))}, (1, 20), ("a[0]", "a[1]", "b")),
        ({"a": RNG.normal(size=(50, 2))}, (1, 50), ("a[0]", "a[1]")),
        (Location(RNG.normal(size=(2, 9)), {"s": [RNG.normal(size=(2, 9))]}), (2, 9), ("mu", "deep.s.0")),
    ],
)
def test_scores_are_exact_and_axes_are_recognised(draws, leading, parameters):
    posterior = vvcv.from_logdensity(quartic, draws)
    assert posterior.unconstrained.shape[:2] == leading
    assert posterior.parameters == parameters
    np.testing.assert_allclose(posterior.unconstrained_scores, -(posterior.unconstrained**3), rtol=1e-14)


def test_the_user_can_say_which_axes_are_chains():
    draws = {"a": RNG.normal(size=(5, 50))}
    assert vvcv.from_logdensity(quartic, draws).unconstrained.shape == (5, 50, 1)
    assert vvcv.from_logdensity(quartic, draws, chains=False).unconstrained.shape == (1, 5, 50)


def test_other_integrands_need_no_other_gradients(monkeypatch):
    posterior = vvcv.from_logdensity(quartic, RNG.normal(size=(300, 2)))
    monkeypatch.setattr(module, "scores_at", None)
    monkeypatch.setattr(jax, "grad", None)
    assert len(posterior.expect(moments=2)) == 4


def test_variables_come_from_the_function_that_constrains_one_draw():
    draws = {"log_tau": RNG.normal(size=(2, 40))}
    posterior = vvcv.from_logdensity(quartic, draws, constrain=lambda z: {"tau": jnp.exp(z["log_tau"])}, moments=2)
    assert posterior.names == ("tau", "tau^2")
    np.testing.assert_allclose(posterior.draws["tau"], np.exp(draws["log_tau"]), rtol=1e-14)


def test_the_callers_precision_is_left_alone():
    before = jnp.zeros(1).dtype
    vvcv.from_logdensity(quartic, RNG.normal(size=(30, 2)))
    assert jnp.zeros(1).dtype == before


def test_data_that_a_sampler_has_compiled_in_single_precision_do_no_harm():
    data = np.array([1.0, 2.0])
    density = lambda z: -jnp.sum((z - data) ** 2 / data) / 2  # noqa: E731
    with jax.enable_x64(False):
        compiled = jax.jit(lambda z: density(z))  # kept alive, as a sampler keeps its compiled step
        compiled(np.ones(2, dtype=np.float32))
        draws = RNG.normal(size=(40, 2))
        posterior = vvcv.from_logdensity(density, draws)
    np.testing.assert_allclose(posterior.unconstrained_scores[0], -(draws - data) / data, rtol=1e-12)


@pytest.mark.parametrize("compiled_before", [True, False])
def test_a_compiled_density_is_differentiated_in_double_and_still_serves_its_sampler(compiled_before):
    data = 1e3 + RNG.normal(size=100)
    density = jax.jit(lambda z: -jnp.sum((z[0] - data) ** 2) / 2)
    draws = data.mean() + RNG.normal(size=(40, 1)) / 10
    with jax.enable_x64(False):
        if compiled_before:
            density(np.ones(1, dtype=np.float32))
        posterior = vvcv.from_logdensity(density, draws)
        gradient = jax.jit(jax.grad(density))(np.zeros(1, dtype=np.float32))
    np.testing.assert_allclose(posterior.unconstrained_scores[0], -100 * (draws - data.mean()), atol=1e-9)
    np.testing.assert_allclose(gradient, [data.sum()], rtol=1e-5)


def test_single_precision_that_cannot_be_helped_is_said():
    data = RNG.normal(size=100)
    density = jax.jit(lambda z: -jnp.sum((z[0] - data) ** 2) / 2)
    with jax.enable_x64(False):
        held = jax.make_jaxpr(density)(np.zeros(1, dtype=np.float32))
        with pytest.warns(UserWarning, match="single precision"):
            vvcv.from_logdensity(density, RNG.normal(size=(40, 1)))
    assert held is not None


@pytest.mark.parametrize(
    ("draws", "read"),
    [
        ({"x": RNG.normal(size=(40, 50))}, "40 chain.s. of 50 draws of 1 param"),
        ({"a": RNG.normal(size=(2, 50)), "b": RNG.normal(size=(2, 40))}, "1 chain.s. of 2 draws of 90 param"),
        (RNG.normal(size=(3, 50)), "1 chain.s. of 3 draws of 50 param"),
    ],
)
def test_a_guess_that_is_hardly_right_is_said(draws, read):
    with pytest.warns(UserWarning, match=f"read as {read}.*chains=False.*chains=True"):
        vvcv.from_logdensity(quartic, draws)


def test_who_says_which_axes_are_chains_is_not_warned():
    draws = {"x": RNG.normal(size=(40, 50))}
    assert vvcv.from_logdensity(quartic, draws, chains=True).unconstrained.shape == (40, 50, 1)
    assert vvcv.from_logdensity(quartic, draws, chains=np.False_).unconstrained.shape == (1, 40, 50)
    with pytest.raises(ValueError, match="chains must be True.*but is 'no'"):
        vvcv.from_logdensity(quartic, draws, chains="no")


def test_complex_draws_are_refused():
    with pytest.raises(ValueError, match=r"real numbers, but those of \['x'\] are complex"):
        vvcv.from_logdensity(quartic, {"x": RNG.normal(size=(2, 30)) + 1j})


def test_variables_of_one_name_are_refused():
    def constrain(z):
        return {"a": {"b": z["x"]}, "a.b": 2 * z["x"]}

    with pytest.raises(ValueError, match=r"names of their own, but \['a.b'\]"):
        vvcv.from_logdensity(quartic, {"x": RNG.normal(size=(2, 30))}, constrain=constrain)


@pytest.mark.parametrize(
    ("constrain", "message"),
    [(lambda z: {"tau": np.exp(z["x"])}, "constrain must be a function that JAX"), ("exp", "but is 'exp'")],
)
def test_what_does_not_constrain_a_draw_is_told_in_words(constrain, message):
    with pytest.raises(ValueError, match=message):
        vvcv.from_logdensity(quartic, {"x": RNG.normal(size=(2, 30))}, constrain=constrain)


@pytest.mark.parametrize(
    ("density", "message"),
    [
        ("x", "function of one draw, but is 'x'"),
        (lambda z: None, "one real number for one draw, but gave NoneType"),
        (lambda z: True, "gave bool"),
        (lambda z: 3, "gave int"),
        (lambda z: z[0] > 0, "gave bool"),
        (lambda z: {"lp": z[0]}, "gave dict"),
        (lambda z: 1j * z[0], "gave complex"),
    ],
)
def test_what_gives_no_number_is_told_in_words(density, message):
    with pytest.raises(ValueError, match=message):
        vvcv.from_logdensity(density, RNG.normal(size=(30, 2)))


def test_a_density_of_many_draws_at_once_is_refused():
    with pytest.raises(ValueError, match="one number for one draw"):
        vvcv.from_logdensity(lambda z: -(z**2) / 2, RNG.normal(size=(30, 2)))


def test_draws_that_share_no_axis_are_refused():
    with pytest.raises(ValueError, match="same leading axes"):
        vvcv.from_logdensity(quartic, {"a": np.zeros(3), "b": np.zeros(4)})


def test_an_error_of_the_density_itself_reaches_the_user():
    def broken(z):
        raise TypeError("my own mistake")

    with pytest.raises(TypeError, match="my own mistake"):
        vvcv.from_logdensity(broken, RNG.normal(size=(30, 2)))


@pytest.mark.parametrize("outside", [jnp.nan, -jnp.inf])
def test_draws_where_the_density_is_none_are_refused(outside):
    """Scores are finite everywhere, and so would not tell."""
    draws = np.random.default_rng(0).normal(size=(2, 30))
    draws[1, :] = np.abs(draws[1, :])
    density = lambda x: jnp.where(x > 0, -(x**2) / 2, outside)  # noqa: E731
    first, count = int(np.argmax(draws[0] < 0)), int((draws[0] < 0).sum())
    with pytest.raises(ValueError, match=f"not at {count} of 60; the first is -?(nan|inf) at draw {first} of chain 0"):
        vvcv.from_logdensity(lambda d: density(d["x"]), {"x": draws}, chains=True)
    assert vvcv.from_logdensity(lambda d: density(d["x"]), {"x": draws[1:]}, chains=True).sizes == (30,)


@pytest.mark.parametrize(
    "density", [lambda z: -np.sum(np.asarray(z) ** 2), lambda z: -float(z[0]), lambda z: z[0] if z[0] > 0 else -z[0]]
)
def test_a_density_that_jax_cannot_follow_is_told_what_to_use(density):
    with pytest.raises(ValueError, match="use jax.numpy and jax.scipy, not numpy"):
        vvcv.from_logdensity(density, np.random.default_rng(0).normal(size=(1, 20, 2)))
