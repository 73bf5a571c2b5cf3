"""Vectorised elementary functions."""

from __future__ import annotations

from typing import Any

from diffjit.lowering.runtime import vecmath_exp, vecmath_log, vecmath_special, vecmath_trig
from diffjit.lowering.runtime.vecmath_values import elementwise

_FAMILIES = {
    vecmath_exp: ("exp", "exp2", "expm1", "sigmoid", "sinh", "cosh", "tanh"),
    vecmath_log: ("log", "log2", "log10", "log1p", "arcsinh", "arccosh", "arctanh", "power"),
    vecmath_trig: ("sin", "cos", "tan", "arctan", "arctan2", "arcsin", "arccos"),
    vecmath_special: ("erf", "erfc", "cbrt", "hypot", "logaddexp", "logaddexp2"),
}
VECTOR: dict[str, Any] = {
    name: elementwise(getattr(family, name)) for family, names in _FAMILIES.items() for name in names
}
VECTOR["float_power"] = VECTOR["power"]
out_of_range = elementwise(vecmath_trig.out_of_range, truth=True)
