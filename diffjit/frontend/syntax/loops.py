"""Loops: the body is interpreted until what it carries from one iteration to the next has settled.

A loop carries the cells (variables, heap contents, jumps) that its body changes. The first attempt carries nothing;
what turns out to change is joined with what held before, and the body is interpreted again, until nothing new turns up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError, TypeProblem
from diffjit.frontend.syntax.control import reachable
from diffjit.frontend.syntax.frames import NeedStatic, by_frame, in_frames, kinds_around, whole
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import Joiner, as_template, equal, is_longer_each_time, number_leaf
from diffjit.frontend.values.leaves import convert, instantiate, leaf_types
from diffjit.frontend.values.nodes import kinds_among, needs_arenas
from diffjit.frontend.values.templates import (
    Bad,
    Cells,
    Dyn,
    DynList,
    Heap,
    HeapAgain,
    ItemOf,
    Leaf,
    Learn,
    MaybeT,
    Node,
    OptT,
    Same,
    Side,
    Sites,
    SumT,
    Template,
    blamed,
    forget_values,
    freshen,
    kind_of,
    shape,
    split,
    with_parts,
)
from diffjit.frontend.values.values import UNBOUND, Static
from diffjit.ir.nodes import Block, Value, is_pure
from diffjit.ir.types import BOOL, INT, Array, fresh_lengths
from diffjit.ir.walk import rename

MAX_ATTEMPTS = 30
MAX_GROWTH = 3  # attempts after which objects in objects of their kind are taken for ones that hold ever more
MAX_LONGER = 8  # attempts in a row, each with a longer text, after which a loop is taken for one that adds to it
MAX_PEELS = 2
_ALWAYS = ("jump", "used")  # kinds of cells that are looked at whether they have changed or not
WHOLE = 100  # iterations that are written out as long as it is known that they run


@dataclass(slots=True, eq=False)
class Loop:
    """A loop to interpret."""

    site: Any  # where it stands, in this chain of calls
    kind: str  # "for" or "while"
    bounds: list[Value]  # start, stop, step of a counted loop
    body: Callable[[list[Value]], Any]  # interprets one iteration, given the index
    cond: Callable[[], Any] | None = None  # interprets the condition of a `while`
    assigned: frozenset[str] = frozenset()  # names that the body binds
    break_uid: Any = None
    node: Any = None
    can_unroll: bool = False
    budget: Any = None  # of snapshots, where the loop is checkpointed
    forks: int = 0  # run-time branches and loops around its body
    shared: dict[int, str] = field(default_factory=dict)  # joined objects that must not change, as they may be others
    met: Any = None  # what is known of it from when it was met last (`frames.Hints`)


@dataclass(slots=True, eq=False)
class Attempt:
    """One interpretation of a loop's body."""

    before: Block  # what has to run before the loop
    entry: Cells
    keys: list[Any]
    init: list[Value]
    args: list[Value]
    begin: Cells = field(default_factory=dict)
    end: Cells = field(default_factory=dict)
    block: Block = field(default_factory=Block)
    cond_block: Block = field(default_factory=Block)
    index: list[Value] = field(default_factory=list)
    go_on: Any = None
    dead: bool = False
    owned: set[int] = field(default_factory=set)  # objects made in the iteration that a carried variable refers to
    serial: int = field(default_factory=lambda: av.Ref().uid)  # iterators made in it have greater numbers


@dataclass(slots=True, eq=False)
class Tail:
    """The statements behind a loop."""

    node: Any
    rest: list[Any]
    done: bool = False  # they were interpreted together with the loop


class Loops(Mixin):
    """Mixin of the interpreter: loops."""

    def run_loop(self, loop: Loop) -> Any:
        """Interpret a loop; returns the flag that says whether it was left by `break`."""
        times = self.learned.peels_of(loop.site)
        run = lambda: self._peel(loop, times) if times else self._run_settled(loop)  # noqa: E731
        if not self.unsure_jumps():
            return run()
        self.cells[name := ("left", next(self._uids))] = Static(False)  # what came before in this call may have raised
        self.unless_jumped(lambda: self.cells.update({name: run()}))
        return self.cells.pop(name)

    def _run_settled(self, loop: Loop) -> Any:
        self.loops.append(loop)
        saved, outer, memo = self.cells, self.current_loop, self.memo
        self.current_loop = loop.site
        self.forks += 1
        loop.forks = self.forks
        before = self.build.loc
        try:
            return self._to_fixed_point(loop)
        except BaseException:
            self.cells, self.dead = saved, False
            raise
        finally:
            self.forks -= 1
            self.loops.pop()
            self.current_loop, self.memo, self.build.loc = outer, memo, before

    def _to_fixed_point(self, loop: Loop) -> Any:
        start = dict(self.cells)
        carried = self._first_guess(loop, start)
        longer = longest = 0  # attempts in a row that each made a text longer than any before
        for k in range(MAX_ATTEMPTS):
            attempt = self._attempt(loop, start, carried)
            if attempt is not None and not attempt.dead and self.certain_jumps(attempt.end):
                return self._run_once(loop, start)
            if attempt is None or self._absorb(loop, start, carried, attempt):
                self._notice_growth(k, carried, start)
                numbers = max(map(_numbers_in_texts, carried.values()), default=0)
                longer, longest = (longer + 1 if numbers > longest else 0), max(numbers, longest)
                if longer > MAX_LONGER:
                    break
                continue
            loop.met.carried = by_frame(carried, self.frames)
            return self._close(loop, carried, attempt)
        raise self._unsettled(loop) if longer <= MAX_LONGER else self._longer_texts(loop)

    def _unsettled(self, loop: Loop) -> Exception:
        cure = "give each variable one type before the loop"
        error = self.type_problem("DJ304", "the types in this loop do not settle", loop.node, cure=cure)
        return NeedStatic(error, [("loop", whole(loop.site))]) if loop.can_unroll else error

    def _longer_texts(self, loop: Loop) -> Exception:
        """What to raise where each turn adds to a text: the loop is written out where its length can be known."""
        message = "a text gets longer in each turn of a loop whose length is only known at run time"
        cure = 'make one of all of them: ", ".join(f"{v:.2f}" for v in x); or print in each turn'
        error = self.type_problem("DJ304", message, loop.node, cure=cure)
        if loop.can_unroll:
            return NeedStatic(error, [("loop", whole(loop.site))])
        sources = [source for bound in loop.bounds for source in self.static_sources(bound)]
        return NeedStatic(error, sources) if sources else error

    def _run_once(self, loop: Loop, start: Cells) -> Any:
        """A loop whose body always leaves it: there is no second iteration."""
        self.cells, self.dead = start, False
        test: Any = (
            self.compare_kind("greater", self.trip(*loop.bounds), Static(0)) if loop.cond is None else loop.cond()
        )

        def turn() -> None:
            self.afresh(lambda: loop.body(loop.bounds[:1]))
            if not self.dead and not self.certain_jumps(self.cells):  # later iterations leave it, this one does not
                raise self._another_first(loop)

        self.when(test, turn)
        return self.land("break", loop.break_uid)

    def _another_first(self, loop: Loop) -> Exception:
        """What to raise where the first iteration differs from later ones: it is written out."""
        site = whole(loop.site)
        peeled = self.learned.peels.get(site, 0)
        return self._unsettled(loop) if peeled >= MAX_PEELS else Learn("peels", {site: peeled + 1})

    def _settle_first(self, loop: Loop) -> None:
        """A number that is an array after each turn, say, is one thing behind the first turn; else it is told apart."""
        if self.learned.peels.get(whole(loop.site), 0) < MAX_PEELS:
            raise self._another_first(loop)

    def _first_guess(self, loop: Loop, start: Cells) -> dict[Any, Template]:
        """What the loop carried in the last attempt at the loop around, and numbers and arrays that the body binds."""
        carried: dict[Any, Template] = {}
        joiner = Joiner(start, start, self.sites)
        frames = {f.uid for f in self.frames}
        loop.met = self.hints.meet(loop.site, kinds_around(self.frames[-1], start))
        for place, template in loop.met.carried.items():
            key = in_frames(place, self.frames, start)
            value = start.get(key, UNBOUND)
            inner = template.inner if isinstance(template, (MaybeT, OptT)) else template
            born = isinstance(template, MaybeT) and key[0] == "v" and key[1] in frames
            if isinstance(inner, Leaf) and (value is not UNBOUND or born):
                merged = joiner.merge(forget_values(template), value)
                if not isinstance(merged, Bad):
                    carried[key] = forget_values(merged)
        for name in sorted(loop.assigned):  # the text must not hang on how strings are hashed
            key = ("v", self.frames[-1].uid, name)
            value = start.get(key)
            if key not in carried and isinstance(value, Value):
                carried[key] = forget_values(shape(value))
        return carried

    # One attempt

    def _notice_growth(self, attempts: int, carried: dict[Any, Template], start: Cells) -> None:
        """Objects that hold more of their kind after each attempt get a list of their own, longer tuples are ones."""
        for key in [k for k, t in carried.items() if is_longer_each_time(t) and isinstance(start.get(k), av.Tup)]:
            self.cells = start
            start[key] = self.of_the_run(start[key])
            del carried[key]
        again = next(filter(None, map(needs_arenas, carried.values())), None) if attempts > MAX_GROWTH else None
        if again is not None:
            raise again

    def _attempt(self, loop: Loop, start: Cells, carried: dict[Any, Template]) -> Attempt | None:
        """One interpretation with the given carried cells; None if it has to be prepared anew."""
        attempt = self._enter(loop, start, carried)
        if attempt is None:
            return None
        self.cells, self.dead = attempt.begin, False
        begin = dict(attempt.begin)
        for arg in attempt.args:
            self.arg_loops[arg] = loop.site
        if loop.kind == "for":
            attempt.index = [Value(INT)]  # named by the target it is bound to
        with self.build.inside(attempt.block), self.arriving(), self.hints.attempting(loop.met):
            if loop.cond is None:
                self.guarded(lambda: loop.body(attempt.index), fresh=True)
            else:
                self._condition_then_body(loop, attempt)
        attempt.begin, attempt.end, attempt.dead = begin, self.cells, self.dead
        return attempt

    def _enter(self, loop: Loop, start: Cells, carried: dict[Any, Template]) -> Attempt | None:
        """Initial values of the carried cells, and the state in which the body begins."""
        keys = sorted(carried, key=lambda k: k[0] == "h")
        attempt = Attempt(Block(), dict(start), keys, [], [])
        side = Side(attempt.entry, self._builder(attempt.before), self.sites)
        for key in keys:
            value = attempt.entry.get(key, Static(False) if key[0] == "jump" else UNBOUND)
            if isinstance(value, DynList) and not isinstance(carried[key], Dyn):
                del carried[key]  # became an item of another list just now: it grows, too
                return None
            made_inside = key[0] == "h" and value is UNBOUND
            part = Side(
                attempt.entry, side.build, self.sites, undef=made_inside, copied=side.copied, placed=side.placed
            )
            leaves = convert(value, carried[key], part)
            attempt.init += leaves
            if isinstance(value, av.ListC) and isinstance(carried[key], Dyn):  # it may be an item of another list, too
                attempt.entry[key] = instantiate(carried[key], iter(leaves), attempt.entry)
        for key in keys:
            if isinstance(attempt.entry.get(key), DynList) and not isinstance(carried[key], Dyn):
                del carried[key]  # one converted before the list that it is an item of
        if len(carried) < len(keys):
            return None
        begin = attempt.begin = dict(attempt.entry)
        for key in keys:
            leaves = [Value(ty, key[2] if key[0] == "v" else None) for ty in leaf_types(carried[key])]
            attempt.args += leaves
            begin[key] = Static(False) if key[0] == "jump" else instantiate(carried[key], iter(leaves), begin)
        self._freeze_shared_entries(loop, attempt, carried, start, side.copied | side.placed)
        for uid, reason in loop.shared.items():
            self.freeze(attempt.begin, uid, reason)
        for cells in (attempt.begin, attempt.entry):
            self.part_with(cells, side.copied and side.copied & reachable(cells), live=bool(self.learned.live))
        return attempt

    def _freeze_shared_entries(
        self, loop: Loop, attempt: Attempt, carried: dict[Any, Template], start: Cells, items: set[int]
    ) -> None:
        """An object that a carried variable stands for at first, and another name still refers to, must not change.

        That may be none but its place among the items of a growing list.
        """
        pairs = [(start[k], t) for k, t in carried.items() if k in start]
        every = (pair for value, template in pairs for pair in object_pairs(value, template, self.sites, start))
        merged = {ref.uid: heap.uid for ref, heap in every}
        if not merged:
            return
        alive = reachable(attempt.begin) | items
        for old, new in merged.items():
            if old in alive:
                reason = loop.shared[new] = self.why_shared((start, old))
                if isinstance(start.get(("h", old)), av.ListC):
                    self.one_list({old} & items)
                for cells in (attempt.begin, attempt.entry):
                    self.freeze(cells, old, reason)

    def _condition_then_body(self, loop: Loop, attempt: Attempt) -> None:
        with self.build.inside(attempt.cond_block):
            before = dict(self.cells)
            go_on = self.guarded(loop.cond, fresh=True)
        changed = any(before.get(k) is not v for k, v in self.cells.items())
        if not changed and all(is_pure(op) for op in attempt.cond_block.ops):
            attempt.go_on = go_on
            self.guarded(lambda: loop.body(attempt.index), fresh=True)
            return
        # A condition with effects becomes the head of the body; leaving is a jump.
        _move(attempt.cond_block, attempt.block)
        done = self.logical_not(go_on)
        if not (isinstance(done, Static) and not done.obj):
            self.jump("done", self.current_loop, flag=done)
        self.unless_jumped(lambda: loop.body(attempt.index))

    # What an attempt changed

    def _absorb(self, loop: Loop, start: Cells, carried: dict[Any, Template], attempt: Attempt) -> bool:
        """Enter what the body changed into `carried`; True when another interpretation is needed."""
        if attempt.dead:
            return False
        changed = False
        first = Joiner(attempt.entry, attempt.end, self.sites)
        again = Joiner(attempt.begin, attempt.end, self.sites)
        frames = {f.uid for f in self.frames}
        begin = attempt.begin
        perhaps = [k for k, v in attempt.end.items() if begin.get(k) is not v or k in carried or k[0] in _ALWAYS]
        for key in sorted(perhaps, key=lambda k: k[0] == "h"):  # most cells of a long program are left alone
            value = attempt.end[key]
            if key[0] == "jump":
                if key not in carried and not (isinstance(value, Static) and not value.obj):
                    carried[key] = Leaf(BOOL)
                    changed = True
                continue
            if key[0] == "used":
                if key not in start and key[1] < attempt.serial:
                    message = "an iterator made before the loop is used in it"
                    raise self.needs_place(key[1], message, loop.node)
                continue
            if value is begin.get(key, UNBOUND) and not holds_heap(carried.get(key)):
                continue
            if key not in start and key not in carried and (key[0] == "h" or (key[0] == "v" and key[1] not in frames)):
                continue  # made in this iteration; reached through a variable, or not at all
            known = key in carried
            joiner = again if known else first
            before = carried[key] if known else attempt.entry.get(key, UNBOUND)
            new = joiner.merge_contents(key[1], before, value) if key[0] == "h" else joiner.merge(before, value)
            new = prepared(blamed(self._owned(new, attempt), loop.site))
            if isinstance(new, SumT) and all(number_leaf(as_template(v)) for v in (before, value)):
                self._settle_first(loop)
            if not known or not equal(carried[key], new) or not _same_lengths(carried[key], new):
                carried[key] = new
                changed = True
        return self._freeze_shared_ends(loop, start, carried, attempt, first, again) or changed

    def _owned(self, template: Any, attempt: Attempt) -> Any:
        """The template with objects made in this iteration carried by their contents."""
        match template:
            case Same() if isinstance(template.value, av.Ref) and ("h", uid := template.value.uid) in attempt.end:
                if ("h", uid) in attempt.entry:
                    return template
                if uid in attempt.owned:
                    return HeapAgain(uid)
                attempt.owned.add(uid)
                return Heap(uid, self._owned(shape(attempt.end["h", uid]), attempt))
            case Node():
                return with_parts(template, [self._owned(c, attempt) for c in template.children])
            case OptT() | MaybeT():
                return type(template)(None if template.inner is None else self._owned(template.inner, attempt))
            case Heap():
                return Heap(template.uid, self._owned(template.contents, attempt))
            case SumT():
                return self._of_earlier_turns(template, attempt) or template
            case _:
                return template

    def _of_earlier_turns(self, template: SumT, attempt: Attempt) -> Bad | None:
        """No number can tell an object that this iteration makes from those that earlier ones have made."""
        todo, made = list(template.variants), []
        while todo:
            part = todo.pop()
            if isinstance(part, Node):
                todo += part.children
            elif isinstance(part, Same) and isinstance(part.value, av.Ref):
                key = ("h", part.value.uid)
                made += [attempt.end[key]] if key in attempt.end and key not in attempt.entry else []
        reason = "one of several objects, some of which the loop makes"
        return Bad(reason, kinds=kinds_among(*made)) if made else None

    def _freeze_shared_ends(
        self, loop: Loop, start: Cells, carried: dict[Any, Template], attempt: Attempt, *joiners: Joiner
    ) -> bool:
        """An object from outside the loop that a carried variable comes to stand for must not change, nor in it."""
        alive: set[int] | None = None
        changed = False
        for joiner in joiners:
            for b, a in joiner.right.items():
                if ("h", b) not in attempt.begin or b in joiner.left:
                    continue
                alive = reachable(attempt.begin) if alive is None else alive
                held = start.get(("h", b))
                if b not in alive or held is None or isinstance(held, (DynList, ItemOf)):
                    continue
                reason = self.why_shared((start, b))
                joined = joiner.made[a]
                changed |= joined not in loop.shared and ("h", joined) in attempt.begin
                loop.shared[joined] = reason
                if not held.frozen:
                    self.freeze(start, b, reason)
                    inside = carried.get(("h", b))
                    if isinstance(inside, Node):
                        carried["h", b] = replace(inside, like=replace(inside.like, frozen=reason))
                    changed = True
        return changed

    # The finished loop

    def _close(self, loop: Loop, carried: dict[Any, Template], attempt: Attempt) -> Any:
        """Append the loop, and continue with what it leaves behind."""
        _move(attempt.before, self.build.block)
        side = Side(attempt.end, self._builder(attempt.block), self.sites, undef=attempt.dead)
        final: list[Value] = []
        for key in attempt.keys:
            out = attempt.end.get(key, UNBOUND)
            if key[0] == "jump":
                with self.build.inside(attempt.block):
                    out = self.flag_value(Static(False) if out is UNBOUND else out)
            missing = out is UNBOUND and not isinstance(carried[key], MaybeT)
            part = Side(side.cells, side.build, self.sites, undef=True) if missing else side
            final += convert(out, carried[key], part)
        self.cells = attempt.end
        with self.build.inside(attempt.block):
            leave: Any = Static(False) if attempt.dead else self.pending()
            leave_value = None if isinstance(leave, Static) and not leave.obj else self.number(leave)
        attempt.block.results = final if leave_value is None else [leave_value, *final]
        regions = self._regions(loop, attempt)
        types = [fresh_lengths(a.type) for a in attempt.args]
        inputs = [*loop.bounds, *attempt.init]
        op = self.build.op(loop.kind, inputs, types, regions=regions, exit=leave_value is not None, reverse=False)
        if loop.budget is not None:
            op.attrs["budget"] = loop.budget
        for out, arg in zip(op.outputs, attempt.args, strict=True):
            out.name = arg.name
        outputs = iter(op.outputs)
        self.cells = dict(attempt.entry)
        for key in attempt.keys:
            self.cells[key] = instantiate(carried[key], outputs, self.cells)
        for uid, reason in loop.shared.items():
            self.freeze(self.cells, uid, reason)
        self.dead = False
        self.land("done", loop.site)
        return self.land("break", loop.break_uid)

    def _regions(self, loop: Loop, attempt: Attempt) -> list[Block]:
        if loop.kind == "for":
            attempt.block.args = [*attempt.index, *attempt.args]
            return [attempt.block]
        with self.build.inside(attempt.cond_block):
            attempt.cond_block.results = [self.number(Static(True) if attempt.go_on is None else attempt.go_on)]
        attempt.cond_block.args = attempt.args
        body_args = [Value(a.type, a.name) for a in attempt.args]
        rename(attempt.block, dict(zip(attempt.args, body_args, strict=True)))
        attempt.block.args = body_args
        return [attempt.cond_block, attempt.block]

    # Loops whose first iteration is written out

    def _peel(self, loop: Loop, times: int) -> Any:
        """Write `times` first iterations out: what they bind has the type of all later iterations."""
        site = (loop.site, "peeled", times)
        outer, self.current_loop = self.current_loop, site
        try:
            trips = self.trip(*map(self.folded, loop.bounds)) if loop.kind == "for" else Static(0)
            test: Any = (
                self.compare_kind("greater", trips, Static(0)) if loop.kind == "for" else loop.cond()  # pyright: ignore[reportOptionalCall]
            )
            few = isinstance(trips, Static) and trips.obj <= WHOLE

            def first() -> None:
                self.afresh(lambda: loop.body(loop.bounds[:1]))
                known = few and isinstance(test, Static) and isinstance(self.pending(), Static)
                if known:
                    self.known_tests.add(whole(loop.site))
                self.unless_jumped(lambda: rest(known=known))

            def rest(*, known: bool) -> None:
                bounds = loop.bounds
                if loop.kind == "for":
                    bounds = [self.number(self.ew("add", *map(self.folded, (bounds[0], bounds[2])))), *bounds[1:]]
                later = replace(loop, site=site, bounds=bounds)
                more = times > 1 and (times <= MAX_PEELS or known)
                broke = self._peel(later, times - 1) if more else self._run_settled(later)
                if not (isinstance(broke, Static) and not broke.obj):
                    self.jump("break", loop.break_uid, flag=broke)

            outermost = times == self.learned.peels.get(loop.site)
            behind = self._rest_behind(loop) if outermost and not isinstance(test, Static) else None
            if isinstance(test, Static):  # what follows the loop follows it as ever
                self.when(test, first)
            elif behind is None:
                self.fork(test, first, lambda: None, zero_trips=loop.site)
            else:
                self.fork(
                    test,
                    lambda: (first(), self.land("break", loop.break_uid), behind())[-1],
                    lambda: self._or_fail(behind),
                    zero_trips=loop.site,
                )
        finally:
            self.current_loop = outer
        return self.land("break", loop.break_uid)

    def _rest_behind(self, loop: Loop) -> Callable[[], None] | None:
        """What follows the loop, to be interpreted both where it ran and where it did not."""
        tail = self.tail
        if (
            ("tail", loop.site) not in self.learned.peels
            or tail is None
            or tail.node is not loop.node
            or loop.node.orelse
        ):
            return None
        tail.done = True
        return lambda: self.unless_jumped(lambda: self.exec_block(tail.rest))

    def _or_fail(self, action: Callable[[], None]) -> None:
        """Statements that would not be accepted by themselves: reaching them is an error when the program runs."""
        try:
            action()
        except TypeProblem as error:
            told = f"{error.message} [{error.code}]"
            if error.python is None:  # Python may go on: no handler of the program catches this
                self.refuse_if(Static(True), NotImplementedError, av.inexact(told))
                self.dead = True
            else:
                self.throw(self.exception_object(error.python, Static(told)))

    def undecided(self, value: av.Poison, error: DiffjitError) -> Exception:
        """What to raise where a value has no form in common: what decides the path may be fixed."""
        numbers = [source for source in value.decided if source[0] == "param"]
        outside = [source for source in numbers if source[1][0] != "arg"]
        if outside and len(outside) == len(numbers):  # options: constants of the program as it stands
            return NeedStatic(error, outside)
        error.branch = next((source[1] for source in value.decided if source[0] == "branch"), None)
        found = self.in_arenas(value.kinds, error)
        return NeedStatic(error, numbers) if found is error and numbers else found

    def first_turn(self) -> Learn | None:
        """What to learn where writing out the first iteration of the loop around may help; None if it is."""
        around = whole(self.loops[-1].site) if self.loops else None
        return None if around is None or self.learned.peels.get(around, 0) else Learn("peels", {around: 1})

    def unusable(self, value: av.Poison, error: DiffjitError) -> Exception:
        """What to raise when a value without a common form is used: perhaps another attempt gives it one."""
        if any(self.may_tabulate(site) for site in value.tables):
            return Learn("tables", {site: True for site in value.tables if self.may_tabulate(site)})
        if value.turns:
            return Learn("cursors", set(value.turns))
        loop = whole(value.loop)
        if loop is None and (first := self.first_turn()) is not None:
            return first  # of paths that only the first iteration takes
        tail = isinstance(loop, tuple) and loop[0] == "tail"
        peeled = self.learned.peels.get(loop, 0)
        if loop is None or peeled >= (1 if tail else WHOLE if loop in self.known_tests else MAX_PEELS):
            return self.undecided(value, error)
        return Learn("peels", {loop: WHOLE if peeled >= MAX_PEELS else peeled + 1})


def _same_lengths(a: Any, b: Any) -> bool:
    """Whether two templates of one form know the same of lengths; a symbol that one knows stands for one length."""
    if isinstance(a, (MaybeT, OptT)):
        return True  # nothing is known of them (`prepared`)
    return all(
        not isinstance(x, Array) or x.dims == getattr(y, "dims", None)
        for x, y in zip(leaf_types(a), leaf_types(b), strict=True)
    )


def _numbers_in_texts(template: Any) -> int:
    """How many numbers the longest text has that a template may stand for."""
    variants = template.variants if isinstance(template, SumT) else [template]
    return max((len(v.children) for v in variants if isinstance(v, Node) and v.kind[0] == "text"), default=0)


def object_pairs(value: Any, template: Any, sites: Sites, cells: Cells) -> Iterator[tuple[av.Ref, Heap]]:
    """Objects in a value, and in what these hold, with the joined objects that a template makes of them."""
    if isinstance(template, (MaybeT, OptT)):
        yield from object_pairs(getattr(value, "value", value), template.inner, sites, cells)
    elif isinstance(template, Heap) and isinstance(value, av.Ref):
        if value.uid != template.uid:
            yield value, template
        contents = sites.found(cells, value.uid)
        if isinstance(template.contents, Node) and kind_of(contents) == template.contents.kind:
            yield from object_pairs(contents, template.contents, sites, cells)
    elif isinstance(template, Node) and kind_of(value) == template.kind:
        for part, child in zip(split(value), template.children, strict=True):
            yield from object_pairs(part, child, sites, cells)


def holds_heap(template: Any) -> bool:
    """Whether joined objects are made by a template."""
    if isinstance(template, Heap):
        return True
    if isinstance(template, Node):
        return any(holds_heap(c) for c in template.children)
    return isinstance(template, (OptT, MaybeT)) and holds_heap(template.inner)


def prepared(template: Any) -> Any:
    """What a loop may carry: no values fixed to one iteration, nothing known of the lengths of what is made inside."""
    template = forget_values(template)
    if isinstance(template, (MaybeT, OptT)) and template.inner is not None:
        return type(template)(freshen(template.inner))
    return template


def _move(source: Block, target: Block) -> None:
    for op in source.ops:
        for out in op.outputs:
            out.block = target
    target.ops.extend(source.ops)
    source.ops = []
