"""InferenceData and DataTree alike: kept gradients, labels before positions, and files."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import vvcv

RNG = np.random.default_rng(4)
Z = RNG.normal(size=(2, 30, 3))


def groups(**change) -> dict[str, xr.Dataset]:
    """What nutpie leaves: a posterior with labels, and unconstrained draws and gradients among the statistics."""
    coords = {"chain": [0, 1], "draw": np.arange(30), "school": ["A", "B"], "unconstrained_parameter": ["m", "a", "b"]}
    posterior = {
        "mu": (("chain", "draw"), Z[..., 0]),
        "tau": (("chain", "draw", "school"), np.exp(Z[..., 1:])),
        "tau_log__": (("chain", "draw", "school"), Z[..., 1:]),
    }
    dims = ("chain", "draw", "unconstrained_parameter")
    stats = {"unconstrained_draw": (dims, Z), "gradient": (dims, -3 * Z), "lp": (("chain", "draw"), Z[..., 0])}
    found = {"posterior": posterior, "sample_stats": stats, **change}
    return {
        name: xr.Dataset(variables).assign_coords(
            {dim: coords[dim] for dim in coords if any(dim in variable[0] for variable in variables.values())}
        )
        for name, variables in found.items()
    }


def as_inference_data(found: dict[str, xr.Dataset]):
    arviz = pytest.importorskip("arviz", exc_type=ImportError)
    if not arviz.__version__.startswith("0."):
        pytest.skip("ArviZ 1.x has trees only")
    return arviz.InferenceData(**found)


FORMS = {"tree": xr.DataTree.from_dict, "inference data": as_inference_data}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@forms
def test_kept_draws_and_gradients_are_the_points_and_scores(form):
    posterior = vvcv.from_arviz(form(groups()))
    assert posterior.names == ("mu", "tau[A]", "tau[B]")
    assert posterior.parameters == ("m", "a", "b")
    np.testing.assert_array_equal(posterior.unconstrained, Z)
    np.testing.assert_array_equal(posterior.unconstrained_scores, -3 * Z)
    np.testing.assert_array_equal(posterior["tau[B]"].values, np.exp(Z[..., 2]).ravel())
    assert vvcv.from_nutpie(form(groups())).names == posterior.names


def test_angles_that_went_round_are_cut_open():
    """A density proportional to exp(cos x): in z = log((pi + x) / (pi - x)) its score has a Jacobian."""
    angle = np.random.default_rng(3).vonmises(0, 1, size=(2, 30))
    found = groups()
    names = ["wind_circular__", "a", "b"]
    stats = found["sample_stats"].assign_coords(unconstrained_parameter=names)
    stats["unconstrained_draw"][..., 0] = angle + 2 * np.pi * np.arange(-15, 15)
    stats["gradient"][..., 0] = -np.sin(angle)
    posterior = vvcv.from_arviz(xr.DataTree.from_dict({**found, "sample_stats": stats}))
    expected = vvcv.unconstrain(angle[..., None], -np.sin(angle)[..., None], -np.pi, np.pi)
    np.testing.assert_allclose(posterior.unconstrained[..., :1], expected.points, atol=1e-10)
    np.testing.assert_allclose(posterior.unconstrained_scores[..., :1], expected.scores, atol=1e-10)
    np.testing.assert_array_equal(posterior.unconstrained[..., 1:], Z[..., 1:])
    np.testing.assert_array_equal(posterior.unconstrained_scores[..., 1:], -3 * Z[..., 1:])


def test_groups_are_aligned_by_label():
    found = groups()
    order = RNG.permutation(30)
    found["sample_stats"] = found["sample_stats"].isel(draw=order, chain=[1, 0])
    found["posterior"] = found["posterior"].isel(draw=slice(5, None)).transpose(..., "draw", "chain")
    posterior = vvcv.from_arviz(xr.DataTree.from_dict(found), moments=1)
    assert posterior.unconstrained.shape == (2, 25, 3)
    np.testing.assert_array_equal(posterior.draws["mu"], posterior.unconstrained[..., 0])
    np.testing.assert_array_equal(posterior.unconstrained_scores, -3 * posterior.unconstrained)


@forms
def test_a_log_density_serves_where_no_gradients_were_kept(form):
    found = groups()
    del found["sample_stats"]["gradient"]
    posterior = vvcv.from_arviz(form(found), logdensity=lambda z: -jnp.sum(z**2))
    np.testing.assert_allclose(posterior.unconstrained_scores, -2 * Z, rtol=1e-14)
    del found["sample_stats"]["unconstrained_draw"]
    posterior = vvcv.from_arviz(form(found), logdensity=lambda draw: -(draw["mu"] ** 2), parameters=["mu"])
    np.testing.assert_allclose(posterior.unconstrained_scores, -2 * Z[..., :1], rtol=1e-14)
    assert posterior.names == ("mu", "tau[A]", "tau[B]")


def test_a_file_gives_what_was_written(tmp_path):
    xr.DataTree.from_dict(groups()).to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        posterior = vvcv.from_arviz(tree, moments=2)
    np.testing.assert_array_equal(posterior.unconstrained_scores, -3 * Z)
    assert posterior.names[:3] == ("mu", "tau[A]", "tau[B]")


@forms
@pytest.mark.parametrize("missing", ["gradient", "unconstrained_draw"])
def test_missing_gradients_are_named_with_the_remedy(form, missing):
    found = groups()
    del found["sample_stats"][missing]
    for read in (vvcv.from_arviz, vvcv.summary):
        with pytest.raises(ValueError, match=r"vvcv\.from_pymc\(idata, model\).*store_gradient=True"):
            read(form(found))
    with pytest.raises(ValueError, match=f"holds no {missing}"):
        vvcv.from_nutpie(form(found))


def test_other_objects_are_refused():
    with pytest.raises(ValueError, match="InferenceData or DataTree is needed"):
        vvcv.from_arviz({"posterior": 1})
    with pytest.raises(ValueError, match="no group 'posterior'"):
        vvcv.from_arviz(xr.DataTree.from_dict({"prior": groups()["posterior"]}))
    with pytest.raises(ValueError, match="no posterior variable \\['nu'\\]"):
        vvcv.from_arviz(
            xr.DataTree.from_dict({"posterior": groups()["posterior"]}), logdensity=lambda z: 0.0, parameters=["nu"]
        )


@forms
def test_one_chain_that_was_selected_has_lost_its_axis_only(form):
    whole = vvcv.from_arviz(form(groups()))
    posterior = vvcv.from_arviz(form(groups()).isel(chain=1))
    np.testing.assert_array_equal(posterior.unconstrained, whole.unconstrained[1:])
    assert posterior.names == whole.names and posterior[0].chains == (1, 30)


def test_a_posterior_without_variables_or_axes_is_refused():
    found = groups()
    for change in (found["posterior"][[]], found["posterior"].stack(sample=("chain", "draw"))):
        with pytest.raises(ValueError, match="must hold variables with axes chain and draw"):
            vvcv.from_arviz(xr.DataTree.from_dict({**found, "posterior": change}))


def test_axes_of_statistics_may_be_in_any_order_and_one_parameter_a_word():
    found = groups()
    found["sample_stats"] = found["sample_stats"].transpose("unconstrained_parameter", "draw", "chain")
    assert vvcv.from_arviz(xr.DataTree.from_dict(found)).parameters == ("m", "a", "b")
    tree = xr.DataTree.from_dict({"posterior": found["posterior"]})
    assert vvcv.from_arviz(tree, logdensity=lambda draw: -(draw["mu"] ** 2), parameters="mu").parameters == ("mu",)


def test_parameters_that_are_no_names_are_refused_in_words():
    tree = xr.DataTree.from_dict({"posterior": groups()["posterior"]})
    with pytest.raises(ValueError, match="parameters must be a name or a list of names.*but is 3"):
        vvcv.from_arviz(tree, logdensity=lambda draw: -(draw["mu"] ** 2), parameters=3)


def test_what_is_not_asked_for_is_not_touched():
    found = groups()
    found["posterior"]["broken"] = found["posterior"]["mu"] * np.nan
    tree = xr.DataTree.from_dict(found)
    assert list(vvcv.summary(tree, "tau[B]", method="mc", on_alarm="ignore").index) == ["tau[B]"]
    assert np.isfinite(vvcv.probability(tree, "tau[A]", below=1.0, method="mc", on_alarm="ignore").value)
    assert np.isfinite(vvcv.quantile(tree, "mu", 0.5, method="mc", on_alarm="ignore").value)
    assert np.isfinite(vvcv.functional(tree, "sd", "mu", method="mc", on_alarm="ignore").value)
    with pytest.raises(ValueError, match=r"'broken' must be finite.*var_names="):
        vvcv.summary(tree)


def test_one_coordinate_may_come_without_an_axis():
    dims = ("chain", "draw")
    found = groups(sample_stats={"unconstrained_draw": (dims, Z[..., 0]), "gradient": (dims, -3 * Z[..., 0])})
    posterior = vvcv.from_arviz(xr.DataTree.from_dict(found))
    np.testing.assert_array_equal(posterior.unconstrained_scores, -3 * Z[..., :1])
