"""Loops of the user's, or their ways back, whose sums of cotangents are taken abreast (`runtime.partials`).

    for i in range(n):                       whole_ = quotient(trip(0, n, 1), 16)
        a_bar = a_bar + g[i] * x[i]    ->    if whole_ > 0:
                                                 parts_ = sums_float64_16()
                                                 for step_ in nest(whole_):
                                                     for lane_ in abreast(16):
                                                         i = step_ * 16 + lane_
                                                         take_in(parts_, lane_, g[i] * x[i])
                                                 a_bar = a_bar + added_up(parts_)
                                             for left_ in scalar(whole_ * 16, count_):
                                                 i = left_
                                                 a_bar = a_bar + g[i] * x[i]

In which order cotangents are added up is free; the iterations come in their order. What the user adds up has his own.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import SUM, Op, const_of, is_view
from diffjit.ir.text import syntax
from diffjit.ir.types import Scalar, is_ref
from diffjit.ir.walk import walk
from diffjit.lowering.loops import fuse, fusion
from diffjit.lowering.marks import ABREAST, NEST, SCALAR, SIDE_BY_SIDE
from diffjit.lowering.text.lines import Lines, made_of
from diffjit.settings import settings

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter

_LONGEST = 40  # operations of a loop that is written twice
_LEAST = 32  # iterations that are worth it, where their number is known


@dataclass(frozen=True, slots=True)
class _Found:
    """A statement that adds to a sum."""

    at: int  # its place in the body
    name: str
    dtype: Any
    terms: list[ast.expr]


def widest(dtypes: Iterable[np.dtype[Any]]) -> int:
    """How many parts sums of these are taken in, where registers allow it."""
    return 32 if all(dtype.itemsize == 4 for dtype in dtypes) else 16


def made_parts(
    printer: LoweredPrinter,
    lines: Lines,
    dtype: np.dtype[Any],
    width: int,
    temp: Callable[[str, str], str],
    start: str = "sums",
) -> str:
    """The variable of so many parts of a sum (or of `products`), which a line makes."""
    made = printer.define(f"{start}_{dtype.name}_{width}", f'partials.{start}("{dtype.name}", {width})')
    name = temp("parts", made)
    lines.add(f"{name} = {made}()")
    return name


def abreast(printer: LoweredPrinter, op: Op, loop: ast.For) -> list[ast.stmt]:
    """The statements of a loop: itself, where nothing is to be gained."""
    if not _pays(printer, op) or not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, ast.Call):
        return [loop]
    found = _sums(loop.body)
    if len(found) < len(op.outputs) or not found:  # what an iteration gives to the next is no work for vectors
        return [loop]
    width = widest([f.dtype for f in found])
    inner = Lines()
    used = {n.id for s in loop.body for n in syntax.nodes(s) if isinstance(n, ast.Name)}

    def fresh(hint: str, spec: str = "int64") -> str:
        name = printer.temp(hint, spec)
        while name in used:  # the body's statements have temporaries of their own
            name = printer.temp(hint, spec)
        return name

    count, whole, step, lane, left, first = (fresh(h) for h in ("turns", "whole", "step", "lane", "left", "first"))
    starts, stops, by = _range(loop.iter)
    sign = "+" if by == 1 else "-"
    inner.add(f"{first} = {ast.unparse(starts)}")
    inner.add(f"{count} = trip({first}, {ast.unparse(stops)}, {by})")
    inner.add(f"{whole} = quotient({count}, {width})")
    index = loop.target.id
    kind = ABREAST if printer.separation.keeps_apart(op) else SIDE_BY_SIDE
    with inner.block(f"if {whole} > 0:"):
        parts = [made_parts(printer, inner, f.dtype, width, fresh) for f in found]
        with inner.block(f"for {step} in {NEST}({whole}):"), inner.block(f"for {lane} in {kind}({width}):"):
            inner.add(f"{index} = {first} {sign} ({step} * {width} + {lane})")
        for f, part in zip(found, parts, strict=True):
            inner.add(f"{f.name} = {f.name} + added_up({part})")
    with inner.block(f"for {left} in {SCALAR}({whole} * {width}, {count}):"):
        inner.add(f"{index} = {first} {sign} {left}")
    made = made_of(op, inner.parse())
    choice, rest = made[-2:]
    assert isinstance(choice, ast.If)
    assert isinstance(rest, ast.For)
    steps = choice.body[len(found)]
    assert isinstance(steps, ast.For)
    lanes = steps.body[0]
    assert isinstance(lanes, ast.For)
    lanes.body += _taking(loop.body, found, parts, lane)
    rest.body += loop.body
    return made


def _pays(printer: LoweredPrinter, op: Op) -> bool:
    inside = list(walk(op.regions[0]))
    if printer.device or settings.plain or not any(SUM in each.attrs for each in inside) or len(inside) > _LONGEST:
        return False
    if any(each.regions or each.row.effect or _loops(each) or printer.raises(each) for each in inside):
        return False
    if op.attrs.get("exit") or not all(isinstance(v.type, Scalar) for v in op.outputs):
        return False
    first, stop, by = map(const_of, op.inputs[:3])
    if by not in (1, -1):
        return False
    return first is None or stop is None or len(range(int(first), int(stop), int(by))) >= _LEAST


def _loops(op: Op) -> bool:
    """Whether an operation is loops, or makes what loops fill."""
    made = any(is_ref(v.type) for v in op.outputs) and not is_view(op)
    return made or op.kind == fusion.NEST or fuse.runs_in_loops(op)


def _sums(body: list[ast.stmt]) -> list[_Found]:
    """The statements `s += x` or `s = s + x + y` of a body that nothing else of it reads or assigns."""
    count = Counter(node.id for s in body for node in syntax.nodes(s) if isinstance(node, ast.Name))
    found: list[_Found] = []
    for at, s in enumerate(body):
        maker: Op | None = getattr(s, "maker", None)
        kind = maker.out.type if maker is not None and SUM in maker.attrs else None
        if not isinstance(kind, Scalar) or kind.dtype.kind != "f" or kind.dtype.itemsize not in (4, 8):
            continue
        terms: list[ast.expr] | None = None
        name = ""
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and isinstance(s.op, ast.Add):
            name, terms = s.target.id, [s.value]
        elif isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
            name = s.targets[0].id
            terms = _terms(s.value, name)
        if terms and count[name] == 1 + isinstance(s, ast.Assign):
            found.append(_Found(at, name, kind.dtype, terms))
    return found


def _terms(value: ast.expr, name: str) -> list[ast.expr] | None:
    """What a sum of cotangents adds to a variable, in its order; None where that is not what it is."""
    if isinstance(value, ast.Name):
        return [] if value.id == name else None
    origin: Op | None = getattr(value, "origin", None)
    sums = origin is not None and SUM in origin.attrs and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    before = _terms(value.left, name) if sums else None  # type: ignore[attr-defined]
    return None if before is None else [*before, value.right]  # type: ignore[attr-defined]


def _taking(body: list[ast.stmt], found: list[_Found], parts: list[str], lane: str) -> list[ast.stmt]:
    """A body that adds to one of many parts of each sum."""
    at = {f.at: (f, part) for f, part in zip(found, parts, strict=True)}
    made: list[ast.stmt] = []
    for k, s in enumerate(body):
        if k not in at:
            made.append(_copied(s))
            continue
        f, part = at[k]
        for term in f.terms:
            call = syntax.call("take_in", syntax.variable(part), syntax.variable(lane), _copied(term))
            call.origin = s.maker  # type: ignore[attr-defined] - the place of a failure
            made.append(ast.Expr(value=call))
    return made


def _copied(node: Any) -> Any:
    """A copy of a tree: what its nodes carry besides is the same."""
    made = copy.copy(node)
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            setattr(made, field, _copied(value))
        elif isinstance(value, list):
            setattr(made, field, [_copied(v) if isinstance(v, ast.AST) else v for v in value])
    return made


def _range(call: ast.Call) -> tuple[ast.expr, ast.expr, int]:
    """Start, stop and step (1 or -1) of a call of `range`."""
    args = call.args
    if len(args) == 1:
        return ast.Constant(value=0), args[0], 1
    return args[0], args[1], 1 if len(args) == 2 else ast.literal_eval(args[2])
