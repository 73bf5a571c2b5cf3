"""Scattered points where it takes SciPy's own code: read once a program has imported the modules of SciPy."""
