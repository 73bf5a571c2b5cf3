"""Arrays of objects that a program makes: `np.empty(n, dtype=object)` and what is put there, as MATLAB's cells.

    parts = np.empty(3, dtype=object)       parts[k] = x[: k + 1]       parts[1:] = [a, b]       parts.astype(float)

The items are a list that an array and its views share; each knows where in it its first item is, and how far the next.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np

from diffjit.primitives.library.subclasses.held import METHODS, name_of
from diffjit.primitives.registry import constant, implements

_JOINS = {np.concatenate, np.vstack, np.hstack, np.dstack, np.stack, np.column_stack, np.block}
_SHAPES = {np.reshape: "reshape", np.ravel: "ravel", np.transpose: "transpose", np.copy: "copy"}
_KNOWN = {np.shape: "shape", np.size: "size", np.ndim: "ndim"}
_LEAST = {np.atleast_1d: 1, np.atleast_2d: 2}  # dimensions
_OPERATORS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.power: operator.pow, np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.negative: operator.neg,
    np.positive: operator.pos, np.absolute: abs,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.not_equal: operator.ne,
}  # fmt: skip


def kind_of(function):
    """How an array of objects meets one of NumPy's functions."""
    kinds = (
        ("method", {**METHODS, **_SHAPES}), ("known", _KNOWN), ("join", _JOINS), ("dot", {np.dot}), ("least", _LEAST)
    )  # fmt: skip
    return next((kind for kind, functions in kinds if function in functions), "")


def named(function):
    """The method or attribute that is what a function gives, or how many dimensions that has."""
    return {**METHODS, **_SHAPES, **_KNOWN, **_LEAST}[function]


def operator_of(ufunc):
    """The operator that a ufunc calls for each item; None where it calls a method."""
    return _OPERATORS.get(ufunc)


constant(kind_of, named, operator_of)


def refused(what):
    """The error of what an array of objects cannot do here."""
    return NotImplementedError(f"{what} of an array of objects: make numbers of it first, `a.astype(float)`")


def steps_of(shape):
    """How far the next item along each axis is, in C order."""
    return tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])


def is_sequence(value):
    """Whether NumPy goes through a value when it makes an array."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and np.ndim(value) > 0)


class OfObjects:
    """The array."""

    stands_for = np.ndarray
    returned_as = "return its items, `.tolist()`"
    dtype = np.dtype(object)

    def __init__(self, items, shape, start=0, steps=None):
        self.held_items, self.shape, self.held_start = items, shape, start
        self.held_steps = steps_of(shape) if steps is None else steps

    # What NumPy asks.

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        called = operator_of(ufunc)
        if method != "__call__" or kwargs or called is None:
            raise refused(f"`np.{name_of(ufunc)}`")
        if len(inputs) == 1:
            return each(called, inputs[0])
        return paired(called, inputs[0], inputs[1])

    def __array_function__(self, func, types, args, kwargs):
        kind = kind_of(func)
        if kind == "method" and isinstance(args[0], OfObjects):
            return getattr(args[0], named(func))(*args[1:], **kwargs)
        if kind == "known":
            return getattr(args[0], named(func))
        if kind == "least" and len(args) == 1:
            return with_dimensions(args[0], named(func))
        if kind == "dot" and all(len(np.shape(a)) == 1 for a in args):
            return paired(operator.mul, args[0], args[1]).sum()
        if kind == "join" and isinstance(args[0], OfObjects) and args[0].ndim == 1:
            return func(args[0].tolist(), *args[1:], **kwargs)
        raise refused(f"`np.{name_of(func)}`")

    def __getattr__(self, name):
        raise refused(f"`{name}`")

    def __array__(self, dtype=None, copy=None):
        if dtype is None:
            raise refused("`np.asarray`")
        return self.astype(dtype)

    # What it is.

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self):
        """The number of items."""
        return math.prod(self.shape)

    @property
    def T(self):  # noqa: N802 - NumPy's name
        """Axes the other way round: a view."""
        return OfObjects(self.held_items, self.shape[::-1], self.held_start, self.held_steps[::-1])

    @property
    def flat(self):
        """The items, one after another."""
        return iter(self.flattened())

    def __len__(self):
        if len(self.shape) == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        if len(self.shape) == 0:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(self.shape[0])])

    def __bool__(self):
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        return bool(self.flattened()[0])

    def __hash__(self):
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __contains__(self, value):
        return any(bool(item == value) for item in self.flattened())

    def flattened(self):
        """A list of the items."""
        if len(self.shape) == 1:
            start, step = self.held_start, self.held_steps[0]
            return [self.held_items[start + step * k] for k in range(self.shape[0])]
        if len(self.shape) == 0:
            return [self.held_items[self.held_start]]
        rows = [self.row(k).flattened() for k in range(self.shape[0])]
        return [item for row in rows for item in row]

    # Items.

    def within(self, k, axis):
        """Where along an axis an index is."""
        k, n = operator.index(k), self.shape[axis]
        if k < -n or k >= n:
            raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
        return k + n if k < 0 else k

    def row(self, k):
        """The view along the first axis."""
        start = self.held_start + self.held_steps[0] * k
        return OfObjects(self.held_items, self.shape[1:], start, self.held_steps[1:])

    def spread(self, key):
        """An index for each axis, and None for each new one."""
        keys = key if isinstance(key, tuple) else (key,)
        given = len([k for k in keys if k is not None and k is not Ellipsis])
        if given > len(self.shape):
            raise IndexError(
                f"too many indices for array: array is {len(self.shape)}-dimensional, but {given} were indexed"
            )
        others = [slice(None)] * (len(self.shape) - given)
        if Ellipsis in [k for k in keys if k is Ellipsis]:
            at = [k is Ellipsis for k in keys].index(True)
            return (*keys[:at], *others, *keys[at + 1 :])
        return (*keys, *others)

    def is_item(self, key):
        """Whether an index is of one item."""
        if isinstance(key, tuple):
            return len(key) == len(self.shape) and all(isinstance(k, int | np.integer) for k in key)
        return len(self.shape) == 1 and isinstance(key, int | np.integer)

    def place(self, key):
        """Where in the list one item is."""
        if not isinstance(key, tuple):
            return self.held_start + self.held_steps[0] * self.within(key, 0)
        return self.held_start + sum([self.held_steps[a] * self.within(k, a) for a, k in enumerate(key)])

    def view(self, key):
        """What slices and numbers select."""
        start, shape, steps, axis = self.held_start, (), (), 0
        for k in self.spread(key):
            if k is None:
                shape, steps = (*shape, 1), (*steps, self.size)
                continue
            step = self.held_steps[axis]
            if isinstance(k, slice):
                chosen = range(self.shape[axis])[k]
                first = chosen.start if len(chosen) > 0 else 0
                start, shape, steps = start + step * first, (*shape, len(chosen)), (*steps, step * chosen.step)
            elif isinstance(k, int | np.integer):
                start = start + step * self.within(k, axis)
            else:
                raise NotImplementedError("this index of an array of objects: take numbers, slices, or a list of them")
            axis = axis + 1
        return OfObjects(self.held_items, shape, start, steps)

    def chosen(self, key):
        """The places that a list, or an array of places or conditions, selects."""
        if isinstance(key, np.ndarray) and key.dtype == bool:
            return np.nonzero(key)[0]
        return key

    def __getitem__(self, key):
        if self.is_item(key):
            return self.held_items[self.place(key)]
        if isinstance(key, list | np.ndarray):
            if len(self.shape) != 1:
                raise NotImplementedError("a list of places in an array of objects of several dimensions")
            items = [self.held_items[self.place(k)] for k in self.chosen(np.asarray(key))]
            return OfObjects(items, (len(items),))
        return self.view(key)

    def __setitem__(self, key, value):
        if self.is_item(key):
            self.held_items[self.place(key)] = value
        elif isinstance(key, list | np.ndarray):
            if len(self.shape) != 1:
                raise NotImplementedError("a list of places in an array of objects of several dimensions")
            places = self.chosen(np.asarray(key))
            for k, item in zip(places, spread_over(listed(value, 1), len(places)), strict=True):
                self.held_items[self.place(k)] = item
        else:
            view = self.view(key)
            view.put(OfObjects([value], ()) if len(view.shape) == 0 else listed(value, len(view.shape)))

    def put(self, found):
        """Items for all places, those of an array of objects."""
        if len(self.shape) == 0:
            self.held_items[self.held_start] = found.item()
        elif len(self.shape) == 1:
            for k, item in enumerate(spread_over(found, self.shape[0])):
                self.held_items[self.held_start + self.held_steps[0] * k] = item
        elif len(found.shape) < len(self.shape) or found.shape[0] == 1:
            row = found.row(0) if len(found.shape) == len(self.shape) else found
            for k in range(self.shape[0]):
                self.row(k).put(row)
        elif len(found.shape) > len(self.shape) or found.shape[0] != self.shape[0]:
            raise no_fit(found.shape, self.shape)
        else:
            for k in range(self.shape[0]):
                self.row(k).put(found.row(k))

    def fill(self, value):
        """One item everywhere."""
        for k in np.ndindex(*self.shape):
            self[k] = value

    def item(self, *place):
        """One item."""
        items = self.flattened()
        if len(place) == 0 and len(items) == 1:
            return items[0]
        if len(place) == 1:
            return items[place[0]]
        return self[place]

    def tolist(self):
        """Lists of items."""
        if len(self.shape) == 0:
            return self.held_items[self.held_start]
        if len(self.shape) == 1:
            return self.flattened()
        return [self.row(k).tolist() for k in range(self.shape[0])]

    # Others.

    def astype(self, dtype, copy=True):
        """The numbers as an array of another type."""
        if np.dtype(dtype) == self.dtype:
            return self.copy()
        if self.size == 0:
            return np.empty(self.shape, dtype)
        made = np.array(self.flattened(), dtype)
        if np.ndim(made) != 1:
            raise ValueError("setting an array element with a sequence.")
        return made.reshape(self.shape)

    def copy(self, order="C"):
        """Another array of the same items."""
        return OfObjects(self.flattened(), self.shape)

    def flatten(self, order="C"):
        """All items in a row."""
        return OfObjects(self.flattened(), (self.size,))

    def ravel(self, order="C"):
        """All items in a row: a view where they stand in a row."""
        return self.reshape(-1)

    def reshape(self, *shape, order="C"):
        """Other lengths: a view where the items stand in a row."""
        lengths = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        known = math.prod([n for n in lengths if n != -1])
        lengths = tuple([self.size // known if n == -1 else n for n in lengths])
        if math.prod(lengths) != self.size:
            raise ValueError(f"cannot reshape array of size {self.size} into shape {lengths}")
        if self.held_steps == steps_of(self.shape):
            return OfObjects(self.held_items, lengths, self.held_start)
        return OfObjects(self.flattened(), lengths)

    def transpose(self, *axes):
        """Axes the other way round: a view."""
        if len(axes) > 0 and axes != (None,):
            raise NotImplementedError("`transpose` of an array of objects by chosen axes: take `.T`")
        return self.T

    def sum(self, axis=None, dtype=None, out=None, ddof=0):
        """What adding the items gives."""
        items = along(self, axis, dtype, out)
        return functools.reduce(operator.add, items) if len(items) > 0 else 0

    def prod(self, axis=None, dtype=None, out=None):
        """What multiplying the items gives."""
        items = along(self, axis, dtype, out)
        return functools.reduce(operator.mul, items) if len(items) > 0 else 1

    def mean(self, axis=None, dtype=None, out=None):
        """The sum over the number of items."""
        return self.sum(axis, dtype, out) / self.size

    def max(self, axis=None, out=None):
        """The largest item."""
        return max(along(self, axis, None, out))

    def min(self, axis=None, out=None):
        """The smallest item."""
        return min(along(self, axis, None, out))

    def dot(self, other):
        """The sum of products."""
        return np.dot(self, other)

    # Operators.

    def __neg__(self):
        return each(operator.neg, self)

    def __pos__(self):
        return each(operator.pos, self)

    def __abs__(self):
        return each(abs, self)

    def __add__(self, other):
        return paired(operator.add, self, other)

    def __radd__(self, other):
        return paired(operator.add, other, self)

    def __sub__(self, other):
        return paired(operator.sub, self, other)

    def __rsub__(self, other):
        return paired(operator.sub, other, self)

    def __mul__(self, other):
        return paired(operator.mul, self, other)

    def __rmul__(self, other):
        return paired(operator.mul, other, self)

    def __truediv__(self, other):
        return paired(operator.truediv, self, other)

    def __rtruediv__(self, other):
        return paired(operator.truediv, other, self)

    def __pow__(self, other):
        return paired(operator.pow, self, other)

    def __rpow__(self, other):
        return paired(operator.pow, other, self)

    def __floordiv__(self, other):
        return paired(operator.floordiv, self, other)

    def __mod__(self, other):
        return paired(operator.mod, self, other)

    def __matmul__(self, other):
        raise refused("`@`")

    def __rmatmul__(self, other):
        raise refused("`@`")

    def __iadd__(self, other):
        self[...] = self + other
        return self

    def __isub__(self, other):
        self[...] = self - other
        return self

    def __imul__(self, other):
        self[...] = self * other
        return self

    def __itruediv__(self, other):
        self[...] = self / other
        return self

    def __lt__(self, other):
        return paired(operator.lt, self, other).astype(bool)

    def __le__(self, other):
        return paired(operator.le, self, other).astype(bool)

    def __gt__(self, other):
        return paired(operator.gt, self, other).astype(bool)

    def __ge__(self, other):
        return paired(operator.ge, self, other).astype(bool)

    def __eq__(self, other):
        return paired(operator.eq, self, other).astype(bool)

    def __ne__(self, other):
        return paired(operator.ne, self, other).astype(bool)


def with_dimensions(array, least):
    """A view with as many dimensions, more of them in front."""
    new = max(least - array.ndim, 0)
    steps = (array.size,) * new + array.held_steps
    return OfObjects(array.held_items, (1,) * new + array.shape, array.held_start, steps) if new > 0 else array


def along(array, axis, dtype, out):
    """The items that a reduction goes through."""
    if out is not None or dtype is not None:
        raise refused("out= and dtype= of a reduction")
    if axis is not None and not (len(array.shape) == 1 and axis in (0, -1)):
        raise refused("a reduction along an axis")
    return array.flattened()


def each(function, array):
    """What a function makes of the items."""
    return OfObjects([function(item) for item in array.flattened()], array.shape)


def paired(function, left, right):
    """What a function makes of two arrays of objects, or of one and something else, item by item."""
    array = left if isinstance(left, OfObjects) else right
    if isinstance(left, OfObjects) and not is_sequence(right):
        return each(lambda item: function(item, right), left)
    if isinstance(right, OfObjects) and not is_sequence(left):
        return each(lambda item: function(left, item), right)
    left, right = listed(left), listed(right)
    if left.shape != right.shape:
        if left.size == 1:
            return each(lambda item: function(left.item(), item), right)
        if right.size == 1:
            return each(lambda item: function(item, right.item()), left)
        raise refused("broadcasting")
    pairs = zip(left.flattened(), right.flattened(), strict=True)
    return OfObjects([function(a, b) for a, b in pairs], array.shape)


def no_fit(shape, places):
    """The error of items that do not fit into places."""
    return ValueError(f"could not broadcast input array from shape {shape} into shape {places}")


def spread_over(found, count):
    """An item for each place along one axis."""
    if len(found.shape) > 1:
        raise no_fit(found.shape, (count,))
    if found.size == 1:
        return [found.item()] * count
    if found.size == count:
        return found.flattened()
    raise no_fit(found.shape, (count,))


# Making them ----------------------------------------------------------------------------------------------------------


def filled(shape, value):
    """An array with one item at all places."""
    lengths = tuple([operator.index(n) for n in shape]) if isinstance(shape, tuple | list) else (operator.index(shape),)
    return OfObjects([value] * math.prod(lengths), lengths)


def listed(value, most=math.inf):
    """The array of what lists hold: as deep as they are of equal lengths, which has to be known, and `most` so deep."""
    if isinstance(value, OfObjects):
        return value.copy()
    if isinstance(value, np.ndarray):
        return OfObjects([number.item() for number in np.ravel(value)], np.shape(value))
    if not isinstance(value, list | tuple):
        return OfObjects([value], ())
    if is_flat(value, most):
        return OfObjects(list(value), (len(value),))  # a list of its own: what is put there says of which types it is
    rows = [listed(item, most - 1) for item in value]
    if any(row.shape != rows[0].shape for row in rows):
        raise refused("an array of rows of unequal shapes")
    return OfObjects([item for row in rows for item in row.flattened()], (len(value), *rows[0].shape))


def is_flat(value, most):
    """Whether what a list holds are the items of an array, rather than its rows."""
    if len(value) == 0 or most < 2 or not all(is_sequence(item) for item in value):
        return True
    if any(isinstance(item, OfObjects) for item in value):
        raise refused("an array")
    return any(len(item) != len(value[0]) for item in value)


@implements(np.frompyfunc)
class FromPyfunc:
    """A function of Python's that is called for each element, and gives an array of objects."""

    stands_for = np.ufunc

    def __init__(self, func, /, nin, nout, *, identity=None):
        """Keep the function."""
        self.held_function, self.nin, self.nout, self.identity = func, nin, nout, identity

    def __call__(self, *args):
        """An array of what it gives, or several."""
        if len(args) != self.nin:
            raise TypeError(f"this function takes from {self.nin} to {self.nin + self.nout} positional arguments")
        columns, shape = elements_of(args)
        found = [self.held_function(*[column[k] for column in columns]) for k in range(math.prod(shape))]
        if self.nout == 1:
            return found[0] if len(shape) == 0 else OfObjects(found, shape)
        parts = [[item[k] for item in found] for k in range(self.nout)]
        return tuple([part[0] if len(shape) == 0 else OfObjects(part, shape) for part in parts])

    def reduce(self, array):
        """What the function makes of the first two elements, of that and the third, and so on."""
        (items,), _ = elements_of((array,))
        items[0]  # there is one
        return functools.reduce(self.held_function, items)

    def accumulate(self, array):
        """What `reduce` makes of the elements up to each."""
        (items,), shape = elements_of((array,))
        found = list(itertools.accumulate(items, self.held_function))
        return OfObjects(found, shape)


def elements_of(args):
    """The elements of arrays that fit together, each array's in a list, and their shape."""
    if any(isinstance(a, OfObjects) for a in args):
        shapes = [a.shape for a in args if isinstance(a, OfObjects)]
        if any(np.shape(a) != shapes[0] for a in args if is_sequence(a)):
            raise refused("broadcasting")
        count = math.prod(shapes[0])
        return [listed(a).flattened() if is_sequence(a) else [a] * count for a in args], shapes[0]
    arrays = np.broadcast_arrays(*args)
    return [[number.item() for number in np.ravel(a)] for a in arrays], arrays[0].shape
