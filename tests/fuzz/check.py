"""Checks diffjit's derivatives of one program against difference quotients of the program as plain Python."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

Point = tuple[Any, Any, float, float]  # x, y, a, b
OutcomeKind = Literal["ok", "discarded", "refused", "wrong", "crashed"]

NAMES = ("x", "y", "a", "b")
ARGNUMS = (0, 1, 2, 3)
STEP = 1e-3
TOLERANCE = 1e-6
LARGEST = 1e5

# What check() appends to a program: `fixed` leaves out the integers; `along` is the gradient along a direction.
WRAPPERS = """

N, K = INPUTS["n"], INPUTS["k"]


def fixed(x, y, a, b):
    return f(x, y, a, b, N, K)


def along(x, y, a, b):
    x_bar, y_bar, a_bar, b_bar = gradient(x, y, a, b)
    return np.sum(x_bar * X_DOT) + np.sum(y_bar * Y_DOT) + a_bar * A_DOT + b_bar * B_DOT
"""

_numbers = itertools.count()


@dataclass(frozen=True)
class Outcome:
    """How a program fared, and why."""

    kind: OutcomeKind
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether this is a fault of diffjit's."""
        return self.kind in ("wrong", "crashed")


class Discarded(Exception):
    """The program is no test: not smooth where it is evaluated, or too large."""


class Wrong(Exception):
    """diffjit's number differs from the oracle's."""


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="diffjit-fuzz-")


def load(source: str, appended: str = WRAPPERS) -> ModuleType:
    """A module with `source` and what is appended, imported from a real file so that its source is found."""
    name = f"fuzz_program_{next(_numbers)}"
    path = Path(_folder().name) / f"{name}.py"
    path.write_text(source + appended, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def laid_out(values: np.ndarray, order: str) -> np.ndarray:
    """A fresh array with these values in the given memory order."""
    if order == "F":
        return np.array(values, order="F")
    if order == "strided":
        wide = np.zeros(tuple(2 * length for length in values.shape))
        view = wide[tuple(slice(None, None, 2) for _ in values.shape)]
    elif order == "reversed":
        view = np.zeros(values.shape)[tuple(slice(None, None, -1) for _ in values.shape)]
    else:
        return np.array(values, order="C")
    view[...] = values
    return view


@dataclass
class Program:
    """A loaded program at one point."""

    module: ModuleType
    point: Point
    order: str

    def arguments(self, point: Point | None = None) -> list[Any]:
        """Fresh arguments of `fixed`, by default at the point itself."""
        return [
            laid_out(value, self.order) if isinstance(value, np.ndarray) else float(value)
            for value in (point or self.point)
        ]

    @property
    def integers(self) -> list[int]:
        """The further arguments of `f`."""
        return [self.module.N, self.module.K]

    def value(self, point: Point) -> float:
        """What the plain program returns."""
        return float(self.module.fixed(*self.arguments(point)))


def moved(point: Point, direction: Point, step: float) -> Point:
    """`point + step * direction`."""
    x, y, a, b = (value + step * dot for value, dot in zip(point, direction, strict=True))
    return x, y, a, b


def inner(left: Any, right: Any) -> float:
    """The inner product of two points."""
    return float(sum(np.sum(np.asarray(u) * np.asarray(v)) for u, v in zip(left, right, strict=True)))


def slope(function: Callable[[Point], float], point: Point, direction: Point) -> float:
    """The directional derivative by central differences with two Richardson steps; Discarded where it has none."""
    middle = function(point)
    central, curvature = [], []
    for step in (STEP, STEP / 2, STEP / 4):
        ahead, behind = function(moved(point, direction, step)), function(moved(point, direction, -step))
        if not np.isfinite(ahead + behind) or abs(ahead) > LARGEST:
            raise Discarded("not finite, or too large")
        central.append((ahead - behind) / (2 * step))
        curvature.append(ahead - 2 * middle + behind)
    coarse, fine = (4 * central[1] - central[0]) / 3, (4 * central[2] - central[1]) / 3
    # Beyond rounding, a kink or a jump shows as estimates that differ, or as curvature that does not fall with step^2.
    allowed = TOLERANCE * max(1.0, abs(fine))
    if abs(fine - coarse) > allowed:
        raise Discarded(f"not smooth: {coarse} and {fine}")
    if abs(curvature[1] - curvature[0] / 4) / STEP > 10 * allowed:
        raise Discarded("one-sided differences disagree")
    return (16 * fine - coarse) / 15


def directions(program: Program, rng: np.random.Generator) -> dict[str, Point]:
    """One direction for each argument alone, and two for all together."""

    def random(*, only: str = "") -> Point:
        x, y, a, b = (
            rng.uniform(-1, 1, np.shape(value)) * (only in ("", name))
            for name, value in zip(NAMES, program.point, strict=True)
        )
        return x, y, float(a), float(b)

    return {**{name: random(only=name) for name in NAMES}, "all": random(), "all again": random()}


def close(got: float, want: float, what: str, tolerance: float = 5 * TOLERANCE) -> None:
    """Raise Wrong unless `got` is `want` to rounding."""
    if not abs(got - want) <= tolerance * max(1.0, abs(want)):
        raise Wrong(f"{what}: {got!r}, should be {want!r}")


def unchanged(program: Program, arguments: list[Any], what: str) -> None:
    """Raise Wrong if the caller's arrays were changed."""
    for name, before, after in zip(NAMES, program.point, arguments[:4], strict=True):
        if not np.array_equal(before, after):
            raise Wrong(f"{what} changed the caller's {name}")


def check_value(dj: Any, program: Program, backend: str) -> None:
    """`jit(f)` returns what `f` returns, and does to its arguments what `f` does."""
    plain, compiled = program.arguments(), program.arguments()
    want = program.module.f(*plain, *program.integers)
    got = dj.jit(program.module.f, backend=backend)(*compiled, *program.integers)
    close(float(got), float(want), "jit", 1e-9)
    for name, left, right in zip("xy", plain, compiled, strict=False):
        if not np.allclose(left, right, rtol=1e-9, atol=1e-9):
            raise Wrong(f"jit leaves {name} as {right!r}, should be {left!r}")


def check_forward(dj: Any, program: Program, slopes: list[tuple[str, Point, float]], backend: str) -> None:
    """`jvp` along each direction."""
    want = program.value(program.point)
    for name, direction, slope_there in slopes:
        arguments = program.arguments()
        out, out_dot = dj.jvp(
            program.module.fixed, tuple(arguments), tuple(program.arguments(direction)), backend=backend
        )
        close(float(out), want, f"value of jvp along {name}", 1e-9)
        close(float(out_dot), slope_there, f"jvp along {name}")
        unchanged(program, arguments, "jvp")


def check_reverse(dj: Any, program: Program, slopes: list[tuple[str, Point, float]], backend: str) -> None:
    """`value_and_grad`."""
    want = program.value(program.point)
    arguments = program.arguments()
    value, bars = dj.value_and_grad(program.module.f, argnums=ARGNUMS, backend=backend)(*arguments, *program.integers)
    close(float(value), want, "value of value_and_grad", 1e-9)
    unchanged(program, arguments, "value_and_grad")
    for name, bar, primal in zip(NAMES, bars, program.point, strict=True):
        if np.shape(bar) != np.shape(primal):
            raise Wrong(f"the gradient of {name} has shape {np.shape(bar)}, should be {np.shape(primal)}")
    for name, direction, slope_there in slopes:
        close(inner(bars, direction), slope_there, f"value_and_grad along {name}")


def check_pullback(dj: Any, program: Program, slopes: list[tuple[str, Point, float]], backend: str) -> None:
    """A pullback of `vjp` that is called more than once."""
    want = program.value(program.point)
    arguments = program.arguments()
    out, pullback = dj.vjp(program.module.fixed, *arguments, backend=backend)
    close(float(out), want, "value of vjp", 1e-9)
    for array in arguments[:2]:
        np.add(array, 1.0, out=array)  # the pullback must not depend on what the caller does meanwhile
    for call, seed in (("first", 1.0), ("second", 1.0), ("scaled", -2.0)):
        pulled = pullback(seed)
        for name, direction, slope_there in slopes:
            close(inner(pulled, direction), seed * slope_there, f"{call} pullback along {name}", 1e-5)
    for array in arguments[:2]:
        np.subtract(array, 1.0, out=array)
    for name, array, before in zip(NAMES, arguments, program.point, strict=False):
        if isinstance(array, np.ndarray) and not np.allclose(array, before, atol=1e-12):
            raise Wrong(f"the pullback changed the caller's {name}")


def check_second(dj: Any, program: Program, rng: np.random.Generator, backend: str) -> None:
    """Second order, forward over reverse and reverse over reverse, against differences of the gradient."""
    module = program.module
    gradient = dj.grad(module.fixed, argnums=ARGNUMS, backend=backend)
    some = directions(program, rng)
    along, across = some["all"], some["all again"]
    want = slope(lambda point: inner(gradient(*program.arguments(point)), along), program.point, across)
    primals, tangents = tuple(program.arguments()), tuple(program.arguments(across))
    _, bars_dot = dj.jvp(gradient, primals, tangents, backend=backend)
    close(inner(bars_dot, along), want, "jvp of grad", 1e-4)
    _, pullback = dj.vjp(gradient, *program.arguments(), backend=backend)
    for call, scale in (("first", 1.0), ("second", -2.0)):
        bars = pullback(tuple(scale * dot for dot in along))
        close(inner(bars, across), scale * want, f"{call} pullback of grad", 1e-4)


def check_nested(dj: Any, program: Program, rng: np.random.Generator, backend: str) -> None:
    """`grad` of a function that calls `grad`, against the pullback of `grad`."""
    module = program.module
    gradient = dj.grad(module.fixed, argnums=ARGNUMS, backend=backend)
    along = directions(program, rng)["all"]
    vars(module).update(gradient=gradient, X_DOT=along[0], Y_DOT=along[1], A_DOT=along[2], B_DOT=along[3])
    bars = dj.grad(module.along, argnums=ARGNUMS, backend=backend)(*program.arguments())
    _, pullback = dj.vjp(gradient, *program.arguments(), backend=backend)
    for name, bar, want in zip(NAMES, bars, pullback(along), strict=True):
        if not np.allclose(bar, want, rtol=1e-9, atol=1e-9):
            raise Wrong(f"grad of a function that calls grad, for {name}: {bar!r}, should be {want!r}")


def prepare(source: str, seed: int) -> tuple[Program, list[tuple[str, Point, float]], np.random.Generator]:
    """Load a program, and the oracle's slopes at a random point; Discarded when it is no test."""
    module = load(source)
    rng = np.random.default_rng(seed)
    inputs = module.INPUTS
    x, y = rng.uniform(-1, 1, inputs["x"]), rng.uniform(-1, 1, inputs["y"])
    program = Program(module, (x, y, rng.uniform(0.2, 1.2), rng.uniform(0.2, 1.2)), inputs["order"])
    slopes = []
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        try:
            for name, direction in directions(program, rng).items():
                slopes.append((name, direction, slope(program.value, program.point, direction)))
        except (FloatingPointError, OverflowError) as error:
            raise Discarded(str(error)) from None
    return program, slopes, rng


VERBS = ("jit", "jvp", "grad", "vjp")


def check(source: str, seed: int, backend: str, second: bool = False, verbs: tuple[str, ...] = VERBS) -> Outcome:
    """Compare derivatives of the program with difference quotients, at a point drawn from `seed`: all, or `verbs`."""
    try:
        program, slopes, rng = prepare(source, seed)
    except Discarded as reason:
        return Outcome("discarded", str(reason))
    import diffjit as dj

    try:
        if "jit" in verbs:
            check_value(dj, program, backend)
        if "jvp" in verbs:
            check_forward(dj, program, slopes, backend)
        if "grad" in verbs:
            check_reverse(dj, program, slopes, backend)
        if "vjp" in verbs:
            check_pullback(dj, program, slopes, backend)
        if second or "second" in verbs:
            check_second(dj, program, rng, backend)
    except Discarded as reason:
        return Outcome("discarded", str(reason))
    except Wrong as difference:
        return Outcome("wrong", str(difference))
    except dj.DiffjitError as refusal:
        return Outcome("refused", str(refusal))
    except Exception:  # noqa: BLE001 - whatever it is, it is reported
        return Outcome("crashed", traceback.format_exc())
    return Outcome("ok")
