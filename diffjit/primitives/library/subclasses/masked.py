"""NumPy's masked arrays as programs: an array, and which of its entries do not count.

What NumPy leaves in the data of entries that do not count is left there, too; their operands take no part in
derivatives, as `np.where` never lets what it does not choose through. Where a result does not count as a whole (the
sum of nothing, one entry), which is another object in NumPy, programs raise when they run.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import numpy as np
from numpy import ma

from diffjit.labels import Constant
from diffjit.primitives.library.subclasses.beyond_masks import (
    default_fill,
    domain_of,
    fill_of,
    leaves_masks,
    of_numbers,
)
from diffjit.primitives.library.subclasses.held import METHODS, Held, name_of
from diffjit.primitives.random.draws import fixed
from diffjit.primitives.registry import constant, implements

_TINY = float(np.finfo(float).tiny)
_BARE = "entries that are masked where there is no mask yet: np.ma.masked_where(condition, x) makes one"
_NOTHING = "a result that is masked as a whole: test m.count() before"
_METHODS = {**METHODS, np.ravel: "ravel"}


def method_of(function):
    """The method that a function calls; nothing of others."""
    return _METHODS.get(function, "")


def soft():
    """Assignments reach entries that do not count."""
    return Constant(False)


constant(soft, method_of)


def data_of(a):
    """The numbers, whether they count or not."""
    return a.held_values if isinstance(a, ma.MaskedArray) else np.asarray(a)


def operand(a):
    """What is computed with: a number stays what it is."""
    return a.held_values if isinstance(a, ma.MaskedArray) else np.asarray(a) if isinstance(a, list | tuple) else a


def place(key):
    """An index without masks, which NumPy does not look at there."""
    if isinstance(key, tuple):
        return tuple([place(k) for k in key])
    return key.held_values if isinstance(key, ma.MaskedArray) else key


def mask_of(a):
    """The mask; False where there is none."""
    return a.held_mask if isinstance(a, ma.MaskedArray) else False


def is_mask(mask):
    """Whether there is a mask."""
    return np.ndim(mask) > 0


def either(a, b):
    """Entries that do not count in one of two: a new mask."""
    if not is_mask(a):
        return np.array(b) if is_mask(b) else b
    return np.logical_or(a, b) if is_mask(b) else np.array(a)


def masked(values, mask, fill=None):
    """A masked array."""
    made = object.__new__(Masked)
    made.held_values = values
    made.held_mask = np.broadcast_to(mask, values.shape).copy() if is_wider(values, mask) else mask
    made.held_fill = fill
    made.held_hard = soft()
    return made


def is_wider(values, mask):
    """Whether an array has more entries than its mask has."""
    return is_mask(mask) and np.shape(mask) != values.shape


def fill_kept(a, b=None):
    """The fill value of the first operand that has one."""
    if isinstance(a, ma.MaskedArray):
        return a.held_fill
    return b.held_fill if isinstance(b, ma.MaskedArray) else None


def fill_number(fill, dtype):
    """The number that stands for entries that do not count."""
    if isinstance(fill, Constant):
        fill = fill.shown
    return default_fill(dtype) if fill is None else fill


def safe(mask, x):
    """An operand whose entries that do not count are numbers that do no harm, and have no derivative."""
    if not is_mask(mask) or np.ndim(x) == 0:
        return x
    return np.where(mask, x.dtype.type(1), x)


def raw(mask, function, *operands):
    """A function of elements, whose derivatives are those of entries that count."""
    there = function(*[safe(mask, x) for x in operands])
    return np.where(mask, fixed(function(*operands)), there) if is_mask(mask) else there


def product(a, b):
    """`np.dot`, which looks at no mask: the result has that of an operand, where as many entries as it has."""
    values, of = np.dot(data_of(a), data_of(b)), a if isinstance(a, ma.MaskedArray) else b
    if np.ndim(values) == 0 or not is_mask(mask_of(of)):
        return values if np.ndim(values) == 0 else masked(values, False, fill_kept(of))
    alike = values.size == mask_of(of).size
    mask = mask_of(of).reshape(values.shape).copy() if alike else np.zeros(values.shape, bool)
    return masked(np.where(mask, fixed(values), values), mask, fill_kept(of))


def undone(mask, before, after):
    """Results, and what was there before where they do not count."""
    return np.where(mask, before, after).astype(after.dtype) if is_mask(mask) else after


def unary(function, a):
    """A function of elements of `np.ma`: what it is not defined for does not count."""
    values = data_of(a)
    outside = domain_of(function)
    mask = mask_of(a)
    if outside is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            mask = ~np.isfinite(function(values)) | outside(values) | mask
    if not is_mask(mask):
        return masked(function(values), mask, fill_kept(a))
    there = function(np.where(mask, one_inside(function), values))
    return masked(undone(mask, values, there), mask, fill_kept(a))


def one_inside(function):
    """A number that a function is defined and smooth at."""
    return 1.5 if function.__name__ == "arccosh" else 0.5


def of_ufunc(function, a):
    """NumPy's own function of elements of a masked array."""
    values, outside = a.held_values, domain_of(function)
    if outside is None:
        return masked(raw(a.held_mask, function, values), a.held_mask, a.held_fill)
    beyond = np.logical_or(outside(values), a.held_mask) if is_mask(a.held_mask) else outside(values)
    inside = np.where(beyond, one_inside(function), values)
    there = np.where(beyond, fill_of(function), raw(a.held_mask, function, inside))
    if not is_mask(a.held_mask):
        return masked(there, beyond, a.held_fill) if np.any(beyond) else masked(there, np.zeros(a.shape, bool))
    return masked(there, np.logical_or(beyond, a.held_mask), a.held_fill)


def binary(function, a, b):
    """A function of elements of two operands."""
    mask = either(mask_of(a), mask_of(b))
    x, y = operand(a), operand(b)
    if not is_mask(mask):
        return masked(np.asarray(function(x, y)), mask, fill_kept(a, b))
    return masked(undone(mask, x, function(safe(mask, x), safe(mask, y))), mask, fill_kept(a, b))


def quotient(a, b):
    """A quotient: where it is not finite it does not count."""
    x, y = operand(a), operand(b)
    with np.errstate(divide="ignore", invalid="ignore"):
        mask = ~np.isfinite(x / y) | (np.abs(x) * _TINY >= np.abs(y))
    mask = mask | mask_of(a) | mask_of(b)
    return masked(undone(mask, x, safe(mask, x) / np.where(mask, 1.0, y)), mask, fill_kept(a, b))


def power(a, b):
    """A power: where it is not finite it does not count."""
    x, y = operand(a), operand(b)
    mask = either(mask_of(a), mask_of(b))
    there = np.where(mask, x, np.where(mask, 1.0, x) ** safe(mask, y)) if is_mask(mask) else x**y
    beyond = ~np.isfinite(there)
    fill = fill_kept(a, b)
    filled_in = np.where(beyond, fill_number(fill, there.dtype), there)
    if not is_mask(mask):
        return masked(filled_in, beyond, fill)
    return masked(filled_in, np.logical_or(mask, beyond), fill)


def one_of(values, mask):
    """One number, which counts."""
    if mask:
        raise NotImplementedError(_NOTHING)
    return values


def reduced(values, mask):
    """What is left of some axes, or the one number."""
    if np.ndim(values) == 0:
        return one_of(values, mask)
    return masked(values, mask)


@implements(ma.MaskedArray, ma.array)
class Masked(Held):
    """An array, and which of its entries do not count."""

    stands_for = ma.MaskedArray

    def __init__(self, data, mask=False, dtype=None, copy=False, subok=True, ndmin=0, fill_value=None,
                 keep_mask=True, hard_mask=None, shrink=True, order=None):  # fmt: skip
        if ndmin > 0 or hard_mask or not keep_mask or not shrink:
            raise NotImplementedError("options of masked arrays: data, mask, dtype, copy and fill_value alone")
        values = data_of(data) if dtype is None else data_of(data).astype(dtype)
        held = mask_of(data)
        if copy:
            values = np.array(values)
            held = np.array(held) if is_mask(held) else held
        if values.ndim == 0:
            raise NotImplementedError("masked arrays without dimensions")
        given = np.asarray(mask, bool)
        if given.ndim == 0 and not is_mask(held):
            self.held_mask = mask_everywhere(values, mask)
        elif given.ndim == 0:
            self.held_mask = np.logical_or(held, given) if mask is not False else held
        else:
            if given.shape != values.shape:
                raise ma.MaskError("Mask and data not compatible")
            self.held_mask = np.logical_or(held, given) if is_mask(held) else np.array(given) if copy else given
        self.held_values = values
        self.held_fill = fill_value if fill_value is not None else fill_kept(data)
        self.held_hard = soft()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__":
            raise NotImplementedError(f"`{method}` of a ufunc of masked arrays: take m.filled(...) first")
        if kwargs:
            raise NotImplementedError("options of NumPy's functions of masked arrays: take m.filled(...) first")
        if len(inputs) == 1:
            return of_ufunc(ufunc, self)
        if name_of(ufunc) in ("divide", "true_divide", "floor_divide", "remainder", "fmod", "power", "matmul"):
            raise NotImplementedError(
                f"np.{name_of(ufunc)} of masked arrays: write the operator, or take m.filled(...)"
            )
        x, y = operand(inputs[0]), operand(inputs[1])
        mask = either(mask_of(inputs[0]), mask_of(inputs[1]))
        return masked(raw(mask, ufunc, x, y), mask, fill_kept(*inputs))

    def __array_function__(self, func, types, args, kwargs):
        if method_of(func) != "":
            return getattr(args[0], method_of(func))(*args[1:], **kwargs)
        if func is np.where and not isinstance(args[1], ma.MaskedArray) and not isinstance(args[2], ma.MaskedArray):
            return np.where(data_of(args[0]), args[1], args[2])
        if of_numbers(func):
            return func(*[place(a) for a in args], **kwargs)
        if func is np.dot:
            return product(*args, **kwargs)
        if leaves_masks(func):
            found = func(*[place(a) for a in args], **kwargs)
            return masked(found, False, fill_kept(args[-1])) if isinstance(args[-1], ma.MaskedArray) else found
        raise NotImplementedError(f"np.{name_of(func)} of a masked array: of m.filled(...) or m.compressed()")

    def __getattr__(self, name):
        raise NotImplementedError(f"`{name}` of a masked array: of m.filled(...) or m.compressed()")

    # What it is.

    @property
    def data(self):
        """The numbers, whether they count or not."""
        return self.held_values

    @property
    def mask(self):
        """Where entries do not count."""
        return self.held_mask

    @mask.setter
    def mask(self, mask):
        if not is_mask(self.held_mask):
            self.held_mask = np.zeros(self.held_values.shape, dtype=bool)
        self.held_mask[...] = mask

    @property
    def fill_value(self):
        """What stands for entries that do not count."""
        return self.held_values.dtype.type(fill_number(self.held_fill, self.dtype))

    @property
    def T(self):  # noqa: N802 - NumPy's name
        """With axes turned round."""
        return self.transpose()

    def __iter__(self):
        return iter([self[k] for k in range(self.held_values.shape[0])])

    def __getitem__(self, key):
        key = place(key)
        found = self.held_values[key]
        if not is_mask(self.held_mask):
            return found if np.ndim(found) == 0 else masked(found, self.held_mask, self.held_fill)
        if np.ndim(found) == 0:
            return one_of(found, self.held_mask[key])
        return masked(found, self.held_mask[key], self.held_fill)

    def __setitem__(self, key, value):
        if self.held_hard.shown:
            raise NotImplementedError("assignments to masked arrays with hard masks")
        key = place(key)
        if value is ma.masked:
            if not is_mask(self.held_mask):
                raise NotImplementedError(_BARE)
            self.held_mask[key] = True
            return
        if is_mask(mask_of(value)) and not is_mask(self.held_mask):
            raise NotImplementedError(_BARE)
        self.held_values[key] = operand(value)
        if is_mask(self.held_mask):
            self.held_mask[key] = mask_of(value)

    def __hash__(self):
        raise TypeError("unhashable type: 'MaskedArray'")

    # Operators.

    def __add__(self, other):
        return binary(np.add, self, other)

    def __radd__(self, other):
        return binary(np.add, other, self)

    def __sub__(self, other):
        return binary(np.subtract, self, other)

    def __rsub__(self, other):
        return binary(np.subtract, other, self)

    def __mul__(self, other):
        return binary(np.multiply, self, other)

    def __rmul__(self, other):
        return binary(np.multiply, other, self)

    def __truediv__(self, other):
        return quotient(self, other)

    def __rtruediv__(self, other):
        return quotient(other, self)

    def __pow__(self, other):
        return power(self, other)

    def __rpow__(self, other):
        return power(other, self)

    def __iadd__(self, other):
        self.held_values += counted(self, other, 0)
        return self

    def __isub__(self, other):
        self.held_values -= counted(self, other, 0)
        return self

    def __imul__(self, other):
        self.held_values *= counted(self, other, 1)
        return self

    def __itruediv__(self, other):
        raise NotImplementedError("/= of a masked array, which may mask more: write m = m / ...")

    def __ipow__(self, other):
        raise NotImplementedError("**= of a masked array, which may mask more: write m = m ** ...")

    def __neg__(self):
        return of_ufunc(np.negative, self)

    def __pos__(self):
        return of_ufunc(np.positive, self)

    def __abs__(self):
        return of_ufunc(np.abs, self)

    def __invert__(self):
        return of_ufunc(np.invert, self)

    def __lt__(self, other):
        return compared(np.less, self, other)

    def __le__(self, other):
        return compared(np.less_equal, self, other)

    def __gt__(self, other):
        return compared(np.greater, self, other)

    def __ge__(self, other):
        return compared(np.greater_equal, self, other)

    def __and__(self, other):
        return binary(np.bitwise_and, self, other)

    def __or__(self, other):
        return binary(np.bitwise_or, self, other)

    def __eq__(self, other):
        return alike(np.equal, self, other)

    def __ne__(self, other):
        return alike(np.not_equal, self, other)

    def __matmul__(self, other):
        raise NotImplementedError("@ of masked arrays: m.filled(0.0) @ ...")

    def __rmatmul__(self, other):
        raise NotImplementedError("@ of masked arrays: ... @ m.filled(0.0)")

    # Without entries that do not count.

    def filled(self, fill_value=None):
        """The array with a number in place of entries that do not count."""
        if not is_mask(self.held_mask):
            return self.held_values
        number = self.fill_value if fill_value is None else fill_value
        return np.where(self.held_mask, number, self.held_values).astype(self.held_values.dtype)

    def compressed(self):
        """The entries that count, one after another."""
        if not is_mask(self.held_mask):
            return self.held_values.ravel()
        return self.held_values[~self.held_mask]

    def count(self, axis=None, keepdims=False):
        """How many entries count."""
        counted = np.ones(self.shape, bool) if not is_mask(self.held_mask) else ~self.held_mask
        return np.sum(counted, axis=axis, keepdims=keepdims)

    def none(self, axis, keepdims):
        """Where no entry counts."""
        if not is_mask(self.held_mask):
            return False
        return np.all(self.held_mask, axis=axis, keepdims=keepdims)

    def sum(self, axis=None, dtype=None, out=None, keepdims=False):
        """Sums."""
        refuse_out(out)
        return reduced(np.sum(self.filled(0), axis=axis, dtype=dtype, keepdims=keepdims), self.none(axis, keepdims))

    def prod(self, axis=None, dtype=None, out=None, keepdims=False):
        """Products."""
        refuse_out(out)
        return reduced(np.prod(self.filled(1), axis=axis, dtype=dtype, keepdims=keepdims), self.none(axis, keepdims))

    def mean(self, axis=None, dtype=None, out=None, keepdims=False):
        """Means."""
        refuse_out(out)
        if not is_mask(self.held_mask):
            return reduced(np.mean(self.held_values, axis=axis, dtype=dtype, keepdims=keepdims), False)
        total = np.sum(self.filled(0), axis=axis, dtype=dtype, keepdims=keepdims)
        count, none = self.count(axis, keepdims), self.none(axis, keepdims)
        if np.ndim(total) == 0:
            return one_of(total, none) * 1.0 / count
        return masked(np.where(none, 0.0, total / np.where(none, 1, count)), none)

    def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        """Variances."""
        refuse_out(out)
        if not is_mask(self.held_mask):
            values = np.var(self.held_values, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
            return reduced(values, False)
        count = self.count(axis, keepdims) - ddof
        middle = np.sum(self.filled(0), axis=axis, keepdims=True) / np.maximum(self.count(axis, True), 1)
        squares = np.where(self.held_mask, 0.0, np.abs(safe(self.held_mask, self.held_values) - middle) ** 2)
        total = np.sum(squares, axis=axis, keepdims=keepdims)
        none = self.none(axis, keepdims) | (count <= 0)
        if np.ndim(total) == 0:
            return one_of(total, none) / count
        return masked(np.where(none, 0.0, total / np.where(none, 1, count)), none, self.held_fill)

    def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
        """Standard deviations."""
        spread = self.var(axis, dtype, out, ddof, keepdims)
        if isinstance(spread, ma.MaskedArray):
            return unary(np.sqrt, spread)
        return np.sqrt(spread)

    def max(self, axis=None, out=None, fill_value=None, keepdims=False):
        """The largest entries."""
        refuse_out(out)
        return reduced(np.max(self.filled(-np.inf), axis=axis, keepdims=keepdims), self.none(axis, keepdims))

    def min(self, axis=None, out=None, fill_value=None, keepdims=False):
        """The smallest entries."""
        refuse_out(out)
        return reduced(np.min(self.filled(np.inf), axis=axis, keepdims=keepdims), self.none(axis, keepdims))

    def any(self, axis=None):
        """Whether an entry is true."""
        return reduced(np.any(self.filled(False), axis=axis), self.none(axis, False))

    def all(self, axis=None):
        """Whether all are."""
        return reduced(np.all(self.filled(True), axis=axis), self.none(axis, False))

    def anom(self, axis=None, dtype=None):
        """How far entries are from their mean."""
        if axis is None:
            return self - self.mean()
        return self - self.mean(axis, keepdims=True)

    def cumsum(self, axis=None, dtype=None, out=None):
        """Sums up to each entry."""
        refuse_out(out)
        if axis is None:
            return self.ravel().cumsum(0)
        return masked(np.cumsum(self.filled(0), axis=axis), self.held_mask)

    # Other shapes and numbers.

    def turned(self, function):
        """With entries in other places."""
        mask = function(self.held_mask) if is_mask(self.held_mask) else self.held_mask
        return masked(function(self.held_values), mask, self.held_fill)

    def transpose(self, *axes):
        """With axes in another order."""
        return self.turned(lambda a: a.transpose(*axes))

    def reshape(self, *shape, order="C"):
        """In another shape."""
        return self.turned(lambda a: a.reshape(*shape, order=order))

    def ravel(self, order="C"):
        """In one dimension."""
        return self.turned(lambda a: a.ravel(order))

    def flatten(self, order="C"):
        """In one dimension."""
        return self.turned(lambda a: a.flatten(order))

    def copy(self):
        """Another one."""
        return self.turned(np.copy)

    def astype(self, dtype):
        """Numbers of another type."""
        return masked(self.held_values.astype(dtype), self.held_mask, self.held_fill)

    def round(self, decimals=0):
        """Rounded numbers."""
        return masked(np.round(self.held_values, decimals), self.held_mask, self.held_fill)

    def clip(self, min=None, max=None):  # noqa: A002 - NumPy's names
        """Between limits."""
        return masked(np.clip(self.held_values, min, max), self.held_mask, self.held_fill)


def compared(function, a, b):
    """A comparison, with a mask where one of the two has one."""
    return masked(function(operand(a), operand(b)), either(mask_of(a), mask_of(b)))


def alike(function, a, b):
    """Whether entries are equal, or not: those that do not count in either are."""
    found = compared(function, a, b)
    if not is_mask(found.held_mask):
        return found
    return masked(np.where(found.held_mask, function(mask_of(a), mask_of(b)), found.held_values), found.held_mask)


def counted(a, other, nothing):
    """What an array is changed by: entries that do not count stay as they are."""
    if is_mask(mask_of(other)):
        raise NotImplementedError("a masked array changed by another one, which may mask more: write m = m + ...")
    there = operand(other)
    if not is_mask(a.held_mask):
        return there
    there = np.asarray(there)
    return np.where(a.held_mask, there.dtype.type(nothing), there)


def mask_everywhere(values, mask):
    """The mask that one truth value stands for."""
    if mask is False:
        return False
    return np.full(values.shape, bool(mask))


def refuse_out(out):
    """Results are new."""
    if out is not None:
        raise NotImplementedError("out= of a masked array's method")


def made_masked(a):
    """A masked array of anything."""
    return a if isinstance(a, ma.MaskedArray) else Masked(a)
