"""With repeated indices the last writer wins, `+=` counts once, and `np.add.at` counts each."""

import numpy as np

INPUTS = {"x": (5,), "y": (4, 3), "n": 3, "k": 2, "order": "F"}


def f(x, y, a, b, n, k):
    idx = np.array([1, 3, 1, -2])
    x[idx] = a * y[:, 0] * x[idx][::-1]
    x[idx] += b * y[:, 1]
    np.add.at(x, idx, np.sin(y[:, 2]))
    y[idx[:2]] *= x[0]
    mask = x > 0.1
    x[mask] = np.sin(x[mask] * a) + b
    return np.sum(x * np.cos(np.arange(5))) + np.sum(y * np.sin(np.arange(12)).reshape(y.shape))
