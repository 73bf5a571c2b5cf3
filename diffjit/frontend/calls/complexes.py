"""`cmath`: Python's own complex numbers."""

from __future__ import annotations

import cmath
from typing import Any

import numpy as np

from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar


class Complexes(Mixin):
    """Mixin of the interpreter: `cmath`."""

    def complex_number(self, value: Any) -> Any:
        """Anything as a Python complex number."""
        return Static(complex(value.obj)) if isinstance(value, Static) else self.cast(value, np.complex128, weak=True)

    def real_only(self, what: str, *values: Any) -> None:
        """Python raises TypeError where a complex number would lose its imaginary part, or have an order."""
        for value in values:
            known: Any = getattr(value, "obj", 0.0) if isinstance(value, Static) else 0.0
            ty = value.type if isinstance(value, Value) else None
            if np.iscomplexobj(known) or (isinstance(ty, (Scalar, Array)) and ty.dtype.kind == "c"):
                cure = "take the real part, z.real, or the absolute value; cmath has functions of complex numbers"
                raise self.type_problem("DJ302", f"{what} does not take complex numbers", cure=cure, python=TypeError)

    @kinds(
        exp=cmath.exp, log10=cmath.log10, sqrt=cmath.sqrt, sin=cmath.sin, cos=cmath.cos, tan=cmath.tan, sinh=cmath.sinh,
        cosh=cmath.cosh, tanh=cmath.tanh, arcsin=cmath.asin, arccos=cmath.acos, arctan=cmath.atan,
        arcsinh=cmath.asinh, arccosh=cmath.acosh, arctanh=cmath.atanh,
    )  # fmt: skip
    def cm_elementwise(self, kind: str, x: Any) -> Any:
        return self.ew(kind, self.complex_number(x))

    @kinds(isfinite=cmath.isfinite, isinf=cmath.isinf, isnan=cmath.isnan)
    def cm_asked(self, kind: str, x: Any) -> Any:
        return self.ew(kind, self.complex_number(x))

    @core(cmath.log)
    def cm_log(self, x: Any, base: Any = None) -> Any:
        result = self.ew("log", self.complex_number(x))
        return result if base is None else self.ew("divide", result, self.ew("log", self.complex_number(base)))

    @core(cmath.phase)
    def cm_phase(self, x: Any) -> Any:
        z = self.complex_number(x)
        return self.as_weak(self.ew("arctan2", self.ew("imag", z), self.ew("real", z)))

    @core(cmath.rect)
    def cm_rect(self, r: Any, phi: Any) -> Any:
        real, imag = (self.ew("multiply", r, self.ew(kind, phi)) for kind in ("cos", "sin"))
        return self.as_weak(self.py_complex(real, imag))

    @core(cmath.polar)
    def cm_polar(self, x: Any) -> Any:
        return av.Tup((self.py_abs(self.complex_number(x)), self.cm_phase(x)))
