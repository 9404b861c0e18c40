"""What the property tests accept as an answer: finite numbers, or a ValueError with a message; soon, and in silence."""

import time
import warnings

import numpy as np

#: Tiny data on a crowded machine, compilation included: longer than this is a hang.
LONGEST_SECONDS = 120


def quietly(call):
    """The result of a call, or None for a ValueError with a message; warnings and other exceptions fail the test."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return call()
        except ValueError as error:
            assert len(str(error)) > 20
            return None
        finally:
            assert time.perf_counter() - started < LONGEST_SECONDS


def answered(call):
    """The estimate of a call, whose numbers must be finite, or None for a ValueError with a message."""
    estimate = quietly(call)
    if estimate is not None:
        assert np.isfinite(estimate.mean).all() and np.isfinite(estimate.std_error).all()
        assert (estimate.std_error >= 0).all()
        assert "nan" not in str(estimate) or "nan" in "".join(estimate.names)
    return estimate
