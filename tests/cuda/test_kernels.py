"""Programs with kernels: arrays on their way in and out, lanes, errors, orders of derivatives."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import diffjit as dj
from diffjit import UsageError
from diffjit.lowering.cuda import devices, launch, pool, products, rooms
from diffjit.lowering.cuda.arguments import is_shared

RNG = np.random.default_rng(7)
X = RNG.uniform(0.2, 1.0, 40)
M = RNG.uniform(-1.0, 1.0, (6, 9))


@pytest.fixture
def launches():
    """How often kernels have run since."""
    before = launch.counts()

    def since():
        now = launch.counts()
        return {k: now[k] - before[k] for k in now}

    return since


def energy(m, x):
    c = np.exp(-m * m) * np.sin(m + x[:9])
    return np.sum(c * x[:9]) + np.sum(np.max(c, axis=1)) + np.prod(x) + np.sum(m.T**2, axis=1)[3]


def outbreak(beta):
    """A lane has its own number of steps, and a tape that grows."""
    s, i, t = 0.99, 0.01, 0
    while i > 1e-3 and t < 400:
        n = beta * s * i
        s -= 0.1 * n
        i += 0.1 * (n - 0.5 * i)
        t += 1
    return s * np.sin(i) + 0.001 * t


def walk(x):
    """Lanes with arrays of their own, lists, and a loop that ends early."""
    seen = []
    u = np.array([x, 2 * x, x * x])
    for k in range(12):
        u = np.roll(u, 1) * 0.5 + np.array([0.1, x, k * 0.01])
        seen.append(np.sum(u))
        if seen[-1] > 1.4:
            break
    return np.sum(np.array(seen)) + len(seen) * x


def close(found, wanted):
    found, wanted = (r if isinstance(r, tuple) else (r,) for r in (found, wanted))
    for x, y in zip(found, wanted, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


def test_array_programs_run_in_kernels(launches):
    close(dj.jit(energy, backend="cuda")(M, X), energy(M, X))
    close(dj.grad(energy, (0, 1), backend="cuda")(M, X), dj.grad(energy, (0, 1))(M, X))
    assert launches()["device"] >= 4
    assert launches()["host"] == 0


def halving(v, c):
    if c <= 0 or v.size < 2:
        return np.sum(np.sin(v) * v)
    return np.exp(v[c % v.size]) + 0.5 * halving(v[1:] * v[0], c - 1)


def test_recursive_functions_have_kernels(launches):
    x = np.linspace(0.2, 1.0, 30)
    close(dj.jit(halving, backend="cuda")(x, 4), halving(x, 4))
    close(dj.grad(halving, backend="cuda")(x, 4), dj.grad(halving)(x, 4))
    close(dj.jvp(halving, (x, 4), (x, 0), backend="cuda"), dj.jvp(halving, (x, 4), (x, 0)))
    assert launches()["device"]


@pytest.mark.parametrize("f", [outbreak, walk])
def test_lanes_with_their_own_turns(f, launches):
    rates = np.linspace(0.4, 2.5, 33)
    close(dj.vmap(f, backend="cuda")(rates), np.array([f(x) for x in rates]))
    close(dj.vmap(dj.grad(f), backend="cuda")(rates), np.array([dj.grad(f)(x) for x in rates]))
    close(dj.vmap(dj.grad(dj.grad(f)), backend="cuda")(rates), np.array([dj.grad(dj.grad(f))(x) for x in rates]))
    assert launches()["device"] == 3


def test_verbs_and_orders():
    v = np.linspace(0.5, 1.5, X.size)

    def f(x):
        y = np.tanh(x) * x[::-1]
        for k in range(3):
            y = y * np.cos(y + k) + x
        return np.sum(y * y)

    close(dj.jvp(f, (X,), (v,), backend="cuda"), dj.jvp(f, (X,), (v,)))
    value, pullback = dj.vjp(f, X, backend="cuda")
    close((value, *pullback(1.0)), (dj.jit(f)(X), dj.grad(f)(X)))
    close(dj.hvp(f, (X,), (v,), backend="cuda"), dj.hvp(f, (X,), (v,)))
    close(dj.hessian(f, backend="cuda")(X[:7]), dj.hessian(f)(X[:7]))
    close(
        dj.jacobian(lambda x: np.outer(x, np.sin(x)), backend="cuda")(X),
        dj.jacobian(lambda x: np.outer(x, np.sin(x)))(X),
    )
    h = dj.linearize(f, X, backend="cuda")[1]
    close(h(v), dj.jvp(f, (X,), (v,))[1])


@pytest.mark.parametrize(
    "array",
    [
        M, M.T, M[::2, ::-1], np.asfortranarray(M), M[:, 3:4], M[:0], np.broadcast_to(M[0], (4, 9)),
        M.astype(np.float32), M.astype(complex), (10 * M).astype(np.int32), M > 0, M[2], np.array(1.5),
    ],
    ids=lambda a: f"{a.dtype}-{a.shape}-{a.strides}",
)  # fmt: skip
def test_arrays_of_every_form(array):
    def f(a):
        return a * 2 + 1, a[...], np.sum(a), a

    before = array.copy()
    found = dj.jit(f, backend="cuda")(array)
    close(found[0], f(array)[0])
    if array.dtype == np.float32:  # NumPy's order of additions is the processor's
        np.testing.assert_allclose(found[2], f(array)[2], rtol=4 * np.finfo(np.float32).eps)
    else:
        close(found[2], f(array)[2])
    assert found[3] is array
    assert found[1].shape == array.shape
    assert array.size == 0 or np.shares_memory(found[1], array)
    np.testing.assert_array_equal(array, before)


def test_what_a_program_writes_to_comes_back():
    def f(a, b):
        a[1:] += b[:-1] * 2
        a[0] = np.sum(b)
        return a[2:4], b

    a, b = X.copy(), X[::-1]
    c = a.copy()
    part, same = dj.jit(f, backend="cuda")(a, b)
    f(c, b)
    close(a, c)
    assert same is b
    part[0] = 77.0
    assert a[2] == 77.0
    a, c = X.copy(), X.copy()
    with pytest.raises(ValueError, match="negative"):
        dj.jit(_fails_late, backend="cuda")(a)
    with pytest.raises(ValueError, match="negative"):
        _fails_late(c)
    close(a, c)


def _fails_late(a):
    a *= 3.0
    if a[0] > 0:
        raise ValueError("negative only")
    return a


def test_a_derivative_leaves_arguments_as_they_are():
    def f(a):
        a *= a
        return np.sum(a * a)

    a = X.copy()
    close(dj.grad(f, backend="cuda")(a), 4 * X**3)
    np.testing.assert_array_equal(a, X)


def table_lookup(k, table):
    s = 0.0
    for j in range(3):
        s += table[k + j]
    return s


def test_a_lane_that_fails_raises_its_own_error_at_the_users_line(launches):
    lanes = dj.vmap(table_lookup, (0, None), backend="cuda")
    close(lanes(np.arange(10), X), np.array([table_lookup(k, X) for k in range(10)]))
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 40") as caught:
        lanes(np.array([1, 39, 2, 50, *range(8)]), X)
    assert any("s += table[k + j]" in note for note in caught.value.__notes__)
    assert launches()["device"] == 2


def test_far_arguments_of_sine_go_to_the_host():
    x = np.array([1.0, 1e300, 2.0, np.inf])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(dj.jit(lambda x: np.sin(x) * 2, backend="cuda")(x), np.sin(x) * 2, rtol=1e-12)


def test_results_are_taken_as_they_are(launches):
    double = dj.jit(lambda x: x * 2, backend="cuda")
    y = double(X)
    assert is_shared(y)
    assert not is_shared(X)
    z = double(y)
    close(z, X * 4)
    put = dj.device_put({"x": X, "n": 3})
    assert is_shared(put["x"])
    assert put["n"] == 3
    assert dj.device_put(put)["x"] is put["x"]
    back = dj.device_get(put)
    assert not is_shared(back["x"])
    np.testing.assert_array_equal(back["x"], X)
    assert launches()["device"] == 2


def test_the_same_array_twice():
    def f(a, b):
        return np.sum(a * np.sin(b))

    close(dj.grad(f, (0, 1), backend="cuda")(X, X), dj.grad(f, (0, 1))(X, X))
    with pytest.raises(dj.MemoryProblem, match="DJ402"):
        dj.jit(_writes_first, backend="cuda")(*[X.copy()] * 2)


def _writes_first(a, b):
    a[0] = b[1]
    return a + b


def test_memory_is_used_again():
    f = dj.grad(energy, (0, 1), backend="cuda")
    for _ in range(3):
        f(M, X)
    gc.collect()
    before = [memory.pieces() for memory in (pool.MANAGED, pool.PINNED)]
    for _ in range(300):
        f(M, X)
    assert [memory.pieces() for memory in (pool.MANAGED, pool.PINNED)] == before


def test_memory_that_there_is_not():
    with pytest.raises(MemoryError):
        pool.Block(1 << 60)
    with pytest.raises(MemoryError):
        dj.jit(lambda n: np.sum(np.zeros(n) + 1.0), backend="cuda")(1 << 50)


def test_linear_algebra_stays_on_the_host(launches):
    def f(a):
        return np.sum(np.linalg.solve(a @ a.T + np.eye(6), a) * a)

    close(dj.grad(f, backend="cuda")(M), dj.grad(f)(M))
    assert launches()["device"] > 0


def test_without_a_gpu(monkeypatch):
    monkeypatch.delenv("DIFFJIT_CUDA", raising=False)
    kinds = [d.kind for d in dj.devices()]
    assert kinds[0] == "cpu"
    if "cuda" in kinds:
        pytest.skip("this machine has a GPU")
    with pytest.raises(UsageError, match=r"DJ562.*needs an NVIDIA GPU"):
        dj.jit(energy, backend="cuda")(M, X)
    with pytest.raises(UsageError, match=r"diffjit\[cuda\]"):
        dj.device_put(X)


def test_devices_tell_what_they_are():
    shown = [str(d) for d in dj.devices()]
    assert shown[0].startswith("cpu: ")
    if os.environ.get("DIFFJIT_CUDA"):
        assert "cuda: kernels on the processor (emulated)" in shown
    else:
        assert any("compute capability" in s for s in shown)


def along_rows(x, w):
    d = x[:, None, :] - w
    e = np.sum(d * d, axis=0) + np.max(d, axis=0) * np.min(x, axis=0)
    return np.sum(e * np.sin(np.sum(d, axis=(0, 1)))) + np.sum(np.mean(x, axis=0) ** 2)


@pytest.mark.parametrize("n", [1, 3, 400])
@pytest.mark.parametrize("width", [1, 5, 70000])
def test_sums_over_rows(n, width, launches):
    if n * width > 1e6:
        n = 2
    x, w = RNG.normal(size=(n, width)), RNG.normal(size=(3, width))
    value, gradient = dj.value_and_grad(along_rows, (0, 1), backend="cuda")(x, w)
    wanted = dj.value_and_grad(along_rows, (0, 1))(x, w)
    np.testing.assert_allclose(value, wanted[0], rtol=1e-10)
    for a, b in zip(gradient, wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.max(np.abs(b)))
    assert launches()["host"] == 0


def test_fills_copies_and_sums_are_kernels(launches):
    def f(x):
        y = np.zeros((30, 40))
        y[1:-1, 2:] = x[1:-1, 2:]
        y[:, ::2] += x[:, ::2]
        z = y.T.copy()
        z[:] = 2.0
        return np.sum(y * x) + np.sum(z.T * x)

    x = RNG.normal(size=(30, 40))
    close(dj.grad(f, backend="cuda")(x), dj.grad(f)(x))
    assert launches()["device"] >= 7
    text = dj.source(dj.grad(f, backend="cuda"), x, stage="lowered")
    assert text.count("_spread(") >= 5


def longer(x):
    """A lane whose tape has up to 3000 numbers."""
    s, k = x, 0
    while k < 3000 * x:
        s = np.sin(s) + 0.5 * x
        k += 1
    return s


def sizes_asked(monkeypatch):
    """The sizes of rooms that launches are given."""
    asked = []
    run = rooms.Rooms.run

    def noted(self, *args, **kwargs):
        run(self, *args, **kwargs)
        asked.append(self.size)

    monkeypatch.setattr(rooms.Rooms, "run", noted)
    return asked


def test_rooms_grow_until_they_are_large_enough(launches, monkeypatch):
    asked = sizes_asked(monkeypatch)
    x = np.linspace(0.01, 1.0, 40)
    for _ in range(2):
        close(dj.vmap(dj.grad(longer), backend="cuda")(x), dj.vmap(dj.grad(longer))(x))
    assert launches() == {"device": 2, "host": 0}
    assert max(asked) > 24000


def test_rooms_that_cannot_grow(launches, monkeypatch):
    device = devices.current()
    if not hasattr(device, "room"):
        pytest.skip("a GPU has more")
    asked = sizes_asked(monkeypatch)
    monkeypatch.setattr(device, "room", 1 << 13)
    x = np.linspace(0.01, 1.0, 40)

    def another(x):
        return 2.0 * longer(x)

    close(dj.vmap(dj.grad(another), backend="cuda")(x), dj.vmap(dj.grad(another))(x))  # by the host
    assert launches()["device"] == 1
    assert max(asked) <= 1 << 13


def test_turns_that_run_once_and_lack_memory(launches, monkeypatch):
    def f(x, w):
        y = np.zeros(x.shape)
        for i in range(x.shape[0]):
            u = w * x[i]
            for k in range(1, len(w)):
                u[k] = np.sin(u[k - 1])
            y[i] = u * x[i]
        return y

    x, w = np.full((300, 7), 0.5), np.linspace(1.0, 2.0, 7)
    asked = sizes_asked(monkeypatch)
    close(dj.jit(f, backend="cuda")(x, w), f(x, w))
    assert launches()["device"] == 2
    assert max(asked) >= 1 << 16  # all there is, at once
    device = devices.current()
    if hasattr(device, "room"):
        monkeypatch.setattr(device, "room", 0)
        wide = np.ones((30, 1000))
        monkeypatch.setattr(launch._Kernels.loaded[-1][1].rooms, "size", 1 << 10)
        with pytest.raises(MemoryError, match="each turn"):
            dj.jit(f, backend="cuda")(wide, np.ones(1000))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_products_are_the_devices(dtype, monkeypatch):
    asked = []
    found = products._product
    monkeypatch.setattr(products, "_LEAST", 0)
    monkeypatch.setattr(products, "_product", lambda words: asked.append(found(words)) or asked[-1])
    a, b, c = (RNG.normal(size=s).astype(dtype) for s in ((20, 30), (30, 25), (25, 20)))

    def f(a, b, c):
        return np.real(np.sum((a @ b) @ c) + np.sum(((b.T @ a.T)[:, ::2].T @ c) ** 2))

    got = dj.value_and_grad(f, (0, 1, 2), backend="cuda")(a, b, c)
    wanted = dj.value_and_grad(f, (0, 1, 2))(a, b, c)
    np.testing.assert_allclose(got[0], f(a, b, c), rtol=1e4 * np.finfo(dtype).eps)
    for x, y in zip(got[1], wanted[1], strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e3 * np.finfo(dtype).eps * np.max(np.abs(y)))
    assert len(asked) >= 4
    assert set(asked) == {launch.DONE}


SECOND = """
import os, sys
os.environ["DIFFJIT_CUDA"] = "emulated"
import numpy as np
import diffjit as dj
from diffjit.lowering.cuda import products
products._LEAST = 0
x = np.linspace(0.1, 1.0, 900).reshape(30, 30)

def f(x):
    y = np.zeros((30, 30))
    y[:] = x
    return np.sum(np.exp(x @ y)) + np.sum(np.fft.rfft(x).real) + np.sum(np.linalg.solve(x @ x + 40 * np.eye(30), x))

print(repr(float(np.sum(dj.grad(f, backend="cuda")(x)))))
"""


def test_what_another_process_has_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("DIFFJIT_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "second.py"
    file.write_text(SECOND)
    said = []
    for _ in range(3):
        done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)  # noqa: S603
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert len(set(said)) == 1
