"""Derivatives of recursive functions: each derivative of a recursive function is a recursive function itself.

    f(args)                          -> results
    f_jvp(args, dots)                -> results, dots of results
    f_jet3(args, terms)              -> results, terms of results, three for each
    f_vjp(args, bars of results, bars of written arguments as f leaves them)   -> bars of args

`f_vjp` runs the body of `f` once more (its calls are calls of `f`), then back, where a call of `f` is one of `f_vjp`:
nothing has to be kept from the forward sweep of the caller, at the price of running each level again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from diffjit.analysis.memory import effects
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import Array, Scalar, is_float

if TYPE_CHECKING:
    from diffjit.transforms.modes.companions import Accompanied

_forward: dict[tuple[int, str], tuple[Function, Function]] = {}
_reverse: dict[int, tuple[Function, Function]] = {}


def float_positions(values: Sequence[Value]) -> list[int]:
    """Which values carry derivatives."""
    return [k for k, v in enumerate(values) if is_float(v.type) and isinstance(v.type, (Scalar, Array))]


def final_positions(function: Function) -> list[int]:
    """Arguments that the function changes."""
    effects(function)
    return [k for k in float_positions(function.params) if k in (function.writes or ())]


def forward_function(function: Function) -> Function:
    """The recursive function that computes tangents, made once."""
    from diffjit.transforms.modes.forward import Forward

    return _accompanied(function, "jvp", 1, lambda floats: Forward(function, floats, nested=True).accompany())


def series_function(function: Function, order: int) -> Function:
    """The recursive function that computes Taylor coefficients up to an order, made once."""
    from diffjit.transforms.modes.jet import Jet

    return _accompanied(
        function, f"jet{order}", order, lambda floats: Jet(function, floats, order, nested=True).accompany()
    )


def _accompanied(function: Function, mode: str, count: int, accompany: Callable[[list[int]], Accompanied]) -> Function:
    """The recursive function with `count` companions for each float among arguments and results."""
    from diffjit.transforms.pipeline import finish

    key = (id(function), mode)
    if key not in _forward:
        made = Function(
            f"{function.name}_{mode}", [], Block(), "", function.source_file, function.source_line, function.comments
        )
        _forward[key] = (function, made)
        effects(function)
        n, floats = len(function.params), float_positions(function.params)
        written = [n + floats.index(k) * count + m for k in final_positions(function) for m in range(count)]
        made.writes = frozenset(function.writes or ()) | frozenset(written)
        made.params = [Value(p.type, p.name) for p in function.params] + [
            Value(function.params[k].type) for k in floats for _ in range(count)
        ]
        made.body.results = [Value(v.type) for v in function.results]
        made.body.results += [
            Value(function.results[k].type) for k in float_positions(function.results) for _ in range(count)
        ]
        t = accompany(floats)
        made.params, made.body = t.function.params, t.function.body
        results = list(t.primal)
        with_builder = Builder(made.body)
        for k in float_positions(t.primal):
            beside = t.leaving[k]
            results += [with_builder.zero(t.primal[k]) for _ in range(count)] if beside is None else beside
        made.body.results = results
        finish(made, "recursive_forward")
        made.writes = None
        effects(made)
    return _forward[key][1]


def reverse_function(function: Function) -> Function:
    """The recursive function that computes cotangents, made once."""
    from diffjit.transforms.pipeline import finish
    from diffjit.transforms.prepare import copied_params
    from diffjit.transforms.reverse.reverse import Reverse

    if id(function) not in _reverse:
        made = Function(
            f"{function.name}_vjp", [], Block(), "", function.source_file, function.source_line, function.comments
        )
        _reverse[id(function)] = (function, made)
        effects(function)
        made.writes = frozenset()
        floats, finals = float_positions(function.params), final_positions(function)
        f, copies = copied_params(function)
        made.params = [
            Value(p.type) for p in (*f.params, *(function.results[k] for k in float_positions(function.results)))
        ]
        made.params += [Value(function.params[k].type) for k in finals]
        made.body.results = [Value(function.params[k].type) for k in floats]
        outputs = float_positions(f.body.results)
        for k in finals:
            outputs.append(len(f.body.results))
            f.body.results.append(copies[k])
        r = Reverse(f, floats, outputs, inside=True).run()
        made.params, made.body = r.function.params, r.function.body
        builder = Builder(made.body)
        made.body.results = [
            g if g is not None else builder.zero(r.function.params[k]) for k, g in zip(floats, r.gradients, strict=True)
        ]
        finish(made, "recursive_reverse")
        made.writes = None
        effects(made)
    return _reverse[id(function)][1]
