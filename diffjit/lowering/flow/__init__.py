"""A generated function as Numba's IR: made from its tree, and what is known of its variables and loops."""
