"""Eight regressions, eight targets

Eight clinics, each with its own logistic regression: eight posteriors, eight sets of draws, and from each a
probability that matters there. Each posterior is a *target* of its own, with its own scores. The clinics are alike,
though not the same, so that what is learned about one tells something about the others; how much is learned from the
data too.
"""

# %%
# ## Data and posteriors
#
# An intercept and a slope for each clinic, which scatter around common values. With two parameters a fine grid gives
# exact answers, so that we can see what each method is worth.
import matplotlib.pyplot as plt
import numpy as np

import vvcv

CLINICS, PATIENTS, DRAWS = 8, 60, 20
rng = np.random.default_rng(5)
dose = rng.normal(size=(CLINICS, PATIENTS))
true = np.array([-0.3, 1.0]) + 0.25 * rng.normal(size=(CLINICS, 2))
recovered = rng.random((CLINICS, PATIENTS)) < 1 / (1 + np.exp(-(true[:, :1] + true[:, 1:] * dose)))


def chance(x, at):
    return 1 / (1 + np.exp(-(x[..., :1] + x[..., 1:] * at)))


def log_posterior(x, clinic):
    p = chance(x, dose[clinic])
    fit = np.where(recovered[clinic], np.log(p), np.log1p(-p)).sum(axis=-1)
    return fit - 0.5 * (x**2).sum(axis=-1) / 4


def score(x, clinic):
    left = recovered[clinic] - chance(x, dose[clinic])
    return np.stack([left.sum(axis=-1), (left * dose[clinic]).sum(axis=-1)], axis=-1) - x / 4


# %%
# Draws from a fine grid: independent, 20 for each clinic. (Draws from chains are as good; give them as `(chain, draw,
# d)`.)
axis = np.linspace(-4, 4, 400)
grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


def weights(clinic):
    log = log_posterior(grid, clinic)
    weight = np.exp(log - log.max())
    return weight / weight.sum()


def draw(clinic):
    rows = rng.choice(len(grid), size=DRAWS, p=weights(clinic))
    return grid[rows] + rng.uniform(-0.5, 0.5, size=(DRAWS, 2)) * (axis[1] - axis[0])


# %%
# The integrand: the chance to recover at a dose of 1.5, which differs from clinic to clinic only through its posterior.
tasks, exact = [], []
for clinic in range(CLINICS):
    x = draw(clinic)
    tasks.append(vvcv.Task(x, score(x, clinic), chance(x, 1.5)[:, 0], name=f"clinic {clinic + 1}"))
    exact.append(weights(clinic) @ chance(grid, 1.5)[:, 0])
tasks, exact = vvcv.Tasks(tasks), np.array(exact)

# %%
# ## All eight at once
estimates = vvcv.compare(tasks, ["mc", "zv", "cf", "vv", "auto"])
print(estimates["auto"])
print()
for method, est in estimates.items():
    print(f"{method:5s} mean absolute error {np.abs(est.mean - exact).mean():.2e}")

# %%
# `"zv"` and `"cf"` treat every clinic by itself, `"vv"` all of them together, and `"auto"`, the default, weighs all of
# them for each clinic.
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for method, marker, colour in (("mc", "s", "0.55"), ("zv", "^", "#E69F00"), ("cf", "v", "#56B4E9"), ("auto", "o", "k")):
    ax.semilogy(np.abs(estimates[method].mean - exact), marker, color=colour, label=method)
ax.set_xticks(range(CLINICS), tasks.names, rotation=30)
ax.set_ylabel("absolute error")
ax.legend(ncols=4)

# %%
# ## What was shared
#
# How alike the vector-valued fit takes the tasks to be. Where they are not alike it says so, and a task then keeps to
# itself: [unrelated tasks do no harm](../when_it_helps.md#related-and-unrelated-tasks).
figure, ax = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
image = ax.imshow(estimates["vv"].task_correlation, vmin=-1, vmax=1, cmap="cividis")
figure.colorbar(image, label="task correlation")
ax.set(xlabel="clinic", ylabel="clinic", xticks=range(CLINICS), yticks=range(CLINICS))
ax.set_xticklabels(range(1, CLINICS + 1))
ax.set_yticklabels(range(1, CLINICS + 1))
ax.grid(False)
