"""What `odeint` gives with events or dense output: a solution that may be evaluated at any time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.solvers.ode_steps import state_at
from diffjit.solvers.vectors import rows, unpacked


class Event:
    """Something that happens where `function(y, t, *args)` is zero: a float that changes its sign there.

    terminal   whether the integration stops there
    direction  1 where only changes from negative to positive count, -1 for the others, 0 for both
    """

    def __init__(self, function: Callable[..., Any], terminal: bool = False, direction: int = 0) -> None:
        self.function, self.terminal, self.direction = function, terminal, direction

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", self.function)
        return f"Event({name}, terminal={self.terminal}, direction={self.direction})"

    def _all(self) -> tuple[Any, ...]:
        return self.function, self.terminal, self.direction

    @staticmethod
    def __diffjit_inline__(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.solvers.ode import event_inside

        return event_inside(interpreter, args, kwargs, node)


@dataclass
class OdeSolution:
    """The solution of an ordinary differential equation.

    t, y        times that were asked for and were reached, and states there, with a first axis for these
    t_end       the last time: of the terminal event, or the last one that was asked for; y_end is the state there
    event       the number of the event that stopped the integration, or -1
    t_events    for each event an array of its times
    y_events    for each event the states there, with a first axis for these
    y0          the state at the start
    steps, times, states, slopes  sizes of the steps, and at their ends times and states; the interpolants' coefficients

    `solution(t)` is the state at a time between t[0] and t_end, or at an array of times; others raise `ValueError`.
    """

    t: Any
    y: Any
    t_end: Any
    y_end: Any
    event: Any
    t_events: Any
    y_events: Any
    y0: Any
    steps: Any
    times: Any
    states: Any
    slopes: Any

    def __call__(self, t: Any) -> Any:
        """The state at a time, or at an array of times."""
        ts = np.array([t]) if np.ndim(t) == 0 else np.asarray(t)
        if np.ndim(ts) != 1:
            raise ValueError("a solution is evaluated at a number or a one-dimensional array of times")
        span = abs(self.t_end - self.times[0])
        for i in range(ts.size):
            since = (ts[i] - self.times[0]) * (1.0 if self.steps[0] > 0.0 else -1.0)
            if not -1e-12 * span <= since <= span * (1.0 + 1e-12):
                raise ValueError("the solution is not known at this time: it lies outside of the integration")
        found = state_at(self.steps, self.times, self.states, self.slopes, ts)
        return state_like(self.y0, found[0].copy()) if np.ndim(t) == 0 else states_like(self.y0, found)


def state_like(y0: Any, y: Any) -> Any:
    """A vector as a state of this form."""
    return _formed(y0, lambda leaves: unpacked(y, leaves))


def states_like(y0: Any, ys: Any) -> Any:
    """Vectors, one in each row, as a state of this form with a first axis for the rows."""
    return _formed(y0, lambda leaves: rows(ys, leaves))


def _formed(y0: Any, parted: Callable[[list[Any]], Any]) -> Any:
    leaves, structure = tree.flatten(y0)
    parts = [np.asarray(p).astype(np.asarray(x).dtype) for p, x in zip(parted(leaves), leaves, strict=True)]
    return structure.unflatten(iter([p if p.ndim else p[()] for p in parts]))


def _inside(formed: str) -> Callable[..., Any]:
    def inline(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.solvers.ode import formed_inside

        del kwargs
        return formed_inside(interpreter, formed, args, node)

    return inline


state_like.__diffjit_inline__ = _inside("unpacked")  # type: ignore[attr-defined]
states_like.__diffjit_inline__ = _inside("rows")  # type: ignore[attr-defined]
