"""Options that are words, as `order="F"`: NumPy raises where there is no such word, and is asked whether it does.

It is called with small arrays in place of the program's, with the option and without: what it raises with it alone is
what the option raises. So no list of words is kept here, and where NumPy learns another one, it is taken.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from diffjit.frontend.calls.calls import parameter_names
from diffjit.frontend.numpy.known import Unknown, is_modest
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.registry import COMPOSITES

WORDS = ("order", "kind", "mode")  # names of such options
_SHORT = 4  # lengths up to which a probe has those of the array


class OptionWords(Mixin):
    """Mixin of the interpreter: options of NumPy's functions that are words."""

    def mind_words(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Refuse a word that NumPy has not, as NumPy does."""
        if self.in_library() or self.rule_mode or not any(isinstance(a, Static) for a in (*args, *kwargs.values())):
            return
        asked = self._function_with_words(function)
        if asked is None:
            return
        plain, names, receiver = asked
        pairs = enumerate(zip(names, args, strict=False))  # lengths of `reshape` may stand where its function has more
        first = next((k for k, (name, a) in pairs if name in WORDS and self.is_text(a)), len(args))
        others = {name: value for name, value in kwargs.items() if name not in WORDS}
        if first == len(args) and len(others) == len(kwargs):
            return
        try:
            given = [self._probe(a) for a in (*receiver, *args)]
            named = {name: self._probe(value) for name, value in kwargs.items()}
        except Unknown:
            return
        if not all(map(is_modest, (*given, *named.values()))):
            return
        problem = _raised(plain, given, named)
        shorter = given[: first + len(receiver)], {name: named[name] for name in others}
        without = None if problem is None else _raised(plain, *shorter)
        if problem is not None and (type(problem), str(problem)) != (type(without), str(without)):
            cure = f"see the documentation of `{getattr(plain, '__name__', '')}` for what it takes"
            raise self.type_problem("DJ320", str(problem), cure=cure, python=type(problem))

    def _function_with_words(self, function: Any) -> tuple[Any, list[str], list[Any]] | None:
        """A function of NumPy's that is implemented here, the names of its parameters, and the array of a method."""
        if isinstance(function, av.Method):
            of_array = isinstance(function.receiver, Value) and isinstance(function.receiver.type, Array)
            if not of_array or (function.name != "copy" and self.array_function(function.name) is None):
                return None
            plain = getattr(np.ndarray, function.name)
            return plain, parameter_names(getattr(np, function.name, plain))[1:] or list(WORDS[:1]), [function.receiver]
        if not isinstance(function, Static) or getattr(function.obj, "__module__", None) != "numpy":
            return None
        plain = function.obj
        implemented = not isinstance(plain, type) and (self.has_handler(plain) or plain in COMPOSITES)
        return (plain, parameter_names(plain), []) if implemented else None

    def _probe(self, value: Any) -> Any:
        """Something small of the same type."""
        if isinstance(value, Static):
            return value.obj.copy() if isinstance(value.obj, np.ndarray) else value.obj
        if isinstance(value, av.Tup) and value.cls is None:
            return tuple(map(self._probe, value.items))
        if isinstance(value, av.Ref) and self.is_sequence(value) and isinstance(held := self.contents(value), av.ListC):
            return list(map(self._probe, held.items))
        if not isinstance(value, Value) or not isinstance(value.type, Array | Scalar):
            raise Unknown
        if isinstance(value.type, Scalar):
            return 1 if value.type.weak and value.type.dtype.kind in "iu" else value.type.dtype.type(1)
        lengths = [d if isinstance(d, int) and d <= _SHORT else 2 for d in value.type.dims]
        return np.ones(lengths, value.type.dtype)


def _raised(function: Any, given: list[Any], named: dict[str, Any]) -> Exception | None:
    """What a call raises."""
    with warnings.catch_warnings(action="ignore"):
        try:
            function(*given, **named)
        except (TypeError, ValueError) as error:
            return error
    return None
