"""Which callables there are: the public ones of NumPy, math, cmath and the parts of SciPy that are counted."""

from __future__ import annotations

import importlib
import types
import warnings
from typing import Any

import numpy as np

MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.polynomial", "numpy.ndarray", "math", "cmath",
    "scipy.special", "scipy.linalg", "scipy.integrate", "scipy.optimize", "scipy.interpolate", "scipy.signal",
    "scipy.ndimage", "scipy.fft", "scipy.spatial", "scipy.spatial.distance", "scipy.spatial.transform", "scipy.sparse",
    "scipy.sparse.linalg", "scipy.stats",
)  # fmt: skip
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "entropy", "rvs")
OF_COUNTS = {"pdf": "pmf", "logpdf": "logpmf"}  # what discrete distributions have instead


def holder(module: str) -> Any:
    """The module, or the class, that has the names."""
    return np.ndarray if module == "numpy.ndarray" else importlib.import_module(module)


def public(module: str) -> list[str]:
    """The public callables of a module, without what is deprecated and warns."""
    where = holder(module)
    listed = getattr(where, "__all__", None) or [name for name in dir(where) if not name.startswith("_")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(name, getattr(where, name, None)) for name in sorted(set(listed)) if not name.startswith("_")]
    return [name for name, thing in found if callable(thing) and not isinstance(thing, types.ModuleType)]


def is_distribution(thing: Any) -> bool:
    """Whether something is a distribution of one number, which has methods instead of being called."""
    from scipy import stats

    return isinstance(thing, (stats.rv_continuous, stats.rv_discrete))


def methods(thing: Any) -> list[str]:
    """The methods of a distribution that are counted."""
    from scipy import stats

    discrete = isinstance(thing, stats.rv_discrete)
    return [OF_COUNTS.get(name, name) if discrete else name for name in METHODS]


def known() -> list[str]:
    """The full names of all that is counted, methods of distributions in place of these."""
    found = []
    for module in MODULES:
        where = holder(module)
        for name in public(module):
            thing = getattr(where, name)
            if module == "scipy.stats" and is_distribution(thing):
                found += [f"{module}.{name}.{method}" for method in methods(thing)]
            else:
                found.append(f"{module}.{name}")
    return found
