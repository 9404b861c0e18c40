"""A posterior is tasks, and can be asked for others: names, powers, functions, labels."""

from __future__ import annotations

import numpy as np
import pytest

import vvcv


@pytest.fixture
def posterior() -> vvcv.Posterior:
    z = np.random.default_rng(0).normal(size=(2, 60, 3))
    draws = {"mu": z[..., 0], "theta": np.exp(z[..., 1:]), "outer": z[..., :2, None] * z[..., None, 1:]}
    return vvcv.Posterior(z, -z, draws, labels={"theta": [["Choate", "Exeter"]]}, parameters=["a", "b", "c"])


def test_its_own_tasks_are_all_variables_element_by_element(posterior):
    outer = ("outer[0,0]", "outer[0,1]", "outer[1,0]", "outer[1,1]")
    assert posterior.names == ("mu", "theta[Choate]", "theta[Exeter]", *outer)
    np.testing.assert_array_equal(posterior["theta[Exeter]"].values, np.exp(posterior.unconstrained[..., 2]).ravel())
    np.testing.assert_array_equal(
        posterior["outer[1,0]"].values, np.prod(posterior.unconstrained[..., 1:2] ** 2, axis=-1).ravel()
    )
    assert posterior["mu"].chains == (2, 60)


def test_it_is_estimated_as_it_is(posterior):
    est = vvcv.estimate(posterior, method="zv", on_alarm="ignore")  # 120 draws have not mixed
    assert est.mean[0] == pytest.approx(0, abs=1e-12)
    assert est.names == posterior.names
    assert vvcv.check(posterior).ok


def test_moments_add_powers(posterior):
    tasks = posterior.expect("theta", moments=3)
    powers = [f"theta[{school}]{power}" for power in ("", "^2", "^3") for school in ("Choate", "Exeter")]
    assert list(tasks.names) == powers
    np.testing.assert_allclose(tasks["theta[Choate]^3"].values, tasks["theta[Choate]"].values ** 3)


def test_standard_deviations_follow_from_two_moments(posterior):
    est = vvcv.estimate(posterior.expect("mu", moments=2), method="zv")
    assert np.sqrt(est.mean[1] - est.mean[0] ** 2) == pytest.approx(1, abs=1e-10)


def test_functions_get_whole_arrays_and_give_one_or_several_integrands(posterior):
    functions = {
        "best": lambda draws: draws["theta"].max(axis=-1),
        "both": lambda draws: draws["theta"] - draws["mu"][..., None],
    }
    tasks = posterior.expect(functions=functions)
    assert tasks.names == ("best", "both[0]", "both[1]")
    np.testing.assert_allclose(tasks["best"].values, posterior.draws["theta"].max(axis=-1).ravel())
    assert posterior.expect("mu", functions=functions).names == ("mu", "best", "both[0]", "both[1]")


def test_labels_that_occur_twice_give_way_to_places():
    z = np.random.default_rng(0).normal(size=(1, 9, 3))
    draws = {"theta": np.stack([z, -z], axis=-1)}
    labels = {"theta": [["Aitkin", "Anoka", "Aitkin"], ["up", "down"]]}
    posterior = vvcv.Posterior(z, -z, draws, labels=labels)
    assert posterior.names == tuple(f"theta[{i},{way}]" for i in range(3) for way in ("up", "down"))
    np.testing.assert_array_equal(posterior["theta[2,down]"].values, -z[0, :, 2])


def test_a_variable_named_twice_is_asked_for_once(posterior):
    assert posterior.expect(["mu", "mu"]).names == ("mu",)


@pytest.mark.parametrize(("dtype", "largest"), [("int32", 100_000), ("uint8", 200), ("float32", 1e30), ("bool", 1)])
def test_powers_of_narrow_numbers_are_those_of_wide_ones(dtype, largest):
    z = np.random.default_rng(0).normal(size=(1, 9, 1))
    draws = {"k": np.full((1, 9), largest, dtype=dtype)}
    tasks = vvcv.Posterior(z, -z, draws).expect(
        "k", moments=3, functions={"square": lambda draws: draws["k"] * draws["k"]}
    )
    number = float(np.asarray(largest, dtype=dtype))
    for name, power in (("k^2", 2), ("k^3", 3), ("square", 2)):
        np.testing.assert_array_equal(tasks[name].values, number**power)


def test_functions_in_jax_are_evaluated_in_double_precision(posterior):
    import jax.numpy as jnp

    values = posterior.expect(functions={"exp": lambda draws: jnp.exp(draws["mu"] + 100)})["exp"].values
    np.testing.assert_allclose(
        values, np.exp(posterior["mu"].values + 100), rtol=1e-13
    )  # too large for single precision


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"var_names": ["phi"]}, "no posterior variable \\['phi'\\]"),
        ({"var_names": []}, "No integrand"),
        ({"var_names": 3}, "var_names must be a name or a list of names"),
        ({"var_names": [["mu"]]}, "var_names must be a name or a list of names"),
        ({"moments": 0}, "positive integer, but is 0"),
        ({"moments": True}, "positive integer, but is True"),
        ({"moments": "two"}, "positive integer"),
        ({"var_names": "mu", "functions": {"mu": lambda draws: 2 * draws["mu"]}}, r"\['mu'\] occur more than once"),
        ({"var_names": "mu", "moments": 2, "functions": {"mu^2": lambda draws: draws["mu"]}}, r"\['mu\^2'\] occur"),
        ({"functions": lambda draws: draws["mu"]}, "functions maps names"),
        ({"functions": {"mu": "theta"}}, "functions maps names"),
        ({"functions": {"total": lambda draws: draws["theta"].sum()}}, "one number or one array per draw"),
        ({"functions": {"log": lambda draws: 0 * draws["mu"] + np.inf}}, "values of the function 'log' must be finite"),
        ({"functions": {"log": lambda draws: 0 * draws["mu"] + np.inf}}, "Draws must not be left out for it"),
        ({"functions": {"log": lambda draws: draws["tau"]}}, r"'log' asks for 'tau'.*\['mu', 'theta', 'outer'\]"),
        ({"moments": 2, "functions": {"mine": lambda draws: draws["mu"]}}, r"moments=2 .* var_names=\['mu', 'theta'"),
        ({"var_names": "theta[ Exeter]"}, r"elements of 'theta' are \['theta\[Choate\]', 'theta\[Exeter\]'\]"),
    ],
)
def test_what_cannot_be_averaged_is_refused(posterior, asked, message):
    with pytest.raises(ValueError, match=message):
        posterior.expect(**asked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": np.zeros((5, 1))}, r"\(chain, draw, d\)"),
        ({"draws": {"mu": np.zeros((5, 2))}}, "leading axes"),
        ({"parameters": ["a", "b"]}, "name the 1 unconstrained"),
        ({"scores": np.zeros((2, 5, 2))}, "one gradient per point"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    good = {"points": np.zeros((2, 5, 1)), "scores": np.zeros((2, 5, 1)), "draws": {"mu": np.zeros((2, 5))}}
    with pytest.raises(ValueError, match=message):
        vvcv.Posterior(**{**good, **change})


def test_a_variable_that_is_not_finite_matters_only_when_asked_for():
    z = np.random.default_rng(0).normal(size=(1, 9, 1))
    draws = {"mu": z[..., 0], "ratio": np.full((1, 9), np.nan)}
    assert vvcv.Posterior(z, -z, draws, var_names="mu").names == ("mu",)
    with pytest.raises(ValueError, match=r"values of task 'ratio' must be finite.*left out.*var_names="):
        vvcv.Posterior(z, -z, draws)


def test_many_variables_hold_one_copy_of_the_points(posterior):
    assert all(task.points is posterior[0].points for task in posterior)
    assert posterior.share_points


def test_it_says_what_it_holds(posterior):
    assert repr(posterior) == "Posterior(mu, theta[2], outer[2, 2]; 2 chains of 60 draws, d=3, T=7)"


WRITERS = {
    "operator": lambda draws: draws["mu"].__imul__(2),
    "entry": lambda draws: draws["mu"].__setitem__(0, 1.0),
    "sort": lambda draws: draws["mu"].sort(),
    "output": lambda draws: np.exp(draws["mu"], out=draws["mu"]),
}


@pytest.mark.parametrize("function", WRITERS.values(), ids=WRITERS)
def test_functions_cannot_change_what_other_answers_are_made_of(function):
    z = np.random.default_rng(0).normal(size=(2, 60, 1))
    mine = z[..., 0].copy()
    posterior = vvcv.Posterior(z, -z, {"mu": mine})
    with pytest.raises(ValueError, match="'mine' must leave the draws as they are, but writes into them.*copy"):
        posterior.expect(functions={"mine": function})
    np.testing.assert_array_equal(posterior.draws["mu"], z[..., 0])
    assert mine.flags.writeable and np.array_equal(mine, z[..., 0])


def test_an_error_of_a_function_that_is_no_writer_reaches_the_user(posterior):
    with pytest.raises(ValueError, match="cannot be broadcast|operands could not"):
        posterior.expect(functions={"mine": lambda draws: draws["mu"] + np.zeros(7)})


def test_elements_are_asked_for_by_their_own_names(posterior):
    assert posterior.expect("theta[Exeter]", moments=2).names == ("theta[Exeter]", "theta[Exeter]^2")
    assert posterior.expect(["theta[Exeter]", "theta", "mu"]).names == ("theta[Exeter]", "theta[Choate]", "mu")
    with pytest.raises(ValueError, match=r"no posterior variable \['theta\[Eton\]'\]"):
        posterior.expect("theta[Eton]")


def test_powers_are_counted_by_any_whole_number(posterior):
    assert posterior.expect("mu", moments=np.int64(2)).names == ("mu", "mu^2")


def test_complex_variables_are_refused_where_they_are_asked_for():
    z = np.random.default_rng(0).normal(size=(1, 9, 1))
    posterior = vvcv.Posterior(z, -z, {"mu": z[..., 0], "root": 1j * z[..., 0]}, var_names="mu")
    with pytest.raises(ValueError, match=r"'root' must be real numbers.*var_names="):
        posterior.expect()


def test_draws_that_the_user_changes_later_stay_as_they_were():
    z = np.random.default_rng(0).normal(size=(2, 60, 1))
    tau = np.exp(z[..., 0])
    posterior = vvcv.Posterior(z, -z, {"tau": tau})
    before = posterior.expect("tau")["tau"].values
    tau[:] = 7.0
    np.testing.assert_array_equal(posterior.expect("tau")["tau"].values, before)
