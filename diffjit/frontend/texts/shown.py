"""What str(), repr() and format() make of values: literal text, and numbers and arrays with their formats.

    print(f"{best}: {history}", Point(x, 2))

A text is of the values as they are when it is made: containers are gone through at once, and arrays are copied.
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from diffjit.errors import each_written, in_another, plainly, written
from diffjit.frontend.calls.dataclass_calls import GENERATED, OPTIONS
from diffjit.frontend.entry.lift import ONLY_READ
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, describe, of_numbers
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.library import tables
from diffjit.primitives.library.derived import shown

Parts = tuple[Any, ...]
_OLD_ORDERED = sys.version_info < (3, 12)  # OrderedDict([('a', 1)])


class Shown(Mixin):
    """Mixin of the interpreter: the text of a value."""

    def text_parts(self, value: Any) -> Parts:
        """The pieces of what str() gives."""
        if isinstance(value, av.Format):
            return value.parts
        if isinstance(value, Static):
            return (str(value.obj),)
        if isinstance(value, av.Opt | av.Sum):
            return self._by_path(value, self.text_parts)
        if self.is_exception(value):
            return self.text_parts(self.exception_text(value))
        if (own := self._own_text(value, "__str__")) is not None:
            return self.text_parts(own)
        if isinstance(value, Value) and value not in self.long_lists:
            self._mind_own(value, "__str__")
            return ((self._as_it_is(value), ""),)
        if self.is_opaque(value):
            return ((value, ""),)
        held = self.keyed(value)
        return self._pairs(held.items) if held is not None and held.frozen == ONLY_READ else self.repr_parts(value)

    def repr_parts(self, value: Any) -> Parts:
        """The pieces of what repr() gives."""
        if isinstance(value, Static):
            return (repr(value.obj),)
        if isinstance(value, av.Format):
            return _quoted(value.parts)
        if isinstance(value, av.Opt | av.Sum):
            return self._by_path(value, self.repr_parts)
        self._mind_own(value, "__repr__")
        if isinstance(value, Value):
            return self._number(value)
        if self.is_opaque(value):
            return ((value, "!r"),)
        if isinstance(value, av.Tup):
            own = self._own_text(value, "__repr__")
            return self._of_tuple(value) if own is None else self.text_parts(own)
        if isinstance(value, av.Range | av.Slice):
            return self._of_bounds(value)
        if isinstance(value, av.Iter) and value.kind == "view":
            return self._of_view(*value.parts)
        if isinstance(value, av.Ref):
            return self._of_object(value)
        return ((value, ""),)

    def format_parts(self, value: Any, spec: str) -> Parts:
        """The pieces of what format() gives."""
        if isinstance(value, Static):
            return (self.evaluated(format, value.obj, spec),)
        if (own := self._own_text(value, "__format__", Static(spec))) is not None:
            return self.text_parts(own)
        if not spec:
            return self.text_parts(value)
        if isinstance(value, av.Sum):
            return self._by_path(value, lambda v: self.format_parts(v, spec))
        if isinstance(value, av.Opt):
            return self.format_parts(self.not_none(value), spec)
        if isinstance(value, av.Format):
            return self.parts_within(value.parts, plainly(spec))
        if isinstance(value, Value) or self.is_opaque(value):
            return ((value, plainly(spec)),)
        message = f"unsupported format string passed to {self.class_of(value).__name__}.__format__"
        raise self.type_problem("DJ309", message, python=TypeError)

    def parts_within(self, parts: Parts, spec: str) -> Parts:
        """A text of such pieces in another format: in a width, say."""
        made = self.text(list(parts))
        if isinstance(made, av.Sum):
            return self._by_path(made, lambda t: self.parts_within(self.text_parts(t), spec))
        if isinstance(made, Static):
            return (written(made.obj, spec),)
        values, formats = self.print_parts(made.parts) if isinstance(made, av.Format) else ([], ())
        if len(values) != 1:
            raise self.letters([made], f"the format {spec!r} of a text", None)
        return ((values[0], in_another(formats, spec)),)

    def over_parts(self, parts: list[Any], use: Callable[[list[Any]], Any]) -> Any:
        """Use pieces, of which each may be one of several texts."""
        for k, part in enumerate(parts):
            if isinstance(part, av.Sum):
                before, after = parts[:k], parts[k + 1 :]
                return self.each(part, lambda t: self.over_parts([*before, *self.text_parts(t), *after], use))  # noqa: B023
        return use(parts)

    def _mind_own(self, value: Any, name: str) -> None:
        """Classes of the user's whose objects are taken for plain ones may say themselves what their text is."""
        if self.own_classes and isinstance(value, Value | av.Tup | av.Ref) and not self.is_opaque(value):
            plain = self.class_of(value)
            self.refuse_own(plain, lambda cls: issubclass(cls, set | frozenset) or any(
                getattr(cls, n) is not getattr(plain, n) for n in {name, "__repr__"}
            ))  # fmt: skip

    # Of each kind

    def _by_path(self, value: av.Opt | av.Sum, parts_of: Callable[[Any], Parts]) -> Parts:
        """A text for each path."""

        def text(found: Any) -> Any:
            return self.text(list(parts_of(found)))

        made = (
            self.each(value, text)
            if isinstance(value, av.Sum)
            else self.choose(value.is_none, lambda: text(NONE), lambda: text(value.value))
        )
        return (made,) if isinstance(made, av.Sum) else self.text_parts(made)

    def _as_it_is(self, value: Value) -> Value:
        """A number, or what an array is now: it may be changed before the text is read."""
        return self.copy(value) if isinstance(value.type, Array) else value

    def _number(self, value: Value) -> Parts:
        if value in self.long_lists:
            classes = set(map(type, self.long_lists[value][1]))
            if len(classes) > 1:
                raise self._not_written(value)
            return ("[", (self.copy(value), each_written(", ", (("value", ""),))), "]")
        weak = isinstance(value.type, Scalar) and value.type.weak
        return ((self._as_it_is(value), "" if weak else "!r"),)

    def _own_text(self, value: Any, name: str, *args: Any) -> Any:
        """What a class's own method says; None where it has none."""
        held = self.contents(value) if isinstance(value, av.Ref) else value
        cls = held.cls if isinstance(held, av.ObjC | av.Tup) else None
        found = None if cls is None else self.class_lookup(cls, name)
        own = isinstance(found, types.FunctionType | av.Member) and self._shown_fields(cls, found) is None
        own = own or (self.own_class(value) is not None and self.inherited(cls, found) is not None)
        return self.call(self.get_attribute(value, name), list(args), {}) if own else None

    def _of_tuple(self, value: av.Tup) -> Parts:
        found = None if value.cls is None else self.class_lookup(value.cls, "__repr__")
        names = (found is not None and self._shown_fields(value.cls, found)) or ()
        if names:
            return self._named(value.cls.__name__, zip(names, value.items, strict=True))  # pyright: ignore[reportOptionalMemberAccess]
        return ("(", *self._with_commas(value.items), ",)" if len(value.items) == 1 else ")")

    def _of_bounds(self, value: av.Range | av.Slice) -> Parts:
        bounds = [value.start, value.stop, value.step]
        if isinstance(value, av.Slice):
            return ("slice(", *self._with_commas(bounds), ")")
        one = isinstance(value.step, Static) and value.step.obj == 1
        return ("range(", *self._with_commas(bounds[:2] if one else bounds), ")")

    def _of_view(self, ref: Any, what: Static) -> Parts:
        held = self.contents(ref)
        ordered = isinstance(held, av.DictC) and held.cls is collections.OrderedDict
        try:
            items = [get() for get in self.view_getters(ref, what)]
        except (UnknownLength, AttributeError):  # a dict with keys of the run has no items yet
            raise self._not_written(ref) from None
        return (f"{'o' if ordered else ''}dict_{what.obj}([", *self._with_commas(items), "])")

    def _of_object(self, ref: av.Ref) -> Parts:
        held = self.contents(ref)
        if ref.uid in self.shown:
            return ("{...}" if isinstance(held, av.DictC) else "[...]" if isinstance(held, av.ListC) else "...",)
        self.shown.add(ref.uid)
        try:
            if isinstance(held, av.ListC):
                if self.is_part_of_tuple(ref):
                    return self._of_tuple(av.Tup(held.items))
                return ("[", *self._with_commas(held.items), "]")
            if isinstance(held, DynList):
                return self._of_growing_list(ref, held)
            return self._of_dict(ref, held) if isinstance(held, av.DictC) else self._of_record(ref, held)
        finally:
            self.shown.discard(ref.uid)

    def printed_in_turn(self, value: Any) -> tuple[Any, ...] | None:
        """What prints the items one by one, and its arguments, where only the run knows how many; None of others."""
        held = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, DynList) and held.elem is not None:
            if self.is_part_of_tuple(value):
                return shown.print_items, value, Static("("), Static(",)"), Static(")")
            return None if self._has_numbers(held) else (shown.print_items, value, *map(Static, "[]]"))
        return (shown.print_table, value) if isinstance(held, av.ObjC) and held.cls is tables.Table else None

    def _has_numbers(self, held: DynList) -> bool:
        return of_numbers(held.elem) and isinstance(held.lists[0].type.elem, Scalar)

    def _of_growing_list(self, ref: av.Ref, held: DynList) -> Parts:
        if held.elem is None and not self.is_part_of_tuple(ref):
            return ("[]",)
        if held.elem is None or not self._has_numbers(held) or self.is_part_of_tuple(ref):
            raise self._not_written(ref)
        spec = "" if held.lists[0].type.elem.weak else "!r"
        return ("[", (self.array_from(ref), each_written(", ", (("value", spec),))), "]")

    def _of_dict(self, ref: av.Ref, held: av.DictC) -> Parts:
        if held.is_set:
            if not held.items:
                return (f"{(held.cls or set).__name__}()",)
            keys = self._with_commas([k if isinstance(k, av.Ref) else Static(k) for k in self.set_order(held)])
            return ("frozenset({", *keys, "})") if held.cls is frozenset else ("{", *keys, "}")
        cls = held.cls or dict
        if held.frozen == ONLY_READ:
            return ("mappingproxy(", *self._pairs(held.items), ")")
        if held.factory is not None:
            return ("defaultdict(", *self.repr_parts(held.factory), ", ", *self._pairs(held.items), ")")
        if issubclass(cls, collections.OrderedDict):
            return self._of_ordered(cls, held.items)
        return self._pairs(held.items)

    def _of_ordered(self, cls: type, items: dict[Any, Any]) -> Parts:
        if not items:
            return (f"{cls.__name__}()",)
        if not _OLD_ORDERED:
            return (f"{cls.__name__}(", *self._pairs(items), ")")
        pairs = [av.Tup((k if isinstance(k, av.Ref) else Static(k), v)) for k, v in items.items()]
        return (f"{cls.__name__}([", *self._with_commas(pairs), "])")

    def _of_record(self, ref: av.Ref, held: Any) -> Parts:
        if self.is_exception(ref):
            made = self.over_args(held, lambda args: self.text([held.cls.__name__, "(", *self._with_commas(args), ")"]))
            return (made,) if isinstance(made, av.Sum) else self.text_parts(made)
        if (own := self._own_text(ref, "__repr__")) is not None:
            return self.text_parts(own)
        if self.is_table(ref) or self.is_run_time_set(ref):
            raise self._not_written(ref)
        if held.cls is types.SimpleNamespace:
            return self._named("namespace", self.all_fields(held).items())
        if self.is_of_lists(held.cls):
            return self._of_object(self.items_of(ref))
        if self.is_of_dicts(held.cls):
            items = self.contents(self.items_of(ref)).items
            ordered = issubclass(held.cls, collections.OrderedDict)
            return self._of_ordered(held.cls, items) if ordered else self._pairs(items)
        names = self._shown_fields(held.cls, self.class_lookup(held.cls, "__repr__"))
        if names is not None and not held.cls.__module__.startswith("diffjit."):  # which stands for another one
            return self._named(held.cls.__qualname__, [(name, self.get_attribute(ref, name)) for name in names])
        return ((ref, ""),)

    def _shown_fields(self, cls: Any, found: Any) -> tuple[str, ...] | None:
        """The fields that a generated `__repr__` names, of a named tuple or a dataclass; None of any other method."""
        options = getattr(cls, OPTIONS, None)
        if options is not None and found is object.__repr__ and options.get("repr", True):
            fields = self.dataclass_fields(cls).items()
            return tuple(name for name, given in fields if getattr(given.get("repr"), "obj", True))
        if not isinstance(found, types.FunctionType):
            return None
        if found.__module__ == "collections":
            return cls._fields
        code = getattr(inspect.unwrap(found), "__code__", None)
        if code is None or code.co_name != "__repr__" or not code.co_qualname.startswith(GENERATED):
            return None
        home = next(base for base in cls.__mro__ if vars(base).get("__repr__") is found)
        return tuple(f.name for f in dataclasses.fields(home) if f.repr)

    def _with_commas(self, items: Iterable[Any]) -> Parts:
        """The items of a container, with commas between them."""
        return tuple(p for k, item in enumerate(items) for p in ((", ",) if k else ()) + self.repr_parts(item))

    def _pairs(self, items: dict[Any, Any]) -> Parts:
        parts: list[Any] = ["{"]
        for k, (key, item) in enumerate(items.items()):
            parts += [", "] if k else []
            parts += [*(self.repr_parts(key) if isinstance(key, av.Ref) else (repr(key),)), ": "]
            parts += self.repr_parts(item)
        return (*parts, "}")

    def _named(self, name: str, fields: Iterable[tuple[str, Any]]) -> Parts:
        parts: list[Any] = [f"{name}("]
        for k, (field, item) in enumerate(fields):
            parts += [f"{', ' if k else ''}{field}=", *self.repr_parts(item)]
        return (*parts, ")")

    def _not_written(self, value: Any) -> Exception:
        held = self.contents(value) if isinstance(value, av.Ref) else None
        known = "a set" if self.is_run_time_set(value) else "a dict" if self.is_table(value) else describe(value)
        what = f"a {self.class_of(value).__name__}" if isinstance(held, DynList) else known
        problem = f"the text of {what} whose items are only known at run time"
        return self.unsupported("DJ118", problem, None, "print it by itself, or make a text of each item")


def _quoted(parts: Parts) -> Parts:
    """A text in quotes, as repr() writes it: numbers have none."""
    literal = "".join(part for part in parts if isinstance(part, str))
    quote = repr(literal)[0]
    other = "'" if quote == '"' else '"'  # with it in front, repr() takes this quote for each piece
    return (quote, *(repr(other + part)[2:-1] if isinstance(part, str) else part for part in parts), quote)
