"""`scipy.linalg` as programs: systems and factors, matrices made of vectors, functions of matrices."""

from diffjit.primitives.library import scipy_linalg
from diffjit.primitives.library.linear import banded, blas, factors, functions, made

__all__ = ["banded", "blas", "factors", "functions", "made", "scipy_linalg"]
