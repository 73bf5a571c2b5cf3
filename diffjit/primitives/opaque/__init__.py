"""Objects that only Python knows: what programs do with them, and where a run keeps them."""
