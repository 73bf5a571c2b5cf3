"""Sets of inputs as numbers, which programs that find patterns compute with (`transforms.modes.sets`).

A number below `n + 1` is the empty set (0) or an input (1 to n); each other one is the union of two before it, kept in
a pool that is given by its address. Uniting in another order, or once more, gives the same sets.

The functions below say what operations on whole arrays do to sets, as plain programs that the frontend reads. `made` is
an array of empty sets in the shape of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.ir.types import Scalar

SET = Scalar(np.dtype(np.int64))


class _Unite:
    """The union, as the functions below call it."""

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs, node
        return interpreter.build.value("unite", [interpreter.number(a) for a in args], SET)


unite: Any = _Unite()


def whole(pool: Any, sets: Any) -> Any:
    """All that any element depends on."""
    found = np.int64(0)
    for s in sets.ravel():
        found = unite(pool, found, s)
    return found


def filled(made: Any, found: Any) -> Any:
    """The same set everywhere."""
    made[...] = found
    return made


def _of_rows(pool: Any, rows: Any) -> Any:
    found = np.zeros(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        one = np.int64(0)
        for k in range(rows.shape[1]):
            one = unite(pool, one, rows[i, k])
        found[i] = one
    return found


def reduced(pool: Any, made: Any, sets: Any, order: Any, count: Any) -> Any:
    """Unions over the last `count` axes of a transpose."""
    turned = sets.transpose(order)
    width = 1
    for n in turned.shape[turned.ndim - count :]:
        width *= n
    made[...] = _of_rows(pool, turned.reshape(made.size, width)).reshape(made.shape)
    return made


def along(pool: Any, made: Any, sets: Any, axis: Any) -> Any:
    """Unions along an axis, which all elements there have."""
    turned = np.moveaxis(sets, axis, -1)
    found = _of_rows(pool, turned.reshape(-1, turned.shape[-1])).reshape(turned.shape[:-1])
    np.moveaxis(made, axis, -1)[...] = found[..., None]
    return made


def running(pool: Any, made: Any, sets: Any, axis: Any) -> Any:
    """Unions of what has come so far, along an axis."""
    turned = np.moveaxis(sets, axis, -1)
    rows = turned.reshape(-1, turned.shape[-1])
    found = np.zeros(rows.shape, np.int64)
    for i in range(rows.shape[0]):
        one = np.int64(0)
        for k in range(rows.shape[1]):
            one = unite(pool, one, rows[i, k])
            found[i, k] = one
    np.moveaxis(made, axis, -1)[...] = found.reshape(turned.shape)
    return made


def _numbers(made: Any) -> Any:
    return np.reshape(np.arange(made.size), made.shape)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def gathered(pool: Any, made: Any, sets: Any) -> Any:
    """Unions of what a broadcast has spread."""
    found = np.zeros(made.size, np.int64)
    places = np.broadcast_to(_numbers(made), sets.shape).ravel()
    given = sets.ravel()
    for k in range(given.size):
        found[places[k]] = unite(pool, found[places[k]], given[k])
    made[...] = found.reshape(made.shape)
    return made


def scattered(pool: Any, sets: Any, given: Any, at: Any) -> None:
    """What is added at places is united with what is there."""
    spread = np.broadcast_to(given, at.shape).ravel()
    places = at.ravel()
    for k in range(places.size):
        sets[places[k]] = unite(pool, sets[places[k]], spread[k])


def inner(pool: Any, a: Any, of_a: Any, b: Any, of_b: Any) -> Any:
    """Products with a zero that depends on nothing contribute nothing."""
    found = np.int64(0)
    for k in range(a.size):
        if b[k] != 0 or of_b[k] != 0:
            found = unite(pool, found, of_a[k])
        if a[k] != 0 or of_a[k] != 0:
            found = unite(pool, found, of_b[k])
    return found


def product(pool: Any, made: Any, a: Any, of_a: Any, b: Any, of_b: Any) -> Any:
    """`inner` for each row of one matrix and each column of another; a vector is a row or a column."""
    if a.ndim == 1:
        a, of_a = a[None, :], of_a[None, :]
    if b.ndim == 1:
        b, of_b = b[:, None], of_b[:, None]
    found = np.zeros((a.shape[0], b.shape[1]), np.int64)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            found[i, j] = inner(pool, a[i], of_a[i], b[:, j], of_b[:, j])
    made[...] = found.reshape(made.shape)
    return made
