"""The right-hand side of a tuple assignment holds views, so the second write reads what the first has written."""

import numpy as np

INPUTS = {"x": (6,), "y": (3, 4), "n": 2, "k": 1, "order": "C"}


def f(x, y, a, b, n, k):
    for t in range(n):
        x[:3], x[2:5] = x[2:5] * a, x[:3]
        x[0:4], x[2:6] = x[2:6], x[0:4]
        y[[0, 2]] = y[[2, 0]]
        y[0], y[1] = y[1], y[0]
        x[-1] *= b
    return np.sum(x * np.cos(np.arange(6))) + np.sum(y ** 2 * np.sin(np.arange(12)).reshape(y.shape))
