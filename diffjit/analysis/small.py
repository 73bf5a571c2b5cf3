"""Which arrays can be numbers: small ones of fixed shape whose every use is known while compiling.

An array of fixed shape with few elements is a candidate. It is one if nobody keeps it (in a list, by passing it on),
every index into it is a constant, and whatever computes with it computes with small arrays of fixed shape alone. All
references to one memory (`analysis.memory`) are numbers together, or none. Where control flow joins references, the
joined one is as good as a value exactly where `Memory` gives it a class of its own: then its elements are joined.
"""

# NumPy arrays of values, whose shapes its stubs do not know.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.ir.nodes import Block, Function, Op, Value, is_view
from diffjit.ir.types import Array, Dim, Scalar, Type
from diffjit.ir.walk import has_exit, initial, walk

MOST = 16  # elements of an array that becomes numbers

EXTREMA = frozenset({"max", "min"})


def comes_from_elsewhere(op: Op) -> bool:
    """Whether a reference that comes out is not fresh."""
    return op.row.gives or op.kind == "call"


def is_small(ty: Type) -> bool:
    """Whether a type is that of an array of fixed shape with few elements."""
    return isinstance(ty, Array) and ty.dtype.kind in "biufc" and 0 < _product(ty.dims) <= MOST


def readable(v: Value) -> bool:
    """Whether the elements of a value can be enumerated."""
    return isinstance(v.type, Scalar) or is_small(v.type)


def constant(v: Value) -> int | None:
    """The number of a constant index."""
    return int(v.op.attrs["value"]) if v.op is not None and v.op.kind == "const" else None


def subscript(op: Op) -> tuple[Any, ...] | None:
    """The index of a view, for NumPy; None where it is not known while compiling."""
    rest = iter(op.inputs[1:])
    found: list[Any] = []
    for entry in op.attrs["spec"]:
        if entry == "n":
            found.append(None)
        elif entry == ":":
            found.append(slice(None))
        elif entry == "i":
            found.append(constant(next(rest)))
            if found[-1] is None:
                return None
        else:
            given = [next(rest) if flag else None for flag in entry[1:]]
            if any(g is not None and constant(g) is None for g in given):
                return None
            found.append(slice(*(None if g is None else constant(g) for g in given)))
    return tuple(found)


class Small:
    """The candidates of a function; `smooth` leaves alone what would be differentiated by another rule."""

    def __init__(self, function: Function, *, smooth: bool) -> None:
        self.memory = analyses(function).memory
        self.smooth = smooth
        self.blocked: set[Any] = {self.memory.find(v) for v in self.memory.joined}
        for p in function.params:
            if not is_small(p.type) or self.memory.written(p):
                self._block(p)
        self._scan(function.body)
        self._results(function)
        while self._slots(function.body):
            pass

    def holds(self, v: Value) -> bool:
        """Whether a reference is to memory that becomes numbers."""
        return isinstance(v.type, Array) and self.memory.find(v) not in self.blocked

    def expands(self, op: Op) -> bool:
        """Whether an operation can be done number by number, given that its operands can be enumerated."""
        if len(op.outputs) != 1 or not (isinstance(op.out.type, Scalar) or is_small(op.out.type)):
            return False
        if not any(isinstance(v.type, Array) for v in (*op.inputs, op.out)):
            return False
        if op.row.fill is not None or op.kind == "undef":
            return True
        if op.kind == "arange":
            return counted(op) is not None
        if not all(readable(v) for v in op.inputs):
            return False
        if op.kind in EXTREMA and self.smooth:
            axes = op.attrs["axes"]
            return math.prod(op.inputs[0].type.dims[k] for k in axes) <= 2  # pyright: ignore[reportArgumentType, reportCallIssue]
        if op.kind == "reshape":
            return not op.attrs["view"] and _size(op.inputs[0]) == _size(op.out)
        if op.kind == "concatenate":
            return sum(map(_size, op.inputs)) == _size(op.out) and len({_others(op, v) for v in op.inputs}) == 1
        if op.kind == "unbroadcast":  # of an assignment whose shapes do not fit, which raises before
            return _spreads(_dims(op.out), _dims(op.inputs[0]))
        return (
            op.row.by_element
            or op.row.reduces
            or op.kind in ("matmul", "cumsum", "cumprod", "copy")
            or (op.kind == "stop_gradient" and not self.memory.written(op.out))
        )

    def fitting(self, op: Op) -> bool:
        """Whether an assignment can be done number by number."""
        target, source = op.inputs
        if not is_small(target.type) or not readable(source):
            return False
        return _spreads(_dims(source), _dims(target))

    # What stands in the way

    def _block(self, v: Value) -> None:
        if isinstance(v.type, Array):
            self.blocked.add(self.memory.find(v))

    def _scan(self, block: Block) -> None:
        for v in block.args:
            if not is_small(v.type):
                self._block(v)
        for op in block.ops:
            for region in op.regions:
                self._scan(region)
            if op.kind == "while":
                self._condition(op.regions[0])
            for v in op.outputs:
                if not is_small(v.type) or comes_from_elsewhere(op):
                    self._block(v)
            if op.regions or self._known(op):
                continue
            for v in op.inputs:
                self._block(v)

    def _condition(self, region: Block) -> None:
        """Numbers that a condition changes would have to reach the body."""
        for op in walk(region):
            for k in op.row.writes:
                self._block(op.inputs[k])

    def _known(self, op: Op) -> bool:
        """Whether an operation's use of its array operands is understood."""
        if op.row.indices_at is not None and not is_view(op):
            return self._at_constants(op)
        if op.row.updates:
            return self.fitting(op)
        if op.kind == "dim":
            return True
        if is_view(op):
            return op.row.like != 0 and self._view(op)  # parts of complex numbers
        if op.kind in ("zeros_like", "empty_like"):
            return is_small(op.out.type)
        return self.expands(op)

    def _at_constants(self, op: Op) -> bool:
        a = op.inputs[0]
        if not is_small(a.type) or any(isinstance(v.type, Array) for v in op.inputs[1:]):
            return False
        places = [constant(v) for v in op.inputs[op.row.indices_at :]]
        return all(p is not None and -n <= p < n for p, n in zip(places, a.type.dims, strict=True))  # pyright: ignore[reportOperatorIssue]

    def _view(self, op: Op) -> bool:
        base = op.inputs[0]
        if not is_small(base.type) or not is_small(op.out.type):
            return False
        places = np.empty(base.type.dims, dtype=bool)  # pyright: ignore[reportArgumentType, reportCallIssue]
        try:
            return viewed(op, places).shape == op.out.type.dims
        except (IndexError, ValueError, LookupError):
            return False

    def _results(self, function: Function) -> None:
        """An array that leaves is made at the end: two views of one would have to share memory."""
        first: dict[Any, Value] = {self.memory.find(p): p for p in function.params if isinstance(p.type, Array)}
        for p in function.params:
            if p in function.results:  # the caller's own array
                self._block(p)
        for v in function.results:
            if isinstance(v.type, Array) and first.setdefault(self.memory.find(v), v) is not v:
                self._block(v)

    def _slots(self, block: Block) -> bool:
        """Joined references: all of one variable, or none; True if anything changed."""
        changed = False
        for op in walk(block):
            if op.kind == "if":
                for k, out in enumerate(op.outputs):
                    changed |= self._together([out], [r.results[k] for r in op.regions])
            elif op.row.loop:
                for k, out in enumerate(op.outputs):
                    args = [r.args[k + (op.kind == "for")] for r in op.regions]
                    following = op.regions[-1].results[k + has_exit(op)]
                    changed |= self._together([out, *args], [initial(op)[k], following])
        return changed

    def _together(self, targets: list[Value], sources: list[Value]) -> bool:
        if not isinstance(targets[0].type, Array) or not any(self.holds(t) for t in targets):
            return False
        dims = targets[0].type.dims
        if all(self.holds(t) and t.type.dims == dims for t in targets) and all(
            isinstance(s.type, Array) and s.type.dims == dims for s in sources
        ):
            return False
        for t in targets:
            self._block(t)
        return True


def counted(op: Op) -> range | None:
    """The numbers of an `arange`, if they are known."""
    given = [constant(v) for v in op.inputs if v.type.dtype.kind == "i"]
    if len(given) != 3 or None in given or given[2] == 0 or op.out.type.dtype.kind != "i":
        return None
    found = range(*given)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return found if op.out.type.dims == (len(found),) else None


def _spreads(dims: tuple[Dim, ...], over: tuple[Dim, ...]) -> bool:
    """Whether an array of these lengths spreads over one of those."""
    try:
        return np.broadcast_shapes(dims, over) == over  # pyright: ignore[reportArgumentType, reportCallIssue]
    except ValueError:
        return False


def _dims(v: Value) -> tuple[Dim, ...]:
    return v.type.dims if isinstance(v.type, Array) else ()


def _size(v: Value) -> int:
    return _product(_dims(v))


def _product(dims: tuple[Dim, ...]) -> int:
    """The number of elements; 0 where it is not known."""
    return math.prod(d for d in dims if isinstance(d, int)) if all(isinstance(d, int) for d in dims) else 0


def _others(op: Op, v: Value) -> tuple[Any, ...]:
    """The lengths of a part that all parts of a concatenation share."""
    return tuple(d for k, d in enumerate(v.type.dims) if k != op.attrs["axis"])


def viewed(op: Op, array: Any) -> Any:
    """The view that an operation takes, of an array of anything."""
    match op.kind:
        case "view":
            index = subscript(op)
            if index is None:
                raise LookupError
            return array[(*index, ...)]
        case "transpose":
            return array.transpose(op.attrs["perm"])
        case "diagonal":
            return np.diagonal(array, op.attrs["offset"])
        case "reshape":
            return array.reshape(op.out.type.dims)  # pyright: ignore[reportArgumentType]
        case _:
            return np.broadcast_to(array, op.out.type.dims)  # pyright: ignore[reportArgumentType, reportCallIssue]
