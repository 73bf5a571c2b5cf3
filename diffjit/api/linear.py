"""`linearize` and `linear_transpose`: derivatives as linear maps that are applied many times; `constant`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.api.engine.composed import Marked
from diffjit.api.engine.derived import Derived, cached, verb
from diffjit.api.engine.engine import compile_ir, executable
from diffjit.api.engine.inline import Inside, Map, conformed, inline_vjp, nest, plain
from diffjit.api.engine.programs import Arguments, Compiled, flatten_call
from diffjit.api.engine.repeated import Repeated
from diffjit.api.engine.tracebacks import boundary
from diffjit.api.product_programs import float_leaves, forward_program, own_values, reversible, zero_tangent
from diffjit.api.products import LinearMap, ReverseProduct, aligned, matching, points_of, tangent_spec, vjp, zero
from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError, UsageError
from diffjit.frontend.calls.nested import Entry, Inner
from diffjit.frontend.entry.demand import NOTHING
from diffjit.frontend.entry.outputs import Out, mapped, rebuild
from diffjit.frontend.entry.program import Program
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Function, Loc, Value
from diffjit.ir.types import Array, List, is_float
from diffjit.transforms.modes.linear import hangs_on, transposed
from diffjit.transforms.pipeline import finish
from diffjit.transforms.prepare import own_copy
from diffjit.transforms.reverse.split import split


@dataclass(slots=True, eq=False)
class Linear:
    """A program and its tangent map, as IR."""

    wrt: list[int]  # the leaves of the arguments that have tangents
    forward: Function  # results: the primal ones, then residuals (the program's parameters, if there are none)
    tangent: Function  # parameters: residuals, shapes of results, tangents
    n_primal: int
    shapes: list[int]  # the primal results that the tangent map takes for their shapes
    tangents: dict[int, int]  # primal result -> position of its tangent among the tangent map's results
    has_residuals: bool


def linear(program: Program, call: Arguments) -> Linear:
    """The transpose of split code where there is such code, else forward mode, which computes the value again."""
    wrt = float_leaves(program, call)
    f = program.function
    results = [k for k, v in enumerate(f.results) if is_float(v.type)]
    parts = None
    if wrt and not any(isinstance(f.results[k].type, List) for k in results):
        parts = split(f, wrt, results)
    if parts is not None and all(g is not None for g in parts.gradients):
        tangent, positions = transposed(parts)
        where = {k: p for k, p in zip(parts.seeds, positions, strict=True) if p is not None}
        return Linear(wrt, parts.forward, tangent, parts.n_primal, list(parts.seeds), where, True)
    again, _ = forward_program(program, call)
    n = len(f.results)
    tangent = again.function
    spec: list[int] = []
    mapped(again.result[1], lambda k: spec.append(k) or Out(k))
    primal: list[int] = []
    mapped(program.result, lambda k: primal.append(k) or Out(k))
    where = dict(zip(primal, (spec.index(s) for s in spec), strict=True))
    tangent.body.results = [tangent.body.results[k] for k in spec]
    finish(tangent, "linear")
    return Linear(wrt, finish(own_copy(f), "primal"), tangent, n, [], where, False)


class Linearized(Derived):
    """Value and tangent map of a function."""

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, Any]:
        """The compiled function, and where its flat results belong."""
        made = linear(program, call)
        residuals = len(made.forward.results) - made.n_primal
        own_values(made.forward, made.n_primal)
        compiled = executable(program, made.forward, self.backend, unchanged=True, residuals=residuals)
        return compiled, (program, made, compile_ir(made.tangent, self.backend, threads_from=program.threads_from))


@boundary
def linearize(fun: Any, *primals: Any, has_aux: bool = False, backend: str | None = None) -> Any:
    """Value and tangent map: `(fun(*primals), tangent_map)`; `tangent_map(*tangents)` is the derivative along them.

    The map may be called any number of times; the value is computed once. With `has_aux`, fun returns (value, aux), and
    the result is (value, tangent_map, aux).
    """
    product = cached(Linearized, fun, backend)
    taken = product.taken(primals)
    (primals,) = taken.args
    call = flatten_call(primals, {})
    compiled, (program, made, apply) = product.lookup(call, primals, {})
    given = [] if made.has_residuals else compiled.inputs_as_they_are(call.leaves)
    outs = compiled(call.leaves)
    primal = list(outs[: made.n_primal])
    residuals = outs[made.n_primal :] if made.has_residuals else given
    shapes = [np.zeros_like(primal[k]) if isinstance(primal[k], np.ndarray) else primal[k] for k in made.shapes]
    value = taken.given_back(rebuild(program.result, call.results(primal)))
    zeros = [zero(x) for x in primal]
    form = Arguments(call.positional, {}, [_form(x) for x in call.leaves], call.starts, call.key)

    def tangent_map(*tangents: Any) -> Any:
        if len(tangents) != len(primals):
            raise UsageError(
                "DJ507",
                f"the tangent map takes {len(primals)} tangents, one for each primal, and was given {len(tangents)}",
                cure="give a tangent for each number and array",
            )
        seen = product.taken(tangents)
        dots = matching(form, *seen.args)
        found = apply(*compiled.again(residuals, split=made.has_residuals), *shapes, *(dots[k] for k in made.wrt))
        where = {k: found[p] for k, p in made.tangents.items()}
        results = aligned(program.result, primal, where, lambda k: _again(zeros[k]))
        tangent = (taken if taken.library else seen).given_back(
            rebuild(tangent_spec(program.result), call.results(results))
        )
        return tangent[0] if has_aux else tangent

    applied = TangentMapAt(fun, points_of(call), {"has_aux": has_aux, "backend": backend}, tangent_map)
    if has_aux:
        return value[0], applied, value[1]
    return value, applied


class TangentMapAt(LinearMap):
    """The derivative along tangents, one for each primal."""

    __name__ = "tangent_map"

    def made(self) -> LinearMap:
        """The same map, made again."""
        return linearize(self.fun, *self.points, **self.options)[1]

    @functools.cached_property
    def again(self) -> Callable[..., Any]:
        """The map as a program."""
        fun, points = self.fun, self.points

        def tangent_map(*tangents: Any) -> Any:
            return linearize(fun, *points)[1](*tangents)

        def tangent_map_beside_aux(*tangents: Any) -> Any:
            return linearize(fun, *points, has_aux=True)[1](*tangents)

        return tangent_map_beside_aux if self.options["has_aux"] else tangent_map


def _form(x: Any) -> Any:
    return np.empty_like(x, subok=False) if isinstance(x, np.ndarray) else x


def _again(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


class TangentMap(Map):
    """A tangent map made inside a program."""

    __name__ = "tangent_map"

    def __init__(
        self, made: Linear, inner: Inner, primal: list[Value], residuals: list[Value], again: Repeated | None, *,
        has_aux: bool,
    ) -> None:  # fmt: skip
        self.again = again
        self.made, self.inner, self.primal, self.residuals, self.has_aux = made, inner, primal, residuals, has_aux

    def __repr__(self) -> str:
        return "the tangent map of a function"

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs, node
        entry = Entry(opens=True)
        dots = flatten_call(tuple(interpreter.enter(a, entry)[0] for a in args), {}).leaves
        if len(dots) != len(self.inner.call.leaves):
            message, cure = (
                "the tangents do not have the structure of the primals",
                "give one for each number and array",
            )
            raise UsageError("DJ507", message, cure=cure)
        given = [conformed(interpreter, dots[k], entry, self.inner.inputs[k]) for k in self.made.wrt]
        shapes = [interpreter.zeros_of(self.primal[k]) for k in self.made.shapes]
        residuals = self.residuals if self.again is None else self.again.as_before(self.residuals)
        outs = interpreter.copy_in(self.made.tangent, [*residuals, *shapes, *given])

        where = {k: outs[p] for k, p in self.made.tangents.items()}
        spec = self.inner.program.result
        results = aligned(spec, self.primal, where, lambda k: zero_tangent(interpreter.build, self.primal[k]))
        tangent = interpreter.abstract(tangent_spec(spec), results)
        return tangent.items[0] if self.has_aux else tangent


def _linearize_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    has_aux = bool(getattr(kwargs.get("has_aux"), "obj", False))
    inner = nest(interpreter, plain(interpreter, args[0]), args[1:], {}, node)
    if inner is None:
        return NONE
    made = linear(inner.program, inner.call)
    # The map does not see later changes of the arrays that it was made for.
    streams = Repeated(interpreter, inner.program.function, inner.inputs)
    inputs = [
        interpreter.copy(v) if isinstance(v.type, Array) and k not in streams.saved else v
        for k, v in enumerate(inner.inputs)
    ]
    outs = interpreter.copy_in(made.forward, inputs)
    primal, residuals = outs[: made.n_primal], outs[made.n_primal :] if made.has_residuals else inputs
    value = interpreter.abstract(inner.program.result, primal)
    again = None if made.has_residuals else streams
    tangent = Static(TangentMap(made, inner, primal, residuals, again, has_aux=has_aux))
    return av.Tup((value.items[0], tangent, value.items[1]) if has_aux else (value, tangent))


linearize.__diffjit_inline__ = _linearize_inside  # type: ignore[attr-defined]


# Transposes


@boundary
def linear_transpose(fun: Any, *primals: Any, backend: str | None = None) -> Callable[[Any], tuple[Any, ...]]:
    """The transpose of a linear function: a function of a cotangent of its result that gives those of its arguments.

    primals   arguments of fun; only their shapes and dtypes matter, and anything that has both will do
    Raises `UsageError` where fun is not linear.
    """
    points = tuple(_zeros(p) for p in primals)
    product = cached(ReverseProduct, fun, backend)
    call = flatten_call(points, {})
    _, (program, made, _) = product.lookup(call, points, {})
    refuse_nonlinear(program, made)
    return vjp(fun, *points, backend=backend)[1]


def _zeros(value: Any) -> Any:
    import optree

    def leaf(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return np.zeros_like(x, subok=False) if x.dtype.kind in "fc" else x
        if isinstance(x, (float, complex, np.inexact)):
            return type(x)(0)
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return np.zeros(x.shape, x.dtype)
        return x

    return optree.tree_map(leaf, value)


def refuse_nonlinear(program: Program, made: Any) -> None:
    """A pullback that depends on where it was made belongs to a function that is not linear."""
    f = program.function
    if made.is_split:
        residuals = hangs_on(made.forward, made.wrt)[made.n_primal :]
        given = [k for k, reached in enumerate(residuals) if reached]
    else:
        given = list(made.wrt)
    places = [p for p in made.gradients if p is not None]
    reached = hangs_on(made.pullback, given)
    if any(reached[p] for p in places):
        raise UsageError(
            "DJ516",
            f"`{f.name}` is not linear: its derivative depends on its arguments",
            loc=Loc(f.source_file, f.source_line, 0, 0, f.name),
            cure="transpose the derivative at a point: vjp(f, x)[1]",
        )


def _transpose_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs
    inner = nest(interpreter, plain(interpreter, args[0]), args[1:], {}, node)
    if inner is None:
        return NONE
    refuse_nonlinear(inner.program, reversible(inner.program, inner.call))
    return inline_vjp(interpreter, args[0], args[1:], has_aux=False, node=node).items[1]


linear_transpose.__diffjit_inline__ = _transpose_inside  # type: ignore[attr-defined]


# Constants


class Constant(Marked):
    """A function whose results carry no derivative."""

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.engine.inline import stopped

        try:
            inner = nest(interpreter, self.function, args, kwargs, node, demand=NOTHING)
        except DiffjitError:
            if not all(isinstance(a, Static) for a in (*args, *kwargs.values())) or isinstance(self.function, Inside):
                raise
            return self.outside(interpreter, args, kwargs)
        if inner is None:
            return NONE
        outs = interpreter.copy_in(inner.program.function, inner.inputs)
        return stopped(interpreter, interpreter.abstract(inner.program.result, outs))

    def outside(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What cannot be part of the program is called in front of it, each time."""
        given, named = tuple(a.obj for a in args), {k: v.obj for k, v in kwargs.items()}
        call = functools.partial(self.function, *given, **named)
        key = ("constant call", id(self.function), *map(id, given), *((k, id(v)) for k, v in named.items()))
        name = getattr(self.function, "__name__", "constant")
        return interpreter.lift_at(key, call(), call, keep=(self.function, given, named), hint=name)


@verb
def constant(fun: Any = None) -> Any:
    """Mark a function as constant: derivatives take its results as they are, whatever it computes them from.

    Called from Python, it is the function itself. What diffjit cannot make a part of a program (reading a file, say)
    may stand in such a function if its arguments do not depend on the program's: then it is called before each run, and
    sometimes more than once.
    """
    return Constant if fun is None else Constant(fun, None)


__all__ = ["Constant", "constant", "linear", "linear_transpose", "linearize"]
