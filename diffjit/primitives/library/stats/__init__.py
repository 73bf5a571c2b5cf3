"""`scipy.stats` as programs: densities of the common families, distributions by SciPy's own formulas, frozen ones."""

from diffjit.primitives.library import scipy_stats
from diffjit.primitives.library.stats import families, frozen, helpers

__all__ = ["families", "frozen", "helpers", "scipy_stats"]
