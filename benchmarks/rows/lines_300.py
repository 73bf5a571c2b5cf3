"""The first gradient of a function of 300 lines in a new process: scalars and loops, written by a generator."""

from benchmarks.written import row

ROW = row(300)
