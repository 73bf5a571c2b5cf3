"""`python -m benchmarks.cuda`: programs with kernels on this machine's GPU, beside JAX and kernels written by hand.

Each row is one program from the same source; beside its time stand the bytes that it has to move at least, as a part of
what the device copies in that time. Kernels by hand are `numba-cuda`'s. `--host` times the processor, too. `--small`
takes sizes that a machine without a GPU can run, with `DIFFJIT_CUDA=emulated`: their times say nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import diffjit as dj
from diffjit.lowering.cuda import launch

By = Callable[[Any, Any], Callable[..., Any]]


@dataclass(slots=True)
class Row:
    """A program at a size."""

    name: str
    run: Callable[[str], Callable[..., Any]]  # of a backend, what is timed
    args: tuple[Any, ...]
    bytes: int  # that are read and written at least
    jax: By | None = None  # of jax and jax.numpy, the same for JAX
    hand: Callable[[Any], Callable[..., Any]] | None = None  # of numba.cuda, the same by hand


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


def _lorenz_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def step(state: Any, _: Any) -> Any:
        u, v, w, rho = state
        alive = u * u + v * v + w * w < 1e4
        a, b, c = 10.0 * (v - u), u * (rho - w) - v, u * v - 2.667 * w
        moved = u + 0.005 * a, v + 0.005 * b, w + 0.005 * c
        return (*(jnp.where(alive, new, old) for new, old in zip(moved, (u, v, w), strict=True)), rho), None

    def f(x: Any, rho: Any) -> Any:
        (u, v, w, _), _ = jax.lax.scan(step, (x[0], x[1], x[2], rho), None, length=200)
        return u + v + w

    return jax.jit(jax.vmap(jax.grad(f), (None, 0)))


def _heat_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(u: Any, steps: int) -> Any:
        def step(u: Any, _: Any) -> Any:
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            return u.at[1:-1, 1:-1].add(0.1 * (around - 4 * u[1:-1, 1:-1])), None

        u, _ = jax.lax.scan(step, u, None, length=steps)
        return jnp.sum(u * u)

    return jax.jit(jax.grad(f), static_argnums=1)


def _bodies_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        d = [x[:, None, k] - x[None, :, k] for k in range(3)]
        near = 1.0 / jnp.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 0.01)
        return jnp.sum(near, axis=1) - 10.0

    return jax.jit(f)


def _network(w: Any, v: Any, x: Any, y: float) -> float:
    hidden = np.tanh(w @ x)
    return (v @ hidden - y) ** 2


def _network_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(w: Any, v: Any, x: Any, y: Any) -> Any:
        return (v @ jnp.tanh(w @ x) - y) ** 2

    return jax.jit(jax.vmap(jax.grad(f, (0, 1)), (None, None, 0, 0)))


def _mixture(means: Any, x: Any) -> Any:
    d = x[:, None, :] - means[None, :, :]
    e = -0.5 * np.sum(d * d, axis=2)
    m = np.max(e, axis=1)
    return np.sum(m + np.log(np.sum(np.exp(e - m[:, None]), axis=1)))


def _mixture_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(means: Any, x: Any) -> Any:
        d = x[:, None, :] - means[None, :, :]
        return jnp.sum(jax.scipy.special.logsumexp(-0.5 * jnp.sum(d * d, axis=2), axis=1))

    return jax.jit(jax.grad(f))


def _layers(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ w1) @ w2 - y) ** 2)


def _layers_jax(jax: Any, jnp: Any) -> Callable[..., Any]:
    def f(w1: Any, w2: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w1) @ w2 - y) ** 2)

    return jax.jit(jax.grad(f, (0, 1)))


def _bell_by_hand(cuda: Any) -> Callable[..., Any]:
    @cuda.jit
    def kernel(x: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            e = math.exp(-x[i] * x[i])
            out[i] = e - 2 * x[i] * x[i] * e

    def run(x: Any) -> Any:
        out = cuda.device_array(x.size)
        kernel[(x.size + 127) // 128, 128](x, out)
        return out

    return run


def _outbreak_by_hand(cuda: Any) -> Callable[..., Any]:
    from numba import float64

    @cuda.jit
    def kernel(rates: Any, out: Any) -> None:
        lane = cuda.grid(1)
        if lane >= rates.size:
            return
        beta = rates[lane]
        ss, ii = cuda.local.array(400, float64), cuda.local.array(400, float64)
        s, i, t = 0.99, 0.01, 0
        while i > 1e-3 and t < 400:
            ss[t], ii[t] = s, i
            n = beta * s * i
            s -= 0.1 * n
            i += 0.1 * (n - 0.5 * i)
            t += 1
        s_bar, i_bar, beta_bar = i, s, 0.0
        while t > 0:
            t -= 1
            s, i = ss[t], ii[t]
            n_bar = 0.1 * i_bar - 0.1 * s_bar
            i_bar += n_bar * beta * s - 0.05 * i_bar
            s_bar += n_bar * beta * i
            beta_bar += n_bar * s * i
        out[lane] = beta_bar

    def run(rates: Any) -> Any:
        out = cuda.device_array(rates.size)
        kernel[(rates.size + 127) // 128, 128](rates, out)
        return out

    return run


def _bodies_by_hand(cuda: Any) -> Callable[..., Any]:
    @cuda.jit
    def kernel(x: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i >= x.shape[0]:
            return
        a, b, c, s = x[i, 0], x[i, 1], x[i, 2], 0.0
        for j in range(x.shape[0]):
            if j != i:
                d0, d1, d2 = a - x[j, 0], b - x[j, 1], c - x[j, 2]
                s += 1.0 / math.sqrt(d0 * d0 + d1 * d1 + d2 * d2 + 0.01)
        out[i] = s

    def run(x: Any) -> Any:
        out = cuda.device_array(x.shape[0])
        kernel[(x.shape[0] + 127) // 128, 128](x, out)
        return out

    return run


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
    w, v = rng.standard_normal((20, 10)), rng.standard_normal(20)
    examples, targets = rng.standard_normal((lanes // 10, 10)), rng.standard_normal(lanes // 10)
    means, cloud = rng.standard_normal((8, 3)), rng.standard_normal((lanes, 3))
    wide = 8 if small else 2000
    layers = [rng.standard_normal(s) / 30 for s in ((wide, wide), (wide, 10), (2 * wide, wide), (2 * wide, 10))]
    return [
        Row("bell, gradient", lambda b: dj.grad(_bell, backend=b), (x,), 16 * many, lambda jax, jnp: jax.jit(
            jax.grad(lambda x: jnp.sum(jnp.exp(-x * x) * x))), _bell_by_hand),
        Row("log-sum-exp, gradient", lambda b: dj.grad(_lse, backend=b), (x,), 16 * many, lambda jax, jnp: jax.jit(
            jax.grad(lambda x: jnp.max(x) + jnp.log(jnp.sum(jnp.exp(x - jnp.max(x))))))),
        Row("options, Vega", lambda b: dj.grad(_options, argnums=1, backend=b), (x, 0.2), 8 * many,
            _options_jax),
        Row("outbreaks, gradient of each", lambda b: dj.vmap(dj.grad(_outbreak), backend=b), (rates,), 16 * lanes,
            _outbreak_jax, _outbreak_by_hand),
        Row("Lorenz, gradient of each", lambda b: dj.vmap(dj.grad(_lorenz), (None, 0), backend=b),
            (np.ones(3), 10 * rates), 32 * lanes, _lorenz_jax),
        Row("network, gradient of each", lambda b: dj.vmap(dj.grad(_network, (0, 1)), (None, None, 0, 0), backend=b),
            (w, v, examples, targets), len(targets) * 8 * (11 + 220), _network_jax),
        Row("mixture, gradient", lambda b: dj.grad(_mixture, backend=b), (means, cloud), 24 * lanes, _mixture_jax),
        Row("layers, gradient", lambda b: dj.grad(_layers, (0, 1), backend=b), tuple(layers),
            16 * sum(a.size for a in layers), _layers_jax),
        Row("heat, 20 steps, gradient", lambda b: dj.grad(_heat, backend=b), (u, 20), 20 * 32 * side * side,
            _heat_jax),
        Row("bodies, potential", lambda b: dj.jit(_bodies, backend=b), (points,), 32 * bodies, _bodies_jax,
            _bodies_by_hand),
    ]  # fmt: skip


def best(f: Callable[..., Any], args: tuple[Any, ...], repeats: int, most: float = 4.0) -> float:
    """The least time of some calls, in milliseconds, after two that compile; no more calls after `most` seconds."""
    for _ in range(2):
        f(*args)
    found: list[float] = []
    while len(found) < repeats and sum(found) < most:
        start = time.perf_counter()
        f(*args)
        found.append(time.perf_counter() - start)
    return 1e3 * min(found)


def _jax(row: Row, repeats: int) -> tuple[float, Any] | None:
    """The time of JAX, and its result; None where there is none, or none for this device."""
    if row.jax is None or importlib.util.find_spec("jax") is None:
        return None
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        return None
    jax.config.update("jax_enable_x64", val=True)
    f = row.jax(jax, jnp)
    args = tuple(jax.device_put(a) if isinstance(a, np.ndarray) else a for a in row.args)
    taken = best(lambda *a: jax.block_until_ready(f(*a)), args, repeats)
    return taken, jax.device_get(f(*args))


def _by_hand(row: Row, repeats: int) -> tuple[float, Any] | None:
    if row.hand is None or importlib.util.find_spec("numba_cuda") is None:
        return None
    from numba import cuda

    f = row.hand(cuda)
    args = tuple(cuda.to_device(a) for a in row.args)

    def run(*given: Any) -> Any:
        made = f(*given)
        cuda.synchronize()
        return made

    return best(run, args, repeats), f(*args).copy_to_host()


def _tried(peer: Callable[[Row, int], tuple[float, Any] | None], row: Row, repeats: int) -> tuple[float, Any] | None:
    try:
        return peer(row, repeats)
    except Exception as error:  # noqa: BLE001 - what is installed may not fit together: that is said, and no row is lost
        _say(f"{row.name}: {type(error).__name__} in {peer.__name__.strip('_')}: {str(error)[:200]}")
        return None


def _differs(found: Any, wanted: Any) -> float:
    """The largest difference of results, as a part of the largest number."""
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def _say(text: object) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _shown(taken: float | None) -> str:
    return f"{taken:10.3f}" if taken is not None else f"{'-':>10}"


def main() -> None:
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="words of their names; all by default")
    parser.add_argument("--small", action="store_true", help="sizes for a machine without a GPU")
    parser.add_argument("--host", action="store_true", help="the processor, too")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    for device in dj.devices():
        _say(device)
    copy = dj.jit(lambda x: x + 1.0, backend="cuda")
    x = dj.device_put(np.zeros(2000 if options.small else 10**8))
    bandwidth = 16 * x.size / best(copy, (x,), options.repeats)  # bytes in a millisecond
    _say(f"copying: {bandwidth / 1e6:.0f} GB/s; times in ms")
    titles = "".join(f"{t:>10}" for t in ("cuda", "numba", "JAX", "by hand", "first", "of copying", "launches", "host"))
    _say(f"{'':30}{titles}")
    for row in rows(small=options.small):
        if options.rows and not any(word in row.name for word in options.rows):
            continue
        args = dj.device_put(row.args)
        f = row.run("cuda")
        start = time.perf_counter()
        f(*args)
        first = 1e3 * (time.perf_counter() - start)
        before = launch.counts()
        result = f(*args)
        launches = [n - before[k] for k, n in launch.counts().items()]
        ours = best(f, args, options.repeats)
        host = best(row.run("numba"), row.args, 3) if options.host else None
        peers = [_tried(peer, row, options.repeats) for peer in (_jax, _by_hand)]
        times = "".join(_shown(t) for t in (ours, host, *(p and p[0] for p in peers), first))
        _say(f"{row.name:30}{times}{row.bytes / bandwidth / ours:10.1%}{launches[0]:10}{launches[1]:10}")
        for p in peers:
            if p is not None and _differs(result, p[1]) > 1e-6:
                _say(f"{'':30}differs from a peer by {_differs(result, p[1]):.1e}")


if __name__ == "__main__":
    main()
