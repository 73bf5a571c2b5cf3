"""`scipy.signal` as programs: filters, convolutions, spectra and peaks; designs are constants."""

from diffjit.primitives.library.signal import convolutions, designs, filters, peaks, rates, smoothing, spectra

__all__ = ["convolutions", "designs", "filters", "peaks", "rates", "smoothing", "spectra"]
