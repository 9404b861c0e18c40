"""Other ways to the dear mean, on the problems and with the numbers of runs of `simulators.py`.

    python benchmarks/peers.py [--seeds 10] [--first-seed 8000] [--out benchmarks/peers.json]

mfmc   multifidelity Monte Carlo (Peherstorfer, Willcox and Gunzburger, 2016): nested inputs, coefficients from the
       dear runs,   m = mean_n3(dear) + a (mean_n2(middle) - mean_n3(middle)) + b (mean_n1(cheap) - mean_n2(cheap))
gp     a Gaussian process over the three tasks (Bonilla, Chai and Williams, 2007), B squared exponential with a
       lengthscale for each input, in the coordinates in which inputs are standard normal and the kernel's integral is
       known; means by generalised least squares, parameters by marginal likelihood, from the runs that vvcv sees

       integral of k(z, y) N(y; 0, I) dy = prod_j sqrt(l_j^2 / (l_j^2 + 1)) exp(-z_j^2 / (2 (l_j^2 + 1)))
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

import vvcv
from simulators import Problem, borehole, bounded
from vvcv.simulators import run_models

jax.config.update("jax_enable_x64", True)
STEPS, NOISE = 100, 1e-6
LOWER = np.tril_indices(3)


def multifidelity_monte_carlo(problem: Problem, seed: int) -> float:
    """The dear mean by nested averages."""
    counts = list(problem.runs.values())
    x = problem.given.sample(counts[0], seed=[seed, 2])
    cheap, middle, dear = (
        model(**{name: column[:n] for name, column in x.items()})
        for model, n in zip(problem.models.values(), counts, strict=True)
    )
    n2, n3 = counts[1:]
    means = dear.mean()
    means += _slope(dear, middle[:n3]) * (middle.mean() - middle[:n3].mean())
    return float(means + _slope(dear, cheap[:n3]) * (cheap.mean() - cheap[:n2].mean()))


def gaussian_process(problem: Problem, seed: int) -> float:
    """The dear mean by Bayesian quadrature with a Gaussian process over all tasks."""
    tasks = run_models(problem.models, problem.given, problem.runs, store=None, seed=seed)
    shift, scale = (np.array([f(t.values) for t in tasks]) for f in (np.mean, np.std))
    z = np.concatenate([task.points for task in tasks])
    y = np.concatenate([(t.values - m) / s for t, m, s in zip(tasks, shift, scale, strict=True)])
    data = z, y, np.eye(len(tasks))[np.repeat(np.arange(len(tasks)), tasks.sizes)]
    d = z.shape[1]
    start = np.concatenate([np.full(d, np.log(3.0)), (0.3 * np.eye(3) + 0.8)[LOWER]])
    found = minimize(
        lambda p: tuple(np.asarray(part, float) for part in _likelihood(p, *data)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-2.0, 5.0)] * d + [(-5.0, 5.0)] * len(LOWER[0]),
        options={"maxiter": STEPS},
    )
    return float(_dear_mean(found.x, *data) * scale[-1] + shift[-1])


def main() -> None:
    """Record the mean absolute error of both on both problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=8000)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/peers.json"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    record: dict = {"seeds": [seeds[0], seeds[-1]], "version": vvcv.__version__}
    for name, problem in {"borehole": borehole(), "bounded": bounded()}.items():
        rows = {
            method: [abs(run(problem, seed) - problem.exact) for seed in seeds]
            for method, run in (("mfmc", multifidelity_monte_carlo), ("gp", gaussian_process))
        }
        record[name] = {
            method: {"mean absolute error": float(np.mean(row)), "errors": row} for method, row in rows.items()
        }
        print(name, {method: f"{np.mean(row):.3g}" for method, row in rows.items()}, flush=True)
    arguments.out.write_text(json.dumps(record, indent=1) + "\n")


@jax.jit
@jax.value_and_grad
def _likelihood(parameters: jax.Array, z: jax.Array, y: jax.Array, design: jax.Array) -> jax.Array:
    """Minus the log marginal likelihood, means at their best."""
    factor, beta, c = _solved(_covariance(parameters, z, design)[0], y, design)
    return 0.5 * (y - design @ beta) @ c + jnp.sum(jnp.log(jnp.diag(factor)))


@jax.jit
def _dear_mean(parameters: jax.Array, z: jax.Array, y: jax.Array, design: jax.Array) -> jax.Array:
    k, length, b = _covariance(parameters, z, design)
    _, beta, c = _solved(k, y, design)
    wide = length**2 + 1
    mean_of_kernel = jnp.prod(length / jnp.sqrt(wide)) * jnp.exp(-0.5 * jnp.sum(z**2 / wide, axis=1))
    return beta[-1] + ((design @ b[-1]) * mean_of_kernel) @ c


def _covariance(parameters: jax.Array, z: jax.Array, design: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Covariance of all values, lengthscales, B."""
    length = jnp.exp(parameters[: z.shape[1]])
    factor = jnp.zeros((3, 3)).at[LOWER].set(parameters[z.shape[1] :])
    b, scaled = factor @ factor.T, z / length
    squares = jnp.sum(scaled**2, axis=1)
    distance = jnp.maximum(squares[:, None] + squares[None, :] - 2 * scaled @ scaled.T, 0.0)
    k = jnp.exp(-0.5 * distance) * (design @ b @ design.T)
    return k + NOISE * jnp.mean(jnp.diag(b)) * jnp.eye(len(z)), length, b


def _solved(k: jax.Array, y: jax.Array, design: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Cholesky factor, means by generalised least squares, coefficients."""
    factor = jnp.linalg.cholesky(k)
    both = jax.scipy.linalg.cho_solve((factor, True), jnp.column_stack([design, y]))
    beta = jnp.linalg.solve(design.T @ both[:, :-1], design.T @ both[:, -1])
    return factor, beta, both[:, -1] - both[:, :-1] @ beta


def _slope(dear: np.ndarray, other: np.ndarray) -> float:
    return float(np.cov(dear, other)[0, 1] / np.var(other, ddof=1))


if __name__ == "__main__":
    main()
