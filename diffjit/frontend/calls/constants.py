"""What is known while the program is specialised, and what would have to be fixed to make a number known.

Functions that are called then: filters' coefficients, windows.

Numbers from outside (globals, closures), lengths and int arguments among what they are given become part of the
specialisation, one restart each, also where they are computed with (`cutoff / (0.5 * rate)`).
"""

from __future__ import annotations

from typing import Any

from diffjit.errors import TypeProblem
from diffjit.frontend.syntax.frames import NeedStatic, whole
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value, const_of
from diffjit.ir.types import Array, Scalar, is_float

_TRACEABLE = frozenset({
    "const", "add", "subtract", "multiply", "floor_divide", "remainder", "negative", "cast", "minimum", "maximum",
    "absolute", "power", "dim", "trip", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal",
    "logical_not", "logical_and", "logical_or", "if",
})  # fmt: skip


class Constants(Mixin):
    """Mixin of the interpreter: constants."""

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

    def can_be_static(self, value: Value) -> bool:
        """Whether unrolling a loop or fixing an argument would make a number known."""
        return bool(self.static_sources(value))

    def static_sources(self, value: Value, *, of_floats: bool = False) -> list[Any]:
        """What would have to be fixed to make a number known; empty when that is not possible."""
        kinds = _TRACEABLE | {"divide"} if of_floats else _TRACEABLE
        found: list[Any] = []
        chosen = False  # by a branch: options are, and what counts turns of a loop stays a number of the run
        todo = [value]
        seen = set()
        while todo:
            v = todo.pop()
            if v in seen:
                continue
            seen.add(v)
            if v in self.param_paths and self.may_fix(v):
                found.append(("param", self.param_paths[v]))
            elif v in self.iv_loops:
                loop = self.iv_loops[v]
                found.append(("loop", whole(loop.site)))
                todo.extend(() if loop.can_unroll else loop.bounds)
            elif v in self.arg_loops and self.unrollable(self.arg_loops[v]):
                found.append(("loop", whole(self.arg_loops[v])))
            elif v.op is not None and (v.op.kind in kinds or isinstance(v.type, Array)):
                lengths = isinstance(v.type, Array)  # which no float says
                todo.extend(x for x in v.op.inputs if not (lengths and type(x.type) is Scalar and is_float(x.type)))
                if v.op.kind == "if" and not of_floats and isinstance(v.type, Scalar):
                    chosen = True
                    todo.extend(region.results[v.op.outputs.index(v)] for region in v.op.regions)
            else:
                return []
        return [] if chosen and any(kind == "loop" for kind, _ in found) else found

    def unrollable(self, site: Any) -> bool:
        """Whether a loop under interpretation can be unrolled."""
        return any(record.site == site and record.can_unroll for record in self.loops)
