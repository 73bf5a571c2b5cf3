"""Draws of random numbers in compiled code, by NumPy's own C functions."""
