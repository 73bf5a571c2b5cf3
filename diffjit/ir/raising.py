"""Which operations may raise, as far as one operation tells.

    y = x + b          x and b have one length by their types: never
    z = W @ u          lengths that are not known to agree: may raise
    v = u[k]           k is computed: may raise

An operation that may raise is an effect: it keeps its place among the others, among writes, and among accesses that are
not tested because it has been (`relies`). Nobody may drop it either where Python would raise (`tests_index`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from diffjit.ir.nodes import EFFECTS, WRITES, Op, Value, const_of
from diffjit.ir.types import Array, Dim, Scalar

NEVER = frozenset(
    {"const", "dim", "stride", "trip", "undef", "select", "stop_gradient", "transpose", "real_view", "imag_view",
     "zeros_like", "empty_like", "copy", "share", "list_new", "stack_new", "list_len", "sum", "prod", "any", "all",
     "cumsum", "cumprod", "unbroadcast", "fft", "rfft", "sort", "argsort", "list_copy", "stack_copy", "nonzero",
     "push", "pop", "kept"}
)  # fmt: skip
"""Whatever they are given."""

BY_LENGTHS = frozenset(
    {"max", "min", "argmax", "argmin", "reshape", "broadcast_to", "concatenate", "diagonal", "irfft"}
)
"""Because of lengths alone."""

ALLOCATED = frozenset({"zeros", "empty", "full"})

BY_VALUES = frozenset(
    {"gather", "mask_get", "arange", "solve", "inv", "det", "cholesky", "eigh", "svd", "factorizes", "list_append",
     "list_pop", "list_get", "list_set", "list_insert", "scatter", "scatter_add", "mask_set", "foreign", "custom_link",
     "call"}
)  # fmt: skip
"""Because of what they are given, too."""

INDEXED = {"load": 1, "view": 1, "store": 2, "accum_at": 2}
"""Accesses by numbers: where the indices begin among the inputs."""

_CHOOSING = frozenset({"list_get", "list_pop", "gather", "mask_get"})
_EXACT = frozenset({"maximum", "minimum", "where", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"})


def _no(op: Op) -> bool:
    return False


def may_raise(op: Op, inside: Callable[[Op], bool] = _no, fits: Callable[[Op], bool] = _no) -> bool:
    """Whether an operation may raise.

    `inside`: whether the indices of an access are known to be within bounds; `fits`: whether the result of arithmetic
    of integers is.
    """
    kind = op.kind
    if kind in EFFECTS:
        return kind == "raise"
    if kind in ("for", "trip") and not const_of(op.inputs[2]):
        return True
    if op.regions:
        return any(may_raise(o, inside, fits) for region in op.regions for o in region.ops)
    if kind in NEVER:
        return False
    if kind in INDEXED:
        return picks(op) and not op.attrs.get("inbounds") and not inside(op)
    if kind == "matmul":
        return not inner_lengths_agree(op)
    if kind in ALLOCATED:
        return not all(map(is_length, op.inputs[kind == "full" :]))
    if kind in BY_LENGTHS or kind in BY_VALUES:
        return True
    out = op.out.type if op.outputs else None
    if isinstance(out, Scalar) and out.dtype.kind in "iu" and not (exact(op) or fits(op)):
        return True
    return not shapes_agree(op)


def tests_index(op: Op) -> bool:
    """Whether an operation does nothing but read, and yet must stay, as an index that it is given may be wrong."""
    return (op.kind in INDEXED and op.kind not in WRITES and picks(op) and not op.attrs.get("inbounds")) or (
        op.kind in _CHOOSING and op.kind not in WRITES
    )


def relies(op: Op) -> bool:
    """Whether an access is not tested because an earlier operation has been."""
    return op.kind in INDEXED and bool(op.attrs.get("inbounds"))


def picks(op: Op) -> bool:
    """Whether an access has an index that may be out of bounds, or a step that may be 0."""
    if op.kind != "view":
        return len(op.inputs) > INDEXED[op.kind]
    return "i" in op.attrs["spec"] or any(const_of(v, 0) == 0 for v in steps(op))


def steps(view: Op) -> Iterator[Value]:
    """The steps of the slices of a view."""
    items = iter(view.inputs[1:])
    for entry in view.attrs["spec"]:
        if entry == "i":
            next(items)
        elif isinstance(entry, tuple):
            parts = [next(items) if flag else None for flag in entry[1:]]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            if parts[-1] is not None:
                yield parts[-1]


def exact(op: Op) -> bool:
    """Whether arithmetic of integers cannot leave their range."""
    if op.kind == "cast":
        return op.inputs[0].type.dtype.kind in "biu"
    if op.kind == "multiply" and any(const_of(v) == 1 for v in op.inputs):
        return True
    return bool(op.attrs.get("nowrap")) or op.kind in _EXACT


def is_length(v: Value) -> bool:
    """Whether a number is never negative, as it is a length."""
    return const_of(v, -1) >= 0 or (v.op is not None and v.op.kind in ("dim", "trip"))


def inner_lengths_agree(op: Op) -> bool:
    """Whether the types say that the factors of a product fit."""
    a, b = (v.type for v in op.inputs)
    if a.ndim > 2 or b.ndim > 2:
        return False
    return a.dims[-1] == b.dims[-2 if b.ndim > 1 else 0]


def shapes_agree(op: Op) -> bool:
    """Whether the types say that the operands broadcast, to the first one where that is written to."""
    arrays = [v.type for v in op.inputs if isinstance(v.type, Array)]
    if len(arrays) < 2:
        return True
    if op.kind in ("assign", "accum"):
        target, source = arrays
        pairs = zip(reversed(target.dims), reversed(source.dims), strict=False)
        return source.ndim <= target.ndim and all(d in (n, 1) for n, d in pairs)
    longest = max(a.ndim for a in arrays)
    for axis in range(1, longest + 1):
        lengths: set[Dim] = {a.dims[-axis] for a in arrays if a.ndim >= axis}
        if len(lengths - {1}) > 1:
            return False
    return True
