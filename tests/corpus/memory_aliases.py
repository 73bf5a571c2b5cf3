"""Aliases: one buffer under several names, chosen by branches, swapped in loops, shared by results and helpers."""

import contextlib
import sys

import numpy as np

from .registry import program


def _vector():
    return np.array([0.5, 1.2, 0.8, -0.3, 0.9, 1.6])


@program(args=lambda: (_vector(), 0.7, 0), wrt=("x", "a"), tags=("memory",))
def alias_chosen_by_branch(x, a, which):
    """The target of a write is one of two arrays; both are read afterwards, for both choices."""
    total = 0.0
    for choice in (which, which + 1):
        p = x[:3] * a
        q = x[3:] * a
        before = p[1] * q[1]
        t = p if choice else q
        t[1] = a * t[0] * t[2]
        t *= p
        total += (choice + 1) * (before + np.sum(p * p) + np.sum(p * q * q) + t[2])
    return total


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def alias_or_fresh(x, a):
    """After a branch the name holds a view of an array, the array itself or a fresh one."""
    y = x.copy()
    for k in range(3):
        if k == 0:
            t = y[1:4]
        elif k == 1:
            t = y
        else:
            t = y * a
        t[0] = t[2] * t[1] + k
        t[1:] *= a
        y[2] += t[0]
    return np.sum(y * y) + np.sum(t * t)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def same_array_twice(x, a):
    """A helper gets one array under two names, and overlapping views of one array."""

    def update(u, v):
        u[0] = u[0] * v[1]
        v[0] += u[1] * a
        u[1] *= v[0]

    y = x.copy()
    update(y, y)
    update(y[2:4], y[3:])
    update(y[::-1], y)
    return np.sum(y * y)


@program(args=lambda: (_vector(), 4), wrt=("u",), tags=("memory",))
def two_buffers_swapped_in_a_loop(u, n):
    """Ping-pong: the new time level is written over the old one's memory, and names change places."""
    old, new = u.copy(), np.zeros_like(u)
    for _ in range(n):
        for i in range(1, u.size - 1):
            new[i] = old[i] + 0.2 * old[i - 1] * old[i + 1]
        new[0], new[-1] = old[1], old[-2]
        old, new = new, old
    return np.sum(old * old) + np.sum(new)


@program(args=lambda: (_vector(), 5), wrt=("u",), tags=("memory",))
def three_buffers_rotated(u, n):
    """Leapfrog: three levels rotate, by reference; only copies would make them independent."""
    past, now, ahead = u.copy(), u * 0.9, np.empty(u.size)
    for k in range(n):
        ahead[:] = 2.0 * now - past
        ahead[1:-1] += 0.3 * (now[2:] - 2.0 * now[1:-1] + now[:-2]) * now[1:-1]
        past, now, ahead = now, ahead, past
        if k == 2:
            past[1] *= 1.1
    return past @ now + ahead[2] * ahead[3]


@program(args=lambda: (_vector(), 4), wrt=("x",), tags=("memory",))
def arrays_made_in_a_loop_and_carried(x, n):
    """Each pass makes an array, keeps the last two, and writes into the older one."""
    before = x.copy()
    current = x * x
    for k in range(n):
        fresh = np.sin(current) + before[::-1]
        before[k] = fresh[k] * current[0]
        before, current = current, fresh
        current[-1] *= 0.5
    return np.sum(before * current)


@program(args=lambda: (_vector(), 4), wrt=("x",), tags=("memory",))
def best_array_kept_by_reference(x, n):
    """`best` refers to the array of the best pass, which may or may not be the last one made; it is changed later."""
    best, best_value = x.copy(), 1e30
    for k in range(n):
        trial = x * (k - 1.3) + 0.1 * x**2
        value = np.sum(trial * trial)
        if value < best_value:
            best, best_value = trial, value
    trial[0] = 3.0 * x[1]
    best[1] += x[2]
    return best_value * np.sum(best**3) + np.sum(trial * best)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def results_that_alias(x, a):
    """Two results share memory: what comes back through both meets in one buffer."""
    y = x * a
    tail = y[2:]
    tail[1] *= a
    return y, tail, y.reshape(2, 3).T, y[0]


@program(args=lambda: (_vector(), np.array([1.0, 0.3, 2.0, 0.7, 0.9, 1.1])), wrt=("a", "b"), tags=("memory",))
def sum_shares_its_cotangent(a, b):
    """In `c = a + b` one cotangent belongs to both sides; afterwards one side is written in place on the way back."""
    c = a + b
    d = a - b
    e = +c
    f = np.asarray(d)
    f[0] = a[1] * b[2]
    e = e + a
    e[1] *= b[1]
    return c + 0.0, np.sum(c * d) + np.sum(e * f), d


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory",))
def identity_and_views_returned(x):
    """The result is the argument, and a view of it."""
    return x, x[1:3], x.T


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def view_or_copy_of_local_functions(x, a):
    """`asarray`, `array`, `ascontiguousarray`, `ravel`, `flatten`, `astype`, `copy`, `+`: which of them share memory."""
    y = x.copy()
    shared = [
        np.asarray(y),
        y[:],
        y.ravel(),
        np.ascontiguousarray(y),
        y.astype(float, copy=False),
        y.view(),
        y.squeeze(),
    ]
    apart = [np.array(y), y.flatten(), y.astype(float), y.copy(), +y, y[[0, 1, 2, 3, 4, 5]], np.abs(y), y * 1.0]
    for k, s in enumerate(shared):
        s[k % 6] *= a + k
    for k, s in enumerate(apart):
        s[k % 6] = 100.0 * a
    return np.sum(y * y) + sum([s[0] * s[5] for s in shared]) + apart[1][0] * apart[0][3]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def value_read_before_and_after(x, a):
    """The same expression before and after a write through another name is not a common subexpression."""
    y = x * a
    v = y[::2]
    first = np.sum(np.sin(y)) * y[2]
    v[1] = a * a
    second = np.sum(np.sin(y)) * y[2]
    v += 1.0
    third = np.sum(np.sin(y)) * y[2]
    return first + 2.0 * second - 3.0 * third


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def alias_stored_in_containers(x, a):
    """The same array in a dict, a tuple and a list, changed through each."""
    y = x.copy()
    fields = {"u": y, "v": y[3:], "w": np.zeros(6)}
    pair = (fields["u"], fields["w"])
    pair[1][:] = pair[0] * a
    fields["v"] *= fields["w"][:3]
    for key in ("u", "w"):
        fields[key][1] += a * y[4]
    fields["u"] = fields["u"] * 2.0
    fields["v"][0] = fields["u"][0]
    return np.sum(y * pair[1]) + np.sum(fields["u"] * y)


@program(args=lambda: (_vector(), 3), wrt=("x",), tags=("memory",))
def list_of_buffers_permuted(x, n):
    """Buffers in a list change places by an index that depends on the pass; then one is written."""
    levels = [x * (k + 1.0) for k in range(3)]
    for k in range(n):
        i, j = k % 3, (k + 2) % 3
        levels[i], levels[j] = levels[j], levels[i]
        levels[0][k] = levels[1][k] * levels[2][k + 1]
        levels[2] = levels[2] + levels[0]
    return np.sum(levels[0] * levels[1]) + levels[2][0] * levels[2][2]


@program(args=lambda: (np.linspace(0.4, 1.2, 5), np.linspace(1.1, 0.3, 5)), wrt=("x", "y"), tags=("memory",))
def buffers_swapped_reversed_or_new(x, y):
    """Two names for buffers that are swapped, and are a reversed view of each other or a new sum by turns."""
    u, v = x.copy(), y.copy()
    for i in range(4):
        u, v = v, u
        u[i] += v[i + 1]
        v[:2], u[:2] = u[:2].copy(), v[:2].copy()
        if i % 2:
            u = v[::-1]
        else:
            v = u + v
        w = u
        w[0] *= 1.1
    return np.sum(u * v) + w[1]


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory", "language"))
def lists_that_wait_in_a_list(x):
    """What is taken off a list of lists, and changed, is the list that has a name of its own."""
    first, second = [x[0]], [x[1], 1.0]
    waiting = [first, second]
    while waiting:
        taken = waiting.pop()
        taken.append(x[2] * taken[0])
        taken[0] *= 1.5
        if len(taken) < 4:
            waiting.append(taken)
    lone = [x[3]]
    held = [{"items": lone}]
    while held:
        held.pop()["items"][0] += x[4]
    return sum(first) * sum(second) * lone[0]


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory", "language"))
def the_best_of_a_list(x):
    """A name for one item of a list that grows, which is another one later."""
    best = [x[0]]
    pool = [best]
    for v in x[1:]:
        if v > 0.6:
            pool.append([v, 2.0])
            best = pool[-1]
        best[0] += v * v
    return sum(p[0] for p in pool) * best[0]


class Passed:
    def __init__(self, notes):
        self.notes = notes

    def __enter__(self):
        return self.notes

    def __exit__(self, kind, error, trace):
        if kind is not None and trace is not None and error.__traceback__ is not None:
            self.notes.append(2.0 * self.notes[-1])
        return trace is not None


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory", "language"))
def tracebacks_that_are_there(x):
    """A manager's `__exit__` gets a traceback where the body raises, and None where it does not."""
    notes = [x[0]]
    for v in x:
        with Passed(notes) as seen:
            if v > 0.6:
                raise ValueError(v)
            seen.append(v * seen[-1])
    try:
        raise TypeError("the last").with_traceback(None)
    except TypeError as error:
        notes.append(x[1] if sys.exc_info()[2] is None or error.__context__ is not None else x[2])
    return sum(k * v for k, v in enumerate(notes))


class Noted:
    def __init__(self, notes, weight):
        self.notes, self.weight = notes, weight

    def __enter__(self):
        self.notes.append(self.weight)
        return self

    def __exit__(self, *problem):
        self.notes.append(2.0 * self.weight)


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory", "language"))
def a_manager_on_a_stack(x):
    """`contextlib.ExitStack` leaves what it has entered."""
    notes = []
    with contextlib.ExitStack() as stack:
        entered = stack.enter_context(Noted(notes, x[0]))
        notes.append(x[4] * entered.weight)
    return sum(k * v for k, v in enumerate(notes))


@program(args=lambda: (_vector(), 0), wrt=("x",), tags=("memory", "language"))
def names_that_no_turn_binds_again(x, turns):
    """Names that a loop may bind again, and where it does not, stand for what another name shows."""
    row, lone, other = [x[0]], [x[1], 1.0], [x[2]]
    same, rows = row, [lone, [x[3]]]
    for k in range(turns):
        row, other = [x[4] * k], lone
        rows[0], rows[1] = rows[1], rows[0]
    row[0] = x[4] ** 2
    rows[0][0] *= x[5]
    other.append(x[0])
    if turns > 3:
        rows.append([x[1]])
        other = [x[5]]
    rows[-1].append(x[2])
    return same[0] * sum(lone) + sum(sum(r) for r in rows) * sum(other)
