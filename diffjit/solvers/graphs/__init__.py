"""`scipy.sparse.csgraph`: what holds together and which path is shortest is constant, how long it is is not."""

from diffjit.primitives.library import sparse
from diffjit.solvers.graphs import paths

__all__ = ["paths", "sparse"]
