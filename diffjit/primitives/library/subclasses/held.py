"""What classes that hold an array have in common, and of NumPy's own which functions call a method of their name."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.registry import constant

METHODS = {  # functions that call the method of their name
    np.sum: "sum", np.mean: "mean", np.std: "std", np.var: "var", np.prod: "prod", np.max: "max", np.min: "min",
    np.amax: "max", np.amin: "min", np.any: "any", np.all: "all", np.cumsum: "cumsum", np.transpose: "transpose",
    np.reshape: "reshape", np.round: "round", np.clip: "clip",
}  # fmt: skip


def name_of(function):
    """How a function is called."""
    return getattr(function, "__name__", str(function))


constant(name_of)


class Held:
    """What `__array__` gives tells lengths and dtype."""

    def __array__(self, dtype=None, copy=None):
        return self.held_values if dtype is None else self.held_values.astype(dtype)

    @property
    def shape(self):
        """Its lengths."""
        return self.__array__().shape

    @property
    def size(self):
        """How many elements there are."""
        return self.__array__().size

    @property
    def ndim(self):
        """How many dimensions it has."""
        return self.__array__().ndim

    @property
    def dtype(self):
        """Of the array."""
        return self.__array__().dtype

    def __len__(self):
        return self.__array__().shape[0]
