"""Your own kernel, basis and network

The default chooses among kernels and polynomials by itself. If you know something about your integrand that it cannot
know (it is periodic, it is a known function but for a few numbers), you can say so. Whatever you give, Stein's
operator makes functions of mean zero of it: a bad choice costs
accuracy, and the error bar says so.
"""

# %%
# ## A problem with a secret
#
# Under a standard normal in two dimensions, an integrand with a fast wave: 60 points are too few to see it.
import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import vvcv
from vvcv.kernels import Kernel
from vvcv.paper import BasisVariate, CrossFit, Exact, NeuralVariate, StochasticOptimisation

rng = np.random.default_rng(0)
x = rng.normal(size=(60, 2))
values = np.cos(9 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + 0.3 * x[:, 0]
exact = 0.5 + np.exp(-(9**2) / 2)
task = vvcv.Task(x, -x, values, name="wave")
est = vvcv.estimate(task)
print(est)
print(f"off by {abs(est.mean[0] - exact):.3f}")

# %%
# The gain is small, and the error bar says so.
#
# ## A kernel of your own
#
# Any JAX function `k(x, y)` of two points serves as a kernel. It sees *standardised* coordinates; if it is a module,
# its parameters are tuned with everything else. Store positive numbers as logarithms. This one knows that the integrand
# is a wave in the first coordinate, of unknown frequency, and something smooth in the second.


class Wave(Kernel):
    log_frequency: jax.Array
    log_lengthscale: jax.Array

    def __call__(self, x, y):
        angle = jnp.exp(self.log_frequency) * (x[0] - y[0])
        smooth = jnp.exp(-0.5 * jnp.sum(((x - y) / jnp.exp(self.log_lengthscale)) ** 2))
        return (1.0 + jnp.cos(angle)) * smooth


spread = x[:, 0].std()  # a standardised coordinate is in units of this
start = Wave(jnp.log(8.5 * spread), jnp.log(jnp.array([4.0, 2.0])))
with_kernel = vvcv.estimate(task, "cf", kernel=start)
print(with_kernel)
print(f"off by {abs(with_kernel.mean[0] - exact):.1e}")

# %%
# ## A basis
#
# `vvcv.fit` is the door to every construction of the paper. A basis is a function of a point that returns `q` numbers
# (`q` vectors under the first-order operator); their Stein images become the columns of a regression.


def basis(x):
    waves = [f(k * x[0]) for k in (8.0, 9.0, 10.0) for f in (jnp.sin, jnp.cos)]
    return jnp.stack([*waves, x[0], x[1], x[1] ** 2])


with_basis = vvcv.fit(task, BasisVariate(basis), Exact(regularization=1e-9))
print(f"mean {with_basis.mean[0]:.6f} +- {with_basis.std_error[0]:.1e}, off by {abs(with_basis.mean[0] - exact):.1e}")

# %%
# The wave `cos(9 x)` is not the Stein image of one of these functions, nor need it be: what they span comes close.
#
# ## A network
#
# Any equinox module works, trained by Algorithm 2 of the paper. Networks need many points; here 400, and an integrand
# that suits them. `CrossFit` trains on some points and averages over the others, in turn, so that the mean has no bias
# even where the network overfits.
many = rng.normal(size=(400, 2))
bump = vvcv.Task(many, -many, np.tanh(2 * many[:, 0] - many[:, 1]) + many[:, 0] ** 2, name="bump")
network = eqx.nn.MLP(2, 2, 24, 2, activation=jnp.tanh, key=jax.random.key(0))
descent = StochasticOptimisation(epochs=150, batch_size=40, learning_rate=0.01, decay=0.99)
trained = vvcv.fit(bump, NeuralVariate(network), descent, estimator=CrossFit(2))
plain, plain_error = bump.values.mean(), bump.values.std() / np.sqrt(400)
print(f"plain average {plain:.4f} +- {plain_error:.4f}, off by {abs(plain - 1):.4f}")
print(f"network       {trained.mean[0]:.4f} +- {trained.std_error[0]:.4f}, off by {abs(trained.mean[0] - 1):.4f}")

# %%
# ## Side by side
figure, ax = plt.subplots(figsize=(8, 2.8), layout="constrained")
found = {
    "plain average": (est.monte_carlo.mean[0], est.monte_carlo.std_error[0]),
    "default": (est.mean[0], est.std_error[0]),
    "own kernel": (with_kernel.mean[0], with_kernel.std_error[0]),
    "own basis": (with_basis.mean[0], with_basis.std_error[0]),
}
for place, ((mean, error), marker) in enumerate(zip(found.values(), "soD^", strict=True)):
    ax.errorbar(mean, place, xerr=2 * error, fmt=marker, color="k" if place else "0.55", capsize=3)
ax.axvline(exact, color="#D55E00", lw=1)
ax.set_yticks(range(len(found)), list(found))
ax.invert_yaxis()
ax.set_xlabel("estimate of the wave's mean, two standard errors; line: exact")
