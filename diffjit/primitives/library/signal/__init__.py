"""`scipy.signal` as programs: filters, convolutions, spectra, peaks, linear systems; designs are constants."""

from diffjit.primitives.library.signal import (
    chirps,
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
    "chirps",
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
