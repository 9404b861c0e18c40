"""Would conjugate gradients on the exact system beat both the exact fit and inducing points? Steps and seconds.

    python benchmarks/conjugate.py [--rows N ...] [--out benchmarks/conjugate.json]

The kernel that inducing points are tuned with serves all three, for one integrand of `benchmarks/scale.py` (smooth,
d = 4) and the five on shared points (d = 10). The system (K + noise I) w = values is preconditioned by the inducing
points themselves, P = Phi Phi' + noise I, by Woodbury's identity; it is solved to 1e-8 of the right-hand side. Seconds
are those of the processor. Error bars need more: what is left of each value when it is left out takes the diagonal of
the inverse, which a factorisation gives and conjugate gradients do not; what one more right-hand side costs is shown.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scale import draws, smooth
from scipy.linalg import cho_factor, cho_solve, solve_triangular

import vvcv
from vvcv.candidates.kernel import Options
from vvcv.kernels import Side
from vvcv.large.fits import LargeFits
from vvcv.large.rows import Rows
from vvcv.runtime.precision import float64
from vvcv.stein import gram

ACCURACY, MOST_STEPS = 1e-8, 500


def preconditioner(phi: np.ndarray, noise: float):
    """P^-1 r = (r - Phi (noise I + Phi' Phi)^-1 Phi' r) / noise."""
    inner = cho_factor(phi.T @ phi + noise * np.eye(phi.shape[1]), lower=True)
    return lambda r: (r - phi @ cho_solve(inner, phi.T @ r)) / noise


def conjugate_gradients(matrix: np.ndarray, right: np.ndarray, solve) -> tuple[np.ndarray, int]:
    """Preconditioned conjugate gradients for one right-hand side."""
    x, r = np.zeros_like(right), right.copy()
    z = solve(r)
    p, rz = z.copy(), float(r @ z)
    for step in range(1, MOST_STEPS + 1):
        q = matrix @ p
        x += (alpha := rz / float(p @ q)) * p
        r -= alpha * q
        if np.linalg.norm(r) <= ACCURACY * np.linalg.norm(right):
            return x, step
        z = solve(r)
        rz, before = float(r @ z), rz
        p = z + (rz / before) * p
    return x, MOST_STEPS


@float64
def compared(tasks: list[vvcv.Task]) -> dict:
    """One kernel, its exact system solved by a factorisation and by conjugate gradients."""
    fits = LargeFits(Rows.of(tasks, [f"task {i}" for i in range(len(tasks))]), Options())
    points, clock = fits.inducing, time.process_time
    x, s = points.coordinates.points(tasks[0].points), points.coordinates.scores(tasks[0].scores)
    values = (tasks[0].values - fits.look.shift[0]) / fits.look.scale[0]
    seconds, start = {}, clock()
    matrix = gram(points.kernel, Side(x, s, np.zeros(len(x), dtype=int)))
    matrix[np.diag_indices(len(x))] += points.noise
    seconds["gram"], start = clock() - start, clock()
    phi = solve_triangular(points.factor, points.rows(tasks[0].points, tasks[0].scores), lower=True).T
    solve = preconditioner(phi, points.noise)
    seconds["preconditioner"], start = clock() - start, clock()
    found, steps = conjugate_gradients(matrix, values, solve)
    seconds["conjugate_gradients"], start = clock() - start, clock()
    exact = cho_solve(cho_factor(matrix, lower=True), values)
    seconds["factorisation"], start = clock() - start, clock()
    fits.of_task(0, ("inducing",))
    seconds["inducing_passes"] = clock() - start
    apart = float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
    return {
        "points": points.count,
        "noise": float(points.noise / np.mean(np.diag(matrix))),
        "left_open_in_noise": float(points.left_open / points.noise),
        "steps": steps,
        "apart": apart,
        "seconds": {name: round(number, 2) for name, number in seconds.items()},
    }


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", type=int, default=[5_000, 10_000])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/conjugate.json"))
    arguments = parser.parse_args()
    record = {}
    for rows in arguments.rows:
        for name, tasks in (
            ("smooth, d = 4", [smooth(rows, 61_000)[0]]),
            ("five, d = 10", list(vvcv.Tasks.shared(*draws(61_000, rows)))),
        ):
            record[f"{name}, rows {rows}"] = found = compared(tasks)
            print(name, rows, json.dumps(found), flush=True)
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
