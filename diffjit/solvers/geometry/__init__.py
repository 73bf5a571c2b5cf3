"""`scipy.spatial` and `scipy.interpolate` where they take SciPy's own code: triangles, hulls and what rests on them."""

from diffjit.primitives.library import interpolate, spatial
from diffjit.solvers.geometry import hulls, triangles

__all__ = ["hulls", "interpolate", "spatial", "triangles"]
