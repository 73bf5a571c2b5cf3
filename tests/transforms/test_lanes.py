"""Products over lanes: joined where nobody can tell, and only there. Loops, JAX and difference quotients are right."""

import contextlib
import importlib.util
import io
import random

import numpy as np
import pytest

import diffjit as dj

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(5)
X = RNG.standard_normal((7, 6))
W, V = RNG.standard_normal((2, 6, 6)) / 3
B = RNG.standard_normal(6)


def layers(w, v, b, x):
    h = np.tanh(x @ w + b)
    return np.sum((v @ h) ** 2) + h[0]


def layers_jax(w, v, b, x):
    h = jnp.tanh(x @ w + b)
    return jnp.sum((v @ h) ** 2) + h[0]


AXES = (None, None, None, 0)
BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def per_lane(text):
    """The products inside loops."""
    found, loops = [], []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        loops = [d for d in loops if d < depth or not line.strip()]
        if line.lstrip().startswith("for "):
            loops.append(depth)
        elif loops and " @ " in line.split("#")[0]:
            found.append(line)
    return found


def close(found, wanted, tolerance=1e-10):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@BACKENDS
def test_every_mode_agrees_with_jax(backend):
    f, g = dj.vmap(layers, AXES, backend=backend), jax.vmap(layers_jax, AXES)
    args = (W, V, B, X)
    close(f(*args), g(*args))
    close(dj.jvp(f, args, args[::1], backend=backend), jax.jvp(g, args, args))
    value, pull = dj.vjp(f, *args, backend=backend)
    wanted, pull_jax = jax.vjp(g, *args)
    close(value, wanted)
    for _ in range(2):
        close(pull(np.asarray(wanted)), pull_jax(wanted))
    per = dj.vmap(dj.grad(layers, argnums=(0, 1, 2, 3)), AXES, backend=backend)
    close(per(*args), jax.vmap(jax.grad(layers_jax, argnums=(0, 1, 2, 3)), AXES)(*args))


@BACKENDS
def test_second_order(backend):
    small = W[:3, :3], V[:3, :3], B[:3], X[:2, :3]

    def total(w, v, b, x):
        return np.sum(dj.vmap(layers, (None, None, None, 0))(w, v, b, x) ** 2)

    def total_jax(w, v, b, x):
        return jnp.sum(jax.vmap(layers_jax, AXES)(w, v, b, x) ** 2)

    close(dj.hessian(total, argnums=(0, 3), backend=backend)(*small), jax.hessian(total_jax, argnums=(0, 3))(*small))
    found = dj.jacrev(dj.vmap(dj.grad(layers), AXES), argnums=0, backend=backend)(*small)
    close(found, jax.jacrev(jax.vmap(jax.grad(layers_jax), AXES))(*small))


def test_no_product_is_left_in_the_loops():
    assert per_lane(dj.source(dj.vmap(lambda x: (W @ (V @ x)) @ W), X)) == []
    per = dj.vmap(dj.grad(layers, argnums=(0, 1, 2)), AXES)
    assert per_lane(dj.source(per, W, V, B, X)) == []
    total = dj.grad(lambda w: np.sum(dj.vmap(layers, (None, None, None, 0))(w, V, B, X)))
    text = dj.source(total, W)
    assert per_lane(text) == []
    assert ".T @ " in text  # the cotangent of w: one product


MATRICES = [
    lambda m: m @ W,
    lambda m: W @ m,
    lambda m: W.T @ m.T,
    lambda m: m.T @ W.T,
    lambda m: np.sin(m) @ W,
    lambda m: W @ np.sin(m),
    lambda m: np.dot(W, np.array(np.cos(m), order="F")),
    lambda m: np.einsum("ij,jk->ki", m, W),
    lambda m: W[1:4] @ m[:, 2:],
]


@BACKENDS
@pytest.mark.parametrize("k", range(len(MATRICES)))
def test_matrices_in_lanes(k, backend):
    product = MATRICES[k]
    stack = RNG.standard_normal((4, 6, 6))
    stacks = [(0, stack), (2, np.moveaxis(stack, 0, 2)), (1, np.asfortranarray(np.moveaxis(stack, 0, 1)))]
    for axis, arrays in stacks if backend == "python" else stacks[k % 3 :][:1]:
        f = dj.vmap(product, axis, backend=backend)
        assert per_lane(dj.source(f, arrays)) == []
        close(f(arrays), np.array([product(m) for m in stack]))
        loss = dj.grad(lambda a, f=f: np.sum(f(a) ** 2), backend=backend)
        quotient = (np.sum(f(arrays + 1e-6) ** 2) - np.sum(f(arrays - 1e-6) ** 2)) / 2e-6
        np.testing.assert_allclose(np.sum(loss(arrays)), quotient, rtol=1e-6)


@BACKENDS
def test_lanes_within_lanes(backend):
    cubes = RNG.standard_normal((3, 4, 6))
    f = dj.vmap(dj.vmap(lambda x: np.exp(x @ W)), backend=backend)
    assert per_lane(dj.source(f, cubes)) == []
    close(f(cubes), np.exp(cubes @ W))


@BACKENDS
def test_no_lanes_do_nothing(backend):
    """A product that would not fit is not computed where no lane asks for it."""
    wide = np.ones((0, 9))
    f = dj.vmap(lambda x: np.sin(x) @ W, backend=backend)
    assert f(wide).shape == (0, 6)
    with pytest.raises(ValueError, match="matmul"):
        f(np.ones((2, 9)))


@BACKENDS
def test_single_precision_and_complex_numbers(backend):
    for dtype in (np.float32, np.complex128):
        w, x = (W + 1j * V).astype(dtype) if dtype is np.complex128 else W.astype(dtype), X.astype(dtype)
        found = dj.vmap(lambda x, w: np.exp(x @ w), (0, None), backend=backend)(x, w)
        assert found.dtype == dtype
        close(found, np.exp(x @ w), 1e-5)


def test_an_error_leaves_from_the_lane_of_the_loop():
    def f(x):
        if x[0] > 1:
            raise ValueError(f"first test: {x[0]}")
        y = x @ W
        if x[1] > 1:
            raise ValueError(f"second test: {x[1]}")
        return y

    rows = np.zeros((4, 6))
    rows[1, 1], rows[2, 0] = 2.0, 3.0
    with pytest.raises(ValueError, match=r"second test: 2\.0"):
        dj.vmap(f)(rows)
    rows[1, 1] = 0.0
    with pytest.raises(ValueError, match=r"first test: 3\.0"):
        dj.vmap(f)(rows)


def test_what_may_raise_stays_in_its_place(capsys):
    """The element is read before the product, so that no later lane prints."""

    def f(x, j):
        print(j)  # noqa: T201 - what the test is about
        s = x[j]
        return V @ (x * 2.0) + s

    with pytest.raises(IndexError):
        dj.vmap(f)(X[:3], np.array([1, 17, 2]))
    assert capsys.readouterr().out.split() == ["1", "17"]


LINES = [
    "h = np.tanh(h @ W)",
    "h = V @ h",
    "g = (x + h) @ V",
    "M = M @ W",
    "M = W.T @ M",
    "M = M.T",
    "h = M @ h * 0.1",
    "g = M[1] @ W",
    "h = h + g",
    "h[1] = s",
    "g[0] = h[2]",
    "x[2] = 0.5 * s",
    "s = s + np.sum(h) - g[1]",
    "s = s + x[j]",
    "t[0] += s",
    "t[1] = h[0]",
    "s = s + t[1]",
    "h = h + t",
    "print('one', j)",
    "print('two', j)",
    "if s > 2:\n        raise ValueError(f'lane {j}')",
    "if s > 0.5:\n        h = g * 2\n    else:\n        h = x",
    "if s < 0:\n        g = g + 1",
    "b = h\n    b[0] = 0.25",
    "g = h[::-1]",
    "parts = [h, g]\n    h = parts[0] * parts[1]",
    "for r in range(3):\n        h = h * 0.5 + g[r]",
    "for r in range(3):\n        g[r] = h[r] * s",
    "k = j + 1\n    s = s * k",
    "while s > 3:\n        s = s / 2",
]


def program(seed, folder):
    """A function of one lane, of lines drawn by chance, at least two of them products."""
    rng = random.Random(seed)
    lines = rng.choices(LINES, k=rng.randint(3, 7)) + rng.choices(LINES[:5], k=2)
    rng.shuffle(lines)
    start = ["h = x * 1.0", "g = x + 1.0", "s = x[0]", "M = np.outer(x, x)"]
    text = "import numpy as np\n\n\ndef f(x, j, t, W, V):\n    " + "\n    ".join([*start, *lines, "return h, s, g, M"])
    path = folder / f"program_{seed}.py"
    path.write_text(text + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def outcome(run):
    """The result, or the error, and what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
        try:
            result = run()
        except (ValueError, IndexError, OverflowError) as error:
            result = type(error).__name__ + (str(error) if isinstance(error, ValueError) else "")
    return result, printed.getvalue()


def arguments(seed):
    rng = np.random.default_rng(seed)
    j = rng.integers(-6, 6, 5)
    if seed % 3 == 0:
        j[rng.integers(5)] = 9  # no such element
    return rng.standard_normal((5, 6)), j, rng.standard_normal(6), W, V


@pytest.mark.parametrize("block", range(6))
def test_programs_drawn_by_chance_do_what_the_loop_does(block, tmp_path):
    split = 0
    for seed in range(12 * block, 12 * block + 12):
        f = program(seed, tmp_path)
        mine, plain = arguments(seed), arguments(seed)
        g = dj.vmap(f, (0, 0, None, None, None), backend="python")
        found = outcome(lambda g=g, mine=mine: g(*mine))
        wanted = outcome(lambda f=f, plain=plain: [f(x, j.item(), *plain[2:]) for x, j in zip(*plain[:2], strict=True)])
        assert found[1] == wanted[1], seed
        if isinstance(wanted[0], str):
            assert found[0] == wanted[0], seed
        else:
            for k, values in enumerate(found[0]):
                np.testing.assert_allclose(values, [r[k] for r in wanted[0]], rtol=1e-7, atol=1e-9, err_msg=str(seed))
        for x, y in zip(mine, plain, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9, err_msg=str(seed))
        split += dj.source(g, *mine).count("for lane in") > 1
    assert split > 1


@pytest.mark.parametrize("seed", [s for s in range(40) if s % 3])
def test_their_gradients_are_difference_quotients(seed, tmp_path):
    f = program(seed, tmp_path)
    x, j = arguments(seed)[:2]

    def total(w, t):
        h, s, g, m = dj.vmap(f, (0, 0, None, None, None))(0.3 * x, j, t * 1.0, w, V)
        return np.sum(np.sin(h)) + np.sum(np.sin(s)) + np.sum(np.cos(g)) + np.sum(np.sin(m))

    t = 0.1 * B
    value, _ = outcome(lambda: dj.value_and_grad(total, argnums=(0, 1), backend="python")(W, t))
    if isinstance(value, str):
        pytest.skip(f"raises: {value}")
    along = np.random.default_rng(seed).standard_normal((7, 6))
    step = 1e-6

    def moved(e):
        return outcome(lambda: dj.jit(total, backend="python")(W + e * along[:6], t + e * along[6]))[0]

    quotient = (moved(step) - moved(-step)) / (2 * step)
    slope = np.sum(value[1][0] * along[:6]) + np.sum(value[1][1] * along[6])
    np.testing.assert_allclose(slope, quotient, rtol=2e-5, atol=1e-5)


def test_what_a_lane_prints_before_lengths_disagree_is_printed(capsys):
    def shown(x, w):
        print("lane")  # noqa: T201
        return w @ x

    with pytest.raises(ValueError):
        dj.vmap(shown, (0, None), backend="python")(np.ones((3, 5)), np.ones((4, 6)))
    assert capsys.readouterr().out == "lane\n"


POWERS = RNG.standard_normal((5, 4))


def of_one_time(t):
    """A lane's matrix has one column: it stands in memory by rows and by columns alike."""
    a = np.dot(POWERS, np.vstack((np.ones(t.shape), t, t * t, t**3)))
    return np.sum(np.sin(a)) * t[0]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_matrices_of_one_column(backend):
    times = np.array([[1.5], [2.5], [3.5]])
    np.testing.assert_allclose(dj.vmap(of_one_time, backend=backend)(times), [of_one_time(t) for t in times])
    slopes = dj.vmap(dj.grad(of_one_time, backend=backend), backend=backend)(times)
    wanted = [(of_one_time(t + 1e-6) - of_one_time(t - 1e-6)) / 2e-6 for t in times]
    np.testing.assert_allclose(slopes[:, 0], wanted, rtol=1e-6)
