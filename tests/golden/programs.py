"""Programs whose printed derivatives are read: loops, branches, memory, helpers, trees; each with arguments."""

from dataclasses import dataclass

import numpy as np


def smooth(u, k, n):
    u = u.copy()
    for t in range(n):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * np.sin(u[i - 1]) * u[i + 1]
    return np.sum(u * u)


def horner(c, x):
    y = 0.0
    for a in c:
        y = y * x + a
    return y


def oscillator(x, v, omega, dt, n):
    for _ in range(n):
        v -= dt * omega**2 * x
        x += dt * v
    return 0.5 * v**2 + 0.5 * omega**2 * x**2


def square_root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def huber(r, delta):
    total = 0.0
    for e in r:
        if abs(e) <= delta:
            total += 0.5 * e * e
        else:
            total += delta * (abs(e) - 0.5 * delta)
    return total


def heat(u, alpha, n):
    for _ in range(n):
        u = u[1:-1] + alpha * (u[2:] - 2 * u[1:-1] + u[:-2]) if u.size > 2 else u
    return np.sum(u**2)


def diffusion(u, alpha, n):
    u = u.copy()
    for _ in range(n):
        u[1:-1] += alpha * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def trapezoid(f, h):
    return h * (np.sum(f) - 0.5 * (f[0] + f[-1]))


def rk4(y, k, dt, n):
    def slope(y):
        return -k * y * (1 - y)

    for _ in range(n):
        k1 = slope(y)
        k2 = slope(y + dt / 2 * k1)
        k3 = slope(y + dt / 2 * k2)
        k4 = slope(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def kalman(z, q, r):
    x, p, loss = 0.0, 1.0, 0.0
    for k in range(z.size):
        p = p + q
        s = p + r
        e = z[k] - x
        loss += e * e / s + np.log(s)
        gain = p / s
        x += gain * e
        p *= 1 - gain
    return loss


@dataclass
class Layer:
    W: np.ndarray
    b: np.ndarray


def network(layers, x, y):
    for layer in layers[:-1]:
        x = np.tanh(layer.W @ x + layer.b)
    last = layers[-1]
    return np.sum((last.W @ x + last.b - y) ** 2)


def regression(params, x, y):
    return np.mean((x @ params["w"] + params["b"] - y) ** 2)


def softmax_loss(z, k):
    p = np.exp(z - np.max(z))
    return -np.log(p[k] / np.sum(p))


def distances(x, y):
    d = x[:, None] - y
    return np.sum(np.sqrt(1 + d * d))


def area(x, y):
    a = 0.0
    for i in range(x.size):
        a += x[i - 1] * y[i] - x[i] * y[i - 1]
    return 0.5 * a


def thomas(a, b, c, d):
    n = d.size
    b, d = b.copy(), d.copy()
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return np.sum(x**2)


def compound(rates):
    wealth = 1.0
    for k in range(rates.size):
        wealth *= 1 + rates[k]
    return wealth


def quadratic(x, A):
    return x @ A @ x


U = np.linspace(0.1, 1.0, 8)
W = np.ones((3, 3))
CASES = {
    "smooth": ((U, 0.1, 3), ("u", "k")),
    "horner": ((U, 0.5), ("c", "x")),
    "oscillator": ((1.0, 0.0, 2.0, 0.01, 10), ("x", "v", "omega")),
    "square_root": ((2.0,), ("a",)),
    "huber": ((U, 0.5), ("r", "delta")),
    "heat": ((U, 0.1, 2), ("u", "alpha")),
    "diffusion": ((U, 0.1, 3), ("u", "alpha")),
    "trapezoid": ((U, 0.1), ("f", "h")),
    "rk4": ((0.3, 2.0, 0.1, 4), ("y", "k")),
    "kalman": ((U, 0.1, 0.2), ("q", "r")),
    "network": (((Layer(W, U[:3]), Layer(W, U[:3])), U[:3], U[:3]), ("layers",)),
    "regression": (({"w": U[:3], "b": 0.5}, W, U[:3]), ("params",)),
    "softmax_loss": ((U, 2), ("z",)),
    "distances": ((U, U[:4]), ("x", "y")),
    "area": ((U, U[::-1].copy()), ("x", "y")),
    "thomas": ((U, U + 2, U, U), ("a", "b", "c", "d")),
    "compound": ((U,), ("rates",)),
    "quadratic": ((U[:3], W), ("x", "A")),
}
