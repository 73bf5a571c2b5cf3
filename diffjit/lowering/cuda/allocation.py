"""Emits the allocation of arrays of other kinds: that host and device both reach, or that are fresh to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils

from diffjit.lowering.calls import guards
from diffjit.lowering.cuda import pool
from diffjit.lowering.llvm.exits import MEMINFO_DATA, MEMINFO_SIZE, REFERENCE
from diffjit.lowering.runtime.build import I8, I64, declared


def mode(context: Any, *, pinned: bool = False) -> str:
    """A suffix of the functions that allocate, by the memory that they take."""
    return "_checked" if context.lower.checked else pool_of(pinned=pinned).take if context.lower.device else ""


def pool_of(*, pinned: bool) -> pool.Pool:
    """The memory of arrays of a program for a device: `pinned` are notes that turns leave for the host."""
    return pool.PINNED if pinned else pool.MANAGED


def shared(b: Any, total: Any, give_up: Callable[[Any], None], memory: pool.Pool) -> Any:
    """Memory of a pool, and a reference to it, which stays in memory of the host: a page that both use moves.

    `give_up` emits what is done where a condition says that there is no memory.
    """
    pool.start()
    address = b.call(declared(b, memory.take, I64, I64), [total])
    give_up(b.icmp_signed("==", address, I64(0)))
    give = declared(b, memory.give, llvm_ir.VoidType(), I64, I64, I64)
    owner = declared(b, "NRT_MemInfo_alloc_dtor", REFERENCE, I64, REFERENCE)
    found = b.call(owner, [I64(16), b.bitcast(give, REFERENCE)])
    with b.if_then(cgutils.is_null(b, found), likely=False):
        b.call(give, [address, total, I64(0)])
    give_up(cgutils.is_null(b, found))
    words = b.bitcast(found, I64.as_pointer())
    for place, value in ((MEMINFO_DATA, address), (MEMINFO_SIZE, total)):  # what it gives back in the end
        b.store(value, b.gep(words, [I64(place)]))
    return found


def fill_fresh(builder: Any, data: Any, size: Any) -> None:
    """Give fresh memory a content that shows."""
    cgutils.memset(builder, builder.bitcast(data, I8.as_pointer()), size, guards.FRESH)
