"""`check_grads`: derivatives beside complex steps and difference quotients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit import tree
from diffjit.api.custom import CustomFunction
from diffjit.api.engine.derived import Derived, Jitted
from diffjit.api.products import jvp, vjp
from diffjit.errors import GradientMismatch, UsageError
from diffjit.streams import copied, is_stream

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_FEW = 24  # elements that are looked at one by one for the worst

# By dtype: tolerances of first derivatives; they grow tenfold with each order.
_TOLERANCES = {"float64": (1e-6, 1e-5), "float32": (1e-2, 1e-2), "float16": (1e-1, 1e-1)}


@dataclass(slots=True)
class Row:
    """One directional derivative by one argument, found in several ways.

    mode      the derivative under test: "fwd", "rev", "fwd(rev)", ...
    ad        what diffjit finds
    complex   the complex step, where the function takes complex numbers
    quotient  the central difference quotient, extrapolated to step 0
    error     how far `ad` is from the most reliable of the others
    kink      the difference quotients from the left and from the right, where they disagree
    worst     the element of the argument that disagrees most, where `ad` is wrong
    """

    order: int
    mode: str
    argument: str
    ad: float
    complex: float | None
    quotient: float
    error: float
    tolerance: float
    ok: bool
    kink: tuple[float, float] | None = None
    worst: str = ""
    note: str = ""


@dataclass(slots=True)
class Report:
    """What `check_grads` has compared: `rows`, and the notes on what could not be."""

    name: str
    rows: list[Row] = field(default_factory=list[Row])
    notes: list[str] = field(default_factory=list[str])

    @property
    def ok(self) -> bool:
        """Whether all derivatives agree."""
        return all(row.ok for row in self.rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from diffjit.api.reports.display import checks_table

        yield from checks_table(self)

    def __str__(self) -> str:
        from diffjit.api.reports.display import as_text

        return as_text(self)


@dataclass(slots=True)
class Checked:
    """A function under test, the path of modes that leads to it, and what its results are projected on."""

    function: Callable[..., Any]
    path: tuple[str, ...]
    seeds: Any

    def mode(self, last: str) -> str:
        """The name of a further derivative."""
        name = ""
        for m in (*self.path, last):
            name = f"{m}({name})" if name else m
        return name


class Checker:
    """Compares the derivatives of one function at one point."""

    def __init__(
        self,
        f: Any,
        args: tuple[Any, ...],
        modes: list[str],
        *,
        atol: Any,
        rtol: Any,
        eps: Any,
        seed: int,
        backend: Any,
    ) -> None:
        self.f, self.args, self.modes = f, tuple(args), modes
        self.backend = backend
        self.rng = np.random.default_rng(seed)
        self.leaves, self.form = tree.flatten(self.args)
        self.floats = [k for k, x in enumerate(self.leaves) if _floating(x)]
        if not self.floats:
            raise UsageError(
                "DJ542", "check_grads needs an argument of floats", cure="pass floats or arrays of floats in args"
            )
        self.names = _names(f, self.args)
        kinds = [np.asarray(self.leaves[k]).dtype.name for k in self.floats]
        narrow = min((np.finfo(kind).dtype.name for kind in kinds), key=lambda name: np.finfo(name).bits)
        self.atol, self.rtol = (
            given if given is not None else known
            for given, known in zip((atol, rtol), _TOLERANCES.get(narrow, _TOLERANCES["float64"]), strict=True)
        )
        # The quotient is wrong by h**4 (it is extrapolated) and by the rounding of f, divided by h.
        self.eps = eps if eps is not None else float(np.finfo(narrow).eps) ** 0.2
        self.report = Report(getattr(f, "__name__", "function"))
        self.plain = f  # the user's own Python function
        while isinstance(self.plain, (Jitted, CustomFunction)):
            self.plain = self.plain.function
        self.complex_why = "it is a derivative itself" if isinstance(self.plain, Derived) else ""
        if any(np.iscomplexobj(x) for x in self.leaves):
            self.complex_why = "its arguments are complex"

    def run(self, order: int) -> Report:
        """All orders, modes and arguments."""
        seeds = self.random(self.value(self.f, self.leaves))
        if not self.complex_why and any(np.iscomplexobj(w) for w in tree.flatten(seeds)[0]):
            self.complex_why = "its results are complex"
        functions = [Checked(self.f, (), seeds)]
        for n in range(1, order + 1):
            direction = self.random(self.args)
            for one in functions:
                self.compare(one, n)
            if n < order:
                functions = [self.derivative(one, mode, direction) for one in functions for mode in self.modes]
        if self.complex_why:
            self.report.notes.append(f"no complex step: {self.complex_why}")
        return self.report

    def derivative(self, one: Checked, mode: str, direction: Any) -> Checked:
        """The next derivative, as a function of the same arguments."""
        function, seeds, backend = one.function, one.seeds, self.backend

        if mode == "fwd":

            def forward(*points: Any) -> Any:
                return jvp(function, points, direction, backend=backend)[1]

            return Checked(forward, (*one.path, mode), seeds)

        def reverse(*points: Any) -> Any:
            return vjp(function, *points, backend=backend)[1](seeds)

        return Checked(reverse, (*one.path, mode), direction)

    # Numbers

    def compare(self, one: Checked, order: int) -> None:
        """The derivatives of one function by each argument."""
        found = {mode: self.products(one, mode) for mode in self.modes}
        for k, part in [(j, p) for j in self.floats for p in _parts(self.leaves[j])]:
            direction = self.only(k, _along(_real_like(self.rng, self.leaves[k]), self.leaves[k], part))
            step = self.complex_step(one, direction) if order == 1 else None
            products = {mode: found[mode](direction) for mode in self.modes}
            first, *others = self.sizes(direction)
            size, found_here = first, self.quotient(one, direction, first)
            rows = self.judged(one, order, k, part, products, step, *found_here)
            for wider in others if not all(row.ok for row in rows) else []:
                try:
                    found_here = self.quotient(one, direction, wider)
                except Exception as error:  # noqa: BLE001 - whatever the user's function does not do so far away
                    note = f"no larger step by `{rows[0].argument}`: {type(error).__name__}: {error}"
                    self.report.notes.append(note)
                else:
                    size, rows = wider, self.judged(one, order, k, part, products, step, *found_here)
            self.report.rows += rows
            for mode, row in zip(self.modes, rows, strict=True):
                if not row.ok:
                    row.worst = self.worst(one, found[mode], k, part, size)

    def judged(
        self,
        one: Checked,
        order: int,
        k: int,
        part: str,
        products: dict[str, float],
        step: float | None,
        quotient: float,
        kink: tuple[float, float] | None,
    ) -> list[Row]:
        """The rows of one argument, a mode each."""
        name = self.names[k] + part
        return [self.row(one, order, mode, name, ad, quotient, step, kink) for mode, ad in products.items()]

    def sizes(self, direction: Any) -> list[float]:
        """What steps are in proportion to: small arguments, which a program may not bear any larger; then 1.

        A step that is small like its argument is lost in rounding where the argument stands beside larger numbers.
        """
        moved, _ = tree.flatten(direction)
        sizes = (float(np.max(np.abs(self.leaves[k]), initial=0.0)) for k in self.floats if _moves(moved[k]))
        largest = max(sizes, default=0.0)
        return [largest] if largest >= 1.0 else [largest, 1.0] if largest > 0.0 else [1.0]

    def row(
        self,
        one: Checked,
        order: int,
        mode: str,
        argument: str,
        ad: float,
        quotient: float,
        step: float | None,
        kink: tuple[float, float] | None,
    ) -> Row:
        """Judge one number."""
        grown = 10.0 ** (order - 1)
        tolerance = grown * (self.atol + self.rtol * abs(quotient))
        error, note = abs(ad - quotient), ""
        ok = error <= tolerance
        if step is not None and not abs(step - quotient) <= tolerance:
            if abs(ad - step) <= grown * (self.atol + self.rtol * abs(step)):
                ok, note = kink is None, "agrees with the complex step; the quotient is inaccurate"
                error = abs(ad - step) if ok else error
            elif ok:
                note = "the function is not complex-analytic here: its complex step does not count"
        if kink is not None:
            note = f"a kink or jump: the quotients from the left and right are {kink[0]:.6g} and {kink[1]:.6g}"
        if not math.isfinite(ad) and not ok:
            note = note or "the derivative is not finite"
        return Row(order, one.mode(mode), argument, ad, step, quotient, error, tolerance, bool(ok), kink, "", note)

    def products(self, one: Checked, mode: str) -> Callable[[Any], float]:
        """Direction -> the seeds' product with the Jacobian and the direction."""
        if mode == "fwd":
            return lambda direction: _inner(
                one.seeds, jvp(one.function, self.fresh(self.leaves), direction, backend=self.backend)[1]
            )
        bars = vjp(one.function, *self.fresh(self.leaves), backend=self.backend)[1](one.seeds)
        return lambda direction: _inner(bars, direction)

    def quotient(self, one: Checked, direction: Any, size: float) -> tuple[float, tuple[float, float] | None]:
        """The central quotient, extrapolated, and the one-sided ones where these disagree."""
        moved, _ = tree.flatten(direction)
        h = self.eps * size
        here = self.project(one, 0.0, moved)
        ahead, behind = self.project(one, h, moved), self.project(one, -h, moved)
        near_ahead, near_behind = self.project(one, h / 2, moved), self.project(one, -h / 2, moved)
        wide, close = (ahead - behind) / (2 * h), (near_ahead - near_behind) / h
        # Of a smooth function, the difference of one-sided quotients halves with the step; at a kink it stays.
        right, left = (near_ahead - here) / (h / 2), (here - near_behind) / (h / 2)
        wide_gap = (ahead - 2 * here + behind) / h
        tolerance = self.atol + self.rtol * abs(close)
        rounding = 8 * np.finfo(np.asarray(self.leaves[self.floats[0]]).dtype).eps * abs(here) / h
        gap = abs(right - left)
        kinked = gap > max(100 * tolerance, 10 * rounding) and gap > 0.75 * abs(wide_gap)
        return (4 * close - wide) / 3, (float(left), float(right)) if kinked else None

    def project(self, one: Checked, step: float, moved: list[Any]) -> float:
        """The function's results at a point nearby, as one number."""
        leaves = [
            x if k not in self.floats else _shifted(x, step, d)
            for k, (x, d) in enumerate(zip(self.leaves, moved, strict=True))
        ]
        return _inner(one.seeds, self.value(one.function, leaves))

    def complex_step(self, one: Checked, direction: Any) -> float | None:
        """Im f(x + ih) / h of the plain Python function (Squire and Trapp, SIAM Review 40, 1998)."""
        if self.complex_why:
            return None
        h = 1e-20
        moved, _ = tree.flatten(direction)
        leaves = [
            _complexified(x, h, d) if k in self.floats else x
            for k, (x, d) in enumerate(zip(self.leaves, moved, strict=True))
        ]
        try:
            value = self.value(self.plain, leaves)
            found = sum(
                float(np.sum(np.imag(y) * np.asarray(w)))
                for w, y in zip(tree.flatten(one.seeds)[0], tree.flatten(value)[0], strict=True)
                if _floating(w)
            )
        except Exception as error:  # noqa: BLE001 - whatever the user's function does not do with complex numbers
            self.complex_why = f"called with complex numbers, it raises {type(error).__name__}: {error}"
            return None
        return found / h

    def worst(self, one: Checked, product: Callable[[Any], float], k: int, part: str, size: float) -> str:
        """The element of an argument where the derivative is furthest off: halves of it until few are left."""
        leaf = self.leaves[k]
        if not isinstance(leaf, np.ndarray):
            return ""
        chosen = np.arange(leaf.size)

        def off(elements: np.ndarray) -> float:
            flat = np.zeros(leaf.size, leaf.real.dtype)
            flat[elements] = 1
            direction = self.only(k, _along(flat.reshape(leaf.shape), leaf, part))
            return abs(product(direction) - self.quotient(one, direction, size)[0])

        while chosen.size > _FEW:
            first, second = chosen[: chosen.size // 2], chosen[chosen.size // 2 :]
            errors = np.nan_to_num([off(first), off(second)], nan=np.inf)
            chosen = first if errors[0] >= errors[1] else second
        errors = np.nan_to_num([off(chosen[j : j + 1]) for j in range(chosen.size)], nan=np.inf)
        index = np.unravel_index(int(chosen[int(np.argmax(errors))]), leaf.shape)
        return f"{self.names[k]}[{', '.join(str(int(i)) for i in index)}]{part}"

    # Trees

    def value(self, function: Any, leaves: list[Any]) -> Any:
        """A call with arrays of its own; NumPy need not warn of what is reported here."""
        with np.errstate(all="ignore"):
            return function(*self.fresh(leaves))

    def fresh(self, leaves: list[Any]) -> tuple[Any, ...]:
        """The arguments, as copies: functions may write to them."""
        return self.form.unflatten(iter([_own(x) for x in leaves]))

    def only(self, k: int, moved: Any) -> Any:
        """A direction that changes one leaf."""
        return self.form.unflatten(iter([moved if j == k else _still(x) for j, x in enumerate(self.leaves)]))

    def random(self, value: Any) -> Any:
        """A random tree like another one."""
        leaves, form = tree.flatten(value)
        return form.unflatten(iter([_random_like(self.rng, x) for x in leaves]))


def check(
    f: Any,
    args: tuple[Any, ...],
    order: int,
    modes: list[str],
    *,
    atol: float | None,
    rtol: float | None,
    eps: float | None,
    seed: int,
    directions: int,
    backend: str | None,
) -> Report:
    """See `functions.check_grads`."""
    if not set(modes) <= {"fwd", "rev"} or not modes:
        raise UsageError("DJ542", f"check_grads has modes {modes!r}", cure='modes are "fwd" and "rev"')
    if order < 1 or directions < 1:
        raise UsageError("DJ542", "check_grads needs an order and directions of at least 1", cure="order=1")
    if not isinstance(args, (tuple, list)):
        raise UsageError("DJ542", "check_grads takes a tuple of arguments", cure="dj.check_grads(f, (x,))")
    report = Report(getattr(f, "__name__", "function"))
    for n in range(directions):
        checker = Checker(f, args, modes, atol=atol, rtol=rtol, eps=eps, seed=seed + n, backend=backend)
        found = checker.run(order)
        report.rows += found.rows
        report.notes = found.notes
    if not report.ok:
        worst = max((r for r in report.rows if not r.ok), key=_badness)
        raise GradientMismatch.of(report, worst)
    return report


def _badness(row: Row) -> float:
    return row.error / row.tolerance if math.isfinite(row.error) and row.tolerance else math.inf


def _names(f: Any, args: tuple[Any, ...]) -> list[str]:
    """A name for each leaf: `w`, `params['w']`, `x[0]`."""
    from diffjit.frontend.entry.program import parameter_names

    named = parameter_names(f, args, {})
    return [text for name, a in zip(named, args, strict=True) for text in _paths(name, a)]


def _paths(name: str, value: Any) -> Iterator[str]:
    leaves, form = tree.flatten(value)
    if form.is_leaf():
        yield name
    elif isinstance(value, dict):
        for key in sorted(value, key=repr) if len({type(k) for k in value}) > 1 else sorted(value):
            yield from _paths(f"{name}[{key!r}]", value[key])
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for part, item in zip(getattr(value, "_fields", ()), value, strict=True):
            yield from _paths(f"{name}.{part}", item)
    elif isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from _paths(f"{name}[{k}]", item)
    else:
        yield from itertools.islice((f"{name}, number {k}" for k in itertools.count()), len(leaves))


def _moves(d: Any) -> bool:
    return _floating(d) and bool(np.any(d))


def _floating(x: Any) -> bool:
    return isinstance(x, (float, complex, np.inexact)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fc")


def _parts(x: Any) -> tuple[str, ...]:
    """What an argument is moved in: itself, or its real and imaginary parts."""
    return (".real", ".imag") if np.iscomplexobj(x) else ("",)


def _along(d: Any, x: Any, part: str) -> Any:
    """A real direction as one of a leaf's parts."""
    if not part:
        return d
    turned = d * (1.0 if part == ".real" else 1j)
    return turned.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(turned)


def _random_like(rng: np.random.Generator, x: Any) -> Any:
    if not np.iscomplexobj(x):
        return _real_like(rng, x) if _floating(x) else _still(x)
    real, imag = (_real_like(rng, x) for _ in range(2))
    return _along(real, x, ".real") + _along(imag, x, ".imag")


def _real_like(rng: np.random.Generator, x: Any) -> Any:
    """Random real numbers in the form and precision of a leaf."""
    if isinstance(x, np.ndarray):
        return rng.standard_normal(x.shape).astype(x.real.dtype)
    number = rng.standard_normal()
    return float(number) if isinstance(x, complex) else type(x.real)(number)


def _own(x: Any) -> Any:
    """A leaf that a call may change: streams of random numbers give the same numbers each time."""
    return x.copy() if isinstance(x, np.ndarray) else copied(x) if is_stream(x) else x


def _still(x: Any) -> Any:
    """No change of a leaf."""
    if is_stream(x):
        return x
    return np.zeros_like(x) if isinstance(x, np.ndarray) else type(x)(0)


def _shifted(x: Any, step: float, d: Any) -> Any:
    if isinstance(x, np.ndarray):
        moved = np.empty_like(x)
        moved[...] = x + x.dtype.type(step) * d
        return moved
    return type(x)(x + step * d)


def _complexified(x: Any, h: float, d: Any) -> Any:
    if isinstance(x, np.ndarray):
        moved = np.empty_like(x, dtype=np.complex128)
        moved[...] = x + 1j * (h * np.asarray(d, np.float64))
        return moved
    return complex(x, h * float(d))


def _inner(a: Any, b: Any) -> float:
    """The real part of the sum of products, as `vjp` pairs cotangents with tangents."""
    return float(sum(np.sum(np.real(_wide(x) * _wide(y))) for x, y in _pairs(a, b) if _floating(x)))


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]]:
    """The leaves that both trees have at one place, without streams of random numbers, which have no cotangent.

    A truth value is none of a tree's leaves, but its tangent is a number.
    """
    (left, form), (right, other) = tree.flatten(a), tree.flatten(b)
    ours, theirs = iter(left), iter(right)
    places = zip(_places(form), _places(other), strict=True)
    found = [(next(ours) if x else None, next(theirs) if y else None, x and y) for x, y in places]
    return [(x, y) for x, y, both in found if both and not is_stream(x)]


def _places(form: tree.Structure) -> list[bool]:
    """Whether there is a leaf, place by place."""
    return [
        leaf
        for s in form.slots
        for leaf in (_places(s.inner) if isinstance(s, tree.Record) else [isinstance(s, tree.Leaf)])
    ]


def _wide(x: Any) -> Any:
    return np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64)
