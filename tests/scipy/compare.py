"""How programs that call SciPy are compared with what SciPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    """A number of all that a function gives."""

    def number(*args: Any) -> Any:
        found = function(*args)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(np.sum(np.sin(part) + part * part) for part in parts)

    return number


def same_values(function: Callable[..., Any], args: tuple[Any, ...], backend: str) -> None:
    """Each result has the shape and the numbers of plain Python's."""
    found, wanted = dj.jit(function, backend=backend)(*args), function(*args)
    for one, other in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
