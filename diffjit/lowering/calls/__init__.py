"""Compiled functions as Python calls them: machine code on disk, memory, threads, failures, signals."""
