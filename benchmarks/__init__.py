"""Benchmarks: diffjit against adjoints written by hand, JAX and autograd, one row for each program."""
