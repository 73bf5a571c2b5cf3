"""Classes that derive from NumPy's array."""
