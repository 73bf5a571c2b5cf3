"""Linear algebra by theory: equations of matrices, spectra of matrices that are not symmetric, null spaces."""

from diffjit.primitives.library import linear
from diffjit.solvers.algebra import equations, pencils, pivots, schur, spaces, spectra

__all__ = ["equations", "linear", "pencils", "pivots", "schur", "spaces", "spectra"]
