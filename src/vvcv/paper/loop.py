"""The compiled loop of Algorithms 1 and 2: a scan over epochs of a scan over mini-batches, mapped over replications.

Learning rates, penalties and data are arguments, not constants, so that nothing is compiled twice for another value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ..kernels import Coregionalization
from .batches import Batches
from .objective import Objective, coregionalization_penalty
from .variates import Penalty, Space
from .variates.space import AnyArray

#: Adam without its learning rate, which the loop supplies epoch by epoch.
ADAM = optax.scale_by_adam()


class Data(NamedTuple):
    """A space, its columns for the means, and the values at its rows."""

    space: Space
    columns: Float[AnyArray, "N p"]
    values: Float[AnyArray, " N"]


class Known(eqx.Module):
    """A B that is not learned."""

    entries: Float[AnyArray, "T T"]

    def matrix(self) -> Float[AnyArray, "T T"]:
        """B itself."""
        return self.entries


class Unknowns(NamedTuple):
    """The two blocks: (theta, beta), and B, in the form whose parameters are learned or as a matrix that is known."""

    coefficients: tuple[Any, Float[AnyArray, " p"]]
    b: Coregionalization | Known


class State(NamedTuple):
    """Unknowns, the optimiser's state, and the best unknowns seen with their objective."""

    unknowns: Unknowns
    optimizer: Any
    best: Unknowns
    least: Float[AnyArray, ""]


class Rules(eqx.Module):
    """What the loop is told once: static choices, and the penalty as a number."""

    regularization: Float[AnyArray, ""]
    optimizer: Any = eqx.field(static=True)
    penalty: Penalty = eqx.field(static=True)
    objective: Objective = eqx.field(static=True)
    chains: tuple[tuple[int, int], ...] = eqx.field(static=True)
    held_chains: tuple[tuple[int, int], ...] = eqx.field(static=True)
    learn_b: bool = eqx.field(static=True)
    shared_state: bool = eqx.field(static=True)
    b_first: bool = eqx.field(static=True)


def start(rules: Rules, theta: Any, beta: Array, b: Coregionalization | Known) -> State:
    """The state of the descent at given theta (0 by default), beta (the plain averages) and B (paper, A.2)."""
    unknowns = Unknowns((theta, beta), b)
    return State(unknowns, _init(rules, unknowns), unknowns, jnp.asarray(jnp.inf, beta.dtype))


@eqx.filter_jit
def run(
    rules: Rules,
    data: Data,
    held: Data | None,
    batches: Batches,
    state: State,
    scales: Array,
    orders: Array,
    count: Array,
) -> tuple[State, Any]:
    """Run the first `count` epochs of scales (epochs, 2) for all replications, the leading axis of data and state."""

    def alone(data: Data, held: Data | None, state: State, orders: Array):
        return _epochs(rules, data, held, batches, state, scales, orders, count)

    return eqx.filter_vmap(alone, in_axes=(eqx.if_array(0), eqx.if_array(0), eqx.if_array(0), 0))(
        data, held, state, orders
    )


def _epochs(rules: Rules, data: Data, held: Data | None, batches: Batches, state: State, scales, orders, count):
    def epoch(state: State, scale: Array, order: Array):
        rows = None if batches.per_epoch == 1 else order[batches.positions]

        def batch(carry, part):
            return _update(rules, data, scale, *carry, *part)

        carry = (state.unknowns, state.optimizer)
        if rows is None:
            carry, loss = batch(carry, (None, batches.weights[0]))
        else:
            carry, losses = jax.lax.scan(batch, carry, (rows, batches.weights))
            loss = jnp.mean(losses)
        unknowns, optimizer = carry
        held_out = jnp.zeros_like(loss) if held is None else _held_out(rules, held, unknowns)
        now = loss if held is None else held_out
        better = now < state.least
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), unknowns, state.best)
        path = (unknowns.coefficients[1], loss, _matrix(unknowns), held_out)
        return State(unknowns, optimizer, best, jnp.where(better, now, state.least)), path

    def advance(i: Array, carry: tuple[State, Any]):
        state, now = epoch(carry[0], scales[i], orders[i])
        return state, jax.tree.map(lambda path, value: path.at[i].set(value), carry[1], now)

    # A loop of dynamic length into a path of fixed length: one compilation serves any number of epochs.
    shapes = jax.eval_shape(epoch, state, scales[0], orders[0])[1]
    blank = jax.tree.map(lambda s: jnp.zeros((scales.shape[0], *s.shape), s.dtype), shapes)
    return jax.lax.fori_loop(0, count, advance, (state, blank))


def _update(
    rules: Rules, data: Data, scale: Array, unknowns: Unknowns, optimizer: Any, rows: Array | None, weights: Array
):
    """One mini-batch: both blocks in the chosen order, or (theta, beta) alone."""
    loss = None
    blocks = (("b", "coefficients") if rules.b_first else ("coefficients", "b")) if rules.learn_b else ("coefficients",)
    for block in blocks:

        def objective(part, block=block, unknowns=unknowns):
            return batch_loss(rules, data, unknowns._replace(**{block: part}), rows, weights)

        value, gradient = jax.value_and_grad(objective)(getattr(unknowns, block))
        loss = value if loss is None else loss
        unknowns, optimizer = _step(rules, block, gradient, unknowns, optimizer, scale)
    return (unknowns, optimizer), loss


def batch_loss(rules: Rules, data: Data, unknowns: Unknowns, rows: Array | None, weights: Array) -> Float[AnyArray, ""]:
    """Lbar_vv on the given rows (paper, eq. 10); without the constant ||B||^2 when B is known (eq. 8)."""
    (theta, beta), b = unknowns.coefficients, _matrix(unknowns)
    columns, values, task = data.columns, data.values, data.space.task
    if rows is not None:
        columns, values, task = columns[rows], values[rows], task[rows]
    residuals = values - columns @ beta - data.space.output(theta, b, rows)
    loss = rules.objective.loss(residuals, task, weights, rules.chains)
    loss = loss + rules.regularization * data.space.penalty(theta, b, rules.penalty)
    return loss + coregionalization_penalty(b) if rules.learn_b else loss


def _held_out(rules: Rules, held: Data, unknowns: Unknowns) -> Float[AnyArray, ""]:
    (theta, beta), b, task = unknowns.coefficients, _matrix(unknowns), held.space.task
    residuals = held.values - held.columns @ beta - held.space.output(theta, b)
    counts = jax.ops.segment_sum(jnp.ones_like(residuals), task, num_segments=b.shape[0])
    return rules.objective.loss(residuals, task, 1 / counts[task], rules.held_chains)


def _init(rules: Rules, unknowns: Unknowns) -> Any:
    if rules.shared_state:
        return rules.optimizer.init(unknowns)
    return {block: rules.optimizer.init(getattr(unknowns, block)) for block in _blocks(rules)}


def _blocks(rules: Rules) -> tuple[str, ...]:
    return ("coefficients", "b") if rules.learn_b else ("coefficients",)


def _step(rules: Rules, block: str, gradient: Any, unknowns: Unknowns, optimizer: Any, scale: Array):
    """Move one block; with a shared state the other sees a zero gradient, and its momentum still moves it."""
    factors = dict(zip(("coefficients", "b"), scale, strict=True))
    if rules.shared_state:
        still = jax.tree.map(jnp.zeros_like, unknowns)
        updates, optimizer = rules.optimizer.update(still._replace(**{block: gradient}), optimizer, unknowns)
        moved = {name: _moved(getattr(unknowns, name), getattr(updates, name), factors[name]) for name in factors}
        return Unknowns(**moved), optimizer
    current = getattr(unknowns, block)
    updates, own = rules.optimizer.update(gradient, optimizer[block], current)
    moved = _moved(current, updates, factors[block])
    return unknowns._replace(**{block: moved}), {**optimizer, block: own}


def _moved(current: Any, updates: Any, factor: Array) -> Any:
    return jax.tree.map(lambda value, update: value + factor * update, current, updates)


def _matrix(unknowns: Unknowns) -> Float[AnyArray, "T T"]:
    """B at the precision of the loop: constants of its form may be finer."""
    return unknowns.b.matrix().astype(unknowns.coefficients[1].dtype)
