"""What a program rests on beside values from outside: code of functions, attributes of classes, names that are absent.

A derivative holds while Python would run the same program: no function has been given other code, no class another
method, no module a name that hides a builtin. Each is a guard at a place (`entry.places`), tested at each call.
"""

from __future__ import annotations

import builtins
import inspect
import types
from typing import Any

from diffjit.frontend.calls.classes import LOCAL
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Absent, Asked, Attribute, Global, Keys
from diffjit.frontend.outside.surroundings import is_library
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.primitives.library.derived.dicts import ITEMS
from diffjit.stored import stored

_SET_ON_FUNCTIONS = frozenset({
    "__annotations__", "__defaults__", "__dict__", "__doc__", "__kwdefaults__", "__module__", "__name__",
    "__qualname__",
})  # fmt: skip
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a class that Python itself does not let anybody change


class Watching(Mixin):
    """Mixin of the interpreter: guards of classes and of absent names."""

    def class_lookup(self, cls: type, name: str, default: Any = None) -> Any:
        """An attribute of a class as its dictionary has it, or a base's."""
        self.watch(cls, name)
        return inspect.getattr_static(cls, name, default)

    def class_has(self, cls: type, name: str) -> bool:
        """Whether instances of a class have an attribute of it: not one of the class's own class."""
        self.watch(cls, name)
        return any(name in vars(base) for base in cls.__mro__)

    def watch(self, cls: type, name: str, after: type | None = None) -> None:
        """The program rests on what `cls.name` is; with `after`, on what it is further up than that class."""
        order = cls.__mro__
        for base in order if after is None else order[order.index(after) + 1 :]:
            if name not in vars(base):
                self.watch_absent(base, vars(base), name)
            else:
                if _may_change(base):
                    self.guards["class", base, name] = Guard(Global(self.dictionary(base), name), vars(base)[name])
                break
        if len(order) > 2 and _may_change(cls):
            self.guards["bases", cls] = Guard(Attribute(cls, "__mro__"), order)

    def watch_absent(self, owner: Any, names: Any, name: str) -> None:
        """The program rests on a namespace that lacks a name."""
        if not isinstance(owner, type):
            self.guards["absent", id(names), name] = Guard(Absent(names, name), True)
        elif _may_change(owner):
            self.guards["absent", owner, name] = Guard(Absent(self.dictionary(owner), name), True)

    def dictionary(self, cls: type) -> Any:
        """A class's dictionary, the same object each time: guards of one dictionary are tested together."""
        return self.dictionaries.setdefault(cls, vars(cls))

    def watch_object(self, obj: Any, name: str, found: Any) -> None:
        """The program rests on an object whose class decides what `obj.name` is."""
        self.guards["type", id(obj)] = Guard(Attribute(obj, "__class__"), obj.__class__)
        own = getattr(obj, "__dict__", None)
        if type(own) is dict and obj.__dict__ is own and not hasattr(type(found), "__set__"):
            self.guards["own", id(obj)] = Guard(Attribute(obj, "__dict__"), own)
            self.watch_absent(obj, own, name)
        self.keep_alive.append(obj)

    def all_fields(self, held: Any) -> dict[str, Any]:
        """The attributes of an object; those of one from outside are lifted, which happens as they are read."""
        own = [(n, v) for n, v in held.fields.items() if n != ITEMS and v is not av.UNBOUND]
        for name, value in own:
            if isinstance(value, av.Maybe):  # Python goes on, without it
                problem = f"all attributes of an object that may lack `{name}`: set it on every path"
                self.refuse_if(self.logical_not(value.bound), NotImplementedError, problem)
        fields = {n: v.value if isinstance(v, av.Maybe) else v for n, v in own}
        if held.origin is None:
            return fields
        obj, getter = held.origin
        known = stored(type(obj))
        own = getattr(obj, "__dict__", {}) if known is None else known.read(obj)
        if known is None and hasattr(obj, "__dict__"):
            self.guards["names", id(obj)] = Guard(Keys(lambda: vars(getter())), tuple(own))
        return {name: self.outside_attribute(held, name) for name in own} | fields

    def object_has(self, held: Any, name: str) -> bool:
        """Whether an object has an attribute that its class has not."""
        if held.origin is None:
            return False
        obj, getter = held.origin
        found = hasattr(obj, name)
        self.guards["has", id(obj), name] = Guard(lambda: hasattr(getter(), name), found)
        return found

    def static_has(self, obj: Any, name: str) -> bool:
        """Whether a module, class or other static object has an attribute; of a library's, it has it for good."""
        found = hasattr(obj, name)
        if isinstance(obj, type):
            self.watch(obj, name)
        elif hasattr(obj, "__dict__") and not is_library(obj):
            self.guards["has", id(obj), name] = Guard(Asked(hasattr, (obj, name)), found)
            self.keep_alive.append(obj)
        return found

    def watch_library(self, module: types.ModuleType, name: str, value: Any) -> None:
        """A function or number of a library, in whose place anybody may put another one, as tests do (`np.sin = ...`).

        The library's own text of diffjit reads what it means, as NumPy's functions do not call each other by name.
        """
        scope = self.frames[-1].fn.scope if self.frames else None
        ours = scope is not None and str(scope.namespace.get("__name__")).startswith("diffjit.")
        number = isinstance(value, (int, float)) and value == value  # noqa: PLR0124 - NaN is not the same as itself
        if not ours and name in vars(module) and (callable(value) or number):
            self.guards["library", module.__name__, name] = Guard(Global(vars(module), name), value)

    def lift_namespace(self, namespace: dict[str, Any]) -> Any:
        """The variables of a module, as a dict."""
        ref = self.lift_at(("namespace", id(namespace)), namespace, lambda: namespace, keep=namespace)
        self.namespaces[ref.uid] = av.Scope((), None, namespace)
        return ref

    def builtin(self, name: str, namespace: dict[str, Any]) -> Any:
        """A builtin, which no name of the module hides."""
        found = getattr(builtins, name)
        self.watch_absent(namespace, namespace, name)
        self.guards["builtin", name] = Guard(Global(vars(builtins), name), found)
        self.portable &= getattr(found, "__module__", "builtins") == "builtins"
        return Static(found)

    def attribute_of(self, obj: Any, name: str, value: Any) -> Any:
        """An attribute of a static object that anybody may set."""
        if isinstance(obj, type):
            self.watch(obj, name)
        elif name == "__globals__":
            return self.lift_namespace(value)
        elif name in _SET_ON_FUNCTIONS or (hasattr(obj, "__dict__") and name in vars(obj)):
            return self.lift_at(("attr", id(obj), name), value, Attribute(obj, name), keep=obj, hint=name)
        return self.lift_static(value)


def _may_change(cls: type) -> bool:
    return not cls.__flags__ & _IMMUTABLE and cls.__module__ != LOCAL and not _is_ours(cls)


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("diffjit.")
