"""How operations on whole arrays join the sets of their operands: one rule for each kind, named like it.

A rule takes the operation, the sets of its inputs, their values and the result, and returns the result's sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from diffjit.ir.nodes import Op
from diffjit.ir.types import Array, Scalar, Type

NONE: frozenset[int] = frozenset()
Sets = frozenset[int] | np.ndarray | list[Any] | None  # of a number, an array, a list; None: it has no derivative


def union(a: frozenset[int], b: frozenset[int]) -> frozenset[int]:
    """The union of two sets, one of them itself where it has all."""
    if a is b or not b:
        return a
    if not a:
        return b
    if len(a) < len(b):
        a, b = b, a
    return a if b <= a else a | b


UNION: Any = np.frompyfunc(union, 2, 1)
_SOME: Any = np.frompyfunc(bool, 1, 1)


def join(parts: Iterable[frozenset[int]]) -> frozenset[int]:
    """The union of sets."""
    found = NONE
    for part in parts:
        found = union(found, part)
    return found


def joined(parts: Sequence[Sets]) -> Any:
    """The union, element by element, with broadcasting."""
    found: Any = NONE
    for part in parts:
        found = part if found is NONE else UNION(found, part)
    return found


def nothing(value: Any, sets: Any = NONE) -> np.ndarray:
    """Sets for an array of values, in its shape and layout."""
    made = np.empty_like(value, dtype=object, subok=False)
    if isinstance(sets, list):
        made.flat[:] = sets  # elements in C order
    else:
        made[...] = sets
    return made


def of_value(ty: Type, value: Any, sets: frozenset[int] = NONE) -> Sets:
    """The same set everywhere."""
    if isinstance(ty, Scalar):
        return sets
    if isinstance(ty, Array):
        return nothing(value, sets)
    return [of_value(ty.elem, x, sets) for x in value]


def whole(sets: Sets) -> frozenset[int]:
    """All that any element depends on."""
    if sets is None:
        return NONE
    if isinstance(sets, frozenset):
        return sets
    if isinstance(sets, np.ndarray):
        return NONE.union(*sets.flat)
    return NONE.union(*map(whole, sets))


def active(sets: np.ndarray) -> np.ndarray:
    """Which elements depend on anything."""
    return _SOME(sets).astype(bool)


def along(sets: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The union along axes, which stay with length 1."""
    axes = [a % sets.ndim for a in axes]
    shape = tuple(1 if k in axes else n for k, n in enumerate(sets.shape))
    rows = np.moveaxis(sets, axes, range(-len(axes), 0))
    count = math.prod(sets.shape[a] for a in axes)
    rows = rows.reshape(*rows.shape[: sets.ndim - len(axes)], count)
    made = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(made.shape):
        made[place] = NONE.union(*rows[place])
    return made.reshape(shape)


def _settled(op: Op, sets: np.ndarray, value: Any) -> Sets:
    """Sets in the form of the result."""
    if isinstance(op.out.type, Scalar):
        return sets.reshape(-1)[0]
    return nothing(value, sets.reshape(np.shape(value)))


def _reduction(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del args
    if isinstance(op.out.type, Scalar):
        return NONE.union(*sets[0].flat)
    return _settled(op, along(sets[0], op.attrs["axes"]), value)


def _running(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del args
    return nothing(value, UNION.accumulate(sets[0], axis=op.attrs["axis"]))


def _transform(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    """Every number of a transform depends on all numbers along the axis."""
    del args
    return nothing(value, along(sets[0], [op.attrs["axis"]]))


def _sort(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    """Any element may come from anywhere along the axis: ties have no order of their own."""
    del args
    return nothing(value, along(sets[0], [op.attrs.get("axis", -1)]))


def _copy(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del op, args
    return nothing(value, sets[0])


def _reshape(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del op, args
    return nothing(value, sets[0].reshape(np.shape(value)))


def _concatenate(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del args
    return nothing(value, np.concatenate(sets, axis=op.attrs.get("axis", 0)))


def _unbroadcast(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del args
    given: Any = sets[0]
    if isinstance(op.out.type, Scalar):
        return whole(given)
    if isinstance(given, frozenset):
        return nothing(value, given)
    shape = (1,) * (given.ndim - np.ndim(value)) + np.shape(value)
    axes = [k for k, n in enumerate(shape) if n == 1 and given.shape[k] != 1]
    return nothing(value, (along(given, axes) if axes else given).reshape(np.shape(value)))


def _full(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del op, args
    return nothing(value, sets[0])


def _empty(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del sets, args
    return NONE if isinstance(op.out.type, Scalar) else nothing(value)


def _list(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del op, sets, args, value
    return []


def _stopped(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    del sets, args
    return of_value(op.out.type, value)


def _matmul(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    """A product with a zero that depends on nothing contributes nothing: banded matrices keep their bands."""
    a, b = (np.asarray(x) for x in args)
    if a.ndim == b.ndim == 1:
        rows = list(zip(a, sets[0], b, sets[1], strict=True))
        left = (s for x, of_x, _, s in rows if x != 0 or of_x)
        right = (s for _, s, y, of_y in rows if y != 0 or of_y)
        return NONE.union(*left, *right)
    kept_a, kept_b = ((x != 0) | active(s) for x, s in zip((a, b), sets, strict=True))
    sets_a, sets_b = sets
    if a.ndim == 1:
        sets_a, kept_a = sets_a[None, :], kept_a[None, :]
    if b.ndim == 1:
        sets_b, kept_b = sets_b[:, None], kept_b[:, None]
    batch = np.broadcast_shapes(sets_a.shape[:-2], sets_b.shape[:-2])
    spread_a, spread_b = (
        [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in pair] for pair in ((sets_a, kept_a), (sets_b, kept_b))
    )
    made = np.empty((*batch, sets_a.shape[-2], sets_b.shape[-1]), object)
    for place in np.ndindex(batch):
        left = _weighted(spread_a[1][place], spread_b[0][place])
        right = _weighted(spread_b[1][place].T, spread_a[0][place].T).T
        made[place] = UNION(left, right)
    return _settled(op, made, value)


def _weighted(weights: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """The union over k of the sets[k, j] for which weights[i, k]; equal rows of weights are joined once."""
    made = np.empty((weights.shape[0], sets.shape[1]), object)
    if not active(sets).any():
        made[...] = NONE
        return made
    known: dict[bytes, np.ndarray] = {}
    for i, row in enumerate(weights):
        key = row.tobytes()
        if key not in known:
            known[key] = along(sets[row], [0])[0]
        made[i] = known[key]
    return made


def _linalg(op: Op, sets: list[Any], args: list[Any], value: Any) -> Sets:
    """Every number of a result depends on all numbers of its matrices; those of a stack are apart."""
    matrix = along(sets[0], [-2, -1])
    if op.kind == "det":
        return _settled(op, matrix, value)
    if op.kind != "solve":
        return nothing(value, matrix)
    if np.ndim(args[1]) > 1:
        return nothing(value, UNION(matrix, along(sets[1], [-2, -1])))
    return nothing(value, UNION(matrix[..., 0], along(sets[1], [0])))


RULES: dict[str, Callable[[Op, list[Any], list[Any], Any], Sets]] = {
    **dict.fromkeys(("sum", "prod", "max", "min"), _reduction),
    **dict.fromkeys(("cumsum", "cumprod"), _running),
    **dict.fromkeys(("solve", "inv", "det", "cholesky", "eigh", "svd"), _linalg),
    **dict.fromkeys(("empty", "zeros", "empty_like", "zeros_like"), _empty),
    **dict.fromkeys(("list_new", "stack_new"), _list),
    **dict.fromkeys(("fft", "rfft", "irfft"), _transform),
    "sort": _sort,
    "copy": _copy,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "unbroadcast": _unbroadcast,
    "full": _full,
    "stop_gradient": _stopped,
    "matmul": _matmul,
}
