"""Programs inside programs: a function under a derivative that is taken, or called, inside another function.

The inner function is interpreted for parameters of its own into a function of the IR; a transform maps that to its
derivative, which is copied into the outer program. What the inner function reads of its surroundings becomes a
parameter that no derivative is taken by, so an inner derivative never confuses its perturbation with an outer one.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem, UnsupportedSyntax
from diffjit.frontend.calls.records import close
from diffjit.frontend.entry.notes import (
    Notes,
    call_often,
    left_alone,
    lists_written,
    made_in,
    unreadable,
    values_in,
)
from diffjit.frontend.entry.outputs import Foreign, OneOf, OptOut, Out, RecordOut, RowsOut, TableOut, TextOut
from diffjit.frontend.entry.results import Program, output
from diffjit.frontend.entry.source import note_lines
from diffjit.frontend.entry.writeback import Arguments
from diffjit.frontend.numpy.failures import DIVIDING
from diffjit.frontend.numpy.finite import check_values
from diffjit.frontend.numpy.read_only import decide_views
from diffjit.frontend.numpy.reshapes import Written
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import item_template
from diffjit.frontend.values.leaves import item_leaves
from diffjit.frontend.values.templates import PART_OF_TUPLE, DynList, Leaf, Side, Sub, freshen
from diffjit.frontend.values.values import NONE, Static, is_number
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.ops import ROWS
from diffjit.ir.raising import leaves_traces, raises_in_python
from diffjit.ir.types import INT, Array, List, Scalar
from diffjit.ir.walk import clone_op, dce, unused_but_raising, walk, walk_called
from diffjit.primitives.foreign import stand_in
from diffjit.primitives.library.tables import Table
from diffjit.primitives.registry import FUNCTIONS
from diffjit.settings import settings


@dataclass(slots=True, eq=False)
class Entry:
    """Arguments on their way into an inner program.

    Each number and array among them stands in a plain tree as a dummy of its own, which gives it away when the tree has
    been flattened.
    """

    opens: bool = False  # whether objects from outside are what their attributes are, not to be told from others
    dummies: dict[int, tuple[Any, Value, Value]] = field(default_factory=dict[int, Any])  # id -> dummy, outer, inner
    containers: dict[int, av.Ref] = field(default_factory=dict[int, Any])  # of the inner program -> the caller's

    def order(self, leaves: list[Any]) -> list[tuple[Value, Value]]:
        """The (outer, inner) values behind the leaves of a flattened tree."""
        return [self.dummies[id(leaf)][1:] for leaf in leaves]


@dataclass(slots=True, eq=False)
class Inner:
    """An inner function, specialised: parameters are the leaves of its arguments, then what it reads outside."""

    program: Program
    call: Any  # the flattened plain tree of its arguments
    inputs: list[Value]  # what the parameters are bound to


class Nested(Mixin):
    """Mixin of the interpreter: inner programs."""

    change_refused: UnsupportedSyntax | None = None  # the last refusal of a function that changes what is outside
    laid_aside: dict[Any, tuple[Any, Any]]  # cells that are noted: what was there, and what stands there since

    def init_nested(self) -> None:
        """Nothing has been called yet."""
        self.laid_aside = {}
        self.lent_nodes = {}  # arenas of which there are copies -> their lengths at first

    def enter(self, value: Any, entry: Entry) -> tuple[Any, Any]:
        """An argument as a plain tree of dummies, and as abstract value for the inner program."""
        if isinstance(value, Static) and isinstance(value.obj, (float, complex, np.inexact)) and is_number(value.obj):
            value = self.number(value)
        if isinstance(value, Value) and isinstance(value.type, (Scalar, Array)) and value.type.dtype.kind in "biufc":
            param = Value(value.type, value.name)
            if value in self.param_paths:
                self.param_paths[param] = self.param_paths[value]
            dtype = value.type.dtype
            dummy: Any = np.zeros((0,) * value.type.ndim, dtype) if isinstance(value.type, Array) else dtype.type(0)
            if dtype.kind != "b" or isinstance(value.type, Array):
                entry.dummies[id(dummy)] = (dummy, value, param)
                return dummy, param
        if isinstance(value, Static):
            if isinstance(value.obj, (int, np.integer)) and tree.is_numeric(value.obj):
                dummy, outer = np.int64(value.obj), self.number(value)
                entry.dummies[id(dummy)] = (dummy, outer, Value(outer.type))
                return dummy, value
            return (Foreign(value), value) if tree.is_numeric(value.obj) or _composed(value.obj) else (value.obj, value)
        if isinstance(value, av.Tup):
            both = [self.enter(item, entry) for item in value.items]
            plain = tuple(p for p, _ in both)
            made = value.cls(*plain) if value.cls is not None else plain
            return made, av.Tup(tuple(i for _, i in both), value.cls)
        if isinstance(value, av.Ref):
            return self._enter_object(value, entry)
        return Foreign(value), value

    def _enter_object(self, ref: av.Ref, entry: Entry) -> tuple[Any, Any]:
        held = self.contents(ref)
        if isinstance(held, av.ObjC) and held.origin is not None and entry.opens:
            held = replace(held, fields=self.all_fields(held), origin=None)
        if isinstance(held, av.ListC):
            both = [self.enter(item, entry) for item in held.items]
            inner = self.new(av.ListC(tuple(i for _, i in both)))
            entry.containers[inner.uid] = ref
            return [p for p, _ in both], inner
        if isinstance(held, av.DictC) and not held.is_set:
            entered = {key: self.enter(item, entry) for key, item in held.items.items()}
            inner = self.new(av.DictC({key: i for key, (_, i) in entered.items()}, cls=held.cls))
            entry.containers[inner.uid] = ref
            plain = {key: p for key, (p, _) in entered.items()}
            return OrderedDict(plain) if held.cls is OrderedDict else plain, inner
        if isinstance(held, av.ObjC) and held.origin is None:
            entered = {name: self.enter(item, entry) for name, item in held.fields.items()}
            inner = self.new(av.ObjC(held.cls, {name: i for name, (_, i) in entered.items()}))
            entry.containers[inner.uid] = ref
            return tree.plain_object(held.cls, {name: p for name, (p, _) in entered.items()}), inner
        return Foreign(ref), ref

    def nest(
        self, function: Any, args: list[Any], kwargs: dict[str, Any], flatten: Any, node: Any, *, refusal: str = "",
        apart: bool = False, plainly: Callable[[], Any] | None = None, called_on: str = "", itself: bool = False,
    ) -> Inner | None:  # fmt: skip
        """Interpret a call as a program of its own; None where it never returns.

        `apart`: what it writes to is a copy of the caller's, also where it never returns. `plainly` makes the same call
        as part of the program: what it raises there, a `try` around it catches (`attempt`).
        `flatten(args, kwargs)` flattens the plain trees of the arguments. `refusal`: what to call the function in the
        error for changing containers among its arguments, where it must not because it stands for a plain call.
        `called_on`: who calls it, nobody knows how often, where it may note things outside that its result does not
        hang on; nobody may read them from then on. `itself`: lists, dicts and objects that the caller has already are
        results themselves, not copies.
        """
        refused = refusal or "a function whose derivative is taken here"

        def interpreted() -> tuple[Function, Inner | None, list[Value]]:
            with self._read_again(called_on):
                try:
                    return self._apart(
                        function, args, kwargs, flatten, node, refused, held=bool(refusal),
                        lists=bool(called_on) or (bool(self.frames) and not refusal), itself=itself,
                    )  # fmt: skip
                except UnsupportedSyntax as error:
                    if not called_on or error is not self.change_refused:
                        raise
                    return self._noting(function, args, kwargs, flatten, node, refused, error, called_on)

        ir, inner, inputs = self.once(interpreted)
        self.attempt(ir, refused, plainly, self.loc(node))
        if inner is None:
            memory = Written(ir)
            own = [apart and isinstance(p.type, Array) and memory.holds(p) for p in ir.params]
            self.copy_in(ir, [self.copy(v) if copied else v for v, copied in zip(inputs, own, strict=True)])
            self.dead = True
        return inner

    def _apart(
        self, function: Any, args: list[Any], kwargs: dict[str, Any], flatten: Any, node: Any, refused: str, *,
        held: bool, notes: Notes | None = None, lists: bool = False, itself: bool = False,
    ) -> tuple[Function, Inner | None, list[Value]]:  # fmt: skip
        """The program of a call, and what its parameters are bound to.

        `held`: it stands for a plain call; `notes`: what it may change outside; `lists`: no growing ones.
        """
        self.forget_arrays()
        body, entry = Block(), Entry()
        start, dead, handlers, doubts, memo = self.cells, self.dead, self.handlers, self.doubts, self.memo
        self.cells, self.handlers, self.doubts, self.memo = dict(start), [], {}, None
        outs: list[Value] = []
        spec: Any = None
        may_change: set[Any] = set() if notes is None else notes.changed
        before, places, lent = len(self.changed_numbers), len(self.changed_places), dict(self.lent_nodes)
        try:
            positional = [self.enter(a, entry) for a in args]
            keywords = {name: self.enter(a, entry) for name, a in kwargs.items()}
            call = flatten(tuple(p for p, _ in positional), {name: p for name, (p, _) in keywords.items()})
            with self.build.inside(body):
                begin = self.arenas_within(start, "" if held else refused, node)
                named = {name: i for name, (_, i) in keywords.items()}
                given = Arguments(self)
                given.enter(av.Tup((*(i for _, i in positional), *named.values())), ())
                result = self.call(function, [i for _, i in positional], named, node)
                stops = self.dead
                if not stops:
                    self.refuse_outside_changes(
                        {key: value for key, value in begin.items() if key not in may_change},
                        lambda what: self._changes_refused(refused, what, node), whatever=held,
                    )  # fmt: skip
                    if held and given.changes(lambda _: None):
                        raise self._changes_refused(refused, "a list, dict or object among its arguments", node)
                    with self.results_of_call(self._callers(entry, start) if itself else None):
                        spec = output(self, result, outs)  # pyright: ignore[reportArgumentType]
        finally:
            self.cells, self.dead, self.handlers, self.lent_nodes = start, dead, handlers, lent
            self.doubts, self.memo = doubts, memo
        self.refuse_other_names(body, places)
        in_place = self.changes_arrays(body, self.changed_numbers[before:])
        leaves = entry.order(call.leaves)
        body.results = outs
        if notes is not None:
            notes.leave_out(body, lists_written(body, [inner for _, inner in leaves]))
        ir = Function(_name(function), [inner for _, inner in leaves], body)
        free = close(ir)
        if lists and notes is None:
            self._refuse_changed_lists(ir, len(leaves), refused, node, arrays=not held)
        ir.source_file, ir.source_line = _home(function)
        decide_views(ir)
        dce(ir, unused_but_raising)
        if notes is not None:
            free = notes.unread(ir, free)
        check_values(ir)
        note_lines(ir)
        inputs = [*(outer for outer, _ in leaves), *free]
        names = [p.name or "" for p in ir.params]
        made = Program(ir, len(leaves), [], [], spec, arg_names=names, changes_arrays=in_place)
        return ir, None if stops else Inner(made, call, inputs), inputs

    def _refuse_changed_lists(self, ir: Function, own: int, refused: str, node: Any, *, arrays: bool) -> None:
        """Growing lists outside must not change, or the arrays in them, either: the first parameters are its own."""
        if lists_written(ir.body, ir.params[:own]):
            raise self._changes_refused(refused, "a growing list", node)
        outside = [p for p in ir.params[own:] if isinstance(p.type, List)] if arrays else []
        if outside and any(map(Written(ir).writes_to_items, outside)):
            raise self._changes_refused(refused, "an array in a growing list", node)

    def _callers(self, entry: Entry, start: Any) -> Callable[[av.Ref], av.Ref | None]:
        """Which list, dict or object of the caller's a call has, if it is one."""

        def known(ref: av.Ref) -> av.Ref | None:
            there = ("h", ref.uid) in start or ref.uid in self.outside_places
            return entry.containers.get(ref.uid, ref if there else None)

        return known

    def _noting(
        self, function: Any, args: list[Any], kwargs: dict[str, Any], flatten: Any, node: Any, refused: str,
        error: UnsupportedSyntax, called_on: str,
    ) -> tuple[Function, Inner | None, list[Value]]:  # fmt: skip
        """The program of a function that changes what is outside, if its result does not hang on that.

        It is interpreted as a loop would call it, nobody knows how often, which says what changes and what that may be;
        then once more, for its program, which must not read anything that the loop has made.
        """
        start, state = dict(self.cells), (self.dead, self.handlers, self.memo, dict(self.lent_nodes))
        block, count = Block(), Value(INT)
        try:
            self.handlers, self.memo = [], None
            with self.build.inside(block):
                given = av.Tup(tuple(args)), self.new(av.DictC(dict(kwargs)))
                self.call(Static(call_often), [count, function, *given], {}, node)
            if self.dead:
                raise error
            changed = {k for k, v in start.items() if k[0] in "vh" and not left_alone(self.cells.get(k), v)}
            made = {k for k in self.cells if k not in start}
            noted = {v for k in changed for v in values_in(self.cells.get(k))}
            before = {v for k in changed for v in values_in(start[k])}
            notes = Notes(changed | made, {count, *made_in(block), *(noted - before)}, error)
            after = dict(self.cells)
            found = self._apart(function, args, kwargs, flatten, node, refused, held=True, notes=notes)
        except UnsupportedSyntax as other:
            if other is self.change_refused:
                raise error from None
            raise
        finally:
            self.cells, (self.dead, self.handlers, self.memo, self.lent_nodes) = start, state
        self.cells = dict(start)
        changed |= {k for k, v in start.items() if k[0] == "h" and any(x in notes.values for x in values_in(v))}
        for key in changed:
            self.cells[key] = unreadable(start[key], after.get(key), called_on)
            self.laid_aside[key] = start[key], self.cells[key]
        return found

    @contextmanager
    def _read_again(self, called_on: str) -> Iterator[None]:
        """What such a function has noted, another one that is called as often reads as it was at first."""
        hidden = {key: v for key, (_, v) in self.laid_aside.items() if called_on and self.cells.get(key) is v}
        for key in hidden:
            self.cells[key] = self.laid_aside[key][0]
        try:
            yield
        finally:
            for key, v in hidden.items():
                self.cells[key] = v
                self.laid_aside[key] = self.laid_aside[key][0], v

    # What a `try` around a call catches

    def attempt(self, ir: Function, told: str, plainly: Callable[[], Any] | None, loc: Any) -> None:
        """What a program of its own raises leaves the whole program: no `try` around the call catches it.

        So it is called in the program first, where that is the same, and its results are left: what it raises jumps to
        the handler, and where it has raised nothing, neither does the program of its own.
        """
        caught = self.caught_inside(ir)
        if caught is None and not self._numbers_raise(ir):
            return
        memory = Written(ir)
        if any(map(leaves_traces, walk_called(ir))) or any(
            isinstance(p.type, Array) and memory.holds(p) for p in ir.params
        ):
            plainly = None  # what it does would be done twice
        if plainly is not None:
            plainly()
        elif caught is not None:
            raise _may_raise(told, caught, loc)

    def _numbers_raise(self, ir: Function) -> bool:
        """Whether a `try` around here catches what Python's numbers may raise inside, which compiled ones do not."""
        return self.tries_numbers() and any(map(_of_numbers, walk_called(ir)))

    def caught_inside(self, ir: Function) -> type | None:
        """What a program may raise that a `try` around here catches."""
        return next(self._caught_of(walk_called(ir)), None) if self.handlers else None

    def _caught_of(self, ops: Iterable[Op]) -> Iterator[type]:
        for op in ops:
            found = op.attrs["exception"] if op.kind == "raise" else op.row.error if raises_in_python(op) else None
            if op.row.linked and op.attrs["site"].through_python:
                found = self.handlers[-1][1][0]  # it may raise anything
            if found is not None and self.handler_for(found) is not None:
                yield found

    def refuse_caught(self, body: Block, function: str, loc: Any) -> None:
        """An error inside leaves the whole program: a `try` around the call would not catch it."""
        for caught in self._caught_of(walk(body)) if self.handlers else ():
            raise _may_raise(function, caught, loc)

    def _changes_refused(self, function: str, what: str, node: Any) -> UnsupportedSyntax:
        outside = "" if what.endswith("arguments") else " outside"
        cure = "return what it computes instead"
        found = self.unsupported("DJ125", f"{function} changes {what}{outside}", node, cure)
        self.change_refused = found
        return found

    def copy_in(self, function: Function, inputs: list[Value]) -> list[Value]:
        """Copy the operations of a function to here; its results. None shares memory with an input."""
        memory = Written(function)
        given = {memory.find(p) for p in function.params if isinstance(p.type, Array)}
        mapping = dict(zip(function.params, inputs, strict=True))
        block = self.build.block
        for op in function.body.ops:
            copied = clone_op(op, mapping, block)
            copied.attrs.pop("section", None)
            if settings.nan_check:
                copied.attrs["derived"] = True
        return [
            self.copy(mapping.get(v, v)) if isinstance(v.type, Array) and memory.find(v) in given else mapping.get(v, v)
            for v in function.body.results
        ]

    def zeros_of(self, value: Value) -> Value:
        """Zeros of a value's type, shape and layout."""
        return self.build.zero(value)

    def abstract(self, spec: Any, outs: list[Value], made: dict[int, Any] | None = None) -> Any:
        """A tree of results as abstract value; what stands in it twice is one object."""
        made = {} if made is None else made
        if id(spec) not in made or not isinstance(spec, (list, dict, RecordOut)):
            made[id(spec)] = self._abstracted(spec, outs, made)
        return made[id(spec)]

    def _abstracted(self, spec: Any, outs: list[Value], made: dict[int, Any]) -> Any:
        match spec:
            case Out() if isinstance(outs[spec.index].type, List):
                return self._list_handed((outs[spec.index],), _items(outs[spec.index].type))
            case Out():
                return outs[spec.index]
            case RowsOut():
                return self._rows_handed(spec, outs)
            case TableOut():
                keys, values = (self.abstract(v, outs, made) for v in (spec.keys, spec.values))
                return self.new(av.ObjC(Table, {"kept_keys": keys, "kept_values": values, "made_by": NONE}))
            case OptOut():
                return av.Opt(outs[spec.flag], self.abstract(spec.inner, outs, made))
            case RecordOut():
                fields = {name: self.abstract(v, outs, made) for name, v in spec.fields.items()}
                return self.new(av.ObjC(stand_in(spec.cls), fields))
            case Foreign():
                return spec.value
            case TextOut():
                return av.Format(tuple(p if isinstance(p, str) else (outs[p[0].index], p[1]) for p in spec.parts))
            case OneOf():
                return av.Sum(outs[spec.flag], tuple(self.abstract(v, outs, made) for v in spec.variants))
            case tuple():
                return av.Tup(
                    tuple(self.abstract(s, outs, made) for s in spec), type(spec) if hasattr(spec, "_fields") else None
                )
            case list():
                return self.new(av.ListC(tuple(self.abstract(s, outs, made) for s in spec)))
            case dict():
                items = {key: self.abstract(v, outs, made) for key, v in spec.items()}
                return self.new(av.DictC(items, cls=None if type(spec) is dict else type(spec)))
            case _:
                return Static(spec)

    def _rows_handed(self, spec: RowsOut, outs: list[Value]) -> av.Ref:
        """A list, or a tuple, of tuples, dicts, objects or lists, of which each leaf has a list."""
        lists = [outs[part.index] for part in spec.lists]
        leaves = [Value(v.type.elem) for v in lists if isinstance(v.type, List)]
        item = self.abstract(spec.item, leaves)
        elem = item_template(item, self.cells, self.sites)
        order = item_leaves(item, elem, Side(self.cells, self.build, self.sites))
        if len(order) != len(lists) or set(order) != set(leaves):
            problem = "what a derivative gives here is a list that grows at run time, of items that have no form yet"
            raise self.error(TypeProblem("DJ319", problem, cure="return one list per item, or arrays"))
        return self._list_handed(tuple(lists[leaves.index(v)] for v in order), elem, in_tuple=spec.cls is tuple)

    def _list_handed(self, lists: tuple[Value, ...], elem: Any, *, in_tuple: bool = False) -> av.Ref:
        """A list that a program inside has made, of items of one form."""
        return self.new(DynList(lists, elem, None, PART_OF_TUPLE if in_tuple else _HANDED))


_HANDED = "is what a derivative gives, or a function in its hands"  # with a place of its own it could get wider items


def _items(ty: Any) -> Any:
    """The form of the items of a list of numbers, arrays, or lists of such."""
    return Sub(_items(ty.elem)) if isinstance(ty.elem, List) else freshen(Leaf(ty.elem))


def _of_numbers(op: Op) -> bool:
    """Whether an operation is one of Python's numbers that raises for some of them."""
    ty = op.out.type if len(op.outputs) == 1 else None
    if not (isinstance(ty, Scalar) and ty.weak and op.inputs):
        return False
    return op.kind in DIVIDING or op.kind in _functions_of_math()


@functools.cache
def _functions_of_math() -> frozenset[str]:
    """The kinds of functions of `math`, and of conversions, that raise for some numbers."""
    kinds = (kind for f, kind in FUNCTIONS.items() if getattr(f, "__module__", "") == "math")
    return frozenset({"log", "cast", *(kind for kind in kinds if not ROWS[kind].total)})


def _may_raise(function: str, caught: type, loc: Any) -> UnsupportedSyntax:
    return UnsupportedSyntax(
        "DJ130",
        f"{function} may raise {caught.__name__}, which a `try` around the call catches",
        loc=loc,
        cure="test before the call, or put the `try` inside the function",
    )


def _home(function: Any) -> tuple[str, int]:
    """Where a function is defined."""
    if isinstance(function, av.Fn):
        return function.file, getattr(function.node, "lineno", 0)
    code = getattr(inspect.unwrap(function.obj), "__code__", None) if isinstance(function, Static) else None
    return ("", 0) if code is None else (code.co_filename, code.co_firstlineno)


def signature(function: Any) -> inspect.Signature:
    """The positional parameters of a function."""
    if not isinstance(function, av.Fn):
        return inspect.Signature()
    spec = function.node.args  # pyright: ignore[reportAttributeAccessIssue]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(a.id, kind) for a in (*spec.posonlyargs, *spec.args)])


def _composed(obj: Any) -> bool:
    """Whether flattening would look inside an object that the interpreter takes as a whole."""
    return isinstance(obj, (tuple, list, dict)) or tree.is_record(obj)


def _name(function: Any) -> str:
    if isinstance(function, Static):
        function = function.obj
    name = getattr(function, "name", None) or getattr(function, "__name__", None) or "program"
    return str(name).replace("<lambda>", "lambda_")
