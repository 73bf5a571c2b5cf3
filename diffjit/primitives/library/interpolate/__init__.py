"""`scipy.interpolate` as programs: piecewise polynomials, B-splines, grids and scattered points."""

from diffjit.primitives.library.interpolate import fitpack, grids, pieces, scattered, smooth, splines

__all__ = ["fitpack", "grids", "pieces", "scattered", "smooth", "splines"]
