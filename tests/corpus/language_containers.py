"""Tuples, lists and dicts of values: unpacking, comprehensions, growing lists, containers of arrays."""

import math

import numpy as np

from .registry import program


@program(args=lambda: (1.2, 0.5, 0.9), wrt=("a", "b", "c"), tags=("language",))
def swaps_and_rotations(a, b, c):
    """All right sides are read before any left side is written."""
    for k in range(4):
        a, b = b, a
        a, b, c = b + 0.1 * k, c * a, a
        (a, b), c = (c, a), b
    return a - 2.0 * b + c * c


@program(args=lambda: (np.array([0.4, 0.9, 1.3, 0.2]), (0.3, (0.7, 1.9))), wrt=("x", "t"), tags=("language",))
def unpacking(x, t):
    """Arrays, nested tuples and starred names unpacked."""
    a, *middle, d = x
    p, (q, r) = t
    first, *rest = (p, q, r, a)
    *head, last = rest
    u, v = x[1:3]
    total = a * d + len(middle) * middle[0] * middle[1]
    return total + first * last + head[0] / head[1] + u * v * v


@program(args=lambda: (np.array([0.4, 0.9, 1.3]), 2.0, 5), wrt=("x", "y"), tags=("language",))
def augmented_assignments(x, y, n):
    """Each kind, on floats, integers, array elements and arrays."""
    x = x.copy()
    y += x[0]
    y -= 0.5 * x[1]
    y *= x[2]
    y /= 1.0 + x[0]
    y **= 2
    n -= 1
    n *= 7
    n //= 3
    n %= 5
    n <<= 2
    n >>= 1
    n |= 1
    n &= 7
    n ^= 2
    x[0] += y
    x[1] *= x[0]
    x[2] /= n
    x[1] **= 2
    x -= 0.1 * y
    x *= x
    x /= n
    x **= 0.5
    y %= 3.0
    y //= 10.0
    return np.sum(x * np.array([1.0, 2.0, 3.0])) + y


@program(args=lambda: (0.4, 1.3), wrt=("a", "b"), tags=("language",))
def chained_assignment(a, b):
    """One value under several names, of which some are changed afterwards: arrays share, floats don't."""
    x = y = a * b
    x += 1.0
    u = v = np.array([a, b])
    u[0] = x * y
    v += b
    w = z, q = a, b
    return u[0] * v[1] + w[0] * z + q * y


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), 1.5), wrt=("x", "a"), tags=("language",))
def list_comprehensions(x, a):
    """With a condition, nested, over a range, and with a name that shadows an outer one."""
    v = a
    squares = [v * v for v in x]
    positive = [v * a for v in x if v > 0.0]
    table = [[p * q for q in positive] for p in squares]
    pairs = [x[i] * x[j] for i in range(3) for j in range(i)]
    total = v * sum(squares) + positive[-1]
    for row in table:
        for t in row:
            total = total + math.sin(t)
    return total * pairs[1] + np.array(squares) @ np.array(pairs)


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), 1.5), wrt=("x", "a"), tags=("language",))
def generator_expressions(x, a):
    """Consumed by `sum`, `max`, `min`, `any`, `all` and a loop."""
    total = sum(a * v**k for k, v in enumerate(x, 1))
    peak = max(v * v for v in x)
    low = min((abs(v - a) for v in x if v > -0.5), default=0.0)
    if any(v < 0.0 for v in x) and all(v < 2.0 for v in x):
        total = total * peak
    for t in (v * a for v in x):
        total = total + t * low
    return total


@program(args=lambda: (0.4, 1.5), wrt=("a", "b"), tags=("language",))
def dict_comprehensions(a, b):
    """Dicts with static keys: built by a comprehension, merged, changed, read with get and `in`."""
    terms = {name: f(a) for name, f in (("s", math.sin), ("c", math.cos))}
    terms["b"] = b * terms["s"]
    terms = {**terms, "s": terms["s"] * b, "q": a}
    terms["q"] += terms.get("missing", b)
    terms.update(c=terms["c"] * 2.0)
    if "zz" not in terms:
        terms["z"] = terms.pop("b")
    return sum(v * (i + 1) for i, v in enumerate(terms.values())) + len(terms) * terms["z"]


@program(args=lambda: (0.7, 6), wrt=("x",), tags=("language",))
def append_scalars(x, n):
    """A list that grows in a loop and is read back in another order."""
    history = [x]
    for k in range(n):
        history.append(math.sin(history[-1] * (1.0 + 0.1 * k)) + 0.5 * history[k // 2])
    total = 0.0
    for k in range(len(history)):
        total = total + history[k] * history[-1 - k]
    return total


@program(args=lambda: (np.array([0.7, 0.2, 0.5]),), wrt=("x",), tags=("language",))
def append_arrays(x):
    """Arrays made in a loop and kept in a list; stacked, averaged and read again later."""
    states = []
    for k in range(4):
        x = np.sin(x) * (1.0 + 0.1 * k) + np.roll(x, 1)
        states.append(x)
    trajectory = np.array(states)
    return np.sum(trajectory[:, 0] * trajectory[:, 2]) + np.mean(states[1] * states[3]) + np.sum(np.stack(states[:2]))


@program(args=lambda: (np.array([0.7, 0.2, 0.5]),), wrt=("x",), tags=("language", "memory"))
def append_same_buffer(x):
    """A list holds references: without a copy every entry is the last state, with a copy its own."""
    state = x.copy()
    shared, own = [], []
    for k in range(3):
        state[:] = state * state + 0.1 * k
        state[k] += x[0]
        shared.append(state)
        own.append(state.copy())
    total = 0.0
    for s, o in zip(shared, own):
        total += np.sum(s * o)
    return total


@program(args=lambda: (np.array([0.3, 0.9, 0.6, 1.4, 0.1]),), wrt=("x",), tags=("language",))
def pop_from_a_stack(x):
    """A stack machine: append and pop in data-dependent order."""
    stack = []
    for v in x:
        while len(stack) > 0 and stack[-1] < v:
            top = stack.pop()
            v = v + top * top
        stack.append(v)
    total = 0.0
    while stack:
        total = total * 0.7 + stack.pop() ** 2
    return total


@program(args=lambda: (np.array([0.3, 0.9, 0.6, 1.4, 0.7]),), wrt=("x",), tags=("language",))
def pop_from_the_middle(x):
    """Places that count from the end of a list before an item is taken out."""
    items = [v * v for v in x]
    total = 0.0
    while len(items) > 2:
        total = total * 0.5 + items.pop(-2) * items[0]
        items[-1] = items[-1] * x[0]
    return total + items[0] * items[1]


@program(args=lambda: (np.array([0.3, 0.9, 0.6, 1.4, 0.1]),), wrt=("x",), tags=("language",))
def insert_extend_delete(x):
    """`insert`, `extend`, `+`, `+=`, slice and item assignment, `del`, `reverse`, `pop(0)` on one list."""
    items = [x[0], x[1]]
    items.insert(1, x[2] * x[0])
    items.extend([x[3], 2.0 * x[4]])
    items += [items[0] * items[-1]]
    del items[0]
    items.reverse()
    items[1] = items[1] * x[3]
    first = items.pop(0)
    items = [first * x[1]] + items * 2
    items[1:3] = [x[2], items[2] * 3.0, items[1]]
    total = 0.0
    for k, v in enumerate(items):
        total += (k + 1) * v * v
    return total


@program(args=lambda: (np.array([0.3, 0.9, 0.6]), 3), wrt=("x",), tags=("language",))
def lists_of_lists(x, n):
    """A triangular table whose rows grow, as in dynamic programming."""
    table = [[x[0]]]
    for i in range(1, n + 1):
        row = [table[i - 1][0] * x[1]]
        for j in range(1, i):
            row.append(table[i - 1][j - 1] + x[2] * table[i - 1][j])
        row.append(table[i - 1][-1] + x[0])
        table.append(row)
    table[1][0] = table[-1][1] * x[1]
    return sum(table[1]) * table[-1][2] + len(table[-1]) * table[2][1]


@program(args=lambda: (np.array([0.3, 0.9, 0.6]),), wrt=("x",), tags=("language", "memory"))
def list_of_arrays_changed_in_place(x):
    """Entries of a list are the arrays themselves: writing through one name shows under the other."""
    rows = [x * 1.0, x * 2.0, x[:2].copy()]
    middle = rows[1]
    for k in range(len(rows)):
        rows[k][0] += 0.5 * k * x[1]
    middle[2] *= rows[0][0]
    rows[0], rows[2] = rows[2], rows[0]
    rows[0] *= rows[2][:2]
    rows[1] = rows[1] + 1.0
    return np.sum(rows[0]) + np.sum(rows[1] * rows[2]) + middle[0]


@program(args=lambda: (np.array([0.9, 0.3, 1.4, 0.6]),), wrt=("x",), tags=("language",))
def sorting(x):
    """`sorted` and `list.sort` move values; the gradient goes back to where they came from."""
    ordered = sorted(x)
    falling = sorted([v * v for v in x], reverse=True)
    mixed = [x[0], x[3], x[2]]
    mixed.sort()
    return ordered[0] * 3.0 + ordered[2] ** 2 + falling[0] * falling[1] + mixed[0] * mixed[-1]


@program(args=lambda: (np.array([[0.9, 0.3], [1.4, 0.6]]), (0.5, 2.0)), wrt=("a", "t"), tags=("language",))
def tuples_as_values(a, t):
    """Tuples joined, repeated, sliced, compared and built up in a loop."""
    state = (a[0, 0], 1.0)
    for k in range(3):
        state = (state[0] * t[0] + state[1], state[1] + k * a[1, 0])
    joined = state + t[::-1] + (a[0, 1],) * 2
    x, y = joined[:2]
    if (2, 2) == a.shape and len(joined) == 6:
        x = x * joined[-1]
    return x * y + joined[2] * joined[3]


@program(args=lambda: (np.array([0.4, -0.9, 1.3]),), wrt=("x",), tags=("language",))
def algebra_of_sets(x):
    """Operators, comparisons and methods of sets whose items are known."""
    a, b = {0, 1}, frozenset([1, 2])
    total = sum(x[k] * (k + 1) for k in a | b) + sum(x[k] ** 2 for k in a & b) + sum(x[k] ** 3 for k in a - b)
    total += sum(x[k] * x[2] for k in a.symmetric_difference(b)) + sum(x[k] for k in a.union(b, [0]).difference([2]))
    if a <= a | b and not a < a and a.isdisjoint({7, 8}) and a != b and a.issubset([0, 1, 2]):
        total = total * x[0]
    return total


@program(args=lambda: (np.array([0.5, 1.5, 0.7, 1.2]),), wrt=("x",), tags=("language",))
def sorted_by_texts(x):
    """Keys that are texts, or tuples of texts and numbers, are in order before the program runs; numbers when it does."""
    parts = [("b", x[0]), ("a", x[1]), ("c", x[2])]
    parts.sort(key=lambda part: part[0])
    named = {"z": x[0], "y": x[1], "yy": x[3]}
    s = parts[0][1] * 2.0 + parts[1][1] ** 2
    for _, v in sorted(named.items(), key=lambda item: item[0]):
        s = s * 0.5 + v * v
    for _, v in sorted(named.items(), key=lambda item: (len(item[0]), item[0]), reverse=True):
        s = s * v + v
    for name in sorted(named, key=len):
        s = s * 0.7 + named[name] * s
    for _, v in sorted(parts, key=lambda part: -part[1]):
        s = s * 0.9 + v * v
    return s
