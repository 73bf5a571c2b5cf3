"""Makes Numba intrinsics from emitters of LLVM, and from Python helpers chosen by type."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls.failures import PROMISED
from diffjit.lowering.direct.functions import call, text_of
from diffjit.lowering.llvm import elements
from diffjit.lowering.llvm.compiler import OPTIONS
from diffjit.lowering.llvm.exits import fail_if
from diffjit.lowering.llvm.numba_internals import known_function
from diffjit.lowering.llvm.operations import operation

I1, I8, I32, I64 = (llvm_ir.IntType(n) for n in (1, 8, 32, 64))
Emit = Callable[..., Any]


def helper(function: Callable[..., Any]) -> Any:
    """A Python helper that is inlined into generated code. Its variables have one type each (no SSA reconstruction)."""
    return numba.njit(no_cpython_wrapper=True, forceinline=True, **OPTIONS)(function)  # pyright: ignore[reportCallIssue]


def outlined(function: Callable[..., Any]) -> Any:
    """A Python helper that is called, which Numba compiles once per process for each signature."""
    return numba.njit(no_cpython_wrapper=True, **OPTIONS)(function)  # pyright: ignore[reportCallIssue]


WRITTEN: list[Callable[..., Any]] = []
DIRECT = [True]  # whether helpers are written so: tests compare with how Numba compiles them


def written(typing: Callable[..., Any], *, inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """A Python helper that is called, or becomes part of who calls it (`inline`), straight from its text to LLVM.

    `typing` gives the type of its result for those of its arguments. Where there is no text, Numba compiles it.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        by_numba = cache(lambda: (helper if inline else outlined)(function))
        WRITTEN.append(function)

        def emit(context: Any, builder: Any, kinds: Any, args: Any) -> Any:
            if DIRECT[0] and text_of(function) is not None:
                return call(context, builder, function, typing(*kinds), kinds, args, inline=inline)
            return call_python(context, builder, by_numba(), kinds, args)

        return operation(function.__name__, function.__code__.co_argcount, typing, emit)

    return decorate


def call_python(context: Any, builder: Any, function: Any, arg_types: Any, args: Any) -> Any:
    """Call a helper (a dispatcher or a builtin) from an emitter."""
    if len(args) == 2 and arg_types[0] == arg_types[1]:
        emit = elements.direct_operator(arg_types[0], arg_types[0], function)
        if emit is not None:
            return emit(builder, *args)
    signature, implementation = known_function(context, function, tuple(arg_types))
    values = [context.cast(builder, a, t, s) for a, t, s in zip(args, arg_types, signature.args, strict=True)]
    return implementation(builder, values)


def _emit_relies_on(context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    fail_if(context, builder, builder.not_(args[0]), PROMISED, *args[1:])
    return context.get_dummy_value()


# `relies_on(m == n, LENGTH, m, n)`: what a helper relies on, whoever has called it
relies_on = operation("relies_on", 4, lambda *_k: types.none, _emit_relies_on)


def declared(builder: Any, name: str, result: Any, *arguments: Any, pure: bool = False) -> Any:
    """An external C function."""
    fn = builder.module.globals.get(name)
    if fn is None:
        fn = llvm_ir.Function(builder.module, llvm_ir.FunctionType(result, arguments), name)
        fn.attributes.add("nounwind")
        if pure:
            fn.attributes.add("readnone")
    return fn


# Types and parts of operands ------------------------------------------------------------------------------------------

FLOAT_OF = {types.complex64: types.float32, types.complex128: types.float64}


def nothing(*_kinds: Any) -> Any:
    """There is no result."""
    return types.none


def same(*kinds: Any) -> Any:
    """The result has the type of the first operand."""
    return kinds[0]


def float_only(*kinds: Any) -> Any:
    """Floats give floats; the rest is refused."""
    return kinds[0] if isinstance(kinds[0], types.Float) else None


def float_or_complex(*kinds: Any) -> Any:
    """Floats and complex numbers give such; the rest is refused."""
    return kinds[0] if isinstance(kinds[0], (types.Float, types.Complex)) else None


def int_only(*kinds: Any) -> Any:
    """Ints give ints; the rest is refused."""
    return kinds[0] if isinstance(kinds[0], types.Integer) else None


def is_float(kind: Any) -> bool:
    """Whether a type is float32 or float64."""
    return isinstance(kind, types.Float)


def is_nan(builder: Any, x: Any) -> Any:
    """x != x."""
    return builder.fcmp_unordered("uno", x, x)


def compare(builder: Any, sign: str, kind: Any, x: Any, y: Any) -> Any:
    """An ordered comparison of floats, ints or booleans."""
    if is_float(kind):
        return builder.fcmp_ordered(sign, x, y)
    signed = isinstance(kind, types.Integer) and kind.signed  # pyright: ignore[reportAttributeAccessIssue]
    return (builder.icmp_signed if signed else builder.icmp_unsigned)(sign, x, y)
