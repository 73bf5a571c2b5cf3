"""Details of Python and NumPy that are easy to get wrong: what is evaluated when, and what a name stands for."""

import itertools
import math

import numpy as np
from numpy import inf

from .registry import program

X = (0.1, 0.28, 0.46, 0.64, 0.82, 1.0)


def line():
    return (np.array(X),)


@program(args=line, wrt=("x",), tags=("language",))
def sums_of_arrays(x):
    """`sum` over arrays whose number is only known at run time begins with 0."""
    rows = [v * np.ones(2) for v in x]
    index, weights = np.array([0, 2, 1]), x[:3]
    moved = sum(weights[i] * x[2 * i : 2 * i + 2] for i in index)
    return np.sum((sum(rows) + moved + sum([r * 2 for r in rows])) ** 2) + sum(x)


@program(args=line, wrt=("x",), tags=("language",))
def any_and_all_stop_early(x):
    """What stands behind the deciding item is not evaluated."""
    seen = [0.0]

    def large(v):
        seen[0] += v
        return v > 0.3

    s = 1.0 if any(large(v) for v in x) else 2.0
    if all(v > 0 for v in x) and not any(v > 5 for v in x):
        s += x[1]
    return s * seen[0] ** 2


@program(args=line, wrt=("x",), tags=("language",))
def float_ranges_and_rounding(x):
    """`np.arange` of one float is an array of floats; `round` is exact in decimals."""
    a = np.arange(3.0)
    a[0] = 0.5
    digits = round(2.675, 2) + round(1.005, 2) + round(0.125, 2)
    for v in x:
        a[1] += round(float(v) * 7.31, 1) + round(0.5 * digits, 2)
    return np.sum(a * x[:3]) + np.sum(np.arange(float(x.size)) * x) * digits


@program(args=line, wrt=("x",), tags=("language",))
def views_of_dicts(x):
    """Views see later changes; the display evaluates a key before its value."""
    order = []

    def noted(v):
        order.append(v)
        return v

    d = {"a": x[0], "b": x[1]}
    values = d.values()
    d["a"] = 5 * x[2]
    s = sum(values) + len(d.keys()) + max(d.values()) + sum(v for _, v in sorted(d.items()))
    for key, v in d.items():
        s += v * (2 if key == "a" else 1)
    e = {noted(2.0): noted(x[3]), noted(3.0): noted(x[4])}
    return s * e[2.0] + e[3.0] * order[1] * order[0]


@program(args=line, wrt=("x",), tags=("language",))
def iterators_once(x):
    """Each iterator is gone through once: made anew in each pass, advanced by `next`, zipped with an endless one."""

    def naturals():
        n = 0
        while True:
            yield n
            n += 1

    s = 0.0
    for _ in range(3):
        pairs, places = zip(x, x[1:]), enumerate(x)  # noqa: B905
        for i, v in places:
            s += i * v
        s += sum(a * b for a, b in pairs)
    for n, v in zip(naturals(), x):  # noqa: B905
        s += n * v
    squares = (v * v for v in x)
    s += sum(squares) if x[0] > 0 else max(squares)
    for i, (a, b) in list(enumerate(zip(map(abs, x), x))):  # noqa: B905
        s += i * a * b
    return s * next(v for v in x if v > 0.3) * next(iter(x))


@program(args=line, wrt=("x",), tags=("language",))
def place_or_none(x):
    """A tuple of indices that may be None."""
    a, place = x.reshape(3, 2).copy(), None
    if x[0] > 0:
        place = (1, 0)
    if place is not None:
        a[place] *= 3.0
    return np.sum(a * a) + (0.0 if place is None else a[place])


@program(args=line, wrt=("x",), tags=("language",))
def arrays_made_by_indexing(x):
    """`np.r_`, `np.c_`, `np.mgrid`, `np.ogrid`, `np.s_`."""
    a = np.r_[x, 2.0, x[0], 0:3, 0:1:5j]
    c = np.c_[x, x**2]
    rows, columns = np.mgrid[0:3, 1:3]
    open_grid = np.ogrid[0:3, 0:2]
    part = np.s_[1:3]
    return (
        np.sum(np.sin(a)) * c[:, 1].sum() + np.sum(x[rows] * columns) + np.sum(np.mgrid[0:1:3j])
        + np.sum((open_grid[0] + open_grid[1]) * x[0]) + x[part].sum()
    )  # fmt: skip


@program(args=line, wrt=("x",), tags=("language",))
def conditions_of_any_type(x):
    """`and` and `or` of lists, numbers and comparisons as conditions."""
    stack, s = list(x), 0.0
    while stack and stack[-1] > 0.2:
        s += stack.pop() ** 2
    if stack or s > 3:
        s *= 2
    return s + (x[0] if not stack and x[1] else x[2]) + sum(v for v in x if stack and v > 0.5)


def root(v):
    if v < 0.3:
        raise ValueError("too small")
    return np.sqrt(v)


@program(args=line, wrt=("x",), tags=("language",))
def failures_of_expressions(x):
    """`try` around an expression whose parts are evaluated anew when it goes on."""
    t = 0.0
    for v in x:
        try:
            t += root(v) * x[1]
        except ValueError:
            t += v * v
    try:
        t += math.sqrt(x[1] - 0.5)
    except ValueError:
        t *= 2
    try:
        t += np.sum(x[:2] + x[:3])
    except ValueError:
        t += x[0]
    matrix = np.eye(3) * x[0]
    try:
        t += np.linalg.solve(matrix + matrix.T, x[:3]).sum()
        t += np.linalg.inv(matrix - matrix).sum()
    except np.linalg.LinAlgError:
        t -= x[5]
    return t


@program(args=line, wrt=("x",), tags=("language",))
def arrays_of_lists_that_grow(x):
    """Lists of lists, rows and blocks whose number is only known at run time, made into arrays."""
    table = np.array([[a * b for a in x] for b in x])
    rows = [r * 2 for r in x.reshape(3, 2)]
    history = []
    for v in x:
        history.append(np.array([v, v * v]))
    total = np.sum(table**2) + np.sum(np.vstack(rows) ** 2 * np.arange(2))
    total += np.sum(np.column_stack(rows) ** 2 * np.arange(3)) + np.sum(np.hstack(rows) * np.arange(6))
    return total + np.sum(np.vstack(history)[:, 1]) + np.mean(history, axis=0)[0] + np.stack(history).T[0, 1]


def product(a, b):
    return a * b**2


@program(args=line, wrt=("x",), tags=("language",))
def stars_and_names_in_loops(x):
    """A star over an array of unknown length, keys made of text in loops, combinations of pairs, permutations."""
    points, s = x.reshape(3, 2), 0.0
    order = np.argsort(-x[:3])
    for i in range(3):
        s += np.hypot(*(points[order[i]] - points[order[i - 1]])) + product(*points[i])
    layers = {}
    for k in range(3):
        layers[f"W{k}"] = x[k : k + 2] * 2
        layers["b" + str(k)] = x[k]
    a = x[:2]
    for k in range(len(layers) // 2):
        a = np.tanh(layers[f"W{k}"] * a + layers[f"b{k}"])
    for (i, p), (j, q) in itertools.combinations(enumerate(x), 2):
        s += p * q * (i + 2 * j)
    orders = itertools.permutations(range(3))
    return s + np.sum(a) + min(sum(x[2 * i + p[i] % 2] * (1 + 0.1 * p[i] * i) for i in range(3)) for p in orders)


@program(args=line, wrt=("x",), tags=("language",))
def flags_that_may_be_none(x):
    """`is True` and `is False` of a flag that may be None."""

    def sign(v):
        if v > 0.5:
            return True
        if v < 0.2:
            return False
        return None

    flag, s = None, 0.0
    if x[0] > 0:
        flag = False
    for v in x:
        found = sign(v)
        s += v * (1 if found is True else 2 if found is False else 3 if found is None else 4)
    return s * (2 if flag is False else 3)


def moved_to_front(x, axis=0):
    """An option that a branch replaces."""
    if axis < 0:
        axis = x.ndim + axis
    if axis > 0:
        x = np.moveaxis(x, axis, 0)
    return np.sum(x[0] * x[-1]) + np.sum(x, axis=axis)[0]


@program(args=lambda: (np.arange(6.0).reshape(2, 3) / 5 + 0.1,), wrt=("x",), tags=("language",))
def options_that_branches_replace(x):
    """An axis that is a default argument, and counted from the end."""
    return moved_to_front(x) + 2 * moved_to_front(x, -1) + 3 * moved_to_front(x, axis=1)


@program(args=lambda: (np.array([0.3, 0.5, 0.7, 0.9]), 0.4), wrt=("x", "y"), tags=("language", "infinity"))
def infinite_ends(x, y):
    """Layers of which the first and last have no end: what they are multiplied with does not reach the result."""
    depths = np.array([np.inf, 2.0 * y, 1.5, np.inf])
    phase = np.cos(x * y) * depths
    gaps = np.full(4, np.nan)
    gaps[1:3] = x[1:3]
    shares = (phase * gaps)[1:3]
    for k in range(1, 3):
        shares[k - 1] = shares[k - 1] + np.sin(phase[k])
    return np.sum(shares) + np.sum((depths * x)[1:-1] ** 2)


@program(args=lambda: (0.4, 0.3), wrt=("x", "y"), tags=("language", "infinity"))
def infinity_by_its_name(x, y, no_end=math.inf):
    """Infinite numbers that are variables outside: second derivatives, too, of what does not reach the result."""
    depths = np.array([inf, 1.0 + y, 2.0, no_end])
    phase = np.cos(np.sin(x) / np.array([1.0, 2.0, 3.0, 4.0])) * depths
    total = 0.0
    for k in range(1, 3):
        total += np.cos(phase[k])
    return total


@program(args=lambda: (np.array([0.3, -0.5, 0.7, -0.9]), 1.4), wrt=("x", "y"), tags=("language",))
def roots_of_what_a_mask_leaves(x, y):
    """`x * (x > 0)` is 0 and stays 0 where the mask says so, though the root's derivative is infinite there."""
    s = np.sum(np.sqrt(x * (x > 0)) * y) + np.sum((x > 0.5) * x**2)
    kept = [v * (v >= 0) for v in x]
    for v in kept:
        s += v**0.7 * y + math.sqrt(v)
    sloped = (x > 0).astype(float)
    sloped += y * np.eye(4)[1]
    frame = np.eye(2)
    frame += 0.4 * np.ones((2, 2))
    return s + y * np.sum((x * (x > 0)) ** 0.9) + np.sum(x * sloped) + np.sum(frame * y)


@program(args=lambda: (np.array([0.3, 0.5, 0.7]), 0.4), wrt=("x", "y"), tags=("language", "exceptions"))
def operators_that_lists_lack(x, y):
    """Lists and tuples are arrays beside NumPy's arrays and numbers, and no operands of Python's numbers."""
    s = np.sum([y, 2.0, 3.0] * x + (y, y, 1.0) / x[0] - [1.0, y] @ x[:2]) + np.sum([x[1], y] + x[2])
    s += sum([y] * 2) + len((y,) * np.int64(3)) + ([y, 1.0] == [y, 1.0]) + ([y, 1.0] < [y, 2.0])
    for operate in (
        lambda: (y,) + 3,
        lambda: 3.0 + (y,),
        lambda: [x[0]] * y,
        lambda: [x[0]] * x[1],
        lambda: [y] - 1,
        lambda: [y] + (y,),
        lambda: [y] / [2.0],
        lambda: 2 ** [y],
        lambda: -(y, y),
        lambda: [y] < 3,
    ):
        try:
            s += 100.0 * np.sum(operate())
        except TypeError:
            s += y * x[1]
    return s


@program(args=lambda: (np.array([0.3, -0.5, 0.7]), 0.4), wrt=("x", "y"), tags=("language", "dtypes"))
def dtypes_by_name_and_masks_as_numbers(x, y):
    """A dtype among names of dtypes; powers of truth values, whose squares have eight bits; None as a float."""
    s = np.sum(x) * (x.dtype in ["float", "float32"]) + 3 * (x.dtype in ("int", bool)) + 5 * ("f8" == x.dtype)
    mask = x > 0
    small = (mask**2) * np.int8(100) + (mask**2) * np.int8(100)
    large = np.power(mask, 2) * 100 + np.power(mask, 2) * 100
    gaps = np.zeros(3)
    gaps[1] = None
    missing = np.asarray(None, dtype="float64")
    return s * y + np.sum(small * x) + np.sum(large * y) + np.nansum(gaps * x) + np.isnan(missing) * x[0]
