"""Loops whose turns are computed in batches."""
