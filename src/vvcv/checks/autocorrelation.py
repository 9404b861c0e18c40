"""Effective sample sizes of many series at once, so that Markov chains raise no false alarm."""

from ..data.chains import effective_sizes

__all__ = ["effective_sizes"]
