"""Hierarchical posteriors as samplers draw them: NUTS, which hardly goes where scales are small, and no chain says so.

    python benchmarks/trust/sampled.py [--cases groups ...] [--replications 20] [--methods auto] [--jobs 2] [--out FILE]

    schools, slopes (`hierarchical_models.py`), and 5, 10 or 25 groups of one observation each, centred: 4 x 250 draws
    after 500 of warm-up, by NumPyro with its defaults, started at exact draws

"moments" are means of all coordinates and of their squares, "others" exp(t / 2), cos(t) and sin(2 t) of one group's
effect t (of the slopes: of their mean) in units of its standard deviation, whose means given the scales are known, too;
"chances" those that t lies above its mean, and above that by one standard deviation; "scales" tanh(v) and the share
e^2v / (1 + e^2v) of the logarithm v of the first scale.
Tuned on seeds 22840 to 22847 (all models, moments), 22890 and 24200 to 24505, reported from 88100.
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from bends import effects
from hierarchical_models import Centred, Model, schools, slopes
from numpyro.infer import MCMC, NUTS
from scipy.special import expit, ndtr
from study import NO_HARM, Column, Lines, measured, run

import vvcv

CHAINS, DRAWS, WARM_UP = 4, 250, 500

MODELS = {
    "schools, centred": lambda: schools(Centred),
    "groups of 5": lambda: effects(5),
    "groups of 10": lambda: effects(10),
    "groups of 25": lambda: effects(25),
    "schools, non-centred": lambda: schools(Model),
    "slopes, non-centred": slopes,
}

ASKED = ("moments", "others", "chances", "scales")

COLUMNS = (
    *NO_HARM,
    Column("plain covers", "plain coverage", "{:.0%}"),
    Column("alarms", "alarms", "{:.0%}"),
    Column("s", "seconds", "{:.1f}"),
)


@cache
def _model(name: str) -> tuple[Model, np.ndarray, float]:
    """A model, the means of all coordinates and squares, and the standard deviation of the second coordinate."""
    model = MODELS[name]()
    exact = model.exact()
    half = len(exact) // 2
    return model, exact, float(np.sqrt(exact[half + 1] - exact[1] ** 2))


def _log_density(model: Model):
    centred, p = isinstance(model, Centred), len(model.prior)

    def density(x):
        w, logs = x[:p], x[p:]
        prior = jnp.sum(logs - jnp.exp(2 * logs) / (2 * model.widths**2))
        if centred:
            off, away = (model.y - w[1:]) / model.noise, (w[1:] - w[0]) * jnp.exp(-logs[0])
            return prior - (jnp.sum(off**2) + (w[0] / model.prior[0]) ** 2 + jnp.sum(away**2)) / 2 - (p - 1) * logs[0]
        noise = logs @ model.noisy
        off = (model.y - model.columns @ (w * jnp.exp(logs @ model.scaled))) / model.noise * jnp.exp(-noise)
        return prior - (jnp.sum(off**2) + jnp.sum((w / model.prior) ** 2)) / 2 - len(model.y) * noise

    return density


@cache
def _sampler(name: str) -> MCMC:
    density = _log_density(_model(name)[0])
    settings = {"num_warmup": WARM_UP, "num_samples": DRAWS, "num_chains": CHAINS, "chain_method": "vectorized"}
    return MCMC(NUTS(potential_fn=lambda x: -density(x)), progress_bar=False, **settings)


def sample(name: str, seed: int) -> np.ndarray:
    """Draws (chain, draw, d) of a model, in double precision."""
    with jax.enable_x64(True):
        starts = _model(name)[0].sample(np.random.default_rng(seed), CHAINS)
        sampler = _sampler(name)
        sampler.run(jax.random.PRNGKey(seed), init_params=jnp.asarray(starts))
        return np.asarray(sampler.get_samples(group_by_chain=True))


def _other_values(x: np.ndarray, asked: str, center: float, unit: float, scale: int) -> np.ndarray:
    """Values of other integrands than moments."""
    t, v = x[..., 1] / unit, x[..., scale]
    if asked == "scales":
        return np.stack([np.tanh(v), expit(2 * v)], axis=-1)
    if asked == "chances":
        return np.stack([t > center / unit, t > center / unit + 1], axis=-1).astype(float)
    return np.stack([np.exp(t / 2), np.cos(t), np.sin(2 * t)], axis=-1)


@cache
def _other_means(name: str, asked: str) -> np.ndarray:
    """Exact means of the other integrands: given scales, the effect is normal."""
    model, exact, unit = _model(name)
    keep = model.mass > 1e-14
    grid = model.grid[keep]
    mean, second = (moments[:, 1] for moments in model._moments(grid))
    mean, spread = mean / unit, np.sqrt(second - mean**2) / unit
    waves = [np.cos(mean) * np.exp(-(spread**2) / 2), np.sin(2 * mean) * np.exp(-2 * spread**2)]
    given = {
        "others": [np.exp(mean / 2 + spread**2 / 8), *waves],
        "chances": [ndtr((mean - exact[1] / unit - above) / spread) for above in (0, 1)],
        "scales": [np.tanh(grid[:, 0]), expit(2 * grid[:, 0])],
    }
    return np.array([model.mass[keep] @ each for each in given[asked]])


def replicate(case: str, seed: int, methods: list[str]) -> Lines:
    """Four chains of one model."""
    name, asked = case.split(": ")
    model, exact, unit = _model(name)
    x = sample(name, seed)
    scores = model.score(x.reshape(-1, x.shape[-1])).reshape(x.shape)
    if asked == "moments":
        values = np.concatenate([x, x**2], axis=-1)
    else:
        values = _other_values(x, asked, exact[1], unit, len(model.prior))
        exact = _other_means(name, asked)
    return measured(case, seed, vvcv.Tasks.shared(x, scores, values), exact, methods, check=True)


if __name__ == "__main__":
    run(__doc__, replicate, [f"{m}: {asked}" for m in MODELS for asked in ASKED], COLUMNS, 88100)
