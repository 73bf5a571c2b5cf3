"""Compares what diffjit makes of a program that may fail with what Python makes of it, call by call.

A call's outcome is a number or an exception, and the state of the arguments after it. `jit` must have Python's in every
respect. A gradient has its exception or value, leaves the arguments alone, and is what difference quotients say, what
the Python backend says, and what forward mode says.
"""

from __future__ import annotations

import math
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.pythons_errors import is_of_numbers

from .check import Discarded, Outcome, Point, Wrong, laid_out, load, slope
from .guarded import guarded

VERBS = ("jit", "grad", "jvp", "second")
# What can be wrong, worst first: a number, the caller's arrays, one result now and another then, one of our own errors,
# an exception that Python does not raise, none where Python raises, another one than Python's, arrays left in another
# state by an exception, or one in other words.
FAULTS = ("number", "arrays", "unstable", "ours", "raises", "silent", "another", "left", "words")
SAME = 1e-9
LARGE = 1e6
# Words that are promised: those of indices, and those of the program itself.
WORDED = ("IndexError", "AssertionError", "RuntimeError", "ArithmeticError", "KeyError", "Stop")


@dataclass(frozen=True)
class Call:
    """One call of a program: its arguments, of which fresh copies are made, and directions to differentiate along."""

    x: np.ndarray
    y: np.ndarray
    a: float
    integers: tuple[int, int, int]
    order: str
    behind: bool
    along: tuple[np.ndarray, np.ndarray, float]
    across: tuple[np.ndarray, np.ndarray, float]

    def arguments(self, point: tuple[Any, ...] | None = None) -> list[Any]:
        """Fresh arguments of `f`, between forbidden pages; at another point if one is given."""
        x, y, a = (self.x, self.y, self.a) if point is None else point
        x, y = (guarded(laid_out(array, self.order), behind=self.behind) for array in (x, y))
        return [x, y, float(a), *self.integers]


@dataclass
class Result:
    """What a call gave: a number (or gradients) or an exception, and its arguments afterwards."""

    value: Any
    error: BaseException | None
    after: list[Any]

    def __str__(self) -> str:
        return repr(self.value) if self.error is None else f"{type(self.error).__name__}: {_first_line(self.error)}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]


def run(function: Callable[..., Any], arguments: list[Any]) -> Result:
    """Call, and keep whatever comes out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Result(function(*arguments), None, arguments)
        except Exception as error:  # noqa: BLE001 - compared with Python's
            return Result(None, error, arguments)


class Refused(Exception):
    """diffjit says that it cannot; carries what it said."""


class Differs(Wrong):
    """One difference from Python; `fault` is one of FAULTS."""

    def __init__(self, fault: str, what: str, how: str) -> None:
        verb, _, call = what.partition(": ")
        super().__init__(f"{verb} {fault}: {call}: {how}")
        self.fault = fault


def calls_of(module: Any, seed: int) -> list[Call]:
    """The calls of a program, with numbers drawn from the seed."""
    rng = np.random.default_rng(seed)

    def direction(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        return rng.uniform(-1, 1, x.shape), rng.uniform(-1, 1, y.shape), float(rng.uniform(-1, 1))

    found = []
    for place, case in enumerate(module.CASES):
        x, y = rng.uniform(-1, 1, case["p"]), rng.uniform(-1, 1, (case["q"], case["p"]))
        for edge, value in case.get("numbers", ()):
            x[edge % x.size] = value
        integers = (case["n"], case["k"], case["e"])
        along, across = direction(x, y), direction(x, y)
        found.append(Call(x, y, float(rng.uniform(0.2, 1.2)), integers, module.ORDER, place % 2 == 0, along, across))
    return found


def near(got: Any, want: Any, tolerance: float = SAME) -> bool:
    """Whether two numbers or arrays agree: NaN and infinities at the same places, the rest to rounding."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    if got.shape != want.shape:
        return False
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return False
    scale = max(1.0, float(np.max(np.abs(want[finite]))) if finite.any() else 1.0)
    return bool(np.all(np.abs(got[finite] - want[finite]) <= tolerance * scale))


def same_end(dj: Any, got: Result, want: Result, what: str) -> bool:
    """Whether both ended with a number; Differs where one raised and the other did not, or something else."""
    error, wanted = got.error, want.error
    if error is None and wanted is None:
        return True
    if isinstance(error, dj.DiffjitError) and str(getattr(error, "code", "")).startswith("DJ9"):
        raise Differs("ours", what, f"{error}, should be {want}")
    excused = isinstance(wanted, ArithmeticError | ValueError) and is_of_numbers(_first_line(wanted))
    if error is None:
        if excused:
            return False
        raise Differs("silent", what, f"{got}, should be {want}")
    if wanted is not None and (isinstance(error, type(wanted)) or isinstance(wanted, type(error))):
        if type(wanted).__name__ in WORDED and not _says(error, _first_line(wanted)):
            raise Differs("words", what, f"{got}, should be {want}")
        return False
    if isinstance(error, dj.DiffjitError) or "[DJ" in str(error):
        raise Refused(str(error))
    if excused or isinstance(error, OverflowError):
        return False
    raise Differs("raises" if wanted is None else "another", what, f"{got}, should be {want}\n{_where(error)}")


def _says(error: BaseException, words: str) -> bool:
    """Whether an exception has these words; a list of numbers that the program never lengthens is an array to us."""
    short = words in ("list index out of range", "tuple index out of range")
    return words in str(error) or (short and "out of bounds for axis 0 with size" in str(error))


def _where(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-3:])


def untouched(call: Call, result: Result, what: str) -> None:
    """Differs if a derivative changed the arguments."""
    for name, before, after in zip("xy", call.arguments(), result.after, strict=False):
        if not np.array_equal(before, after):
            raise Differs("arrays", what, f"changed the caller's {name}")


class Comparison:
    """One program with one backend: `found` collects the differences."""

    def __init__(self, dj: Any, module: Any, seed: int, backend: str) -> None:
        """Run the plain program for all calls."""
        self.dj, self.module, self.backend = dj, module, backend
        self.calls = calls_of(module, seed)
        self.wanted = [run(module.f, call.arguments()) for call in self.calls]
        self.counts = {"calls": len(self.calls), "raised": sum(want.error is not None for want in self.wanted)}
        self.found: list[Differs] = []
        self.first: dict[str, Any] = {}  # the result of the first call, by verb
        self.jitted = dj.jit(module.f, backend=backend)
        self.graded = dj.value_and_grad(module.f, argnums=(0, 1, 2), backend=backend)
        if seed % 2 == 0 and backend != "python":  # code without the value, which raises what the value would
            alone = dj.grad(module.f, argnums=(0, 1, 2), backend=backend)
            self.graded = lambda *arguments: (None, alone(*arguments))
        self.as_text = dj.value_and_grad(module.f, argnums=(0, 1, 2), backend="python")

    def verb(self, verb: str) -> None:
        """Compare all calls under one verb; the first one twice, so that it is seen to be stable."""
        places = range(2) if verb == "second" else [*range(len(self.calls)), 0]
        for place in places:
            what = f"{verb}: call {place} {self.module.CASES[place]}"
            try:
                getattr(self, verb)(what, self.calls[place], self.wanted[place])
            except Differs as difference:
                call, want = self.calls[place], self.wanted[place]
                numbers = difference.fault in ("number", "arrays", "left")
                if not (numbers and (huge(self.module, call) or chaotic(self.module, call, want))):
                    self.found.append(difference)

    def steady(self, what: str, call: Call, result: Any) -> None:
        """Differs if the first call gives another result when it is made again."""
        if call is self.calls[0]:
            verb = what.partition(":")[0]
            bits = [np.asarray(number).tobytes() for number in result]
            if self.first.setdefault(verb, bits) != bits:
                raise Differs("unstable", what, f"another result than before: {result!r}")

    def jit(self, what: str, call: Call, want: Result) -> None:
        """`jit` ends as Python does, and leaves the arguments as Python does."""
        got = run(self.jitted, call.arguments())
        if same_end(self.dj, got, want, what):
            self.steady(what, call, [got.value])
            if not near(got.value, want.value):
                raise Differs("number", what, f"{got}, should be {want}")
        if type(got.error) is type(want.error):
            for name, left, right in zip("xy", got.after, want.after, strict=False):
                if not near(left, right):
                    fault = "arrays" if want.error is None else "left"
                    raise Differs(fault, what, f"leaves {name} as {left!r}, should be {right!r}")

    def grad(self, what: str, call: Call, want: Result) -> None:
        """Value and gradient, right by differences and by the Python backend."""
        got = run(self.graded, call.arguments())
        untouched(call, got, what)
        if not same_end(self.dj, got, want, what):
            return
        value, bars = got.value
        if value is not None and not near(value, want.value):
            raise Differs("number", what, f"value {value!r}, should be {want.value!r}")
        for bar, argument in zip(bars, call.arguments(), strict=False):
            if np.shape(bar) != np.shape(argument):
                raise Differs("number", what, f"a gradient of shape {np.shape(bar)} for {np.shape(argument)}")
        self.steady(what, call, bars)
        if self.backend != "python":
            text = run(self.as_text, call.arguments())
            if text.error is None and not all(map(near, bars, text.value[1])):
                said = f"{_shown(bars)}, should be {_shown(text.value[1])} as the Python backend says"
                raise Differs("number", what, said)
        along = sum(float(np.sum(bar * dot)) for bar, dot in zip(bars, call.along, strict=True))
        self.by_differences(call, along, what)

    def by_differences(self, call: Call, got: float, what: str) -> None:
        """Differs unless a slope is that of difference quotients, where the program is smooth."""
        try:
            want = quotient(self.module.f, call)
        except Discarded:
            return
        self.counts["slopes"] = self.counts.get("slopes", 0) + 1
        if math.isnan(got) and doubtful(self.module, call):
            return
        if not abs(got - want) <= 1e-5 * max(1.0, abs(want)) and not bends(self.module.f, call, want):
            raise Differs("number", what, f"{got!r} along a direction, should be {want!r} by differences")

    def jvp(self, what: str, call: Call, want: Result) -> None:
        """Forward mode ends as Python does, with the slope that reverse mode has."""
        fixed = self.fixed(call.integers)
        tangents = (*(laid_out(dot, call.order) for dot in call.along[:2]), call.along[2])
        got = run(lambda *point: self.dj.jvp(fixed, point[:3], tangents, backend=self.backend), call.arguments())
        untouched(call, got, what)
        if not same_end(self.dj, got, want, what):
            return
        value, dot = got.value
        if not near(value, want.value):
            raise Differs("number", what, f"value {value!r}, should be {want.value!r}")
        self.steady(what, call, [dot])
        back = run(self.graded, call.arguments())
        if back.error is None:
            parts = [bar * d for bar, d in zip(back.value[1], call.along, strict=True)]
            along = sum(float(np.sum(part)) for part in parts)
            size = sum(float(np.sum(np.abs(part))) for part in parts)  # what cancels in the sum, and its rounding
            # Where the value is NaN nothing has a slope: the mean of nothing is NaN forwards, and gives nothing back.
            told = math.isfinite(along) and math.isfinite(value)
            if told and not abs(float(dot) - along) <= 1e-8 * max(1.0, size):
                raise Differs("number", what, f"tangent {dot!r}, should be {along!r} as reverse mode says")
        self.by_differences(call, float(dot), what)

    def fixed(self, integers: tuple[int, ...]) -> Callable[..., Any]:
        """The program with its integers as globals."""
        self.module.INTEGERS_N, self.module.INTEGERS_K, self.module.INTEGERS_E = integers
        return self.module.fixed

    def second(self, what: str, call: Call, want: Result) -> None:
        """Forward over reverse against differences of the gradient, where there is a number."""
        if want.error is not None:
            return
        gradient = self.dj.grad(self.fixed(call.integers), argnums=(0, 1, 2), backend=self.backend)
        tangents = (*(laid_out(dot, call.order) for dot in call.across[:2]), call.across[2])
        got = run(lambda *point: self.dj.jvp(gradient, point[:3], tangents, backend=self.backend), call.arguments())
        if not same_end(self.dj, got, want, what):
            return
        found = sum(float(np.sum(bar * dot)) for bar, dot in zip(got.value[1], call.along, strict=True))

        def along(*arguments: Any) -> float:
            return sum(float(np.sum(bar * dot)) for bar, dot in zip(gradient(*arguments[:3]), call.along, strict=True))

        try:
            quotient(self.module.f, call)
            wanted = quotient(along, call, across=True)
        except Discarded:
            return
        if not abs(found - wanted) <= 1e-4 * max(1.0, abs(wanted)):
            raise Differs("number", what, f"{found!r}, should be {wanted!r}")


def _shown(bars: tuple[Any, ...]) -> str:
    return ", ".join(np.array2string(np.asarray(bar), precision=6, separator=",").replace("\n", "") for bar in bars)


def huge(module: Any, call: Call) -> bool:
    """Whether a number on the way is so large that what is added to it is lost, and its sine is chance."""
    found = []

    def look(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        numbers = [value for value in frame.f_locals.values() if isinstance(value, float | np.ndarray)]
        if any(np.size(value) and np.max(np.abs(value)) > LARGE for value in numbers):
            found.append(event)
        return look

    held = sys.gettrace()
    sys.settrace(look)
    try:
        run(module.f, call.arguments())
    finally:
        sys.settrace(held)
    return bool(found)


def chaotic(module: Any, call: Call, want: Result) -> bool:
    """Whether arguments that move by a rounding move the value by more than what is taken for the same."""
    for eps in (2.0**-52, -(2.0**-52), 2.0**-50):
        moved = run(module.f, call.arguments((call.x * (1 + eps), call.y * (1 + eps), call.a * (1 + eps))))
        if moved.error is None and want.error is None and not near(moved.value, want.value):
            return True
    return False


def doubtful(module: Any, call: Call) -> bool:
    """Whether a number on the way is NaN: thrown away, it may still be in a gradient (docs/conventions.md)."""
    with warnings.catch_warnings(record=True) as found, np.errstate(all="warn"):
        warnings.simplefilter("always")
        module.f(*call.arguments())
    return any("invalid value" in str(w.message) or "empty slice" in str(w.message) for w in found)


def quotient(function: Callable[..., float], call: Call, *, across: bool = False) -> float:
    """The slope by differences along a call's direction; Discarded where it has none."""
    dx, dy, da = call.across if across else call.along

    def at(point: Point) -> float:
        x, y, a, _ = point
        result = run(function, call.arguments((x, y, a)))
        if result.error is not None:
            raise Discarded(str(result.error))
        return float(result.value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return slope(at, (call.x, call.y, call.a, 0.0), (dx, dy, da, 0.0))


def bends(function: Callable[..., float], call: Call, slope: float) -> bool:
    """Whether shorter steps give another slope than the one found, by more than rounding: no step is short enough."""
    dx, dy, da = call.along
    for step in (1e-7, 1e-8, 1e-9):
        ends = [
            run(function, call.arguments((call.x + t * dx, call.y + t * dy, call.a + t * da))) for t in (step, -step)
        ]
        if any(end.error is not None for end in ends):
            return True
        up, down = (float(end.value) for end in ends)
        rounding = 64 * 2.0**-52 * max(abs(up), abs(down), 1.0) / step
        if abs((up - down) / (2 * step) - slope) > 1e-5 * max(1.0, abs(slope)) + rounding:
            return True
    return False


FIXED = """

def fixed(x, y, a):
    return f(x, y, a, INTEGERS_N, INTEGERS_K, INTEGERS_E)
"""


def check_outcomes(source: str, seed: int, backend: str, verbs: tuple[str, ...] = VERBS) -> Outcome:
    """Compare every verb with Python, for every call of the program."""
    module = load(source, FIXED)
    import diffjit as dj

    try:
        comparison = Comparison(dj, module, seed, backend)
        for verb in verbs:
            comparison.verb(verb)
    except Refused as refusal:
        return Outcome("refused", str(refusal))
    except Exception:  # noqa: BLE001 - whatever it is, it is reported
        return Outcome("crashed", traceback.format_exc())
    if comparison.found:
        worst = sorted(comparison.found, key=lambda difference: FAULTS.index(difference.fault))
        return Outcome("wrong", "\n".join(map(str, worst)))
    return Outcome("ok", str(comparison.counts))


def verbs_for(seed: int) -> tuple[str, ...]:
    """Which verbs a program is tried with: compiling takes most of the time."""
    chosen = ["jit", "grad"]
    if seed % 3 == 0:
        chosen.append("jvp")
    if seed % 8 == 1:
        chosen.append("second")
    return tuple(chosen)
