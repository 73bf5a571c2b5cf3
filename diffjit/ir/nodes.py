"""The IR: a structured, typed program in SSA form, with explicit memory effects.

    Function(name, params, body)                      body.results are what it returns
    Block(args, ops, results)                         a straight line of operations; `results` leave the block
    Op(kind, inputs, outputs, attrs, regions, loc)    one operation; control flow holds its bodies in `regions`

Scalars are plain SSA values. Arrays, lists and stacks are SSA *references*; their contents are memory that changes only
through the store-like kinds listed in `WRITES`. The order of operations in a block is the order of effects.

Kinds
-----
`const`                      attrs value (a Python or NumPy number)               -> scalar
elementwise kinds            see `primitives.elementwise`; broadcast over arrays  -> scalar or fresh array
    all operands follow NumPy's casting; the output's type is the result's dtype. Also `where(c, x, y)`, `cast` (dtype
    from the output's type), `zmul(g, p)` (0 where g is 0, else g * p), `zdiv(g, y)` (the same with g / y),
    `select` (scalar `where`, lazily fine).
`dim` (a)                    attrs axis: a.shape[axis]                            -> int
`stride` (a)                 attrs axis: a.strides[axis] in elements               -> int
`trip` (start, stop, step)   len(range(start, stop, step))                        -> int
`sum prod max min any all` (a)  attrs axes (a sorted tuple), keepdims             -> scalar (0-d result) or fresh array
`argmax argmin` (a)          attrs axis (int, or None for the flattened array), keepdims
`cumsum cumprod` (a)         attrs axis (int)
`fft` (a)                    attrs axis, forward: Fourier transform without factor, of complex numbers
`rfft` (a), `irfft` (a, n)   attrs axis: half a transform of real numbers, and n real numbers from it
`matmul` (a, b)              NumPy's @ for 1-D, 2-D and stacked operands
`concatenate` (*arrays)      attrs axis
`gather` (a, *indices)       attrs spec; integer-array indexing, NumPy's rules    -> fresh array
`mask_get` (a, m)            a[m], m boolean of a.ndim or fewer dimensions         -> fresh array
`nonzero` (m)                flat positions of True in m.ravel() (np.flatnonzero) -> fresh int array
`sort argsort` (a)           attrs axis; stable
`arange` (start, stop, step)                                                      -> fresh 1-D array
`solve inv det cholesky`     numpy.linalg on one or two (stacked) matrices
`eigh svd` (a)               values and vectors of a decomposition in one array (`primitives.spectral`);
                               eigh: attrs upper, whether it reads the upper triangle
`factorizes` (a)             attrs kind ("solve": not singular, "cholesky": positive definite) -> bool
`unbroadcast` (g, like)      sums g to the shape of `like`                        -> same kind as `like`
`empty zeros` (*lengths), `full` (value, *lengths)  attrs order ("C"/"F")          -> fresh array
`empty_like zeros_like` (a)  same shape and stride order; dtype from the output    -> fresh array
`copy` (a)                   attrs order ("C", "F", "K")                           -> fresh array
`broadcast_to` (a, *lengths) a read-only view
`view` (a, *ints)            attrs spec: basic indexing, one entry per index:
                               "i" takes one int; "n" is newaxis; ":" is a full slice;
                               ("s", start, stop, step) True where an int is taken from the inputs, None if absent
                             -> an array reference into a (possibly 0-d)
`transpose` (a)              attrs perm                                           -> view
`diagonal` (a)               attrs offset; of a 2-D array                         -> view (writable here)
`reshape` (a, *lengths)      attrs view: True (a view for certain) or False (a fresh copy's value); lengths final, no -1
`real_view imag_view` (a)    x.real, x.imag as views of a complex array
`load` (a, *ints)                                                                 -> scalar; negative: from the end
`store` (a, value, *ints)    a[ints] = value
`assign` (dst, src)          dst[...] = src; src broadcasts, is cast, may overlap dst (as if copied first)
`accum` (dst, src)           dst[...] += src with src broadcast to dst (made by transforms; never overlaps)
`accum_at` (a, value, *ints) a[ints] += value, scalars
`scatter` (a, value, *indices)      attrs spec as `gather`: a[indices] = value
`scatter_add` (a, value, *indices)  attrs spec: np.add.at(a, indices, value)
`mask_set` (a, m, value)     a[m] = value (value scalar, or 1-D of the number of True)
`list_new`; `list_append` (l, v); `list_pop` (l, i) -> element; `list_get` (l, i); `list_set` (l, v, i);
`list_insert` (l, v, i); `list_len` (l); `list_copy` (l)
`stack_new`; `push` (s, v); `pop` (s) -> element; `stack_copy` (s)
`share` (a, b)               may a and b overlap in memory? (np.may_share_memory)  -> bool
`print` (*values)            attrs parts: alternating literal text and ("value", format spec) ; sep/end folded in
`raise` (*values)            attrs exception (class), parts as `print`; leaves the function
`for` (start, stop, step, *init)   regions [body(i, *carried)]; body.results are [*next carried], or, if attrs exit,
                             [leave, *next carried]: when `leave` is true the loop ends after this iteration. outputs:
                             final carried values. attrs reverse=True: the same indices last to first.
                             attrs budget: the way back starts from snapshots (`transforms.timeloop`)
`while` (*init)              regions [cond(*carried) -> [go_on], body(*carried) -> next carried (or [leave, *next])]
`if` (cond)                  regions [then(), else()], results of both joined to outputs
`call` (*args)               attrs function (a Function, maybe itself an ancestor: recursion)
                             attrs rules (`transforms.custom.Rules`): derivatives take these in place of the function
             attrs repeats=True: its effects have been seen to elsewhere; it may be dropped when its outputs are unused
`foreign` (*args, *lengths)  attrs site: a function without source (`primitives.routines`) of its args alone; lengths
                             are those of the outputs that are (fresh) arrays, one after the other
`custom_link` (*args, *outs, *residuals)  attrs n_args, back; the outs, whose cotangents go to the args through `back`
                             (inside reverse mode alone)
`undef`                      a value that is never read (the other path of a join); printed as nothing
`stop_gradient` (x)          the identity; derivatives end here
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from diffjit.ir.types import Type

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
    """One operation; see the module's docstring for the kinds."""

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
    comments: dict[int, str] = field(default_factory=dict[int, str])  # user's line number -> its text, for comments
    writes: frozenset[int] | None = (
        None  # of a recursive function: parameters whose memory it changes (`analysis.memory`)
    )
    returns_views: frozenset[int] = frozenset()  # and parameters whose memory its results may share

    @property
    def results(self) -> list[Value]:
        """What the function returns."""
        return self.body.results


# Attributes that stay with a place of the program when operations go: comments that are printed above an operation, and
# where a sweep forward ends and the one back begins.
LABELS = ("section", "comment", "turn")

SUM = "cotangents"  # attribute of an addition that adds up cotangents: its order does not matter

TRIED = "tried"  # attribute of an operation inside a `try`: its result may not be finite, and is thrown away then

OVERFLOWS = "overflows"  # attribute of an exponential: where it is infinite, the cotangent that comes to it is 0

LANES = "lanes"  # attribute of a loop over lanes: its counter is in bounds where it selects a lane

CONTROL = frozenset({"for", "while", "if", "call"})

# kind -> positions of the inputs whose memory it changes
WRITES: dict[str, tuple[int, ...]] = {
    "store": (0,), "assign": (0,), "accum": (0,), "accum_at": (0,), "scatter": (0,), "scatter_add": (0,),
    "mask_set": (0,), "list_append": (0,), "list_pop": (0,), "list_set": (0,), "list_insert": (0,), "push": (0,),
    "pop": (0,),
}  # fmt: skip


def written(op: Op) -> tuple[int, ...]:
    """The positions of the inputs whose memory an operation changes."""
    return op.attrs["writes"] if "writes" in op.attrs else WRITES.get(op.kind, ())


# kinds whose output refers to the memory of input 0
VIEWS = frozenset({"view", "transpose", "diagonal", "broadcast_to", "real_view", "imag_view"})

EFFECTS = frozenset({"print", "raise"})


def is_const(v: Value | None) -> bool:
    """Whether a value is a number that the program's text gives."""
    return v is not None and v.op is not None and v.op.kind == "const"


def const_of(v: Value | None, default: Any = None) -> Any:
    """The number that the program's text gives as a value; `default` where the value is computed."""
    return v.op.attrs["value"] if v is not None and v.op is not None and v.op.kind == "const" else default


def without_labels(attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an operation that is made again elsewhere."""
    return {name: a for name, a in attrs.items() if name not in LABELS}


def is_view(op: Op) -> bool:
    """Whether the output shares memory with input 0."""
    return op.kind in VIEWS or (op.kind == "reshape" and bool(op.attrs["view"]))


def is_pure(op: Op) -> bool:
    """No effect on memory and no observable effect: may be dropped when its outputs are unused."""
    return op.kind not in WRITES and op.kind not in EFFECTS and op.kind not in CONTROL
