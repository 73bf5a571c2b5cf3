"""Arguments that are written to: by the program, by helpers, through views; a derivative leaves the caller's arrays alone."""

import numpy as np

from .registry import program


def _vector():
    return np.array([0.5, 1.2, 0.8, -0.3, 0.9, 1.6])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def program_changes_its_argument(x, a):
    """The differentiated argument itself is overwritten; the derivative is that of the value on entry."""
    x[0] = a * x[1]
    x[1:] *= x[:-1]
    x += a
    return np.sum(x * x)


@program(args=lambda: (_vector(), np.zeros(6)), wrt=("x",), tags=("memory",))
def work_array_given_by_the_caller(x, work):
    """An argument that is not differentiated holds differentiated values on the way."""
    work += 1.0
    for i in range(1, x.size):
        work[i] = work[i - 1] * x[i] + x[0]
    return np.sum(work * work)


@program(args=lambda: (_vector(), np.full(6, 0.3)), wrt=("x", "out"), tags=("memory",))
def output_argument_overwritten(x, out):
    """Every place of `out` but one is overwritten: only that one has a derivative."""
    saved = out[2] * out[3]
    out[:3] = x[3:] * x[:3]
    out[4:] = np.sin(x[:2])
    return np.sum(out * out) + 0.0 * saved


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def helper_changes_its_argument(x, a):
    """A helper that writes to a part of what it is given and returns another part."""

    def normalise(v, by):
        v /= by + v[0]
        v[-1] = by
        return v[1:]

    y = x.copy()
    rest = normalise(y[:4], a)
    rest *= 2.0
    top = normalise(y, rest[0])
    return np.sum(y * y) + rest @ top[:3]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def helper_rebinds_its_argument(x, a):
    """Inside a helper `v = v * 2` rebinds, `v *= 2` writes, for arrays; for floats both rebind."""

    def rebinds(v):
        v = v * 2.0
        v[0] = a
        return v

    def writes(v):
        v *= 2.0
        v[0] = a
        return v

    def floats(s):
        s *= 2.0
        return s

    y = x.copy()
    first = rebinds(y)
    second = writes(y[2:])
    third = floats(y[1]) + y[1]
    return np.sum(first * y) + np.sum(second) * third


@program(
    args=lambda: ([_vector(), np.array([0.2, 0.4])], {"k": np.array([1.5])}), wrt=("fields", "opts"), tags=("memory",)
)
def containers_of_arrays_changed(fields, opts):
    """Arrays inside a list and a dict are changed in place, items are replaced and appended."""
    fields[0][1] = fields[1][0] * opts["k"][0]
    fields[1] *= fields[0][:2]
    fields[0] = fields[0] * opts["k"]
    opts["k"] += fields[0][1]
    opts["new"] = fields[1] * 2.0
    fields.append(opts["new"])
    return np.sum(fields[0]) * opts["k"][0] + np.sum(fields[-1] ** 2)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def default_buffer_made_on_demand(x, a):
    """`out=None` makes a buffer, else writes into the one given: both in one program."""

    def scaled(v, by, out=None):
        if out is None:
            out = np.empty_like(v)
        for i in range(v.size):
            out[i] = v[i] * by
        return out

    first = scaled(x, a)
    second = scaled(first, first[0], out=first)
    third = scaled(first[::-1], a, out=np.zeros(6))
    return np.sum(first * second) + third[0] * third[1]


@program(args=lambda: (np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]]), _vector()[:3]), wrt=("a", "b"),
         tags=("memory",))  # fmt: skip
def elimination_in_place(a, b):
    """Gaussian elimination that overwrites matrix and right-hand side, as a helper."""

    def solve_in_place(m, r):
        n = r.size
        for k in range(n):
            for i in range(k + 1, n):
                m[i, k] /= m[k, k]
                m[i, k + 1 :] -= m[i, k] * m[k, k + 1 :]
                r[i] -= m[i, k] * r[k]
        for k in range(n - 1, -1, -1):
            r[k] = (r[k] - m[k, k + 1 :] @ r[k + 1 :]) / m[k, k]

    m, r = a.copy(), b.copy()
    solve_in_place(m, r)
    return r @ r + m[2, 2] * b[0]


@program(args=lambda: (_vector(), 3), wrt=("u",), tags=("memory",))
def sweeps_in_place(u, n):
    """Gauss-Seidel forwards and backwards over one buffer: every store overwrites what the derivative needs."""
    u = u.copy()
    for t in range(n):
        for i in range(1, u.size - 1):
            u[i] = u[i] + 0.2 * np.sin(u[i - 1]) * u[i + 1]
        for i in range(u.size - 2, 0, -1):
            u[i] *= 1.0 - 0.1 * u[i + 1] * u[i - 1]
        if t == 1:
            u[0] = u[-1] * u[1]
    return np.sum(u * u)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def accumulate_into_one_element(x, a):
    """`s[0] += ...` in loops, as scalars in disguise, with a reset in between."""
    s = np.zeros(2)
    for i in range(x.size):
        s[0] += x[i] * a
        for j in range(i):
            s[1] += s[0] * x[j]
        if i % 2:
            s[0] = s[1] * 0.1
    return s[0] * s[1]


@program(args=lambda: (_vector(), 4), wrt=("x",), tags=("memory",))
def history_written_row_by_row(x, n):
    """A trajectory of preallocated rows, each from the one before, some rows written again."""
    path = np.zeros((n + 1, x.size))
    path[0] = x
    for t in range(n):
        path[t + 1] = path[t] + 0.1 * np.roll(path[t], 1) * path[t]
        path[t + 1, 0] = path[max(t - 1, 0), 1]
        path[t // 2, 2] *= 1.5
    return np.sum(path[-1] * path[1]) + np.sum(path[:, 2])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def buffer_reused_between_passes(x, a):
    """One scratch buffer, allocated outside the loop, that every pass fills, changes and reads."""
    scratch = np.empty(3)
    total = 1.0
    for k in range(4):
        scratch[:] = x[k : k + 3] if k < 3 else x[:3] * total
        scratch[k % 3] *= a * total
        total += scratch[0] * scratch[1] - scratch[2] ** 2
    return total * scratch[1]
