"""Kernels that users write with `numba.cuda.jit`: against Numba's simulator, JAX and difference quotients."""

import os
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numba import cuda, float64

import diffjit as dj
from diffjit.errors import DiffjitError, MemoryProblem
from tests.cuda import random_kernels
from tests.cuda.kernels_by_hand import CASES, heated, map_kernel, mapped, product, scale_kernel, summed

NAMES = [f.__name__ for f in CASES]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    file = tmp_path_factory.mktemp("simulated") / "values.pkl"
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    call = [sys.executable, "-m", "tests.cuda.kernels_by_hand", str(file)]
    subprocess.run(call, env=env, check=True, timeout=300)  # noqa: S603 - itself
    return pickle.loads(file.read_bytes())  # noqa: S301 - written just now


def total(f):
    return lambda *args: np.sum(np.sin(f(*args)))


def moved(args, directions, s):
    return tuple(np.asarray(a + s * d, dtype=np.asarray(a).dtype)[()] for a, d in zip(args, directions, strict=True))


@pytest.mark.parametrize("backend", ["python", "numba", "cuda"])
@pytest.mark.parametrize("f", CASES, ids=NAMES)
def test_every_mode(f, backend, simulated):
    args = CASES[f]
    single = f.__name__ in ("single", "narrow")
    kept = [np.copy(a) for a in args]
    value = dj.jit(f, backend=backend)(*args)
    np.testing.assert_allclose(value, simulated[f.__name__], rtol=1e-6 if single else 1e-12)
    rng = np.random.default_rng(3)
    along = tuple(np.asarray(rng.normal(size=np.shape(a)), dtype=np.asarray(a).dtype)[()] for a in args)
    nums = tuple(range(len(args)))
    h, close = (1e-2, {"rtol": 1e-2}) if single else (1e-6, {"rtol": 1e-5, "atol": 1e-7})
    plain = dj.jit(total(f), backend="python")
    slope = (plain(*moved(args, along, h)) - plain(*moved(args, along, -h))) / (2 * h)
    gradient = dj.grad(total(f), nums, backend=backend)
    back = gradient(*args)
    np.testing.assert_allclose(sum(np.sum(g * d) for g, d in zip(back, along, strict=True)), slope, **close)
    np.testing.assert_allclose(dj.jvp(total(f), args, along, backend=backend)[1], slope, **close)
    curved = [
        (p - q) / (2 * h)
        for p, q in zip(gradient(*moved(args, along, h)), gradient(*moved(args, along, -h)), strict=True)
    ]
    found = dj.hvp(total(f), args, along, argnums=nums, backend=backend)
    for p, q in zip(found, curved, strict=True):
        np.testing.assert_allclose(p, q, rtol=close["rtol"] * 10, atol=1e-2 if single else 1e-4)
    for a, k in zip(args, kept, strict=True):
        np.testing.assert_array_equal(a, k)


def test_gradients_of_jax():
    x, k = CASES[mapped]

    def bent(x, k):
        return jnp.sum(jnp.sin(jnp.where(x > 0, x * jnp.exp(-k * x), k * x) + x**2))

    with jax.enable_x64(True):
        wanted = jax.grad(bent, (0, 1))(x, k)
        of_product = jax.grad(lambda A, B: jnp.sum(jnp.sin(A @ B)), (0, 1))(*CASES[product])
        of_sum = jax.hessian(lambda x: jnp.sum(jnp.tanh(x)) ** 2)(*CASES[summed])
    found = dj.grad(total(mapped), (0, 1))(x, k)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-10)
    for a, b in zip(dj.grad(total(product), (0, 1))(*CASES[product]), of_product, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)
    np.testing.assert_allclose(dj.hessian(summed)(*CASES[summed]), of_sum, rtol=1e-10)


def test_other_verbs():
    u, c = CASES[heated]
    wanted = dj.jacfwd(heated, backend="python")(u, c)
    np.testing.assert_allclose(dj.jacrev(heated)(u, c), wanted, rtol=1e-10, atol=1e-14)
    out, pull = dj.vjp(heated, u, c)
    v = np.ones_like(out)
    np.testing.assert_allclose(pull(v)[0], np.tensordot(v, wanted, 2), rtol=1e-10)
    _, linear = dj.linearize(heated, u, c)
    np.testing.assert_allclose(linear(v, 0.0), np.tensordot(wanted, v, 2), rtol=1e-10)
    many = np.stack([u, 2 * u])
    lanes = dj.vmap(dj.grad(total(heated)), in_axes=(0, None))(many, c)
    np.testing.assert_allclose(lanes[1], dj.grad(total(heated))(2 * u, c), rtol=1e-10)


@pytest.mark.parametrize("verb", [dj.jit, dj.grad])
def test_threads_become_threads(verb):
    """Launches whose threads keep to their own elements are loops that kernels are made of."""
    x = np.linspace(0.1, 1.0, 3000)
    for kernel in (map_kernel, scale_kernel):

        def f(x, kernel=kernel):
            out = np.zeros(x.size)
            kernel[(x.size + 127) // 128, 128](x, 0.5, out)
            return np.sum(out)

        text = dj.source(verb(f), x, stage="lowered")
        assert text.count("run_turns(loops") >= 1
        np.testing.assert_allclose(verb(f, backend="cuda")(x), verb(f, backend="python")(x), rtol=1e-12)


@pytest.mark.parametrize("seeds", [range(3), range(3, 6)], ids=str)
def test_random_kernels(seeds, tmp_path):
    wanted = random_kernels.simulated(seeds, tmp_path)
    for seed in seeds:
        random_kernels.compare(seed, wanted[seed], ["python"] if seed % 3 else ["python", "numba"])


def test_configured_outside_and_for_all():
    launch = map_kernel[128, 1]  # fewer blocks make Numba warn

    def f(x):
        out = np.zeros_like(x)
        launch(x, 0.5, out)
        more = np.zeros_like(x)
        map_kernel.forall(x.size, 32)(x, 0.5, more)
        return np.sum(out * more)

    x = np.linspace(-1.0, 1.0, 50)
    y = mapped_by_numpy(x)
    np.testing.assert_allclose(dj.jit(f)(x), y @ y, rtol=1e-12)
    np.testing.assert_allclose(dj.jvp(f, (x,), (x,))[1], 2 * y @ (mapped_by_numpy(x + 1e-6 * x) - y) / 1e-6, rtol=1e-4)


def mapped_by_numpy(x):
    return np.where(x > 0, x * np.exp(-0.5 * x), 0.5 * x) + x**2


# Races ----------------------------------------------------------------------------------------------------------------


@cuda.jit
def shift_kernel(x):
    i = cuda.grid(1)
    if i < x.size - 1:
        x[i] = x[i + 1]


@cuda.jit
def lost_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0] += x[i]


@cuda.jit
def unsynced_kernel(x, out):
    sm = cuda.shared.array(8, float64)
    i = cuda.threadIdx.x
    sm[i] = x[i]
    out[i] = sm[7 - i]


@cuda.jit
def blocks_kernel(x, out):
    i = cuda.grid(1)
    out[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()


def shifted(x):
    x = x.copy()
    shift_kernel[2, 4](x)
    return x.sum()


def overlapping(x):
    x = x.copy()
    copy_kernel[2, 4](x[1:], x[:-1])
    return x.sum()


@cuda.jit
def copy_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@cuda.jit
def flag_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size and x[i] > 2:
        out[0] = 1.0


def lost(x):
    out = np.zeros(1)
    lost_kernel[2, 4](x, out)
    return out[0]


def unsynced(x):
    out = np.zeros(8)
    unsynced_kernel[1, 8](x, out)
    return out.sum()


def across_blocks(x):
    out = np.zeros(4)
    blocks_kernel[2, 4](x, out)
    return out.sum()


def flagged(x):
    out = np.zeros(1)
    flag_kernel[2, 4](x, out)
    return out[0] * x.sum()


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [shifted, lost, unsynced, across_blocks, overlapping])
@pytest.mark.parametrize("verb", [dj.jit, dj.grad])
def test_threads_that_meet(f, verb, backend, monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    x = np.arange(8.0)
    with pytest.raises(MemoryProblem, match=r"\[DJ407\] threads of `\w+_kernel` meet") as caught:
        verb(f, backend=backend)(x)
    assert caught.value.loc.file == __file__
    np.testing.assert_array_equal(x, np.arange(8.0))


@pytest.mark.parametrize("f", CASES, ids=NAMES)
def test_no_threads_meet(f, monkeypatch):
    wanted = dj.jit(f, backend="python")(*CASES[f])
    monkeypatch.setattr(dj.settings, "checked", True)
    np.testing.assert_array_equal(dj.jit(f, backend="python")(*CASES[f]), wanted)


def test_the_same_number_from_many_threads(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert dj.grad(flagged, backend="python")(np.arange(8.0)).tolist() == [1.0] * 8


# What is refused ------------------------------------------------------------------------------------------------------


@cuda.jit
def diverging_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
        cuda.syncthreads()


@cuda.jit
def uneven_kernel(x, out):
    for _ in range(cuda.threadIdx.x):
        cuda.syncthreads()


@cuda.jit
def leaving_kernel(x, out):
    for k in range(4):
        if x[cuda.threadIdx.x] > k:
            break
        cuda.syncthreads()


@cuda.jit(device=True)
def waits():
    cuda.syncthreads()


@cuda.jit
def calling_kernel(x, out):
    waits()


@cuda.jit
def rows_kernel(x, out):
    part = x[cuda.threadIdx.x :]
    if cuda.threadIdx.x > 2:
        part = x[1:]
    cuda.syncthreads()
    out[0] = part[0]


@cuda.jit
def parts_kernel(x, out):
    k = 0
    for _ in range(2):
        k += cuda.threadIdx.x % 2
        cuda.syncthreads()
    part = x[k:]
    k = 0
    cuda.syncthreads()
    out[cuda.threadIdx.x] = part[0]


@cuda.jit
def warp_kernel(x, out):
    out[0] = cuda.shfl_sync(-1, x[0], 0)


@cuda.jit
def sliced_kernel(x, out):
    while x[cuda.threadIdx.x :].size > 3:
        cuda.syncthreads()


@pytest.mark.parametrize(
    ("kernel", "code", "line"),
    [
        (diverging_kernel, "DJ135", "cuda.syncthreads()"),
        (uneven_kernel, "DJ135", "cuda.syncthreads()"),
        (leaving_kernel, "DJ135", "cuda.syncthreads()"),
        (sliced_kernel, "DJ135", "cuda.syncthreads()"),
        (calling_kernel, "DJ135", "cuda.syncthreads()"),
        (rows_kernel, "DJ136", "part = "),
        (parts_kernel, "DJ136", "part = "),
        (warp_kernel, "DJ134", "shfl_sync"),
    ],
)
def test_what_is_refused(kernel, code, line):
    def f(x):
        out = np.zeros(8)
        kernel[1, 8](x, out)
        return out[0]

    with pytest.raises(DiffjitError) as caught:
        dj.grad(f)(np.ones(8))
    assert caught.value.code == code
    assert line in str(caught.value)


def test_an_index_out_of_bounds():
    def f(x):
        out = np.zeros(x.size)
        copy_kernel[1, 8](x, out[:4])
        return out

    for backend in ("python", "numba", "cuda"):
        with pytest.raises(IndexError):
            dj.jit(f, backend=backend)(np.ones(8))
