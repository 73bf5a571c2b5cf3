"""`custom_jvp` and `custom_vjp`: functions with derivative rules of their own, written in plain Python.

Inside a program, a call of such a function is one operation (`transforms.custom`) that holds the function and its
rules, each interpreted into a function of the IR when the call is, if a derivative will ask for it
(`frontend.entry.demand`); a derivative puts a rule in the call's place.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit.api.engine.composed import Marked
from diffjit.api.engine.derived import verb
from diffjit.api.engine.engine import mutated_params, written_params
from diffjit.api.engine.inline import Inside, abstract_function, elsewhere, nest
from diffjit.dataclass import dataclass
from diffjit.errors import UsageError, words
from diffjit.frontend.calls.nested import Inner
from diffjit.frontend.entry.demand import NOTHING, Demand, covers, of_rules
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.outputs import Foreign, OneOf, OptOut, Out, RecordOut, TextOut, mapped
from diffjit.frontend.entry.places import LIBRARY
from diffjit.frontend.outside.foreign import without_source
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static, is_number
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Function, Value, const_of, is_const
from diffjit.ir.types import BOOL, INT, Array, Scalar, is_float
from diffjit.ir.walk import dce, rename, walk
from diffjit.transforms.custom import Rules, floats
from diffjit.transforms.prepare import own_copy, stream_params

MAX_DEPTH = 6  # of calls of one function in its own rules, with arguments of new types each time


class CustomFunction(Marked):
    """A function with rules of its own."""

    def __init__(self, function: Any, nondiff_argnums: Any = ()) -> None:
        super().__init__(function, None)
        self.nondiff = tuple(nondiff_argnums) if np.iterable(nondiff_argnums) else (nondiff_argnums,)
        self.trusted = False
        self.forward: Any = None
        self.ahead: Any = None
        self.back: Any = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Define the forward rule: `jvp(*nondiff, primals, tangents) -> (out, out_dot)`."""
        self.forward = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Define the forward rule argument by argument: `jvp(t, out, *primals) -> out_dot`, or None."""
        self.defjvp(_summed(self, jvps))

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Define the reverse rule: `fwd(*args) -> (out, res)`, `bwd(*nondiff, res, out_bar) -> bars`."""
        self.ahead, self.back = fwd, bwd

    def is_own(self) -> bool:
        """Whether it stands in a module of diffjit's, with the rules that it has there."""
        home = getattr(self.function, "__module__", None) or ""
        return home.startswith(LIBRARY) and any(v is self for v in vars(sys.modules[home]).values())

    def rules(self) -> tuple[Any, ...]:
        """The rules as they are now."""
        return self.forward, self.ahead, self.back

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        if self.forward is None and self.ahead is None:
            name = getattr(self.function, "__name__", "function")
            raise UsageError(
                "DJ517", f"`{name}` is a custom function without a rule",
                cure=f"give it one: `{name}.defjvp(rule)`, or `{name}.defvjp(fwd, bwd)`",
            )  # fmt: skip
        if not self.is_own():
            interpreter.portable = False  # the rules are this object's, which has no name in another process
            interpreter.guards["rules", id(self)] = Guard(self.rules, self.rules())
        given = self.positional(interpreter, args, kwargs)
        return interpreter.once(lambda: _Call(self, interpreter, node, given)).run()

    def positional(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments by position."""
        if without_source(self.function) and not kwargs:
            return args
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        given = set(bound.arguments)
        bound.apply_defaults()
        if bound.kwargs:
            raise UsageError(
                "DJ517", "a custom function takes positional arguments", cure="leave out `*` and `**` in its signature"
            )
        defaults = [name for name in bound.arguments if name not in given]
        for name in defaults:
            value = bound.arguments[name]
            bound.arguments[name] = () if isinstance(value, tuple) else interpreter.lift_static(value)
        return list(bound.args)


def _summed(custom: CustomFunction, jvps: tuple[Any, ...]) -> Callable[..., Any]:
    def rule(primals: Any, tangents: Any) -> Any:
        out = custom(*primals)
        total = 0.0 * out
        for jvp, t in zip(jvps, tangents):  # noqa: B905 - read by the frontend
            if jvp is not None:
                total = total + jvp(t, out, *primals)
        return out, total

    return rule


@dataclass(slots=True, eq=False)
class _Open:
    """A call whose rules are being interpreted: calls of the same form in them are calls of the same rules."""

    interpreter: Any
    custom: CustomFunction
    key: Any
    rules: Rules
    spec: Any
    demand: Demand  # on its rules
    calls: int = 0


_open: list[_Open] = []


class _Call:
    """Builds one call."""

    def __init__(self, custom: CustomFunction, interpreter: Any, node: Any, args: list[Any]) -> None:
        self.custom, self.interpreter, self.node, self.args = custom, interpreter, node, args
        self.name = getattr(custom.function, "__name__", "function").replace("<lambda>", "lambda_")
        self.outer: list[Value] = []  # the arguments' leaves
        self.inner: list[Value] = []  # what stands for them
        self.free: dict[Value, None] = {}
        self.nondiff = {k % max(len(args), 1) for k in custom.nondiff}
        self.stood: list[Any] = []
        self.specs: list[Any] = []
        self.wrt: list[int] = []
        for k, a in enumerate(args):
            before = len(self.outer)
            if k not in self.nondiff and without_source(custom.function) and _is_int(a):
                a = interpreter.number(a)  # noqa: PLW2901 - a rule may call the function for n - 1, and so on
            value, spec = self.stand_in(a)
            self.stood.append(value)
            self.specs.append(spec)
            if k not in self.nondiff:
                self.wrt += [j for j in range(before, len(self.outer)) if is_float(self.inner[j].type)]

    def run(self) -> Any:
        """The results."""
        interpreter = self.interpreter
        key = (tuple(v.type for v in self.inner), tuple(map(_static_key, self.specs)))
        depth = 0
        for held in reversed(_open):
            if held.interpreter is self.interpreter and held.custom is self.custom:
                depth += 1
                if held.key == key and covers(held.demand, self.interpreter.to_take):
                    return self.emit(held.rules, held.spec, [], held)
        if depth > MAX_DEPTH:
            raise UsageError("DJ517", f"the rules of `{self.name}` call it with new types of arguments without end")
        called = abstract_function(interpreter, self.custom.function)
        plain: list[Any] = []
        primal = self.nested(
            self.custom.function, self.stood, lambda: plain.append(interpreter.call(called, self.args, {}, self.node))
        )
        if primal is None:
            return NONE
        if plain and not self.wanted(interpreter.to_take):
            return plain[-1]  # nobody asks for the rules: what has been called is all that there is to do
        spec = primal.program.result
        function = primal.program.function
        if stream_params(function):
            raise self.refused("draws from a stream of random numbers", "draw before the call, and pass what was drawn")
        changed = written_params if self.custom.trusted else mutated_params  # solvers' own take derivatives of copies
        if changed(function):
            raise self.refused("changes an array among its arguments", "return what it computes instead")
        outs: list[tuple[int, Any]] = []
        self.match(spec, spec, outs)
        order = [k for k, _ in outs]
        if len(order) != len(function.results):
            raise self.refused("returns something that may be None", "return numbers, arrays, or containers of them")
        self.own(function)
        rules = Rules(self.name, len(self.inner), self.wrt, function, trusted=self.custom.trusted)
        made = [(function, self.arrange(function, primal.inputs, self.inner))]
        held = _Open(self.interpreter, self.custom, key, rules, spec, self.interpreter.to_take)
        made += self.read(held)
        self.bind(made, held)
        for f, _ in made:
            f.writes, f.returns_views = frozenset(), frozenset()
        return self.emit(rules, spec, list(self.free), None)

    def read(self, held: _Open) -> list[tuple[Function, list[Value]]]:
        """The rules that derivatives will ask for, each with what it reads outside."""
        interpreter, rules, made = self.interpreter, held.rules, list[tuple[Function, list[Value]]]()
        stood = self.stood
        diff = [k for k in range(len(stood)) if k not in self.nondiff]
        given = [stood[k] for k in range(len(stood)) if k in self.nondiff]
        wanted = self.wanted(held.demand)
        rules.undemanded = len(wanted) < (self.custom.forward is not None) + (self.custom.ahead is not None)
        _open.append(held)
        try:
            if "forward" in wanted:
                interpreter.to_take = wanted["forward"]
                made.append(self.forward(rules, held.spec, given, [stood[k] for k in diff]))
            if "reverse" in wanted:
                interpreter.to_take = wanted["reverse"]
                made += self.reverse(rules, held.spec, stood, given, [self.specs[k] for k in diff])
        finally:
            interpreter.to_take = held.demand
            _open.pop()
        return made

    def wanted(self, demand: Demand) -> dict[str, Demand]:
        """The rules that derivatives ask for, and which are taken of these."""
        return of_rules(demand, forward=self.custom.forward is not None, reverse=self.custom.ahead is not None)

    # Arguments

    def stand_in(self, value: Any) -> tuple[Any, Any]:
        """The argument with a value of its own for each number and array, and the tree of their positions."""
        interpreter = self.interpreter
        if isinstance(value, Static) and isinstance(value.obj, (float, np.floating)) and is_number(value.obj):
            value = interpreter.number(value)
        if isinstance(value, Value) and isinstance(value.type, (Scalar, Array)):
            param = Value(value.type, value.name)
            if value in interpreter.param_paths:
                interpreter.param_paths[param] = interpreter.param_paths[value]
            self.outer.append(value)
            self.inner.append(param)
            return param, Out(len(self.inner) - 1)
        return self.parts(value, self.stand_in)

    def parts(self, value: Any, part: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
        """The same for a container."""
        interpreter = self.interpreter
        if isinstance(value, av.Tup):
            both = [part(v) for v in value.items]
            items = tuple(s for _, s in both)
            spec = value.cls(*items) if value.cls is not None else items
            return av.Tup(tuple(v for v, _ in both), value.cls), spec
        held = interpreter.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, av.ListC):
            both = [part(v) for v in held.items]
            return interpreter.new(av.ListC(tuple(v for v, _ in both))), [s for _, s in both]
        if isinstance(held, av.DictC) and not held.is_set:
            entered = {k: part(v) for k, v in held.items.items()}
            made = interpreter.new(av.DictC({k: v for k, (v, _) in entered.items()}, cls=held.cls))
            return made, {k: s for k, (_, s) in entered.items()}
        if isinstance(held, av.ObjC) and held.origin is None:
            entered = {k: part(v) for k, v in held.fields.items()}
            made = interpreter.new(av.ObjC(held.cls, {k: v for k, (v, _) in entered.items()}))
            return made, RecordOut(held.cls, {k: s for k, (_, s) in entered.items()})
        return value, Foreign(value)

    def nested(self, function: Any, args: list[Any], plainly: Any = elsewhere) -> Inner | None:
        """A function as a program of its own; what rules raise, no `try` of the program catches."""
        return nest(
            self.interpreter,
            function,
            args,
            {},
            self.node,
            refusal=f"`{self.name}`, which has rules of its own,",
            demand=NOTHING,
            plainly=plainly,
        )

    # Rules

    def forward(self, rules: Rules, spec: Any, given: list[Any], primals: list[Any]) -> tuple[Function, list[Value]]:
        """The forward rule."""
        wrt = set(rules.wrt)
        dots = {self.inner[k]: Value(self.inner[k].type, f"{self.inner[k].name or 'arg'}_dot") for k in rules.wrt}
        where = {v: k for k, v in enumerate(self.inner)}

        def tangent(value: Any) -> tuple[Any, Any]:
            if isinstance(value, Value):
                return (dots[value] if where.get(value) in wrt else Static(0.0)), None
            if isinstance(value, Static):
                return (Static(0.0) if is_number(value.obj) else value), None
            return self.parts(value, tangent)

        tangents = [tangent(p)[0] for p in primals]
        self.refuse_other_signature(self.custom.forward, [*("_" for _ in given), "primals", "tangents"], "forward rule")
        found = self.nested(self.custom.forward, [*given, av.Tup(tuple(primals)), av.Tup(tuple(tangents))])
        if found is None:
            raise self.refused("has a forward rule that only raises", "return (value, tangent)")
        function, result = found.program.function, found.program.result
        if not isinstance(result, tuple) or len(result) != 2:
            raise self.refused("has a forward rule that does not return a pair", "return (value, tangent)")
        outs: list[tuple[int, Any]] = []
        self.match(spec, result[0], outs, "the value")
        outs_dot: list[tuple[int, Any]] = []
        self.match(spec, result[1], outs_dot, "the tangent")
        values = [self.conformed(function, x, rules.primal.results[k], None) for k, x in sorted(outs, key=_first)]
        at = dict(outs_dot)
        results = values + [
            self.conformed(function, at[k], rules.primal.results[k], values[k]) for k in floats(rules.primal.results)
        ]
        function.body.results = results
        order = [*self.inner, *dots.values()]
        function = rules.forward = self.prepared(function, f"{self.name}_jvp")
        rest = self.arrange(function, found.inputs, order)
        return function, rest

    def reverse(
        self, rules: Rules, spec: Any, args: list[Any], given: list[Any], specs: list[Any]
    ) -> list[tuple[Function, list[Value]]]:
        """The reverse rule."""
        self.refuse_other_signature(self.custom.ahead, [f"x{k}" for k in range(len(args))], "forward pass")
        found = self.nested(self.custom.ahead, args)
        if found is None:
            raise self.refused("has a forward pass that only raises", "return (value, residuals)")
        ahead, result = found.program.function, found.program.result
        if not isinstance(result, tuple) or len(result) != 2:
            raise self.refused("has a forward pass that does not return a pair", "return (value, residuals)")
        if not all(isinstance(v.type, (Scalar, Array)) for v in ahead.results):
            raise self.refused("keeps a list whose length is only known at run time", "keep np.array(items)")
        outs: list[tuple[int, Any]] = []
        self.match(spec, result[0], outs, "the value")
        kept = [Value(v.type, v.name) for v in ahead.results]
        bars = {k: Value(rules.primal.results[k].type, "out_bar") for k in floats(rules.primal.results)}
        interpreter = self.interpreter
        res = interpreter.abstract(result[1], kept)
        bar = interpreter.abstract(mapped(spec, lambda k: Foreign(bars.get(k, Static(0.0)))), [])
        self.refuse_other_signature(
            self.custom.back, [*("_" for _ in given), "residuals", "cotangent"], "backward pass"
        )
        pulled = self.nested(self.custom.back, [*given, res, bar])
        if pulled is None:
            raise self.refused("has a backward pass that only raises", "return a tuple of cotangents")
        back, cotangents = pulled.program.function, pulled.program.result
        if isinstance(cotangents, list):
            cotangents = tuple(cotangents)
        if not isinstance(cotangents, tuple) or len(cotangents) != len(specs):
            raise self.refused(
                f"has a backward pass that does not return one cotangent for each of its {len(specs)} arguments",
                "return a tuple, with None for an argument without derivative",
            )
        places: list[tuple[int, Any]] = []
        for part, cotangent in zip(specs, cotangents, strict=True):
            self.match(part, cotangent, places, "a cotangent")
        at = dict(places)
        like = {k: Value(self.inner[k].type, self.inner[k].name) for k in rules.wrt}
        back.params += list(like.values())
        inputs = [*pulled.inputs, *(self.inner[k] for k in rules.wrt)]
        back.body.results = [self.conformed(back, at[k], self.inner[k], like[k]) for k in rules.wrt]
        back = self.prepared(back, f"{self.name}_back", fresh=0)
        values = [self.conformed(ahead, x, rules.primal.results[k], None) for k, x in sorted(outs, key=_first)]
        ahead.body.results, raw = values, list(ahead.results)
        read = _read(back)
        used = [v for p, v in zip(back.params, inputs, strict=True) if p in read]
        residuals = [k for k, v in enumerate(kept) if v in used]
        ahead.body.results = [*values, *(raw[k] for k in residuals)]
        rest = self.arrange(ahead, found.inputs, self.inner)
        own = [v for v in self.inner if v in used]
        self.keep_outside(ahead, rest, own)
        left = self.arrange(back, inputs, [*(kept[k] for k in residuals), *own])
        outside = [v for v in left if v not in kept and v not in self.inner and v not in bars.values()]
        self.keep_outside(ahead, rest, outside)
        self.arrange_again(back, left, len(residuals) + len(own), [*outside, *bars.values()])
        ahead = rules.ahead = self.prepared(ahead, f"{self.name}_ahead", fresh=len(values))
        rules.back = back
        return [(ahead, rest), (back, [])]

    def keep_outside(self, ahead: Function, rest: list[Value], read: list[Value]) -> None:
        """What the backward pass reads of arguments and surroundings is kept, too."""
        for v in read:
            if v not in self.inner and v not in rest:
                rest.append(v)
                ahead.params.append(Value(v.type, v.name))
            position = self.inner.index(v) if v in self.inner else len(self.inner) + rest.index(v)
            ahead.body.results.append(ahead.params[position])

    def arrange_again(self, back: Function, left: list[Value], n: int, order: list[Value]) -> None:
        """The parameters after the first n in this order; nobody reads the others."""
        by = dict(zip(left, back.params[n:], strict=True))
        back.params = [*back.params[:n], *(by.get(v) or Value(v.type, v.name) for v in order)]

    def prepared(self, function: Function, name: str, *, fresh: int | None = None) -> Function:
        """A rule that writes to nothing it is given, and whose (first) results are its own."""
        made = own_copy(function)
        made.name = name
        self.own(made, fresh)
        dce(made)
        return made

    def own(self, function: Function, fresh: int | None = None) -> None:
        """Results share memory neither with arguments nor with each other."""
        from diffjit.frontend.numpy.reshapes import Written

        memory = Written(function)
        taken = {memory.find(p) for p in function.params if isinstance(p.type, Array)}
        build = Builder(function.body)
        results = function.body.results
        for k, v in enumerate(list(results)[:fresh]):
            if isinstance(v.type, Array):
                if memory.find(v) in taken:
                    results[k] = build.value("copy", [v], v.type, order="K" if v.type.layout == "A" else v.type.layout)
                taken.add(memory.find(v))

    def arrange(self, function: Function, inputs: list[Value], order: list[Value]) -> list[Value]:
        """Parameters in this order of what they are bound to; then the others, which are returned."""
        by: dict[Value, Value] = {}
        again: dict[Value, Value] = {}
        for p, v in zip(function.params, inputs, strict=True):
            if v in by:
                again[p] = by[v]
            else:
                by[v] = p
        rename(function.body, again)
        params = [by.pop(v, None) or Value(v.type, v.name) for v in order]
        read = _read(function)
        by = {v: p for v, p in by.items() if p in read}
        consts = Builder()
        numbers = {p: consts.const(const_of(v), v.type) for v, p in by.items() if is_const(v)}
        rename(function.body, numbers)
        function.body.ops[:0] = consts.block.ops
        by = {v: p for v, p in by.items() if p not in numbers}
        function.params = [*params, *by.values()]
        return list(by)

    def bind(self, made: list[tuple[Function, list[Value]]], held: _Open) -> None:
        """What any of the functions reads outside becomes the call's last inputs, in one order."""
        for _, rest in made:
            self.free.update(dict.fromkeys(rest))
        free = list(self.free)
        patched = 0
        for f, rest in made:
            if f is held.rules.back:
                inside = []
            else:
                n = len(f.params) - len(rest)
                of = dict(zip(rest, f.params[n:], strict=True))
                inside = [of.get(v) or Value(v.type, v.name) for v in free]
                f.params = [*f.params[:n], *inside]
            for op in walk(f.body):
                if op.kind == "call" and op.attrs.get("rules") is held.rules and len(op.inputs) == len(self.inner):
                    if free and not inside:
                        raise self.refused(
                            "is called in its own backward pass, and reads something of its surroundings",
                            "make what it reads an argument",
                        )
                    op.inputs += inside
                    patched += 1
        if free and patched < held.calls:
            raise self.refused("is called in its rules by way of another function's", "make what it reads an argument")

    def emit(self, rules: Rules, spec: Any, free: list[Value], held: _Open | None) -> Any:
        """The call."""
        types = [v.type for v in rules.primal.results]
        op = self.interpreter.build.op("call", [*self.outer, *free], types, function=rules.primal, rules=rules)
        for out, v in zip(op.outputs, rules.primal.results, strict=True):
            out.name = v.name
        if held is not None:
            held.calls += 1
        return self.interpreter.abstract(spec, op.outputs)

    # Trees

    def match(self, spec: Any, other: Any, found: list[tuple[int, Any]], what: str = "the result") -> None:
        """Find in another tree what stands where a tree has a leaf."""
        if isinstance(spec, Out):
            if not (isinstance(other, Out) or other is None or is_number(other)):
                raise self.refused(f"has a rule that gives {what} in another form", "the trees must be the same")
            found.append((spec.index, other))
            return
        if isinstance(spec, (OneOf, TextOut)):
            raise self.refused(
                "returns a text that is made at run time", "return numbers, arrays, or containers of them"
            )
        if isinstance(spec, OptOut):
            raise self.refused("returns something that may be None", "return numbers, arrays, or containers of them")
        if isinstance(spec, RecordOut):
            spec, other = spec.fields, other.fields if isinstance(other, RecordOut) else other
        if isinstance(spec, (tuple, list, dict)):
            parts = list(spec.values()) if isinstance(spec, dict) else list(spec)
            if other is None and what == "a cotangent":
                others: list[Any] = [None] * len(parts)
            elif isinstance(spec, dict):
                if not isinstance(other, dict) or set(other) != set(spec):
                    raise self.refused(f"has a rule that gives {what} in another form", "the trees must be the same")
                others = [other[k] for k in spec]
            else:
                if not isinstance(other, (tuple, list)) or len(other) != len(parts):
                    raise self.refused(f"has a rule that gives {what} in another form", "the trees must be the same")
                others = list(other)
            for a, b in zip(parts, others, strict=True):
                self.match(a, b, found, what)

    def conformed(self, function: Function, x: Any, like: Value, shape: Value | None) -> Value:
        """A rule's result in the type of the value that it belongs to; `shape`: that value, inside the rule."""
        build, ty = Builder(function.body), like.type
        if isinstance(x, Out):
            v = function.results[x.index]
        else:
            v = build.const(0.0 if x is None else x, ty if isinstance(ty, Scalar) else None)
        if isinstance(ty, Array) and ty.ndim and isinstance(v.type, Scalar) and (isinstance(x, Out) or x):
            raise self.refused(f"has a rule that gives a number in place of {ty.ndim} dimensions")
        if isinstance(ty, Scalar):
            if isinstance(v.type, Array):
                if v.type.ndim:
                    raise self.refused(f"has a rule that gives {v.type.ndim} dimensions in place of none")
                v = build.value("load", [v], Scalar(v.type.dtype))
            return v if v.type == ty else build.value("cast", [v], ty)
        assert isinstance(ty, Array)
        if isinstance(v.type, Array) and v.type.ndim != ty.ndim:
            raise self.refused(f"has a rule that gives {v.type.ndim} dimensions in place of {ty.ndim}")
        return self.conformed_array(build, v, ty, shape)

    def conformed_array(self, build: Builder, v: Value, ty: Array, shape: Value | None) -> Value:
        """The same for an array."""
        given = v.type
        if isinstance(given, Array) and given.dims == ty.dims and given.dtype == ty.dtype and _fits(given, ty):
            return v
        if given.dtype != ty.dtype:
            cast = Array(ty.dtype, given.dims, given.layout) if isinstance(given, Array) else Scalar(ty.dtype)
            v = build.value("cast", [v], cast)
        if shape is not None:
            if isinstance(given, Array):
                self.refuse_stretched(build, given, ty, shape)
            made = build.value("zeros_like", [shape], ty)
            build.op("assign", [made, v])
            return made
        if not isinstance(given, Array):
            raise self.refused(f"has a rule that gives a number in place of {ty.ndim} dimensions")
        if _fits(given, ty):
            return v
        return build.value("copy", [v], Array(ty.dtype, given.dims, ty.layout), order=ty.layout)

    def refuse_stretched(self, build: Builder, given: Array, ty: Array, shape: Value) -> None:
        """An axis of length 1 stands for itself alone."""
        for axis, (own, wanted) in enumerate(zip(given.dims, ty.dims, strict=True)):
            if own != 1 or wanted == 1:
                continue
            if isinstance(wanted, int):
                raise self.refused(f"has a rule that gives length 1 in place of {wanted} along axis {axis}")
            other = build.value("not_equal", [build.value("dim", [shape], INT, axis=axis), build.const(1)], BOOL)
            text = f"a rule of `{self.name}` gives length 1 in place of another along axis {axis} [DJ517]"
            build.raise_where(other, ValueError, text)

    def refuse_other_signature(self, rule: Any, names: list[str], what: str) -> None:
        """A rule takes what it is called with."""
        if not isinstance(rule, types.FunctionType):
            return
        if told := words(inspect.signature(rule).bind, *names):
            cure = f"give it the parameters ({', '.join(names)})"
            raise self.refused(f"has a {what} with other parameters: {told}", cure)

    def refused(self, problem: str, cure: str = "the shapes must agree") -> UsageError:
        """An error about the function's rules."""
        return UsageError("DJ517", f"`{self.name}` {problem}", cure=cure)


def _is_int(value: Any) -> bool:
    return isinstance(value, Static) and isinstance(value.obj, (int, np.integer)) and not isinstance(value.obj, bool)


def _read(function: Function) -> set[Value]:
    """The values that a function reads or returns."""
    read = {v for op in walk(function.body) for v in op.inputs} | set(function.results)
    return read | {v for op in walk(function.body) for region in op.regions for v in region.results}


def _fits(ty: Array, wanted: Array) -> bool:
    return wanted.layout in ("A", ty.layout)


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _static_key(spec: Any) -> Any:
    """What a specialisation depends on of an argument's form."""
    if isinstance(spec, Out):
        return spec.index
    if isinstance(spec, RecordOut):
        return (spec.cls, tuple((k, _static_key(v)) for k, v in spec.fields.items()))
    if isinstance(spec, (tuple, list)):
        return (type(spec).__name__, tuple(map(_static_key, spec)))
    if isinstance(spec, dict):
        return ("dict", tuple((k, _static_key(v)) for k, v in spec.items()))
    value = spec.value
    if isinstance(value, Static):
        obj = value.obj
        return (type(obj), obj) if isinstance(obj, (int, float, str, bytes, type(None))) else id(obj)
    return id(value)


@verb
def custom_jvp(fun: Any = None, nondiff_argnums: Any = ()) -> Any:
    """A function whose forward rule is given: `f.defjvp(rule)`, with `rule(primals, tangents) -> (out, out_dot)`."""
    return _made(fun, nondiff_argnums)


@verb
def custom_vjp(fun: Any = None, nondiff_argnums: Any = ()) -> Any:
    """A function whose reverse rule is given: `f.defvjp(fwd, bwd)`."""
    return _made(fun, nondiff_argnums)


def _made(fun: Any, nondiff_argnums: Any) -> Any:
    if fun is None:
        return lambda f: CustomFunction(f, nondiff_argnums)
    if isinstance(fun, Inside):
        raise UsageError(
            "DJ517", "a custom function is made inside a program", cure="make it outside, as a function of all it reads"
        )
    return CustomFunction(fun, nondiff_argnums)


__all__ = ["CustomFunction", "custom_jvp", "custom_vjp"]
