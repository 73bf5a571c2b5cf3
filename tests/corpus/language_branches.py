"""Choices: if/elif/else, conditional expressions, and/or/not as values, chained comparisons, match, None defaults."""

import math

import numpy as np

from .registry import program


@program(args=lambda: (np.array([-2.0, -0.4, 0.3, 1.7, 5.0]),), wrt=("x",), tags=("language",))
def if_elif_else(x):
    """Four ways through a branch, each with its own formula, taken at run time."""
    total = 0.0
    for v in x:
        if v < -1.0:
            total += v * v
        elif v < 0.0:
            total -= math.exp(v) * total
        elif v < 2.0:
            total += math.sin(v) * v
        else:
            total = total * v + math.log(v)
    return total


@program(args=lambda: (0.4, 1.5), wrt=("x", "y"), tags=("language",))
def branch_rebinds_several_names(x, y):
    """Both names are exchanged in one branch and one of them left alone in the other."""
    for k in range(4):
        if x < y:
            x, y = y * 0.9, x + 0.1 * k
        else:
            y = x * y
    return x - y * y


@program(args=lambda: (0.4, 1.5), wrt=("x", "y"), tags=("language",))
def branch_binds_new_names(x, y):
    """Names that are born inside both branches, with different histories, and used after them."""
    if x * y > 1.0:
        area = x * y
        rim = 2.0 * (x + y)
    else:
        rim = 2.0 * math.hypot(x, y)
        area = rim * rim
    return area / rim


@program(args=lambda: (np.array([0.5, -1.5, 2.5]), 0.8), wrt=("x", "a"), tags=("language",))
def conditional_expressions(x, a):
    """Nested conditional expressions; the other side would fail if it were evaluated."""
    total = 0.0
    for v in x:
        root = math.sqrt(v) if v > 0.0 else (a / v if v < -1.0 else 0.0)
        total += root * a if a > 0.5 else root
    return total


@program(args=lambda: (0.0, 1.3, 0.7), wrt=("b", "c"), tags=("language",))
def and_or_give_values(a, b, c):
    """`or` gives the first true value, `and` the first false one: values, not flags."""
    first = a or b or c
    second = b and c
    third = b > 5.0 and b or c * b
    return first * first + 3.0 * second + third * ((a and b) + c)


@program(args=lambda: (1.3, np.array([0.2, -0.6, 1.1])), wrt=("a", "x"), tags=("language",))
def short_circuit_guards_an_index(a, x):
    """The right side of `and` and `or` must not run when the left side settles it."""
    i = 0
    while i < x.size and x[i] < 1.0:
        a = a * (1.0 + x[i])
        i += 1
    j = x.size
    if j >= x.size or x[j] > 0.0:
        a = a + x[j - 1] * x[i]
    return a if not (i == 0 or x[i - 1] > 2.0) else 0.0 * a


@program(args=lambda: (np.array([-0.5, 0.25, 0.5, 0.75, 1.5]),), wrt=("x",), tags=("language",))
def chained_comparisons(x):
    """`a < b <= c`, also with three links and with a call in the middle."""
    total = 0.0
    for v in x:
        if 0.0 <= v < 0.6:
            total += v * v * v
        if -1.0 < v < math.cos(v) < 0.95:
            total *= 1.0 + v
        if not 0.0 < v < 1.0 != 2.0:
            total += math.exp(v)
    return total


@program(args=lambda: (0.8, 1.9, 3), wrt=("x", "y"), tags=("language",))
def match_on_numbers(x, y, n):
    """`match` with literals, alternatives, guards and a wildcard."""
    for k in range(n + 3):
        match k:
            case 0:
                x = x + y
            case 1 | 4:
                x = x * y
            case _ if x > 2.0:
                x = math.log(x) * k
            case _:
                x = x - y / k
    return x


@program(args=lambda: (0.8, 1.9), wrt=("x", "y"), tags=("language",))
def match_on_strings(x, y):
    """`match` on a static string picks the operation."""

    def apply(kind, a, b):
        match kind:
            case "add":
                return a + b
            case "mul" | "times":
                return a * b
            case other:
                return a - b * len(other)

    for kind in ("add", "times", "minus", "mul"):
        x = apply(kind, x, y)
    return x


@program(args=lambda: (0.8, 1.9), wrt=("x", "y"), tags=("language",))
def match_on_containers(x, y):
    """`match` on tuples, lists and dicts binds their parts."""

    def area(shape):
        match shape:
            case ("circle", r):
                return math.pi * r * r
            case ("box", a, b) if a is not None:
                return a * b
            case ["line", *points]:
                return 0.01 * len(points) * points[-1]
            case {"kind": "ring", "inner": inner, "outer": outer}:
                return math.pi * (outer * outer - inner * inner)
        return 0.0

    shapes = [("circle", x), ("box", x, y), ["line", 1.0, y, x], {"kind": "ring", "inner": x, "outer": y}]
    total = 0.0
    for shape in shapes:
        total = total * 0.5 + area(shape)
    return total


@program(args=lambda: (np.array([0.5, 1.5, -0.7]), "huber"), wrt=("x",), tags=("language",))
def string_options(x, loss):
    """A string-valued argument picks the formula; string methods and comparisons are static."""
    if loss == "square":
        return np.sum(x * x)
    if loss.startswith("hub") and loss in ("huber", "pseudo-huber"):
        return np.sum(np.sqrt(1.0 + x * x) - 1.0)
    raise ValueError(f"unknown loss {loss!r}")


@program(args=lambda: (np.array([0.5, 1.5, -0.7]),), wrt=("x",), tags=("language",))
def none_defaults(x, weights=None, out=None):
    """`None` stands for an argument that was not given."""

    def norm(v, weights=None, shift=None):
        if weights is None:
            weights = np.ones(v.shape)
        if shift is not None:
            v = v - shift
        return np.sum(weights * v * v)

    if out is None:
        out = np.empty_like(x)
    out[:] = x * norm(x, weights)
    return norm(out) + norm(x, out) + norm(x, shift=out[0])


@program(args=lambda: (np.array([2.0, 0.5, 1.5, -0.7]),), wrt=("x",), tags=("language",))
def best_starts_as_none(x):
    """`best = None` becomes a number in the first pass of the loop."""
    best = None
    for v in x:
        score = (v - 1.0) ** 2 + 0.1 * v
        if best is None or score < best:
            best = score
    return best * x[0]


@program(args=lambda: (np.array([2.0, 0.5, 1.5, -0.7]), 10.0), wrt=("x",), tags=("language",))
def none_that_stays(x, threshold):
    """`found` may stay None to the end: here it does for one threshold and not for the other."""

    def search(limit):
        found = None
        for v in x:
            if v * v > limit:
                found = v
        return found

    high = search(threshold)
    low = search(1.0)
    total = 0.0
    if high is not None:
        total += high
    if low is not None:
        total += low**3
    return total + x[3] * x[0]


@program(args=lambda: (0.9, True, False), wrt=("x",), tags=("language",))
def boolean_flags(x, damped, verbose):
    """Flags given as Python bools, used in conditions and as numbers."""
    if damped and not verbose:
        x = x * math.exp(-x)
    return x * (damped + 1) + (x * x if verbose else math.sin(x)) * damped


@program(
    args=lambda: (np.array([0.4, -0.3]), np.array([[1.0, 0.2], [0.4, 2.0]]), 3.0),
    wrt=("x", "w", "s"),
    tags=("language",),
)
def dispatch_on_type_and_rank(x, w, s):
    """`isinstance` and `ndim` are known while specialising; only the branch that fits is ever built."""

    def norm(v):
        if isinstance(v, np.ndarray) and v.ndim == 2:
            return np.sum(v[0, :] * v[:, 1])
        if hasattr(v, "shape") and len(v.shape) == 1:
            return np.sqrt(v @ v)
        return v * v

    return norm(x) * norm(w) + norm(s)


@program(args=lambda: (0.3, 0.9), wrt=("x", "y"), tags=("language",))
def early_returns(x, y):
    """A callee with many ways out, one of them inside nested loops."""

    def first_crossing(a, b):
        if a > b:
            return a - b
        for i in range(5):
            a = a * 1.3
            for j in range(i):
                b = b - 0.05 * a
                if a > b:
                    return a * b + 0.1 * i + 0.01 * j
        return 0.0

    return first_crossing(x, y) + first_crossing(y, x) * first_crossing(x, 10.0 * y)


@program(args=lambda: (np.array([0.5, 0.1, 0.9]), 1.4), wrt=("x", "a"), tags=("language",))
def array_truth_values(x, a):
    """A size-1 array as a condition, `any`/`all` of a comparison, `in` and `not in`."""
    total = 0.0
    if (x > 0.8).any() and not np.all(x > 0.2):
        total += np.sum(x) * a
    if x[1:2] < 0.5:
        total += x[1] ** 2
    for k in range(4):
        if k in (1, 3) and k not in [3]:
            total *= a
    return total
