"""Figures of a run: a line for each program, a mark for each peer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

PEERS = {  # name in the legend, colour (safe for the colour-blind), marker
    "diffjit": ("diffjit", "#0072B2", "o"),
    "jax": ("JAX", "#D55E00", "s"),
    "autograd": ("autograd", "#009E73", "^"),
    "hand": ("by hand", "black", "|"),
    "scipy": ("SciPy", "#CC79A7", "v"),
}
STYLE = {
    "font.family": "serif",
    "font.size": 8,
    "mathtext.fontset": "cm",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "savefig.dpi": 300,
}
Points = Mapping[str, Mapping[str, float]]  # of each line, by peer


def draw(results: dict[str, Any], file: Path, by: str) -> list[Path]:
    """Every peer's time relative to the adjoint by hand."""
    rows = {row["title"]: times(row, by) for row in results["rows"].values() if row.get("kind") == "run"}
    return dots(file, rows, "time relative to the adjoint by hand", at=1.0)


def times(row: dict[str, Any], by: str, to: str = "hand") -> dict[str, float]:
    """The time of each peer that has one, relative to one of them."""
    found = {name: record[by] for name, record in row["peers"].items() if record["status"] == "ok"}
    if to not in found:
        return {}
    return {peer: found[peer] / found[to] for peer in PEERS if peer in found and peer != to}


def dots(file: Path, rows: Points, label: str, *, at: float | None = None, second: Points | None = None) -> list[Path]:
    """One line for each program, in the order of diffjit's; the axis is logarithmic. `second`: hollow marks beside.

    Gives the file, or nothing where there is nothing to draw.
    """
    shown = ((name, {peer: value for peer, value in points.items() if peer in PEERS}) for name, points in rows.items())
    rows = {name: points for name, points in shown if points}
    if not rows:
        return []
    second = second or {}
    order = sorted(rows, key=lambda name: rows[name].get("diffjit", float("inf")), reverse=True)
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.0, 0.75 + 0.19 * max(len(order), 3)), layout="constrained")
        if at is not None:
            axes.axvline(at, color="black", linewidth=0.8)
        for y, name in enumerate(order):
            ends = [*rows[name].values(), *second.get(name, {}).values(), *([] if at is None else [at])]
            axes.plot([min(ends), max(ends)], [y, y], color="0.85", linewidth=0.8, zorder=0)
        for peer, (words, colour, marker) in PEERS.items():
            style = {"s": 18, "marker": marker, "linewidths": 0.8, "zorder": 3 if peer == "diffjit" else 2}
            points = [(rows[name][peer], y) for y, name in enumerate(order) if peer in rows[name]]
            if points:
                axes.scatter(*zip(*points, strict=True), color=colour, label=words, **style)
            hollow = [(second[name][peer], y) for y, name in enumerate(order) if peer in second.get(name, {})]
            if hollow:
                given = {"facecolors": "white", "edgecolors": colour, "label": f"{words}, second process"}
                axes.scatter(*zip(*hollow, strict=True), **style | given)
        axes.set_xscale("log")
        label_powers(axes.xaxis)
        axes.set_yticks(range(len(order)), order)
        axes.set_ylim(-0.7, len(order) - 0.3)
        axes.set_xlabel(label)
        figure.legend(loc="outside upper center", ncols=3, handletextpad=0.2, columnspacing=1.5)
        figure.savefig(file)
        plt.close(figure)
    return [file]


def lines(file: Path, points: Mapping[str, Mapping[int, float]], label: str) -> list[Path]:
    """What grows with the number of lines of a program, by peer, beside what grows as they do."""
    with mpl.rc_context(STYLE | {"axes.spines.left": True}):
        figure, axes = plt.subplots(figsize=(3.4, 2.8), layout="constrained")
        for peer, (words, colour, marker) in PEERS.items():
            if found := points.get(peer):
                style = {"marker": marker, "markersize": 8 if marker == "|" else 4, "linewidth": 1.0}
                axes.plot(list(found), list(found.values()), color=colour, label=words, **style)
        if found := points.get("diffjit"):
            shortest = min(found)
            straight = [found[shortest] * n / shortest for n in found]
            axes.plot(list(found), straight, color="0.6", linewidth=0.8, linestyle="--", label="proportional to lines")
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = sorted({n for found in points.values() for n in found})
        axes.set_xticks(ticks, [f"{n:,}" for n in ticks])
        axes.xaxis.set_minor_formatter(NullFormatter())
        label_powers(axes.yaxis)
        axes.set_xlabel("lines of the program")
        axes.set_ylabel(label)
        figure.legend(loc="outside upper center", ncols=2, handletextpad=0.4, columnspacing=1.5)
        figure.savefig(file)
        plt.close(figure)
    return [file]


def label_powers(axis: Any) -> None:
    """Numbers without exponents, and more than powers of ten where there are few of those."""
    low, high = axis.get_view_interval()
    few = high / low < 300.0
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())
