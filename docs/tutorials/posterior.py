"""From a sampler to a sharper summary

You have run a sampler and look at posterior means. Each draw came with a gradient of the log posterior: the sampler
needed it to move. With these gradients, which you have paid for already, the means can be made as sure as those of a
run that is many times longer. This tutorial does so for a regression in NumPyro, and checks the claim against a long
run.
"""

# %%
# ## A model and a short run
#
# Thirty measurements, two slopes and a noise level, all unknown: four chains of 75 draws. The only thing to remember is
# `extra_fields=("z_grad",)`, which keeps the gradients. (Without them `vvcv` computes them again from the model.)
import jax
import matplotlib.pyplot as plt
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

import vvcv

rng = np.random.default_rng(3)
design = rng.normal(size=(30, 2))
measured = design @ [1.0, -0.5] + 0.7 * rng.standard_t(4, size=30)


def model(design, measured):
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    slope = numpyro.sample("slope", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    numpyro.sample("measured", dist.StudentT(4.0, design @ slope, noise), obs=measured)


def sample(draws, seed):
    chains = {"num_warmup": 200, "num_samples": draws, "num_chains": 4, "chain_method": "vectorized"}
    mcmc = MCMC(NUTS(model), progress_bar=False, **chains)
    mcmc.run(jax.random.key(seed), design, measured, extra_fields=("z_grad",))
    return mcmc


mcmc = sample(75, seed=0)

# %%
# ## The summary
#
# One line. `mean` and `sd` are estimated with control variates, each with its standard error. `gain` says how many
# times more draws a plain average would need to be as sure, and `ess_worth` how many *independent* draws the mean is
# worth; compare it with `ess_bulk`, what the draws are worth by themselves.
table = vvcv.summary(mcmc)
print(table)

# %%
# `noise` is positive, and `vvcv` has taken care of that: it works with the sampler's own unconstrained coordinates,
# whose density has a Jacobian, and gives the mean of the constrained variable.
#
# ## Is it true?
#
# A run with many more draws is a fair judge. Here is the short run by plain averages and by control variates, beside
# the long one. Bars are two standard errors.
posterior = vvcv.from_numpyro(mcmc)
est = vvcv.estimate(posterior)
long_run = vvcv.from_numpyro(sample(2000, seed=1))
judge = vvcv.estimate(long_run, "mc", check=False)
est.plot(exact=judge.mean).set_title("300 draws: plain average and control variates; crosses: 8,000 draws")
print("distance from the long run, in the long run's own standard errors")
for t, name in enumerate(est.names):
    plain, ours = (abs(e.mean[t] - judge.mean[t]) / judge.std_error[t] for e in (est.monte_carlo, est))
    print(f"  {name:10s} plain {plain:5.1f}   control variates {ours:5.1f}")

# %%
# If the error bars are right, the last column should look like the sizes of standard normal numbers: it is the long run
# that is uncertain now, not the short one.
#
# ## Other questions to the same draws
#
# `expect` asks for other integrands without another gradient: here the mean of a product. `functional` gives functions
# of several means, such as a posterior correlation, with an error bar of its own.
product = posterior.expect(functions={"product": lambda draws: draws["slope"][..., 0] * draws["slope"][..., 1]})
print(vvcv.estimate(product, "zv"))
print()
print(vvcv.functional(posterior, "correlation", "slope[0]", "slope[1]", method="zv"))

# %%
# ## What the variate looks like
#
# A control variate is a function of mean zero that resembles the integrand. Subtract it, and what is left hardly
# varies: that is all there is to it. Here are draws of the long run, which the fit has never seen.
name = "noise"
task = long_run[name]
rows = slice(0, None, 8)
variate = est.control_variate(task.points[rows], task.scores[rows], task=name)
left = task.values[rows] - variate
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
axes[0].plot(task.values[rows], ".", color="0.55", ms=3)
axes[0].set(title="the draws", xlabel="draw", ylabel=name)
axes[1].plot(left, ".", color="k", ms=3)
axes[1].set(title="less the control variate", xlabel="draw")
print(f"variance left, on draws that the fit has not seen: {np.var(left) / np.var(task.values):.1e} of what there was")
