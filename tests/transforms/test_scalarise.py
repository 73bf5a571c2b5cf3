"""Small arrays as numbers: compiled programs against plain Python, and their derivatives against the readable ones."""

import importlib.util
import itertools

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.entry.program import specialise
from diffjit.ir.types import Array
from diffjit.ir.walk import walk
from diffjit.transforms.pipeline import finish, numbers
from tests.transforms.small_programs import Writer

_numbers = itertools.count()
FEW, MANY = 12, 100  # seeds


def load(folder, text):
    path = folder / f"small_program_{next(_numbers)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def arguments(seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, 3), rng.uniform(-1, 1, (4 + seed % 2 * 2, 3)), 0.4, 4


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def check(f, seed, modes):
    args = arguments(seed)
    with np.errstate(all="raise"):
        try:
            wanted = f(*copies(args))
        except FloatingPointError:
            return
    if not np.isfinite(wanted) or abs(wanted) > 1e6:
        return
    mine, theirs = copies(args), copies(args)
    f(*theirs)
    found = dj.jit(f)(*mine)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    if "grad" in modes:
        compiled = dj.grad(f, (0, 1, 2))(*args)
        readable = dj.grad(f, (0, 1, 2), backend="python")(*args)
        for a, b in zip(compiled, readable, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1.0, abs(wanted)))
    if "jvp" in modes:
        dots = (np.ones(3), np.full_like(args[1], 0.5), 1.0, 0)
        compiled, readable = (dj.jvp(f, args, dots, backend=b)[1] for b in ("numba", "python"))
        np.testing.assert_allclose(compiled, readable, rtol=1e-8, atol=1e-9)
    if "vjp" in modes:
        _, pull = dj.vjp(f, *args)
        readable = dj.vjp(f, *args, backend="python")[1](1.5)
        for _ in range(2):
            for a, b in zip(pull(1.5)[:3], readable[:3], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1.0, abs(wanted)))


@pytest.mark.parametrize("seed", [k if k < FEW else pytest.param(k, marks=pytest.mark.slow) for k in range(MANY)])
def test_random_programs(tmp_path, seed):
    text = Writer(seed).program()
    check(load(tmp_path, text), seed, ("grad", "jvp", "vjp")[seed % 3])


# Programs that need no arrays ----------------------------------------------------------------------------------------


def cross_products(x, n):
    v = np.array([1.0, 2.0, 3.0])
    for _ in range(n):
        v = v + 0.1 * np.cross(x, v)
        v = v / np.linalg.norm(v)
    return v[0] * v[1] + np.sum(v * x)


def views_and_writes(x, n):
    a = np.zeros(3)
    b = a[1:]
    for k in range(3):
        a[k] += x[k] ** 2 * n
        if a[k] > 1.0:
            b[0] *= 2.0
    b[:] = b[::-1] + a[:2]
    return np.sum(a * np.array([1.0, 2.0, 3.0]))


def swapped_names(x, n):
    a = x * 1.0
    b = x * 2.0
    for _ in range(n):
        a, b = b, a + 0.5 * b
        if a[0] > 2.0:
            a = a * 0.5
    return a @ b


def rotations(x, n):
    q = np.array([1.0, 0.1, 0.2, 0.3])
    r = np.eye(3)
    for _ in range(n):
        c, s = np.cos(q[1] * x[0]), np.sin(q[1] * x[1])
        r = r @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]).T
        q[1] += 0.1 * (r @ x)[2]
    return np.sum(r * r.T) + q @ q[::-1]


def shrinking(x, n):
    v = x.copy()
    while np.dot(v, v) > 1e-2 * n:
        v *= 0.7
    return v[0] + 2 * v[1]


def extrema(x, n):
    y = x * n
    return np.max(y) * np.min(y[:2]) + np.prod(x) * y.max()


PROGRAMS = [cross_products, views_and_writes, swapped_names, rotations, shrinking, extrema]
X = np.array([0.7, 1.3, 0.9])


def arrays_left(function, *args):
    program = specialise(function, args, {})
    made = numbers(finish(program.function, "program"))
    return sum(isinstance(v.type, Array) for op in walk(made.body) for v in op.outputs)


@pytest.mark.parametrize("function", PROGRAMS)
def test_no_array_is_left(function):
    assert arrays_left(function, X, 4) == 0


@pytest.mark.parametrize("function", PROGRAMS)
def test_values_and_derivatives(function):
    np.testing.assert_allclose(dj.jit(function)(X, 4), function(X.copy(), 4), rtol=1e-13)
    dj.check_grads(lambda x: function(x, 4), (X,), order=2)
    for derivative in (
        dj.grad,
        lambda f, backend=None: dj.grad(lambda x, n: np.sum(dj.grad(f)(x, n) ** 2), backend=backend),
    ):
        compiled, readable = derivative(function)(X, 4), derivative(function, backend="python")(X, 4)
        np.testing.assert_allclose(compiled, readable, rtol=1e-10)


def test_against_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def attraction(x, m):
        a = np.zeros_like(x)
        for i in range(len(x)):
            for j in range(len(x)):
                if i != j:
                    d = x[j] - x[i]
                    a[i] += m[j] * d / (np.dot(d, d) + 0.01) ** 1.5
        return np.sum(a**2)

    def twin(x, m):
        d = x[None] - x[:, None]
        return jnp.sum(jnp.sum((m[None] * (jnp.sum(d * d, -1) + 0.01) ** -1.5)[..., None] * d, 1) ** 2)

    rng = np.random.default_rng(0)
    x, m = rng.normal(size=(6, 3)), rng.uniform(0.5, 1, 6)
    for mine, theirs in zip(dj.grad(attraction, (0, 1))(x, m), jax.grad(twin, (0, 1))(x, m), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_elements_of_rows_are_read_and_written_in_place():
    def relax(p, n):
        for k in range(n):
            d = p[k + 1] - p[k]
            p[k] += 0.25 * d
            p[k + 1, 1:] -= 0.25 * d[:2]
            p[k], p[k + 1] = p[k + 1], p[k].copy()
        return p[0] @ p[n]

    p = np.random.default_rng(1).normal(size=(6, 3))
    mine, theirs = p.copy(), p.copy()
    np.testing.assert_allclose(dj.jit(relax)(mine, 5), relax(theirs, 5))
    np.testing.assert_allclose(mine, theirs)
    dj.check_grads(lambda p: relax(p.copy(), 5), (p,))


def test_trajectories_in_lists():
    def path(x, n):
        points, v = [], x * 1.0
        for _ in range(n):
            v = v * 0.9 + np.array([0.1, 0.0, 0.2])
            points.append(v)
        return np.sum(np.array(points) ** 2) + v[0]

    np.testing.assert_allclose(dj.jit(path)(X, 5), path(X, 5))
    np.testing.assert_allclose(dj.grad(path)(X, 5), dj.grad(path, backend="python")(X, 5))


def test_arrays_that_are_returned():
    def pair(x):
        a = np.array([x[0], 2.0, x[1]])
        a[1] *= x[2]
        return a, a, a[::-1], np.outer(a, x)[:2]

    for mine, theirs in zip(dj.jit(pair)(X), pair(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32, np.uint8, np.int64, bool])
def test_dtypes_are_numpys(dtype):
    def mixed(x, y):
        a = x * 3 + y
        b = x.copy()
        b[0] = 120.7
        b[1] += 100
        c = np.where(x > y, x, 2)
        d = x / 3
        return a, b, c, d, a[0], d[1], np.sum(x), x[1] * 2, np.maximum(x, y) @ y, x // 2

    x, y = np.array([100, 60, 7]).astype(dtype), np.array([3, 1, 2]).astype(dtype)
    if dtype is bool:
        mixed_of = lambda x, y: (x | y, x.copy(), np.where(x, y, x), np.sum(x), x @ y, np.any(x), np.all(y), x * 2.5)
    else:
        mixed_of = mixed
    with np.errstate(all="ignore"):
        wanted = mixed_of(x, y)
    for mine, theirs in zip(dj.jit(mixed_of)(x, y), wanted, strict=True):
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype
        np.testing.assert_array_equal(mine, theirs)


def test_a_constant_index_out_of_range_raises():
    def outside(x, flag):
        v = x * 2.0
        if flag:
            v[3] = 1.0
        return v[0]

    compiled = dj.jit(outside)
    assert compiled(X, False) == 2 * X[0]
    with pytest.raises(IndexError):
        compiled(X, True)


def test_an_index_of_the_run_leaves_an_array():
    def counted(x, n):
        a = np.zeros(3)
        for k in range(n):
            a[k % 3] += x[k % 3] * k
        return np.sum(a**2)

    assert arrays_left(counted, X, 7) > 0
    np.testing.assert_allclose(dj.jit(counted)(X, 7), counted(X, 7))
    with pytest.raises(IndexError):
        dj.jit(lambda x, k: (x * 2.0)[k])(X, 3)


def test_masked_zeros_stay_zero():
    def masked(x):
        v = np.array([x[0], 0.0 * x[1], x[2]])
        return np.sum(np.where(v > 0, np.sqrt(v), 0.0))

    found = dj.grad(masked)(X)
    np.testing.assert_allclose(found, [0.5 / np.sqrt(X[0]), 0.0, 0.5 / np.sqrt(X[2])])


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_an_array_of_the_wrong_length_is_not_stored(backend):
    def stored(x, wrong):
        v = x * 1.0
        if wrong:
            v[:] = x[:2]
        return np.sum(v)

    compiled = dj.jit(stored, backend=backend)
    assert compiled(X, False) == np.sum(X)
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(2,\) into shape \(3,\)"):
        compiled(X, True)


MAKERS = {
    "inv": np.linalg.inv,
    "sort": lambda a: np.sort(a, axis=1),
    "columns": lambda a: a[:, [1, 0, 2]],
    "rows": lambda a: np.take(a, [1, 0, 2], axis=0),
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T),
    "running": lambda a: np.cumsum(a, axis=1),
    "mask": lambda a: np.where(a > 0.5, a, 0.0),
}


def first_row(b):
    b[0] = 9.0 * b[1]


def one_element(b):
    b[0, 1] *= b[2, 2]


def in_a_loop(b):
    for k in range(2):
        b[k] += b[k + 1] * b[0, 0]


def in_a_branch(b):
    if b[0, 0] < 100.0:
        b[:, 1] = b[:, 0] * b[:, 2]


@pytest.mark.parametrize("write", [first_row, one_element, in_a_loop, in_a_branch], ids=lambda f: f.__name__)
@pytest.mark.parametrize("made", MAKERS)
def test_what_an_operation_made_is_returned_as_it_was_changed(made, write):
    """An operation that stays as it is makes an array; what is written to it is written to numbers."""
    make = MAKERS[made]

    def f(a):
        b = make(a)
        write(b)
        return b

    a = np.array([[2.5, 0.7, 0.2], [0.4, 1.9, 0.6], [0.3, 0.1, 3.0]])
    along = np.cos(np.arange(9.0)).reshape(3, 3)
    wanted = f(a)
    np.testing.assert_allclose(dj.jit(f)(a), wanted, rtol=1e-13)
    value, tangent = dj.jvp(f, (a,), (along,))
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(tangent, (f(a + 1e-6 * along) - f(a - 1e-6 * along)) / 2e-6, rtol=1e-6, atol=1e-7)
    value, pullback = dj.vjp(f, a)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(np.sum(pullback(along)[0] * along), np.sum(tangent * along), rtol=1e-12)


def test_a_loop_over_the_length_of_a_small_array_is_unrolled_before_a_derivative_is_taken():
    def slope(w):
        def f(x):
            y = x
            while y[0] < 3.0:
                y = y + 0.4 * dj.jacfwd(lambda z: np.sin(z[0] * z[1]) + z[1] ** 2)(y)
            return y[0] * y[1]

        return dj.grad(f)(w)

    w = np.array([0.3, 0.8])
    text = dj.source(dj.jit(slope), w, stage="lowered")
    assert "float64_1C" not in text  # no tapes of arrays
    np.testing.assert_allclose(dj.jit(slope)(w), dj.jit(slope, backend="python")(w), rtol=1e-10)


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_an_assignment_of_small_arrays_that_do_not_fit_raises_as_numpy_does(backend):
    def f(rates):
        matrix = np.zeros((3, 3))
        matrix[[1, 2], [0, 1]] = rates
        return np.sum(matrix**2)

    def whole(rows):
        matrix = np.zeros((3, 3))
        matrix[[1, 2]] = rows
        return np.sum(matrix**2)

    np.testing.assert_array_equal(dj.grad(f, backend=backend)(np.array([1.0, 2.0])), [2.0, 4.0])
    for function, wrong in ((f, np.ones(3)), (whole, np.ones(2))):
        with pytest.raises(ValueError, match="shape mismatch: value array of shape"):
            dj.grad(function, backend=backend)(wrong)
        with pytest.raises(ValueError, match="shape mismatch: value array of shape"):
            dj.hvp(function, (wrong,), (wrong,), backend=backend)
        with pytest.raises(ValueError, match="shape mismatch: value array of shape"):
            dj.jvp(function, (wrong,), (wrong,), backend=backend)
