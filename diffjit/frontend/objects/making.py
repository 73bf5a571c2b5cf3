"""Objects whose `__init__` makes others of their class: trees that grow as they are made.

    class Tree:
        def __init__(self, points):
            if len(points) > 1:
                self.left = Tree(points[: len(points) // 2])

An `__init__` that calls itself changes another object at each level, of which nothing is known yet. What calls itself
is rather the making of an object: a function that returns it, and changes nothing of its caller's.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from types import FunctionType
from typing import Any

from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import Static


def _made(cls: Any, given: Any) -> Any:
    """A call of a class, as a function; each class has a tree of it of its own, by which recursion is told."""
    return _made_here(cls, *given)


def _made_here(cls: Any, *given: Any) -> Any:
    """The same, where it stands."""
    return cls(*given)


class Making(Mixin):
    """Mixin of the interpreter: recursive classes."""

    def what_calls_itself(self, fn: av.Fn, bound: dict[str, Any]) -> Learn:
        """What is learned of a function that calls itself."""
        cls = self.object_class(next(iter(bound.values()), None)) if fn.name == "__init__" else None
        init = self.class_lookup(cls, "__init__") if cls is not None else None
        known = fn.node in self.learned.constructed
        if cls is None or known or init is not fn.pyfunc or not self._is_plainly_made(cls, fn):
            return Learn("outlined", {fn.node})
        return Learn("constructed", {fn.node: copy.deepcopy(self.fn_of(_made).node)})

    def _is_plainly_made(self, cls: type, fn: av.Fn) -> bool:
        """Whether objects of a class are made by `object.__new__`, and an `__init__` that takes one value a name."""
        several = fn.node.args.vararg or fn.node.args.kwarg
        return cls.__new__ is object.__new__ and not several and cls not in self.learned.early

    def made_by_recursion(self, cls: type, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """An object of a class whose `__init__` makes others of it; None where it is made where it stands."""
        init = self.class_lookup(cls, "__init__") if self.learned.constructed else None
        if not isinstance(init, FunctionType):
            return None
        fn = self.fn_of(init)
        if fn.node not in self.learned.constructed or not self._is_plainly_made(cls, fn):
            return None
        bound = self.bind_arguments(fn, [Static(None), *args], kwargs, node)
        maker = replace(self.fn_of(_made), node=self.learned.constructed[fn.node], name=cls.__name__)
        given = tuple(bound[name] for name in _names(fn)[1:])
        return self.call_fn(maker, [Static(cls), av.Tup(given)], {}, node)

    @core(_made_here)
    def py_made_here(self, cls: Any, *args: Any) -> Any:
        """An object, and what its `__init__` does."""
        spec = self.fn_of(self.class_lookup(cls.obj, "__init__")).node.args
        by_place = len(spec.posonlyargs) + len(spec.args) - 1
        named = dict(zip((a.id for a in spec.kwonlyargs), args[by_place:], strict=True))
        ref = self.once(lambda: self.blank(cls.obj))
        return self.initialised(ref, cls.obj, list(args[:by_place]), named, None)


def _names(fn: av.Fn) -> list[str]:
    """The parameters of an `__init__`, the object first."""
    spec = fn.node.args
    return [a.id for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
