"""`python -m benchmarks.cuda`: programs with kernels on this machine's GPU, beside its processor and JAX.

Each row is one program from the same source; beside its time stand the bytes that it has to move at least, as a part of
what the device copies in that time. `--small` takes sizes that a machine without a GPU can run, with
`DIFFJIT_CUDA=emulated`: their times say nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import diffjit as dj


@dataclass(slots=True)
class Row:
    """A program at a size."""

    name: str
    run: Callable[[str], Callable[..., Any]]  # of a backend, what is timed
    args: tuple[Any, ...]
    bytes: int  # that are read and written at least
    jax: Callable[[Any, Any], Callable[..., Any]] | None = None  # of jax and jax.numpy, the same for JAX


def _bell(x: Any) -> Any:
    return np.sum(np.exp(-x * x) * x)


def _outbreak(beta: Any) -> Any:
    s, i, t = 0.99, 0.01, 0
    while i > 1e-3 and t < 400:
        n = beta * s * i
        s -= 0.1 * n
        i += 0.1 * (n - 0.5 * i)
        t += 1
    return s * i


def _outbreak_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def step(state: Any, _: Any) -> Any:
        s, i, beta = state
        alive = i > 1e-3
        n = beta * s * i
        return (jnp.where(alive, s - 0.1 * n, s), jnp.where(alive, i + 0.1 * (n - 0.5 * i), i), beta), None

    def f(beta: Any) -> Any:
        (s, i, _), _ = jax.lax.scan(step, (0.99, 0.01, beta), None, length=400)
        return s * i

    return jax.jit(jax.vmap(jax.grad(f)))


def _lorenz(x: Any, rho: Any) -> Any:
    u, v, w = x[0], x[1], x[2]
    t = 0
    while t < 200 and u * u + v * v + w * w < 1e4:
        a, b, c = 10.0 * (v - u), u * (rho - w) - v, u * v - 2.667 * w
        u, v, w = u + 0.005 * a, v + 0.005 * b, w + 0.005 * c
        t += 1
    return u + v + w


def _heat(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u * u)


def _options(z: Any, vol: Any) -> Any:
    return np.mean(np.maximum(100.0 * np.exp(vol * z - 0.5 * vol * vol) - 105.0, 0.0))


def _options_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(z: Any, vol: Any) -> Any:
        return jnp.mean(jnp.maximum(100.0 * jnp.exp(vol * z - 0.5 * vol * vol) - 105.0, 0.0))

    return jax.jit(jax.grad(f, 1))


def _lse(x: Any) -> Any:
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def _bodies(x: Any) -> Any:
    n = len(x)
    e = np.zeros(n)
    for i in range(n):
        s = 0.0
        for j in range(n):
            if j != i:
                d0, d1, d2 = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
                s += 1.0 / np.sqrt(d0 * d0 + d1 * d1 + d2 * d2 + 0.01)
        e[i] = s
    return e


def rows(*, small: bool) -> list[Row]:
    """The programs at their sizes."""
    rng = np.random.default_rng(0)
    many, lanes, side, bodies = (2000, 60, 24, 40) if small else (10**8, 10**6, 4096, 10**5)
    x = rng.standard_normal(many)
    rates = rng.uniform(0.6, 3.0, lanes)
    u = rng.standard_normal((side, side))
    points = rng.standard_normal((bodies, 3))
    return [
        Row("bell, gradient", lambda b: dj.grad(_bell, backend=b), (x,), 16 * many, lambda jax, jnp: jax.jit(
            jax.grad(lambda x: jnp.sum(jnp.exp(-x * x) * x)))),
        Row("log-sum-exp, gradient", lambda b: dj.grad(_lse, backend=b), (x,), 16 * many, lambda jax, _: jax.jit(
            jax.grad(jax.scipy.special.logsumexp))),
        Row("options, Vega", lambda b: dj.grad(_options, argnums=1, backend=b), (x, 0.2), 8 * many,
            _options_jax),
        Row("outbreaks, gradient of each", lambda b: dj.vmap(dj.grad(_outbreak), backend=b), (rates,), 16 * lanes,
            _outbreak_jax),
        Row("Lorenz, gradient of each", lambda b: dj.vmap(dj.grad(_lorenz), (None, 0), backend=b),
            (np.ones(3), 10 * rates), 32 * lanes),
        Row("heat, 20 steps, gradient", lambda b: dj.grad(_heat, backend=b), (u, 20), 20 * 32 * side * side),
        Row("bodies, potential", lambda b: dj.jit(_bodies, backend=b), (points,), 32 * bodies),
    ]  # fmt: skip


def best(f: Callable[..., Any], args: tuple[Any, ...], repeats: int) -> float:
    """The least time of some calls, in milliseconds, after two that compile."""
    for _ in range(2):
        f(*args)
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        f(*args)
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def _jax(row: Row, repeats: int) -> float | None:
    if row.jax is None or importlib.util.find_spec("jax") is None:
        return None
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return None
    jax.config.update("jax_enable_x64", val=True)
    f = row.jax(jax, jnp)
    args = tuple(jax.device_put(a) for a in row.args)
    return best(lambda *a: jax.block_until_ready(f(*a)), args, repeats)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="sizes for a machine without a GPU")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    for device in dj.devices():
        _say(device)
    copy = dj.jit(lambda x: x + 1.0, backend="cuda")
    x = dj.device_put(np.zeros(2000 if options.small else 10**8))
    bandwidth = 16 * x.size / best(copy, (x,), options.repeats)  # bytes in a millisecond
    _say(f"{'':32} {'cuda':>10} {'numba':>10} {'JAX':>10}   {'of copying':>10}")
    for row in rows(small=options.small):
        args = dj.device_put(row.args)
        ours = best(row.run("cuda"), args, options.repeats)
        host = best(row.run("numba"), row.args, 3)
        peer = _jax(row, options.repeats)
        shown = f"{peer:10.3f}" if peer is not None else f"{'-':>10}"
        _say(f"{row.name:32} {ours:10.3f} {host:10.3f} {shown}   {row.bytes / bandwidth / ours:10.1%}")


if __name__ == "__main__":
    main()
