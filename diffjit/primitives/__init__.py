"""What can be differentiated: data, no engine. Importing the package fills the tables of `registry`."""

import numpy as np

from diffjit import installed

installed.check_python(np.__version__)

# ruff: noqa: E402 - an old NumPy lacks functions that these modules name
from diffjit.primitives import (
    arithmetic,
    comparison,
    complexes,
    fourier,
    indexing,
    library,
    linalg,
    random,
    reductions,
    registry,
    scipy_special,
    shaping,
    special,
    spectral,
    transcendental,
)

registry.settle()

__all__ = [
    "arithmetic",
    "comparison",
    "complexes",
    "fourier",
    "indexing",
    "library",
    "linalg",
    "random",
    "reductions",
    "scipy_special",
    "shaping",
    "special",
    "spectral",
    "transcendental",
]
