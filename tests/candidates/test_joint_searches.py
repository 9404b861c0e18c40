"""Searches for all tasks together: they start from what each task knows alone, and end where longer ones do."""

from dataclasses import replace

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks
from vvcv.candidates.alike import all_alike
from vvcv.candidates.columns import semi_exact
from vvcv.candidates.designs import build_design
from vvcv.candidates.kernel import Options, best_of
from vvcv.candidates.linear_parts import LEAST_WEIGHT, axis_weights, start_covariance
from vvcv.candidates.rungs import KernelFits, _kernels_alone
from vvcv.candidates.several import from_own
from vvcv.data import Prepared
from vvcv.kernels import Own
from vvcv.linear_system.evaluation import Evaluation
from vvcv.problems import synthetic
from vvcv.tuning.refit import refit
from vvcv.tuning.starts import without_noise


def two_tasks(seed: int = 20900, n: int = 50) -> Tasks:
    rng, tasks = np.random.default_rng(seed), []
    for f, variance in ((synthetic.f_1, 1.25), (synthetic.f_2, 1.0)):
        x = synthetic.sample(rng, n, variance)
        tasks.append(Task(x, synthetic.score(x, variance), f(x)))
    return Tasks(tasks)


def wide(seed: int, n: int) -> Task:
    x = np.random.default_rng(seed).normal(size=(n, 6))
    return Task(x, -x, np.sin(x[:, 0]) + x[:, 1] ** 2)


@pytest.fixture(scope="module")
def fits() -> KernelFits:
    return KernelFits(Prepared.of(two_tasks()), Options())


def test_a_joint_fit_with_columns_is_at_the_optimum_that_a_long_search_finds(fits):
    (fit,) = [f for f in fits.of("vv-secf")[0] if f.degree == 2 and f.found.family == "squared-exponential"]
    design = build_design(fit.prepared, fit.members, fit.coordinates, 2, False).rounded()
    longer = refit(fit.found, design, fit.found.model, max_evaluations=300)
    assert fit.members == (0, 1)
    assert longer.tuned.value == pytest.approx(fit.found.tuned.value, abs=0.5)


def test_tasks_that_could_know_more_together_start_from_nothing():
    few = Prepared.of(Tasks([wide(0, 8), wide(1, 8)]))
    own = KernelFits(few, Options()).scalar
    assert best_of(own[0]).found.level < 2
    assert from_own(few, own, Options()) == []
    assert from_own(few, {0: own[0], 1: []}, Options()) == []


def test_axes_count_as_in_the_linear_function_that_tasks_have_in_common_but_for_its_sign():
    rng = np.random.default_rng(3)
    given = [rng.normal(size=(30, 4)) for _ in range(2)]
    tasks = Tasks([Task(x, -x, sign * (2 * x[:, 1] - x[:, 3])) for x, sign in zip(given, (1.0, -5.0), strict=True)])
    prepared = Prepared.of(tasks)
    covariance, coordinates = start_covariance(prepared, (0, 1)), prepared.coordinates((0, 1), "scaled")
    weights = axis_weights(prepared, (0, 1), coordinates, covariance)
    assert covariance[0, 1] < -0.7 and weights[1] == pytest.approx(1 + LEAST_WEIGHT)
    assert 0.1 < weights[3] < 0.5 and (weights[[0, 2]] < 0.05).all()


def test_a_smooth_family_that_was_dropped_is_tried_with_columns(fits):
    smooth, rough = Options().families[:2]
    fit = best_of(fits.scalar[0])
    only_rough = [replace(fit, found=replace(fit.found, family=rough))]
    assert {f.found.family for f in semi_exact(only_rough, [2], Options())} == {smooth, rough}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_last_digits_of_the_likelihood_do_not_move_the_answer(monkeypatch, seed):
    before = vvcv.estimate(two_tasks(), check=False)
    rng, exact = np.random.default_rng(seed), Evaluation.__call__

    def rounded(self, leaves):
        value, gradient, scale = exact(self, leaves)
        return (
            value * (1 + 1e-12 * rng.normal()),
            lambda: [g * (1 + 1e-9 * rng.normal(size=np.shape(g))) for g in gradient()],
            scale,
        )

    monkeypatch.setattr(Evaluation, "__call__", rounded)
    monkeypatch.setattr(Evaluation, "compiled", None)
    after = vvcv.estimate(two_tasks(), check=False)
    assert (np.abs(after.mean - before.mean) < 0.25 * before.std_error).all()
    np.testing.assert_allclose(after.std_error, before.std_error, rtol=0.15)


def hills(seed: int, few: int) -> Tasks:
    """Many points of a hill, and few of another that is 1.2 times as high and slightly inclined."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(80, 2)), rng.normal(size=(few, 2))
    hill = [np.exp(-((z[:, 0] - 0.5) ** 2 + z[:, 1] ** 2) / 4) for z in (x, y)]
    return Tasks([Task(x, -x, hill[0]), Task(y, -y, 1.2 * hill[1] + 0.1 * y[:, 1])])


def test_the_rest_of_a_task_of_few_points_is_found_with_all_axes_alike():
    def simplest(few):
        fits = KernelFits(Prepared.of(hills(20950, few)), Options())
        return [fit for fit in all_alike(best_of(_kernels_alone(fits.joint)), Options()) if fit.found.level == 0]

    (fit,) = simplest(8)
    terms = fit.found.model.kernel.terms
    assert len(terms) == 3
    assert all(np.ptp(term.log_axes) == 0 for term in terms)
    assert simplest(80) == []


@pytest.mark.parametrize(("few", "have_one"), [(8, {0}), (30, {0, 1})])
def test_tasks_of_few_points_choose_no_kernel_of_their_own_beside_that_of_all(few, have_one):
    many, other = hills(20950, few)
    waves = Task(other.points, other.scores, np.sin(2 * other.points[:, 0]) * other.points[:, 1])
    joint = KernelFits(Prepared.of(Tasks([many, waves])), Options()).joint
    terms = [(fit, term) for fit in joint for term in getattr(fit.found.model.kernel, "terms", ()) if fit.found.level]
    assert {fit.members[term.kernel.task] for fit, term in terms if isinstance(term.kernel, Own)} == have_one


def test_a_hill_of_few_points_is_mostly_as_well_known_as_one_of_many():
    exact = 1.2 * 2 / 3 * np.exp(-0.25 / 6)  # E exp(-(x - m)^2 / 4) = sqrt(2/3) exp(-m^2 / 6) on each axis
    found = [vvcv.estimate(hills(seed, 8), check=False) for seed in range(20950, 20957)]
    errors = [abs(estimate.mean[1] - exact) / estimate.monte_carlo.std_error[1] for estimate in found]
    assert np.median(errors) < 0.02, "without that model, .1"


def test_what_a_fit_was_judged_by_is_what_its_solution_says_and_no_judgement_of_another_model(fits):
    fit = best_of(fits.scalar[0])
    known = fit.found.judged_on(fit.design.size)
    assert known is not None and fit.solution.judgement is known
    again = replace(fit, found=replace(fit.found, judgement=None))
    np.testing.assert_array_equal(again.std_error, fit.std_error)
    np.testing.assert_array_equal(again.merits, fit.merits)
    assert fit.found.judged_on(fit.design.size - 1) is None
    other = fit.found.tuned._replace(model=without_noise(fit.found.model))
    assert replace(fit.found, tuned=other).judged_on(fit.design.size) is None


def test_degrees_that_tasks_alone_are_far_behind_with_are_not_tried_together(fits):
    degrees = {fit.degree for fit in fits._scalar_semi_exact[0]}
    assert len(degrees) == 2 and set(fits._joint_from_own) <= degrees
    other = KernelFits(fits.prepared, fits.options)
    behind = {
        t: [replace(fit, found=replace(fit.found, merit=fit.found.merit + 9 * (fit.degree == 2))) for fit in own]
        for t, own in fits._scalar_semi_exact.items()
    }
    vars(other).update(scalar=fits.scalar, _scalar_semi_exact=behind)
    assert list(other._joint_from_own) == [1]
