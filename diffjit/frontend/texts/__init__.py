"""Texts: what f-strings, str() and print() make of values."""
