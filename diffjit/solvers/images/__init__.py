"""`scipy.ndimage` where it takes SciPy's own code: what is found in images is constant."""

from diffjit.primitives.library import ndimage
from diffjit.solvers.images import regions

__all__ = ["ndimage", "regions"]
