"""A call's arguments as flat leaves, and compiled programs as callables of those."""

from __future__ import annotations

import operator
import os
import threading
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from diffjit import streams, tree
from diffjit.api.engine.guards import Guards, checker
from diffjit.dataclass import dataclass
from diffjit.errors import MemoryProblem, UsageError
from diffjit.frontend.entry.outputs import Apart
from diffjit.frontend.entry.places import AsArray
from diffjit.ir.nodes import Loc
from diffjit.labels import Labels, Numbering, Results, numbered


class Building:
    """Programs are made by one thread at a time, which holds the lock; another that wants the same one waits for it."""

    lock = threading.RLock()

    @classmethod
    def forked(cls) -> None:
        """A process that was forked while another thread made a program has no such thread."""
        cls.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Building.forked)


@dataclass(slots=True, eq=False)
class Arguments:
    """One call's arguments: numeric leaves and their structure, argument by argument."""

    positional: list[tree.Structure]
    keywords: dict[str, tree.Structure]
    leaves: list[Any]
    starts: list[int]  # first leaf of each positional argument, then of each keyword
    key: Any
    general: Any = None  # what it is for ints that are no array's length, where some are: such a program does as well
    labels: Sequence[Labels] = ()  # of arrays that have some
    form: Arguments | None = None  # what stands for all calls whose trees look the same

    def results(self, outs: Iterable[Any]) -> list[Any]:
        """A program's flat results for these arguments, to be put together."""
        return Results(outs, self.labels) if self.labels else list(outs)

    def leaf_range(self, which: int | str) -> range:
        """The leaves of one argument."""
        if isinstance(which, int):
            start = self.starts[which]
            return range(start, start + self.positional[which].count())
        k = len(self.positional) + list(self.keywords).index(which)
        return range(self.starts[k], self.starts[k] + self.keywords[which].count())

    def structure(self, which: int | str) -> tree.Structure:
        """The structure of one argument."""
        return self.positional[which] if isinstance(which, int) else self.keywords[which]


class CallKey:
    """What the specialisations of a call hang on, hashed once."""

    __slots__ = ("hashed", "same", "value")

    def __init__(self, value: Any, same: Any) -> None:
        self.value = value, same
        self.same = same  # which lengths and which objects are equal, and which nests may pay threads
        self.hashed = hash(self.value)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CallKey) and self.value == other.value)


_DTYPES = {id(np.dtype(code)): code for code in "?bBhHiIlLqQfdFD"}  # the dtypes of the usual arrays, by identity
_PLAIN: dict[Any, Arguments] = {}  # calls with numbers and arrays alone, by what is quickly seen of them
_MANY = 4096


_NUMBERS = frozenset({float, int, np.float64})
_SEEN_NUMBERS: set[tuple[type, ...]] = set()  # classes of arguments that are numbers alone


_ARRAYS: set[tuple[type, ...]] = {(np.ndarray,) * n for n in range(1, 33)}
# How to look at each of such arguments, where arrays are among them, and where ints.
_MIXED: dict[tuple[type, ...], tuple[list[Callable[[Any], Any]], list[int], list[int]]] = {}
_LOOK = operator.attrgetter("dtype.num", "dtype.isnative", "shape", "flags.num")


def look(args: tuple[Any, ...]) -> Any:
    """What is seen of arguments still more quickly than by `glance`: enough to find again what has been told there."""
    kinds = tuple(map(type, args))
    if kinds in _SEEN_NUMBERS:
        return kinds
    if kinds in _ARRAYS:
        return tuple(map(_LOOK, args))
    known = _MIXED.get(kinds)
    if known is None:
        if len(_MIXED) > _MANY or not all(kind is np.ndarray or kind in _NUMBERS for kind in kinds):
            return glance(args)
        arrays = [k for k, kind in enumerate(kinds) if kind is np.ndarray]
        ints = [k for k, kind in enumerate(kinds) if kind is int]
        looks = [_LOOK if kind is np.ndarray else type for kind in kinds]
        known = _MIXED[kinds] = looks, arrays, ints
    looks, arrays, ints = known
    seen = [f(a) for f, a in zip(looks, args, strict=True)]
    if ints:
        lengths = [n for k in arrays for n in args[k].shape]
        seen += [args[k] if args[k] in lengths else None for k in ints]  # what `tree.counts` hangs on
    return tuple(seen)


def glance(args: tuple[Any, ...]) -> Any:
    """What is quickly seen of numbers and arrays; None where there is more to an argument."""
    kinds = tuple(map(type, args))
    if kinds in _SEEN_NUMBERS:
        return kinds
    if np.ndarray not in kinds:
        if not _NUMBERS.issuperset(kinds) or len(_SEEN_NUMBERS) > _MANY:
            return None
        _SEEN_NUMBERS.add(kinds)
        return kinds
    seen: list[Any] = []
    for kind, a in zip(kinds, args, strict=True):
        if kind is np.ndarray:
            code = _DTYPES.get(id(a.dtype))
            if code is None:
                return None
            seen += (code, a.flags.num, a.shape)
        elif kind in _NUMBERS:
            seen.append(kind)
        else:
            return None
    if int in kinds:
        seen += tree.counts(args).items()
    return tuple(seen)


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Split a call's arguments."""
    seen = None if kwargs else glance(args)
    if seen is None:
        return _split_trees(args, kwargs)
    known = _PLAIN.get(seen)
    if known is None:
        if len(_PLAIN) >= _MANY:
            _PLAIN.clear()
        known = _PLAIN[seen] = _split_call(args, kwargs)
        known.leaves = []
    return Arguments(known.positional, known.keywords, list(args), known.starts, known.key, known.general)


_TREES: dict[Any, Arguments] = {}  # the same of arguments by name, tuples, lists, dicts and objects


def _split_trees(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Split arguments by name, and tuples, lists, dicts and objects: what has the same form is split once."""
    spelled: list[Any] = [(len(args), *kwargs)]
    leaves: list[Any] = []
    held: set[int] = set()
    if not all([spell(a, spelled, leaves, held) for a in (*args, *kwargs.values())]):  # noqa: C419 - lists are quicker
        return _split_call(args, kwargs)
    if int in spelled:
        spelled += tree.counts(leaves).items()
    seen = tuple(spelled)
    known = _TREES.get(seen)
    if known is None:
        made = _split_call(args, kwargs)
        if len(made.leaves) != len(leaves) or not all(map(operator.is_, made.leaves, leaves)):
            return made
        if len(_TREES) >= _MANY:
            _TREES.clear()
        known = _TREES[seen] = replace(made, leaves=[])
    return Arguments(known.positional, known.keywords, leaves, known.starts, known.key, known.general, form=known)


def spell(item: Any, spelled: list[Any], leaves: list[Any], held: set[int], depth: int = 0) -> bool:
    """Write down what a specialisation may know of a tree, and its leaves as `tree.flatten` orders them.

    It is False where there is more to it than is quickly seen; where a container stands at two places, say (`held`).
    """
    kind = type(item)
    if kind is np.ndarray:
        code = _DTYPES.get(id(item.dtype))
        spelled.append((code, item.flags.num, item.shape))
        leaves.append(item)
        return code is not None
    if kind in _NUMBERS:
        spelled.append(kind)
        leaves.append(item)
        return True
    if kind in _FIXED:
        spelled.append((kind, item))
        return True
    if kind is not tuple:
        if id(item) in held:
            return False
        held.add(id(item))
    depth += 1
    if depth > _DEEPEST:
        return False
    if kind is list or kind is tuple:
        spelled.append((kind, len(item)))
        return all([spell(part, spelled, leaves, held, depth) for part in item])  # noqa: C419 - as above
    if kind is dict:
        keys = tuple(item)
        spelled.append(keys)
        plain = _TEXTS.issuperset(map(type, keys))
        return plain and all([spell(item[key], spelled, leaves, held, depth) for key in sorted(keys)])  # noqa: C419
    if kind not in _RECORDS:
        _RECORDS[kind] = tree.is_plain_record(item)
    if not _RECORDS[kind]:
        return False
    fields = item.__dict__
    spelled.append((kind, *fields))
    return all([spell(part, spelled, leaves, held, depth) for part in fields.values()])  # noqa: C419


_TEXTS, _FIXED = frozenset({str}), frozenset({str, bool, type(None)})
_RECORDS: WeakKeyDictionary[type, bool] = WeakKeyDictionary()  # classes whose objects are their attributes alone


def _split_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    _refuse_rings((*args, *kwargs.values()))
    leaves: list[Any] = []
    starts: list[int] = []
    positional = []
    for a in args:
        more, structure = tree.flatten(a)
        starts.append(len(leaves))
        leaves += more
        positional.append(structure)
    keywords = {}
    for name, a in kwargs.items():
        more, structure = tree.flatten(a)
        starts.append(len(leaves))
        leaves += more
        keywords[name] = structure
    same = _equal_lengths(leaves), _twins((*args, *kwargs.values())), tree.threads_from(leaves)
    labels = tuple(tree.labels_of((*positional, *keywords.values())))
    if labels:
        same = *same, numbered(labels)
        number = Numbering(labels)
        positional = [tree.with_numbers(s, number) for s in positional]
        keywords = {name: tree.with_numbers(s, number) for name, s in keywords.items()}
    structure = tuple(positional), tuple(keywords.items())
    counts = tuple(tree.counts(leaves).items())
    key = CallKey(structure, (*same, counts))
    general = CallKey(structure, (*same, ())) if counts else None
    return Arguments(positional, keywords, leaves, starts, key, general, labels)


def _twins(args: tuple[Any, ...]) -> tuple[tuple[int, int], ...]:
    """Which lists, dicts and objects in the arguments are the very one that stands at an earlier place."""
    places: dict[int, int] = {}
    found: list[tuple[int, int]] = []
    todo: list[Any] = list(args)
    for number, item in enumerate(todo):  # which grows
        kind = type(item)
        if kind in _SINGLE or isinstance(item, (np.ndarray, np.generic)):
            continue
        if not issubclass(kind, tuple):
            first = places.setdefault(id(item), number)
            if first != number:
                found.append((number, first))
                continue
        todo += _parts(item)
    return tuple(found)


def _parts(item: Any) -> Iterable[Any]:
    """What a list, tuple, dict or object in the arguments holds."""
    if isinstance(item, (list, tuple)):
        return item
    if isinstance(item, dict):
        return item.values()
    return tree.attributes(item).values() if tree.is_record(item) else ()


_DEEPEST = 100  # a form as deep is a chain of nodes, of which each length would be a program of its own


def _refuse_rings(args: tuple[Any, ...]) -> None:
    """Refuse what holds itself, which has no form, and what is too deep for one."""
    layer: Iterable[Any] = args
    for _ in range(_DEEPEST):
        inner = (p for a in layer if type(a) not in _SINGLE and not isinstance(a, np.generic) for p in _parts(a))
        layer = {id(p): p for p in inner}.values()
        if not layer:
            return
    deepest = next((p for p in layer if tree.is_record(p)), next((p for p in layer if _parts(p)), None))
    problem = f"the arguments hold one another, or are too deep: in the end a {type(deepest).__name__}"
    raise UsageError("DJ511", problem, cure="let the program find such nodes outside, in a global or closure variable")


_SINGLE = frozenset({float, int, complex, bool, str, type(None), np.ndarray, types.FunctionType})


def _equal_lengths(leaves: list[Any]) -> tuple[int, ...]:
    """Which lengths were met before: equal ones need no tests, no sums over repeats, and prove indices of squares."""
    lengths = [n for a in leaves if isinstance(a, np.ndarray) for n in a.shape if n != 1]
    return tuple([lengths.index(n) for n in lengths])


@dataclass(slots=True, eq=False)
class Compiled:
    """An executable program: calls with flat leaves, checks what the specialisation rests on."""

    run: Callable[..., Any]
    captures: list[Callable[[], Any]]
    capture_keys: list[Any]
    guards: Guards
    mutated: list[int]
    unchanged: bool  # a derivative: the caller's arrays stay as they are
    names: list[str] = field(default_factory=list)
    place: Loc | None = None  # where the function is defined
    streams: list[int] = field(default_factory=list)  # inputs that are streams of random numbers, which it draws from
    followed: dict[Any, Any] = field(default_factory=dict)  # the functions in it, and their code
    portable: bool = False  # it rests on guards and captures alone
    changed_outside: list[Any] = field(default_factory=list[Any])  # objects outside that the program changes
    apart: Apart | None = None  # objects that the program takes for several
    valid: Callable[[], bool] = field(init=False)  # whether everything outside is still the same

    @property
    def direct(self) -> Callable[..., tuple[Any, ...]] | None:
        """The program as it is called with its leaves one by one, where nothing else is to be done."""
        return None if self.captures or self.mutated or self.streams else self.run

    def __post_init__(self) -> None:
        self.valid = checker(self.guards, self.followed, self.captures, self.capture_keys)

    def __call__(self, leaves: Sequence[Any], more: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The program's flat results; `more` follows what it captures."""
        inputs = [*leaves, *[getter() for getter in self.captures]] if self.captures else leaves
        if self.mutated:
            self.check_memory(inputs)
        outs = self.draw(inputs, more) if self.streams else self.run(*inputs, *more)
        if self.mutated:
            self.give_back(inputs)
        return outs

    def draw(self, inputs: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
        """A program that draws random numbers: streams are left as it has left their words, also by an error."""
        drawn = [inputs[k] for k in self.streams]
        for k, stream in zip(self.streams, drawn, strict=True):
            first = self.streams[[x is stream for x in drawn].index(True)]
            if first != k:
                raise MemoryProblem(
                    "DJ402",
                    f"`{self._name(first)}` and `{self._name(k)}` are one stream of random numbers",
                    loc=self.place,
                    cure="let the function take it from one place",
                )
        given = list(inputs)
        with streams.held(drawn):
            words = [streams.words_of(stream) for stream in drawn]
            for k, taken in zip(self.streams, words, strict=True):
                given[k] = taken
            try:
                return self.run(*given, *more)
            finally:
                for stream, left in zip(drawn, words, strict=True):
                    streams.put_back(stream, left)

    def inputs_as_they_are(self, leaves: Sequence[Any]) -> list[Any]:
        """Copies of what the program is given now: of streams of random numbers, their words."""
        inputs = [*leaves, *(getter() for getter in self.captures)]
        return [
            streams.words_of(x)
            if k in self.streams
            else np.array(x, order="K", copy=True)
            if isinstance(x, np.ndarray)
            else x
            for k, x in enumerate(inputs)
        ]

    def again(self, residuals: Sequence[Any], *, split: bool) -> Sequence[Any]:
        """What a map runs on that does all of a program once more: it changes the words of streams."""
        if split or not self.streams:
            return residuals
        return [x.copy() if k in self.streams else x for k, x in enumerate(residuals)]

    def give_back(self, inputs: Sequence[Any]) -> None:
        """A long list outside that the program writes to was an array there."""
        for k in self.mutated if not self.unchanged else ():
            getter = self.captures[k - len(inputs)] if k >= len(inputs) - len(self.captures) else None
            if isinstance(getter, AsArray):
                getter.owner()[:] = inputs[k].tolist()

    def check_memory(self, inputs: Sequence[Any]) -> None:
        """Arguments that share memory while one is written would have to be one; read-only ones cannot be written."""
        for k in self.mutated:
            if not inputs[k].flags.writeable:
                message = "assignment destination is read-only"
                raise ValueError(message)
            for j, other in enumerate(inputs):
                if (
                    j != k
                    and isinstance(other, np.ndarray)
                    and np.may_share_memory(inputs[k], other)
                    and np.shares_memory(inputs[k], other)
                ):
                    raise MemoryProblem(
                        "DJ402",
                        f"arguments `{self._name(k)}` and `{self._name(j)}` share memory, "
                        f"and `{self._name(k)}` is written to",
                        loc=self.place,
                        cure=f"pass a copy: {self._name(j)}.copy()",
                    )

    def _name(self, k: int) -> str:
        return self.names[k] if k < len(self.names) and self.names[k] else f"#{k}"


def fixed_key(leaves: Sequence[Any], which: int) -> Any:
    """What a specialisation depends on of one of `Program.fixed`.

    That is a number's value or sign, an array's shape, whether an axis is as long as a program takes of it, or what
    lengths differ by.
    """
    about = tree.reached(which)
    if about is not None:
        k, axis, length = about
        return leaves[k].shape[axis] >= length
    if which < 0:
        return tree.sign_of(leaves[~which])
    if which == tree.RELATED:
        return tree.relations(leaves)
    leaf = leaves[which]
    return leaf.shape if isinstance(leaf, np.ndarray) else leaf


def by_shapes(leaves: Sequence[Any], fixed: Iterable[int]) -> bool:
    """Whether what a specialisation is fixed for follows from the shapes of arrays."""
    return all(k == tree.RELATED or tree.reached(k) or (k >= 0 and isinstance(leaves[k], np.ndarray)) for k in fixed)
