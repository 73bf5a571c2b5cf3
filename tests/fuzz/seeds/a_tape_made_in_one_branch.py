"""A tape is made after an early return, and carried out of that branch: at second order its shadow is, too."""

import numpy as np

INPUTS = {"x": (5,), "y": (3, 4), "n": 2, "k": 3, "order": "C"}


def f(x, y, a, b, n, k):
    if n % 2 == 1:
        return a * y[1, n]
    for row in y:
        idx = np.arange(1)
        y[idx] *= y[2:, :] * b
    return np.sum(y ** 3)
