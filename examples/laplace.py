"""Laplace's approximation of a posterior: O-rings of the space shuttle, and the temperature at their launch.

For 23 launches before the last one of Challenger, S. R. Dalal, E. B. Fowlkes and B. Hoadley (Journal of the American
Statistical Association 84, 1989) list the temperature at the launch and whether O-rings were damaged. A logistic
regression with normal priors has no posterior in closed form. diffjit gives SciPy's optimiser the gradient and the
Hessian of its logarithm; the Hessian at the mode gives the covariance of the parameters, the marginal likelihood (with
and without the temperature), and the band of the probability of damage down to the 31 degrees Fahrenheit of the last
launch.

Run it with `python examples/laplace.py`. It prints a table and saves `laplace.png` beside this file.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import dblquad
from scipy.optimize import minimize
from scipy.stats import norm

import diffjit as dj

HERE = Path(__file__).parent
FAHRENHEIT = np.array([66, 70, 69, 68, 67, 72, 73, 70, 57, 63, 70, 78, 67, 53, 67, 75, 70, 81, 76, 79, 75, 76, 58.0])
DAMAGED = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1.0])
LAST_LAUNCH = 31.0
PRIOR = 5.0  # standard deviation of both parameters, for temperatures in tens of degrees from 70


def tens(fahrenheit):
    """Temperatures as the model takes them."""
    return (fahrenheit - 70.0) / 10.0


def log_odds(p, fahrenheit):
    """Of damage, at these temperatures; without a second parameter they do not matter."""
    return p[0] + (p[1] * tens(fahrenheit) if p.size > 1 else 0.0 * fahrenheit)


def minus_log_posterior(p):
    """Of the parameters, without the marginal likelihood: a sum over launches, and the priors."""
    z = log_odds(p, FAHRENHEIT)
    likelihood = np.sum(DAMAGED * z - np.logaddexp(0.0, z))
    prior = -0.5 * np.sum(p * p) / PRIOR**2 - p.size * np.log(PRIOR * np.sqrt(2.0 * np.pi))
    return -likelihood - prior


def approximation(size):
    """Mode and covariance of the parameters, and the logarithm of the marginal likelihood."""
    hessian = dj.hessian(minus_log_posterior)
    fit = minimize(
        dj.value_and_grad(minus_log_posterior), np.zeros(size), jac=True, hess=hessian, method="trust-exact"
    )  # fmt: skip
    curvature = hessian(fit.x)
    evidence = -fit.fun + 0.5 * size * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(curvature)[1]
    return fit.x, np.linalg.inv(curvature), evidence


def band(p, covariance, fahrenheit, level):
    """Quantiles of the probability of damage: the logarithm of the odds is normal, to this approximation."""
    slopes = dj.jacobian(log_odds)(p, fahrenheit)
    width = norm.ppf(0.5 + 0.5 * level) * np.sqrt(np.sum(slopes @ covariance * slopes, axis=1))
    z = log_odds(p, fahrenheit) + width * np.array([[-1.0], [0.0], [1.0]])
    return 1.0 / (1.0 + np.exp(-z))


def plot(p, covariance, path):
    """Save a figure of the launches, and of the probability with its band."""
    line = np.linspace(28.0, 84.0, 200)
    low, middle, high = band(p, covariance, line, 0.9)
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(4.5, 2.8), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(line, low, high, color="#b9d0e6", linewidth=0, label="90 % band")
        axes.plot(line, middle, color="#1f4e79", linewidth=1.2, label="probability of damage")
        launches = np.stack((FAHRENHEIT, DAMAGED), axis=1)  # those that are equal are drawn beside each other
        shift = 0.03 * np.array([np.sum(np.all(launches[:k] == launch, axis=1)) for k, launch in enumerate(launches)])
        axes.plot(FAHRENHEIT, DAMAGED * (1.0 - 2.0 * shift) + shift, "o", color="black", markersize=3, label="launches")
        axes.axvline(LAST_LAUNCH, color="#c0672f", linewidth=1.0, linestyle="--", label="the last launch")
        axes.set_xlabel("Temperature at the launch (°F)")
        axes.set_ylabel("Damage to O-rings")
        axes.set_xlim(28.0, 84.0)
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.08, 0.02))
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=200)


def main():
    """Fit, print the table, save the figure."""
    p, covariance, evidence = approximation(2)
    _, _, constant = approximation(1)
    exact = dblquad(lambda b, a: np.exp(-minus_log_posterior(np.array([a, b]))), -12.0, 8.0, -14.0, 6.0, epsabs=1e-13)[
        0
    ]
    low, middle, high = band(p, covariance, np.array([LAST_LAUNCH]), 0.9)[:, 0]

    print(f"{'':44}{'mode':>9}{'std. dev.':>11}")
    for name, mode, error in zip(("at 70 °F", "for 10 °F more"), p, np.sqrt(np.diag(covariance)), strict=True):
        print(f"{'logarithm of the odds ' + name:44}{mode:9.3f}{error:11.3f}")
    print(f"\n{'log marginal likelihood, by Laplace':44}{evidence:9.3f}")
    print(f"{'                         by quadrature':44}{np.log(exact):9.3f}")
    print(f"{'                         without temperature':44}{constant:9.3f}")
    print(f"\nProbability of damage at {LAST_LAUNCH:g} °F: {middle:.4f}, 90 % between {low:.3f} and {high:.5f}")

    path = HERE / "laplace.png"
    plot(p, covariance, path)
    print(f"Figure saved as {path}")


if __name__ == "__main__":
    main()
