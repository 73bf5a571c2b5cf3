"""Runs a row's partial derivative as plain NumPy: the names of elementwise kinds bound to NumPy or scalar functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.arithmetic import one_minus_square
from diffjit.primitives.registry import ELEMENTWISE
from diffjit.primitives.semantics import SCALAR_SEMANTICS


def _zmul(g: Any, p: Any) -> Any:
    return np.where(np.equal(g, 0), 0, np.multiply(g, p))


def _zdiv(g: Any, y: Any) -> Any:
    return np.where(np.equal(g, 0), 0, np.divide(g, y))


def functions() -> dict[str, Any]:
    """Every elementwise kind as a function of arrays."""
    table: dict[str, Any] = {kind: np.vectorize(s.scalar) for kind, s in SCALAR_SEMANTICS.items()}
    table |= {"select": np.where, "cast": np.asarray, "zmul": _zmul, "zdiv": _zdiv, "real": np.real, "imag": np.imag}
    table["one_minus_square"] = one_minus_square
    for kind, row in ELEMENTWISE.items():
        if row.ufunc is not None:
            table[kind] = row.ufunc
    return table


FUNCTIONS_BY_KIND = functions()


def value(kind: str, *args: Any) -> Any:
    """The kind applied to arguments."""
    return FUNCTIONS_BY_KIND[kind](*args)


def partial(kind: str, position: int, *args: Any) -> Any:
    """The partial derivative by one parameter, evaluated from its text."""
    row = ELEMENTWISE[kind]
    text = row.partials[position]
    assert text is not None
    scope = FUNCTIONS_BY_KIND | dict(zip(row.params, args, strict=True)) | {"out": value(kind, *args)}
    with np.errstate(all="ignore"):
        return eval(text, {"__builtins__": {}}, scope)  # noqa: S307 - our own text
