"""Two names of one memory, swapped in a loop, none of which matters for the result: there is no shadow to ask for."""

import numpy as np

INPUTS = {"x": (5,), "y": (2, 2), "n": 3, "k": 3, "order": "C"}


def f(x, y, a, b, n, k):
    u = y[k % 2, :]
    v = u[:]
    for i in range(0, v.size, 2):
        v, u = u, v
        u[i] /= 1.5
    return np.sum(x * x) * a
