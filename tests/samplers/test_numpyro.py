"""NumPyro runs of every kind, in the single precision that is its default."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vvcv
from vvcv.interop import numpyro as module

numpyro = pytest.importorskip("numpyro")
dist = numpyro.distributions

DATA = np.array([1.0, 2.0, 4.0])


def model(data, scale=1.0):
    mu = numpyro.sample("mu", dist.Normal(0, scale))
    tau = numpyro.sample("tau", dist.Uniform(0.5, 3.0))
    numpyro.deterministic("ratio", mu / tau)
    numpyro.sample("data", dist.Normal(mu, tau), obs=data)


def correlated():
    numpyro.sample("L", dist.LKJCholesky(3, concentration=2.0))
    numpyro.sample("cut", dist.TransformedDistribution(dist.Normal(0, 1).expand([2]), _ordered()))


def _ordered():
    return dist.transforms.OrderedTransform()


def run(model, *args, chains=2, draws=60, fields=(), kernel=None, **kwargs):
    mcmc = numpyro.infer.MCMC(
        kernel or numpyro.infer.HMC(model, trajectory_length=None, num_steps=8),  # quicker to compile than NUTS
        num_warmup=100,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.PRNGKey(0), *args, extra_fields=fields, **kwargs)
    return mcmc


def log_density(z, scale):
    """Of (mu, logit of tau between its bounds), written out."""
    share = jax.nn.sigmoid(z[1])
    tau = 0.5 + 2.5 * share
    jacobian = jnp.log(share) + jnp.log1p(-share)
    return (
        jacobian
        - z[0] ** 2 / (2 * scale**2)
        - jnp.sum((jnp.array(DATA.tolist()) - z[0]) ** 2) / (2 * tau**2)
        - 3 * jnp.log(tau)
    )


@pytest.fixture(scope="module")
def mcmc():
    return run(model, DATA, scale=2.0, fields=("z_grad",))


@pytest.fixture
def bare(mcmc, monkeypatch):
    """The same run as if it had kept no gradients."""
    monkeypatch.setattr(mcmc, "get_extra_fields", lambda group_by_chain: {})
    return mcmc


def test_the_samplers_own_gradients_are_used(mcmc, monkeypatch):
    monkeypatch.setattr(module, "scores_at", None)
    posterior = vvcv.from_numpyro(mcmc)
    assert posterior.names == ("mu", "ratio", "tau")
    assert posterior.parameters == ("mu", "tau")
    expected = jax.vmap(jax.vmap(lambda z: jax.grad(log_density)(z, 2.0)))(posterior.unconstrained)
    np.testing.assert_allclose(posterior.unconstrained_scores, expected, rtol=1e-3, atol=1e-4)


def test_without_them_scores_are_computed_in_double_precision(bare):
    posterior = vvcv.from_numpyro(bare)
    with jax.enable_x64(True):
        expected = jax.vmap(jax.vmap(lambda z: jax.grad(log_density)(z, 2.0)))(posterior.unconstrained)
    np.testing.assert_allclose(posterior.unconstrained_scores, expected, rtol=1e-10, atol=1e-10)


def test_arguments_of_the_model_may_be_given(bare):
    same = vvcv.from_numpyro(bare, model_args=(DATA,), model_kwargs={"scale": 2.0})
    np.testing.assert_array_equal(same.scores, vvcv.from_numpyro(bare).scores)
    other = vvcv.from_numpyro(bare, model_args=(DATA,), model_kwargs={"scale": 1.0})
    assert np.abs(other.scores - same.scores).max() > 0.1


def test_factors_and_ordered_vectors_pass_the_check():
    draws = numpyro.infer.Predictive(correlated, num_samples=500)(jax.random.PRNGKey(1))
    mcmc = SimpleNamespace(  # independent draws in the place of a chain
        sampler=SimpleNamespace(model=correlated),
        last_state=0,
        get_samples=lambda group_by_chain: {name: values[None] for name, values in draws.items()},
        get_extra_fields=lambda group_by_chain: {},
    )
    posterior = vvcv.from_numpyro(mcmc)
    assert posterior.dimension == 3 + 2
    assert vvcv.check(posterior).ok
    est = vvcv.estimate(posterior.expect("L"), method="zv")
    assert est.mean[est.names.index("L[0,0]")] == 1
    for name in ("L[1,0]", "L[2,0]", "L[2,1]"):  # symmetric about zero
        t = est.names.index(name)
        assert abs(est.mean[t]) < 4 * est.std_error[t]


def test_a_run_on_a_potential_energy_has_its_draws_as_they_are(monkeypatch):
    potential = lambda z: jnp.sum(z["x"] ** 2)  # noqa: E731
    kernel = numpyro.infer.HMC(potential_fn=potential, trajectory_length=None, num_steps=8)
    mcmc = run(None, kernel=kernel, fields=("z_grad",), init_params={"x": jnp.zeros((2, 2))})
    posterior = vvcv.from_numpyro(mcmc)
    np.testing.assert_allclose(posterior.scores, -2 * posterior.points, rtol=1e-5)
    monkeypatch.setattr(mcmc, "get_extra_fields", lambda group_by_chain: {})
    with pytest.raises(ValueError, match="z_grad"):
        vvcv.from_numpyro(mcmc)


@pytest.mark.parametrize(
    ("start", "square", "names"),
    [
        (np.zeros((2, 2)), lambda z: jnp.sum(z**2), ("x[0]", "x[1]")),
        (
            {"a": {"b": np.zeros((2, 1))}, "c": np.zeros(2)},
            lambda z: z["a"]["b"][0] ** 2 + z["c"] ** 2,
            ("a.b[0]", "c"),
        ),
    ],
)
def test_a_potential_energy_may_be_of_any_pytree(start, square, names):
    kernel = numpyro.infer.HMC(potential_fn=square, trajectory_length=None, num_steps=8)
    start = jax.tree.map(jnp.asarray, start)  # in the precision of now: PyMC, tested beside, sets another
    posterior = vvcv.from_numpyro(run(None, kernel=kernel, fields=("z_grad",), init_params=start))
    assert posterior.names == names and posterior.unconstrained.shape == (2, 60, 2)
    np.testing.assert_allclose(posterior.scores, -2 * posterior.points, rtol=1e-5)
    np.testing.assert_array_equal(posterior[1].values, posterior[1].points[:, 1])


@pytest.mark.parametrize("size", [2, 3, None])
def test_scores_of_a_part_of_the_data_are_refused(size):
    def by_parts(data):
        mu = numpyro.sample("mu", dist.Normal(0, 1))
        with numpyro.plate("rows", len(data), subsample_size=size) as rows:
            numpyro.sample("data", dist.Normal(mu, 1), obs=data[rows])

    mcmc = SimpleNamespace(  # HMCECS samples such models
        sampler=SimpleNamespace(model=by_parts),
        last_state=0,
        get_samples=lambda group_by_chain: {"mu": np.zeros((1, 9), dtype=np.float32)},
        get_extra_fields=lambda group_by_chain: {},
    )
    if size == 2:
        with pytest.raises(ValueError, match=r"subsample of its plates \['rows'\]"):
            vvcv.from_numpyro(mcmc, model_args=(jnp.array(DATA),))
    else:
        posterior = vvcv.from_numpyro(mcmc, model_args=(jnp.array(DATA),))
        np.testing.assert_allclose(posterior.scores, DATA.sum(), rtol=1e-12)


def eight_schools(y, noise):
    mu, tau = numpyro.sample("mu", dist.Normal(0, 5)), numpyro.sample("tau", dist.HalfCauchy(5))
    theta = numpyro.sample("theta", dist.Normal(mu * jnp.ones(8), tau))
    numpyro.sample("y", dist.Normal(theta, noise), obs=y)


def test_the_summary_of_eight_centred_schools_is_exact_where_the_sampler_is_not():
    y, noise = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    mcmc = run(eight_schools, y, noise, chains=4, draws=250, kernel=numpyro.infer.NUTS(eight_schools))
    found = vvcv.summary(mcmc, progress=False, on_alarm="ignore")
    v = np.linspace(-40, 9, 20001)  # log tau, all else integrated out
    spread = np.exp(2 * v)[:, None] + noise**2
    total = np.sum(1 / spread, axis=1) + 1 / 25
    centre = np.sum(y / spread, axis=1) / total
    fit = np.sum(y**2 / spread, axis=1) - total * centre**2
    height = -np.sum(np.log(spread), axis=1) / 2 - np.log(total) / 2 - fit / 2 + v - np.log1p(np.exp(2 * v) / 25)
    p = np.exp(height - height.max()) / np.exp(height - height.max()).sum()
    shrunk = np.exp(2 * v)[:, None] / spread
    means = [p @ centre, p @ np.exp(v), *(p @ (shrunk * y + (1 - shrunk) * centre[:, None]))]
    np.testing.assert_allclose(found["mean"], means, rtol=2e-4)
    deviation = np.sqrt(p @ (centre**2 + 1 / total) - means[0] ** 2)
    assert found["sd"]["mu"] == pytest.approx(deviation, rel=2e-4)


GROUP = np.repeat(np.arange(6), 4)


def mixed(y, divided):
    """A linear mixed model: effects of groups in noise, both widths unknown."""
    mu, tau = numpyro.sample("mu", dist.Normal(0, 3)), numpyro.sample("tau", dist.HalfCauchy(1))
    sigma = numpyro.sample("sigma", dist.Exponential(1))
    if divided:
        theta = numpyro.deterministic("theta", mu + tau * numpyro.sample("z", dist.Normal(jnp.zeros(6), 1)))
    else:
        theta = numpyro.sample("theta", dist.Normal(mu * jnp.ones(6), tau))
    numpyro.sample("y", dist.Normal(theta[GROUP], sigma), obs=y)


def test_summaries_of_a_mixed_model_in_centred_coordinates_and_others_are_the_same():
    rng = np.random.default_rng(3)
    y = 1 + 0.6 * rng.normal(size=6)[GROUP] + 0.8 * rng.normal(size=24)
    centred, other = (
        vvcv.summary(
            run(mixed, y, divided, chains=2, draws=500, kernel=numpyro.infer.NUTS(mixed)),
            var_names=["mu", "tau", "sigma", "theta"],
            progress=False,
            on_alarm="ignore",
        )
        for divided in (False, True)
    )
    np.testing.assert_allclose((centred["mean"] - other["mean"]) / other["sd"], 0, atol=3e-4)
    np.testing.assert_allclose(centred["sd"], other["sd"], rtol=3e-4)
    assert (other["std_error"] < 1e-3 * other["sd"]).all()


def test_a_sampler_that_has_not_run_is_refused():
    with pytest.raises(ValueError, match="that has run"):
        vvcv.from_numpyro(numpyro.infer.MCMC(numpyro.infer.HMC(model), num_warmup=1, num_samples=1))


@pytest.mark.parametrize("kind", ["DiscreteHMCGibbs", "MixedHMC"])
def test_discrete_sites_that_were_sampled_are_refused_with_a_remedy_that_works(kind):
    def mixture(data):
        mu = numpyro.sample("mu", dist.Normal(0, 5).expand([2]).to_event(1))
        with numpyro.plate("rows", len(data)):
            part = numpyro.sample("part", dist.Bernoulli(0.5))
            numpyro.sample("data", dist.Normal(mu[part], 1), obs=data)

    def summed(data):
        mu = numpyro.sample("mu", dist.Normal(0, 5).expand([2]).to_event(1))
        parts = dist.MixtureSameFamily(dist.Categorical(jnp.ones(2) / 2), dist.Normal(mu, 1))
        numpyro.sample("data", parts.expand([len(data)]), obs=data)

    inner = numpyro.infer.HMC(mixture, trajectory_length=1.0)
    mcmc = run(None, DATA, chains=1, draws=10, kernel=getattr(numpyro.infer, kind)(inner))
    with pytest.raises(ValueError, match=r"sampled the discrete sites \['part'\].*MixtureSameFamily"):
        vvcv.from_numpyro(mcmc)
    assert vvcv.from_numpyro(run(summed, DATA, draws=10)).names == ("mu[0]", "mu[1]")


def test_scores_are_computed_anew_where_single_precision_loses_what_tells_draws_apart():
    """Of a Beta(.1, .1) many draws round to one number next to one, and the sampler kept a score for each."""

    def near_the_ends():
        numpyro.sample("b", dist.Beta(0.1, 0.1))

    found = vvcv.from_numpyro(run(near_the_ends, fields=("z_grad",), kernel=numpyro.infer.NUTS(near_the_ends)))
    b = 1 / (1 + np.exp(-found.unconstrained))
    np.testing.assert_allclose(found.unconstrained_scores, 0.1 - 0.2 * b, atol=1e-9)
    assert abs(vvcv.estimate(found, on_alarm="ignore").mean[0] - 0.5) < 1e-6
