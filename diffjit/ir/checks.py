"""Accesses that go without a test name the test on which they rely.

    v = a[i]                  # tests i:           attrs checks=(c,)
    a_bar[i] += g             # relies on that:    attrs inbounds=c
    tape = np.empty(trips)    # made long enough:  attrs checks=(c,)
    tape[k] = v               #                    attrs inbounds=c

A check is an object that copies of an operation share: it keeps its name as programs are copied, joined and split.
What is `needed` of others, as nothing in a program checks it before it is relied upon, may not grow from pass to pass,
as it does where a check is dropped or overtaken. The verifier asks after each pass, and of the loops as printed.

What is checked is order: the ways through a program on which an access runs are those on which its check has run by the
construction of who promised it (`Check.by`): a sweep back visits what the sweep forward visited.
"""

from __future__ import annotations

from typing import Any

from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value, const_of
from diffjit.ir.raising import picks


class Check:
    """A test on which accesses rely; `by`: who says so. `proven`: types and constants say that it cannot fail."""

    __slots__ = ("by", "proven")

    def __init__(self, by: str, *, proven: bool = False) -> None:
        self.by = by
        self.proven = proven

    def __repr__(self) -> str:
        return self.by


PROVEN = Check("integers", proven=True)
"""What needs no test, as integers say."""


def relying(op: Op, by: str) -> dict[str, Any]:
    """Attributes of an access at a place that an operation has accessed before, in memory of the same lengths."""
    if not picks(op):
        return {}
    if _is_plain(op):
        return {"inbounds": PROVEN}
    known = op.attrs.get("inbounds")
    return _named(op, by) if known is None else {"inbounds": known}


def _named(op: Op, by: str) -> dict[str, Any]:
    """Attributes of an access that relies on what an operation tests or makes."""
    if CHECKS not in op.attrs:
        op.attrs[CHECKS] = (Check(by),)
    return {"inbounds": op.attrs[CHECKS][0]}


def _is_plain(op: Op) -> bool:
    """Whether types and constants say that an element is there."""
    dims, first = op.inputs[0].type.dims, op.row.indices_at
    if first is None or op.kind == "view":
        return False
    indices = [const_of(v) for v in op.inputs[first:]]
    return all(i is not None and isinstance(n, int) and -n <= i < n for i, n in zip(indices, dims, strict=True))


def fitting(array: Value, by: str) -> dict[str, Any]:
    """Attributes of an access to memory that has been made long enough for it."""
    op = array.op
    if op is None or not op.row.makes:
        raise AssertionError(f"{array!r} is not made where it is accessed")
    return _named(op, by)


def inherit(op: Op, gone: Op) -> None:
    """An operation tests what one that goes has tested."""
    more = [c for c in gone.attrs.get(CHECKS, ()) if c not in op.attrs.get(CHECKS, ())]
    if more:
        op.attrs[CHECKS] = (*op.attrs.get(CHECKS, ()), *more)


def cannot_fail(op: Op) -> None:
    """What an operation tests is so whenever its program runs, as types, constants or integers say."""
    for check in op.attrs.get(CHECKS, ()):
        check.proven = True


# Order ----------------------------------------------------------------------------------------------------------------


class Needs:
    """What functions test, and what they need to have been tested before they are called."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[frozenset[Check], frozenset[Check]]] = {}

    def of(self, function: Function) -> tuple[frozenset[Check], frozenset[Check]]:
        """The checks that a function makes, with those of functions that it calls, and those that it needs."""
        key = id(function)
        if key not in self.known:
            self.known[key] = frozenset(), frozenset()  # of one that calls itself
            walk = _Walk(self)
            made = walk.block(function.body, frozenset())
            self.known[key] = made, frozenset(walk.missing)
        return self.known[key]

    def relied(self, op: Op, done: set[Check]) -> set[Check]:
        """What an operation, or the function that it calls, relies on and is not done; what a call does, is then."""
        wanted = {op.attrs["inbounds"]} if "inbounds" in op.attrs else set[Check]()
        made = frozenset[Check]()
        if op.kind == "call":
            made, more = self.of(op.attrs["function"])
            wanted |= more
        missing = {check for check in wanted - done if not check.proven}
        done |= made
        return missing


class _Walk:
    def __init__(self, needs: Needs) -> None:
        self.needs = needs
        self.missing: set[Check] = set()

    def block(self, block: Block, before: frozenset[Check]) -> frozenset[Check]:
        """What has been checked after a block."""
        done = set(before)
        for op in block.ops:
            self.op(op, done)
        return frozenset(done)

    def op(self, op: Op, done: set[Check]) -> None:
        """One operation: what it relies on, then what it checks."""
        for member in op.attrs.get("members", ()):
            self.op(member, done)
        self.missing |= self.needs.relied(op, done)
        if op.kind == "if":  # its condition is what the first branch may rely on
            given = frozenset(done)
            first, *others = op.regions
            found = self.block(first, given | set(op.attrs.get(CHECKS, ())))
            for region in others:
                found |= self.block(region, given)
            done |= found
            return
        for region in op.regions:
            done |= self.block(region, frozenset(done))
        done.update(op.attrs.get(CHECKS, ()))


def needed(function: Function) -> frozenset[Check]:
    """The checks on which a program relies before it makes them, or that it never makes."""
    return Needs().of(function)[1]
