"""`scipy.special` with what takes rules of its own: functions of complex numbers."""

from diffjit.primitives.library import scipy_special
from diffjit.solvers.functions import complexes, plane, zeta

__all__ = ["complexes", "plane", "scipy_special", "zeta"]
