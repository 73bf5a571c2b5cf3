"""The figure of a run: every peer's time relative to the adjoint by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

PEERS = {  # name in the legend, colour (safe for the colour-blind), marker
    "diffjit": ("diffjit", "#0072B2", "o"),
    "jax": ("JAX", "#D55E00", "s"),
    "autograd": ("autograd", "#009E73", "^"),
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


def draw(results: dict[str, Any], file: Path, by: str) -> None:
    """One line for each row, in the order of diffjit's ratio; the axis is logarithmic."""
    rows = {name: times(row, by) for name, row in results["rows"].items() if row["kind"] == "run"}
    rows = {name: ratios for name, ratios in rows.items() if ratios}
    order = sorted(rows, key=lambda name: rows[name].get("diffjit", float("inf")), reverse=True)
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.0, 0.6 + 0.19 * max(len(order), 3)), layout="constrained")
        axes.axvline(1.0, color="black", linewidth=0.8)
        for y, name in enumerate(order):
            values = list(rows[name].values())
            axes.plot([min(1.0, *values), max(1.0, *values)], [y, y], color="0.85", linewidth=0.8, zorder=0)
        for peer, (label, colour, marker) in PEERS.items():
            points = [(rows[name][peer], y) for y, name in enumerate(order) if peer in rows[name]]
            if points:
                axes.scatter(*zip(*points, strict=True), s=18, color=colour, marker=marker, label=label, linewidths=0)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks(range(len(order)), [results["rows"][name]["title"] for name in order])
        axes.set_ylim(-0.7, len(order) - 0.3)
        axes.set_xlabel("time relative to the adjoint by hand")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handletextpad=0.2, columnspacing=1.5)
        figure.savefig(file)
        plt.close(figure)


def times(row: dict[str, Any], by: str) -> dict[str, float]:
    """The ratio of each peer that has one."""
    found = {name: record[by] for name, record in row["peers"].items() if record["status"] == "ok"}
    if "hand" not in found:
        return {}
    return {peer: found[peer] / found["hand"] for peer in PEERS if peer in found}
