"""Where the numbers of pandas' objects stand: by the names of columns, by short indices, by positions."""

# pandas' signatures take whatever pandas takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportOptionalIterable=false, reportMissingImports=false

from __future__ import annotations

import numpy as np
import pandas as pd

from diffjit.labels import Constant, Labels
from diffjit.primitives.library.labelled.operators import Labelled, are_same, part_of
from diffjit.primitives.library.labelled.windows import Rolling, grouped
from diffjit.primitives.registry import constant


def named(value):
    """A name of a Series."""
    return Constant(value)


def same_name(a, b):
    """The name of what is made of two."""
    return a if a == b else Constant(None)


def index_of_texts(names):
    """An index that a program makes."""
    return Labels(None, tuple(names))


def place(labels, key):
    """Where a label is in a short index of texts; -1 where it is not, -2 where nobody knows."""
    if labels.texts is None:
        return -2
    return labels.texts.index(key) if labels.texts.count(key) == 1 else -1


def column_place(places, key):
    """The array of a column, and where it is there; a dtype in place of numbers; None of what is no column."""
    found = [(block, at) for label, block, at in places.shown if label == key]
    return found[0] if len(found) == 1 else None


def columns_named(places, key):
    """How many columns have a name."""
    return sum(label == key for label, _, _ in places.shown)


def with_column(places, key, block):
    """Places with a column that has an array of its own: another one, or the last."""
    if columns_named(places, key) == 0:
        return Constant((*places.shown, (key, block, 0)))
    return Constant(tuple((key, block, 0) if entry[0] == key else entry for entry in places.shown))


def column_names(places):
    """The names of all columns."""
    return tuple(label for label, _, _ in places.shown)


def places_of(names):
    """Where columns are that have an array each."""
    return Constant(tuple((name, k, 0) for k, name in enumerate(names)))


def known_attribute(kind, name):
    """Whether pandas has an attribute of this name, which hides a column."""
    return hasattr(pd.Series if kind == "Series" else pd.DataFrame, name)


def all_texts(names):
    """Whether columns have texts as names."""
    return all(isinstance(name, str) for name in names)


def no_others():
    """No columns that hold no numbers."""
    return Labels(None)


def in_order(places):
    """Whether the columns stand in one array as they do in the table."""
    return all(block == 0 and at == k for k, (_, block, at) in enumerate(places.shown))


def in_one(places):
    """The places of columns that stand in one array."""
    return Constant(tuple((label, 0, k) for k, (label, _, _) in enumerate(places.shown)))


constant(
    columns_named, with_column, named, same_name, index_of_texts, place, column_place, column_names, places_of,
    known_attribute,
    all_texts, no_others, in_order, in_one,
)  # fmt: skip
CHANGED = "assignments to elements of pandas' objects: change an array, v = s.to_numpy().copy()"
OTHERS = "labels of two operands that are not known to be the same, which pandas would bring together: use .to_numpy()"


def refuse_other_lengths(a, b):
    """Labels that are counted from 0 are the same for arrays of one length."""
    if a != b:
        raise NotImplementedError(f"lengths {a} and {b}, which pandas would fill with NaN")


def refuse_shape(values, like):
    """pandas takes arrays of the same shape beside its own."""
    if values.ndim != 0 and values.shape != like.shape:
        raise ValueError(f"operands have different shapes: {values.shape} and {like.shape}")


def index_made(index):
    """The labels that a program gives."""
    if isinstance(index, Index):
        return index.labels
    return index_of_texts(tuple(index))


class Index:
    """An index, which a program does not look into."""

    def __init__(self, labels, length):
        self.labels = labels
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(self.known())

    def __getitem__(self, k):
        return self.known()[k]

    def __getattr__(self, name):
        raise NotImplementedError(
            f"`{name}` of an index of pandas: pass its numbers to the function as an array, df.index.to_numpy()"
        )

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError("an index used as numbers: pass df.index.to_numpy() to the function")

    def known(self):
        """A few texts."""
        if self.labels.texts is None:
            raise NotImplementedError("labels of an index: pass them to the function, df.index.to_numpy()")
        return self.labels.texts


def shifted(values, periods):
    """Numbers at later rows; NaN where there is none."""
    out = np.full(values.shape, np.nan)
    if periods > 0:
        out[periods:] = values[:-periods]
    elif periods < 0:
        out[:periods] = values[-periods:]
    else:
        out[:] = values
    return out


def chosen(table, mask):
    """The rows where a condition holds."""
    if isinstance(mask, pd.Series):
        if not are_same(table.labels_of_rows, mask.labels_of_rows):
            raise NotImplementedError(OTHERS)
        refuse_other_lengths(len(table), len(mask))
        mask = mask.values
    else:
        mask = np.asarray(mask)
    if mask.dtype.kind != "b":
        raise NotImplementedError("a list of labels: .iloc takes positions, and conditions choose rows")
    return table.rows(mask, part_of(table.labels_of_rows))


class Places:
    """What is indexed instead of a table."""

    def __init__(self, table):
        self.table = table

    def __setitem__(self, key, value):
        raise NotImplementedError(CHANGED)


class ByPosition(Places):
    """`.iloc`."""

    def __getitem__(self, key):
        table = self.table
        if isinstance(key, tuple):
            rows, columns = key
            names = column_names(table.places_of_columns)
            if isinstance(columns, slice):
                return table[list(names[columns])].iloc[rows]
            return table[names[columns]].iloc[rows]
        if isinstance(key, slice | list) or np.ndim(key) == 1:
            return table.rows(np.asarray(key) if isinstance(key, list) else key, part_of(table.labels_of_rows))
        return table.row(key, named(None))


class ByLabel(Places):
    """`.loc`, of columns and of a short index of texts."""

    def __getitem__(self, key):
        table = self.table
        if isinstance(key, tuple) and isinstance(table, pd.DataFrame):
            rows, columns = key
            part = table if is_all(columns) else table[columns]
            return part if is_all(rows) else part.loc[rows]
        if isinstance(key, str):
            return table.row(known_place(table, key), named(key))
        if isinstance(key, list | tuple) and len(key) > 0 and isinstance(key[0], str):
            return table.rows(np.array([known_place(table, name) for name in key]), index_of_texts(tuple(key)))
        if isinstance(key, pd.Series):
            return chosen(table, key)
        raise NotImplementedError("labels that are not texts: .iloc takes positions")


class Table(Labelled):
    """What Series and DataFrame have in common."""

    @property
    def iloc(self):
        """By positions."""
        return ByPosition(self)

    @property
    def loc(self):
        """By labels."""
        return ByLabel(self)

    def __matmul__(self, other):
        return self.dot(other)

    def __rmatmul__(self, other):
        return np.dot(np.asarray(other), self.whole())

    def to_numpy(self, dtype=None, copy=False, na_value=None):
        """The numbers as one array."""
        if na_value is not None:
            raise NotImplementedError("to_numpy(na_value=...): np.where(np.isnan(v), na_value, v)")
        values = self.whole() if dtype is None else self.whole().astype(dtype)
        return values.copy() if copy else values

    def rolling(self, window, min_periods=None, center=False):
        """Statistics of as many rows up to each."""
        return Rolling(self, window, min_periods, center)

    def groupby(self, by):
        """Statistics of rows with one key."""
        return grouped(self, by)

    def diff(self, periods=1):
        """Differences with earlier rows."""
        return self - self.shift(periods)

    def shift(self, periods=1):
        """Rows at later places; NaN where there is none."""
        return self.like(shifted(self.whole(), periods))

    def pct_change(self, periods=1):
        """Changes as parts of earlier rows."""
        return self / self.shift(periods) - 1.0


def is_all(key):
    """Whether `:` stands there."""
    return isinstance(key, slice) and key.start is None and key.stop is None and key.step is None


def known_place(table, key):
    """Where a label is."""
    at = place(table.labels_of_rows, key)
    if at == -2:
        raise NotImplementedError("labels of a long index: .iloc takes positions")
    if at == -1:
        raise KeyError(key)
    return at
