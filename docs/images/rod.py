"""Draws docs/images/rod.png, the figure of the tour: the sensitivity of a probe along a heated rod."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import diffjit as dj


def probe(k, steps):
    """Temperature in the middle of the rod; k[i] is the conductivity between the points i and i + 1."""
    u = np.zeros(k.size + 1)
    u[0] = 1.0
    for _ in range(steps):
        flux = k * (u[1:] - u[:-1])
        u[1:-1] += flux[1:] - flux[:-1]
    return u[u.size // 2]


def main():
    """Draw the figure beside this file."""
    k = np.full(40, 0.4)
    position = (np.arange(40) + 0.5) / 40
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(4.2, 2.6), layout="constrained")
        axes = figure.subplots()
        axes.axhline(0.0, color="0.6", linewidth=0.6)
        axes.axvline(0.5, color="0.6", linewidth=0.6, linestyle=":")
        for steps, color in ((300, "#9dbddb"), (1000, "#4a80b5"), (3000, "#1b3a5c")):
            axes.step(position, dj.grad(probe)(k, steps), where="mid", color=color, label=f"{steps} steps")
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel("Position along the rod (fraction of its length)")
        axes.set_ylabel("Change of the reading\nper change of conductivity")
        axes.annotate("probe", (0.5, 0.055), xytext=(4, 0), textcoords="offset points")
        axes.legend(frameon=False, loc="upper right")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(Path(__file__).with_suffix(".png"), dpi=200)


if __name__ == "__main__":
    main()
