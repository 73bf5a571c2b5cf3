"""The peers: for each, how it turns a row into a function that can be called and timed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import call_peak
from benchmarks.row import Function, Row

#: in the order in which they run: `hand` comes first, because every other gradient is compared with its
PEERS = {
    "hand": "adjoint by hand, Numba",
    "primal": "program by hand, Numba",
    "diffjit": "diffjit.value_and_grad",
    "jit": "diffjit.jit, no derivative",
    "jax": "jax.jit(jax.value_and_grad)",
    "autograd": "autograd.value_and_grad",
}
WITHOUT_DERIVATIVE = ("primal", "jit")
DTYPES = ("float64", "float32")
IN_DOUBLE = (
    "hand",
    "primal",
)  # it makes arrays of doubles, and is what the others are compared with


class NotExpressible(Exception):
    """The peer cannot express the program; the text says why."""


def cast(value: Any, dtype: str) -> Any:
    """The same arguments with arrays of floats of another dtype; Python's numbers fit themselves to arrays."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if value.dtype.kind == "f" else value
    if isinstance(value, dict):
        return {key: cast(item, dtype) for key, item in value.items()}
    return type(value)(cast(item, dtype) for item in value) if isinstance(value, (tuple, list)) else value


def prepare(
    row: Row, peer: str, arguments: tuple[Any, ...], dtype: str = "float64"
) -> tuple[Function, tuple[Any, ...]]:
    """A function that is ready to be called, and the arguments in the peer's own form."""
    if peer == "jax":
        return by_jax(row, arguments, dtype)
    return {
        "hand": by_hand,
        "primal": by_hand_primal,
        "diffjit": by_diffjit,
        "jit": by_diffjit_primal,
        "autograd": by_autograd,
    }[peer](row, arguments)


def compiled(function: Function) -> Function:
    """Numba as an expert sets it for a yardstick: no checks, IEEE division, sums reordered and contracted."""
    import numba

    return numba.njit(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(function)


def by_hand(row: Row, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The hand-written adjoint."""
    return row.by_hand(compiled)[1], arguments


def by_hand_primal(row: Row, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The hand-written program."""
    return row.by_hand(compiled)[0], arguments


def by_diffjit(row: Row, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The program as it stands."""
    import diffjit as dj

    return dj.value_and_grad(row.program, argnums=row.argnums), arguments


def by_diffjit_primal(row: Row, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The program as it stands, without its derivative."""
    import diffjit as dj

    return dj.jit(row.program), arguments


def by_jax(row: Row, arguments: tuple[Any, ...], dtype: str) -> tuple[Function, tuple[Any, ...]]:
    """JAX in one precision; arguments lie on its device, and a call ends when its results are ready."""
    if isinstance(row.in_jax, str):
        raise NotExpressible(row.in_jax)
    import jax

    jax.config.update("jax_enable_x64", dtype == "float64")
    function = jax.jit(jax.value_and_grad(row.in_jax(), row.argnums), static_argnums=row.static)
    block = jax.block_until_ready

    def call(*args: Any) -> Any:
        return block(function(*args))

    def planned(*args: Any) -> int:
        plan = function.lower(*args).compile().memory_analysis()
        return plan.temp_size_in_bytes + plan.output_size_in_bytes

    call.planned_memory = planned  # XLA holds on to memory between calls: what one call needs cannot be seen outside

    on_device = (a if k in row.static else jax.tree.map(jax.numpy.asarray, a) for k, a in enumerate(arguments))
    return call, tuple(on_device)


def by_autograd(row: Row, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """autograd, which interprets."""
    if isinstance(row.in_autograd, str):
        raise NotExpressible(row.in_autograd)
    import autograd

    return autograd.value_and_grad(row.in_autograd(), row.argnums), arguments


def memory_of_a_call(peer: str, function: Function, arguments: tuple[Any, ...]) -> int | None:
    """Bytes that one warm call holds at most; diffjit keeps freed arrays for the next call, which would hide them."""
    if peer not in ("diffjit", "jit"):
        return call_peak(function, arguments)
    import diffjit as dj

    before = dj.settings.reserve_mb
    dj.settings.reserve_mb = 0
    try:
        return call_peak(function, arguments)
    finally:
        dj.settings.reserve_mb = before


def recorded(row: Row, peer: str, function: Function, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Bytes that the way there leaves for the way back, as each peer foretells them; or why they are not known."""
    if peer == "diffjit":
        import diffjit as dj

        tape = dj.memory(function, *arguments)
        if tape.bytes is None:
            return {"recorded": None, "why_not_recorded": f"at least {tape.known} bytes; {tape.unknown[0].why}"}
        return {"recorded": tape.bytes}
    return {"recorded": _residuals(row, arguments)} if peer == "jax" else {}


def _residuals(row: Row, arguments: tuple[Any, ...]) -> int:
    """Bytes of what `jax.vjp` hands to its pullback, before XLA looks at it."""
    import jax

    assert not isinstance(row.in_jax, str)
    program = row.in_jax()

    def pullback(*by: Any) -> Any:
        def of(*by: Any) -> Any:
            given = dict(zip(row.argnums, by, strict=True))
            return program(*(given.get(k, a) for k, a in enumerate(arguments)))

        return jax.vjp(of, *by)[1]

    made = jax.eval_shape(pullback, *(arguments[k] for k in row.argnums))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(made))


def flat(result: Any) -> list[np.ndarray]:
    """The arrays of a result, one after another, whatever holds them."""
    return list(_leaves(result))


def _leaves(result: Any) -> Iterator[np.ndarray]:
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from _leaves(item)
    elif isinstance(result, dict):
        for key in sorted(result):
            yield from _leaves(result[key])
    else:
        yield np.asarray(result, dtype=np.float64)


def difference(found: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """The largest difference between two results, each array relative to its own largest element."""
    if [a.shape for a in found] != [b.shape for b in wanted]:
        return float("inf")
    worst = 0.0
    for a, b in zip(found, wanted, strict=True):
        if a.size:
            gap = float(np.max(np.abs(a - b))) / max(float(np.max(np.abs(b))), 1e-300)
            worst = max(worst, gap if np.isfinite(gap) else float("inf"))
    return worst
