"""Prices, curves and simulated paths; the random numbers are arguments."""

import math
from collections import namedtuple

import numpy as np

from .registry import program, rng


def black_scholes_jax(s, k, r, sigma, t, kind="call"):
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    d1 = (jnp.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * jnp.sqrt(t))
    d2 = d1 - sigma * jnp.sqrt(t)
    sign = 1 if kind == "call" else -1
    return sign * (s * norm.cdf(sign * d1) - k * jnp.exp(-r * t) * norm.cdf(sign * d2))


def norm_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


@program(
    args=lambda: (100.0, 105.0, 0.03, 0.25, 0.8, "put"),
    wrt=("s", "k", "r", "sigma", "t"),
    jax=black_scholes_jax,
    tags=("finance", "scalar", "erf", "string-argument"),
)
def black_scholes(s, k, r, sigma, t, kind="call"):
    d1 = (math.log(s / k) + (r + 0.5 * sigma**2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)
    if kind == "call":
        return s * norm_cdf(d1) - k * math.exp(-r * t) * norm_cdf(d2)
    elif kind == "put":
        return k * math.exp(-r * t) * norm_cdf(-d2) - s * norm_cdf(-d1)
    raise ValueError(f"unknown kind of option: {kind}")


def implied_volatility_jax(price, s, k, t):
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    vol = jnp.full(jnp.shape(k), 0.3)
    for _ in range(12):
        d1 = (jnp.log(s / k) + 0.5 * vol**2 * t) / (vol * jnp.sqrt(t))
        diff = s * norm.cdf(d1) - k * norm.cdf(d1 - vol * jnp.sqrt(t)) - price
        vol = vol - diff / (s * norm.pdf(d1) * jnp.sqrt(t))
    return vol


@program(
    args=lambda: (np.array([14.5, 9.1, 5.6]), 100.0, np.array([92.0, 100.0, 108.0]), 0.9),
    wrt=("price", "s", "k", "t"),
    jax=implied_volatility_jax,
    tags=("finance", "newton", "for-over-zip", "array-result"),
)
def implied_volatility(price, s, k, t):
    vols = []
    for target, strike in zip(price, k):
        vol = 0.3
        for it in range(50):
            d1 = (math.log(s / strike) + 0.5 * vol**2 * t) / (vol * math.sqrt(t))
            d2 = d1 - vol * math.sqrt(t)
            diff = s * norm_cdf(d1) - strike * norm_cdf(d2) - target
            vega = s * math.exp(-0.5 * d1**2) / math.sqrt(2 * math.pi) * math.sqrt(t)
            vol = vol - diff / vega
            if it > 5 and abs(diff) < 1e-11:
                break
        vols.append(vol)
    return np.array(vols)


def binomial_american_put_jax(s0, strike, r, sigma, t, n):
    import jax.numpy as jnp

    dt = t / n
    u = jnp.exp(sigma * jnp.sqrt(dt))
    p = (jnp.exp(r * dt) - 1 / u) / (u - 1 / u)
    disc = jnp.exp(-r * dt)
    v = jnp.maximum(strike - s0 * u ** (2 * jnp.arange(n + 1.0) - n), 0)
    for i in range(n - 1, -1, -1):
        hold = disc * (p * v[1:] + (1 - p) * v[:-1])
        v = jnp.maximum(hold, strike - s0 * u ** (2 * jnp.arange(i + 1.0) - i))
    return v[0]


@program(
    args=lambda: (100.0, 103.0, 0.04, 0.3, 1.0, 15),
    wrt=("s0", "strike", "r", "sigma", "t"),
    jax=binomial_american_put_jax,
    tags=("finance", "in-place", "tree", "max"),
)
def binomial_american_put(s0, strike, r, sigma, t, n):
    """Cox-Ross-Rubinstein tree, rolled back in one array."""
    dt = t / n
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    disc = np.exp(-r * dt)
    v = np.zeros(n + 1)
    for j in range(n + 1):
        v[j] = max(strike - s0 * u**j * d ** (n - j), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            v[j] = disc * (p * v[j + 1] + (1 - p) * v[j])
            exercise = strike - s0 * u**j * d ** (i - j)
            if exercise > v[j]:
                v[j] = exercise
    return v[0]


def bootstrap_curve_jax(rates):
    import jax.numpy as jnp

    discounts = []
    for rate in rates:
        annuity = sum(discounts)
        discounts.append((1 - rate * annuity) / (1 + rate))
    d = jnp.stack(discounts)
    return d, -jnp.log(d) / jnp.arange(1, len(discounts) + 1)


@program(
    args=lambda: (np.array([0.021, 0.024, 0.026, 0.029, 0.031]),),
    wrt=("rates",),
    jax=bootstrap_curve_jax,
    tags=("finance", "in-place", "prefix-sum", "tuple-result"),
)
def bootstrap_curve(rates):
    """Discount factors and zero rates from par swap rates."""
    n = len(rates)
    discount = np.empty(n)
    zero = np.empty_like(discount)
    for i in range(n):
        discount[i] = (1 - rates[i] * np.sum(discount[:i])) / (1 + rates[i])
        zero[i] = -math.log(discount[i]) / (i + 1)
    return discount, zero


def nelson_siegel_jax(maturities, yields, beta, tau):
    import jax.numpy as jnp

    x = maturities / tau
    load = (1 - jnp.exp(-x)) / x
    fit = beta[0] + beta[1] * load + beta[2] * (load - jnp.exp(-x))
    return jnp.sum((fit - yields) ** 2) * 1e4


@program(
    args=lambda: (
        np.array([0.5, 1.0, 2.0, 5.0, 10.0]),
        np.array([0.02, 0.022, 0.027, 0.031, 0.034]),
        np.array([0.035, -0.016, 0.004]),
        1.8,
    ),
    wrt=("maturities", "yields", "beta", "tau"),
    jax=nelson_siegel_jax,
    tags=("finance", "vectorised", "unpacking"),
)
def nelson_siegel(maturities, yields, beta, tau):
    b0, b1, b2 = beta
    x = maturities / tau
    load = (1 - np.exp(-x)) / x
    fit = b0 + b1 * load + b2 * (load - np.exp(-x))
    return ((fit - yields) ** 2).sum() * 1e4


Bond = namedtuple("Bond", "coupon maturity frequency")


def bond_portfolio_jax(bonds, amounts, curve):
    import jax.numpy as jnp

    times = jnp.array([0.0, 1.0, 2.0, 5.0])
    total = 0.0
    for bond, amount in zip(bonds, amounts, strict=True):
        for i in range(1, bond.maturity * bond.frequency + 1):
            t = i / bond.frequency
            cash = 100 * bond.coupon / bond.frequency + (100 if i == bond.maturity * bond.frequency else 0)
            total = total + amount * cash * jnp.exp(-jnp.interp(t, times, curve) * t)
    return total


def interpolate(x, xs, ys):
    if x <= xs[0]:
        return ys[0]
    for i in range(1, len(xs)):
        if x <= xs[i]:
            w = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
            return (1 - w) * ys[i - 1] + w * ys[i]
    return ys[-1]


@program(
    args=lambda: ([Bond(0.04, 3, 2), Bond(0.025, 4, 1)], np.array([1.5, -0.7]), np.array([0.02, 0.023, 0.027, 0.03])),
    wrt=("amounts", "curve"),
    jax=bond_portfolio_jax,
    tags=("finance", "namedtuple", "list-argument", "early-return"),
)
def bond_portfolio(bonds, amounts, curve):
    """Present value of bonds off a curve that is interpolated linearly."""
    knots = (0.0, 1.0, 2.0, 5.0)
    total = 0.0
    for bond, amount in zip(bonds, amounts):
        n = bond.maturity * bond.frequency
        for i in range(1, n + 1):
            t = i / bond.frequency
            cash = 100 * bond.coupon / bond.frequency
            if i == n:
                cash += 100
            total += amount * cash * np.exp(-interpolate(t, knots, curve) * t)
    return total


def cds_spread_jax(hazard, recovery, r, maturity):
    import jax.numpy as jnp

    survival, premium, protection = 1.0, 0.0, 0.0
    for q in range(4 * maturity):
        h = hazard[min(q // 4, hazard.shape[0] - 1)]
        nxt = survival * jnp.exp(-h / 4)
        df = jnp.exp(-r * (q + 1) / 4)
        premium = premium + 0.25 * df * (nxt + 0.5 * (survival - nxt))
        protection = protection + (1 - recovery) * df * (survival - nxt)
        survival = nxt
    return 1e4 * protection / premium


@program(
    args=lambda: (np.array([0.01, 0.015, 0.02]), 0.4, 0.03, 4),
    wrt=("hazard", "recovery", "r"),
    jax=cds_spread_jax,
    tags=("finance", "integer-division", "scalar"),
)
def cds_spread(hazard, recovery, r, maturity):
    """Fair spread of a credit default swap, in basis points."""
    survival = 1.0
    premium = protection = 0.0
    for q in range(4 * maturity):
        h = hazard[min(q // 4, len(hazard) - 1)]
        survival_next = survival * np.exp(-h / 4)
        df = np.exp(-r * (q + 1) / 4)
        defaulted = survival - survival_next
        premium += 0.25 * df * (survival_next + 0.5 * defaulted)
        protection += (1 - recovery) * df * defaulted
        survival = survival_next
    return 1e4 * protection / premium


def heston_jax(z1, z2, s0, v0, kappa, theta, xi, rho, strike):
    import jax.numpy as jnp

    dt = 0.25
    x, v = jnp.full(z1.shape[1], jnp.log(s0)), jnp.full(z1.shape[1], 1.0) * v0
    for a, b in zip(z1, z2, strict=True):
        vp = jnp.maximum(v, 0)
        x = x - 0.5 * vp * dt + jnp.sqrt(vp * dt) * a
        v = v + kappa * (theta - vp) * dt + xi * jnp.sqrt(vp * dt) * (rho * a + jnp.sqrt(1 - rho**2) * b)
    return jnp.mean(jnp.maximum(jnp.exp(x) - strike, 0.0))


@program(
    args=lambda: (rng(1).normal(size=(4, 5)), rng(2).normal(size=(4, 5)), 1.0, 0.06, 1.5, 0.05, 0.3, -0.6, 0.95),
    wrt=("z1", "z2", "s0", "v0", "kappa", "theta", "xi", "rho", "strike"),
    jax=heston_jax,
    tags=("finance", "monte-carlo", "rows"),
)
def heston(z1, z2, s0, v0, kappa, theta, xi, rho, strike):
    """European call under Heston's model, Euler with full truncation."""
    steps, paths = z1.shape
    dt = 1.0 / steps
    x = np.full(paths, np.log(s0))
    v = np.full(paths, v0)
    for t in range(steps):
        vp = np.maximum(v, 0)
        x += -0.5 * vp * dt + np.sqrt(vp * dt) * z1[t]
        v += kappa * (theta - vp) * dt + xi * np.sqrt(vp * dt) * (rho * z1[t] + np.sqrt(1 - rho**2) * z2[t])
    return np.mean(np.maximum(np.exp(x) - strike, 0))


def longstaff_schwartz_jax(normals, s0, strike, r, sigma):
    import jax.numpy as jnp

    steps, n = normals.shape
    dt = 1.0 / steps
    s = s0 * jnp.exp(jnp.cumsum((r - 0.5 * sigma**2) * dt + sigma * jnp.sqrt(dt) * normals, axis=0))
    value = jnp.maximum(strike - s[-1], 0)
    for t in range(steps - 2, -1, -1):
        value = value * jnp.exp(-r * dt)
        money = (strike - s[t] > 0) * 1.0
        x = jnp.stack([jnp.ones(n), s[t], s[t] ** 2], axis=1)
        beta = jnp.linalg.solve((x * money[:, None]).T @ x + 1e-8 * jnp.eye(3), (x * money[:, None]).T @ value)
        value = jnp.where((strike - s[t] > x @ beta) & (money > 0), strike - s[t], value)
    return jnp.mean(value) * jnp.exp(-r * dt)


@program(
    args=lambda: (rng(3).normal(size=(3, 14)), 1.0, 1.1, 0.05, 0.3),
    wrt=("normals", "s0", "strike", "r", "sigma"),
    jax=longstaff_schwartz_jax,
    tags=("finance", "monte-carlo", "masks", "linalg"),
)
def longstaff_schwartz(normals, s0, strike, r, sigma):
    """American put: regress the continuation value on the paths in the money."""
    steps, n = normals.shape
    dt = 1.0 / steps
    s = s0 * np.exp(np.cumsum((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * normals, axis=0))
    value = np.maximum(strike - s[-1], 0)
    for t in range(steps - 2, -1, -1):
        value *= np.exp(-r * dt)
        money = strike - s[t] > 0
        spot = s[t][money]
        x = np.stack((np.ones(len(spot)), spot, spot**2), axis=1)
        beta = np.linalg.solve(x.T @ x + 1e-8 * np.eye(3), x.T @ value[money])
        exercise = strike - spot
        value[money] = np.where(exercise > x @ beta, exercise, value[money])
    return value.mean() * np.exp(-r * dt)


def barrier_option_jax(normals, s0, sigma, barrier, strike):
    import jax.numpy as jnp

    dt = 1 / normals.shape[1]
    s = s0 * jnp.exp(jnp.cumsum(-0.5 * sigma**2 * dt + sigma * jnp.sqrt(dt) * normals, axis=1))
    alive = jnp.all(s < barrier, axis=1)
    return jnp.mean(jnp.where(alive, jnp.maximum(s[:, -1] - strike, 0), 0.02 * s0))


@program(
    args=lambda: (rng(4).normal(size=(10, 5)), 1.0, 0.3, 1.4, 0.9),
    wrt=("normals", "s0", "sigma", "strike"),
    jax=barrier_option_jax,
    tags=("finance", "monte-carlo", "break", "for-else", "branches"),
)
def barrier_option(normals, s0, sigma, barrier, strike):
    """Up-and-out call with a rebate, path by path."""
    paths, steps = normals.shape
    dt = 1 / steps
    total = 0.0
    for p in range(paths):
        s = s0
        for z in normals[p]:
            s *= math.exp(-0.5 * sigma**2 * dt + sigma * math.sqrt(dt) * z)
            if s >= barrier:
                total += 0.02 * s0
                break
        else:
            if s > strike:
                total += s - strike
    return total / paths


def asian_control_variate_jax(normals, s0, sigma, r, strike):
    import jax.numpy as jnp

    dt = 1 / normals.shape[1]
    s = s0 * jnp.exp(jnp.cumsum((r - 0.5 * sigma**2) * dt + sigma * dt**0.5 * normals, axis=1))
    y = jnp.exp(-r) * jnp.maximum(s.mean(axis=1) - strike, 0)
    c = jnp.exp(-r) * s[:, -1] - s0
    b = jnp.mean((y - y.mean()) * (c - c.mean())) / jnp.var(c)
    return jnp.mean(y - b * c), jnp.std(y - b * c)


@program(
    args=lambda: (rng(5).normal(size=(9, 4)), 1.0, 0.25, 0.02, 0.95),
    wrt=("normals", "s0", "sigma", "r", "strike"),
    jax=asian_control_variate_jax,
    tags=("finance", "monte-carlo", "statistics-functions", "tuple-result"),
)
def asian_control_variate(normals, s0, sigma, r, strike):
    n, steps = normals.shape
    dt = 1 / steps
    increments = (r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * normals
    s = s0 * np.exp(np.cumsum(increments, axis=1))
    payoff = np.exp(-r) * np.clip(np.mean(s, axis=1) - strike, 0, None)
    control = np.exp(-r) * s[:, -1] - s0
    b = np.mean((payoff - payoff.mean()) * (control - control.mean())) / np.var(control)
    estimate = payoff - b * control
    return np.mean(estimate), np.std(estimate)


def mean_variance_jax(returns, aversion, steps):
    import jax.numpy as jnp

    mu = returns.mean(axis=0)
    x = returns - mu
    cov = x.T @ x / (returns.shape[0] - 1)
    theta = jnp.zeros(returns.shape[1])
    for _ in range(steps):
        w = jnp.exp(theta) / jnp.sum(jnp.exp(theta))
        g = mu - aversion * cov @ w
        theta = theta + 5.0 * w * (g - jnp.dot(w, g))
    w = jnp.exp(theta) / jnp.sum(jnp.exp(theta))
    return w @ mu - 0.5 * aversion * w @ cov @ w


@program(
    args=lambda: (0.1 * rng(6).normal(size=(8, 3)) + 0.05, 3.0, 10),
    wrt=("returns", "aversion"),
    jax=mean_variance_jax,
    tags=("finance", "optimisation", "nested-helper"),
)
def mean_variance(returns, aversion, steps):
    """Long-only portfolio by gradient ascent through a softmax."""

    def softmax(v):
        e = np.exp(v)
        return e / e.sum()

    mu = returns.mean(0)
    centred = returns - mu
    cov = centred.T @ centred / (len(returns) - 1)
    theta = np.zeros(returns.shape[1])
    for _ in range(steps):
        w = softmax(theta)
        g = mu - aversion * cov @ w
        theta += 5.0 * w * (g - w @ g)
    w = softmax(theta)
    return w @ mu - 0.5 * aversion * w @ cov @ w


def metropolis_jax(x, normals, uniforms, scale, centre):
    import jax.numpy as jnp

    def logp(x):
        return -0.5 * (x - centre) ** 2 - 0.1 * x**4

    total = 0.0
    for z, u in zip(normals, uniforms, strict=True):
        new = x + scale * z
        x = jnp.where(jnp.log(u) < logp(new) - logp(x), new, x)
        total = total + x**2
    return total / len(normals)


@program(
    args=lambda: (0.3, rng(7).normal(size=15), rng(8).uniform(size=15), 0.9, 0.5),
    wrt=("x", "normals", "scale"),
    jax=metropolis_jax,
    tags=("monte-carlo", "branches", "closure"),
)
def metropolis(x, normals, uniforms, scale, centre):
    """Random-walk Metropolis with given numbers; the derivative is along the accepted path."""

    def logp(x):
        return -0.5 * (x - centre) ** 2 - 0.1 * x**4

    current = logp(x)
    total, accepted = 0.0, 0
    for z, u in zip(normals, uniforms):
        proposal = x + scale * z
        candidate = logp(proposal)
        if math.log(u) < candidate - current:
            x, current = proposal, candidate
            accepted += 1
        total += x**2
    return total / len(normals)


def hamiltonian_monte_carlo_jax(q, momenta, eps, precision):

    for p in momenta:
        q_new = q
        p = p - 0.5 * eps * (precision @ q_new)
        for i in range(4):
            q_new = q_new + eps * p
            p = p - (eps if i < 3 else 0.5 * eps) * (precision @ q_new)
        q = q_new
    return 0.5 * q @ precision @ q


@program(
    args=lambda: (
        rng(9).normal(size=3),
        rng(10).normal(size=(3, 3)),
        0.2,
        np.array([[2.0, 0.3, 0], [0.3, 1, 0], [0, 0, 0.5]]),
    ),
    wrt=("q", "momenta", "eps", "precision"),
    jax=hamiltonian_monte_carlo_jax,
    tags=("monte-carlo", "alias", "in-place"),
)
def hamiltonian_monte_carlo(q, momenta, eps, precision):
    """Hamiltonian trajectories (always accepted) for a Gaussian."""
    position = q.copy()
    for row in momenta:
        p = row.copy()
        p -= 0.5 * eps * precision @ position
        for i in range(4):
            position += eps * p
            p -= (eps if i < 3 else 0.5 * eps) * (precision @ position)
    return 0.5 * position @ precision @ position


def garch_loglik_jax(returns, omega, alpha, beta):
    import jax.numpy as jnp

    h = jnp.var(returns)
    ll = 0.0
    for r in returns:
        ll = ll - 0.5 * (jnp.log(2 * jnp.pi) + jnp.log(h) + r**2 / h)
        h = omega + alpha * r**2 + beta * h
    return ll


@program(
    args=lambda: (1.4 * rng(11).normal(size=20), 0.1, 0.1, 0.8),
    wrt=("returns", "omega", "alpha", "beta"),
    jax=garch_loglik_jax,
    tags=("finance", "statistics", "recurrence"),
)
def garch_loglik(returns, omega, alpha, beta):
    n = len(returns)
    h = np.zeros(n)
    h[0] = np.var(returns)
    for t in range(1, n):
        h[t] = omega + alpha * returns[t - 1] ** 2 + beta * h[t - 1]
    return -0.5 * np.sum(np.log(2 * np.pi) + np.log(h) + returns**2 / h)
