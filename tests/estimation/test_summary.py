"""The table after sampling: ArviZ's columns from the draws, means and standard deviations by control variates."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import noisy_groups
import vvcv

RNG = np.random.default_rng(5)


def chains(n: int = 200, rho: float = 0.5) -> np.ndarray:
    x = [RNG.normal(size=(4, 2))]
    for _ in range(n - 1):
        x.append(rho * x[-1] + np.sqrt(1 - rho**2) * RNG.normal(size=(4, 2)))
    return np.swapaxes(x, 0, 1)


Z = chains()
TASKS = vvcv.Tasks.shared(Z, -Z, np.stack([1e6 + 2 * Z[..., 0], np.exp(Z[..., 1] / 2)], axis=-1), names=["mu", "tau"])


@pytest.fixture(scope="module")
def table():
    return vvcv.summary(TASKS, method="zv")


def test_means_and_standard_deviations_are_those_of_the_target(table):
    assert table.loc["mu", "mean"] == pytest.approx(1e6, abs=1e-6)
    assert table.loc["mu", "sd"] == pytest.approx(2.0, abs=1e-6)  # though the mean is half a million times larger
    tau_sd = np.sqrt(np.exp(1 / 2) - np.exp(1 / 4))
    assert abs(table.loc["tau", "mean"] - np.exp(1 / 8)) < 4 * table.loc["tau", "std_error"]
    assert abs(table.loc["tau", "sd"] - tau_sd) < 4 * table.loc["tau", "sd_error"]
    assert table.loc["tau", "gain"] > 100
    worth = (table.loc["tau", "sd"] / table.loc["tau", "std_error"]) ** 2
    assert table.loc["tau", "ess_worth"] == pytest.approx(worth)


def test_what_the_draws_say_agrees_with_arviz(table):
    arviz = pytest.importorskip("arviz")
    draws = {name: task.values.reshape(4, 200) for name, task in zip(TASKS.names, TASKS, strict=True)}
    old = arviz.__version__.startswith("0.")
    shown = arviz.summary(draws if old else arviz.from_dict({"posterior": draws}), round_to="none")
    for name in draws:
        assert table.loc[name, "r_hat"] == pytest.approx(shown.loc[name, "r_hat"], abs=1e-3)
        for column in ("ess_bulk", "ess_tail") if old else ("ess_bulk",):  # 1.x takes other quantiles for the tails
            assert table.loc[name, column] == pytest.approx(shown.loc[name, column], rel=0.15), column
        if "hdi_3%" in shown:
            for end in ("hdi_3%", "hdi_97%"):
                assert table.loc[name, end] == pytest.approx(shown.loc[name, end], abs=1e-9)


def test_equal_tailed_intervals_are_quantiles():
    table = vvcv.summary(TASKS, "tau", kind="eti", prob=0.89, method="mc")
    assert list(table.index) == ["tau"]
    values = TASKS["tau"].values
    assert table["eti_5.5%"].item() == pytest.approx(np.quantile(values, 0.055))
    assert table["eti_94.5%"].item() == pytest.approx(np.quantile(values, 0.945))


def test_it_is_a_data_frame_that_prints_meaningful_digits_and_keeps_all(table):
    pd = pytest.importorskip("pandas")
    assert isinstance(table, pd.DataFrame) and isinstance(table.loc["mu", "mean"], float)
    text = str(table)
    assert len(text.splitlines()) == 4 and "method zv" in text and "1000000" in text
    assert len(str(table[["mean", "r_hat"]].head(1)).splitlines()) == 3


def test_an_object_that_can_be_asked_for_variables_is_asked():
    class Asked(vvcv.Tasks):
        def expect(self, var_names):
            return vvcv.Tasks([self["tau"].carrying(self["tau"].values, f"{var_names}[0]")])

    assert list(vvcv.summary(Asked(list(TASKS)), "tau", method="mc").index) == ["tau[0]"]


def test_objects_of_samplers_go_through_their_adapters(monkeypatch):
    sampler = type("MCMC", (SimpleNamespace,), {"__module__": "numpyro.infer.mcmc"})()
    monkeypatch.setattr(vvcv, "from_numpyro", lambda mcmc, var_names: TASKS, raising=False)
    assert list(vvcv.summary(sampler, method="mc").index) == ["mu", "tau"]
    with pytest.raises(ValueError, match="this is a builtins.str"):
        vvcv.summary("draws.nc")
    with pytest.raises(ValueError, match="'hdi' or 'eti'"):
        vvcv.summary(TASKS, kind="sd")


def test_an_estimate_has_a_summary_of_its_own():
    estimate = vvcv.estimate(TASKS, "zv")
    table = estimate.summary()
    assert list(table.index) == ["mu", "tau"] and table.loc["tau", "mean"] == estimate.mean[1]
    plain = vvcv.estimate(TASKS, "mc").summary()
    spread = TASKS["tau"].values.std(ddof=1)
    assert plain.loc["tau", "ess_worth"] == pytest.approx((spread / estimate.monte_carlo.std_error[1]) ** 2)
    assert plain.loc["tau", "ess_worth"] < 800  # the chains are autocorrelated
    assert table.loc["tau", "ess_worth"] == pytest.approx(plain.loc["tau", "ess_worth"] * estimate.gain[1])


@pytest.mark.parametrize("name", ["chain", "draw"])
def test_a_task_named_like_an_axis_is_refused_by_inference_data_in_words(name):
    pytest.importorskip("arviz", exc_type=ImportError)
    z = np.random.default_rng(0).normal(size=(2, 50, 1))
    estimate = vvcv.estimate(vvcv.Tasks.shared(z, -z, z, names=[name]), "mc", check=False)
    with pytest.raises(ValueError, match="Rename it, or use to_xarray"):
        estimate.to_inference_data()


def test_inference_data_hold_draws_points_scores_and_the_table():
    pytest.importorskip("arviz")
    estimate = vvcv.estimate(TASKS, "zv")
    data = estimate.to_inference_data()
    np.testing.assert_array_equal(data["posterior"]["tau"].values, TASKS["tau"].values.reshape(4, 200))
    np.testing.assert_array_equal(data["sample_stats"]["gradient"].values, -Z)
    assert data["estimate"]["mean"].sel(task="tau").item() == estimate.mean[1]


def test_slashes_in_names_are_no_groups_of_a_file(tmp_path):
    pytest.importorskip("arviz", exc_type=ImportError)
    z = np.random.default_rng(0).normal(size=(2, 50, 2))
    estimate = vvcv.estimate(vvcv.Tasks.shared(z, -z, z, names=["a/b", "c"]), "mc", check=False)
    data = estimate.to_inference_data()
    data.to_netcdf(tmp_path / "run.nc")
    np.testing.assert_array_equal(data["posterior"]["a_b"].values, z[..., 0])
    assert data["estimate"]["task"].values.tolist() == ["a/b", "c"]
    same = vvcv.estimate(vvcv.Tasks.shared(z, -z, z, names=["a/b", "a_b"]), "mc", check=False)
    with pytest.raises(ValueError, match=r"\['a_b'\] occur more than once"):
        same.to_inference_data()


def test_inference_data_need_draws():
    pytest.importorskip("arviz")
    without = replace(vvcv.estimate(TASKS, "mc"), tasks=None)
    with pytest.raises(ValueError, match="loaded from a file, or its rows were read block by block"):
        without.to_inference_data()


def test_arviz_one_gets_a_data_tree(monkeypatch):
    arviz, xr = pytest.importorskip("arviz"), pytest.importorskip("xarray")
    monkeypatch.setattr(arviz, "__version__", "1.3.0")
    data = vvcv.estimate(TASKS, "mc").to_inference_data()
    assert isinstance(data, xr.DataTree) and set(data.children) == {"posterior", "sample_stats", "estimate"}


@pytest.mark.parametrize("constant", [0.867895136708698, 0.3, 1e6 / 7])
def test_values_that_are_all_equal_have_no_spread(constant):
    x = np.random.default_rng(0).normal(size=(300, 1))
    found = vvcv.summary(vvcv.Task(x, -x, np.full(300, constant), name="a"), method="mc", check=False).loc["a"]
    assert found["sd"] == found["sd_error"] == found["std_error"] == 0 and np.isnan(found["ess_worth"])


def test_a_variable_may_have_the_name_of_a_spread():
    names = ["t", "spread of t"]
    tasks = vvcv.Tasks.shared(Z, -Z, Z, names=names)
    assert list(vvcv.summary(tasks, method="mc").index) == names


@pytest.mark.parametrize("wrong", [3, [["tau"]]], ids=str)
def test_names_that_are_none_are_refused_in_words(wrong):
    with pytest.raises(ValueError, match="var_names must be a name or a list of names"):
        vvcv.summary(TASKS, wrong)


def test_draws_that_repel_each_other_count_for_more_than_they_are():
    x = chains(500, rho=-0.6)
    even = (np.arange(2000) * (np.sqrt(5) - 1) / 2 % 1).reshape(4, 500)  # as even in its tails as in between
    found = vvcv.summary(vvcv.Tasks.shared(x, -x, np.stack([x[..., 0], even], axis=-1), names=["a", "b"]), method="mc")
    assert 4000 < found.loc["a", "ess_bulk"] <= 2000 * np.log10(2000)
    assert found.loc["b", "ess_tail"] > 2000
    arviz = pytest.importorskip("arviz", exc_type=ImportError)
    assert found.loc["a", "ess_bulk"] == pytest.approx(float(arviz.ess(x[..., 0])), rel=0.15)


@pytest.mark.parametrize("values", [[0.1, 0.5], [0.0, 1.0] * 4], ids=["two draws", "a coin"])
def test_a_standard_deviation_is_not_certain_where_squares_do_not_vary(values):
    """Of two draws it was known to 1e-17."""
    x = np.linspace(-1, 1, len(values))[:, None]
    found = vvcv.summary(vvcv.Task(x, -x, values, name="a"), method="mc", check=False).loc["a"]
    assert found["sd_error"] == pytest.approx(found["std_error"] ** 2 / (2 * found["sd"])) != 0


@pytest.mark.parametrize("wrong", [{"prob": p} for p in (0.0, 1.0, 1.5, "0.9")] + [{"kind": "both"}], ids=str)
def test_intervals_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match="must be 'hdi' or 'eti'|strictly between 0 and 1"):
        vvcv.summary(TASKS, "tau", method="mc", **wrong)


def test_what_is_given_is_checked_unless_the_user_has():
    wrong = vvcv.Tasks.shared(Z, Z, Z[..., :1] ** 2, names=["square"])
    with pytest.warns(vvcv.AlarmWarning, match="wrong sign"):
        vvcv.summary(wrong, method="mc")
    vvcv.summary(wrong, method="mc", check=False)  # a warning would be an error


def test_what_the_law_of_the_target_tells_of_the_draws_is_said():
    """Without the lowest fifth of a scale."""
    x, s = noisy_groups.draws(600, 6, ("half-normal", "half-normal"))
    keep = x[:, -2] > np.quantile(x[:, -2], 0.2)
    with pytest.warns(vvcv.AlarmWarning, match="of the target lies beyond all"):
        table = vvcv.summary(vvcv.Tasks.shared(x[keep], s[keep], x[keep][:, :2]))
    assert "of the target lies beyond all" in str(table)
