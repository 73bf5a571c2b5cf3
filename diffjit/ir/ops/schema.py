"""What a row says of a kind of operation. Each kind has one row; passes ask it, and keep no tables of kinds.

    declare(Row("cumsum", "a", "running sums along attrs axis", raises=Raises.NEVER, like=0))

`op.row` is the row of an operation. Rows of elementwise kinds are made where their derivatives are declared
(`diffjit.primitives.registry.elementwise`). What a kind computes is in `about`, in the words of `diffjit.ir.nodes`.
"""

from __future__ import annotations

import enum
from dataclasses import KW_ONLY

from diffjit.dataclass import dataclass


class Raises(enum.Enum):
    """Why an operation may raise."""

    NEVER = "never, whatever it is given"
    LENGTHS = "lengths that do not fit"
    VALUES = "what it is given"
    INDEX = "an index out of bounds, unless attrs inbounds names the test that it has passed (`ir.checks`)"
    ALLOCATION = "a length that is negative"
    NUMBERS = "integers that overflow, or operands that do not broadcast"
    PARTS = "what its regions do"
    ALWAYS = "that is what it is for"


class Reads(enum.Enum):
    """What an operation looks at where an operand is an array, a list or a stack."""

    CONTENTS = "the elements"
    LENGTHS = "the lengths of an array, which nobody changes"
    SIZE = "how many items there are just now"
    REFERENCE = "only which one it is"


class Cost(enum.IntEnum):
    """What a number of the result takes, roughly."""

    FREE = 0  # a constant, a length, an element
    CHEAP = 1  # an instruction or a few
    SLOW = 2  # a division, a root: ten times that
    DEAR = 3  # a call


class View(enum.Enum):
    """Whether the result is a view of operand 0."""

    NEVER = "never"
    ALWAYS = "always"
    MAYBE = "attrs view says so"


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of operation."""

    kind: str
    operands: str  # their names; a last one with `*` stands for any number
    about: str

    _: KW_ONLY

    # Memory
    writes: tuple[int, ...] = ()  # operands whose memory it changes
    view: View = View.NEVER
    value: int | None = None  # the operand that goes into operand 0
    keeps: int | None = None  # the operand that operand 0, a list or stack, holds from now on
    gives: bool = False  # the result was held by operand 0, a list or stack
    joins: bool = False  # a reference that comes out has come in, or is none at all
    fill: str | None = None  # what a new array holds: "zeros", "anything", or the "value" that is operand 0
    makes: bool = False  # an array of its own, which nobody else knows; there for that alone
    reads: Reads = Reads.CONTENTS

    # Elements
    same: bool = False  # of one number or element comes that number or element, cast
    adds: bool = False  # it adds to what it writes to
    updates: bool = False  # it gives elements of operand 0 those of operand 1, whole arrays at once

    # Control
    control: bool = False  # what it does is done by its regions, or by another function
    loop: bool = False  # its last region runs again and again
    effect: bool = False  # seen from outside
    once: bool = False  # done where a program comes by first, and left out where parts of it run again
    linked: bool = False  # attrs site says which function without source it calls
    literal: bool = False  # written wherever it is used
    inner: bool = False  # made and taken away again by one transform

    # Lengths of operands
    library: bool = False  # compiled code calls a routine of the processor for it
    core: int = 0  # so many last axes are those of matrices and vectors: only the stacks before them are broadcast

    # Lengths of an array that comes out
    like: int | None = None  # those of this operand
    lengths_at: int | None = None  # given as numbers, from this operand on

    # Failures
    raises: Raises
    indices_at: int | None = None  # where the numbers begin that choose an element
    error: type[Exception] | None = None  # what Python raises, where it is one thing
    exact: bool = False  # of integers: the result is in range where the operands are
    fails: bool = False  # of integers: in plain Python, too

    # Numbers
    by_element: bool = False
    reduces: bool = False  # attrs axes, keepdims
    length: bool = False  # a count: an int that is never negative
    constant: bool = False  # whatever comes out has no derivative
    boolean: bool = False  # True or False
    kink: bool = False  # piecewise linear
    shared: bool = False  # computed again it is the same, if no memory has changed
    cost: Cost = Cost.DEAR
    along: str = ""  # a function that takes hardly longer if this one of the same number is computed, too

    # Text
    operator: str = ""  # Python's
    math: str = ""  # the function of `math` that gives NumPy's result for every float, and never raises
    total: bool = False  # the function of `math` never raises
    name: str | None = None  # of a result that has none, with {} for that of the first operand; "" for none
    size: int | None = None  # columns of its text beside the operands

    @property
    def nested(self) -> bool:
        """Whether what it does is done by its regions."""
        return self.raises is Raises.PARTS

    @property
    def element(self) -> bool:
        """Whether it writes to one element, at the place that its last operands say."""
        return bool(self.writes) and self.indices_at is not None

    @property
    def compares(self) -> bool:
        """Whether it is a comparison."""
        return self.operator in COMPARING

    @property
    def augments(self) -> bool:
        """Whether Python has `x += y` for it, as one writes it."""
        return self.operator in AUGMENTED and len(self.operands.split()) == 2

    @property
    def meets(self) -> bool:
        """Whether a reference that comes out may have had another name before."""
        return self.control or self.gives or self.joins


AUGMENTED = frozenset({"+", "-", "*", "/"})
COMPARING = frozenset({"<", "<=", ">", ">=", "==", "!="})

ROWS: dict[str, Row] = {}


def declare(*rows: Row) -> None:
    """Add rows; a kind has one."""
    for row in rows:
        if ROWS.setdefault(row.kind, row) != row:
            raise ValueError(f"`{row.kind}` has a row")
