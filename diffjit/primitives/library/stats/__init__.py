"""`scipy.stats` as programs: densities, distributions by SciPy's formulas, frozen, of vectors; samples, bins, tests."""

from diffjit.primitives.library import scipy_stats
from diffjit.primitives.library.stats import (
    binned,
    counts,
    families,
    frozen,
    helpers,
    kernels,
    multivariate,
    normality,
    parts,
    samples,
    tests,
    trimmed,
)

__all__ = [
    "binned",
    "counts",
    "families",
    "frozen",
    "helpers",
    "kernels",
    "multivariate",
    "normality",
    "parts",
    "samples",
    "scipy_stats",
    "tests",
    "trimmed",
]
