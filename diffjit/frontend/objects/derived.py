"""Objects of users' classes of dicts and lists: attributes, and the methods of these as the library writes them."""

from __future__ import annotations

import collections
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Item, Keys, Kind, Length, PlainItem, PlainKeys
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.primitives.library import containers, tables
from diffjit.primitives.library.derived import arrays, dicts, lists

_IN_ORDER = frozenset({"copy", "__eq__", "__ne__"})  # of which an OrderedDict has others
_STATES = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")  # what makes copies of an object
# What Python asks an object whose items it takes over, where its class has one of its own
_READS = ("__iter__", "keys", "__getitem__")
_COPYING = {dict: ("__setitem__",), list: ("append", "extend", "__iter__")}  # what enters the items of a copy
_INHERITED = {
    dict: dicts.Inherited, collections.OrderedDict: dicts.Inherited, list: lists.Inherited,
    np.ndarray: arrays.Inherited,
}  # fmt: skip


def _is_known(cls: type) -> bool:
    """Whether a class is Python's own, or a library's that gives no attributes (as `OptimizeResult` does)."""
    known = cls.__module__.split(".", maxsplit=1)[0] in (*sys.stdlib_module_names, "numpy", "scipy")
    return known and not tree.is_function(getattr(cls, "__getattr__", None))


class Derived(Mixin):
    """Mixin of the interpreter: classes that derive from Python's dicts and lists."""

    def is_of_dicts(self, cls: type) -> bool:
        """Whether a user's class is one of dicts, with or without an order."""
        return issubclass(cls, dict) and not issubclass(cls, collections.defaultdict | collections.Counter)

    def is_of_lists(self, cls: type) -> bool:
        """Whether a user's class is one of lists."""
        return issubclass(cls, list) and cls is not list and not _is_known(cls)

    def container_of(self, cls: type) -> type | None:
        """`dict` or `list`, where a user's class is one of these; None of any other class."""
        return dict if self.is_of_dicts(cls) else list if self.is_of_lists(cls) else None

    def blank(self, cls: type) -> av.Ref:
        """A new object before its `__init__`."""
        kind = self.container_of(cls)
        items = av.DictC({}) if kind is dict else av.ListC(())
        return self.new(av.ObjC(cls, {} if kind is None else {dicts.ITEMS: self.new(items)}))

    def lifted_of_dicts(self, key: Any, value: Any, getter: Callable[[], Any]) -> av.Ref | None:
        """An object from outside of a user's class of dicts, with attributes and methods; None of anything else.

        Its items are those of a dict that only `dict`'s own methods reach: a place of its own, which may change.
        """
        cls = type(value)
        if not isinstance(value, dict) or not self.is_of_dicts(cls) or _is_known(cls):
            return None
        if isinstance(key, tuple) and key[0] == dicts.ITEMS:
            return self._lift_items(key, value, getter)
        if getattr(value, "__dict__", None) is value:
            message = f"an object of class `{cls.__name__}`, whose `__dict__` is itself"
            raise self.unsupported("DJ113", message, None, "define `__getattr__` instead")
        self.guards[key] = Guard(getter, value)
        if id(value) not in self.objects:
            items = self.lift_at((dicts.ITEMS, key), value, getter)
            held = av.ObjC(cls, {dicts.ITEMS: items}, (value, getter))
            self.objects[id(value)] = self.outside(held, (key, value, getter))
        return self.objects[id(value)]

    def lifted_as_written(self, key: Any, value: Any, getter: Callable[[], Any]) -> av.Ref | None:
        """A Counter or deque from outside, as the library writes them, which nobody changes; None of anything else."""
        if not isinstance(value, collections.Counter | collections.deque) or not _is_known(type(value)):
            return None
        if id(value) in self.objects:
            self.guards[key, "same"] = Guard(lambda: getter() is value, True)
            return self.objects[id(value)]
        if isinstance(value, collections.Counter):
            self.guard_container(key, Keys(getter), tuple(value), Kind(getter))
            keys = [self.lift_static(k) for k in value]
            counts = [self.lift_at((key, "key", k), n, Item(getter, k)) for k, n in value.items()]
            lists = {"kept_keys": keys, "kept_values": counts}
            fields = {"made_by": NONE}
        else:
            self.guard_container(key, Length(getter), len(value), Kind(getter))
            lists = {"items": [self.lift_at((key, k), x, Item(getter, k)) for k, x in enumerate(value)]}
            fields = {"maxlen": Static(value.maxlen)}
        written: Any = tables.Counter if isinstance(value, collections.Counter) else containers.Deque
        held = {name: self.outside(av.ListC(tuple(items))) for name, items in lists.items()}
        found = self.objects[id(value)] = self.outside(av.ObjC(written, {**held, **fields}))
        return found

    def _lift_items(self, key: Any, value: dict[Any, Any], getter: Callable[[], Any]) -> av.Ref:
        keys = tuple(dict.keys(value))
        self.guards[key, "kind"] = Guard(Kind(getter), type(value))
        self.guards[key] = Guard(PlainKeys(getter), keys)
        place = lambda k: PlainItem(getter, k)  # noqa: E731
        found = self.outside(
            av.DictC({k: self.lift_at((key, "key", k), dict.__getitem__(value, k), place(k)) for k in keys})
        )
        self.outside_places[found.uid] = key, value, getter
        return found

    def inherited(self, cls: type, found: Any) -> Any:
        """The library's version of what a class has from `dict`, `OrderedDict` or `list`; None of anything else."""
        if not isinstance(found, types.WrapperDescriptorType | types.MethodDescriptorType):
            return None
        base, name = found.__objclass__, found.__name__
        if base not in _INHERITED or not issubclass(cls, base) or (base is list and _is_known(cls) and cls is not list):
            return None
        own = vars(_INHERITED[base]).get(name)
        if own is None or (base is collections.OrderedDict and name in _IN_ORDER):
            raise self.unsupported("DJ118", f"`{name}` of a class of {base.__name__}s", None, "write it with its items")
        missing = base is not list and name == "__getitem__" and self.class_has(cls, "__missing__")
        return self.fn_of(dicts.found_or_made if missing else own)

    @core(dicts.items_of)
    def items_of(self, owner: Any) -> Any:
        """The dict or list behind an object of a class of these."""
        cls = self.object_class(owner)
        if cls is None or dicts.ITEMS not in self.contents(owner).fields:
            if cls is not None and self.is_of_dicts(cls):
                message = (
                    f"an argument of class `{cls.__name__}`, a class of dicts, whose items are read as its attributes"
                )
                raise self.unsupported("DJ113", message, None, "pass dict(...) of it")
            return owner
        return self.contents(owner).fields[dicts.ITEMS]

    def plain_dict(self, value: Any) -> Any:
        """What `dict(...)` and `**` take from an object of a class of dicts, or with `keys`: its items; else itself."""
        items = self.items_of(value)
        cls = self.object_class(value)
        if items is value and cls is not None and not self.is_table(value) and self.class_has(cls, "keys"):
            return self._read_by_keys(value)
        if items is not value and any(tree.is_function(self.class_lookup(self.object_class(value), n)) for n in _READS):
            name = self.object_class(value).__name__  # pyright: ignore[reportOptionalMemberAccess]
            message = f"the items of `{name}`, a class of dicts with a way of its own to read them"
            raise self.unsupported("DJ113", message, None, "take them one by one")
        return items

    def plain_list(self, value: Any) -> Any:
        """What a list's own operators take from an object of a class of lists: its items; anything else is itself."""
        cls = self.object_class(value)
        return self.items_of(value) if cls is not None and self.is_of_lists(cls) else value

    def _read_by_keys(self, mapping: av.Ref) -> av.Ref:
        """A dict of the items that an object has under its keys."""
        made = self.new(av.DictC({}))
        enter = lambda key: self.set_item(made, key, self.get_item(mapping, key))  # noqa: E731
        self.iterate(self.call_method(mapping, "keys", []), enter, None, key=("keys", self.place()))
        return made

    def call_inherited(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """`dict.update(self, ...)`; None of other functions."""
        cls = self.object_class(args[0]) if args else None
        if cls is not None and issubclass(cls, BaseException) and getattr(obj, "__name__", "") == "__init__":
            home = getattr(obj, "__objclass__", None)  # of Python's own exceptions, which are made in C
            if isinstance(home, type) and issubclass(cls, home):
                return self.init_exception(args[0], args[1:])
        own = None if cls is None else self.inherited(cls, obj)
        return None if own is None else self.call(own, args, kwargs, node)

    def check_copied(self, cls: type) -> None:
        """Refuse a copy for which Python would call the class, or a method of its own."""
        stated = next((name for name in _STATES if tree.is_function(self.class_lookup(cls, name))), None)
        if stated is not None and not cls.__module__.startswith("diffjit."):
            cure = "make another object, and set its attributes"
            raise self.unsupported(
                "DJ118", f"a copy of `{cls.__name__}`, which has a `{stated}` of its own", None, cure
            )
        kind = self.container_of(cls)
        asked = any(tree.is_function(self.class_lookup(cls, name)) for name in _COPYING.get(kind, ()))
        if kind is not None and (asked or issubclass(cls, collections.OrderedDict)):
            cure = "make another one, and enter the items"
            raise self.unsupported("DJ118", f"a copy of `{cls.__name__}`, a class of {kind.__name__}s", None, cure)

    def has_own_copy(self, held: Any, name: str) -> bool:
        """Whether an object has a `__copy__` or `__deepcopy__` of the user's."""
        user = isinstance(held, av.ObjC) and not held.cls.__module__.startswith("diffjit.")
        return user and self.class_has(held.cls, name) and self.class_lookup(held.cls, name) is not None

    def copied(self, held: Any) -> Any:
        """The contents of a shallow copy, which may change where what it is a copy of may not."""
        held = replace(held, frozen="")
        if isinstance(held, av.ObjC):
            self.check_copied(held.cls)
        if isinstance(held, av.ObjC) and dicts.ITEMS in held.fields:
            items = self.new(replace(self.contents(held.fields[dicts.ITEMS]), frozen=""))
            return replace(held, fields={**held.fields, dicts.ITEMS: items})
        return held
