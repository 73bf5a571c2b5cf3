"""`scipy.stats` as programs: densities, distributions by SciPy's own formulas, frozen ones, samples, bins and tests."""

from diffjit.primitives.library import scipy_stats
from diffjit.primitives.library.stats import binned, families, frozen, helpers, kernels, parts, samples, tests

__all__ = ["binned", "families", "frozen", "helpers", "kernels", "parts", "samples", "scipy_stats", "tests"]
