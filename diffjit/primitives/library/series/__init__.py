"""Polynomials as objects: NumPy's `poly1d`, and its series in several bases."""

from diffjit.primitives.library.series import bases, powers, recurrences

__all__ = ["bases", "powers", "recurrences"]
