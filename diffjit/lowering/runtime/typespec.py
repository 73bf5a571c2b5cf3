"""Types as short text, so that generated modules can name them: `float64`, `float64:2C`, `list(int64:1A)`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba.core import types

from diffjit.ir.types import Array, Scalar, Type
from diffjit.lowering.llvm.numba_internals import type_of_dtype


def spec_of(ty: Type) -> str:
    """The text of an IR type."""
    if isinstance(ty, Scalar):
        return ty.dtype.name
    if isinstance(ty, Array):
        return f"{ty.dtype.name}:{ty.ndim}{ty.layout}"
    return f"list({spec_of(ty.elem)})"


@cache
def numba_type(spec: str) -> Any:
    """The Numba type that a text stands for."""
    if spec.startswith("list("):
        return types.List(numba_type(spec[5:-1]), reflected=False)
    if ":" in spec:
        name, shape = spec.split(":")
        return types.Array(numba_type(name), int(shape[:-1]), shape[-1])
    return type_of_dtype(np.dtype(spec))
