"""Special functions by function pointer, from SciPy's exports: registered as symbols as BLAS is."""

from __future__ import annotations

import importlib
import re
from functools import cache

import llvmlite.binding as llvm

from diffjit.primitives.signatures import address_of

SYMBOLS = re.compile(rb"dj_special_[a-z0-9_]+")  # in machine code


def provides(symbol: str) -> bool:
    """Whether a symbol is one of these."""
    return symbol.startswith("dj_special_")


@cache
def register(symbol: str) -> None:
    """Make a function known to the linker."""
    from diffjit.primitives.scipy_special import EXPORTS  # the table, which programs without such functions do without

    exports = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    name = EXPORTS[symbol.removeprefix("dj_")].name
    if name not in exports:  # older versions have fewer of these for several types of numbers
        name = re.sub(r"^__pyx_fuse_\d", "", name)
    llvm.add_symbol(symbol, address_of(exports[name]))
