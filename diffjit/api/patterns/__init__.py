"""Patterns of sparse derivatives by machine code, and the derivatives from a direction for each colour."""
