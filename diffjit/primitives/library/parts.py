"""Complex numbers seen as pairs of floats, and floats as complex numbers: `a.view(dtype)`, as copies.

What `view` shows is the same memory; the frontend refuses programs that write to it later.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic

from __future__ import annotations

import numpy as np


def last_axis(a):
    """The length of the last axis, which has to stand in memory number by number."""
    if a.ndim == 0:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if a.shape[-1] != 1 and a.size != 0 and a.strides[-1] != a.itemsize:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    return a.shape[-1]


def as_floats(z):
    """Real and imaginary parts in turn, along the last axis."""
    n = last_axis(z)
    return np.reshape(np.stack((np.real(z), np.imag(z)), axis=-1), (*z.shape[:-1], 2 * n))


def as_complex(x):
    """Complex numbers of which each has two numbers of the last axis."""
    n = last_axis(x)
    if n % 2 != 0:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis "
            "of the array."
        )
    result = np.empty((*x.shape[:-1], n // 2), np.result_type(x.dtype, np.complex64))
    result.real = x[..., 0::2]
    result.imag = x[..., 1::2]
    return result
