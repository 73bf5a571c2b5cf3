"""Statistics of pandas' windows of rows, and of groups of rows with one key."""

# pandas' signatures take whatever pandas takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportMissingImports=false

from __future__ import annotations

import numpy as np
import pandas as pd

from diffjit.primitives.library.labelled.operators import part_of


def beyond(values, before, after):
    """An array with rows of NaN on both sides."""
    rest = values.shape[1:]
    return np.concatenate([np.full((before, *rest), np.nan), values, np.full((after, *rest), np.nan)])


class Rolling:
    """Windows of as many rows that end at each row, or have it in their middle."""

    def __init__(self, table, window, min_periods, center):
        if not isinstance(window, int | np.integer):
            raise NotImplementedError("rolling over a time: rolling(n) takes as many rows")
        if window < 1:
            raise ValueError("window must be an integer 1 or greater")
        values = table.whole().astype(np.float64)
        after = (window - 1) // 2 if center else 0
        rows = np.arange(values.shape[0])[:, None] + np.arange(window)
        self.table = table
        self.least = window if min_periods is None else min_periods
        self.held = beyond(values, window - 1 - after, after)[rows]
        self.inside = np.sum(~np.isnan(beyond(np.zeros(values.shape), window - 1 - after, after)[rows]), axis=1)
        self.missing = np.isnan(self.held)
        self.known = np.where(self.missing, 0.0, self.held)
        self.counted = np.sum(~self.missing, axis=1)

    def __getattr__(self, name):
        raise NotImplementedError(f"`{name}` of rolling windows: count, sum, mean, var and std are there")

    def enough(self, values, least):
        """Statistics, and NaN where there are too few numbers."""
        return self.table.like(np.where(self.counted >= least, values, np.nan))

    def count(self):
        """How many numbers there are."""
        return self.table.like(np.where(self.inside >= self.least, self.counted, np.nan))

    def sum(self):
        """Sums."""
        return self.enough(np.sum(self.known, axis=1), self.least)

    def mean(self):
        """Means."""
        return self.enough(self.means(), max(self.least, 1))

    def means(self):
        """Means, where there are numbers."""
        return np.sum(self.known, axis=1) / np.maximum(self.counted, 1)

    def var(self, ddof=1):
        """Variances, of samples."""
        return self.enough(self.variances(ddof), max(self.least, ddof + 1))

    def std(self, ddof=1):
        """Standard deviations, of samples."""
        least = max(self.least, ddof + 1)
        spread = np.where(self.counted >= least, self.variances(ddof), 1.0)
        return self.enough(np.sqrt(spread), least)

    def variances(self, ddof):
        """Variances, where there are numbers enough."""
        far = np.where(self.missing, 0.0, self.known - self.means()[:, None])
        return np.sum(far**2, axis=1) / np.maximum(self.counted - ddof, 1)


def grouped(table, by):
    """The groups of rows with one key, which a column holds, or an array."""
    if isinstance(by, str):
        key, rest = table.column(by), table.drop(columns=by)
    elif isinstance(by, pd.Series):
        key, rest = by.values, table
    elif isinstance(by, np.ndarray):
        key, rest = by, table
    else:
        raise NotImplementedError("groupby of other keys than one column or array: combine them before")
    if key.dtype.kind not in "biu":
        raise NotImplementedError("groupby of keys that are no integers: pass their numbers, pd.factorize(key)[0]")
    if key.shape[0] != len(table):
        raise ValueError("Grouper and axis must be same length")
    keys, codes = np.unique(key, return_inverse=True)
    return Grouped(rest, codes, len(keys))


class Grouped:
    """Groups of rows, in the order of their keys."""

    def __init__(self, table, codes, number):
        self.table = table
        self.codes = codes
        self.number = number

    def __getitem__(self, key):
        return Grouped(self.table[key], self.codes, self.number)

    def __getattr__(self, name):
        raise NotImplementedError(f"`{name}` of groups: count, sum, mean, var, std and transform are there")

    def totals(self, values):
        """Sums of each group."""
        out = np.zeros((self.number, *values.shape[1:]), values.dtype)
        np.add.at(out, self.codes, values)
        return out

    def labelled(self, values):
        """Statistics of groups, whose keys a program does not look into."""
        table = self.table.rows(slice(0, 0), part_of(self.table.labels_of_rows))
        return table.like(values)

    def parts(self):
        """The numbers, 0 where they are missing, where they are not, and how many of a group."""
        values = self.table.whole()
        if values.dtype.kind not in "fc":
            there = np.ones(values.shape, bool)
            return values, there, self.totals(there.astype(np.int64))
        there = ~np.isnan(values)
        return np.where(there, values, 0.0), there, self.totals(there.astype(np.int64))

    def statistic(self, name, ddof=1):
        """A statistic of each group."""
        values, there, count = self.parts()
        if name == "count":
            return count
        total = self.totals(values)
        if name == "sum":
            return total
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        if name == "mean":
            return mean
        far = np.where(there, values - mean[self.codes], 0.0)
        spread = self.totals(far**2) / np.maximum(count - ddof, 1)
        if name == "var":
            return np.where(count > ddof, spread, np.nan)
        if name == "std":
            return np.where(count > ddof, np.sqrt(np.where(count > ddof, spread, 1.0)), np.nan)
        raise NotImplementedError(f"transform({name!r}): count, sum, mean, var and std are there")

    def count(self):
        """How many numbers there are."""
        return self.labelled(self.statistic("count"))

    def sum(self):
        """Sums."""
        return self.labelled(self.statistic("sum"))

    def mean(self):
        """Means."""
        return self.labelled(self.statistic("mean"))

    def var(self, ddof=1):
        """Variances, of samples."""
        return self.labelled(self.statistic("var", ddof))

    def std(self, ddof=1):
        """Standard deviations, of samples."""
        return self.labelled(self.statistic("std", ddof))

    def transform(self, func):
        """A statistic of its group for each row."""
        if not isinstance(func, str):
            raise NotImplementedError("transform of a function: by its name, transform('mean')")
        return self.table.like(self.statistic(func)[self.codes])
