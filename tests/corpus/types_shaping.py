"""Creation and shaping: every way to make an array out of numbers and to rearrange one, with the order visible."""

import math

import numpy as np

from .registry import program, rng
from .types_elementwise import in_jax


def _matrix():
    return np.array([[0.5, 1.2, 0.8], [-0.3, 0.9, 1.6]])


def _ramp(shape):
    return np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape)


def _weigh(v):
    return np.sum(v * v * _ramp(v.shape))


@program(args=lambda: (0.7, 1.6, 4), wrt=("a", "b"), tags=("types", "primitives"))
def creation_from_numbers(a, b, n):
    """`zeros`, `ones`, `empty`, `full`, `eye`, `identity` with sizes known at run time, then filled."""
    z = np.zeros(n)
    z[1] = a
    f = np.full((2, n), b)
    f[0] += np.ones(n) * a
    e = np.empty((n, n))
    e[:] = np.eye(n) * a + np.identity(n) * b + np.eye(n, k=1)
    g = np.full(n, 2) * b + np.ones((n,), dtype=int) + np.full((2, 1), np.array([a, b]).reshape(2, 1))
    return _weigh(z) + _weigh(f) + _weigh(e) + _weigh(g)


@program(args=lambda: (0.7, 1.6, 4), wrt=("a", "b"), tags=("types", "primitives"), jax=in_jax("ranges_and_grids"))
def ranges_and_grids(a, b, n):
    """`arange` and `linspace` with bounds that are differentiated; with `endpoint`, `retstep`, int and float steps."""
    t, step = np.linspace(a, b, n, retstep=True)
    u = np.linspace(0.0, a * b, num=3, endpoint=False)
    v = np.arange(n) * a + np.arange(1, 9, 2) * b - np.arange(3, -1, -1)
    w = np.arange(0.0, 1.0, 0.25) ** a
    return _weigh(t) * step + _weigh(u) + _weigh(v) + _weigh(w[1:])


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("types", "primitives"))
def creation_like_another(m, a):
    """`zeros_like`, `ones_like`, `empty_like`, `full_like`, also of integers and with another dtype."""
    k = np.arange(3)
    z = np.zeros_like(m)
    z[:, 1:] = m[:, :2]
    e = np.empty_like(m[0])
    e[:] = a
    f = np.full_like(m, a) * np.ones_like(k) + np.full_like(k, 2.9) + np.zeros_like(k, dtype=float)
    return _weigh(z) + _weigh(e) + _weigh(f) + np.sum(np.ones_like(a) * a)


@program(args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("types", "primitives"))
def arrays_from_pieces(m, a):
    """`array` of scalars, of nested lists, of rows, of mixed expressions; `asarray`, `copy`, `astype`."""
    rotation = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]])
    rows = np.array([m[0], m[1] * a, m[0] - m[1]])
    mixed = np.array([a, 1, m[0, 0] * 2.0, m.sum()])
    block = np.asarray([rotation @ m[:, :2], np.zeros((2, 2))])
    copied = np.copy(m)
    copied[0, 0] = a
    return _weigh(rotation) + _weigh(rows) + _weigh(mixed) + _weigh(block) + _weigh(copied) + _weigh(m.astype("f8"))


@program(
    args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])),
    wrt=("m", "x"),
    tags=("types", "primitives"),
    jax=in_jax("joining"),
)
def joining(m, x):
    """`concatenate` along axes and flat, `stack`, `hstack`, `vstack`, `append`-like growth in a loop."""
    total = _weigh(np.concatenate([m, x[None, :], m[:1]])) + _weigh(np.concatenate((m, m[:, :1]), axis=1))
    total += (
        _weigh(np.concatenate([m, x], axis=None)) + _weigh(np.stack([x, m[0], x], axis=1)) + _weigh(np.stack((m, m)))
    )
    total += _weigh(np.hstack([x, 1.5, m[0]])) + _weigh(np.vstack([x, m])) + _weigh(np.hstack((m, m)))
    grown = x[:1]
    for k in range(3):
        grown = np.concatenate([grown, grown[-1:] * x[k]])
    return total + _weigh(grown) + _weigh(np.concatenate([np.arange(2), x]))


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"), jax=in_jax("axes_rearranged"))
def axes_rearranged(m):
    """`reshape`, `ravel`, `transpose`, `.T`, `swapaxes`, `moveaxis`, `expand_dims`, `squeeze`, `flatten`, `broadcast_to`."""
    t = (m[:, :, None] * m[0] + np.arange(3.0)).reshape(3, 2, 3)
    total = _weigh(m.T) + _weigh(np.transpose(t, (2, 0, 1))) + _weigh(t.transpose()) + _weigh(np.swapaxes(t, 0, -1))
    total += _weigh(np.moveaxis(t, 2, 0)) + _weigh(np.moveaxis(t, (0, 1), (1, 2))) + _weigh(np.reshape(m, (3, -1)))
    total += _weigh(m.reshape(6)) + _weigh(t.ravel()) + _weigh(t.T.flatten()) + _weigh(np.expand_dims(m, 1))
    total += _weigh(np.squeeze(m[:1])) + _weigh(m.reshape((1, 6)).squeeze(axis=0)) + _weigh(t.swapaxes(1, 2)[0])
    return total + _weigh(np.broadcast_to(m[:, :1], (2, 3))) + _weigh(np.reshape(t, (9, 2), order="F"))


@program(args=lambda: (_matrix(),), wrt=("m",), tags=("types", "primitives"))
def repeating_and_rolling(m):
    """`tile`, `repeat` (a count, a list, an axis), `flip`, `roll` (axes, negative, by more than the length)."""
    total = _weigh(np.tile(m, 2)) + _weigh(np.tile(m[0], (2, 1))) + _weigh(np.tile(m, (2, 1, 2)))
    total += _weigh(np.repeat(m, 2)) + _weigh(np.repeat(m, [1, 3], axis=0)) + _weigh(m.repeat(2, axis=1))
    total += _weigh(np.flip(m)) + _weigh(np.flip(m, axis=1)) + _weigh(np.flip(m, (0,)))
    total += _weigh(np.roll(m, 1)) + _weigh(np.roll(m, -2, axis=1)) + _weigh(np.roll(m, (1, 5), axis=(0, 1)))
    return total + _weigh(np.roll(m[0], m.shape[0]))


@program(
    args=lambda: (_matrix(), 0.7), wrt=("m", "a"), tags=("types", "primitives"), jax=in_jax("padding_and_splitting")
)
def padding_and_splitting(m, a):
    """`pad` with constants, edges, wraps and reflections; `split` by number and by places."""
    x = m[1]
    total = (
        _weigh(np.pad(x, 1))
        + _weigh(np.pad(m, ((1, 0), (0, 2)), constant_values=2.0))
        + _weigh(np.pad(x, (2, 1), mode="edge"))
    )
    total += (
        _weigh(np.pad(x, 2, mode="wrap"))
        + _weigh(np.pad(x, (1, 2), mode="reflect"))
        + _weigh(np.pad(x, 2, "symmetric"))
    )
    left, middle, right = np.split(m, 3, axis=1)
    head, tail = np.split(m.ravel() * a, [2])
    return total + _weigh(left * right) + middle[0, 0] * middle[1, 0] + _weigh(head) * tail[3]


@program(args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])), wrt=("m", "x"), tags=("types", "primitives"))
def indexing_reads(m, x):
    """Reads by slices, negative and array indices, masks, `newaxis`, `...`, tuples of them, and `take`."""
    i = np.array([2, 0, 2, -1])
    total = _weigh(x[i]) + _weigh(m[:, i]) + _weigh(m[1, [0, 2]]) + _weigh(m[[1, 0, 1]]) + _weigh(m[[0, 1], [2, 1]])
    total += _weigh(m[m > 0.7]) + _weigh(m[:, x > 0.0]) + _weigh(m[-1, ::-2]) + _weigh(m[..., None, 1]) + m[(1, 2)] ** 2
    total += _weigh(m[i[:2, None] // 2, i[1:]]) + _weigh(m[1:][0, i]) + _weigh(x[None, i[:2], None])
    total += _weigh(np.take(x, i)) + _weigh(np.take(m, [1, 0, 1], axis=0)) + _weigh(m.take([5, 0])) + np.take(x, 1)
    return (
        total + _weigh(np.take(x, [4, -2], mode="wrap")) + _weigh(x[np.nonzero(x > 0.0)]) + _weigh(m[np.where(m < 1.0)])
    )


@program(args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])), wrt=("m", "x"), tags=("types", "primitives"))
def methods_of_arrays(m, x):
    """The methods that mirror the functions, in chains."""
    total = m.sum(axis=0).max() * m.T.ravel().cumsum()[2] + m.mean(1).dot(m.min(axis=1)) + x.prod() * m.std()
    total += m.reshape(3, 2).swapaxes(0, 1).copy().take([1, 2]).sum() + x.repeat(2).reshape(2, 3).var(axis=0).sum()
    total += x.clip(-1.0, 0.5).round(1).sum() * x[0] + m.flatten()[m.argmax()] ** 2 + (x > 0).any() * m.trace()
    return total + m.squeeze().diagonal().sum() + m.astype(float).tolist()[1][2] * x.item(1) + m.conj().real.sum()


@program(
    args=lambda: (_matrix(), np.array([0.4, 0.9, -1.3])),
    wrt=("m", "x"),
    tags=("types", "primitives", "stretch"),
    jax=in_jax("shaping_not_named"),
)
def shaping_not_named(m, x):
    """`column_stack`, `dstack`, `meshgrid`, `rot90`, `block`, `take_along_axis`, `sort`, `insert`, `delete`, `append`."""
    total = _weigh(np.column_stack([x, m[0]])) + _weigh(np.dstack([m, m])) + _weigh(np.rot90(m)) + _weigh(np.fliplr(m))
    p, q = np.meshgrid(x, m[:, 0], indexing="ij")
    total += _weigh(p * q) + _weigh(np.block([[m, m[:, :1]], [x, 1.0]])) + _weigh(np.append(x, m))
    order = np.argsort(m, axis=1)
    total += (
        _weigh(np.take_along_axis(m, order, axis=1) * m) + _weigh(np.sort(m, axis=0)) + _weigh(np.median(m, axis=1))
    )
    total += (
        _weigh(np.insert(x, 1, m[0, 0])) + _weigh(np.delete(x, 1)) + _weigh(np.atleast_2d(x)) + _weigh(np.vander(x, 3))
    )
    return total + _weigh(np.select([x > 0.5, x > 0.0], [x * x, -x], default=1.0)) + _weigh(np.tril(m) + np.triu(m, 1))


@program(args=lambda: (rng(3).normal(size=(2, 4, 3)),), wrt=("a",), tags=("types",))
def axes_computed_by_numpy(a):
    """Axes, shapes, widths and indices that are arrays of constants: rolled, sorted, computed with, written to."""
    order = np.argsort([2, 0, 1])
    swapped = np.arange(a.ndim)
    swapped[0], swapped[-1] = swapped[-1], swapped[0]
    place = np.array([1, 0, 1])
    total = np.sum(np.transpose(a, np.roll(np.arange(a.ndim), 1))[0] ** 2) * np.sum(a.transpose(order)[1] ** 3)
    total += np.sum(np.transpose(a, swapped)[1] ** 2) * np.sum(np.sum(a, axis=tuple(order[:2])) ** 2)
    total += np.sum(np.tile(a, np.array([1, 2, 1]))[0, 5:] ** 2) * a[tuple(place)] * a[tuple(place - 1)]
    padded = np.pad(a, np.array([[1, 1], [0, 2], [0, 0]]))
    return (
        total + np.sum(np.moveaxis(padded, place[:1], np.array([2]))[1] ** 2) + np.sum(a.reshape(np.array([6, 4]))[1])
    )


@program(args=lambda: (rng(4).normal(size=(2, 4, 3)), 3), wrt=("a",), tags=("types",))
def shapes_that_a_loop_changes(a, n):
    """A shape in an array that a loop writes to, behind a use of it, is that of each turn."""
    shape = np.array([2, 12])
    total = 0.0
    for k in range(n):
        total += np.sum(a.reshape(shape)[0] ** 2) * (k + 1)
        if k == 1:
            shape[0] = 4
            shape[1] = 6
    return total
