"""Methods of ufuncs: `reduce`, `accumulate`, `reduceat`, `at` and `outer`; and the ufuncs that Numba makes."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives import arithmetic, comparison, special, transcendental  # noqa: F401 - their rows have outers
from diffjit.primitives.library.axes import all_axes, as_float, merged_first
from diffjit.primitives.registry import COMPOSITES, ELEMENTWISE, implements

# Reductions that NumPy has as functions


@implements(np.add.reduce)
def add_reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=0, where=True):
    """Sum."""
    return np.sum(array, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.multiply.reduce)
def multiply_reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=1, where=True):
    """Product."""
    return np.prod(array, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)


@implements(np.maximum.reduce)
def maximum_reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """Largest."""
    return np.max(np.asarray(array, dtype), axis=axis, keepdims=keepdims, initial=initial, where=where)


@implements(np.minimum.reduce)
def minimum_reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """Smallest."""
    return np.min(np.asarray(array, dtype), axis=axis, keepdims=keepdims, initial=initial, where=where)


@implements(np.logical_and.reduce)
def logical_and_reduce(array, axis=0, dtype=None, out=None, keepdims=False, *, where=True):
    """Whether all hold."""
    return np.all(array, axis=axis, keepdims=keepdims, where=where)


@implements(np.logical_or.reduce)
def logical_or_reduce(array, axis=0, dtype=None, out=None, keepdims=False, *, where=True):
    """Whether any holds."""
    return np.any(array, axis=axis, keepdims=keepdims, where=where)


@implements(np.logaddexp.reduce)
def logaddexp_reduce(array, axis=0, dtype=None, out=None, keepdims=False):
    """Logarithm of the sum of exponentials, shifted by the largest."""
    array = as_float(np.asarray(array, dtype))
    top = np.max(array, axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0.0)
    result = np.log(np.sum(np.exp(array - shift), axis=axis, keepdims=True)) + shift
    return np.sum(result, axis=axis, keepdims=keepdims)  # over axes of length 1: drops them


@implements(np.add.accumulate)
def add_accumulate(array, axis=0, dtype=None, out=None):
    """Running sum."""
    return np.cumsum(array, axis=axis, dtype=dtype)


@implements(np.multiply.accumulate)
def multiply_accumulate(array, axis=0, dtype=None, out=None):
    """Running product."""
    return np.cumprod(array, axis=axis, dtype=dtype)


# The methods of any binary ufunc, by loops


def result_dtype(ufunc, a):
    """The dtype of results of `ufunc` on items of `a`; sums and products of small ints are wide."""
    if ufunc in (np.add, np.multiply) and a.dtype.kind in "bi":
        return np.dtype(np.int64)
    return ufunc(a[:0], a[:0]).dtype


def reorderable(ufunc):
    """Whether NumPy reduces by `ufunc` over several axes."""
    try:
        ufunc.reduce(np.ones((1, 1), ufunc.types[0][0]), axis=(0, 1))
    except ValueError:
        return False
    return True


def reduce_of(ufunc):
    """`ufunc.reduce` as a function."""
    name, identity, order_is_free = ufunc.__name__, ufunc.identity, reorderable(ufunc)

    def reduce(array, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """The items combined, from the first to the last."""
        array = np.asarray(array, dtype)
        axes = all_axes(axis, array.ndim)
        if len(axes) > 1 and not order_is_free:
            raise ValueError(f"reduction operation '{name}' is not reorderable, so at most one axis may be specified")
        items = merged_first(array, axes).astype(result_dtype(ufunc, array))
        included: Any = where if where is True else merged_first(np.broadcast_to(where, array.shape), axes)
        n = items.shape[0]
        start = identity if initial is None and where is not True else initial
        if start is None:
            if where is not True:
                raise ValueError(
                    f"reduction operation '{name}' does not have an identity, "
                    "so to use a where mask one has to specify 'initial'"
                )
            if identity is None:
                if n == 0:
                    raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
                result = items[0].copy()
            else:
                result = items[0].copy() if n > 0 else np.full(items.shape[1:], identity, items.dtype)[()]
        else:
            result = np.full(items.shape[1:], start, items.dtype)[()]
        for k in range(1 if start is None else 0, n):
            longer = ufunc(result, items[k])
            result = longer if where is True else np.where(included[k], longer, result)[()]
        return np.expand_dims(result, axes) if keepdims else result

    return reduce


def accumulate_of(ufunc):
    """`ufunc.accumulate` as a function."""

    def accumulate(array, axis=0, dtype=None, out=None):
        """Running results."""
        array = np.asarray(array, dtype)
        results = np.moveaxis(array.astype(result_dtype(ufunc, array)), axis, 0)
        for k in range(1, results.shape[0]):
            results[k] = ufunc(results[k - 1], results[k])
        return np.moveaxis(results, 0, axis)

    return accumulate


def reduceat_of(ufunc):
    """`ufunc.reduceat` as a function."""

    def reduceat(array, indices, axis=0, dtype=None, out=None):
        """The items from each index up to the next one combined; one item where the next index is not larger."""
        array, starts = np.asarray(array, dtype), np.asarray(indices)
        items = np.moveaxis(array.astype(result_dtype(ufunc, array)), axis, 0)
        n, count = items.shape[0], starts.shape[0]
        if np.any(np.logical_or(starts < 0, starts >= n)):
            raise IndexError("an index is out of bounds")
        results = items[starts]
        for k in range(count):
            stop = starts[k + 1] if k + 1 < count else n
            for j in range(starts[k] + 1, stop):
                results[k] = ufunc(results[k], items[j])
        return np.moveaxis(results, 0, axis)

    return reduceat


def at_of(ufunc):
    """`ufunc.at` as a function."""

    def at(a, indices, b=None, /):
        """In place at each index in turn: a repeated one sees what was stored before, operands do not."""
        positions = np.reshape(np.arange(a.size), a.shape)[indices]
        flat = np.ravel(positions)
        operands = None if b is None else np.array(np.broadcast_to(b, np.shape(positions))).reshape(-1)
        for k in range(flat.shape[0]):
            place = np.unravel_index(flat[k], a.shape)
            a[place] = ufunc(a[place]) if operands is None else ufunc(a[place], operands[k])

    return at


def outer_of(ufunc):
    """`ufunc.outer` as a function."""

    def outer(A, B, /, *, dtype=None):
        """All pairs of elements."""
        A, B = np.asarray(A), np.asarray(B)
        A = np.reshape(A, A.shape + (1,) * B.ndim)
        return ufunc(A, B) if dtype is None else ufunc(A, B, dtype=dtype)

    return outer


METHODS = {"reduce": reduce_of, "accumulate": accumulate_of, "reduceat": reduceat_of, "at": at_of}
# Ufuncs whose results can be operands again. NumPy's own `reduce` by `power` and `arctan2` skips items.
CHAINED = (
    np.add, np.subtract, np.multiply, np.divide, np.hypot, np.fmax, np.fmin, np.maximum,
    np.minimum, np.logaddexp, np.logaddexp2, np.gcd, np.lcm, np.logical_and, np.logical_or, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.float_power, np.fmod, np.remainder,
)  # fmt: skip

for _ufunc in CHAINED:
    for _name, _method_of in METHODS.items():
        if getattr(_ufunc, _name) not in COMPOSITES:
            implements(getattr(_ufunc, _name))(_method_of(_ufunc))
_UFUNCS = {entry.ufunc: None for entry in tuple(ELEMENTWISE.values()) if isinstance(entry.ufunc, np.ufunc)}
for _ufunc in (*_UFUNCS, np.degrees, np.radians):
    if _ufunc.nin == 2:
        implements(_ufunc.outer)(outer_of(_ufunc))
    if "d" * _ufunc.nin + "->d" in _ufunc.types and _ufunc.at not in COMPOSITES:
        implements(_ufunc.at)(at_of(_ufunc))


# Functions of numbers, and of arrays of a few dimensions, that `numba.vectorize` and `numba.guvectorize` have made.
# `loops` says which dtypes they were compiled for, operands and results: the first one that the operands fit is taken.


def fitting(loops, arrays):
    """The dtypes of a loop, one after the other; none where it was not compiled yet, for whatever comes."""
    for loop in loops:
        if all(np.can_cast(arrays[k].dtype, np.dtype(loop[k])) for k in range(len(arrays))):
            return loop
    return loops[0] if loops else ()


class ElementFunction:
    """A function of numbers, applied element by element."""

    def __init__(self, function, loops):
        self.function, self.loops = function, loops

    def __call__(self, *args):
        """An array of results, or a number."""
        given = [np.asarray(a) for a in args]
        loop = fitting(self.loops, given)
        if loop:
            given = [a.astype(loop[k]) for k, a in enumerate(given)]
        arrays = np.broadcast_arrays(*given)
        if arrays[0].ndim == 0:
            found = np.asarray(self.function(*[a[()] for a in arrays]))
            return found.astype(loop[-1])[()] if loop else found[()]
        columns = [np.ravel(a) for a in arrays]
        if not loop:
            items = [self.function(*[c[k] for c in columns]) for k in range(columns[0].size)]
            return np.array(items).reshape(arrays[0].shape)
        out = np.empty(columns[0].size, loop[-1])
        for k in range(out.size):
            out[k] = self.function(*[c[k] for c in columns])
        return out.reshape(arrays[0].shape)


class CoreFunction:
    """A function that writes to arrays of a few dimensions, applied along all others.

    `operands`, `results`: the names of the dimensions of each; `held`: whether an operand without dimensions comes as
    an array of one number.
    """

    def __init__(self, function, loops, operands, results, held):
        self.function, self.loops = function, loops
        self.operands, self.results, self.held = operands, results, held

    def __call__(self, *args):
        """The results, which may be given as arrays to write to."""
        taken = len(self.operands)
        found = self.made(args[:taken])
        given = args[taken:]
        for k in range(len(given)):
            given[k][...] = found[k]
        found = given or found
        return found[0] if len(found) == 1 else found

    def made(self, args):
        """The results as arrays of their own."""
        arrays = [np.asarray(a) for a in args]
        loop = fitting(self.loops, arrays)
        taken, lengths, around, inside = len(arrays), {}, [], []
        arrays = [a.astype(loop[k]) for k, a in enumerate(arrays)]
        for a, core in zip(arrays, self.operands, strict=True):
            first = a.ndim - len(core)
            around.append(a.shape[:first])
            inside.append(a.shape[first:])
            for k, name in enumerate(core):
                if lengths.get(name, a.shape[first + k]) != a.shape[first + k]:
                    raise ValueError("mismatch in the core dimensions of the operands")
                lengths[name] = a.shape[first + k]
        around = np.broadcast_shapes(*around)
        shapes = [tuple(lengths[name] for name in core) for core in self.results]
        rows = [np.broadcast_to(a, around + own).reshape((-1, *own)) for a, own in zip(arrays, inside, strict=True)]
        outs = [np.empty((rows[0].shape[0], *(shape or (1,))), loop[taken + k]) for k, shape in enumerate(shapes)]
        for k in range(rows[0].shape[0]):
            self.function(*[self.operand(r[k], j) for j, r in enumerate(rows)], *[o[k] for o in outs])
        return tuple(o.reshape(around + shape)[()] for o, shape in zip(outs, shapes, strict=True))

    def operand(self, value, j):
        """An operand as the function takes it."""
        return np.array([value]) if self.held[j] and not self.operands[j] else value
