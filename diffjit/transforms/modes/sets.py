"""Which inputs each number depends on, as a program: beside each number, a set of inputs (`transforms.modes.unions`).

    def f(x, k):                    def f_sets(x, k, x_in, pool):
        for i in range(x.size):         for i in range(x.size):
            y[i] = x[i] * x[k[i]]           y_in[i] = unite(pool, x_in[i], x_in[k[i]])

What moves data moves the sets with it. Values that no branch and no index reads are gone when this is compiled. What
has no machine code here is left to the run on sets in Python (`analysis.sparsity`).
"""

from __future__ import annotations

from typing import Any

from diffjit.analysis.sparsity.set_programs import differentiable
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Block, Function, Op, Value, const_of, is_const
from diffjit.ir.types import Array, List, Scalar, Stack, Type
from diffjit.ir.walk import callees, walk
from diffjit.transforms.modes import unions
from diffjit.transforms.modes.companions import Companions
from diffjit.transforms.modes.unions import SET


class Uncompiled(Exception):
    """A program whose sets are not found by machine code."""


class Sets(Companions):
    """Builds the program with sets of one function."""

    def __init__(self, function: Function, wrt: list[int]) -> None:
        if len(list(callees(function))) > 1:
            raise Uncompiled("it calls functions")
        super().__init__(function, wrt, 1)
        if any(_is_complex(v.type) for v in [*self.f.params, *(v for op in walk(self.f.body) for v in op.outputs)]):
            raise Uncompiled("it has complex numbers")
        self.guarded = None
        self.pool = Value(SET, "pool")
        self.pool.block = self.f.body

    def name(self, v: Value, n: int) -> str | None:
        """`x_in`."""
        del n
        return f"{v.name}_in" if v.name else None

    def beside_type(self, ty: Type) -> Any:
        """Numbers that are sets."""
        if isinstance(ty, (List, Stack)):
            return type(ty)(self.beside_type(ty.elem))
        return Array(SET.dtype, ty.dims, ty.layout) if isinstance(ty, Array) else SET

    def rule(self, op: Op) -> list[Value]:
        """The sets of an operation's result; those of a kind that has no method here are of all operands."""
        if op.row.by_element:
            return [self.elementwise(op)]
        return [getattr(self, f"of_{op.kind}", self.of_everything)(op)]

    # Elementwise

    def elementwise(self, op: Op) -> Value:
        """The union of the operands' sets, element by element."""
        given = [self.companions(v)[0] for v in dict.fromkeys(differentiable(op)) if self.has(v)]
        given = [t for t in given if not (is_const(t) and const_of(t) == 0)]
        ty = op.out.type
        if not given:
            return self.zero(op.out)
        if isinstance(ty, Array) and any(not isinstance(t.type, Array) or t.type.dims != ty.dims for t in given):
            given.insert(0, self.zero(op.out))  # the shape of the result
        found = given[0]
        for t in given[1:]:
            found = self.united(found, t, op.out)
        return found

    def united(self, a: Value, b: Value, like: Value) -> Value:
        """The union of sets, in the shape of a value."""
        return self.build.value("unite", [self.pool, a, b], self.beside_type(like.type), name=self.name(like, 0))

    # Whole arrays

    def ruled(self, program: Any, op: Op, *, made: bool = True, **values: Any) -> Value:
        """The result of a plain program (`transforms.modes.unions`)."""
        values["pool"] = self.pool
        if made:
            values["made"] = self.zero(op.out)
        return self.runner.number(self.runner.function(program, values))

    def sets_of(self, v: Value) -> Value:
        """The sets of an operand; what has no derivative depends on nothing."""
        if self.has(v):
            return self.companions(v)[0]
        return self.zero(v)

    def of_everything(self, op: Op) -> Value:
        """All that any operand depends on."""
        found: Value | None = None
        for v in op.inputs:
            if not self.has(v):
                continue
            one = self.companions(v)[0]
            if isinstance(v.type, (List, Stack)):
                raise Uncompiled(f"`{op.kind}` of a list")
            if isinstance(v.type, Array):
                one = self.ruled(unions.whole, op, made=False, sets=one)
            found = one if found is None else self.build.value("unite", [self.pool, found, one], SET)
        if found is None or isinstance(op.out.type, (List, Stack)):
            raise Uncompiled(f"`{op.kind}`")
        return self.ruled(unions.filled, op, found=found) if isinstance(op.out.type, Array) else found

    def of_sum(self, op: Op) -> Value:
        """Unions over axes."""
        (v,) = op.inputs
        sets = self.companions(v)[0]
        if isinstance(op.out.type, Scalar):
            return self.ruled(unions.whole, op, made=False, sets=sets)
        axes = [a % v.type.ndim for a in op.attrs["axes"]]
        order = [a for a in range(v.type.ndim) if a not in axes] + axes
        return self.ruled(unions.reduced, op, sets=sets, order=_static(order), count=Static(len(axes)))

    of_prod = of_max = of_min = of_sum

    def of_cumsum(self, op: Op) -> Value:
        """Unions of what has come so far."""
        return self.ruled(unions.running, op, sets=self.companions(op.inputs[0])[0], axis=Static(op.attrs["axis"]))

    of_cumprod = of_cumsum

    def of_sort(self, op: Op) -> Value:
        """Any element may come from anywhere along the axis: ties have no order of their own."""
        axis = Static(op.attrs.get("axis", -1))
        return self.ruled(unions.along, op, sets=self.companions(op.inputs[0])[0], axis=axis)

    def of_unbroadcast(self, op: Op) -> Value:
        """Unions of what is summed to a shape."""
        sets = self.companions(op.inputs[0])[0]
        if isinstance(op.out.type, Scalar):
            return self.ruled(unions.whole, op, made=False, sets=sets) if isinstance(sets.type, Array) else sets
        if not isinstance(sets.type, Array):
            return self.ruled(unions.filled, op, found=sets)
        return self.ruled(unions.gathered, op, sets=sets)

    def of_concatenate(self, op: Op) -> Value:
        """The sets of each part."""
        given = [self.sets_of(v) for v in op.inputs]
        return self.build.value(op.kind, given, self.beside_type(op.out.type), **op.attrs)

    def of_mask_get(self, op: Op) -> Value:
        """The sets of what is chosen."""
        given = [self.companions(op.inputs[0])[0], *op.inputs[1:]]
        return self.build.value(op.kind, given, self.beside_type(op.out.type), **op.attrs)

    def of_matmul(self, op: Op) -> Value:
        """Products with a zero that depends on nothing contribute nothing: banded matrices keep their bands."""
        a, b = op.inputs
        if max(a.type.ndim, b.type.ndim) > 2:
            raise Uncompiled("a product of stacks")
        given: dict[str, Any] = {"a": a, "of_a": self.sets_of(a), "b": b, "of_b": self.sets_of(b)}
        if a.type.ndim == b.type.ndim == 1:
            return self.ruled(unions.inner, op, made=False, **given)
        return self.ruled(unions.product, op, **given)

    def of_solve(self, op: Op) -> Value:
        """Every number of a result depends on all numbers of its matrix; those of a stack are apart."""
        if op.inputs[0].type.ndim > 2:
            raise Uncompiled("a stack of matrices")
        return self.of_everything(op)

    of_inv = of_det = of_cholesky = of_eigh = of_svd = of_solve

    # Writes

    def write(self, op: Op, block: Block) -> None:
        """What a write does to sets; where it adds, those that were there stay."""
        if not (op.row.adds and self.has(op.inputs[0])):
            super().write(op, block)
            return
        target, value = op.inputs[:2]
        if self.has(value):
            there, given = self.companions(target)[0], self.companions(value)[0]
            if op.kind == "accum_at":
                old = self.build.value("load", [there, *op.inputs[2:]], SET, **op.attrs)
                new = self.build.value("unite", [self.pool, old, given], SET)
                self.build.op("store", [there, new, *op.inputs[2:]], **op.attrs)
            elif op.kind == "accum":
                self.build.op("assign", [there, self.united(there, given, target)])
            else:
                self.scatter(op, there, given)
        block.ops.append(op)

    def scatter(self, op: Op, there: Value, given: Value) -> None:
        """`np.add.at` with one array of indices into one axis."""
        index = op.inputs[2:]
        if len(index) != 1 or not isinstance(index[0].type, Array) or not isinstance(there.type, Array):
            raise Uncompiled(f"`{op.kind}`")
        if there.type.ndim != 1 or index[0].type.dtype.kind != "i":
            raise Uncompiled(f"`{op.kind}`")
        values = {"pool": self.pool, "sets": there, "given": given, "at": index[0]}
        self.runner.function(unions.scattered, values)

    def call(self, op: Op, block: Block) -> None:
        """Functions that are called are left to Python."""
        del op, block
        raise Uncompiled("it calls functions")


def _is_complex(ty: Type) -> bool:
    if isinstance(ty, (List, Stack)):
        return _is_complex(ty.elem)
    return ty.dtype.kind == "c"


def _static(items: list[int]) -> av.Tup:
    return av.Tup(tuple(Static(k) for k in items))


def with_sets(function: Function, wrt: list[int], results: list[int]) -> Function:
    """A function of its parameters, the sets of those in `wrt`, and the address of a pool; it gives sets of results."""
    walker = Sets(function, wrt)
    made = walker.accompany()
    f = made.function
    f.params.append(walker.pool)
    with walker.build.inside(f.body):
        f.body.results = [(made.leaving[r] or [walker.zero(made.primal[r])])[0] for r in results]
    f.name = f"{function.name}_sets"
    return f
