"""Kernels that users write by hand with `numba.cuda.jit`."""
