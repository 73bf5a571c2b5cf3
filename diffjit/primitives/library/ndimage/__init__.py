"""`scipy.ndimage` as programs: filters along axes and in windows, and values between elements."""

from diffjit.primitives.library.ndimage import between, filters, lines, windows

__all__ = ["between", "filters", "lines", "windows"]
