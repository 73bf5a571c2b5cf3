"""Special functions by function pointer, from SciPy's exports: registered as symbols as BLAS is."""

from __future__ import annotations

import importlib
from functools import cache

import llvmlite.binding as llvm

from diffjit.lowering.blas import address
from diffjit.primitives.scipy_special import EXPORTS

_SYMBOLS = {f"dj_{kind}": export.name for kind, export in EXPORTS.items()}


def provides(symbol: str) -> bool:
    """Whether a symbol is one of these."""
    return symbol in _SYMBOLS


@cache
def register(symbol: str) -> None:
    """Make a function known to the linker."""
    exports = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    llvm.add_symbol(symbol, address(exports[_SYMBOLS[symbol]]))
