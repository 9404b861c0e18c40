"""What PyMC may leave in its results: transformed variables beside the posterior, within it, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

import vvcv

pm = pytest.importorskip("pymc")
az = pytest.importorskip("arviz")

RNG = np.random.default_rng(8)


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"share": list("ABC")}) as model:
        tau = pm.HalfNormal("tau", 5)
        pm.Uniform("u", 0, tau)  # bounds that are themselves drawn
        pm.Dirichlet("p", np.ones(3), dims="share")
        pm.Normal("mu", 0, tau)
        pm.Poisson("n", 3)
    return model


@pytest.fixture(scope="module")
def kept(model):
    """Random values of the model's own coordinates, and the variables they stand for."""
    shapes = {"tau_log__": (), "u_interval__": (), "p_simplex__": (2,), "mu": ()}
    values = {name: RNG.normal(size=(2, 6, *shape)) for name, shape in shapes.items()}
    values["n"] = RNG.poisson(3, size=(2, 6))
    tau = np.exp(values["tau_log__"])
    padded = np.concatenate([values["p_simplex__"], -values["p_simplex__"].sum(axis=-1, keepdims=True)], axis=-1)
    shares = np.exp(padded) / np.exp(padded).sum(axis=-1, keepdims=True)
    draws = {"tau": tau, "u": tau / (1 + np.exp(-values["u_interval__"])), "p": shares}
    return values, {**draws, "mu": values["mu"], "n": values["n"]}


def inference_data(draws, beside=None):
    import xarray as xr

    def dataset(arrays):
        dims = lambda name, a: ("chain", "draw", *(f"{name}_{i}" for i in range(a.ndim - 2)))  # noqa: E731
        return xr.Dataset({name: (dims(name, a), a) for name, a in arrays.items()})

    groups = {"posterior": dataset(draws)} | ({} if beside is None else {"unconstrained_posterior": dataset(beside)})
    return xr.DataTree.from_dict(groups)


def test_scores_are_the_same_wherever_the_coordinates_come_from(model, kept):
    values, draws = kept
    transformed = {name: array for name, array in values.items() if name.endswith("__")}
    within = vvcv.from_pymc(inference_data({**draws, **transformed}), model)  # PyMC 5, include_transformed
    beside = vvcv.from_pymc(inference_data(draws, transformed), model)  # PyMC 6
    without = vvcv.from_pymc(inference_data(draws), model)  # PyMC 5 by default
    for posterior in (within, beside, without):
        assert posterior.parameters == ("tau_log__", "u_interval__", "p_simplex__[0]", "p_simplex__[1]", "mu")
        assert set(posterior.draws) == {"tau", "u", "p", "mu", "n"}
        np.testing.assert_allclose(posterior.unconstrained, within.unconstrained, atol=1e-10)
        np.testing.assert_allclose(posterior.unconstrained_scores, within.unconstrained_scores, atol=1e-10)
    np.testing.assert_allclose(within.unconstrained[..., 0], values["tau_log__"])


def test_scores_equal_central_differences_of_the_models_own_density(model, kept):
    values, draws = kept
    posterior = vvcv.from_pymc(inference_data(draws), model)
    density = model.compile_logp()
    place, step = (1, 4), 1e-5
    point = {name: array[place] for name, array in values.items()}
    for j, (name, index) in enumerate(
        [("tau_log__", ()), ("u_interval__", ()), ("p_simplex__", 0), ("p_simplex__", 1)]
    ):
        ends = []
        for sign in (1, -1):
            moved = {key: np.array(value, dtype=float if key != "n" else int) for key, value in point.items()}
            moved[name][index] += sign * step
            ends.append(float(density(moved)))
        slope = (ends[0] - ends[1]) / (2 * step)
        assert posterior.unconstrained_scores[place][j] == pytest.approx(slope, abs=1e-6)


def test_the_model_of_the_context_is_the_default(model, kept):
    with model:
        posterior = vvcv.from_pymc(inference_data(kept[1]), var_names="p")
    assert posterior.names == ("p[0]", "p[1]", "p[2]")


@pytest.mark.parametrize(("given", "found"), [(None, "none"), ("the model", "str")])
def test_a_model_that_is_missing_is_asked_for(kept, given, found):
    with pytest.raises(ValueError, match=rf"needs the model that was sampled, but got {found}\. Pass it"):
        vvcv.from_pymc(kept, given)


def test_draws_of_all_variables_are_needed(model, kept):
    draws = {name: array for name, array in kept[1].items() if name != "tau"}
    with pytest.raises(ValueError, match=r"no draws of \['tau'\]"):
        vvcv.from_pymc(inference_data(draws), model)


def test_angles_are_cut_open_where_their_density_ends():
    """E[x^2] of a von Mises distribution with mean 0 and concentration 1; without the cut 19 standard errors off."""
    with pm.Model() as model:
        pm.VonMises("wind", 0, 1, shape=1)
    draws = {"wind": np.random.default_rng(3).vonmises(0, 1, size=(2, 500, 1))}
    for turns in (0, 4 * np.pi):  # a sampler may have gone round several times
        posterior = vvcv.from_pymc(inference_data(draws, {"wind_circular__": draws["wind"] + turns}), model, moments=2)
        assert posterior.parameters == ("wind_circular__[0]",)
        est = vvcv.estimate(posterior, on_alarm="ignore")  # tails of a logistic distribution, rightly told
        np.testing.assert_array_less(np.abs(est.mean - [0, 1.6042543]), 4 * est.std_error)


def test_coordinates_beside_the_posterior_are_aligned_by_label(model, kept):
    values, draws = kept
    transformed = {name: array for name, array in values.items() if name.endswith("__")}
    tree, whole = inference_data(draws, transformed), vvcv.from_pymc(inference_data(draws), model)
    places = {"chain": [0, 1], "draw": np.arange(6)}
    posterior, beside = (tree[name].to_dataset().assign_coords(places) for name in tree.children)
    tree = type(tree).from_dict(
        {"posterior": posterior.isel(draw=slice(None, None, -2)), "unconstrained_posterior": beside}
    )
    thinned = vvcv.from_pymc(tree, model)
    np.testing.assert_allclose(thinned.unconstrained, whole.unconstrained[:, ::-2], atol=1e-10)
    np.testing.assert_allclose(thinned.unconstrained_scores, whole.unconstrained_scores[:, ::-2], atol=1e-10)


def test_data_exchanged_after_sampling_are_refused():
    import xarray as xr

    with pm.Model() as model:
        data = pm.Data("values", np.array([1.0, 2.0]))
        pm.Normal("y", pm.Normal("mu", 0, 1), 1, observed=data)
    tree = inference_data({"mu": RNG.normal(size=(2, 6))})
    tree["constant_data"] = xr.DataTree(xr.Dataset({"values": ("place", [1.0, 2.0])}))
    posterior = vvcv.from_pymc(tree, model)
    np.testing.assert_allclose(posterior.scores, 3 - 3 * posterior.points)
    for other in ([1.0, 3.0], [1.0]):
        with model:
            pm.set_data({"values": np.array(other)})
        with pytest.raises(ValueError, match=r"data \['values'\].*set_data"):
            vvcv.from_pymc(tree, model)


def test_where_only_discrete_variables_have_moved_scores_are_averaged():
    with pm.Model() as model:
        rate = pm.Gamma("rate", 2, 1, shape=2)
        k = pm.DiscreteUniform("k", 0, 2)
        pm.Poisson("y", pm.math.switch(np.arange(3) < k, rate[0], rate[1]), observed=[5, 4, 1])
    moved = np.exp(RNG.normal(size=(2, 30, 2)) / 4)
    moved[:, 1::2] = moved[:, ::2]  # as where a proposal is refused
    k = RNG.integers(0, 3, size=(2, 30))
    posterior = vvcv.from_pymc(inference_data({"rate": moved, "k": k}), model)
    gradient = model.compile_dlogp()
    each = [gradient({"rate_log__": np.log(moved[0, 0]), "k": k[0, i]}) for i in range(2)]
    np.testing.assert_allclose(posterior.unconstrained_scores[0, :2], [np.mean(each, axis=0)] * 2, rtol=1e-9)
    assert np.isfinite(vvcv.estimate(posterior, "zv", on_alarm="ignore").mean).all()


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTensor says what JAX leaves out and may not do
def test_where_jax_cannot_compile_a_gradient_pytensor_does():
    pytensor = pytest.importorskip("pytensor")
    with pm.Model(coords={"cut": ["low", "high"]}) as graded:
        slope = pm.Normal("slope", 0, 1)
        ordered = pm.distributions.transforms.ordered
        pm.Normal("cuts", 0, 2, dims="cut", transform=ordered, initval=np.array([-1.0, 1.0]))
        pm.OrderedLogistic("y", eta=slope * np.linspace(-1, 1, 9), cutpoints=graded["cuts"], observed=np.arange(9) % 3)
    draws = {"slope": RNG.normal(size=(2, 5)), "cuts": np.sort(RNG.normal(size=(2, 5, 2)), axis=-1)}
    usual = vvcv.from_pymc(inference_data(draws), graded)
    with pytensor.config.change_flags(mode="JAX"):
        there = vvcv.from_pymc(inference_data(draws), graded)
    np.testing.assert_allclose(there.unconstrained_scores, usual.unconstrained_scores, rtol=1e-8, atol=1e-10)
