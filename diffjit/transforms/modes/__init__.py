"""Modes that walk a program forwards: tangents, linear maps, and Taylor series."""
