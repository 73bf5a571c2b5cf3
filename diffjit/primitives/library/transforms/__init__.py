"""`scipy.fft` and `scipy.fftpack` as programs."""

from diffjit.primitives.library.transforms import cosine, fourier

__all__ = ["cosine", "fourier"]
