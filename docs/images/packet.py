"""Draws docs/images/packet.png, the figure of the page on complex numbers: a wave packet runs against a barrier."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import diffjit as dj

N, LENGTH, DT = 256, 40.0, 0.02
X = (np.arange(N) - N // 2) * (LENGTH / N)
K = 2 * np.pi * np.fft.fftfreq(N, LENGTH / N)
PACKET = np.exp(-((X + 8.0) ** 2) / 4 + 2.5j * X)
PACKET /= np.sqrt(np.sum(np.abs(PACKET) ** 2) * (LENGTH / N))


def transmitted(v, steps):
    """Probability of finding the particle on the right."""
    psi = PACKET.copy()
    half, whole = np.exp(-0.5j * DT * v), np.exp(-0.5j * DT * K**2)
    for _ in range(steps):
        psi *= half
        psi[:] = np.fft.ifft(whole * np.fft.fft(psi))
        psi *= half
    return np.sum(np.abs(psi[N // 2 :]) ** 2) * (LENGTH / N)


def main():
    """Draw the figure beside this file."""
    v = 3.0 * np.exp(-(X**2))
    slope = dj.grad(transmitted)(v, 300) / (LENGTH / N)
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(4.2, 3.2), layout="constrained")
        above, below = figure.subplots(2, sharex=True)
        above.fill_between(X, np.abs(PACKET) ** 2, color="#9dbddb", linewidth=0)
        above.annotate("packet at the start", (-8, 0.42), ha="center")
        above.plot(X, v / 7, color="#1b3a5c")
        above.annotate("barrier", (1.3, 0.35), color="#1b3a5c")
        above.set_ylabel("Probability density")
        above.set_ylim(0.0, 0.5)
        below.axhline(0.0, color="0.6", linewidth=0.6)
        below.plot(X, slope, color="#4a80b5")
        below.set_ylabel("Change of transmission\nper change of potential")
        below.set_xlabel("Position")
        below.set_xlim(-14.0, 14.0)
        for axes in (above, below):
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(Path(__file__).with_suffix(".png"), dpi=200)


if __name__ == "__main__":
    main()
