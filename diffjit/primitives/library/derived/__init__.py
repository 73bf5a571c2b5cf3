"""What users' classes inherit from Python's own containers."""
