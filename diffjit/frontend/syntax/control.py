"""Branches and jumps: `fork` interprets both branches of a run-time condition and joins what they leave behind.

A jump (`break`, `continue`, `return`, `raise`) that depends on run-time values is a flag cell `("jump", kind, uid)`;
statements behind it run under "no jump pending". Where one branch jumps for certain, the rest of the block simply moves
into the other branch, and no flag is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from operator import is_
from typing import Any

import gast

from diffjit.dataclass import dataclass
from diffjit.frontend.syntax.exceptions import Abandon
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import Joiner
from diffjit.frontend.values.leaves import convert, instantiate, leaf_types
from diffjit.frontend.values.nodes import kinds_among
from diffjit.frontend.values.reach import parts, read_only_in
from diffjit.frontend.values.templates import (
    Bad,
    Cells,
    Changeable,
    DynList,
    ItemOf,
    Learn,
    MaybeT,
    Node,
    Side,
    Unjoinable,
    blamed,
    contains_bad,
    decided_by,
    inside,
    kind_of,
    older_than,
    rebuild,
    shape,
    split,
)
from diffjit.frontend.values.values import UNBOUND, Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Op, Value
from diffjit.ir.types import BOOL, Scalar, Type

RESULT = ("result",)
PART = None, "a part of something"  # what `lost` says of the items of lists and tuples, whichever they are
SHARED = "may be one of several objects after a branch or loop, and another name for it is still in use"


@dataclass(slots=True, eq=False)
class Path:
    """One branch after its interpretation."""

    block: Block
    cells: Cells
    dead: bool
    result: Any = None
    jumped: bool = False
    left: frozenset[int] = frozenset()  # frames that it leaves for certain, by return or raise
    goes_on: bool = False  # whether what follows the branches is interpreted in it, as the other one leaves


class Control(Mixin):
    """Mixin of the interpreter: branches and jumps."""

    # Jumps

    def pending(self) -> Any:
        """Whether a jump is under way: Static(bool) or an IR bool."""
        result: Any = Static(False)
        for flag in self.flags_in(self.cells).values():
            state = self.flag_value(flag)
            if isinstance(state, Static):
                if state.obj:
                    return state
            else:
                result = state if isinstance(result, Static) else self.ew("logical_or", result, state)
        return result

    def flag_value(self, flag: Any) -> Any:
        """A jump's flag as a truth value."""
        if isinstance(flag, av.Maybe):
            return flag.bound if isinstance(flag.value, Static) else self.ew("logical_and", flag.bound, flag.value)
        return flag

    def jumped(self) -> bool:
        """Whether the rest of this block is certainly not reached."""
        return self.dead or bool(self.certain_jumps(self.cells) or self._one_of())

    def stop_where_left(self) -> None:
        """The rest of this statement is not interpreted where what came before has certainly left it."""
        if self.dead or (self.handlers and self.jumped()):
            raise Abandon

    def _one_of(self) -> list[Any]:
        """Jumps of which one is under way for certain, as each branch of a condition took one of them."""
        for flag in self.flags_in(self.cells).values():
            jumps = self.exhausted.get(flag, {}) if isinstance(flag, Value) else {}
            if jumps and all(self.cells.get(key) is f for key, f in jumps.items()):
                return list(jumps)
        return []

    def _remember_jumps(self, paths: list[Path]) -> None:
        """Where neither path arrives, one of the jumps is under way, though which one is only known at run time."""
        if all(p.dead or p.jumped for p in paths) and not self.certain_jumps(self.cells):
            self.take_one_of(self.unsure_jumps())

    def jump(self, *key: Any, flag: Any = Static(True)) -> None:
        """Start a jump."""
        self.jumps["jump", *key] = None
        self.cells["jump", *key] = flag

    def flags_in(self, cells: Cells) -> dict[Any, Any]:
        """The jumps that may be under way. There are many cells, and few jumps that began and did not end."""
        return {key: cells[key] for key in self.jumps if key in cells}

    def certain_jumps(self, cells: Cells) -> list[Any]:
        """The jumps that are under way for certain."""
        return [k for k, f in self.flags_in(cells).items() if isinstance(f, Static) and f.obj]

    def unsure_jumps(self) -> dict[Any, Any]:
        """The jumps of which only the run knows whether they are under way, with their flags."""
        return {k: f for k, f in self.flags_in(self.cells).items() if not isinstance(f, Static)}

    def take_one_of(self, jumps: dict[Any, Any]) -> None:
        """One of these jumps is under way for certain, as far as this path goes."""
        if len(jumps) == 1:
            self.cells.update(dict.fromkeys(jumps, Static(True)))
        self.exhausted.update(dict.fromkeys((f for f in jumps.values() if isinstance(f, Value)), jumps))

    def land(self, *key: Any) -> Any:
        """End a jump; returns its flag."""
        return self.flag_value(self.cells.pop(("jump", *key), Static(False)))

    def take_jumps(self) -> dict[Any, Any]:
        """Lay aside all jumps that may be under way, with their flags; put back into the cells, they go on."""
        return {k: self.cells.pop(k) for k in self.flags_in(self.cells)}

    def unless_jumped(self, action: Callable[[], Any]) -> None:
        """Run `action` where no jump is pending."""
        if self.jumped():
            return
        flags = self.flags_in(self.cells).items()
        unsure = next((k for k, f in flags if not isinstance(self.flag_value(f), Static)), None)
        if unsure is None:
            action()
            return

        def known(taken: bool) -> None:  # each branch knows which way this flag went
            if not taken:
                self.recall(self.cells[unsure])
            self.cells[unsure] = Static(taken)

        self.fork(
            self.flag_value(self.cells[unsure]),
            lambda: known(taken=True),
            lambda: known(taken=False) or self.unless_jumped(action),
        )

    def recall(self, flag: Any) -> None:
        """Where a jump was not taken: what the paths' join lost of static things is known again."""
        for key, (joined, value) in self.refined.get(flag, {}).items():
            if self.cells.get(key) is joined:
                self.cells[key] = value

    def _remember_static(self, new: Cells, first: Path, second: Path) -> None:
        """For `recall`: static values of the path that goes on, by the flag of the other one's jump."""
        if first.jumped == second.jumped:
            return
        stays, leaves = (second, first) if first.jumped else (first, second)
        for jump in self.certain_jumps(leaves.cells):
            lost = {k: (new[k], v) for k, v in stays.cells.items()
                    if k[0] == "v" and k in new and new[k] is not v and isinstance(v, Static)}  # fmt: skip
            if isinstance(new.get(jump), Value):
                self.refined[new[jump]] = lost

    # Branches

    def afresh(self, action: Callable[[], Any]) -> None:
        """Run an action that may come again in the same statement: inside a `try`, neither remembers the other."""
        if self.handlers:
            self.guarded(action, fresh=True)
        else:
            action()

    def choose(self, cond: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """A value that depends on a condition (a conditional expression)."""
        if isinstance(cond, Static):
            return then() if cond.obj else other()
        return self.fork(cond, then, other)

    def when(self, cond: Any, then: Callable[[], Any], other: Callable[[], Any] = lambda: None) -> None:
        """Statements that depend on a condition."""
        self.choose(cond, then, other)

    def fork(
        self,
        cond: Value,
        then: Callable[[], Any],
        other: Callable[[], Any],
        rest: Callable[[], None] | None = None,
        *,
        zero_trips: Any = None,
    ) -> Any:
        """Interpret both branches of a run-time condition and join what they leave behind.

        `rest`, the statements that follow, is interpreted inside the branch that reaches them when the other one jumps.
        `zero_trips`: the second branch is a loop's not running at all; variables to which it would give another form
        are unusable behind, until what follows is interpreted in both branches.
        """
        start, mark = self.cells, Value(BOOL).id
        paths = [self._path(self.holding(cond, start, true=k == 0), action) for k, action in enumerate((then, other))]
        if rest is not None:
            self._place_rest(paths, rest)
        self.letting_go(cond, *(p.cells for p in paths))
        return self._join(cond, start, mark, paths, zero_trips=zero_trips)

    def _path(self, start: Cells, action: Callable[[], Any]) -> Path:
        block = Block()
        self.cells, self.dead = dict(start), False
        self.forks += 1
        result, exhausted = None, self.exhausted
        self.exhausted = dict(exhausted)  # which jumps are certain here says nothing of the other path
        try:
            with self.arriving(), self.build.inside(block):
                result = self.guarded(action)
            return Path(block, self.cells, self.dead, result, self.jumped(), self._left())
        finally:
            self.forks -= 1
            self.exhausted = exhausted

    def _left(self) -> frozenset[int]:
        """Frames that a jump leaves for certain: their variables are not read any more.

        Closures read them later, and so does what runs on the way out (`awaited`).
        """
        left = set().union(*map(self._left_by, self.certain_jumps(self.cells)))
        if one_of := self._one_of():
            left |= set.intersection(*map(self._left_by, one_of))
        return frozenset(left).difference((f.uid for f in self.frames if f.read_later), *self.awaited)

    def _left_by(self, key: Any) -> set[int]:
        """Frames that a jump leaves."""
        if key[1] == "raise":
            around = self.handler_frames[key[2]]
            return {f.uid for f in self.frames if f.uid not in around}
        return {key[2]} if key[1] == "return" else set()

    def _place_rest(self, paths: list[Path], rest: Callable[[], None]) -> None:
        jumped = [p.jumped for p in paths]
        if jumped[0] == jumped[1]:
            return
        path = paths[jumped.index(False)]
        self.cells, self.dead = path.cells, path.dead
        self.forks += 1
        with self.arriving(), self.build.inside(path.block):
            rest()
        self.forks -= 1
        path.cells, path.dead, path.jumped, path.left = self.cells, self.dead, self.jumped(), self._left()
        path.goes_on = True

    def _join(self, cond: Value, start: Cells, mark: int, paths: list[Path], *, zero_trips: Any) -> Any:
        first, second = paths
        if zero_trips is None and self.learned.given_up:
            self._give_up_paths(paths)
        if first.dead and second.dead:
            self.build.op("if", [cond], regions=[first.block, second.block])
            self.cells, self.dead = dict(start), True
            return None
        self.dead = False
        plain = self._as_condition(cond, start, first, second)
        if plain is not None:
            return plain
        self._enter_results(first, second)
        if ("tail", zero_trips) in self.learned.peels:
            self._give_up_other_results(first, second)
        if self.keeps_objects:
            self._as_python_makes_texts(first, second)
        joiner = Joiner(first.cells, second.cells, self.sites)
        new, templates = self._templates(joiner, first, second, zero_trips=zero_trips)
        if zero_trips is None and any(contains_bad(t) for _, t in templates):
            sources = [s for s in self.static_sources(cond) if s[0] == "param"]
            templates = [(key, decided_by(t, [*sources, *self._only_python_knows(key, paths)])) for key, t in templates]
        sides = [Side(p.cells, self._builder(p.block), self.sites, undef=p.dead) for p in paths]
        leaves: list[list[Value]] = [[], []]
        types: list[tuple[Type, Any]] = []
        joined: list[tuple[Any, Any]] = []
        for key, template in templates:
            held = first.cells.get(key, UNBOUND), second.cells.get(key, UNBOUND)
            grew = isinstance(template, Node) and any(
                isinstance(h, DynList) for h in held
            )  # an item of a list just now
            form = older_than(self._template(joiner, key, *held, first, second) if grew else template, mark)
            try:
                parts = [self._leaves_of(key, s, form, p.left) for s, p in zip(sides, paths, strict=True)]
            except Unjoinable as error:
                joined.append((key, Bad(str(error), kinds=error.kinds)))
                continue
            for found, more in zip(leaves, parts, strict=True):
                found.extend(more)
            types += [(ty, key) for ty in leaf_types(form)]
            joined.append((key, form))
        op = self.build.op("if", [cond], [ty for ty, _ in types], regions=[p.block for p in paths])
        for path, found in zip(paths, leaves, strict=True):
            path.block.results = found
        for value, (_, key), *sources in zip(op.outputs, types, *leaves, strict=True):
            for source in sources:
                self.forbid_one_of_several(source)
            value.name = (key[2] if key[0] == "v" else None) or sources[0].name or sources[1].name
        outputs = iter(op.outputs)
        for key, form in joined:
            new[key] = instantiate(form, outputs, new)
        self.cells = new
        self._remember_static(new, first, second)
        self._remember_jumps(paths)
        self._mind_copies(joiner, sides)
        return new.pop(RESULT, None)

    def _as_python_makes_texts(self, *paths: Path) -> None:
        """A text beside one that Python has made on the other path becomes one of these."""
        if any(path.dead for path in paths):
            return
        for path, other in zip(paths, reversed(paths), strict=True):
            self.cells, self.dead = path.cells, path.dead
            with self.build.inside(path.block):
                for key, value in list(other.cells.items()):
                    mine = path.cells.get(key)
                    if mine is not None and mine is not value:
                        path.cells[key] = self._made_like(mine, value, other.cells)

    def _made_like(self, mine: Any, other: Any, cells: Cells) -> Any:
        """A value where each text is Python's that is one in another value, of the other path."""
        if isinstance(mine, av.Tup) and isinstance(other, av.Tup) and len(mine.items) == len(other.items):
            items = tuple(self._made_like(a, b, cells) for a, b in zip(mine.items, other.items, strict=True))
            return mine if all(map(is_, items, mine.items)) else replace(mine, items=items)
        if self.is_text(mine) and isinstance(other, av.Ref) and self.made_by_python(cells, other):
            return self.act(str, [mine], {}, self.here)
        return mine

    def _site(self, k: int) -> Any:
        """What tells a branch from others of the program."""
        return ("opaque", self.call_path, self.place(), k)

    def _only_python_knows(self, key: Any, paths: list[Path]) -> list[Any]:
        """The branch that leaves an object that only Python knows, where the other has something else."""
        states = [(p, p.cells.get(key)) for p in paths if not p.dead]
        opaque = [k for k, (p, v) in enumerate(states) if isinstance(v, av.Ref) and self.made_by_python(p.cells, v)]
        if len(states) != 2 or len(opaque) != 1 or states[opaque[0]][0].goes_on:
            return []
        return [("branch", self._site(opaque[0]))]

    def _give_up_paths(self, paths: list[Path]) -> None:
        """A branch whose object nobody can use beside what the other one has raises where it is taken."""
        for k, path in enumerate(paths):
            if path.dead or self._site(k) not in self.learned.given_up:
                continue
            self.cells, self.dead = path.cells, path.dead
            made = [path.result, *(v for key, v in path.cells.items() if paths[1 - k].cells.get(key) is not v)]
            known = next((v for v in made if isinstance(v, av.Ref) and self.is_opaque(v)), None)
            with self.build.inside(path.block):
                unknown = self._no_number("Python", None) if known is None else self.only_python_knows(known)
                self.raise_refusal(unknown)
            path.cells, path.dead = self.cells, self.dead

    def _give_up_other_results(self, first: Path, second: Path) -> None:
        """A loop that has no turn raises where the function would return something of another form than it else does.

        Variables of another form are unbound there (`_unbound_behind`), and their reads tested; of results nobody asks.
        """
        if first.dead or second.dead:
            return
        for key in [k for k in first.cells if k[0] == "ret" and k in second.cells]:
            one, other = first.cells[key], second.cells[key]
            template = Joiner(first.cells, second.cells, self.sites).merge(one, other)
            bad = next((part for part in inside(template) if isinstance(part, Bad)), None)
            if bad is None:
                continue
            self.cells, self.dead = second.cells, second.dead
            with self.build.inside(second.block):
                told = f"the result where a loop has no turn: it is {bad.reason} [DJ304]"
                self.refuse_if(Static(True), NotImplementedError, av.inexact(told))
            second.cells, second.dead = self.cells, True
            return

    def _as_condition(self, cond: Value, start: Cells, first: Path, second: Path) -> Any:
        """`a and b`, `a or b`: where evaluating both at once cannot fail and changes nothing, no branch is needed."""
        a, b = first.result, second.result
        if not (_is_bool(a) and _is_bool(b)) or (not isinstance(a, Static) and not isinstance(b, Static)):
            return None
        if first.dead or second.dead or not all(_unchanged(start, p.cells) for p in (first, second)):
            return None
        if not all(_harmless(op) for p in (first, second) for op in p.block.ops):
            return None
        self.cells = start
        for path in (first, second):
            for op in path.block.ops:
                for out in op.outputs:
                    out.block = self.build.block
            self.build.block.ops += path.block.ops
        if isinstance(a, Static) and isinstance(b, Static):
            return a if bool(a.obj) == bool(b.obj) else cond if a.obj else self.logical_not(cond)
        if isinstance(b, Static):
            return self.both(cond, a) if not b.obj else self.either(self.logical_not(cond), a)
        return self.either(cond, b) if a.obj else self.both(self.logical_not(cond), b)

    def _enter_results(self, first: Path, second: Path) -> None:
        """Results are joined like variables; a path that does not arrive takes the other's."""
        for path, other in ((first, second), (second, first)):
            if path.result is not None:
                path.cells[RESULT] = path.result
            elif other.result is not None and not (path.dead or path.jumped):
                path.cells[RESULT] = av.NONE

    def _templates(self, joiner: Joiner, first: Path, second: Path, *, zero_trips: Any) -> tuple[Cells, list[Any]]:
        """Cells that both paths leave alone, and templates for the others: variables first, the heap last."""
        one, other = (p.cells for p in ((second, first) if first.dead else (first, second)))
        new = {k: v for k, v in one.items() if other.get(k) is v}  # most cells of a long program
        templates: list[Any] = []
        apart = [k for k in one if k not in new]
        if not (first.dead or second.dead):
            apart += [k for k in other if k not in one]
        idle = self._read_no_more()  # of two names for one object, that one stands for it which is read
        for key in sorted(apart, key=lambda k: (k[0] == "h", k in idle)):
            default = Static(False) if key[0] == "jump" else UNBOUND
            a, b = first.cells.get(key, default), second.cells.get(key, default)
            if a is b or key[0] == "used":
                new[key] = b if a is UNBOUND else a
                continue
            if key[0] == "v" and key[1] in first.left and key[1] in second.left:
                continue  # nobody reads it; what it refers to is joined where somebody does
            template = self._template(joiner, key, a, b, first, second)
            wider = self._same_attributes(a, b) if contains_bad(template) and zero_trips is None else None
            if wider is not None:
                first.cells[key], second.cells[key] = a, b = wider
                template = self._template(joiner, key, a, b, first, second)
            if zero_trips is not None and contains_bad(template):
                again = ("tail", zero_trips)
                if again not in self.learned.peels:
                    template = blamed(template, again)
                elif key[0] != "h" or (a is not UNBOUND and b is not UNBOUND):  # an object that both paths have
                    template, second.cells[key] = self._unbound_behind(joiner, a, b)
                    if second.cells[key] is UNBOUND:
                        self.lost.add(key[1:])
            templates.append((key, template))
        return new, joiner.whole(templates)

    def _read_no_more(self) -> set[Any]:
        """Variables that nothing reads behind the loop under interpretation, as a rule."""
        if not isinstance(self.here, gast.For | gast.While) or not self.frames:
            return set()
        frame = self.frames[-1]
        return {("v", frame.uid, name) for name in read_only_in(self.here, frame.fn.node)}

    def _same_attributes(self, a: Any, b: Any) -> tuple[Any, Any] | None:
        """Two states of an object, where one path has set attributes that the other has not: unbound there."""
        if not (isinstance(a, av.ObjC) and isinstance(b, av.ObjC) and a.cls is b.cls) or a.origin or b.origin:
            return None  # of objects from outside, attributes are known as they are read
        names, apart = a.fields.keys() | b.fields.keys(), a.fields.keys() ^ b.fields.keys()
        if not apart:
            return None
        first, second = (replace(o, fields={n: o.fields.get(n, UNBOUND) for n in sorted(names)}) for o in (a, b))
        return first, second

    def _unbound_behind(self, joiner: Joiner, a: Any, b: Any) -> tuple[Any, Any]:
        """A template in which what has another form on the second path is unbound there; and the value there."""
        wider = self._same_attributes(a, b)
        if wider is not None and wider[0].fields.keys() == a.fields.keys():
            b = wider[1]
        if kind_of(a) is not None and kind_of(a) == kind_of(b):
            pairs = [self._unbound_behind(joiner, x, y) for x, y in zip(split(a), split(b), strict=True)]
            if isinstance(a, av.ObjC):
                held = zip(sorted(a.fields), split(b), pairs, strict=True)
                self.lost.update((a.cls, name) for name, y, (_, v) in held if v is UNBOUND and y is not UNBOUND)
            elif any(v is UNBOUND for _, v in pairs):
                self.lost.add(PART)
            return Node(kind_of(a), tuple(t for t, _ in pairs), a), rebuild(b, tuple(v for _, v in pairs))
        template = joiner.merge(a, b)
        return (joiner.merge(a, UNBOUND), UNBOUND) if isinstance(template, Bad) else (template, b)

    def _template(self, joiner: Joiner, key: Any, a: Any, b: Any, first: Path, second: Path) -> Any:
        if first.dead or second.dead:
            return shape(b if first.dead else a)
        missing = a is UNBOUND or b is UNBOUND
        if missing and key[0] in ("h", "ret", "exc", "result"):
            return shape(b if a is UNBOUND else a)  # made on one path only: nothing on the other refers to it
        if key[0] == "v" and not missing and (key[1] in first.left) != (key[1] in second.left):
            return shape(b if key[1] in first.left else a)  # that path leaves the frame and reads its variables no more
        if key[0] == "h":
            return joiner.merge_contents(key[1], a, b)
        return joiner.merge(a, b)

    def _leaves_of(self, key: Any, side: Side, template: Any, left: frozenset[int]) -> list[Value]:
        default = Static(False) if key[0] == "jump" else UNBOUND
        value = side.cells.get(key, default)
        missing = value is UNBOUND and not isinstance(template, MaybeT)
        if missing or (key[0] == "v" and key[1] in left):
            side = Side(side.cells, side.build, self.sites, undef=True)
        return convert(value, template, side)

    def _builder(self, block: Block) -> Builder:
        builder = Builder(block)
        builder.loc = self.build.loc
        return builder

    # Objects whose contents were copied

    def _mind_copies(self, joiner: Joiner, sides: list[Side]) -> None:
        """Where two objects became one, or one an item of a growing list, see whether another name for it is left."""
        copied = set().union(*(s.copied for s in sides))
        if not joiner.left and not copied:
            return
        alive = reachable(self.cells)
        items = copied.union(*(s.placed for s in sides))
        for a, b in joiner.left.items():
            if {a, b} & alive or {a, b} & items:
                reason = self.why_shared((joiner.cells_a, a), (joiner.cells_b, b))
                self.one_list({a, b} & copied)
                for uid in (a, b, joiner.made[a]):
                    self.freeze(self.cells, uid, reason)
        for uid in copied & alive:
            self.cells["h", uid] = also_an_item(self.cells["h", uid])

    def part_with(self, cells: Cells, copied: set[int], *, live: bool) -> None:
        """Objects whose contents were put into a growing list: none may change, or be read where those there may."""
        for uid in copied:
            held = cells.get(("h", uid))
            if live and isinstance(held, av.ObjC | av.DictC):
                cells["h", uid] = also_an_item(held)
            elif not isinstance(held, DynList):
                self.freeze(cells, uid, "was put into a growing list")

    def why_shared(self, *objects: tuple[Cells, int]) -> str:
        """The reason to freeze objects that became one; lists of known length were copied, others need not be."""
        known = [getattr(self.sites.found(cells, uid), "frozen", "") for cells, uid in objects]
        if again := next((reason.again for reason in known if isinstance(reason, Changeable)), None):
            return Changeable(SHARED, again)
        static = [uid for cells, uid in objects if isinstance(self.sites.found(cells, uid), av.ListC)]
        sites = [site for uid in static if (site := self.sites.of.get(uid)) is not None]
        return Changeable(SHARED, Learn("lists", {sites[0]: None})) if sites else SHARED

    def one_list(self, items: set[int]) -> None:
        """A list that becomes an item of a growing list, and one of several under a name, grows from the start."""
        sites = [site for uid in items if (site := self.sites.of.get(uid)) is not None]
        if sites:
            raise Learn("lists", {sites[0]: None})

    def freeze(self, cells: Cells, uid: int, reason: str) -> None:
        """Forbid further changes of an object; a reference to a list that grows is that list, unless it was copied."""
        held = cells.get(("h", uid))
        copied = isinstance(reason, Changeable) or not isinstance(held, DynList)
        if held is not None and copied and not isinstance(held, (ItemOf, av.Poison)) and not held.frozen:
            cells["h", uid] = replace(held, frozen=reason)


def also_an_item(held: Any) -> av.Poison:
    """What is left of an object whose contents are in a growing list from now on."""
    return av.Poison("an object that is also an item of a growing list", kinds=kinds_among(held))


def _unchanged(start: Cells, cells: Cells) -> bool:
    copied = len(cells) >= len(start) and all(map(is_, start, cells)) and all(map(is_, start.values(), cells.values()))
    if copied:  # as a copy has its cells in the same order
        return all(k[0] == "h" for k in islice(cells, len(start), None))
    return all(cells.get(k) is v for k, v in start.items()) and all(k in start or k[0] == "h" for k in cells)


def _is_bool(value: Any) -> bool:
    if isinstance(value, Static):
        return isinstance(value.obj, bool)
    return isinstance(value, Value) and isinstance(value.type, Scalar) and value.type.dtype.kind == "b"


def _harmless(op: Op) -> bool:
    """An operation that may be done early: a cheap one on numbers, that cannot fail."""
    scalars = all(isinstance(v.type, Scalar) for v in (*op.inputs, *op.outputs))
    return op.kind in ("const", "dim", "list_len", "cast") or (
        scalars and op.row.by_element and not op.row.fails and op.kind != "divide"
    )


def reachable(cells: Cells) -> set[int]:
    """The heap objects that variables refer to, directly or not."""
    todo = [v for k, v in cells.items() if k[0] != "h"]
    found: set[int] = set()
    while todo:
        for ref in references(todo.pop()):
            if ref.uid not in found:
                found.add(ref.uid)
                if ("h", ref.uid) in cells:
                    todo.append(cells["h", ref.uid])
    return found


def references(value: Any) -> Iterator[av.Ref]:
    """The heap objects that a value refers to directly."""
    if isinstance(value, av.Ref):
        yield value.arena if isinstance(value, av.Handle) else value
    else:
        for part in parts(value):
            yield from references(part)
