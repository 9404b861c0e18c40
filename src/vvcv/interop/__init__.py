"""Samplers -> Tasks: two lines from a sampler's own object to an estimate.

    posterior = vvcv.from_numpyro(mcmc)     points without constraints, scores with Jacobians, draws by name
    vvcv.estimate(posterior)                the means of all variables
    posterior.expect(["tau"], moments=2)    other integrands, same points and scores

One file for each package, named after it; each imports its package only when called.
"""

from .posterior import Posterior

__all__ = ["Posterior"]
