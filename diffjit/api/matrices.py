"""`jacfwd`, `jacrev`, `jacobian`, `hessian` and `hvp`.

A Jacobian is a loop over basis vectors around a derivative that is copied in once (`transforms.basis`): forward mode
gives a column per tangent, reverse mode a row per cotangent after one sweep forward.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from diffjit.api.engine.composed import Composed, certain
from diffjit.api.engine.derived import resolve, selected, verb
from diffjit.api.engine.engine import is_compiled
from diffjit.api.engine.inline import inline_jvp, nest, plain
from diffjit.api.engine.repeated import Repeated
from diffjit.api.engine.tracebacks import boundary
from diffjit.api.grad import grad
from diffjit.api.gradients import differentiated, place, spec_tree, without_extras, wrong_result
from diffjit.api.product_programs import reversible
from diffjit.api.products import jvp
from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem
from diffjit.frontend.calls.nested import Inner
from diffjit.frontend.entry.outputs import Out, RecordOut, is_made_text
from diffjit.frontend.entry.results import in_words
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import BOOL, INT, Array, Scalar, Sym
from diffjit.ir.walk import blocks, dce, walk
from diffjit.labels import Constant, Labels
from diffjit.settings import settings
from diffjit.stored import is_class_of_arrays
from diffjit.transforms.basis import Basis, Place, Unit
from diffjit.transforms.lengths import Lengths, as_dim
from diffjit.transforms.modes.columns import largest
from diffjit.transforms.outlined import left_out
from diffjit.transforms.pipeline import all_tangents, finish, joint, several_tangents
from diffjit.transforms.prepare import own_copy
from diffjit.tree import parts_class

_FULL = av.Slice(NONE, NONE, NONE)
_LANES = 8  # columns of a Jacobian at once, in programs of few operations: each has its own code
_MOST_OPS = 1000
_TOGETHER = 64  # columns at once, where they are an axis of arrays
_NUMBERS = 2**25  # in the tangents of one array, of more than `_LANES` columns


class Jacobian(Composed):
    """The Jacobian of a function."""

    def __init__(
        self, function: Any, mode: str, argnums: Any, *, has_aux: bool, backend: str | None, holomorphic: bool = False
    ) -> None:
        super().__init__(function, backend)
        self.mode = mode
        self.holomorphic = holomorphic
        self.argnums = selected(argnums)
        self.has_aux = has_aux

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        takes = (self.mode,) if self.mode in ("forward", "reverse") else ("forward", "reverse")
        inner = nest(interpreter, self.function, args, kwargs, node, demand=takes)
        return NONE if inner is None else Matrix(self, interpreter, inner).run()


@dataclass(slots=True, eq=False)
class Row:
    """One result: its place among the program's results (None: a constant), its type and lengths."""

    index: int | None
    type: Any
    shape: list[Value]


class Matrix:
    """One Jacobian under construction inside a program."""

    def __init__(self, verb: Jacobian, interpreter: Any, inner: Inner) -> None:
        self.verb, self.interpreter, self.inner = verb, interpreter, inner
        self.build = interpreter.build
        self.function = inner.program.function
        self.streams = Repeated(interpreter, self.function, inner.inputs)
        self.which = resolve(verb.function, verb.argnums, inner.call)
        self.wrt = differentiated(
            inner.program,
            self.which,
            inner.call,
            holomorphic=verb.holomorphic,
            real="a Jacobian by forward mode" if verb.mode == "forward" else "",
        )
        self.place = place(inner.program)
        self.inputs = [inner.inputs[k] for k in self.wrt]
        self.rows: list[Row] = []
        self.chosen = ""
        self.blocks: dict[tuple[int, int], Value] = {}  # (row, input) -> the matrix of the two

    def run(self) -> Any:
        """The Jacobian as a tree of trees; with `has_aux`, and the extras."""
        result = self.inner.program.result
        value = without_extras(self.inner.program) if self.verb.has_aux else result
        value = certain(self.inner.program, value, "returned None: there is nothing to differentiate [DJ320]")
        spec = self.scan(value, "the result")
        bound = dict(zip(self.function.params, self.inner.inputs, strict=True))
        lengths = Lengths(self.build, bound, [self.function.body])
        shapes = lengths.shapes([None if r.index is None else self.function.results[r.index] for r in self.rows])
        mode = self.chosen = self.mode()
        primal: list[Value] = []
        again = mode != "reverse"
        if again and (self.verb.has_aux or shapes is None or self.prints()):
            primal = self.streams.copy_in(own_copy(self.function), self.inner.inputs)
        if mode == "reverse":
            primal = self.reverse(allocated=False)
        else:
            self.allocate(primal, shapes)
            if mode == "forward":
                self.forward()
            else:
                self.cheaper()
        tree = self.tree(spec)
        if not self.verb.has_aux:
            return tree
        return av.Tup((tree, self.interpreter.abstract(result[1], primal)))

    # Results

    def scan(self, spec: Any, name: str) -> Any:
        """The tree of results with rows as leaves."""
        match spec:
            case Out():
                ty = self.function.results[spec.index].type
                if not isinstance(ty, (Scalar, Array)) or ty.dtype.kind not in "fc":
                    raise self.refused(
                        name, "a growing list" if not isinstance(ty, (Scalar, Array)) else f"of type {ty.dtype}"
                    )
                return self.row(spec.index, ty, name)
            case RecordOut() if is_class_of_arrays(spec.cls):  # an array: what else it has is not differentiated
                return self.scan(spec.fields["held_values"], name)
            case RecordOut() if not is_made_text(spec):
                return RecordOut(
                    parts_class(spec.cls),
                    {n: self.scan(v, f"{name.removeprefix('the ')}.{n}") for n, v in spec.fields.items()},
                )
            case tuple():
                items = [self.scan(v, f"{name.removeprefix('the ')}[{k}]") for k, v in enumerate(spec)]
                return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
            case list():
                return [self.scan(v, f"{name.removeprefix('the ')}[{k}]") for k, v in enumerate(spec)]
            case dict():
                return {k: self.scan(v, f"{name.removeprefix('the ')}[{k!r}]") for k, v in spec.items()}
            case None | Labels() | Constant():
                return spec
            case float() | np.floating() | complex() | np.complexfloating():
                return self.row(None, scalar_type_of(spec), name)
            case _:
                raise self.refused(name, in_words(spec))

    def row(self, index: int | None, ty: Any, name: str) -> Row:
        """A result with a Jacobian; refuses what is real or complex and should not be."""
        by_complex = any(v.type.dtype.kind == "c" for v in self.inputs)
        is_complex = ty.dtype.kind == "c"
        as_real = is_complex and (by_complex or self.verb.mode == "reverse")
        if not is_complex if self.verb.holomorphic else as_real:
            raise wrong_result(
                self.inner.program, f"{name} of `{self.function.name}` is", holomorphic=self.verb.holomorphic
            )
        self.rows.append(Row(index, ty, []))
        return self.rows[-1]

    def refused(self, name: str, what: str) -> TypeProblem:
        """The error for a result without a derivative."""
        return TypeProblem(
            "DJ322",
            f"{name} of `{self.function.name}` is {what}: it has no Jacobian",
            loc=self.place,
            cure="return floats and arrays of floats, and all else as extras: `return value, aux` with has_aux=True",
        )

    def prints(self) -> bool:
        """Whether the program prints, which it must do once."""
        return any(op.row.once for op in walk(self.function.body))

    def mode(self) -> str:
        """Forward, reverse, or a choice by the sizes when the program runs."""
        scalar_rows = all(isinstance(r.type, Scalar) for r in self.rows)
        scalar_inputs = all(isinstance(v.type, Scalar) for v in self.inputs)
        if self.verb.mode != "cheaper":
            return self.verb.mode
        if not self.verb.holomorphic and any(r.type.dtype.kind == "c" for r in self.rows):
            return "forward"
        if not self.verb.holomorphic and any(v.type.dtype.kind == "c" for v in self.inputs):
            return "reverse"
        if scalar_rows and len(self.rows) <= 1:
            return "reverse"
        if (scalar_inputs and len(self.inputs) == 1) or self.square():
            return "forward"
        if scalar_rows and scalar_inputs:
            return "forward" if len(self.inputs) <= len(self.rows) else "reverse"
        return "cheaper"

    def square(self) -> bool:
        """Whether there are certainly as many results as inputs."""
        sizes = [[v.type.dims if isinstance(v.type, Array) else () for v in vs] for vs in (self.rows, self.inputs)]
        return sizes[0] == sizes[1]

    # Matrices

    def allocate(self, primal: list[Value], shapes: list[list[Value]] | None) -> None:
        """A zero matrix for each result and input."""
        for r, row in enumerate(self.rows):
            value = primal[row.index] if shapes is None and row.index is not None else None
            row.shape = self.lengths_of(value) if shapes is None else shapes[r]
            for k, v in enumerate(self.inputs):
                lengths = [*row.shape, *self.lengths_of(v)]
                dtype = row.type.dtype if self.verb.mode == "forward" else v.type.dtype
                if self.verb.mode == "cheaper":
                    dtype = np.result_type(row.type.dtype, v.type.dtype)
                dims = tuple(as_dim(n) for n in lengths)
                name = f"{v.name}_jac" if v.name else None
                self.blocks[r, k] = self.build.value("zeros", lengths, Array(dtype, dims, "C"), order="C", name=name)

    def lengths_of(self, v: Value | None) -> list[Value]:
        """The lengths of an array that exists."""
        if v is None or not isinstance(v.type, Array):
            return []
        return [self.interpreter.number(self.interpreter.dim(v, k)) for k in range(v.type.ndim)]

    def put(self, r: int, k: int, row_at: list[Value], column_at: list[Value], value: Value) -> None:
        """Store a column, or a row, of one matrix."""
        target = self.blocks[r, k]
        at: list[Any] = row_at or [_FULL] * len(self.rows[r].shape)
        at += column_at or [_FULL] * (target.type.ndim - len(at))
        if any(i is _FULL for i in at):
            self.build.op("assign", [self.interpreter.basic_get(target, at, scalar_ok=False), value])
        else:
            number = self.interpreter.number(value)
            self.build.op("store", [target, self.interpreter.as_dtype(number, target.type.dtype), *at])

    def fill(self, r: int, k: int, value: Value) -> None:
        """A whole matrix; where both ways are compiled, the place for it is there already."""
        if self.chosen == "cheaper":
            self.put(r, k, [], [], value)
        else:
            self.blocks[r, k] = value

    def forward(self) -> None:
        """A column for each basis vector of the inputs."""
        if self.many() and (made := all_tangents(self.function, self.wrt)) is not None:
            self.together(*made)
            return
        lanes = self.lanes()
        function, positions = several_tangents(self.function, self.wrt, lanes)
        found = [(r, positions[row.index]) for r, row in enumerate(self.rows) if row.index is not None]
        wanted = [(r, ps) for r, ps in found if ps is not None]
        function.body.results = [function.body.results[p] for _, ps in wanted for p in ps]
        silence(function)
        dce(function)
        finish(function, "columns")
        if not wanted:  # all is zero, but the program may raise
            self.streams.copy_in(own_copy(self.function), self.inner.inputs)
            return
        if len(self.inputs) == 1 and isinstance(self.inputs[0].type, Scalar):  # the tangent is the column
            one = self.build.const(1.0, self.inputs[0].type)
            for (r, _), value in zip(wanted, self.streams.copy_in(function, [*self.inner.inputs, one]), strict=True):
                self.fill(r, 0, value)
            return
        basis = Basis(self.build, self.inputs, lanes)

        def columns(given: list[list[Unit]]) -> None:
            seeds = [units[k].value for k in range(len(self.inputs)) for units in given]
            outs = self.streams.copy_in(function, [*self.inner.inputs, *seeds])
            for lane, units in enumerate(given):
                for k, unit in enumerate(units):

                    def store(k: int = k, unit: Unit = unit, lane: int = lane) -> None:
                        for (r, _), value in zip(wanted, outs[lane::lanes], strict=True):
                            self.put(r, k, [], list(unit.at), value)

                    basis.when(unit.here, store)

        basis.each(columns)

    def many(self) -> bool:
        """Whether there may be more columns than have code of their own, and all of a program's tangents are arrays."""
        dims = [d for v in self.inputs for d in (v.type.dims if isinstance(v.type, Array) else ())]
        few = all(isinstance(d, int) for d in dims) and most_of(self.inputs) <= _LANES
        return bool(is_compiled(self.verb.backend)) and not few and not settings.plain

    def together(self, function: Function, positions: list[int | None]) -> None:
        """Many columns at once: tangents are arrays with the columns as their last axis."""
        found = [(r, positions[row.index]) for r, row in enumerate(self.rows) if row.index is not None]
        wanted = [(r, p) for r, p in found if p is not None]
        function.body.results = [function.body.results[p] for _, p in wanted]
        silence(function)
        dce(function)
        finish(function, "columns")
        if not wanted:  # all is zero, but the program may raise
            self.streams.copy_in(own_copy(self.function), self.inner.inputs)
            return
        basis = Basis(self.build, self.inputs)

        def columns(given: list[Value], places: list[Place]) -> None:
            outs = self.streams.copy_in(function, [*self.inner.inputs, *given])
            for k, part in enumerate(places):
                for (r, _), value in zip(wanted, outs, strict=True):
                    self.put_columns(r, k, part, value)

        basis.together(self.at_once(), columns)

    def at_once(self) -> Value:
        """How many columns are computed at once: fewer where the arrays of tangents would be huge."""
        bound = dict(zip(self.function.params, self.inner.inputs, strict=True))
        numbers = largest(self.function, self.wrt, Lengths(self.build, bound, [self.function.body]))
        few, many, room = (self.build.const(n) for n in (_LANES, _TOGETHER, _NUMBERS))
        fitting = self.build.value("floor_divide", [room, numbers], INT, nowrap=True)
        wanted = self.build.value("maximum", [fitting, few], INT, nowrap=True)
        return self.build.value("minimum", [wanted, many], INT, nowrap=True)

    def put_columns(self, r: int, k: int, place: Place, value: Value) -> None:
        """Store the columns of one input that are among those of a result."""
        target, lengths = self.blocks[r, k], self.rows[r].shape
        if target.type.ndim != len(lengths) + 1:
            ty = Array(target.type.dtype, (*target.type.dims[: len(lengths)], Sym()), "C")
            target = self.build.value("reshape", [target, *lengths, place.size], ty, view=True)
        rows = [_FULL] * len(lengths)
        to = self.interpreter.basic_get(target, [*rows, av.Slice(place.first, place.last, NONE)], scalar_ok=False)
        if place.given is not None:
            items = [*rows, av.Slice(*place.given, NONE)]
            value = self.interpreter.basic_get(value, items, scalar_ok=False)
        self.build.op("assign", [to, value])

    def lanes(self) -> int:
        """How many columns are computed at once: what they need of the values is computed once for all of them."""
        return lanes_of(self.function, self.inputs) if is_compiled(self.verb.backend) else 1

    def gradient(self) -> list[Value]:
        """The one row of a scalar function; the function's results."""
        index = self.rows[0].index
        assert index is not None
        function, positions = joint(self.function, self.wrt, index)
        outs = self.streams.copy_in(function, self.inner.inputs)
        for k, p in enumerate(positions):
            self.fill(0, k, self.interpreter.zeros_of(self.inputs[k]) if p is None else outs[p])
        return outs

    def reverse(self, *, allocated: bool) -> list[Value]:
        """A row for each basis vector of the results, after one sweep forward; the function's results."""
        if len(self.rows) == 1 and self.rows[0].index is not None and isinstance(self.rows[0].type, Scalar):
            return self.gradient()
        made = reversible(self.inner.program, self.inner.call, self.wrt)
        outs = self.streams.copy_in(made.forward, self.inner.inputs)
        primal = outs[: made.n_primal]
        residuals = outs[made.n_primal :] if made.is_split else self.inner.inputs
        if not allocated:
            self.allocate(primal, None)
        wanted = [(k, p) for k, p in enumerate(made.gradients) if p is not None]
        rows = [(r, row.index) for r, row in enumerate(self.rows) if row.index is not None]
        if not wanted or not rows:
            return primal
        basis = Basis(self.build, [primal[i] for _, i in rows])
        run = self.interpreter.copy_in if made.is_split else self.streams.copy_in

        def row(given: list[list[Unit]]) -> None:
            (units,) = given
            seeds = {i: unit.value for (_, i), unit in zip(rows, units, strict=True)}
            zeros = [seeds[s] if s in seeds else self.interpreter.zeros_of(primal[s]) for s in made.seeds]
            bars = run(made.pullback, [*residuals, *zeros])
            for (r, _), unit in zip(rows, units, strict=True):

                def store(r: int = r, unit: Unit = unit) -> None:
                    for k, p in wanted:
                        self.put(r, k, list(unit.at), [], bars[p])

                basis.when(unit.here, store)

        basis.each(row)
        return primal

    def cheaper(self) -> None:
        """Both ways, of which one is taken when the sizes are known."""
        columns = Basis(self.build, self.inputs).size()
        rows = self.build.const(0)
        for r in self.rows:
            size = self.build.const(1)
            for n in r.shape:
                size = self.build.value("multiply", [size, n], n.type, nowrap=True)
            rows = self.build.value("add", [rows, size], size.type, nowrap=True)
        few = self.build.value("less_equal", [columns, rows], BOOL)
        one, other = Block(), Block()
        with self.build.inside(one):
            self.forward()
        with self.build.inside(other):
            self.reverse(allocated=True)
        self.build.op("if", [few], regions=[one, other])

    # The tree

    def tree(self, spec: Any) -> Any:
        """A tree of results, each a tree of inputs."""
        outs: list[Value] = []
        place = {id(row): r for r, row in enumerate(self.rows)}

        def leaf(r: int, k: int) -> Any:
            if k not in self.wrt:
                return 0
            value = self.blocks[r, self.wrt.index(k)]
            outs.append(self.interpreter.number(value) if getattr(value.type, "ndim", 0) == 0 else value)
            return Out(len(outs) - 1)

        def below(r: int) -> Any:
            call = self.inner.call
            trees = [spec_tree(call.structure(a), iter([leaf(r, k) for k in call.leaf_range(a)])) for a in self.which]
            return trees[0] if isinstance(self.verb.argnums, (int, str)) else tuple(trees)

        def whole(spec: Any) -> Any:
            match spec:
                case Row():
                    return below(place[id(spec)])
                case RecordOut():
                    return RecordOut(spec.cls, {n: whole(v) for n, v in spec.fields.items()})
                case tuple():
                    items = [whole(v) for v in spec]
                    return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
                case list():
                    return [whole(v) for v in spec]
                case dict():
                    return {k: whole(v) for k, v in spec.items()}
                case _:
                    return spec

        return self.interpreter.abstract(whole(spec), outs)


def lanes_of(function: Function, inputs: list[Value]) -> int:
    """How many tangents a compiled program computes at once."""
    ops = list(walk(function.body))
    if any(op.kind == "call" for op in ops):
        return 1
    return max(1, min(_LANES, most_of(inputs), _MOST_OPS // max(1, len(ops))))


def most_of(inputs: list[Value]) -> int:
    """How many tangents there may be; of arrays whose lengths are not known, as many as are computed at once."""
    dims = [v.type.dims if isinstance(v.type, Array) else () for v in inputs]
    return sum(math.prod(d if isinstance(d, int) else _LANES for d in ds) for ds in dims)


def silence(function: Function) -> None:
    """Take out what a program prints: it has been printed once."""
    for block in blocks(function.body):
        block.ops = [op for op in block.ops if not left_out(op)]


def _jacobian(fun: Any, mode: str, argnums: Any, has_aux: bool, holomorphic: bool, backend: str | None) -> Any:
    def make(f: Any) -> Jacobian:
        return Jacobian(f, mode, argnums, has_aux=has_aux, backend=backend, holomorphic=bool(holomorphic))

    return make if fun is None else make(fun)


@verb
def jacfwd(
    fun: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """The Jacobian by forward mode: one run of the program for each number among the inputs.

    fun           the function; without it, a decorator with arguments
    argnums       position or name of the argument to differentiate by, or a sequence of them
    has_aux       the function returns (value, aux); the result is then (Jacobian, aux)
    holomorphic   the function is a holomorphic one of complex arguments, and entries are complex derivatives
    backend       "numba" (compiled), "cuda" (with kernels for a GPU) or "python" (readable text)

    The result has the structure of the function's result, and in the place of each array there a tree with the
    structure of the argument; an entry has the result's axes, then the argument's. As in JAX, forward mode takes real
    arguments and reverse mode real results unless the function is `holomorphic` (DJ325).
    """
    return _jacobian(fun, "forward", argnums, has_aux, holomorphic, backend)


@verb
def jacrev(
    fun: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """The Jacobian by reverse mode: one run forward, then one back for each number among the results.

    Parameters and result are those of `jacfwd`.
    """
    return _jacobian(fun, "reverse", argnums, has_aux, holomorphic, backend)


@verb
def jacobian(
    fun: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """The Jacobian, by forward mode where there are at most as many inputs as results, else by reverse mode.

    Parameters and result are those of `jacfwd`. Where the sizes are only known at run time, both are compiled.
    """
    return _jacobian(fun, "cheaper", argnums, has_aux, holomorphic, backend)


@verb
def hessian(
    fun: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """The matrix of second derivatives: `jacfwd` of `jacrev`.

    Parameters as for `jacfwd`. In the place of each result there is a tree with the structure of the argument, and in
    the place of each array there another.
    """

    def make(f: Any) -> Jacobian:
        options: dict[str, Any] = {"has_aux": has_aux, "backend": backend, "holomorphic": bool(holomorphic)}
        return Jacobian(Jacobian(f, "reverse", argnums, **options), "forward", argnums, **options)

    return make if fun is None else make(fun)


@functools.lru_cache(maxsize=512)
def _gradient(fun: Any, argnums: Any, has_aux: bool, backend: str | None) -> Any:
    return grad(fun, argnums, has_aux, backend=backend)


@boundary
def hvp(
    fun: Any = None,
    primals: Any = None,
    tangents: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """The Hessian of a scalar function times a vector, by forward over reverse mode; no matrix is made.

    primals, tangents   as for `jvp`: tuples with one entry for each positional argument
    argnums             the arguments of the gradient: the product has their structure
    has_aux             fun returns (value, aux); the result is (product, aux)

    `hvp(f, (x,), (v,))` is `jvp(grad(f), (x,), (v,))[1]`. Without primals it makes a function of primals and tangents.
    """
    if fun is None or primals is None:
        again = functools.partial(hvp, argnums=argnums, has_aux=has_aux, backend=backend)
        return again if fun is None else functools.partial(again, fun)
    chosen = tuple(argnums) if isinstance(argnums, list) else argnums
    try:
        gradient = _gradient(fun, chosen, has_aux, backend)
    except TypeError:  # not hashable
        gradient = grad(fun, chosen, has_aux, backend=backend)
    if has_aux:
        _, product, aux = jvp(gradient, primals, tangents, has_aux=True, backend=backend)
        return product, aux
    return jvp(gradient, primals, tangents, backend=backend)[1]


def _hvp_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    named = dict(zip(("fun", "primals", "tangents", "argnums", "has_aux"), args, strict=False)) | kwargs
    options = {k: plain(interpreter, named[k]) for k in ("argnums", "has_aux", "backend") if k in named}
    if "fun" not in named or "primals" not in named:
        again = functools.partial(hvp, **options)
        return Static(functools.partial(again, plain(interpreter, named["fun"])) if "fun" in named else again)
    options.pop("backend", None)
    aux = bool(options.get("has_aux"))
    gradient = grad(plain(interpreter, named["fun"]), **options)
    points, directions = (interpreter.sequence_items(named[k], node) for k in ("primals", "tangents"))
    found = inline_jvp(interpreter, Static(gradient), points, directions, has_aux=aux, node=node)
    return av.Tup(found.items[1:]) if aux else found.items[1]


hvp.__diffjit_inline__ = _hvp_inside  # type: ignore[attr-defined]
