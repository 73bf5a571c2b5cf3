"""Tune an optimiser by the derivative of what it arrives at: hypergradients through 1000 steps of momentum descent.

A network of one hidden layer learns a curve from 40 noisy points; its loss on 200 other points, after 1000 steps, is a
function of the logarithms of the learning rate and of the decay of the weights, and of 1 - momentum. diffjit
differentiates it through all steps, each of which takes a gradient itself, and SciPy's optimiser follows.

Run it with `python examples/learning_rate.py`. It prints a table and saves `learning_rate.png` beside this file.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize

import diffjit as dj

HERE = Path(__file__).parent
STEPS, HIDDEN = 1000, 20


def curve(x):
    """What is learnt."""
    return np.sin(5.0 * x) + 0.5 * x


def network(w, x):
    """One hidden layer; the weights are the rows of w."""
    return np.tanh(np.outer(x, w[0]) + w[1]) @ w[2]


def training_loss(w, x, y, decay):
    """Mean square of the errors, and the weights held small."""
    return np.mean((network(w, x) - y) ** 2) + decay * np.mean(w**2)


def trained(settings, w, x, y):
    """The weights after all steps; settings are the logarithms of the rate, the decay and 1 - momentum."""
    rate, decay, friction = np.exp(settings)
    speed = np.zeros_like(w)
    for _ in range(STEPS):
        speed = (1.0 - friction) * speed - rate * dj.grad(training_loss)(w, x, y, decay)
        w = w + speed
    return w


def validation_loss(settings, w, x, y, x_new, y_new):
    """Mean square of the errors on other points."""
    return np.mean((network(trained(settings, w, x, y), x_new) - y_new) ** 2)


def plot(data, start, fit, path):
    """Save a figure of the loss along the learning rate with its slopes, and of the curves that were learnt."""
    w, x, y = data[:3]
    loss, both = dj.jit(validation_loss), dj.value_and_grad(validation_loss)
    rates = np.log(np.geomspace(0.001, 0.1, 60))
    line = np.linspace(-1.0, 1.0, 200)
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(6.2, 2.7), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(
            np.exp(rates), [loss(np.array([r, *start[1:]]), *data) for r in rates], color="#1f4e79", linewidth=1.2
        )
        for k, r in enumerate(rates[5::9]):
            value, slope = both(np.array([r, *start[1:]]), *data)
            near = r + np.array([-0.25, 0.25])
            label = "slopes by diffjit" if k == 0 else None
            left.plot(np.exp(near), value + slope[0] * (near - r), color="#c0672f", linewidth=1.2, label=label)
        left.set_xscale("log")
        left.set_xlabel("Learning rate")
        left.set_ylabel("Validation loss after 1000 steps")
        left.legend(frameon=False)
        right.plot(x, y, "o", color="black", markersize=3, label="training data")
        right.plot(line, curve(line), color="0.6", linewidth=0.8, label="truth")
        right.plot(
            line, network(trained(start, w, x, y), line), "--", color="#c0672f", linewidth=1.2, label="at the start"
        )
        right.plot(line, network(trained(fit, w, x, y), line), color="#1f4e79", linewidth=1.2, label="tuned")
        right.set_xlabel("x")
        right.set_ylabel("y")
        right.set_ylim(-1.6, 2.2)
        right.legend(frameon=False, loc="upper center", ncols=2)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=200)


def main():
    """Tune, print the table, save the figure."""
    rng = np.random.default_rng(1)
    x, x_new = rng.uniform(-1.0, 1.0, 40), rng.uniform(-1.0, 1.0, 200)
    y, y_new = curve(x) + 0.2 * rng.standard_normal(40), curve(x_new) + 0.2 * rng.standard_normal(200)
    w = np.stack([rng.standard_normal(HIDDEN), rng.standard_normal(HIDDEN), rng.standard_normal(HIDDEN) / HIDDEN])
    data = w, x, y, x_new, y_new

    start = np.log([0.003, 1e-3, 0.1])
    bounds = [(np.log(1e-3), np.log(0.3)), (np.log(1e-6), np.log(1.0)), (np.log(0.02), np.log(0.9))]
    fit = minimize(
        dj.value_and_grad(validation_loss), start, args=data, jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 30},
    )  # fmt: skip

    print(f"{'':20}{'start':>10}{'tuned':>10}")
    for name, before, after in zip(("learning rate", "weight decay", "friction"), start, fit.x, strict=True):
        print(f"{name:20}{np.exp(before):10.4g}{np.exp(after):10.4g}")
    print(f"{'validation loss':20}{validation_loss(start, *data):10.4g}{fit.fun:10.4g}")
    print(f"\n{fit.nfev} gradients through {STEPS} steps each; the noise alone has a loss of {0.2**2:.3g}")

    path = HERE / "learning_rate.png"
    plot(data, start, fit.x, path)
    print(f"Figure saved as {path}")


if __name__ == "__main__":
    main()
