"""Values and gradients of the formulae as one writes them by hand."""

import math

import numpy as np

def logistic(t, k, t0):
    u = t - t0
    e = np.exp(-k * u)
    y = 1 / (1 + e)
    g = y * y * e
    t_bar = g * k
    return y, t_bar, g * u, -t_bar
def softplus(x):
    e = np.exp(x)
    return np.log(1 + e), e / (1 + e)
def black_scholes(s, k, r, sigma, t):
    root = np.sqrt(t)
    sd = sigma * root
    d1 = (np.log(s / k) + (r + sigma**2 / 2) * t) / sd
    d2 = d1 - sd
    n1 = 0.5 * (1 + math.erf(d1 / 1.4142135623730951))
    n2 = 0.5 * (1 + math.erf(d2 / 1.4142135623730951))
    disc = np.exp(-r * t)
    kd = k * disc
    vega = s * root * 0.3989422804014327 * np.exp(-d1 * d1 / 2)
    q = kd * n2
    return s * n1 - q, n1, -disc * n2, q * t, vega, vega * sigma / (2 * t) + r * q
def lennard_jones(r, epsilon, sigma):
    q = (sigma / r)**6
    w = q * q - q
    e4 = 4 * epsilon
    d = e4 * (12 * q * q - 6 * q)
    return e4 * w, -d / r, 4 * w, d / sigma
def rosenbrock(x, y):
    u = 1 - x
    v = y - x**2
    y_bar = 200 * v
    return u**2 + 100 * v**2, -2 * u - y_bar * (2 * x), y_bar
def sir_step(s, i, beta, gamma):
    bs = beta * s
    new = bs * i
    return i + new - gamma * i, beta * i, 1 + bs - gamma, s * i, -i
def michaelis_menten(s, vmax, km):
    q = 1 / (km + s)
    w = s * q
    y = vmax * w
    km_bar = -y * q
    return y, vmax * q + km_bar, w, km_bar
def arrhenius(a, ea, t):
    b = 8.314 * t
    q = ea / b
    e = np.exp(-q)
    y = a * e
    return y, e, -y / b, y * q / t
def lens(f, u):
    p = 1 / f
    q = 1 / u
    y = 1 / (p - q)
    return y, (y * p)**2, -(y * q)**2
def gaussian(x, mu, sigma):
    z = (x - mu) / sigma
    y = np.exp(-z * z / 2) / (sigma * 2.5066282746310002)
    mu_bar = y * z / sigma
    return y, -mu_bar, mu_bar, y * (z * z - 1) / sigma
def planck(nu, t):
    e = np.exp(nu / t)
    q = 1 / (e - 1)
    n2 = 2 * nu**2
    y = n2 * nu * q
    d = y * q * e / t
    return y, 3 * n2 * q - d, d * nu / t
def kepler(e, m, ecc):
    s = np.sin(e)
    return e - ecc * s - m, 1 - ecc * np.cos(e), -1.0, -s
def van_der_waals(n, v, t, a, b):
    w = v - n * b
    k = 8.314 / w
    p = n * k
    pt = p * t
    q = n / v
    s = q * q
    y = a * s
    g = pt / w
    return pt - y, k * t + g * b - 2 * a * q / v, 2 * y / v - g, p, -s, g * n
def haversine(lat1, lon1, lat2, lon2):
    p = (lat2 - lat1) / 2
    q = (lon2 - lon1) / 2
    sp = np.sin(p)
    sq = np.sin(q)
    c1 = np.cos(lat1)
    c2 = np.cos(lat2)
    s2 = sq * sq
    c12 = c1 * c2
    h = sp * sp + c12 * s2
    g = 6371 / np.sqrt(h * (1 - h))
    a = g * sp * np.cos(p)
    b = g * s2
    l = g * c12 * sq * np.cos(q)
    return 12742 * np.arcsin(np.sqrt(h)), -a - b * c2 * np.sin(lat1), -l, a - b * c1 * np.sin(lat2), l
def hill(x, k, n):
    p = x**n
    q = k**n
    s = 1 / (q + p)
    y = p * s
    w = y * q * s
    nw = n * w
    return y, nw / x, -nw / k, w * (np.log(x) - np.log(k))
def morse(r, d, a, r0):
    u = r - r0
    e = np.exp(-a * u)
    w = 1 - e
    w2 = w**2
    g = 2 * d * w * e
    r_bar = g * a
    return d * w2, r_bar, w2, g * u, -r_bar
def nernst(co, ci, t, z):
    k = 8.314 * t / (z * 96485.0)
    l = np.log(co / ci)
    y = k * l
    return y, k / co, -k / ci, y / t, -y / z
def damped(t, a, gamma, omega, phi):
    e = np.exp(-gamma * t)
    p = omega * t + phi
    c = np.cos(p)
    ae = a * e
    y = ae * c
    phi_bar = -ae * np.sin(p)
    return y, phi_bar * omega - gamma * y, e * c, -t * y, phi_bar * t, phi_bar
def cross_entropy(p, y):
    lp = np.log(p)
    lq = np.log(1 - p)
    z = 1 - y
    return -(y * lp + z * lq), z / (1 - p) - y / p, lq - lp
def mse(w, b, x, y):
    r = w * x + b - y
    g = 0.5 * r
    return np.mean(r**2), np.sum(g * x), np.sum(g)
def logsumexp(x):
    e = np.exp(x)
    s = np.sum(e)
    return np.log(s), e / s
def ridge(w, x, y, lam):
    r = x @ w - y
    return np.sum(r**2) + lam * np.sum(w**2), x.T @ (2 * r) + 2 * lam * w
