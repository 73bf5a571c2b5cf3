"""Random programs whose variables are numbers, arrays, texts, lists or None by path, in uses that some kinds have not.

python -m tests.frontend.several_kinds 0 300        seeds: against plain Python, and against starting again

What is refused for one kind raises where it is met (`Learned.gives_up`), without a new beginning: the same programs
are specialised with new beginnings, too, and must end alike.
"""

from __future__ import annotations

import linecache
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj
import diffjit.frontend.entry.program as specialising
from diffjit.frontend.syntax.frames import Learned

HEAD = """
import numpy as np
import scipy.linalg


def first(v):
    return v[0]


def larger(v, w=2.0):
    if isinstance(v, np.ndarray) and v.ndim == 1:
        return v * w
    return v


"""
KINDS = (
    "x[{i}] * {k}", "x * {k}", "np.outer(x, x) + {k} * np.eye(3)", "None", "'ab'", "[x[{i}], {k}]", "{k}", "n + {j}",
    "(x[{i}], x)", "np.arange(3) + n", "x[:n]",
)  # fmt: skip
USES = (
    "np.sum({v})", "np.linalg.inv({v})[0, {i}]", "first({v})", "np.sum({v} * 2.0)", "float(len({v}))", "{v}.sum()",
    "{v}.shape[0] * x[{i}]", "float({v})", "np.sum({v} @ x)", "np.sum(scipy.linalg.hessenberg({v}))",
    "{v}.mean() * x[0]",
    "np.sum(larger({v}))", "np.max({v})", "({v} if {v} is not None else x)[{i}]", "np.sum(np.exp(-np.abs({v})))",
    "np.dot({v}, {v})", "sum(e for e in {v})", "np.linalg.norm({v})", "{v}.upper().count('A') * x[1]",
)  # fmt: skip
TESTS = ("x[{i}] > 0.{d}", "n > {j}", "total > {j}.5", "x[{i}] * n < 1.{d}", "not x[{i}] > 0.{d}")
GUARDS = (
    "isinstance({v}, np.ndarray)", "{v} is not None", "isinstance({v}, (float, np.floating))", "hasattr({v}, 'shape')",
    "not isinstance({v}, (str, list, tuple)) and {v} is not None and np.ndim({v}) == 2",
)  # fmt: skip
FAULTS = "(TypeError, ValueError, AttributeError, IndexError, np.linalg.LinAlgError)"


class Writer:
    """A program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["a", "b", "c"]
        self.lines = ["def f(x, n):", "    total = np.sum(x)"]

    def filled(self, texts: tuple[str, ...]) -> str:
        """One of some texts, its places filled."""
        r = self.random
        number, name = r.choice(("0.5", "1.5", "2.0")), r.choice(self.names)
        return r.choice(texts).format(i=r.randrange(3), j=r.randrange(4), k=number, d=r.randrange(10), v=name)

    def text(self) -> str:
        """The whole program."""
        for name in self.names:
            self.lines.append(f"    {name} = {self.filled(KINDS)}")
        for _ in range(self.random.randint(3, 7)):
            self.statement("    ", 0)
        return HEAD + "\n".join([*self.lines, "    return total", ""])

    def statement(self, pad: str, depth: int) -> None:
        """Any statement."""
        r, add, inner = self.random, self.lines.append, pad + "    "
        kind = r.choices(
            ("use", "one of two", "assign", "guarded", "tried", "if", "loop", "leave"), (4, 4, 1, 2, 1, 2, 1, 0.5)
        )[0]
        name = r.choice(self.names)
        if depth == 2 and kind in ("if", "loop"):
            kind = "use"
        if kind == "use":
            add(f"{pad}total += {self.filled(USES)}")
        elif kind == "one of two":
            add(f"{pad}{name} = {self.filled(KINDS)} if {self.filled(TESTS)} else {self.filled(KINDS)}")
        elif kind == "assign":
            add(f"{pad}{name} = {self.filled((*KINDS, '{v}', 'larger({v})'))}")
        elif kind == "guarded":
            add(f"{pad}if {r.choice(GUARDS).format(v=name)}:")
            add(f"{inner}total += {r.choice(USES).format(v=name, i=r.randrange(3))}")
        elif kind == "tried":
            self.lines += [
                f"{pad}try:",
                f"{inner}total += {self.filled(USES)}",
                f"{pad}except {FAULTS}:",
                f"{inner}total *= 1.5",
            ]
        elif kind == "leave":
            self.lines += [f"{pad}if {self.filled(TESTS)}:", f"{inner}return total * 2.0"]
        else:
            add(f"{pad}if {self.filled(TESTS)}:" if kind == "if" else f"{pad}for k in range(n):")
            for _ in range(r.randint(1, 2)):
                self.statement(inner, depth + 1)
            if kind == "if" and r.random() < 0.5:
                add(f"{pad}else:")
                self.statement(inner, depth + 1)


def compiled(text: str, module: str, name: Any) -> Callable[..., Any]:
    """The function of a text."""
    file = f"<{module} {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": module}
    exec(compile(text, file, "exec"), names)  # noqa: S102 - our own text
    return names["f"]


def program(seed: int) -> tuple[Callable[..., Any], str]:
    """The function of a seed, and its text."""
    text = Writer(seed).text()
    return compiled(text, "several_kinds", seed), text


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """A number, or what was raised."""
    try:
        return float(f(*args))
    except Exception as error:  # noqa: BLE001 - any is compared
        return error


def refuses(found: Any) -> bool:
    """Whether diffjit said that it does not take this."""
    return isinstance(found, dj.DiffjitError | NotImplementedError)


def agree(found: Any, wanted: Any) -> bool:
    """Whether both are the same number, or errors of one class.

    Where no `try` asks, Python's numbers have what NumPy's have, and an array of one item is a number.
    """
    if isinstance(wanted, Exception) and " is used where " in str(found):  # which class NumPy raises is as it comes
        return True
    if str(wanted).startswith(("'float' object has no attribute", "'int' object has no", "only 0-dimensional")):
        return True
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        alike = isinstance(found, type(wanted)) or (isinstance(wanted, type(found)) and type(found) is not Exception)
        return isinstance(found, Exception) and isinstance(wanted, Exception) and alike
    return bool(np.isclose(found, wanted, rtol=1e-9, atol=1e-12, equal_nan=True))


GIVEN = [(np.array(x), n) for x in ([0.3, 0.7, 1.1], [0.95, 0.1, 0.45], [-0.4, 2.0, 0.6]) for n in (1, 3)]


def check(seed: int) -> str:
    """How a seed's program ends: right, refused in a run or as a whole; an assertion fails where it is wrong."""
    f, text = program(seed)
    again = lambda **known: Learned(**known | {"at_once": False})
    kinds = set()
    for x, n in GIVEN:
        with np.errstate(all="ignore"):
            wanted = outcome(f, x.copy(), n)
        found = outcome(dj.jit(f, backend="python"), x, n)
        specialising.Learned, kept = again, specialising.Learned  # pyright: ignore[reportAttributeAccessIssue]
        try:
            other = outcome(dj.jit(f, backend="python"), x, n)
        finally:
            specialising.Learned = kept
        told = (
            f"seed {seed}, x = {x}, n = {n}: {found!r} where Python has {wanted!r}, from the start: {other!r}\n{text}"
        )
        assert refuses(found) or agree(found, wanted), told
        assert refuses(found) == refuses(other), told
        kinds.add("whole" if isinstance(found, dj.DiffjitError) else "refused" if refuses(found) else "right")
    return min(kinds, key=("whole", "refused", "right").index)


if __name__ == "__main__":
    counts = Counter(check(seed) for seed in range(*map(int, sys.argv[1:3])))
    sys.stdout.write(f"{dict(counts)}\n")
