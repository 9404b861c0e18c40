"""What answers pay for being far from the sample: of values, and of the points that their own weights tell of."""

import numpy as np
import pytest

import vvcv
from vvcv.data import Task, Tasks
from vvcv.estimation.beside_plain import UNHEARD_OF, with_plain_average, worth_of_points
from vvcv.estimation.weights import PRICE, Answer
from vvcv.linear_system.balance import Balance


def answer(mean, error, merit, balance=None):
    return Answer("cf", mean, error, merit, 20.0, lambda x, s: mean * x[:, 0], "cf", balance=balance)


ONCE = np.ones(100)


def values_with_mean(mean: float, seed: int = 0) -> Task:
    """100 independent values with this mean and a standard error of .1."""
    z = np.random.default_rng(seed).normal(size=100)
    values = mean + (z - z.mean()) / z.std()
    return Task(values, -values, values)


def test_an_answer_that_the_plain_average_rules_out_pays_for_it_and_one_that_it_doubts_does_not():
    near, far, further = (answer(mean, 0.001, -3.0) for mean in (0.35, 0.9, -2.0))
    merits = [after.merit for after in with_plain_average([near, far, further], values_with_mean(0.0), ONCE)]
    assert merits[0] == -3.0
    assert -2.5 < merits[1] < merits[2]


def test_a_long_tail_that_the_sample_has_missed_speaks_for_an_answer():
    values = np.random.default_rng(1).exponential(size=100) ** 2
    task, mean, error = Task(values, -values, values), values.mean(), values.std() / 10
    above, below = with_plain_average([answer(mean + k * error, 0.001, -3.0) for k in (6, -6)], task, ONCE)
    assert above.merit < below.merit and below.merit > -2


def test_a_chain_that_nobody_has_said_is_one_rules_nothing_out():
    steps = np.random.default_rng(2).normal(size=500)
    x = [steps[0]]
    for step in steps[1:]:
        x.append(0.99 * x[-1] + np.sqrt(1 - 0.99**2) * step)
    task = Task(np.array(x), -np.array(x), np.array(x))
    assert abs(np.mean(x)) > 10 * np.std(x) / np.sqrt(500)
    assert with_plain_average([answer(0.0, 0.001, -3.0)], task, np.ones(500))[0].merit == -3.0


def test_rows_given_again_and_again_are_no_surer():
    task, far = values_with_mean(0.0), answer(0.9, 0.001, -3.0)
    assert with_plain_average([far], task, np.full(10, 10.0))[0].merit == -3.0


def middle(apart: float, own: float = 0.01) -> Balance:
    """Of a fit that takes the only coordinate's mean to be so many of the sample's errors away."""
    return Balance(np.array([0.1 * apart]), np.array([own]), np.eye(1), 100)


def paid(mean: float, balance: Balance | None, worth: float = 100.0) -> float:
    (after,) = with_plain_average([answer(mean, 0.001, -3.0, balance)], values_with_mean(0.0), ONCE, worth)
    return after.merit + 3.0


def test_values_and_points_together_rule_out_what_neither_does_alone():
    assert paid(0.24, None) == paid(0.24, middle(0.0)) == paid(0.0, middle(2.4)) == 0.0
    assert paid(0.24, middle(2.4)) > 0.5
    assert paid(0.0, middle(6.0)) > 2.0  # these values do not tell one middle from another: the variate does


def test_points_never_speak_up_for_an_answer_that_values_rule_out():
    far = paid(0.9, None)
    assert far > PRICE * UNHEARD_OF / 2 and paid(0.9, middle(0.0)) >= far


@pytest.mark.parametrize("worth, own", [(5.0, 0.01), (100.0, 0.3)], ids=["few rows' worth", "a fit that does not know"])
def test_where_nobody_knows_the_middle_it_rules_nothing_out(worth, own):
    assert paid(0.2, middle(6.0, own), worth) == 0.0 < paid(0.2, middle(6.0))


def test_points_are_worth_as_many_rows_as_the_coordinate_that_mixes_worst():
    rng = np.random.default_rng(3)
    x, steps = rng.normal(size=(400, 2)), rng.normal(size=400)
    for i in range(1, 400):
        x[i, 1] = 0.95 * x[i - 1, 1] + np.sqrt(1 - 0.95**2) * steps[i]
    mixed, slow = worth_of_points(Tasks([Task(x[:, [0, 0]], -x, x[:, 0]), Task(x, -x, x[:, 0])]))
    assert mixed > 200 > 60 > slow
    assert worth_of_points(Tasks.shared(x, -x, x)) == [slow, slow]


def test_independent_rows_are_worth_as_many_in_any_order():
    """One order of a hundred is taken for a chain's: more than six of 200 are in fewer than 1 of 200 tests."""
    rng = np.random.default_rng(5)
    orders = [rng.permutation(values_with_mean(0.0).points) for _ in range(200)]
    worth = [worth_of_points(Tasks([Task(x, -x, x[:, 0])]))[0] for x in orders]
    assert np.sum(np.array(worth) < 100) <= 6


def test_weights_of_near_modes_are_not_made_up(monkeypatch):
    """Modes five deviations apart at 80 points. Measured: off by .007 and .279, .1 and 35 error bars."""
    rng = np.random.default_rng(9)
    x = np.where(rng.random((80, 1)) < 0.65, 2.5, -2.5) + rng.normal(size=(80, 1))
    scores = 2.5 * np.tanh(2.5 * x + np.arctanh(0.3)) - x
    task = Task(x, scores, np.exp(-(x[:, 0] ** 2) / 8) + np.sin(x[:, 0]))
    exact = np.exp(-(2.5**2) / 10) / np.sqrt(1.25) + 0.3 * np.sin(2.5) * np.exp(-0.5)
    heard = vvcv.estimate(task, check=False)
    monkeypatch.setattr(Balance, "of", lambda system, design: None)
    unheard = vvcv.estimate(task, check=False)
    assert abs(heard.mean[0] - exact) < 3 * heard.std_error[0] < 6 * heard.monte_carlo.std_error[0]
    assert abs(unheard.mean[0] - exact) > 10 * unheard.std_error[0]
