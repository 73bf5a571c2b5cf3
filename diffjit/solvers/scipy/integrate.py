"""What is known of `scipy.integrate`."""

from diffjit.solvers.scipy import ivp, quadrature, samples

__all__ = ["ivp", "quadrature", "samples"]
