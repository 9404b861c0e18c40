"""3. Zero-mean functions: Stein operators of first and second order, Stein kernels, Gram matrices, features."""

from .features import count_features, exponents, polynomial_features
from .gram_matrix import Gram, diagonal, gram, pullback, task_matrix
from .kernel import SteinKernel, SteinSum, axis_shares, with_kernel
from .ridge import PARTS, ROWS, Ridge, along_axes

__all__ = [
    "PARTS",
    "ROWS",
    "Gram",
    "Ridge",
    "SteinKernel",
    "SteinSum",
    "along_axes",
    "axis_shares",
    "count_features",
    "diagonal",
    "exponents",
    "gram",
    "polynomial_features",
    "pullback",
    "task_matrix",
    "with_kernel",
]
