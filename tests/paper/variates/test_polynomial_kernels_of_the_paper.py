"""Polynomial kernels (x'y + c)^l under both operators against the explicit formulas of the paper's appendix C.3."""

import numpy as np
import pytest

from vvcv.kernels import Fixed, Polynomial, Separable, Side
from vvcv.stein import SteinKernel, gram

B = np.array([[1.0, 0.4], [0.4, 2.0]])
C = 0.7


def first_order_degree_one(x, lx, y, ly):
    # The paper prints l_t(x) l_t'(y) (x'y + c) inside the sum over r, as it should be.
    return sum(1 + ly[r] * y[r] + lx[r] * x[r] + lx[r] * ly[r] * (x @ y + C) for r in range(len(x)))


def first_order_degree_two(x, lx, y, ly):
    u = x @ y + C
    return sum(
        2 * x[r] * y[r] + 2 * u + 2 * y[r] * ly[r] * u + 2 * x[r] * lx[r] * u + lx[r] * ly[r] * u**2
        for r in range(len(x))
    )


def second_order_degree_one(x, lx, y, ly):
    return lx @ ly


def second_order_degree_two(x, lx, y, ly):
    cross = sum(lx[s] * ly[r] * x[r] * y[s] for r in range(len(x)) for s in range(len(x)))
    return 4 * (len(x) + ly @ y + lx @ x) + 2 * (lx @ ly * (x @ y + C) + cross)


FORMULAS = {
    (1, 1): first_order_degree_one,
    (1, 2): first_order_degree_two,
    (2, 1): second_order_degree_one,
    (2, 2): second_order_degree_two,
}


@pytest.mark.parametrize(("order", "degree"), FORMULAS)
def test_stein_kernel_equals_the_formula_of_the_paper(order, degree):
    rng = np.random.default_rng(order + 10 * degree)
    points, scores, task = rng.standard_normal((7, 3)), rng.standard_normal((7, 3)), np.array([0, 1, 0, 1, 1, 0, 0])
    kernel = SteinKernel(Separable(Fixed(B), Polynomial(degree, C)), order)
    found = gram(kernel, Side(points, scores, task))
    formula = FORMULAS[order, degree]
    rows = list(zip(points, scores, strict=True))
    pairs = [[formula(x, lx, y, ly) for y, ly in rows] for x, lx in rows]
    expected = B[np.ix_(task, task)] * np.array(pairs)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
