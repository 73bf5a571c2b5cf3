"""A list that one of several branches appends to, under conditions on numbers alone."""

import numpy as np

INPUTS = {"x": (5,), "y": (4, 2), "n": 4, "k": 4, "order": "C"}


def f(x, y, a, b, n, k):
    items = [np.sqrt(1.0 + x[n] ** 2)]
    s = 0.9 * a + 0.3 * b
    if y[k - 1, 0] > y[k - 1, 1] + 9.0:
        pass
    elif b >= 7.0:
        pass
    elif 0.1 * n >= 0.6:
        s = s / (1.0 + y[0, 1] ** 2)
    else:
        items.append(b * x[0])
    return s + np.sum(np.array(items) ** 2)
