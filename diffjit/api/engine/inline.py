"""Verbs inside a function that is itself specialised: `grad(f)` taken there, derivatives and pullbacks called there."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.analysis.numbers import review_numbers
from diffjit.api.engine.derived import Derived
from diffjit.api.engine.engine import is_compiled
from diffjit.api.engine.programs import flatten_call
from diffjit.api.engine.repeated import Repeated
from diffjit.api.product_programs import forward_program, reversible
from diffjit.api.products import cotangents
from diffjit.errors import UsageError
from diffjit.frontend.calls.nested import Entry, Inner, signature
from diffjit.frontend.entry.demand import FORWARD, NOTHING, REVERSE, Demand, before
from diffjit.frontend.entry.program import Program
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, describe
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar, Type, is_float
from diffjit.ir.walk import walk
from diffjit.transforms.checkpoint.calls import refuse_changes
from diffjit.transforms.pipeline import numbers


class Inside:
    """A function of a program under interpretation, in the hands of a verb."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.__name__ = getattr(value, "name", "function")
        self.__signature__ = signature(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """It exists while a program is specialised; nothing calls it."""
        del args, kwargs
        raise TypeError(self.__name__)


def call_verb(make: Any, interpreter: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A verb called inside a program: a static callable."""
    take = {"axis_size": plain}  # the number of lanes may be computed
    named = {name: take.get(name, known)(interpreter, v) for name, v in kwargs.items()}
    made = make(*(known(interpreter, a) for a in args), **named)
    return Static(made if isinstance(made, Derived) else functools.partial(make, **named))


def abstract_function(interpreter: Any, function: Any) -> Any:
    """The function of a verb as the interpreter calls it."""
    if isinstance(function, Inside):
        return function.value
    return av.Static(function) if tree.is_built_inside(function) else interpreter.lift_static(function)


def plain(interpreter: Any, value: Any) -> Any:
    """An argument of a verb as the verb takes it."""
    if isinstance(value, Static):
        return value.obj
    held = interpreter.contents(value) if isinstance(value, av.Ref) else None
    if isinstance(value, av.Tup) or isinstance(held, av.ListC):
        return tuple(plain(interpreter, v) for v in interpreter.sequence_items(value, None))
    if isinstance(held, av.DictC) and not held.is_set:
        return {key: plain(interpreter, v) for key, v in held.items.items()}
    return Inside(value)


def known(interpreter: Any, value: Any) -> Any:
    """A setting of a verb, as `argnums` or `in_axes`: the ints in it must be known, also those from outside."""
    items = value.items if isinstance(value, av.Tup) else ()
    held = interpreter.contents(value) if isinstance(value, av.Ref) else None
    if isinstance(held, av.ListC):
        items = held.items
    elif isinstance(held, av.DictC) and not held.is_set:
        items = tuple(held.items.values())
    for item in items:
        known(interpreter, item)
    if isinstance(value, Value) and isinstance(value.type, Scalar) and value.type.dtype.kind in "iu":
        interpreter.static_int(value, "an int among the settings of a verb")
    return plain(interpreter, value)


def elsewhere() -> None:
    """For `plainly`: what a function may raise is seen to where it is called."""


def nest(
    interpreter: Any, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any, *, refusal: str = "",
    demand: Demand = None, plainly: Any = True, called_on: str = "", itself: bool = False,
) -> Inner | None:  # fmt: skip
    """The program of a verb's function, for these abstract arguments.

    `demand`: the derivatives that the verb takes of it, before those that will be taken of what it is copied into.
    `plainly`: what calls it as part of the program, in front of the verb's, where a `try` is around (`Nested.attempt`);
    None where that would be something else. `called_on`, `itself`: see `Nested.nest`.
    """
    called = abstract_function(interpreter, function)
    outer, interpreter.to_take = interpreter.to_take, before(demand, interpreter.to_take)

    def call() -> None:
        mine, interpreter.to_take = interpreter.to_take, outer
        try:
            interpreter.call(called, args, kwargs, node)
        finally:
            interpreter.to_take = mine

    try:
        derived = demand != NOTHING  # a derivative leaves the caller's arrays as they are
        tried = call if plainly is True else plainly
        inner = interpreter.nest(
            called, args, kwargs, flatten_call, node, refusal=refusal, apart=derived, plainly=tried,
            called_on=called_on, itself=itself,
        )  # fmt: skip
    finally:
        interpreter.to_take = outer
    if inner is not None:
        review_numbers(inner.program.function, in_place=inner.program.changes_arrays)
        refuse_changes(inner.program.function)
    return inner


def in_numbers(interpreter: Any, inner: Inner, backend: str | None = None) -> Program:
    """The program whose derivative is copied in, its small arrays made numbers where that will be compiled.

    So it is done with a program that stands alone. Where the derivative is there already, arrays are on tapes of loops.
    Without loops they stay arrays: products of lanes with one matrix become one product.
    """
    program = inner.program
    turns = interpreter.loops or any(op.row.loop for op in walk(program.function.body))
    if not turns or not is_compiled(backend):
        return program
    return replace(program, function=numbers(program.function, smooth=True, compiled=is_compiled(backend)))


def inline(derived: Derived, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    """Copy the program of a function in that is made from another one's."""
    inner = nest(interpreter, derived.function, args, kwargs, node, demand=derived.takes)
    if inner is None:
        return NONE
    program = derived.transform(in_numbers(interpreter, inner, derived.backend), inner.call)
    return interpreter.abstract(program.result, interpreter.copy_in(program.function, inner.inputs))


def inline_jvp(interpreter: Any, fun: Any, primals: list[Any], tangents: list[Any], *, has_aux: bool, node: Any) -> Any:
    """Copy a forward derivative's program in."""
    inner = nest(interpreter, plain(interpreter, fun), primals, {}, node, demand=FORWARD)
    if inner is None:
        return NONE
    entry = Entry(opens=True)
    dots = flatten_call(tuple(interpreter.enter(t, entry)[0] for t in tangents), {}).leaves
    if len(dots) != len(inner.call.leaves):
        message, cure = "the tangents do not have the structure of the primals", "give one for each number and array"
        raise UsageError("DJ507", message, cure=cure)
    program, wrt = forward_program(in_numbers(interpreter, inner), inner.call)
    given = [conformed(interpreter, dots[k], entry, inner.inputs[k]) for k in wrt]
    outs = interpreter.copy_in(program.function, [*inner.inputs, *given])
    value, tangent = interpreter.abstract(program.result, outs).items
    return av.Tup((value.items[0], tangent.items[0], value.items[1]) if has_aux else (value, tangent))


def inline_vjp(interpreter: Any, fun: Any, primals: list[Any], *, has_aux: bool, node: Any) -> Any:
    """Copy the program in; its pullback is copied in where it is called."""
    inner = nest(interpreter, plain(interpreter, fun), primals, {}, node, demand=REVERSE)
    if inner is None:
        return NONE
    made = reversible(in_numbers(interpreter, inner), inner.call)
    # A pullback does not see later changes of the arrays that it was made for.
    streams = Repeated(interpreter, inner.program.function, inner.inputs)
    inputs = [
        interpreter.copy(v) if isinstance(v.type, Array) and k not in streams.saved else v
        for k, v in enumerate(inner.inputs)
    ]
    outs = interpreter.copy_in(made.forward, inputs)
    primal, residuals = outs[: made.n_primal], outs[made.n_primal :] if made.is_split else inputs
    value = interpreter.abstract(inner.program.result, primal)
    again = None if made.is_split else streams
    pullback = Static(Pullback(made, inner, primal, residuals, again, has_aux=has_aux))
    return av.Tup((value.items[0], pullback, value.items[1]) if has_aux else (value, pullback))


class Map:
    """A pullback or tangent map that was made inside a program."""


class Pullback(Map):
    """A pullback made inside a program."""

    __name__ = "pullback"

    def __init__(
        self, made: Any, inner: Inner, primal: list[Value], residuals: list[Value], again: Repeated | None, *,
        has_aux: bool,
    ) -> None:  # fmt: skip
        self.made, self.inner, self.primal, self.residuals, self.again = made, inner, primal, residuals, again
        self.spec = inner.program.result[0] if has_aux else inner.program.result

    def __repr__(self) -> str:
        return "the pullback of a function"

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs, node
        entry = Entry(opens=True)
        found = cotangents(self.spec, interpreter.enter(args[0], entry)[0])
        seeds = [conformed(interpreter, found.get(k), entry, self.primal[k]) for k in self.made.seeds]
        residuals = self.residuals if self.again is None else self.again.as_before(self.residuals)
        outs = interpreter.copy_in(self.made.pullback, [*residuals, *seeds])
        spec, missing = self.made.cotangents(self.inner.call)
        zeros = [interpreter.build.zero(self.inner.inputs[k]) for k in missing]
        return interpreter.abstract(spec, [*outs, *zeros])


def conformed(interpreter: Any, leaf: Any, entry: Entry, like: Value) -> Value:
    """A tangent or cotangent in the type, shape and layout of the value that it belongs to; zeros where it is None."""
    if leaf is None:
        return interpreter.zeros_of(like)
    if id(leaf) in entry.dummies:
        value = entry.dummies[id(leaf)][1]
    else:
        value = interpreter.number(Static(complex(leaf) if np.iscomplexobj(leaf) else float(leaf)))
    ty: Type = like.type
    if value.type.dtype.kind == "c" and ty.dtype.kind != "c":
        raise UsageError(
            "DJ507", "a tangent or cotangent is complex, its value is real", cure="take the real part: g.real"
        )
    own, wanted = (t.ndim if isinstance(t, Array) else 0 for t in (value.type, ty))
    if own != wanted:
        message = f"a tangent or cotangent has {own} dimensions, its value has {wanted}"
        raise UsageError("DJ507", message, cure="shapes must agree")
    if own:
        _of_one_shape(interpreter, value, like)
    if isinstance(ty, Scalar):
        return interpreter.cast(interpreter.number(value), ty.dtype, weak=ty.weak)
    made = interpreter.zeros_of(like)
    interpreter.build.op("assign", [made, interpreter.cast(value, ty.dtype)])
    return made


def _of_one_shape(interpreter: Any, value: Value, like: Value) -> None:
    """Refuse to stretch an axis of length 1: where that is only known at run time, the program raises."""
    for axis, (own, wanted) in enumerate(zip(value.type.dims, like.type.dims, strict=True)):  # pyright: ignore[reportAttributeAccessIssue] - arrays
        if own == wanted:
            continue
        if isinstance(own, int) and isinstance(wanted, int):
            message = f"axis {axis} of a tangent or cotangent has length {own}, that of its value has length {wanted}"
            raise UsageError("DJ507", message, cure="shapes must agree")
        differ = interpreter.compare_kind("not_equal", interpreter.dim(value, axis), interpreter.dim(like, axis))
        text = f"axis {axis} of a tangent or cotangent has another length than that of its value [DJ507]"
        interpreter.build.raise_where(interpreter.number(differ), ValueError, text)


def stopped(interpreter: Any, value: Any, around: tuple[int, ...] = ()) -> Any:
    """A value through which no derivative flows: numbers and arrays that are constants, in containers of their own."""
    match value:
        case Value() if is_float(value.type):
            if hasattr(value.type, "dims"):
                value = interpreter.copy(value)
            return interpreter.build.value("stop_gradient", [value], value.type, name=value.name)
        case av.Tup():
            return av.Tup(tuple(stopped(interpreter, v, around) for v in value.items), value.cls)
        case av.Opt():
            return av.Opt(value.is_none, stopped(interpreter, value.value, around))
        case av.Maybe():
            return av.Maybe(value.bound, stopped(interpreter, value.value, around))
        case av.Sum():
            return interpreter.each(value, lambda v: stopped(interpreter, v, around))
        case av.Ref() if not isinstance(value, av.Handle):
            return _stopped_container(interpreter, value, around)
        case Value() | av.Range() | av.Slice() | av.Format():
            return value
        case Static() if not isinstance(value.obj, Map) and not isinstance(
            getattr(value.obj, "function", None), Inside
        ):
            return value
        case _:
            cure = "give it numbers, arrays, and lists, dicts and objects of them"
            raise interpreter.unsupported("DJ118", f"stop_gradient of {describe(value)}", None, cure)


def _stopped_container(interpreter: Any, ref: av.Ref, around: tuple[int, ...]) -> Any:
    held = interpreter.contents(ref)
    match held:
        case av.ListC():
            return interpreter.new(av.ListC(tuple(stopped(interpreter, v, around) for v in held.items)))
        case av.DictC():
            items = {k: stopped(interpreter, v, around) for k, v in held.items.items()}
            return interpreter.new(replace(held, items=items, frozen=""))
        case av.ObjC() if not interpreter.is_opaque(ref):
            if ref.uid in around:
                cure = "give it numbers, arrays, and lists and dicts of them"
                raise interpreter.unsupported("DJ118", "stop_gradient of an object that holds itself", None, cure)
            fields = held.fields if held.origin is None else interpreter.all_fields(held) | held.fields
            around = (*around, ref.uid)
            return interpreter.new(av.ObjC(held.cls, {n: stopped(interpreter, v, around) for n, v in fields.items()}))
        case DynList():
            from diffjit.api.functions import stop_gradient

            found = interpreter.py_list(interpreter.call(Static(map), [Static(stop_gradient), ref], {}, None))
            return interpreter.part_of_tuple(found) if interpreter.is_part_of_tuple(ref) else found
        case _:
            return ref
