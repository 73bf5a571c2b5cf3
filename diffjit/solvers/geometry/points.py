"""What is known of `scipy.spatial`."""

from diffjit.primitives.library import spatial
from diffjit.solvers.geometry import hulls, triangles

__all__ = ["hulls", "spatial", "triangles"]
