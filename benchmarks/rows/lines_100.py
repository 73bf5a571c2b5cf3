"""The first gradient of a function of 100 lines in a new process: scalars and loops, written by a generator."""

from benchmarks.written import row

ROW = row(100)
