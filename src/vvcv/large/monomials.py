"""Stein images of monomials for millions of rows: each from one of a degree less, a few products for every entry.

    L (x_i r) = x_i L r + s_i r + 2 d_i r,   L x_i = s_i,   L = Delta + s . grad

Monomials are ordered as in `stein.features`, by degree and then by their indices; those that begin with x_i are x_i
times the ones of a degree less that begin with no earlier index, which lie side by side.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ..stein import count_features


def monomial_images(
    points: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n d"], degree: int
) -> Float[np.ndarray, "q n"]:
    """The features of `stein.polynomial_features`, a row for each monomial.

    >>> monomial_images(np.array([[2.0]]), np.array([[-2.0]]), 2).T
    array([[-2., -6.]])
    """
    n, d = points.shape
    x, s = np.ascontiguousarray(points.T), np.ascontiguousarray(scores.T)
    images = np.empty((count_features(d, degree), n))
    images[:d] = s
    # Of the last degree: monomials, their images, derivatives in the first index of each, and where each index begins.
    power, image, slope, begins, written = x, images[:d], np.ones_like(x), list(range(d + 1)), d
    for _ in range(degree - 1):
        sizes = [begins[-1] - start for start in begins[:-1]]
        stops = np.cumsum([0, *sizes]).tolist()
        last = image
        image = images[written : written + stops[-1]]
        new_power, new_slope = np.empty_like(image), np.empty_like(image)
        for i in range(d):
            rest, own = slice(begins[i], begins[-1]), slice(stops[i], stops[i + 1])
            first = slice(0, begins[i + 1] - begins[i])  # those of the rest that begin with x_i themselves
            np.multiply(last[rest], x[i], out=image[own])
            image[own] += s[i] * power[rest]
            image[own][first] += 2 * slope[rest][first]
            np.multiply(power[rest], x[i], out=new_power[own])
            new_slope[own] = power[rest]
            new_slope[own][first] += x[i] * slope[rest][first]
        power, slope, begins, written = new_power, new_slope, stops, written + stops[-1]
    return images
