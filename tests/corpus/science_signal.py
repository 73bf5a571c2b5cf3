"""Filters, smoothers, hidden Markov models and dynamic programming."""

import math

import numpy as np

from .registry import program, rng


def series(seed, n):
    return np.cumsum(rng(seed).normal(size=n)) * 0.5 + 0.3 * np.sin(np.arange(n))


def kalman_loglik_jax(y, q, r, phi):
    import jax.numpy as jnp

    m, p, ll = 0.0, 1.0, 0.0
    for t in range(y.shape[0]):
        m, p = phi * m, phi**2 * p + q
        s = p + r
        v = y[t] - m
        ll = ll - 0.5 * (jnp.log(2 * jnp.pi * s) + v * v / s)
        m, p = m + p / s * v, p * r / s
    return ll


@program(
    args=lambda: (series(1, 12), 0.3, 0.5, 0.9),
    wrt=("y", "q", "r", "phi"),
    jax=kalman_loglik_jax,
    tags=("filter", "scalar", "missing-data"),
)
def kalman_loglik(y, q, r, phi):
    """Log-likelihood of a local level model; NaN would mark missing observations."""
    mean, var = 0.0, 1.0
    ll = 0.0
    for obs in y:
        mean = phi * mean
        var = phi**2 * var + q
        if np.isnan(obs):
            continue
        s = var + r
        innovation = obs - mean
        ll += -0.5 * (np.log(2 * np.pi * s) + innovation**2 / s)
        gain = var / s
        mean += gain * innovation
        var *= 1 - gain
    return ll


def kalman_matrix_jax(ys, a, c, q, r, m0):
    import jax.numpy as jnp

    m, p, ll = m0, jnp.eye(2), 0.0
    out = []
    for y in ys:
        m, p = a @ m, a @ p @ a.T + q * jnp.eye(2)
        s = c @ p @ c.T + jnp.diag(r)
        k = jnp.linalg.solve(s, c @ p).T
        v = y - c @ m
        ll = ll - 0.5 * v @ jnp.linalg.solve(s, v) - 0.5 * jnp.log(jnp.linalg.det(s))
        m, p = m + k @ v, (jnp.eye(2) - k @ c) @ p
        out.append(m)
    return ll, jnp.stack(out)


@program(
    args=lambda: (
        rng(2).normal(size=(5, 2)),
        np.array([[1.0, 0.1], [-0.2, 0.95]]),
        rng(3).normal(size=(2, 2)),
        0.1,
        np.array([0.4, 0.6]),
        np.array([0.1, -0.3]),
    ),
    wrt=("ys", "a", "c", "q", "r", "m0"),
    jax=kalman_matrix_jax,
    tags=("filter", "matmul", "linalg", "tuple-result"),
)
def kalman_matrix(ys, a, c, q, r, m0):
    T = len(ys)
    dim = a.shape[0]
    means = np.zeros((T, dim))
    m, p = m0, np.eye(dim)
    ll = 0.0
    for t in range(T):
        # predict
        m = a @ m
        p = a @ p @ a.T + q * np.eye(dim)
        # update
        s = c @ p @ c.T + np.diag(r)
        gain = p @ c.T @ np.linalg.inv(s)
        v = ys[t] - c @ m
        ll -= 0.5 * v @ np.linalg.inv(s) @ v + 0.5 * np.log(np.linalg.det(s))
        m = m + gain @ v
        p = (np.eye(dim) - gain @ c) @ p
        means[t] = m
    return ll, means


def rts_smoother_jax(y, q, r):
    import jax.numpy as jnp

    n = y.shape[0]
    m, p, mf, pf, mp, pp = 0.0, 2.0, [], [], [], []
    for t in range(n):
        mp.append(m)
        pp.append(p + q)
        k = (p + q) / (p + q + r)
        m = m + k * (y[t] - m)
        p = (1 - k) * (p + q)
        mf.append(m)
        pf.append(p)
    ms = [None] * n
    ms[-1] = mf[-1]
    for t in range(n - 2, -1, -1):
        ms[t] = mf[t] + pf[t] / pp[t + 1] * (ms[t + 1] - mp[t + 1])
    return jnp.stack(ms)


@program(
    args=lambda: (series(4, 10), 0.4, 0.8),
    wrt=("y", "q", "r"),
    jax=rts_smoother_jax,
    tags=("filter", "backward-loop", "list-append", "array-result"),
)
def rts_smoother(y, q, r):
    """Rauch-Tung-Striebel: filter forward into lists, smooth backward."""
    predicted, filtered = [], []
    m, p = 0.0, 2.0
    for obs in y:
        p = p + q
        predicted.append((m, p))
        k = p / (p + r)
        m, p = m + k * (obs - m), (1 - k) * p
        filtered.append((m, p))
    smoothed = np.zeros(len(y))
    smoothed[-1] = m
    for t in range(len(y) - 2, -1, -1):
        gain = filtered[t][1] / predicted[t + 1][1]
        smoothed[t] = filtered[t][0] + gain * (smoothed[t + 1] - predicted[t + 1][0])
    return smoothed


def extended_kalman_jax(y, mu, noise):
    import jax.numpy as jnp

    x, p, ll = 0.5, 1.0, 0.0
    for obs in y:
        f = x + 0.1 * mu * x * (1 - x)
        df = 1 + 0.1 * mu * (1 - 2 * x)
        x, p = f, df * p * df + 0.01
        h, dh = jnp.sin(2 * x), 2 * jnp.cos(2 * x)
        s = dh * p * dh + noise**2
        ll = ll + jnp.log(s) + (obs - h) ** 2 / s
        k = p * dh / s
        x, p = x + k * (obs - h), (1 - k * dh) * p
    return ll


@program(
    args=lambda: (rng(5).uniform(0.3, 0.9, 8), 1.4, 0.5),
    wrt=("y", "mu", "noise"),
    jax=extended_kalman_jax,
    tags=("filter", "class", "math"),
)
def extended_kalman(y, mu, noise):
    class Filter:
        def __init__(self, x, p):
            self.x, self.p = x, p
            self.cost = 0.0

        def predict(self, f, df):
            slope = df(self.x)
            self.x = f(self.x)
            self.p = slope * self.p * slope + 0.01

        def update(self, obs):
            h, dh = math.sin(2 * self.x), 2 * math.cos(2 * self.x)
            s = dh * self.p * dh + noise**2
            self.cost += math.log(s) + (obs - h) ** 2 / s
            k = self.p * dh / s
            self.x += k * (obs - h)
            self.p *= 1 - k * dh

    kf = Filter(0.5, 1.0)
    for obs in y:
        kf.predict(lambda x: x + 0.1 * mu * x * (1 - x), lambda x: 1 + 0.1 * mu * (1 - 2 * x))
        kf.update(obs)
    return kf.cost


def particle_filter_jax(y, normals, phi, sigma, tau):
    import jax.numpy as jnp

    x = sigma * normals[0]
    ll = 0.0
    for t in range(y.shape[0]):
        x = phi * x + sigma * normals[t + 1]
        logw = -0.5 * ((y[t] - x) / tau) ** 2 - jnp.log(tau)
        top = jnp.max(logw)
        w = jnp.exp(logw - top)
        ll = ll + top + jnp.log(jnp.mean(w))
        w = w / jnp.sum(w)
        # Systematic resampling: the ancestors are piecewise constant.
        n = x.shape[0]
        edges = jnp.cumsum(w)
        points = (jnp.arange(n) + 0.37) / n
        ancestors = jnp.minimum(jnp.sum(points[:, None] > edges[None, :], axis=1), n - 1)
        x = x[ancestors]
    return ll


@program(
    args=lambda: (rng(6).normal(size=4), rng(7).normal(size=(5, 6)), 0.8, 0.6, 0.9),
    wrt=("y", "normals", "phi", "sigma", "tau"),
    jax=particle_filter_jax,
    tags=("filter", "monte-carlo", "fancy-index", "while"),
)
def particle_filter(y, normals, phi, sigma, tau):
    """Bootstrap filter with given normals and systematic resampling."""
    n = normals.shape[1]
    x = sigma * normals[0]
    ll = 0.0
    for t, obs in enumerate(y):
        x = phi * x + sigma * normals[t + 1]
        logw = -0.5 * ((obs - x) / tau) ** 2 - np.log(tau)
        w = np.exp(logw - logw.max())
        ll += logw.max() + np.log(w.mean())
        w /= w.sum()
        ancestors = np.zeros(n, dtype=int)
        j, edge = 0, w[0]
        for i in range(n):
            point = (i + 0.37) / n
            while point > edge and j < n - 1:
                j += 1
                edge += w[j]
            ancestors[i] = j
        x = x[ancestors]
    return ll


def iir_direct_form_jax(x, b, a):
    import jax.numpy as jnp

    y = []
    for n in range(x.shape[0]):
        acc = sum(b[k] * x[n - k] for k in range(b.shape[0]) if n >= k)
        acc = acc - sum(a[k] * y[n - k] for k in range(1, a.shape[0]) if n >= k)
        y.append(acc / a[0])
    return jnp.stack(y)


@program(
    args=lambda: (rng(8).normal(size=12), np.array([0.3, 0.2, 0.1]), np.array([1.1, -0.5, 0.2])),
    wrt=("x", "b", "a"),
    jax=iir_direct_form_jax,
    tags=("filter", "loops", "conditions", "array-result"),
)
def iir_direct_form(x, b, a):
    y = np.zeros_like(x)
    for n in range(len(x)):
        for k in range(len(b)):
            if n - k >= 0:
                y[n] += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n - k >= 0:
                y[n] -= a[k] * y[n - k]
        y[n] /= a[0]
    return y


def fir_energy_jax(x, h):
    import jax.numpy as jnp

    return jnp.sum(jnp.convolve(x, h, mode="valid") ** 2)


@program(
    args=lambda: (rng(9).normal(size=15), rng(10).normal(size=4)),
    wrt=("x", "h"),
    jax=fir_energy_jax,
    tags=("filter", "slices", "reversed-view", "comprehension"),
)
def fir_energy(x, h):
    taps = h[::-1]
    out = np.array([np.dot(x[i : i + len(h)], taps) for i in range(len(x) - len(h) + 1)])
    return np.sum(out**2)


def biquad_cascade_jax(x, sections):
    import jax.numpy as jnp

    y = list(x)
    for b0, b1, b2, a1, a2 in sections:
        z1 = z2 = 0.0
        out = []
        for v in y:
            o = b0 * v + z1
            z1, z2 = b1 * v - a1 * o + z2, b2 * v - a2 * o
            out.append(o)
        y = out
    return jnp.stack(y)


@program(
    args=lambda: (rng(11).normal(size=10), np.array([[0.5, 0.3, 0.1, -0.4, 0.2], [0.7, -0.2, 0.3, 0.1, -0.3]])),
    wrt=("x", "sections"),
    jax=biquad_cascade_jax,
    tags=("filter", "in-place", "unpacking", "mutates-argument", "array-result"),
)
def biquad_cascade(x, sections):
    """Second-order sections, direct form II transposed, overwriting the signal."""
    for b0, b1, b2, a1, a2 in sections:
        z1 = z2 = 0.0
        for i, v in enumerate(x):
            out = b0 * v + z1
            z1 = b1 * v - a1 * out + z2
            z2 = b2 * v - a2 * out
            x[i] = out
    return x


def holt_winters_jax(y, alpha, beta, gamma, period=4):
    import jax.numpy as jnp

    level = jnp.mean(y[:period])
    trend = (jnp.mean(y[period : 2 * period]) - level) / period
    season = [y[i] - level for i in range(period)]
    sse = 0.0
    for t in range(period, y.shape[0]):
        s = season[t % period]
        sse = sse + (y[t] - level - trend - s) ** 2
        new = alpha * (y[t] - s) + (1 - alpha) * (level + trend)
        trend = beta * (new - level) + (1 - beta) * trend
        season[t % period] = gamma * (y[t] - new) + (1 - gamma) * s
        level = new
    return sse


@program(
    args=lambda: (5 + series(12, 14), 0.4, 0.2, 0.3),
    wrt=("y", "alpha", "beta", "gamma"),
    jax=holt_winters_jax,
    tags=("filter", "modulo-index", "defaults", "in-place"),
    kwargs={"period": 4},
)
def holt_winters(y, alpha, beta, gamma, *, period=12, verbose=False):
    """Sum of squared one-step errors of additive exponential smoothing."""
    level = y[:period].mean()
    trend = (y[period : 2 * period].mean() - level) / period
    season = y[:period] - level
    sse = 0.0
    for t in range(period, len(y)):
        k = t % period
        error = y[t] - (level + trend + season[k])
        sse += error**2
        if verbose:
            print(f"t={t} error={error:.3f}")
        previous = level
        level = alpha * (y[t] - season[k]) + (1 - alpha) * (level + trend)
        trend = beta * (level - previous) + (1 - beta) * trend
        season[k] = gamma * (y[t] - level) + (1 - gamma) * season[k]
    return sse


def savitzky_golay_jax(y, width, order):
    import jax.numpy as jnp

    half = width // 2
    grid = np.arange(-half, half + 1.0)
    basis = np.stack([grid**k for k in range(order + 1)], axis=1)
    weights = np.linalg.solve(basis.T @ basis, basis.T)[0]
    padded = jnp.concatenate([jnp.full(half, y[0]), y, jnp.full(half, y[-1])])
    return jnp.stack([jnp.dot(weights, padded[i : i + width]) for i in range(y.shape[0])])


@program(
    args=lambda: (series(13, 11), 5, 2),
    wrt=("y",),
    jax=savitzky_golay_jax,
    tags=("filter", "linalg", "int-arguments", "array-result"),
)
def savitzky_golay(y, width, order):
    half = width // 2
    x = np.arange(-half, half + 1)
    vander = np.ones((width, order + 1))
    for k in range(1, order + 1):
        vander[:, k] = vander[:, k - 1] * x
    coefficients = np.linalg.inv(vander.T @ vander) @ vander.T
    padded = np.hstack([y[0] * np.ones(half), y, np.ones(half) * y[-1]])
    smooth = np.empty(len(y))
    for i in range(len(y)):
        smooth[i] = coefficients[0] @ padded[i : i + width]
    return smooth


def lms_adaptive_jax(x, d, rate):
    import jax.numpy as jnp

    w = jnp.zeros(3)
    total = 0.0
    for n in range(2, x.shape[0]):
        seen = jnp.stack([x[n], x[n - 1], x[n - 2]])
        e = d[n] - w @ seen
        w = w + rate * e * seen / (1e-2 + seen @ seen)
        total = total + e**2
    return total, w


@program(
    args=lambda: (rng(14).normal(size=12), rng(15).normal(size=12), 0.3),
    wrt=("x", "d", "rate"),
    jax=lms_adaptive_jax,
    tags=("filter", "reversed-slice", "tuple-result"),
)
def lms_adaptive(x, d, rate, taps=3):
    """Normalised least-mean-squares; returns the squared error and the weights."""
    w = np.zeros(taps)
    total = 0
    for n in range(taps - 1, len(x)):
        seen = x[n - taps + 1 : n + 1][::-1]
        e = d[n] - w @ seen
        w += rate * e * seen / (1e-2 + seen @ seen)
        total += e**2
    return total, w


def levinson_durbin_jax(x, order):
    import jax.numpy as jnp

    n = x.shape[0]
    r = jnp.stack([jnp.dot(x[: n - k], x[k:]) for k in range(order + 1)]) / n
    toeplitz = jnp.stack([jnp.stack([r[abs(i - j)] for j in range(order)]) for i in range(order)])
    a = jnp.linalg.solve(toeplitz, -r[1:])
    return a, r[0] + jnp.dot(a, r[1:])


@program(
    args=lambda: (rng(16).normal(size=12), 4),
    wrt=("x",),
    jax=levinson_durbin_jax,
    tags=("filter", "recursion-in-order", "overlapping-update", "tuple-result"),
)
def levinson_durbin(x, order):
    """Linear prediction by the Levinson-Durbin recursion."""
    n = len(x)
    r = np.zeros(order + 1)
    for k in range(order + 1):
        for i in range(n - k):
            r[k] += x[i] * x[i + k]
    r /= n
    a = np.zeros(order + 1)
    a[0] = 1.0
    err = r[0]
    for m in range(1, order + 1):
        acc = r[m]
        for i in range(1, m):
            acc += a[i] * r[m - i]
        k = -acc / err
        a[1:m] = a[1:m] + k * a[m - 1 : 0 : -1]
        a[m] = k
        err *= 1 - k * k
    return a[1:], err


def goertzel_jax(x, freq):
    import jax.numpy as jnp

    t = jnp.arange(x.shape[0])
    return jnp.sum(x * jnp.cos(freq * t)) ** 2 + jnp.sum(x * jnp.sin(freq * t)) ** 2


@program(args=lambda: (rng(17).normal(size=16), 0.7), wrt=("x", "freq"), jax=goertzel_jax, tags=("signal", "math"))
def goertzel(x, freq):
    """Power at one frequency by Goertzel's recursion."""
    coeff = 2 * math.cos(freq)
    s1 = s2 = 0.0
    for sample in x:
        s1, s2 = sample + coeff * s1 - s2, s1
    return s1 * s1 + s2 * s2 - coeff * s1 * s2


def haar_denoise_jax(x, threshold):
    import jax.numpy as jnp

    def go(v):
        if v.shape[0] == 1:
            return v
        s, d = (v[::2] + v[1::2]) / jnp.sqrt(2.0), (v[::2] - v[1::2]) / jnp.sqrt(2.0)
        d = jnp.where(jnp.abs(d) > threshold, d - jnp.sign(d) * threshold, 0.0)
        s = go(s)
        return jnp.stack([(s + d) / jnp.sqrt(2.0), (s - d) / jnp.sqrt(2.0)], axis=1).reshape(-1)

    return go(x)


@program(
    args=lambda: (rng(18).normal(size=16), 0.35),
    wrt=("x", "threshold"),
    jax=haar_denoise_jax,
    tags=("signal", "in-place", "masks", "strided-slices", "array-result"),
)
def haar_denoise(x, threshold):
    """Haar transform in place, soft threshold by masks, and back."""
    w = x.copy()
    n = len(w)
    root2 = np.sqrt(2)
    while n > 1:
        even, odd = w[:n:2].copy(), w[1:n:2].copy()
        w[: n // 2] = (even + odd) / root2
        w[n // 2 : n] = (even - odd) / root2
        n //= 2
    detail = w[1:]
    detail[np.abs(detail) <= threshold] = 0.0
    big = np.abs(detail) > threshold
    detail[big] -= np.sign(detail[big]) * threshold
    while n < len(w):
        s, d = w[:n].copy(), w[n : 2 * n].copy()
        w[0 : 2 * n : 2] = (s + d) / root2
        w[1 : 2 * n : 2] = (s - d) / root2
        n *= 2
    return w


def envelope_follower_jax(x, attack, release):
    import jax
    import jax.numpy as jnp

    def body(env, v):
        level = jnp.abs(v)
        rate = jnp.where(level > env, attack, release)
        env = rate * env + (1 - rate) * level
        gain = jnp.where(env > 0.5, (0.5 / jnp.where(env > 0.5, env, 1.0)) ** 0.5, 1.0)
        return env, v * gain

    return jax.lax.scan(body, 0.0 * x[0], x)[1]


@program(
    args=lambda: (rng(19).normal(size=14), 0.3, 0.8),
    wrt=("x", "attack", "release"),
    jax=envelope_follower_jax,
    tags=("signal", "branches", "conditional-expression", "array-result"),
)
def compressor(x, attack, release):
    """An audio compressor: envelope with attack and release, gain reduction above a threshold."""
    env = 0.0
    out = np.zeros(len(x))
    for i in range(len(x)):
        level = abs(x[i])
        rate = attack if level > env else release
        env = rate * env + (1 - rate) * level
        gain = (0.5 / env) ** 0.5 if env > 0.5 else 1.0
        out[i] = x[i] * gain
    return out


def logsumexp(v):
    top = np.max(v)
    return top + np.log(np.sum(np.exp(v - top)))


def hmm_forward_jax(log_start, log_trans, means, obs):
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp as lse

    log_trans = log_trans - lse(log_trans, axis=1, keepdims=True)
    alpha = log_start - 0.5 * (obs[0] - means) ** 2
    for y in obs[1:]:
        alpha = lse(alpha[:, None] + log_trans, axis=0) - 0.5 * (y - means) ** 2
    return lse(alpha) + 0.0 * jnp.sum(means)


@program(
    args=lambda: (
        np.log([0.5, 0.3, 0.2]),
        rng(20).normal(size=(3, 3)),
        np.array([-1.0, 0.2, 1.5]),
        rng(21).normal(size=6),
    ),
    wrt=("log_start", "log_trans", "means", "obs"),
    jax=hmm_forward_jax,
    tags=("hmm", "helper", "log-space"),
)
def hmm_forward(log_start, log_trans, means, obs):
    k = len(means)
    rows = np.zeros((k, k))
    for i in range(k):
        rows[i] = log_trans[i] - logsumexp(log_trans[i])
    alpha = log_start - 0.5 * (obs[0] - means) ** 2
    for t in range(1, len(obs)):
        new = np.empty(k)
        for j in range(k):
            new[j] = logsumexp(alpha + rows[:, j]) - 0.5 * (obs[t] - means[j]) ** 2
        alpha = new
    return logsumexp(alpha)


def hmm_posterior_jax(start, trans, emit, obs):
    import jax.numpy as jnp

    n = len(obs)
    alpha = [start * emit[:, obs[0]]]
    for t in range(1, n):
        alpha.append((alpha[-1] @ trans) * emit[:, obs[t]])
    beta = [jnp.ones_like(start)]
    for t in range(n - 1, 0, -1):
        beta.insert(0, trans @ (emit[:, obs[t]] * beta[0]))
    post = jnp.stack(alpha) * jnp.stack(beta)
    return post / post.sum(axis=1, keepdims=True)


@program(
    args=lambda: (
        np.array([0.6, 0.4]),
        np.array([[0.7, 0.3], [0.2, 0.8]]),
        np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]),
        np.array([0, 1, 2, 2, 1, 0, 2]),
    ),
    wrt=("start", "trans", "emit"),
    jax=hmm_posterior_jax,
    tags=("hmm", "integer-data", "keepdims", "array-result"),
)
def hmm_posterior(start, trans, emit, obs):
    """Scaled forward-backward; posterior state probabilities."""
    n, k = len(obs), len(start)
    alpha, beta, scale = np.zeros((n, k)), np.ones((n, k)), np.zeros(n)
    for t in range(n):
        prior = start if t == 0 else alpha[t - 1] @ trans
        alpha[t] = prior * emit[:, obs[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    for t in reversed(range(n - 1)):
        beta[t] = trans @ (emit[:, obs[t + 1]] * beta[t + 1]) / scale[t + 1]
    gamma = alpha * beta
    return gamma / gamma.sum(axis=1, keepdims=True)


def viterbi_jax(log_trans, scores):
    import jax.numpy as jnp

    v = scores[0]
    for row in scores[1:]:
        v = jnp.max(v[:, None] + log_trans, axis=0) + row
    return jnp.max(v)


@program(
    args=lambda: (rng(22).normal(size=(3, 3)), rng(23).normal(size=(6, 3))),
    wrt=("log_trans", "scores"),
    jax=viterbi_jax,
    tags=("dynamic-programming", "argmax", "backtrace"),
)
def viterbi(log_trans, scores):
    """Score of the best path, summed again along the path that was traced back."""
    n, k = scores.shape
    value = scores[0].copy()
    back = np.zeros((n, k), dtype=np.int64)
    for t in range(1, n):
        new = np.zeros(k)
        for j in range(k):
            best = np.argmax(value + log_trans[:, j])
            back[t, j] = best
            new[j] = value[best] + log_trans[best, j] + scores[t, j]
        value = new
    path = [int(np.argmax(value))]
    for t in range(n - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    path = path[::-1]
    total = scores[0, path[0]]
    for t in range(1, n):
        total += log_trans[path[t - 1], path[t]] + scores[t, path[t]]
    return total


def soft_edit_distance_jax(cost, gap, temperature):
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp as lse

    n, m = cost.shape
    d = [[j * gap for j in range(m + 1)]]
    for i in range(1, n + 1):
        row = [i * gap]
        for j in range(1, m + 1):
            choices = jnp.stack([d[i - 1][j] + gap, row[j - 1] + gap, d[i - 1][j - 1] + cost[i - 1, j - 1]])
            row.append(-temperature * lse(-choices / temperature))
        d.append(row)
    return d[n][m]


@program(
    args=lambda: (rng(24).uniform(0, 2, (4, 5)), 0.8, 0.5),
    wrt=("cost", "gap", "temperature"),
    jax=soft_edit_distance_jax,
    tags=("dynamic-programming", "math", "nested-helper"),
)
def soft_edit_distance(cost, gap, temperature):
    def softmin(a, b, c):
        low = min(a, b, c)
        s = math.exp((low - a) / temperature) + math.exp((low - b) / temperature) + math.exp((low - c) / temperature)
        return low - temperature * math.log(s)

    n, m = cost.shape
    d = np.zeros((n + 1, m + 1))
    d[:, 0] = gap * np.arange(n + 1)
    d[0, :] = gap * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d[i, j] = softmin(d[i - 1, j] + gap, d[i, j - 1] + gap, d[i - 1, j - 1] + cost[i - 1, j - 1])
    return d[n, m]


def dtw_jax(x, y):
    import jax.numpy as jnp

    n, m = x.shape[0], y.shape[0]
    d = {(-1, -1): 0.0}
    for i in range(n):
        for j in range(m):
            before = [d[k] for k in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if k in d]
            d[i, j] = jnp.min(jnp.stack([jnp.asarray(b) for b in before])) + (x[i] - y[j]) ** 2
    return jnp.sqrt(d[n - 1, m - 1])


@program(
    args=lambda: (rng(25).normal(size=6), rng(26).normal(size=7)),
    wrt=("x", "y"),
    jax=dtw_jax,
    tags=("dynamic-programming", "min", "infinity"),
)
def dtw(x, y):
    """Dynamic time warping; the table starts at infinity."""
    n, m = len(x), len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d[i, j] = (x[i - 1] - y[j - 1]) ** 2 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return np.sqrt(d[n, m])


def smooth_knapsack_jax(values, weights, capacity, temperature):
    import jax.numpy as jnp

    best = [jnp.zeros(()) for _ in range(capacity + 1)]
    for v, w in zip(values, weights, strict=True):
        for c in range(capacity, int(w) - 1, -1):
            best[c] = temperature * jnp.logaddexp(best[c] / temperature, (best[c - int(w)] + v) / temperature)
    return best[capacity]


@program(
    args=lambda: (np.array([3.0, 4.1, 5.2, 6.3]), np.array([2, 3, 4, 5]), 8, 0.7),
    wrt=("values", "temperature"),
    jax=smooth_knapsack_jax,
    tags=("dynamic-programming", "in-place", "step-minus-one", "integer-data", "zip"),
)
def smooth_knapsack(values, weights, capacity, temperature):
    """0/1 knapsack with a soft maximum; one row, overwritten from the right."""
    best = np.zeros(capacity + 1)
    for v, w in zip(values, weights):
        for c in range(capacity, w - 1, -1):
            best[c] = temperature * np.logaddexp(best[c] / temperature, (best[c - w] + v) / temperature)
    return best[capacity]


def matrix_chain_jax(dims):
    import jax.numpy as jnp

    n = dims.shape[0] - 1
    cost = {(i, i): 0.0 for i in range(n)}
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            ways = [cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1] for k in range(i, j)]
            cost[i, j] = jnp.min(jnp.stack(ways))
    return cost[0, n - 1]


@program(
    args=lambda: (np.array([3.1, 5.3, 2.2, 6.7, 4.5, 1.8]),),
    wrt=("dims",),
    jax=matrix_chain_jax,
    tags=("dynamic-programming", "triangular", "none-start"),
)
def matrix_chain(dims):
    n = len(dims) - 1
    cost = np.zeros((n, n))
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            best = None
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if best is None or c < best:
                    best = c
            cost[i, j] = best
    return cost[0, n - 1]


def needleman_wunsch_jax(a, b, match, mismatch, gap):
    import jax.numpy as jnp

    prev = [j * gap for j in range(len(b) + 1)]
    for i, ca in enumerate(a):
        row = [(i + 1) * gap]
        for j, cb in enumerate(b):
            s = match if ca == cb else mismatch
            row.append(jnp.maximum(jnp.maximum(prev[j] + s, prev[j + 1] + gap), row[j] + gap))
        prev = row
    return prev[-1]


@program(
    args=lambda: ("GATTACA", "GCATGCA", 1.03, -0.71, -1.17),
    wrt=("match", "mismatch", "gap"),
    jax=needleman_wunsch_jax,
    tags=("dynamic-programming", "strings", "list-rows"),
)
def needleman_wunsch(a, b, match, mismatch, gap):
    """Alignment score of two strings."""
    previous = [j * gap for j in range(len(b) + 1)]
    for i, ca in enumerate(a):
        current = [(i + 1) * gap]
        for j, cb in enumerate(b):
            score = match if ca == cb else mismatch
            current.append(max(previous[j] + score, previous[j + 1] + gap, current[j] + gap))
        previous = current
    return previous[-1]


def ctc_jax(logits, labels, blank=0):
    import jax.numpy as jnp
    from jax.nn import softmax

    p = softmax(logits, axis=1)
    ext = [blank]
    for label in labels:
        ext += [int(label), blank]
    n = len(ext)
    a = [p[0, ext[s]] if s < 2 else 0.0 for s in range(n)]
    for t in range(1, p.shape[0]):
        new = []
        for s in range(n):
            total = a[s] + (a[s - 1] if s > 0 else 0.0)
            if s > 1 and ext[s] != blank and ext[s] != ext[s - 2]:
                total = total + a[s - 2]
            new.append(total * p[t, ext[s]])
        a = new
    return -jnp.log(a[-1] + a[-2])


@program(
    args=lambda: (rng(27).normal(size=(5, 4)), np.array([1, 3, 3])),
    wrt=("logits",),
    jax=ctc_jax,
    tags=("dynamic-programming", "integer-data", "conditions", "keepdims"),
)
def ctc_loss(logits, labels, blank=0):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    ext = np.full(2 * len(labels) + 1, blank)
    ext[1::2] = labels
    T, S = logits.shape[0], len(ext)
    alpha = np.zeros((T, S))
    alpha[0, 0] = p[0, blank]
    alpha[0, 1] = p[0, ext[1]]
    for t in range(1, T):
        for s in range(S):
            alpha[t, s] = alpha[t - 1, s]
            if s > 0:
                alpha[t, s] += alpha[t - 1, s - 1]
            if s > 1 and ext[s] != blank and ext[s] != ext[s - 2]:
                alpha[t, s] += alpha[t - 1, s - 2]
            alpha[t, s] *= p[t, ext[s]]
    return -np.log(alpha[-1, -1] + alpha[-1, -2])


def value_iteration_jax(reward, logits, gamma, sweeps):
    import jax.numpy as jnp
    from jax.nn import softmax

    p = softmax(logits, axis=-1)
    v = jnp.zeros(reward.shape[0])
    for _ in range(sweeps):
        v = jnp.max(reward + gamma * p @ v, axis=1)
    return v


@program(
    args=lambda: (rng(28).normal(size=(3, 2)), rng(29).normal(size=(3, 2, 3)), 0.8, 12),
    wrt=("reward", "logits", "gamma"),
    jax=value_iteration_jax,
    tags=("dynamic-programming", "3d-array", "max-axis", "array-result"),
)
def value_iteration(reward, logits, gamma, sweeps):
    """Bellman's equation for a small Markov decision process."""
    p = np.exp(logits)
    p /= p.sum(axis=-1, keepdims=True)
    v = np.zeros(reward.shape[0])
    for _ in range(sweeps):
        q = reward + gamma * (p @ v)
        v = q.max(axis=1)
    return v


def floyd_warshall_jax(w):
    import jax.numpy as jnp

    d = w * (1 - jnp.eye(w.shape[0]))
    for k in range(w.shape[0]):
        d = jnp.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d.sum()


@program(
    args=lambda: (rng(30).uniform(0.2, 3.0, (5, 5)),),
    wrt=("w",),
    jax=floyd_warshall_jax,
    tags=("dynamic-programming", "graph", "in-place", "diagonal"),
)
def floyd_warshall(w):
    """Sum of all shortest paths, relaxing the matrix in place."""
    d = w.copy()
    n = len(d)
    d[np.arange(n), np.arange(n)] = 0.0
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j]:
                    d[i, j] = through
    return d.sum()


def rna_partition_jax(pair_energy, sequence, kt):
    import jax.numpy as jnp

    allowed = {("A", "U"), ("U", "A"), ("G", "C"), ("C", "G")}
    n = len(sequence)
    z = {}

    def get(i, j):
        return z.get((i, j), 1.0)

    for span in range(n):
        for i in range(n - span):
            j = i + span
            total = get(i, j - 1)
            for k in range(i, j - 2):
                if (sequence[k], sequence[j]) in allowed:
                    e = pair_energy["GC" if "G" in (sequence[k], sequence[j]) else "AU"]
                    total = total + get(i, k - 1) * get(k + 1, j - 1) * jnp.exp(-e / kt)
            z[i, j] = total
    return jnp.log(z[0, n - 1])


@program(
    args=lambda: ({"AU": -0.9, "GC": -1.6}, "GGAUCUAACC", 0.8),
    wrt=("pair_energy", "kt"),
    jax=rna_partition_jax,
    tags=("dynamic-programming", "strings", "dict", "biology"),
)
def rna_partition(pair_energy, sequence, kt):
    """McCaskill's partition function of secondary structures, without stacking."""
    n = len(sequence)
    z = np.ones((n + 1, n + 1))  # z[i, j]: subsequence i..j-1

    def boltzmann(a, b):
        if a + b in ("AU", "UA"):
            return np.exp(-pair_energy["AU"] / kt)
        elif a + b in ("GC", "CG"):
            return np.exp(-pair_energy["GC"] / kt)
        return 0.0

    for span in range(1, n + 1):
        for i in range(n - span + 1):
            j = i + span
            total = z[i, j - 1]
            for k in range(i, j - 3):
                total += z[i, k] * z[k + 1, j - 1] * boltzmann(sequence[k], sequence[j - 1])
            z[i, j] = total
    return np.log(z[0, n])


def inside_algorithm_jax(rules, lexical, words):
    import jax.numpy as jnp

    n = len(words)
    chart = {(i, i + 1): lexical[:, w] for i, w in enumerate(words)}
    for span in range(2, n + 1):
        for i in range(n - span + 1):
            j = i + span
            chart[i, j] = sum(
                jnp.einsum("abc,b,c->a", jnp.exp(rules), chart[i, k], chart[k, j]) for k in range(i + 1, j)
            )
    return jnp.log(chart[0, n][0])


@program(
    args=lambda: (rng(31).normal(size=(2, 2, 2)) - 1, rng(32).uniform(0.1, 1, (2, 3)), (0, 2, 1, 1)),
    wrt=("rules", "lexical"),
    jax=inside_algorithm_jax,
    tags=("dynamic-programming", "4d-loops", "3d-array", "tuple-argument"),
)
def inside_algorithm(rules, lexical, words):
    """Probability of a sentence under a context-free grammar (CKY)."""
    n, nt = len(words), rules.shape[0]
    chart = np.zeros((n, n + 1, nt))
    for i, word in enumerate(words):
        chart[i, i + 1, :] = lexical[:, word]
    prob = np.exp(rules)
    for span in range(2, n + 1):
        for i in range(n - span + 1):
            j = i + span
            for k in range(i + 1, j):
                for a in range(nt):
                    for b in range(nt):
                        for c in range(nt):
                            chart[i, j, a] += prob[a, b, c] * chart[i, k, b] * chart[k, j, c]
    return np.log(chart[0, n, 0])
