"""Vectorised elementary functions: branch-free, so that LLVM vectorises the loops that hold them.

PyPI's llvmlite has no vector library: one call of libm in a loop keeps LLVM from vectorising it. The functions of
`VECTOR` are written into the code of the caller instead (see `values`), for float64 and float32 by the type of
the argument. Their errors stand in their docstrings: the largest seen against mpmath, in units of the last place, in
float64 and float32, over the whole range with subnormal numbers. Infinities, NaN, signed zeros, overflow and underflow
are NumPy's. Times: `docs/vecmath.md`.

    exponential     exp, exp2, expm1, sigmoid, sinh, cosh, tanh
    logarithm       log, log2, log10, log1p, arcsinh, arccosh, arctanh, power
    trigonometric   sin, cos, tan, arctan, arctan2, arcsin, arccos
    special         erf, erfc, cbrt, hypot, logaddexp, logaddexp2

**sin, cos and tan of huge arguments.** Beyond 2**36 (float32: 2**16) the reduction by multiples of pi/2 would need
hundreds of bits of pi, which no branch-free form has cheaply. There the result is NaN, never a wrong number, and
`out_of_range(x)` is true (it is false for inf and NaN, whose NaN is right). A caller that must be right everywhere runs
the vectorised loop, collecting whether any argument was out of range, and after it redoes those elements with libm:

    far = False
    for i in range(n):
        out[i] = sin(x[i])
        far |= out_of_range(x[i])
    if far:
        for i in range(n):
            if out_of_range(x[i]):
                out[i] = libm_sin(x[i])

The first loop is vectorised; the second hardly ever runs.

**Where they pay.** In loops that can be vectorised. Where each call waits for the one before it (a recurrence), libm's
exp, log and sin are faster.

The coefficients are best approximations, computed by `tests/lowering/remez.py`; a test compares.
"""

from __future__ import annotations

from typing import Any

from diffjit.lowering.runtime.vecmath import exponential, logarithm, special, trigonometric
from diffjit.lowering.runtime.vecmath.values import elementwise

_FAMILIES = {
    exponential: ("exp", "exp2", "expm1", "sigmoid", "sinh", "cosh", "tanh"),
    logarithm: ("log", "log2", "log10", "log1p", "arcsinh", "arccosh", "arctanh", "power"),
    trigonometric: ("sin", "cos", "tan", "arctan", "arctan2", "arcsin", "arccos"),
    special: ("erf", "erfc", "cbrt", "hypot", "logaddexp", "logaddexp2"),
}
VECTOR: dict[str, Any] = {
    name: elementwise(getattr(family, name)) for family, names in _FAMILIES.items() for name in names
}
VECTOR["float_power"] = VECTOR["power"]

out_of_range = elementwise(trigonometric.out_of_range, truth=True)

# The names in generated text.
for _name, _function in VECTOR.items():
    globals()[f"vec_{_name}"] = _function
