"""Arrays of records that a program makes: an array for each field.

    bodies = np.zeros(n, dtype=[("mass", float), ("place", float, 3)])
    bodies["mass"][0] = m              bodies[0]["place"] = [x, y, z]           bodies[1] = (m, place)

A field is an array of its own, where NumPy has a view with steps.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportArgumentType=false, reportCallIssue=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np


def named(dtype, name):
    """The name of a field that there is."""
    if name not in dtype.names:
        raise ValueError(f"no field of name {name}")
    return name


class Records:
    """The array: `held_columns` are its fields by name, `held_axes` how many dimensions it has without theirs."""

    stands_for = np.ndarray
    returned_as = "return its fields"

    def __init__(self, dtype, columns, axes):
        self.dtype, self.held_columns, self.held_axes = dtype, columns, axes

    @property
    def held_first(self):
        """The first field: all have the same lengths."""
        return self.held_columns[self.dtype.names[0]]

    @property
    def shape(self):
        """The lengths, without those of fields that are arrays."""
        return self.held_first.shape[: self.held_axes]

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.held_axes

    @property
    def size(self):
        """The number of records."""
        return int(np.prod(self.shape))

    def __len__(self):
        return self.held_first.shape[0]

    def __iter__(self):
        return iter([self[k] for k in range(len(self))])

    def __getitem__(self, key):
        if isinstance(key, str):
            return self.held_columns[named(self.dtype, key)]
        if isinstance(key, list) and key and isinstance(key[0], str):
            raise NotImplementedError("several fields of records at once: take one after the other")
        if isinstance(key, (int, np.integer)) and self.held_axes == 1:
            return Record(self, key)
        found = {name: column[key] for name, column in self.held_columns.items()}
        axes = found[self.dtype.names[0]].ndim - self.held_first.ndim + self.held_axes
        return Records(self.dtype, found, axes)

    def __setitem__(self, key, value):
        if isinstance(key, str):
            self.held_columns[named(self.dtype, key)][...] = value
        elif isinstance(value, (Records, Record)):
            for name, column in self.held_columns.items():
                column[key] = value[name]
        elif isinstance(value, tuple):
            if len(value) != len(self.dtype.names):
                raise ValueError(f"could not assign tuple of length {len(value)} to structure with "
                                 f"{len(self.dtype.names)} fields.")  # fmt: skip
            for k, name in enumerate(self.dtype.names):
                self.held_columns[name][key] = value[k]
        elif isinstance(value, list):
            for i, one in zip(range(len(self))[key], value, strict=True):
                self[i] = one
        else:
            for column in self.held_columns.values():
                column[key] = value

    def copy(self):
        """The same records, elsewhere."""
        return Records(self.dtype, {name: column.copy() for name, column in self.held_columns.items()}, self.held_axes)


class Record:
    """One record of an array, and its place there."""

    stands_for = np.void

    def __init__(self, records, place):
        self.held_records, self.held_place = records, place
        records.held_first[place]  # a place that there is

    @property
    def dtype(self):
        """The fields."""
        return self.held_records.dtype

    def held_name(self, key):
        """The name of a field, which may be given by its number."""
        return named(self.dtype, key) if isinstance(key, str) else self.dtype.names[key]

    def __len__(self):
        return len(self.dtype.names)

    def __iter__(self):
        return iter([self[name] for name in self.dtype.names])

    def __getitem__(self, key):
        return self.held_records.held_columns[self.held_name(key)][self.held_place]

    def __setitem__(self, key, value):
        self.held_records.held_columns[self.held_name(key)][self.held_place] = value

    def copy(self):
        """The same record, by itself."""
        place = self.held_place
        columns = {name: column[place : place + 1].copy() for name, column in self.held_records.held_columns.items()}
        return Record(Records(self.dtype, columns, 1), 0)


def filled(make, shape, dtype, fields):
    """An array of records that NumPy's function makes."""
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    columns = {name: make((*lengths, *own), kind) for name, kind, own in fields}
    return Records(dtype, columns, len(lengths))


def listed(rows, dtype, fields):
    """An array of the records in a list, or a copy of one."""
    if isinstance(rows, Records):
        return rows.copy()
    if isinstance(rows, Record):
        return rows.copy()
    if isinstance(rows, tuple):
        raise NotImplementedError("an array of one record without dimensions: make it of a list, and take its element")
    columns = {name: np.array([row[k] for row in rows], kind) for k, (name, kind, _) in enumerate(fields)}
    return Records(dtype, columns, 1)
