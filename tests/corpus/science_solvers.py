"""Roots, linear systems, factorisations and eigenvalues, by the loops of a numerical analysis course."""

import math

import numpy as np

from .registry import program, rng


def spd(seed, n):
    a = rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def newton_scalar_jax(a, b, x0):
    import jax.numpy as jnp

    x = x0
    for _ in range(25):
        x = x - (jnp.exp(a * x) - b - x) / (a * jnp.exp(a * x) - 1)
    return x


@program(args=lambda: (1.4, 3.0, 1.2), wrt=("a", "b"), jax=newton_scalar_jax, tags=("solver", "while", "math"))
def newton_scalar(a, b, x0, tol=1e-14, maxiter=50):
    """Root of exp(a x) = b + x."""
    x = x0
    for _ in range(maxiter):
        f = math.exp(a * x) - b - x
        df = a * math.exp(a * x) - 1
        step = f / df
        x -= step
        if abs(step) < tol and _ > 5:
            break
    else:
        raise RuntimeError("Newton's method did not converge")
    return x


def newton_system_jax(p, x):
    import jax.numpy as jnp

    for _ in range(12):
        f = jnp.stack([x[0] ** 2 + p[0] * x[1] - p[1], jnp.sin(x[0]) + x[1] ** 3 - p[2]])
        j = jnp.stack([jnp.stack([2 * x[0], p[0]]), jnp.stack([jnp.cos(x[0]), 3 * x[1] ** 2])])
        x = x - jnp.linalg.solve(j, f)
    return x


@program(
    args=lambda: (np.array([0.7, 2.0, 1.5]), np.array([1.0, 1.0])),
    wrt=("p",),
    jax=newton_system_jax,
    tags=("solver", "linalg", "array-result"),
)
def newton_system(p, x):
    """A 2x2 system with its Jacobian inverted by hand."""
    for _ in range(12):
        f1 = x[0] ** 2 + p[0] * x[1] - p[1]
        f2 = np.sin(x[0]) + x[1] ** 3 - p[2]
        a, b, c, d = 2 * x[0], p[0], np.cos(x[0]), 3 * x[1] ** 2
        det = a * d - b * c
        x = x - np.array([d * f1 - b * f2, a * f2 - c * f1]) / det
    return x


def bisection_polished_jax(k, load):
    import jax.numpy as jnp

    x = 0.5 * jnp.ones(())
    for _ in range(30):
        x = x - (x * jnp.tan(x) * k - load) / (k * (jnp.tan(x) + x / jnp.cos(x) ** 2))
    return x


@program(
    args=lambda: (1.2, 0.8), wrt=("k", "load"), jax=bisection_polished_jax, tags=("solver", "while", "branches", "root")
)
def bisection_polished(k, load):
    """Bisection to find the root, two Newton steps to make it smooth in the parameters."""

    def f(x):
        return k * x * np.tan(x) - load

    lo, hi = 0.01, 1.5
    while hi - lo > 1e-9:
        mid = 0.5 * (lo + hi)
        if f(lo) * f(mid) <= 0:
            hi = mid
        else:
            lo = mid
    x = 0.5 * (lo + hi)
    for _ in range(2):
        x = x - f(x) / (k * (np.tan(x) + x / np.cos(x) ** 2))
    return x


@program(args=lambda: (0.13, 1.9, 0.4), wrt=("lo", "hi"), tags=("solver", "branches", "tuple-result"))
def bisection_bracket(lo, hi, shift):
    """Six bisections; the ends of the bracket depend on where it began."""
    sign_lo = math.cos(lo) - lo - shift > 0
    for _ in range(6):
        mid = (lo + hi) / 2
        if (math.cos(mid) - mid - shift > 0) == sign_lo:
            lo = mid
        else:
            hi = mid
    return lo, hi


def secant_jax(c, x0, x1):
    import jax
    import jax.numpy as jnp

    def f(x):
        return x**3 - c * x - 1 + 0.1 * jnp.sin(c * x)

    def body(s):
        x0, x1, f0, f1, n = s
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        return x1, x2, f1, f(x2), n + 1

    start = (jnp.asarray(x0), jnp.asarray(x1), f(x0), f(x1), 0)
    return jax.lax.while_loop(lambda s: (jnp.abs(s[3]) > 1e-13) & (s[4] < 40), body, start)[1]


@program(args=lambda: (1.7, 1.0, 2.0), wrt=("c",), jax=secant_jax, tags=("solver", "while", "swap"))
def secant(c, x0, x1):
    f = lambda x: x**3 - c * x - 1 + 0.1 * np.sin(c * x)  # noqa: E731
    f0, f1 = f(x0), f(x1)
    n = 0
    while abs(f1) > 1e-13 and n < 40:
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        x0, x1 = x1, x2
        f0, f1 = f1, f(x1)
        n += 1
    return x1


def kepler_equation_jax(mean_anomaly, e):
    import jax.numpy as jnp

    big_e = mean_anomaly
    for _ in range(12):
        big_e = big_e - (big_e - e * jnp.sin(big_e) - mean_anomaly) / (1 - e * jnp.cos(big_e))
    nu = 2 * jnp.arctan2(jnp.sqrt(1 + e) * jnp.sin(big_e / 2), jnp.sqrt(1 - e) * jnp.cos(big_e / 2))
    return nu, 1 - e * jnp.cos(big_e)


@program(
    args=lambda: (np.array([0.3, 1.2, 2.2, 2.9]), 0.35),
    wrt=("mean_anomaly", "e"),
    jax=kepler_equation_jax,
    tags=("astronomy", "while", "vectorised", "tuple-result"),
)
def kepler_equation(mean_anomaly, e):
    """True anomaly and radius for many mean anomalies at once."""
    big_e = mean_anomaly.copy()
    delta = np.ones_like(big_e)
    iteration = 0
    while np.any(np.abs(delta) > 1e-13) and iteration < 30:
        delta = (big_e - e * np.sin(big_e) - mean_anomaly) / (1 - e * np.cos(big_e))
        big_e -= delta
        iteration += 1
    nu = 2 * np.arctan2(np.sqrt(1 + e) * np.sin(big_e / 2), np.sqrt(1 - e) * np.cos(big_e / 2))
    return nu, 1 - e * np.cos(big_e)


def conjugate_gradient_jax(a, b):
    import jax.numpy as jnp

    return jnp.linalg.solve(0.5 * (a + a.T), b)


@program(
    args=lambda: (spd(1, 5), rng(2).normal(size=5)),
    wrt=("a", "b"),
    jax=conjugate_gradient_jax,
    tags=("solver", "while", "converged", "array-result"),
)
def conjugate_gradient(a, b, tol=1e-13):
    """Conjugate gradients; run to convergence the result is the solution itself."""
    a = 0.5 * (a + a.T)
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    k = 0
    while np.sqrt(rs) > tol and k < 5 * len(b):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        rs_new = r @ r
        p = r + (rs_new / rs) * p
        rs = rs_new
        k += 1
    return x


def gmres_small_jax(a, b):
    import jax.numpy as jnp

    return jnp.linalg.norm(jnp.linalg.solve(a, b))


@program(
    args=lambda: (rng(3).normal(size=(4, 4)) + 4 * np.eye(4), rng(4).normal(size=4)),
    wrt=("a", "b"),
    jax=gmres_small_jax,
    tags=("solver", "givens", "in-place"),
)
def gmres_small(a, b):
    """Full GMRES: Arnoldi, then Givens rotations on the Hessenberg matrix."""
    n = len(b)
    q = np.zeros((n, n + 1))
    h = np.zeros((n + 1, n))
    g = np.zeros(n + 1)
    g[0] = np.linalg.norm(b)
    q[:, 0] = b / g[0]
    cs, sn = np.zeros(n), np.zeros(n)
    for k in range(n):
        v = a @ q[:, k]
        for j in range(k + 1):
            h[j, k] = q[:, j] @ v
            v = v - h[j, k] * q[:, j]
        if k < n - 1:
            h[k + 1, k] = np.linalg.norm(v)
            q[:, k + 1] = v / h[k + 1, k]
        for j in range(k):
            h[j, k], h[j + 1, k] = cs[j] * h[j, k] + sn[j] * h[j + 1, k], -sn[j] * h[j, k] + cs[j] * h[j + 1, k]
        rho = np.hypot(h[k, k], h[k + 1, k])
        cs[k], sn[k] = h[k, k] / rho, h[k + 1, k] / rho
        h[k, k] = rho
        h[k + 1, k] = 0.0
        g[k + 1] = -sn[k] * g[k]
        g[k] *= cs[k]
    y = np.zeros(n)
    for i in range(n - 1, -1, -1):
        y[i] = (g[i] - h[i, i + 1 :] @ y[i + 1 :]) / h[i, i]
    return np.linalg.norm(q[:, :n] @ y)


def power_iteration_jax(a, v, n):
    import jax.numpy as jnp

    for _ in range(n):
        w = a @ v
        v = w / jnp.sqrt(jnp.sum(w**2))
    return v @ a @ v, v


@program(
    args=lambda: (spd(5, 4), np.array([1.0, 0.5, -0.5, 0.2]), 30),
    wrt=("a", "v"),
    jax=power_iteration_jax,
    tags=("eigen", "tuple-result"),
)
def power_iteration(a, v, n):
    for _ in range(n):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v, v


def jacobi_eigenvalues_jax(a):
    import jax.numpy as jnp

    return jnp.sum(jnp.linalg.eigvalsh(0.5 * (a + a.T)) ** 3 / 100)


@program(
    args=lambda: (spd(6, 4),), wrt=("a",), jax=jacobi_eigenvalues_jax, tags=("eigen", "while", "rotations", "in-place")
)
def jacobi_eigenvalues(a):
    """Cyclic Jacobi rotations; a symmetric function of the eigenvalues."""
    a = 0.5 * (a + a.T)
    n = a.shape[0]
    for _sweep in range(12):
        off = 0.0
        for p in range(n):
            for q in range(p + 1, n):
                off += a[p, q] ** 2
        if off < 1e-26:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) < 1e-18:
                    continue
                theta = 0.5 * np.arctan2(2 * a[p, q], a[q, q] - a[p, p])
                c, s = np.cos(theta), np.sin(theta)
                row_p = a[p].copy()
                a[p] = c * row_p - s * a[q]
                a[q] = s * row_p + c * a[q]
                col_p = a[:, p].copy()
                a[:, p] = c * col_p - s * a[:, q]
                a[:, q] = s * col_p + c * a[:, q]
    total = 0.0
    for i in range(n):
        total += a[i, i] ** 3 / 100
    return total


def jacobi_iteration_jax(a, b, sweeps):
    import jax.numpy as jnp

    d = jnp.diag(a)
    x = jnp.zeros_like(b)
    for _ in range(sweeps):
        x = (b - (a @ x - d * x)) / d
    return x


@program(
    args=lambda: (rng(7).uniform(-1, 1, (4, 4)) + 5 * np.eye(4), rng(8).normal(size=4), 9),
    wrt=("a", "b"),
    jax=jacobi_iteration_jax,
    tags=("solver", "loops", "array-result"),
)
def jacobi_iteration(a, b, sweeps):
    n = len(b)
    x = np.zeros(n)
    for _ in range(sweeps):
        x_new = np.zeros(n)
        for i in range(n):
            s = 0
            for j in range(n):
                if j != i:
                    s += a[i, j] * x[j]
            x_new[i] = (b[i] - s) / a[i, i]
        x = x_new
    return x


def least_squares_jax(a, b):
    import jax.numpy as jnp

    return jnp.linalg.solve(a.T @ a, a.T @ b)


@program(
    args=lambda: (rng(9).normal(size=(5, 3)), rng(10).normal(size=5)),
    wrt=("a", "b"),
    jax=least_squares_jax,
    tags=("factorisation", "in-place", "views", "array-result"),
)
def householder_least_squares(a, b):
    """Least squares by Householder reflections, in place on copies."""
    r, y = a.copy(), b.copy()
    m, n = r.shape
    for k in range(n):
        x = r[k:, k].copy()
        alpha = -np.sqrt(x @ x) if x[0] > 0 else np.sqrt(x @ x)
        x[0] -= alpha
        x /= np.sqrt(x @ x)
        r[k:, k:] -= 2 * np.outer(x, x @ r[k:, k:])
        y[k:] -= 2 * x * (x @ y[k:])
    coef = np.empty(n)
    for i in reversed(range(n)):
        coef[i] = (y[i] - np.dot(r[i, i + 1 : n], coef[i + 1 :])) / r[i, i]
    return coef


@program(
    args=lambda: (rng(11).normal(size=(4, 3)), rng(12).normal(size=4)),
    wrt=("a", "b"),
    jax=least_squares_jax,
    tags=("factorisation", "columns", "array-result"),
)
def gram_schmidt_least_squares(a, b):
    """Modified Gram-Schmidt, columns of q and r filled one by one."""
    m, n = a.shape
    q = np.array(a)
    r = np.zeros((n, n))
    for j in range(n):
        r[j, j] = np.linalg.norm(q[:, j])
        q[:, j] /= r[j, j]
        for k in range(j + 1, n):
            r[j, k] = q[:, j] @ q[:, k]
            q[:, k] -= r[j, k] * q[:, j]
    return np.linalg.solve(r, q.T @ b)


@program(
    args=lambda: (rng(13).normal(size=(4, 3)), rng(14).normal(size=4)),
    wrt=("a", "b"),
    jax=least_squares_jax,
    tags=("factorisation", "givens", "mutates-argument", "array-result"),
)
def givens_least_squares(a, b):
    m, n = a.shape
    for j in range(n):
        for i in range(m - 1, j, -1):
            h = math.hypot(a[i - 1, j], a[i, j])
            c, s = a[i - 1, j] / h, a[i, j] / h
            g = np.array([[c, s], [-s, c]])
            a[i - 1 : i + 1, j:] = g @ a[i - 1 : i + 1, j:]
            b[i - 1], b[i] = c * b[i - 1] + s * b[i], -s * b[i - 1] + c * b[i]
    x = np.zeros(n)
    x[n - 1] = b[n - 1] / a[n - 1, n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (b[i] - np.sum(a[i, i + 1 : n] * x[i + 1 : n])) / a[i, i]
    return x


def lu_solve_jax(a, b):
    import jax.numpy as jnp

    return jnp.linalg.solve(a, b), jnp.log(jnp.abs(jnp.linalg.det(a)))


@program(
    args=lambda: (rng(15).normal(size=(4, 4)), rng(16).normal(size=4)),
    wrt=("a", "b"),
    jax=lu_solve_jax,
    tags=("factorisation", "pivoting", "row-swap", "in-place", "tuple-result"),
)
def lu_pivoting(a, b):
    """LU decomposition in place with partial pivoting; solution and log |det|."""
    lu = a.copy()
    n = len(lu)
    perm = list(range(n))
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(lu[i, k]) > abs(lu[p, k]):
                p = i
        if p != k:
            lu[[k, p]] = lu[[p, k]]
            perm[k], perm[p] = perm[p], perm[k]
        for i in range(k + 1, n):
            lu[i, k] /= lu[k, k]
            for j in range(k + 1, n):
                lu[i, j] -= lu[i, k] * lu[k, j]
    x = b[np.array(perm)]
    for i in range(n):
        x[i] -= lu[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - lu[i, i + 1 :] @ x[i + 1 :]) / lu[i, i]
    logdet = 0.0
    for i in range(n):
        logdet += np.log(abs(lu[i, i]))
    return x, logdet


def gauss_jordan_jax(aug):
    import jax.numpy as jnp

    return jnp.linalg.solve(aug[:, :3], aug[:, 3])


@program(
    args=lambda: (rng(17).normal(size=(3, 4)) + np.eye(3, 4),),
    wrt=("aug",),
    jax=gauss_jordan_jax,
    tags=("factorisation", "pivoting", "argmax", "array-result"),
)
def gauss_jordan(aug):
    """Gauss-Jordan elimination on the augmented matrix, rows swapped through a temporary."""
    aug = aug.copy()
    n = aug.shape[0]
    for k in range(n):
        p = k + np.argmax(np.abs(aug[k:, k]))
        if p != k:
            tmp = aug[k].copy()
            aug[k] = aug[p]
            aug[p] = tmp
        aug[k] /= aug[k, k]
        for i in range(n):
            if i == k:
                continue
            aug[i] -= aug[i, k] * aug[k]
    return aug[:, -1]


def cholesky_loops_jax(a, b):
    import jax.numpy as jnp

    a = jnp.tril(a) + jnp.tril(a, -1).T
    return b @ jnp.linalg.solve(a, b) + jnp.linalg.slogdet(a)[1]


@program(
    args=lambda: (spd(18, 4), rng(19).normal(size=4)),
    wrt=("a", "b"),
    jax=cholesky_loops_jax,
    tags=("factorisation", "in-place", "nest"),
)
def cholesky_loops(a, b):
    """b' A^-1 b + log det A, from the lower triangle only, by the Cholesky-Banachiewicz loops."""
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(j):
                s += low[i, k] * low[j, k]
            if i == j:
                low[i, j] = np.sqrt(a[i, i] - s)
            else:
                low[i, j] = (a[i, j] - s) / low[j, j]
    z = np.zeros(n)
    for i in range(n):
        z[i] = (b[i] - np.dot(low[i, :i], z[:i])) / low[i, i]
    return np.dot(z, z) + 2 * sum([math.log(low[i, i]) for i in range(n)])


def cyclic_tridiagonal_jax(lower, diag, upper, rhs):
    import jax.numpy as jnp

    n = diag.shape[0]
    a = jnp.zeros((n, n))
    for i in range(n):
        a = a.at[i, i].add(diag[i]).at[i, (i - 1) % n].add(lower[i]).at[i, (i + 1) % n].add(upper[i])
    return jnp.linalg.solve(a, rhs)


@program(
    args=lambda: (
        rng(20).uniform(-1, 0, 6),
        rng(21).uniform(3, 4, 6),
        rng(22).uniform(-1, 0, 6),
        rng(23).normal(size=6),
    ),
    wrt=("lower", "diag", "upper", "rhs"),
    jax=cyclic_tridiagonal_jax,
    tags=("solver", "helper", "array-result"),
)
def cyclic_tridiagonal(lower, diag, upper, rhs):
    """Periodic tridiagonal system by Sherman-Morrison around the Thomas algorithm."""

    def tridiagonal(a, b, c, d):
        n = len(d)
        cp, dp = np.empty(n), np.empty(n)
        cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
        for i in range(1, n):
            m = b[i] - a[i] * cp[i - 1]
            cp[i] = c[i] / m
            dp[i] = (d[i] - a[i] * dp[i - 1]) / m
        x = dp
        for i in range(n - 2, -1, -1):
            x[i] -= cp[i] * x[i + 1]
        return x

    gamma = -diag[0]
    b = diag.copy()
    b[0] -= gamma
    b[-1] -= upper[-1] * lower[0] / gamma
    u = np.zeros_like(diag)
    u[0], u[-1] = gamma, upper[-1]
    y = tridiagonal(lower, b, upper, rhs)
    q = tridiagonal(lower, b, upper, u)
    v = lower[0] / gamma
    factor = (y[0] + v * y[-1]) / (1 + q[0] + v * q[-1])
    return y - factor * q


def broyden_jax(target, x):
    import jax
    import jax.numpy as jnp

    def residual(x):
        return jnp.stack([3 * x[0] + jnp.sin(x[1]) - target[0], 2.5 * x[1] + 0.3 * x[0] ** 2 - target[1]])

    for _ in range(10):
        x = x - jnp.linalg.solve(jax.jacfwd(residual)(x), residual(x))
    return x


@program(
    args=lambda: (np.array([1.0, 0.6]), np.array([0.3, 0.2])),
    wrt=("target",),
    jax=broyden_jax,
    tags=("solver", "while", "array-result", "rough"),
)
def broyden(target, x):
    """Broyden's method with an inverse Jacobian updated by rank one."""

    def residual(x):
        return np.array([3 * x[0] + np.sin(x[1]), 2.5 * x[1] + 0.3 * x[0] ** 2]) - target

    inverse = np.diag([1 / 3, 1 / 2.5])
    f = residual(x)
    count = 0
    while np.linalg.norm(f) > 1e-13:
        dx = -inverse @ f
        x = x + dx
        f_new = residual(x)
        df = f_new - f
        f = f_new
        u = inverse @ df
        inverse += np.outer(dx - u, dx @ inverse) / (dx @ u)
        count += 1
        if count == 30:
            break
    return x


def richardson_romberg_jax(a, b):
    import jax
    import jax.numpy as jnp

    def f(x):
        return jnp.exp(-a * x**2) * jnp.cos(b * x)

    r = [[0.5 * (f(0.0) + f(1.0))]]
    for k in range(1, 5):
        h = 1 / 2**k
        xs = (2 * jnp.arange(2 ** (k - 1)) + 1) * h
        row = [0.5 * r[-1][0] + h * jnp.sum(jax.vmap(f)(xs))]
        for j in range(1, k + 1):
            row.append(row[-1] + (row[-1] - r[-1][j - 1]) / (4**j - 1))
        r.append(row)
    return r[-1][-1]


@program(
    args=lambda: (0.8, 2.5),
    wrt=("a", "b"),
    jax=richardson_romberg_jax,
    tags=("quadrature", "triangular", "function-arg"),
)
def romberg(a, b):
    def table(f, lo, hi, order):
        r = np.zeros((order, order))
        h = hi - lo
        r[0, 0] = 0.5 * h * (f(lo) + f(hi))
        for k in range(1, order):
            h /= 2
            extra = 0.0
            for i in range(1, 2**k, 2):
                extra += f(lo + i * h)
            r[k, 0] = 0.5 * r[k - 1, 0] + h * extra
            for j in range(1, k + 1):
                r[k, j] = r[k, j - 1] + (r[k, j - 1] - r[k - 1, j - 1]) / (4**j - 1)
        return r

    return table(lambda x: math.exp(-a * x**2) * math.cos(b * x), 0.0, 1.0, 5)[-1, -1]


def adaptive_simpson_jax(width, centre):
    import jax.numpy as jnp

    def f(x):
        return jnp.exp(-(((x - centre) / width) ** 2))

    def go(a, b, depth):
        m = 0.5 * (a + b)
        fa, fm, fb = f(a), f(m), f(b)
        flm, frm = f(0.5 * (a + m)), f(0.5 * (m + b))
        whole = (b - a) / 6 * (fa + 4 * fm + fb)
        halves = (b - a) / 12 * (fa + 4 * flm + 2 * fm + 4 * frm + fb)
        fine = halves + (halves - whole) / 15
        if depth == 0:
            return fine
        accept = jnp.abs(halves - whole) < 1e-4
        return jnp.where(accept, fine, go(a, m, depth - 1) + go(m, b, depth - 1))

    return go(jnp.asarray(0.0), jnp.asarray(1.0), 3)


@program(
    args=lambda: (0.3, 0.6),
    wrt=("width", "centre"),
    jax=adaptive_simpson_jax,
    tags=("quadrature", "recursion", "branches"),
)
def adaptive_simpson(width, centre):
    """Adaptive Simpson quadrature, recursive, with a greatest depth."""

    def f(x):
        return np.exp(-(((x - centre) / width) ** 2))

    def go(a, b, fa, fm, fb, depth):
        m = 0.5 * (a + b)
        flm, frm = f(0.5 * (a + m)), f(0.5 * (m + b))
        whole = (b - a) / 6 * (fa + 4 * fm + fb)
        halves = (b - a) / 12 * (fa + 4 * flm + 2 * fm + 4 * frm + fb)
        if depth == 0 or abs(halves - whole) < 1e-4:
            return halves + (halves - whole) / 15
        return go(a, m, fa, flm, fm, depth - 1) + go(m, b, fm, frm, fb, depth - 1)

    return go(0.0, 1.0, f(0.0), f(0.5), f(1.0), 3)


def backtracking_descent_jax(x, curvature):
    import jax
    import jax.numpy as jnp

    def loss(x):
        return jnp.sum(curvature * x**2) + 0.25 * jnp.sum(x**4)

    for _ in range(5):
        g = 2 * curvature * x + x**3
        g2 = jnp.sum(g * g)
        f0 = loss(x)
        t = jax.lax.while_loop(lambda t: loss(x - t * g) > f0 - 0.3 * t * g2, lambda t: 0.5 * t, 1.0)  # noqa: B023
        x = x - t * g
    return loss(x)


@program(
    args=lambda: (np.array([1.0, -2.0, 0.5]), np.array([0.5, 1.3, 2.1])),
    wrt=("x", "curvature"),
    jax=backtracking_descent_jax,
    tags=("optimisation", "while", "closure"),
)
def backtracking_descent(x, curvature):
    """Gradient descent with Armijo backtracking: the step length is found by a loop of its own."""

    def loss(x):
        return np.sum(curvature * x**2) + 0.25 * np.sum(x**4)

    for _ in range(5):
        g = 2 * curvature * x + x**3
        t = 1.0
        while loss(x - t * g) > loss(x) - 0.3 * t * (g @ g):
            t *= 0.5
        x = x - t * g
    return loss(x)


def newton_schulz_jax(a):
    import jax.numpy as jnp

    return jnp.linalg.inv(a)


@program(
    args=lambda: (spd(30, 3) / 5,),
    wrt=("a",),
    jax=newton_schulz_jax,
    tags=("linalg", "matmul", "converged", "array-result"),
)
def newton_schulz_inverse(a):
    """The inverse by Newton-Schulz iteration."""
    x = a.T / (np.abs(a).sum(axis=0).max() * np.abs(a).sum(axis=1).max())
    eye = np.eye(len(a))
    for _ in range(60):
        correction = eye - a @ x
        x = x + x @ correction
        if _ > 12 and np.linalg.norm(correction) < 1e-14:
            break
    return x
