"""`scipy.ndimage` as programs: filters along axes and in windows, in transforms, and values between elements."""

from diffjit.primitives.library.ndimage import between, filters, frequencies, lines, windows

__all__ = ["between", "filters", "frequencies", "lines", "windows"]
