"""Lists, dicts and objects among the arguments that a function changes: a call has to change them outside, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diffjit.errors import TypeProblem
from diffjit.frontend.entry.outputs import Change, Same
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, describe
from diffjit.frontend.values.values import Static


class Arguments:
    """The arguments' containers and leaves as they were before the program ran."""

    def __init__(self, interpreter: Any) -> None:
        self.interpreter = interpreter
        self.found: list[av.Ref] = []
        self.places: dict[int, tuple[Any, ...]] = {}
        self.before: dict[int, Any] = {}
        self.leaves: dict[int, tuple[Any, ...]] = {}

    def enter(self, value: Any, path: tuple[Any, ...]) -> None:
        """Note a container, and what is in it."""
        if isinstance(value, av.Tup):
            for k, item in enumerate(value.items):
                self.enter(item, (*path, ("item", k)))
        elif isinstance(value, av.Ref):
            held = self.interpreter.contents(value)
            self.found.append(value)
            self.places[value.uid], self.before[value.uid] = path, held
            for step, item in parts(held):
                self.enter(item, (*path, step))
        else:
            self.leaves[id(value)] = path

    def refs(self) -> Iterator[tuple[av.Ref, tuple[Any, ...]]]:
        """The containers, with the paths to them."""
        return zip(self.found, self.places.values(), strict=True)

    def changed(self, uid: int) -> Any:
        """What a container holds, where that is not what it held before; else None."""
        held = self.interpreter.sites.held(self.interpreter.cells, uid)
        return None if held is self.before[uid] or _alike(held, self.before[uid]) else held

    def changes(self, output: Any) -> list[Change]:
        """What the program changed; `output` makes trees of results."""
        found = []
        for uid, path in self.places.items():
            held = self.changed(uid)
            if held is not None:
                self.refuse_other_class(held, self.before[uid])
                found.append(Change(path, _kind(held), self.tree(held, output)))
        return found

    def refuse_other_class(self, held: Any, before: Any) -> None:
        """A call does not change the class of an object that it was given."""
        if isinstance(held, av.ObjC) and held.cls is not before.cls:
            cure = "make an object of that class, and return it"
            raise TypeProblem("DJ319", f"the class of {describe(before)} among the arguments is changed", cure=cure)

    def tree(self, held: Any, output: Any) -> Any:
        """What a changed container holds: parts of the arguments stay themselves."""
        if isinstance(held, DynList):
            return output(held)
        if isinstance(held, av.Poison):
            raise TypeProblem(
                "DJ304", f"an argument that is changed becomes {held.reason}", cure="give it one form on all paths"
            )
        keys = [step[1] for step, _ in parts(held)]
        items = [self.part(item, output) for _, item in parts(held)]
        return items if isinstance(held, av.ListC) else dict(zip(keys, items, strict=True))

    def part(self, value: Any, output: Any) -> Any:
        """One part of a changed container."""
        if id(value) in self.leaves and not isinstance(value, Static):
            return Same(self.leaves[id(value)])
        return output(value)


def parts(held: Any) -> list[tuple[tuple[str, Any], Any]]:
    """The parts of a container, each with the step that leads to it."""
    if isinstance(held, av.ListC):
        return [(("item", k), v) for k, v in enumerate(held.items)]
    if isinstance(held, av.DictC):
        return [(("item", k), v) for k, v in held.items.items()]
    if isinstance(held, av.ObjC):
        return [(("attribute", n), v) for n, v in held.fields.items()]
    cure = "change a copy of it (`list(items)`), and return that"
    raise TypeProblem("DJ319", f"{describe(held)} among the arguments is changed", cure=cure)


def _alike(a: Any, b: Any) -> bool:
    if type(a) is not type(b) or isinstance(a, (DynList, av.Poison)):
        return False
    if isinstance(a, av.ObjC) and a.cls is not b.cls:
        return False
    left, right = parts(a), parts(b)
    return len(left) == len(right) and all(s == t and x is y for (s, x), (t, y) in zip(left, right, strict=True))


def _kind(held: Any) -> str:
    if isinstance(held, av.DictC):
        return "set" if held.is_set else "dict"
    return "object" if isinstance(held, av.ObjC) else "list"
