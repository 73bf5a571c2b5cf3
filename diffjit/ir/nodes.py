"""The IR: a structured, typed program in SSA form, with explicit memory effects.

    Function(name, params, body)                      body.results are what it returns
    Block(args, ops, results)                         a straight line of operations; `results` leave the block
    Op(kind, inputs, outputs, attrs, regions, loc)    one operation; control flow holds its bodies in `regions`

Scalars are plain SSA values. Arrays, lists and stacks are SSA *references*; their contents are memory that changes only
through the kinds whose rows name operands that they write to. The order of operations in a block is that of effects.

What each kind computes, reads, writes and may raise is said by its row (`diffjit.ir.ops`), which `op.row` gives; those
of elementwise kinds stand with their derivatives (`diffjit.primitives`). All operands of an elementwise kind follow
NumPy's casting, and the output's type is the result's dtype.
"""

from __future__ import annotations

import itertools
from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.ir.ops import ROWS, Row, View
from diffjit.ir.types import Scalar, Type

_ids = itertools.count()


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the user's file."""

    file: str
    line: int
    col: int
    end_col: int
    function: str


class Value:
    """One SSA value. `name` is the user's name for it (a hint, not unique)."""

    __slots__ = ("block", "id", "name", "op", "type")

    def __init__(self, type: Type, name: str | None = None) -> None:  # noqa: A002 - the field's natural name
        self.id = next(_ids)
        self.type = type
        self.name = name
        self.op: Op | None = None  # the defining operation; None for block arguments and parameters
        self.block: Block | None = None  # the defining block, kept up to date by `Block.append` and `analysis`

    def __repr__(self) -> str:
        return f"%{self.name or ''}{self.id}:{self.type}"


@dataclass(slots=True, eq=False)
class Op:
    """One operation."""

    kind: str
    inputs: list[Value]
    outputs: list[Value] = field(default_factory=list[Value])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    regions: list[Block] = field(default_factory=lambda: list[Block]())  # noqa: PLW0108 - Block is defined below
    loc: Loc | None = None

    @property
    def out(self) -> Value:
        """The first output."""
        return self.outputs[0]

    @property
    def row(self) -> Row:
        """What is known of its kind."""
        return ROWS[self.kind]

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.kind}{self.attrs or ''}({self.inputs})"


@dataclass(slots=True, eq=False)
class Block:
    """A straight line of operations with arguments and results."""

    args: list[Value] = field(default_factory=list[Value])
    ops: list[Op] = field(default_factory=list[Op])
    results: list[Value] = field(default_factory=list[Value])


@dataclass(slots=True, eq=False)
class Function:
    """A program: parameters, a body, and the facts that printing and calling need."""

    name: str
    params: list[Value]
    body: Block
    doc: str = ""
    source_file: str = ""
    source_line: int = 0
    lines: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])  # their text, for comments
    writes: frozenset[int] | None = (
        None  # of a recursive function: parameters whose memory it changes (`analysis.memory`)
    )
    returns_views: frozenset[int] = frozenset()  # and parameters whose memory its results may share
    analyses: object = field(default=None, repr=False, compare=False)  # what is known of it: `analysis.manager`
    derived: dict[Any, Any] = field(default_factory=dict[Any, Any], repr=False)  # of one that is called

    @property
    def results(self) -> list[Value]:
        """What the function returns."""
        return self.body.results


# Attributes that stay with a place of the program when operations go: comments that are printed above an operation, and
# where a sweep forward ends and the one back begins.
LABELS = ("section", "comment", "turn")

CHECKS = "checks"  # attribute of an operation on whose test, or whose memory, others rely: `ir.checks`

SUM = "cotangents"  # attribute of an addition that adds up cotangents: its order does not matter

TRIED = "tried"  # attribute of an operation inside a `try`: its result may not be finite, and is thrown away then

OVERFLOWS = "overflows"  # attribute of an exponential and what is made of it: where it is infinite, its cotangent is 0

BARS = "bars"  # attribute of a branch on the way back: cotangents come out of it, and their derivatives

TURNS = "turns"  # attribute of a call, and of the call of a derivative on the way back that belongs to it

LEVEL = "level"  # attribute of a call that is no deeper than the function that makes it

BATCHES = "batches"  # attribute of a loop that has a twin over batches of its turns, of the twin, and of what chooses

LANES = "lanes"  # attribute of a loop over lanes: its counter is in bounds where it selects a lane


def written(op: Op) -> tuple[int, ...]:
    """The positions of the inputs whose memory an operation changes."""
    return op.attrs.get("writes", op.row.writes)


def is_const(v: Value | None) -> bool:
    """Whether a value is a number that the program's text gives."""
    return v is not None and v.op is not None and v.op.kind == "const"


def const_of(v: Value | None, default: Any = None) -> Any:
    """The number that the program's text gives as a value; `default` where the value is computed."""
    return v.op.attrs["value"] if v is not None and v.op is not None and v.op.kind == "const" else default


def is_weak(v: Value) -> bool:
    """Whether a value is a number of Python's own."""
    return isinstance(v.type, Scalar) and v.type.weak


def without_labels(attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an operation that is made again elsewhere."""
    return {name: a for name, a in attrs.items() if name not in LABELS and name != CHECKS}


def is_view(op: Op) -> bool:
    """Whether the output shares memory with input 0."""
    view = op.row.view
    return view is View.ALWAYS or (view is View.MAYBE and bool(op.attrs["view"]))


def is_pure(op: Op) -> bool:
    """No effect on memory and no observable effect: may be dropped when its outputs are unused."""
    row = op.row
    return not (row.writes or row.effect or row.control)
