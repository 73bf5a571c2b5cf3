"""Calls that make containers: `list`, `dict`, `set`, named tuples, default dicts."""

from __future__ import annotations

import builtins
import collections
import functools
from dataclasses import replace
from typing import Any

from diffjit.errors import TypeProblem
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.primitives.library import containers
from diffjit.primitives.library.resumed import iterators


class ContainerCalls(Mixin):
    """Mixin of the interpreter: constructors of containers."""

    @core(collections.namedtuple)  # noqa: PYI024 - the user's
    def py_namedtuple(
        self,
        typename: Any,
        field_names: Any,
        *,
        rename: Any = Static(False),
        defaults: Any = NONE,
        module: Any = NONE,
    ) -> Any:
        del module
        text = isinstance(field_names, Static)
        names = field_names.obj if text else tuple(i.obj for i in self.sequence_items(field_names, None))
        given = None if is_none(defaults) else self.all_known(defaults)
        if given is None and not is_none(defaults):
            raise self.unsupported(
                "DJ118", "defaults of a named tuple that are computed", None, "pass them in each call"
            )
        known = given.obj if isinstance(given, Static) else given
        return Static(_named_tuple(typename.obj, names, rename.obj, None if known is None else tuple(known)))

    def static_truth(self, flag: Any, what: str) -> bool:
        """A flag that must be known while specialising."""
        if isinstance(flag, Static):
            return bool(flag.obj)
        error = TypeProblem("DJ307", f"{what} must be known before the program runs", cure="pass True or False")
        raise self.need_static(flag, self.error(error)) if isinstance(flag, Value) else self.error(error)

    @core(builtins.list)
    def py_list(self, iterable: Any = None) -> Any:
        if iterable is None:
            return self.new(av.ListC(()))
        if isinstance(iterable, av.Opt):
            iterable = self.not_none(iterable)
        if isinstance(iterable, av.Ref) and isinstance(self.contents(iterable), (av.ListC, DynList)):
            return self.copy_list(iterable)
        return self.list_of_set(iterable) if self.is_run_time_set(iterable) else self.collect(iterable)

    @core(builtins.tuple)
    def py_tuple(self, iterable: Any = None) -> Any:
        if iterable is None:
            return av.Tup(())
        collected = self.py_list(iterable)
        held = self.contents(collected)
        return av.Tup(held.items) if isinstance(held, av.ListC) else self.part_of_tuple(collected)

    @core(builtins.dict)
    def py_dict(self, mapping: Any = None, /, **kwargs: Any) -> Any:
        items: dict[Any, Any] = {}
        mapping = self.plain_dict(mapping)
        if mapping is not None:
            if self.is_table(mapping):
                made = self.call_method(mapping, "copy", [])
                self.call_method(made, "update", [], kwargs)
                return made
            if isinstance(mapping, av.Ref) and isinstance(self.contents(mapping), av.DictC):
                items.update(self.contents(mapping).items)
            else:
                made = self.new(av.DictC({}))

                def enter(pair: Any) -> None:
                    key, value = self.sequence_items(pair, None)
                    self.set_item(made, key, value)

                mapping = self.cut_to_known(mapping)
                self.iterate(mapping, enter, None, key=("dict", self.place()))
                if self.is_table(made):
                    self.call_method(made, "update", [], kwargs)
                    return made
                items.update(self.contents(made).items)
        return self.new(av.DictC({**items, **kwargs}))

    @core(dict.fromkeys)
    def py_fromkeys(self, iterable: Any, value: Any = NONE) -> Any:
        made = self.new(av.DictC({}))
        self.iterate(iterable, lambda key: self.set_item(made, key, value), None, key=("fromkeys", self.place()))
        return made

    def cut_to_known(self, iterable: Any) -> Any:
        """A `zip` of parts of known length with others, as long as the former: keys have to be known."""
        parts = self._side_by_side(iterable)
        known = {k: p for k, p in enumerate(parts) if not self.is_lazy(p) and self.can_unroll(p)}
        drawn = {k: found for k, p in enumerate(parts) if (found := self._kept_apart(p)) is not None}
        others = {k: self.indexed(p, None) for k, p in enumerate(parts) if k not in known and k not in drawn}
        if not known or not (others or drawn) or any(o is None for o in others.values()):
            return iterable
        if drawn and self.catches(StopIteration):
            return iterable
        self.claim(iterable)
        lengths = {k: len(self.getters(p, None)) for k, p in known.items()}
        count = min(lengths.values())
        for k, other in others.items():
            short = self.compare_kind("less", other.length, Static(count))
            self.refuse_if(short, ValueError, f"there are {count} keys, and fewer values")
            parts[k] = av.Tup(tuple(other.item(Static(j)) for j in range(count)))
        turns = [[self.call_method(found, "__next__", []) for found in drawn.values()] for _ in range(count)]
        parts = [replace(p, claimed=True) if isinstance(p, av.Iter) else p for p in parts]
        for place, (k, found) in enumerate(drawn.items()):
            parts[k] = av.Tup(tuple(turn[place] for turn in turns))
            if k < min(j for j, n in lengths.items() if n == count):  # asked once more before that one ends
                self.call_plain(containers.drawn_or, found, NONE, node=None)
        return av.Iter("zip", tuple(parts), claimed=True)

    def _side_by_side(self, iterable: Any) -> list[Any]:
        """What a `zip` takes items of; nothing where it is none, or was gone through before."""
        if not isinstance(iterable, av.Iter) or iterable.claimed:
            return []
        if iterable.kind == "generator" and iterable.parts[0].pyfunc is iterators.zipped:
            return list(iterable.parts[1]["iterables"].items)
        return list(iterable.parts) if iterable.kind == "zip" else []

    def _kept_apart(self, part: Any) -> Any:
        """The iterator that knows its place, and keeps the items that nobody takes, which a part of a `zip` goes on."""
        if isinstance(part, av.Iter) and part.kind == "generator" and not part.claimed:
            fn, bound = part.parts
            if fn.pyfunc is iterators.Cursor.__iter__:
                return bound["self"]
        return self.drawn_from(part)

    @core(collections.OrderedDict)
    def py_ordered_dict(self, mapping: Any = None, /, **kwargs: Any) -> Any:
        ref = self.py_dict(mapping, **kwargs)
        held = self.contents(ref)
        if isinstance(held, av.DictC):
            self.write(ref, replace(held, cls=collections.OrderedDict))
        return ref

    @core(collections.defaultdict)
    def py_defaultdict(self, default_factory: Any = NONE, mapping: Any = None, /, **kwargs: Any) -> Any:
        ref = self.py_dict(mapping, **kwargs)
        self.set_factory(ref, default_factory)
        return ref

    @core(builtins.frozenset)
    def py_frozenset(self, iterable: Any = None) -> Any:
        made = self.py_set(iterable)
        if isinstance(held := self.contents(made), av.DictC):  # known before the program runs
            self.write(made, replace(held, cls=frozenset))
        return made

    @core(builtins.set)
    def py_set(self, iterable: Any = None) -> Any:
        if self.is_run_time_set(iterable):
            return self.call_method(iterable, "copy", [])
        try:
            items = [] if iterable is None else self.sequence_items(iterable, None)
        except UnknownLength:
            made = self.new(av.DictC({}, is_set=True))
            add = lambda item: self.builtin_method_of(made, "add", item)  # noqa: E731
            self.iterate(iterable, add, None, key=("set", self.place()))
            return made
        made = self.make_set(items)
        self.note_update(made, av.DictC({}, is_set=True), iterable)
        return made


@functools.lru_cache(maxsize=1024)
def _named_tuple(typename: str, field_names: Any, rename: bool, defaults: tuple[Any, ...] | None) -> type:
    """The same class each time that a program is specialised."""
    return collections.namedtuple(typename, field_names, rename=rename, defaults=defaults)  # noqa: PYI024 - made for the user's program
