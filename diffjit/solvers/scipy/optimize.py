"""What is known of `scipy.optimize`."""

from diffjit.solvers import minima as older
from diffjit.solvers.scipy import fits, minima, programs, roots, systems

__all__ = ["fits", "minima", "older", "programs", "roots", "systems"]
