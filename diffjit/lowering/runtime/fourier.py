"""Rows of Fourier transforms, by NumPy's loops (`lowering.calls.fourier`)."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls import fourier
from diffjit.lowering.llvm.elements import DATA
from diffjit.lowering.runtime.build import I8, I64, declared, operation
from diffjit.lowering.runtime.memory import lengths_of, strides_of


def _values(builder: Any, kind: Any, values: list[Any]) -> Any:
    """An array on the stack."""
    room = builder.alloca(kind, size=I64(len(values)))
    for k, v in enumerate(values):
        builder.store(v, builder.gep(room, [I64(k)]))
    return room


def _call(builder: Any, symbol: str, data: Any, lengths: Any, steps: Any) -> None:
    pointer = I8.as_pointer()
    loop = declared(builder, symbol, llvm_ir.VoidType(), data.type, lengths.type, steps.type, pointer)
    own = builder.module.globals.get(f"{symbol}_data")
    if own is None:
        own = llvm_ir.GlobalVariable(builder.module, I8, f"{symbol}_data")
        own.linkage = "external"
    builder.call(loop, [data, lengths, steps, own])


def _rows(name: str) -> Any:
    """`name(a, out)`: the transform along the last axis, of one row or of each row of a matrix."""

    def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        fourier.register()
        (kind, _), (a, out) = kinds, args
        ndim = kind.ndim
        lengths, steps = (lengths_of(builder, v, ndim) for v in args), [strides_of(builder, v, ndim) for v in args]
        (*rows, n), (*_, m) = lengths
        single = kind.dtype in (types.complex64, types.float32)
        real = llvm_ir.FloatType() if single else llvm_ir.DoubleType()
        factor = builder.alloca(real)
        builder.store(real(1.0), factor)
        pointer = I8.as_pointer()
        places = [builder.bitcast(v, pointer) for v in (builder.extract_value(a, DATA), factor)]
        places.append(builder.bitcast(builder.extract_value(out, DATA), pointer))
        data = _values(builder, pointer, places)
        counts = _values(builder, I64, [rows[0] if rows else I64(1), n, m])
        outer = [s[0] if rows else I64(0) for s in steps]
        strides = _values(builder, I64, [outer[0], I64(0), outer[1], steps[0][-1], steps[1][-1]])
        letter = "f" if single else "d"
        if name != "rfft":
            _call(builder, f"dj_{name}_{letter}", data, counts, strides)
            return context.get_dummy_value()
        even = builder.icmp_signed("==", builder.and_(n, I64(1)), I64(0))
        with builder.if_else(even) as (then, otherwise):
            with then:
                _call(builder, f"dj_rfft_even_{letter}", data, counts, strides)
            with otherwise:
                _call(builder, f"dj_rfft_odd_{letter}", data, counts, strides)
        return context.get_dummy_value()

    def typing(a: Any, out: Any) -> Any:
        return types.none if isinstance(a, types.Array) and isinstance(out, types.Array) else None

    return operation(f"{name}_rows", 2, typing, emit)


fft_rows, ifft_rows, rfft_rows, irfft_rows = _rows("fft"), _rows("ifft"), _rows("rfft"), _rows("irfft")
