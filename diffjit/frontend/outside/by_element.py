"""Functions from outside that are applied element by element: `np.vectorize`, and what Numba makes ufuncs of."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Attribute
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.primitives.library.ufunc_methods import CoreFunction, ElementFunction


class ByElement(Mixin):
    """Mixin of the interpreter: what applies a function to elements."""

    def by_element(self, obj: Any, node: Any) -> Any:
        """The library's version of such a function; None of other ones."""
        if isinstance(obj, np.vectorize):
            return self._vectorized(obj, node)
        if type(obj).__module__.startswith("numba.np.ufunc.") and hasattr(obj, "__wrapped__"):
            loops = tuple(tuple(kinds.replace("->", "")) for kinds in obj.types)
            given = [self.lift_static(obj.__wrapped__), Static(loops)]
            if getattr(obj, "signature", None) is None:
                return self.call(Static(ElementFunction), given, {}, node)
            operands, results = (_cores(side) for side in obj.signature.split("->"))
            held = _held(obj, len(operands))
            return self.call(Static(CoreFunction), [*given, Static(operands), Static(results), Static(held)], {}, node)
        return None

    def _vectorized(self, obj: np.vectorize, node: Any) -> Any:
        """What `np.vectorize` has made outside."""
        given = ("otypes", "excluded", "cache", "signature")
        options = {name: value for name in given if (value := getattr(obj, name))}
        kept = {n: av.Tup(tuple(map(Static, v))) if n == "excluded" else Static(v) for n, v in options.items()}
        self.guards.update({(id(obj), n): Guard(Attribute(obj, n), getattr(obj, n)) for n in given})
        return self.call(Static(np.vectorize), [self.attribute_of(obj, "pyfunc", obj.pyfunc)], kept, node)


def _cores(side: str) -> tuple[tuple[str, ...], ...]:
    """`(n),(n,m),()` as names of dimensions."""
    return tuple(tuple(filter(None, core.replace(" ", "").split(","))) for core in re.findall(r"\(([^)]*)\)", side))


def _held(obj: Any, operands: int) -> tuple[bool, ...]:
    """Of each operand, whether the function takes it as an array."""
    signatures = obj.gufunc_builder._sigs  # noqa: SLF001 - Numba tells it nowhere else
    return tuple(hasattr(t, "ndim") for t in signatures[0].args[:operands]) if signatures else (False,) * operands
