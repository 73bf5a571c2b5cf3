"""Which parts of the sea floor does a tide gauge feel? A gradient through a million time steps, in bounded memory.

A wave runs through a channel of depth d(x), with drag on the bottom:

    d(eta)/dt = -d((d + eta) u)/dx,    du/dt = -g d(eta)/dx - c |u| u / d

Surface and velocity live on staggered cells and step in place, a million small steps. A gauge near the far end
measures the mean square of the surface. The gradient by the depth of every cell says where a survey would pay.

Reverse mode keeps what each step overwrites: gigabytes. Marked with `dj.checkpointed(range(steps), budget=64)`, the
loop keeps 64 snapshots, and the way back runs steps again. Each run below is a process of its own, so that its peak of
memory can be told.

Run it with `python examples/tide_gauge.py`. It prints a table and saves `tide_gauge.png` beside this file.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import diffjit as dj

HERE = Path(__file__).parent
CELLS = 40
LENGTH = 40e3  # m
G, DRAG = 9.81, 2.5e-3
STEP = 0.01  # s
STEPS = 1_000_000
GAUGE = CELLS - 5
EDGES = np.arange(1, CELLS) * LENGTH / CELLS
FLOOR = 30.0 - 18.0 * np.exp(-(((EDGES - 24e3) / 4e3) ** 2))  # depth on the cells' edges: a bank at 24 km


def advance(eta, u, depth):
    """One step, in place: the velocities first, then the surface."""
    dx = LENGTH / CELLS
    for i in range(CELLS - 1):
        u[i] += STEP * (G * (eta[i] - eta[i + 1]) / dx - DRAG * abs(u[i]) * u[i] / depth[i])
    before = 0.0
    for i in range(CELLS - 1):
        flow = (depth[i] + 0.5 * (eta[i] + eta[i + 1])) * u[i]
        eta[i] += STEP * (before - flow) / dx
        before = flow
    eta[CELLS - 1] += STEP * before / dx


def start():
    """A hump of water at the near end, at rest."""
    centres = (np.arange(CELLS) + 0.5) * LENGTH / CELLS
    return 1.5 * np.exp(-(((centres - 6e3) / 3e3) ** 2)), np.zeros(CELLS - 1)


def felt(depth, steps):
    """Mean square of the surface at the gauge; every step is recorded."""
    eta, u = start()
    total = 0.0
    for _ in range(steps):
        advance(eta, u, depth)
        total += eta[GAUGE] ** 2
    return total / steps


def felt_within_bounds(depth, steps):
    """The same from snapshots."""
    eta, u = start()
    total = 0.0
    for _ in dj.checkpointed(range(steps), budget=64):
        advance(eta, u, depth)
        total += eta[GAUGE] ** 2
    return total / steps


PROGRAMS = {"recorded": felt, "64 snapshots": felt_within_bounds}


def measure(name, steps):
    """In this process: print seconds of a gradient, peak memory in MB, and the gradient."""
    gradient = dj.value_and_grad(PROGRAMS[name])
    gradient(FLOOR, 10)  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    value, depth_bar = gradient(FLOOR, steps)
    seconds = time.perf_counter() - begin
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024  # Linux counts in kB
    print(seconds, grown, value, *depth_bar)


def measured(name, steps):
    """The same from a process of its own."""
    text = subprocess.run(  # noqa: S603 - this very script
        [sys.executable, __file__, name, str(steps)], capture_output=True, text=True, check=True
    ).stdout
    seconds, megabytes, value, *depth_bar = map(float, text.split())
    return seconds, megabytes, value, np.array(depth_bar)


def draw(gradients, memory):
    """The floor and what the gauge feels of it; memory against steps."""
    blue, orange, grey = "#0072b2", "#d55e00", "#777777"
    style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(8.0, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.fill_between(EDGES / 1e3, -FLOOR, -32.0, color="#e8e2d6")
        left.plot(EDGES / 1e3, -FLOOR, color=grey)
        left.axvline((GAUGE + 0.5) * LENGTH / CELLS / 1e3, color=grey, linestyle=":")
        left.text((GAUGE + 0.5) * LENGTH / CELLS / 1e3, -8.2, "gauge ", ha="right", color=grey)
        left.set(xlabel="distance (km)", ylabel="floor (m)", ylim=(-32, -6), xlim=(0, LENGTH / 1e3))
        other = left.twinx()
        other.axhline(0.0, color=blue, linewidth=0.5)
        other.plot(EDGES / 1e3, 1e6 * gradients["64 snapshots"], color=blue)
        other.set_ylabel("sensitivity of the gauge (mm² per m)", color=blue)
        other.spines["right"].set_visible(True)
        left.set_title("What the gauge feels of the floor", loc="left")
        for (name, points), colour in zip(memory.items(), (orange, blue), strict=True):
            steps, megabytes = np.array(points).T
            right.loglog(steps, np.maximum(megabytes, 0.1), "o-", color=colour)
            label = name if megabytes[-1] > 0.1 else f"{name}: below 0.1"
            right.text(steps[-1], max(megabytes[-1], 0.1) * 1.5, label, color=colour, ha="right")
        right.set(xlabel="time steps", ylabel="memory of the gradient (MB)", ylim=(0.06, 5e3))
        right.set_title("Memory", loc="left")
        figure.savefig(HERE / "tide_gauge.png", dpi=160)
        print(f"Figure saved as {HERE / 'tide_gauge.png'}")


def main():
    """Measure both programs, compare their gradients, draw."""
    gradients, memory = {}, {name: [] for name in PROGRAMS}
    print(f"{'':14}{'steps':>10}{'seconds':>10}{'MB':>10}")
    for name in PROGRAMS:
        for steps in (10_000, 100_000, STEPS):
            seconds, megabytes, _, gradients[name] = measured(name, steps)
            memory[name].append((steps, megabytes))
            print(f"{name:14}{steps:10d}{seconds:10.2f}{megabytes:10.1f}")
    a, b = gradients.values()
    print(f"largest difference between the gradients, relative: {np.max(np.abs(a - b)) / np.max(np.abs(a)):.1e}")
    draw(gradients, memory)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]))
    else:
        main()
