"""Two buffers change names in a loop, one of them chosen by a branch, while a view of the first is kept."""

import numpy as np

INPUTS = {"x": (5,), "y": (2, 3), "n": 4, "k": 3, "order": "strided"}


def f(x, y, a, b, n, k):
    u = x
    v = np.zeros_like(x)
    first = x[1:]
    for t in range(n):
        for i in range(1, u.size - 1):
            v[i] = a * u[i - 1] + b * np.sin(u[i]) * u[i + 1]
        if t == k:
            break
        if t % 3 != 1:
            u, v = v, u
        w = u if t > 1 else v[::-1]
        w[0] += first[t] * y[0, t % 3]
        first *= 0.9
    return np.sum(u * np.cos(np.arange(5))) + np.sum(v * v) + first[0] * first[-1]
