"""Boundary value problems: SciPy finds the mesh and the solution, the collocation's equations differentiate it."""

from diffjit.solvers.boundary import collocation, problems

__all__ = ["collocation", "problems"]
