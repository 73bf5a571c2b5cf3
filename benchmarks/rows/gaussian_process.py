"""The likelihood of a Gaussian process, by a Cholesky factor and two triangular systems."""

import numpy as np

from benchmarks.row import AUTOGRAD, Row, as_it_stands


def gaussian_process(theta, x, y):
    """The negative logarithm of the likelihood of observations y at points x, but for a constant.

    `theta`: an inverse squared length for each coordinate, then the variance of the signal.
    """
    d = ((x[:, None, :] - x[None, :, :]) ** 2 * theta[:3]).sum(axis=-1)
    K = theta[3] * np.exp(-d) + 0.1 * np.eye(len(y))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * np.dot(y, alpha) + np.sum(np.log(np.diag(L)))


def arguments(n):
    """Random points in a cube."""
    rng = np.random.default_rng(0)
    return np.array([1.0, 2.0, 3.0, 1.0]), rng.random((n, 3)), rng.normal(size=n)


def by_hand(njit):
    """With the inverse, K_bar = (inv(K) - alpha alpha') / 2: C. E. Rasmussen, C. K. I. Williams, eq. (5.9)."""

    @njit
    def covariance(theta, x):
        n = x.shape[0]
        K = np.empty((n, n))
        for i in range(n):
            for j in range(i + 1):
                d = 0.0
                for k in range(3):
                    d += theta[k] * (x[i, k] - x[j, k]) ** 2
                K[i, j] = K[j, i] = theta[3] * np.exp(-d)
            K[i, i] += 0.1
        return K

    @njit
    def substituted(L, y):
        n = y.shape[0]
        b = y.copy()
        for i in range(n):
            for j in range(i):
                b[i] -= L[i, j] * b[j]
            b[i] /= L[i, i]
        for i in range(n - 1, -1, -1):
            b[i] /= L[i, i]
            for j in range(i):
                b[j] -= L[i, j] * b[i]
        return b

    @njit
    def value_of(L, y, alpha):
        total = 0.5 * np.dot(y, alpha)
        for i in range(y.shape[0]):
            total += np.log(L[i, i])
        return total

    @njit
    def primal(theta, x, y):
        L = np.linalg.cholesky(covariance(theta, x))
        return value_of(L, y, substituted(L, y))

    @njit
    def gradient(theta, x, y):
        K = covariance(theta, x)
        L = np.linalg.cholesky(K)
        alpha = substituted(L, y)
        inverse = np.linalg.inv(K)
        bar = np.zeros(4)
        for i in range(x.shape[0]):
            for j in range(x.shape[0]):
                share = 0.5 * (inverse[i, j] - alpha[i] * alpha[j]) * (K[i, j] if i != j else theta[3])
                bar[3] += share / theta[3]
                for k in range(3):
                    bar[k] -= share * (x[i, k] - x[j, k]) ** 2
        return value_of(L, y, alpha), (bar,)

    return primal, gradient


def in_jax():
    """JAX has a function for triangular systems, which saves their factorisation."""
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    def program(theta, x, y):
        d = ((x[:, None, :] - x[None, :, :]) ** 2 * theta[:3]).sum(axis=-1)
        L = jnp.linalg.cholesky(theta[3] * jnp.exp(-d) + 0.1 * jnp.eye(len(y)))
        alpha = solve_triangular(L, solve_triangular(L, y, lower=True), lower=True, trans=1)
        return 0.5 * jnp.dot(y, alpha) + jnp.sum(jnp.log(jnp.diag(L)))

    return program


ROW = Row(
    title="Gaussian process",
    program=gaussian_process,
    arguments=arguments,
    quick={"n": 6},
    full={"n": 500},
    argnums=(0,),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=as_it_stands(AUTOGRAD, gaussian_process),
)
