"""The text of plain loops that Numba compiles."""
