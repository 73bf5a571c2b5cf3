"""Recursion whose depth depends on run-time values: the function becomes a program of its own, with calls.

What a recursive call gives is unknown at first: paths that need it count as never arriving, and the others tell the
form of the result; then the body is interpreted again until arguments and result have settled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import gast

from diffjit.errors import UnsupportedSyntax
from diffjit.frontend.calls.handed_back import handed_back
from diffjit.frontend.calls.records import Record, close, unlike, within
from diffjit.frontend.stacked.graph import NotStacked
from diffjit.frontend.stacked.loops import stacked
from diffjit.frontend.syntax.control import reachable, references
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import Joiner, equal, is_longer_each_time
from diffjit.frontend.values.leaves import convert, instantiate, leaf_types
from diffjit.frontend.values.nodes import MAX_NESTED, needs_arenas
from diffjit.frontend.values.portable import ALIAS, Unportable, refers_differently, widen_lists
from diffjit.frontend.values.templates import (
    Bad,
    Cells,
    DynList,
    ItemOf,
    Learn,
    Node,
    OptT,
    Side,
    forget_values,
    freshen,
    kind_of,
    same_object,
    shape,
    split,
)
from diffjit.frontend.values.values import Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.same_lists import SameLists
from diffjit.ir.text.names import identifier
from diffjit.ir.types import fresh_lengths
from diffjit.ir.walk import callees, walk_called

MAX_ATTEMPTS = 30
_CONSTANTS = (bool, int, float, str, type(None))
RESULT = "result of the call", None  # no argument has such a name
MAX_DEPTH = 8  # of tuples and objects in each other


class Bottom(Exception):
    """The result of a recursive call that nothing is known of yet: this path does not arrive."""


class Recursion(Mixin):
    """Mixin of the interpreter: recursive functions."""

    def recursive_site(self, record: Record, bound: dict[str, Any], node: Any) -> Any:
        """A recursive call inside the function's own body."""
        packed, objects = self.packed_arguments(record, self._of_the_run(record, bound), node)
        joiner = Joiner(self.cells, self.cells, self.sites)
        for name, value in packed.items():
            self._settle_argument(record, name, value, joiner, node)
        self._mind_surroundings(record, node)
        if record.settled:
            with self.build.inside(Block()):  # for their forms alone: `call_record` packs them again
                state, _ = self._packed_state(record, node)
            for key, value in state.items():
                self._settled_form(record, key, value, joiner, node)
        if record.result is None or not record.settled:
            for inner in self.recursions[self.recursions.index(record) + 1 :]:
                inner.waits = True
            raise Bottom
        return self.call_record(record, packed, objects, None, node)

    def _mind_surroundings(self, record: Record, node: Any) -> None:
        """What is different outside from what it was on entry must be taken along, even if it is changed back later."""
        for key, held in record.entry.items():
            outside = (key[0] == "h" and key[1] in record.outer) or (key[0] == "v" and key in record.start)
            outside = outside and not self._stays_outside(record, key, held)
            if outside and key not in record.changed and not unchanged(self.cells.get(key), held):
                record.changed.add(key)
                self._take_along(record, key, record.start, node)
                record.settled = False

    def belongs(self, record: Record, bound: dict[str, Any]) -> bool:
        """Whether these arguments have the kinds that the function is being interpreted for."""
        return all(not unlike(record.arguments[name], shape(value)) for name, value in bound.items())

    def _settle_argument(self, record: Record, name: str, value: Any, joiner: Joiner, node: Any) -> None:
        old = record.arguments[name]
        widen_lists(old, shape(value))
        if name not in record.seen and refers_differently(old, shape(value)):
            record.by_value.add(name)
            record.settled = False
            return
        new = self._general_form(record, joiner.merge(old, value))
        if name not in record.longer and is_longer_each_time(new):
            record.longer.add(name)
            record.by_value.add(name)
            record.settled = False
            return
        if isinstance(new, Bad):
            raise self._without_form(f"argument `{name}`", new, node)
        if not equal(old, new):
            record.arguments[name] = new
            record.settled = False

    def outline(self, fn: av.Fn, bound: dict[str, Any], node: Any, *, form: Any = None) -> Any:
        """Interpret a recursive function as a program of its own, and call it.

        `form`: what its other calls have in common with this one, where it is not recursive (`repeated`).
        """
        if self.doubts:
            cure = "test the operands or the result instead"
            raise self.unsupported("DJ124", "a recursive function under an error state that raises", node, cure)
        outer = frozenset(key[1] for key in self.cells if key[0] == "h")
        name = _name(fn.name) if form is None else identifier(_plain_name(fn.name))
        record = Record(fn.node, Function(name, [], Block()), {}, outer=outer, form=form)
        learned = self.learned
        record.stacked = bool(learned.arenas or fn.node in learned.looped) and fn.node not in learned.packed
        record.captured = frozenset(self._captured_by(fn))
        for _ in range(MAX_ATTEMPTS):
            bound = self._of_the_run(record, bound)
            packed, objects = self.packed_arguments(record, bound, node)
            for name in packed:
                if name not in record.arguments or name in record.by_value - record.seen:
                    record.arguments[name] = self._general_form(record, shape(packed[name]))
            if record.by_value - record.seen:  # what the body reads and changes is told anew
                record.state, record.changed, record.shares = {}, set(), {}
            record.seen |= record.by_value
            if self._attempt_body(record, fn, node):
                free = None
                if not self._is_whole(record):
                    free = self._close_function(record)
                    for around in self.recursions:
                        around.parts |= {record.node, *record.parts}
                record.handed_back = handed_back(record.function)
                if form is not None:
                    self.share(record)
                self._refuse_caught_inside(record, f"`{fn.name}`, which is recursive,", node)
                return self.call_record(record, packed, objects, free, node, outside=True)
        raise self._recursion_refused("its arguments or result do not settle to one type", node)

    def packed_arguments(
        self, record: Record, bound: dict[str, Any], node: Any
    ) -> tuple[dict[str, Any], dict[str, list[int]]]:
        """Arguments, and the objects in each that are passed by value: those that are not the same in each call."""
        packed, objects = {}, {}
        with self._portable(node):
            for name, value in bound.items():
                objects[name] = []
                kept = frozenset() if name in record.by_value else record.outer
                packed[name] = self.pack(value, objects[name], kept)
        return packed, objects

    def _of_the_run(self, record: Record, bound: dict[str, Any]) -> dict[str, Any]:
        """Arguments, of which those that get longer with each call are tuples whose length the run decides."""
        tuples = {name: value for name, value in bound.items() if name in record.longer and isinstance(value, av.Tup)}
        return {**bound, **{name: self.of_the_run(t) for name, t in tuples.items()}}

    def of_the_run(self, known: av.Tup) -> av.Ref:
        """A tuple whose length the run decides, with the items of one whose length is known."""
        return self.part_of_tuple(self.new(av.ListC(known.items)))

    @contextmanager
    def _portable(self, node: Any) -> Iterator[None]:
        try:
            yield
        except Unportable as error:
            raise self._recursion_refused(str(error), node) from error

    # Calls

    def _is_whole(self, record: Record) -> bool:
        """Whether it becomes a loop now; a function that calls one around it becomes a part of that one's loop."""
        around = {id(r.function): r for r in self.recursions}
        calls = {id(op.attrs["function"]) for op in walk_called(record.function) if op.kind == "call"}
        if others := {r.node for r in self.recursions if id(r.function) in calls and not r.stacked and record.stacked}:
            packed = others & self.learned.packed
            raise Learn("packed", {record.node}) if packed else Learn("looped", others)
        return record.stacked and not calls & around.keys()

    def call_record(
        self,
        record: Record,
        packed: dict[str, Any],
        objects: dict[str, list[int]],
        free: list[Value] | None,
        node: Any,
        *,
        outside: bool = False,
    ) -> Any:
        """Call the function: what it changes outside comes back with its result.

        `free`: values of the surroundings that it reads; None in its own body, where they are not known yet.
        """
        before = {key: self.cells[key] for key in record.state}
        state, inside = self._packed_state(record, node)
        taken = [uid for uids in objects.values() for uid in uids] + inside
        changed = {uid for name in record.changed if isinstance(name, str) for uid in objects[name]}
        if (len(set(taken)) < len(taken) and record.changed) or changed & record.captured:
            raise self._recursion_refused("an object that it changes has two names there", node)
        side = Side(self.cells, self.build, self.sites)
        leaves = [leaf for name, form in record.arguments.items() for leaf in convert(packed[name], form, side)]
        leaves += [leaf for key, value in state.items() for leaf in convert(value, record.state[key], side)]
        back = [record.result, *(self._template_of(record, key) for key in _in_order(record.changed))]
        types = [fresh_lengths(ty) for template in back for ty in leaf_types(template)]
        new = [ty for k, ty in enumerate(types) if k not in record.handed_back]
        given, given_back = [*leaves, *(free or ())], record.handed_back
        if outside and free is None:
            made = iter(self._as_loop(record, given, new, node))
        else:
            op = self.build.op("call", given, new, function=record.function)
            site = op, self.recursions[-1] if self.recursions else None
            (record.sites if outside else record.calls).append(site)
            if self.handlers and not outside:
                record.tried.append(([*self.handlers], self.loc(node)))
            made = iter(op.outputs)
        outputs = iter([given[given_back[k]] if k in given_back else next(made) for k in range(len(types))])
        found, *left = [instantiate(template, outputs, self.cells) for template in back]
        for key, value in zip(_in_order(record.changed), left, strict=True):
            self._bring_back(key, value, objects)
        result = self.taken_out(found)
        origins = {**objects, **{key: [key[1]] for key in record.state if key[0] == "h"}}
        origins |= {key: [ref.uid for ref in references(before[key])] for key in record.state if key[0] == "v"}
        origins |= {key: [key[1]] for of in record.shares.values() for key in of if key not in origins}
        for key, of in record.shares.items():
            made = references(result if key is RESULT else self.cells[key])
            self._mind_aliases([ref.uid for ref in made], [uid for origin in of for uid in origins[origin]])
        return result

    def _as_loop(self, record: Record, given: list[Value], types: list[Any], node: Any) -> list[Value]:
        """The results of the function, as a loop with a stack that stands here."""
        call = Op("call", given, [Value(ty) for ty in types], {"function": record.function}, [], self.build.loc)
        names = {record.node, *record.parts, *(r.node for r in self.recursions)}
        try:
            return stacked(self.build, call)
        except NotStacked as error:
            refused = self._recursion_refused(str(error), node)
            if error.lists and self.learned.arenas and not self.learned.referred:
                raise Learn("referred", {True}, refused) from None
            raise Learn("packed", names, refused) from None

    def _stays_outside(self, record: Record, key: Any, held: Any) -> bool:
        """Whether this is a list outside of a function that becomes a loop: it is not taken along."""
        if not (record.stacked and key[0] == "h" and isinstance(held, DynList) and key not in record.state):
            return False
        now = self.cells.get(key)
        return isinstance(now, DynList) and now.lists == held.lists and key in record.start

    def _packed_state(self, record: Record, node: Any) -> tuple[dict[Any, Any], list[int]]:
        """The cells outside that the function reads or changes, by value, and the objects in them."""
        seen: list[int] = []
        state: dict[Any, Any] = {}
        with self._portable(node):
            seen += [key[1] for key in record.state if key[0] == "h"]
            for key in record.state:
                state[key] = self._pack_cell(record, key, seen)
                widen_lists(record.state[key], shape(state[key]))
        return state, seen

    def _pack_cell(self, record: Record, key: Any, seen: list[int]) -> Any:
        """A variable or object outside; what the object refers to is taken along by itself."""
        try:
            return self.pack_contents(key[1], seen, record.outer) if key[0] == "h" else self.pack(self.cells[key], seen)
        except Unportable:
            self._rather_looped(record, key)
            raise

    def _template_of(self, record: Record, key: Any) -> Any:
        return record.arguments[key] if isinstance(key, str) else record.state[key]

    def _bring_back(self, key: Any, value: Any, objects: dict[str, list[int]]) -> None:
        """Enter what a function left in a cell outside, or in the objects of an argument."""
        if isinstance(key, str):
            self._restore_all(value, iter(objects[key]))
        elif key[0] == "v":
            self.cells[key] = self.taken_out(value)
        else:
            self.restore(key[1], value)

    def _restore_all(self, value: Any, uids: Iterator[int]) -> None:
        if isinstance(value, av.Packed):
            self.restore(next(uids), value)
        elif kind_of(value) is not None:
            for part in split(value):
                self._restore_all(part, uids)

    def _mind_aliases(self, made: list[int], old: list[int]) -> None:
        """Objects that may be the same from now on must not change, if both can be reached."""
        alive = reachable(self.cells) & set(old) - set(made)
        for uid in (*alive, *made) if alive else ():
            held = self.cells.get(("h", uid))
            if held is not None and not isinstance(held, ItemOf | av.Poison) and not held.frozen:
                self.cells["h", uid] = replace(held, frozen=ALIAS)

    # The body

    def _attempt_body(self, record: Record, fn: av.Fn, node: Any) -> bool:
        """One interpretation of the body; True when nothing had to be changed."""
        record.function.body, record.function.params, record.calls, record.settled = Block(), [], [], True
        record.waits, record.tried = False, []
        start, dead, handlers = self.cells, self.dead, self.handlers
        self.cells, self.handlers = dict(start), []
        self.recursions.append(record)
        try:
            with self.build.inside(record.function.body):
                bound = self._enter_body(record)
                record.start, record.entry = start, dict(self.cells)
                record.filled = len(record.function.body.ops)
                entry = record.entry
                result: Any = None
                try:
                    result = self.run_body(fn, bound, node)
                except Bottom:
                    self.dead = True
                if not self.dead:
                    self._find_changes(record, entry, start, bound, node)
                    self._settle_result(record, result, bound, entry, node)
                elif record.settled and record.waits:
                    raise Bottom  # it calls another one, around it, of which nothing is known yet
                elif record.settled:
                    raise self._recursion_refused("no path through it ends", node)
        finally:
            self.recursions.pop()
            self.cells, self.dead, self.handlers = start, dead, handlers
        return record.settled

    def _refuse_caught_inside(self, record: Record, function: str, node: Any) -> None:
        """An error that leaves the function would leave the calls above it, too, whatever they try."""
        around = self.handlers
        bodies = [f.body for f in callees(record.function)] if around or record.tried else []
        try:
            for handlers, loc in ((around, self.loc(node)), *record.tried):
                self.handlers = handlers
                for body in bodies:
                    self.refuse_caught(body, function, loc)
        finally:
            self.handlers = around

    def _enter_body(self, record: Record) -> dict[str, Any]:
        """Parameters for arguments and cells outside; returns the arguments."""
        bound: dict[str, Any] = {}
        for key, template in (*record.arguments.items(), *record.state.items()):
            hint = key if isinstance(key, str) else key[2] if key[0] == "v" else None
            leaves = [Value(fresh_lengths(ty), hint) for ty in leaf_types(template)]
            record.function.params += leaves
            value = instantiate(template, iter(leaves), self.cells)
            if isinstance(key, str):
                bound[key] = self.taken_out(value)
            elif key[0] == "v":
                self.cells[key] = self.taken_out(value)
            else:
                self.cells[key] = self.contents_taken_out(value)
        return bound

    def _find_changes(self, record: Record, entry: Cells, start: Cells, bound: dict[str, Any], node: Any) -> None:
        """Which cells outside, and which arguments, the body reads or changes."""
        lists = SameLists(record.function.body, record.filled)  # what enters the lists at first is no change
        mine = {name: self._objects_in(value, entry) for name, value in bound.items()}
        whose = {uid: name for name, uids in mine.items() for uid in uids if uid not in record.outer}
        known = set(record.changed), dict(record.state)
        for key, held in entry.items():
            if key[0] not in ("v", "h") or (key[0] == "h" and key[1] not in whose and key not in start):
                continue
            if self._stays_outside(record, key, held):
                continue
            own = {lists.find(x) for x in held.lists} if isinstance(held, DynList) else set()
            changed = not unchanged(self.cells.get(key), held) or bool(own & lists.changed)
            if changed and key[0] == "h" and key[1] in whose:
                record.changed.add(whose[key[1]])
            elif changed:
                record.changed.add(key)
            if own & lists.rearranged and (key in start or key[1] in whose):
                self._rather_looped(record, key)
                raise self._recursion_refused("lists in a list that it is given, or that is outside, are moved", node)
            if key in start and (changed or own & lists.read):
                self._take_along(record, key, start, node)
        if (record.changed, record.state) != known:
            record.settled = False
        self.refuse_new_parts(record, entry, node)

    def _take_along(self, record: Record, key: Any, start: Cells, node: Any) -> None:
        if key in record.state:
            return
        inner, self.cells = self.cells, start
        block = Block()
        try:
            with self._portable(node), self.build.inside(block):
                seen: list[int] = []
                value = self._pack_cell(record, key, seen)
        finally:
            self.cells = inner
        record.state[key] = self._general_form(record, shape(value))

    def _rather_looped(self, record: Record, key: Any) -> None:
        """A list outside that cannot be taken along by value can be the program's own in a loop with a stack."""
        held = record.start.get(key)
        if record.node in self.learned.packed or key[0] != "h" or key not in record.start:
            return
        if isinstance(held, av.ListC) and key[1] in self.sites.of and self.sites.of[key[1]] not in self.sites.hints:
            raise Learn("lists", {self.sites.of[key[1]]: None})
        if isinstance(held, DynList) and not record.stacked:
            raise Learn("looped", {record.node})

    def refuse_new_parts(self, record: Record, entry: Cells, node: Any) -> None:
        """An object that is changed must not at the same time lose its place in another one, or its name."""
        for key in record.changed:
            old = entry.get(key) if not isinstance(key, str) else None
            new = self.cells.get(key)
            for a, b in zip(_parts(old), _parts(new), strict=False):
                if isinstance(a, av.Ref) and not (isinstance(b, av.Ref) and a.uid == b.uid):
                    gone = ("h", a.uid)
                    if gone in record.changed or key[0] == "h":
                        raise self._recursion_refused("an object that it changes is replaced by another one", node)

    def _captured_by(self, fn: av.Fn) -> set[int]:
        """The objects that a function reaches by names of its surroundings, itself or by functions that it calls."""
        todo, seen, found = [fn], set(), set()
        while todo:
            inner = todo.pop()
            if inner.node in seen:
                continue
            seen.add(inner.node)
            names = {n.id for n in gast.walk(inner.node) if isinstance(n, gast.Name)}
            for key in [("v", uid, name) for uid in inner.scope.frames for name in names]:
                value = self.cells.get(key)
                found |= set(self._objects_in(value, self.cells))
                if isinstance(value, av.Fn):
                    todo.append(value)
        return found

    def _objects_in(self, value: Any, cells: Cells) -> list[int]:
        found: list[int] = []
        todo = [value]
        while todo:
            for ref in references(todo.pop()):
                if ref.uid not in found and ("h", ref.uid) in cells:
                    found.append(ref.uid)
                    todo.append(cells["h", ref.uid])
        return found

    def _settle_result(self, record: Record, result: Any, bound: dict[str, Any], entry: Cells, node: Any) -> None:
        """Join the result with what is known of it; then what the function gives back is settled, too."""
        with self._portable(node):
            seen: list[int] = []
            packed = self.pack(result, seen)
        self._note_sharing(record, RESULT, seen, bound, entry)
        joiner = Joiner(self.cells, self.cells, self.sites)
        if record.result is not None:
            widen_lists(record.result, shape(packed))
        joined = shape(packed) if record.result is None else joiner.merge(record.result, packed)
        new = self._general_form(record, joined)
        if isinstance(new, Bad):
            raise self._without_form("its result", new, node)
        if record.result is None or not equal(record.result, new):
            record.result, record.settled = new, False
        if not record.settled:
            return
        back = [(packed, record.result)]
        for key in _in_order(record.changed):
            seen = []
            with self._portable(node):
                if isinstance(key, str):
                    value = self.pack(bound[key], seen, frozenset() if key in record.by_value else record.outer)
                else:
                    value = self._pack_cell(record, key, seen)
                if not isinstance(key, str) and key[0] == "v":
                    self._note_sharing(record, key, seen, bound, entry)
            back.append((value, self._settled_form(record, key, value, joiner, node)))
        if record.settled:
            side = Side(self.cells, Builder(record.function.body), self.sites)
            record.function.body.results = [leaf for value, form in back for leaf in convert(value, form, side)]

    def _settled_form(self, record: Record, key: Any, value: Any, joiner: Joiner, node: Any) -> Any:
        """The form of what is brought back, which is that of what is taken along."""
        old = self._template_of(record, key)
        widen_lists(old, shape(value))
        new = self._general_form(record, joiner.merge(old, value))
        if isinstance(new, Bad):
            raise self._without_form("something that it changes", new, node)
        if not equal(old, new):
            record.settled = False
            (record.arguments if isinstance(key, str) else record.state)[key] = new
        return new

    def _note_sharing(self, record: Record, key: Any, made: list[int], bound: dict[str, Any], entry: Cells) -> None:
        """Which arguments and cells outside the objects in a result, or behind a variable, may be."""
        lists = SameLists(record.function.body)

        def classes(uids: Any, cells: Cells) -> set[Any]:
            held = [cells.get(("h", uid)) for uid in uids]
            return {lists.find(x) for h in held if isinstance(h, DynList) for x in h.lists}

        joined = any(getattr(self.cells["h", uid], "frozen", "") for uid in made)
        found = classes(made, self.cells)
        origins: dict[Any, Any] = {name: self._objects_in(value, entry) for name, value in bound.items()}
        origins |= {key: [key[1]] for key, held in entry.items() if self._stays_outside(record, key, held)}
        for cell in record.state:
            origins[cell] = [cell[1]] if cell[0] == "h" else self._objects_in(entry[cell], entry)
        of = {origin for origin, uids in origins.items()
              if set(uids) & set(made) or found & classes(uids, entry) or (joined and uids)}  # fmt: skip
        if of - record.shares.get(key, set()):
            record.shares[key] = record.shares.get(key, set()) | of
            record.settled = False

    def _general_form(self, record: Record, template: Any) -> Any:
        if (again := needs_arenas(template, MAX_NESTED)) is not None:
            raise again
        if _depth(template) > MAX_DEPTH:
            raise self._recursion_refused("what it takes or gives holds more of the same kind, like a tree", None)
        return forget_values(template) if record.form is not None else freshen(forget_values(template))

    def refuse_outside_changes(self, start: Any, refuse: Any, *, whatever: bool = True) -> None:
        """Raise `refuse(what)` if an outer variable, list, dict or object is not what it was at the start.

        Unless it is said of whatever there is, what lives outside of all programs may change, and stays as it was.
        """
        changed = [k for k, v in start.items() if not unchanged(self.cells.get(k), v) and k[0] in ("v", "h")]
        changed = [k for k in changed if whatever or not self.is_given_back(k)]
        if changed:
            raise refuse(", ".join(f"`{k[2]}`" for k in changed if k[0] == "v") or "a list, dict or object")

    def _close_function(self, record: Record) -> list[Value]:
        """Values of the surroundings that the body reads become parameters; returns them."""
        free = close(record.function)
        if free:
            record.within = dict(zip(free, record.function.params[-len(free) :], strict=True))
        for op, where in record.calls:
            op.inputs += [within(where, v) for v in free]
        return free

    def _recursion_refused(self, reason: str, node: Any) -> UnsupportedSyntax:
        return self.unsupported(
            "DJ119",
            f"this recursive function is not supported: {reason}",
            node,
            "write it as a loop with a list as stack",
        )

    def _without_form(self, what: str, found: Bad, node: Any) -> Exception:
        """What to raise where something has no one form in all calls."""
        return self.in_arenas(found.kinds, self._recursion_refused(f"{what} is {found.reason}", node))

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """A path on which an unknown recursive result is needed does not arrive."""
        try:
            yield
        except Bottom:
            self.dead = True


def unchanged(a: Any, b: Any) -> bool:
    """Whether two values are the same, equal constants, or structures of such."""
    if a is b:
        return True
    if isinstance(a, Static) and isinstance(b, Static) and type(a.obj) in _CONSTANTS:
        return same_object(a.obj, b.obj)
    if kind_of(a) is None or kind_of(a) != kind_of(b):
        return isinstance(a, av.Ref) and isinstance(b, av.Ref) and a.uid == b.uid
    return all(unchanged(x, y) for x, y in zip(split(a), split(b), strict=True))


def _name(name: str) -> str:
    return "recursive_" + _plain_name(name)


def _plain_name(name: str) -> str:
    return name.replace("<lambda>", "lambda_").lstrip("_")


def _in_order(keys: Any) -> list[Any]:
    """Cells and names of arguments in an order that is always the same, variables last."""
    return sorted(keys, key=lambda k: (isinstance(k, tuple), isinstance(k, tuple) and k[0] == "v", str(k)))


def _depth(t: Any) -> int:
    """How many tuples and objects are in each other."""
    if isinstance(t, OptT):
        return _depth(t.inner)
    return 1 + max(map(_depth, t.children), default=0) if isinstance(t, Node) else 0


def _parts(value: Any) -> tuple[Any, ...]:
    """A value and what it consists of."""
    return (value,) if kind_of(value) is None else split(value)
