"""The text of loops that do the work of one array operation, or of several that `fusion` has put together."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import Array, Dim, Scalar
from diffjit.lowering.calls.failures import APART
from diffjit.lowering.loops import fuse, fusion, outlined
from diffjit.lowering.loops.sums import made_parts, widest
from diffjit.lowering.marks import ABREAST, NEST, PARALLEL, SCALAR
from diffjit.lowering.runtime.vecmath import VECTOR
from diffjit.lowering.text import scalars, spreading
from diffjit.lowering.text.forms import statement
from diffjit.lowering.text.lines import Lines, subscript, tuple_text
from diffjit.lowering.text.loops import Nest, copy, identity, update, whole_assignment
from diffjit.lowering.text.scalars import Operand
from diffjit.settings import settings

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter

Bounds = tuple[str, str]  # where a loop begins and ends, as text
_PERIODIC = frozenset({"sin", "cos", "tan"})
_BLOCK = {8: 4096, 4: 1024}
_DEEPEST = 12  # expressions are nested no deeper
_FEW_SUMS, _LONG_BODY = 2, 24  # more sums, or operations, leave registers for half as many parts of each
_LEAST = 4  # parts


@statement(fusion.NEST)
def loops(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """The statements of an operation in loops, or of a nest of several."""
    if op.kind == "copy":
        layout = op.out.type.layout  # type: ignore[union-attr]
        copy(printer, op.inputs[0], args[0], outs[0], "F" if layout == "F" else "C", lines)
        return
    if op.row.updates:
        args, done = whole_assignment(printer, op, args, lines)
        if done:
            return
    Loops(printer, op, args, outs, lines).write()


_OPERATORS = {"sum": "+", "prod": "*"}


@dataclass(slots=True, eq=False)
class Sum:
    """A reduction, or a sum over what was broadcast."""

    op: Op
    kind: str
    dtype: np.dtype
    axes: list[int]
    out: str
    place: str = ""  # the element of the result; empty: a number
    part: str = ""  # the register that collects elements: of a block or row of a number, or of one element
    abreast: tuple[str, str, str] | None = None  # many at once: their variable, which is at hand, and from which on
    steps: list[str] = field(default_factory=list[str])  # 0 where the run finds an axis to have been broadcast, else 1

    @property
    def start(self) -> str:
        """The result of nothing."""
        return identity(self.kind, self.dtype)

    @property
    def joins(self) -> bool:
        """Whether it adds or multiplies floats."""
        return self.dtype.kind == "f" and self.kind in _OPERATORS

    @property
    def counts(self) -> bool:
        """Whether it adds ints, not in memory: beside floats, else they would be added up for each block."""
        return self.dtype.kind in "iu" and self.kind == "sum" and bool(self.part or not self.place)

    def step(self, total: str, value: str) -> str:
        """One more element."""
        if self.abreast is not None:
            parts, lane, behind = self.abreast
            taken = f"where({lane} >= {behind}, {value}, {self.start})" if behind else value
            return f"take_in({parts}, {lane}, {taken})"
        if self.joins:
            return f"{total} = {total} {_OPERATORS[self.kind]} {value}"
        return f"{total} = {update(self.kind, self.dtype)}({total}, {value})"


def _apart(made: Sum, dim: int) -> bool:
    """Whether the iterations of a loop over a dimension add to elements of their own."""
    return dim not in made.axes and made.axes != [-1]


def _may_be_whole(made: Sum, space: tuple[Dim, ...]) -> bool:
    """Whether the result has an element for each iteration if every axis that the run tells of turns out so."""
    like = made.op.inputs[-1].type
    if not made.steps or not isinstance(like, Array) or like.ndim != len(space):
        return False
    return all(d != 1 or n == 1 for d, n in zip(like.dims, space, strict=True))


class Loops:
    """One nest under construction."""

    def __init__(self, printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
        self.printer, self.lines, self.op = printer, lines, op
        self.members: list[Op] = op.attrs.get("members") or [op]
        self.args = dict(zip(op.inputs, args, strict=True))
        self.outs = dict(zip(op.outputs, outs, strict=True))
        self.space: tuple[Dim, ...] = op.attrs["space"] if "members" in op.attrs else fuse.space_of(op)
        plain_source = len(self.members) == 1 and op.row.updates
        self.nest = Nest(printer, lines, self.space, fit="fitted_source" if plain_source else "fitted")
        self.counts = Counter(v for m in self.members for v in fuse.element_inputs(m))
        self.careful = any(m.row.updates for m in self.members) and len(self.members) > 1
        self.locals: dict[Value, str] = {}
        self.targets: dict[Value, str] = {}
        self.updated: set[Value] = set()  # what is made here and changed before it leaves
        self.sums: dict[Op, Sum] = {}
        self.whole: Sum | None = None  # an `unbroadcast`, in loops for the case that nothing was broadcast
        self._read()
        self.order = self.nest.order(self._layout())
        for m in self.members:
            if not m.row.updates and not fuse.is_elementwise(m) and not fuse.is_fill(m):
                self.sums[m] = self._sum(m)

    # Before the loops

    def _read(self) -> None:
        nest = self.nest
        inside = {m.out for m in self.members if m.outputs}
        for m in self.members:
            self.lines.origin = m
            if m.row.updates:
                target = m.inputs[0]
                if target in inside:
                    self.updated.add(target)
                elif target not in self.targets:
                    self.targets[target] = self.printer.named(self.args[target], target, self.lines)
                    nest.target(self.targets[target], fuse.dims_of(target))
            if fuse.is_fill(m):
                nest.read_fill(m, [self.args[v] for v in m.inputs])
            else:
                for v in fuse.element_inputs(m):
                    if v not in inside:
                        nest.read(self.args[v], v)
        nest.measure()
        self.lines.origin = None

    def _layout(self) -> str | None:
        """The memory order of what is made, where it has one."""
        made = [v.type for v in self.outs if isinstance(v.type, Array)] + [t.type for t in self.targets]
        layouts = {t.layout for t in made if isinstance(t, Array) and t.ndim == len(self.space) > 1}
        return "F" if layouts == {"F"} else "C" if layouts else None

    def _sum(self, op: Op) -> Sum:
        out, nest = op.out, self.nest
        dtype = out.type.dtype  # type: ignore[union-attr]
        if op.kind == "unbroadcast":
            like = op.inputs[1]
            axes = (fuse.summed_axes(op) if isinstance(like.type, Array) else None) or []
            made = Sum(op, "sum", dtype, axes, self.outs[out])
            if isinstance(like.type, Scalar):
                made.axes = list(range(len(self.space)))
            else:
                self._places_like(made, like)
        else:
            axes = list(op.attrs["axes"])
            made = Sum(op, op.kind, dtype, axes, self.outs[out])
            if op.kind in ("max", "min") and axes:
                self._require_some(made)
            if isinstance(out.type, Array):
                shown = [k for k in range(len(self.space)) if k not in axes or op.attrs.get("keepdims")]
                made.place = subscript(made.out, ["0" if k in axes else nest.indices[k] for k in shown])
                lengths = ["1" if k in axes else nest.lengths[k] for k in shown]
                empty = self.printer.empty(dtype, made.out, "F" if out.type.layout == "F" else "C")
                self.lines.add(f"{made.out} = {empty}({tuple_text(lengths)})")
        if not made.place:
            needs = dtype.kind in "fc" and made.kind in ("sum", "prod") and bool(self.order)
            made.part = self.printer.temp("part", dtype.name) if needs else ""
        elif self._depth(made) is not None:
            made.part = self.printer.temp("part", dtype.name)
        return made

    def _places_like(self, made: Sum, like: Value) -> None:
        """Where the elements of a cotangent belong in what was broadcast."""
        ty, nest = like.type, self.nest
        assert isinstance(ty, Array)
        shape = self.printer.named(self.args[like], like, self.lines)
        lead = len(self.space) - ty.ndim
        places: list[str] = []
        known = fuse.summed_axes(made.op)
        for k, d in enumerate(ty.dims):
            if d == 1:
                places.append("0")
            elif known is not None or d == self.space[lead + k] or (not isinstance(d, int) and d.not_one):
                places.append(nest.indices[lead + k])
            else:
                step = self.printer.temp("step")
                self.lines.add(f"{step} = int64({shape}.shape[{k}] != 1)")
                made.steps.append(step)
                places.append(f"{nest.indices[lead + k]} * {step}")
                made.axes = [-1]  # not known before the run: no register holds an element
        lengths = [f"{shape}.shape[{k}]" for k in range(ty.ndim)]
        out = made.op.out.type
        empty = self.printer.empty(made.dtype, made.out, "F" if isinstance(out, Array) and out.layout == "F" else "C")
        self.lines.add(f"{made.out} = {empty}({tuple_text(lengths)})")
        made.place = subscript(made.out, places)

    def _require_some(self, made: Sum) -> None:
        some = " & ".join(f"({self.nest.lengths[k]} > 0)" for k in made.axes)
        check = self.printer.require("EMPTY_REDUCTION", 1)
        self.lines.origin = made.op
        self.lines.add(f"{check}({some}, {int(made.kind == 'min')})")
        self.lines.origin = None

    def _depth(self, made: Sum) -> int | None:
        """How many loops are open where a register collects one element of the result; None if none can."""
        if made.axes == [-1]:
            return None
        kept = len(self.space) - len(made.axes)
        return kept if not set(self.order[:kept]) & set(made.axes) else None

    # The loops

    def write(self) -> None:
        """All lines. Where sin, cos or tan of huge numbers is needed, libm computes it."""
        for v, out in self.outs.items():
            if isinstance(v.type, Array) and not any(s.op.out is v for s in self.sums.values()):
                dtype, layout = v.type.dtype, v.type.layout
                empty = self.printer.empty(dtype, out, "F" if layout == "F" else "C")
                self.lines.add(f"{out} = {empty}({tuple_text(self.nest.lengths)})")
        if settings.checked:
            self._promise_apart()
        periodic = any(m.kind in _PERIODIC and m.out.type.dtype.kind == "f" for m in self.members)  # type: ignore[union-attr]
        if not periodic:
            self._run(vector=True)
        elif not self.targets:
            flag = self._flag()
            self._run(vector=True, flag=flag)
            with self.lines.block(f"if {flag}:"):
                self._run(vector=False)
        elif self._reads_own_writes():
            self._run(vector=False)
        else:
            flag = self._flag()
            self._open(0, lambda: self._body(vector=True, flag=flag, dry=True), [], NEST)
            with self.lines.block(f"if {flag}:"):
                self._run(vector=False)
            with self.lines.block("else:"):
                self._run(vector=True)

    def _promise_apart(self) -> None:
        """What is written overlaps what is read only where these are the same elements: iterations are independent."""
        check = self.printer.require("PROMISED", 1)
        for target in self.targets.values():
            for name in dict.fromkeys(self.nest.names.values()):
                if name in self.nest.arrays_named() and name != target:
                    self.lines.add(f"{check}(apart_or_same({target}, {name}), {APART})")

    def _flag(self) -> str:
        flag = self.printer.temp("far", "bool")
        self.lines.add(f"{flag} = False")
        return flag

    def _reads_own_writes(self) -> bool:
        """Whether an element is read after the same loops have written it."""
        written = False
        for m in self.members:
            if written and any(self.printer.roots.may_alias(t, v) for t in self.targets for v in fuse.array_inputs(m)):
                return True
            written = written or (m.row.updates and m.inputs[0] in self.targets)
        return False

    def _run(self, *, vector: bool, flag: str = "") -> None:
        sums = list(self.sums.values())
        if len(sums) != 1 or not _may_be_whole(sums[0], self.space):
            self._run_sums(vector=vector, flag=flag)
            return
        # Hardly ever has anything been broadcast: then nothing is summed.
        with self.lines.block("if " + " & ".join(f"({step} == 1)" for step in sums[0].steps) + ":"):
            self.whole, self.sums = sums[0], {}
            self._run_sums(vector=vector, flag=flag)
        with self.lines.block("else:"):
            self.whole, self.sums = None, {sums[0].op: sums[0]}
            self._run_sums(vector=vector, flag=flag)

    def _run_sums(self, *, vector: bool, flag: str) -> None:
        for made in self.sums.values():
            if made.place and self._depth(made) is None:
                self.lines.add(f"{self.printer.move('fill')}({made.out}, {made.start})")
        spread = vector and spreading.pays(self)
        if not spread and outlined.nest_pays(self):
            self._run_alone(vector=vector, flag=flag)
            return
        self._begin()
        if spread:
            spreading.write(self, flag)
        else:
            self._all(vector=vector, flag=flag)

    def _begin(self) -> None:
        for made in self.sums.values():
            if not made.place:
                self.lines.add(f"{made.out} = {made.start}")

    def _all(self, *, vector: bool, flag: str) -> None:
        kind = PARALLEL if vector else SCALAR
        self._open(0, lambda: self._body(vector=vector, flag=flag), list(self.sums.values()), kind)

    def _run_alone(self, *, vector: bool, flag: str) -> None:
        main, self.lines = self.lines, Lines()
        if flag:
            self.lines.add(f"{flag} = False")
        self._begin()
        self._all(vector=vector, flag=flag)
        body, self.lines = self.lines.parse(), main
        results = [s.out for s in self.sums.values() if not s.place] + [flag] * bool(flag)
        behind = spreading.arrays_of(self)
        fresh = set(self.outs.values()) - behind.keys()
        for made in outlined.call_of(self.printer, body, results=results, behind=behind, fresh=fresh, origin=self.op):
            main.add(ast.unparse(made))

    # For `spreading`

    def block_size(self, sums: list[Sum]) -> int:
        """How many elements are summed by themselves."""
        return min((_BLOCK.get(s.dtype.itemsize, 4096) for s in sums), default=4096)

    def kind_of(self, depth: int) -> str:
        """What is known of the loop at a depth."""
        return self._kind(depth, list(self.sums.values()), PARALLEL)

    def inside(self, depth: int, flag: str) -> None:
        """The loops from the one at `depth` inwards."""
        self._open(depth, lambda: self._body(vector=True, flag=flag), list(self.sums.values()), PARALLEL)

    def in_blocks(self, bounds: Bounds, flag: str) -> None:
        """The one loop over a block, with its sums."""
        sums = list(self.sums.values())
        for s in sums:
            s.part = s.part or self.printer.temp("part", s.dtype.name)
        self._parts(bounds, PARALLEL, sums, 0, lambda: self._body(vector=True, flag=flag), sums)

    # Loops
    def _open(self, depth: int, body: Callable[[], None], sums: list[Sum], kind: str) -> None:
        """The loops from the one at `depth` inwards."""
        lines, nest = self.lines, self.nest
        rows = [s for s in sums if s.place and s.part and self._depth(s) == depth]
        for s in rows:
            lines.add(f"{s.part} = {s.start}")
        if depth == len(self.order):
            body()
        else:
            last = depth == len(self.order) - 1
            dim = self.order[depth]
            own = self._kind(depth, sums, kind)
            parts = [s for s in sums if not s.place and s.part] if last else []
            if parts and depth == 0 and len(self.order) == 1:
                size = self.block_size(parts)
                block = self.printer.temp("block")
                inner = block, f"minimum({block} + {size}, {nest.lengths[dim]})"
                with lines.block(f"for {block} in range(0, {nest.lengths[dim]}, {size}):"):
                    self._parts(inner, own, parts, depth, body, sums)
            elif parts:
                self._parts(("0", nest.lengths[dim]), own, parts, depth, body, sums)
            elif last:
                self._innermost(("0", nest.lengths[dim]), own, depth, body, sums)
            else:
                with lines.loops([nest.indices[dim]], [nest.lengths[dim]], own):
                    self._open(depth + 1, body, sums, kind)
        for s in rows:
            lines.add(f"{s.place} = {s.part}", inside=True)

    def _kind(self, depth: int, sums: list[Sum], kind: str) -> str:
        if kind == SCALAR:
            return kind
        in_memory = [s for s in sums if s.place and not s.part]
        last, dim = depth == len(self.order) - 1, self.order[depth]
        safe = not in_memory or (last and all(_apart(s, dim) for s in in_memory))
        return kind if safe else NEST

    def _parts(
        self,
        bounds: Bounds,
        kind: str,
        parts: list[Sum],
        depth: int,
        body: Callable[[], None],
        sums: list[Sum],
    ) -> None:
        """A block or row: its sums apart keep the rounding error of long sums small, as NumPy's pairs do."""
        for s in parts:
            self.lines.add(f"{s.part} = {s.start}")
        self._innermost(bounds, kind, depth, body, sums)
        for s in parts:
            self.lines.add(s.step(s.out, s.part))

    def _innermost(self, bounds: Bounds, kind: str, depth: int, body: Callable[[], None], sums: list[Sum]) -> None:
        """The innermost loop: sums of floats along it are taken abreast, and in order what is left (`partials`)."""
        index = self.nest.indices[self.order[depth]]
        along = [s for s in sums if s.part and s.joins and not _apart(s, self.order[depth])]
        low, high = bounds
        width = self._abreast(along, kind, high if low == "0" else "")
        along += [s for s in sums if s.counts and not _apart(s, self.order[depth])]
        if not width:
            with self.lines.loops([index], [high if low == "0" else f"{low}, {high}"], kind):
                self._open(depth + 1, body, sums, kind)
            return
        lines, long = self.lines, self._long()
        step, lane = self.printer.temp("step"), self.printer.temp("lane")
        if low != "0":
            end = self.printer.temp("end")
            lines.add(f"{end} = {high}")
            high = end
        length, first = (high, "") if low == "0" else (f"({high} - {low})", f"{low} + ")
        again = long and not self.targets and len(along) == len(sums)  # what they write, they write again

        def inside() -> None:
            self._open(depth + 1, body, sums, kind)

        if again:
            base, behind = self.printer.temp("base"), self.printer.temp("behind")
            with lines.block(f"if {length} >= {width}:"), self._parts_of(along, width, lane, behind):
                steps = f"quotient({length} + {width - 1}, {width})"
                with lines.block(f"for {step} in {NEST}({steps}):"):
                    lines.add(f"{base} = minimum({step} * {width}, {length} - {width})")
                    lines.add(f"{behind} = {step} * {width} - {base}")
                    with lines.block(f"for {lane} in {ABREAST}({width}):"):
                        lines.add(f"{index} = {first}{base} + {lane}")
                        inside()
            with lines.block("else:"), lines.block(f"for {index} in {SCALAR}({low}, {high}):"):
                inside()
            return
        whole = self.printer.temp("whole")
        lines.add(f"{whole} = quotient({length}, {width})")
        with (
            lines.block(f"if {whole} > 0:"),
            self._parts_of(along, width, lane),
            lines.block(f"for {step} in {NEST}({whole}):"),
            lines.block(f"for {lane} in {ABREAST}({width}):"),
        ):
            lines.add(f"{index} = {first}{step} * {width} + {lane}")
            inside()
        if not length.isdigit() or int(length) % width:
            with lines.block(f"for {index} in {SCALAR}({first}{whole} * {width}, {high}):"):
                inside()

    @contextmanager
    def _parts_of(self, along: list[Sum], width: int, lane: str, behind: str = "") -> Iterator[None]:
        """The lines in between add to parts of sums; from `behind` on, if lanes in front have been added before."""
        lines, printer = self.lines, self.printer
        for s in along:
            start = "products" if s.kind == "prod" else "sums"
            s.abreast = made_parts(printer, lines, s.dtype, width, printer.temp, start), lane, behind
        yield
        for s in along:
            assert s.abreast is not None
            name, s.abreast = s.abreast[0], None
            lines.add(s.step(s.part or s.out, f"added_up({name})"))

    def _long(self) -> bool:
        """Whether one iteration takes long: then some in vectors, of which a few have been before, beat a few alone."""
        return any(m.kind in VECTOR for m in self.members) or len(self.members) > _LONG_BODY

    def _abreast(self, along: list[Sum], kind: str, length: str) -> int:
        """How many elements of sums are added up at once; 0 where they come one by one."""
        if not along or kind != PARALLEL or self.printer.device or settings.plain:
            return 0
        width = widest(s.dtype for s in along)
        if len(along) > _FEW_SUMS or self._long():
            width //= 2
        while length.isdigit() and width > int(length):
            width //= 2
        return width if width >= _LEAST else 0

    # The body

    def _body(self, *, vector: bool, flag: str = "", dry: bool = False) -> None:
        """One iteration; `dry`: only whether arguments of periodic functions are out of the vector functions' range."""
        self.made: dict[Value, Operand] = {}
        self.loaded: dict[Value, Operand] = {}
        self.deep: dict[Value, int] = {}
        for m in self.members:
            if fuse.is_fill(m):
                self.made[m.out] = self._fill(m)
            elif self.whole is not None and m is self.whole.op:
                if not dry:
                    value = scalars.cast(self._operand(m.inputs[0]), self.whole.dtype)
                    self._line(f"{subscript(self.whole.out, self.nest.indices)} = {value}")
            elif m in self.sums:
                if not dry:
                    self._add(self.sums[m])
            elif m.row.updates:
                if not dry or m.inputs[0] in self.updated:
                    self._update(m)
            else:
                self._element(m, vector=vector, flag=flag, dry=dry)
        for v, out in self.outs.items() if not dry else ():  # in their order: the text is a key of the cache
            if v in self.updated:
                self._line(f"{subscript(out, self.nest.indices)} = {self.made[v].text}")

    def _line(self, text: str) -> None:
        self.lines.add(text, inside=True)

    def _fill(self, op: Op) -> Operand:
        dtype = fuse.element_type(op.out)
        if op.kind in ("zeros", "zeros_like"):
            return Operand(scalars.literal(0, dtype.dtype), dtype)
        return Operand(scalars.cast(self._operand(op.inputs[0]), dtype.dtype), dtype)

    def _operand(self, v: Value) -> Operand:
        if v in self.made:
            return self.made[v]
        if v in self.loaded:
            return self.loaded[v]
        operand = self.nest.element(self.args[v], v)
        if isinstance(v.type, Array) and (self.counts[v] > 1 or self.careful):
            operand = self.loaded[v] = self._held(v, operand)
        return operand

    def _held(self, v: Value, operand: Operand) -> Operand:
        """An element in a variable."""
        name = self.locals.get(v)
        if name is None:
            name = self.locals[v] = self.printer.temp("x", operand.type.dtype.name)
        self._line(f"{name} = {operand.text}")
        return Operand(name, operand.type)

    def _element(self, op: Op, *, vector: bool, flag: str, dry: bool) -> None:
        out = Scalar(op.out.type.dtype)  # type: ignore[union-attr]
        inputs = fuse.element_inputs(op)
        operands = [self._operand(v) for v in inputs]
        if flag and op.kind in _PERIODIC and out.dtype.kind == "f":
            operands[0] = self._held_argument(op, scalars.cast(operands[0], out.dtype), out)
            self._line(f"{flag} = {flag} | out_of_range({operands[0].text})")
        kind = "cast" if op.kind == "copy" else op.kind
        text = self.printer.scalar(kind, operands, out, nowrap=True, vector=vector)
        leaves = self.outs.get(op.out)
        deep = 1 + max((self.deep.get(v, 0) for v in inputs), default=0)
        users = self.counts[op.out] + 2 * (op.out in self.updated)
        if users > 1 or (users and (leaves or self.careful or deep > _DEEPEST)) or (dry and users):
            held = self._held(op.out, Operand(text, out))
            text, deep = held.text, 0
        self.made[op.out], self.deep[op.out] = Operand(text, out), deep
        if leaves and not dry and op.out not in self.updated:
            self._line(f"{subscript(leaves, self.nest.indices)} = {text}")

    def _held_argument(self, op: Op, text: str, out: Scalar) -> Operand:
        if text.isidentifier():
            return Operand(text, out)
        name = self.printer.temp("angle", out.dtype.name)
        self._line(f"{name} = {text}")
        return Operand(name, out)

    def _add(self, s: Sum) -> None:
        of_tests = s.kind in ("any", "all")
        value = scalars.cast(self._operand(s.op.inputs[0]), np.dtype(np.bool_) if of_tests else s.dtype)
        self._line(s.step(s.part or s.place or s.out, value))

    def _update(self, op: Op) -> None:
        target = op.inputs[0]
        ty = target.type
        assert isinstance(ty, Array)
        element = Scalar(ty.dtype)
        inside = self.made.get(target)
        place = inside.text if inside else subscript(self.targets[target], self.nest.indices)
        text = scalars.cast(self._operand(op.inputs[1]), ty.dtype)
        if op.kind == "accum":
            text = self.printer.scalar("add", [Operand(place, element), Operand(text, element)], element, nowrap=True)
        self._line(f"{place} = {text}")
        for v in [v for v in self.loaded if self.printer.roots.may_alias(target, v)]:
            del self.loaded[v]
