"""The rows: one file for each, which defines `ROW`. They import NumPy alone, so that a process loads its peer only."""

from importlib import import_module

from benchmarks.row import Row

NAMES = [
    # loops that write in place
    "gauss_seidel",
    "lu",
    "stencil_loops",
    "convolution",
    "thomas",
    "dtw",
    # time steps
    "lorenz",
    "lorenz_snapshots",
    "nbody",
    "hmm",
    "lstm",
    # array programs
    "stencil_slices",
    "black_scholes",
    "logsumexp",
    "kmeans",
    "gmm",
    "mlp",
    "attention",
    "gaussian_process",
    # what a call costs, and a start
    "call_scalars",
    "call_arrays",
    "call_trees",
    "start_30",
    "start_150",
    "lines_100",
    "lines_300",
    "lines_1000",
]


def load(name: str) -> Row:
    """The row of this name."""
    return import_module(f"benchmarks.rows.{name}").ROW
