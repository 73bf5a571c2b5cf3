"""`vmap`: a function of one sample becomes a function of arrays of samples.

ys = vmap(f)(xs)        ->        ys = empty((n, *shape of one result))
                                  for lane in range(n):
                                      ys[lane] = f(xs[lane])

The loop is an ordinary one: each lane takes its own branches, and derivatives see nothing special about it. Results are
allocated before it where their shape follows from the arguments' (`transforms.lengths`), else after the first lane.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.api.axes import Arguments, Lane, below, mismatch, position
from diffjit.api.engine.composed import Composed, certain
from diffjit.api.engine.derived import verb
from diffjit.api.engine.inline import Inside, nest
from diffjit.errors import TypeProblem, UsageError
from diffjit.frontend.calls.nested import Inner
from diffjit.frontend.entry.demand import NOTHING
from diffjit.frontend.entry.outputs import Foreign, OneOf, Out, RecordOut, RowsOut, TableOut, TextOut, is_made_text
from diffjit.frontend.entry.program import parameter_names
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static, is_number
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import LANES, Block, Op, Value
from diffjit.ir.types import BOOL, INT, Array, Scalar
from diffjit.ir.walk import clone_op
from diffjit.labels import Constant, Labels
from diffjit.transforms.lengths import Lengths, as_dim
from diffjit.tree import parts_class

_FULL = av.Slice(NONE, NONE, NONE)


class Mapped(Composed):
    """A function applied lane by lane."""

    unchanged = False  # lanes that write to their arguments do so in the caller's arrays, as the loop would

    def __init__(self, function: Any, in_axes: Any, out_axes: Any, axis_size: Any, backend: str | None) -> None:
        super().__init__(function, backend)
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.axis_size = axis_size

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        return Lanes(self, interpreter, node).run(args, kwargs)


class Lanes:
    """One call of a mapped function, under construction."""

    def __init__(self, mapped: Mapped, interpreter: Any, node: Any) -> None:
        self.mapped = mapped
        self.interpreter = interpreter
        self.build = interpreter.build
        self.node = node
        self.walker = Arguments(interpreter)
        self.outs: list[Value] = []  # the arrays of results
        self.stores: list[tuple[Value, int, int]] = []  # array, axis of the lanes, position among the lane's results
        self.first = False  # whether lane 0 runs in front of the loop, to tell shapes

    def run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The results of all lanes."""
        lanes: list[Lane] = []
        self.arguments(args, kwargs, lambda lane: lanes.append(lane) or lane.array)
        count = self.count(lanes)
        index = Value(INT, "lane")
        body = Block([index])
        self.interpreter.forks += 1
        try:
            with self.build.inside(body):
                one, named = self.arguments(args, kwargs, lambda lane: self.row(lane, index))
                views = list(body.ops)
                what = "a function under vmap"
                inner = nest(
                    self.interpreter, self.mapped.function, one, named, self.node, refusal=what, demand=NOTHING,
                    plainly=None,
                )  # fmt: skip
        finally:
            self.interpreter.forks -= 1
        if inner is None:
            self.interpreter.dead = False
            self.loop(count, body)
            self.interpreter.refuse_if(Static(True), ValueError, "vmap of no lanes: every lane would raise [DJ515]")
            self.interpreter.dead = True
            return NONE
        return self.results(inner, body, views, index, count)

    def arguments(self, args: list[Any], kwargs: dict[str, Any], visit: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of one lane."""
        axes = self.mapped.in_axes
        if isinstance(axes, (tuple, list)) and len(axes) != len(args):
            raise mismatch(
                axes, f"the call has {len(args)} positional argument{'s' if len(args) != 1 else ''}", "in_axes"
            )
        if isinstance(axes, dict):
            raise mismatch(axes, "a tuple with one entry per positional argument is expected", "in_axes")
        each = list(axes) if isinstance(axes, (tuple, list)) else [axes] * len(args)
        names = parameter_names(self.mapped.function, tuple(args), {})
        walk = self.walker.walk
        self.walker.keyword = False
        positional = [walk(a, axis, name, visit) for a, axis, name in zip(args, each, names, strict=False)]
        self.walker.keyword = True
        return positional, {name: walk(a, 0, name, visit) for name, a in kwargs.items()}

    def count(self, lanes: list[Lane]) -> Value:
        """The number of lanes; that all arrays have as many is tested when the program runs."""
        asked = None if self.mapped.axis_size is None else self.asked(self.mapped.axis_size)
        if not lanes:
            if asked is not None:
                return asked
            raise UsageError(
                "DJ513",
                "vmap has no arrays to take lanes from",
                cure="in_axes must name an axis of at least one argument, or axis_size the number of lanes",
            )
        first = lanes[0]
        n = self.interpreter.dim(first.array, first.axis)
        if asked is not None:
            found = self.interpreter.number(n)
            text = (f"vmap: `{first.name}` has ", (found, ""), " lanes, axis_size is ", (asked, ""), " [DJ515]")
            differs = self.interpreter.compare_kind("not_equal", found, asked)
            self.interpreter.refuse_if(differs, ValueError, av.Format(text))
        for lane in lanes[1:]:
            if lane.array.type.dims[lane.axis] == first.array.type.dims[first.axis]:
                continue
            m = self.interpreter.dim(lane.array, lane.axis)
            a, b = (self.interpreter.number(v) for v in (n, m))
            text = (f"vmap: `{first.name}` has ", (a, ""), f" lanes, `{lane.name}` has ", (b, ""), " [DJ515]")
            self.interpreter.refuse_if(self.interpreter.compare_kind("not_equal", a, b), ValueError, av.Format(text))
        return self.interpreter.number(n)

    def asked(self, size: Any) -> Value:
        """The number of lanes that the call asks for; one that the program computes is tested when it runs."""
        value = size.value if isinstance(size, Inside) else Static(size)
        known = value.obj if isinstance(value, Static) else None
        if isinstance(value, Value) and isinstance(value.type, Scalar) and value.type.dtype.kind in "iu":
            negative = self.interpreter.compare_kind("less", value, Static(0))
            text = ("vmap: axis_size is ", (value, ""), " [DJ513]")
            self.interpreter.refuse_if(negative, ValueError, av.Format(text))
            return self.interpreter.cast(value, INT.dtype, weak=True)
        if not isinstance(known, (int, np.integer)) or isinstance(known, bool) or known < 0:
            what = repr(known) if isinstance(value, Static) else "a value of the program that is no integer"
            raise UsageError("DJ513", f"axis_size is {what}", cure="give the number of lanes, an int that is 0 or more")
        return self.interpreter.number(Static(int(known)))

    def row(self, lane: Lane, index: Value) -> Any:
        """One lane of an array: an element or a view."""
        items: list[Any] = [_FULL] * lane.array.type.ndim
        items[lane.axis] = index
        one = self.interpreter.basic_get(lane.array, items, scalar_ok=True)
        paths = self.interpreter.param_paths
        if lane.array in paths and isinstance(one.type, Array):  # lengths may be made static by starting again
            paths[one] = paths[lane.array]
        return one

    def loop(self, count: Value, body: Block, start: int = 0) -> None:
        """The loop over the lanes."""
        bounds = [self.build.const(start), count, self.build.const(1)]
        self.build.op("for", bounds, regions=[body], exit=False, reverse=False, **{LANES: True})

    # Results

    def results(self, inner: Inner, body: Block, views: list[Op], index: Value, count: Value) -> Any:
        """Allocate the results, fill them in the loop."""
        function = inner.program.function
        result = certain(inner.program, inner.program.result, "returned None in a lane: no array can be made [DJ321]")
        bound = dict(zip(function.params, inner.inputs, strict=True))
        lengths = Lengths(self.build, bound, [body, function.body])
        shapes = lengths.shapes(list(function.results))
        start = 0
        first: list[Value] = []
        if shapes is None:
            first = self.first_lane(inner, views, index, count)
            self.first = True
            shapes = [self.lengths_of(v) for v in first]
            start = 1
        spec = self.spec(result, self.mapped.out_axes, "the result", inner, shapes, count)
        if first:
            self.store(first, self.build.const(0), None)
        with self.build.inside(body):
            values = self.interpreter.copy_in(function, inner.inputs)
            self.store(values, index, shapes if first else None)
        self.loop(count, body, start)
        return self.interpreter.abstract(spec, self.outs)

    def first_lane(self, inner: Inner, views: list[Op], index: Value, count: Value) -> list[Value]:
        """Results of lane 0, in front of the loop."""
        empty = self.interpreter.compare_kind("less", count, Static(1))
        text = "vmap of no lanes: the shape of the result is not known before a lane has run [DJ515]"
        self.interpreter.refuse_if(empty, ValueError, text)
        mapping = {index: self.build.const(0)}
        for op in views:
            clone_op(op, mapping, self.build.block)
        return self.interpreter.copy_in(inner.program.function, [mapping.get(v, v) for v in inner.inputs])

    def lengths_of(self, v: Value) -> list[Value]:
        """The lengths of an array that exists."""
        if not isinstance(v.type, Array):
            return []
        return [self.interpreter.number(self.interpreter.dim(v, k)) for k in range(v.type.ndim)]

    def store(self, values: list[Value], index: Value, shapes: Any) -> None:
        """Put one lane's results in their places; `shapes`: what they must have."""
        for array, axis, k in self.stores:
            value = values[k]
            if shapes is not None and isinstance(value.type, Array):
                self.check_shape(value, shapes[k])
            items: list[Any] = [_FULL] * array.type.ndim
            items[axis] = index
            if array.type.ndim == 1:
                number = self.interpreter.number(value) if isinstance(value.type, Array) else value
                self.build.op("store", [array, number, index])
            else:
                self.build.op("assign", [self.interpreter.basic_get(array, items, scalar_ok=False), value])

    def check_shape(self, value: Value, shape: list[Value]) -> None:
        """Lanes must agree: storing one would broadcast it."""
        for axis, wanted in enumerate(shape):
            if value.type.dims[axis] == 1 and wanted.op is not None and wanted.op.attrs.get("value") == 1:
                continue
            found = self.interpreter.number(self.interpreter.dim(value, axis))
            text = (
                "vmap: a lane's result has length ",
                (found, ""),
                ", the first lane's has ",
                (wanted, ""),
                " [DJ515]",
            )
            test = self.build.value("not_equal", [found, wanted], BOOL)
            self.interpreter.refuse_if(test, ValueError, av.Format(text))

    def spec(self, spec: Any, axes: Any, name: str, inner: Inner, shapes: list[Any], count: Value) -> Any:
        """The tree of results, with arrays over all lanes as leaves."""

        def parts(keys: list[Any], items: Any, cls: type) -> list[Any]:
            each = below(axes, keys, cls, name, "out_axes")
            return [
                self.spec(item, axis, f"{name.removeprefix('the ')}[{key!r}]", inner, shapes, count)
                for key, item, axis in zip(keys, items, each, strict=True)
            ]

        match spec:
            case Out():
                return self.buffer(spec.index, axes, name, inner.program.function.results[spec.index], shapes, count)
            case RecordOut() if is_made_text(spec):
                raise self.refused(name, _WHAT[TextOut])
            case RecordOut():
                keys = list(spec.fields)
                lanes = parts(keys, spec.fields.values(), spec.cls)
                return RecordOut(parts_class(spec.cls), dict(zip(keys, lanes, strict=True)))
            case tuple():
                items = parts(list(range(len(spec))), spec, tuple)
                return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
            case list():
                return parts(list(range(len(spec))), spec, list)
            case dict():
                return dict(zip(spec, parts(list(spec), spec.values(), dict), strict=True))
            case None | Labels() | Constant():
                return spec
            case TableOut() | RowsOut() | TextOut() | OneOf() | Foreign():
                raise self.refused(name, _WHAT[type(spec)])
            case _:
                return self.constant(spec, axes, name, count)

    def refused(self, name: str, what: str) -> TypeProblem:
        """The error for a result that has no array form."""
        function = getattr(self.mapped.function, "__name__", "the function")
        return TypeProblem(
            "DJ321",
            f"{name} of `{function}` under vmap is {what}, of which no array can be made",
            cure="return numbers, arrays, or tuples, lists, dicts and objects of them",
        )

    def buffer(self, k: int, axes: Any, name: str, result: Value, shapes: list[Any], count: Value) -> Any:
        """The array that holds one result of all lanes."""
        ty = result.type
        if not isinstance(ty, (Scalar, Array)):
            raise self.refused(name, "a list that grows at run time")
        if axes is None:
            raise mismatch(axes, f"{name} may differ from lane to lane", "out_axes")
        shape = list(shapes[k])
        axis = position(axes, len(shape) + 1, f"{name} with its lanes", "out_axes")
        lengths = [*shape[:axis], count, *shape[axis:]]
        known = list(map(as_dim, shape)) if self.first or not isinstance(ty, Array) else ty.dims
        dims = (*known[:axis], as_dim(count), *known[axis:])
        out = self.build.value("empty", lengths, Array(ty.dtype, dims, "C"), order="C", name=result.name)
        self.outs.append(out)
        self.stores.append((out, axis, k))
        return Out(len(self.outs) - 1)

    def constant(self, obj: Any, axes: Any, name: str, count: Value) -> Any:
        """A result known while specialising: the same number for every lane."""
        if not is_number(obj):
            raise self.refused(name, f"a {type(obj).__name__}")
        if axes is None:
            return obj
        position(axes, 1, f"{name} with its lanes", "out_axes")
        ty = scalar_type_of(obj)
        value = self.build.const(obj)
        dims = (as_dim(count),)
        self.outs.append(self.build.value("full", [value, count], Array(ty.dtype, dims, "C"), order="C"))
        return Out(len(self.outs) - 1)


_WHAT = {
    RowsOut: "a list that grows at run time",
    TableOut: "a dict with keys made at run time",
    TextOut: "a text that is made at run time",
    OneOf: "a text that is chosen at run time",
    Foreign: "something without numbers",
}


@verb
def vmap(
    fun: Any = None, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None, backend: str | None = None
) -> Any:
    """Apply a function to every lane of its arguments: `vmap(f)(xs)[k]` is `f(xs[k])`.

    fun        the function of one lane; without it, a decorator with arguments
    in_axes    the axis of the lanes: an int for all arguments, or a tuple with an entry for each positional one
    out_axes   where the lanes are in the results: an int, or a container of the result's form
    axis_size  the number of lanes: needed where in_axes is None throughout, else what the arrays must have
    backend    "numba" (compiled), "cuda" (with kernels for a GPU) or "python" (readable text)

    An entry of in_axes is an int, None (the whole argument goes to every lane), or a container of these with the
    argument's form. Arguments given by keyword have lanes along axis 0.

    Each lane takes its own branches and runs its own loops. Results are those of the loop, bit for bit, except that
    products of all lanes with one matrix are computed as one product, which may round differently.

    Raises UsageError for axes or sizes that do not fit the arguments (DJ512, DJ513, DJ514), TypeProblem for results
    that no array can hold (DJ321), and ValueError where lanes differ in number or in shape (DJ515).
    """
    if fun is None:
        return lambda f: Mapped(f, in_axes, out_axes, axis_size, backend)
    return Mapped(fun, in_axes, out_axes, axis_size, backend)


__all__ = ["Mapped", "vmap"]
