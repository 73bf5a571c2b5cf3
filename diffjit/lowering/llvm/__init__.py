"""From the text of loops to machine code: what Numba emits, and the process in which LLVM optimises it."""
