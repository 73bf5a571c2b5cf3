"""How compiled code reports an error.

A failing check calls `dj_fail` with the module, the line of generated text, the kind of failure and a few numbers; then
the compiled function cleans up and returns (see `compiler.py`), each compiled caller adds its own line through
`dj_trace`, and the Python wrapper turns what was recorded into the exception that NumPy or Python would have raised.

The record belongs to the thread (`records`), so compiled code may run without the GIL in many threads at once.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
import threading
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm
import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import BrokenPromise, filled, raised, words, written
from diffjit.ir.types import Array, Type
from diffjit.lowering.calls import interrupts, records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from diffjit.ir.nodes import Loc

# Kinds of failure; the payload of each is documented in `message`.
INDEX, LIST_INDEX, EMPTY_POP, SHAPES, ASSIGN_SHAPE, OVERFLOW, ZERO_DIVISION, NEGATIVE_SHIFT, NEGATIVE_POWER = range(9)
NEGATIVE_LENGTH, RESHAPE, EMPTY_REDUCTION, EMPTY_ARG, RECURSION, SINGULAR, NOT_POSITIVE, NOT_SQUARE, USER = range(9, 18)
MATMUL, CONCATENATE, MASK_LENGTH, MASK_SHAPE, RANGE_STEP, BROADCAST_TO, LENGTH_STEP, CONCATENATE_EMPTY = range(18, 26)
INSERT_SHAPE, TOO_BIG, GATHER_SHAPES, SOLVE_SHAPES, NO_MEMORY, RAISED, NO_CONVERGENCE, PROMISED = range(26, 34)
INT_OF_NAN, INT_OF_INFINITY, OUT_OF_BOUNDS = range(34, 37)

PLACE, WRAPPED_PLACE, APART, LENGTH, FITS = range(5)  # what was PROMISED: the first number of its payload


class Stopped(Exception):
    """Raised by compiled code after it has recorded a failure; never seen by users."""


@dataclass(frozen=True, slots=True)
class Words:
    """What a `raise` or `print` operation says: the types of its values, the parts of its text, its exception."""

    types: tuple[Type, ...]
    parts: tuple[Any, ...]
    exception: Any = None
    found: tuple[str, tuple[str, ...]] | None = None  # of `errors.NonFinite.found`
    held: tuple[Any, Any] | None = None  # forms of the arguments and attributes of an exception, as of `errors.filled`


@dataclass(slots=True)
class Sites:
    """What the wrapper knows of one generated module, by the lines of its text."""

    source_lines: list[Loc | None] = field(default_factory=list)  # line of text -> place in the user's file
    words: dict[int, Words] = field(default_factory=dict)  # lines of text that are a `raise` or `print`
    promises: dict[int, str] = field(default_factory=dict)  # lines of text -> who promised what is not tested there


SITES: dict[int, Sites] = {}  # module key -> its sites


_record = threading.local()


def keep(error: BaseException) -> None:
    """Keep an exception for the wrapper of the program that is about to stop for it."""
    _record.raised = error


class _Printed(threading.local):
    """What programs have printed in a thread, since the outermost run that may be left has begun."""

    runs = 0  # such runs under way: a run calls Python, which runs another program
    said = 0  # what has been printed,
    at = 0  # and how much of that the runs have come to: less, where one is made again


_printed = _Printed()


@contextmanager
def counted_prints() -> Iterator[Callable[[], None]]:
    """Count what a run prints; to be called before it is made again, with the same values: that stays unsaid then."""
    if not _printed.runs:
        _printed.said = _printed.at = 0
    begun = _printed.at

    def again() -> None:
        _printed.at = begun

    _printed.runs += 1
    try:
        yield again
    finally:
        _printed.runs -= 1


def _print(module: int, line: int, count: int, payload: Any) -> None:
    if _printed.runs:
        _printed.at += 1
        if _printed.at <= _printed.said:
            return
        _printed.said = _printed.at
    words = SITES[module].words[line]
    light = aside[0]()
    try:
        print(render(words, tuple(payload[i] for i in range(count))), end="")  # noqa: T201 - the user's own print
    finally:
        aside[1](light)


aside: tuple[Callable[[], Any], Callable[[Any], None]] = (lambda: None, lambda _light: None)
"""Before Python runs and after: what is printed to may run programs (`tiers` says more)."""


_INTS = ctypes.POINTER(ctypes.c_int64)
PRINT = "dj_print"
_printing = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, _INTS)(_print)
llvm.add_symbol(PRINT, ctypes.cast(_printing, ctypes.c_void_p).value or 0)


def failure() -> tuple[BaseException, Loc | None]:
    """The exception that the last failure in this thread stands for, and the user's line."""
    record = records.read()
    places = [(SITES[module], line) for module, line in record.trace if module in SITES]
    loc = next(
        (s.source_lines[n] for s, n in places if n < len(s.source_lines) and s.source_lines[n] is not None), None
    )
    stopped = interrupts.taken()
    if stopped is not None:
        return stopped, None
    try:
        return _exception(record, places), loc
    finally:
        records.forget()


def _exception(record: records.Record, places: list[tuple[Sites, int]]) -> BaseException:
    """The exception that a record stands for."""
    if record.kind == RAISED:
        error, _record.raised = getattr(_record, "raised", None), None
        return KeyboardInterrupt() if error is None else error  # what nothing is kept of came between a call and Python
    if record.kind == USER:
        sites, line = places[0]
        words = sites.words[line]
        if words.found is not None:
            return words.exception.found(*words.found, tuple(values_of(words, record.payload)))
        if words.held is not None:
            values = iter(values_of(words, record.payload))
            return raised(words.exception, *(form and filled(form, values, _joined) for form in words.held))
        text = render(words, record.payload)
        return words.exception(text) if words.parts else words.exception()
    if record.kind == PROMISED:
        sites, line = places[0]
        return broken(record.payload, sites.promises.get(line, ""))
    cls, text = message(record.kind, record.payload)
    return cls(text)


def broken(payload: tuple[int, ...], who: str) -> BrokenPromise:
    """The error for what the optimisation relied on, and `settings.checked` has found not to hold."""
    return BrokenPromise(
        "DJ903",
        f"compiled code relies on this, and it is not so: {_promise(payload)}" + (f" ({who})" if who else ""),
        cure="this is a mistake in diffjit: please report it; settings.plain = True does without the optimisation",
    )


def _promise(payload: tuple[int, ...]) -> str:
    what, *numbers = payload
    match what:
        case 0 | 1:  # PLACE, WRAPPED_PLACE: index, axis, length
            index, axis, length = numbers
            positive = "" if what == WRAPPED_PLACE else " and not negative"
            return f"index {index} is within bounds{positive}, along axis {axis} with size {length}"
        case 2:
            return "an array that is written to overlaps no other"
        case 3:  # LENGTH: two lengths
            return f"two lengths are equal: {numbers[0]} and {numbers[1]}"
    return "an integer fits into 64 bits"


def message(kind: int, payload: tuple[int, ...]) -> tuple[type[Exception], str]:
    """The exception class and NumPy's (or Python's) words for a failure."""
    match kind:
        case 0:  # INDEX: index, axis, length
            index, axis, length = payload
            return IndexError, f"index {index} is out of bounds for axis {axis} with size {length}"
        case 1:  # LIST_INDEX
            return IndexError, "list index out of range"
        case 2:  # EMPTY_POP: length
            return IndexError, "pop index out of range" if payload and payload[0] else "pop from empty list"
        case 3 | 28:  # SHAPES, GATHER_SHAPES: number of dimensions of each shape, then the lengths
            shapes = " ".join(_shape(s) for s in _shapes(payload))
            if kind == GATHER_SHAPES:
                return (
                    IndexError,
                    f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes} ",
                )
            return ValueError, f"operands could not be broadcast together with shapes {shapes} "
        case 4:  # ASSIGN_SHAPE: source, target
            source, target = _shapes(payload)
            return (
                ValueError,
                f"could not broadcast input array from shape {_shape(source)} into shape {_shape(target)}",
            )
        case 5:
            return OverflowError, "a Python int does not fit into 64 bits in compiled code"
        case 6:
            return ZeroDivisionError, words(operator.floordiv, 1, 0)
        case 7:
            return ValueError, "negative shift count"
        case 8:
            return ValueError, "Integers to negative integer powers are not allowed."
        case 9:
            return ValueError, "negative dimensions are not allowed"
        case 10:  # RESHAPE: old size, new shape
            size, *shape = payload
            return ValueError, f"cannot reshape array of size {size} into shape {_shape(shape)}"
        case 11:  # EMPTY_REDUCTION: 0 maximum, 1 minimum
            name = ("maximum", "minimum")[payload[0]]
            return ValueError, f"zero-size array to reduction operation {name} which has no identity"
        case 12:  # EMPTY_ARG: 0 argmax, 1 argmin
            return ValueError, f"attempt to get {('argmax', 'argmin')[payload[0]]} of an empty sequence"
        case 13:
            return RecursionError, "maximum recursion depth exceeded"
        case 14:
            return np.linalg.LinAlgError, "Singular matrix"
        case 15:
            return np.linalg.LinAlgError, "Matrix is not positive definite"
        case 16:
            return np.linalg.LinAlgError, "Last 2 dimensions of the array must be square"
        case 18:  # MATMUL: dimension of operand 0 with which operand 1 disagrees
            ours, theirs = payload
            return ValueError, (
                "matmul: Input operand 1 has a mismatch in its core dimension 0, "
                f"with gufunc signature (n?,k),(k,m?)->(n?,m?) (size {theirs} is different from {ours})"
            )
        case 19:  # CONCATENATE: dimension, length of the first array, position and length of the other
            dim, first, position, other = payload
            return ValueError, (
                "all the input array dimensions except for the concatenation axis must match exactly, "
                f"but along dimension {dim}, the array at index 0 has size {first} "
                f"and the array at index {position} has size {other}"
            )
        case 20:  # MASK_LENGTH: values, places
            values, places = payload
            return ValueError, (
                f"NumPy boolean array indexing assignment cannot assign {values} input values "
                f"to the {places} output values where the mask is true"
            )
        case 21:  # MASK_SHAPE: axis, length, length of the mask
            axis, length, mask = payload
            return IndexError, (
                f"boolean index did not match indexed array along axis {axis}; size of axis is {length} but size of "
                f"corresponding boolean axis is {mask}"
            )
        case 22:
            return ValueError, "range() arg 3 must not be zero"
        case 23:  # BROADCAST_TO: old, new
            old, new = _shapes(payload)
            return ValueError, (
                "operands could not be broadcast together with remapped shapes [original->remapped]: "
                f"{_shape(old)}  and requested shape {_shape(new)}"
            )
        case 24:
            return ZeroDivisionError, "division by zero"
        case 26:  # INSERT_SHAPE: value, result
            value, result = _shapes(payload)
            return ValueError, (
                f"shape mismatch: value array of shape {_shape(value)} could not be broadcast "
                f"to indexing result of shape {_shape(result)}"
            )
        case 27:
            return (
                ValueError,
                "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.",
            )
        case 29:  # SOLVE_SHAPES: n, length of b
            ours, theirs = payload
            return ValueError, (
                "solve1: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (m,m),(m)->(m) "
                f"(size {theirs} is different from {ours})"
            )
        case 30:
            return MemoryError, "no memory for an array or list of this size"
        case 32:  # NO_CONVERGENCE: 0 eigenvalues, 1 singular values
            return np.linalg.LinAlgError, ("Eigenvalues did not converge", "SVD did not converge")[payload[0]]
        case 34:
            return ValueError, "cannot convert float NaN to integer"
        case 35:
            return OverflowError, "cannot convert float infinity to integer"
        case 36:  # OUT_OF_BOUNDS: the int, the number of bits, whether these are signed
            number, bits, signed = payload
            name = f"{'int' if signed else 'uint'}{bits}"
            return OverflowError, f"Python integer {number} out of bounds for {name}"
    return RuntimeError, f"failure {kind} {payload}"


def _shapes(payload: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Unpack [ndim, lengths..., ndim, lengths..., ...]."""
    shapes: list[tuple[int, ...]] = []
    k = 0
    while k < len(payload):
        ndim = payload[k]
        shapes.append(payload[k + 1 : k + 1 + ndim])
        k += 1 + ndim
    return shapes


def _shape(lengths: Any) -> str:
    lengths = tuple(lengths)
    return f"({','.join(map(str, lengths))}{',' if len(lengths) == 1 else ''})"


def render(words: Words, payload: tuple[int, ...]) -> str:
    """The text of a `print` or `raise` operation, given the bits of its values."""
    return _joined(words.parts, iter(values_of(words, payload)))


def _joined(parts: tuple[Any, ...], values: Iterator[Any]) -> str:
    return "".join(part if isinstance(part, str) else written(next(values), part[1] or "") for part in parts)


def values_of(words: Words, payload: tuple[int, ...]) -> list[Any]:
    """The values that an operation reports, given their bits."""
    values: list[Any] = []
    k = 0
    for ty in words.types:
        if isinstance(ty, Array):
            width = 1 + 2 * ty.ndim
            values.append(_array(payload[k : k + width], ty))
        elif ty.dtype.kind == "c":
            width = 2
            number = complex(_float(payload[k]), _float(payload[k + 1]))
            values.append(number if ty.weak else ty.dtype.type(number))
        else:
            width = 1
            values.append(_number(payload[k], ty))
        k += width
    return values


def _float(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<q", bits))[0]


def _number(bits: int, ty: Any) -> Any:
    if ty.dtype.kind == "f":
        number: Any = _float(bits)
    elif ty.dtype.kind == "b":
        number = bool(bits)
    else:
        number = bits
    if ty.weak:
        return number
    if ty.dtype.kind == "u":
        number %= 2**64
    return ty.dtype.type(number)


def _array(words: tuple[int, ...], ty: Any) -> np.ndarray:
    """A copy of an array of compiled code, from its address, lengths and strides."""
    return view_at(words[0], words[1 : 1 + ty.ndim], words[1 + ty.ndim :], ty.dtype).copy()


def view_at(address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of compiled code, for as long as that keeps it."""
    if math.prod(shape) == 0:
        return np.empty(shape, dtype)
    low = address + sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
    high = address + sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    buffer: Any = (ctypes.c_char * (high - low)).from_address(low)
    return np.ndarray(shape, dtype, buffer, address - low, strides)
