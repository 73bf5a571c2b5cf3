"""Classes defined inside a function: their methods are closures like any nested function."""

from __future__ import annotations

import builtins
import dataclasses
from collections import namedtuple
from typing import Any, NamedTuple

import gast

from diffjit.errors import TypeProblem
from diffjit.frontend import values as av
from diffjit.frontend.frames import Frame
from diffjit.frontend.handlers import core
from diffjit.frontend.mixin import Mixin
from diffjit.frontend.subset import assigned_names
from diffjit.frontend.templates import describe
from diffjit.frontend.values import NONE, UNBOUND, Static

LOCAL = "__diffjit_local__"  # module of the stand-ins for such classes
FIELDS = "__diffjit_fields__"


class Classes(Mixin):
    """Mixin of the interpreter: local classes.

    A Python class without behaviour stands for each: it gives identity, bases and the order in which attributes are
    looked up. Its attributes are `Member`s, which hold abstract values.
    """

    def exec_ClassDef(self, node: gast.AST) -> None:
        bases = tuple(self.base_class(self.eval(b), b) for b in node.bases)
        if node.keywords:
            raise self.unsupported(
                "DJ113", "a class with keywords in its head", node, "define the class at module level"
            )
        outer = self.frames[-1]
        scope = outer.fn.scope
        seen = {**scope.locals_of, outer.uid: outer.local}
        inner = av.Scope((outer.uid, *scope.frames), scope.pyfunc, scope.namespace, seen)
        fn = av.Fn(outer.fn.node, outer.fn.name, outer.fn.file, (), {}, inner, outer.fn.pyfunc)
        names = frozenset(assigned_names(node.body))
        frame = Frame(next(self._uids), fn, names, frozenset(), comprehension=True, class_body=True)
        self.frames.append(frame)
        try:
            self.exec_block(node.body)
        finally:
            self.frames.pop()
        held = {n: self.cells.pop(("v", frame.uid, n), UNBOUND) for n in sorted(names)}
        members = {n: av.Member(v) for n, v in held.items() if v is not UNBOUND and n != "__slots__"}
        fields = {FIELDS: tuple(frame.annotated), "__module__": LOCAL}
        if NamedTuple in bases:
            result: Any = self._named_tuple(node.name, frame.annotated, members)
        else:
            result = Static(type(node.name, bases, {**members, **fields}))
        for decorator in reversed(node.decorator_list):
            result = self.call(self.eval(decorator), [result], {}, decorator)
        self.bind(node.name, result, node)

    def _named_tuple(self, name: str, names: list[str], members: dict[str, av.Member]) -> Static:
        """A class of named tuples with defaults and methods."""
        base = namedtuple(name, names)  # noqa: PYI024 - its types are not needed
        base._field_defaults = {n: members[n] for n in names if n in members}
        methods = {n: m for n, m in members.items() if n not in names}
        return Static(type(name, (base,), {**methods, "__module__": LOCAL}))

    def base_class(self, value: Any, node: gast.AST) -> Any:
        """A base of a local class."""
        if isinstance(value, Static) and value.obj is NamedTuple:
            return NamedTuple
        if isinstance(value, Static) and isinstance(value.obj, type):
            return value.obj
        raise self.unsupported("DJ113", f"{describe(value)} as a base class", node, "define the class at module level")

    def member_attribute(self, owner: Any, member: av.Member, cls: type, name: str) -> Any:
        """An attribute of a local class, as an object sees it."""
        found = member.value
        home = next(c for c in cls.__mro__ if vars(c).get(name) is member)
        if isinstance(found, av.Fn):
            return av.Bound(owner, dataclasses.replace(found, owner=home))
        if isinstance(found, av.Descriptor):
            function = dataclasses.replace(found.function, owner=home)
            if found.kind == "property":
                return self.call(function, [owner], {})
            return function if found.kind == "staticmethod" else av.Bound(Static(cls), function)
        return found

    def set_member(self, owner: Any, member: Any, name: str, value: Any) -> bool:
        """Call a property's setter; False where there is none to call."""
        if (
            not isinstance(member, av.Member)
            or not isinstance(member.value, av.Descriptor)
            or member.value.kind != "property"
        ):
            return False
        if member.value.setter is None:
            raise self.error(TypeProblem("DJ317", f"property `{name}` has no setter"))
        self.call(member.value.setter, [owner, value], {})
        return True

    def static_member(self, cls: type, member: av.Member) -> Any:
        """An attribute of a local class, as the class itself sees it."""
        found = member.value
        if isinstance(found, av.Descriptor):
            return av.Bound(Static(cls), found.function) if found.kind == "classmethod" else found.function
        return found

    @core(builtins.property)
    def py_property(self, function: Any) -> Any:
        return av.Descriptor("property", function)

    @core(builtins.staticmethod)
    def py_staticmethod(self, function: Any) -> Any:
        return av.Descriptor("staticmethod", function)

    @core(builtins.classmethod)
    def py_classmethod(self, function: Any) -> Any:
        return av.Descriptor("classmethod", function)

    @core(dataclasses.dataclass)
    def dc_dataclass(self, cls: Any = NONE, **options: Any) -> Any:
        if isinstance(cls, Static) and cls.obj is None:
            return av.Partial(Static(dataclasses.dataclass), (), options)
        if cls.obj.__module__ != LOCAL:
            raise self.unsupported(
                "DJ113", "a class from outside made a dataclass here", None, "decorate it where it is defined"
            )
        cls.obj.__diffjit_dataclass__ = True
        return cls

    @core(dataclasses.field)
    def dc_field(self, *, default: Any = None, default_factory: Any = None, **options: Any) -> Any:
        if set(options) - {"repr", "hash", "metadata"}:
            option = min(set(options) - {"repr", "hash", "metadata"})
            message, cure = f"`{option}` of a field of a class in a function", "define the class at module level"
            raise self.unsupported("DJ113", message, None, cure)
        return av.Iter("field", (default, default_factory), claimed=True)

    def default_of(self, cls: Any, name: str) -> Any:
        """The default of a field of a local dataclass; None where there is none."""
        member = getattr(cls, name, None)
        if member is None or not isinstance(member.value, av.Iter) or member.value.kind != "field":
            return None if member is None else member.value
        default, factory = member.value.parts
        return default if factory is None else self.call(factory, [], {})

    def local_dataclass_init(self, ref: av.Ref, cls: type, args: list[Any], kwargs: dict[str, Any]) -> None:
        """What the generated __init__ of a local dataclass does."""
        names = local_fields(cls)
        given = dict(zip(names, args, strict=False)) | kwargs
        unknown = [n for n in given if n not in names]
        values = {n: given[n] if n in given else self.default_of(cls, n) for n in names}
        missing = [n for n in names if values[n] is None]
        if unknown or missing:
            problem = f"has no field `{unknown[0]}`" if unknown else f"needs the field `{missing[0]}`"
            raise self.error(TypeProblem("DJ306", f"`{cls.__name__}` {problem}"))
        self.write(ref, av.ObjC(cls, values))
        if hasattr(cls, "__post_init__"):
            self.call_method(ref, "__post_init__", [])


def local_fields(cls: Any) -> list[str]:
    """The fields of a dataclass that was defined inside a function."""
    return list(dict.fromkeys(n for c in reversed(cls.__mro__) for n in vars(c).get(FIELDS, ())))
