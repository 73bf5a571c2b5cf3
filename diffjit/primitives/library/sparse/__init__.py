"""`scipy.sparse` as programs: matrices by their stored entries, which is what gradients are taken by."""

from diffjit.primitives.library.sparse import forms, makers, matrices

__all__ = ["forms", "makers", "matrices"]
