"""What the elementwise kinds mean that are not NumPy ufuncs.

Rows name the scalar function that such a kind is (`elementwise(..., scalar=...)`, kept in SCALAR_SEMANTICS): plain
Python on numbers and `math`, which is compiled as it is. Kinds that need no function:

    where(c, x, y), select(c, x, y)   x if c else y; both are evaluated; dtype of np.result_type(x, y)
    cast(x)                           x in the dtype of the output
    zmul(g, p)                        0 where g is 0 (whatever p, NaN included), else g * p
    zdiv(g, y)                        0 where g is 0 (whatever y, NaN included), else g / y
    real(x), imag(x)                  x and 0 for real x
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Semantics:
    """A kind's scalar function, and the ufunc whose result dtype it shares (of its last argument)."""

    scalar: Callable[..., Any]
    like: np.ufunc = np.sqrt
    library: str = ""  # the function of arrays that text at the level of the user's code calls
    integer: bool = False  # the first parameter is an int


SCALAR_SEMANTICS: dict[str, Semantics] = {}


def printed() -> dict[str, Callable[..., Any] | str]:
    """What text at the level of the user's code calls: functions of numbers, or the names of a library's."""
    return {kind: s.library or s.scalar for kind, s in SCALAR_SEMANTICS.items()}
