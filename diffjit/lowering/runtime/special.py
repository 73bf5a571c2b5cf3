"""Logarithms of sums, special functions written in plain Python in `primitives.semantics`, and those of SciPy."""

from __future__ import annotations

import math
import types as python_types
from typing import Any

import numba
from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.lowering.calls import special as foreign
from diffjit.lowering.runtime import scalars
from diffjit.lowering.runtime.arithmetic import emit_float_division
from diffjit.lowering.runtime.build import I8, I32, I64, declared, float_only, operation, same, written
from diffjit.lowering.runtime.scalars import exp, exp2, log1p
from diffjit.primitives.scipy_special import EXPORTS, Export
from diffjit.primitives.semantics import SCALAR_SEMANTICS


@written(same, inline=True)
def _logaddexp(x: Any, y: Any) -> Any:
    if x == y:
        return x + 0.6931471805599453
    gap = x - y
    if gap > 0.0:
        return x + log1p(exp(-gap))
    if gap <= 0.0:
        return y + log1p(exp(gap))
    return gap


@written(same, inline=True)
def _logaddexp2(x: Any, y: Any) -> Any:
    if x == y:
        return x + 1.0
    gap = x - y
    if gap > 0.0:
        return x + 1.4426950408889634 * log1p(exp2(-gap))
    if gap <= 0.0:
        return y + 1.4426950408889634 * log1p(exp2(gap))
    return gap


def _double(name: str, python: Any) -> Any:
    of_float = emit_float_division(python)
    return operation(name, 2, float_only, lambda c, b, k, a: of_float(c, b, k[0], a))


logaddexp, logaddexp2 = _double("logaddexp", _logaddexp), _double("logaddexp2", _logaddexp2)


# Special functions written in plain Python ----------------------------------------------------------------------------


def _adopted(function: Any) -> Any:
    """Compile a function of `primitives.semantics`; calls of itself or its neighbours go to compiled versions."""
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        callee = scope.get(name)
        if isinstance(callee, python_types.FunctionType) and callee is not function:
            scope[name] = _adopted(callee)
    copy = python_types.FunctionType(function.__code__, scope, function.__name__)
    compiled = numba.njit(error_model="numpy", nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(copy)  # pyright: ignore[reportCallIssue]
    scope[function.__name__] = compiled
    return compiled


# Functions that are rows in plain Python, and not SciPy's or the C library's
_IN_PYTHON = frozenset(k for k in SCALAR_SEMANTICS if k not in EXPORTS and not hasattr(scalars, k))

ON_DEMAND = _IN_PYTHON | frozenset(EXPORTS)  # the functions that are made when a program asks for them


def __getattr__(name: str) -> Any:
    if name in _IN_PYTHON:
        made = _adopted(SCALAR_SEMANTICS[name].scalar)
    elif name in EXPORTS:
        made = _exported(name, EXPORTS[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = made
    return made


# Special functions of SciPy, called by pointer ------------------------------------------------------------------------


def _exported(kind: str, export: Export) -> Any:
    def emit(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
        symbol = f"dj_{kind}"
        foreign.register(symbol)
        flip = None
        if export.parity:
            order, x = args
            negative = builder.fcmp_ordered("<", x, x.type(0.0))
            flip = builder.and_(negative, builder.trunc(order, negative.type))
            args = [order, builder.select(negative, builder.fneg(x), x)]
        fits = None
        if export.whole is not None:
            args = list(args)
            number = args[export.whole]
            below = builder.fcmp_ordered("<", number, number.type(2.0**31))
            fits = builder.and_(below, builder.fcmp_ordered(">", number, number.type(-(2.0**31))))
            args[export.whole] = builder.fptosi(builder.select(fits, number, number.type(0.0)), I64)
        operands = [*args, I32(0)]  # Cython's: not to look for an override in Python
        if export.options:
            operands.append(I64(0).inttoptr(I8.as_pointer()))
        fn = declared(builder, symbol, llvm_ir.DoubleType(), *(o.type for o in operands), pure=True)
        found = builder.call(fn, operands)
        if fits is not None:
            found = builder.select(fits, found, found.type(math.nan))
        return found if flip is None else builder.select(flip, builder.fneg(found), found)

    wanted = (types.int64 if export.integer else types.float64,) + (types.float64,) * (export.arity - 1)
    return operation(kind, export.arity, lambda *given: types.float64 if given == wanted else None, emit)
