"""Activations of functions, and what specialisation learns by failing: it starts again with that."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError
from diffjit.frontend.entry.subset import read_within
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Sites
from diffjit.ir.nodes import Value

SOME_CALLS = 2  # of one function whose loop was written out for a turn, in each of them
_OF_FRAMES = ("v", "ret")  # kinds of cells that belong to a frame
MOST_GIVEN_UP = 40  # branches of one program that raise when they are taken


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function."""

    uid: int
    fn: av.Fn
    local: frozenset[str]
    outer: frozenset[str]  # nonlocal and global names
    captured: bool = False
    on_yield: Callable[[Any], None] | None = None
    comprehension: bool = False
    class_body: bool = False
    annotated: dict[str, Any] = field(default_factory=dict)  # of a class body: annotated names, a dataclass's fields
    forks: int = 0  # run-time branches and loops around the call
    form: Any = None  # what is known of the arguments while specialising
    before: Any = None  # cells when it was entered, where it has called itself many times
    # Generator expressions that see its variables and that nothing has gone through yet -> branches and loops around.
    waiting: dict[int, int] = field(default_factory=dict)

    @property
    def read_later(self) -> bool:
        """Whether its variables may be read when it has been left."""
        return self.captured or bool(self.waiting)

    def forgotten(self, names: frozenset[str]) -> frozenset[str]:
        """Of its variables, those that nothing reads when it has been left: no function within mentions them."""
        if self.waiting:
            return frozenset()
        return names - read_within(self.fn.node) if self.captured else names


@dataclass(slots=True, eq=False)
class Learned:
    """What earlier attempts at a specialisation found out."""

    lists: dict[Any, Any] = field(default_factory=dict)  # where a list is made -> template of its items
    changed: dict[Any, Any] = field(default_factory=dict)  # what is changed outside -> it, its place, attributes
    assigned: dict[Any, Any] = field(default_factory=dict)  # variables outside that are assigned -> their places
    captures: set[Any] = field(default_factory=set)  # numbers and lengths from outside that must be known
    signs: set[Any] = field(default_factory=set)  # ints from outside whose sign must be known
    outlined: set[Any] = field(default_factory=set)  # recursive functions that are programs of their own
    constructed: dict[Any, Any] = field(default_factory=dict)  # `__init__`s that make their class's -> what calls them
    shared: frozenset[Any] = frozenset()  # functions that are written once for all calls of one form
    unshared: set[Any] = field(default_factory=set)  # those of them that cannot be
    repeated: Any = None  # how often functions were written out
    packed: set[Any] = field(default_factory=set)  # recursive ones that take lists outside along by value
    looped: set[Any] = field(default_factory=set)  # those that are loops with stacks
    tables: dict[Any, bool] = field(default_factory=dict)  # dicts with run-time keys -> whether known ones would do
    spelled: dict[Any, bool] = field(default_factory=dict)  # dicts whose keys have to be known after all
    cursors: set[Any] = field(default_factory=set)  # where an iterator has to be an object that knows its place
    apart: set[Any] = field(default_factory=set)  # not empty: objects that branches choose from are changed later
    live: set[Any] = field(default_factory=set)  # lists whose items are objects that are changed in place
    doubts: set[Any] = field(default_factory=set)  # divisions of numbers that are Python's or NumPy's by path
    boxed: set[Any] = field(default_factory=set)  # where `np.where` of numbers makes an array that is written to
    arenas: dict[type, Any] = field(default_factory=dict)  # classes whose objects hold one another -> their lists
    referred: set[Any] = field(default_factory=set)  # not empty: lists that nodes hold are known by their places, too
    whole: set[Any] = field(default_factory=set)  # classes whose objects from outside are read whole, as one of several
    classes: dict[Any, type] = field(default_factory=dict)  # where a class inside a function is made -> its stand-in
    early: set[Any] = field(default_factory=set)  # those whose `__init__` puts the object into others
    late: set[Any] = field(default_factory=set)  # their attributes that not all of their objects have
    moving: set[Any] = field(default_factory=set)  # not empty: arrays that say axes or shapes change in a loop
    swallowing: set[Any] = field(default_factory=set)  # not empty: an ExitStack's managers may swallow exceptions
    told_apart: set[Any] = field(default_factory=set)  # handlers that look at their exception without a name for it
    peels: dict[Any, int] = field(default_factory=dict)  # loop -> how many first iterations are written out
    long: set[Any] = field(default_factory=set)  # loops over known items that would be long if they were written out
    written: set[Any] = field(default_factory=set)  # those of them that are written out, however long
    tables_allowed: bool = True  # whether there may be others
    sums: bool = False  # whether numbers and arrays without a common type are told apart at run time
    clashes: bool = False  # whether there are such
    rows: bool = False  # whether lists of unlike items in growing lists keep their lengths, and each item its type
    unlike: bool = False  # whether there are such
    dead: bool = False  # whether the program raises for certain
    given_up: frozenset[Any] = frozenset()  # what is refused in branches, and raises where these are taken
    forgotten: frozenset[Any] = frozenset()  # those of which nothing else that their branches taught is known
    at_once: bool = False  # whether a branch may be given up where it is met, without starting again
    refused: DiffjitError | None = None  # the first refusal of a branch that was

    def doubtful(self) -> dict[Any, bool]:
        """Dicts with run-time keys of which known ones would do."""
        return {site: doubt for site, doubt in self.tables.items() if doubt}

    def peels_of(self, site: Any) -> int:
        """How many first iterations of a loop are written out: one where it stands in a function that is called often.

        Two calls in which the first turn differs from later ones are enough for all of them: each costs an attempt.
        """
        if site not in self.peels and sum(1 for other in self.peels if other[-1] == site[-1]) >= SOME_CALLS:
            self.peels[site] = 1
        return self.peels.get(site, 0)

    def has_tables(self) -> bool:
        """Whether loops over known items go through tables, and could be written out."""
        return bool(self.long) and self.tables_allowed

    def gives_up(self, site: Any, error: DiffjitError, sites: Sites) -> bool:
        """Whether a branch raises where it is taken: known already, or known from here on, as nothing else is left."""
        if site in self.given_up:
            return True
        left = self.doubtful() or self.has_tables() or ((sites.clashes or self.clashes) and not self.sums)
        left = left or ((sites.unlike or self.unlike) and not self.rows)
        if not self.at_once or left or error.branch is not None or len(self.given_up) >= MOST_GIVEN_UP:
            return False
        self.given_up |= {site}
        self.refused = self.refused or error
        return True


class NeedStatic(Exception):
    """A run-time number is needed while specialising; whoever controls it may fix its value and start again."""

    def __init__(self, error: DiffjitError, sources: list[Any]) -> None:
        super().__init__(str(error))
        self.error = error
        self.sources = sources


def whole(loop: Any) -> Any:
    """The loop whose iterations behind the first ones this is."""
    while isinstance(loop, tuple) and len(loop) == 3 and loop[1] == "peeled":
        loop = loop[0]
    return loop


@dataclass(slots=True, eq=False)
class Met:
    """What is known of a loop from when it was met last."""

    attempt: int  # at the loop around
    inside: int  # the chain of attempts at its body
    kinds: dict[str, Any]  # of the variables around it
    carried: dict[Any, Any] = field(default_factory=dict)


class Hints:
    """What loops carried in the last attempt at the loop around them: it is the least that they will carry in this one.

    That is so as types only get wider from one attempt to the next, along a chain of attempts in which each loop is met
    once. What is met again in the same attempt may have narrower types: in another turn of a loop that is written out,
    for another kind of a value, in a statement that is interpreted again. There, and where a variable around is of
    another kind than it was, nothing is said.
    """

    def __init__(self) -> None:
        self.met: dict[Any, Met] = {}
        self.often: set[Any] = set()
        self.numbers = itertools.count(1)
        self.attempt = self.chain = 0

    def meet(self, site: Any, kinds: dict[str, Any]) -> Met:
        """A loop is about to be interpreted, in the present attempt at the one around."""
        key = (site, self.chain)
        before = self.met.get(key)
        if before is not None and before.attempt == self.attempt:
            self.often.add(key)
        met = self.met[key] = Met(self.attempt, next(self.numbers), kinds)
        if before is not None and key not in self.often and before.kinds == kinds:
            met.inside, met.carried = before.inside, before.carried
        return met

    @contextmanager
    def attempting(self, met: Met) -> Iterator[None]:
        """One interpretation of a loop's body."""
        outer = self.attempt, self.chain
        self.attempt, self.chain = next(self.numbers), met.inside
        try:
            yield
        finally:
            self.attempt, self.chain = outer


def kinds_around(frame: Frame, cells: dict[Any, Any]) -> dict[str, Any]:
    """What the variables of a frame are: types of numbers and arrays, what is known, and kinds of all else."""
    return {key[2]: _kind(value) for key, value in cells.items() if key[0] == "v" and key[1] == frame.uid}


def _kind(value: Any) -> Any:
    if isinstance(value, Value):
        return value.type.dtype, getattr(value.type, "ndim", -1), getattr(value.type, "weak", None)
    if isinstance(value, av.Static):
        known = isinstance(value.obj, (int, float, complex, str, type(None)))
        return type(value.obj), value.obj if known else id(value.obj)
    return type(value)


def by_frame(carried: dict[Any, Any], frames: list[Frame]) -> dict[Any, Any]:
    """What a loop carried, by the places of frames: a call that is interpreted again has other ones.

    So has what is counted or added up on the way, of which a loop has one: it is the newest.
    """
    places = {f.uid: k for k, f in enumerate(frames)}
    found: dict[Any, Any] = {}
    for key, template in carried.items():
        if key[0] == "t":
            found["t", 0] = template
        elif key[0] not in _OF_FRAMES:
            found[key] = template
        elif key[1] in places:
            found[key[0], places[key[1]], *key[2:]] = template
    return found


def in_frames(place: Any, frames: list[Frame], cells: dict[Any, Any]) -> Any:
    """The cell that has such a place now."""
    if place[0] == "t":
        return "t", max((key[1] for key in cells if key[0] == "t"), default=0)
    if place[0] not in _OF_FRAMES:
        return place
    return (place[0], frames[place[1]].uid if place[1] < len(frames) else -1, *place[2:])
