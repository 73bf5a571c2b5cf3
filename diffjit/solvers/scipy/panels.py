"""Integrals over panels: Gauss's rule of 10 points and Kronrod's of 21, with panels halved where the error is large.

`integrand(x, p)` gives a number or a vector; `span` is `(kind, a, b)`: kind 0 from a to b, 1 from a up without end, -1
from b down without end, 2 over all numbers. Panels lie in a variable u from 0 to 1.

Where halving alone does not suffice, as beside an end where the integrand or its slope is infinite, u is a smooth step
between each two cuts: its ends are so flat that powers and logarithms of the distance to an end lose their sharpness.
`steps` is `(smooth, cuts)`.
Sources: Kronrod, Nodes and Weights of Quadrature Formulas (1965); Piessens et al., QUADPACK (1983), for the estimate of
an error and the transformation of infinite ranges.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.arithmetic import zmul


def rule():
    """Nodes from -1 to 0, Kronrod's weights, and Gauss's of every second node."""
    nodes = np.array((
        -0.99565716302580808073, -0.97390652851717172007, -0.93015749135570822600,
        -0.86506336668898451073, -0.78081772658641689706, -0.67940956829902440623,
        -0.56275713466860468333, -0.43339539412924719079, -0.29439286270146019813,
        -0.14887433898163121088, 0.0,
    ))  # fmt: skip
    weights = np.array((
        0.01169463886737187427, 0.03255816230796472747, 0.05475589657435199603,
        0.07503967481091995276, 0.09312545458369760553, 0.10938715880229764189,
        0.12349197626206585107, 0.13470921731147332592, 0.14277593857706008079,
        0.14773910490133849137, 0.14944555400291690566,
    ))  # fmt: skip
    gauss = np.array((
        0.0, 0.06667134430868813759, 0.0, 0.14945134915058059314, 0.0,
        0.21908636251598204399, 0.0, 0.26926671930999635509, 0.0,
        0.29552422471475287017, 0.0,
    ))  # fmt: skip
    return nodes, weights, gauss


def placed(span, steps, s):
    """A place in the integrand's own variable, the width it stands for, and what rounding leaves of its distance."""
    kind, a, b = span
    smooth, cuts = steps
    u, slope = s, 1.0
    if smooth:
        k = 0
        while k < cuts.size - 2 and s >= cuts[k + 1]:
            k += 1
        wide = cuts[k + 1] - cuts[k]
        t = (s - cuts[k]) / wide
        near = np.minimum(t, 1.0 - t)
        share = wide * near**4 * (35.0 - near * (84.0 - near * (70.0 - 20.0 * near)))
        u = cuts[k] + share if t <= 0.5 else cuts[k + 1] - share
        slope = 140.0 * (near * (1.0 - near)) ** 3
    v = 1.0 - u
    if kind == 0:
        away, width, end = (b - a) * np.minimum(u, v), b - a, (a if u <= v else b)
        x = a + width * u
        rounded = np.maximum(np.abs(x), np.abs(end))
    else:
        away, width, end = u / v, 1.0 / (v * v), (b if kind == -1 else a)
        x = end - away if kind == -1 else end + away
        rounded = np.abs(end)
    if smooth and kind < 2 and x == end:
        return x, 0.0, 0.0  # rounding leaves nothing of the distance; what is seen a little further away tells how much
    return x, slope * width, 1e-15 * rounded / away


def at(integrand, kind, x, width, p):
    """The integrand in the variable of the panels."""
    found = zmul(width, integrand(x, p))
    if kind == 2:
        found = found + zmul(width, integrand(-x, p))
    return found


def panel(integrand, span, steps, low, high, formula, p, like):
    """A panel's integral, the estimate of its error, and what rounding leaves of that, element by element."""
    nodes, weights, gauss = formula
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    seen, doubt = np.zeros((21, *np.shape(like))), 0.0 * like
    for k in range(21):
        x, width, rounded = placed(span, steps, middle + half * (nodes[k] if k < 11 else -nodes[20 - k]))
        seen[k] = at(integrand, span[0], x, width, p)
        doubt = doubt + weights[k if k < 11 else 20 - k] * rounded * np.abs(seen[k])
    kronrod, other, size, spread = 0.0 * like, 0.0 * like, 0.0 * like, 0.0 * like
    for k in range(21):
        j = k if k < 11 else 20 - k
        kronrod = kronrod + weights[j] * seen[k]
        other = other + gauss[j] * seen[k]
        size = size + weights[j] * np.abs(seen[k])
    for k in range(21):
        spread = spread + weights[k if k < 11 else 20 - k] * np.abs(seen[k] - 0.5 * kronrod)
    size, spread = half * size, half * spread
    error = np.abs(half * (kronrod - other))
    rough = (spread > 0.0) & (error > 0.0)
    share = 200.0 * error / np.where(rough, spread, 1.0)
    error = np.where(rough, spread * np.minimum(1.0, share * np.sqrt(share)), error)
    if steps[0]:  # the integrand is sharp beside an end
        error = np.maximum(error, half * doubt)
    least = 50.0 * 2.220446049250313e-16 * size
    return half * kronrod, np.maximum(error, least), least


def refined(integrand, span, cuts, numbers, p, shape):
    """Panels that are fine enough: how many, their ends, their variable, the integral, and the estimate of its error.

    The first attempt ends where a panel beside an end has become narrow; the last one has all panels that are allowed.
    """
    most = numbers[2] + cuts.size - 1
    lows, highs = np.zeros(most), np.zeros(most)
    parts, errors, leasts = np.zeros((most, *shape)), np.zeros((most, *shape)), np.zeros((most, *shape))
    kept = (lows, highs, parts, errors, leasts)
    count, met, smooth = 0, False, False
    total, gap = np.zeros(shape), np.zeros(shape)
    for attempt in range(3):
        smooth = attempt == 1
        narrow = 1e-4 if attempt == 0 else 0.0
        count, met, total, gap = halved(integrand, span, (smooth, cuts), numbers, p, kept, narrow)
        if met:
            break
    if not met:
        raise RuntimeError(
            "the integral did not converge: it diverges, or the function is not finite or has a singularity inside, "
            "or is infinite at a limit that moves (integrate over u from 0 to 1, with x = a + (b - a) * u)"
        )
    return count, lows, highs, smooth, total, gap


def halved(integrand, span, steps, numbers, p, kept, narrow):
    """Halve panels where the error is largest; how many there are, whether they suffice, the integral and its error."""
    lows, highs, parts, errors, leasts = kept
    cuts = steps[1]
    formula = rule()
    first = cuts.size - 1
    count, where = 0, 0
    low, high, end = cuts[0], cuts[1], cuts[1]
    other = False
    while True:
        lows[where], highs[where] = low, high
        parts[where], errors[where], leasts[where] = panel(integrand, span, steps, low, high, formula, p, parts[where])
        count = max(count, where + 1)
        if count < first:  # the panels to begin with
            low, high, where = cuts[count], cuts[count + 1], count
            continue
        if other:  # the other half
            low, high, where, other = high, end, count, False
            continue
        total, gap = np.sum(parts[:count], axis=0), np.sum(errors[:count], axis=0)
        wanted = np.maximum(np.maximum(numbers[0], numbers[1] * np.abs(total)), 2.0 * np.sum(leasts[:count], axis=0))
        met = np.all(gap <= wanted)
        if met or count >= lows.size:
            break
        worst = -1.0
        for k in range(count):
            share = np.max(errors[k] / np.maximum(wanted, 1e-300))
            if share > worst:
                worst, where = share, k
        low, end = lows[where], highs[where]
        high, other = 0.5 * (low + end), True
        if end - low < narrow and np.any((cuts == low) | (cuts == end)):
            break
        if not (low < high < end and worst < np.inf):
            break
    return count, met, total, gap


def summed(integrand, span, pieces, panels, p, like):
    """The integral over given panels, each in so many pieces: a plain sum, to be differentiated."""
    count, lows, highs, steps = panels
    nodes, weights, _ = rule()
    total = 0.0 * like
    for i in range(pieces * count):
        width = (highs[i // pieces] - lows[i // pieces]) / pieces
        low = lows[i // pieces] + width * (i % pieces)
        for k in range(21):
            j = k if k < 11 else 20 - k
            place = 1.0 + (nodes[j] if k < 11 else -nodes[j])
            x, wide, _ = placed(span, steps, low + 0.5 * width * place)
            total = total + 0.5 * width * weights[j] * at(integrand, span[0], x, wide, p)
    return total
