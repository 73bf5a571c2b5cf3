"""Arrays of unusual make: 0-d, empty, size 1, non-contiguous, Fortran-ordered, read-only, stride 0; ranks and dtypes."""

import numpy as np

from .registry import program


def _readonly(a):
    a.flags.writeable = False
    return a


def _matrix():
    return np.array([[0.5, 1.2, 0.8], [-0.3, 0.9, 1.6]])


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), 0.7), wrt=("x", "a"), tags=("types", "memory"))
def zero_dimensional_arrays(x, a):
    """A 0-d array is changed by `+=` under all its names; arithmetic on it gives a scalar, which is not."""
    s = np.array(a)
    t = s
    for i in range(x.size):
        s += x[i] * s
    u = s + 0.0
    u += 1.0
    s[()] = s * x[0]
    s[...] = s + u
    return t * u + s[()] * float(t) + t.sum() * s.ndim + np.sum(s.reshape(1) * x)


@program(args=lambda: (np.array(0.6), np.array([0.4, -0.9])), wrt=("a", "x"), tags=("types",))
def zero_dimensional_argument(a, x):
    """A 0-d array as an argument and as a result."""
    y = a * x + a
    if a > 0.5:
        y = y * np.sin(a)
    total = np.array(np.sum(y))
    total *= a
    return total


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), 0.5), wrt=("x", "a"), tags=("types",))
def zero_dimensional_results(x, a):
    """Reductions of 1-d arrays and `x[i]` give scalars with the methods of arrays; `max` of a 0-d view, `np.asarray(scalar)`."""
    total = np.sum(x)
    total += x[0]
    value = np.asarray(a) * 2.0
    first = x[0]
    x = x * 2.0
    return (
        total.reshape(1)[0] * value
        + x.sum().sum() * first.max()
        + np.dot(x, x).item()
        + np.ndim(first)
        + np.size(a) * a
    )


@program(args=lambda: (np.zeros(0), 0.5), wrt=("a",), tags=("types",))
def zero_length_arrays(x, a):
    """Sums, products, loops, slices, concatenations and writes on arrays of length zero."""
    total = np.sum(x) + np.prod(x * a) * a + x @ x
    for v in x:
        total = total * v
    y = np.concatenate([x, np.array([a]), x * a])
    y[3:] = a
    y[:0] *= 100.0
    empty = np.zeros((0, 3)).T @ np.ones((0, 2)) + a
    return total + np.sum(y * y) + np.sum(empty) * x.size + np.sum(empty[0]) + np.sum(y[y > 100.0])


@program(args=lambda: (np.zeros(0), np.zeros((2, 0)), 0.5), wrt=("x", "m", "a"), tags=("types",))
def zero_length_arguments(x, m, a):
    """The gradient by an empty array is an empty array of its shape."""
    return np.sum(x * a) + np.sum(m * x) + np.sum(m @ x) + a * a * m.shape[0]


@program(
    args=lambda: (np.array([0.5]), np.array([[0.4], [1.2]]), np.array([[0.3, 0.6, 0.9]])),
    wrt=("s", "c", "r"),
    tags=("types",),
)
def size_one_broadcasts(s, c, r):
    """Arguments of length 1 stretch against others, in both directions, also in place."""
    w = c * r + s
    w *= s
    w[:] += c - r * s[0]
    row = r[0] * c[:, 0].sum() + s
    return np.sum(w * w) + np.sum(row) + np.sum(s * s) + np.sum(np.maximum(c, r) * s) + (c.T @ c)[0, 0]


@program(
    args=lambda: (np.arange(1.0, 9.0)[::2] * 0.3, np.arange(12.0).reshape(3, 4)[::-1, 1::2] * 0.1),
    wrt=("x", "m"),
    tags=("types",),
)
def strided_inputs(x, m):
    """Inputs that are every second element, and reversed rows with every second column."""
    y = x[:3] * m[:, 0]
    total = np.sum(m * m) + y @ m @ m[1]
    for row in m:
        total += row[0] * row[1] * x[3]
    m = m.copy()
    m.reshape(-1)[4] = x[0] * x[1]
    return total + np.sum(m.ravel() * np.arange(6.0))


@program(args=lambda: (np.array([0.3, 1.2, 0.7]),), wrt=("x",), tags=("types", "memory"))
def arrays_by_their_class(x):
    """`np.ndarray(shape, dtype)` is an array not yet filled; `np.asarray(x, copy=True)` is one's own."""
    u = np.ndarray(x.shape, dtype=np.float64)
    v = np.ndarray(x.size + 1)
    mine = np.asarray(x, copy=True)
    u[:] = x * x
    v[0] = 1.0
    for i in range(x.size):
        v[i + 1] = v[i] * u[i]
    mine[0] = 2.0
    return np.sum(v) + np.sum(mine * x)


@program(args=lambda: (np.asfortranarray(_matrix()), _matrix().T), wrt=("f", "t"), tags=("types",))
def fortran_ordered_inputs(f, t):
    """Fortran-ordered and transposed inputs: products, reductions, reshapes in both orders, `copy`, `*_like`."""
    product = f @ t
    flat = f.reshape(-1) * t.reshape(-1, order="F") + t.ravel(order="K")
    g = np.empty_like(f)
    g[...] = f * t.T
    g[:, 1] += product[:, 0]
    columns = np.array([2.0, 1.0, 0.5, 3.0, 0.1, 0.7])
    return (
        np.sum(product)
        + flat @ columns
        + np.sum(f.copy(order="C").ravel() * columns)
        + np.sum(g * g)
        + f.T.sum(axis=0)[1]
    )


@program(args=lambda: (_readonly(np.array([0.4, -0.9, 1.3])), _readonly(_matrix())), wrt=("x", "m"), tags=("types",))
def read_only_inputs(x, m):
    """Read-only inputs: they are read, copied and viewed, never written."""
    y = np.array(x)
    y[0] *= x[1]
    view = m[:, ::-1]
    total = np.sum(view @ y) + x.max() * m[1].min()
    m = m + 1.0
    m[0] = x
    return total + np.sum(m * m)


@program(args=lambda: (np.broadcast_to(np.array([0.4, -0.9, 1.3]), (2, 3)), 0.5), wrt=("m", "a"), tags=("types",))
def stride_zero_input(m, a):
    """An input whose rows are one memory: its derivative still has a place for each element."""
    w = m * a
    w[1] += m[0] * m[1]
    return np.sum(w * w * np.arange(6.0).reshape(2, 3)) + m[0, 1] * m[1, 1]


@program(args=lambda: (_matrix(), 1, (0, 1)), wrt=("m",), tags=("types",))
def axis_given_as_argument(m, axis, axes):
    """An int and a tuple argument that decide ranks: they become part of the specialisation."""
    s = np.sum(m * m, axis=axis)
    t = np.mean(np.swapaxes(m, *axes), axis=axis - 1)
    total = s @ s + np.sum(t * t)
    for k in range(m.ndim):
        total += np.max(np.cumsum(m, axis=k)) * (k + 1)
    return total + np.sum(m, axis=axes) ** 2


@program(args=lambda: (_matrix(), np.array([0.4, -0.9, 1.3])), wrt=("m", "x"), tags=("types",))
def shapes_as_numbers(m, x):
    """Shapes unpacked, compared, used as bounds, divisors and sizes of new arrays."""
    rows, columns = m.shape
    total = np.sum(m) / m.size + len(m) * x[0] + m.shape[-1] * x[1]
    out = np.zeros((columns, rows) + x.shape)
    for i in range(rows):
        for j in range(columns):
            out[j, i] = m[i, j] * x
    if out.shape == (3, 2, 3) and x.shape[0] == columns and m.T.shape == out.shape[:2]:
        total *= x.size
    n, *rest = out.shape
    return (
        total
        + np.sum(out.reshape(n, -1)[:, 0] * x)
        + np.prod(rest) * out[2, 1, 0]
        + np.sum(np.ones(m.shape[:1]) * m[:, 0])
    )


@program(args=lambda: (np.array([0.4, -0.9, 1.3]), np.array([2, 0, 1, 0])), wrt=("x",), tags=("types",))
def integer_arrays_as_data(x, labels):
    """Integer arrays that index, are compared, counted, sorted, changed and cast."""
    labels = labels.copy()
    y = x[labels] * (labels == 0) + labels
    labels[labels == 0] = 1
    labels[::2] -= 1
    z = x[labels] * np.bincount(labels, minlength=4)
    weights = labels.astype(np.float64) / 2 + np.arange(4) ** 2
    order = np.argsort(x)[::-1]
    return (
        np.sum(y * y)
        + z @ weights
        + x[order[0]] * x[order[1]] ** 2
        + x[np.argmin(np.abs(x))]
        + int(np.sum(labels)) * x[1]
    )


@program(args=lambda: ([[0.4, 0.9], [1.3, -0.2]], (0.5, 2)), wrt=("rows", "pair"), tags=("types",))
def lists_that_become_arrays(rows, pair):
    """Nested lists of floats as arguments, made arrays, and mixed with ints in one array."""
    m = np.array(rows)
    mixed = np.array([pair[0], pair[1], 1, True])
    rows[0][1] = m[1, 0] * pair[0]
    return np.sum(m @ m) + mixed @ mixed * rows[0][1] + np.asarray(rows[1]) @ np.array(pair, dtype=float)


@program(args=lambda: (_matrix().reshape(2, 1, 3), np.array([0.4, -0.9, 1.3])), wrt=("t", "x"), tags=("types",))
def higher_ranks(t, x):
    """Arrays with three and four axes: loops, broadcasts, products of stacks and reductions over some axes."""
    a = t * x[:, None]
    b = np.swapaxes(a, 1, 2) @ a
    c = a[:, :, :, None] * x
    for i in range(c.shape[0]):
        c[i, 1] += b[i].T * x[i]
    return np.sum(np.max(c, axis=(1, 3)) * t[:, 0]) + np.sum(b[0] * b[1])


@program(
    args=lambda: (np.array([0.4, np.nan, 1.3, np.inf]), np.array([0.2, 0.5, 0.8, 1.1])), wrt=("y",), tags=("types",)
)
def not_a_number_as_data(data, y):
    """Missing data marked by NaN and infinity, masked, counted and replaced: derivatives stay finite."""
    good = np.isfinite(data)
    residual = np.where(good, data - y * y, 0.0)
    filled = np.nan_to_num(data, nan=0.5, posinf=2.0) * y
    total = np.sum(residual**2) / np.sum(good) + np.sum(filled)
    for v, p in zip(data, y):
        if np.isnan(v) or v == np.inf:
            continue
        total += (v - p) ** 3
    return total + np.sum((data[good] - y[good]) * y[good]) + (np.nan != np.nan) * y[0] * y[3]


NEAR = np.rec.fromarrays(
    [np.array([1.2, 0.7, 2.1]), np.array([3, 1, 2]), np.array([0.3, 0.2, 0.1])], names="a,count,mean"
)
FAR = np.array([(0.4, 2, 0.5), (1.1, 5, 0.6)], dtype=[("a", "f8"), ("count", "i8"), ("mean", "f8")]).view(np.recarray)


@program(args=lambda: (0.8, 2.5), wrt=("x", "limit"), tags=("types",))
def record_arrays(x, limit):
    """Fields of arrays of records by name and as attributes, where no method has the name; a table that a branch chooses."""
    total = 0.0
    for r in (x, x + limit):
        c = NEAR if r < limit else FAR
        total = total + np.sum(c.a * np.exp(-r * c["mean"])) * c.count[0] + c.a[1:] @ c["mean"][1:] * r + c.size
    return total + NEAR.shape[0] * x
