"""`odeint`: ordinary differential equations, by steps of adaptive size.

The solvers are plain NumPy (`api.ode_solvers`, `api.ode_steps`), copied into the program like any function; the
right-hand side is interpreted once, and what it reads of its surroundings becomes further arguments of it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from diffjit.api import ode_solvers as solvers
from diffjit.api.composed import Composed
from diffjit.api.gradients import spec_tree
from diffjit.api.implicit import fitting
from diffjit.api.inline import nest, plain
from diffjit.api.ode_solution import Event, OdeSolution
from diffjit.api.programs import flatten_call
from diffjit.errors import UsageError
from diffjit.frontend import values as av
from diffjit.frontend.nested import Entry, Foreign, Inner
from diffjit.frontend.outputs import Out, RecordOut
from diffjit.frontend.values import NONE, Static, is_number
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, is_float

DEFAULTS = {"rtol": 1.4e-8, "atol": 1.4e-8, "hmax": np.inf, "mxstep": 100_000}
OPTIONS = (*DEFAULTS, "adjoint", "events", "dense")


class Flat:
    """A function of a state and a time, interpreted already: a callable of flat arguments for the solvers."""

    __name__ = "field"

    def __init__(self, inner: Inner, results: list[Any], n: int, *, scalar: bool) -> None:
        self.inner, self.results, self.scalar = inner, results, scalar
        rest = range(n + 1, len(inner.inputs))
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
        parts, t, floats, others = args
        items: dict[int, Any] = dict(enumerate([*interpreter.sequence_items(parts, node), t]))
        items.update(zip(self.floats, interpreter.sequence_items(floats, node), strict=True))
        items.update(zip(self.others, interpreter.sequence_items(others, node), strict=True))
        function = self.inner.program.function
        outs = interpreter.copy_in(function, [fitting(interpreter, items[k], p) for k, p in enumerate(function.params)])
        found: list[Any] = []
        for spec in self.results:
            part = interpreter.abstract(spec, outs)
            listed = isinstance(spec, (tuple, list))
            found.append(interpreter.call(Static(np.array), [part], {}, node) if listed else interpreter.number(part))
        return found[0] if self.scalar else av.Tup(tuple(found))


class OdeInt(Composed):
    """A function of a start, times and arguments that gives the solution."""

    def __init__(self, function: Any, events: tuple[Event, ...], adjoint: str, dense: bool) -> None:
        super().__init__(function, None)
        self.events, self.adjoint, self.dense = events, adjoint, dense
        if adjoint not in ("discrete", "continuous"):
            raise _refused(f"there is no adjoint {adjoint!r}", 'adjoint="discrete", or adjoint="continuous"')
        if adjoint == "continuous" and (dense or events):
            cure = 'leave out adjoint="continuous"'
            raise _refused("the continuous adjoint keeps no steps, which events and dense output need", cure)
        for event in events:
            if event.direction not in (-1, 0, 1):
                raise _refused(f"an event has the direction {event.direction!r}", "direction=-1, 0 or 1")

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        state = State(interpreter, args[0])
        field = state.function(self.function, args[2:], node, "odeint")
        if field is None:
            return NONE
        ts = self.times(interpreter, args[1], node)
        numbers = [interpreter.number(kwargs.get(name, Static(value))) for name, value in DEFAULTS.items()]
        parts = av.Tup(tuple(state.parts))
        given = [field.given(field.floats), field.given(field.others)]
        if not self.events and not self.dense:
            solver = solvers.continuous if self.adjoint == "continuous" else solvers.discrete
            found = interpreter.call(Static(solver), [Static(field), parts, ts, *given, *numbers], {}, node)
            return NONE if found is NONE else state.formed(found)
        events = [state.function(e.function, args[2:], node, "odeint, as an event,", scalar=True) for e in self.events]
        if None in events:
            return NONE
        gs = av.Tup(tuple(av.Tup((e.given(e.floats), e.given(e.others))) for e in events if e is not None))
        static = [
            Static(field),
            *map(_static, (events, [e.terminal for e in self.events], [e.direction for e in self.events])),
        ]
        found = interpreter.call(Static(solvers.solved), [*static, parts, ts, *given, gs, *numbers], {}, node)
        if found is NONE:  # it always raises
            return NONE
        t, y, t_end, y_end, event, t_events, y_events, *steps = found.items
        there = av.Tup(tuple(map(state.formed, interpreter.sequence_items(y_events, node))))
        fields = {
            "t": t, "y": state.formed(y), "t_end": t_end, "y_end": state.formed(y_end), "event": event,
            "t_events": t_events, "y_events": there,
            "y0": state.formed(parts), **dict(zip(("steps", "times", "states", "slopes"), steps, strict=True)),
        }  # fmt: skip
        return interpreter.new(av.ObjC(OdeSolution, fields))

    def times(self, interpreter: Any, value: Any, node: Any) -> Any:
        """The times as an array of floats."""
        found = interpreter.call(Static(np.asarray), [value], {}, node)
        if getattr(found.type, "ndim", 0) != 1 or found.type.dtype.kind not in "fiu":
            raise _refused("the times are not a one-dimensional array", "t=np.array([start, ..., end])", code="DJ519")
        return found if found.type.dtype == np.float64 else interpreter.cast(found, np.float64)


class State:
    """The start of a solution: a tree of numbers and arrays, and functions of such trees."""

    def __init__(self, interpreter: Any, y0: Any) -> None:
        self.interpreter = interpreter
        entry = Entry()
        call = flatten_call((interpreter.enter(y0, entry)[0],), {})
        self.structure = call.positional[0]
        outer = [entry.dummies[id(leaf)][1] for leaf in call.leaves]
        if not outer or any(v.type.dtype.kind not in "fiu" for v in outer):
            cure = "a number, an array, or a tree of these; write complex numbers as two real ones"
            raise _refused("the state is not made of real numbers", cure, code="DJ519")
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

    def function(self, function: Any, args: list[Any], node: Any, what: str, *, scalar: bool = False) -> Flat | None:
        """A function of the state, the time and arguments; `scalar`: whether it gives a number or such a state."""
        interpreter = self.interpreter
        y = self.formed(av.Tup(tuple(self.parts)))
        inner = nest(interpreter, function, [y, Static(0.0), *args], {}, node, refusal=f"a function under {what}")
        if inner is None:
            return None
        name, program = inner.program.function.name, inner.program
        if scalar:
            results = [program.result]
            right = _is_part(program, program.result, 0)
            wanted = "a float"
        else:
            found: dict[int, Any] = {}
            places = (_Place(k, getattr(p.type, "ndim", 0)) for k, p in enumerate(self.parts))
            right = _paired(program, spec_tree(self.structure, places), program.result, found)
            results = [found[k] for k in sorted(found)]
            wanted = "a slope of the form of the state"
        if not right:
            cure = "return a number" if scalar else "return a tree with a number or array for each of the state's"
            raise UsageError("DJ519", f"`{name}` under {what} must return {wanted}", cure=cure)
        return Flat(inner, results, len(self.parts), scalar=scalar)


class _Place:
    """A leaf of the state, of so many dimensions."""

    def __init__(self, index: int, ndim: int) -> None:
        self.index, self.ndim = index, ndim


def _is_part(program: Any, spec: Any, ndim: int) -> bool:
    """Whether a result is a float, or an array, of so many dimensions."""
    if not isinstance(spec, Out):
        return is_number(spec) and not isinstance(spec, complex) and ndim == 0
    ty = program.function.results[spec.index].type
    return getattr(ty, "ndim", 0) == ndim and ty.dtype.kind in "fiu"


def _paired(program: Any, place: Any, spec: Any, found: dict[int, Any]) -> bool:
    """Find the slopes of a state's parts in a tree of results of the same form."""
    if isinstance(place, _Place):
        found[place.index] = spec
        if isinstance(spec, (tuple, list)) and place.ndim == 1:  # [dx, dy] for an array
            return all(_is_part(program, s, 0) for s in spec)
        return _is_part(program, spec, place.ndim)
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


def _static(items: list[Any]) -> Any:
    return av.Tup(tuple(map(Static, items)))


def _refused(problem: str, cure: str, code: str = "DJ530") -> UsageError:
    return UsageError(code, f"odeint: {problem}", cure=cure)


def formed_inside(interpreter: Any, solver: str, args: list[Any], node: Any) -> Any:
    """`state_like` and `states_like` inside programs."""
    state = State(interpreter, args[0])
    parts = av.Tup(tuple(state.parts))
    return state.formed(interpreter.call(Static(getattr(solvers, solver)), [args[1], parts], {}, node))


def _events(events: Any) -> tuple[Event, ...]:
    several = events if isinstance(events, (tuple, list)) else (events,)
    return tuple(e if isinstance(e, Event) else Event(e) for e in several)


@functools.lru_cache(maxsize=256)
def _made(function: Any, events: tuple[Event, ...], adjoint: str, dense: bool) -> OdeInt:
    return OdeInt(function, events, adjoint, dense)


def odeint(
    func: Any,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = DEFAULTS["rtol"],
    atol: float = DEFAULTS["atol"],
    hmax: float = DEFAULTS["hmax"],
    mxstep: int = DEFAULTS["mxstep"],
    adjoint: str = "discrete",
    events: Any = (),
    dense: bool = False,
) -> Any:
    """The solution of `dy/dt = func(y, t, *args)` with `y(t[0]) = y0`, at the times t.

    func      gives a slope of the form of the state
    y0        the state at the start: a number, an array, or a tree of these
    t         a one-dimensional array of times that increase or decrease strictly
    args      trees of anything that func takes
    rtol, atol  the error of a step that is tolerated in each component, relative to it and absolute
    hmax      the longest step
    mxstep    the most steps
    adjoint   how reverse mode goes: "discrete", through the steps that were taken, or "continuous", which keeps none
    events    functions `g(y, t, *args)` whose zeros are events, as they are or as `Event(g, terminal, direction)`
    dense     whether to give a solution that may be evaluated at any time

    Gives the states at the times: y0's tree, with a first axis for the times in each array. With events or dense, gives
    an `OdeSolution`. Differentiable in y0, t, args and what func and events read of their surroundings; sizes of
    steps are constants to every derivative.
    The method is that of Dormand and Prince (1980), of order 5, with an interpolant of order 4.
    Raises `RuntimeError` where steps become too small or too many, where the solution is not finite, and, in a
    derivative, where an event function touches zero without crossing it; `ValueError` for times out of order and
    slopes of another shape; `UsageError` for functions that give another form.
    """
    made = _made(func, _events(events), adjoint, dense)
    return made(y0, t, *args, rtol=rtol, atol=atol, hmax=hmax, mxstep=mxstep)


def _odeint_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    unknown = [name for name in kwargs if name not in OPTIONS]
    given = list(args)
    for name in ("func", "y0", "t")[len(args) :]:
        if name not in kwargs:
            raise _refused(f"the argument `{name}` is missing", "odeint(func, y0, t, *args)")
        given.append(kwargs[name])
        unknown.remove(name)
    if unknown:
        raise _refused(f"there is no option `{unknown[0]}`", f"the options are: {', '.join(OPTIONS)}")
    options = {name: _constant(kwargs, name) for name in ("adjoint", "dense") if name in kwargs}
    events = _events_inside(interpreter, kwargs.get("events"))
    function = plain(interpreter, given[0])
    made = OdeInt(function, events, options.get("adjoint", "discrete"), options.get("dense", False))
    numbers = {name: kwargs[name] for name in DEFAULTS if name in kwargs}
    return made.__diffjit_inline__(interpreter, given[1:], numbers, node)


def _constant(kwargs: dict[str, Any], name: str) -> Any:
    value = kwargs[name]
    if not isinstance(value, Static):
        raise _refused(f"`{name}` is only known at run time", "write it as a constant")
    return value.obj


def _events_inside(interpreter: Any, value: Any) -> tuple[Event, ...]:
    if value is None:
        return ()
    held = interpreter.contents(value) if isinstance(value, av.Ref) else None
    if isinstance(value, av.Tup) or isinstance(held, av.ListC):
        return tuple(e for item in interpreter.sequence_items(value, None) for e in _events_inside(interpreter, item))
    found = plain(interpreter, value)
    return (found if isinstance(found, Event) else Event(found),)


def event_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    """`Event` called inside programs."""
    given = {**dict(zip(("function", "terminal", "direction"), args, strict=False)), **kwargs}
    if "function" not in given:
        raise _refused("an event without a function", "Event(function, terminal, direction)")
    terminal = interpreter.static_truth(given.get("terminal", Static(False)), "`terminal`")
    direction = interpreter.static_int(given.get("direction", Static(0)), "`direction`", node)
    return Static(Event(plain(interpreter, given["function"]), terminal, direction))


odeint.__diffjit_inline__ = _odeint_inside  # type: ignore[attr-defined]

__all__ = ["Event", "OdeSolution", "odeint"]
