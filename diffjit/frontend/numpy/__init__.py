"""NumPy's functions as operations, and what may fail in them."""
