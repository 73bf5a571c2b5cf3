"""Minima under constraints: their forms in SciPy, and the equations of Karush, Kuhn and Tucker at what SciPy finds."""

from diffjit.solvers.constrained import forms, minimum

__all__ = ["forms", "minimum"]
