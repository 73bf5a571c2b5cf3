"""Objects that become ones of another class, and those whose `__init__` makes others of their class.

Trees grow as they are made:

    class Tree:
        def __init__(self, points):
            if len(points) > 1:
                self.left = Tree(points[: len(points) // 2])

An `__init__` that calls itself changes another object at each level, of which nothing is known yet. What calls itself
is rather the making of an object: a function that returns it, and changes nothing of its caller's.
"""

from __future__ import annotations

import copy
import inspect
import sys
from dataclasses import replace
from types import FunctionType
from typing import Any

from diffjit import tree
from diffjit.frontend.calls.dataclass_calls import by_place, parameters_of
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn, describe
from diffjit.frontend.values.values import Static

_MAKING = ("__init__", "__post_init__")


def _made(cls: Any, names: Any, given: Any) -> Any:
    """A call of a class, as a function; each class has a tree of it of its own, by which recursion is told."""
    return _made_here(cls, names, given)


def _made_here(cls: Any, names: Any, given: Any) -> Any:
    """The same, where it stands: the last of what is given has names."""
    first = len(given) - len(names)
    return cls(*given[:first], **dict(zip(names, given[first:], strict=True)))


class Making(Mixin):
    """Mixin of the interpreter: recursive classes, and objects that change their class."""

    def call_class(self, cls: type, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """`cls(...)`: a new object, or what a metaclass of the user's says instead."""
        called = inspect.getattr_static(type(cls), "__call__", None)
        if not tree.is_function(called) or type(cls).__module__.split(".")[0] in sys.stdlib_module_names:
            return self.instantiate(cls, args, kwargs, node)
        self.watch(type(cls), "__call__")
        return self.call(self.method_fn(called, type(cls)), [Static(cls), *args], kwargs, node)

    @core(type.__call__)
    def type_call(self, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`super().__call__(...)` in such a metaclass: a new object."""
        return self.instantiate(cls.obj, list(args), kwargs, None)

    def set_special(self, owner: av.Ref, held: av.ObjC, name: str, value: Any, node: Any) -> bool:
        """An attribute with a meaning to Python, as `__class__`; False of those without one, as `__doc__`."""
        if name == "__class__":
            self.set_class(owner, held, value, node)
            return True
        if name == "__dict__":
            cure = "set the attributes, or write self.__dict__.update(...)"
            raise self.unsupported("DJ127", f"the `__dict__` of {describe(held)} is replaced", node, cure)
        known = isinstance(value, Static) and callable(value.obj)
        if (known or isinstance(value, (av.Fn, av.Bound, av.Partial))) and name != "__wrapped__":
            cure = "define it in the class: Python asks no object of its own for it"
            raise self.unsupported("DJ127", f"`{name}` of one {held.cls.__name__} is assigned", node, cure)
        return False

    def set_where_it_fits(self, owner: av.Ref, cls: type, name: str, value: Any, node: Any) -> None:
        """Set what an object holds itself, if objects of its class have a `__dict__` or a slot of that name."""
        ours = cls.__module__.split(".")[0] == "diffjit"
        if cls.__dictoffset__ == 0 and not ours and name not in tree.all_slots(cls):
            problem = f"`{cls.__name__}` object has no attribute `{name}`, and no `__dict__` for new ones"
            raise self.type_problem("DJ317", problem, node, cure="name it in `__slots__`", python=AttributeError)
        self.set_own_attribute(owner, name, value)

    def set_class(self, owner: av.Ref, held: av.ObjC, value: Any, node: Any) -> None:
        """`owner.__class__ = value`, of an object that the program has made and that is in no list that grows."""
        cls = value.obj if isinstance(value, Static) else None
        cure = "make an object of that class instead, inside the function"
        error = self.unsupported("DJ127", f"the class of {describe(held)} is changed", node, cure)
        ours = isinstance(cls, type) and not isinstance(owner, av.Handle) and self.container_of(cls) is None
        if not ours or owner.uid in self.sites.outside or owner.uid in self.before or held.frozen:
            raise error
        try:
            object.__new__(held.cls).__class__ = cls  # pyright: ignore[reportAttributeAccessIssue]
        except TypeError as reason:  # as of exceptions, of classes without source, and where slots differ
            raise error from reason
        self.write(owner, replace(held, cls=cls))
        if owner.uid in self.sites.classes:
            self.sites.classes[owner.uid] = cls

    def what_calls_itself(self, fn: av.Fn, bound: dict[str, Any]) -> Learn:
        """What is learned of a function that calls itself."""
        cls = self.object_class(next(iter(bound.values()), None)) if fn.name in _MAKING else None
        maker = self._what_makes(cls) if cls is not None else None
        if maker is None or maker.node is not fn.node or fn.node in self.learned.constructed:
            return Learn("outlined", {fn.node})
        return Learn("constructed", {fn.node: copy.deepcopy(self.fn_of(_made).node)})

    def _what_makes(self, cls: type) -> av.Fn | None:
        """What a class runs for an object that `object.__new__` makes, if it takes values by place or known names."""
        init = self.class_lookup(cls, "__init__")
        written = self.generated_init(cls, init) is not None
        found = self.class_lookup(cls, "__post_init__") if written else init
        if not isinstance(found, FunctionType) or cls.__new__ is not object.__new__ or cls in self.learned.early:
            return None
        fn = self.fn_of(found)
        return None if fn.node.args.vararg or fn.node.args.kwarg else fn

    def made_by_recursion(self, cls: type, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """An object of a class whose `__init__` makes others of it; None where it is made where it stands."""
        fn = self._what_makes(cls) if self.learned.constructed else None
        if fn is None or fn.node not in self.learned.constructed:
            return None
        if fn.name == "__init__":
            spec, bound = fn.node.args, self.bind_arguments(fn, [Static(None), *args], kwargs, node)
            names = tuple(a.id for a in spec.kwonlyargs)
            given = [bound[a.id] for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)][1:]
        else:
            fields = {n: options for n, options in parameters_of(cls).items() if options["init"]}
            known = {n: self.lift_static(options["default"]) for n, options in fields.items() if "default" in options}
            places = by_place(fields)
            bound = known | dict(zip(places, args, strict=False)) | kwargs
            if len(args) > len(places) or not bound.keys() <= fields.keys():
                return None  # which is said where it is made
            names = tuple(n for n in fields if n in bound)
            given = [bound[n] for n in names]
        maker = replace(self.fn_of(_made), node=self.learned.constructed[fn.node], name=cls.__name__)
        return self.call_fn(maker, [Static(cls), Static(names), av.Tup(tuple(given))], {}, node)

    @core(_made_here)
    def py_made_here(self, cls: Any, names: Any, given: Any) -> Any:
        """An object, and what its `__init__` does."""
        first = len(given.items) - len(names.obj)
        named = dict(zip(names.obj, given.items[first:], strict=True))
        ref = self.once(lambda: self.blank(cls.obj))
        return self.initialised(ref, cls.obj, list(given.items[:first]), named, None)
