"""Names for variables: all versions of the user's `x` are called `x`, as far as they are never needed at the same time.

Variables that copies connect and variables with the same name hint form one class while nothing in the class
interferes. Each class gets one name. Where two classes want the same name, parameters have it first, then what is
returned, then the class with most versions; an older value that is still needed after its name was taken over is called
`x_kept`, others `x_1`, `x_2`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from diffjit.ir.nodes import Function, Value
from diffjit.ir.text.folding import Folding
from diffjit.ir.text.liveness import Liveness
from diffjit.ir.text.names import GENERIC, RESERVED, Names, identifier
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.types import BOOL, List, Stack

_LETTERS = "ijklmnpqr"


class Class:
    """Variables that share a name."""

    __slots__ = ("first", "hint", "interferes", "members", "pinned", "storage")

    def __init__(self, v: Value, position: int, interferes: set[Value], *, pinned: bool) -> None:
        self.members = {v}
        self.first = position  # when the earliest of them is assigned
        self.hint = ""
        self.interferes = interferes
        self.pinned = pinned
        self.storage: object = None


class Coalescer:
    """Groups variables into classes; `names` holds the name of each variable."""

    def __init__(
        self, function: Function, folding: Folding, liveness: Liveness, printer: OpPrinter, reserved: Iterable[str]
    ) -> None:
        self.liveness = liveness
        self.folding = folding
        self.printer = printer
        self.params = set(function.params)
        self.letters: set[str] = set()  # given to indices
        self.subjects: dict[Value, str] = {}
        self.hints = self._hints()
        self.class_of: dict[Value, Class] = {}
        for k, v in enumerate(liveness.variables):
            made = Class(v, k, set(liveness.interferes[v]), pinned=v in self.params)
            made.hint = self.hints[v]
            made.storage = printer.storage(v.type)
            self.class_of[v] = made
        self._merge_copies()
        self._merge_versions()
        self.free = Names({*RESERVED, *printer.prelude, *printer.reserved, *printer.imports, *reserved})
        self.names: dict[Value, str] = {}
        self._assign_names()

    # Hints

    def _hints(self) -> dict[Value, str]:
        """A name that each variable would like."""
        hints = {v: identifier(v.name) for v in self.liveness.variables if v.name}
        variable, folded = self.liveness.variable, self.folding.folded
        edges = [(d, variable(v)) for d, v in self.liveness.copies if v not in folded]
        self._hint_members(hints)
        _spread(hints, edges)
        for control in (False, True):  # what joins values is called as they are
            for v in self.liveness.variables:
                if v not in hints and (v.op is not None and v.op.row.nested) == control:
                    hints[v] = self._described(v, hints)
            if not control:
                _spread(hints, edges)
        self._separate_indices(hints)
        self._separate_flags(hints)
        return hints

    def _hint_members(self, hints: dict[Value, str]) -> None:
        """A carried value without a name takes that of its arguments inside the loop."""
        for member, v in self.liveness.variable_of.items():
            if v not in hints and member.name:
                hints[v] = identifier(member.name)

    def _separate_indices(self, hints: dict[Value, str]) -> None:
        """An index named as one of a loop around it takes another letter."""
        used = set(hints.values())
        for v, around in self.liveness.indices.items():
            if any(hints[w] == hints[v] for w in around):
                taken = {hints[w] for w in around}
                free = (c for c in _LETTERS if c not in taken and (c not in used or c in self.letters))
                hints[v] = next(free, hints[v])
                self.letters.add(hints[v])

    def _separate_flags(self, hints: dict[Value, str]) -> None:
        """A flag named as the value that it is about (is `x` bound?) is called `has_x`."""
        groups: dict[str, list[Value]] = defaultdict(list)
        for v in self.liveness.variables:
            groups[hints[v]].append(v)
        for hint, group in groups.items():
            flags = [v for v in group if v.type == BOOL]
            if hint != GENERIC and flags and len(flags) < len(group) and not any(v in self.params for v in flags):
                for v in flags:
                    hints[v] = f"has_{hint}"

    def _described(self, v: Value, hints: dict[Value, str]) -> str:
        if v.op is None:
            return "i"
        operands = [self._subject(x, hints) for x in v.op.inputs]
        hint = self.printer.hint(v.op, operands)
        return identifier(hint) if hint else GENERIC

    def _subject(self, v: Value, hints: dict[Value, str]) -> str:
        """What a value is about: its name, or that of the first thing it is computed from."""
        variable = self.liveness.variable(v)
        known = hints.get(variable) or v.name or self.subjects.get(v)
        if known is not None:
            return known
        self.subjects[v] = ""
        if v.op is not None and v in self.folding.folded:
            self.subjects[v] = next((s for x in v.op.inputs if (s := self._subject(x, hints))), "")
        return self.subjects[v]

    # Classes

    def _merge_copies(self) -> None:
        variable, folded = self.liveness.variable, self.folding.folded
        for d, v in self.liveness.copies:
            if v in folded:
                continue
            s = variable(v)
            if self.hints[d] == self.hints[s]:
                self._merge(d, s)

    def _merge_versions(self) -> None:
        groups: dict[str, list[Class]] = defaultdict(list)
        for v in self.liveness.variables:
            made = self.class_of[v]
            if made.hint == GENERIC:
                continue
            group = groups[made.hint]
            if made in group or any(self._merge(next(iter(other.members)), v) for other in group):
                continue
            group.append(made)

    def _merge(self, a: Value, b: Value) -> bool:
        """Give two variables one name, if they may share it."""
        one, two = self.class_of[a], self.class_of[b]
        if one is two:
            return True
        if (one.pinned and two.pinned) or one.storage != two.storage:
            return False
        if not one.interferes.isdisjoint(two.members) or not two.interferes.isdisjoint(one.members):
            return False
        if len(two.members) > len(one.members):
            one, two = two, one
        one.members |= two.members
        one.interferes |= two.interferes
        one.first = min(one.first, two.first)
        one.pinned |= two.pinned
        for v in two.members:
            self.class_of[v] = one
        return True

    # Names

    def _assign_names(self) -> None:
        groups: dict[str, list[Class]] = defaultdict(list)
        for made in dict.fromkeys(self.class_of.values()):
            groups[made.hint].append(made)
        results = {self.liveness.variable(v) for v in self.liveness.function.results}
        winners = {hint: max(group, key=lambda c: _claim(c, results)) for hint, group in groups.items()}
        named: set[str] = set()
        for p in self.liveness.function.params:
            taken = p.name is None or p.name in named
            name = self.free.fresh(p.name or "arg") if taken else self.free.pin(p.name or "")
            named.add(name)
            self._name(self.class_of[p], name)
        wanted: list[tuple[Class, str]] = []
        for hint, group in groups.items():
            winner = winners[hint]
            if hint == GENERIC:
                wanted += [(c, "") for c in group]
                continue
            if not winner.pinned:
                self._name(winner, self.free.fresh(hint))
            for other in group:
                if other is not winner and not other.pinned:
                    older = other.first < winner.first and _is_plain_version(other)
                    wanted.append((other, f"{hint}_kept" if older else ""))
        for made, kept in wanted:
            if made.hint == GENERIC:
                name = self.free.numbered("t")
            elif kept:
                name = self.free.fresh(kept)
            else:
                name = self.free.numbered(made.hint + "_")
            self._name(made, name)

    def _name(self, made: Class, name: str) -> None:
        for v in made.members:
            self.names[v] = name


def _claim(made: Class, results: set[Value]) -> tuple[bool, bool, int, int]:
    """How good a class's claim to its name is: parameters, what is returned, what has most versions, the latest."""
    return made.pinned, not made.members.isdisjoint(results), len(made.members), made.first


def _is_plain_version(made: Class) -> bool:
    """Whether these are versions of something that has a name, and no tape."""
    return any(v.name for v in made.members) and not any(isinstance(v.type, (List, Stack)) for v in made.members)


def _spread(hints: dict[Value, str], edges: list[tuple[Value, Value]]) -> None:
    """Give names along copies to variables that have none."""
    for _ in range(3):
        for d, s in reversed(edges):
            if s not in hints and d in hints:
                hints[s] = hints[d]
        for d, s in edges:
            if d not in hints and hints.get(s, GENERIC) != GENERIC:
                hints[d] = hints[s]
