"""Unions of sets that are numbers (`primitives.unions`): one more pair in a pool, or one that is there already.

The pool is an array of ints, given by its address: how many pairs there are, how many there is place for, the number of
inputs, the addresses of the pairs and of a table of those made last, that table's length (a power of two) less 1, and
what went wrong (1: the pool is full, 2: a number that is none of its sets).
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from diffjit.lowering.runtime.build import I64, operation, outlined

COUNT, PLACES, INPUTS, PAIRS, TABLE, MASK, WRONG = range(0, 56, 8)  # bytes from the pool's address
FULL, STRANGE = 1, 2


def _emit_peek(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    return builder.load(builder.inttoptr(args[0], I64.as_pointer()))


def _emit_poke(_context: Any, builder: Any, _kinds: Any, args: Any) -> Any:
    builder.store(args[1], builder.inttoptr(args[0], I64.as_pointer()))
    return args[1]


_peek = operation("peek", 1, lambda _at: types.int64, _emit_peek)
_poke = operation("poke", 2, lambda _at, _x: types.int64, _emit_poke)


@outlined
def _made(pool: Any, x: Any, y: Any) -> Any:
    """The union of two sets, none of them empty."""
    small, large = min(x, y), max(x, y)
    first, count = _peek(pool + INPUTS) + 1, _peek(pool)
    if small < 0 or large >= first + count:  # what nobody reads may be computed, too
        _poke(pool + WRONG, STRANGE)
        return 0
    pairs = _peek(pool + PAIRS)
    if large >= first:
        pair = _peek(pairs + 8 * (large - first))
        if small in (pair & 0xFFFFFFFF, pair >> 32):
            return large
    pair = large << 32 | small
    place = _peek(pool + TABLE) + 8 * ((small * 40503 + large * 2654435761 >> 8) & _peek(pool + MASK))
    known = _peek(place)
    if known and _peek(pairs + 8 * (known - first)) == pair:
        return known
    if count >= _peek(pool + PLACES):
        _poke(pool + WRONG, FULL)
        return large
    _poke(pairs + 8 * count, pair)
    _poke(pool, count + 1)
    _poke(place, first + count)
    return first + count


@outlined
def unite(pool: Any, x: Any, y: Any) -> Any:
    """The union of two sets."""
    if y in (0, x):
        return x
    return y if x == 0 else _made(pool, x, y)
