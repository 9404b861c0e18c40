"""`check`: are these the scores of the density the points were drawn from, and what else may spoil an estimate?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from ..data.task import Task, Tasks, as_tasks
from .differences import LogDensity, compare, densities_of
from .equal import describe_equal
from .findings import Check, Finding, worst_first
from .geometry import describe_points, describe_sharing
from .identities import Identities, alarm_bound, identities, pooled
from .mistakes import likely_mistake
from .order import describe_order
from .sample import Sample, samples_of
from .tails import describe_tails

#: Effective draws below which a check says that it has seen little: scores of the wrong sign can then pass.
FEW_DRAWS = 100


def check(
    tasks: Tasks | Task | Sequence[Task],
    log_density: LogDensity | Sequence[LogDensity] | Mapping[str, LogDensity] | None = None,
) -> Check:
    """Test E[s] = 0 and E[x s'] = -I, name the likely mistake where they fail, and look at points and values.

    Correct scores at draws of their target, independent or Markov chains, raise an alarm in 2 of 1000 data sets. A
    log density, of one point `(d,)` or of many `(n, d)`, is compared with the scores by central differences.

    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> check(Task(x, -x, x[:, 0])).ok
    True
    >>> check(Task(x, x, x[:, 0])).codes
    ('sign',)
    """
    tasks = as_tasks(tasks)
    samples = samples_of(tasks)
    differences = _compare(tasks, samples, log_density)
    wrong = {id(sample) for sample, finding in differences if finding.severity != "ok"}
    confirmed = ({id(sample) for sample, _ in differences} | {id(s) for s in samples if s.inputs}) - wrong
    findings = [finding for _, finding in differences]
    for sample in samples:
        findings += describe_points(sample)
    findings += _describe_scores(samples, confirmed)
    findings += describe_order(tasks) + describe_tails(tasks, samples) + describe_sharing(tasks, samples)
    findings += describe_equal(tasks)
    return worst_first(findings)


def _compare(tasks: Tasks, samples: list[Sample], log_density) -> list[tuple[Sample, Finding]]:
    if log_density is None:
        return []
    given = densities_of(tasks, log_density)
    of_each = [(sample, {id(given[name]): given[name] for name in sample.names if name in given}) for sample in samples]
    return [(sample, compare(sample, density)) for sample, densities in of_each for density in densities.values()]


def _describe_scores(samples: list[Sample], confirmed: set[int]) -> list[Finding]:
    tests = [identities(sample) for sample in samples]
    bound = alarm_bound(samples[0].points.shape[1], len(samples) + (len(samples) > 1))
    failing = [t for t, test in enumerate(tests) if test.worst > bound]
    doubtful = [t for t in failing if id(samples[t]) not in confirmed]
    findings = [_no_draws(tests[t], samples[t].inputs, samples[t].label) for t in failing if t not in doubtful]
    findings += _common_failure([samples[t] for t in doubtful], [tests[t] for t in doubtful], bound, len(samples))
    if not findings and (together := pooled(tests, samples)).worst > bound:
        every = len(confirmed) == len(samples)
        inputs = samples[0].inputs if len({sample.inputs for sample in samples}) == 1 else ()
        findings = [_no_draws(together, inputs, None) if every else _failure(samples, together, bound, None)]
    if findings:
        return findings
    unconfirmed = [(sample, test) for sample, test in zip(samples, tests, strict=True) if id(sample) not in confirmed]
    return [_passed(tests), *_weak(unconfirmed, len(samples))]


def _common_failure(samples: list[Sample], tests: list[Identities], bound: float, among: int) -> list[Finding]:
    """One finding where one mistake explains all samples that fail, since together they tell it best."""
    if len(samples) > 1:
        together = pooled(tests, samples)
        mistake = likely_mistake(samples, together, bound)
        if mistake is not None and mistake.code != "prior":
            who = "all samples" if len(samples) == among else f"{len(samples)} of {among} samples"
            message = f"in {who}, the first {samples[0].label!r}: {mistake.message[:-1]} ({_evidence(together)})."
            return [Finding("error", mistake.code, message, mistake.remedy)]
    return [_failure([sample], test, bound, sample.label) for sample, test in zip(samples, tests, strict=True)]


def _no_draws(test: Identities, inputs: tuple[str, ...], task: str | None) -> Finding:
    if inputs:
        j = int(np.unravel_index(np.argmax(_readable(test)), test.z.shape)[1])
        message = f"the runs are at no draws of the inputs, of {inputs[j]!r} least of all ({_evidence(test)})."
        remedy = (
            "Check its distribution and its unit. Of runs at a design, such as a grid, the fit stays valid; error bars "
            "from residuals, and the plain average, do not."
        )
        return Finding("warning", "points", message, remedy, task)
    message = f"scores are the derivatives of the log density, but the points are no draws of it ({_evidence(test)})."
    remedy = "The fit stays valid; error bars from residuals do not. Discard a burn-in, or run longer chains."
    return Finding("warning", "points", message, remedy, task)


def _failure(samples: list[Sample], test: Identities, bound: float, task: str | None) -> Finding:
    mistake = likely_mistake(samples, test, bound)
    if mistake is None:
        message = f"the scores are not those of the density the points were drawn from ({_evidence(test)})."
        remedy = "Pass log_density to see which is wrong: the scores, or points that are no draws (burn-in, a design)."
        return Finding("error", "scores", message, remedy, task)
    return Finding("error", mistake.code, f"{mistake.message[:-1]} ({_evidence(test)}).", mistake.remedy, task)


def _evidence(test: Identities) -> str:
    """The identity that fails by most or, where a few of one coordinate do so only together, these as well."""
    d, plain = test.z.shape[1], _readable(test)
    row, j = np.unravel_index(np.argmax(plain), plain.shape)
    if row == 0:
        what = f"E[s_{j}] = {test.deviation[row, j]:.2g} instead of 0"
    elif row <= d:
        expected = -float(row - 1 == j)
        what = f"E[x_{row - 1} s_{j}] = {test.deviation[row, j] + expected:.2g} instead of {expected:g}"
    else:
        what = f"E[exp(-x_{row - d - 1}^2/2) s_{j}] is off by {test.deviation[row, j]:.2g}"
    found, most = f"{what}, z = {test.z[row, j]:.1f}", int(np.argmax(test.joint))
    if test.joint[most] <= np.abs(test.z).max():
        return found
    return f"{found}; s_{most} in both tails of x_{most}, together z = {test.joint[most]:.1f}"


def _readable(test: Identities) -> Float[np.ndarray, "m d"]:
    """How far each identity fails, those of moments, which are easier to read, before others."""
    d = test.z.shape[1]
    return np.abs(test.z) * np.where(np.arange(2 * d + 1) <= d, 1.0, 0.5)[:, None]


def _passed(tests: list[Identities]) -> Finding:
    count = sum(test.z.size for test in tests)
    worst = max(float(np.abs(test.z).max()) for test in tests)
    draws = min(test.size for test in tests)
    message = (
        f"scores fit their points: {count} Stein identities, largest |z| {worst:.1f}, {draws:.0f} effective draws."
    )
    return Finding("ok", "scores", message)


def _weak(unconfirmed: list[tuple[Sample, Identities]], among: int) -> list[Finding]:
    few = [sample.label for sample, test in unconfirmed if test.size < FEW_DRAWS]
    if not few:
        return []
    message = f"{len(few)} of {among} samples have fewer than {FEW_DRAWS} effective draws: mistakes can pass."
    return [Finding("note", "few-draws", message, "Pass log_density, which needs no draws at all.")]
