"""Draws of random numbers as text: which of them NumPy's C functions make, and what becomes of a stream's words."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Function as Program
from diffjit.ir.nodes import Op
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import blocks, walk
from diffjit.lowering.draws import symbols
from diffjit.lowering.text.forms import statement
from diffjit.lowering.text.lines import Lines
from diffjit.primitives.random.draws import Draw
from diffjit.primitives.routines import Held, Site, Slot
from diffjit.streams import size_of

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


@dataclass(frozen=True, slots=True)
class Function:
    """A C function: its name, the letters of what it takes, and that of what it gives."""

    name: str
    takes: str = ""
    gives: str = "d"


_OWN = {
    ("Generator", "random"): Function(""),
    ("Generator", "standard_normal"): Function("random_standard_normal"),
    ("Generator", "standard_exponential"): Function("random_standard_exponential"),
    ("Generator", "integers"): Function("random_bounded_uint64_fill", "ll", "l"),
    ("Generator", "poisson"): Function("random_poisson", "d", "l"),
    ("Generator", "binomial"): Function("random_binomial", "ld", "l"),
    ("RandomState", "random_sample"): Function(""),
    ("RandomState", "standard_normal"): Function("polar"),
    ("Random", "random"): Function(""),
    ("Random", "gauss"): Function("trigonometric", "dd"),
}
_DISTRIBUTIONS = {
    "standard_gamma": 1, "standard_cauchy": 0, "standard_t": 1, "laplace": 2, "gumbel": 2, "logistic": 2,
    "lognormal": 2, "rayleigh": 1, "weibull": 1, "power": 1, "pareto": 1, "beta": 2, "f": 2, "triangular": 3,
    "wald": 2, "vonmises": 2, "noncentral_chisquare": 2, "noncentral_f": 3,
}  # fmt: skip
C_FUNCTIONS = _OWN | {
    ("Generator", name): Function(f"random_{name}", "d" * count) for name, count in _DISTRIBUTIONS.items()
}
_LETTERS = {np.dtype(np.float64): "d", np.dtype(np.int64): "l"}


def c_function(site: Site) -> Function | None:
    """The C function that makes a draw; None where Python is called."""
    made = site.routine.function
    if not isinstance(made, Draw) or len(site.outputs) != 2:
        return None
    found = C_FUNCTIONS.get((made.key[0], made.method))
    if found is None or _LETTERS.get(site.outputs[1].dtype) != found.gives:
        return None
    (_, given, named), _ = site.arguments
    if not _plain(made.method, named) or not all(_is_number(a, site) for a in given):
        return None
    exported = "" if found.name in ("polar", "trigonometric") else found.name
    if len(given) != len(found.takes) or not symbols.serves(exported, made.key[1]):
        return None
    return found


def _plain(method: str, named: dict[str, Any]) -> bool:
    """Whether a call has no options."""
    options = {name: value for name, value in named.items() if name != "size"}
    if method != "integers":
        return not options
    return options["dtype"].value in (np.int64, int) and options["endpoint"].value is False


def _is_number(given: Any, site: Site) -> bool:
    if isinstance(given, Slot):
        ty = site.inputs[given.index]
        return isinstance(ty, Scalar) and ty.dtype.kind in "if"
    return isinstance(given, Held) and type(given.value) in (int, float)


def write_draw(
    printer: LoweredPrinter, op: Op, found: Function, given: list[str], outs: list[str], lines: Lines
) -> None:
    """One number, or an array that is there already: in the stream itself where its words come next."""
    site: Site = op.attrs["site"]
    key = site.routine.function.key
    words = given[0]
    if not in_place(op):
        words = outs[0]
        lines.add(f"{words} = {printer.empty(np.dtype(np.uint64), words)}(({size_of(key)},))")
        lines.add(f"copy_into({words}, {given[0]})")
    fills = isinstance(site.outputs[1], Array)
    (_, passed, _), _ = site.arguments
    numbers = [given[a.index] if isinstance(a, Slot) else repr(a.value) for a in passed]
    takes = "" if found.name == "trigonometric" else found.takes
    what = f'bitgens.draw("{found.name}", "{key[1]}", {size_of(key)}, "{found.gives}", "{takes}", {fills})'
    name = printer.define(f"{site.label}_{'fill' if fills else 'one'}{printer.temporaries.suffix}", what)
    call = f"{name}({', '.join([words, *([outs[1]] if fills else []), *(numbers if takes else [])])})"
    lines.add(call if fills else f"{outs[1]} = {call}")


def in_place(op: Op) -> bool:
    """Whether a draw may change the stream's words themselves: nothing else is between it and that, or reads them."""
    words = op.outputs[0]
    if words.block is None:
        return False
    ops = words.block.ops
    after = ops.index(op) + 1
    if after == len(ops) or ops[after].kind != "leave" or ops[after].inputs != [op.inputs[0], words]:
        return False
    return c_function(op.attrs["site"]) is not None and op.attrs.get(ALONE) is ops[after]


ALONE = "alone"  # attribute of a draw: the one operation that reads the words which it leaves


def find_alone(function: Program) -> Program:
    """Mark draws whose words are read once."""
    uses = Counter(id(v) for op in walk(function.body) for v in op.inputs)
    uses.update(id(v) for block in blocks(function.body) for v in block.results)
    for op in walk(function.body):
        words = op.inputs[1] if op.kind == "leave" else None
        if words is not None and words.op is not None and words.op.kind == "foreign" and uses[id(words)] == 1:
            words.op.attrs[ALONE] = op
    return function


@statement("leave")
def _leave(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """A stream gets the words that a draw has left."""
    del outs
    drawn = op.inputs[1].op
    if drawn is not None and drawn.kind == "foreign" and in_place(drawn):
        return
    stream, words = (printer.named(a, v, lines) for a, v in zip(args, op.inputs, strict=True))
    lines.add(f"copy_into({stream}, {words})")
