"""Reverse mode: the sweep back, cotangents, and what is kept for it."""
