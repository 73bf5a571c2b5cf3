"""From a Python function to its source, its arguments and its results."""
