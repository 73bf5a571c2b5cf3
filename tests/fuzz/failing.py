"""Random programs that may fail: the design `failing`.

A program is a module with `CASES` (lengths and integers of several calls), `ORDER` (how its arrays lie in memory) and a
function `f(x, y, a, n, k, e)`. Nobody has checked that its indices are in range, its shapes fit or its loops run: what
Python does with it is what is wanted, whether that is a number or an exception.
"""

from __future__ import annotations

from .choices import Choices
from .failing_expressions import Names
from .failing_statements import FailingStatements, Helper

ORDERS = ("C", "C", "C", "F", "strided", "reversed")
EXTREMES = (2**62, -(2**63), 2**63 - 1, -(2**40), 100, -100, -6, -7, 7)
HEAD = """import math

import numpy as np


class Stop(Exception):
    pass


class Box:
    def __init__(self, data, scale):
        self.data = data
        self.scale = scale

    def turn(self, place):
        self.data[place] *= np.cos(self.scale)
        self.scale += 0.1 * self.data[place - 1]
"""
RECURSIVE = """
def descend(v, c, t):
    if c <= 0 or v.size < 2:
        return np.sum(v) * t
    return np.sin(v[c % v.size]) + 0.5 * descend(v[1:], c - 1, t)
"""


def cases(choices: Choices) -> list[dict[str, int]]:
    """Lengths and integers of the calls; the first is the most ordinary one."""
    square = choices.chance(30)
    found: list[dict[str, int]] = []
    for place in range(5):
        p = choices.integer(5, 8)
        n, k = choices.integer(1, 5), choices.integer(-2, 3)
        e = choices.integer(-3, 3)
        if place > 1:
            n, k = choices.integer(-3, 9), choices.integer(-9, 9)
        if place > 2:
            e = choices.pick(EXTREMES)
        found.append({"p": p, "q": p if square else p + 1, "n": n, "k": k, "e": e})
    return found


def helper(choices: Choices, name: str, earlier: dict[str, Helper]) -> tuple[Helper, list[str]]:
    """A function that changes its arguments, gives views of them, or computes with them."""
    params = choices.weighted(
        [(3, ("u", "s")), (3, ("u", "c", "s")), (4, ("u", "v")), (2, ("u", "v", "c")), (2, ("u",))]
    )
    gives = choices.weighted([(3, "none"), (3, "same"), (3, "vector"), (3, "real"), (2, "both")])
    names = Names(
        {param: f"{name}.{param}" for param in params if param in "uv"},
        reals=[param for param in params if param == "s"],
        integers=[param for param in params if param == "c"],
    )
    writer = FailingStatements(choices, names, choices.integer(2, 6), earlier)
    writer.blocks = 2
    while len(writer.lines) < writer.budget:
        writer.statement()
    if gives in ("same", "vector", "both"):
        text, symbol = ("u", "") if gives == "same" else writer.view(writable=False)
        if gives == "same" and choices.chance(50):
            text = "u" if names.vectors["u"] != f"{name}.u" else choices.pick(["u", "u[::-1]", "u", "0.5 * u"])
        elif gives != "same" and choices.chance(40):
            text = writer.like(text, symbol)
        writer.emit(f"return {text}{f', {writer.real(1)} + 0.0' if gives == 'both' else ''}")
    elif gives == "real":
        writer.emit(f"return {writer.real(2)}")
    return Helper(params, gives), ["", "", f"def {name}({', '.join(params)}):", *writer.lines]


def final(choices: Choices, writer: FailingStatements) -> None:
    """The line that returns a sum of what the program has touched."""
    terms = [f"np.sum(np.sin({name}))" for name in writer.names.vectors]
    terms += [f"np.sum({name} * {name})" for name in writer.names.matrices if name != "y"]
    terms += [name for name in writer.names.reals if name != "a"]
    terms += ["box.scale", "np.sum(box.data * box.data)"] if writer.names.objects else []
    terms += ["sum(items)"] if writer.names.lists else []
    terms.append("np.sum(y * y)")
    if writer.names.integers and choices.chance(50):
        terms.append(f"0.1 * {writer.names.integers[-1]} * a")
    writer.emit(f"total = {terms[0]}")
    for term in terms[1:]:
        writer.emit(f"total += {term}")
    writer.emit("return total")


def generate(choices: Choices) -> str:
    """The source of a random program."""
    calls = cases(choices)
    lines = [*HEAD.splitlines(), ""]
    helpers: dict[str, Helper] = {}
    if choices.chance(10):
        lines += ["", *RECURSIVE.strip().splitlines(), ""]
        helpers["descend"] = Helper(("v", "c", "t"), "real")
    for name in ("first", "second")[: choices.weighted([(3, 0), (5, 1), (2, 2)])]:
        made, text = helper(choices, name, dict(helpers))
        helpers[name] = made
        lines += text
    names = Names({"x": "p"}, ["y"], ["a"], ["n", "k"], edges=["e"])
    writer = FailingStatements(choices, names, choices.integer(8, 30), helpers)
    writer.result = choices.pick(["np.sum(x) * a", "a * a", "np.sum(np.sin(x)) + y[0, 0]"])
    if choices.chance(60):
        writer.emit(choices.pick(["u, v = x, np.zeros_like(x)", "u = x\n    v = x.copy()", "u, v = x.copy(), x[::-1]"]))
        names.vectors |= {"u": "p", "v": "p"}
    if choices.chance(60):
        writer.emit("s = 0.0")
        names.reals.append("s")
    while len(writer.lines) < writer.budget:
        writer.statement()
    final(choices, writer)
    order = choices.pick(ORDERS)
    head = [*lines[:3], "", f"ORDER = {order!r}", "CASES = [", *(f"    {call!r}," for call in calls), "]", *lines[3:]]
    return "\n".join([*head, "", "", "def f(x, y, a, n, k, e):", *writer.lines, ""])


def from_seed(seed: int) -> str:
    """The program of a plain seed."""
    return generate(Choices.from_seed(seed))
