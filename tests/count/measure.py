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

SECONDS = 20  # for one mode of one callable
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


def texts(row: Row, found: Any, floats: list[int]) -> str:
    """The program, a number made of its result, and the slope of this along a direction, by `grad`."""
    names = [name for name, _ in row.args]
    active = [names[k] for k in floats]
    terms = []
    for path, part in leaves(found):
        if kind(part) == "c":
            terms.append(f"np.sum(np.real({path}) * np.cos(np.imag({path})) + np.real({path}))")
        elif kind(part) == "f":
            terms.append(f"np.sum(np.sin({path}) + {path} * {path})")
    given = ", ".join(name if name in active else f"{name}_given" for name in names)
    gathered = " + ".join(f"np.sum(np.real(bars[{k}] * {name}_dot))" for k, name in enumerate(active))
    where = tuple(range(len(active)))
    return "\n\n".join(
        [
            HEADER,
            row.text,
            (
                f"def total({', '.join(names)}):\n    found = value({', '.join(names)})\n"
                f"    return {' + '.join(terms) or 0.0}\n"
            ),
            f"def along({', '.join(active)}):\n    return total({given})\n",
            (
                f"def slope({', '.join(active)}):\n    bars = dj.grad(along, argnums={where})({', '.join(active)})\n"
                f"    return {gathered or 0.0}\n"
            ),
        ]
    )


def module(row: Row, folder: Path, floats: list[int]) -> ModuleType:
    """The programs of a row, imported from a file, whose source diffjit reads."""
    bare = f"{HEADER}\n\n{row.text}"
    space: dict[str, Any] = {}
    exec(compile(bare, "<row>", "exec"), space)  # noqa: S102 - the table's own programs
    with quiet():
        found = space["value"](*arguments(row))
    path = folder / f"row_{re.sub('[^a-z0-9]', '_', row.name.lower())}_{len(list(folder.iterdir()))}.py"
    path.write_text(texts(row, found, floats))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for name, thing in row.args:
        setattr(made, f"{name}_given", thing)
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
    rejecting = (
        "beta",
        "chisquare",
        "dirichlet",
        "f",
        "gamma",
        "standard_gamma",
        "standard_t",
        "noncentral_f",
        "multivariate_normal",
    )
    return method == "rvs" or (module == "random" and method in rejecting)


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
        return f"late: no answer in {SECONDS} s"
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

    def __init__(self, row: Row, programs: ModuleType, found: Any, active: tuple[int, ...]):
        self.row, self.programs, self.active = row, programs, active
        rng = np.random.default_rng(1)
        self.single = any(np.asarray(part).dtype.char in "efF" for _, part in leaves(found))
        self.found: list[tuple[float, float]] = []
        self.every = tuple(range(len(active)))
        self.dots = [self.direction(row.args[k][1], rng) for k in self.active]
        for k, dot in zip(active, self.dots, strict=True):
            setattr(programs, f"{row.args[k][0]}_dot", dot)

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

    def quotients(self, h: float) -> tuple[float, float]:
        """First and second difference quotients of the plain program."""
        low, middle, high = (float(self.programs.total(*self.moved(s * h))) for s in (-1, 0, 1))
        return (high - low) / (2 * h), (high - 2 * middle + low) / (h * h)

    def wanted(self) -> list[tuple[float, float]]:
        """First and second derivatives, extrapolated, by longer and by shorter steps."""
        if not self.found:
            steps = ((2e-2, 2e-2),) if self.single else ((1e-4, 1e-3), (1e-6, 1e-4))
            for first, second in steps:
                (a, _), (b, _) = self.quotients(first), self.quotients(2 * first)
                (_, c), (_, d) = self.quotients(second), self.quotients(2 * second)
                self.found.append(((4 * a - b) / 3, (4 * c - d) / 3))
        return self.found

    def value(self, backend: str) -> str:
        args = arguments(self.row)
        found = dj.jit(self.programs.value, backend=backend)(*args)
        return near(found, self.programs.value(*arguments(self.row)), 1e-5 if self.single else 1e-9)

    def number(self, found: float, which: int) -> str:
        tolerance = (2e-2, 0.2)[which] if self.single else (2e-5, 2e-3)[which]  # half precision has 11 bits
        for wanted in self.wanted():
            scale = max(1.0, abs(wanted[which]), abs(wanted[0]))
            if np.isclose(found, wanted[which], rtol=0, atol=tolerance * scale, equal_nan=True):
                return "ok"
        if follows_theory(self.row.name):
            return "implicit"
        wanted = self.wanted()[0][which]
        return f"nan for {wanted:.8g}" if np.isnan(found) else f"wrong: {found:.8g} for {wanted:.8g}"

    def inner(self, bars: Any) -> float:
        return sum(float(np.sum(np.real(b * d))) for b, d in zip(bars, self.dots, strict=True))

    def points(self) -> tuple[Any, ...]:
        """The arguments that a derivative is taken by."""
        args = arguments(self.row)
        return tuple(args[k] for k in self.active)

    def jvp(self) -> str:
        found = dj.jvp(self.programs.along, self.points(), tuple(self.dots), backend="python")
        return self.number(float(np.real(found[1])), 0)

    def grad(self) -> str:
        bars = dj.grad(self.programs.along, argnums=self.every, backend="python")(*self.points())
        return self.number(self.inner(bars), 0)

    def second(self) -> str:
        slope = self.programs.slope
        forward = dj.jvp(slope, self.points(), tuple(self.dots), backend="python")[1]
        first = self.number(float(np.real(forward)), 1)
        if first != "ok":
            return first
        bars = dj.grad(slope, argnums=self.every, backend="python")(*self.points())
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


def measured(row: Row, *, compiled: bool = True, brief: bool = False) -> Outcome:
    """What each mode gives; "result" says whether the result has floats ("numbers"), and moves ("constant").

    Where a derivative by some of the arguments is refused, it is measured by the others: "by" names them.
    """
    floats = [k for k, (_, thing) in enumerate(row.args) if kind(thing) in "fc"]
    found = measured_by(row, floats, compiled=compiled, brief=brief)
    if found.get("value") != "ok" or not found.get("grad", "").startswith(("DJ202", "DJ205")) or len(floats) < 2:
        return found
    right = [k for k in floats if measured_by(row, [k], compiled=False, only=("grad",)).get("grad") == "ok"]
    if not right:
        return found
    again = measured_by(row, right, compiled=False, brief=brief)
    return {
        **again,
        **{k: v for k, v in found.items() if k == "compiled"},
        "by": ",".join(row.args[k][0] for k in right),
    }


def measured_by(
    row: Row, floats: list[int], *, compiled: bool, only: tuple[str, ...] = ("jvp", "grad"), brief: bool = False
) -> Outcome:
    """What each mode gives, differentiated by these arguments."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            programs = module(row, Path(folder), floats)
        except Exception as error:  # noqa: BLE001 - the library's own
            return {"result": "raises", "value": f"{type(error).__name__}: {error}"[:160]}
        with quiet():
            found = programs.value(*arguments(row))
        kinds = {kind(part) for _, part in leaves(found)}
        one = Measured(row, programs, found, tuple(floats))
        brief = brief or any(np.asarray(part).dtype == np.float16 for _, part in leaves(found))  # too coarse for more
        result: Outcome = {"result": "numbers" if kinds & set("fc") and floats else "value"}
        result["value"] = outcome(lambda: one.value("python"))
        if compiled and result["value"] == "ok":
            result["compiled"] = outcome(lambda: one.value("numba"))
        if result["result"] == "value":
            return result
        try:
            with quiet():
                slope = one.wanted()[0][0]
        except Exception as error:  # noqa: BLE001 - the library's own, beside the point
            return {**result, "grad": f"unseen: {error}"[:100]}
        if slope == 0:
            result["result"] = "constant"
        for mode in only:
            result[mode] = outcome(getattr(one, mode))
        if result["value"] == "ok" and "jvp" in only and not brief:
            result["lanes"] = outcome(one.lanes)
        if result["grad"] == "ok" and result.get("jvp") == "ok" and not brief:
            result["second"] = outcome(one.second)
        return result
