"""One callable, measured: its value against the library's own, its derivatives against difference quotients.

`value`: under the `python` backend; `compiled`: the value by machine code; `jvp`, `grad`: forward and reverse mode;
`second`: forward over reverse and reverse over reverse; `lanes`: `vmap`. Each is "ok", or what happened instead: the
code and words of an error of diffjit's ("DJ201 ..."), "raw" and another error, or "wrong" and both numbers.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import diffjit as dj
from diffjit.errors import DiffjitError
from tests.count.rows import HEADER, Row

SECONDS = 40  # for one mode of one callable
MODES = ("value", "jvp", "grad", "second", "lanes", "compiled")
Outcome = dict[str, str]


class Late(BaseException):
    """A mode has taken too long."""


def leaves(found: Any, path: str = "found") -> Iterator[tuple[str, Any]]:
    """The numbers and arrays of a result, and how a program reaches them."""
    if isinstance(found, (tuple, list)):
        for k, part in enumerate(found):
            yield from leaves(part, f"{path}[{k}]")
    elif isinstance(found, (np.ndarray, np.generic, int, float, complex, bool)):
        yield path, found


def kind(thing: Any) -> str:
    """The kind of the dtype; of what is no number, an empty text."""
    return np.asarray(thing).dtype.kind if isinstance(thing, (np.ndarray, np.generic, int, float, complex)) else ""


def texts(row: Row, found: Any) -> str:
    """The program, a number made of its result, and the slope of this along a direction, by `grad`."""
    names = [name for name, _ in row.args]
    active = [name for name, thing in row.args if kind(thing) in "fc"]
    terms = []
    for path, part in leaves(found):
        if kind(part) == "c":
            terms.append(f"np.sum(np.real({path}) * np.cos(np.imag({path})) + np.real({path}))")
        elif kind(part) == "f":
            terms.append(f"np.sum(np.sin({path}) + {path} * {path})")
    where = tuple(names.index(name) for name in active)
    gathered = " + ".join(f"np.sum(np.real(bars[{k}] * {name}_dot))" for k, name in enumerate(active))
    dots = ", ".join([*names, *(f"{name}_dot" for name in active)])
    return "\n\n".join(
        [
            HEADER,
            row.text,
            f"def total({', '.join(names)}):\n    found = value({', '.join(names)})\n    return {' + '.join(terms) or 0.0}\n",
            f"def slope({dots}):\n    bars = dj.grad(total, argnums={where})({', '.join(names)})\n    return {gathered or 0.0}\n",
        ]
    )


def module(row: Row, folder: Path) -> ModuleType:
    """The programs of a row, imported from a file, whose source diffjit reads."""
    bare = f"{HEADER}\n\n{row.text}"
    space: dict[str, Any] = {}
    exec(compile(bare, "<row>", "exec"), space)  # noqa: S102 - the table's own programs
    with quiet():
        found = space["value"](*arguments(row))
    path = folder / f"row_{re.sub('[^a-z0-9]', '_', row.name.lower())}_{len(list(folder.iterdir()))}.py"
    path.write_text(texts(row, found))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def arguments(row: Row) -> list[Any]:
    """Fresh arguments."""
    return [copy.copy(thing) for _, thing in row.args]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings and NumPy's floating-point errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def near(found: Any, wanted: Any, tolerance: float) -> str:
    """Whether two results are equal, in structure, shape, kind and numbers: "ok", or what is wrong."""
    mine, theirs = list(leaves(found)), list(leaves(wanted))
    if len(mine) != len(theirs):
        return f"wrong: {len(mine)} numbers for {len(theirs)}"
    for (path, a), (_, b) in zip(mine, theirs, strict=True):
        if np.shape(a) != np.shape(b) or kind(a) != kind(b):
            return f"wrong: {path} is {kind(a)}{np.shape(a)} for {kind(b)}{np.shape(b)}"
        finite = np.abs(np.asarray(b))[np.isfinite(b)] if kind(b) in "fciub" else np.zeros(0)
        scale = max(1e-3, float(np.max(finite, initial=0.0)))
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return f"wrong: {np.ravel(a)[:4]} for {np.ravel(b)[:4]}"
    return "ok"


def follows_theory(name: str) -> bool:
    """Whether a derivative is right on average, not along one draw: that of draws that reject (`tests/streams`)."""
    *_, module, method = name.split(".")
    rejecting = ("beta", "chisquare", "dirichlet", "f", "gamma", "standard_gamma", "standard_t", "noncentral_f")
    return method == "rvs" or (module == "random" and method in rejecting)


def still(thing: Any) -> Any:
    """The tangent of what does not move."""
    return np.zeros_like(thing) if isinstance(thing, np.ndarray) else type(thing)(0)


def outcome(run: Callable[[], str]) -> str:
    """What a mode gives, its errors in words."""

    def late(*_: Any) -> None:
        raise Late

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with quiet():
            return run()
    except Late:
        return f"raw: no answer in {SECONDS} s"
    except DiffjitError as error:
        words = str(error).splitlines()[0]
        code = re.search(r"DJ\d+", words)
        return f"{code.group() if code else 'DJ'} {re.sub(r'^.*?DJ[0-9]+[^ ]* ?', '', words)}"[:160]
    except NotImplementedError as error:  # what only a run can tell is refused then, in words of the library's
        return f"later {error}"[:160]
    except Exception as error:  # noqa: BLE001 - whatever is raised is what is measured
        return f"raw: {type(error).__name__}: {error}".replace("\n", " ")[:160]
    finally:
        signal.alarm(0)


class Measured:
    """A row and a line through its arguments."""

    def __init__(self, row: Row, programs: ModuleType, found: Any):
        self.row, self.programs = row, programs
        self.active = tuple(k for k, (_, thing) in enumerate(row.args) if kind(thing) in "fc")
        rng = np.random.default_rng(1)
        self.single = any(np.asarray(part).dtype.char in "efF" for _, part in leaves(found))
        self.dots = [self.direction(row.args[k][1], rng) for k in self.active]

    @staticmethod
    def direction(thing: Any, rng: np.random.Generator) -> Any:
        """A random tangent, none of whose entries is small."""
        shape = np.shape(thing)
        made = rng.uniform(0.3, 1, shape) * rng.choice([-1, 1], shape)
        if kind(thing) == "c":
            made = made + 1j * rng.uniform(0.3, 1, shape)
        return made if shape else made.item() if isinstance(made, np.ndarray) else type(thing)(made)

    def moved(self, by: float) -> list[Any]:
        """The arguments at a distance along the line."""
        args = arguments(self.row)
        for k, dot in zip(self.active, self.dots, strict=True):
            args[k] = args[k] + by * dot
        return args

    def along(self, h: float) -> tuple[float, float]:
        """First and second difference quotients of the plain program."""
        low, middle, high = (float(self.programs.total(*self.moved(s * h))) for s in (-1, 0, 1))
        return (high - low) / (2 * h), (high - 2 * middle + low) / (h * h)

    def wanted(self) -> tuple[float, float]:
        """First and second derivatives, extrapolated."""
        if self.single:
            return self.along(2e-2)
        (a, _), (b, _) = self.along(1e-4), self.along(2e-4)
        (_, c), (_, d) = self.along(1e-3), self.along(2e-3)
        return (4 * a - b) / 3, (4 * c - d) / 3

    def value(self, backend: str) -> str:
        args = arguments(self.row)
        found = dj.jit(self.programs.value, backend=backend)(*args)
        return near(found, self.programs.value(*arguments(self.row)), 1e-5 if self.single else 1e-9)

    def number(self, found: float, which: int) -> str:
        tolerance = (5e-3, 5e-2)[which] if self.single else (2e-5, 2e-3)[which]
        wanted = self.wanted()
        scale = max(1.0, abs(wanted[which]), abs(wanted[0]))
        right = abs(found - wanted[which]) <= tolerance * scale or not np.isfinite(wanted[which])
        if not right and follows_theory(self.row.name):
            return "implicit"
        return "ok" if right else f"wrong: {found:.8g} for {wanted[which]:.8g}"

    def tangents(self) -> tuple[Any, ...]:
        """A tangent for each argument: zero for those that are not differentiated by."""
        given = dict(zip(self.active, self.dots, strict=True))
        return tuple(given.get(k, still(thing)) for k, (_, thing) in enumerate(self.row.args))

    def inner(self, bars: Any) -> float:
        return sum(float(np.sum(np.real(b * d))) for b, d in zip(bars, self.dots, strict=True))

    def jvp(self) -> str:
        found = dj.jvp(self.programs.total, self.some(), self.tangents(), backend="python")
        return self.number(float(np.real(found[1])), 0)

    def some(self) -> tuple[Any, ...]:
        return tuple(arguments(self.row))

    def grad(self) -> str:
        bars = dj.grad(self.programs.total, argnums=self.active, backend="python")(*self.some())
        return self.number(self.inner(bars), 0)

    def second(self) -> str:
        args = (*self.some(), *self.dots)
        slope = self.programs.slope
        tangents = (*self.tangents(), *map(still, self.dots))
        forward = dj.jvp(slope, args, tangents, backend="python")[1]
        first = self.number(float(np.real(forward)), 1)
        if first != "ok":
            return first
        bars = dj.grad(slope, argnums=self.active, backend="python")(*args)
        return self.number(self.inner(bars), 1)

    def lanes(self) -> str:
        here, there = arguments(self.row), self.moved(1e-3)
        stacked = [
            np.stack((a, b)) if k in self.active else a for k, (a, b) in enumerate(zip(here, there, strict=True))
        ]
        axes = tuple(0 if k in self.active else None for k in range(len(here)))
        plain = [self.programs.value(*arguments(self.row)), self.programs.value(*self.moved(1e-3))]
        parts = [[part for _, part in leaves(p)] for p in plain]
        if [np.shape(p) for p in parts[0]] != [np.shape(p) for p in parts[1]]:
            return "ok"  # lanes of different shapes cannot be one array
        found = dj.vmap(self.programs.value, in_axes=axes, backend="python")(*stacked)
        lanes = [[np.asarray(part)[k] for _, part in leaves(found)] for k in (0, 1)]
        first = near(lanes[0], [np.asarray(p)[()] for p in parts[0]], 1e-4 if self.single else 1e-8)
        return (
            first
            if first != "ok"
            else near(lanes[1], [np.asarray(p)[()] for p in parts[1]], 1e-4 if self.single else 1e-8)
        )


def measured(row: Row, *, compiled: bool = True) -> Outcome:
    """What each mode gives; "result" says whether the result has floats ("numbers"), and moves ("constant")."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            programs = module(row, Path(folder))
        except Exception as error:  # noqa: BLE001 - the library's own
            return {"result": "raises", "value": f"{type(error).__name__}: {error}".replace("\n", " ")[:160]}
        with quiet():
            found = programs.value(*arguments(row))
        kinds = {kind(part) for _, part in leaves(found)}
        one = Measured(row, programs, found)
        result: Outcome = {"result": "numbers" if kinds & set("fc") and one.active else "value"}
        result["value"] = outcome(lambda: one.value("python"))
        if compiled and result["value"] == "ok":
            result["compiled"] = outcome(lambda: one.value("numba"))
        if result["result"] == "value":
            return result
        with quiet():
            slope = one.wanted()[0]
        if slope == 0:
            result["result"] = "constant"
        for mode in ("jvp", "grad"):
            result[mode] = outcome(getattr(one, mode))
        if result["value"] == "ok":
            result["lanes"] = outcome(one.lanes)
        if result["grad"] == "ok" and result["jvp"] == "ok":
            result["second"] = outcome(one.second)
        return result
