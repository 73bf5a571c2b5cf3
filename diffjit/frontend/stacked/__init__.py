"""Recursive functions as loops with a stack of their own."""
