"""Twenty-two formulae of textbooks, and a point of each."""

import math

import numpy as np

def logistic(t, k, t0):
    return 1 / (1 + np.exp(-k * (t - t0)))

def softplus(x):
    return np.log(1 + np.exp(x))

def black_scholes(s, k, r, sigma, t):
    d1 = (np.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * np.sqrt(t))
    d2 = d1 - sigma * np.sqrt(t)
    return s * 0.5 * (1 + math.erf(d1 / math.sqrt(2))) - k * np.exp(-r * t) * 0.5 * (1 + math.erf(d2 / math.sqrt(2)))

def lennard_jones(r, epsilon, sigma):
    return 4 * epsilon * ((sigma / r)**12 - (sigma / r)**6)

def rosenbrock(x, y):
    return (1 - x)**2 + 100 * (y - x**2)**2

def sir_step(s, i, beta, gamma):
    new = beta * s * i
    return i + new - gamma * i

def michaelis_menten(s, vmax, km):
    return vmax * s / (km + s)

def arrhenius(a, ea, t):
    return a * np.exp(-ea / (8.314 * t))

def lens(f, u):
    return 1 / (1 / f - 1 / u)

def gaussian(x, mu, sigma):
    return np.exp(-((x - mu)**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))

def planck(nu, t):
    return 2 * nu**3 / (np.exp(nu / t) - 1)

def kepler(e, m, ecc):
    return e - ecc * np.sin(e) - m

def van_der_waals(n, v, t, a, b):
    return n * 8.314 * t / (v - n * b) - a * n**2 / v**2

def haversine(lat1, lon1, lat2, lon2):
    h = np.sin((lat2 - lat1) / 2)**2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2)**2
    return 2 * 6371 * np.arcsin(np.sqrt(h))

def hill(x, k, n):
    return x**n / (k**n + x**n)

def morse(r, d, a, r0):
    return d * (1 - np.exp(-a * (r - r0)))**2

def nernst(co, ci, t, z):
    return 8.314 * t / (z * 96485.0) * np.log(co / ci)

def damped(t, a, gamma, omega, phi):
    return a * np.exp(-gamma * t) * np.cos(omega * t + phi)

def cross_entropy(p, y):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))

def mse(w, b, x, y):
    return np.mean((w * x + b - y)**2)

def logsumexp(x):
    return np.log(np.sum(np.exp(x)))

def ridge(w, x, y, lam):
    r = x @ w - y
    return np.sum(r**2) + lam * np.sum(w**2)


ONES = np.ones(4)
POINTS = {
    "logistic": (1.0, 2.0, 0.5), "softplus": (0.3,), "black_scholes": (100.0, 95.0, 0.05, 0.2, 0.5),
    "lennard_jones": (1.1, 0.5, 1.0), "rosenbrock": (0.5, 0.7), "sir_step": (0.9, 0.1, 0.5, 0.2),
    "michaelis_menten": (1.0, 2.0, 0.5), "arrhenius": (1e3, 5e3, 300.0), "lens": (0.1, 0.5),
    "gaussian": (0.3, 0.1, 0.7), "planck": (2.0, 1.5), "kepler": (1.0, 0.7, 0.3),
    "van_der_waals": (1.0, 2.0, 300.0, 0.1, 0.02), "haversine": (0.5, 0.2, 0.7, 0.9), "hill": (1.2, 0.8, 2.5),
    "morse": (1.2, 4.0, 1.5, 1.0), "nernst": (140.0, 10.0, 310.0, 1.0), "damped": (0.4, 1.0, 0.3, 2.0, 0.1),
    "cross_entropy": (0.3, 1.0), "mse": (0.5, 0.1, ONES, ONES), "logsumexp": (ONES,),
    "ridge": (ONES, np.ones((6, 4)), np.ones(6), 0.1),
}  # fmt: skip
ACTIVE = {"mse": (0, 1), "ridge": (0,)}  # the arguments of these that are differentiated; all of the others
