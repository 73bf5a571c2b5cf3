"""What is known of `scipy.optimize`."""

from diffjit.solvers.scipy import fits, minima, roots, systems

__all__ = ["fits", "minima", "roots", "systems"]
