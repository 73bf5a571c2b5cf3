"""`scipy.special` with what takes rules of its own: functions of complex numbers, and those that give several."""

from diffjit.primitives.library import scipy_special
from diffjit.solvers.functions import complexes, plane, several, zeta

__all__ = ["complexes", "plane", "scipy_special", "several", "zeta"]
