"""IR to running code: the text of plain loops, compiled by Numba, and the Python text of `backend="python"`."""
