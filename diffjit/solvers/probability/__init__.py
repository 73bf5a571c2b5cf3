"""`scipy.stats` where it takes more than formulas: quantiles that SciPy searches for, and moments."""

from diffjit.primitives.library import stats
from diffjit.solvers.probability import moments, noncentral, orders, quantiles, ranks, without_formulas

__all__ = ["moments", "noncentral", "orders", "quantiles", "ranks", "stats", "without_formulas"]
