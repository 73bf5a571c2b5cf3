"""Designs of filters and windows: functions of constants, which SciPy computes while a program is specialised."""

# SciPy's stubs lack this module.
# pyright: basic

from __future__ import annotations

import numpy as np
import scipy.signal

from diffjit.primitives.registry import constant, present

constant(
    *present(
        scipy.signal, "bessel", "butter", "buttord", "cheb1ord", "cheb2ord", "cheby1", "cheby2", "ellip", "ellipord",
        "firls", "firwin", "firwin2", "get_window", "iircomb", "iirdesign", "iirfilter", "iirnotch", "iirpeak",
        "kaiser_atten", "kaiser_beta", "kaiserord", "remez", "savgol_coeffs", "tf2sos", "zpk2sos",
    ),
    *present(
        scipy.signal.windows, "barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "chebwin",
        "cosine", "dpss", "exponential", "flattop", "gaussian", "general_cosine", "general_gaussian",
        "general_hamming", "hamming", "hann", "kaiser", "kaiser_bessel_derived", "lanczos", "nuttall", "parzen",
        "taylor", "triang", "tukey",
    ),
)  # fmt: skip


def edge_weights(length: int, order: int, deriv: int, delta: float) -> np.ndarray:
    """Weights that give what a polynomial through the first `length` points is at each of the first half of them."""
    rows = [
        scipy.signal.savgol_coeffs(length, order, deriv=deriv, delta=delta, pos=k, use="dot")
        for k in range(length // 2)
    ]
    return np.reshape(np.array(rows, dtype=float), (length // 2, length))


constant(edge_weights)
