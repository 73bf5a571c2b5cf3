"""Derivatives of recursive functions: each derivative of a recursive function is a recursive function itself.

    f(args)                          -> results
    f_jvp(args, dots)                -> results, dots of results
    f_jet3(args, terms)              -> results, terms of results, three for each
    f_vjp(args, bars of results, bars of written arguments as f leaves them, bars of arrays that f reads, added to)
                                     -> bars of the other args

`f_vjp` runs the body of `f` once more (its calls are calls of `f`), then back, where a call of `f` is one of `f_vjp`:
nothing has to be kept from the forward sweep of the caller, at the price of running each level again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from diffjit.analysis.memory import effects
from diffjit.ir.build import Builder
from diffjit.ir.nodes import TURNS, Block, Function, Op, Value
from diffjit.ir.types import Array, Scalar, is_float
from diffjit.ir.walk import walk
from diffjit.transforms import custom
from diffjit.transforms.outlined import silence
from diffjit.transforms.prepare import clone, copied_params
from diffjit.transforms.recursive.recorded import Apart, Halves, Joint, Recorded

if TYPE_CHECKING:
    from diffjit.transforms.modes.companions import Accompanied
    from diffjit.transforms.reverse.reverse import Reversed

_turns = itertools.count()
_OF, _HALVES, _SILENT = "of", "halves", "silent"  # what a function knows beside its derivatives (`Function.derived`)


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

    if mode not in function.derived:
        made = Function(
            f"{function.name}_{mode}", [], Block(), "", function.source_file, function.source_line, function.lines
        )
        function.derived[mode] = made
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
    return function.derived[mode]


def reverse_function(function: Function, varied: list[int]) -> tuple[Function, list[int]]:
    """The recursive function that computes the cotangents of `varied` parameters, made once, and which it is lent.

    Cotangents of arrays that the function only reads are memory of the caller's, which it adds to: a call that looks at
    one element then costs no more than one element, however long the array is.
    """
    from diffjit.transforms.pipeline import finish

    effects(function)
    finals = final_positions(function)
    lent = [k for k in varied if k not in finals and isinstance(function.params[k].type, Array)]
    key = tuple(varied)
    if key not in function.derived:
        name = "_".join([f"{function.name}_vjp", *_parts(function, varied)])
        made = Function(name, [], Block(), "", function.source_file, function.source_line, function.lines)
        function.derived[key] = made
        made.derived[_OF] = function, varied
        outputs = float_positions(function.results)
        made.params = [Value(p.type) for p in (*function.params, *(function.results[k] for k in outputs))]
        made.params += [Value(function.params[k].type) for k in (*finals, *lent)]
        made.writes = frozenset(range(len(made.params) - len(lent), len(made.params)))
        made.body.results = [Value(function.params[k].type) for k in varied if k not in lent]
        r, bars = _there_and_back(function, varied, lent)
        made.params, made.body = r.function.params, r.function.body
        made.body.results = bars
        finish(made, "recursive_reverse")
        made.writes = None
        effects(made)
    return function.derived[key], lent


def pair(call: Op, derivative: Op) -> None:
    """Note that a call on the way back belongs to one on the way there (`recursive.settled`)."""
    call.attrs[TURNS] = derivative.attrs[TURNS] = next(_turns)


def _there_and_back(function: Function, varied: list[int], lent: list[int]) -> tuple[Reversed, list[Value]]:
    """The body once more, and then back: with the cotangents of parameters that are not lent."""
    from diffjit.transforms.reverse.reverse import Reverse

    f, copies = copied_params(function)
    _runs_again(f)
    outputs = float_positions(f.body.results)
    for k in final_positions(function):
        outputs.append(len(f.body.results))
        f.body.results.append(copies[k])
    back = Reverse(f, varied, outputs, inside=True)
    back.lent = lent
    r = back.run()
    found = dict(zip(varied, r.gradients, strict=True))
    builder = Builder(r.function.body)
    return r, [found[k] or builder.zero(r.function.params[k]) for k in varied if k not in lent]


def halves_of(derivative: Function) -> Recorded | None:
    """A function made by `reverse_function` that records once in place of running again, if it can be, made once."""
    from diffjit.transforms.pipeline import finish

    if _HALVES in derivative.derived:
        return derivative.derived[_HALVES]
    if _OF not in derivative.derived:
        return None
    function, varied = derivative.derived[_OF]
    found: Recorded | None = None
    if not function.writes:
        lent = [k for k in varied if isinstance(function.params[k].type, Array)]
        r, bars = _there_and_back(function, varied, lent)
        f, n = r.function, len(r.primal)
        f.name = f"{function.name}_recorded"
        f.body.results = [*r.primal, *bars]
        finish(f, "recursive_recorded")
        with suppress(Apart):
            found = Halves(Joint(function, derivative, f, f.body.results[:n], f.body.results[n:])).cut()
        if found is not None and _prints(function, set()):
            found.original = None
    derivative.derived[_HALVES] = found
    return found


def _parts(function: Function, varied: list[int]) -> list[str]:
    """The parameters that a derivative is by, where it is not by all."""
    named = [function.params[k].name or f"{k}" for k in varied]
    return [] if varied == float_positions(function.params) else named


def _runs_again(function: Function) -> None:
    """In place: what a function does once more on arguments for which it has run to its end, for its values alone."""
    silence([function.body])
    for op in walk(function.body):
        called = op.attrs.get("function")
        if called is not None and op.kind == "call" and not custom.rules_of(op):
            effects(called)
            op.attrs["function"] = _without_prints(called)
            if not called.writes:
                op.attrs["repeats"] = True


def _without_prints(function: Function) -> Function:
    """A recursive function that prints nothing: itself, or a copy, made once."""
    if not _prints(function, set()):
        return function
    if _SILENT not in function.derived:
        made = clone(function)
        made.name = f"{function.name}_again"
        made.writes, made.returns_views = function.writes, function.returns_views
        function.derived[_SILENT] = made
        silence([made.body])
        for op in walk(made.body):
            if op.kind == "call" and not custom.rules_of(op):
                op.attrs["function"] = _without_prints(op.attrs["function"])
    return function.derived[_SILENT]


def _prints(function: Function, seen: set[Function]) -> bool:
    seen.add(function)
    return any(
        (op.row.once and not op.attrs.get("repeats"))
        or (op.kind == "call" and (called := op.attrs["function"]) not in seen and _prints(called, seen))
        for op in walk(function.body)
    )
