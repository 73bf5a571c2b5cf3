"""NumPy's functions of objects that say themselves what these do, or what array they are.

A ufunc asks the class of an operand for `__array_ufunc__`. Reductions and their kin call the method of their name.
All else takes what `__array__` gives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static, is_none
from diffjit.ir.nodes import Value

# Functions that call the method of their name, as NumPy does for what is no array, and what they hand on beside `axis`.
_METHODS: dict[Any, dict[str, Any]] = {
    np.sum: {}, np.prod: {}, np.max: {}, np.amax: {}, np.min: {}, np.amin: {}, np.any: {}, np.all: {}, np.mean: {},
    np.std: {"ddof": 0}, np.var: {"ddof": 0}, np.cumsum: {},
}  # fmt: skip
_BARE = {np.round: ("decimals",), np.clip: ("a_min", "a_max")}  # those of elements


def _is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").split(".")[0] == "numpy"


class Protocols(Mixin):
    """Mixin of the interpreter: `__array_ufunc__` and `__array__`."""

    def has_method(self, value: Any, name: str) -> bool:
        """Whether an object's class has a method."""
        held = self.contents(value) if isinstance(value, av.Ref) and not isinstance(value, av.Handle) else None
        return isinstance(held, av.ObjC) and self.class_has(held.cls, name)

    def call_protocol(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What an operand's class makes of NumPy's function; None where none has a say."""
        if isinstance(function, np.ufunc):
            owner = next((a for a in args if self.has_method(a, "__array_ufunc__")), None)
            if owner is None:
                return None
            given = [Static(function), Static("__call__"), *args]
            return self.call_method(owner, "__array_ufunc__", given, kwargs)
        if not args or not _is_numpys(function) or not self.has_method(args[0], "__array__"):
            return None
        name = {np.amax: "max", np.amin: "min"}.get(function, getattr(function, "__name__", ""))
        if function in _METHODS and self.has_method(args[0], name):
            named = {"axis": args[1]} if len(args) == 2 else {}
            options = {k: Static(v) for k, v in _METHODS[function].items()}
            left = {k: v for k, v in kwargs.items() if not (k in ("out", "dtype") and is_none(v))}
            return self.call_method(args[0], name, [], {"axis": Static(None), **options, **named, **left})
        if function in _BARE and self.has_method(args[0], name):
            return self.call_method(args[0], name, args[1:], kwargs)
        return None

    def as_array(self, value: Any) -> Value | None:
        """The array that an object says it is; None where its class does not say."""
        if not self.has_method(value, "__array__"):
            return None
        return self.array(self.call_method(value, "__array__", []))
