"""Sweep the parameters of an epidemic, with the derivative of each outbreak: lanes that run as long as they have to.

The susceptible-infected-recovered model runs, for each pair of a contact rate and an infectious period, until the
outbreak is over: some lanes take a few hundred steps, others thousands. `vmap` of a gradient makes each a lane, which
has its own `while`, forward and on its way back. On a GPU each lane is a thread (`backend="cuda"`); without one,
the same program runs on all cores.

Run it with `python examples/epidemic_sweep.py`, or with `--lanes 1000000`. It prints a line and saves
`epidemic_sweep.png` beside this file.
"""

import argparse
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import diffjit as dj

HERE = Path(__file__).parent
BACKEND = "cuda" if any(device.kind == "cuda" for device in dj.devices()) else "numba"


def fallen_ill(contacts, days):
    """The part of a population that falls ill; contacts per day, days of infection (Euler steps of a quarter day)."""
    s, i = 0.999, 0.001
    while i > 1e-8:
        new = 0.25 * contacts * s * i
        s -= new
        i += new - 0.25 * i / days
    return 1.0 - s


def sweep(lanes):
    """Outcome of each lane, and its derivative by contacts: grids of contacts and days, then two arrays on them."""
    across = max(2, round(np.sqrt(1.5 * lanes)))
    down = max(2, round(lanes / across))
    contacts, days = np.meshgrid(np.linspace(0.12, 0.9, across), np.linspace(2.0, 9.0, down))
    each = dj.vmap(dj.value_and_grad(fallen_ill), backend=BACKEND)
    ill, slope = each(contacts.ravel(), days.ravel())
    return contacts, days, ill.reshape(contacts.shape), slope.reshape(contacts.shape)


def draw(contacts, days, ill, slope):
    """Both, as maps; where an infected person infects one other, the derivative is largest."""
    mpl.rcParams.update({"font.size": 9})
    figure = Figure(figsize=(8.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, z, title, colours in (
        (left, ill, "fallen ill, part of the population", "viridis"),
        (right, slope, "its derivative by contacts per day", "magma"),
    ):
        shown = axes.pcolormesh(contacts, days, z, cmap=colours, shading="auto", rasterized=True)
        figure.colorbar(shown, ax=axes)
        rate = np.linspace(contacts.min(), contacts.max(), 200)
        inside = (1 / rate >= days.min()) & (1 / rate <= days.max())
        axes.plot(rate[inside], 1 / rate[inside], color="white", linewidth=1, linestyle="--")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("contacts per day")
    left.set_ylabel("days of infection")
    left.annotate(
        "each infects one", (0.2, 5.0), (0.35, 7.7), color="white", arrowprops={"arrowstyle": "-", "color": "white"}
    )
    return figure


def main():
    """Sweep, tell, draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lanes", type=int, default=20_000)
    lanes = parser.parse_args().lanes
    sweep(64)  # compiles
    start = time.perf_counter()
    contacts, days, ill, slope = sweep(lanes)
    took = time.perf_counter() - start
    step = 1e-6
    k = np.unravel_index(np.argmax(slope), slope.shape)
    difference = (fallen_ill(contacts[k] + step, days[k]) - fallen_ill(contacts[k] - step, days[k])) / (2 * step)
    print(f"{ill.size} outbreaks and their derivatives with backend={BACKEND!r}: {took:.2f} s")
    print(
        f"steepest at {contacts[k]:.3f} contacts, {days[k]:.2f} days: {slope[k]:.4f} (by differences {difference:.4f})"
    )
    draw(contacts, days, ill, slope).savefig(HERE / "epidemic_sweep.png", dpi=150)


if __name__ == "__main__":
    main()
