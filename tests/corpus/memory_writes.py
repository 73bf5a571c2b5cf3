"""In-place writes of every form, each read back in a way that shows what was written, where, and what was lost."""

import numpy as np

from .registry import program


def _vector():
    return np.array([0.5, 1.2, 0.8, -0.3, 0.9, 1.6])


def _matrix():
    return np.array([[0.5, 1.2, 0.8], [-0.3, 0.9, 1.6], [0.7, -1.1, 0.4]])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def element_writes(x, a):
    """Single elements, by positive and negative index, some written twice, some lost."""
    y = np.zeros(5)
    y[0] = x[0] * a
    y[-1] = x[1]
    y[2] = y[0] * y[-1]
    y[4] = y[2] * y[2]
    y[0] += y[4] * x[5]
    y[-4] = x[2]
    y[1] *= y[1]
    return y[0] * 2.0 + y[1] * y[2] - y[4] + np.sum(y)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def overwritten_value_was_used(x, a):
    """A value is read, then overwritten: its cotangent is that of the read alone."""
    y = x.copy()
    p = y[0] * y[1]
    y[0] = a * p
    q = np.sin(y[0]) * y[1]
    y[1] = 2.0
    y[0] = q
    y[2:4] = p
    return np.sum(y * y) + p * q


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def slice_writes(x, a):
    """Slices with steps, open ends, negative bounds and reversed; scalars and arrays on the right."""
    y = np.ones(8)
    y[1:4] = x[:3]
    y[::3] = a * x[3:]
    y[-3:] *= x[1]
    y[6:2:-1] += x[:4] * y[0]
    y[5:5] = 100.0
    y[-1:-4:-2] = a
    y[:] = y * y[::-1]
    return np.sum(y * np.arange(8.0))


@program(args=lambda: (_matrix(), np.array([0.4, 1.5, -0.6])), wrt=("m", "v"), tags=("memory",))
def rows_and_columns(m, v):
    """Rows and columns written as wholes, from rows and columns."""
    w = m.copy()
    w[0] = v
    w[:, 1] = w[0] * v
    w[2, :] += w[:, 0]
    w[1:, 2] = v[:2]
    w[-1][0] = w[1, 1]
    w[:, -2] *= 2.0
    return np.sum(w * m) + w[0, 1] * w[2, 2]


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("memory",))
def ellipsis_and_newaxis(m, a):
    """`...` and `newaxis` in reads and writes of an array with three axes."""
    t = np.zeros((3, 2, 3))
    t[..., 0] = m[:, :2]
    t[:, 0, ...] += m
    t[1, ..., 1:] *= a
    t[...] = t + m[:, np.newaxis, :]
    t[:, None, 1] -= a * m[:, None]
    return np.sum(t[..., ::2] * t[..., :2]) + t[(0, 1, 2)] * t[2, 0, 0]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def mask_writes(x, a):
    """Boolean masks: a scalar, a vector as long as the mask is true, in-place operators, an inverted mask."""
    y = x.copy()
    mask = y > 0.7
    y[mask] = a
    y[~mask] *= x[~mask]
    y[x > 1.0] += x[:2] * y[0]
    y[mask] = y[mask] * np.array([1.0, 2.0, 3.0, 4.0])
    y[y > 100.0] = 5.0 * a
    return np.sum(y * y * np.arange(6.0))


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("memory",))
def mask_writes_in_two_dimensions(m, a):
    """A mask over both axes, over rows, over columns, and a mask beside an index."""
    w = m * 1.0
    w[w < 0.0] = a * a
    rows = np.array([True, False, True])
    w[rows] += m[1]
    w[:, rows] *= a
    w[rows, 2] = m[0, :2]
    return np.sum(w * w * m) + w[np.abs(m) > 1.0] @ np.array([1.0, 2.0, 3.0])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def index_array_writes(x, a):
    """Index arrays without repeats: assignment, in-place operators, negative entries, lists."""
    y = np.ones(5)
    index = np.array([3, 0, -1])
    y[index] = x[:3]
    y[[1, 3]] += a * x[index[:2]]
    y[index] *= y[index[::-1]]
    return np.sum(y * y * np.arange(1.0, 6.0))


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def repeated_indices_last_writer_wins(x, a):
    """Stores with repeated indices keep the last value; the other values get no cotangent."""
    y = np.ones(3)
    index = np.array([0, 2, 0, 1, 2, 0])
    y[index] = x * a
    total = np.sum(y * y * np.array([1.0, 2.0, 3.0]))
    y[index[:3]] = y[index[3:]] * x[3:]
    return total + np.prod(y)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def repeated_indices_in_place_add(x, a):
    """`y[i] += v` with repeats adds only once per place, `np.add.at` every time."""
    index = np.array([0, 2, 0, 1, 2, 0])
    once = np.full(3, a)
    once[index] += x
    once[index] *= 1.0 + x[::-1]
    every = np.full(3, a)
    np.add.at(every, index, x * once[index])
    np.subtract.at(every, index[:2], x[0])
    return np.sum(once * every * np.array([1.0, 2.0, 3.0]))


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("memory",))
def index_arrays_in_two_dimensions(m, x):
    """Pairs of index arrays, one index array beside a slice, a broadcast pair, `np.ix_`."""
    w = m.copy()
    i, j = np.array([0, 2, 1]), np.array([1, 1, 0])
    w[i, j] += x[:3]
    w[i[:2], :] *= x[3]
    w[:, [2, 0]] -= x[:2] * w[0, 1]
    w[i[:, None][:2], j[1:]] = m[:2, :2] * x[4]
    w[np.ix_([0, 1], [2, 1])] += x[5]
    return np.sum(w * m[i]) + np.sum(w[i, j] ** 2)


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("memory",))
def swaps_of_rows(m, a):
    """Rows exchanged with index lists, with copies, and wrongly, through views, as NumPy has it."""
    w = m * a
    w[[0, 2]] = w[[2, 0]]
    first = w[0].copy()
    w[0] = w[1] + first
    w[1], w[2] = w[2].copy(), w[1].copy()
    before = w[0, 0] * w[1, 1] * w[2, 2]
    w[0], w[1] = w[1], w[0]
    w[:, 0], w[:, 2] = w[:, 2], w[:, 0].copy()
    return before + np.sum(w * np.arange(9.0).reshape(3, 3)) + w[0, 0] * w[1, 0]


@program(args=lambda: (_vector(), np.array([1.0, 0.3, 2.0, 0.7, 0.9, 1.1])), wrt=("x", "y"), tags=("memory",))
def swaps_of_elements(x, y):
    """Elements exchanged by tuple assignment, in one array, between two, and through a permutation held in integers."""
    p = np.arange(6)
    x, y = x.copy(), y.copy()
    s = 0.0
    for k in range(5):
        j = k + int(np.argmax(y[k:]))
        y[k], y[j] = y[j], y[k]
        p[k], p[j] = p[j], p[k]
        s += x[p[k]] * (k + 1)
        x[k], y[5 - k] = y[5 - k] * s, x[k]
    return s + x @ y


@program(args=lambda: (_vector(), np.array([1.0, 0.3, 2.0, 0.7, 0.9, 1.1])), wrt=("x", "y"), tags=("memory",))
def out_arguments(x, y):
    """`out=` of ufuncs, of reductions and of matrix products, into fresh arrays, views and the operand itself."""
    z = np.empty(6)
    np.multiply(x, y, out=z)
    result = np.add(z[:3], z[3:], out=z[1:4])
    np.sin(z, z)
    result[0] += 1.0
    total = np.zeros(2)
    np.sum(z.reshape(2, 3), axis=1, out=total)
    np.dot(z.reshape(2, 3), y[:3], out=total)
    np.cumsum(z, out=z)
    return total[0] * total[1] + np.sum(z * z) + result[2]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def where_arguments(x, a):
    """`where=` of ufuncs leaves the other places as they were; of reductions leaves them out."""
    y = np.full(6, a)
    np.sqrt(x, out=y, where=x > 0.0)
    np.divide(a, y, out=y, where=x < 1.0)
    total = np.sum(y * x, where=x > 0.6) + np.mean(y, where=np.arange(6) % 2 == 0)
    return total * np.max(y, where=x < 1.0, initial=-1.0) + y[3]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory", "stretch"))
def copyto_fill_put_place(x, a):
    """Functions and methods that write: `copyto`, `fill`, `put`, `place`, `put_along_axis`, `fill_diagonal`."""
    y = np.empty(6)
    y.fill(a)
    np.copyto(y[1:4], x[:3])
    np.copyto(y, x * 2.0, where=x > 1.0)
    y.put([0, -1], x[2:4] * y[1])
    np.place(y, x < 0.0, [a * x[5]])
    np.putmask(y, x > 1.5, x * x)
    w = np.outer(y[:3], y[3:])
    np.fill_diagonal(w, x[:3])
    np.put_along_axis(w, np.array([[2], [0], [1]]), x[3:].reshape(3, 1), axis=1)
    return np.sum(w * w) + y @ x


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def augmented_on_arrays_and_views(x, a):
    """`y += z` changes the array that others hold; `y = y + z` makes a new one."""
    y = x.copy()
    held = y
    tail = y[3:]
    y += a
    y *= x
    tail /= 2.0 + a
    y = y + held
    y -= a * x
    tail **= 2
    return np.sum(y * held) + tail[1] * held[0]


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory",))
def overlapping_source_and_target(x):
    """Shifts within one array: NumPy reads everything before it writes."""
    y = x.copy()
    y[1:] = y[:-1] * 1.5
    y[1:] += y[:-1]
    y[:-2] *= y[2:]
    y[::-1] += y
    y[:] = np.roll(y, 1) * y[0]
    np.subtract(y[:-1], y[1:], out=y[:-1])
    return np.sum(y * np.arange(1.0, 7.0)) + y[2] * y[4]


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("memory",))
def overlapping_in_two_dimensions(m):
    """An array changed by its own transpose, rows, columns and corner."""
    w = m.copy()
    w += w.T
    w[1:, :] = w[:-1, :] * w[1:, :]
    w -= w[0]
    w[:, 1:] += w[:, :-1]
    w *= w[2:, 2:]
    w /= 1.0 + w[1, 1] ** 2
    w[:] = w @ w
    return np.sum(w * m)


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("memory",))
def broadcast_writes(m, x):
    """A row, a column, a scalar and a size-1 array written over more than one place."""
    w = np.zeros((3, 3))
    w[:] = x[:3]
    w[1:] += x[3:5, None]
    w[:, :2] *= m[:, 2:]
    w[0] -= x[5]
    w[2:] = w[2:] * m[0] + x[:1]
    v = np.zeros((2, 3, 3))
    v[...] = w
    v[1] *= m
    return np.sum(v[0] * v[1])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def flat_writes(x, a):
    """`.flat`, `ravel` and `reshape` of a contiguous array as targets: the diagonal by a stride of n + 1."""
    w = np.zeros((3, 3))
    w.flat[::4] = x[:3]
    w.ravel()[1] = a
    w.reshape(-1)[2::3] += x[3:]
    w.flat[-2] = w.flat[0] * w[2, 2]
    w = w.reshape(9)
    return np.sum(w * w * np.arange(9.0)) + w[4] * w[1]


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory",))
def sort_in_place(x):
    """`sort`, `argsort` and fancy reads of an array that is changed between them."""
    y = x.copy()
    order = np.argsort(y)
    z = y[order] * np.arange(6.0)
    y[order[0]] = z[3]
    y.sort()
    y[:2] *= z[4]
    return np.sum(y * np.arange(1.0, 7.0)) + np.sort(z)[1] * y[0]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def writes_in_branches(x, a):
    """Which element is overwritten, and whether at all, hangs on the values at run time."""
    y = x.copy()
    for i in range(y.size):
        if y[i] > 1.0:
            y[i] = a * y[i - 1]
        elif y[i] > 0.85:
            y[i - 2 :] *= a
        if y[i] < 0.0:
            continue
        y[(i + 1) % 6] += 0.3 * y[i]
    return np.sum(y * y)


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def addresses_computed_from_values(x, a):
    """Where to write is computed from floats that are themselves overwritten."""
    bins = np.zeros(4)
    y = x.copy()
    for i in range(y.size):
        k = int(2.0 * y[i] + 0.7)
        bins[k] += y[i] * a
        y[i] = 0.0
        bins[k - 1] -= 0.1 * bins[k] ** 2
    return np.sum(bins * bins * np.arange(1.0, 5.0))


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory",))
def products_with_one_of_what_changes(x):
    """What equals an array now is not that array when it changes."""
    y = x + 0.5
    h = 1.0 * y
    for k in range(3):
        g = y * 1.0
        y[k] = 2.0 * h[k]
        h = h + g
    p = y[1:] ** 1
    y[3] = 7.0
    return np.sum(h * h) + np.sum(p * p * p)


@program(args=lambda: (_vector(),), wrt=("x",), tags=("memory",))
def numbers_stored_and_then_replaced(x):
    """What was stored is no longer there when the way back needs it."""
    y = np.empty(x.size)
    total = 0.0
    for i in range(x.size):
        t = np.exp(x[i])
        y[i] = t
        total += t * t
    for i in range(x.size):
        y[i] = y[i] * x[0]
    return total + np.sum(y)


def _chosen(k, u):
    return None if k > 2 else u


class _Holder:
    def __init__(self, v):
        self.v = v


@program(args=lambda: (_vector(), 1), wrt=("x",), tags=("memory",))
def in_place_in_what_may_be_none(x, k):
    """What may be None is the array itself where it is not: `+=` changes it under all its names."""
    u, items, held = x.copy(), [x[0]], _Holder(_chosen(k, x * 1.0))
    v, numbers, kept = _chosen(k, u), _chosen(k, items), held.v
    v += 2.0 * x
    numbers += [x[1], x[2]]
    held.v *= x
    v[1] -= x[0]
    return np.sum(np.sin(u)) + sum(items) + np.sum(kept * x)
