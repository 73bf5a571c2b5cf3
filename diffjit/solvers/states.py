"""Trees of numbers and arrays as the unknowns of solvers: an equation's function is interpreted once, for its parts.

What the function reads of its surroundings becomes further arguments, so that closures have derivatives, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.api.engine.inline import nest
from diffjit.api.engine.programs import flatten_call
from diffjit.api.gradients import spec_tree
from diffjit.errors import UsageError
from diffjit.frontend.calls.nested import Entry, Inner
from diffjit.frontend.entry.outputs import Foreign, Out, RecordOut
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static, is_number
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar, is_float


class Flat:
    """A function of a state, interpreted already: a callable of flat arguments for the solvers.

    It is called as `field(parts, more, floats, others)`: the parts of the state; what else comes before the arguments
    (the time, say), flat; and the numbers and arrays of the arguments, those that have derivatives and the others.
    """

    __name__ = "field"

    def __init__(self, inner: Inner, results: list[Any], n: int, *, scalar: bool) -> None:
        self.inner, self.results, self.n, self.scalar = inner, results, n, scalar
        rest = range(n, len(inner.inputs))
        self.floats = [k for k in rest if is_float(inner.inputs[k].type)]
        self.others = [k for k in rest if k not in self.floats]

    def given(self, which: list[int]) -> Any:
        """Arguments of a call: what these parameters are bound to."""
        return av.Tup(tuple(self.inner.inputs[k] for k in which))

    def __call__(self, *args: Any) -> Any:
        """It exists while a program is specialised; nothing calls it."""
        del args
        raise TypeError(self.__name__)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs
        parts, more, floats, others = (interpreter.sequence_items(a, node) for a in args)
        items: dict[int, Any] = dict(enumerate([*parts, *more]))
        items.update(zip(self.floats, floats, strict=True))
        items.update(zip(self.others, others, strict=True))
        function = self.inner.program.function
        outs = interpreter.copy_in(function, [fitting(interpreter, items[k], p) for k, p in enumerate(function.params)])
        found: list[Any] = []
        for spec in self.results:
            part = interpreter.abstract(spec, outs)
            listed = isinstance(spec, (tuple, list))
            found.append(interpreter.call(Static(np.array), [part], {}, node) if listed else interpreter.number(part))
        return found[0] if self.scalar else av.Tup(tuple(found))


def fitting(interpreter: Any, value: Any, param: Value) -> Value:
    """A value in the type of a parameter."""
    ty = param.type
    if isinstance(ty, Scalar):
        return interpreter.cast(interpreter.number(value), ty.dtype, weak=ty.weak)
    found = interpreter.number(value) if ty.ndim else _without_dims(interpreter, value)
    if found.type.dtype != ty.dtype:
        found = interpreter.cast(found, ty.dtype)
    if ty.layout not in ("A", found.type.layout):
        found = interpreter.build.value("copy", [found], Array(ty.dtype, found.type.dims, ty.layout), order=ty.layout)
    return found


def _without_dims(interpreter: Any, value: Any) -> Value:
    """An array without dimensions, also of a number: solvers compute with what such an array holds."""
    held = isinstance(value, Value) and isinstance(value.type, Array)
    return value if held else interpreter.array_from(value)


class State:
    """A tree of numbers and arrays, and functions of such trees."""

    def __init__(self, interpreter: Any, tree: Any, verb: str) -> None:
        self.interpreter, self.verb = interpreter, verb
        entry = Entry()
        call = flatten_call((interpreter.enter(tree, entry)[0],), {})
        self.structure = call.positional[0]
        outer = [entry.dummies[id(leaf)][1] for leaf in call.leaves]
        if not outer or any(v.type.dtype.kind not in "fiuc" for v in outer):
            cure = "a number, an array, or a tree of these"
            raise UsageError("DJ519", f"{verb}: the state is not made of numbers", cure=cure)
        self.parts = [self.part(v) for v in outer]

    def part(self, value: Value) -> Value:
        """A part of the state: floats, in the order of C."""
        interpreter = self.interpreter
        found = value if is_float(value.type) else interpreter.cast(value, np.float64)
        ty = found.type
        if isinstance(ty, Array) and ty.layout != "C":
            return interpreter.build.value("copy", [found], Array(ty.dtype, ty.dims, "C"), order="C")
        return found

    def formed(self, parts: Any) -> Any:
        """Parts of a state as a tree of its form."""
        leaves = iter(Foreign(v) for v in parts.items)
        return self.interpreter.abstract(spec_tree(self.structure, leaves), [])

    def tree(self) -> Any:
        """The state itself."""
        return self.formed(av.Tup(tuple(self.parts)))

    def precision(self) -> np.dtype[Any]:
        """The type of the numbers in the state's vector."""
        return np.result_type(*(np.finfo(v.type.dtype).dtype for v in self.parts))

    def function(
        self, function: Any, more: list[Any], args: list[Any], node: Any, *, what: str = "", wanted: str = "value"
    ) -> Flat | None:
        """A function of the state, of more that is passed flat, and of arguments.

        `wanted` says what it gives: "" for a number, else what such a tree is called; None where it never returns.
        """
        interpreter, what = self.interpreter, what or self.verb
        given = [self.tree(), *more, *args]
        inner = nest(interpreter, function, given, {}, node, refusal=f"a function under {what}", called_on=what)
        if inner is None:
            return None
        n = len(flatten_call(tuple(interpreter.enter(a, Entry())[0] for a in given[: 1 + len(more)]), {}).leaves)
        name, program = inner.program.function.name, inner.program
        if not wanted:
            results = [program.result]
            right = _is_part(program, program.result, _Place(0, 0, "f"))
            cure = "return a number"
        else:
            found: dict[int, Any] = {}
            places = (_Place(k, getattr(p.type, "ndim", 0), p.type.dtype.kind) for k, p in enumerate(self.parts))
            right = _paired(program, spec_tree(self.structure, places), program.result, found)
            results = [found[k] for k in sorted(found)]
            cure = "return a tree with a number or array for each of its, complex only where that is"
        if not right:
            form = f"a {wanted} of the form of its first argument" if wanted else "a float"
            raise UsageError("DJ519", f"`{name}` under {what} must return {form}", cure=cure)
        return Flat(inner, results, n, scalar=not wanted)


class _Place:
    """A leaf of the state, of so many dimensions and of this kind."""

    def __init__(self, index: int, ndim: int, kind: str) -> None:
        self.index, self.ndim = index, ndim
        self.kinds = "fiuc" if kind == "c" else "fiu"


def _is_part(program: Any, spec: Any, place: _Place) -> bool:
    """Whether a result is what belongs to a leaf."""
    if not isinstance(spec, Out):
        return is_number(spec) and ("c" in place.kinds or not isinstance(spec, complex)) and place.ndim == 0
    ty = program.function.results[spec.index].type
    return getattr(ty, "ndim", 0) == place.ndim and ty.dtype.kind in place.kinds


def _paired(program: Any, place: Any, spec: Any, found: dict[int, Any]) -> bool:
    """Find what belongs to a state's parts in a tree of results of the same form."""
    if isinstance(place, _Place):
        found[place.index] = spec
        if isinstance(spec, (tuple, list)) and place.ndim == 1:  # [dx, dy] for an array
            place.ndim = 0
            return all(_is_part(program, s, place) for s in spec)
        return _is_part(program, spec, place)
    if isinstance(place, RecordOut):
        same = isinstance(spec, RecordOut) and spec.cls is place.cls and set(spec.fields) == set(place.fields)
        return same and all(_paired(program, p, spec.fields[n], found) for n, p in place.fields.items())
    if isinstance(place, dict):
        same = isinstance(spec, dict) and set(spec) == set(place)
        return same and all(_paired(program, p, spec[n], found) for n, p in place.items())
    if isinstance(place, (tuple, list)):
        same = isinstance(spec, (tuple, list)) and len(spec) == len(place)
        return same and all(_paired(program, p, s, found) for p, s in zip(place, spec, strict=True))
    return place == spec
