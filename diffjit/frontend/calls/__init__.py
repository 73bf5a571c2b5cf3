"""Calls: users' functions, Python's builtins, and functions without source."""
