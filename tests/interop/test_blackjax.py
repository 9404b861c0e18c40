"""States of BlackJAX samplers: their gradients are used, and their axes understood."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vvcv

RNG = np.random.default_rng(2)


class State(NamedTuple):
    """As in blackjax.mcmc.hmc: gradients marked, so that one sees that they are used."""

    position: Any
    logdensity: Any
    logdensity_grad: Any


class WalkState(NamedTuple):
    position: Any
    logdensity: Any


def states(*leading: int) -> State:
    position = {"b": RNG.normal(size=leading), "a": RNG.normal(size=(*leading, 2))}
    return State(position, RNG.normal(size=leading), jax.tree.map(lambda leaf: -10 * leaf, position))


def test_gradients_of_the_states_are_the_scores():
    posterior = vvcv.from_blackjax(states(3, 40))
    assert posterior.names == ("a[0]", "a[1]", "b")
    np.testing.assert_array_equal(posterior.unconstrained_scores, -10 * posterior.unconstrained)


def test_one_chain_is_told_from_several_by_the_log_densities():
    assert vvcv.from_blackjax(states(40)).unconstrained.shape == (1, 40, 3)
    assert vvcv.from_blackjax(states(3, 40)).unconstrained.shape == (3, 40, 3)


def test_states_stacked_draw_by_draw_are_turned_around():
    stacked = states(40, 3)
    posterior = vvcv.from_blackjax(stacked, chain_axis=1)
    np.testing.assert_array_equal(posterior.draws["a"], np.swapaxes(stacked.position["a"], 0, 1))
    with pytest.warns(UserWarning, match="chain_axis=1"):
        vvcv.from_blackjax(stacked)


def test_a_random_walk_needs_the_log_density():
    walk = WalkState(RNG.normal(size=(2, 30, 1)), np.zeros((2, 30)))
    with pytest.raises(ValueError, match="Pass logdensity="):
        vvcv.from_blackjax(walk)
    posterior = vvcv.from_blackjax(walk, logdensity=lambda z: -jnp.sum(z**2))
    np.testing.assert_allclose(posterior.unconstrained_scores, -2 * walk.position, rtol=1e-14)


def test_variables_are_constrained_one_draw_at_a_time():
    posterior = vvcv.from_blackjax(states(2, 30), constrain=lambda z: {"tau": jnp.exp(z["b"])}, var_names="tau")
    np.testing.assert_allclose(posterior["tau"].values, np.exp(posterior.unconstrained[..., 2]).ravel(), rtol=1e-14)


def test_something_else_is_refused():
    with pytest.raises(ValueError, match="field position"):
        vvcv.from_blackjax({"x": np.zeros(3)})


def test_one_state_is_not_taken_for_draws():
    one = State(RNG.normal(size=7), np.float64(-1.0), RNG.normal(size=7))
    with pytest.raises(ValueError, match="This is one state.*pass the stacked states"):
        vvcv.from_blackjax(one)


@pytest.mark.parametrize("shape", [(4,), (3, 41), (40, 3)])
def test_log_densities_that_are_not_those_of_the_positions_are_refused(shape):
    with pytest.raises(ValueError, match="one log density for each position"):
        vvcv.from_blackjax(states(3, 40)._replace(logdensity=np.zeros(shape)))


def test_a_log_density_that_is_given_is_used_though_states_have_gradients():
    run = State(RNG.normal(size=(2, 30, 1)), np.zeros((2, 30)), np.zeros((2, 30, 1)))
    posterior = vvcv.from_blackjax(run, logdensity=lambda z: -jnp.sum(z**2))
    np.testing.assert_allclose(posterior.unconstrained_scores, -2 * run.position, rtol=1e-14)


def test_a_summary_reads_states_by_itself():
    z = RNG.normal(size=(2, 100, 2))
    table = vvcv.summary(State(z, z[..., 0], -z), "x[1]", method="zv")
    assert list(table.index) == ["x[1]"]
    with pytest.raises(ValueError, match=r"vvcv\.from_blackjax\(states\)"):
        vvcv.summary(WalkState(z, z[..., 0]))
