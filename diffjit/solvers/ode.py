"""`odeint`: ordinary differential equations, by steps of adaptive size.

The solvers are plain NumPy (`solvers.ode_solvers`, `solvers.ode_steps`), copied into the program like any function; the
right-hand side is interpreted once, and what it reads of its surroundings becomes further arguments of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.api.engine.composed import Call, Composed, applied
from diffjit.api.engine.inline import plain
from diffjit.errors import UsageError
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.solvers import ode_solvers as solvers
from diffjit.solvers import vectors
from diffjit.solvers.ode_solution import Event, OdeSolution
from diffjit.solvers.states import State

DEFAULTS = {"rtol": 1.4e-8, "atol": 1.4e-8, "hmax": np.inf, "mxstep": 100_000}
METHODS = ("dopri5", "rodas5p")


class OdeInt(Composed):
    """A function of a start, times and arguments that gives the solution."""

    def __init__(self, function: Any, events: tuple[Event, ...], adjoint: str, dense: bool, method: str) -> None:
        super().__init__(function, None)
        self.events, self.adjoint, self.dense, self.method = events, adjoint, dense, method
        if method not in METHODS:
            raise _refused(f"there is no method {method!r}", f"the methods are {', '.join(METHODS)}")
        if adjoint not in ("discrete", "continuous"):
            raise _refused(f"there is no adjoint {adjoint!r}", 'adjoint="discrete", or adjoint="continuous"')
        if adjoint == "continuous" and (dense or events):
            cure = 'leave out adjoint="continuous"'
            raise _refused("the continuous adjoint keeps no steps, which events and dense output need", cure)
        for event in events:
            if event.direction not in (-1, 0, 1):
                raise _refused(f"an event has the direction {event.direction!r}", "direction=-1, 0 or 1")

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        state = State(interpreter, args[0], "odeint")
        time: list[Any] = [Static(0.0)]
        field = state.function(self.function, time, args[2:], node, wanted="slope")
        if field is None:
            return NONE
        ts = self.times(interpreter, args[1], node)
        numbers = [interpreter.number(kwargs[name]) for name in DEFAULTS]
        parts = av.Tup(tuple(state.parts))
        given = [field.given(field.floats), field.given(field.others)]
        if not self.events and not self.dense:
            solver = solvers.continuous if self.adjoint == "continuous" else solvers.discrete
            static = [Static(self.method), Static(field)]
            found = interpreter.call(Static(solver), [*static, parts, ts, *given, *numbers], {}, node)
            return NONE if found is NONE else state.formed(found)
        what = "odeint, as an event,"
        events = [state.function(e.function, time, args[2:], node, what=what, wanted="") for e in self.events]
        if None in events:
            return NONE
        gs = av.Tup(tuple(av.Tup((e.given(e.floats), e.given(e.others))) for e in events if e is not None))
        static = [
            Static(self.method),
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


def _static(items: list[Any]) -> Any:
    return av.Tup(tuple(map(Static, items)))


def _refused(problem: str, cure: str, code: str = "DJ530") -> UsageError:
    return UsageError(code, f"odeint: {problem}", cure=cure)


def formed_inside(interpreter: Any, solver: str, args: list[Any], node: Any) -> Any:
    """`state_like` and `states_like` inside programs."""
    state = State(interpreter, args[0], "odeint")
    parts = av.Tup(tuple(state.parts))
    return state.formed(interpreter.call(Static(getattr(vectors, solver)), [args[1], parts], {}, node))


def _events(events: Any) -> tuple[Event, ...]:
    several = events if isinstance(events, (tuple, list)) else (events,)
    return tuple(e if isinstance(e, Event) else Event(e) for e in several)


def _events_inside(interpreter: Any, value: Any) -> tuple[Event, ...]:
    held = interpreter.contents(value) if isinstance(value, av.Ref) else None
    if isinstance(value, av.Tup) or isinstance(held, av.ListC):
        return tuple(e for item in interpreter.sequence_items(value, None) for e in _events_inside(interpreter, item))
    return _events(plain(interpreter, value))


@applied(("adjoint", "dense", "method"), options="the options are: {}", func=plain, events=_events_inside)
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
    method: str = "dopri5",
) -> Call:
    """The solution of `dy/dt = func(y, t, *args)` with `y(t[0]) = y0`, at the times t.

    func      gives a slope of the form of the state
    y0        the state at the start: a number or an array, real or complex, or a tree of these
    t         a one-dimensional array of times that increase or decrease strictly
    args      trees of anything that func takes
    rtol, atol  the error of a step that is tolerated in each component, relative to it and absolute
    hmax      the longest step
    mxstep    the most steps
    adjoint   how reverse mode goes: "discrete", through the steps that were taken, or "continuous", which keeps none
    events    functions `g(y, t, *args)` whose zeros are events, as they are or as `Event(g, terminal, direction)`
    dense     whether to give a solution that may be evaluated at any time
    method    "dopri5", or for stiff equations "rodas5p", which solves linear systems with the derivative of func

    Gives the states at the times: y0's tree, with a first axis for the times in each array. With events or dense, gives
    an `OdeSolution`. Differentiable in y0, t, args and what func and events read of their surroundings; sizes of
    steps are constants to every derivative.
    The methods are those of Dormand and Prince (1980), explicit, and of Steinebach (2023), a Rosenbrock method that is
    L-stable; both are of order 5, with an interpolant of order 4. Complex numbers count as two real ones.
    Raises `RuntimeError` where steps become too small or too many, where the solution is not finite, and, in a
    derivative, where an event function touches zero without crossing it; `ValueError` for times out of order and
    slopes of another shape; `UsageError` for functions that give another form.
    """
    numbers = {"rtol": rtol, "atol": atol, "hmax": hmax, "mxstep": mxstep}
    return Call(OdeInt, (func, _events(events), adjoint, dense, method), (y0, t, *args), numbers)


def event_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    """`Event` called inside programs."""
    given = {**dict(zip(("function", "terminal", "direction"), args, strict=False)), **kwargs}
    if "function" not in given:
        raise _refused("an event without a function", "Event(function, terminal, direction)")
    terminal = interpreter.static_truth(given.get("terminal", Static(False)), "`terminal`")
    direction = interpreter.static_int(given.get("direction", Static(0)), "`direction`", node)
    return Static(Event(plain(interpreter, given["function"]), terminal, direction))


__all__ = ["Event", "OdeSolution", "odeint"]
