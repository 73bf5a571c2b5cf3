"""Helpers return views of what they were given, or one of two, and write into them; a list holds more aliases."""

import numpy as np

INPUTS = {"x": (5,), "y": (3, 5), "n": 3, "k": 2, "order": "reversed"}


def scaled(v, t):
    v *= 0.5 + 0.1 * t
    return v


def either(v, w, c):
    if c % 2 == 0:
        v[0] += w[-1]
        return v
    return w[::-1]


def f(x, y, a, b, n, k):
    items = [x]
    for i in range(n):
        u = either(items[-1], y[i % 3], i + k)
        u[i] = np.sin(u[i]) * a
        items.append(scaled(u, b))
        x[i + 1] += items[0][i] * items[-1][-1]
    total = 0.0
    for position, item in enumerate(items):
        total += (position + 1) * item[0] * item[-1]
    return total + np.sum(x * np.cos(np.arange(5))) + np.sum(y ** 2)
