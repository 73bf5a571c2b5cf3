"""`scipy.sparse.linalg` inside programs: systems, factors, iterations, functions of matrices, parts of spectra."""

from diffjit.solvers.sparse import direct, factors, functions, iterative, operators, spectra, triplets

__all__ = ["direct", "factors", "functions", "iterative", "operators", "spectra", "triplets"]
