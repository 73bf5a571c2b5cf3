"""What each callable is called with: reads the tables in `tests/count/rows`, whose lines are

    [numpy.linalg]                    the module of the lines below
    inv det <- P                      these functions, called with these arguments
    put = a = V.copy(); np.put(a, [0, 2], W[:2]); a
                                      a program: statements, and its value; {name} stands for the function's name
    loadtxt -- files                  has a value only by nature, and why

Capital and small letters are the samples below; those that a program names become its arguments, which it is
differentiated by where they are floats or complex numbers.
"""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.count.names import is_distribution, methods

FOLDER = Path(__file__).with_name("rows")
SHORT = {
    "numpy": "np",
    "numpy.ndarray": "np.ndarray",
    "numpy.linalg": "np.linalg",
    "numpy.fft": "np.fft",
    "scipy.special": "sc",
    "numpy.random": "np.random",
    "scipy.linalg": "la",
    "scipy.integrate": "it",
    "scipy.optimize": "so",
    "scipy.interpolate": "si",
    "scipy.signal": "sg",
    "scipy.ndimage": "nd",
    "scipy.fft": "sf",
    "scipy.spatial": "spatial",
    "scipy.spatial.distance": "distance",
    "scipy.sparse": "sp",
    "scipy.sparse.linalg": "sl",
    "scipy.stats": "stats",
}
HEADER = """import cmath
import math

import numpy as np
import scipy.fft as sf
import scipy.integrate as it
import scipy.interpolate as si
import scipy.linalg as la
import scipy.ndimage as nd
import scipy.optimize as so
import scipy.signal as sg
import scipy.sparse as sp
import scipy.sparse.linalg as sl
import scipy.special as sc
import scipy.cluster.hierarchy
import scipy.sparse.csgraph
from scipy import cluster, fftpack, spatial, stats
from scipy.spatial import distance, transform
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

import diffjit as dj
"""
if importlib.util.find_spec("scipy.differentiate"):  # SciPy 1.15
    HEADER += "from scipy import differentiate\n"


def samples() -> dict[str, Any]:
    """What the letters stand for."""
    rng = np.random.default_rng(5)
    V, W = rng.normal(size=5), rng.normal(size=5)
    S = rng.normal(size=(3, 3))
    L = np.linspace(0.0, 2.0, 7) + 0.1 * np.r_[0.0, rng.random(5), 0.0]
    return {
        "x": 0.37, "y": 0.62, "z": 1.3, "t": 2.4, "c": 0.4 + 0.3j,
        "V": V, "W": W, "U": np.array([0.31, 0.84, 0.12, 0.57, 0.7]), "G": np.array([1.3, 2.9, 1.9, 2.2, 1.6]), "L": L,
        "V7": np.sin(3 * L) + 2, "X": np.array([0.13, 0.71, 1.18]), "H": rng.normal(size=24),
        "M": rng.normal(size=(3, 4)), "N": rng.normal(size=(3, 4)), "S": S, "P": S @ S.T / 3 + np.eye(3),
        "R": rng.normal(size=(2, 4, 4)), "E": rng.random((8, 2)), "F": rng.normal(size=8),
        "C": V + 1j * W, "I": np.array([3, 0, 4, 1, 2]), "J": np.arange(12).reshape(3, 4) % 2,
        "A": np.array([True, False, True, True, False]), "B": rng.random((3, 4)) < 0.5,
    }  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One callable: the program that calls it and its arguments, or why it has none."""

    name: str
    program: str = ""
    args: tuple[tuple[str, Any], ...] = ()
    reason: str = ""

    @property
    def text(self) -> str:
        """The program as a function `value`."""
        *before, last = self.program.split("; ")
        body = "".join(f"    {line}\n" for line in (*before, f"return {last}"))
        return f"def value({', '.join(name for name, _ in self.args)}):\n{body}"


def names_in(program: str) -> set[str]:
    """The names that a program reads and does not make itself."""
    nodes = [n for n in ast.walk(ast.parse(program)) if isinstance(n, (ast.Name, ast.arg))]
    made = {n.arg for n in nodes if isinstance(n, ast.arg)}
    made |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {n.id for n in nodes if isinstance(n, ast.Name)} - made


def row(name: str, program: str, known: dict[str, Any]) -> Row:
    """A row with the samples that its program names."""
    used = names_in(program)
    return Row(name, program, tuple((key, value) for key, value in known.items() if key in used))


def declared(lines: list[str]) -> list[Row]:
    """The rows of one table."""
    found, module, known = [], "", samples()
    for line in lines:
        if line.startswith("["):
            module = line.strip("[]")
        elif " -- " in line:
            names, reason = line.split(" -- ")
            found += [Row(f"{module}.{name}", reason=reason.strip()) for name in names.split()]
        elif " <- " in line:
            names, args = line.split(" <- ")
            prefix = SHORT.get(module, module)
            found += [row(f"{module}.{name}", f"{prefix}.{name}({args})", known) for name in names.split()]
        elif line and not line.startswith("#"):
            names, program = line.split(" = ", 1)
            found += [row(f"{module}.{n}", program.replace("{name}", n), known) for n in names.split()]
    return found


def distributions() -> list[Row]:
    """The methods of SciPy's distributions of one number, with the shapes that SciPy's own tests take."""
    from scipy import stats
    from scipy.stats import _distr_params as params

    found = []
    for name, shapes in dict(reversed([*params.distcont, *params.distdiscrete])).items():
        family = getattr(stats, name, None) if isinstance(name, str) else None
        if family is None or not is_distribution(family):
            continue
        given = [(f"shape{k}", value) for k, value in enumerate(shapes)]
        moved = isinstance(family, stats.rv_continuous)
        given += [("loc", 0.1), ("scale", 1.2)] if moved else []
        frozen = family(*(v for _, v in given))
        for method in methods(family):
            first = {"entropy": None, "rvs": None, "ppf": np.array([0.23, 0.61])}.get(method, frozen.ppf([0.3, 0.71]))
            if first is not None and not moved and method != "ppf":
                if method == "logsf":  # which is -inf at the last count
                    first = np.minimum(first, frozen.support()[1] - 1)
                first = first.astype(int)
            args = ([] if first is None else [("u", first)]) + given
            call = ", ".join(k for k, _ in args) + (", size=3, random_state=5" if method == "rvs" else "")
            found.append(Row(f"scipy.stats.{name}.{method}", f"stats.{name}.{method}({call})", tuple(args)))
    return found


def rows() -> dict[str, Row]:
    """All rows, by the full names of the callables."""
    found = [r for file in sorted(FOLDER.glob("*.txt")) for r in declared(file.read_text().splitlines())]
    return {r.name: r for r in (*found, *distributions())}
