"""Operations as the text that a NumPy user would write: the printer at the level of the user's code.

The text runs as plain Python with `import numpy as np`. It follows NumPy's and Python's rules for numbers where the two
agree on exceptions; division by zero, overflowing powers and the like of Python's own numbers raise as Python does,
where compiled code returns inf or NaN.

While no float32, float16 or complex64 is in the program, Python's floats and NumPy's float64 behave alike, and the text
does not tell them apart; otherwise `float(...)` and `np.float64(...)` keep them as NEP 50 needs them.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diffjit.errors import UnsupportedSyntax
from diffjit.ir.nodes import Function, Op, const_of, is_const
from diffjit.ir.orders import unlike
from diffjit.ir.text import indices as indextext
from diffjit.ir.text import syntax
from diffjit.ir.text.elementwise import BINARY, NARROW, Elementwise, is_scalar
from diffjit.ir.text.helpers import PRELUDE
from diffjit.ir.text.signs import Subtractions
from diffjit.ir.text.statements import STATEMENTS, exception_text
from diffjit.ir.text.strategy import OpPrinter
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import blocks, walk

_SCIPY = {"scipy": "import scipy"}
_VALUE_OF_WRITE = frozenset({"pop", "list_pop"})


@functools.cache
def _written(function: Callable[..., Any]) -> tuple[Mapping[str, Any], str]:
    """What a helper of ours uses of its module, and its text: it is looked for in the whole file, each time anew."""
    return inspect.getclosurevars(function).globals, inspect.getsource(function)


class SourcePrinter(Elementwise, OpPrinter):
    """Prints array operations as NumPy expressions.

    `scalar_functions` gives kinds that NumPy lacks as Python functions of numbers, whose source is printed above the
    text, or as the names of SciPy's functions of arrays. `inside` tells accesses whose indices are proven to be within
    bounds: they may be printed later than what they stand before.
    """

    def __init__(
        self,
        scalar_functions: Mapping[str, Callable[..., Any] | str] | None = None,
        inside: Callable[[Op], bool] = lambda op: False,
    ) -> None:
        self.proven = inside
        self.narrow = self.wraps = True
        self.unlike: set[Op] = set()
        self.prelude = self._helpers = dict(PRELUDE)
        self.imports = self._imports = {**OpPrinter.imports, **_SCIPY}
        self.scalar_functions: dict[str, str] = {}
        for kind, function in (scalar_functions or {}).items():
            self.scalar_functions[kind] = function if isinstance(function, str) else self._include(function)

    def begin(self, functions: Sequence[Function]) -> None:
        """Look whether the program has narrow floats, and which arrays need to be told their memory order."""
        types = {ty for f in functions for ty in _types(f)}
        self.narrow = any(ty.dtype.name in NARROW for ty in types)
        self.wraps = any(ty.dtype.kind in "iu" and not (isinstance(ty, Scalar) and ty.weak) for ty in types)
        for f in functions:
            for op in walk(f.body):
                if op.row.linked:
                    self._imports.update(op.attrs["site"].imports())
                    self._helpers.update(op.attrs["site"].definitions())
        self.unlike = unlike(functions)

    def inside(self, op: Op) -> bool:
        """Whether the indices of an access are proven to be within bounds."""
        return self.proven(op)

    def _include(self, function: Callable[..., Any]) -> str:
        """Make a Python function available to the text, with what it uses itself; returns its name."""
        if function.__module__ == "math":
            return f"math.{function.__name__}"
        name = function.__name__
        if name not in self.prelude:
            variables, text = _written(function)
            for key, value in variables.items():
                if inspect.isfunction(value):
                    self._include(value)
                elif not inspect.ismodule(value):
                    self._helpers.setdefault(key, f"{key} = {value!r}")
            self._helpers[name] = text
        return name

    # What is printed how

    def finished(self, definition: ast.FunctionDef) -> ast.FunctionDef:
        """Signs as they are written by hand: but -k of a uint8 is 256 - k, which a wider int is not to be told."""
        if not self.wraps:
            Subtractions().visit(definition)
        return definition

    def foldable(self, op: Op) -> bool:
        """What the user or a transform has named stays a statement."""
        return op.out.name is None and self.expressible(op) and not op.row.effect

    def expressible(self, op: Op) -> bool:
        """All operations with one result are expressions."""
        return len(op.outputs) == 1 and (not op.row.writes or op.kind in _VALUE_OF_WRITE)

    def constant(self, op: Op, user: Op | None) -> ast.expr:
        """A literal, with NumPy's type where that matters to what it is combined with."""
        value, ty = op.attrs["value"], op.out.type
        assert isinstance(ty, Scalar)
        if ty.weak:
            return syntax.number(value)
        if ty.dtype.kind == "b" or (not self.narrow and ty.dtype.name in ("float64", "complex128")):
            return syntax.number(value.item())
        if user is not None and (user.row.operator in BINARY or user.kind == "where") and _has_company(op, user):
            return syntax.number(value.item())
        return syntax.call(f"np.{ty.dtype.name}", syntax.number(value.item()))

    def expression(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """The NumPy expression of an operation."""
        made = self._natural(op, args)
        return made if op not in self.unlike else _ordered(op, made)

    def _natural(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        structural = getattr(self, f"op_{op.kind}", None)
        if structural is not None:
            return structural(op, args)
        made = self.elementwise(op, args)
        if made is not None:
            return made
        if op.kind in self.scalar_functions:
            return self._scalar_function(op, args)
        return self.numpy_function(op, args)

    def statements(self, op: Op, args: Sequence[ast.expr], outs: Sequence[str]) -> list[ast.stmt]:
        """The statement of a write or another effect."""
        if op.kind == "raise":
            return [ast.Raise(exc=exception_text(op, args, self._imports), cause=None)]
        if op.row.linked:
            if not outs:
                return [ast.Expr(value=self.op_foreign(op, args))]
            targets = ast.Tuple(elts=[syntax.target(n) for n in outs], ctx=syntax.STORE)
            return [ast.Assign(targets=[targets], value=self.op_foreign(op, args), lineno=0)]
        return STATEMENTS[op.kind](op, args)

    def _scalar_function(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        name = self.scalar_functions[op.kind]
        if name.startswith("scipy."):
            return self.returned(op, syntax.call(name, *args))
        if is_scalar(op):
            made = syntax.call(name, *args)
            ty = op.out.type
            assert isinstance(ty, Scalar)
            if not ty.weak and (self.narrow or ty.dtype.kind not in "fc"):
                return syntax.call(f"np.{ty.dtype.name}", made)
            return made
        otypes = ast.List(elts=[indextext.dtype(_dtype(op))], ctx=syntax.LOAD)
        return syntax.call(syntax.call("np.vectorize", syntax.dotted(name), otypes=otypes), *args)

    # Lengths and numbers

    def op_dim(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`u.size` of a vector, else `u.shape[axis]`."""
        ty = op.inputs[0].type
        if isinstance(ty, Array) and ty.ndim == 1:
            return syntax.attribute(args[0], "size")
        return syntax.subscript(syntax.attribute(args[0], "shape"), [syntax.number(op.attrs["axis"])])

    def op_trip(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`max(0, stop - start)` for a step of 1."""
        start, stop, step = args
        if not (isinstance(step, ast.Constant) and step.value == 1):
            return syntax.expr("len(range(start, stop, step))", start=start, stop=stop, step=step)
        if isinstance(start, ast.Constant) and start.value == 0:
            return syntax.call("max", syntax.number(0), stop)
        return syntax.expr("max(0, stop - start)", start=start, stop=stop)

    def op_share(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """Whether two arrays may overlap."""
        return syntax.call("np.may_share_memory", *args)

    def op_stop_gradient(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """The value itself."""
        return args[0]

    # Reductions and linear algebra

    def _reduction(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        ty, axes, keepdims = op.inputs[0].type, op.attrs["axes"], op.attrs.get("keepdims", False)
        assert isinstance(ty, Array)
        keywords: dict[str, ast.expr] = {}
        if len(axes) < ty.ndim:
            numbers = [syntax.number(k) for k in axes]
            keywords["axis"] = numbers[0] if len(numbers) == 1 else syntax.tuple_of(numbers)
        if op.kind in ("sum", "prod"):
            keywords |= indextext.dtype_keyword(_dtype(op), _widened(ty.dtype))
        if keepdims:
            keywords["keepdims"] = ast.Constant(value=True)
        return self.returned(op, syntax.call(f"np.{op.kind}", args[0], **keywords))

    op_sum = op_prod = op_max = op_min = op_any = op_all = _reduction

    def op_argmax(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.argmax(a, axis=k)`."""
        keywords: dict[str, ast.expr] = {}
        if op.attrs.get("axis") is not None:
            keywords["axis"] = syntax.number(op.attrs["axis"])
        if op.attrs.get("keepdims"):
            keywords["keepdims"] = ast.Constant(value=True)
        return self.returned(op, syntax.call(f"np.{op.kind}", args[0], **keywords))

    op_argmin = op_argmax

    def op_fft(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.fft.fft(a, axis=k)`; the other direction without NumPy's factor."""
        if op.attrs["forward"]:
            return syntax.call("np.fft.fft", args[0], axis=syntax.number(op.attrs["axis"]))
        return syntax.call("np.fft.ifft", args[0], axis=syntax.number(op.attrs["axis"]), norm=ast.Constant("forward"))

    def op_rfft(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.fft.rfft(a, axis=k)`."""
        return syntax.call("np.fft.rfft", args[0], axis=syntax.number(op.attrs["axis"]))

    def op_irfft(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.fft.irfft(a, n, axis=k)` without NumPy's factor."""
        return syntax.call("np.fft.irfft", *args, axis=syntax.number(op.attrs["axis"]), norm=ast.Constant("forward"))

    def op_cumsum(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.cumsum(a)` of a vector, else with its axis."""
        ty = op.inputs[0].type
        assert isinstance(ty, Array)
        keywords: dict[str, ast.expr] = {} if ty.ndim == 1 else {"axis": syntax.number(op.attrs["axis"])}
        keywords |= indextext.dtype_keyword(_dtype(op), _widened(ty.dtype))
        return syntax.call(f"np.{op.kind}", args[0], **keywords)

    op_cumprod = op_cumsum

    def op_sort(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A stable sort along an axis (NumPy's default is the last)."""
        ty, axis = op.inputs[0].type, op.attrs.get("axis", -1)
        assert isinstance(ty, Array)
        keywords = {} if axis in (-1, ty.ndim - 1) else {"axis": syntax.number(axis)}
        return syntax.call(f"np.{op.kind}", args[0], **keywords, kind=syntax.text("stable"))

    op_argsort = op_sort

    def op_matmul(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a @ b`."""
        return self.returned(op, ast.BinOp(left=args[0], op=ast.MatMult(), right=args[1]))

    def _linalg(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        return self.returned(op, syntax.call(f"np.linalg.{op.kind}", *args))

    op_solve = op_inv = op_det = op_cholesky = _linalg

    def op_eigh(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A helper."""
        return syntax.call("packed_eigh", *args, *([syntax.text("U")] if op.attrs["upper"] else []))

    def op_svd(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A helper."""
        del op
        return syntax.call("packed_svd", *args)

    def op_stride(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """Strides are counted in elements."""
        return syntax.expr(f"a.strides[{op.attrs['axis']}] // a.itemsize", a=args[0])

    def op_factorizes(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A helper."""
        return syntax.call("factorizes", args[0], syntax.text(op.attrs["kind"]))

    def op_unbroadcast(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A plain sum to a number, else a helper."""
        g, like = (v.type for v in op.inputs)
        if isinstance(like, Scalar):
            return self.returned(op, args[0] if isinstance(g, Scalar) else syntax.call("np.sum", args[0]))
        return syntax.call("unbroadcast", *args)

    def op_opaque(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A call of Python for what it does."""
        not_again(op)
        return self.op_foreign(op, args)

    def op_foreign(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A function without source, by its name."""
        made = op.attrs["site"]
        return syntax.call(made.text, *args[: None if made.through_python else len(made.inputs)])

    # Making arrays

    def _filled(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        keywords = indextext.dtype_keyword(_dtype(op), np.dtype(np.float64))
        keywords |= indextext.order_keyword(op.attrs.get("order", "C"))
        return syntax.call(f"np.{op.kind}", indextext.shape(args), **keywords)

    op_empty = op_zeros = _filled

    def op_full(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.full(shape, value)`."""
        keywords = indextext.dtype_keyword(_dtype(op), _dtype_of(op.inputs[0].type))
        keywords |= indextext.order_keyword(op.attrs.get("order", "C"))
        return syntax.call("np.full", indextext.shape(args[1:]), args[0], **keywords)

    def _like(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        ty = op.out.type
        if isinstance(ty, Scalar):
            zero = syntax.number({"b": False, "i": 0, "u": 0, "f": 0.0, "c": 0j}[ty.dtype.kind])
            return zero if ty.weak else syntax.call(f"np.{ty.dtype.name}", zero)
        return syntax.call(
            f"np.{op.kind}", args[0], **indextext.dtype_keyword(_dtype(op), _dtype_of(op.inputs[0].type))
        )

    op_empty_like = op_zeros_like = _like

    def op_arange(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.arange` without the arguments that have their defaults."""
        start, stop, step = args
        natural = np.result_type(*(_dtype_of(v.type) for v in op.inputs))
        keywords = indextext.dtype_keyword(_dtype(op), natural)
        if isinstance(step, ast.Constant) and type(step.value) is int and step.value == 1:
            if isinstance(start, ast.Constant) and type(start.value) is int and start.value == 0:
                return syntax.call("np.arange", stop, **keywords)
            return syntax.call("np.arange", start, stop, **keywords)
        return syntax.call("np.arange", start, stop, step, **keywords)

    def op_copy(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a.copy()`."""
        return syntax.method(args[0], "copy", **indextext.order_keyword(op.attrs.get("order", "C")))

    def op_concatenate(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.concatenate((a, b), axis=k)`."""
        axis = op.attrs.get("axis", 0)
        keywords = {} if axis == 0 else {"axis": syntax.number(axis)}
        return syntax.call("np.concatenate", syntax.tuple_of(args), **keywords)

    def op_nonzero(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.flatnonzero(m)`."""
        return syntax.call("np.flatnonzero", args[0])

    # Views and elements

    def op_view(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a[1:-1]`; an index that leaves no dimension still gives an array."""
        ty = op.out.type
        assert isinstance(ty, Array)
        return indextext.subscript(args[0], indextext.index_items(op.attrs["spec"], args[1:]), keep_array=ty.ndim == 0)

    def op_transpose(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a.T`, or the axes spelled out."""
        perm = tuple(op.attrs["perm"])
        if perm == tuple(reversed(range(len(perm)))):
            return syntax.attribute(args[0], "T")
        return syntax.method(args[0], "transpose", *(syntax.number(k) for k in perm))

    def op_diagonal(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """A helper, since NumPy's own diagonals are read-only."""
        offset = op.attrs.get("offset", 0)
        return syntax.call("diagonal", args[0], *([syntax.number(offset)] if offset else []))

    def op_reshape(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a.reshape(n, m)`, of a copy where the result must be fresh."""
        array = args[0] if op.attrs["view"] else syntax.method(args[0], "copy")
        lengths = list(args[1:]) or [syntax.tuple_of(())]
        return syntax.method(array, "reshape", *lengths)

    def op_broadcast_to(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`np.broadcast_to(a, shape)`."""
        return syntax.call("np.broadcast_to", args[0], indextext.shape(args[1:]))

    def op_real_view(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a.real` or `a.imag`."""
        return syntax.attribute(args[0], op.kind.removesuffix("_view"))

    op_imag_view = op_real_view

    def op_load(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a[i, j]`."""
        return self.returned(op, syntax.subscript(args[0], args[1:]))

    def op_gather(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a[indices]`."""
        return indextext.subscript(args[0], indextext.index_items(op.attrs["spec"], args[1:]))

    def op_mask_get(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`a[mask]`."""
        return syntax.subscript(args[0], args[1:])

    # Lists and stacks

    def op_list_new(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`[]`."""
        return ast.List(elts=[], ctx=syntax.LOAD)

    op_stack_new = op_list_new

    def op_list_get(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`items[i]`."""
        return syntax.subscript(args[0], args[1:])

    def op_list_len(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`len(items)`."""
        return syntax.call("len", args[0])

    def op_list_copy(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`items.copy()`."""
        return syntax.method(args[0], "copy")

    op_stack_copy = op_list_copy

    def op_pop(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`stack.pop()`."""
        return syntax.method(args[0], "pop")

    def op_list_pop(self, op: Op, args: Sequence[ast.expr]) -> ast.expr:
        """`items.pop(i)`."""
        last = len(op.inputs) == 1 or const_of(op.inputs[1]) == -1
        return syntax.method(args[0], "pop", *(args[1:] if not last else ()))


def _ordered(op: Op, made: ast.expr) -> ast.expr:
    """An array in the memory order that its type says."""
    ty = op.out.type
    assert isinstance(ty, Array)
    if op.kind in ("copy", "empty_like", "zeros_like"):
        assert isinstance(made, ast.Call)
        others = [k for k in made.keywords if k.arg != "order"]
        made.keywords = [*others, ast.keyword(arg="order", value=syntax.text(ty.layout))]
        return made
    return syntax.call("np.ascontiguousarray" if ty.layout == "C" else "np.asfortranarray", made)


def _types(function: Function) -> set[Scalar | Array]:
    """The types of all numbers and arrays."""
    types = {p.type for p in function.params}
    for block in blocks(function.body):
        types |= {v.type for op in block.ops for v in op.outputs}
    found: set[Scalar | Array] = set()
    for ty in types:
        while not isinstance(ty, (Scalar, Array)):
            ty = ty.elem  # noqa: PLW2901
        found.add(ty)
    return found


def not_again(op: Op) -> None:
    """A call of Python that was made for what it does is not made again where parts of a program run again."""
    if op.row.once and op.attrs.get("repeats"):
        raise UnsupportedSyntax(
            "DJ132", f"the program rests on what `{op.attrs['site'].routine.name}` returns, and a part of it would run "
            "again, with another answer",
            loc=op.loc, cure="call it outside the program, and pass the answer as an argument",
        )  # fmt: skip


def _has_company(constant: Op, user: Op) -> bool:
    """Whether another operand gives the constant's literal the type that it must have."""
    ty = constant.out.type
    assert isinstance(ty, Scalar)
    for v in user.inputs:
        other = v.type
        if is_const(v):
            continue
        strong = isinstance(other, Array) or (isinstance(other, Scalar) and not other.weak)
        if strong and _dtype_of(other) == ty.dtype:
            return True
    return False


def _widened(dtype: np.dtype) -> np.dtype:
    """The type that NumPy's sums and products of elements have: narrow integers become wide ones."""
    if dtype.kind == "u":
        return np.result_type(dtype, np.uint)
    return np.result_type(dtype, np.int_) if dtype.kind in "bi" else dtype


def _dtype(op: Op) -> np.dtype:
    return _dtype_of(op.out.type)


def _dtype_of(ty: object) -> np.dtype:
    assert isinstance(ty, (Scalar, Array))
    return ty.dtype
