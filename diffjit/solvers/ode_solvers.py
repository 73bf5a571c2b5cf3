"""The solvers behind `diffjit.solvers.ode`: plain Python, read by the frontend.

`field(parts, t, floats, others)` is the user's function with a state in parts and flat arguments, `events` are others.
Sizes of steps are constants to a derivative: which steps are taken is found without one.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# ruff: noqa: ANN001, ANN201, ANN202, ARG001, D103

from __future__ import annotations

import functools

import numpy as np

from diffjit.api.custom import custom_jvp
from diffjit.api.functions import stop_gradient
from diffjit.api.products import jvp, vjp
from diffjit.solvers.ode_steps import (
    advanced,
    between,
    bound,
    factor,
    first_step,
    guarded,
    inner,
    like,
    norm,
    solution_at,
    state_at,
)
from diffjit.solvers.vectors import packed, rows, span, stored, unpacked, whole


def slope_of(field, y, t, args):
    forms, floats, others = args
    return packed(field(unpacked(y, forms), (t,), floats, others), forms, y)


def checked(ts):
    """Times in strict order."""
    if ts.size == 0:
        raise ValueError("odeint: there are no times")
    for i in range(1, ts.size):
        if not (ts[i] - ts[i - 1]) * (ts[-1] - ts[0]) > 0.0:
            raise ValueError("odeint: the times must increase strictly, or decrease strictly")
    return ts


# Values at times ------------------------------------------------------------------------------------------------------


def discrete(method, field, parts, ts, floats, others, rtol, atol, hmax, limit):
    slope, args = functools.partial(slope_of, field), (parts, floats, others)
    ys = solution_at(method, slope, whole(parts), checked(ts), args, rtol, atol, hmax, limit)
    return rows(ys, parts)


def continuous(method, field, parts, ts, floats, others, rtol, atol, hmax, limit):
    forms = stop_gradient(parts)
    ys = ADJOINT(method, field, whole(parts), checked(ts), forms, floats, others, rtol, atol, hmax, limit)
    return rows(ys, parts)


def by_adjoint(method, field, y0, ts, forms, floats, others, rtol, atol, hmax, limit):
    slope = functools.partial(slope_of, field)
    return solution_at(method, slope, y0, ts, (forms, floats, others), rtol, atol, hmax, limit)


ADJOINT = custom_jvp(by_adjoint, nondiff_argnums=(0, 1))


@ADJOINT.defjvp
def adjoint_jvp(method, field, primals, tangents):
    y0, ts, forms, floats, others, rtol, atol, hmax, limit = primals

    def run(y0, ts, floats):
        return by_adjoint(method, field, y0, ts, forms, floats, others, rtol, atol, hmax, limit)

    return jvp(run, (y0, ts, floats), (tangents[0], tangents[1], tangents[3]))


def adjoint_forward(method, field, y0, ts, forms, floats, others, rtol, atol, hmax, limit):
    ys = ADJOINT(method, field, y0, ts, forms, floats, others, rtol, atol, hmax, limit)
    return ys, (ys, ts, forms, floats, others, rtol, atol, hmax, limit)


def adjoint_slope(field, z, t, args):
    """The slopes of state, adjoint, and cotangents of the arguments, one after another."""
    forms, floats, others, y0 = args
    n = y0.size
    y, a = like(y0, z[:n]), like(y0, z[n : 2 * n])
    value, back = vjp(lambda y, *u: slope_of(field, y, t, (forms, u, others)), y, *floats)
    bars = back(a)
    out = np.zeros_like(z)
    out[:n] = value
    at = n
    for bar in bars:
        at = stored(out, at, -bar)
    return out


def adjoint_backward(method, field, kept, ys_bar):
    """Pontryagin's adjoint equation, backwards from time to time; the state starts anew at each of them."""
    ys, ts, forms, floats, others, rtol, atol, hmax, limit = kept
    n = ys.shape[1]
    size = 2 * n + span(floats)
    slope = functools.partial(adjoint_slope, field)
    z = np.zeros(size, ys.dtype)
    ts_bar = np.zeros_like(ts)
    for i in range(ts.size - 1, 0, -1):
        y = ys[i].copy()
        bar = ys_bar[i].copy()
        ts_bar[i] = np.sum(bar * slope_of(field, y, ts[i], (forms, floats, others)))
        start = z.copy()
        start[:n] = y
        start[n : 2 * n] += bar
        piece = np.array([ts[i], ts[i - 1]])
        z = solution_at(method, slope, start, piece, (forms, floats, others, y), rtol, atol, hmax, limit)[1].copy()
    a = z[n : 2 * n].copy()
    y0 = ys[0].copy()
    if ts.size > 1:
        ts_bar[0] -= np.sum(a * slope_of(field, y0, ts[0], (forms, floats, others)))
    bars = unpacked(z[2 * n :].copy(), floats) if len(floats) else ()
    return a + ys_bar[0], ts_bar, None, bars, None, None, None, None, None


ADJOINT.defvjp(adjoint_forward, adjoint_backward)
ADJOINT.trusted = True  # tangents pass through derivatives alone

# Solutions with events, at any time -----------------------------------------------------------------------------------


def height(event, y, t, forms, g):
    """An event function, which is zero at the event."""
    return event(unpacked(y, forms), (t,), g[0], g[1])


def crossed(before, after, way):
    """Whether a function changes its sign in a step; one that starts at zero does not."""
    if not (abs(before) < np.inf and abs(after) < np.inf):
        raise RuntimeError("odeint: an event function is not finite")
    return (way >= 0 and before < 0.0 and after >= 0.0) or (way <= 0 and before > 0.0 and after <= 0.0)


def located(event, h, y, q, t, forms, g, before):
    """Where in a step an event is, by bisection: to rounding, wherever the sign changes."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        found = height(event, between(y, h, middle, q), t + middle * h, forms, g)
        if (found > 0.0) == (before > 0.0) and found != 0.0:
            low = middle
        else:
            high = middle
    return high


def mesh(method, field, events, stops, ways, y0, t0, t1, args, gs, rtol, atol, hmax, limit):
    """The sizes of the steps, and in which of them and where each event is."""
    slope = functools.partial(slope_of, field)
    forms = args[0]
    hs, hit_event, hit_step, hit_theta = [], [], [], []
    t, y, span = t0, y0, t1 - t0
    k1 = like(y, slope(y, t, args))
    h = first_step(slope, y, t, k1, span, args, rtol, atol, hmax)
    old = np.array([height(e, y, t, forms, g) for e, g in zip(events, gs)] + [0.0])  # noqa: B905
    count, before, rejected, last, stop, most = 0, 1.0, False, False, -1, hmax
    while rejected or not (last or stop >= 0):
        last = not abs(h) < abs(t1 - t) * (1.0 - 1e-12)
        h = float(guarded(t1 - t if last else h, t, span, count, limit))
        count += 1
        new, ahead, gap, made = advanced(method, slope, h, y, t, k1, args)
        error = norm(gap, y, new, rtol, atol)
        scale = factor(error, before, rejected)
        rejected = not error <= 1.0
        if not rejected:
            q = inner(method, h, y, new, k1, ahead, made)
            now = np.array([height(e, new, t + h, forms, g) for e, g in zip(events, gs)] + [0.0])  # noqa: B905
            thetas = np.full(now.size, 2.0)
            first = 1.0
            for k, (e, g, ends, way) in enumerate(zip(events, gs, stops, ways)):  # noqa: B905
                if crossed(old[k], now[k], way):
                    thetas[k] = located(e, h, y, q, t, forms, g, old[k])
                    if ends and (stop < 0 or thetas[k] < first):
                        first, stop = thetas[k], k
            for k in range(now.size):
                if thetas[k] <= first:
                    hit_event.append(k)
                    hit_step.append(len(hs))
                    hit_theta.append(thetas[k])
            hs.append(h)
            most = bound(method, new, ahead, made, hmax)
            t, y, k1, before, old = t + h, new, ahead, error, now
        h = min(abs(h * scale), most) * (1.0 if span > 0.0 else -1.0)
    return np.array(hs), np.array(hit_event), np.array(hit_step), np.array(hit_theta), stop


def replayed(method, slope, hs, y0, t0, args):
    """The steps of these sizes: times, states, interpolants."""
    m, n = hs.size, y0.size
    times, ys, qs = np.empty(m + 1), np.empty((m + 1, n), y0.dtype), np.empty((m, 4, n), y0.dtype)
    times[0], ys[0] = t0, y0
    t, y = t0, y0
    k1 = like(y, slope(y, t, args))
    for i in range(m):
        h = float(hs[i])
        new, ahead, _, made = advanced(method, slope, h, y, t, k1, args)
        qs[i, 0], qs[i, 1], qs[i, 2], qs[i, 3] = inner(method, h, y, new, k1, ahead, made)
        t, y, k1 = t + h, new, ahead
        times[i + 1], ys[i + 1] = t, y
    return times, ys, qs


def inside(slope, since, h, y, q, t, args):
    return between(y, h, since / h, q)


INSIDE = custom_jvp(inside, nondiff_argnums=(0,))


@INSIDE.defjvp
def inside_jvp(slope, primals, tangents):
    """A state changes with its time by the slope: the interpolant's own derivatives lose an order each time."""
    since, h, y, q, t, args = primals
    found = INSIDE(slope, *primals)
    moved = jvp(lambda y, q: between(y, h, since / h, q), (y, q), (tangents[2], tangents[3]))[1]
    return found, moved + tangents[0] * slope(found, t + since, args)


def at_time(method, slope, since, h, y, q, t, args):
    """The state so long after the start of a step.

    Where an equation is stiff, its slope magnifies the error of a state: the interpolant's own derivative is better.
    """
    if method == "rodas5p":
        return between(y, h, since / h, q)
    return INSIDE(slope, since, h, y, q, t, args)


def over_zero(method, event, slope, since, h, y, q, t, args, g):
    """An event function on the solution, so long after the start of a step."""
    return height(event, at_time(method, slope, since, h, y, q, t, args), t + since, args[0], g)


def found_zero(method, event, slope, since, h, y, q, t, args, g):
    return since


ZERO = custom_jvp(found_zero, nondiff_argnums=(0, 1, 2))


@ZERO.defjvp
def zero_jvp(method, event, slope, primals, tangents):
    """The implicit function theorem: how long after the start of its step an event is."""
    _, h, y, q, t, args, g = primals
    since = ZERO(method, event, slope, *primals)
    rate = jvp(lambda s: over_zero(method, event, slope, s, h, y, q, t, args, g), (since,), (1.0,))[1]
    if not abs(rate) > 0.0:
        raise RuntimeError("odeint: an event function touches zero without crossing it: the event has no derivative")

    def at_rest(y, q, t, args, g):
        return over_zero(method, event, slope, since, h, y, q, t, args, g)

    moved = jvp(at_rest, (y, q, t, args, g), tangents[2:])[1]
    return since, -moved / rate


INSIDE.trusted = ZERO.trusted = True


def event_times(method, event, which, slope, hits, solution, args, g):
    """The times of one event, and the states there."""
    (kinds, steps, thetas), (hs, times, ys, qs) = hits, solution
    n = 0
    for kind in kinds:
        n += kind == which
    found, states = np.empty(n), np.empty((n, ys.shape[1]), ys.dtype)
    n = 0
    for j in range(kinds.size):
        if kinds[j] == which:
            i = steps[j]
            h, y, q, t = hs[i], ys[i].copy(), qs[i].copy(), times[i]
            since = ZERO(method, event, slope, thetas[j] * h, h, y, q, t, args, g)
            found[n] = t + since
            states[n] = at_time(method, slope, since, h, y, q, t, args)
            n += 1
    return found, states


def solved(method, field, events, stops, ways, parts, ts, floats, others, gs, rtol, atol, hmax, limit):
    """All that a solution is made of."""
    if checked(ts).size < 2:
        raise ValueError("odeint: dense output and events need two times at least")
    y0 = whole(parts)
    fixed = stop_gradient((parts, floats, others))
    hs, kinds, steps, thetas, stop = stop_gradient(
        mesh(
            method, field, events, stops, ways, stop_gradient(y0), stop_gradient(ts[0]), stop_gradient(ts[-1]), fixed,
            stop_gradient(gs), rtol, atol, hmax, limit,
        )
    )  # fmt: skip
    slope, args = functools.partial(slope_of, field), (parts, floats, others)
    times, ys, qs = replayed(method, slope, hs, y0, ts[0], args)
    t_end = ts[-1]
    end = state_at(hs, times, ys, qs, ts[-1:])[0].copy()
    t_events, y_events = [], []
    for k, (event, g) in enumerate(zip(events, gs)):  # noqa: B905
        found, states = event_times(method, event, k, slope, (kinds, steps, thetas), (hs, times, ys, qs), args, g)
        t_events.append(found)
        y_events.append(rows(states, parts))
        if stop == k:
            t_end, end = found[-1], states[-1].copy()
    done = 1
    while done < ts.size and abs(ts[done] - ts[0]) <= abs(t_end - ts[0]):
        done += 1
    reached = ts[:done].copy()
    at = state_at(hs, times, ys, qs, reached)
    at[0] = y0
    return (
        reached, rows(at, parts), t_end, unpacked(end, parts), stop, tuple(t_events), tuple(y_events), hs, times, ys,
        qs,
    )  # fmt: skip
