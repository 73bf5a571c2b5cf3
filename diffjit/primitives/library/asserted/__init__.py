"""Assertions of NumPy."""
