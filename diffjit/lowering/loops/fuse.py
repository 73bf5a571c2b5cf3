"""Which operations on arrays run in loops of their own, and over which indices."""

from __future__ import annotations

from collections.abc import Iterator

from diffjit.ir.nodes import Op, Value, is_view
from diffjit.ir.ops import Reads
from diffjit.ir.types import Array, Dim, Scalar, is_ref
from diffjit.ir.walk import walk


def is_elementwise(op: Op) -> bool:
    """Whether the output is an array whose elements depend on the operands' elements at the same place."""
    if len(op.outputs) != 1 or not isinstance(op.out.type, Array):
        return False
    if op.kind == "unbroadcast":
        return op.out.type.dims == getattr(op.inputs[0].type, "dims", None)
    return op.row.by_element or op.row.same


def is_fill(op: Op) -> bool:
    """Whether the output is an array of one number."""
    spread = op.kind == "broadcast_to" and isinstance(op.inputs[0].type, Scalar)
    return spread or op.row.fill in ("zeros", "value")


def is_reduction(op: Op) -> bool:
    """Whether elements are added up, or the like."""
    return op.kind == "unbroadcast" or (op.row.reduces and isinstance(op.inputs[0].type, Array))


def runs_in_loops(op: Op) -> bool:
    """Whether the operation is a nest of loops that may do other work as well."""
    return is_elementwise(op) or is_reduction(op) or op.row.updates


def element_inputs(op: Op) -> list[Value]:
    """The operands that give elements (the others give lengths, or are written)."""
    if op.row.updates:
        return op.inputs[1:2]
    if op.row.reduces or op.kind in ("unbroadcast", "full", "broadcast_to"):
        return op.inputs[:1]
    if op.kind in ("zeros", "zeros_like"):
        return []
    return op.inputs


def covers(inner: tuple[Dim, ...], outer: tuple[Dim, ...]) -> bool:
    """Whether computing `inner` inside loops over `outer` repeats nothing, as far as one knows."""
    return len(inner) == len(outer) and all(a != 1 or b == 1 for a, b in zip(inner, outer, strict=True))


def space_of(op: Op) -> tuple[Dim, ...]:
    """The lengths over which the loops of an operation run."""
    return dims_of(op.out if is_elementwise(op) or is_fill(op) else op.inputs[0])


def dims_of(v: Value) -> tuple[Dim, ...]:
    """What is known of a value's lengths."""
    return v.type.dims if isinstance(v.type, Array) else ()


def element_type(v: Value) -> Scalar:
    """The type of one element."""
    return v.type if isinstance(v.type, Scalar) else Scalar(v.type.dtype)  # type: ignore[union-attr]


def summed_axes(op: Op) -> list[int] | None:
    """The dimensions along which an `unbroadcast` adds up; None where only the run knows."""
    g, like = op.inputs
    space, kept = dims_of(g), dims_of(like)
    lead = len(space) - len(kept)
    axes = list(range(lead))
    for k, d in enumerate(kept):
        if d == 1:
            axes.append(lead + k)
        elif d != space[lead + k] and (isinstance(d, int) or not d.not_one):
            return None
    return axes


def array_inputs(op: Op) -> Iterator[Value]:
    """The arrays whose elements an operation reads in its loops."""
    return (v for v in element_inputs(op) if isinstance(v.type, Array))


def touched(op: Op) -> tuple[list[Value], list[Value]]:
    """The references whose memory an operation reads and writes."""
    reads: list[Value] = []
    writes: list[Value] = []
    for o in (op, *inside(op)):
        if o.row.reads is Reads.LENGTHS or is_view(o):
            continue
        refs = [v for v in o.inputs if is_ref(v.type)]
        reads += refs
        writes += refs if o.kind == "call" else [o.inputs[k] for k in o.row.writes]
    return reads, writes


def inside(op: Op) -> Iterator[Op]:
    """The operations in the regions of an operation."""
    return (o for region in op.regions for o in walk(region))
