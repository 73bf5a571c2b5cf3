"""LU factorisation in place, without pivoting."""

import numpy as np

from benchmarks.row import Row


def lu(A, W):
    """A weighted sum of the entries of both factors."""
    A = A.copy()
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return np.sum(W * A)


def arguments(n):
    """A matrix that needs no pivoting, and the weights."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n, n))


def by_hand(njit):
    """Row k and column k are final after step k: the factors themselves are all that the way back needs."""

    @njit
    def factored(A):
        A = A.copy()
        n = A.shape[0]
        for k in range(n):
            for i in range(k + 1, n):
                A[i, k] /= A[k, k]
                a = A[i, k]
                for j in range(k + 1, n):
                    A[i, j] -= a * A[k, j]
        return A

    @njit
    def primal(A, W):
        return np.sum(W * factored(A))

    @njit
    def gradient(A, W):
        A = factored(A)
        bar = W.copy()
        n = A.shape[0]
        for k in range(n - 1, -1, -1):
            pivot = A[k, k]
            pivot_bar = 0.0
            for i in range(n - 1, k, -1):
                a = A[i, k]
                a_bar = bar[i, k]
                for j in range(k + 1, n):
                    a_bar -= bar[i, j] * A[k, j]
                    bar[k, j] -= a * bar[i, j]
                a_bar /= pivot
                pivot_bar -= a_bar * a
                bar[i, k] = a_bar
            bar[k, k] += pivot_bar
        return np.sum(W * A), (bar,)

    return primal, gradient


def in_jax():
    """Rank-one updates under masks, one for each step of a scan."""
    import jax.numpy as jnp
    from jax import lax

    def program(A, W):
        index = jnp.arange(A.shape[0])

        def step(A, k):
            later = index > k
            column = jnp.where(later, A[:, k] / A[k, k], 0.0)
            row = jnp.where(later, A[k], 0.0)
            A = A.at[:, k].set(jnp.where(later, column, A[:, k]))
            return A - jnp.outer(column, row), None

        return jnp.sum(W * lax.scan(step, A, index)[0])

    return program


ROW = Row(
    title="LU, in place",
    program=lu,
    arguments=arguments,
    quick={"n": 8},
    full={"n": 200},
    argnums=(0,),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd="refuses writes into arrays",
)
