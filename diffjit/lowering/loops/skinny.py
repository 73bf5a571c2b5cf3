"""Products over a few numbers are sums of a few elementwise products, in the loops of those that read them.

    moved = frame @ points               a 4 by 4 matrix and all points
    out += moved[:3] * weights           for r in range(3): for n in range(count):
                                             out[r, n] += (frame[r, 0] * points[0, n] + ...) * weights[n]

A library's product of such matrices takes as long as its result takes to be written, and what reads it reads it again
from memory. Here the sum is a handful of multiplications of what is in registers already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diffjit.analysis.manager import analyses
from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.checks import PROVEN, Check
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value
from diffjit.ir.ops import Raises, Reads, Row, declare
from diffjit.ir.raising import UNUSED, picks
from diffjit.ir.roots import Roots
from diffjit.ir.types import INT, Array, Dim
from diffjit.ir.walk import blocks, uses
from diffjit.lowering.loops import fuse

INNER_LENGTHS = "inner_lengths"
declare(
    Row(INNER_LENGTHS, "a b", "tests that the inner lengths of a product agree (made while lowering)",
        raises=Raises.LENGTHS, reads=Reads.LENGTHS, effect=True)
)  # fmt: skip

_FEW = 4  # terms; a library wins from twelve on, and a loop of many terms is long
_LONG = 16  # elements of a row of the result; rows of up to `_FEW` are short enough, where there are many of them


def write_out_products(function: Function) -> None:
    """Replace products over a few numbers, in place."""
    found = [(block, op) for block in blocks(function.body) for op in block.ops if op.kind == "matmul" and _is_one(op)]
    if not found:
        return
    users, roots = uses(function), analyses(function).roots
    for block, op in found:
        product = _seen_by_readers(block, op, users, roots)
        tested = _tested(block, op)
        _write_out(block, product, tested)
        if product.at is not op:
            block.ops.remove(op)


@dataclass(frozen=True, slots=True)
class _Product:
    """What is multiplied: the axis over which sums run is the last one of `a`, and behind the stack in `b`."""

    a: Value
    b: Value
    terms: int
    stacked: int  # axes of `b` in front of that one
    at: Op  # the operation whose result it is
    cut: bool = False  # it is a view that wants some of the rows, or of the stack


def _is_one(op: Op) -> bool:
    """Whether a product is over a few numbers, and its rows are long, or many and very short."""
    a, b = (v.type for v in op.inputs)
    dtype = op.out.type.dtype
    if dtype.kind not in "fc" or not all(isinstance(t, Array) and t.ndim > 1 and t.dtype == dtype for t in (a, b)):
        return False
    terms, rows, row = _terms(op), a.dims[-2], b.dims[-1]
    if terms is None or not 0 < terms <= _FEW:
        return False
    if isinstance(row, int) and row < _LONG:
        if row > _FEW or isinstance(rows, int):
            return False
    elif b.layout == "F":
        return False
    return min(a.ndim, b.ndim) == 2 or a.dims[:-2] == b.dims[:-2]  # stacks that may not fit: the product tests them


def _terms(op: Op) -> int | None:
    """Over how many numbers a product sums; None where nobody knows, or where its operands do not fit."""
    a, b = op.inputs
    known = {n for n in (a.type.dims[-1], b.type.dims[-2]) if isinstance(n, int)}
    return known.pop() if len(known) == 1 else None


def _tested(block: Block, op: Op) -> Check:
    """The test that the operands fit, in front of the product; none where types say so."""
    a, b = op.inputs
    if a.type.dims[-1] == b.type.dims[-2]:
        return PROVEN
    check = Check("a product")
    block.ops.insert(block.ops.index(op), Op(INNER_LENGTHS, [a, b], attrs={CHECKS: (check,)}, loc=op.loc))
    return check


def _seen_by_readers(block: Block, op: Op, users: Mapping[Value, Sequence[Op | Block]], roots: Roots) -> _Product:
    """The product as its only reader sees it, which may want a part of it, or other lengths."""
    a, b = op.inputs
    terms = _terms(op)
    assert terms is not None
    whole = _Product(a, b, terms, b.type.ndim - 2, op)
    readers = users.get(op.out, ())
    if len(readers) != 1 or not isinstance(reader := readers[0], Op) or reader not in block.ops:
        return whole
    if reader.kind == "reshape":
        made = b.op
        if made is None or made.kind != "reshape" or made not in block.ops or not a.type.ndim == b.type.ndim == 2:
            return whole
        source = made.inputs[0]
        if not made.attrs["view"] or not _is_whole_again(source.type, b.type, (a.type.dims[0], reader.out.type)):
            return whole
        if not _is_quiet(block, made, reader, (a, source), roots):
            return whole
        made.attrs[UNUSED] = True  # it tests the length of the axis that is apart
        return _Product(a, source, terms, 0, reader)
    if _cuts_rows(reader) and _is_quiet(block, op, reader, (a, b), roots):
        return _Product(a, b, terms, b.type.ndim - 2, reader, cut=True)
    return whole


def _is_whole_again(source: Any, flat: Any, result: tuple[Dim, Any]) -> bool:
    """Whether the axes behind the first one were joined for the product, and are apart again behind it."""
    rows, ty = result
    if not isinstance(source, Array) or source.dtype != ty.dtype or source.ndim < 2:
        return False
    if not source.layout == ty.layout == "C":
        return False
    return source.dims[0] == flat.dims[0] and ty.dims == (rows, *source.dims[1:])


def _cuts_rows(reader: Op) -> bool:
    """Whether an operation is a view of some rows, or of some of the stack, that cannot fail."""
    if reader.kind != "view" or picks(reader) or reader.out.type.layout != "C":
        return False
    *rows, last = reader.attrs["spec"]
    return last == ":" and all(entry == ":" or isinstance(entry, tuple) for entry in rows)


def _is_quiet(block: Block, first: Op, last: Op, arrays: Iterable[Value], roots: Roots) -> bool:
    """Whether nobody writes to arrays between two operations."""
    start, end = block.ops.index(first), block.ops.index(last)
    written = [w for o in block.ops[start:end] for w in fuse.touched(o)[1]]
    return not any(roots.may_alias(w, v) for w in written for v in arrays)


def _write_out(block: Block, product: _Product, tested: Check) -> None:
    """Put the sum in the place of an operation, with the same result."""
    a, b, stacked, old = product.a, product.b, product.stacked, product.at
    out = old.out
    ty: Any = out.type
    build = Builder()
    build.loc = old.loc
    if product.cut:
        *stack, rows, _ = _entries(old)
        a, b = (_cut(build, v, [*(stack if v.type.ndim > 2 else ()), *row]) for v, row in ((a, [rows]), (b, ())))
    tail = b.type.ndim - stacked - 1  # axes behind the one over which it sums
    total: Value | None = None
    for k in range(product.terms):
        number = build.const(k, INT)
        left = _part(build, a, number, (*":" * (a.type.ndim - 1), "i", *"n" * tail), tested)
        right = _part(build, b, number, (*":" * stacked, "i", *"n" * bool(stacked), *":" * tail), tested)
        term = build.value("multiply", [left, right], Array(ty.dtype, ty.dims, "C"))
        total = term if total is None else build.value("add", [total, term], Array(ty.dtype, ty.dims, "C"))
    assert total is not None
    last = out.op = build.block.ops[-1]
    last.outputs = [out]
    at = block.ops.index(old)
    for op in build.block.ops:
        for v in op.outputs:
            v.block = block
    block.ops[at : at + 1] = build.block.ops


def _entries(view: Op) -> list[tuple[Any, list[Value], Dim]]:
    """For each axis of a view of slices: its entry, the numbers that belong to it, and the length that it leaves."""
    given = iter(view.inputs[1:])
    spec, dims = view.attrs["spec"], view.out.type.dims  # type: ignore[union-attr]
    return [
        (entry, [] if entry == ":" else [next(given) for there in entry[1:] if there], length)
        for entry, length in zip(spec, dims, strict=True)
    ]


def _cut(build: Builder, array: Value, entries: list[tuple[Any, list[Value], Dim]]) -> Value:
    """Slices of the first axes of an operand."""
    if all(entry == ":" for entry, _, _ in entries):
        return array
    ty: Any = array.type
    rest = ty.ndim - len(entries)
    dims = (*(length for _, _, length in entries), *ty.dims[len(entries) :])
    spec = (*(entry for entry, _, _ in entries), *":" * rest)
    whole = all(entry == ":" for entry, _, _ in entries[1:]) and (entries[0][0] == ":" or entries[0][0][-1] is None)
    made = Array(ty.dtype, dims, "C" if ty.layout == "C" and whole else "A")
    return build.value("view", [array, *(v for _, given, _ in entries for v in given)], made, spec=spec)


def _part(build: Builder, array: Value, number: Value, spec: tuple[Any, ...], tested: Check) -> Value:
    """What has a number along one axis."""
    left = iter(array.type.dims)
    dims: list[Dim] = []
    for entry in spec:
        if entry == "n":
            dims.append(1)
            continue
        length = next(left)
        if entry == ":":
            dims.append(length)
    first = spec[0] == "i" or all(d == 1 for d in array.type.dims[: spec.index("i")])
    layout = "C" if array.type.layout == "C" and first else "A"
    ty = Array(array.type.dtype, tuple(dims), layout)
    return build.value("view", [array, number], ty, spec=spec, inbounds=tested)
