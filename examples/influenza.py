"""Fit an epidemic model to the 1978 boarding-school influenza counts, with exact first and second derivatives.

The susceptible-infected-recovered model

    dS/dt = -beta S I / N,    dI/dt = beta S I / N - gamma I

is integrated by a Runge-Kutta loop and fitted by least squares to the number of boys in bed on each of 14 days. diffjit
differentiates the loop: the gradient and the Hessian of the sum of squares drive SciPy's optimiser, the Hessian at the
optimum gives the covariance of the parameters, and forward derivatives carry that covariance to the reproduction number
and along the fitted curve.

Run it with `python examples/influenza.py`. It prints a table and saves `influenza.png` beside this file.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.dates import DateFormatter, DayLocator
from matplotlib.figure import Figure
from scipy.optimize import minimize
from scipy.stats import t as student_t

import diffjit as dj

HERE = Path(__file__).parent
IN_BED = np.loadtxt(HERE / "influenza_1978.csv", delimiter=",", skiprows=4, usecols=1)
FIRST_DAY = np.datetime64("1978-01-22T00")
BOYS = 763.0
DAYS = IN_BED.size - 1
STEPS_PER_DAY = 24

QUANTITIES = (
    "transmission rate beta (1/day)",
    "recovery rate gamma (1/day)",
    "infected on 22 January",
    "mean infectious period (days)",
    "basic reproduction number R0",
)


def rates(s, i, beta, gamma):
    """Time derivatives of the susceptible and of the infected."""
    infections = beta * s * i / BOYS
    return -infections, infections - gamma * i


def epidemic(p):
    """The number of infected boys at every time step; `p` holds the logarithms of beta, gamma and I(0)."""
    beta, gamma, i = np.exp(p)
    s = BOYS - i
    h = 1.0 / STEPS_PER_DAY
    infected = np.empty(DAYS * STEPS_PER_DAY + 1)
    infected[0] = i
    for step in range(DAYS * STEPS_PER_DAY):
        s1, i1 = rates(s, i, beta, gamma)
        s2, i2 = rates(s + h / 2 * s1, i + h / 2 * i1, beta, gamma)
        s3, i3 = rates(s + h / 2 * s2, i + h / 2 * i2, beta, gamma)
        s4, i4 = rates(s + h * s3, i + h * i3, beta, gamma)
        s += h / 6 * (s1 + 2 * s2 + 2 * s3 + s4)
        i += h / 6 * (i1 + 2 * i2 + 2 * i3 + i4)
        infected[step + 1] = i
    return infected


def sum_of_squares(p):
    """Squared distance between the model, once a day, and the counts."""
    return np.sum((epidemic(p)[::STEPS_PER_DAY] - IN_BED) ** 2)


def quantities(p):
    """What the table reports, in the order of `QUANTITIES`."""
    beta, gamma, infected = np.exp(p)
    return np.array([beta, gamma, infected, 1.0 / gamma, beta / gamma])


def derivative(f, p):
    """Matrix of the derivatives of the vector f(p), one column for each parameter."""
    return np.column_stack([dj.jvp(f, (p,), (unit,))[1] for unit in np.eye(p.size)])


def hessian(p):
    """Second derivatives of the sum of squares: the derivative of its gradient."""
    return derivative(dj.grad(sum_of_squares), p)


def standard_errors(f, p, covariance):
    """Standard errors of f(p) by the delta method: square roots of the diagonal of J C J^T."""
    jacobian = derivative(f, p)
    return np.sqrt(np.sum(jacobian @ covariance * jacobian, axis=1))


def plot(p, covariance, path):
    """Save a figure of the counts, the fitted curve with its confidence band, and the residuals."""
    days = FIRST_DAY + 24 * np.arange(DAYS + 1)
    steps = FIRST_DAY + np.arange(DAYS * STEPS_PER_DAY + 1) * 24 // STEPS_PER_DAY
    curve = epidemic(p)
    half_width = student_t.ppf(0.975, IN_BED.size - p.size) * standard_errors(epidemic, p, covariance)
    residuals = IN_BED - curve[::STEPS_PER_DAY]

    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(4.5, 3.9), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
        top.plot(days, IN_BED, "o", color="black", markersize=3.5, label="boys in bed", zorder=3)
        top.plot(steps, curve, color="#1f4e79", linewidth=1.2, label="SIR model, least squares")
        top.fill_between(
            steps, curve - half_width, curve + half_width, color="#b9d0e6", linewidth=0, label="95 % confidence band"
        )
        top.set_ylabel("Number of boys")
        top.set_ylim(0, None)
        top.legend(frameon=False, loc="upper right")
        bottom.axhline(0.0, color="#1f4e79", linewidth=0.8)
        bottom.vlines(days, 0.0, residuals, color="black", linewidth=0.6)
        bottom.plot(days, residuals, "o", color="black", markersize=3)
        bottom.set_ylabel("Residual\n(boys)")
        bottom.set_ylim(-40, 40)
        bottom.set_xlabel("Date in 1978")
        bottom.xaxis.set_major_locator(DayLocator(bymonthday=(22, 24, 26, 28, 30, 1, 3)))
        bottom.xaxis.set_major_formatter(DateFormatter("%d %b"))
        for axes in (top, bottom):
            axes.spines[["top", "right"]].set_visible(False)
        figure.align_ylabels()
        figure.savefig(path, dpi=200)


def main():
    """Fit, print the table, save the figure."""
    guess = np.log([1.0, 0.3, 1.0])
    fit = minimize(dj.value_and_grad(sum_of_squares), guess, jac=True, hess=hessian, method="trust-exact")
    variance = fit.fun / (IN_BED.size - guess.size)
    covariance = 2.0 * variance * np.linalg.inv(hessian(fit.x))

    print(f"SIR model fitted to {IN_BED.size} daily counts by least squares. {fit.message}")
    print(f"{fit.nit} iterations, |gradient| {np.linalg.norm(fit.jac):.0e}, residual s.d. {variance**0.5:.1f} boys\n")
    print(f"{'':32}{'estimate':>10}{'std. error':>12}")
    errors = standard_errors(quantities, fit.x, covariance)
    for name, estimate, error in zip(QUANTITIES, quantities(fit.x), errors, strict=True):
        print(f"{name:32}{estimate:10.3f}{error:12.3f}")

    path = HERE / "influenza.png"
    plot(fit.x, covariance, path)
    print(f"\nFigure saved as {path}")


if __name__ == "__main__":
    main()
