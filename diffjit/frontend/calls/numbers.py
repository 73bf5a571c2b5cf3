"""Python's numbers: what makes them of other values, and `cmath`."""

from __future__ import annotations

import builtins
import cmath
import enum
import math
import operator
import re
from typing import Any

import numpy as np

from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, FLOAT, Array, Scalar
from diffjit.primitives.library import numbers

# A format that writes a float as a text that is read as the float again, rounded: `%8.3f`, `{:>8.3f}`.
_WITH_POINT = re.compile(r"(%[-+ 0]*\d*|[<>^][-+ ]?([1-9]\d*)?|[-+ ]?\d*)(\.(?P<digits>\d+))?[fF]")
_EXACT_POWERS = 22  # powers of ten up to that one are floats
_ALL = Static(None)  # digits of a float's repr, which is read as the same float


class Numbers(Mixin):
    """Mixin of the interpreter: numbers of Python's classes, and functions of complex ones."""

    @core(builtins.abs, operator.abs)
    def py_abs(self, x: Any) -> Any:
        if isinstance(x, av.Ref):
            return self.call_method(x, "__abs__", [])
        if isinstance(x, Static) and isinstance(x.obj, enum.Enum):
            return self.member_unary("__abs__", "absolute", x)
        return self.ew("absolute", x)

    @core(builtins.float)
    def py_float(self, x: Any = Static(0.0)) -> Any:
        if isinstance(x, Static):
            return Static(self.evaluated(float, x.obj))
        x = self.certain(x)
        if isinstance(x, av.Format):
            if (read := self.number_written(x)) is not None:
                return self.py_round(*read) if read[1] is not _ALL else read[0]
            raise self.letters([x], "float()", None)
        if isinstance(x, av.Ref | av.Tup):
            return self.float_of(x) if self.is_opaque(x) else self.py_float(self.converted(x, float))
        value = self.number(x)
        self.real_only("float()", value)
        number = self.item(value, TypeError) if isinstance(value.type, Array) else value
        return self.cast(number, np.float64, weak=True)

    @core(builtins.int)
    def py_int(self, x: Any = Static(0), base: Any = None) -> Any:
        if isinstance(x, Static) and (base is None or isinstance(base, Static)):
            return Static(self.evaluated(int, x.obj, *(() if base is None else (base.obj,))))
        if base is not None and not isinstance(x, av.Format):
            problem = f"int() of {describe(x)} with a base of {describe(base)}"
            raise self.type_problem("DJ308", problem, python=TypeError)
        x = self.certain(x)
        if isinstance(x, av.Format):
            if base is None and (read := self.number_written(x)) is not None and read[1].obj == 0:
                return self.to_int(self.py_round(*read))
            raise self.letters([x], "int()", None)
        if isinstance(x, av.Ref | av.Tup):
            told = self.is_opaque(x)
            return self.tell_python(Static(int), Static(int), x) if told else self.py_int(self.converted(x, int))
        value = self.number(x)
        return self.to_int(self.item(value, TypeError) if isinstance(value.type, Array) else value)

    def number_written(self, text: av.Format) -> tuple[Any, Static] | None:
        """The float that a text is, as `f"{x:.3f}"`, and the digits behind the point that it keeps; else None."""
        parts = [part for part in text.parts if not isinstance(part, str) or part.strip()]
        value, spec = parts[0] if len(parts) == 1 and not isinstance(parts[0], str) else (None, "")
        if not isinstance(value, Value) or not isinstance(value.type, Scalar) or value.type.dtype.kind != "f":
            return None
        form = _WITH_POINT.fullmatch(spec)
        if form is not None and int(form["digits"] or 6) <= _EXACT_POWERS:
            return self.cast(value, np.float64, weak=True), Static(int(form["digits"] or 6))
        return (self.as_weak(value), _ALL) if spec == "" and value.type.dtype == np.float64 else None

    def to_int(self, value: Any) -> Any:
        """A whole number as Python's int."""
        self.real_only("a conversion to int", value)
        self.check_rounding(value)
        return self.cast(value, np.int64, weak=True)

    @core(builtins.bool)
    def py_bool(self, x: Any = Static(False)) -> Any:
        return self.python_bool(self.truth(x))

    def python_bool(self, truth: Any) -> Any:
        """A truth value as Python's own bool, for `is True` and `match`."""
        return truth if isinstance(truth, Static) or truth.type == BOOL else self.cast(truth, BOOL.dtype, weak=True)

    @core(builtins.complex)
    def py_complex(self, real: Any = Static(0.0), imag: Any = Static(0.0)) -> Any:
        if isinstance(real, Static) and isinstance(imag, Static):
            text = isinstance(real.obj, str) and imag.obj == 0
            return Static(self.evaluated(complex, *((real.obj,) if text else (real.obj, imag.obj))))
        return self.ew("add", self.complex_number(real), self.ew("multiply", self.complex_number(imag), Static(1j)))

    @core(builtins.round)
    def py_round(self, number: Any, ndigits: Any = NONE) -> Any:
        if isinstance(number, Static) and isinstance(ndigits, Static):
            return Static(self.evaluated(round, number.obj, ndigits.obj))
        if isinstance(number, Value) and isinstance(number.type, Array) and number.type.ndim > 0:
            message = "an array has no `round()`"
            raise self.type_problem("DJ309", message, None, cure="np.round(...) of it", python=TypeError)
        if is_none(ndigits):
            whole = isinstance(number, Value) and isinstance(number.type, Scalar) and number.type.dtype.kind in "biu"
            return self.to_int(number if whole else self.ew("rint", number))
        if isinstance(number, Value) and number.type == FLOAT:
            return self.as_weak(self.call_plain(numbers.round_decimal, number, ndigits, node=None))
        rounded = self.call_static(np.round, [number, ndigits], {}, None)
        return self.as_weak(rounded) if self.is_weak(number) else rounded

    @core(math.log)
    def py_log(self, x: Any, base: Any = None) -> Any:
        log = lambda v: self.call_elementwise(math.log, "log", [v], {}, None)  # noqa: E731
        return log(x) if base is None else self.arithmetic("divide", log(x), log(base))

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
