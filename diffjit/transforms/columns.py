"""A program that evaluates tangents of many directions at once: products of a Jacobian with the rows of a matrix.

    def f_columns(x, x_dots, size):
        out_dots = zeros((len(x_dots), size))
        for k in range(0, len(x_dots), 8):          # as many directions at once share the values
            out_dots[k], ..., out_dots[k + 7] = tangents of f(x) along x_dots[k], ..., x_dots[k + 7]
        return out_dots, out.size

Directions behind the last one are the last one. How many numbers the function's result has is known when it has run:
nothing is kept where that is not what the caller says.
"""

from __future__ import annotations

from typing import Any

from diffjit.dataclass import dataclass
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import BOOL, INT, Array, Scalar, Sym
from diffjit.ir.walk import clone_op
from diffjit.transforms.pipeline import several_tangents


@dataclass(slots=True, eq=False)
class _Result:
    """One result of the function: its tangents, a row of a table for each, and its size as the caller says it."""

    value: Value
    tangents: list[Value]
    size: Value
    table: Value | None


def columns(function: Function, wrt: list[int], results: list[int], lanes: int) -> tuple[Function, list[bool]]:
    """The program, and which of the results have tangents.

    Parameters: the function's, then an array of directions for each one in `wrt`, then the size of each result. It
    returns a table for each result that has tangents, then the sizes that results really had.
    """
    made, positions = several_tangents(function, wrt, lanes)
    own = len(function.params)
    params = [Value(p.type, p.name) for p in made.params[:own]]
    inputs = [function.params[k] for k in wrt]
    given = [Value(_stacked(p.type), f"{p.name}_dots" if p.name else None) for p in inputs]
    heights = [Value(INT, "size") for _ in results]
    body = Block()
    build = Builder(body)
    count = build.value("dim", [given[0]], INT, axis=0)
    found: list[_Result] = []
    for r, height in zip(results, heights, strict=True):
        tangents = [made.results[p] for p in positions[r] or ()]
        table = None
        if tangents:
            ty = Array(tangents[0].type.dtype, (Sym(), Sym()), "C")
            table = build.value("zeros", [count, height], ty, order="C")
        found.append(_Result(made.results[r], tangents, height, table))
    sizes = _loop(build, made, (params, given, count), found, lanes)
    body.results = [f.table for f in found if f.table is not None] + sizes
    whole = Function(
        f"{function.name}_columns", [*params, *given, *heights], body, source_file=function.source_file,
        source_line=function.source_line, lines=dict(function.lines),
    )  # fmt: skip
    for v in whole.params:
        v.block = body
    return whole, [f.table is not None for f in found]


def _stacked(ty: Any) -> Array:
    """Many values of a type, one below the other."""
    dims = ty.dims if isinstance(ty, Array) else ()
    return Array(ty.dtype, (Sym(), *dims), "C")


def _loop(
    build: Builder,
    made: Function,
    outside: tuple[list[Value], list[Value], Value],
    found: list[_Result],
    lanes: int,
) -> list[Value]:
    """The loop over directions; the size of each result."""
    params, given, count = outside
    k = Value(INT, "k")
    carried = [Value(INT, "size") for _ in found]
    body = Block([k, *carried])
    for v in body.args:
        v.block = body
    with build.inside(body):
        last = build.value("subtract", [count, build.const(1)], INT, nowrap=True)
        places = [k]
        for lane in range(1, lanes):
            place = build.value("add", [k, build.const(lane)], INT, nowrap=True)
            places.append(build.value("minimum", [place, last], INT))
        like = made.params[len(params) :]
        dots = [_taken(build, v, place, like[lanes * n]) for n, v in enumerate(given) for place in places]
        mapping = dict(zip(made.params, [*params, *dots], strict=True))
        for op in made.body.ops:
            clone_op(op, mapping, body)
        for result in found:
            tangents = [mapping.get(t, t) for t in result.tangents]
            body.results.append(_kept(build, result, mapping.get(result.value, result.value), tangents, places))
    start = build.const(0)
    bounds = [start, count, build.const(lanes)]
    loop = build.op("for", [*bounds, *([start] * len(found))], [INT] * len(found), regions=[body], exit=False)
    loop.attrs["reverse"] = False
    return loop.outputs


def _taken(build: Builder, given: Value, place: Value, like: Value) -> Value:
    """One direction, in the layout of what it is a tangent of."""
    ty = like.type
    if not isinstance(ty, Array):
        number = build.value("load", [given, place], Scalar(ty.dtype))
        return number if number.type == ty else build.value("cast", [number], ty)
    spec = ("i", *(":" for _ in ty.dims))
    dot = build.value("view", [given, place], Array(ty.dtype, ty.dims, "C"), spec=spec)
    if ty.layout in ("C", "A") or ty.ndim < 2:
        return dot
    return build.value("copy", [dot], Array(ty.dtype, ty.dims, ty.layout), order=ty.layout)


def _kept(build: Builder, result: _Result, value: Value, tangents: list[Value], places: list[Value]) -> Value:
    """Write tangents into their table, if that has as many columns as the result has numbers; how many it has."""
    size = build.const(1)
    for axis in range(value.type.ndim if isinstance(value.type, Array) else 0):
        size = build.value("multiply", [size, build.value("dim", [value], INT, axis=axis)], INT, nowrap=True)
    if result.table is None:
        return size
    fits = build.value("equal", [size, result.size], BOOL)
    write = Block()
    with build.inside(write):
        for t, place in zip(tangents, places, strict=True):
            if not isinstance(t.type, Array):
                number = build.value("cast", [t], Scalar(result.table.type.dtype))
                build.op("store", [result.table, number, place, build.const(0)])
                continue
            row = Array(result.table.type.dtype, (Sym(),), "C")
            flat = t
            if t.type.ndim != 1:
                if t.type.layout != "C":
                    flat = build.value("copy", [t], Array(t.type.dtype, t.type.dims, "C"), order="C")
                flat = build.value("reshape", [flat, size], Array(t.type.dtype, (Sym(),), "C"), view=True)
            build.op("assign", [build.value("view", [result.table, place], row, spec=("i", ":")), flat])
    build.op("if", [fits], regions=[write, Block()])
    return size
