"""The steps that `solve_ivp` takes, and what happens in them: read by the frontend.

RK45 is the method of Dormand and Prince with the control of steps that SciPy's documentation names, so that steps are
those of SciPy; where its stability ends they are kept shorter (`ode_steps.longest`), as the derivative of steps of
fixed sizes would grow there. Other methods stand for what they promise, an error within the tolerances.
Sources: as in `ode_steps`; Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import numpy as np

from diffjit.solvers.ode_solvers import height, located
from diffjit.solvers.ode_steps import advanced, bound, first_step, inner, like, norm


def factor(error, rejected):
    """What the size of the next step is multiplied by."""
    if not error < np.inf:
        return 0.2
    if error >= 1.0:
        return max(0.2, 0.9 * error**-0.2)
    grow = 10.0 if error == 0.0 else min(10.0, 0.9 * error**-0.2)
    return min(1.0, grow) if rejected else grow


def happens(before, after, way):
    """Whether an event function changes its sign in a step; one that starts at zero does, as in SciPy."""
    if not (abs(before) < np.inf and abs(after) < np.inf):
        raise RuntimeError("solve_ivp: an event function is not finite")
    return (way >= 0.0 and before <= 0.0 and after >= 0.0) or (way <= 0.0 and before >= 0.0 and after <= 0.0)


def guarded(h, t, span, count):
    """Raise where steps become too small or too many: SciPy gives up then, and so does the derivative."""
    if not abs(h) > 8.0 * 2.220446049250313e-16 * max(abs(t), 1e-3 * abs(span)):
        raise RuntimeError(
            "the steps have become too small: the solution is not finite there, or its slope jumps, or it is stiff"
        )
    if count > 10_000_000:
        raise RuntimeError("ten million steps do not reach the end: a stiff equation needs Radau, BDF or LSODA")
    return h


def mesh(method, slope, events, stops, ways, y0, t0, t1, args, gs, rtol, atol, first, hmax, patience):
    """The sizes of the steps; which events are in them, and where; the event that ends it; whether it is stiff.

    stops     how often an event may happen until it ends the integration, 0 where it does not
    patience  after so many steps that only stability keeps short, give up and say that the equation is stiff
    """
    forms = args[0]
    hs, hit_event, hit_step, hit_theta = [], [], [], []
    t, y, span = t0, y0, t1 - t0
    sign = 1.0 if span > 0.0 else -1.0
    k1 = like(y, slope(y, t, args))
    h = first_step(slope, y, t, k1, span, args, rtol, atol, hmax)
    if first > 0.0:
        h = sign * min(first, abs(span))
    old = np.array([height(e, y, t, forms, g) for e, g in zip(events, gs)] + [0.0])  # noqa: B905
    left = np.array([*stops, 0])
    count, short, rejected, last, stop, most = 0, 0, False, False, -1, hmax
    stiff = False
    while not stiff and (rejected or not (last or stop >= 0)):
        last = not abs(h) < abs(t1 - t) * (1.0 - 1e-12)
        h = float(guarded(t1 - t if last else h, t, span, count))
        count += 1
        new, ahead, gap, made = advanced(method, slope, h, y, t, k1, args)
        error = norm(gap, y, new, rtol, atol)
        scale = factor(error, rejected)
        rejected = not error < 1.0
        if not rejected:
            q = inner(method, h, y, new, k1, ahead, made)
            now = np.array([height(e, new, t + h, forms, g) for e, g in zip(events, gs)] + [0.0])  # noqa: B905
            thetas = np.full(now.size, 2.0)
            end = 1.0
            for k, (e, g, way) in enumerate(zip(events, gs, ways)):  # noqa: B905
                if happens(old[k], now[k], way):
                    thetas[k] = 0.0 if old[k] == 0.0 else located(e, h, y, q, t, forms, g, old[k])
                    if left[k] > 0:
                        left[k] -= 1
                        if left[k] == 0 and (stop < 0 or thetas[k] < end):
                            end, stop = thetas[k], k
            for k in range(now.size):
                if thetas[k] <= end:
                    hit_event.append(k)
                    hit_step.append(len(hs))
                    hit_theta.append(thetas[k])
            hs.append(h)
            most = bound(method, new, ahead, made, hmax)
            if most < abs(h * scale) and most < hmax:
                short += 1
                stiff = short > patience
            t, y, k1, old = t + h, new, ahead, now
        h = min(abs(h * scale), most) * sign
    return np.array(hs), np.array(hit_event), np.array(hit_step), np.array(hit_theta), stop, stiff
