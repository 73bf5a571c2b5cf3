"""pandas' Series as a program: an array with an index and a name."""

# pandas' signatures take whatever pandas takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportOptionalIterable=false, reportMissingImports=false

from __future__ import annotations

import numpy as np
import pandas as pd

from diffjit.primitives.library.labelled.operators import (
    added,
    applied,
    are_same,
    averaged,
    counted,
    deviation,
    largest,
    middle,
    multiplied,
    numbers_of,
    running,
    smallest,
    unlabelled,
    variance,
)  # fmt: skip
from diffjit.primitives.library.labelled.places import (
    CHANGED,
    OTHERS,
    ByLabel,
    ByPosition,
    Index,
    Table,
    chosen,
    index_made,
    index_of_texts,
    known_attribute,
    named,
    place,
    refuse_other_lengths,
    refuse_shape,
    same_name,
)  # fmt: skip
from diffjit.primitives.library.subclasses.held import Held
from diffjit.primitives.registry import implements


def agreed(a, b):
    """The index of what is made of two Series."""
    if not are_same(a.labels_of_rows, b.labels_of_rows):
        raise NotImplementedError(OTHERS)
    refuse_other_lengths(a.values.shape[0], b.values.shape[0])
    return a.labels_of_rows


@implements(pd.Series)
class Series(Table, Held):
    """An array with an index and a name."""

    stands_for = pd.Series

    def __init__(self, data=None, index=None, dtype=None, name=None, copy=None):
        if isinstance(data, pd.Series):
            values, labels, called = data.values, data.labels_of_rows, data.held_name
        elif isinstance(data, dict):
            values, labels, called = np.array(list(data.values())), index_of_texts(tuple(data)), named(None)
        else:
            values, labels, called = np.asarray(data), unlabelled(0), named(None)
        if index is not None:
            if isinstance(data, pd.Series | dict):
                raise NotImplementedError("pd.Series with another index than its data has: s.to_numpy() as data")
            labels = index_made(index)
        if values.ndim != 1:
            raise ValueError("Data must be 1-dimensional")
        self.held_values = values if dtype is None else values.astype(dtype)
        self.labels_of_rows = labels
        self.held_name = called if name is None else named(name)

    def whole(self):
        """The array."""
        return self.values

    def like(self, values):
        """Other numbers with the same labels."""
        return series(values, self.labels_of_rows, self.held_name)

    def rows(self, key, labels):
        """Some of its elements."""
        return series(self.values[key], labels, self.held_name)

    def row(self, key, name):
        """One element."""
        return self.values[key]

    def combine(self, function, a, b):
        """A function of elements of two operands."""
        if isinstance(a, pd.DataFrame):
            return a.combine(function, a, b)
        if isinstance(b, pd.DataFrame):
            return b.combine(function, a, b)
        if isinstance(a, pd.Series) and isinstance(b, pd.Series):
            return series(applied(function, a.values, b.values), agreed(a, b), same_name(a.held_name, b.held_name))
        if isinstance(a, pd.Series):
            other = np.asarray(b)
            refuse_shape(other, a.values)
            return a.like(applied(function, a.values, b if other.ndim == 0 else other))
        other = np.asarray(a)
        refuse_shape(other, b.values)
        return b.like(applied(function, a if other.ndim == 0 else other, b.values))

    @property
    def values(self):
        """The array."""
        return numbers_of(self.held_values)

    @property
    def name(self):
        """Its name."""
        return self.held_name.shown

    @property
    def index(self):
        """Labels are no numbers."""
        return Index(self.labels_of_rows, self.values.shape[0])

    @property
    def array(self):
        """pandas' own kind of array."""
        raise NotImplementedError(".array of a Series: take .to_numpy()")

    @property
    def T(self):  # noqa: N802 - pandas' name
        """Itself."""
        return self

    @property
    def iat(self):
        """By positions."""
        return ByPosition(self)

    @property
    def at(self):
        """By labels."""
        return ByLabel(self)

    def __iter__(self):
        return iter(self.values)

    def __getitem__(self, key):
        if isinstance(key, str | list | tuple):
            return ByLabel(self)[key]
        if isinstance(key, slice):
            return ByPosition(self)[key]
        if np.ndim(key) == 0:
            if not self.labels_of_rows.default:
                raise NotImplementedError("a number as a label of a Series: .iloc[k] takes positions")
            if key < 0:
                raise KeyError(key)
            return self.values[key]
        return chosen(self, key)

    def __getattr__(self, name):
        at = place(self.labels_of_rows, name)
        if at < 0 or known_attribute("Series", name):
            raise NotImplementedError(f"`{name}` of a pandas Series: take .to_numpy() and NumPy's functions")
        return self.values[at]

    def __setitem__(self, key, value):
        raise NotImplementedError(CHANGED)

    def tolist(self):
        """Its numbers."""
        return self.values.tolist()

    def to_list(self):
        """Its numbers."""
        return self.values.tolist()

    def dot(self, other):
        """The product with a vector, or with columns."""
        if isinstance(other, pd.DataFrame):
            raise NotImplementedError("a product of a Series with a DataFrame: s.to_numpy() @ df.to_numpy()")
        if isinstance(other, pd.Series):
            agreed(self, other)
            return np.dot(self.values, other.values)
        return np.dot(self.values, np.asarray(other))

    def sum(self, axis=None, skipna=True, numeric_only=False, min_count=0):
        """The sum."""
        if min_count > 0:
            raise NotImplementedError("sum(min_count=...): count what is not NaN")
        return added(self.values, None, skipna)

    def prod(self, axis=None, skipna=True):
        """The product."""
        return multiplied(self.values, None, skipna)

    def mean(self, axis=None, skipna=True, dtype=None):
        """The mean."""
        return averaged(self.values, None, skipna)

    def median(self, axis=None, skipna=True):
        """The median."""
        return middle(self.values, None, skipna)

    def var(self, axis=None, skipna=True, ddof=1, dtype=None):
        """The variance, of a sample."""
        return variance(self.values, None, skipna, ddof)

    def std(self, axis=None, skipna=True, ddof=1, dtype=None):
        """The standard deviation, of a sample."""
        return deviation(self.values, None, skipna, ddof)

    def sem(self, axis=None, skipna=True, ddof=1):
        """The standard error of the mean."""
        return deviation(self.values, None, skipna, ddof) / np.sqrt(self.count())

    def max(self, axis=None, skipna=True):
        """The largest number."""
        return largest(self.values, None, skipna)

    def min(self, axis=None, skipna=True):
        """The smallest number."""
        return smallest(self.values, None, skipna)

    def count(self):
        """How many numbers there are."""
        return counted(self.values, None)

    def any(self, axis=None):
        """Whether one is not zero."""
        return np.any(self.values)

    def all(self, axis=None):
        """Whether none is zero."""
        return np.all(self.values)

    def cumsum(self, axis=None, skipna=True):
        """Sums up to each place."""
        return self.like(running(self.values, 0) if skipna else np.cumsum(self.values))

    def fillna(self, value):
        """A number in place of NaN."""
        return self.like(np.where(np.isnan(self.values), other_values(self, value), self.values))

    def where(self, cond, other=np.nan):
        """Another number where a condition does not hold."""
        return self.like(np.where(other_values(self, cond), self.values, other_values(self, other)))

    def mask(self, cond, other=np.nan):
        """Another number where a condition holds."""
        return self.like(np.where(other_values(self, cond), other_values(self, other), self.values))

    def apply(self, func):
        """A function of each number."""
        return self.like(np.array([func(v) for v in self.values]))

    def map(self, func):
        """A function of each number."""
        if not callable(func):
            raise NotImplementedError("map of a dict or Series: give a function")
        return self.apply(func)

    def add(self, other):
        """The sum."""
        return self + other

    def sub(self, other):
        """The difference."""
        return self - other

    def mul(self, other):
        """The product."""
        return self * other

    def div(self, other):
        """The quotient."""
        return self / other

    def pow(self, other):
        """The power."""
        return self**other

    def rename(self, index):
        """With another name."""
        if not isinstance(index, str):
            raise NotImplementedError("rename of labels: rename(name) alone")
        return series(self.values, self.labels_of_rows, named(index))


def series(values, labels, name):
    """A Series."""
    made = Series(values)
    made.labels_of_rows = labels
    made.held_name = name
    return made


def other_values(like, other):
    """The array of an argument that belongs to a Series."""
    if isinstance(other, pd.Series):
        agreed(like, other)
        return other.values
    return other
