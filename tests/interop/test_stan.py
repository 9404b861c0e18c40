"""Stan's outputs in their real formats: httpstan's messages, CmdStan's diagnostic files, BridgeStan's models."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import vvcv

RNG = np.random.default_rng(6)

#: (chain, iteration, coordinate): two warmup iterations, then eight draws of mu, log tau and a 2 x 2 matrix.
Z = RNG.normal(size=(2, 10, 6))
COORDINATES = ["mu", "tau", "w.1.1", "w.2.1", "w.1.2", "w.2.2"]
SAMPLER = {"lp__": -3.5, "accept_stat__": 0.97, "stepsize__": 0.8, "treedepth__": 2, "n_leapfrog__": 3}
SAMPLER |= {"divergent__": 0, "energy__": 5.25}


def sample_row(z) -> dict[str, float]:
    """Constrained, with a transformed parameter behind the parameters."""
    return SAMPLER | dict(zip(COORDINATES, [z[0], np.exp(z[1]), *z[2:]], strict=True)) | {"double_mu": 2 * z[0]}


def diagnostic_row(z) -> dict[str, float]:
    """Coordinates, momenta and gradients of the potential, here 3 z."""
    momenta = {f"p_{name}": 0.5 for name in COORDINATES}
    return (
        SAMPLER
        | dict(zip(COORDINATES, z, strict=True))
        | momenta
        | {f"g_{name}": 3 * value for name, value in zip(COORDINATES, z, strict=True)}
    )


def message(topic: str, values) -> str:
    return json.dumps({"version": 1, "topic": topic, "values": values}, separators=(",", ":"))


def stream(chain, save_warmup: bool) -> bytes:
    """As httpstan writes it: logs, initial values and messages of the writers among the draws."""
    lines = [message("logger", ["info:Iteration:  1 / 10 [ 10%]  (Warmup)"]), message("initialization", [0.1] * 6)]
    for i, z in enumerate(chain):
        if i == 2:
            lines += [message("sample", ["Adaptation terminated"]), message("diagnostic", ["Step size = 0.8"])]
        if i >= 2 or save_warmup:
            lines += [message("sample", sample_row(z)), message("diagnostic", diagnostic_row(z))]
    lines.append(message("logger", ["info: Elapsed Time: 0.01 seconds (Warm-up)"]))
    return "\n".join(lines).encode() + b"\n"


def pystan_fit(save_warmup: bool = False) -> SimpleNamespace:
    outputs = tuple(stream(chain, save_warmup) for chain in Z)
    return SimpleNamespace(stan_outputs=outputs, num_samples=8, num_warmup=2, num_thin=1, save_warmup=save_warmup)


def cmdstan_fit(folder, save_warmup: bool = False) -> SimpleNamespace:
    files = []
    for number, chain in enumerate(Z, start=1):
        rows = [diagnostic_row(z) for z in chain[0 if save_warmup else 2 :]]
        lines = ["# stan_version_major = 2", "# model = schools_model", ",".join(rows[0])]
        lines += [",".join(map(repr, map(float, row.values()))) for row in rows]
        lines += ["# ", "#  Elapsed Time: 0.01 seconds (Warm-up)"]
        files.append(folder / f"schools-20260101-diagnostic_{number}.csv")
        files[-1].write_text("\n".join(lines) + "\n")
    kept = Z[:, 2:].reshape(16, 6)
    variables = {"mu": kept[:, 0], "tau": np.exp(kept[:, 1]), "w": kept[:, 2:].reshape(16, 2, 2).transpose(0, 2, 1)}
    return SimpleNamespace(
        chains=2,
        num_draws_sampling=8,
        stan_variables=lambda: variables,
        runset=SimpleNamespace(diagnostic_files=[str(path) for path in files]),
    )


class BridgeModel:
    """The methods of a bridgestan.StanModel that are used, of a model with a positive tau and score -3 z."""

    def param_names(self):
        return COORDINATES

    def param_unc_names(self):
        return COORDINATES

    def param_unconstrain(self, theta):
        return np.concatenate([theta[:1], np.log(theta[1:2]), theta[2:]])

    def log_density_gradient(self, z):
        return -1.5 * float(z @ z), -3 * z


@pytest.fixture(params=["pystan", "pystan, warmup kept", "cmdstan", "cmdstan, warmup kept", "bridgestan"])
def posterior(request, tmp_path) -> vvcv.Posterior:
    kept = "kept" in request.param
    if request.param.startswith("pystan"):
        return vvcv.from_stan(pystan_fit(kept))
    if request.param.startswith("cmdstan"):
        return vvcv.from_stan(cmdstan_fit(tmp_path, kept))
    return vvcv.from_stan(pystan_fit(), BridgeModel())


def test_points_scores_and_draws_are_those_after_warmup(posterior):
    assert posterior.parameters == tuple(COORDINATES)
    np.testing.assert_allclose(posterior.unconstrained, Z[:, 2:], rtol=1e-12)
    np.testing.assert_allclose(posterior.unconstrained_scores, -3 * Z[:, 2:], rtol=1e-12)
    np.testing.assert_allclose(posterior.draws["tau"], np.exp(Z[:, 2:, 1]), rtol=1e-12)


def test_matrices_are_read_first_index_fastest_and_named_from_zero(posterior):
    np.testing.assert_allclose(posterior["w[1,0]"].values, Z[:, 2:, 3].ravel(), rtol=1e-12)
    np.testing.assert_allclose(posterior["w[0,1]"].values, Z[:, 2:, 4].ravel(), rtol=1e-12)
    assert not any(name.endswith("__") for name in posterior.draws)


def test_transformed_parameters_are_variables_too():
    posterior = vvcv.from_stan(pystan_fit(), var_names="double_mu")
    np.testing.assert_allclose(posterior["double_mu"].values, 2 * Z[:, 2:, 0].ravel())


def test_numbers_that_are_no_numbers_are_read():
    fit = pystan_fit()
    broken = fit.stan_outputs[0].replace(b'"double_mu":', b'"double_mu":NaN,"of_no_interest":')
    fit.stan_outputs = (broken, broken)
    with pytest.raises(ValueError, match="double_mu"):
        vvcv.from_stan(fit)
    assert vvcv.from_stan(fit, var_names="mu").names == ("mu",)


@pytest.mark.parametrize("letter", ["p", "g"])
def test_a_parameter_named_like_the_momentum_or_gradient_of_another_is_refused(letter):
    """Of two columns with one name the later is read: momenta stood in the place of draws."""
    names = ["x", f"{letter}_x"]
    columns = [*names, *(f"p_{name}" for name in names), *(f"g_{name}" for name in names)]
    row = "{" + ",".join(f'"{column}":{i}.5' for i, column in enumerate(columns)) + "}"
    rows = [f'{{"topic":"{topic}","values":{row}}}' for topic in ("sample", "diagnostic")] * 4
    fit = SimpleNamespace(stan_outputs=("\n".join(rows),), num_samples=4, num_thin=1)
    with pytest.raises(ValueError, match="Rename it in the Stan program"):
        vvcv.from_stan(fit)


def test_a_fit_without_gradients_is_refused_with_the_remedy(tmp_path):
    fit = cmdstan_fit(tmp_path)
    fit.runset.diagnostic_files = ["", ""]
    with pytest.raises(ValueError, match="save_latent_dynamics=True"):
        vvcv.from_stan(fit)
    assert len(vvcv.from_stan(fit, BridgeModel())) == 6
    with pytest.raises(ValueError, match="takes a fit of PyStan"):
        vvcv.from_stan(object())
