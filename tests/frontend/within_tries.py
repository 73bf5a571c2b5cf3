"""Random programs in which nearly everything happens inside `try`, with effects before, between and behind what raises.

python -m tests.frontend.within_tries 0 300        seeds: against plain Python; some compiled, some with their slopes

Inside a `try`, a statement is interpreted again behind each operation that may fail: what it has changed so far must
not change twice, what it has read not be read again, and what was asked in one place not answer for another.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj
from tests.frontend.several_kinds import compiled, outcome, refuses
from tests.pythons_errors import is_of_numbers

HEAD = """
import contextlib
import functools
import math
import numpy as np


class Oops(Exception):
    def __init__(self, amount, note="oops"):
        super().__init__(note)
        self.amount = amount
        self.seen = 0


class Worse(Oops):
    pass


class Box:
    def __init__(self, v):
        self.v = v
        self.uses = 0

    @property
    def doubled(self):
        self.uses += 1
        return 2.0 * self.v

    @doubled.setter
    def doubled(self, value):
        self.v = need(value, 1.5) / 2.0
        self.uses += 2

    def __getattr__(self, name):
        if name == "missing":
            raise AttributeError(name)
        return self.v * 0.25

    def __getitem__(self, k):
        self.uses += 1
        if k > 1:
            raise IndexError(k)
        return self.v + k

    def __setitem__(self, k, value):
        self.uses += k
        self.v = need(value, 1.8)

    def __add__(self, other):
        self.uses += 1
        return self.v + need(other, 1.2)

    def __iadd__(self, other):
        self.v += 0.5
        self.v += need(other, 0.8)
        return self

    def __bool__(self):
        self.uses += 1
        return bool(self.v > 0.6)

    def __enter__(self):
        self.uses += 3
        return self.v

    def __exit__(self, kind, error, trace):
        self.v += 0.125
        return kind is not None and issubclass(kind, IndexError)


@contextlib.contextmanager
def shifted(o, by):
    o.v += by
    try:
        yield o.v
    finally:
        o.v -= by * 0.5


def need(v, most):
    if v > most:
        raise Oops(v)
    return v


def bump(o, by):
    o.v += by
    if o.v > 1.4:
        raise Worse(o.v, "too far")
    return o.v * 0.5


def put(a, k, v):
    a[k] += v
    if a[k] > 1.3:
        raise Oops(a[k] - 1.0)
    return a[k]


def push(items, v):
    items.append(v)
    if v < 0.0:
        raise ValueError("negative")
    return len(items) * 0.1


def pieces(a, most):
    try:
        for q in a:
            yield need(q, most)
        yield 0.5
    finally:
        a[0] += 0.25


def pair(v, most):
    w = (yield v), (yield need(v * 2.0, most))
    if w[0] is None:
        yield 0.125


def fall(k, v):
    if k == 0:
        return need(v, 1.0)
    try:
        return fall(k - 1, v * 1.25) + 0.5
    except Worse:
        return 0.0
    finally:
        v += 1.0


def root(v):
    return math.sqrt(float(v))


def perhaps(v):
    return v if v > 0.5 else None


"""
BEGIN = """def f(x, n):
    a = x * 1.0
    o, items, d, total, w, v = Box(x[0]), [x[1]], {"p": x[2], "q": 0.5}, 0.0, 0.0, None
    p = o
    def count(by):
        nonlocal total
        total += by
        return need(total, 2.0) * 0.5
"""
END = """    if v is not None:
        total += np.sum(v) * 0.7
    return total + 1.1 * np.sum(a * np.arange(1.0, 4.0)) + 0.9 * sum(items) + o.v + 0.01 * o.uses + d["p"] - d["q"] + w + len(items)
"""  # noqa: E501
# e: a number, c: a condition, i: of three, j: of five, k: a constant
PLAIN = (
    "x[{i}]", "x[{i}]", "{k}", "total", "o.v", "a[{i}]", "w", "d['p']", "items[-1]", "n * 0.25",
)  # fmt: skip
NUMBERS = (
    "need({e}, {k})", "need({e}, {k})", "bump(o, {e})", "put(a, {i}, {e})", "push(items, {e})", "count({e})",
    "items.pop()", "items[{j}]", "items[n]", "a[n + {i}]", "d['{key}']", "d.pop('q')", "d.setdefault('r', {e})",
    "(w := {e})", "o.doubled", "o[n]", "(o + {e})", "o.extra", "o.missing", "next(it)", "next(it, {e})",
    "({e} if {c} else {e})", "({e} if {c} else {e})", "({e} + {e})", "({e} * {e})", "({e} - {e} * {e})",
    "sum([{e} * q for q in x])", "sum(need(q, {k}) for q in a)", "sum(map(lambda q: need(q, {k}) * {e}, items))",
    "functools.reduce(lambda s, q: s + need(q * s, {k}), a, {e})", "(lambda s: s * {e} + s)({e})",
    "sorted(items, key=lambda q: -need(q, {k}))[0]", "max({e}, {e})", "min(items)", "root({e})", "fall(2, {e})",
    "sum(pieces(a, {k}))", "sum(q * need(q, {k}) for q in pair({e}, {k}))",
    "sum([bump(o, q) for q in pair({e}, {k})])", "sum({{i: need(q, {k}) for i, q in enumerate(a)}}.values())",
    "float({e}) / (n - 1)", "float(any(q > {k} for q in x))", "({e}, {e})[n > 1]", "max(*[{e}, {e}], {k})",
    "(perhaps({e}) or {e})", "(perhaps({e}) + {e})", "len(f'{{{e}:.1f}}')", "abs({e})", "[{e}, {e}, {e}][n]",
    "dict(p={e}, q={e})['{key}']", "sum(q for q in a if need(q, {k}) > 0.3)", "np.sum(np.where(a > {k}, {e}, a))",
    "max(items, key=lambda q: need(q, {k}))", "(len(v) * 0.1 + {e})", "(v + {e}) * 0.5",
    "float(all(bump(o, q) < 1.0 for q in x))", "sum(q * r for q, r in zip(a, [{e}, {e}, {e}], strict=True))",
    "sum(q for q, r in zip(x, items, strict=True))", "list(pieces(a, {k}))[n]", "items.index({e})",
    "np.dot(a, [{e}, {e}, {e}])",
)  # fmt: skip
TESTS = (
    "{e} > {k}", "{e} > {k}", "{k} < {e} < {k} + 1.0", "{e} < {e} < {e}", "({c} and {c})", "({c} or {c})",
    "not {e} > {k}", "n > 1", "v is None", "isinstance(v, np.ndarray)", "o", "any(need(q, {k}) > 0.6 for q in x)",
    "{e} in items", "'{key}' in d", "(w := {e}) > {k}", "(perhaps({e}) is None)",
)  # fmt: skip
KINDS = (
    "{e}", "x * {e}", "None", "[{e}, {e}]", "a", "a[:n]", "perhaps({e})", "({e}, x[0])",
)  # fmt: skip
EFFECTS = (
    "total += {e}", "total += {e}", "total = total * 0.5 + {e}", "total += count({e}) + {e}", "o.v += {e}",
    "o.v += bump(o, {e})", "o.v = {e}", "a[{i}] += {e}", "a[{i}] += put(a, {i}, {e})", "a[{i}] = {e}", "a[n] = {e}",
    "a *= {e}", "a += put(a, {i}, {e})", "a[:2] = [{e}, {e}]", "items.append({e})", "items += [{e}, {e}]",
    "items += [need(q, {k}) for q in x]", "items[{j}] = {e}", "items.extend(need(q, {k}) for q in x)",
    "items.extend(pieces(a, {k}))", "items[0] += push(items, {e})", "items.insert(0, {e})", "d['{key}'] += {e}",
    "d['{key}'] = {e}", "d.update(p={e}, q={e})", "v = {kind}", "v = {kind}", "a[{i}], o.v = {e}, {e}",
    "w, a[n], items[0] = {e}, {e}, {e}", "w = total = {e}", "o.v = items[{j}] = {e}", "del items[0], items[n]",
    "del d['p'], d['{key}']", "del o.v", "o.doubled = {e}", "o.doubled += {e}", "o[{i}] = {e}", "o[n] += {e}",
    "o += {e}", "p.v *= {e}", "it = iter(items)", "it = pieces(a, {k})", "it = iter([{e}, {e}])", "v *= {e}",
    "assert {c}, 'not so'", "count({e})", "push(items, {e})", "w, *rest = {e}, {e}, {e}", "w, total = items",
    "total += items.pop() * {e}", "total += next(it) + {e}", "items = [need(q, {k}) for q in items]",
    "items[:] = items[1:] + [{e}]", "items.sort(key=lambda q: need(-q, {k}))", "items.remove({e})",
    "a[:] = sorted(a)[::-1]", "w, o.v = o.v, {e}", "total += {e} + (w := w + {e})", "x[n]",
    "d = {{'p': {e}, 'q': {e}}}", "items.append(items.append({e}) or {e})",
)  # fmt: skip
RAISES = (
    "raise Oops({e})", "raise Worse({e}, 'w')", "raise ValueError('v')", "raise IndexError", "raise KeyError('p')",
    "raise Oops({e}) from ValueError('c')", "raise Worse(bump(o, {e}))",
)  # fmt: skip
CAUGHT = (
    "Oops", "Worse", "Oops as err", "Oops as err", "Worse as err", "ValueError", "IndexError", "KeyError", "TypeError",
    "(IndexError, KeyError)", "(ValueError, TypeError, ZeroDivisionError)", "LookupError as err", "Exception",
    "Exception as err", "(Oops, ValueError, StopIteration)", "ArithmeticError", "AttributeError",
    "(Worse, AssertionError)", "UnboundLocalError", "(StopIteration, RuntimeError, AttributeError)",
)  # fmt: skip
HANDLED = (
    "raise", "raise Worse(err.amount) from err", "total += err.amount", "err.seen += 1", "total += 0.37",
    "raise Worse({e})",
)  # fmt: skip


class Writer:
    """A program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []

    def filled(self, text: str, depth: int = 0) -> str:
        """A text with its places filled by texts of random choice."""
        while "{" in text:
            start = text.index("{")
            if text.startswith("{{", start):  # a brace that stays
                text = text.replace("{{", "\0", 1)
                continue
            end = text.index("}", start)
            text = text[:start] + self.piece(text[start + 1 : end], depth) + text[end + 1 :]
        return text.replace("}}", "}").replace("\0", "{") if depth == 0 else text.replace("\0", "{{")

    def piece(self, what: str, depth: int) -> str:
        """What is put into one place."""
        r = self.random
        if what == "e":
            simple = depth > 2 or r.random() < 0.35 + 0.2 * depth
            return self.filled(r.choice(PLAIN if simple else NUMBERS), depth + 1)
        if what in ("c", "kind"):
            return self.filled(r.choice(TESTS if what == "c" else KINDS), depth + 1)
        choices = {"i": "012", "j": "01123", "key": "pqr"}
        return r.choice(choices[what]) if what in choices else r.choice(("0.3", "0.7", "1.0", "1.6", "2.5"))

    def text(self) -> str:
        """The whole program."""
        self.lines = []
        for _ in range(self.random.randint(1, 2)):
            self.tried("    ", 0, loop=False)
            if self.random.random() < 0.3:
                self.statement("    ", 1, loop=False)
        text = HEAD + BEGIN + "\n".join([*self.lines, END])
        try:
            compile(text, "a program", "exec")
        except SyntaxError:  # `:=` may not stand everywhere
            return self.text()
        return text

    def block(self, pad: str, depth: int, most: int, *, loop: bool) -> None:
        """A few statements."""
        for _ in range(self.random.randint(1, most)):
            self.statement(pad, depth, loop=loop)

    def tried(self, pad: str, depth: int, *, loop: bool) -> None:
        """A `try`."""
        r, add, inner = self.random, self.lines.append, pad + "    "
        add(f"{pad}try:")
        self.block(inner, depth + 1, 3, loop=loop)
        finally_ = r.random() < 0.3
        for _ in range(r.randint(0 if finally_ else 1, 2)):
            caught = r.choice(CAUGHT)
            add(f"{pad}except {caught}:")
            handled = r.choice(HANDLED)
            if "err." in handled and ("Oops as" not in caught and "Worse as" not in caught):
                handled = "total += 0.21"
            add(f"{inner}{self.filled(handled)}")
            if r.random() < 0.3 and not handled.startswith("raise"):
                self.statement(inner, depth + 1, loop=loop)
        if (
            r.random() < 0.2
            and self.lines[-1].startswith(inner)
            and "except" in "".join(self.lines[-6:])
            and not finally_
        ):
            add(f"{pad}else:")
            self.block(inner, depth + 1, 2, loop=loop)
        if finally_:
            add(f"{pad}finally:")
            add(f"{inner}{self.filled(r.choice(EFFECTS))}")

    def statement(self, pad: str, depth: int, *, loop: bool) -> None:
        """Any statement."""
        r, add, inner = self.random, self.lines.append, pad + "    "
        what = ("effect", "raise", "if", "for", "while", "try", "with", "leave", "match")
        kind = r.choices(what, (9, 0.7, 2, 1.2, 0.5, 2, 0.7, 0.7, 0.4))[0]
        if depth > 3 and kind not in ("raise", "leave"):
            kind = "effect"
        if kind == "effect":
            add(f"{pad}{self.filled(r.choice(EFFECTS))}")
        elif kind == "raise":
            add(f"{pad}if {self.filled(r.choice(TESTS))}:")
            add(f"{inner}{self.filled(r.choice(RAISES))}")
        elif kind == "leave":
            add(f"{pad}if {self.filled(r.choice(TESTS))}:")
            out = r.choice(("break", "continue")) if loop and r.random() < 0.7 else self.filled("return {e}")
            add(f"{inner}{out}")
        elif kind == "try":
            self.tried(pad, depth, loop=loop)
        elif kind == "match":
            add(f"{pad}match {self.filled(r.choice(('v', '({e}, {e})', '{e}')))}:")
            for case in r.sample(("None", "(q, r) if need(q, {k}) > r", "[q, *_] if {c}", "float(q) if {c}"), 2):
                add(f"{inner}case {self.filled(case)}:")
                self.statement(inner + "    ", depth + 2, loop=loop)
            add(f"{inner}case _:")
            self.statement(inner + "    ", depth + 2, loop=loop)
        else:
            heads = {
                "if": ("if {c}:",),
                "for": ("for q in range(n):", "for q in a:", "for q in items:", "for q in pieces(a, {k}):",
                        "for q in range(2):",
                        "for q in ({e}, {e}):", "for k, q in enumerate([{e}, {e}]):", "for q in pair({e}, {k}):"),
                "while": ("while total < {k}:", "while items and {e} > {k}:", "while {c}:"),
                "with": ("with o as q:", "with shifted(o, {e}) as q:", "with o as q, shifted(o, {e}):"),
            }  # fmt: skip
            add(f"{pad}{self.filled(r.choice(heads[kind]))}")
            if kind == "while":
                add(f"{inner}total += 0.5")
                add(f"{inner}if total > 2.0:")
                add(f"{inner}    break")
            if kind == "for" and r.random() < 0.5:
                add(f"{inner}total += q * 0.5")
            self.block(inner, depth + 1, 2, loop=loop or kind in ("for", "while"))
            if kind in ("if", "for") and r.random() < 0.3:
                add(f"{pad}else:")
                self.statement(inner, depth + 1, loop=loop)


def agree(found: Any, wanted: Any) -> bool:
    """Whether both are the same number, or errors of one class.

    Python's own division by zero and roots of negative numbers give what NumPy's do, where no `try` catches them.
    """
    by_zero = "division by zero" if sys.version_info >= (3, 14) else "float division by zero"  # ints raise as Python
    if str(wanted) == by_zero or (is_of_numbers(str(wanted)) and isinstance(wanted, ValueError)):
        return True
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        return type(found).__name__ == type(wanted).__name__
    return bool(np.isclose(found, wanted, rtol=1e-9, atol=1e-12, equal_nan=True))


GIVEN = [(np.array(x), n) for x in ([0.3, 0.7, 1.1], [0.95, 0.1, 0.45], [-0.4, 2.0, 0.6]) for n in (1, 2)]


def check(seed: int, *, backend: str = "python", slopes: bool = False) -> str:
    """How a seed's program ends: right, refused in a run or as a whole; an assertion fails where it is wrong."""
    return check_text(Writer(seed).text(), f"seed {seed}", backend=backend, slopes=slopes)


def check_text(text: str, name: str, *, backend: str = "python", slopes: bool = False) -> str:
    """The same of a text."""
    f, kinds = compiled(text, "within_tries", name), set()
    shown = text.removeprefix(HEAD)
    made = dj.jit(f, backend=backend)
    for x, n in GIVEN:
        with np.errstate(all="ignore"):
            wanted = outcome(f, x.copy(), n)
        found = outcome(made, x.copy(), n)
        told = f"{name}, x = {x}, n = {n}: {found!r} where Python has {wanted!r}\n{shown}"
        assert refuses(found) or agree(found, wanted), told
        kinds.add("whole" if isinstance(found, dj.DiffjitError) else "refused" if refuses(found) else "right")
        if "whole" in kinds:
            break
        if slopes and isinstance(wanted, float) and isinstance(found, float):
            check_slopes(f, x, n, backend, told)
    return min(kinds, key=("whole", "refused", "right").index)


def check_slopes(f: Callable[..., Any], x: np.ndarray, n: int, backend: str, told: str) -> None:
    """The gradient is what difference quotients say, where two of these agree."""
    with np.errstate(all="ignore"):
        once, twice = (
            np.array([(outcome(f, x + h, n) - outcome(f, x - h, n)) / (2 * size) for h in size * np.eye(3)])
            if all(isinstance(outcome(f, x + s * h, n), float) for s in (1, -1) for h in size * np.eye(3))
            else np.full(3, np.nan)
            for size in (1e-6, 2e-6)
        )
    if not np.allclose(once, twice, rtol=1e-6, atol=1e-7):
        return
    try:
        slope = dj.grad(f, backend=backend)(x.copy(), n)
    except (dj.DiffjitError, NotImplementedError):
        return
    np.testing.assert_allclose(slope, once, rtol=1e-5, atol=1e-6, err_msg=told)


def shrunk(text: str, fails: Callable[[str], bool]) -> str:
    """A shorter text that fails, too: statements are left out as long as it does."""
    lines = text.split("\n")
    size = max(1, len(lines) // 4)
    while size:
        k = 0
        while k < len(lines):
            fewer = lines[:k] + lines[k + size :]
            if fails("\n".join(fewer)):
                lines = fewer
            else:
                k += 1
        size = 0 if size == 1 else size // 2
    return "\n".join(lines)


if __name__ == "__main__":
    counts: Counter[str] = Counter()
    for number in range(*map(int, sys.argv[1:3])):
        counts[check(number, backend="numba" if number % 50 == 7 else "python", slopes=number % 10 == 3)] += 1
    sys.stdout.write(f"{dict(counts)}\n")
