"""`settings.nan_check`: tests that raise where a number first stops being finite.

def f(x):                    def f(x):
    y = np.log(x)     ->         y = np.log(x)
    return y * y                 if not np.isfinite(y) and np.isfinite(x): raise NonFinite(...)
                                 ...

An operation is to blame if its result is not finite although all that it reads is, or is NaN although nothing that it
reads is NaN: infinities and NaNs that come in with the arguments pass. Results of which `where` alone takes parts are
not tested, nor operations inside a `try`. Derivatives add tests of their own (`transforms.reverse.reverse`, `forward`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import NonFinite, UsageError
from diffjit.ir.build import Builder
from diffjit.ir.nodes import TRIED, Block, Function, Loc, Op, Value
from diffjit.ir.ops import Reads
from diffjit.ir.types import BOOL, Array, Scalar, Type
from diffjit.ir.walk import callees, uses, walk
from diffjit.settings import settings

OFF, NAN, ALL = "", "nan", "all"

_LEVELS = {False: OFF, "": OFF, "0": OFF, True: ALL, "1": ALL, "all": ALL, "nan": NAN}
_CHOOSING = frozenset({"where", "select"})
_COMPUTED = frozenset({
    "sum", "prod", "cumsum", "cumprod", "matmul", "solve", "inv", "det", "cholesky", "eigh", "svd", "foreign",
})  # fmt: skip


def level() -> str:
    """What is tested for: nothing, NaN, or infinities too."""
    try:
        return _LEVELS[settings.nan_check]
    except (KeyError, TypeError):
        raise UsageError(
            "DJ541",
            f"settings.nan_check is {settings.nan_check!r}",
            cure='it may be False, True (infinities and NaN) or "nan" (NaN alone)',
        ) from None


@dataclass(slots=True)
class Suspect:
    """A number that may have stopped being finite."""

    out: Value
    what: str  # it is "`y`", "the cotangent of `x`"
    given: Sequence[Value]  # it is to blame only if these are finite
    shown: Sequence[tuple[str, Value]]  # operands that the message shows
    loc: Loc | None
    lanewise: bool = False  # whether elements are compared with elements


def check_values(function: Function) -> None:
    """Test the values that a program computes, in place."""
    tested = level()
    if not tested:
        return
    for called in callees(function):
        if called is function or not any("found" in op.attrs for op in walk(called.body)):
            _check(called, tested)


def _check(function: Function, tested: str) -> None:
    guarded = Guarded(function)

    def visit(block: Block) -> None:
        ops, block.ops = block.ops, []
        build = Builder(block)
        for op in ops:
            block.ops.append(op)
            if "derived" in op.attrs:  # copied in with a derivative: tested already
                continue
            for region in op.regions:
                visit(region)
            if _computes(op) and not guarded(op.out):
                floats = [v for v in op.inputs if _is_float(v.type)]
                shown = [(called(v, k), v) for k, v in enumerate(op.inputs) if _is_shown(v)]
                what = f"`{op.out.name}`" if op.out.name else "a value"
                lanewise = op.row.by_element
                test(build, Suspect(op.out, what, floats, shown, op.loc, lanewise), tested)

    visit(function.body)


def called(v: Value, k: int) -> str:
    """What to call the k-th operand of an operation."""
    if v.name:
        return v.name
    if v.op is not None and v.op.kind == "load" and v.op.inputs[0].name:
        return f"an element of {v.op.inputs[0].name}"
    return f"operand {k + 1}"


def _computes(op: Op) -> bool:
    """Whether an operation's result may stop being finite."""
    if len(op.outputs) != 1 or TRIED in op.attrs or not _is_float(op.out.type):
        return False
    return op.kind in _COMPUTED or (op.row.by_element and op.kind not in _CHOOSING)


class Guarded:
    """Whether `where` alone takes parts of a value, directly or after further operations on its elements."""

    def __init__(self, function: Function) -> None:
        self.uses = uses(function)
        self.known: dict[Value, bool] = {}

    def __call__(self, v: Value) -> bool:
        if v not in self.known:
            users = [u for u in self.uses.get(v, ()) if isinstance(u, Block) or u.row.reads is not Reads.LENGTHS]
            self.known[v] = bool(users) and all(isinstance(u, Op) and self._harmless(u, v) for u in users)
        return self.known[v]

    def _harmless(self, op: Op, v: Value) -> bool:
        if op.kind in _CHOOSING:
            return op.inputs[0] is not v
        return op.row.by_element and len(op.outputs) == 1 and self(op.out)


def _is_float(ty: Type) -> bool:
    return isinstance(ty, (Scalar, Array)) and ty.dtype.kind in "fc"


def _is_shown(v: Value) -> bool:
    return isinstance(v.type, (Scalar, Array)) and v.type.dtype.kind in "fiuc"


def test(build: Builder, suspect: Suspect, tested: str) -> None:
    """Append a test that raises."""
    outer, build.loc = build.loc, suspect.loc
    try:
        bad = _Tests(build, suspect, tested).bad()
        leave = Block()
        with build.inside(leave):
            names = tuple(name for name, _ in suspect.shown)
            values = [suspect.out, *(v for _, v in suspect.shown)]
            build.op("raise", values, exception=NonFinite, parts=(), found=(suspect.what, names))
        build.op("if", [bad], regions=[leave, Block()])
    finally:
        build.loc = outer


class _Tests:
    """The condition of a test, for each element where elements are compared with elements."""

    def __init__(self, build: Builder, suspect: Suspect, tested: str) -> None:
        self.build, self.suspect, self.tested = build, suspect, tested
        ty = suspect.out.type
        by_element = suspect.lanewise and isinstance(ty, Array) and ty.ndim
        self.type: Type = Array(np.dtype(bool), ty.dims, "C") if by_element else BOOL

    def bad(self) -> Value:
        """NaN out of none, or something not finite out of finite numbers."""
        out, given = self.suspect.out, self.suspect.given
        nan = self._of("isnan", out)
        for v in given:
            nan = self._and(nan, self._not(self._of("isnan", v)))
        nan = self._reduced("any", nan)
        if self.tested == NAN:
            return nan
        new = self._not(self._of("isfinite", out))
        for v in given:
            new = self._and(new, self._of("isfinite", v))
        return self.build.value("logical_or", [nan, self._reduced("any", new)], BOOL)

    def _of(self, kind: str, v: Value) -> Value:
        """Whether a value is finite, or has a NaN."""
        if isinstance(v.type, Scalar) or not v.type.ndim:
            number = v if isinstance(v.type, Scalar) else self.build.value("load", [v], Scalar(v.type.dtype))
            return self.build.value(kind, [number], BOOL)
        lanes = self.build.value(kind, [v], Array(np.dtype(bool), v.type.dims, "C"))
        return lanes if self.type is not BOOL else self._reduced("any" if kind == "isnan" else "all", lanes)

    def _reduced(self, kind: str, v: Value) -> Value:
        """One truth value of those of all elements."""
        if isinstance(v.type, Scalar):
            return v
        return self.build.value(kind, [v], Scalar(np.dtype(bool)), axes=tuple(range(v.type.ndim)), keepdims=False)

    def _not(self, v: Value) -> Value:
        return self.build.value("logical_not", [v], v.type)

    def _and(self, a: Value, b: Value) -> Value:
        return self.build.value("logical_and", [a, b], self.type)
