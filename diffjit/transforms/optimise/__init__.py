"""Passes that make a program shorter or faster and leave its numbers as they are."""
