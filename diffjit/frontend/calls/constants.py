"""Functions that are called while the program is specialised: filters' coefficients, windows.

Numbers from outside (globals, closures), lengths and int arguments among what they are given become part of the
specialisation, one restart each, also where they are computed with (`cutoff / (0.5 * rate)`).
"""

from __future__ import annotations

from typing import Any

from diffjit.errors import TypeProblem
from diffjit.frontend.syntax.frames import NeedStatic
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value, const_of


class Constants(Mixin):
    """Mixin of the interpreter: calls with constants."""

    def call_constant(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """The result of a function of constants."""
        given = [self.constant_of(function, a, node) for a in args]
        named = {name: self.constant_of(function, a, node) for name, a in kwargs.items()}
        return self.lift_static(self.evaluated(function, *given, **named))

    def constant_of(self, function: Any, value: Any, node: Any) -> Any:
        """What an argument is, once it is known before the program runs."""
        if isinstance(value, Static):
            return value.obj
        if isinstance(value, Value) and const_of(value) is not None:
            return const_of(value)
        if isinstance(value, av.Tup):
            return tuple(self.constant_of(function, item, node) for item in value.items)
        if isinstance(value, av.Ref) and isinstance(self.contents(value), av.ListC):
            return [self.constant_of(function, item, node) for item in self.contents(value).items]
        name = getattr(function, "__name__", str(function))
        message = f"what `{name}` is given must be known before the program runs"
        cure = "call it outside, or give it constants, ints, and numbers and lists of the module"
        error = self.error(TypeProblem("DJ307", message, cure=cure), node)
        if isinstance(value, Value):
            sources = self.static_sources(value, of_floats=value.type.dtype.kind not in "iu")
            if sources:
                raise NeedStatic(error, sources)
        raise error
