"""pandas' DataFrame as a program: columns of numbers, those of one dtype in one array."""

# pandas' signatures take whatever pandas takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportOptionalIterable=false, reportMissingImports=false

from __future__ import annotations

import numpy as np
import pandas as pd

from diffjit.labels import Constant
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
    part_of,
    running,
    smallest,
    unlabelled,
    variance,
)  # fmt: skip
from diffjit.primitives.library.labelled.places import (
    OTHERS,
    ByPosition,
    Index,
    Table,
    all_texts,
    chosen,
    column_names,
    column_place,
    columns_named,
    in_one,
    in_order,
    index_made,
    index_of_texts,
    known_attribute,
    named,
    no_others,
    places_of,
    refuse_other_lengths,
    refuse_shape,
    with_column,
)  # fmt: skip
from diffjit.primitives.library.labelled.series import series
from diffjit.primitives.registry import implements


@implements(pd.DataFrame)
class DataFrame(Table):
    """Columns of numbers, those of one dtype in one array."""

    stands_for = pd.DataFrame
    is_own = Constant(False)  # whether the program has made it

    def __init__(self, data=None, index=None, columns=None, dtype=None, copy=None):
        self.without_numbers = no_others()
        self.is_own = named(True)
        if isinstance(data, dict):
            names = tuple(data)
            labels = unlabelled(0)
            for value in data.values():
                if isinstance(value, pd.Series):
                    labels = value.labels_of_rows
            blocks = []
            for value in data.values():
                if isinstance(value, pd.Series) and not are_same(labels, value.labels_of_rows):
                    raise NotImplementedError(OTHERS)
                blocks.append(np.asarray(value)[:, None])
            self.blocks_of_columns = tuple(blocks)
            self.places_of_columns = places_of(names)
            self.labels_of_columns = index_of_texts(names)
        elif isinstance(data, pd.DataFrame):
            raise NotImplementedError("pd.DataFrame of a DataFrame: df.copy()")
        else:
            values = np.asarray(data)
            if columns is None or not all_texts(tuple(columns)):
                raise NotImplementedError("pd.DataFrame of an array without texts as columns=...: name its columns")
            labels = unlabelled(0)
            self.blocks_of_columns = tuple([values[:, k : k + 1] for k in range(len(columns))])
            self.places_of_columns = places_of(tuple(columns))
            self.labels_of_columns = index_of_texts(tuple(columns))
        if index is not None and isinstance(data, dict):
            raise NotImplementedError("pd.DataFrame of a dict with index=...: give columns with the same index")
        self.labels_of_rows = labels if index is None else index_made(index)

    def whole(self):
        """All columns as one array."""
        if len(self.blocks_of_columns) == 1 and in_order(self.places_of_columns):
            return self.blocks_of_columns[0]
        return np.column_stack([self.column(name) for name in column_names(self.places_of_columns)])

    def column(self, name):
        """The numbers of a column."""
        if columns_named(self.places_of_columns, name) == 0:
            raise KeyError(name)
        if columns_named(self.places_of_columns, name) > 1:
            raise NotImplementedError(f"several columns with the name {name!r}: give each a name of its own")
        block, at = column_place(self.places_of_columns, name)  # pyright: ignore[reportGeneralTypeIssues] - it is there
        if block < 0:
            raise NotImplementedError(f"column {name!r}, which holds no numbers ({at}): convert it outside")
        return self.blocks_of_columns[block][:, at]

    def like(self, values):
        """Other numbers with the same labels."""
        return frame([values], in_one(self.places_of_columns), self.labels_of_columns, self.labels_of_rows)

    def rows(self, key, labels):
        """Some of its rows."""
        return frame(
            [block[key] for block in self.blocks_of_columns], self.places_of_columns, self.labels_of_columns, labels
        )

    def row(self, key, name):
        """One row, as a Series."""
        return series(self.whole()[key], self.labels_of_columns, name)

    def combine(self, function, a, b):
        """A function of elements of two operands."""
        return combined(function, a, b)

    @property
    def columns(self):
        """The names of columns."""
        return column_names(self.places_of_columns)

    @property
    def index(self):
        """Labels are no numbers."""
        return Index(self.labels_of_rows, self.blocks_of_columns[0].shape[0])

    @property
    def values(self):
        """All columns as one array."""
        return self.whole()

    @property
    def shape(self):
        """Rows and columns."""
        return self.blocks_of_columns[0].shape[0], len(column_names(self.places_of_columns))

    @property
    def size(self):
        """How many elements there are."""
        return self.shape[0] * self.shape[1]

    @property
    def ndim(self):
        """Two."""
        return 2

    @property
    def T(self):  # noqa: N802 - pandas' name
        """A DataFrame whose columns are rows."""
        raise NotImplementedError("the transpose of a DataFrame: df.to_numpy().T")

    def __len__(self):
        return self.blocks_of_columns[0].shape[0]

    def __iter__(self):
        return iter(column_names(self.places_of_columns))

    def __contains__(self, name):
        return column_place(self.places_of_columns, name) is not None

    def __getitem__(self, key):
        if isinstance(key, list):
            blocks = tuple([self.column(name)[:, None] for name in key])
            columns = index_of_texts(tuple(key)) if all_texts(tuple(key)) else part_of(self.labels_of_columns)
            return frame(blocks, places_of(tuple(key)), columns, self.labels_of_rows)
        if isinstance(key, slice):
            return ByPosition(self)[key]
        if isinstance(key, tuple):
            return series(self.column(key), self.labels_of_rows, named(key))
        if not isinstance(key, str) and (isinstance(key, pd.Series) or np.ndim(key) == 1):
            return chosen(self, key)
        return series(self.column(key), self.labels_of_rows, named(key))

    def __getattr__(self, name):
        if column_place(self.places_of_columns, name) is None or known_attribute("DataFrame", name):
            raise NotImplementedError(f"`{name}` of a pandas DataFrame: take .to_numpy() and NumPy's functions")
        return series(self.column(name), self.labels_of_rows, named(name))

    def __setitem__(self, key, value):
        if not self.is_own.shown:
            raise NotImplementedError("a column of a DataFrame that the caller sees is assigned: df = df.copy() before")
        if not isinstance(key, str):
            raise NotImplementedError("assignments to what is no column with a text as its name: df[name] = ...")
        if isinstance(value, pd.Series) and not are_same(self.labels_of_rows, value.labels_of_rows):
            raise NotImplementedError(OTHERS)
        column = value.values if isinstance(value, pd.Series) else self.spread(value).values
        refuse_other_lengths(len(self), len(column))
        places = with_column(self.places_of_columns, key, len(self.blocks_of_columns))
        self.blocks_of_columns = (*self.blocks_of_columns, column[:, None])
        self.places_of_columns = places
        names = column_names(places)
        self.labels_of_columns = index_of_texts(names) if all_texts(names) else part_of(self.labels_of_columns)

    def get(self, key, default=None):
        """A column, where there is one."""
        return self[key] if column_place(self.places_of_columns, key) is not None else default

    def items(self):
        """Columns with their names."""
        return [(name, self[name]) for name in column_names(self.places_of_columns)]

    def keys(self):
        """The names of columns."""
        return column_names(self.places_of_columns)

    def assign(self, **columns):
        """With other columns, or more of them."""
        made = {name: self[name] for name in column_names(self.places_of_columns)}
        for name, value in columns.items():
            column = value(DataFrame(made)) if callable(value) else value
            made[name] = column if isinstance(column, pd.Series) else self.spread(column)
        return DataFrame(made)

    def spread(self, value):
        """A column of a number, or of an array."""
        return series(np.broadcast_to(np.asarray(value), (len(self),)).copy(), self.labels_of_rows, named(None))

    def drop(self, labels=None, axis=0, columns=None):
        """Without some columns."""
        names = labels if columns is None and axis in (1, "columns") else columns
        if names is None:
            raise NotImplementedError("drop of rows: a condition chooses rows")
        left = [names] if isinstance(names, str) else names
        return self[[name for name in column_names(self.places_of_columns) if name not in left]]

    def dot(self, other):
        """The product with a vector for its columns, or a matrix."""
        if isinstance(other, pd.DataFrame):
            raise NotImplementedError("a product of two DataFrames: a.to_numpy() @ b.to_numpy()")
        if isinstance(other, pd.Series):
            if not are_same(self.labels_of_columns, other.labels_of_rows):
                raise NotImplementedError(OTHERS)
            return series(self.whole() @ other.values, self.labels_of_rows, named(None))
        found = self.whole() @ np.asarray(other)
        if found.ndim != 1:
            raise NotImplementedError("a product of a DataFrame with a matrix: df.to_numpy() @ A")
        return series(found, self.labels_of_rows, named(None))

    def reduced(self, found, axis):
        """Numbers for columns, for rows, or for all."""
        if axis is None:
            return found
        return series(found, self.labels_of_columns if axis in (0, "index") else self.labels_of_rows, named(None))

    def sum(self, axis=0, skipna=True, numeric_only=False):
        """Sums."""
        return self.reduced(added(self.whole(), number_of(axis), skipna), axis)

    def prod(self, axis=0, skipna=True):
        """Products."""
        return self.reduced(multiplied(self.whole(), number_of(axis), skipna), axis)

    def mean(self, axis=0, skipna=True, numeric_only=False, dtype=None):
        """Means."""
        return self.reduced(averaged(self.whole(), number_of(axis), skipna), axis)

    def median(self, axis=0, skipna=True):
        """Medians."""
        return self.reduced(middle(self.whole(), number_of(axis), skipna), axis)

    def var(self, axis=0, skipna=True, ddof=1, dtype=None):
        """Variances, of samples."""
        return self.reduced(variance(self.whole(), number_of(axis), skipna, ddof), axis)

    def std(self, axis=0, skipna=True, ddof=1, dtype=None):
        """Standard deviations, of samples."""
        return self.reduced(deviation(self.whole(), number_of(axis), skipna, ddof), axis)

    def max(self, axis=0, skipna=True):
        """Largest numbers."""
        return self.reduced(largest(self.whole(), number_of(axis), skipna), axis)

    def min(self, axis=0, skipna=True):
        """Smallest numbers."""
        return self.reduced(smallest(self.whole(), number_of(axis), skipna), axis)

    def count(self, axis=0):
        """How many numbers there are."""
        return self.reduced(counted(self.whole(), number_of(axis)), axis)

    def cumsum(self, axis=0, skipna=True):
        """Sums up to each place."""
        values = self.whole()
        return self.like(running(values, number_of(axis)) if skipna else np.cumsum(values, axis=number_of(axis)))

    def apply(self, func, axis=0):
        """A function of each column, or row."""
        if axis in (0, "index"):
            found = [func(self[name]) for name in column_names(self.places_of_columns)]
            return series(np.array(found), self.labels_of_columns, named(None))
        values = self.whole()
        found = [func(series(values[k], self.labels_of_columns, named(None))) for k in range(len(self))]
        return series(np.array(found), self.labels_of_rows, named(None))

    def corr(self):
        """Correlations of columns."""
        return frame(
            [np.corrcoef(self.without_nan().T)],
            in_one(self.places_of_columns),
            self.labels_of_columns,
            self.labels_of_columns,
        )

    def cov(self, ddof=1):
        """Covariances of columns."""
        made = np.cov(self.without_nan().T, ddof=ddof)
        return frame([made], in_one(self.places_of_columns), self.labels_of_columns, self.labels_of_columns)

    def without_nan(self):
        """All columns, which must be whole."""
        values = self.whole()
        if np.any(np.isnan(values)):
            raise NotImplementedError("NaN in correlations, which pandas leaves out pair by pair")
        return values


def number_of(axis):
    """An axis by its number."""
    return {"index": 0, "columns": 1, "rows": 0}[axis] if isinstance(axis, str) else axis


def frame(blocks, places, columns, index):
    """A DataFrame."""
    made = DataFrame({"a": np.zeros(0)})
    made.blocks_of_columns = tuple(blocks)
    made.places_of_columns = places
    made.labels_of_columns = columns
    made.labels_of_rows = index
    return made


def combined(function, a, b):
    """A function of elements of two operands, one of which is a DataFrame: a Series stands for each row."""
    table = a if isinstance(a, pd.DataFrame) else b
    left, right = of_table(table, a), of_table(table, b)
    return table.like(applied(function, left, right))


def of_table(table, operand):
    """The numbers of an operand, beside those of a DataFrame."""
    if isinstance(operand, pd.DataFrame):
        if not (
            are_same(table.labels_of_columns, operand.labels_of_columns)
            and are_same(table.labels_of_rows, operand.labels_of_rows)
        ):
            raise NotImplementedError(OTHERS)
        refuse_other_lengths(len(table), len(operand))
        return operand.whole()
    if isinstance(operand, pd.Series):
        if not are_same(table.labels_of_columns, operand.labels_of_rows):
            raise NotImplementedError(OTHERS)
        return operand.values[None, :]
    values = np.asarray(operand)
    if values.ndim == 1 and values.shape[0] != table.shape[1]:
        raise ValueError(f"Unable to coerce to Series, length must be {table.shape[1]}: given {values.shape[0]}")
    if values.ndim == 2:
        refuse_shape(values, table.whole())
    return operand if values.ndim == 0 else values
