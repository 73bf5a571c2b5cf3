"""What NumPy's own subclasses of arrays have in common: they hold an array, and functions call their methods."""

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
    """An array that means something else."""

    def __array__(self, dtype=None, copy=None):
        return self.held_values if dtype is None else self.held_values.astype(dtype)

    @property
    def shape(self):
        """Its lengths."""
        return self.held_values.shape

    @property
    def size(self):
        """How many elements there are."""
        return self.held_values.size

    @property
    def ndim(self):
        """How many dimensions it has."""
        return self.held_values.ndim

    @property
    def dtype(self):
        """Of the array."""
        return self.held_values.dtype

    def __len__(self):
        return self.held_values.shape[0]
