"""Arrays of ints that are known while specialising: axes, shapes and widths that a program computes by NumPy.

    order = np.roll(np.arange(a.ndim), 1)
    b = np.transpose(a, order)

The operations are in the program like all others; beside the array that they make stands what it holds, as NumPy gives
it, for those who need numbers that are known. A write that is not known itself ends that; where one is met in a loop
after that was relied on, the program is interpreted again, and nothing is remembered.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.frontend.calls.calls import parameter_names
from diffjit.frontend.entry.lift import CONSTANT
from diffjit.frontend.syntax.loops import Loop
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import Static
from diffjit.ir.aliases import same_memory
from diffjit.ir.nodes import Op, Value, is_const
from diffjit.ir.ops import ROWS
from diffjit.ir.types import Array, Scalar

_MOST = 64  # items of such an array
_LARGE = 4096  # beyond which no length is taken
_BUILTINS = (builtins.int, builtins.max, builtins.min, builtins.sum, builtins.abs)
_COUNTS = frozenset({
    "axis", "axes", "axis1", "axis2", "shape", "newshape", "reps", "pad_width", "shift", "source", "destination",
    "start", "offset", "repeats", "num",
})  # fmt: skip


class Unknown(Exception):
    """Something is not known while specialising."""


@dataclass(slots=True, eq=False)
class Fact:
    """What an array holds, in straight-line code behind the place where it was made."""

    held: Any
    loops: int  # around that place
    forks: int
    relied_on: bool = False  # in a loop further inside


class KnownArrays(Mixin):
    """Mixin of the interpreter: small arrays of ints whose items are known."""

    known_arrays: dict[Value, Fact]
    loops: list[Loop]

    def remember_known(self, made: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A result; what it holds is remembered where all is known that it was made of."""
        numbers = isinstance(made, Value) and isinstance(made.type, Array | Scalar) and made.type.dtype.kind in "iub"
        called = self.learned.outlined or self.learned.shared  # as programs, which may write to what they get
        if not numbers or called or self.learned.moving or is_const(made) or made in self.known_arrays:
            return made
        if (run := _runs(function)) is None:
            return made
        try:
            given = [self.known_value(a) for a in args]
            named = {name: self.known_value(a) for name, a in kwargs.items()}
            if not all(map(is_modest, (*given, *named.values()))):
                return made
            held = run(*given, **named)
        except (Unknown, TypeError, ValueError, LookupError, ArithmeticError):
            return made  # what fails here fails, or is refused, where the program does it
        ndim = made.type.ndim if isinstance(made.type, Array) else 0
        if np.ndim(held) == ndim and np.size(held) <= _MOST and np.asarray(held).dtype.kind == made.type.dtype.kind:
            self.known_arrays[made] = Fact(held, len(self.loops), self.forks)
        return made

    def known_value(self, value: Any) -> Any:
        """What a value is, where that is known while specialising."""
        if isinstance(value, Static):
            if isinstance(value.obj, np.ndarray):
                raise Unknown
            return value.obj
        if isinstance(value, av.Tup) and value.cls is None:
            return tuple(map(self.known_value, value.items))
        if isinstance(value, av.Slice):
            return slice(*map(self.known_value, (value.start, value.stop, value.step)))
        if isinstance(value, av.Range):
            return range(*map(self.known_value, (value.start, value.stop, value.step)))
        if isinstance(value, av.Ref) and isinstance(held := self.contents(value), av.ListC):
            return list(map(self.known_value, held.items))
        if isinstance(value, Value):
            if is_const(value) and value.op is not None:
                return value.op.attrs["value"]
            if (fact := self.known_arrays.get(value)) is not None:
                fact.relied_on |= isinstance(value.type, Array) and len(self.loops) > fact.loops
                return np.array(fact.held) if isinstance(value.type, Array) else fact.held
        raise Unknown

    def known_array(self, array: Value) -> np.ndarray | None:
        """What an array holds, where that is known; None of others."""
        path = self.param_paths.get(array, ("",))
        if path[0] == CONSTANT:
            return self.captures[path].getter()
        try:
            return np.asarray(self.known_value(array))
        except Unknown:
            return None

    def as_known(self, value: Any) -> Any:
        """An array or number of ints that is known, as a tuple or a constant; anything else is itself."""
        if not isinstance(value, Value) or value not in self.known_arrays:
            return value
        return _as_static(self.known_value(value))

    def with_known(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of NumPy's functions: those that say axes, shapes and widths are tuples where they are known."""
        if not isinstance(function, Static) or getattr(function.obj, "__module__", None) != "numpy":
            return args, kwargs
        names = [*parameter_names(function.obj), *[""] * len(args)]
        known = [self.as_known(a) if name in _COUNTS else a for name, a in zip(names, args, strict=False)]
        return known, {name: self.as_known(a) if name in _COUNTS else a for name, a in kwargs.items()}

    def forget_known(self, kind: str, inputs: Sequence[Value], attrs: dict[str, Any]) -> None:
        """Called before an operation is added to the program: what it writes to is known no more."""
        if not self.known_arrays or kind not in ROWS:
            return
        for k in attrs.get("writes", ROWS[kind].writes):
            target = inputs[k]
            if isinstance(target.type, Array) and target.type.dtype.kind in "iub":
                self._forget(target)

    def _forget(self, target: Value) -> None:
        root = _root(target)
        fresh = root.op is not None and not root.op.row.meets and root.op.kind != "call"
        self.forget_arrays(lambda v: not fresh or _root(v) is root)

    def forget_arrays(self, which: Callable[[Value], bool] = lambda _: True) -> None:
        """Some arrays are known no more: something may write to them, or to copies of them that have their names."""
        for v in [v for v in self.known_arrays if isinstance(v.type, Array) and which(v)]:
            if self.known_arrays[v].relied_on:
                raise Learn("moving", {True})
            del self.known_arrays[v]

    def set_known(self, owner: Any, index: Any, value: Any, node: Any) -> None:
        """`owner[index] = value`; an array of which all is known stays one."""
        fact = self.known_arrays.get(owner) if isinstance(owner, Value) else None
        self.set_item(owner, index, value, node)
        if fact is None or (fact.loops, fact.forks) != (len(self.loops), self.forks):
            return
        try:
            held = np.array(fact.held)
            held[self.known_value(index)] = self.known_value(value)
        except (Unknown, TypeError, ValueError, LookupError, OverflowError):
            return
        if _root(owner) is owner:
            self.known_arrays[owner] = Fact(held, fact.loops, fact.forks)


def _runs(function: Any) -> Any:
    """A function of known things: NumPy's, an operator, a method of an array."""
    if isinstance(function, Static):
        return _runs(function.obj)
    if isinstance(function, av.Method) and hasattr(np.ndarray, function.name):
        # What is known is copied: a method that changes its array changes none of the program's.
        return lambda *args, **kwargs: getattr(args[0], function.name)(*args[1:], **kwargs)
    module = getattr(function, "__module__", None) or ""
    named = isinstance(function, np.ufunc) or module in ("numpy", "_operator", "numpy.linalg")
    known = named or any(function is f for f in _BUILTINS)
    return function if known and not getattr(function, "__name__", "").startswith("empty") else None


def is_modest(given: Any) -> bool:
    """Whether what is made of this is small: nothing large is made only to look at it."""
    if isinstance(given, tuple | list):
        return all(map(is_modest, given)) and math.prod(n for n in given if isinstance(n, int)) <= _LARGE
    return not isinstance(given, int | float) or abs(given) <= _LARGE


def _as_static(held: Any) -> Any:
    if np.ndim(held) == 0:
        return Static(operator.index(held) if np.asarray(held).dtype.kind in "iu" else bool(held))
    return av.Tup(tuple(map(_as_static, held)))


def _root(value: Value) -> Value:
    """The array that a view shows."""
    while value.op is not None and (source := _source(value.op, value)) is not None:
        value = source
    return value


def _source(op: Op, value: Value) -> Value | None:
    if op.row.control or not op.outputs:
        return None
    return next((source for made, source in same_memory(op) if made is value), None)
