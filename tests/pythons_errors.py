"""What Python raises of numbers where NumPy, and compiled code, go on with inf or NaN (docs/limits.md)."""

import sys

_WORDS = ("float division by zero", "math domain error", "math range error", "division by zero")


def is_of_numbers(words: str) -> bool:
    """Whether an error's words are those of an operation of Python's floats, or of `math`."""
    return words in _WORDS or (sys.version_info >= (3, 14) and words.startswith("expected a"))
