"""Methods of Python's built-in classes."""

from __future__ import annotations

import collections
import functools
import inspect
import types
from dataclasses import replace
from typing import Any

from diffjit import tree
from diffjit.frontend.objects.lists import split_slice
from diffjit.frontend.objects.order import after
from diffjit.frontend.objects.sets import CHANGING, SET_METHODS
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import DynList
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.primitives.library import containers

_OF_OTHERS = frozenset({  # of arrays of None, of dates
    "argmax", "argmin", "argsort", "astype", "copy", "flatten", "item", "max", "mean", "min", "ravel", "repeat",
    "reshape", "searchsorted", "squeeze", "sum", "swapaxes", "take", "tolist", "transpose",
})  # fmt: skip


def is_of_others(value: Any) -> bool:
    """Whether a value is an array of None, of texts, dates or other objects, or no number but a date: all is known."""
    return isinstance(value, Static) and (tree.never_changes(type(value.obj)) or tree.is_of_others(value.obj))


def _all_static(args: list[Any], kwargs: dict[str, Any]) -> bool:
    return all(isinstance(a, Static) for a in (*args, *kwargs.values()))


def _misfit(method: Any, *args: Any, **kwargs: Any) -> str | None:
    """Why arguments are not those of a method; None where they are."""
    try:
        inspect.signature(method).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return None


def _is_place(bound: Any) -> bool:
    """Whether a partial call keeps a place here for an argument."""
    return isinstance(bound, Static) and bound.obj is not None and bound.obj is _PLACE


_PLACE = getattr(functools, "Placeholder", None)  # since Python 3.14
_LAST = Static(True)
_ACCESS = frozenset({"__getattribute__", "__setattr__"})


class Methods(Mixin):
    """Mixin of the interpreter: methods of lists, tuples, dicts, sets and strings."""

    @for_each
    def builtin_method(self, receiver: Any, name: str, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """Call a method of a list, dict, string, tuple, array or number."""
        if isinstance(receiver, av.Iter) and receiver.kind == "super":
            return self.super_method(receiver, name, args, kwargs, node)
        if isinstance(receiver, av.Iter) and receiver.kind in ("generator", "genexp"):
            if name == "throw":
                cure = "give it values (send), or write a class that keeps what lives between them"
                raise self.unsupported("DJ101", "a generator that exceptions are thrown into (`throw`)", node, cure)
            raise self.needs_place(receiver.serial, f"`{name}` of this generator", node)
        if name == "sort" and "key" not in kwargs and self.is_disordered(receiver):
            self.take_any_order(receiver)
        if name == "__getitem__":
            return self.get_item(receiver, args[0], node)
        if name == "__setitem__":
            self.set_item(receiver, args[0], args[1], node)
            return NONE
        if isinstance(receiver, av.Slice) and name == "indices":
            return self.call_plain(containers.indices_of_slice, *split_slice(receiver), *args, node=node)
        if isinstance(receiver, av.Descriptor) and name == "setter":
            return replace(receiver, setter=args[0])
        if self.is_text(receiver):
            return self.text_method(receiver, name, args, kwargs, node)
        if isinstance(receiver, Static) and isinstance(receiver.obj, bytes) and _all_static(args, kwargs):
            return self.run_now(getattr(receiver.obj, name), args, kwargs)
        if name in _OF_OTHERS and is_of_others(receiver) and _all_static(args, kwargs):
            return self.run_now(getattr(receiver.obj, name), args, kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(receiver, (Value, Static)):
            return self.mind_result(name, (receiver, *args), self.array_method(receiver, name, args, kwargs, node))
        if isinstance(receiver, av.Range):
            receiver = av.Tup(tuple(self.sequence_items(receiver, node)))
        held = self.contents(receiver) if isinstance(receiver, av.Ref) else receiver
        if name in SET_METHODS and isinstance(held, av.DictC) and held.is_set:
            return self.set_method(receiver, name, *args)
        if name in CHANGING and isinstance(held, av.DictC) and held.is_set:
            return self.change_set(receiver, name, *args)
        family = "dict" if isinstance(held, av.DictC) else "tuple" if isinstance(held, av.Tup) else "list"
        method = getattr(self, f"{family}_{name.strip('_')}", None) if name in _KNOWN[family] else None
        if isinstance(held, av.DictC) and held.is_set:
            family, method = "set", self.set_pop if name == "pop" else method
        if method is None:
            raise self.unsupported("DJ118", f"the {family} method `{name}`", node)
        try:
            return method(receiver, *args, **kwargs)
        except TypeError:
            problem = _misfit(method, receiver, *args, **kwargs)
            if problem is None:
                raise
        raise self.type_problem("DJ306", f"the {family} method `{name}`: {problem}", node, python=TypeError)

    def behind(self, receiver: av.Iter, name: str) -> tuple[Any, type, Any]:
        """Of super().name: the instance, the class that has it, and what it is there."""
        owner, instance = receiver.parts
        cls: Any = self.object_class(instance) or self.class_of(instance)
        if isinstance(instance, Static):  # the class of a classmethod, or an object that does not change, as SciPy's
            known: Any = instance.obj
            cls = known if isinstance(known, type) and owner in known.__mro__ else type(known)  # or of a metaclass
        mro = cls.__mro__
        self.watch(cls, name, after=owner)
        base = next((b for b in mro[mro.index(owner) + 1 :] if name in vars(b)), object)
        return instance, base, vars(base).get(name)

    def arguments_of_partial(
        self, partial: av.Partial, args: list[Any], kwargs: dict[str, Any], node: Any
    ) -> tuple[list[Any], dict[str, Any]]:
        """What a partial call hands on: the first arguments of its own take the places that it keeps."""
        kept, left = sum(map(_is_place, partial.args)), iter(args)
        if kept > len(args):
            problem = f"missing positional arguments in 'partial' call; expected at least {kept}, got {len(args)}"
            raise self.type_problem("DJ306", problem, node, python=TypeError)
        given = [next(left) if _is_place(a) else a for a in partial.args]
        return [*given, *left], {**partial.kwargs, **kwargs}

    def super_attribute(self, receiver: av.Iter, name: str, node: Any) -> Any:
        """super().name: a property's value, a constant of the class, or a method that is about to be called."""
        instance, base, found = self.behind(receiver, name)
        found = self.as_property(found)
        if isinstance(found, property):
            return self.call(self.accessor(found.fget, base), [instance], {}, node)
        if (own := self.descriptor(base, name)) is not None:
            return self.from_descriptor(own, instance, self.class_of(instance))
        if isinstance(found, av.Member):
            return self.member_attribute(instance, found, base, name)
        if found is None or callable(found) or hasattr(found, "__func__"):
            return av.Method(receiver, name)
        if isinstance(found, functools.partialmethod):
            return self.class_attribute(instance, base, name, node)
        return self.static_attribute(base, name, node)

    def super_method(self, receiver: av.Iter, name: str, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """super().name(...)."""
        instance, base, found = self.behind(receiver, name)
        if name not in vars(base):
            raise self.type_problem("DJ317", f"super() has no `{name}`", node)
        if issubclass(base, BaseException) and base.__module__ == "builtins":
            return self.init_exception(instance, args)
        if name == "__new__":
            return self.call_new(base, getattr(found, "__func__", found), args, kwargs, node)
        if base is type:
            return self.call(Static(found), [instance, *args], kwargs, node)
        if base is object:
            return self.call(Static(found), [instance, *args], kwargs, node) if name in _ACCESS else NONE
        if isinstance(found, av.Member):
            return self.call(self.member_attribute(instance, found, base, name), args, kwargs, node)
        if isinstance(found, property):
            return self.call(self.accessor(found.fget, base), [instance], {}, node)
        if base is tuple and isinstance(instance, av.Tup):
            return self.builtin_method(av.Tup(instance.items), name, args, kwargs, node)
        if (own := self.inherited(base, found)) is not None:
            return self.call(own, [*self.first_given(instance, found), *args], kwargs, node)
        if (got := self.descriptor(base, name)) is not None:
            return self.call(self.from_descriptor(got, instance, self.class_of(instance)), args, kwargs, node)
        if isinstance(found, types.MethodType) or not hasattr(type(found), "__get__"):  # no method of this object
            return self.call(self.lift_static(found), args, kwargs, node)
        if not tree.is_function(getattr(found, "__func__", found)):
            raise self.unsupported("DJ118", f"super().{name} of `{base.__name__}`, which has no source", node)
        function = self.generated_init(base, found) or self.method_fn(getattr(found, "__func__", found), base)
        return self.call(function, [*self.first_given(instance, found), *args], kwargs, node)

    def init_exception(self, instance: Any, args: list[Any]) -> Any:
        """`Exception.__init__(self, ...)`: what the exception is made of."""
        held = self.contents(instance)
        self.write(instance, replace(held, fields={**held.fields, "args": av.Tup(tuple(args))}))
        return NONE

    def first_given(self, instance: Any, found: Any) -> list[Any]:
        """What a method of super() is given first: the object, its class, or nothing where super() is of a class."""
        of_class = isinstance(instance, Static) and isinstance(instance.obj, type)
        if isinstance(found, classmethod):
            return [instance if of_class else Static(self.class_of(instance))]
        return [] if of_class or isinstance(found, staticmethod) else [instance]

    def call_new(self, base: type, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """super().__new__(cls, ...)."""
        if self.is_of_users(function):
            return self.call(self.method_fn(function, base), args, kwargs, node)
        if function is object.__new__ or not hasattr(base, "_fields"):
            return self.call(Static(function), args, kwargs, node)
        plain = next(c for c in base.__mro__ if "_fields" in vars(c))
        made = self.instantiate(plain, args[1:], kwargs, node)
        return replace(made, cls=args[0].obj)

    # Lists (append, extend and copy are in `lists`)

    def list_copy(self, ref: av.Ref) -> Any:
        return self.copy_list(ref)

    def list_clear(self, ref: av.Ref) -> Any:
        held = self.contents(ref)
        if isinstance(held, DynList):
            self.dyn_clear(ref)
        else:
            self.write(ref, replace(held, items=()))
        return NONE

    def list_pop(self, ref: av.Ref, index: Any = Static(-1)) -> Any:
        if isinstance(index, Value) and not self.can_be_static(index):
            self.make_dynamic(ref)
        held = self.contents(ref)
        if isinstance(held, DynList):
            return self.dyn_pop(ref, index)
        items = list(held.items)
        k = self.static_int(index, "the index")
        if not -len(items) <= k < len(items):
            self.out_of_range("pop from empty list" if not items else "pop index out of range")
        item = items.pop(k)
        self.write(ref, replace(held, items=tuple(items)))
        return item

    def list_insert(self, ref: av.Ref, index: Any, item: Any) -> Any:
        if isinstance(index, Value):
            self.make_dynamic(ref)
        held = self.contents(ref)
        if isinstance(held, DynList):
            self.only_grows(held)
            self.changes_list(held)
            for target, leaf in zip(held.lists, self.elem_leaves(held, item), strict=True):
                self.build.op("list_insert", [target, leaf, self.number(index)])
        else:
            items = list(held.items)
            items.insert(self.static_int(index, "the index"), item)
            self.write(ref, replace(held, items=tuple(items)))
        return NONE

    def list_reverse(self, ref: av.Ref) -> Any:
        held = self.contents(ref)
        if isinstance(held, DynList):
            self.dyn_replace(ref, self.dyn_slice(ref, held, av.Slice(NONE, NONE, Static(-1)), None))
        else:
            self.write(ref, replace(held, items=held.items[::-1]))
        return NONE

    def list_sort(self, ref: av.Ref, *, key: Any = NONE, reverse: Any = Static(False)) -> Any:
        ordered = self.py_sorted(ref, key=key, reverse=reverse)
        held = self.contents(ref)
        if isinstance(held, DynList):
            self.dyn_replace(ref, ordered)
        else:
            self.write(ref, replace(held, items=self.contents(ordered).items))
        return NONE

    def list_index(self, ref: Any, item: Any) -> Any:
        position = self.position(ref, item)
        missing = self.compare_kind("less", position, Static(0))
        self.raise_if(missing, ValueError, av.inexact("value is not in list"))
        return position

    def position(self, sequence: Any, item: Any) -> Any:
        """Where an item first stands in a list or tuple, or -1."""

        def step(found: Any, pair: av.Tup) -> Any:
            k, candidate = pair.items
            hit = self.both(self.compare_kind("less", found, Static(0)), self.same_item(candidate, item))
            return self.choose(hit, lambda: k, lambda: found)

        return self.accumulate(self.py_enumerate(sequence), Static(-1), step, ("index", self.place()))

    def list_count(self, ref: Any, item: Any) -> Any:
        def step(total: Any, candidate: Any) -> Any:
            hit = self.same_item(candidate, item)
            return self.choose(hit, lambda: self.ew("add", total, Static(1)), lambda: total)

        return self.accumulate(ref, Static(0), step, ("count", self.place()))

    def list_remove(self, ref: av.Ref, item: Any) -> Any:
        self.list_pop(ref, self.list_index(ref, item))
        return NONE

    # Tuples

    tuple_index = list_index
    tuple_count = list_count

    def tuple_replace(self, receiver: av.Tup, /, **kwargs: Any) -> Any:
        names = receiver.cls._fields  # pyright: ignore[reportOptionalMemberAccess]
        return replace(receiver, items=tuple(kwargs.get(f, i) for f, i in zip(names, receiver.items, strict=True)))

    def tuple_asdict(self, receiver: av.Tup) -> Any:
        return self.new(av.DictC(dict(zip(receiver.cls._fields, receiver.items, strict=True))))  # pyright: ignore[reportOptionalMemberAccess]

    # Dicts and sets

    def dict_items(self, ref: av.Ref) -> Any:
        return av.Iter("view", (ref, Static("items")), claimed=True)

    def dict_keys(self, ref: av.Ref) -> Any:
        return av.Iter("view", (ref, Static("keys")), claimed=True)

    def dict_values(self, ref: av.Ref) -> Any:
        return av.Iter("view", (ref, Static("values")), claimed=True)

    def dict_get(self, ref: av.Ref, key: Any, default: Any = NONE) -> Any:
        items = self.contents(ref).items
        if self.is_run_time_key(key) and not self.can_be_known(key):
            return self.select_key(items, key, lambda: default)
        return items.get(self.known_key(ref, key), default)

    def dict_pop(self, ref: av.Ref, key: Any, default: Any = None) -> Any:
        held, key = self.contents(ref), self.known_key(ref, key)
        if key not in held.items:
            if default is None:
                self.out_of_range(Static(key), KeyError)
            return default
        self.write(ref, replace(held, items={k: v for k, v in held.items.items() if k != key}))
        return held.items[key]

    def dict_popitem(self, ref: av.Ref, last: Any = _LAST) -> Any:
        held = self.contents(ref)
        if held.cls is not collections.OrderedDict and last is not _LAST:
            raise self.type_problem("DJ306", "the dict method `popitem` takes no arguments", None, python=TypeError)
        if not held.items:
            self.out_of_range("popitem(): dictionary is empty", KeyError)
            return NONE
        key = next(reversed(held.items) if self.static_int(last, "the option `last`") else iter(held.items))
        return av.Tup((self.lift_static(key), self.dict_pop(ref, self.lift_static(key))))

    def dict_move_to_end(self, ref: av.Ref, key: Any, last: Any = _LAST) -> Any:
        held, key = self.contents(ref), self.known_key(ref, key)
        if held.cls is not collections.OrderedDict:
            raise self.no_attribute(dict, "move_to_end", None, cure="")
        if key not in held.items:
            self.out_of_range(Static(key), KeyError)
            return NONE
        others = {k: v for k, v in held.items.items() if k != key}
        moved = {key: held.items[key]}
        behind = self.static_int(last, "the option `last`")
        self.write(ref, replace(held, items={**others, **moved} if behind else {**moved, **others}))
        return NONE

    def dict_setdefault(self, ref: av.Ref, key: Any, default: Any = NONE) -> Any:
        held, key = self.contents(ref), self.known_key(ref, key)
        if key not in held.items:
            self.write(ref, replace(held, items={**held.items, key: default}))
        return self.contents(ref).items[key]

    def dict_update(self, ref: av.Ref, /, *others: Any, **kwargs: Any) -> Any:
        if self.contents(ref).is_set:
            add = lambda item: self.builtin_method_of(ref, "add", item)  # noqa: E731
            for k, other in enumerate(others):
                before = self.contents(ref)
                self.iterate(self.unordered(other), add, None, key=("update", k, self.place()))
                self.note_update(ref, before, other)
            return NONE
        for other in map(self.plain_dict, others):
            if isinstance(other, av.Ref) and isinstance(self.contents(other), av.DictC):
                self._enter_known(ref, self.contents(other).items)
            else:
                pairs = self.call_method(other, "items", []) if self.is_table(other) else self.cut_to_known(other)
                enter = lambda pair: self.set_item(ref, *self.sequence_items(pair, None))  # noqa: E731
                self.iterate(pairs, enter, None, key=("update", self.place()))
        if self.is_table(ref):
            return self.call_method(ref, "update", [], kwargs)
        self._enter_known(ref, kwargs)
        return NONE

    def _enter_known(self, ref: av.Ref, items: dict[Any, Any]) -> None:
        """Enter items whose keys are known."""
        held = self.contents(ref)
        self.write(ref, replace(held, items={**held.items, **items}))

    def dict_copy(self, ref: av.Ref) -> Any:
        held = self.contents(ref)
        return self.new(replace(held, frozen="", past=after(held, "copy") if held.is_set else None))

    def dict_clear(self, ref: av.Ref) -> Any:
        self.write(ref, replace(self.contents(ref), items={}, past=None))
        return NONE

    def dict_add(self, ref: av.Ref, item: Any) -> Any:
        held, key = self.contents(ref), self.known_key(ref, item)
        past = None if held.past is None else after(held, "add", key)
        self.write(ref, replace(held, items={**held.items, key: item}, past=past))
        return NONE

    def dict_discard(self, ref: av.Ref, item: Any) -> Any:
        held, key = self.contents(ref), self.known_key(ref, item)
        if key in held.items:
            kept = {k: v for k, v in held.items.items() if k != key}
            self.write(ref, replace(held, items=kept, past=after(held, "discard", key)))
        return NONE

    def dict_remove(self, ref: av.Ref, item: Any) -> Any:
        key = self.known_key(ref, item)
        if key not in self.contents(ref).items:
            self.out_of_range(item, KeyError)
        return self.dict_discard(ref, item)


_KNOWN: dict[str, frozenset[str]] = {
    "list": frozenset({
        "append", "extend", "copy", "clear", "pop", "insert", "reverse", "sort", "index", "count", "remove",
    }),
    "tuple": frozenset({"index", "count", "_replace", "_asdict"}),
    "dict": frozenset({
        "items", "keys", "values", "get", "pop", "popitem", "setdefault", "update", "copy", "clear", "add", "discard",
        "remove", "move_to_end",
    }),
}  # fmt: skip
