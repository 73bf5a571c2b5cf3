"""Likelihoods, regressions, mixtures and clustering, as statisticians code them."""

import math
from dataclasses import dataclass

import numpy as np

from .registry import program, rng


def gmm_loglik_jax(x, logits, means, log_sigma):
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp as lse

    logw = logits - lse(logits)
    z = (x[:, None, :] - means[None]) / jnp.exp(log_sigma)[None, :, None]
    dim = x.shape[1]
    lp = logw - 0.5 * jnp.sum(z**2, -1) - dim * log_sigma - 0.5 * dim * jnp.log(2 * jnp.pi)
    return jnp.sum(lse(lp, axis=1))


@program(
    args=lambda: (
        rng(1).normal(size=(7, 2)),
        np.array([0.2, -0.1, 0.5]),
        rng(2).normal(size=(3, 2)),
        np.array([0.1, -0.2, 0.3]),
    ),
    wrt=("x", "logits", "means", "log_sigma"),
    jax=gmm_loglik_jax,
    tags=("statistics", "mixture", "loops", "log-space"),
)
def gmm_loglik(x, logits, means, log_sigma):
    """Log-likelihood of an isotropic Gaussian mixture (as in ADBench)."""
    n, d = x.shape
    k = len(logits)
    main = np.zeros(k)
    total = 0.0
    for i in range(n):
        for j in range(k):
            diff = x[i] - means[j]
            main[j] = logits[j] - d * log_sigma[j] - 0.5 * np.sum((diff / np.exp(log_sigma[j])) ** 2)
        top = main.max()
        total += top + np.log(np.sum(np.exp(main - top)))
    total -= n * np.log(np.sum(np.exp(logits)))
    return total - 0.5 * n * d * math.log(2 * math.pi)


def logistic_regression_jax(w, b, x, y, penalty=0.1):
    import jax.numpy as jnp

    z = x @ w + b
    return jnp.mean(jnp.log1p(jnp.exp(z)) - y * z) + penalty * jnp.sum(w**2)


@program(
    args=lambda: (rng(3).normal(size=4), 0.3, rng(4).normal(size=(9, 4)), rng(5).integers(0, 2, 9)),
    wrt=("w", "b", "x"),
    jax=logistic_regression_jax,
    tags=("statistics", "vectorised", "integer-data", "stable-branch"),
)
def logistic_regression(w, b, x, y, penalty=0.1):
    z = x @ w + b
    loss = np.where(z > 0, z + np.log1p(np.exp(-np.abs(z))), np.log1p(np.exp(-np.abs(z)))) - y * z
    return loss.mean() + penalty * np.dot(w, w)


def gp_loglik_jax(x, y, length, amplitude, noise):
    import jax.numpy as jnp

    k = amplitude**2 * jnp.exp(-0.5 * ((x[:, None] - x[None]) / length) ** 2) + noise**2 * jnp.eye(x.shape[0])
    return -0.5 * y @ jnp.linalg.solve(k, y) - 0.5 * jnp.linalg.slogdet(k)[1]


@program(
    args=lambda: (np.linspace(0, 3, 7), rng(6).normal(size=7), 0.8, 1.2, 0.3),
    wrt=("x", "y", "length", "amplitude", "noise"),
    jax=gp_loglik_jax,
    tags=("statistics", "linalg", "cholesky", "symmetric-fill"),
)
def gp_loglik(x, y, length, amplitude, noise):
    """Marginal likelihood of a Gaussian process; the kernel matrix is filled by symmetry."""
    n = len(x)
    k = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            k[i, j] = k[j, i] = amplitude**2 * np.exp(-0.5 * ((x[i] - x[j]) / length) ** 2)
        k[i, i] += noise**2
    low = np.linalg.cholesky(k)
    alpha = np.linalg.solve(low.T, np.linalg.solve(low, y))
    return -0.5 * y @ alpha - np.log(np.diag(low)).sum()


def gp_predict_jax(x, y, xs, log_params):
    import jax.numpy as jnp

    amp, length, noise = jnp.exp(log_params)

    def kernel(a, b):
        r = jnp.abs(a[:, None] - b[None]) / length
        return amp * (1 + jnp.sqrt(3.0) * r) * jnp.exp(-jnp.sqrt(3.0) * r)

    k = kernel(x, x) + noise * jnp.eye(x.shape[0])
    s = kernel(xs, x)
    return s @ jnp.linalg.solve(k, y), amp - jnp.sum(s * jnp.linalg.solve(k, s.T).T, axis=1)


@program(
    args=lambda: (
        np.array([0.0, 0.7, 1.1, 2.0]),
        rng(7).normal(size=4),
        np.array([0.3, 1.5]),
        np.array([0.2, -0.3, -1.5]),
    ),
    wrt=("y", "xs", "log_params"),
    jax=gp_predict_jax,
    tags=("statistics", "linalg", "inv", "function-arg", "tuple-result"),
)
def gp_predict(x, y, xs, log_params):
    """Mean and variance of predictions with a Matern-3/2 kernel passed to a helper."""
    amp, length, noise = np.exp(log_params)

    def matern(r):
        return amp * (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)

    def gram(kernel, a, b):
        out = np.zeros((len(a), len(b)))
        for i, ai in enumerate(a):
            for j, bj in enumerate(b):
                out[i, j] = kernel(abs(ai - bj) / length)
        return out

    k = gram(matern, x, x)
    k += noise * np.eye(len(x))
    k_inv = np.linalg.inv(k)
    k_star = gram(matern, xs, x)
    mean = k_star @ k_inv @ y
    var = amp - np.diag(k_star @ k_inv @ k_star.T)
    return mean, var


def arma_loglik_jax(y, phi, theta, mu, sigma):
    import jax.numpy as jnp

    e1, prev, total = 0.0, y[0], 0.0
    for t in range(1, y.shape[0]):
        e = y[t] - mu - phi * (prev - mu) - theta * e1
        total = total - jnp.log(sigma) - 0.5 * (e / sigma) ** 2
        e1, prev = e, y[t]
    return total


@program(
    args=lambda: (rng(8).normal(size=15), 0.6, 0.3, 0.1, 0.9),
    wrt=("y", "phi", "theta", "mu", "sigma"),
    jax=arma_loglik_jax,
    tags=("statistics", "time-series", "in-place"),
)
def arma_loglik(y, phi, theta, mu, sigma):
    """Conditional likelihood of an ARMA(1, 1) model, residuals kept in an array."""
    e = np.zeros(y.shape)
    for t in range(1, len(y)):
        e[t] = (y[t] - mu) - phi * (y[t - 1] - mu) - theta * e[t - 1]
    return -(len(y) - 1) * np.log(sigma) - 0.5 * np.sum((e[1:] / sigma) ** 2)


def kernel_density_jax(points, data, bandwidth):
    import jax.numpy as jnp

    z = (points[:, None] - data[None]) / bandwidth
    return jnp.mean(jnp.exp(-0.5 * z**2), axis=1) / (bandwidth * jnp.sqrt(2 * jnp.pi))


@program(
    args=lambda: (np.array([-1.0, 0.1, 0.8]), rng(9).normal(size=10), 0.5),
    wrt=("points", "data", "bandwidth"),
    jax=kernel_density_jax,
    tags=("statistics", "comprehension", "generator", "array-result"),
)
def kernel_density(points, data, bandwidth):
    c = 1 / (len(data) * bandwidth * math.sqrt(2 * math.pi))
    return np.array([c * sum(math.exp(-0.5 * ((p - d) / bandwidth) ** 2) for d in data) for p in points])


def huber_regression_jax(x, y, w, delta, rate, steps):
    import jax.numpy as jnp

    def psi(r):
        return jnp.where(jnp.abs(r) <= delta, r, delta * jnp.sign(r))

    for _ in range(steps):
        w = w - rate * x.T @ psi(x @ w - y) / x.shape[0]
    r = x @ w - y
    return jnp.sum(jnp.where(jnp.abs(r) <= delta, 0.5 * r**2, delta * (jnp.abs(r) - 0.5 * delta)))


@program(
    args=lambda: (rng(10).normal(size=(8, 3)), 3 * rng(11).normal(size=8), np.array([0.1, 0.2, -0.3]), 1.0, 0.2, 6),
    wrt=("x", "y", "w", "delta"),
    jax=huber_regression_jax,
    tags=("statistics", "masks", "optimisation"),
)
def huber_regression(x, y, w, delta, rate, steps):
    """Robust regression by gradient descent; outliers are handled through masks."""
    w = w.copy()
    for _ in range(steps):
        r = x @ w - y
        psi = r.copy()
        psi[r > delta] = delta
        psi[r < -delta] = -delta
        w -= rate * (x.T @ psi) / len(y)
    r = np.abs(x @ w - y)
    inside = r <= delta
    loss = np.zeros_like(r)
    loss[inside] = 0.5 * r[inside] ** 2
    loss[~inside] = delta * (r[~inside] - 0.5 * delta)
    return loss.sum()


def cox_partial_jax(beta, x, times, events):
    import jax.numpy as jnp

    eta = x @ beta
    at_risk = (times[None] >= times[:, None]) * 1.0
    return jnp.sum(events * (eta - jnp.log(at_risk @ jnp.exp(eta))))


@program(
    args=lambda: (
        np.array([0.4, -0.3, 0.2]),
        rng(12).normal(size=(8, 3)),
        np.array([5.0, 2.0, 8.0, 1.0, 9.0, 4.0, 3.0, 7.0]),
        np.array([1, 0, 1, 1, 0, 1, 1, 0], dtype=bool),
    ),
    wrt=("beta", "x"),
    jax=cox_partial_jax,
    tags=("statistics", "survival", "bool-data", "continue"),
)
def cox_partial_likelihood(beta, x, times, events):
    ll = 0.0
    risk = np.exp(x @ beta)
    for i in range(len(times)):
        if not events[i]:
            continue
        denominator = 0.0
        for j in range(len(times)):
            if times[j] >= times[i]:
                denominator += risk[j]
        ll += np.dot(x[i], beta) - np.log(denominator)
    return ll


def weibull_survival_jax(t, censored, shape, scale):
    import jax.numpy as jnp

    z = (t / scale) ** shape
    return jnp.sum(jnp.where(censored, 0.0, jnp.log(shape / scale) + (shape - 1) * jnp.log(t / scale)) - z)


@program(
    args=lambda: (rng(13).uniform(0.5, 3, 8), rng(14).uniform(size=8) > 0.6, 1.4, 1.8),
    wrt=("t", "shape", "scale"),
    jax=weibull_survival_jax,
    tags=("statistics", "survival", "math", "bool-data"),
)
def weibull_survival(t, censored, shape, scale):
    loglik = 0
    for ti, ci in zip(t, censored):
        log_hazard = math.log(shape) - math.log(scale) + (shape - 1) * math.log(ti / scale)
        cumulative = (ti / scale) ** shape
        loglik += -cumulative if ci else log_hazard - cumulative
    return loglik


def em_mixture_jax(x, mu, sigma, pi, steps):
    import jax.numpy as jnp

    for _ in range(steps):
        dens = pi * jnp.exp(-0.5 * ((x[:, None] - mu) / sigma) ** 2) / sigma
        resp = dens / dens.sum(1, keepdims=True)
        nk = resp.sum(0)
        mu = resp.T @ x / nk
        sigma = jnp.sqrt(jnp.sum(resp * (x[:, None] - mu) ** 2, axis=0) / nk)
        pi = nk / x.shape[0]
    return mu, sigma, pi


@program(
    args=lambda: (np.concatenate([rng(15).normal(-1.5, 0.6, 6), rng(16).normal(1.5, 0.8, 6)]),
                  np.array([-1.0, 1.0]), np.array([1.0, 1.0]), np.array([0.5, 0.5]), 4),
    wrt=("x", "mu", "sigma", "pi"),
    jax=em_mixture_jax,
    tags=("statistics", "mixture", "keepdims", "rebinding", "tuple-result"),
)  # fmt: skip
def em_mixture(x, mu, sigma, pi, steps):
    """Expectation maximisation for a one-dimensional mixture."""
    n, k = len(x), len(mu)
    for _ in range(steps):
        resp = np.zeros((n, k))
        for j in range(k):
            resp[:, j] = pi[j] * np.exp(-0.5 * ((x - mu[j]) / sigma[j]) ** 2) / sigma[j]
        resp /= resp.sum(axis=1, keepdims=True)
        nk = resp.sum(axis=0)
        mu = (resp * x[:, None]).sum(axis=0) / nk
        sigma = np.sqrt((resp * (x[:, None] - mu) ** 2).sum(axis=0) / nk)
        pi = nk / n
    return mu, sigma, pi


def kmeans_jax(points, centres, iterations):
    import jax.numpy as jnp

    k = centres.shape[0]
    for _ in range(iterations):
        d = jnp.sum((points[:, None] - centres[None]) ** 2, -1)
        member = (jnp.argmin(d, axis=1)[:, None] == jnp.arange(k)) * 1.0
        centres = member.T @ points / member.sum(0)[:, None]
    return jnp.sum(jnp.min(jnp.sum((points[:, None] - centres[None]) ** 2, -1), axis=1))


@program(
    args=lambda: (np.concatenate([rng(17).normal(size=(6, 2)) - 2, rng(18).normal(size=(6, 2)) + 2]),
                  np.array([[-1.0, -1.0], [1.0, 1.5]]), 3),
    wrt=("points",),
    jax=kmeans_jax,
    tags=("statistics", "argmin", "masks", "integer-array"),
)  # fmt: skip
def kmeans_objective(points, centres, iterations):
    """Lloyd's algorithm; the assignments are constant near the data."""
    n = len(points)
    centres = centres.copy()
    labels = np.zeros(n, dtype=int)
    for _ in range(iterations):
        for i in range(n):
            labels[i] = np.argmin(((points[i] - centres) ** 2).sum(axis=1))
        for k in range(len(centres)):
            centres[k] = points[labels == k].mean(axis=0)
    return np.sum((points - centres[labels]) ** 2)


def mixed_model_jax(y, group, x, beta, log_sigma, log_tau):
    import jax.numpy as jnp

    r = y - x @ beta
    same = (group[:, None] == group[None]) * 1.0
    v = jnp.exp(2 * log_sigma) * jnp.eye(y.shape[0]) + jnp.exp(2 * log_tau) * same
    return -0.5 * (r @ jnp.linalg.solve(v, r) + jnp.linalg.slogdet(v)[1])


@program(
    args=lambda: (
        rng(19).normal(size=9), np.array([0, 0, 1, 1, 1, 2, 2, 2, 2]), rng(20).normal(size=(9, 2)),
        np.array([0.5, -0.2]), -0.1, 0.2,
    ),
    wrt=("y", "x", "beta", "log_sigma", "log_tau"),
    jax=mixed_model_jax,
    tags=("statistics", "scatter-add", "integer-data"),
)  # fmt: skip
def mixed_model(y, group, x, beta, log_sigma, log_tau):
    """Random-intercept model, integrated out group by group (no matrices)."""
    s2, t2 = np.exp(2 * log_sigma), np.exp(2 * log_tau)
    residual = y - x @ beta
    n_groups = group.max() + 1
    sums = np.zeros(n_groups)
    squares = np.zeros(n_groups)
    sizes = np.zeros(n_groups)
    for i in range(len(y)):
        g = group[i]
        sums[g] += residual[i]
        squares[g] += residual[i] ** 2
        sizes[g] += 1
    ll = 0.0
    for g in range(n_groups):
        det = (sizes[g] - 1) * np.log(s2) + np.log(s2 + sizes[g] * t2)
        quad = squares[g] / s2 - t2 * sums[g] ** 2 / (s2 * (s2 + sizes[g] * t2))
        ll -= 0.5 * (det + quad)
    return ll


def poisson_irls_jax(x, y, steps):
    import jax.numpy as jnp

    beta = jnp.zeros(x.shape[1])
    for _ in range(steps):
        mu = jnp.exp(x @ beta)
        beta = beta + jnp.linalg.solve(x.T @ (mu[:, None] * x), x.T @ (y - mu))
    return beta


@program(
    args=lambda: (0.5 * rng(21).normal(size=(8, 3)), rng(22).uniform(0.5, 4, 8), 5),
    wrt=("x", "y"),
    jax=poisson_irls_jax,
    tags=("statistics", "linalg", "newton", "array-result"),
)
def poisson_irls(x, y, steps):
    beta = np.zeros(x.shape[1])
    for _ in range(steps):
        mu = np.exp(x @ beta)
        score = x.T @ (y - mu)
        information = x.T @ np.diag(mu) @ x
        beta = beta + np.linalg.solve(information, score)
    return beta


def student_t_fit_jax(data, mu, log_scale, df):
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    z = (data - mu) / jnp.exp(log_scale)
    c = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * jnp.log(df * jnp.pi) - log_scale
    return jnp.sum(c - 0.5 * (df + 1) * jnp.log1p(z**2 / df))


@program(
    args=lambda: (rng(23).normal(size=8), 0.1, -0.2, 4.5),
    wrt=("data", "mu", "log_scale"),
    jax=student_t_fit_jax,
    tags=("statistics", "lgamma", "passive-argument"),
)
def student_t_fit(data, mu, log_scale, df):
    """Student t log-likelihood; the degrees of freedom are held fixed."""
    z = (data - mu) / np.exp(log_scale)
    const = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return len(data) * (const - log_scale) - 0.5 * (df + 1) * np.sum(np.log1p(z**2 / df))


def hierarchical_jax(params, counts, exposure):
    import jax.numpy as jnp

    rate = jnp.exp(params["mu"] + jnp.exp(params["log_tau"]) * params["z"])
    prior = -0.5 * jnp.sum(params["z"] ** 2) - 0.5 * params["mu"] ** 2 - 0.5 * params["log_tau"] ** 2
    lam = rate * exposure
    return prior + jnp.sum(counts * jnp.log(lam) - lam)


@program(
    args=lambda: (
        {"mu": 0.3, "log_tau": -0.5, "z": rng(24).normal(size=5)},
        np.array([3, 1, 4, 2, 6]), np.array([2.0, 1.0, 2.5, 1.5, 3.0]),
    ),
    wrt=("params",),
    jax=hierarchical_jax,
    tags=("statistics", "dict", "bayes"),
)  # fmt: skip
def hierarchical_poisson(params, counts, exposure):
    """Log-posterior of rates that are exchangeable between groups (non-centred)."""
    mu, tau = params["mu"], np.exp(params["log_tau"])
    logp = -0.5 * mu**2 - 0.5 * params["log_tau"] ** 2
    for z, count, e in zip(params["z"], counts, exposure):
        rate = np.exp(mu + tau * z)
        logp += -0.5 * z**2
        logp += count * np.log(rate * e) - rate * e
    return logp


def pca_deflation_jax(x, k):
    import jax.numpy as jnp

    x = x - x.mean(0)
    cov = x.T @ x / x.shape[0]
    return jnp.sum(jnp.linalg.eigvalsh(cov)[-k:])


@program(
    args=lambda: (rng(25).normal(size=(8, 3)) * np.array([3.0, 1.2, 0.4]), 2),
    wrt=("x",),
    jax=pca_deflation_jax,
    tags=("statistics", "eigen", "outer", "while"),
)
def pca_deflation(x, k):
    """Variance along the first components, by power iteration and deflation."""
    x = x - np.mean(x, axis=0)
    cov = x.T @ x / len(x)
    explained = 0.0
    for _ in range(k):
        v = np.ones(cov.shape[0]) / np.sqrt(cov.shape[0])
        for _ in range(80):
            v = cov @ v
            v = v / np.linalg.norm(v)
        lam = v @ cov @ v
        explained += lam
        cov = cov - lam * np.outer(v, v)
    return explained


def lasso_coordinate_jax(x, y, penalty, sweeps):
    import jax.numpy as jnp

    n, d = x.shape
    w = [jnp.zeros(()) for _ in range(d)]
    for _ in range(sweeps):
        for j in range(d):
            r = y - sum(x[:, k] * w[k] for k in range(d) if k != j)
            rho = x[:, j] @ r / n
            shrunk = jnp.sign(rho) * jnp.maximum(jnp.abs(rho) - penalty, 0)
            w[j] = shrunk / (x[:, j] @ x[:, j] / n)
    return jnp.stack(w)


def soft_threshold(z, level):
    if z > level:
        return z - level
    elif z < -level:
        return z + level
    else:
        return 0.0


@program(
    args=lambda: (rng(26).normal(size=(7, 3)), rng(27).normal(size=7), 0.12, 4),
    wrt=("x", "y", "penalty"),
    jax=lasso_coordinate_jax,
    tags=("statistics", "early-return", "residual-update", "column-views", "array-result"),
)
def lasso_coordinate_descent(x, y, penalty, sweeps):
    n, d = x.shape
    w = np.zeros(d)
    residual = y.copy()
    for _ in range(sweeps):
        for j in range(d):
            col = x[:, j]
            residual += col * w[j]
            w[j] = soft_threshold(col @ residual / n, penalty) / (col @ col / n)
            residual -= w[j] * col
    return w


@dataclass
class LinearModel:
    """Weights and intercept of a linear predictor."""

    weights: np.ndarray
    intercept: float

    def predict(self, x):
        return x @ self.weights + self.intercept


def quantile_loss_jax(model, x, y, tau):
    import jax.numpy as jnp

    e = y - (x @ model.weights + model.intercept)
    return jnp.mean(jnp.maximum(tau * e, (tau - 1) * e))


@program(
    args=lambda: (LinearModel(np.array([0.4, -0.3]), 0.2), rng(28).normal(size=(7, 2)), rng(29).normal(size=7), 0.7),
    wrt=("model", "x", "y"),
    jax=quantile_loss_jax,
    tags=("statistics", "dataclass", "method", "piecewise-linear"),
)
def quantile_loss(model, x, y, tau):
    error = y - model.predict(x)
    return np.mean(np.maximum(tau * error, (tau - 1) * error))


def regression_tree_jax(x, thresholds, leaves, temperature):
    import jax

    def descend(row, node=0):
        if node >= 3:
            return leaves[node - 3]
        gate = jax.nn.sigmoid((row[node % 2] - thresholds[node]) / temperature)
        return (1 - gate) * descend(row, 2 * node + 1) + gate * descend(row, 2 * node + 2)

    return jax.numpy.stack([descend(row) for row in x])


@program(
    args=lambda: (rng(30).normal(size=(4, 2)), np.array([0.1, -0.3, 0.4]), np.array([1.0, 2.0, -1.0, 0.5]), 0.6),
    wrt=("x", "thresholds", "leaves", "temperature"),
    jax=regression_tree_jax,
    tags=("statistics", "recursion", "closure", "array-result"),
)
def soft_decision_tree(x, thresholds, leaves, temperature):
    """A complete binary tree of soft splits, descended recursively."""
    internal = len(thresholds)

    def descend(row, node):
        if node >= internal:
            return leaves[node - internal]
        gate = 1 / (1 + np.exp(-(row[node % len(row)] - thresholds[node]) / temperature))
        return (1 - gate) * descend(row, 2 * node + 1) + gate * descend(row, 2 * node + 2)

    return np.array([descend(row, 0) for row in x])


def welford_jax(x, w):
    import jax.numpy as jnp

    mean = jnp.sum(w * x) / jnp.sum(w)
    d = x - mean
    var = jnp.sum(w * d**2) / jnp.sum(w)
    return mean, var, jnp.sum(w * d**3) / jnp.sum(w) / var**1.5


@program(
    args=lambda: (rng(31).normal(size=10), rng(32).uniform(0.5, 2, 10)),
    wrt=("x", "w"),
    jax=welford_jax,
    tags=("statistics", "streaming", "scalar", "tuple-result"),
)
def welford_moments(x, w):
    """Weighted mean, variance and skewness in one pass."""
    total = mean = m2 = m3 = 0.0
    for xi, wi in zip(x, w):
        before = total
        total += wi
        delta = xi - mean
        step = delta * wi / total
        m3 += step * delta**2 * before * (before - wi) / total - 3 * step * m2
        m2 += step * delta * before
        mean += step
    var = m2 / total
    return mean, var, m3 / total / var**1.5
