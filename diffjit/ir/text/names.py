"""Names of variables in generated text: which are reserved, and what an unnamed value is called."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence

from diffjit.ir.nodes import Op

BUILTINS = frozenset(n for n in dir(builtins) if not n.startswith("_"))
RESERVED = frozenset(keyword.kwlist) | BUILTINS | {"np", "math"}

GENERIC = ""  # the hint of a temporary that holds nothing one could name; printed as `t1`, `t2`, ...


def described(op: Op, operands: Sequence[str]) -> str:
    """A name for what an unnamed operation computes: `sin_u` for the sine of `u`, `t` for a sum of things."""
    subject = next((o for o in operands if o), "")
    if op.kind == "call":
        return f"{op.attrs['function'].name}_out"
    if op.row.linked:
        return f"{op.attrs['site'].routine.stem}_{subject}" if 0 < len(subject) <= 16 else op.attrs["site"].routine.stem
    pattern = op.row.name
    if pattern == "":
        return GENERIC
    if op.kind == "load":
        indices = operands[1:]
        if subject and all(o and len(o) <= 2 for o in indices):
            return "_".join((subject, *indices))
    if op.kind == "pop" and subject.endswith("_stack"):
        return subject.removesuffix("_stack") + "_kept"
    pattern = op.kind + "_{}" if pattern is None else pattern
    if "{}" in pattern and (not subject or len(subject) > 16):
        return pattern.replace("_{}", "").replace("{}_", "")
    return pattern.format(subject)


def identifier(hint: str) -> str:
    """The hint as a valid identifier that is no reserved word; the text of a good hint is kept."""
    cleaned = re.sub(r"\W", "_", hint)
    if not cleaned or cleaned[0].isdigit():
        cleaned = "_" + cleaned
    return cleaned + "_" if keyword.iskeyword(cleaned) else cleaned


class Names:
    """Hands out names that are unique in one function."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self.taken: set[str] = set(reserved)
        self._last: dict[str, int] = {}  # the last number given to each stem

    def pin(self, name: str) -> str:
        """Take exactly this name."""
        self.taken.add(name)
        return name

    def fresh(self, hint: str) -> str:
        """The hint itself if it is free, else `hint_1`, `hint_2`, ..."""
        if hint not in self.taken:
            return self.pin(hint)
        return self.numbered(hint + "_")

    def numbered(self, stem: str) -> str:
        """`stem1`, `stem2`, ...: the first that is free."""
        k = self._last.get(stem, 0) + 1
        while f"{stem}{k}" in self.taken:
            k += 1
        self._last[stem] = k
        return self.pin(f"{stem}{k}")
