"""Python's builtins, and the methods of lists, dicts, strings and arrays."""

from __future__ import annotations

import builtins
import copy as copy_module
import functools
import itertools
import operator
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffjit.errors import TypeProblem
from diffjit.frontend.numpy.read_only import COPIED_DEEPLY
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.nodes import ListsOf
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import Boxed, Const, DynList, Node, Sub, SumT, rebuild, split
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import INT, Array, Scalar
from diffjit.primitives.library import containers, queues
from diffjit.primitives.library.resumed import iterators
from diffjit.primitives.opaque.acts import STREAMS

_WRITTEN_OUT = 8  # elements of an array: of more than these, `max` and `min` are loops


class BuiltinCalls(Mixin):
    """Mixin of the interpreter: builtins."""

    @kinds(add=np.add.at, subtract=np.subtract.at)
    def add_at(self, kind: str, a: Any, indices: Any, b: Any) -> Any:
        value = self.stored_value(b, None)
        value = self.as_dtype(value if kind == "add" else self.ew("negative", value, weak=False), a.type.dtype)
        items = self.index_items(a, indices, None)
        if not any(isinstance(i, Value) and isinstance(i.type, Array) for i in items):
            target = self.basic_get(a, items, scalar_ok=False)
            self.assign_array(target, self.ew("add", target, value, weak=False))
            return NONE
        base, spec, positions = self.advanced(a, items, None)
        self.build.op("scatter_add", [base, value, *positions], spec=spec)
        return NONE

    @core(builtins.len)
    def py_len(self, x: Any) -> Any:
        if isinstance(x, av.Format):
            raise self.letters([x], "len()", None)
        return self.length(x)

    @core(builtins.range)
    def py_range(self, start: Any, stop: Any = NONE, step: Any = Static(1)) -> Any:
        if is_none(stop):
            start, stop = Static(0), start
        parts = [self.counted_from(part, "range", "use int(...) or np.arange") for part in (start, stop, step)]
        self.demand(self.compare_kind("not_equal", parts[2], Static(0)), ValueError, "range() arg 3 must not be zero")
        return av.Range(*parts)

    @core(builtins.slice)
    def py_slice(self, start: Any, stop: Any = None, step: Any = NONE) -> Any:
        return self.cut(NONE, start, NONE) if stop is None else self.cut(start, stop, step)

    @core(builtins.enumerate)
    def py_enumerate(self, iterable: Any, start: Any = Static(0)) -> Any:
        source = self.as_iterable(iterable)
        start = self.counted_from(start, "enumerate", "use int(...)")
        made = av.Iter("enumerate", (source, start))
        return self.iterator(made, lambda: self.drawn_by(iterators.enumerated, source, start))

    @core(builtins.zip)
    def py_zip(self, *iterables: Any, strict: Any = Static(False)) -> Any:
        if iterables and isinstance(iterables[-1], av.Iter) and iterables[-1].kind == "starred":
            *before, rows = iterables
            if not before and (columns := self.columns_of(rows.parts[0])) is not None:
                return self.call_static(iter, [columns], {}, None)
            iterables = (*before, *self.unpack(rows.parts[0], None, None))
        certain = [self.certain(i) for i in iterables]
        if (
            not (is_strict := self.static_truth(strict, "`strict`"))
            and (found := self.zipped_groups(certain)) is not None
        ):
            return found
        parts = tuple(map(self.as_iterable, self.taken_in_turn(certain)))
        zipped = lambda: self.iterator(av.Iter("zip", parts), lambda: self.drawn_by(iterators.zipped, *parts))  # noqa: E731
        if not is_strict:
            if any(self.drawn_from(part) is not None for part in parts):
                return self.call_plain(iterators.zipped, *parts, node=None)  # none is drawn from once another has ended
            return zipped()
        if len(parts) < 2:
            return zipped()
        if any(map(self.is_lazy, parts)):
            return self.zipped_strictly(parts)
        if not any(map(self.lists_in, parts)):
            first, *others = (self.folded(self.alongside(part, None).length) for part in parts)
            if all(isinstance(same := self.same(first, other), Static) and same.obj for other in others):
                return zipped()
        return self.call_plain(containers.zipped_strictly, *parts, node=None)

    def columns_of(self, rows: av.Ref) -> Any:
        """What `zip(*rows)` gives of a growing list; None where it is another one."""
        held = self.contents(rows)
        if not isinstance(held, DynList):
            return None
        if not isinstance(held.elem, Node) or not isinstance(held.elem.like, av.Tup):
            return self.call_plain(iterators.columns_in_turn, rows, node=None)
        nothing = self.compare_kind("equal", self.length(rows), Static(0))
        self.refuse_if(nothing, NotImplementedError, "zip(*rows) of a list without rows")
        return self.call_plain(containers.columns, rows, Static(len(held.elem.like.items)), node=None)

    @core(builtins.reversed)
    def py_reversed(self, sequence: Any) -> Any:
        if isinstance(sequence, av.Range):
            start, stop, step = sequence.start, sequence.stop, sequence.step
            if isinstance(step, Static) and step.obj == 1:
                return av.Range(self.ew("subtract", stop, Static(1)), self.ew("subtract", start, Static(1)), Static(-1))
        if self.is_own_object(sequence):
            return self.reversed_object(sequence)
        parts = (sequence, self.length(sequence)) if self.lists_in(sequence) else (sequence,)
        return self.iterator(av.Iter("reversed", parts), lambda: self.drawn_by(iterators.backwards, *parts))

    @core(builtins.map)
    def py_map(self, function: Any, *iterables: Any, strict: Any = None) -> Any:
        if strict is not None:
            if sys.version_info < (3, 14):
                raise self.type_problem("DJ306", "map() takes no keyword arguments", python=TypeError)
            if self.static_truth(strict, "`strict`"):
                return self.call_static(itertools.starmap, [function, self.py_zip(*iterables, strict=strict)], {}, None)
        parts = (function, *map(self.as_iterable, self.taken_in_turn(list(iterables))))
        return self.iterator(av.Iter("map", parts), lambda: self.drawn_by(iterators.mapped, *parts))

    @core(builtins.filter)
    def py_filter(self, function: Any, iterable: Any) -> Any:
        parts = (function, self.as_iterable(iterable))
        return self.iterator(av.Iter("filter", parts), lambda: self.drawn_by(iterators.filtered, *parts))

    @core(builtins.iter)
    def py_iter(self, iterable: Any, sentinel: Any = None) -> Any:
        if sentinel is not None:
            return self.call_plain(containers.called, iterable, sentinel, node=None)
        if self.wrong_type(iterable):
            raise self.not_iterable(iterable, None)
        while (cls := self.object_class(iterable)) is not None and self.class_has(cls, "__iter__"):
            iterable = self.call_method(iterable, "__iter__", [])
            if self.object_class(iterable) is not None and self.class_has(self.class_of(iterable), "__next__"):
                return iterable
        iterable = self.as_iterable(iterable)
        if isinstance(iterable, av.Iter) and not iterable.claimed:
            return iterable
        return self.iterator(av.Iter("iter", (iterable,)), lambda: self.in_turn(iterable))

    @core(functools.reduce)
    def ft_reduce(self, function: Any, iterable: Any, initial: Any = None) -> Any:
        if initial is None:
            initial, iterable = self.first_and_rest(iterable)
        return self.accumulate(
            iterable, initial, lambda acc, x: self.call(function, [acc, x], {}), ("reduce", self.place())
        )

    @core(functools.partial)
    def ft_partial(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return av.Partial(function, args, kwargs)

    @core(functools.wraps)
    def ft_wraps(self, wrapped: Any, *_: Any, **__: Any) -> Any:
        return av.Partial(Static(functools.update_wrapper), (), {"wrapped": wrapped})

    @core(functools.update_wrapper)
    def ft_update_wrapper(self, wrapper: Any, wrapped: Any, *_: Any, **__: Any) -> Any:
        named = isinstance(wrapper, av.Fn) and isinstance(wrapped, av.Fn)
        return replace(wrapper, name=wrapped.name) if named else wrapper

    @core(builtins.sum)
    def py_sum(self, iterable: Any, start: Any = Static(0)) -> Any:
        add = lambda acc, x: self.binary("add", acc, x)  # noqa: E731
        cells, block, first = dict(self.cells), self.build.block, len(self.build.block.ops)
        try:
            total = self.accumulate(iterable, start, add, ("sum", self.place()))
        except TypeProblem as error:
            if error.code not in ("DJ301", "DJ304"):
                raise
        else:
            if not isinstance(total, av.Poison):
                return total
        # 0 and the items have no common type (they are arrays): begin with the first item.
        self.cells, self.build.block, self.dead = cells, block, False
        del block.ops[first:]
        item, rest = self.first_and_rest(iterable, "sum() of nothing, where the items would be arrays")
        return self.accumulate(rest, add(start, item), add, ("sum", self.place(), "rest"))

    @core(builtins.any)
    def py_any(self, iterable: Any) -> Any:
        return self._found(self.unordered(iterable), lambda test: test)

    @core(builtins.all)
    def py_all(self, iterable: Any) -> Any:
        return self.logical_not(self._found(self.unordered(iterable), self.logical_not))

    def _found(self, iterable: Any, wanted: Any) -> Any:
        """Whether an iterable has a wanted item; those behind it are not looked at."""
        uid = next(self._uids)

        def body(item: Any) -> None:
            self.when(wanted(self.truth(item)), lambda: self.jump("break", uid))

        return self.iterate(iterable, body, None, key=("found", self.place()), break_uid=uid)

    def either(self, a: Any, b: Any) -> Any:
        """Disjunction of two truth values already computed."""
        if isinstance(a, Static):
            return a if a.obj else b
        if isinstance(b, Static):
            return b if b.obj else a
        return self.ew("logical_or", a, b)

    @kinds(greater=builtins.max, less=builtins.min)
    def py_extreme(self, kind: str, *args: Any, key: Any = NONE, default: Any = None) -> Any:
        """max/min as Python does: the first of equals."""
        if isinstance(args[-1], av.Iter) and args[-1].kind == "starred":
            items = self.new(av.ListC(tuple(args[:-1])))
            self.list_extend(items, args[-1].parts[0])
            args = (items,)
        iterable = av.Tup(args) if len(args) > 1 else self.unordered(args[0])  # pyright: ignore[reportGeneralTypeIssues]
        message = _of_nothing(max if kind == "greater" else min)
        plain = is_none(key)

        def keyed(x: Any) -> av.Tup:  # the key of each item is computed once
            return av.Tup((x,) if plain else (x, self.call(key, [x], {})))

        def better(best: av.Tup, x: Any) -> Any:
            other = keyed(x)
            test = self.truth(self.compare_kind(kind, other.items[-1], best.items[-1]))
            return self.choose(test, lambda: other, lambda: best)

        iterable = self.as_iterable(iterable)
        if isinstance(iterable, av.Iter):
            iterable = self.collect(iterable)
        try:
            items = self._few_items(iterable)
        except UnknownLength:
            inner = self.indexed(iterable, None)
            empty = self.compare_kind("less_equal", inner.length, Static(0))
            rest = av.Range(Static(1), inner.length, Static(1))

            def best_of_rest() -> Any:
                step = lambda best, i: better(best, inner.item(i))  # noqa: E731
                return self.accumulate(rest, keyed(inner.item(Static(0))), step, ("extreme", self.place())).items[0]

            if default is not None:
                return self.choose(empty, lambda: default, best_of_rest)
            self.raise_if(empty, ValueError, message)
            return best_of_rest()
        if not items:
            if default is None:
                self.out_of_range(message, ValueError)
            return default
        result = keyed(items[0])
        for item in items[1:]:
            result = better(result, item)
        return result.items[0]

    def _few_items(self, iterable: Any) -> list[Any]:
        """The items of an iterable; UnknownLength where they are an array's, and so many that a loop is shorter."""
        if isinstance(iterable, Value) and isinstance(iterable.type, Array) and iterable.type.ndim == 1:
            length = iterable.type.dims[0]
            if isinstance(length, int) and length > _WRITTEN_OUT:
                raise UnknownLength
        return self.sequence_items(iterable, None)

    def py_min_max(self, kind: str, a: Any, b: Any) -> Any:
        """Max or min of two ints, without a tie rule."""
        if isinstance(a, Static) and isinstance(b, Static):
            return Static(max(a.obj, b.obj) if kind == "maximum" else min(a.obj, b.obj))
        return self.ew(kind, a, b)

    @core(builtins.sorted)
    def py_sorted(self, iterable: Any, *, key: Any = NONE, reverse: Any = Static(False)) -> Any:
        plain = is_none(key)
        source = self.py_list(self.unordered(iterable) if plain else iterable)
        held = self.contents(source)
        falling = self.static_truth(reverse, "`reverse`")
        keys = source if plain else self.collect(av.Iter("map", (key, source)), apart="keys")
        known = _known_order(self.contents(keys), falling=falling)
        if known is not None and isinstance(held, av.ListC):
            return self.new(av.ListC(tuple(held.items[k] for k in known)))
        order = self.sorting_order(keys, falling=falling)
        if isinstance(held, av.ListC):
            positions = [self.as_weak(self.element(order, Static(k))) for k in range(len(held.items))]
            return self.new(av.ListC(tuple(self.select_item(list(held.items), k, None) for k in positions)))
        result = self.new(
            DynList(tuple(self.build.value("list_new", (), x.type) for x in held.lists), held.elem, held.site)
        )

        def append(position: Any) -> None:
            self.list_append(result, self.dyn_get(source, self.as_weak(position)))

        self.iterate(order, append, None, key=("sorted", self.place()))
        return result

    def sorting_order(self, keys: av.Ref, *, falling: bool) -> Value:
        """The positions of a list's items in sorted order: by columns of numbers, or by `<` of objects and lists."""
        held = self.contents(keys)
        if _by_less(held.elem) if isinstance(held, DynList) else any(map(self.by_less, held.items)):
            return self.call_plain(queues.order_by_less, keys, Static(falling), node=None)
        parts = [getattr(held.elem, "like", None)] if isinstance(held, DynList) else list(held.items)
        columns = self._columns(keys, parts)
        order: Value | None = None
        for column in reversed(columns):  # each sort is stable: the most significant key comes last
            array = self.array_from(self.ranked(column))
            if array.type.ndim != 1:
                cure = "sort by a key that is a number, or a tuple of numbers"
                raise self.unsupported("DJ118", "sorting of items that are not numbers", None, cure)
            if falling:  # stable in both directions, as Python's
                array = self.ew("negative", self.cast(array, np.int64) if array.type.dtype.kind == "b" else array)
            step = self.sorting("argsort", array if order is None else self.array_get(array, order))
            order = step if order is None else self.array_get(order, step)
        assert order is not None
        return order

    def by_less(self, item: Any) -> bool:
        """Whether only `<` knows an order: of objects, of lists, and of tuples that hold some."""
        if isinstance(item, av.Tup):
            return any(map(self.by_less, item.items))
        if isinstance(item, av.Sum):
            return any(map(self.by_less, item.variants))
        listed = isinstance(item, av.Ref) and isinstance(self.contents(item), av.ListC | DynList)
        return listed or self.object_class(item) is not None

    def ranked(self, column: Any) -> Any:
        """The places in Python's order of things that are known, as texts are, in a list of some of them."""
        held = self.contents(column) if isinstance(column, av.Ref) else None
        elem = held.elem if isinstance(held, DynList) else None
        found = elem.variants if isinstance(elem, SumT) else (elem,)
        known = [v.obj for v in found if isinstance(v, Const) and not av.is_number(v.obj)]
        if len(known) < len(found):
            return column
        order = self.evaluated(sorted, set(known))
        result = self.new(av.ListC(()), "ranks")

        def append(item: Any) -> None:
            place = lambda v: Static(order.index(v.obj))  # noqa: E731
            self.list_append(result, self.each(item, place) if isinstance(item, av.Sum) else place(item))

        self.iterate(column, append, None, key=("ranks", self.place()))
        self.make_dynamic(result)
        return result

    def _columns(self, keys: Any, parts: list[Any]) -> list[Any]:
        """The columns of a list of tuples, nested ones, too."""
        widths = {len(p.items) if isinstance(p, av.Tup) else -1 for p in parts}
        if len(widths) > 1 or min(widths, default=-1) <= 0:
            return [keys]
        columns: list[Any] = []
        for k in range(min(widths)):
            column = self.collect(av.Iter("map", (self.call_static(operator.itemgetter, [Static(k)], {}, None), keys)))
            columns += self._columns(column, [p.items[k] for p in parts])
        return columns

    @core(builtins.str)
    def py_str(self, value: Any = Static("")) -> Any:
        if self.is_exception(value):
            return self.exception_text(value)
        return self.text(list(self.text_parts(value)))

    @core(builtins.repr)
    def py_repr(self, value: Any) -> Any:
        return self.text(list(self.repr_parts(value)))

    @core(builtins.bin)
    def py_bin(self, number: Any) -> Any:
        if isinstance(number, Value):
            error = TypeProblem(
                "DJ307", "the digits of this number must be known before the program runs", cure="use number >> k & 1"
            )
            raise self.need_static(number, self.error(error))
        return Static(bin(number.obj))

    @core(builtins.format)
    def py_format(self, value: Any, spec: Any = Static("")) -> Any:
        return self.text(list(self.format_parts(value, spec.obj)))

    @core(builtins.print)
    def py_print(self, *args: Any, sep: Any = Static(" "), end: Any = Static("\n"), file: Any = NONE, **_: Any) -> Any:
        where = getattr(file, "obj", file)
        if (where is not None and where is not STREAMS["stdout"]) or any(map(self.is_opaque, args)):
            return self.act(
                builtins.print, list(args), {"sep": sep, "end": end, "file": file}, self.here, gives="nothing"
            )
        self.over_texts(list(args), lambda given: self.print_values(given, sep.obj, end.obj))
        return NONE

    @core(builtins.id)
    def py_id(self, value: Any) -> Any:
        if self.memos and isinstance(value, av.Ref) and not isinstance(value, av.Handle):
            return Static(Identity(value.uid))  # a key of the memo of a deep copy
        raise self.unsupported("DJ121", "id() of a value", None, "compare with `is`")

    @core(builtins.super)
    def py_super(self, *args: Any) -> Any:
        if args:  # super(Base, self) names the class whose bases are looked through
            if len(args) != 2 or not (isinstance(args[0], Static) and isinstance(args[0].obj, type)):
                raise self.unsupported("DJ118", "super() of one argument", None, "write super() inside the method")
            return av.Iter("super", (args[0].obj, args[1]))
        fn = self.frames[-1].fn
        receiver = self.lookup([*fn.node.args.posonlyargs, *fn.node.args.args][0].id)
        owner = fn.owner
        if owner is None and fn.pyfunc is not None and "__class__" in fn.pyfunc.__code__.co_freevars:
            owner = fn.pyfunc.__closure__[fn.pyfunc.__code__.co_freevars.index("__class__")].cell_contents
        return av.Iter("super", (owner, receiver))

    @core(builtins.next)
    def py_next(self, iterator: Any, default: Any = None) -> Any:
        if self.object_class(iterator) is iterators.Cursor and default is not None:
            place, items = (self.get_attribute(iterator, name) for name in ("place", "items"))
            more = self.compare_kind("less", place, self.length(items))
            return self.choose(more, lambda: self.call_method(iterator, "__next__", []), lambda: default)
        if isinstance(iterator, av.Ref) and self.class_has(self.class_of(iterator), "__next__"):
            if default is None:
                return self.call_method(iterator, "__next__", [])
            return self.call_plain(containers.drawn_or, iterator, default, node=None)
        if not isinstance(iterator, av.Iter):
            raise self.no_iterator(iterator)
        return self.next_item(iterator, default)

    @core(copy_module.copy)
    @for_each
    def cp_copy(self, value: Any) -> Any:
        if isinstance(value, av.Opt):
            return self.choose(value.is_none, lambda: NONE, lambda: self.cp_copy(value.value))
        if isinstance(value, Value) and isinstance(value.type, Array):
            return self.copy(value)
        if isinstance(value, av.Ref):
            held = self.contents(value)
            if self.has_own_copy(held, "__copy__"):
                return self.call_method(value, "__copy__", [])
            return self.copy_list(value) if isinstance(held, DynList) else self.settled_in(self.new(self.copied(held)))
        return value

    @core(copy_module.deepcopy)
    def cp_deepcopy(self, value: Any, memo: Any = NONE) -> Any:
        if not isinstance(memo, av.Ref):
            return self._deep_copy(value, {})
        made = self.memos.setdefault(memo.uid, {})
        made.update((k.uid, v) for k, v in self.contents(memo).items.items() if isinstance(k, Identity))
        return self._deep_copy(value, made)

    def _deep_copy(self, value: Any, made: dict[Any, Any], *, inside: bool = False) -> Any:
        """A copy in which what was one object is one object again; `inside` an item of a growing list."""
        if isinstance(value, av.Sum):
            return self.each(value, lambda v: self._deep_copy(v, made, inside=inside))
        if isinstance(value, av.Opt):
            copied = lambda: self._deep_copy(value.value, made, inside=inside)  # noqa: E731
            return self.choose(value.is_none, lambda: NONE, copied)
        if isinstance(value, av.Tup):
            return av.Tup(tuple(self._deep_copy(i, made, inside=inside) for i in value.items), value.cls)
        if not isinstance(value, av.Ref):
            if value not in made:
                copied = self.cp_copy(value)
                # It is not known whether another item is the same array, and its copy therefore this one.
                array = inside and isinstance(copied, Value) and isinstance(copied.type, Array)
                made[value] = self.mark_unchanging(copied, COPIED_DEEPLY) if array else copied
            return made[value]
        if isinstance(value, av.Handle) and not isinstance(value.kind, ListsOf):
            cure = "copy its attributes one by one"
            raise self.unsupported("DJ119", "the deep copy of an object that may hold others of its kind", None, cure)
        if value.uid not in made:
            held = self.contents(value)
            if isinstance(held, DynList):
                made[value.uid] = self._deep_copy_of_list(value, held)
                return made[value.uid]
            if self.has_own_copy(held, "__deepcopy__"):
                memo = self.new(av.DictC({}))
                self.memos[memo.uid] = made
                made[value.uid] = self.call_method(value, "__deepcopy__", [memo])
                return made[value.uid]
            if isinstance(held, av.ObjC):
                self.check_copied(held.cls)
            if isinstance(held, av.ObjC) and held.origin is not None:
                held = replace(held, fields=self.all_fields(held), origin=None)
            made[value.uid] = self.new(held)
            parts = tuple(self._deep_copy(part, made, inside=inside) for part in split(held))
            self.cells["h", made[value.uid].uid] = replace(rebuild(held, parts), frozen="")
        return made[value.uid]

    def _deep_copy_of_list(self, value: av.Ref, held: DynList) -> av.Ref:
        if not self.is_live(held) and all(isinstance(x.type.elem, Scalar) for x in held.lists):
            return self.copy_list(value)
        result = self.new(av.ListC(()))
        key = ("deepcopy", self.place())
        self.iterate(
            value, lambda item: self.list_append(result, self._deep_copy(item, {}, inside=True)), None, key=key
        )
        return result


__all__ = ["INT", "BuiltinCalls"]


@dataclass(frozen=True, slots=True)
class Identity:
    """What `id` of an object is, of which nothing is asked but whether it is that of another one."""

    uid: int


def _known_order(keys: Any, *, falling: bool) -> list[int] | None:
    """The places of a list's items in sorted order, where it is known before the program runs."""
    if not isinstance(keys, av.ListC):
        return None
    found = [_known(i) for i in keys.items]
    if None in found:  # what tuples hold behind does not matter where their first items differ
        found = [_first(i) for i in keys.items]
        if None in found or len(set(found)) < len(found):
            return None
    return sorted(range(len(found)), key=lambda k: found[k], reverse=falling)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _by_less(template: Any) -> bool:
    """Whether only `<` knows an order of the items of a list that grows."""
    match template:
        case Boxed():
            return _by_less(template.node)
        case SumT():
            return any(map(_by_less, template.variants))
        case Node() if template.kind[0] == "tuple":
            return any(map(_by_less, template.children))
        case Node():
            return template.kind[0] in ("object", "handle", "list")
    return isinstance(template, Sub)


def _known(item: Any) -> Any:
    """A text or number that is known, or a tuple of such; else None."""
    if isinstance(item, av.Tup):
        parts = tuple(_known(part) for part in item.items)
        return None if None in parts else parts
    return item.obj if isinstance(item, Static) and isinstance(item.obj, str | int | float) else None


def _first(item: Any) -> Any:
    """What a tuple begins with, where that is known; else None."""
    first = item.items[0] if isinstance(item, av.Tup) and item.items else None
    return first.obj if isinstance(first, Static) and isinstance(first.obj, str | int | float) else None


def _of_nothing(function: Any) -> str:
    """What Python says of the largest or smallest of no items: its versions differ."""
    try:
        return function(())
    except ValueError as error:
        return str(error)
