"""Arrays that are computed again wherever they are read, as that takes less than to read them.

    d = x[:, None] - y[None, :]             total = sum over i, j of (x[i] - y[j]) ** 2
    total = np.sum(d * d)                   ...
    ... 2 * d ...                           ... 2 * (x[i] - y[j]) ...

What is added, subtracted or multiplied of arrays that are each smaller than the result, as all differences of two lists
of points are: the array would be written once and read by each loop that needs it, and its operands are at hand. Each
reader gets an operation of its own, which runs in the reader's loops (`fusion`). What is made of one array and numbers
is computed again by each nest but its own, once it is known which nests there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence

from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.ops.schema import Cost
from diffjit.ir.roots import Roots
from diffjit.ir.types import Array
from diffjit.lowering.loops import fuse


def compute_again(
    block: Block, roots: Roots, users: Mapping[Value, Sequence[Op | Block]], raises: Callable[[Op], bool]
) -> bool:
    """Give each reader of such an array an operation of its own, in place; whether there were any.

    What may raise stays where it is: behind it, somebody may see that it did not.
    """
    places = {op: k for k, op in enumerate(block.ops)}
    writers = [op for op in block.ops if fuse.touched(op)[1]]
    places_of_writers = [places[op] for op in writers]
    copies: dict[Op, list[Op]] = {}  # what has to come in front of an operation
    gone: set[Op] = set()
    for op in block.ops:
        readers = _readers(op, users, places) if _is_smaller(op) and not raises(op) else []
        if len(readers) < 2:
            continue
        first = bisect_right(places_of_writers, places[op])
        last = bisect_left(places_of_writers, max(places[u] for u in readers))
        written = [w for o in writers[first:last] for w in fuse.touched(o)[1]]
        if any(roots.may_alias(w, v) for w in written for v in fuse.array_inputs(op)):
            continue
        gone.add(op)
        for u in readers:
            copies.setdefault(u, []).append(copied_for(op, [u]))
    if gone:
        block.ops = [o for op in block.ops if op not in gone for o in (*copies.get(op, ()), op)]
    return bool(gone)


def _is_smaller(op: Op) -> bool:
    """Whether it takes little, of arrays that are each smaller than its result."""
    if not fuse.is_elementwise(op) or op.row.cost > Cost.CHEAP:
        return False
    assert isinstance(op.out.type, Array)
    if op.out.type.dtype.kind not in "fc":
        return False
    dims = op.out.type.dims
    return all(
        len(small) < len(dims) or any(a == 1 != b for a, b in zip(small, dims, strict=True))
        for small in map(fuse.dims_of, fuse.array_inputs(op))
    )


def copied_for(op: Op, readers: Iterable[Op]) -> Op:
    """An operation of their own for some who read its result."""
    out = Value(op.out.type, name=op.out.name)
    out.op = Op(op.kind, list(op.inputs), [out], dict(op.attrs), loc=op.loc)
    for u in readers:
        u.inputs = [out if v is op.out else v for v in u.inputs]
    return out.op


def of_one_array(op: Op) -> Value | None:
    """The array of which an operation that takes little computes one of the same form, with nothing but numbers."""
    if not fuse.is_elementwise(op) or op.row.cost > Cost.CHEAP:
        return None
    arrays = list(dict.fromkeys(fuse.array_inputs(op)))
    same = len(arrays) == 1 and arrays[0].type == op.out.type
    return arrays[0] if same and op.out.type.dtype.kind in "fc" and op.out.type.layout == "C" else None


def _readers(op: Op, users: Mapping[Value, Sequence[Op | Block]], places: Mapping[Op, int]) -> list[Op]:
    """Who reads its elements in loops of this block; none if somebody wants more of it."""
    found: list[Op] = []
    for u in users.get(op.out, ()):
        if not isinstance(u, Op) or u not in places or not fuse.runs_in_loops(u):
            return []
        if u.inputs.count(op.out) != fuse.element_inputs(u).count(op.out):
            return []
        if not fuse.covers(fuse.dims_of(op.out), fuse.space_of(u)):
            return []
        if u not in found:
            found.append(u)
    return found
