"""`ravel` copies whatever is not contiguous, even where `reshape` would give a view; `flatten` always copies."""

import numpy as np

INPUTS = {"x": (6,), "y": (3, 4), "n": 2, "k": 1, "order": "C"}


def f(x, y, a, b, n, k):
    u = x[::2].ravel()
    u[k] *= b * x[0]
    v = x[::-1].ravel()
    v[0] = a
    w = y[::-1, ::-1].flatten()
    w[n] *= a * w[0]
    q = np.ravel(y.T)
    q[0] *= b
    whole = y.ravel()
    whole[n] *= a
    result = np.sum(x * np.cos(np.arange(6))) + np.sum(y ** 2 * np.sin(np.arange(12)).reshape(y.shape))
    return result + np.sum(u ** 3) + np.sum(v ** 2) + np.sum(w ** 2) + np.sum(q ** 3)
