"""NumPy and math functions written with others, in plain Python: inlined, differentiated and compiled as users' code.

What the functions here rely on: operators, elementwise kinds, the reductions, `matmul`, `concatenate`, `reshape`,
`transpose`, `broadcast_to`, creation, indexing, stores, loops, and what is known while specialising (axes, dtypes,
numbers of dimensions, tuples, strings, `None`). An option that is not supported raises NotImplementedError("what: what
to write instead"), which becomes an error at the user's line.
"""

from diffjit.primitives.library import (
    calculus,
    containers,
    contexts,
    counting,
    creation,
    einsum,
    fourier,
    joining,
    math_functions,
    missing,
    norms,
    numbers,
    orthogonal,
    polynomials,
    products,
    queues,
    selecting,
    series,
    shaping,
    spectral,
    statistics,
    tables,
    ufunc_methods,
    windows,
)
from diffjit.primitives.library.derived import arrays

__all__ = [
    "arrays",
    "calculus",
    "containers",
    "contexts",
    "counting",
    "creation",
    "einsum",
    "fourier",
    "joining",
    "math_functions",
    "missing",
    "norms",
    "numbers",
    "orthogonal",
    "polynomials",
    "products",
    "queues",
    "selecting",
    "series",
    "shaping",
    "spectral",
    "statistics",
    "tables",
    "ufunc_methods",
    "windows",
]
