"""What NumPy itself says of masked arrays: which functions look at no mask, and where others are not defined."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ma

from diffjit.primitives.registry import constant

_DOMAINS = {
    "sqrt": lambda x: x < 0.0,
    "log": lambda x: x <= 0.0,
    "log2": lambda x: x <= 0.0,
    "log10": lambda x: x <= 0.0,
    "arcsin": lambda x: (x > 1.0) | (x < -1.0),
    "arccos": lambda x: (x > 1.0) | (x < -1.0),
    "arccosh": lambda x: x < 1.0,
    "arctanh": lambda x: (x > 1.0 - 1e-15) | (x < -1.0 + 1e-15),
    "tan": lambda x: np.abs(np.cos(x)) < 1e-35,
}
# They take the numbers, whether these count or not, and give no masked arrays.
_OF_NUMBERS = {
    np.shape, np.size, np.ndim, np.outer, np.vdot, np.einsum, np.tensordot, np.interp, np.convolve, np.cov,
    np.corrcoef, np.polyfit, np.triu, np.tril, np.linalg.norm, np.linalg.det, np.linalg.slogdet, np.linalg.cond,
    np.linalg.eigvals, np.linalg.eigvalsh, np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft,
}  # fmt: skip
_LEAVE_MASKS = {np.linalg.solve, np.linalg.inv, np.linalg.pinv, np.linalg.cholesky}  # of what they were given last


def domain_of(function: Callable[..., Any]) -> Any:
    """The arguments that a function is not defined for, as a function; None of one that is defined everywhere."""
    return _DOMAINS.get(function.__name__)


def fill_of(function: Callable[..., Any]) -> float:
    """What NumPy's own ufunc leaves where it is not defined."""
    return float(np.ma.core.ufunc_fills[function])  # pyright: ignore[reportAttributeAccessIssue] - NumPy's own table


def default_fill(dtype: np.dtype[Any]) -> Any:
    """What stands for entries that do not count where nothing else was asked for."""
    return np.asarray(ma.default_fill_value(dtype)).item()


def of_numbers(function: Callable[..., Any]) -> bool:
    """Whether a function looks at no mask, and gives arrays without."""
    return function in _OF_NUMBERS


def leaves_masks(function: Callable[..., Any]) -> bool:
    """Whether a function looks at no mask, and gives a masked array in which nothing is masked."""
    return function in _LEAVE_MASKS


constant(domain_of, fill_of, default_fill, of_numbers, leaves_masks)
