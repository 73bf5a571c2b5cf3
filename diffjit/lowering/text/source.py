"""The text of plain loops: prints each operation of the IR as Python that Numba compiles quickly.

The generic driver (`text.outofssa`) decides names, folding and control flow. Here numbers become explicit expressions
(`scalars`), elementwise operations and reductions loop nests (`fuse`, `loops`), and the rest calls of helpers in
`runtime`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.analysis.separate import ONCE, Separation
from diffjit.errors import DiffjitError, without_rule
from diffjit.ir.checks import cannot_fail
from diffjit.ir.nodes import LEVEL, Function, Op, Value, const_of
from diffjit.ir.raising import may_raise
from diffjit.ir.text import syntax
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.types import Array, Scalar, Type, is_ref
from diffjit.ir.walk import uses, walk
from diffjit.lowering.calls import failures
from diffjit.lowering.loops import blocks, checked, fuse, outlined, reuse, sharing, sums, told
from diffjit.lowering.loops.fusion import NEST, same_place
from diffjit.lowering.runtime.names import RUNTIME_NAMES
from diffjit.lowering.runtime.typespec import spec_of
from diffjit.lowering.text import arrays, effects, foreign, indexing, linalg, nests, scalars  # noqa: F401 - forms of kinds
from diffjit.lowering.text.forms import EXPRESSIONS, STATEMENTS
from diffjit.lowering.text.lines import Lines, Temporaries, tuple_text
from diffjit.lowering.text.scalars import COMPUTED, Operand
from diffjit.lowering.text.spreading import Part
from diffjit.settings import settings
from diffjit.tree import NO_THREADS


class LoweredPrinter(OpPrinter):
    """Prints the operations of one function."""

    width = 100_000

    def __init__(
        self,
        function: Function,
        recursive: frozenset[int] = frozenset(),
        sealed: frozenset[int] = frozenset(),
        *,
        lent: frozenset[Value] | set[Value] = frozenset(),
        threads_from: int = NO_THREADS,
        device: bool = False,
    ) -> None:
        self.function = function
        self.device = device  # loops that may run in threads become kernels
        self.lent = lent  # views that hold no reference
        self.sealed = sealed  # positions of results that leave as tapes
        self.uses = uses(function)
        known = analyses(function)
        self.ranges, self.bounds, self.roots = known.intervals, known.bounds, known.roots
        self.recursive = recursive  # ids of functions that may call themselves
        self.reserved = RUNTIME_NAMES  # type: ignore[misc]
        self.definitions: dict[str, str] = {}  # name -> what it is, for the head of the module
        hints = {v.name for op in walk(function.body) for v in op.outputs} | {p.name for p in function.params}
        suffix = "_"
        while any(h and h.endswith(suffix) for h in hints):
            suffix += "_"
        self.temporaries = Temporaries(suffix)
        self.threads_from = threads_from  # nests of so many axes may run in threads
        self.parts: list[Part] = []
        self.numbered = 0  # parts of functions before this one
        self.with_slots = dict[Value, str]() if settings.plain else reuse.with_slots(function)
        self.allocators: dict[str, str] = {}  # of arrays of the statement at hand, by name; of others it is `empty`
        self.size = 0 if settings.plain else sum(map(outlined.size, function.body.ops))
        # Stacks: what is passed on to functions may have no value yet, and that would be a list.
        frames = not settings.plain and self.size < outlined.LONGEST
        self.framed = reuse.framed(function, self.uses) if frames else set[Value]()
        self.in_loop = False
        self.at: Op | None = None  # the operation at hand
        self.rooms = 0  # places where such arrays are made, of either kind
        self._inside_loops: set[Op] = {
            op for loop in walk(function.body) if loop.row.loop for region in loop.regions for op in walk(region)
        }
        self._alone = outlined.planned(self)
        self._parts = {op for op in walk(function.body) if sharing.pays(self, op) or blocks.pays(self, op)}
        self._shared: set[Op] = {op for loop in self._parts for op in walk(loop.regions[0])}

        if self.device:
            told.host(function.body, lambda op: op in self._parts)

    # Helpers for the other files of this room

    def temp(self, hint: str, spec: str = "int64") -> str:
        """A temporary of this statement."""
        return self.temporaries.get(hint, spec)

    def spec(self, ty: Type) -> str:
        """A type as text."""
        return spec_of(ty)

    def define(self, name: str, what: str) -> str:
        """A name in the head of the module: this one, or one that is no variable's or function's."""
        while name in self.variables:
            name += "_"
        self.definitions[name] = what
        return name

    def empty(self, dtype: np.dtype, name: str, order: str = "C") -> str:
        """The function that allocates what `name` will stand for."""
        function = self.allocators.get(name, "empty")
        self.rooms += function != "empty"
        home = "memory" if function == "empty" else "slots"
        if order == "F":
            return self.define(f"{function}_{dtype.name}_F", f'{home}.{function}("{dtype.name}", "F")')
        return self.define(f"{function}_{dtype.name}", f'{home}.{function}("{dtype.name}")')

    def work(self, hint: str, spec: str) -> str:
        """A temporary array that nothing refers to after this statement."""
        name = self.temp(hint, spec)
        if self.in_loop:
            self.allocators[name] = "room"
        return name

    @cached_property
    def separation(self) -> Separation:
        """Which iterations do not touch one another."""
        return Separation(self.function)

    def looped(self, op: Op) -> bool:
        """Whether an operation is inside a loop."""
        return op in self._inside_loops

    def spreads(self, op: Op, axes: int) -> bool:
        """Whether a nest may run in threads; not one in a loop that does."""
        return axes >= self.threads_from and op not in self._shared

    def loop(self, op: Op, loop: ast.For, name: Callable[[Value], str | None]) -> list[ast.stmt]:
        """A loop over lanes may run in threads; one of a long function may be a function."""
        if sharing.pays(self, op):
            return sharing.share(self, op, loop, name)
        if blocks.pays(self, op):
            return blocks.add_up(self, op, loop, name)
        made = sums.abreast(self, op, loop)
        return outlined.outline(self, op, loop, made, name) if op in self._alone else made

    def part_name(self) -> str:
        """A name for one more function that this one calls."""
        return f"loops{self.numbered + len(self.parts) + 1}{self.temporaries.suffix}"

    def filled(self, out: str, dtype: np.dtype, order: str, lengths: list[str], value: str, lines: Lines) -> None:
        """Allocate and fill."""
        lines.add(f"{out} = {self.empty(dtype, out, order)}({tuple_text(lengths)})")
        lines.add(f"{self.move('fill')}({out}, {value})")

    def move(self, kind: str) -> str:
        """The function that fills, copies or adds up whole arrays: a kernel where a device's turns do not do it."""
        if not self.device or self.at in self._shared:
            return kind
        told.moved(f"{kind}_spread", self.at)
        return f"{kind}_spread"

    def require(self, failure: str, payload: int) -> str:
        """The function that leaves with a failure unless a condition holds."""
        kind = getattr(failures, failure)
        return self.define(f"require_{failure.lower()}_{payload}", f"memory.require({kind}, {payload})")

    def scalar(
        self, kind: str, operands: list[Operand], out: Scalar, *, nowrap: bool = False, vector: bool = False
    ) -> str:
        """The text of an operation on numbers."""
        text = scalars.apply(kind, operands, out, nowrap=nowrap, vector=vector)
        if nowrap and settings.checked and out.dtype.kind == "i":
            text = checked.promised_to_fit(scalars.apply(kind, operands, out, vector=vector))
        return text

    def named(self, arg: ast.expr, value: Value, lines: Lines) -> str:
        """An operand as a name (or literal): anything longer is computed once, before the loops."""
        if isinstance(arg, (ast.Name, ast.Constant)):
            return ast.unparse(arg)
        made = self.temp("part_of" if is_ref(value.type) else "number", spec_of(value.type))
        lines.add(f"{made} = {ast.unparse(arg)}")
        return made

    def may_overlap(self, target: Value, source: Value) -> bool:
        """Whether writing `target` element by element may change what is yet to be read of the source."""
        if not self.roots.may_alias(target, source):
            return False
        return not same_place(target, source) or fuse.dims_of(source) != fuse.dims_of(target)

    # OpPrinter

    def foldable(self, op: Op) -> bool:
        """Numbers without a name of their own, and cheap views."""
        ty = op.out.type
        if isinstance(ty, Array) and not (op.kind in reuse.LENT or op.kind == "list_get"):
            return False
        if op.out.name is not None or not self.expressible(op) or op.kind in ("pop", "list_pop"):
            return False  # the text of an operand may be printed twice: taking an item off must not be
        user = self.uses[op.out][0]
        return isinstance(ty, Scalar) or (isinstance(user, Op) and user.row.indices_at is not None)

    def raises(self, op: Op) -> bool:
        """Whether what is printed tests something: not where indices and sums are proven to be in range."""
        if op.kind == NEST:
            return any(map(self.raises, op.attrs["members"]))
        return may_raise(op, self.inside, self.ranges.fits)

    def inside(self, op: Op) -> bool:
        """Whether the indices of a load, store or view are proven to be within bounds."""
        if settings.plain or not self.bounds.proves(op):
            return False
        cannot_fail(op)
        return True

    def expressible(self, op: Op) -> bool:
        """Operations on numbers, loads, views."""
        if len(op.outputs) != 1:
            return False
        if isinstance(op.out.type, Scalar) and (op.row.by_element or op.row.same):
            return (
                all(isinstance(v.type, Scalar) or (v.type.ndim == 0 and isinstance(v.type, Array)) for v in op.inputs)
                or op.kind == "cast"
            )  # type: ignore[union-attr]
        return op.kind in EXPRESSIONS

    def expression(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """The expression of an operation."""
        try:
            tree = self._expression(op, list(args))
        except DiffjitError as error:
            raise error.at(op.loc) from None
        if not any(tree is a and hasattr(a, "origin") for a in args):  # what changes nothing makes no check
            tree.origin = op  # type: ignore[attr-defined] - the place of a failure
        return tree

    def _expression(self, op: Op, args: list[ast.expr]) -> ast.expr:
        if isinstance(op.out.type, Scalar) and (op.row.by_element or op.row.same):
            return self._number(op, args)
        written = EXPRESSIONS.get(op.kind)
        if written is None:
            raise without_rule(op.kind, "machine code", op.loc, COMPUTED)
        return written(self, op, args)

    def _number(self, op: Op, args: list[ast.expr]) -> ast.expr:
        trees: dict[str, ast.expr] = {}
        operands: list[Operand] = []
        inputs = op.inputs[:1] if op.kind == "unbroadcast" else op.inputs
        for k, (v, arg) in enumerate(zip(inputs, args, strict=False)):
            ty = fuse.element_type(v)
            const = const_of(v)
            if isinstance(v.type, Array):
                arg = syntax.subscript(arg, [])  # noqa: PLW2901 - the one element of a 0-d array
            trees[f"x{k}"] = arg
            operands.append(Operand(f"x{k}", ty, const))
        assert isinstance(op.out.type, Scalar)
        nowrap = not settings.plain and (bool(op.attrs.get("nowrap")) or self.ranges.fits(op))
        kind = "cast" if op.kind == "copy" else op.kind
        if kind == "cast" and nowrap:  # an int that is known to fit, whoever made it
            operands = [Operand(o.text, Scalar(o.type.dtype), o.const) for o in operands]
        return syntax.expr(self.scalar(kind, operands, op.out.type, nowrap=nowrap), **trees)

    def statements(self, op: Op, args: Sequence[ast.expr], outs: Sequence[str]) -> list[ast.stmt]:
        """The statements of an operation."""
        self.temporaries.restart()
        self.at, self.in_loop = op, self.looped(op)
        named = zip(op.outputs, outs, strict=True)
        self.allocators = {name: self.with_slots[v] for v, name in named if v in self.with_slots}
        lines = Lines()
        arguments = list(args)
        written = nests.loops if fuse.runs_in_loops(op) else STATEMENTS.get(op.kind)
        if written is None:
            raise without_rule(op.kind, "machine code", op.loc, COMPUTED)
        try:
            written(self, op, arguments, list(outs), lines)
        except DiffjitError as error:
            raise error.at(op.loc) from None
        made = lines.parse()
        for statement in made:
            for node in syntax.all_statements(statement):
                if not hasattr(node, "origin"):
                    node.origin = op  # type: ignore[attr-defined]
        if made and settings.verify_passes:
            inner = [getattr(n, "origin", None) for a in args for n in syntax.nodes(a)]
            made[0].operands = [o for o in inner if o is not None]  # type: ignore[attr-defined] - printed as text
        return made

    def early_outputs(self, op: Op) -> bool:
        """Loop nests allocate their result first."""
        return not op.row.control and not self.expressible(op)

    def constant(self, op: Op, user: Op | None) -> ast.expr:
        """A typed literal."""
        ty = op.out.type
        assert isinstance(ty, Scalar)
        return syntax.expr(scalars.literal(op.attrs["value"], ty.dtype))

    def passes_on(self, op: Op) -> bool:
        """Loops that become functions."""
        return op in self._alone

    def undefined(self, ty: Type) -> ast.expr:
        """A value of the right type."""
        if isinstance(ty, Scalar):
            return syntax.expr(scalars.literal(0, ty.dtype))
        spec = spec_of(ty)
        name = "nothing_" + "".join(c if c.isalnum() else "_" for c in spec)
        return syntax.call(self.define(name, f'memory.nothing("{spec}")'))

    def storage(self, ty: Type) -> Hashable:
        """A variable has one type."""
        return spec_of(ty)

    def for_iterable(self, op: Op, start: ast.expr, stop: ast.expr, step: ast.expr) -> ast.expr:
        """`range(...)`; backwards without `reversed`."""
        constant = const_of(op.inputs[2])
        if not op.attrs.get("reverse") or self._in_any_order(op):
            if constant == 1:
                if const_of(op.inputs[0]) == 0:
                    return syntax.expr("range(stop)", stop=stop)
                return syntax.expr("range(start, stop)", start=start, stop=stop)
            return syntax.expr("range(start, stop, step)", start=start, stop=stop, step=step)
        first, last = op.inputs[:2]
        if constant == 1:
            ends = {"stop": self._moved(op, last, stop, -1), "start": self._moved(op, first, start, -1)}
            return syntax.expr("range(stop, start, -1)", **ends)
        if constant == -1:
            return syntax.expr(
                "range(stop, start)", stop=self._moved(op, last, stop, 1), start=self._moved(op, first, start, 1)
            )
        turns = syntax.expr("(trip(start, stop, step) - 1) * step", start=start, stop=stop, step=step)
        begin = self._exact(op, "add_exact(start, turns)", start=start, turns=turns)
        before = self._exact(op, "subtract_exact(start, step)", start=start, step=step)
        return syntax.expr("range(begin, before, -step)", begin=begin, before=before, step=step)

    def _in_any_order(self, op: Op) -> bool:
        """Whether the order of a loop's iterations is free: one that runs backwards is printed forwards."""
        return (ONCE in op.attrs and sharing.pays(self, op)) or blocks.pays(self, op)

    def _moved(self, loop: Op, bound: Value, tree: ast.expr, by: int) -> ast.expr:
        """What lies beside a bound of a loop that runs backwards, tested where it may need more than 64 bits."""
        low, high = self.ranges.of(bound)
        if low + by >= -(2**63) and high + by < 2**63:
            return syntax.expr("bound + 1" if by == 1 else "bound - 1", bound=tree)
        return self._exact(loop, "add_exact(bound, 1)" if by == 1 else "subtract_exact(bound, 1)", bound=tree)

    def _exact(self, op: Op, text: str, **parts: ast.expr) -> ast.expr:
        """Arithmetic that raises where 64 bits do not suffice, at an operation's line."""
        tree = syntax.expr(text, **parts)
        tree.origin = op  # type: ignore[attr-defined]
        return tree

    def call(self, op: Op, callee: str, args: Sequence[ast.expr]) -> ast.expr:
        """A call; functions that may call themselves carry their depth."""
        target: Function = op.attrs["function"]
        if id(target) in self.recursive:
            depth = "depth_" if id(self.function) in self.recursive else None
            deeper = "depth_" if op.attrs.get(LEVEL) else "depth_ + 1"
            args = [*args, syntax.expr(deeper) if depth else syntax.expr("1")]
        tree = syntax.call(syntax.name(callee), *args)
        tree.origin = op  # type: ignore[attr-defined]
        return tree

    def return_statement(self, function: Function, values: Sequence[ast.expr]) -> list[ast.stmt]:
        """A value, or a tuple; 0 for nothing."""
        if not values:
            return [ast.Return(value=ast.Constant(value=0))]
        values = [syntax.call("seal", v) if k in self.sealed else v for k, v in enumerate(values)]
        return [ast.Return(value=values[0] if len(values) == 1 else syntax.tuple_of(values))]

    def head(self, function: Function, params: Mapping[Value, str]) -> list[ast.stmt]:
        """A check of the depth in recursive functions."""
        if id(function) not in self.recursive:
            return []
        name = self.require("RECURSION", 0)
        return syntax.stmts(f"{name}(depth_ < 1000)")
