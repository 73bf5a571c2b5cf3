"""What solvers of SciPy's say and do beside finding a solution."""
