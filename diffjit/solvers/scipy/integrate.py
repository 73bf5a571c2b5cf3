"""What is known of `scipy.integrate`."""

from diffjit.solvers import boundary
from diffjit.solvers.scipy import ivp, quadrature, samples

__all__ = ["boundary", "ivp", "quadrature", "samples"]
