"""Classes defined inside a function: their methods are closures like any nested function."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import enum
import types
import typing
from typing import Any

import gast

from diffjit import tree
from diffjit.frontend.entry.subset import assigned_in_order, assigned_names
from diffjit.frontend.syntax.frames import Frame
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import UNBOUND, Static

LOCAL = "__diffjit_local__"  # module of the stand-ins for such classes
FIELDS = "__diffjit_fields__"
HANDED = "__diffjit_handed__"  # those of the fields that only `__init__` takes: `InitVar`
_OF_ANY_CLASS = frozenset(vars(type("Any", (), {})))


class Classes(Mixin):
    """Mixin of the interpreter: local classes.

    A Python class without behaviour stands for each: it gives identity, bases and the order in which attributes are
    looked up. Its attributes are `Member`s, which hold abstract values.
    """

    def exec_ClassDef(self, node: gast.AST) -> None:
        bases = tuple(self.base_class(self.eval(b), b) for b in node.bases if not self.is_named_tuple(b))
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
        given = {n: v for n, v in held.items() if v is not UNBOUND and n != "__slots__"}
        for name in [n for n, v in given.items() if self.is_descriptor(v)]:
            problem, cure = f"descriptor `{name}` of a class that is defined inside", "define the class at module level"
            raise self.unsupported("DJ113", problem, node, cure)
        if len(bases) < len(node.bases):
            result: Any = Static(self.named_tuple_class(node.name, list(frame.annotated), given, node))
        elif any(issubclass(b, enum.Enum) for b in bases):
            order = assigned_in_order(node.body)
            result = Static(self.enum_class(node.name, bases, {n: given[n] for n in order if n in given}, node))
        else:
            members: dict[str, Any] = {n: av.Member(v) for n, v in given.items()}
            said = {n: _outermost(annotation) for n, annotation in frame.annotated.items()}
            members[FIELDS] = tuple(n for n, word in said.items() if word != "ClassVar")
            members[HANDED] = tuple(n for n, word in said.items() if word == "InitVar")
            slots = self._slots_of(held.get("__slots__", UNBOUND), node)
            result = Static(self.local_class(node, bases, members, slots))
        for decorator in reversed(node.decorator_list):
            result = self.call(self.eval(decorator), [result], {}, decorator)
        self.bind(node.name, result, node)

    def _slots_of(self, value: Any, node: gast.AST) -> dict[str, Any]:
        """The `__slots__` of a class, where it has them."""
        if value is UNBOUND:
            return {}
        names = self.sequence_items(value, node) if self.is_sequence(value) and not self.is_text(value) else [value]
        if not all(isinstance(n, Static) and isinstance(n.obj, str) for n in names):
            raise self.unsupported("DJ113", "`__slots__` that are no texts", node, "write their names")
        return {"__slots__": tuple(n.obj for n in names)}

    def local_class(
        self, node: gast.AST, bases: tuple[type, ...], members: dict[str, Any], slots: dict[str, Any]
    ) -> type:
        """The stand-in for a class: that of earlier attempts, which have learnt something of its objects."""
        made = self.class_counts[node] = self.class_counts.get(node, 0) + 1
        known = self.learned.classes.get((node, self.call_path, made))
        if known is None or known.__bases__ != (bases or (object,)):
            known = type(node.name, bases, {"__module__": LOCAL, **slots})
            self.learned.classes[node, self.call_path, made] = known
        kept = {*_OF_ANY_CLASS, *members, *slots, *tree.all_slots(known)}
        for name in [name for name in vars(known) if name not in kept]:
            delattr(known, name)
        for name, member in members.items():
            setattr(known, name, member)
            if (("attribute", id(known)), name) in self.names_before:  # the program sets it later
                self.cells["v", ("attribute", id(known)), name] = member.value
        return known

    def is_named_tuple(self, node: gast.AST) -> bool:
        """typing.NamedTuple, which is not a class, as a base."""
        base = self.eval(node)
        return isinstance(base, Static) and base.obj is typing.NamedTuple

    def named_tuple_class(self, name: str, fields: list[str], given: dict[str, Any], node: gast.AST) -> type:
        """`class P(NamedTuple)`: defaults are plain objects, other attributes are methods."""
        defaults = [given[f] for f in fields if f in given]
        if not all(isinstance(d, Static) for d in defaults):
            cure = "define the class at module level, or pass the value at each call"
            raise self.unsupported("DJ113", "a default that is only known at run time", node, cure)
        cls = collections.namedtuple(name, fields, defaults=[d.obj for d in defaults])  # noqa: PYI024 - the user's
        for key, value in given.items():
            if key not in fields:
                setattr(cls, key, av.Member(value))
        return cls

    def enum_class(self, name: str, bases: tuple[type, ...], given: dict[str, Any], node: gast.AST) -> type:
        """`class Phase(Enum)`: members are plain objects, other attributes are methods."""

        def fill(namespace: Any) -> None:
            for key, value in given.items():
                if isinstance(value, Static):
                    namespace[key] = value.obj
                elif isinstance(value, av.Fn | av.Descriptor):
                    namespace[key] = enum.nonmember(av.Member(value))
                else:
                    message = f"`{name}.{key}`, an enum's member that is only known at run time"
                    raise self.unsupported("DJ113", message, node, "keep numbers of the program in variables")

        return types.new_class(name, bases, exec_body=fill)

    def base_class(self, value: Any, node: gast.AST) -> type:
        """A base of a local class."""
        if isinstance(value, Static) and isinstance(value.obj, type):
            return value.obj
        raise self.unsupported("DJ113", f"{describe(value)} as a base class", node, "define the class at module level")

    def member_attribute(self, owner: Any, member: av.Member, cls: type, name: str) -> Any:
        """An attribute of a local class, as an object sees it."""
        found = member.value
        home = next(c for c in cls.__mro__ if vars(c).get(name) is member)
        if (at := self.static_attribute_set(home, name)) is not None:
            found = self._local(at, name, None)
        if isinstance(found, Static) and tree.is_function(found.obj):
            return av.Bound(owner, found)
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
            raise self.type_problem("DJ317", f"property `{name}` has no setter", python=AttributeError)
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


def _outermost(annotation: gast.AST) -> str:
    """The last name of what an annotation begins with: `InitVar` of `dataclasses.InitVar[float]`."""
    root = annotation.value if isinstance(annotation, gast.Subscript) else annotation
    return root.attr if isinstance(root, gast.Attribute) else getattr(root, "id", "")
