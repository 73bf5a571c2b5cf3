"""Matrix products and factorisations: loops over stacks of matrices, each handled by a helper of `runtime.matrices`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import Array, Scalar
from diffjit.lowering.loops.fuse import dims_of
from diffjit.lowering.loops.skinny import INNER_LENGTHS
from diffjit.lowering.text import loops, scalars
from diffjit.lowering.text.forms import statement
from diffjit.lowering.text.lines import Lines, subscript, tuple_text

if TYPE_CHECKING:
    from diffjit.lowering.text.source import LoweredPrinter


class Operand:
    """A stack of matrices (or vectors), converted to the dtype of the result."""

    def __init__(
        self, printer: LoweredPrinter, value: Value, arg: ast.expr, dtype: np.dtype, core: int, lines: Lines
    ) -> None:
        ty = value.type
        assert isinstance(ty, Array)
        self.name, self.layout = printer.named(arg, value, lines), ty.layout
        self.core, self.lead, self.dims = core, ty.ndim - core, ty.dims
        if ty.dtype != dtype:
            spec = Array(dtype, ty.dims, "F" if ty.layout == "F" else "C")
            made = printer.work("converted", printer.spec(spec))
            nest = loops.Nest(printer, lines, ty.dims)
            nest.read(ast.Name(id=self.name, ctx=ast.Load()), value)
            nest.measure()
            lines.add(f"{made} = {printer.empty(dtype, made, spec.layout)}({tuple_text(nest.lengths)})")
            element = scalars.cast(scalars.Operand(subscript(self.name, nest.indices), Scalar(ty.dtype)), dtype)
            with nest.loops(nest.order()):
                lines.add(f"{subscript(made, nest.indices)} = {element}", inside=True)
            self.name, self.layout = made, spec.layout
        self.steps: list[str] = []

    def length(self, k: int) -> str:
        """A length of the matrices, counted from the end."""
        return f"{self.name}.shape[{self.lead + self.core + k}]"

    def item(self, indices: list[str]) -> str:
        """One matrix of the stack."""
        if self.lead == 0:
            return self.name
        own = indices[len(indices) - self.lead :]
        places = [
            f"{i} * {s}" if s else "0" if d == 1 else i for i, s, d in zip(own, self.steps, self.dims, strict=False)
        ]
        return f"{self.name}[{', '.join(places + [':'] * self.core)}]"


def _stack(printer: LoweredPrinter, operands: list[Operand], lines: Lines) -> tuple[list[str], list[str]]:
    """Loop indices and lengths over the leading dimensions, which broadcast."""
    ndim = max(o.lead for o in operands)
    indices = [printer.temp(loops.INDEX_NAMES[k % 6]) for k in range(ndim)]
    lengths: list[str] = []
    for k in range(ndim):
        texts = [(o, k - ndim + o.lead) for o in operands if k - ndim + o.lead >= 0 and o.dims[k - ndim + o.lead] != 1]
        distinct = {o.dims[p]: f"{o.name}.shape[{p}]" for o, p in texts}
        if not distinct:
            lengths.append("1")
            continue
        length = printer.temp("n")
        first, *rest = distinct.values()
        text = first
        for other in rest:
            text = f"joint({other}, {text})"
        lines.add(f"{length} = {text}")
        if len(distinct) > 1:
            for other in distinct.values():
                check = printer.require("SHAPES", 4)
                lines.add(f"{check}(({other} == {length}) | ({other} == 1), 1, {other}, 1, {length})")
        lengths.append(length)
    for o in operands:
        o.steps = []
        for p in range(o.lead):
            k = p + ndim - o.lead
            others = {x.dims[k - ndim + x.lead] for x in operands if k - ndim + x.lead >= 0} - {1}
            if o.dims[p] != 1 and len(others) > 1:
                step = printer.temp("step")
                lines.add(f"{step} = int64({o.name}.shape[{p}] != 1)")
                o.steps.append(step)
            else:
                o.steps.append("")
    return indices, lengths


def _result_at(result: str, indices: list[str]) -> str:
    """One of a stack of results, by ints alone: Numba knows then that it stands by rows, too."""
    return f"{result}[{', '.join(indices)}]" if indices else result


def _inner_lengths(printer: LoweredPrinter, of_a: str, of_b: str, lines: Lines) -> None:
    lines.add(f"{printer.require('MATMUL', 2)}({of_a} == {of_b}, {of_a}, {of_b})")


@statement(INNER_LENGTHS)
def _test(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    del outs
    a, b = (printer.named(arg, v, lines) for arg, v in zip(args, op.inputs, strict=True))
    last, first = (v.type.ndim - k for v, k in zip(op.inputs, (1, 2), strict=True))  # type: ignore[union-attr]
    _inner_lengths(printer, f"{a}.shape[{last}]", f"{b}.shape[{first}]", lines)


@statement("matmul")
def _matmul(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    ndims = [len(dims_of(v)) for v in op.inputs]
    a, b = (Operand(printer, v, arg, dtype, min(2, n), lines) for v, arg, n in zip(op.inputs, args, ndims, strict=True))
    if dims_of(op.inputs[0])[-1] != dims_of(op.inputs[1])[-b.core]:
        _inner_lengths(printer, a.length(-1), b.length(-b.core), lines)
    zero = scalars.literal(0, dtype)
    if a.core == b.core == 1:
        lines.add(
            f"{outs[0]} = "
            + (f"dot_bools({a.name}, {b.name})" if dtype.kind == "b" else f"dot_lanes({a.name}, {b.name}, {zero})")
        )
        return
    indices, lengths = _stack(printer, [a, b], lines)
    shape = [*lengths, *([a.length(-2)] if a.core > 1 else []), *([b.length(-1)] if b.core > 1 else [])]
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text(shape)})")
    out = _result_at(outs[0], indices)
    spare = []
    contiguous = all(_item_layout(o) in ("C", "F") for o in (a, b))  # as BLAS takes them, whatever the strides
    if a.core == b.core == 2 and dtype.kind in "fc" and not contiguous:
        for o, hint in ((a, "spare_a"), (b, "spare_b")):
            name = printer.work(hint, f"{dtype.name}:2C")
            lines.add(f"{name} = {printer.empty(dtype, name)}((0, 0))")
            if o.layout not in ("C", "F") or o.lead:
                with lines.block(f"if {o.length(-1)} > 0:"):
                    lines.add(f"{name} = {printer.empty(dtype, name)}(({o.length(-2)}, {o.length(-1)}))")
            spare.append(name)
    with lines.loops(indices, lengths):
        x, y = a.item(indices), b.item(indices)
        if a.core == 1:
            _product(
                printer,
                dtype,
                f"{y}.T" if b.lead == 0 else _turned(printer, b, y),
                x,
                out,
                zero,
                lines,
                by_columns=b.layout != "F",
            )
        elif b.core == 1:
            _product(printer, dtype, x, y, out, zero, lines, by_columns=a.layout == "F" and a.lead == 0)
        elif dtype.kind == "b":
            lines.add(f"matmul_bools({x}, {y}, {out})", inside=True)
        elif dtype.kind not in "fc":
            lines.add(f"matmul_loops({x}, {y}, {out})", inside=True)
        else:
            left, right, target = (
                printer.temp(hint, f"{dtype.name}:2{layout}")
                for hint, layout in (("left", _item_layout(a)), ("right", _item_layout(b)), ("target", "C"))
            )
            lines.add(f"{left} = {x}", inside=True)
            lines.add(f"{right} = {y}", inside=True)
            lines.add(f"{target} = {out}", inside=True)
            lines.add(f"if is_small({left}, {target}):")
            lines.add(f"    matmul_loops({left}, {right}, {target})")
            lines.add("else:")
            if contiguous:
                lines.add(f"    gemm({left}, {right}, {target})")
            else:
                lines.add(f"    matmul_blas({left}, {right}, {target}, {', '.join(spare)})")


def _item_layout(o: Operand) -> str:
    return o.layout if o.lead == 0 else ("C" if o.layout == "C" else "A")


def _turned(printer: LoweredPrinter, o: Operand, text: str) -> str:
    layout = "A" if o.layout != "C" else "F"
    name = printer.define(f"transpose_10_{layout}", f'memory.transpose(1, 0, order="{layout}")')
    return f"{name}({text})"


def _product(
    printer: LoweredPrinter,
    dtype: np.dtype,
    matrix: str,
    vector: str,
    out: str,
    zero: str,
    lines: Lines,
    *,
    by_columns: bool,
) -> None:
    if matrix.endswith(".T"):
        base = matrix[:-2]
        name = printer.define("transpose_10_A", 'memory.transpose(1, 0, order="A")')
        matrix = f"{name}({base})"
    if dtype.kind == "b":
        row = printer.temp("r")
        holder = printer.temp("matrix", "bool:2A")
        lines.add(f"{holder} = {matrix}", inside=True)
        with lines.loops([row], [f"{holder}.shape[0]"]):
            lines.add(f"{out}[{row}] = dot_bools({holder}[{row}, :], {vector})", inside=True)
        return
    function = "matvec_by_columns" if by_columns else "matvec"
    lines.add(f"{function}({matrix}, {vector}, {out}, {zero})", inside=True)


# Factorisations -------------------------------------------------------------------------------------------------------


def _square(printer: LoweredPrinter, o: Operand, lines: Lines) -> str:
    n = printer.temp("size")
    lines.add(f"{n} = {o.length(-1)}")
    if o.dims[-1] != o.dims[-2]:
        lines.add(f"{printer.require('NOT_SQUARE', 0)}({o.length(-2)} == {n})")
    return n


def _work(printer: LoweredPrinter, dtype: np.dtype, hint: str, shape: list[str], lines: Lines) -> str:
    name = printer.work(hint, f"{dtype.name}:{len(shape)}F")
    order = "F" if len(shape) > 1 else "C"
    lines.add(f"{name} = {printer.empty(dtype, name, order)}({tuple_text(shape)})")
    return name


@statement("solve")
def _solve(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    vector = len(dims_of(op.inputs[1])) == 1
    a = Operand(printer, op.inputs[0], args[0], dtype, 2, lines)
    b = Operand(printer, op.inputs[1], args[1], dtype, 1 if vector else 2, lines)
    n = _square(printer, a, lines)
    rows = b.length(-1 if vector else -2)
    lines.add(f"{printer.require('SOLVE_SHAPES', 2)}({rows} == {n}, {n}, {rows})")
    indices, lengths = _stack(printer, [a, b], lines)
    columns = ["1"] if vector else [b.length(-1)]
    shape = [*lengths, n, *([] if vector else columns)]
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text(shape)})")
    work = _work(printer, dtype, "lu", [n, n], lines), _work(printer, dtype, "right", [n, *columns], lines)
    pivots = _work(printer, np.dtype(np.int32), "pivots", [n], lines)
    out = _result_at(outs[0], indices)
    with lines.loops(indices, lengths):
        function = "solve_vector" if vector else "solve_matrix"
        lines.add(f"{function}({a.item(indices)}, {b.item(indices)}, {out}, {', '.join(work)}, {pivots})", inside=True)


@statement("inv", "cholesky")
def _inv(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    a = Operand(printer, op.inputs[0], args[0], dtype, 2, lines)
    n = _square(printer, a, lines)
    indices, lengths = _stack(printer, [a], lines)
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text([*lengths, n, n])})")
    out = _result_at(outs[0], indices)
    if op.kind == "cholesky":
        with lines.loops(indices, lengths):
            lines.add(f"cholesky_factor({a.item(indices)}, {out})", inside=True)
        return
    work = _work(printer, dtype, "lu", [n, n], lines), _work(printer, dtype, "right", [n, n], lines)
    pivots = _work(printer, np.dtype(np.int32), "pivots", [n], lines)
    with lines.loops(indices, lengths):
        lines.add(f"invert({a.item(indices)}, {out}, {', '.join(work)}, {pivots})", inside=True)


@statement("det")
def _det(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    a = Operand(printer, op.inputs[0], args[0], dtype, 2, lines)
    n = _square(printer, a, lines)
    lu = _work(printer, dtype, "lu", [n, n], lines)
    pivots = _work(printer, np.dtype(np.int32), "pivots", [n], lines)
    one = scalars.literal(1, dtype)
    if isinstance(op.out.type, Scalar):
        lines.add(f"{outs[0]} = determinant({a.name}, {one}, {lu}, {pivots})")
        return
    indices, lengths = _stack(printer, [a], lines)
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text(lengths)})")
    with lines.loops(indices, lengths):
        lines.add(f"{subscript(outs[0], indices)} = determinant({a.item(indices)}, {one}, {lu}, {pivots})", inside=True)


@statement("eigh")
def _eigh(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Eigenvalues and eigenvectors; work space as `syevd` and `heevd` ask for it."""
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    a = Operand(printer, op.inputs[0], args[0], dtype, 2, lines)
    n = _square(printer, a, lines)
    indices, lengths = _stack(printer, [a], lines)
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text([*lengths, f'{n} + 1', n])})")
    real = np.finfo(dtype).dtype
    spare = [
        _work(printer, dtype, "vectors", [n, n], lines),
        _work(printer, real, "values", [n], lines),
        _work(printer, dtype, "work", [f"1 + 6 * {n} + 2 * {n} * {n}"], lines),
        _work(printer, real, "real_work", [f"1 + 5 * {n} + 2 * {n} * {n}"], lines),
        _work(printer, np.dtype(np.int32), "int_work", [f"3 + 5 * {n}"], lines),
    ]
    out = _result_at(outs[0], indices)
    with lines.loops(indices, lengths):
        matrix = f"{a.item(indices)}, {int(op.attrs['upper'])}"
        lines.add(f"hermitian_vectors({matrix}, {out}, {', '.join(spare)})", inside=True)


@statement("svd")
def _svd(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Singular values and vectors; work space as `gesdd` asks for it."""
    dtype = op.out.type.dtype  # type: ignore[union-attr]
    a = Operand(printer, op.inputs[0], args[0], dtype, 2, lines)
    m, n, k, longer = (printer.temp(hint) for hint in ("rows", "columns", "rank", "longer"))
    lines.add(f"{m} = {a.length(-2)}")
    lines.add(f"{n} = {a.length(-1)}")
    lines.add(f"{k} = minimum({m}, {n})")
    lines.add(f"{longer} = maximum({m}, {n})")
    indices, lengths = _stack(printer, [a], lines)
    lines.add(f"{outs[0]} = {printer.empty(dtype, outs[0])}({tuple_text([*lengths, f'{m} + {n} + 1', k])})")
    real = np.finfo(dtype).dtype
    spare = [
        _work(printer, dtype, "matrix", [m, n], lines),
        _work(printer, dtype, "left", [m, k], lines),
        _work(printer, real, "values", [k], lines),
        _work(printer, dtype, "right", [k, n], lines),
        _work(printer, dtype, "work", [f"1 + 6 * {k} * {k} + 16 * {k} + 2 * {longer}"], lines),
        _work(printer, real, "real_work", [f"1 + 7 * {k} * {k} + 7 * {k} + 2 * {longer} * {k}"], lines),
        _work(printer, np.dtype(np.int32), "int_work", [f"1 + 8 * {k}"], lines),
    ]
    out = _result_at(outs[0], indices)
    with lines.loops(indices, lengths):
        lines.add(f"singular_vectors({a.item(indices)}, {out}, {', '.join(spare)})", inside=True)


@statement("factorizes")
def _factorizes(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Whether a factorisation exists, for every matrix of the stack."""
    ty = op.inputs[0].type
    assert isinstance(ty, Array)
    dtype = ty.dtype if ty.dtype.kind in "fc" else np.dtype(np.float64)
    a = Operand(printer, op.inputs[0], args[0], dtype, 2, lines)
    n = _square(printer, a, lines)
    work = _work(printer, dtype, "lu", [n, n], lines)
    spare = [work]
    if op.attrs["kind"] != "cholesky":
        spare.append(_work(printer, np.dtype(np.int32), "pivots", [n], lines))
    function = "is_positive" if op.attrs["kind"] == "cholesky" else "is_regular"
    indices, lengths = _stack(printer, [a], lines)
    lines.add(f"{outs[0]} = True")
    with lines.loops(indices, lengths):
        lines.add(f"{outs[0]} = {outs[0]} & {function}({a.item(indices)}, {', '.join(spare)})", inside=True)


# Fourier transforms ---------------------------------------------------------------------------------------------------


@statement("fft", "rfft", "irfft")
def _transform(printer: LoweredPrinter, op: Op, args: list[ast.expr], outs: list[str], lines: Lines) -> None:
    """Rows of transforms along one axis; the longest other axis that is known, the last, is gone through inside."""
    source, ty, axis = op.inputs[0], op.out.type, op.attrs["axis"]
    assert isinstance(ty, Array)
    name = printer.named(args[0], source, lines)
    lengths = [f"{name}.shape[{k}]" for k in range(ty.ndim)]
    shape = list(lengths)
    kind = op.kind
    if kind == "fft" and not op.attrs["forward"]:
        kind = "ifft"
    elif kind == "rfft":
        shape[axis] = f"{lengths[axis]} // 2 + 1"
    elif kind == "irfft":
        shape[axis] = printer.named(args[1], op.inputs[1], lines)
    order = "F" if ty.layout == "F" else "C"
    lines.add(f"{outs[0]} = {printer.empty(ty.dtype, outs[0], order)}({tuple_text(shape)})")
    others = [k for k in range(ty.ndim) if k != axis]
    inner = others.pop() if others else None
    indices = {k: printer.temp(loops.INDEX_NAMES[k % 6]) for k in others}
    item = ", ".join(indices.get(k, ":") for k in range(ty.ndim))
    a, out = (f"{v}[{item}]" if others else v for v in (name, outs[0]))
    if inner is not None and axis < inner:
        turned = printer.define("transpose_10_A", 'memory.transpose(1, 0, order="A")')
        a, out = f"{turned}({a})", f"{turned}({out})"
    with lines.loops([indices[k] for k in others], [lengths[k] for k in others]):
        lines.add(f"{kind}_rows({a}, {out})", inside=True)
