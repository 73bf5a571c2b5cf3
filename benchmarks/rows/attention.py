"""One head of attention."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def attention(Wq, Wk, Wv, x, target):
    """The squared distance of the mixed values from a target."""
    queries = x @ Wq
    keys = x @ Wk
    values = x @ Wv
    scores = queries @ keys.T / np.sqrt(queries.shape[1])
    scores = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    mixed = scores / np.sum(scores, axis=1, keepdims=True) @ values
    return np.sum((mixed - target) ** 2)


def arguments(length, width, head):
    """Random weights and tokens."""
    rng = np.random.default_rng(0)
    weights = (rng.normal(size=(width, head)) / np.sqrt(width) for _ in range(3))
    return *weights, rng.normal(size=(length, width)), rng.normal(size=(length, head))


def by_hand(njit):
    """The shares are kept; every product goes to BLAS."""

    @njit
    def forward(Wq, Wk, Wv, x):
        queries, keys, values = np.dot(x, Wq), np.dot(x, Wk), np.dot(x, Wv)
        scale = 1.0 / np.sqrt(queries.shape[1])
        shares = np.dot(queries, keys.T)
        for i in range(shares.shape[0]):
            top = -np.inf
            for j in range(shares.shape[1]):
                top = max(top, shares[i, j])
            total = 0.0
            for j in range(shares.shape[1]):
                shares[i, j] = np.exp((shares[i, j] - top) * scale)
                total += shares[i, j]
            inverse = 1.0 / total
            for j in range(shares.shape[1]):
                shares[i, j] *= inverse
        return queries, keys, values, shares, scale

    @njit
    def primal(Wq, Wk, Wv, x, target):
        _, _, values, shares, _ = forward(Wq, Wk, Wv, x)
        gap = np.dot(shares, values) - target
        return np.sum(gap * gap)

    @njit
    def gradient(Wq, Wk, Wv, x, target):
        queries, keys, values, shares, scale = forward(Wq, Wk, Wv, x)
        gap = np.dot(shares, values) - target
        value = np.sum(gap * gap)
        gap *= 2.0
        values_bar = np.dot(shares.T, gap)
        bar = np.dot(gap, values.T)
        for i in range(shares.shape[0]):
            inner = 0.0
            for j in range(shares.shape[1]):
                inner += bar[i, j] * shares[i, j]
            for j in range(shares.shape[1]):
                bar[i, j] = (bar[i, j] - inner) * shares[i, j] * scale
        Wq_bar = np.dot(x.T, np.dot(bar, keys))
        Wk_bar = np.dot(x.T, np.dot(bar.T, queries))
        return value, (Wq_bar, Wk_bar, np.dot(x.T, values_bar))

    return primal, gradient


ROW = Row(
    title="attention",
    program=attention,
    arguments=arguments,
    quick={"length": 5, "width": 4, "head": 3},
    full={"length": 256, "width": 128, "head": 64},
    argnums=(0, 1, 2),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, attention),
    in_autograd=as_it_stands(AUTOGRAD, attention),
)
