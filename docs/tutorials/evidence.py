"""Model evidence

How probable are the data under a model, all its parameters averaged out? The logarithm of that number compares
models, and it is hard to compute. Thermodynamic integration writes it as an integral over *temperatures* t from 0
(the prior) to 1 (the posterior) of the mean log likelihood under the power posterior `p(y | x)^t p(x)`. Every
temperature is an expectation of its own, with a target of its own, and neighbours are alike: a case for vector-valued
control variates.
"""

# %%
# ## Draws along a path of temperatures
#
# The problem is that of the paper (Section 5.2): one parameter of a van der Pol oscillator, seen through noise at
# eleven times, and 31 temperatures. Twenty draws for each come from a population of Markov chains; with them, the
# gradients of log likelihood and log prior.
import matplotlib.pyplot as plt
import numpy as np

import vvcv
from vvcv.problems import van_der_pol

draws = van_der_pol.sample_path(seed=0, n_samples=20)
print(draws.log_likelihood.shape, draws.points.shape, "temperatures", draws.temperatures[[0, 1, 2, -1]])

# %%
# ## The evidence
#
# Means *and* variances of the log likelihood are estimated at all temperatures jointly: the variance is the slope of
# the mean along the path, which makes the quadrature of second order.
result = vvcv.evidence(
    draws.log_likelihood,
    draws.temperatures,
    draws.points,
    scores_likelihood=draws.scores_likelihood,
    scores_prior=draws.scores_prior,
)
result.plot()
print("\n".join(str(result).splitlines()[:7]))

# %%
# The error bar has two parts, from finitely many draws and from finitely many temperatures, so that you know which to
# add. Under it stand other methods' answers from the same draws.
#
# ## Is it true?
#
# With one parameter, the evidence is an integral that quadrature solves to many digits.
exact = van_der_pol.EXACT_LOG_EVIDENCE
print(f"exact       {exact:.6f}")
print(f"vvcv        {result.log_evidence:.6f}, off by {abs(result.log_evidence - exact):.1e}")
for other in result.comparison:
    print(f"{other.name:<28} off by {abs(other.log_evidence - exact):.1e}")

# %%
# ## Where the difference comes from
#
# The plain averages scatter around the curve of mean log likelihoods. The joint fit finds the curve.
relative = (result.plain_means - result.means) / np.maximum(np.abs(result.means), 1e-12)
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(relative, "s", color="0.55", label="plain averages, relative to the fit")
ax.axhline(0, color="k", lw=1)
ax.set(xlabel="number of the temperature, from prior to posterior", ylabel="relative difference")
ax.legend()

# %%
# Parameters with bounds go through `vvcv.unconstrain` first, with `jacobian=False` for the likelihood's gradient: the
# prior's carries it. From a file: `vvcv evidence draws.npz`, with arrays of the names above.
