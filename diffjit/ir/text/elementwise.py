"""Elementwise operations as NumPy text: operators, NumPy's functions, and Python's own for Python's numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from diffjit.ir.nodes import Op, const_of, is_const, is_weak
from diffjit.ir.text import syntax
from diffjit.ir.text.indices import dtype
from diffjit.ir.types import Array, Scalar

BINARY: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod, "**": ast.Pow,
    "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
COMPARISONS: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq
}  # fmt: skip
UNARY: dict[str, type[ast.unaryop]] = {"-": ast.USub, "+": ast.UAdd, "~": ast.Invert}
LOGICAL: dict[str, type[ast.boolop]] = {"and": ast.And, "or": ast.Or}

NUMPY_NAMES = {"absolute": "abs"}
PYTHON_TYPES = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
NARROW = frozenset({"float16", "float32", "complex64", "longdouble", "clongdouble", "float128", "complex256"})


def is_scalar(op: Op) -> bool:
    """Whether all operands are numbers."""
    return all(isinstance(v.type, Scalar) for v in op.inputs)


def all_weak(op: Op) -> bool:
    """Whether all operands are Python's own numbers."""
    return all(map(is_weak, op.inputs))


class Elementwise:
    """Prints elementwise operations.

    `narrow` says that the program has floats for which Python's numbers and float64 differ.
    """

    narrow: bool

    def elementwise(self, op: Op, args: Sequence[ast.expr]) -> ast.expr | None:
        """The expression of an elementwise operation, None where the kind is none of these."""
        if _counts_truths(op):  # NumPy's own bools, which may stand there, have other sums, and no differences
            args = [syntax.call("int", a) for a in args]
        special = getattr(self, f"ew_{op.kind}", None)
        if special is not None:
            return special(op, args)
        operator = op.row.operator
        if operator in UNARY and len(args) == 1:
            return self.returned(op, ast.UnaryOp(op=UNARY[operator](), operand=args[0]), operator=True)
        if operator in BINARY:
            return self.returned(op, ast.BinOp(left=args[0], op=BINARY[operator](), right=args[1]), operator=True)
        if operator in COMPARISONS:
            return ast.Compare(left=args[0], ops=[COMPARISONS[operator]()], comparators=[args[1]])
        if operator in LOGICAL and is_scalar(op):
            return ast.BoolOp(
                op=LOGICAL[operator](), values=[_truth(v.type, a) for v, a in zip(op.inputs, args, strict=True)]
            )
        return None

    def numpy_function(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.kind(...)`, or `math`'s function for Python's own real numbers."""
        real = all_weak(op) and all(v.type.dtype.kind != "c" for v in op.inputs)
        if op.row.math and real and isinstance(op.out.type, Scalar) and op.out.type.weak:
            return syntax.call(f"math.{op.row.math}", *args)
        return self.returned(op, syntax.call(f"np.{NUMPY_NAMES.get(op.kind, op.kind)}", *args))

    def returned(self, op: Op, tree: ast.expr, *, operator: bool = False) -> ast.expr:
        """The expression with the result's own type: NumPy's functions return NumPy's numbers of any."""
        ty = op.out.type
        if not isinstance(ty, Scalar):
            return tree
        weak = all_weak(op) and operator
        if ty.weak and not weak and (ty.dtype.kind in "iu" or (self.narrow and ty.dtype.kind in "fc")):
            return syntax.call(PYTHON_TYPES[ty.dtype.kind], tree)
        if not ty.weak and weak and (ty.dtype.kind in "iu" or self.narrow):
            return syntax.call(f"np.{ty.dtype.name}", tree)
        return tree

    # Kinds with a text of their own

    def ew_invert(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`~x`, which Python has as `not x` for its bools."""
        if isinstance(op.out.type, Scalar) and op.out.type.dtype.kind == "b":
            return syntax.not_(args[0])
        return self.returned(op, ast.UnaryOp(op=ast.Invert(), operand=args[0]), operator=True)

    def ew_logical_not(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`not x`, or element by element."""
        return syntax.not_(args[0]) if is_scalar(op) else syntax.call("np.logical_not", args[0])

    def ew_absolute(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`abs(x)` of numbers."""
        if is_scalar(op):
            return self.returned(op, syntax.call("abs", args[0]), operator=True)
        return syntax.call("np.abs", args[0])

    def _extremum(self, op: Op, args: Sequence[ast.expr], builtin: str) -> ast.expr:
        if all_weak(op) and isinstance(op.out.type, Scalar) and op.out.type.dtype.kind == "i":
            return syntax.call(builtin, *args)
        return self.numpy_function(op, args)

    def ew_maximum(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`max(m, n)` of integers; NumPy's function, which keeps NaN, of anything else."""
        return self._extremum(op, args, "max")

    def ew_minimum(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """As `maximum`."""
        return self._extremum(op, args, "min")

    def ew_power(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`x ** y`; NumPy's function where Python would make a complex number of a negative base."""
        exponent = op.inputs[1]
        whole = exponent.type.dtype.kind in "iub" or (  # type: ignore[union-attr] - numbers or arrays
            is_const(exponent) and float(abs(const_of(exponent))).is_integer()
        )
        if all_weak(op) and not whole and op.out.type.dtype.kind == "f":  # type: ignore[union-attr]
            return self.numpy_function(op, args)
        if op.inputs[0].type.dtype.kind == "b":  # type: ignore[union-attr] - `mask ** 2` would be a square, of 8 bits
            return self.numpy_function(op, args)
        return self.returned(op, ast.BinOp(left=args[0], op=ast.Pow(), right=args[1]), operator=True)

    def ew_square(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`x ** 2` of Python's numbers."""
        if all_weak(op):
            return self.returned(op, syntax.expr("x ** 2", x=args[0]), operator=True)
        return syntax.call("np.square", args[0])

    def ew_select(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`x if c else y`, each with the result's type."""
        then, other = (self._cast(v.type, op.out.type, a) for v, a in zip(op.inputs[1:], args[1:], strict=True))
        return ast.IfExp(test=args[0], body=then, orelse=other)

    def ew_where(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.where`, or a conditional expression where all operands are numbers."""
        return self.ew_select(op, args) if is_scalar(op) else syntax.call("np.where", *args)

    def ew_zmul(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A helper."""
        return self.returned(op, syntax.call("zmul", *args))

    def ew_zdiv(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A helper."""
        return self.returned(op, syntax.call("zdiv", *args))

    def ew_one_minus_square(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A product, or a helper where the operand should not stand there twice."""
        if isinstance(args[0], ast.Name):
            return self.returned(op, syntax.expr("(1 - x) * (1 + x)", x=args[0]), operator=True)
        return self.returned(op, syntax.call("one_minus_square", *args))

    def ew_unite(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """The union of sets, for reading: it runs as machine code alone."""
        return self.returned(op, syntax.call("unite", *args[1:]))

    def ew_rerouted(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """What its first operand is; a new array, as of every elementwise operation."""
        return args[0] if is_scalar(op) else ast.UnaryOp(op=ast.UAdd(), operand=args[0])

    def ew_real(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`x.real`, copied where it is an array: results of elementwise operations are fresh."""
        part = syntax.attribute(args[0], op.kind)
        return part if is_scalar(op) else syntax.method(part, "copy")

    ew_imag = ew_real

    def ew_cast(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`float(x)`, `np.float32(x)` or `x.astype(np.float32)`."""
        return self._cast(op.inputs[0].type, op.out.type, args[0])

    def _cast(self, source: object, wanted: object, tree: ast.expr) -> ast.expr:
        assert isinstance(source, (Scalar, Array))
        assert isinstance(wanted, (Scalar, Array))
        if source.dtype.kind == "c" and wanted.dtype.kind in "fiu":
            tree = syntax.attribute(tree, "real")
        if isinstance(wanted, Array):
            return syntax.method(tree, "astype", dtype(wanted.dtype))
        if isinstance(tree, ast.Constant) and type(tree.value) is int and wanted.dtype.kind == "f":
            tree = syntax.number(float(tree.value))
            source = Scalar(np.dtype(np.float64), weak=True)
        if source == wanted:
            return tree
        if not self.narrow and source.dtype == wanted.dtype and wanted.dtype.kind in "fcb":
            return tree
        if wanted.weak:
            return syntax.call(PYTHON_TYPES[wanted.dtype.kind], tree)
        return syntax.call("np.bool_" if wanted.dtype.kind == "b" else f"np.{wanted.dtype.name}", tree)


def _counts_truths(op: Op) -> bool:
    """Whether this is arithmetic of Python's bools alone: `(a > 1) + (b > 2)`."""
    out, operands = op.out.type, [v.type for v in op.inputs]
    counted = isinstance(out, Scalar) and out.weak and out.dtype.kind in "iu"
    return counted and all(isinstance(ty, Scalar) and ty.weak and ty.dtype.kind == "b" for ty in operands)


def _truth(ty: object, tree: ast.expr) -> ast.expr:
    assert isinstance(ty, Scalar)
    return tree if ty.dtype.kind == "b" else syntax.call("bool", tree)
