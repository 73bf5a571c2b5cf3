"""The logarithm of a sum of exponentials, shifted by the largest."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands


def logsumexp(x):
    """Without overflow."""
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def arguments(n):
    """Random numbers."""
    return (np.random.default_rng(0).normal(size=n),)


def by_hand(njit):
    """The exponentials become the gradient."""

    @njit
    def largest(x):
        top = x[0]
        for v in x:
            top = max(top, v)
        return top

    @njit
    def primal(x):
        top = largest(x)
        total = 0.0
        for v in x:
            total += np.exp(v - top)
        return top + np.log(total)

    @njit
    def gradient(x):
        top = largest(x)
        bar = np.empty_like(x)
        total = 0.0
        for i in range(x.size):
            bar[i] = np.exp(x[i] - top)
            total += bar[i]
        inverse = 1.0 / total
        for i in range(x.size):
            bar[i] *= inverse
        return top + np.log(total), (bar,)

    return primal, gradient


ROW = Row(
    title="log-sum-exp",
    program=logsumexp,
    arguments=arguments,
    quick={"n": 20},
    full={"n": 1_000_000},
    argnums=(0,),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, logsumexp),
    in_autograd=as_it_stands(AUTOGRAD, logsumexp),
)
