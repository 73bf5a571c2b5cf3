"""Elementwise operations: result types as NumPy 2 decides them, broadcasting of what is known of lengths, folding."""

from __future__ import annotations

import itertools
import math
import operator
from functools import cache
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.errors import TypeProblem, real_only
from diffjit.frontend.syntax.frames import NeedStatic
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import join_scalars
from diffjit.frontend.values.leaves import as_type
from diffjit.frontend.values.mixed import alternatives
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import Static, is_none
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import Value, is_const
from diffjit.ir.ops import ROWS, Row
from diffjit.ir.types import BOOL, COMPLEX, FLOAT, INT, Array, Dim, Scalar, Sym, Type, broadcast, not_one
from diffjit.primitives import scipy_special
from diffjit.primitives.registry import ELEMENTWISE
from diffjit.primitives.semantics import SCALAR_SEMANTICS

_OF_TWO: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "@": operator.matmul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_OF_ONE: dict[str, Any] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}


def _python_operator(row: Row) -> Any:
    of = {1: _OF_ONE, 2: _OF_TWO}.get(len(row.operands.split()), {})
    return abs if row.kind == "absolute" else of.get(row.operator)


PYTHON_OPERATORS = {kind: _python_operator(row) for kind, row in ROWS.items() if _python_operator(row) is not None}
_OF_REALS = frozenset({"sinc", "i0"})  # what is computed of real numbers alone, by functions that are no ufuncs
_FOLLOWING = frozenset({"const", "negative", "positive", "cast", "multiply"})  # their sign follows from the operands'
_GUARDED = {"zmul": "multiply", "zdiv": "divide"}  # and what they are where the guard is not needed
BEYOND_FLOATS = 2**1024  # Python's ints from here on are no floats
_PYTHON_TYPES = {"b": np.dtype(np.bool_), "i": int, "f": float, "c": complex}


def scalar_result(kind: str, types: list[Scalar]) -> Scalar:
    """The type of Python's own operator on Python's own numbers."""
    widest = types[0]
    for ty in types[1:]:
        widest = join_scalars(widest, ty)
    if ROWS[kind].boolean:
        return BOOL
    if kind == "divide":
        return COMPLEX if widest.dtype.kind == "c" else FLOAT
    if kind == "absolute" and widest.dtype.kind == "c":
        return FLOAT
    if kind in ("bitwise_and", "bitwise_or", "bitwise_xor") and widest == BOOL:
        return BOOL
    return INT if widest == BOOL else widest


def numpy_result(kind: str, types: list[Scalar | Array]) -> np.dtype:
    """The dtype that NumPy's ufunc gives."""
    operands = [_operand(ty) for ty in types]
    if all(isinstance(o, type) for o in operands):
        operands = [np.dtype(o) for o in operands]
    if ROWS[kind].boolean:
        return np.dtype(np.bool_)
    ufunc = getattr(np, kind, None)
    if isinstance(ufunc, np.ufunc) and ufunc.nin == len(operands) and ufunc.nout == 1:
        return ufunc.resolve_dtypes((*operands, None))[-1]
    entry = ELEMENTWISE.get(kind)
    if entry is not None and isinstance(entry.ufunc, np.ufunc) and entry.ufunc.nin == len(operands):
        return entry.ufunc.resolve_dtypes((*operands, None))[-1]
    if kind in scipy_special.EXPORTS:
        return scipy_special.result_dtype(kind, operands)
    examples = [_example(o) for o in operands]
    if kind in ("where", "select"):
        return np.result_type(*examples[1:])
    joined = np.result_type(*examples)
    if kind == "zmul":
        return joined
    if kind in ("real", "imag", "angle"):
        return (
            np.dtype(f"f{joined.itemsize // 2}")
            if joined.kind == "c"
            else (joined if kind != "angle" else _floating(joined))
        )
    return _floating(joined)


def as_operand(ty: Scalar | Array) -> Any:
    """What stands for an operand of this type in `np.result_type`: a Python number is weak."""
    return _example(_operand(ty))


def _operand(ty: Scalar | Array) -> Any:
    return _PYTHON_TYPES[ty.dtype.kind] if isinstance(ty, Scalar) and ty.weak else ty.dtype


def _floating(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _example(operand: Any) -> Any:
    if isinstance(operand, type):
        return operand(0)
    return operand


def broadcast_dims(shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
    """What is known of the lengths of a broadcast result; a mismatch that is certain is an error."""
    ndim = max((len(s) for s in shapes), default=0)
    out: list[Dim] = []
    for k in range(ndim):
        dims = [s[k - ndim + len(s)] for s in shapes if k - ndim + len(s) >= 0]
        out.append(_broadcast_dim(dims, shapes))
    return tuple(out)


def _broadcast_dim(dims: list[Dim], shapes: list[tuple[Dim, ...]]) -> Dim:
    rest = list(dict.fromkeys(d for d in dims if d != 1))
    if not rest:
        return 1
    known = [d for d in rest if isinstance(d, int)]
    if len(set(known)) > 1:
        text = " ".join(str(tuple(d if isinstance(d, int) else "n" for d in s)) for s in shapes)
        raise TypeProblem(
            "DJ310",
            f"shapes that cannot be broadcast together: {text}",
            cure="make the lengths equal, or 1",
            python=ValueError,
        )
    if known:
        return known[0]
    if len(rest) == 1:
        return rest[0]
    return next((d for d in rest if not_one(d)), None) or broadcast([d for d in rest if isinstance(d, Sym)])


def may_fit(source: tuple[Dim, ...], target: tuple[Dim, ...]) -> bool:
    """Whether an array may be stored into another, by what is known of their lengths."""
    pairs = zip(reversed(source), reversed(target), strict=False)
    return all(a in (1, b) or not (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)


def shape_text(dims: tuple[Dim, ...]) -> str:
    """A shape as NumPy writes it, as far as it is known."""
    known = [str(d) if isinstance(d, int) else "n" for d in dims]
    return f"({', '.join(known)}{',' if len(known) == 1 else ''})"


class Arith(Mixin):
    """Mixin of the interpreter: elementwise operations."""

    build: Any
    length_facts: Any
    rule_mode: bool

    def number(self, value: Any, what: str = "a number") -> Value:
        """An abstract value as an IR scalar or array."""
        if isinstance(value, Value):
            ty = value.type
            if isinstance(ty, Array) and ty.ndim == 0:
                return self.build.value("load", [value], Scalar(ty.dtype), name=value.name)
            if isinstance(ty, (Scalar, Array)):
                return value
        value = av.as_number(value)
        if isinstance(value, Static) and av.is_number(value.obj):
            return self.build.const(value.obj)
        if isinstance(value, Static) and isinstance(value.obj, np.ndarray):
            return self.number(self.lift_constant(value.obj))
        if isinstance(value, av.Opt):
            return self.number(self.not_none(value))
        if isinstance(value, av.Maybe):
            return self.number(self.bound(value))
        if isinstance(value, (av.Tup, av.Ref)):
            return self.array_from(self.known_object(value))
        if isinstance(value, av.Range):
            return self.array_from(value)
        wrong = isinstance(value, Static) and (value.obj is None or isinstance(value.obj, str))
        wrong = wrong or (isinstance(value, Static) and type(value.obj).__module__ == "datetime")
        problem = f"{describe(value)} is used where {what} is needed"
        foreign = isinstance(value, Static) and hasattr(value.obj, "__array__")
        cure = "make an array of NumPy of it first, np.asarray(...)" if foreign else ""
        raise self.type_problem("DJ301", problem, cure=cure, python=TypeError if wrong else None)

    def ew(self, kind: str, *args: Any, weak: bool = True, name: str | None = None) -> Any:
        """Apply an elementwise kind. `weak`: Python's operator on Python numbers gives one; NumPy's does not."""
        args = tuple(map(av.as_number, args))
        if kind in SCALAR_SEMANTICS and SCALAR_SEMANTICS[kind].integer:
            self._check_order(kind, self.number(args[0]).type)
        if all(isinstance(a, Static) and av.is_number(a.obj) for a in args):
            folded = self._fold(kind, args, weak=weak)
            if folded is not None:
                return folded
        operands = [self.number(a) for a in short_among_floats(args)]
        if self.handlers:
            self.guard_broadcast(operands)
        if self.rule_mode:
            if kind in _GUARDED and isinstance(args[0], Static) and args[0].obj:
                kind = _GUARDED[kind]
            simple = self._simplify(kind, args, operands)
            if simple is not None:
                return simple
        types: list[Any] = [o.type for o in operands]
        if any(isinstance(t, Scalar) and t.narrow for t in types):
            return self._of_mixed(kind, operands, weak=weak, name=name)
        ty = self._ew_type(kind, types, args, weak=weak)
        if self.handlers and not (ROWS[kind].boolean or getattr(ty, "weak", False)):
            for operand in operands if kind != "where" or where_tests() else ():
                self.check_fits(operand, ty.dtype)
        return self.build.value(kind, operands, ty, name=name)

    def _check_order(self, kind: str, ty: Type) -> None:
        if ty.dtype.kind not in "biu":
            name = kind.removeprefix(scipy_special.PREFIX)
            what = f"the order of `{name}` is an int, and here it is a {ty.dtype} number"
            raise self.type_problem("DJ302", what, cure="write it as an int, or round it: int(n)")

    def _ew_type(self, kind: str, types: list[Any], args: Any, *, weak: bool) -> Type:
        scalars = all(isinstance(t, Scalar) for t in types)
        if scalars and weak and all(t.weak for t in types):
            return self._weak_type(kind, types, args)
        dtype = self.numpy_dtype(kind, types)
        dims = self.broadcast([t.dims for t in types if isinstance(t, Array)])
        return Scalar(dtype) if scalars else Array(dtype, dims, _result_layout(types))

    def _of_mixed(self, kind: str, operands: list[Value], *, weak: bool, name: str | None) -> Value:
        """Apply an elementwise kind to ints that have another type on another path (`frontend.values.mixed`)."""
        found = [self._ew_type(kind, types, operands, weak=weak) for types in alternatives([o.type for o in operands])]
        if all(ty == found[0] for ty in found):
            return self.build.value(kind, operands, found[0], name=name)
        if all(isinstance(ty, Scalar) and ty.dtype.kind in "iu" for ty in found):
            made = self.build.value(kind, [self.as_weak(o) for o in operands], INT, name=name)
            narrow = sorted({ty.dtype for ty in found if not (ty.weak or ty.dtype == INT.dtype)}, key=str)
            for dtype in narrow:
                made = self.as_weak(self.cast(made, dtype))
            return self.build.value("cast", [made], Scalar(INT.dtype, weak=True, narrow=tuple(narrow)), name=name)
        if any(ty.dtype.kind in "iu" for ty in found):
            raise self.error(
                TypeProblem("DJ304", f"`{kind}` of an int that is Python's own on one path and NumPy's on another",
                            cure="write int(...) where the number is made")
            )  # fmt: skip
        wide = [self.cast(o, np.int64) if isinstance(o.type, Scalar) and o.type.narrow else o for o in operands]
        return self.build.value(kind, wide, self._ew_type(kind, [o.type for o in wide], wide, weak=weak), name=name)

    def broadcast(self, shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
        """`broadcast_dims`; a mismatch inside a `try` that catches ValueError is an exception like any other."""
        for axis in range(max(map(len, shapes), default=0)):
            self.length_facts.meet([s[-1 - axis] for s in shapes if axis < len(s)])
        try:
            return broadcast_dims(shapes)
        except TypeProblem:
            if self.catches(ValueError):
                self.raise_if(Static(True), ValueError, "operands could not be broadcast together")
            raise

    def guard_broadcast(self, operands: list[Value], exception: type = ValueError) -> None:
        """Inside a `try` that catches the exception: lengths that are not known to agree are compared first."""
        arrays = [o for o in operands if isinstance(o.type, Array)]
        if len(arrays) < 2 or not self.catches(exception):
            return
        for k in range(1, max(o.type.ndim for o in arrays) + 1):
            column = [(o, o.type.ndim - k) for o in arrays if o.type.ndim >= k and o.type.dims[-k] != 1]
            for (a, i), (b, j) in itertools.pairwise(column):
                if a.type.dims[i] != b.type.dims[j]:
                    first, second = self.dim(a, i), self.dim(b, j)
                    ok: Any = self.compare_kind("equal", first, second)
                    for length in (first, second):
                        ok = self.either(ok, self.compare_kind("equal", length, Static(1)))
                    self.guard(ok, exception, av.inexact("operands could not be broadcast together"))

    def numpy_dtype(self, kind: str, types: list[Any]) -> np.dtype:
        """The dtype by NumPy's rules, with NumPy's refusal in our words."""
        try:
            found = numpy_result(kind, types)
        except TypeError as error:
            kinds = ", ".join(str(t.dtype) for t in types)
            problem = f"`{kind}` does not take {kinds}"
            raise self.type_problem("DJ302", problem, cure="convert the operands first", python=TypeError) from error
        if found.kind == "c" and kind in _OF_REALS:
            raise self.error(real_only(kind))
        return found

    def loop_operands(self, ufunc: np.ufunc, args: list[Any], dtype: Any, casting: Any, node: Any) -> list[Any]:
        """Operands in the dtypes of the loop that NumPy chooses by `dtype=`: a comparison's keep theirs for bool.

        `casting=` says what they may be converted to; NumPy raises a TypeError where they would have to be another.
        """
        if is_none(dtype) and casting.obj == "same_kind":
            return args
        operands = [self.number(a) for a in args]
        types: list[Any] = [o.type for o in operands]
        given, chosen = list(map(_operand, types)), None if is_none(dtype) else self.dtype_of(dtype)
        if all(isinstance(g, type) for g in given):
            given = [np.dtype(g) for g in given]
        signature = (*(None for _ in given), chosen)
        try:
            found = ufunc.resolve_dtypes((*given, None), signature=signature, casting=casting.obj)
        except (TypeError, ValueError) as error:
            kinds = ", ".join(str(t.dtype) for t in types)
            meant = f"dtype={chosen}, casting={casting.obj!r}" if chosen else f"casting={casting.obj!r}"
            problem = f"`{ufunc.__name__}` does not take {kinds} with {meant}"
            cure = "convert the operands first (x.astype(...)), or say casting='unsafe'"
            python = TypeError if isinstance(error, TypeError) else ValueError
            raise self.type_problem("DJ302", problem, node, cure=cure, python=python) from error
        return args if chosen is None else [self.cast(o, to) for o, to in zip(operands, found, strict=False)]

    def _weak_type(self, kind: str, types: list[Scalar], args: tuple[Any, ...]) -> Scalar:
        if kind in PYTHON_OPERATORS or ROWS[kind].boolean:
            ty = scalar_result(kind, types)
            if kind == "power" and ty == INT:
                return self._int_power_type(args)
            return ty
        if kind in ("where", "select"):
            return join_scalars(types[1], types[2])
        if kind == "zdiv":
            return scalar_result("divide", types)
        if kind in ("zmul", "maximum", "minimum", "sign", "square", "one_minus_square"):
            return scalar_result("add", types)
        return Scalar(self.numpy_dtype(kind, list(types)), weak=True)

    def _int_power_type(self, args: tuple[Any, ...]) -> Scalar:
        exponent = args[1]
        if isinstance(exponent, Static):
            return FLOAT if exponent.obj < 0 else INT
        self.ask_for_signs(exponent)
        sign = self.sign(exponent)
        if sign == "-":
            return FLOAT
        if sign != "+":
            negative = self.compare_kind("less", exponent, Static(0))
            message = "an int to a negative power that is only known at run time: write float(base) ** exponent [DJ304]"
            self.refuse_if(negative, ValueError, message)
        return INT

    def sign(self, value: Any) -> str:
        """What is known of an int: "+" never negative, "-" negative at times, "" nothing."""
        if isinstance(value, Value) and isinstance(value.type, (Scalar, Array)) and value.type.dtype.kind == "c":
            return ""
        if isinstance(value, Static):
            return "-" if value.obj < 0 else "+"
        exact = self.known_sign(value)
        if exact is not None:
            return "-" if exact < 0 else "+"
        least = self.least(value)
        if least is not None:
            return "-" if least < 0 else "+"
        if value in self.iv_loops:
            start, _, step = self.iv_loops[value].bounds
            return self.sign(start) if self.sign(step) == "+" else ""
        if value.op is None:
            return ""
        kind = value.op.kind
        if kind == "const":
            return "-" if value.op.attrs["value"] < 0 else "+"
        if ROWS[kind].length or kind == "absolute":
            return "+"
        signs = {self.sign(v) for v in value.op.inputs}
        if kind == "negative":
            return "-"
        return (
            "+"
            if signs == {"+"} and kind in ("add", "multiply", "floor_divide", "remainder", "maximum", "minimum")
            else ""
        )

    def compare_signs(self, kind: str, left: Any, right: Any) -> Any:
        """`n < 0` and `n >= 0` of an int that is never negative, as a length; None of all else."""
        if kind not in ("less", "greater_equal") or not isinstance(right, Static) or type(right.obj) is not int:
            return None
        is_int = isinstance(left, Value) and isinstance(left.type, Scalar) and left.type.dtype.kind in "iu"
        return Static(kind == "greater_equal") if is_int and right.obj == 0 and self.sign(left) == "+" else None

    def known_sign(self, value: Any) -> int | None:
        """-1, 0 or 1 where a number follows in sign from what the program is specialised for."""
        if value in self.param_paths:
            return self.signs.get(self.param_paths[value])
        if value.op is None or value.op.kind not in _FOLLOWING:
            return None
        if value.op.kind == "const":
            return tree.sign_of(value.op.attrs["value"])
        parts = [self.known_sign(v) for v in value.op.inputs]
        if None in parts:
            return None
        product = math.prod(parts)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return -product if value.op.kind == "negative" else product

    def ask_for_signs(self, value: Any) -> None:
        """Start again with the signs of the ints from outside that this one follows in sign, if there are such."""
        paths, todo = [], [value]
        while todo:
            v = todo.pop()
            if v in self.param_paths:
                paths.append(self.param_paths[v])
            elif v.op is not None and v.op.kind in _FOLLOWING:
                todo += v.op.inputs
            else:
                return
        unknown = [path for path in paths if path not in self.signs]
        if unknown:
            error = TypeProblem("DJ304", "an int to a power whose sign is not known", cure="write float(base) ** n")
            raise NeedStatic(self.error(error), [("sign", path) for path in unknown])

    def least(self, value: Any) -> int | None:
        """The least value that an int takes, where it is a loop's counter and constants."""
        if value in self.iv_loops:
            start, _, step = self.iv_loops[value].bounds
            return self.least(start) if self.sign(step) == "+" else None
        if value.op is None or value.op.kind not in ("const", "add", "subtract"):
            return None
        if value.op.kind == "const":
            return value.op.attrs["value"]
        a, b = (self.least(v) for v in value.op.inputs)
        constant = [is_const(v) for v in value.op.inputs]
        if a is None or b is None or not any(constant):
            return None
        return a + b if value.op.kind == "add" else a - b if constant[1] else None

    def _fold(self, kind: str, args: tuple[Any, ...], *, weak: bool) -> Any:
        numbers = [a.obj for a in args]
        python = kind in PYTHON_OPERATORS and weak
        function = PYTHON_OPERATORS.get(kind) if python else getattr(np, kind, None)
        if kind == "zmul":
            function = operator.mul
        if function is None:
            return None
        try:
            with np.errstate(all="ignore"):
                result = function(*numbers)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError):
            return None
        if isinstance(result, int) and abs(result) >= BEYOND_FLOATS:
            return None
        return Static(result) if av.is_number(result) else None

    def _simplify(self, kind: str, args: tuple[Any, ...], operands: list[Value]) -> Any:
        """Drop neutral elements in derivative rules (never in the user's own arithmetic)."""
        if len(args) != 2:
            return None
        left, right = (a.obj if isinstance(a, Static) else None for a in args)
        if kind in ("multiply", "zmul"):
            if _is(right, 1):
                return operands[0]
            if _is(left, 1):
                return operands[1]
        elif kind in ("power", "divide", "zdiv") and _is(right, 1):
            ty = operands[0].type
            return operands[0] if ty.dtype.kind in "fc" else None
        elif kind in ("add", "subtract") and _is(right, 0):
            return operands[0]
        elif kind == "add" and _is(left, 0):
            return operands[1]
        return None

    def cast(self, value: Any, dtype: Any, *, weak: bool = False) -> Any:
        """Convert to a dtype (a scalar stays a scalar)."""
        operand = self.number(value)
        if isinstance(operand.type, Scalar):
            if self.handlers and not weak:
                self.check_fits(operand, np.dtype(dtype))
            return as_type(self.build, operand, Scalar(np.dtype(dtype), weak=weak))
        if operand.type.dtype == np.dtype(dtype):
            return operand
        ty = Array(np.dtype(dtype), operand.type.dims, _result_layout([operand.type]))
        return self.build.value("cast", [operand], ty, name=operand.name)

    def as_dtype(self, value: Value, dtype: np.dtype, *, scattered: bool = False) -> Value:
        """A scalar in an array's dtype (arrays are cast by the store itself); `scattered` by a mask or an index array.

        Python's numbers must fit into an integer dtype. NumPy's are converted by way of Python's where the dtype is
        signed, by C's rules otherwise.
        """
        if isinstance(value.type, Scalar) and value.type.dtype != dtype:
            if value.type.dtype.kind == "c" and dtype.kind != "c":
                by_python = value.type.weak and dtype.kind in "iuf"  # NumPy's own lose their imaginary part
                raise self.complex_into_real("a complex number is", TypeError if by_python else None)
            by_int = value.type.weak or (dtype.kind == "i" and not scattered)
            if dtype.kind in "iu" and by_int and not np.can_cast(value.type.dtype, dtype):
                self.check_long(value)
                value = self.to_int(value)
            return self.cast(value, dtype)
        if value.type.dtype.kind == "c" and dtype.kind != "c":
            raise self.complex_into_real("complex numbers are")
        return value

    def complex_into_real(self, what: str, python: type[Exception] | None = None) -> TypeProblem:
        """The error of an array that would take the real part of what is assigned; `python`: what NumPy raises."""
        return self.type_problem("DJ313", f"{what} stored into a real array", cure="take .real first", python=python)


@cache
def where_tests() -> bool:
    """Whether `np.where` refuses Python's ints that do not fit, as NumPy 2.5 does; before, they wrapped."""
    try:
        np.where([True], np.zeros(1, np.uint8), 300)
    except OverflowError:
        return True
    return False


def _is(number: Any, value: int) -> bool:
    return (
        isinstance(number, (int, float))
        and not isinstance(number, bool)
        and number == value
        and not math.copysign(1, number) < 0
    )


def _result_layout(types: list[Any]) -> str:
    """NumPy keeps an order that all array operands share; where they differ the result's order is not known."""
    layouts = {t.layout for t in types if isinstance(t, Array) and t.ndim > 1}
    return layouts.pop() if len(layouts) == 1 else ("A" if layouts else "C")


def short_among_floats(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands, where Python makes floats of ints as another one is a float: an int may be beyond 64 bits."""
    longs = [isinstance(a, Static) and tree.is_long(a.obj) and abs(a.obj) < BEYOND_FLOATS for a in args]
    if not any(longs):
        return args
    kinds = {np.asarray(a.obj).dtype.kind if isinstance(a, Static) else a.type.dtype.kind for a in args if _typed(a)}
    if not kinds & {"f", "c"}:
        return args
    return tuple(Static(float(a.obj)) if long else a for a, long in zip(args, longs, strict=True))


def _typed(value: Any) -> bool:
    return av.is_number(value.obj) if isinstance(value, Static) else isinstance(value, Value)


__all__ = [
    "PYTHON_OPERATORS",
    "Arith",
    "broadcast_dims",
    "may_fit",
    "numpy_result",
    "scalar_result",
    "scalar_type_of",
    "shape_text",
]
