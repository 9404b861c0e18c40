"""2. What functions may look like: scalar kernels, matrix-valued kernels, and task matrices B."""

from .base import Custom, Kernel, Product, ProductOverDimensions, Scaled, Side, Sum, as_kernel
from .coregionalization import Blocks, Coregionalization, Descriptors, Diagonal, Fixed, Full, LowRank, correlation
from .matrix import General, MatrixKernel, MatrixSum, Own, Separable
from .polynomial import Polynomial
from .preconditioned import PreconditionedSquaredExponential, Weighted
from .radial import InverseMultiquadric, Matern, Radial, RationalQuadratic, SquaredExponential

__all__ = [
    "Blocks",
    "Coregionalization",
    "Custom",
    "Descriptors",
    "Diagonal",
    "Fixed",
    "Full",
    "General",
    "InverseMultiquadric",
    "Kernel",
    "LowRank",
    "Matern",
    "MatrixKernel",
    "MatrixSum",
    "Own",
    "Polynomial",
    "PreconditionedSquaredExponential",
    "Product",
    "ProductOverDimensions",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "Separable",
    "Side",
    "SquaredExponential",
    "Sum",
    "Weighted",
    "as_kernel",
    "correlation",
]
