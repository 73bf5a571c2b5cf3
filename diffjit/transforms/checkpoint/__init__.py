"""Derivatives in bounded memory: calls and loops that run again, and snapshots."""
