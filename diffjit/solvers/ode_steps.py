"""Steps of a solution, their dense output, and the control of their size: read by the frontend.

`method` is "dopri5", the explicit steps of Dormand and Prince that stand here, or "rodas5p" (`solvers.ode_rosenbrock`).

The slope of a state is `slope(y, t, args)`, with the state as one vector.
Sources: Dormand and Prince, J. Comput. Appl. Math. 6 (1980); Hairer, Norsett and Wanner, Solving Ordinary Differential
Equations I, II.4-6 (the size of the first step, step control, dense output); Gustafsson, ACM TOMS 17 (1991) (PI
control).
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from diffjit.api.functions import stop_gradient
from diffjit.solvers import ode_rosenbrock


def like(y, v):
    """The value with the type of another one: its lengths are known to be the same."""
    out = np.zeros_like(y)
    out[...] = v
    return out


def stages(slope, h, y, t, k1, args):
    """The new state, and the slopes that the interpolant and the estimate of the error use."""
    k2 = slope(y + (h * (1 / 5)) * k1, t + h * (1 / 5), args)
    k3 = slope(y + h * (3 / 40 * k1 + 9 / 40 * k2), t + h * (3 / 10), args)
    k4 = slope(y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3), t + h * (4 / 5), args)
    k5 = slope(
        y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4), t + h * (8 / 9), args
    )
    last = y + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5)
    k6 = slope(last, t + h, args)
    new = y + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
    k7 = slope(new, t + h, args)
    return new, last, k3, k4, k5, k6, k7


def interpolant(k1, k3, k4, k5, k6, k7):
    """The coefficients of the powers of theta in `(y(t + theta h) - y) / (theta h)`: an interpolant of order 4."""
    q1 = (
        -8048581381 / 2820520608 * k1
        + 131558114200 / 32700410799 * k3
        - 1754552775 / 470086768 * k4
        + 127303824393 / 49829197408 * k5
        - 282668133 / 205662961 * k6
        + 40617522 / 29380423 * k7
    )
    q2 = (
        8663915743 / 2820520608 * k1
        - 68118460800 / 10900136933 * k3
        + 14199869525 / 1410260304 * k4
        - 318862633887 / 49829197408 * k5
        + 2019193451 / 616988883 * k6
        - 110615467 / 29380423 * k7
    )
    q3 = (
        -12715105075 / 11282082432 * k1
        + 87487479700 / 32700410799 * k3
        - 10690763975 / 1880347072 * k4
        + 701980252875 / 199316789632 * k5
        - 1453857185 / 822651844 * k6
        + 69997945 / 29380423 * k7
    )
    return k1, q1, q2, q3


def error_of(h, k1, k3, k4, k5, k6, k7):
    """The estimated error of a step."""
    return h * (71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5 + 22 / 525 * k6 - 1 / 40 * k7)


def advanced(method, slope, h, y, t, k1, args):
    """A step: the new state, the slope there, the estimated error, and what else `inner` and `bound` use."""
    if method == "rodas5p":
        new, gap, made = ode_rosenbrock.stages(slope, h, y, t, k1, args)
        new = like(y, new)
        return new, like(y, slope(new, t + h, args)), gap, made
    new, last, k3, k4, k5, k6, k7 = stages(slope, h, y, t, k1, args)
    return new, k7, error_of(h, k1, k3, k4, k5, k6, k7), (last, k3, k4, k5, k6)


def inner(method, h, y, new, k1, ahead, made):
    """The interpolant of a step, for `between`."""
    if method == "rodas5p":
        return ode_rosenbrock.interpolant(h, y, new, made)
    return interpolant(k1, made[1], made[2], made[3], made[4], ahead)


def bound(method, new, ahead, made, hmax):
    """How long the next step may be: an explicit one must damp what decays."""
    if method == "rodas5p":
        return hmax
    return longest(made[0], new, made[4], ahead, hmax)


def norm(gap, y, new, rtol, atol):
    """The root mean square of a difference, in units of what is tolerated."""
    return np.sqrt(np.mean((gap / (atol + rtol * np.maximum(np.abs(y), np.abs(new)))) ** 2))


def first_step(slope, y, t, k1, span, args, rtol, atol, hmax):
    """A size for the first step: a hundredth of the state's change by Euler's method, then by its second derivative."""
    most = min(abs(span), hmax)
    d0, d1 = norm(y, y, y, rtol, atol), norm(k1, y, y, rtol, atol)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h = min(h, most)
    sign = 1.0 if span > 0.0 else -1.0
    ahead = slope(y + (sign * h) * k1, t + sign * h, args)
    steep = max(d1, norm(ahead - k1, y, y, rtol, atol) / h)
    longer = (0.01 / steep) ** 0.2 if steep > 1e-15 else max(1e-6, 1e-3 * h)
    h = min(100.0 * h, longer, most)
    if not (h > 0.0 and d1 < np.inf):
        raise RuntimeError("odeint: the slope at the start is not finite")
    return sign * h


def factor(error, before, rejected):
    """What the size of the next step is multiplied by: PI control, after Gustafsson."""
    if not error < np.inf:
        return 0.2
    if error > 1.0:
        return max(0.2, 0.9 * error**-0.2)
    grow = min(10.0, 0.9 * max(error, 1e-10) ** -0.17 * max(before, 1e-4) ** 0.04)
    return min(1.0, grow) if rejected else grow


def longest(last, new, k6, k7, hmax):
    """The longest step that damps what decays: the stability of the method ends where h times a rate of decay is 3.3.

    The rate is estimated from two states at the same time (Hairer and Wanner, Solving Ordinary Differential Equations
    II, IV.2). The control of errors would keep a stiff solution in check where single steps amplify; with sizes of
    steps held constant, its derivative would grow without bounds.
    """
    gap, change = np.sum((new - last) ** 2), np.sum((k7 - k6) ** 2)
    if not change * hmax**2 > 9.0 * gap:
        return hmax
    return 3.0 * np.sqrt(gap / change) if gap > 0.0 else hmax


def guarded(h, t, span, count, limit):
    """Raise where steps become too small or too many."""
    if not abs(h) > 8.0 * 2.220446049250313e-16 * max(abs(t), 1e-3 * abs(span)):
        raise RuntimeError("odeint: steps have become too small: the solution is not finite there, or its slope jumps")
    if count >= limit:
        raise RuntimeError(
            "odeint: mxstep steps do not reach the end: raise it, or tolerances; stiff equations need 'rodas5p'"
        )
    return h


def between(y, h, theta, q):
    """The solution inside a step."""
    return y + (h * theta) * (q[0] + theta * (q[1] + theta * (q[2] + theta * q[3])))


def solution_at(method, slope, y0, ts, args, rtol, atol, hmax, limit):
    """The solution at all times, from step to step: nothing else is kept. Sizes of steps have no derivative."""
    out = np.empty((ts.size, y0.size), y0.dtype)
    out[0] = y0
    if ts.size == 1:
        return out
    t, end = ts[0], ts[-1]
    span = stop_gradient(end - t)
    y = y0
    k1 = like(y, slope(y, t, args))
    h = stop_gradient(first_step(slope, y, t, k1, span, args, rtol, atol, hmax))
    done, count, before, rejected, most = 1, 0, 1.0, False, hmax
    while done < ts.size:
        last = not abs(h) < abs(end - t) * (1.0 - 1e-12)
        h = float(stop_gradient(guarded(end - t if last else h, t, span, count, limit)))
        count += 1
        new, ahead, gap, made = advanced(method, slope, h, y, t, k1, args)
        error = stop_gradient(norm(gap, y, new, rtol, atol))
        scale = factor(error, before, rejected)
        rejected = not error <= 1.0
        if not rejected:
            q = inner(method, h, y, new, k1, ahead, made)
            while done < ts.size and (last or abs(ts[done] - t) <= abs(h)):
                out[done] = between(y, h, (ts[done] - t) / h, q)
                done += 1
            most = stop_gradient(bound(method, new, ahead, made, hmax))
            t, y, k1, before = t + h, new, ahead, error
        h = stop_gradient(min(abs(h * scale), most) * (1.0 if span > 0.0 else -1.0))
    return out


def state_at(hs, times, ys, qs, ts):
    """The states at times inside the steps."""
    out = np.empty((ts.size, ys.shape[1]), ys.dtype)
    sign = 1.0 if hs[0] > 0.0 else -1.0
    for j in range(ts.size):
        i = max(0, min(np.searchsorted(sign * times, sign * ts[j], side="left") - 1, hs.size - 1))
        out[j] = between(ys[i], hs[i], (ts[j] - times[i]) / hs[i], qs[i])
    return out
