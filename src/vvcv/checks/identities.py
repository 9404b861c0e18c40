"""Stein identities with z-values: E[phi(z_i) s_j + delta_ij phi'(z_i)] = 0 for phi = 1, z and exp(-z^2 / 2).

They hold for the right scores s = grad log pi at draws z of pi, in standard coordinates. Means of skewed, correlated
series are far from normal at a few hundred rows, so a z-value here is a t-statistic with the effective sample size,
its skewness removed by Hall's (1992) cubic, read from a t-distribution with few degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit, fdtrc, ndtri, stdtr

from ..data.chains import effective_sizes
from .sample import Sample

#: Probability that correct scores of one data set raise an alarm, all its identities together: rare enough to be heeded
#: (how often one is raised: `benchmarks/trust/alarms.py`; how often mistakes are found at this level:
#: `benchmarks/trust/check_power.py`).
FALSE_ALARM = 0.002

#: Rows from which on identities are looked at: fewer say nothing about their own spread.
FEWEST_ROWS = 8

#: Largest z-value that is told apart: normal tail probabilities underflow beyond it.
LARGEST_Z = 37.0


@dataclass(frozen=True, eq=False)
class Identities:
    """Deviations from the identities and their z-values: row 0 for phi = 1, then z_1 .. z_d, then the bumps.

    `joint` tests, for every column j, functions of z_j alone, one-sided, together (Hotelling), as a quantile; `size` is
    the smallest effective number of draws among the products z_j s_j.
    """

    deviation: Float[np.ndarray, "2d+1 k"]
    z: Float[np.ndarray, "2d+1 k"]
    joint: Float[np.ndarray, " k"]
    size: float

    @property
    def moment(self) -> Float[np.ndarray, "d d"]:
        """The estimate of E[z_i s_j], minus the identity matrix where the scores are right."""
        d = self.z.shape[1]
        return self.deviation[1 : d + 1] - np.eye(d)

    @property
    def by_column(self) -> Float[np.ndarray, " k"]:
        """The largest |z| of every column of the scores."""
        return np.maximum(np.abs(self.z).max(axis=0), self.joint)

    @property
    def worst(self) -> float:
        """The largest |z|."""
        return float(self.by_column.max())

    def failing(self, bound: float) -> list[int]:
        """Columns of the scores with a z-value beyond the bound."""
        return np.flatnonzero(self.by_column > bound).tolist()


def identities(sample: Sample, columns: Sequence[int] | None = None, *, divergence: bool = True) -> Identities:
    """Test the identities of some columns of the scores (all by default).

    Without the divergence term the claim is E[phi(z_i) s_j] = 0: scores that have nothing to do with their points.
    """
    z, scores = sample.standard()
    bump = np.exp(-(z**2) / 2)
    functions = np.concatenate([np.ones_like(z[:, :1]), z, bump], axis=1)
    d, varying = z.shape[1], sample.varying
    deviation, z_scores, joint, size = [], [], [], float(sample.size)
    for j in range(d) if columns is None else columns:
        if not varying[j]:  # no identity holds across a coordinate that is constant
            deviation.append(np.zeros(2 * d + 1))
            z_scores.append(np.zeros(2 * d + 1))
            joint.append(0.0)
            continue
        series = functions * scores[:, [j]]
        if divergence:
            series[:, 1 + j] += 1.0
            series[:, 1 + d + j] -= z[:, j] * bump[:, j]
        mean, statistic, effective = _z_scores(series, sample.chains)
        deviation.append(mean)
        z_scores.append(statistic)
        joint.append(_joint_z(_one_sided(z[:, j], scores[:, j], divergence), sample.chains))
        size = min(size, float(effective[1 + j]))
    return Identities(np.array(deviation).T, np.array(z_scores).T, np.array(joint), size)


def pooled(tests: Sequence[Identities], samples: Sequence[Sample]) -> Identities:
    """Stouffer's combination over samples, z = sum of w_t z_t / sqrt(w' C w), with w_t^2 the effective size of each.

    C holds the correlations of their points, row by row: tasks with common random numbers are hardly two witnesses.
    """
    if len(tests) == 1:
        return tests[0]
    size = np.array([test.size for test in tests])
    share = size / size.sum()
    weight = np.sqrt(share / (np.sqrt(share) @ _dependence(samples) @ np.sqrt(share)))
    return Identities(
        np.tensordot(share, [test.deviation for test in tests], axes=1),
        np.tensordot(weight, [test.z for test in tests], axes=1),
        np.tensordot(weight, [test.joint for test in tests], axes=1),
        float(size.sum()),
    )


def _dependence(samples: Sequence[Sample]) -> Float[np.ndarray, "T T"]:
    """The largest correlation over coordinates between samples of equal size, 0 where chance would give as much."""
    result = np.eye(len(samples))
    sizes = np.array([sample.size for sample in samples])
    for n in set(sizes.tolist()):
        members = [t for t, size in enumerate(sizes.tolist()) if size == n]
        z = np.stack([samples[t].standard()[0] for t in members], axis=1) / np.sqrt(n)
        correlation = np.abs(np.einsum("nsd,ntd->dst", z, z, optimize=True)).max(axis=0)
        np.fill_diagonal(correlation, 1.0)
        result[np.ix_(members, members)] = np.where(correlation > 5 / np.sqrt(n), np.minimum(correlation, 1.0), 0.0)
    np.fill_diagonal(result, 1.0)
    return result


def alarm_bound(dimension: int, families: int) -> float:
    """The |z| that all identities of all families stay below with probability 1 - FALSE_ALARM (Bonferroni)."""
    tests = dimension * (2 * dimension + 2) * families
    return -float(ndtri(FALSE_ALARM / (2 * tests)))


def _z_scores(series: Float[np.ndarray, "n k"], chains: tuple[int, int] | None) -> tuple[np.ndarray, ...]:
    n = len(series)
    magnitude = np.abs(series).max(axis=0)
    unit = series / np.where(magnitude > 0, magnitude, 1.0)  # scores of any unit have cubes
    mean = unit.mean(axis=0)
    if n < FEWEST_ROWS:
        return magnitude * mean, np.zeros_like(mean), np.full_like(mean, n)
    centred = unit - mean
    spread = np.sqrt((centred**2).sum(axis=0) / (n - 1))
    size = effective_sizes(unit, chains)
    certain = spread <= 1e-12  # a series without any spread: its mean is what it is
    safe = np.where(certain, 1.0, spread)
    skewness = ((centred / safe) ** 3).mean(axis=0) / np.sqrt(size)
    t = mean / safe * np.sqrt(size)
    t = t + skewness / 6 + skewness * t**2 / 3 + skewness**2 * t**3 / 27
    z = np.sign(t) * np.minimum(-ndtri(stdtr(_freedom(n, size), -np.abs(t))), LARGEST_Z)
    certainly = np.sign(mean) * LARGEST_Z * (magnitude * np.abs(mean) > 1e-12)
    return magnitude * mean, np.where(certain, certainly, z), size


def _one_sided(z: Float[np.ndarray, " n"], scores: Float[np.ndarray, " n"], divergence: bool) -> np.ndarray:
    """The identities of 1 and z on either side of the centre, phi = w, z w with w = expit(2z) and expit(-2z).

    They span phi = 1 and z, and see a mistake that shows in one tail while the scores run wild in the other.
    """
    columns = []
    for sign in (2.0, -2.0):
        weight = expit(sign * z)
        slope = sign * weight * (1 - weight) if divergence else 0.0
        columns += [weight * scores + slope, z * weight * scores + z * slope + divergence * weight]
    return np.column_stack(columns)


def _joint_z(series: Float[np.ndarray, "n k"], chains: tuple[int, int] | None) -> float:
    """Hotelling's T^2 = m mean' S^-1 mean, as a normal quantile.

    The effective size m is the smallest of the series and of their combination S^-1 mean: chains mix at many rates.
    """
    n, k = series.shape
    magnitude = np.abs(series).max(axis=0)
    unit = series / np.where(magnitude > 0, magnitude, 1.0)
    scale = unit.std(axis=0)
    if n <= 2 * k or not (scale > 1e-9).all():
        return 0.0
    unit = unit / scale
    mean = unit.mean(axis=0)
    weights = np.linalg.lstsq(np.cov(unit, rowvar=False), mean, rcond=1e-9)[0]
    size = float(effective_sizes(np.column_stack([unit, unit @ weights]), chains).min())
    freedom = float(_freedom(n, size))
    if freedom <= k:
        return 0.0
    squared = float(mean @ weights)
    squared = size * squared / (1 + squared)  # S about zero, the claimed mean: fewer false alarms where skewed
    tail = fdtrc(k, freedom - k + 1, squared * (freedom - k + 1) / (freedom * k))
    return float(np.clip(-ndtri(tail), -LARGEST_Z, LARGEST_Z))


def _freedom(n: int, size: Float[np.ndarray, " k"] | float) -> Float[np.ndarray, " k"]:
    """Degrees of freedom: the variance of a mean of correlated draws is itself known from few effective draws."""
    return np.maximum(size / np.minimum(1 + n / size, 8.0) - 1, 1.0)
