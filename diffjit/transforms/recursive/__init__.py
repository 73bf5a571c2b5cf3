"""Recursive functions as they are compiled, when no derivative will be taken any more."""
