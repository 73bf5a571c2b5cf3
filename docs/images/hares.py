"""Draws docs/images/hares.png, the figure of `odeint`: hares and lynxes, and their sensitivity to a growth rate."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import diffjit as dj

P = np.array([0.48, 0.025, 0.028, 0.93])
T = np.linspace(0.0, 20.0, 401)


def rates(y, t, p):
    """Lotka and Volterra's equations, in thousands of animals."""
    hares, lynxes = y
    return [hares * (p[0] - p[1] * lynxes), lynxes * (p[2] * hares - p[3])]


def numbers(p):
    """Hares and lynxes along all times."""
    return dj.odeint(rates, np.array([30.0, 4.0]), T, p)


def main():
    """Draw the figure beside this file."""
    found, change = dj.jvp(numbers, (P,), (np.array([1.0, 0.0, 0.0, 0.0]),))
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(4.2, 3.6), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True)
        for k, (name, color) in enumerate((("hares", "#1b3a5c"), ("lynxes", "#c0672f"))):
            top.plot(T, found[:, k], color=color, label=name)
            bottom.plot(T, 0.01 * change[:, k], color=color)
        bottom.axhline(0.0, color="0.6", linewidth=0.6)
        top.set_ylabel("Thousands of animals")
        bottom.set_ylabel("Change for 0.01 per year\nof faster growth (thousands)")
        bottom.set_xlabel("Time (years)")
        bottom.set_xlim(0.0, 20.0)
        bottom.set_xticks(range(0, 21, 5))
        top.set_ylim(0.0, None)
        top.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.42, 1.0))
        for axes in (top, bottom):
            axes.spines[["top", "right"]].set_visible(False)
        figure.align_ylabels()
        figure.savefig(Path(__file__).with_suffix(".png"), dpi=200)


if __name__ == "__main__":
    main()
