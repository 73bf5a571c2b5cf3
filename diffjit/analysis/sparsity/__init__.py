"""Which inputs each number of a program depends on: the pattern of its Jacobian."""
