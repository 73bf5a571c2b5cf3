"""Views: slices of slices, transposes, reshapes, diagonals, reversed views; writes that must show through all of them."""

import numpy as np

from .registry import program


def _vector():
    return np.array([0.5, 1.2, 0.8, -0.3, 0.9, 1.6])


def _matrix():
    return np.array([[0.5, 1.2, 0.8], [-0.3, 0.9, 1.6], [0.7, -1.1, 0.4]])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def write_through_a_slice(x, a):
    """A write through the view shows in the base, and one in the base shows in the view."""
    y = x.copy()
    v = y[1:5]
    v[0] = a * y[0]
    y[2] = v[0] * v[3]
    before = v.sum()
    v[:] = v * v
    y[4] += a
    return before * np.sum(y) + v[1] * v[3]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def views_of_views(x, a):
    """Slices of slices with steps, down to one element."""
    y = x.copy()
    odd = y[1::2]
    back = odd[::-1]
    last = back[:2][1:]
    back[0] = a
    last *= y[5]
    odd[1:] += last
    back[-1:] -= odd[2] * y[::2][1]
    return np.sum(y * np.arange(1.0, 7.0)) + last[0] * back[0]


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("memory",))
def transposed_views(m, a):
    """`.T`, `transpose`, `swapaxes`, `moveaxis` are views: writes go to the base."""
    w = m.copy()
    t = w.T
    t[0] *= a
    t[1, 2] = w[0, 0] * w[1, 2]
    cube = np.zeros((2, 3, 3))
    np.swapaxes(cube, 0, 2)[..., 1] = w
    np.moveaxis(cube, 0, -1)[:, :, 0] = t
    cube.transpose(2, 0, 1)[1] += a
    view = np.transpose(cube, (1, 0, 2))
    view[2, 1] *= view[0, 1]
    return np.sum(cube[0] * cube[1] * w) + w[2, 1] ** 2


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def reshaped_views(x, a):
    """Reshapes of a contiguous array are views, also with -1 and of a part of it."""
    y = x.copy()
    grid = y.reshape(2, 3)
    grid[1] *= grid[0]
    columns = grid.reshape(3, -1)
    columns[:, 1] += a
    tail = np.reshape(y[2:], (2, 2))
    tail[0, 1] = y[0] * a
    tail.ravel()[2] *= 3.0
    y.reshape(1, 6, 1)[0, 5, 0] += columns[0, 0]
    return np.sum(grid * grid) + y[3] * tail[1, 0] + columns[2, 1]


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("memory",))
def reshape_of_a_transpose_is_a_copy(m, a):
    """A reshape that cannot be a view is a copy: writes to it are not seen by the base, nor the other way round."""
    w = m.copy()
    flat = w.T.reshape(-1)
    flat[1] = a
    flat *= flat
    w[0, 1] = a * w[2, 2]
    part = w[:, :2].ravel()
    part[0] *= 5.0
    rows = w.reshape(-1)
    rows[4] += a * part[0]
    return flat @ rows + np.sum(w * w) + part[1] * flat[3]


@program(args=lambda: (_matrix(), np.array([[0.4, 0.9]])), wrt=("m", "v"), tags=("memory",))
def ravel_depends_on_the_layout(m, v):
    """`ravel` of a row vector's transpose is a view although that of a matrix's transpose is a copy."""

    def double_first(p):
        q = p.T.ravel()
        q[0] *= 2.0
        return q

    w, u = m.copy(), v.copy()
    first = double_first(w)
    second = double_first(u)
    return first[0] * w[0, 0] + second[0] * u[0, 0] + first @ first + np.sum(u)


@program(args=lambda: (_matrix(), _vector()), wrt=("m", "x"), tags=("memory",))
def diagonal_views(m, x):
    """`diag` of a matrix reads, `diag` of a vector makes; `diagonal` follows later writes; writes go by a flat stride."""
    w = m.copy()
    d = np.diagonal(w)
    before = np.diag(w).copy()
    w.reshape(-1)[::4] += x[:3]
    upper = np.diagonal(w, 1) * x[3:5]
    w[0, 0] *= x[5]
    w[np.arange(3), np.arange(3)] *= 2.0
    made = np.diag(upper, -1) + np.diag(x[:3])
    return np.sum(d * before) + np.sum(made * w) + np.trace(w @ made) + w.diagonal(-1).prod()


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def reversed_views(x, a):
    """Reversed views of one and two axes, by slices and by `flip`, written to and read while the base changes."""
    y = x.copy()
    r = y[::-1]
    for i in range(1, 6):
        r[i] = r[i] + a * y[i - 1] * r[i - 1]
    grid = y.reshape(2, 3)
    np.flip(grid)[0, 0] *= 2.0
    np.flip(grid, 0)[1] += np.flip(grid, axis=1)[0] * a
    grid[::-1, ::-2][1] *= 1.5
    return np.sum(y * y) + r[2] * y[2]


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("memory",))
def newaxis_and_squeezed_views(m, a):
    """Views with an axis more or less: `newaxis`, `expand_dims`, `squeeze`."""
    w = m.copy()
    column = w[:, 1][:, np.newaxis]
    column *= a
    tall = np.expand_dims(w[0], axis=(0, 2))
    tall[0, 2, 0] += w[1, 1]
    thin = np.squeeze(w[1:2, :, None], axis=2)
    thin[0, 0] = a * a
    w[2][None][0, 1:] -= column[:2, 0]
    w[None, 2:].squeeze()[0] *= 4.0
    return np.sum(w * w) + column[0, 0] * tall[0, 2, 0] + thin[0, 0]


@program(args=lambda: (_matrix(), np.array([0.4, 1.5, -0.6])), wrt=("m", "v"), tags=("memory",))
def row_view_kept_across_writes(m, v):
    """A row is a view, a fancy row a copy, a masked row a copy, a scalar element a value."""
    w = m.copy()
    row, fancy, masked, element = w[1], w[[1]], w[np.array([False, True, False])], w[1, 1]
    w[1] = v * w[0]
    fancy[0, 0] *= 3.0
    masked += v
    w[1, 1] += element
    return np.sum(row * fancy[0]) + np.sum(masked * row) + element * row[1]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def split_parts_are_views(x, a):
    """The parts of `split` are views, and so are the rows of unpacking."""
    y = x.copy()
    left, middle, right = np.split(y, 3)
    first, rest = np.split(y, [1])
    middle *= a
    right[0] += left[0] * middle[0]
    rest[0] *= first[0]
    top, bottom = y.reshape(2, 3)
    bottom += top * left[1]
    for part in np.split(y, [1, 4]):
        part[0] += a * part[-1]
    return np.sum(y * y) + right[0] * middle[1] * bottom[2]


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def broadcast_views(x, a):
    """`broadcast_to` reads the base as it is later; `tile` and `repeat` copy."""
    y = x[:3].copy()
    wide = np.broadcast_to(y, (2, 3))
    tiled = np.tile(y, (2, 1))
    p = np.repeat(y[None], 2, axis=0)
    y[0] *= a
    y[2] = y[0] * y[1]
    return np.sum(wide * tiled) + np.sum(p * p * wide) + np.sum(wide[:, 2] * a)


@program(args=lambda: (_vector(), 0.7, 1), wrt=("x", "a"), tags=("memory",))
def broadcast_of_run_time_length_one(x, a, k):
    """`x[:k] * y` with k = 1 at run time broadcasts, with k = 3 it does not; the adjoint sums or doesn't."""
    y = x[3:]
    total = 0.0
    for length in (k, 3 * k):
        z = x[:length] * y + a
        z[:] += y[:length]
        total += np.sum(z * z) + np.sum(x[: length * k] - y[:k])
    w = np.zeros((3, 3))
    w[:length] += x[:k]
    w[:k] *= y
    return total + np.sum(w[0] * w[1])


@program(args=lambda: (_vector(), 0.7), wrt=("x", "a"), tags=("memory",))
def views_of_temporaries(x, a):
    """A view of an array that has no name of its own, written to and returned by a helper."""

    def middle(v):
        return (v * a)[1:-1]

    v = middle(x)
    v[0] += v[3]
    np.sin(x)[::2][1:][0] = 100.0
    w = np.concatenate([v, v])[2:6]
    w[1:3] *= v[:2]
    return np.sum(w * w) + v[0] * w[2]


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("memory", "stretch"))
def triangles_and_windows(m):
    """`tril`, `triu`, `tril_indices` and sliding windows over one buffer."""
    w = np.tril(m) @ np.triu(m, 1)
    w[np.tril_indices(3, -1)] = m[np.triu_indices(3, 1)]
    flat = w.reshape(-1)
    windows = np.lib.stride_tricks.sliding_window_view(flat, 3)
    flat[4] *= 2.0
    return np.sum(windows[::2] * windows[1::2][0]) + np.sum(w * w)


@program(args=lambda: (_vector(), 0.6), wrt=("x", "a"), tags=("memory", "types", "complex"))
def real_and_imaginary_parts_are_views(x, a):
    """`.real` and `.imag` of a complex array as targets of writes."""
    z = np.zeros(3, dtype=complex)
    z.real = x[:3]
    z.imag[:] = x[3:] * a
    part = z.real
    z *= 1j * z + a
    part[0] += z[1].imag
    return np.sum(np.abs(z) ** 2) + z[0].real * z.imag[2]


@program(args=lambda: (_matrix(), np.array([2, 0, 1, 0])), wrt=("m",), tags=("memory",))
def columns_that_numpy_lays_out_first(m, order):
    """What NumPy puts into memory column by column is seen as one vector, also on the way back."""
    picked = m[:, order]
    sums = np.cumsum(m.T, axis=0).reshape(-1)
    ranked = np.sort(m.T, axis=0).ravel()
    total = np.prod(picked) + np.prod(sums[3:9]) + ranked @ ranked
    return total + np.prod(picked.reshape(-1) + 0.5) * np.median(picked)


@program(args=lambda: (np.float64(1.2), _vector()), wrt=("a", "x"), tags=("memory", "types"))
def axes_for_a_number(a, x):
    """NumPy's numbers take `...` and `np.newaxis` as an index, Python's do not."""
    row = np.sum(x)[None] * a[...]
    return row[0] + a[np.newaxis, ...][0] * x[1][..., None][0] + a[()]


@program(args=lambda: (np.random.default_rng(31).uniform(0.5, 1.5, size=(6, 5)), 0.1), wrt=("u", "k"), tags=("memory",))
def sums_of_products_of_what_was_written(u, k):
    """`einsum` and `tensordot` read arrays of any order that were written to before, and stay apart from them."""
    u = u.copy()
    v = u[1:-1, 1:-1]
    v += k * (u[:-2, 1:-1] + u[2:, 1:-1] - 2.0 * v)
    out = np.empty_like(v)
    np.multiply(v, v, out=out)
    total = np.einsum("ij,ij->", out, v) + np.sum(np.tensordot(v.T, out, axes=([1], [0])))
    w = np.einsum("ij,jk->ik", v, out[:3, :])
    v[0] = 2.0 * w[1]
    return total + np.linalg.norm(v.T, axis=(0, 1)) + np.sum(np.einsum("ij->ji", w) * w.T)


@program(args=lambda: (np.linspace(0.3, 1.4, 12), 3), wrt=("x",), tags=("memory",))
def shapes_assigned(x, n):
    """`a.shape = n`: in place, so that views of the array see what is written to it afterwards, and stay as they are."""
    rows, columns = np.mgrid[0:n, 0:4]
    c = np.sin(x).reshape(n, 4) * columns + rows
    v = c[1]
    rows.shape = columns.shape = c.shape = n * 4
    c[5] *= x[2]
    w = c[2:8]
    w.shape = 2, -1
    w[1] = w[0] * x[3]
    return np.sum(c * c) + np.sum(v) + np.sum(c[columns[1:4]] * w[0]) + np.vstack([c, x])[1, n]


@program(args=lambda: (np.array([[0.4, -1.2, 0.7], [1.1, 0.3, -0.6]]), 0.8), wrt=("x", "s"), tags=("memory",))
def diagonals_of_a_stack(x, s):
    """`np.einsum` shows the diagonals of matrices: what is written there is in the matrices, and the other way round."""
    z = np.zeros((2, 3, 3))
    np.einsum("ijj->ij", z)[...] = x * s
    shown = np.einsum("ijj->ji", z)
    z[:, 1, 1] += x[:, 0] ** 2
    shown[2] *= 1.0 + s
    np.einsum("...jj->...j", z)[0, 1] -= s * x[1, 1]
    z += np.eye(3)
    inverse = np.linalg.inv(z + 0.1 * s * np.ones((3, 3)))
    return np.sum(shown * x.T) + np.sum(inverse @ z @ z) + np.sum(np.einsum("iij->j", np.swapaxes(z, 0, 2)[:2, :2]))
