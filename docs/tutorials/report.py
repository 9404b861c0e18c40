"""Reading the report

An estimate is a number with an error bar, and a story of how it was found: which methods were tried, what each said,
which was believed, what the checks found. This page reads that story, once where all is well and twice where it is
not.
"""

# %%
# ## The table
#
# Two integrals under a normal distribution in two dimensions, with points of their own.
import warnings

import matplotlib.pyplot as plt
import numpy as np

import vvcv

rng = np.random.default_rng(1)
low, high = rng.normal(size=(80, 2)), rng.normal(size=(25, 2))


def f(x):
    return np.exp(0.5 * x[:, 0]) * np.cos(x[:, 1])


exact = np.exp(0.125 - 0.5)
good = vvcv.Tasks(
    [vvcv.Task(low, -low, 0.9 * f(low) + 0.05 * low[:, 1], name="low"), vvcv.Task(high, -high, f(high), name="high")]
)
est = vvcv.estimate(good)
print(est)

# %%
# * **mean** and **std error**: the answer, and the error bar to use. `est.interval(0.95)` makes intervals of it.
# * **plain average** and its error: what averaging the values would have given.
# * **gain**: how many times more samples the plain average would need for the same error bar.
# * **rung**: the method that weighs most, from `mc` (plain average) over `zv` (polynomial), `cf` (kernel), `secf`
#   (kernel and polynomial) to `vv` and `vv-secf` (the same for all tasks together).
#
# ## Why this number
#
# Every candidate of every rung makes an offer for every task. Its weight comes from the error it promises, and from how
# well it predicts values that it has not seen.
reason, *offers = est.explain().split("\n\n")[1].splitlines()
print(reason, *(line[:104] for line in offers[:6]), sep="\n")  # the column of details is left out here

# %%
# * **its error** is what it would be believed with: the larger of what the model says and what left-out values say.
# * **the model's own** is the error under the model's assumptions alone, **on values left out** the plain Monte Carlo
#   error of what the variate leaves of values it was not fitted to. The second needs no assumption about the integrand.
# * Candidates named *cross-fitted* are **witnesses**: the same variate, with every value corrected by a fit that has
#   not seen it. A witness has no bias. An answer that is many standard errors away from its witness loses its weight.
#
# The three error bars as numbers:
names = ("std_error", "model_std_error", "cross_fitted_std_error")
for name in names:
    print(f"{name:24s}", getattr(est, name))
print("true error              ", np.abs(est.mean - exact * np.array([0.9, 1.0])))

# %%
# ## Alarm: scores that are wrong
#
# Nothing is easier than a wrong sign. Stein's identities (the mean of the scores is zero; points times scores average
# to minus one) are checked before any fit, and the likely mistake is named.
wrong = vvcv.Task(high, high, f(high), name="wrong sign")
print(vvcv.check(wrong))

# %%
# `estimate` does the same by itself and warns; `on_alarm="raise"` makes the alarm an error, which a script should use.
try:
    vvcv.estimate(wrong, on_alarm="raise")
except ValueError as alarm:
    print(str(alarm).splitlines()[0])

# %%
# ## Alarm: chains that have not mixed
#
# Scores that are right do not help a sampler that is stuck. Four chains, one of them somewhere else:
x = 0.05 * np.cumsum(rng.normal(size=(4, 100, 1)), axis=1) + np.array([0, 0, 0, 2.0])[:, None, None]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    stuck = vvcv.estimate(vvcv.Tasks.shared(x, -x, x**2, names=["square"]), "zv")
for alarm in stuck.alarms():
    print("-", alarm)
print("warned:", [type(w.message).__name__ for w in caught])

# %%
# ## When there is nothing to gain
#
# An honest method says so. Under a target with two separate modes no control variate can know the weights of the modes,
# which is all that matters: the plain average is kept.
side = np.where(rng.random((80, 1)) < 0.5, -4.0, 4.0)
modes = side + rng.normal(size=(80, 1))
scores = -(modes - 4 * np.tanh(4 * modes))
two = vvcv.estimate(vvcv.Task(modes, scores, modes[:, 0] + modes[:, 0] ** 2, name="two modes"), on_alarm="ignore")
print(two)
print(two.explain())

# %%
# ## The page
#
# `est.report("report.html")` writes all this as one file, with pictures of intervals, gains, fits and what they leave,
# which opens without a network. `est.plot()` is the first of its pictures:
est.plot(exact=exact * np.array([0.9, 1.0]))
plt.gca().set_title("crosses: exact answers")
