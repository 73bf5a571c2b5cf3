"""Gradient descent with a step that grows and shrinks, as Pearlmutter and Siskind wrote it.

B. A. Pearlmutter, J. M. Siskind: Using Programming Language Theory to Make Automatic Differentiation Sound and
Efficient, 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def argmin(function: Callable[..., Any], gradient: Callable[..., Any], x: np.ndarray, *rest: Any) -> Any:
    """Where a function of one array is smallest; the other arguments stay."""
    value = function(x, *rest)
    slope = gradient(x, *rest)
    rate = 1e-5
    good = 0
    while np.sqrt(np.sum(slope * slope)) > 1e-5:
        if good == 10:
            rate *= 2.0
            good = 0
            continue
        new = x - rate * slope
        if np.sqrt(np.sum((new - x) ** 2)) <= 1e-5:
            break
        new_value = function(new, *rest)
        if new_value < value:
            x = new
            value = new_value
            slope = gradient(x, *rest)
            good += 1
        else:
            rate /= 2.0
            good = 0
    return x
