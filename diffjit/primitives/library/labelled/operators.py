"""What arrays with labels have in common: operators, NumPy's functions, and reductions that leave NaN out."""

# The libraries' signatures take whatever they take: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false

from __future__ import annotations

import numpy as np

from diffjit.labels import Labels
from diffjit.primitives.random.draws import fixed
from diffjit.primitives.registry import constant


def unlabelled(count):
    """Labels that are counted from 0."""
    return Labels(None, default=True)


def part_of(labels):
    """What is known of the labels of some elements: that they are some of others."""
    return Labels(None, cut=True)


def are_same(a, b):
    """Whether two axes have the same labels, for all objects that the program is for."""
    if a.cut or b.cut:
        return False
    if (a.default and b.default) or (a.held is None and b.held is None and a.texts is not None and a.texts == b.texts):
        return True
    return a.held is not None and a == b


_STRAIGHT = {
    np.add, np.subtract, np.negative, np.positive, np.conjugate, np.invert, np.sign, np.floor, np.ceil, np.trunc,
    np.rint,
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isfinite, np.isinf,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor,
    np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.signbit,
}  # fmt: skip
_IN_PLACE = "operators that change an object with labels, which the caller would see: write s = s + ..."
_NOT_MISSING = {np.power, np.float_power, np.fmax, np.fmin, np.hypot}


def is_straight(function):
    """Whether no number has a part in the derivatives of a function of elements."""
    return function in _STRAIGHT


def may_be_there(function):
    """Whether a function of NaN may be a number."""
    return function in _NOT_MISSING


constant(unlabelled, part_of, are_same, is_straight, may_be_there)


def is_floats(x):
    """Whether elements may be missing."""
    return np.asarray(x).ndim > 0 and np.asarray(x).dtype.kind in "fc"


def applied(function, *operands):
    """A function of elements: sums leave out what is missing, which then has no part in derivatives either."""
    known = [np.isnan(x) for x in operands if is_floats(x)]
    if is_straight(function) or len(known) == 0:
        return function(*operands)
    missing = known[0]
    for other in known[1:]:
        missing = missing | other
    there = function(*[np.where(missing, x.dtype.type(1), x) if is_floats(x) else x for x in operands])
    return np.where(missing, fixed(function(*operands)) if may_be_there(function) else np.nan, there)


def numbers_of(values):
    """The array of an object that holds numbers."""
    if isinstance(values, Labels):
        raise NotImplementedError("an object that holds no numbers of NumPy's: convert it outside, s.astype(float)")
    return values


class Labelled:
    """Operators and ufuncs, by `combine`: a function of elements of two operands, one of which is the object."""

    def __array__(self, dtype=None, copy=None):
        return self.whole() if dtype is None else self.whole().astype(dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__":
            raise NotImplementedError(f"`{method}` of a ufunc of labelled arrays: take .to_numpy() first")
        if kwargs:
            raise NotImplementedError("options of NumPy's functions of labelled arrays: take .to_numpy() first")
        if len(inputs) == 1:
            return self.like(applied(ufunc, self.whole()))
        return self.combine(ufunc, *inputs)

    def __add__(self, other):
        return self.combine(np.add, self, other)

    def __radd__(self, other):
        return self.combine(np.add, other, self)

    def __sub__(self, other):
        return self.combine(np.subtract, self, other)

    def __rsub__(self, other):
        return self.combine(np.subtract, other, self)

    def __mul__(self, other):
        return self.combine(np.multiply, self, other)

    def __rmul__(self, other):
        return self.combine(np.multiply, other, self)

    def __truediv__(self, other):
        return self.combine(np.true_divide, self, other)

    def __rtruediv__(self, other):
        return self.combine(np.true_divide, other, self)

    def __pow__(self, other):
        return self.combine(np.power, self, other)

    def __rpow__(self, other):
        return self.combine(np.power, other, self)

    def __mod__(self, other):
        return self.combine(np.remainder, self, other)

    def __iadd__(self, other):
        raise NotImplementedError(_IN_PLACE)

    def __isub__(self, other):
        raise NotImplementedError(_IN_PLACE)

    def __imul__(self, other):
        raise NotImplementedError(_IN_PLACE)

    def __itruediv__(self, other):
        raise NotImplementedError(_IN_PLACE)

    def __neg__(self):
        return self.like(-self.whole())

    def __pos__(self):
        return self.like(+self.whole())

    def __abs__(self):
        return self.like(np.abs(self.whole()))

    def __invert__(self):
        return self.like(np.invert(self.whole()))

    def __lt__(self, other):
        return self.combine(np.less, self, other)

    def __le__(self, other):
        return self.combine(np.less_equal, self, other)

    def __gt__(self, other):
        return self.combine(np.greater, self, other)

    def __ge__(self, other):
        return self.combine(np.greater_equal, self, other)

    def __eq__(self, other):
        return self.combine(np.equal, self, other)

    def __ne__(self, other):
        return self.combine(np.not_equal, self, other)

    def __and__(self, other):
        return self.combine(np.bitwise_and, self, other)

    def __or__(self, other):
        return self.combine(np.bitwise_or, self, other)

    def __xor__(self, other):
        return self.combine(np.bitwise_xor, self, other)

    def __hash__(self):
        raise TypeError("unhashable type")

    def abs(self):
        """Magnitudes."""
        return self.like(np.abs(self.whole()))

    def clip(self, lower=None, upper=None, axis=None):
        """Between limits."""
        if axis is not None:
            raise NotImplementedError("clip(axis=...): np.clip of .to_numpy()")
        if hasattr(lower, "combine") or hasattr(upper, "combine"):
            raise NotImplementedError("clip with labelled limits: np.clip of .to_numpy()")
        return self.like(np.clip(self.whole(), lower, upper))

    def round(self, decimals=0):
        """Rounded numbers."""
        return self.like(np.round(self.whole(), decimals))

    def astype(self, dtype, copy=True):
        """Numbers of another type."""
        return self.like(self.whole().astype(dtype))

    def copy(self, deep=True):
        """Another one."""
        return self.like(self.whole().copy())

    def isna(self):
        """Where NaN is."""
        return self.like(np.isnan(self.whole()))

    def isnull(self):
        """Where NaN is."""
        return self.isna()

    def notna(self):
        """Where it is not."""
        return self.like(~np.isnan(self.whole()))

    def notnull(self):
        """Where it is not."""
        return self.notna()

    def item(self):
        """The one number."""
        return self.whole().item()

    def pipe(self, func, *args, **kwargs):
        """A function of it."""
        return func(self, *args, **kwargs)


def has_nan(values, skipna):
    """Whether NaN is to be left out: only where it can be."""
    return skipna is not False and values.dtype.kind in "fc"


def added(values, axis, skipna):
    """Sums."""
    return np.nansum(values, axis=axis) if has_nan(values, skipna) else np.sum(values, axis=axis)


def multiplied(values, axis, skipna):
    """Products."""
    return np.nanprod(values, axis=axis) if has_nan(values, skipna) else np.prod(values, axis=axis)


def counted(values, axis, skipna=None):
    """How many numbers there are."""
    if values.dtype.kind in "fc":
        return np.sum(~np.isnan(values), axis=axis)
    return np.sum(np.ones(values.shape, np.int64), axis=axis)


def averaged(values, axis, skipna):
    """Means."""
    if has_nan(values, skipna):
        return np.nansum(values, axis=axis) / counted(values, axis)
    return np.mean(values, axis=axis)


def variance(values, axis, skipna, ddof):
    """Variances; NaN of as few numbers as `ddof` or fewer."""
    if not has_nan(values, skipna):
        return np.var(values, axis=axis, ddof=ddof)
    if axis is None:
        values, axis = np.ravel(values), 0
    count = counted(values, axis)
    mean = np.expand_dims(np.nansum(values, axis=axis) / count, axis)
    missing = np.isnan(values)
    squares = np.where(missing, 0.0, np.abs(np.where(missing, mean, values) - mean) ** 2)
    return np.where(count > ddof, np.sum(squares, axis=axis) / np.where(count > ddof, count - ddof, 1), np.nan)[()]


def deviation(values, axis, skipna, ddof):
    """Standard deviations."""
    return np.sqrt(variance(values, axis, skipna, ddof))


def largest(values, axis, skipna):
    """Largest numbers."""
    return np.nanmax(values, axis=axis) if has_nan(values, skipna) else np.max(values, axis=axis)


def smallest(values, axis, skipna):
    """Smallest numbers."""
    return np.nanmin(values, axis=axis) if has_nan(values, skipna) else np.min(values, axis=axis)


def middle(values, axis, skipna):
    """Medians."""
    return np.nanmedian(values, axis=axis) if has_nan(values, skipna) else np.median(values, axis=axis)


def running(values, axis):
    """Sums up to each place, which NaN has no part in, and stays."""
    if values.dtype.kind not in "fc":
        return np.cumsum(values, axis=axis)
    missing = np.isnan(values)
    return np.where(missing, np.nan, np.cumsum(np.where(missing, 0.0, values), axis=axis))
