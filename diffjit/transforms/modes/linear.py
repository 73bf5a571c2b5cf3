"""Linear maps: the tangent map without the value, and whether a pullback is the same everywhere.

forward(x) -> out, residuals            split code (`transforms.reverse.split`)
pullback(residuals, out_bar) -> x_bar   linear in out_bar; its transpose, by reverse mode once more, is
tangent(residuals, x_dot) -> out_dot    the tangent map, which computes nothing of the value again
"""

from __future__ import annotations

from diffjit.analysis.manager import analyses
from diffjit.errors import UsageError
from diffjit.ir.nodes import Block, Function, Op, Value
from diffjit.ir.ops import Reads
from diffjit.ir.types import is_ref
from diffjit.ir.walk import walk
from diffjit.transforms.pipeline import finish
from diffjit.transforms.reverse.reverse import reverse
from diffjit.transforms.reverse.split import Split


def transposed(parts: Split) -> tuple[Function, list[int | None]]:
    """The transpose of a pullback: parameters are the residuals, seeds that only lend their shapes, then tangents.

    Also, for each seed, the position of its tangent among the results (None: it is zero).
    """
    pullback = parts.pullback
    n = len(pullback.params)
    seeds = list(range(n - len(parts.seeds), n))
    _refuse_tests(pullback, seeds)
    r = reverse(pullback, seeds, list(range(len(pullback.results))))
    f = r.function
    positions: list[int | None] = []
    f.body.results = []
    for g in r.gradients:
        positions.append(None if g is None else len(f.body.results))
        if g is not None:
            f.body.results.append(g)
    f.name = pullback.name.replace("_pullback", "") + "_linear"
    return finish(f, "linear"), positions


def _refuse_tests(pullback: Function, seeds: list[int]) -> None:
    """The transpose is given no cotangents, which a pullback that tests them would need: it is no linear map."""
    if not any(map(_bends, walk(pullback.body))):
        return
    flow = _Flow(pullback, seeds)
    flow.results()
    for op in walk(pullback.body):
        if _bends(op) and any(map(flow.has, op.inputs)):
            raise UsageError(
                "DJ516",
                "the derivative of this is not linear: its rule compares the cotangent with something",
                loc=op.loc,
                cure="take `jvp` for each tangent, or write the rule without a test of the cotangent",
            )


def _bends(op: Op) -> bool:
    """Whether a map that holds this operation has a kink in its operands."""
    return op.row.compares or op.row.kink


def hangs_on(function: Function, params: list[int]) -> list[bool]:
    """For each result, whether numbers in it may depend on numbers in these parameters (not on their shapes alone)."""
    return _Flow(function, params).results()


def _read(op: Op) -> list[Value]:
    """The inputs whose numbers an operation reads."""
    return op.inputs[:1] if op.kind == "unbroadcast" else op.inputs


class _Flow:
    def __init__(self, function: Function, params: list[int]) -> None:
        self.function = function
        self.memory = analyses(function).one_memory
        self.calls: dict[tuple[Function, tuple[int, ...]], list[bool]] = {}
        self.reached = {self.place(function.params[k]) for k in params}

    def place(self, v: Value) -> object:
        """What stands for a value's numbers: its memory, or itself."""
        return self.memory.find(v) if is_ref(v.type) else v

    def has(self, v: Value) -> bool:
        return self.place(v) in self.reached

    def results(self) -> list[bool]:
        while True:
            before = len(self.reached)
            self.block(self.function.body, False)
            if len(self.reached) == before:
                return [self.has(v) for v in self.function.results]

    def mark(self, values: list[Value]) -> None:
        self.reached.update(self.place(v) for v in values)

    def block(self, block: Block, under: bool) -> None:
        """One pass; `under`: whether the block runs hangs on the numbers."""
        for op in block.ops:
            self.op(op, under)

    def op(self, op: Op, under: bool) -> None:
        if op.row.nested:
            self.control(op, under)
        elif op.kind == "call" and "rules" in op.attrs and not op.attrs["function"].writes and not under:
            self.call(op)
        elif op.row.length or op.row.reads is Reads.LENGTHS:
            return
        elif under or any(self.has(v) for v in _read(op)):
            self.mark(op.outputs)
            self.mark([op.inputs[k] for k in op.row.writes])
            if op.kind == "call" and "rules" not in op.attrs:  # those with rules change none of their arguments
                self.mark([v for v in op.inputs if is_ref(v.type)])

    def call(self, op: Op) -> None:
        """A function that changes nothing: which of its results hang on which arguments."""
        given = tuple(k for k, v in enumerate(op.inputs) if self.has(v))
        key = (op.attrs["function"], given)
        if given and key not in self.calls:
            self.calls[key] = hangs_on(op.attrs["function"], list(given))
        if given:
            self.mark([v for v, reached in zip(op.outputs, self.calls[key], strict=True) if reached])

    def control(self, op: Op, under: bool) -> None:
        skip = len(op.regions[-1].results) - len(op.outputs)
        if op.kind == "if":
            tested = [op.inputs[0]]
        elif op.kind == "for":
            tested = [*op.inputs[:3], *op.regions[0].results[:skip]]
        else:
            tested = [*op.regions[0].results, *op.regions[1].results[:skip]]
        under = under or any(self.has(v) for v in tested)
        init = [] if op.kind == "if" else op.inputs[3 if op.kind == "for" else 0 :]
        for k, out in enumerate(op.outputs):
            sources = [r.results[k + skip] for r in (op.regions if op.kind == "if" else op.regions[-1:])]
            sources += [init[k]] if init else []
            if under or any(self.has(v) for v in sources):
                self.mark([out])
                if init:
                    self.mark([r.args[k + (op.kind == "for")] for r in op.regions])
        for region in op.regions:
            self.block(region, under)
