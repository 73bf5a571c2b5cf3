"""`scipy.integrate.solve_ivp`, `odeint` and `ode`: plain Python, read by the frontend.

As in `solvers.ode_solvers`, an interval is gone over twice: for the mesh, without derivatives, and with steps of known
sizes.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import functools

import numpy as np
import scipy.integrate

from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements
from diffjit.rare import Stiff, left_out
from diffjit.solvers.ode_solvers import at_time, event_times, replayed, slope_of
from diffjit.solvers.ode_steps import state_at
from diffjit.solvers.scipy.closed import closed, number
from diffjit.solvers.scipy.ivp_steps import mesh
from diffjit.solvers.scipy.results import OdeResult, Trajectory, Untold
from diffjit.solvers.vectors import rows, whole

CLASSES = {getattr(scipy.integrate, name): name for name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")}


def flow(field, parts, more, floats, others):
    """The slope as the solvers take it."""
    found = field((more[0], *parts), floats, others)
    return (np.atleast_1d(np.asarray(found)) * 1.0,)


def event_of(field, parts, more, floats, others):
    """An event function as the solvers take it."""
    return number(field((more[0], *parts), floats, others))


def started(y0):
    """The state at the start."""
    y = np.atleast_1d(np.asarray(y0)) * 1.0
    if y.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional")
    return y


def taken(method, events):
    """The derivatives of slopes and events that a solution takes itself: steps of stiff methods, times of events."""
    stiff = method in ("Radau", "BDF", "LSODA")
    return ("forward",) * ((1 if stiff else 0) + (0 if events is None else 1))


def on_mesh(method, flows, events, ways, found, parts, t0, t1, floats, others, gs):
    """All that a solution is made of, by steps of known sizes."""
    hs, kinds, steps, thetas, stop, _ = found
    slope, args = functools.partial(slope_of, flows), (parts, floats, others)
    times, ys, qs = replayed(method, slope, hs, whole(parts), t0, args)
    m = hs.size
    t_end = 1.0 * t1
    t_events, y_events = [], []
    for k, (event, g) in enumerate(zip(events, gs)):  # noqa: B905
        found, there = event_times(method, event, k, slope, (kinds, steps, thetas), (hs, times, ys, qs), args, g)
        t_events.append(found)
        y_events.append(rows(there, parts)[0])
        if stop == k:
            t_end = found[-1]
    before = ys[m - 1].copy()
    end = at_time(method, slope, t_end - times[m - 1], hs[m - 1], before, qs[m - 1].copy(), times[m - 1], args)
    reached, at = times.copy(), ys.copy()
    reached[m] = t_end
    at[m] = end
    return reached, at, tuple(t_events), tuple(y_events), stop, hs, times, ys, qs


def solved(method, flows, events, stops, ways, parts, t0, t1, floats, others, gs, rtol, atol, first, hmax):
    """A solution by one of SciPy's methods, or by one that stands for it."""
    slope = functools.partial(slope_of, flows)
    fixed = stop_gradient((parts, floats, others))
    start = stop_gradient((whole(parts), 1.0 * t0, 1.0 * t1))

    def steps(way, small, patience):
        return stop_gradient(
            mesh(
                way, slope, events, stops, ways, start[0], start[1], start[2], fixed, stop_gradient(gs), small * rtol,
                small * atol, first, hmax, patience,
            )
        )  # fmt: skip

    def over(way, found):
        return on_mesh(way, flows, events, ways, found, parts, t0, t1, floats, others, gs)

    never = 2**60
    if method == "RK45":
        return over("dopri5", steps("dopri5", 1.0, never))
    if method in ("RK23", "DOP853"):
        return over("dopri5", steps("dopri5", 0.1, never))
    if method in ("Radau", "BDF"):
        return over("rodas5p", steps("rodas5p", 0.1, never))
    if method != "LSODA":
        raise ValueError("`method` must be one of RK23, RK45, DOP853, Radau, BDF, LSODA")
    found = steps("dopri5", 0.1, 500 + 200 * start[0].size)
    if found[5]:
        left_out(Stiff)
        return over("rodas5p", steps("rodas5p", 0.1, never))
    return over("dopri5", found)


@implements(scipy.integrate.solve_ivp)
def solve_ivp(
    fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None, *,
    rtol=1e-3, atol=1e-6, max_step=np.inf, first_step=None, min_step=0.0, jac=None, jac_sparsity=None, lband=None,
    uband=None,
):  # fmt: skip
    """The solution of an initial value problem."""
    method = CLASSES.get(method, method)
    t0, t1 = t_span
    if stop_gradient(1.0 * t0) == stop_gradient(1.0 * t1):
        raise ValueError("solve_ivp: the interval has no length")
    parts = (started(y0),)
    more = () if args is None else args
    point = (stop_gradient(1.0 * t0), parts[0])
    takes = taken(method, events)
    field, floats, others = closed(fun, point, more, takes)
    listed = () if events is None else (tuple(events) if isinstance(events, (tuple, list)) else (events,))
    made, gs, stops, ways = [], [], [], []
    for event in listed:
        found = closed(event, point, more, takes)
        made.append(functools.partial(event_of, found[0]))
        gs.append((found[1], found[2]))
        stops.append(int(getattr(event, "terminal", 0) or 0))
        ways.append(float(getattr(event, "direction", 0)))
    least = max(1.0 * rtol, 100.0 * 2.220446049250313e-16)
    reached, at, t_events, y_events, stop, hs, times, ys, qs = solved(
        method, functools.partial(flow, field), tuple(made), tuple(stops), tuple(ways), parts, t0, t1, floats, others,
        tuple(gs), least, 1.0 * np.asarray(atol) if np.ndim(atol) > 0 else 1.0 * atol,
        0.0 if first_step is None else 1.0 * first_step, 1.0 * max_step,
    )  # fmt: skip
    if t_eval is not None:
        asked = np.asarray(t_eval) * 1.0
        sign = 1.0 if hs[0] > 0.0 else -1.0
        for j in range(asked.size):
            if sign * asked[j] < sign * t0 or sign * asked[j] > sign * t1:
                raise ValueError("Values in `t_eval` are not within `t_span`.")
            if j > 0 and not sign * (asked[j] - asked[j - 1]) > 0.0:
                raise ValueError("Values in `t_eval` are not properly sorted.")
        done = 0
        while done < asked.size and sign * asked[done] <= sign * reached[-1]:
            done += 1
        reached = asked[:done].copy()
        at = state_at(hs, times, ys, qs, reached)
    sol = Trajectory(hs, times, ys, qs, parts[0]) if dense_output else None
    return OdeResult(
        reached, np.transpose(rows(at, parts)[0]), 1 if stop >= 0 else 0, sol,
        None if events is None else list(t_events), None if events is None else list(y_events),
    )  # fmt: skip


@implements(scipy.integrate.odeint)
def odeint(
    func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None, tcrit=None,
    h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0, tfirst=False,
):  # fmt: skip
    """The solution of an initial value problem at the times t, one in each row."""
    parts = (started(y0),)
    ts = np.asarray(t) * 1.0
    start = stop_gradient(ts[0])
    point = (start, parts[0]) if tfirst else (parts[0], start)
    field, floats, others = closed(func, point, args, taken("LSODA", None))
    flows = functools.partial(flow if tfirst else turned, field)
    if stop_gradient(ts[-1]) == start:
        raise ValueError("odeint: the times are all the same")
    for i in range(1, ts.size):
        if (ts[i] - ts[i - 1]) * (ts[-1] - ts[0]) < 0.0:
            raise ValueError("odeint: the times must increase, or decrease")
    found = solved(
        "LSODA", flows, (), (), (), parts, ts[0], ts[-1], floats, others, (),
        1.49012e-8 if rtol is None else 1.0 * rtol,
        1.49012e-8 if atol is None else (1.0 * np.asarray(atol) if np.ndim(atol) > 0 else 1.0 * atol),
        1.0 * h0, 1.0 * hmax if hmax > 0.0 else np.inf,
    )  # fmt: skip
    hs, times, ys, qs = found[5:]
    at = state_at(hs, times, ys, qs, ts)
    at[0] = whole(parts)
    found = rows(at, parts)[0]
    return (found, Untold("the report of odeint")) if full_output else found


def turned(field, parts, more, floats, others):
    """The slope of a function that takes the state first."""
    found = field((*parts, more[0]), floats, others)
    return (np.atleast_1d(np.asarray(found)) * 1.0,)


STEPPERS = {"": "LSODA", "vode": "LSODA", "lsoda": "LSODA", "dopri5": "RK45", "dop853": "DOP853"}


@implements(scipy.integrate.ode)
class Ode:
    """A solution that is asked for one time after another.

    Each call of `integrate` is an initial value problem of its own, from the state that the object holds: nothing of a
    method's past steps is kept, and results differ from SciPy's within the tolerances.
    """

    stands_for = scipy.integrate.ode

    def __init__(self, f, jac=None):
        self.f, self.f_params = f, ()
        self.t, self.y = 0.0, np.zeros(1)
        self.set_integrator("")

    def set_integrator(
        self, name, method="adams", with_jacobian=False, rtol=1e-6, atol=1e-12, lband=None, uband=None, order=12,
        nsteps=500, max_step=0.0, min_step=0.0, first_step=0.0, max_order_ns=12, max_order_s=5, safety=0.9,
        ifactor=10.0, dfactor=0.2, beta=0.0, verbosity=-1,
    ):  # fmt: skip
        """Which method, and its tolerances."""
        if name not in STEPPERS:
            raise NotImplementedError(f"scipy.integrate.ode by {name!r}: 'vode', 'lsoda', 'dopri5' or 'dop853'")
        self.way = "BDF" if name == "vode" and method == "bdf" else STEPPERS[name]
        self.rtol, self.atol, self.max_step, self.first_step = rtol, atol, max_step, first_step
        return self

    def set_initial_value(self, y, t=0.0):
        """Where the solution begins."""
        self.y, self.t = np.atleast_1d(np.asarray(y)) * 1.0, t * 1.0
        return self

    def set_f_params(self, *args):
        """What the slope is given beside time and state."""
        self.f_params = args
        return self

    def set_jac_params(self, *args):
        """What a Jacobian would be given: it is the derivative of the slope here."""
        return self

    def integrate(self, t, step=False, relax=False):
        """Go to a time, and give the state there."""
        if step or relax:
            raise NotImplementedError("scipy.integrate.ode.integrate with step or relax: leave them out")
        if t != self.t:
            found = solve_ivp(
                self.f, (self.t, t), self.y, self.way, args=self.f_params, rtol=self.rtol, atol=self.atol,
                max_step=self.max_step if self.max_step > 0.0 else np.inf,
                first_step=self.first_step if self.first_step > 0.0 else None,
            )  # fmt: skip
            self.y, self.t = found.y[:, -1].copy(), t * 1.0
        return self.y

    def successful(self):
        """Whether all went well: a solution that fails raises."""
        return True


@implements(scipy.integrate.OdeSolution)
class Solution:
    """What a solution that SciPy found outside of a program is at times: polynomials between its steps."""

    stands_for = scipy.integrate.OdeSolution

    def __init__(self, ts, interpolants, alt_segment=False):
        raise NotImplementedError("OdeSolution(...) inside a program: make it outside, or use solve_ivp")

    @property
    def ts(self):
        """The times between the steps."""
        return self.times

    @property
    def t_min(self):
        """The earliest time."""
        return np.minimum(self.times[0], self.times[-1])

    @property
    def t_max(self):
        """The latest time."""
        return np.maximum(self.times[0], self.times[-1])

    def __call__(self, t):
        """Values, a column for each time."""
        t = as_float(np.asarray(t))
        if t.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        count, backwards = self.coefficients.shape[0], self.times[-1] < self.times[0]
        order = self.times[::-1] if backwards else self.times
        found = np.searchsorted(order, t, side=self.side) - 1
        step = np.minimum(np.maximum(found, 0), count - 1)
        step = np.where(backwards, count - 1 - step, step)
        away = (t - self.starts[step]) / self.units[step]
        held = self.coefficients[step]
        value = held[..., -1]
        for k in range(2, held.shape[-1] + 1):
            value = value * away[..., None] + held[..., -k]
        return np.transpose(value)
