"""Minima and fits by the other names that SciPy has for them: the old functions, and searches of a whole region."""

from diffjit.solvers.minima import leastsq, named, regions

__all__ = ["leastsq", "named", "regions"]
