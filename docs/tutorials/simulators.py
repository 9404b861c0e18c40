"""Cheap and dear simulators

A model with uncertain inputs takes minutes or days for each run, and a cruder version of it takes seconds. You want
the mean of the dear one. Here the model is a ball that is thrown through air, integrated with many small time steps;
the crude version takes a few large ones.
"""

# %%
# ## Two models
#
# A model is a function of named numbers that returns one number: here, how far the ball flies.
import matplotlib.pyplot as plt
import numpy as np

import vvcv
from vvcv.inputs import lognormal, normal, triangular, uniform


def flight(speed, angle, drag, wind, step):
    x = y = time = 0.0
    vx, vy = speed * np.cos(angle), speed * np.sin(angle)
    while True:
        relative = np.hypot(vx - wind, vy)
        ax, ay = -drag * relative * (vx - wind), -9.81 - drag * relative * vy
        new_y = y + step * vy + 0.5 * step**2 * ay
        if new_y < 0 and time > 0:
            return x + step * vx * y / (y - new_y)
        x, y, time = x + step * vx + 0.5 * step**2 * ax, new_y, time + step
        vx, vy = vx + step * ax, vy + step * ay


def dear(**x):
    return flight(**x, step=0.01)


def cheap(**x):
    return flight(**x, step=0.5)


# %%
# ## The inputs
#
# Write down what is known of them. Scores, coordinates and draws follow; there is no gradient of the model to be had,
# and none is needed.
given = vvcv.inputs.independent(
    speed=normal(30.0, 2.0), angle=triangular(0.6, 0.8, 1.0), drag=lognormal(-5.0, 0.3), wind=uniform(-4.0, 4.0)
)

# %%
# ## One call
#
# 150 cheap runs and 20 dear ones, at points of their own. Every finished run would be kept in the file that `store`
# names, so that a killed study goes on where it stopped; this one is short enough for `store=None`.
est = vvcv.multifidelity({"cheap": cheap, "dear": dear}, given, {"cheap": 150, "dear": 20}, store=None)
print(est)

# %%
# The remark under the table says why this works: related tasks with points of *their own* inform each other. The cheap
# runs have shown what the function looks like where the dear model was never run.
#
# How alike the two models are was learned from the data:
print(np.round(est.task_correlation, 3))

# %%
# ## Is it true?
#
# Two thousand dear runs, which one could not afford in earnest, are the judge; a polynomial control variate sharpens
# it.
many = given.sample(2000, seed=99)
runs = np.array([dear(**{name: float(column[i]) for name, column in many.items()}) for i in range(2000)])
long_study = vvcv.estimate(given.task(many, runs, name="dear"), "zv")
judge, judge_error = long_study.mean[0], long_study.std_error[0]
print(f"2,000 dear runs: {judge:.3f} +- {judge_error:.3f}")
print(f"20 dear runs, plain average: {est.monte_carlo.mean[1]:.3f} +- {est.monte_carlo.std_error[1]:.3f}")
print(f"20 dear and 150 cheap runs: {est.mean[1]:.4f} +- {est.std_error[1]:.4f}")

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
rows = {"20 dear runs": (est.monte_carlo.mean[1], est.monte_carlo.std_error[1], "s", "0.55")}
rows["with 150 cheap runs"] = (est.mean[1], est.std_error[1], "o", "k")
rows["2,000 dear runs"] = (judge, judge_error, "D", "#D55E00")
for place, (mean, error, marker, colour) in enumerate(rows.values()):
    ax.errorbar(mean, place, xerr=2 * error, fmt=marker, color=colour, capsize=3)
ax.set_yticks(range(3), list(rows))
ax.set_ylim(2.5, -0.5)
ax.set_xlabel("mean distance of flight, metres (bars: two standard errors)")

# %%
# ## What it is worth
#
# `gain` is the number of plain dear runs that one dear run has become. If a dear run costs as much as `c` cheap ones,
# the study above cost `150 / c + 20` dear runs, and a plain average of equal quality would have cost `20 * gain`.
print(f"gain of the dear mean: {est.gain[1]:,.0f}")

# %%
# [Simulators of several costs](../simulators.md) has the details: correlated inputs, inputs with only a log density,
# designs, failed runs, and runs that were made elsewhere.
