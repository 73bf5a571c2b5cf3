"""Operations on numbers as text: NumPy's and Python's semantics spelled out: Numba's own promotion never decides.

Every operation has a *loop*, as in NumPy: the dtypes to which its operands are converted, and the dtype of the result.
The text converts operands explicitly (`float32(x)`), then applies an operator or a function of `runtime.scalars`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import without_rule
from diffjit.ir.ops import ROWS
from diffjit.ir.types import Scalar
from diffjit.lowering.runtime.vecmath import VECTOR
from diffjit.primitives.registry import ELEMENTWISE
from diffjit.primitives.semantics import SCALAR_SEMANTICS

B, I8, F8, C16 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.complex128)


@dataclass(frozen=True, slots=True)
class Operand:
    """The text of a number, its type, and its value if it is a constant."""

    text: str
    type: Scalar
    const: Any = None


# Loops ----------------------------------------------------------------------------------------------------------------

_LOGIC = {"logical_and": "&", "logical_or": "|", "logical_xor": "^"}
_BITS = frozenset({"&", "|", "^"})
COMPUTED = 'backend="python" computes it'
_PYTHON_NUMBER = {"i": int, "f": float, "c": complex}


@lru_cache(maxsize=4096)
def loop(kind: str, types: tuple[Scalar, ...], out: Scalar) -> tuple[tuple[np.dtype, ...], np.dtype]:
    """The dtypes in which an operation computes."""
    dtypes = tuple(t.dtype for t in types)
    if kind in ("where", "select"):
        return (B, out.dtype, out.dtype), out.dtype
    if kind in ("cast", "zmul", "zdiv", "stop_gradient", "unbroadcast", "one_minus_square", "rerouted", "unite"):
        return (out.dtype,) * len(dtypes), out.dtype
    if kind in _LOGIC or kind == "logical_not":
        return (B,) * len(dtypes), B
    if kind in ("real", "imag"):
        return dtypes, np.empty(0, dtypes[0]).real.dtype  # pyright: ignore[reportAttributeAccessIssue]
    semantics = SCALAR_SEMANTICS.get(kind)
    if semantics is not None:
        result = semantics.like if isinstance(semantics.like, np.dtype) else None
        wide = tuple(I8 if d.kind in "biu" and semantics.integer and k == 0 else F8 for k, d in enumerate(dtypes))
        return wide, result or (out.dtype if out.dtype.kind == "f" else F8)
    if out.weak and all(t.weak for t in types):
        return _python_loop(kind, dtypes, out)
    return _numpy_loop(kind, types, out)


def _python_loop(kind: str, dtypes: tuple[np.dtype, ...], out: Scalar) -> tuple[tuple[np.dtype, ...], np.dtype]:
    """Python's operators on Python's numbers."""
    widest = max(dtypes, key=lambda d: "bifc".index(d.kind))
    if ROWS[kind].compares:
        return (widest,) * len(dtypes), B
    if ROWS[kind].operator in _BITS and widest == B:
        return (B,) * len(dtypes), B
    if widest == B:
        widest = I8
    if kind in ("add", "subtract", "multiply", "divide", "power", "floor_divide", "remainder") or kind in _PLAIN_PYTHON:
        # The frontend has decided whether int / int or int ** int is a float.
        if kind != "absolute" or widest.kind != "c":
            widest = out.dtype if kind not in ("floor_divide", "remainder") or out.dtype.kind != "b" else widest
        return (widest,) * len(dtypes), out.dtype
    return _numpy_loop(kind, tuple(Scalar(d) for d in dtypes), out)


_PLAIN_PYTHON = frozenset({
    "negative", "positive", "absolute", "invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift",
    "right_shift", "square", "maximum", "minimum", "fmax", "fmin", "sign", "gcd", "lcm",
})  # fmt: skip


def _numpy_loop(kind: str, types: tuple[Scalar, ...], out: Scalar) -> tuple[tuple[np.dtype, ...], np.dtype]:
    entry = ELEMENTWISE.get(kind)
    ufunc = (entry.ufunc if entry is not None else None) or getattr(np, kind, None)
    if not isinstance(ufunc, np.ufunc):
        raise without_rule(kind, "machine code", cure=COMPUTED)
    operands: list[Any] = [
        _PYTHON_NUMBER[t.dtype.kind] if t.weak and t.dtype.kind in _PYTHON_NUMBER else t.dtype for t in types
    ]
    if all(isinstance(o, type) for o in operands):
        operands = [np.dtype(o) for o in operands]
    *ins, result = ufunc.resolve_dtypes((*operands, None))
    ins = [np.dtype(np.float32) if d == np.float16 else d for d in ins]
    return tuple(ins), (np.dtype(np.float32) if result == np.float16 else result)


# Text -----------------------------------------------------------------------------------------------------------------


def literal(value: Any, dtype: np.dtype) -> str:
    """A constant of a dtype."""
    if dtype.kind == "b":
        return repr(bool(value))
    if dtype.kind == "f":
        text = _float_text(float(value)) if dtype == F8 else _float_text(float(str(dtype.type(value))))
        return text if dtype == F8 else f"{dtype.name}({text})"
    if dtype.kind == "c":
        value = complex(value)
        return f"{dtype.name}_of({_float_text(value.real)}, {_float_text(value.imag)})"
    value = int(value)
    if dtype == I8:
        return repr(value) if value >= 0 else f"({value})" if value > -(2**63) else "(-9223372036854775807 - 1)"
    return f"{dtype.name}({value})"


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    text = repr(value)
    return text if math.copysign(1.0, value) > 0 else f"({text})"


def cast(operand: Operand, dtype: np.dtype) -> str:
    """An operand converted to a dtype. Python's ints must fit into NumPy's narrower ones, as NumPy demands it."""
    source, value = operand.type, operand.const
    if value is not None and not (dtype.kind in "iu" and _leaves(value, dtype)):
        with np.errstate(all="ignore"):
            return literal(value, dtype)
    text = operand.text if value is None else literal(value, source.dtype)
    if source.dtype == dtype:
        return text
    demanding = source.weak and source.dtype == I8 and dtype.kind in "iu"
    return f"{dtype.name}{'_exact' if demanding else ''}({text})"


def _leaves(value: Any, dtype: np.dtype) -> bool:
    """Whether a constant is no number of an integer dtype."""
    limits, value = np.iinfo(dtype), np.real(value)
    return not (math.isfinite(value) and limits.min <= int(value) <= limits.max)


@lru_cache
def _where_wraps() -> bool:
    """Whether `np.where` takes the last bits of Python's ints that its result cannot hold, as NumPy 2.0 did."""
    try:
        np.where(np.True_, np.uint8(0), 256)
    except OverflowError:
        return False
    return True


def apply(kind: str, operands: list[Operand], out: Scalar, *, nowrap: bool = False, vector: bool = False) -> str:
    """The text of an elementwise operation on numbers; in a loop that may become a `vector` loop, without libm."""
    ins, result = loop(kind, tuple(o.type for o in operands), out)
    exact = out.weak and out.dtype == I8 and not nowrap
    small = _small_power(kind, operands, ins, exact=exact)
    if small is not None:
        return small if result == out.dtype else f"{out.dtype.name}({small})"
    if ROWS[kind].compares:
        compared = _compare_ints(kind, *operands)
        if compared is not None:
            return compared
    if kind == "select" or (kind == "where" and _where_wraps()):
        operands = [Operand(o.text, Scalar(o.type.dtype), o.const) for o in operands]
    if kind == "cast" and exact and operands[0].type.dtype.kind in "fu" and operands[0].type.dtype.itemsize >= 4:
        return _int_of(operands[0])
    args = [cast(o, d) for o, d in zip(operands, ins, strict=True)]
    if vector and kind in VECTOR and ins[0].kind == "f":
        text, computed = f"vec_{kind}({', '.join(args)})", ins[0]
    elif vector and kind == "absolute" and ins[0].kind == "c":
        text, computed = f"vec_hypot(real({args[0]}), imag({args[0]}))", result
    else:
        text, computed = _emit(kind, args, ins, result, exact=exact, operands=operands)
    if computed != out.dtype:
        text = f"{out.dtype.name}({text})"
    return text


def _int_of(operand: Operand) -> str:
    """`int(x)`, where not every `x` has one in 64 bits."""
    dtype = operand.type.dtype
    if operand.const is not None and not _leaves(operand.const, I8):
        return literal(operand.const, I8)
    if dtype.kind == "u" and dtype.itemsize < 8:
        return f"int64({operand.text})"
    return f"int_exact({operand.text if operand.const is None else literal(operand.const, dtype)})"


_MIRRORED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}


def _compare_ints(kind: str, left: Operand, right: Operand) -> str | None:
    """A comparison of a Python int with one of NumPy's that may not hold it: of what the two numbers are."""
    if not left.type.weak:
        left, right, kind = right, left, _MIRRORED.get(kind, kind)
    narrow = right.type.dtype
    if left.type.dtype != I8 or not left.type.weak or right.type.weak or narrow.kind not in "iu" or narrow == I8:
        return None
    if narrow.itemsize < 8:
        return f"({cast(left, I8)} {ROWS[kind].operator} {cast(right, I8)})"
    number = literal(left.const, I8) if left.const is not None else left.text
    compared = f"(uint64({number}) {ROWS[kind].operator} {cast(right, narrow)})"
    below = kind in ("less", "less_equal", "not_equal")  # what holds where the Python int is negative
    return f"(({number} < 0) | {compared})" if below else f"(({number} >= 0) & {compared})"


_HALVES = {0.5: "power_half", 1.5: "power_three_halves", -0.5: "power_minus_half", -1.5: "power_minus_three_halves"}


def _small_power(kind: str, operands: list[Operand], ins: tuple[np.dtype, ...], *, exact: bool) -> str | None:
    """x**2, x**3, x**0.5, ... with a small constant exponent, by products and roots (as NumPy has it for some)."""
    if kind not in ("power", "float_power") or operands[1].const is None or ins[0].kind not in "fc":
        return None
    exponent = operands[1].const
    if np.iscomplexobj(exponent):
        return None
    base = cast(operands[0], ins[0])
    if ins[0].kind == "f" and float(exponent) in _HALVES:
        return f"{_HALVES[float(exponent)]}({base})"
    if not 1 <= abs(exponent) <= 8 or exponent != int(exponent):
        return None
    n = abs(int(exponent))
    text = base if n == 1 else f"power_{n}({base})"
    return text if exponent > 0 else f"reciprocal({text})"


def _emit(
    kind: str, x: list[str], ins: tuple[np.dtype, ...], result: np.dtype, *, exact: bool, operands: list[Operand]
) -> tuple[str, np.dtype]:
    """Text and the dtype that it has in Numba, for operands already converted."""
    dtype = ins[0]
    group = dtype.kind
    if kind in ("cast", "positive", "stop_gradient", "unbroadcast", "copy", "rerouted"):
        return x[0], dtype
    if ROWS[kind].compares:
        if group == "c" and kind not in ("equal", "not_equal"):
            return f"{kind}_complex({x[0]}, {x[1]})", B
        return f"({x[0]} {ROWS[kind].operator} {x[1]})", B
    if kind in _LOGIC:
        return f"({x[0]} {_LOGIC[kind]} {x[1]})", B
    if kind == "logical_not":
        return f"(not {x[0]})", B
    if group in "iu":
        done = _integer(kind, x, dtype, exact=exact, operands=operands)
        if done is not None:
            return done
    if group == "b":
        done = _boolean(kind, x)
        if done is not None:
            return done, B
    if group in "fc":
        if kind == "divide" and group == "c":
            return f"divide_complex({x[0]}, {x[1]})", dtype
        if ROWS[kind].augments:
            return f"({x[0]} {ROWS[kind].operator} {x[1]})", dtype
        if kind == "negative":
            return f"(-{x[0]})", dtype
        if kind == "square":
            return f"square({x[0]})", dtype
    return _function(kind, x, ins, result)


def _boolean(kind: str, x: list[str]) -> str | None:
    """NumPy's booleans."""
    if kind in ("add", "maximum", "fmax", "bitwise_or"):
        return f"({x[0]} | {x[1]})"
    if kind in ("multiply", "minimum", "fmin", "bitwise_and"):
        return f"({x[0]} & {x[1]})"
    if kind == "bitwise_xor":
        return f"({x[0]} ^ {x[1]})"
    if kind == "invert":
        return f"(not {x[0]})"
    if kind in ("absolute", "square") or kind in _IDENTITY_ON_INTS:
        return x[0]
    if kind in ("isnan", "isinf", "isfinite"):
        return str(kind == "isfinite")
    return None


_IDENTITY_ON_INTS = frozenset({"floor", "ceil", "trunc", "rint", "conjugate", "real"})
_CHECKED = {"add": "add_exact", "subtract": "subtract_exact", "multiply": "multiply_exact"}


def _integer(
    kind: str, x: list[str], dtype: np.dtype, *, exact: bool, operands: list[Operand]
) -> tuple[str, np.dtype] | None:
    """Integers: `exact` is Python's (an error when 64 bits do not suffice), else they wrap as NumPy's do."""
    if kind in _IDENTITY_ON_INTS:
        return x[0], dtype
    if kind == "imag":
        return literal(0, dtype), dtype
    if kind in ("isnan", "isinf"):
        return "False", B
    if kind == "isfinite":
        return "True", B
    if kind == "divide":
        return f"(float64({x[0]}) / float64({x[1]}))", F8
    if exact and kind in _CHECKED:
        return f"{_CHECKED[kind]}({x[0]}, {x[1]})", I8
    if kind in ("add", "subtract", "multiply"):
        return _narrow(f"({x[0]} {ROWS[kind].operator} {x[1]})", dtype)
    if kind == "negative":
        return (f"subtract_exact(0, {x[0]})", I8) if exact else _narrow(f"(-{x[0]})", dtype)
    if kind == "square":
        return (f"multiply_exact({x[0]}, {x[0]})", I8) if exact else (f"square({x[0]})", dtype)
    if ROWS[kind].operator in _BITS:
        return _narrow(f"({x[0]} {ROWS[kind].operator} {x[1]})", dtype)
    if kind == "invert":
        return _narrow(f"(~{x[0]})", dtype)
    if kind in ("floor_divide", "remainder", "power", "left_shift", "right_shift", "absolute"):
        name = kind
        if operands[0].type.weak and operands[-1].type.weak:
            divisor = operands[-1].const
            if (
                (kind in ("floor_divide", "remainder") and (divisor is None or divisor in (0, -1)))
                or kind in ("power", "left_shift", "right_shift")
                or (kind == "absolute" and exact)
            ):
                name = f"{kind}_exact"
        return f"{name}({', '.join(x)})", dtype
    return None


def _narrow(text: str, dtype: np.dtype) -> tuple[str, np.dtype]:
    """Numba computes small ints in 64 bits."""
    return (text, dtype) if dtype.itemsize == 8 else (f"{dtype.name}{text}", dtype)


# Kinds whose function takes and returns the loop's dtypes under its own name, in `runtime.scalars`.
_FUNCTIONS: frozenset[str] = frozenset({
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "sqrt", "cbrt",
    "hypot", "deg2rad", "rad2deg", "floor", "ceil", "trunc", "rint", "absolute", "fabs", "sign", "copysign",
    "nextafter", "spacing", "heaviside", "maximum", "minimum", "fmax", "fmin", "where", "select", "zmul", "zdiv",
    "power", "float_power", "floor_divide", "remainder", "fmod", "reciprocal", "square", "gcd", "lcm",
    "bitwise_count", "one_minus_square", "left_shift", "right_shift", "ldexp", "isnan", "isinf", "isfinite", "signbit",
    "real", "imag", "conjugate", "unite",
})  # fmt: skip

_NUMBA_RESULT: dict[str, Callable[[tuple[np.dtype, ...], np.dtype], np.dtype]] = {
    "isnan": lambda _i, _r: B, "isinf": lambda _i, _r: B, "isfinite": lambda _i, _r: B, "signbit": lambda _i, _r: B,
}  # fmt: skip


def _function(kind: str, x: list[str], ins: tuple[np.dtype, ...], result: np.dtype) -> tuple[str, np.dtype]:
    if kind not in _FUNCTIONS and kind not in SCALAR_SEMANTICS:
        raise without_rule(kind, "machine code", cure=COMPUTED)
    name = {"select": "where", "fabs": "absolute"}.get(kind, kind)
    text = f"{name}({', '.join(x)})"
    if kind in SCALAR_SEMANTICS:
        return text, F8
    rule = _NUMBA_RESULT.get(kind)
    return text, (rule(ins, result) if rule else result)


def names_used() -> frozenset[str]:
    """All names that the text of numbers may call."""
    return _FUNCTIONS | SCALAR_SEMANTICS.keys()
