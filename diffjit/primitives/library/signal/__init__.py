"""`scipy.signal` as programs: filters, convolutions, spectra, peaks, linear systems; designs are constants."""

from diffjit.primitives.library.signal import (
    convolutions,
    designs,
    filters,
    forms,
    peaks,
    prototypes,
    rates,
    responses,
    smoothing,
    spectra,
)

__all__ = [
    "convolutions",
    "designs",
    "filters",
    "forms",
    "peaks",
    "prototypes",
    "rates",
    "responses",
    "smoothing",
    "spectra",
]
