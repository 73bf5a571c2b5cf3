"""Forward mode for many tangents at once: they are the last axis of one array beside each value.

def f(x):                 def f_jvp(x, x_dot):          # x_dot[i, c]: the tangent of x[i] for column c
    y = A @ x                 y = A @ x
    z = np.sin(y)    ->       y_dot = A @ x_dot         # one product for all columns
    s = np.sum(z)             z = np.sin(y)
    return z, s               z_dot = y_dot * np.cos(y)[:, None]
                              s_dot = np.sum(z_dot, axis=0)
                              return z, s, z_dot, s_dot

What the rules need of the values is computed once, and axes of values keep their places, so that NumPy broadcasts a
tangent (..., columns) with a value (..., 1) as it broadcasts the values. Where a value repeats a tangent along an axis,
as `x - c` does that of a number or a row `c`, the tangent's axis has length 1. An operation without a rule for all
columns goes through them in a loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from diffjit.analysis.activity import Activity
from diffjit.analysis.manager import analyses
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import CHECKS, TRIED, Block, Function, Op, Value, is_view
from diffjit.ir.types import INT, Array, Dim, Scalar, Sym, Type, is_float, not_one, permuted_layout
from diffjit.ir.walk import walk
from diffjit.transforms import custom, rules
from diffjit.transforms.lengths import Lengths
from diffjit.transforms.modes.companions import Accompanied, Companions
from diffjit.transforms.modes.forward import TangentRules

_FULL = av.Slice(NONE, NONE, NONE)


class Apart(Exception):
    """A program whose tangents are no arrays with one more axis."""


class Wide(rules.RuleRunner):
    """Evaluates formulas of values and of tangents for all columns."""

    def __init__(self, build: Any) -> None:
        super().__init__(build)
        self.wide: set[Value] = set()

    def ew(self, kind: str, *args: Any) -> Any:
        """An elementwise operation; on tangents, for all columns."""
        if not self.meets(args):
            return super().ew(kind, *args)
        return self.noted(super().ew(kind, *map(self.lifted, args)))

    def where(self, test: Any, yes: Any, no: Any) -> Any:
        """A choice; of tangents, for all columns."""
        if not self.meets((test, yes, no)):
            return super().where(test, yes, no)
        return self.noted(super().where(*map(self.lifted, (test, yes, no))))

    def meets(self, args: Any) -> bool:
        """Whether there are tangents among the operands."""
        return any(isinstance(a, Value) and a in self.wide for a in args)

    def noted(self, made: Any) -> Any:
        """A tangent that has been made: columns are next to each other."""
        if isinstance(made, Value):
            ty = made.type
            if isinstance(ty, Array) and made not in self.wide and made.op is not None and made.op.row.by_element:
                made.type = Array(ty.dtype, ty.dims, "C")
            self.wide.add(made)
        return made

    def lifted(self, v: Any) -> Any:
        """A value beside tangents: the same for all columns."""
        if not isinstance(v, Value) or v in self.wide or not isinstance(v.type, Array) or not v.type.ndim:
            return v
        ty = v.type
        layout = "C" if ty.layout == "C" else "A"
        return self.build.value("view", [v], Array(ty.dtype, (*ty.dims, 1), layout), spec=(*":" * ty.ndim, "n"))


class Columns(Companions, TangentRules):
    """Builds the program with tangents for any number of columns."""

    def __init__(self, function: Function, wrt: list[int]) -> None:
        super().__init__(function, wrt, 1)
        self.refuse()
        self.one = self.runner  # of one column
        self.all = Wide(self.build)  # of all of them
        self.column_dim = Sym()
        self.start = Value(INT, "start")  # the first column, where they are those of the identity
        self.count_of = Value(INT, "columns")  # how many there are
        self.start.block = self.count_of.block = self.f.body
        self.at: Value | None = None  # the column that is made now

    def refuse(self) -> None:
        """Programs for which this is not made."""
        if self.tested:
            raise Apart
        for op in walk(self.f.body):
            if op.kind == "call" or TRIED in op.attrs or op.row.inner:
                raise Apart
            values = [*op.inputs, *op.outputs, *(a for r in op.regions for a in r.args)]
            for v in values:
                if self.activity.active(v) and not (isinstance(v.type, (Scalar, Array)) and v.type.dtype.kind == "f"):
                    raise Apart
        for v in (*self.f.params, *self.f.body.results):
            if self.activity.active(v) and (not isinstance(v.type, (Scalar, Array)) or v.type.dtype.kind != "f"):
                raise Apart

    def run(self) -> Accompanied:
        """The whole transformation; the last parameters are the first column, and how many there are."""
        made = self.accompany()
        self.f.params += [self.start, self.count_of]
        return made

    # Types and lengths

    def name(self, v: Value, n: int = 0) -> str | None:
        """`x_dot`."""
        return TangentRules.name(self, v, n)

    def type_of(self, v: Value) -> Type:
        """All columns of a value's tangent."""
        dims = v.type.dims if isinstance(v.type, Array) else ()
        layout = "A" if isinstance(v.type, Array) and v.type.ndim and v.type.layout != "C" else "C"
        return Array(v.type.dtype, (*dims, self.column_dim), layout)

    def lengths(self, v: Value) -> list[Value]:
        """The lengths of a value's tangent."""
        ndim = v.type.ndim if isinstance(v.type, Array) else 0
        own = [self.one.number(self.one.interpreter.dim(v, k)) for k in range(ndim)]
        return [*own, self.count_of]

    def zero(self, v: Value, n: int = 0) -> Value:
        """A tangent that is zero, for all columns, or for the one that is made now."""
        del n
        if self.at is not None:
            return self.build.zero(v)
        return self.new("zeros", v)

    def new(self, kind: str, v: Value) -> Value:
        """An array for a value's tangent."""
        ty = self.type_of(v)
        return self.build.value(kind, self.lengths(v), Array(v.type.dtype, ty.dims, "C"), order="C", name=self.name(v))

    def tangent(self, v: Value) -> Value:
        """All of a value's tangent; of one column, while an operation goes through them."""
        if self.at is None:
            return self.whole(v)
        return self.column(self.whole(v), self.at)

    def column(self, t: Value, at: Value) -> Value:
        """One column, as an array like the value or a number."""
        interpreter = self.one.interpreter
        if t.type.ndim == 1:
            return self.build.value("load", [t, at], Scalar(t.type.dtype))
        view = interpreter.basic_get(t, [*[_FULL] * (t.type.ndim - 1), at], scalar_ok=False)
        return self.build.value("copy", [view], Array(t.type.dtype, t.type.dims[:-1], "C"), order="C")

    def whole(self, v: Value) -> Value:
        """The tangent of a value, with all its lengths."""
        t = self.companions(v)[0]
        dims = self.type_of(v).dims
        if all(_agree(a, b) for a, b in zip(t.type.dims, dims, strict=True)):
            return t
        ty = Array(t.type.dtype, dims, "A")
        spread = self.build.value("broadcast_to", [t, *self.lengths(v)], ty)
        return self.build.value("copy", [spread], Array(t.type.dtype, dims, "C"), order="C")

    # Rules

    def rule(self, op: Op) -> list[Value]:
        """The tangent of a pure operation's result."""
        made = self.made(op)
        if made is None:
            return []
        self.all.wide.add(made)
        return [made]

    def made(self, op: Op) -> Value | None:
        """The tangent of a result for all columns, or None."""
        if op.row.by_element:
            return self.by_element(op)
        if any(isinstance(v.type, Array) and v.type.ndim > 2 for v in op.inputs) and op.row.core:
            return self.by_column(op)  # stacks of matrices
        return getattr(self, f"made_{op.kind}", self.by_column)(op)

    def made_sum(self, op: Op) -> Value:
        """Linear along axes that are counted from the first."""
        inputs = [self.whole(v) if self.has(v) else self.zeros(v)[0] for v in op.inputs]
        return self.like(op, inputs)

    made_cumsum = made_concatenate = made_sum

    def made_unbroadcast(self, op: Op) -> Value:
        """A sum to the lengths of another tangent."""
        return self.like(op, [self.whole(op.inputs[0]), self.new("empty", op.inputs[1])])

    def like(self, op: Op, inputs: list[Value]) -> Value:
        """The same operation on arrays with one more axis."""
        ty = Array(op.out.type.dtype, self.type_of(op.out).dims, "C")
        attrs = _tests(op) if op.row.indices_at is not None else {}
        kept = {name: a for name, a in op.attrs.items() if name in ("axis", "axes", "keepdims")}
        if "spec" in op.attrs:
            kept["spec"] = (*op.attrs["spec"], ":")
        return self.build.value(op.kind, inputs, ty, name=self.name(op.out), **kept, **attrs)

    def by_element(self, op: Op) -> Value | None:
        """The sum of what the tangents of the operands give."""
        total: Any = None
        for k, v in enumerate(op.inputs):
            if not self.has(v):
                continue
            dot = self.companions(v)[0]
            self.all.wide.add(dot)
            part = rules.tangent_part(self.all, op, k, dot)
            if part is not None:
                total = part if total is None else self.all.ew("add", total, part)
        if total is None or (isinstance(total, Static) and total.obj == 0):
            return None
        value = self.all.number(total)
        assert isinstance(value.type, Array)
        missing = (op.out.type.ndim if isinstance(op.out.type, Array) else 0) + 1 - value.type.ndim
        if missing:
            ty, spec = value.type, ("n",) * missing + (":",) * value.type.ndim
            value = self.build.value("view", [value], Array(ty.dtype, (1,) * missing + ty.dims, ty.layout), spec=spec)
        if value.type.dtype != op.out.type.dtype:
            value = self.build.value("cast", [value], Array(op.out.type.dtype, value.type.dims, value.type.layout))
        return self.named(value, op)

    def made_matmul(self, op: Op) -> Value:
        """The product rule for vectors and matrices."""
        a, b = op.inputs
        parts: list[Value] = []
        if self.has(b):
            parts.append(self.of_right(a, b))
        if self.has(a):
            parts.append(self.of_left(a, b))
        return self.summed(parts, op)

    def summed(self, parts: list[Value], op: Op) -> Value:
        """The sum of what the operands of a product give."""
        total: Any = parts[0]
        for part in parts[1:]:
            self.all.wide.update((total, part))
            total = self.all.ew("add", total, part)
        value = self.all.number(total)
        if value.type.dtype != op.out.type.dtype:
            value = self.build.value("cast", [value], Array(op.out.type.dtype, value.type.dims, value.type.layout))
        return self.named(value, op)

    def of_right(self, a: Value, b: Value) -> Value:
        """A matrix or a row times the tangent of a matrix or column."""
        if self.is_identity(b) and a.type.ndim == 2:
            return self.chosen(a)
        return self.flat(self.whole(b), lambda dot: self.one.interpreter.matmul(a, dot))

    def flat(self, dot: Value, map_of: Callable[[Value], Value]) -> Value:
        """A linear map of columns, of those of all columns of a tangent: as one matrix."""
        if dot.type.ndim == 2:
            return map_of(dot)
        interpreter = self.one.interpreter
        rows, *rest = (interpreter.dim(dot, k) for k in range(dot.type.ndim))
        count = interpreter.number(functools.reduce(lambda n, m: interpreter.ew("multiply", n, m), rest))
        made = map_of(interpreter.np_reshape(self.dense(dot), av.Tup((rows, count))))
        lengths = [interpreter.dim(made, k) for k in range(made.type.ndim - 1)]
        dims = (*made.type.dims[:-1], *dot.type.dims[1:])
        inputs = [self.dense(made), *map(interpreter.number, (*lengths, *rest))]
        return self.build.value("reshape", inputs, Array(made.type.dtype, dims, "C"), view=True)

    def of_left(self, a: Value, b: Value) -> Value:
        """The tangent of a matrix or a row times a matrix or column: each row of it is multiplied from the left."""
        turned = self.one.interpreter.transpose(b, (1, 0)) if b.type.ndim == 2 else b
        if self.is_identity(a) and b.type.ndim == 2:
            return self.chosen(turned)
        dot = self.companions(a)[0] if a.type.ndim == 2 and self.only_rows_repeat(a) else self.whole(a)
        return self.one.interpreter.matmul(turned, dot)

    def made_solve(self, op: Op) -> Value:
        """A x_dot = b_dot - A_dot x: all columns are solved for at once."""
        A, b = op.inputs
        parts: list[Value] = []
        if self.has(b):
            parts.append(self.whole(b))
        if self.has(A):
            parts.append(self.all.number(self.one.ew("negative", self.of_left(A, op.out))))
        right = self.summed(parts, op)
        return self.flat(right, lambda dot: self.one.interpreter.np_solve(A, dot))

    def made_inv(self, op: Op) -> Value:
        """C_dot = -C A_dot C, for C = A^-1."""
        if op.out.type.ndim > 2:
            return self.by_column(op)
        half = self.of_left(op.inputs[0], op.out)
        made = self.flat(half, lambda dot: self.one.interpreter.matmul(op.out, dot))
        return self.named(self.one.number(self.one.ew("negative", made)), op)

    def only_rows_repeat(self, a: Value) -> bool:
        """Whether a matrix has one tangent for all of its rows."""
        rows, columns, _ = self.companions(a)[0].type.dims
        return rows == 1 and _agree(columns, a.type.dims[1])

    def is_identity(self, v: Value) -> bool:
        """Whether the columns of a value's tangent are those of the identity, from the first on."""
        return len(self.inputs) == 1 and v is self.inputs[0] and v.type.ndim == 1

    def chosen(self, matrix: Value) -> Value:
        """A matrix times columns of the identity: its columns."""
        end = self.build.value("add", [self.start, self.count_of], INT, nowrap=True)
        ty = Array(matrix.type.dtype, (matrix.type.dims[0], self.column_dim), "A")
        return self.build.value("view", [matrix, self.start, end], ty, spec=(":", ("s", True, True, None)))

    def dense(self, t: Value) -> Value:
        """A tangent whose numbers stand one after another."""
        return t if t.type.layout == "C" else self.copied(t)

    def copied(self, t: Value, name: str | None = None) -> Value:
        """A copy of a tangent."""
        return self.build.value("copy", [t], Array(t.type.dtype, t.type.dims, "C"), name=name, order="C")

    def by_column(self, op: Op) -> Value:
        """An operation's own rule, for one column after another."""
        out = self.new("empty", op.out)
        at = Value(INT, "column")
        body = Block([at])
        with self.build.inside(body):
            self.at = at
            try:
                made = TangentRules.tangent_of(self, op)
            finally:
                self.at = None
            if made is None:
                raise Apart
            self.put(out, at, made)
        self.build.counted(self.count_of, body)
        return out

    def elementwise(self, op: Op) -> Value | None:
        """Elementwise operations have rules for all columns."""
        raise AssertionError(op.kind)

    def put(self, out: Value, at: Value, made: Value) -> None:
        """Store one column."""
        interpreter = self.one.interpreter
        if out.type.ndim == 1:
            number = interpreter.as_dtype(interpreter.number(made), out.type.dtype)
            self.build.op("store", [out, number, at])
            return
        view = interpreter.basic_get(out, [*[_FULL] * (out.type.ndim - 1), at], scalar_ok=False)
        self.build.op("assign", [view, made])

    # Memory

    def is_read_only(self, v: Value) -> bool:
        """Whether nothing is ever written to an array that a value is a part of."""
        return not isinstance(v.type, Array) or not (self.memory.written(v) or self.memory.is_shared(v))

    def own(self, t: Value, op: Op, n: int, others: list[Value]) -> Value:
        """A copy of what is another value's tangent too, or not as large as the value, where either is written to."""
        del n, others
        arrays = [v for v in (op.out, *op.inputs) if isinstance(v.type, Array)]
        if all(map(self.is_read_only, arrays)):
            return t
        if not self.is_read_only(op.out):
            self.beside[op.out] = [t]
            t = self.whole(op.out)
        root = t
        while root.op is not None and is_view(root.op):
            root = root.op.inputs[0]
        known = root.op is None or any(root in ts for v, ts in self.beside.items() if v is not op.out)
        if known or root is not t:
            return self.copied(t, self.name(op.out))
        return t

    def laid_out(self, t: Value, op: Op, n: int, start: int) -> Value:
        """The memory of a tangent that is written to is in C's order, as views of it are typed."""
        del n, start
        return t if self.is_read_only(op.out) else self.dense(t)

    def conform(self, t: Value, like: Value) -> Value:
        """A tangent as its variable is declared; a copy is no way to write to the memory of another."""
        if self.type_of(like).layout == t.type.layout or self.type_of(like).layout == "A":
            return t
        if not self.is_read_only(like):
            raise Apart
        return self.dense(t)

    def joined(self, v: Value) -> list[Value]:
        """The tangent of a value that flows into a joined one, here and now."""
        return [self.whole(v)] if v in self.beside else self.zeros(v)

    def loop(self, op: Op, block: Block) -> None:
        """A loop carries tangents with all their lengths."""
        before = {v: self.beside[v] for v in op.inputs[3 if op.kind == "for" else 0 :] if v in self.beside}
        for v in before:
            self.beside[v] = [self.whole(v)]
        super().loop(op, block)
        self.beside.update(before)

    def left(self, t: Value, given: set[Value], n: int) -> Value:
        """A tangent as it is returned."""
        del n
        return self.copied(t) if t in given else t

    def fresh(self, op: Op) -> None:
        """Tangents of new memory."""
        if op.kind == "undef" and isinstance(op.out.type, Array):
            raise Apart
        self.beside[op.out] = self.zeros(op.out)

    def mirror(self, op: Op, block: Block) -> None:
        """The same part of a tangent, or the same copy of it."""
        block.ops.append(op)
        made = getattr(self, f"mirrored_{op.kind}", None)
        if made is None:
            raise Apart
        t = made(op)
        self.all.wide.add(t)
        self.beside[op.out] = [t]

    def mirrored_view(self, op: Op) -> Value:
        """A part of all columns."""
        t = self.whole(op.inputs[0])
        layout = "C" if op.out.type.layout == "C" and t.type.layout == "C" else "A"
        ty = Array(t.type.dtype, self.type_of(op.out).dims, layout)
        spec = op.attrs["spec"]
        return self.build.value("view", [t, *op.inputs[1:]], ty, spec=self.spec_of(op, spec), **_tests(op))

    def spec_of(self, op: Op, spec: tuple[Any, ...]) -> tuple[Any, ...]:
        """The selection of a part, for all columns."""
        taken = sum(s != "n" for s in spec)
        return (*spec, *(":",) * (op.inputs[0].type.ndim - taken + 1))

    def mirrored_load(self, op: Op) -> Value:
        """One element of all columns: a copy where it is written to later."""
        t = self.whole(op.inputs[0])
        part = self.element(t, op.inputs[1:], _tests(op))
        if self.is_read_only(op.inputs[0]):
            return part
        return self.copied(part)

    def element(self, t: Value, indices: list[Value], attrs: dict[str, Any]) -> Value:
        """The columns of one element."""
        ty = Array(t.type.dtype, t.type.dims[-1:], "C" if t.type.layout == "C" else "A")
        return self.build.value("view", [t, *indices], ty, spec=(*"i" * len(indices), ":"), **attrs)

    def mirrored_transpose(self, op: Op) -> Value:
        """Axes in another order; columns stay the last."""
        t = self.companions(op.inputs[0])[0]
        perm = (*op.attrs["perm"], t.type.ndim - 1)
        assert isinstance(t.type, Array)
        ty = Array(t.type.dtype, tuple(t.type.dims[p] for p in perm), permuted_layout(t.type, perm))
        return self.build.value("transpose", [t], ty, perm=perm)

    def mirrored_broadcast_to(self, op: Op) -> Value:
        """A tangent that is repeated stays as it is."""
        t = self.companions(op.inputs[0])[0]
        missing = op.out.type.ndim + 1 - t.type.ndim
        if not missing:
            return t
        spec = ("n",) * missing + (":",) * t.type.ndim
        ty = Array(t.type.dtype, (1,) * missing + t.type.dims, t.type.layout)
        return self.build.value("view", [t], ty, spec=spec)

    def mirrored_reshape(self, op: Op) -> Value:
        """Other lengths; a view if that of the value is one and is written to."""
        t = self.whole(op.inputs[0])
        if not self.is_read_only(op.out) and (t.type.layout != "C" or not op.attrs["view"]):
            raise Apart
        ty = Array(t.type.dtype, self.type_of(op.out).dims, "C")
        inputs = [self.dense(t), *op.inputs[1:], self.count_of]
        return self.build.value("reshape", inputs, ty, view=True)

    def mirrored_copy(self, op: Op) -> Value:
        """A copy of all columns."""
        t = self.whole(op.inputs[0])
        return self.copied(t, self.name(op.out))

    def mirrored_gather(self, op: Op) -> Value:
        """The same elements of all columns."""
        return self.like(op, [self.whole(op.inputs[0]), *op.inputs[1:]])

    def mirrored_diagonal(self, op: Op) -> Value:
        """A diagonal of all columns: by its indices, as no view of more than two axes is one."""
        if not self.is_read_only(op.out):
            raise Apart
        interpreter, offset = self.one.interpreter, op.attrs["offset"]
        length = interpreter.number(interpreter.dim(op.out, 0))
        ends = [self.build.const(0), length, self.build.const(1)]
        row = self.build.value("arange", ends, Array(INT.dtype, op.out.type.dims, "C"))
        at = [interpreter.ew("add", row, Static(max(k, 0))) if k > 0 else row for k in (-offset, offset)]
        ty = Array(op.out.type.dtype, self.type_of(op.out).dims, "C")
        return self.build.value("gather", [self.whole(op.inputs[0]), *at], ty, spec=("a", "a", ":"))

    def mirrored_full(self, op: Op) -> Value:
        """The tangent of a number is that of every element."""
        out = self.new("empty", op.out)
        self.build.op("assign", [out, self.whole(op.inputs[0])])
        return out

    def write(self, op: Op, block: Block) -> None:
        """The same write into the memory of tangents."""
        block.ops.append(op)
        target, place = op.inputs[0], op.row.value
        if not self.has(target):
            return
        assert place is not None
        value = op.inputs[place]
        given = self.whole(value) if is_float(value.type) and self.has(value) else self.build.const(0.0, _of(target))
        t = self.whole(target)
        if op.row.element:
            part = self.element(t, op.inputs[2:], _tests(op))
            self.build.op("accum" if op.row.adds else "assign", [part, given])
            return
        kept: dict[str, Any] = {"spec": (*op.attrs["spec"], ":")} if "spec" in op.attrs else {}
        inputs = [t, *op.inputs[1:]]
        inputs[place] = given
        self.build.op(op.kind, inputs, **kept)

    def custom_call(self, op: Op, own: custom.Rules, block: Block) -> None:
        """Functions with rules of their own have one tangent."""
        raise Apart(op, own, block)


def largest(function: Function, wrt: list[int], lengths: Lengths) -> Value:
    """How many numbers the largest array with tangents has, of those whose lengths are known beforehand."""
    memory = analyses(function).memory
    results = [v for v in function.results if is_float(v.type)]
    activity = Activity(function, memory, [function.params[k] for k in wrt], results)
    build, seen = lengths.build, set[tuple[Dim, ...]]()
    found = build.const(1)
    for v in (v for op in walk(function.body) if not is_view(op) for v in op.outputs):
        if not isinstance(v.type, Array) or v.type.dims in seen or not activity.active(v):
            continue
        seen.add(v.type.dims)
        (shape,) = lengths.shapes([v]) or [[]]
        if shape:
            size = functools.reduce(lambda n, m: build.value("multiply", [n, m], INT, nowrap=True), shape)
            found = build.value("maximum", [found, size], INT, nowrap=True)
    return found


def _agree(a: Dim, b: Dim) -> bool:
    """Whether a tangent has this length of its value: 1, or what may be 1, stands for one that is repeated."""
    return a == b or not_one(a)


def _tests(op: Op) -> dict[str, Any]:
    """Attributes of an access to the same place of a tangent: what is tested there, or has been."""
    return {name: op.attrs[name] for name in ("inbounds", CHECKS) if name in op.attrs}


def _of(target: Value) -> Scalar:
    return Scalar(target.type.dtype)
