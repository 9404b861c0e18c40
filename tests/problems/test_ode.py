import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vvcv.problems.ode import solve
from vvcv.problems.precision import double_precision


def _pendulum(u):
    return jnp.stack([u[1], -jnp.sin(u[0])])


def _rotation(u):
    return jnp.stack([u[1], -u[0]])


def test_solver_is_of_order_six():
    times = np.array([0.0, 1.0, 3.0])
    with double_precision():
        fine, *coarse = (solve(_pendulum, jnp.array([1.0, 0.5]), times, steps)[-1] for steps in (400, 8, 16))
        errors = [float(jnp.abs(u - fine).max()) for u in coarse]
    assert errors[0] / errors[1] == pytest.approx(2**6, rel=0.25)


def test_states_are_given_at_unequal_times():
    times = np.array([0.0, 0.3, 2.0, 2.1])
    with double_precision():
        states = np.asarray(solve(_rotation, jnp.array([0.0, 1.0]), times, 30))
    np.testing.assert_allclose(states, np.stack([np.sin(times), np.cos(times)], axis=1), atol=1e-9)


def test_precision_inside_is_double_and_outside_unchanged():
    before = jax.config.jax_enable_x64
    with double_precision():
        assert jnp.ones(1).dtype == jnp.float64
    assert jax.config.jax_enable_x64 == before
    assert jnp.ones(1).dtype == (jnp.float64 if before else jnp.float32)
