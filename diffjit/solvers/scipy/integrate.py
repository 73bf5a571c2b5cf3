"""What is known of `scipy.integrate`."""

from diffjit.solvers import boundary
from diffjit.solvers.scipy import dense, ivp, quadrature, samples

__all__ = ["boundary", "dense", "ivp", "quadrature", "samples"]
