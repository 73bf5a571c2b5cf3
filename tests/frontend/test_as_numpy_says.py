"""Edges of NumPy's functions and of Python's comparisons: what they return or raise, `jit`, `jvp` and `vjp` do too."""

import collections

import numpy as np
import pytest
import scipy.linalg

import diffjit as dj
from diffjit import tree
from diffjit.errors import TypeProblem

X = np.array([1.0, 2.0, 4.0])
NONE, NO_ROWS = np.zeros(0), np.zeros((0, 3))
OPPOSED = np.array([1.0, -2.0, 1.0])
BACKENDS = ("python", "numba")


def shape_is_no_number(x, n):
    """A tuple or list and a number of Python's are never equal; NumPy's numbers are compared with the items."""
    r = 1.0 if x.shape == n else 2.0
    r += 4.0 if x.shape != 3 else 8.0
    r += 16.0 if [n] == n else 32.0
    r += 64.0 if list(x.shape) != 3.0 else 128.0
    r += 256.0 if (n,) == np.int64(3) else 512.0
    return x * r if [n, x[0]] != n and n not in [x.shape, 4] else x


def truth_of_allclose(x, n):
    if np.allclose(x, x + n) is False and np.array_equal(x, x) is True:
        return x * 2.0
    return x


class Material:
    def __init__(self, stiffness):
        self.stiffness = stiffness


def objects_are_counted(x, n):
    """What is made like a list of objects has as many entries, where a dtype is given."""
    layers = [Material(x[0]), Material(n), Material(x[1] * x[2])]
    series = np.ones_like(layers, dtype=complex)
    for k, layer in enumerate(layers):
        series[k] = layer.stiffness**2
    first, last = np.zeros_like(tuple(layers), dtype=float), np.full_like(layers[1:], x[2], dtype=float)
    first[1:] += last
    return np.abs(series) * np.exp(first)


def same_arrays_are_equal(x, n):
    """Values of dicts that are one object are not compared, so that an array may be among them."""
    given, asked = {"space": "lab", "white": x, "n": n}, {"white": x, "n": n, "space": "lab"}
    other = dict(given, n=n + 1)
    scaled = x * 2.0 if given == asked else x
    return scaled * 3.0 if given != dict(asked, space="rgb", white=scaled) and other["n"] != n else scaled


def names_of_several_kinds(x, n):
    """Names that nobody reads do not decide anything; those that are read are told apart."""
    names = []
    names += [f"length {k}" for k in range(n)]
    names += [f"width {k}" for k in range(n)]
    names.append("height")
    return x * len(names)


CASES = {
    "objects_are_counted": (objects_are_counted, X, 3),
    "same_arrays_are_equal": (same_arrays_are_equal, X, 3),
    "names_of_several_kinds": (names_of_several_kinds, X, 3),
    "shape_is_no_number": (shape_is_no_number, X, 3),
    "truth_of_allclose": (truth_of_allclose, X, 3),
    "max of nothing": (lambda x, n: np.max(x, initial=n * 1.0), NONE, 2),
    "max of nothing, initial an argument": (lambda x, y: np.max(x, initial=y), NONE, 2.5),
    "max along no rows": (lambda x, n: np.max(x, axis=0, initial=n) + np.min(x, axis=0, initial=-n), NO_ROWS, 2),
    "max of no columns": (lambda x, n: np.max(x, axis=0, initial=n), np.zeros((2, 0)), 2),
    "max along empty slices": (lambda x, n: x[n:].max(initial=0.5) + x[:n].min(initial=9.0, keepdims=True), X, 3),
    "norm of nothing": (lambda x, n: np.linalg.norm(x[n:], np.inf) + np.linalg.norm(x, np.inf), X, 3),
    "norm of no columns": (lambda x, n: np.linalg.norm(x, np.inf, axis=1) + n, np.zeros((2, 0)), 3),
    "least norm of nothing": (lambda x, n: np.linalg.norm(x[n:], -np.inf), X, 3),
    "norm of no matrix": (lambda x, n: np.linalg.norm(x, np.inf) + np.linalg.norm(x, 1) + n, NO_ROWS, 3),
    "median of nothing": (lambda x, n: np.median(x[n:]) + x, X, 3),
    "percentile below 0": (lambda x, n: np.percentile(x, -n), X, 1),
    "percentiles above 100": (lambda x, n: np.percentile(x, [50.0, 100.0 + n]), X, 1),
    "percentile of NaN": (lambda x, n: np.percentile(x, x[0] * np.nan), X, 1),
    "quantile above 1": (np.quantile, X, 1.5),
    "partition beyond": (np.partition, X, 5),
    "partition at several": (lambda x, k: np.partition(x, (0, k)), X, -4),
    "partition along columns": (lambda x, k: np.partition(np.outer(x, x[:2]), k, axis=0), X, 2),
    "argpartition before the first": (lambda x, k: x[np.argpartition(x, k)], X, -4),
    "digitize by what is not in order": (lambda x, b: x[np.digitize(x, b) % 3], X, np.array([0.0, 2.0, 1.0])),
    "digitize by equal bins": (lambda x, b: x[np.digitize(x, b) % 3], X, np.array([0.0, 2.0, 2.0])),
    "diff fewer times than 0": (np.diff, X, -1),
    "diff no times": (lambda x, n: np.diff(x, n) * 2.0, X, 0),
    "average with weights that cancel": (lambda x, w: np.average(x, weights=w), X, OPPOSED),
    "averages of rows": (lambda x, w: np.average(np.outer(x, x), axis=1, weights=w), X, OPPOSED),
    "resize to less than nothing": (np.resize, X, -2),
    "resize to two negative lengths": (lambda x, n: np.resize(x, (n, -2)), X, -2),
    "argmax of no number": (lambda x, n: x * np.nanargmax(np.where(x > n, np.nan, x)), X, 0),
    "argmin of rows": (lambda x, n: x[np.nanargmin(np.outer(x, np.where(x > n, np.nan, -x)), axis=1)], X, 2),
    "argmin of rows of no number": (lambda x, n: x[np.nanargmin(np.outer(np.where(x > n, np.nan, x), x), 1)], X, 1),
    "correlate with a number": (np.correlate, X, 2.0),
    "fliplr of lists": (lambda x, n: np.fliplr([[x[0], x[1]], [x[2], n]]), X, 3),
    "diagonals of what is not square": (lambda x, n: np.outer(x, x[:n])[np.diag_indices_from(np.ones((3, n)))], X, 2),
    "along no vectors": (lambda x, n: np.apply_along_axis(np.sum, 1, np.outer(x[n:], x)), X, 3),
    "a polynomial of nothing": (lambda x, n: np.polynomial.Polynomial(x[n:])(0.5), X, 3),
    "values that are put nowhere": (lambda x, n: np.put(x.copy(), [0, 1], x[n:]), X, 3),
    "values that are put into nothing": (lambda x, n: np.put(x[n:].copy(), [0], x), X, 3),
    "qr of NaN": (lambda x, n: np.linalg.qr(np.outer(x, x) + np.diag(x) * np.nan)[0] * n, X, 3),
    "tridiagonal of wrong lengths": (lambda x, n: scipy.linalg.eigvalsh_tridiagonal(x, x[:n]), X, 3),
    "arguments by their names": (lambda x, n: np.sinc(x=x) + np.fix(x=x * n) + np.i0(x=x), X, 0.3),
    "sums of nothing from 0": (lambda x, n: np.cumulative_sum(x[n:], include_initial=True) + x[0], X, 3),
    "products of no rows from 1": (
        lambda x, n: np.cumulative_prod(np.outer(x[n:], x), axis=0, include_initial=True) * x,
        X,
        3,
    ),
    "a diagonal of a vector": (lambda x, n: np.fill_diagonal(x.copy(), n), X, 2),
    "a diagonal of unequal lengths": (lambda x, n: np.fill_diagonal(np.ones((2, 2, n)), x[0]), X, 3),
    "a power of what is not square": (lambda x, n: np.linalg.matrix_power(np.outer(x, x[:n]), 1), X, 2),
    "a power of a vector": (np.linalg.matrix_power, X, 2),
    "a rank of nothing": (lambda x, n: np.linalg.matrix_rank(np.outer(x[n:], x)) * x, X, 3),
    "a search in a matrix": (lambda x, n: np.searchsorted(np.outer(x, x), n), X, 2.0),
    "knots in a column": (lambda x, n: np.interp(x[0], x[:, None], x * n), X, 2.0),
    "a value for knots": (lambda x, n: np.interp(x[0], x, n), X, 2.0),
    "powers of a matrix's elements": (lambda x, n: np.vander(np.outer(x, x), n), X, 2),
    "a number in columns": (lambda x, n: x[0].flatten("F") * n, X, 2),
    "roots of nothing": (lambda x, n: np.roots(x[n:]).real.sum() + x, X, 3),
    "a margin of nothing": (lambda x, n: np.pad(x[n:], (1, 0), mode="edge"), X, 3),
    "a margin of means of no rows": (lambda x, n: np.pad(np.outer(x[n:], x), 1, mode="mean"), X, 3),
    "hypotenuse of nothing": (lambda x, n: np.hypot.reduce(x[n:]) + x, X, 3),
    "hypotenuse of some": (lambda x, n: np.hypot.reduce(x, where=x > n), X, 1.5),
    "difference of nothing": (lambda x, n: np.subtract.reduce(x[n:]), X, 3),
    "largest of some": (lambda x, n: np.fmax.reduce(x, where=x > n), X, 1.5),
    "differences along all axes": (lambda x, n: np.subtract.reduce(np.outer(x, x) * n, axis=None), X, 3),
    "sums of logarithms of no rows": (lambda x, n: np.logaddexp2.reduce(np.outer(x[n:], x)), X, 3),
    "items are not None": (lambda x, n: x * (x != None) + n * (x == None) + (x[:1] == "a"), X, 3),  # noqa: E711
    "nothing is None": (lambda x, n: x * 2.0 if (x[n:] == None).any() else x, X, 3),  # noqa: E711
    "one item is not None": (lambda x, n: x * 2.0 if x[:n] == None else x, X, 1),  # noqa: E711
    "places of a number": (lambda x, n: next(v * n for _, v in np.ndenumerate(x[0])), X, 3),
}


def outcome(call):
    try:
        with np.errstate(all="ignore"):
            return tree.flatten(call())[0]
    except Exception as error:  # noqa: BLE001 - which one is what is compared
        return type(error), str(error)


def ones(x):
    return np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(isinstance(x, float))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_outcome(name, backend):
    function, *args = CASES[name]
    wanted = outcome(lambda: function(*args))
    tangents = tuple(ones(x) for x in args)
    for call in (
        lambda: dj.jit(function, backend=backend)(*args),
        lambda: dj.jvp(function, tuple(args), tangents, backend=backend)[0],
        lambda: dj.vjp(function, *args, backend=backend)[0],
    ):
        found = outcome(call)
        if isinstance(wanted, tuple):
            assert found == wanted
        else:
            np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("transposed", [lambda a, p: a.transpose(p), np.transpose], ids=["method", "function"])
def test_axes_that_the_run_decides(transposed):
    with pytest.raises(TypeProblem, match="DJ307"):
        dj.jit(lambda x: transposed(np.outer(x, x), np.argsort(x[:2])), backend="python")(X)


def list_at_places(x):
    items = [x[0], x[1], x[2]]
    return items[np.argsort(x)]


def tuple_at_one_place(x):
    return (x[0], x[1])[np.array([1])]


@pytest.mark.parametrize("function", [list_at_places, tuple_at_one_place])
def test_arrays_are_no_indices_of_lists(function):
    with pytest.raises(TypeError):
        function(X)
    with pytest.raises(TypeProblem, match=r"DJ308[\s\S]*np.array\(items\)"):
        dj.jit(function, backend="python")(X)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [np.sum, np.max, np.mean, np.all], ids=lambda f: f.__name__)
def test_axes_are_different(f, backend):
    with pytest.raises(TypeProblem, match="DJ318"):
        dj.jit(lambda x: f(x, axis=(0, -1)), backend=backend)(X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_are_not_rounded_by_python(backend):
    def program(x):
        try:
            return round(x)
        except TypeError:
            return x * round(x[1], 1)

    np.testing.assert_array_equal(dj.jit(program, backend=backend)(X), program(X))


def shapes_that_do_not_meet(x, n):
    return x * np.broadcast(np.ones((2, 2)), x[:n]).ndim


def outer_of_a_matrix(x, n):
    return np.linalg.outer(np.outer(x, x)[:n], x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [shapes_that_do_not_meet, outer_of_a_matrix])
def test_shapes_that_raise(function, backend):
    for call in (function, dj.jit(function, backend=backend), lambda *a: dj.vjp(function, *a, backend=backend)[0]):
        with pytest.raises(ValueError, match=r"shape mismatch|one-dimensional"):
            call(X, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_initial_number_has_its_derivative(backend):
    def f(x, y):
        return np.max(x, initial=y) * x.size + np.min(x * 2.0, initial=3.0 * y)

    for x, by_x, by_y in ((np.array([1.0, 3.0]), [0.0, 2.0], 3.0), (NONE, [], 3.0), (np.array([-1.0]), [2.0], 1.0)):
        found = dj.grad(f, argnums=(0, 1), backend=backend)(x, 0.5)
        np.testing.assert_array_equal(found[0], by_x)
        assert found[1] == by_y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "view",
    [lambda x: np.broadcast_to(x[:1], (4,)), lambda x: np.broadcast_to(x, (2, 3))[:, 1:].T[0]],
    ids=["whole", "part"],
)
def test_what_is_read_only_is_not_written_to(view, backend):
    """NumPy raises when the program runs; its compiled form would write."""

    def f(x):
        y = view(x)
        y[...] = 3.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        f(X)
    with pytest.raises(dj.MemoryProblem, match=r"DJ404[\s\S]*read-only"):
        dj.jit(f, backend=backend)(X)


def other_name(x):
    c = x * 2.0
    d = c
    c.shape = (3, 1)
    return d


def argument(x):
    x.shape = (3, 1)
    return x * 2.0


def other_order(x):
    c = np.outer(x, x[1:]).T
    c.shape = 6
    return c


def no_such_shape(x):
    c = x * 2.0
    c.shape = (2, 2)
    return c


class Signal(np.ndarray):
    def power(self):
        return np.sum(self**2)


def test_views_of_a_class_of_ones_own_have_its_methods():
    np.testing.assert_allclose(dj.grad(lambda x: x.view(Signal).power())(X), 2 * X)


def test_views_of_another_of_numpys_classes_are_refused_by_name():
    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ118\] a view of an array as one of the class `MaskedArray`"):
        dj.grad(lambda x: x.view(np.ma.MaskedArray).sum())(X)


def test_nothing_is_not_anything():
    f = lambda x, data=None: x if np.any(data) or bool(np.all(data)) else 2.0 * x
    assert dj.grad(f, backend="python")(3.0) == 2.0


def test_a_shape_is_assigned_to_what_atleast_2d_makes():
    def column(x):
        c = np.atleast_2d(x)
        c.shape = (c.size, 1)
        return c * 2.0

    np.testing.assert_array_equal(dj.jit(column, backend="python")(X), 2.0 * X[:, None])


@pytest.mark.parametrize("function", [other_name, argument, other_order])
def test_a_shape_is_not_assigned_where_others_may_see_it(function):
    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ101[\s\S]*`.shape`[\s\S]*use reshape"):
        dj.jit(function, backend="python")(X)


@pytest.mark.filterwarnings("ignore:Setting the shape")  # of NumPy 2.5
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_shape_that_does_not_fit(backend):
    for call in (no_such_shape, dj.jit(no_such_shape, backend=backend)):
        with pytest.raises(ValueError, match=r"cannot reshape array of size 3 into shape \(2,2\)"):
            call(X)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("axis", [0, 1])
def test_small_arrays_that_cannot_be_joined(axis, backend):
    """The way back is built, too, and takes parts of a result that there never is."""

    def joined(a):
        return np.concatenate([a * 2.0, a.T], axis=axis)

    a = np.ones((3, 4))
    with pytest.raises(ValueError, match="must match exactly") as plain:
        joined(a)
    for call in (
        lambda: dj.jit(joined, backend=backend)(a),
        lambda: dj.jvp(joined, (a,), (a,), backend=backend),
        lambda: dj.vjp(joined, a, backend=backend),
    ):
        with pytest.raises(ValueError, match="must match exactly") as found:
            call()
        assert type(found.value) is type(plain.value)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_products_of_vectors_in_a_plane():
    """NumPy gives them before 2.5, of a length that decides on the dimensions of the result; then it raises."""

    def area(p):
        return np.cross(p[1] - p[0], p[2] - p[0]) * 0.5

    p = np.array([[0.0, 0.0], [2.0, 0.5], [1.0, 3.0]])
    some = dj.jit(lambda a: np.cross(a[a > 0.0], a[a > 0.0]), backend="python")
    value, slope = dj.jit(area, backend="python"), dj.grad(area, backend="python")
    if np.lib.NumpyVersion(np.__version__) < "2.5.0":
        assert value(p) == area(p)
        np.testing.assert_allclose(slope(p), [[-1.25, -0.5], [1.5, -0.5], [-0.25, 1.0]])
        with pytest.raises(ValueError, match="dimension must be 2 or 3"):
            dj.jit(lambda a: np.cross(a[:1], a), backend="python")(np.ones(3))
        with pytest.raises(NotImplementedError, match=r"write a\[\.\.\., 0\]"):
            some(np.array([1.0, 2.0, -1.0]))
        return
    for call in (area, value, slope):
        with pytest.raises(ValueError, match="they are 2 and 2 dimensional instead"):
            call(p)
    with pytest.raises(ValueError, match="they are 2 and 2 dimensional instead"):
        some(np.array([1.0, 2.0, -1.0]))


def test_vectors_of_other_lengths_have_no_product():
    """The function of the array API takes vectors of three alone, in every NumPy."""

    def area(a, b):
        return np.linalg.cross(a, b)

    for shapes in ((2, 2), (3, 2), ((4, 2), (4, 2)), ((4, 3), (4, 2))):
        a, b = map(np.ones, shapes)
        with pytest.raises(ValueError, match="dimensional") as plain:
            area(a, b)
        with pytest.raises(ValueError, match="dimensional") as found:
            dj.jit(area, backend="python")(a, b)
        assert str(found.value) == str(plain.value)


@pytest.mark.parametrize(
    "f",
    {
        "round": round,
        "np.round": np.round,
        "a.round": lambda x, n: np.array([x, 2.0]).round(n),
        "partition": lambda x, n: np.partition(np.array([x, 2.0, 1.0]), n),
        "argpartition": lambda x, n: np.argpartition(np.array([x, 2.0, 1.0]), n) * x,
        "unravel_index": lambda x, n: np.unravel_index(n, (2, 2))[1] * x,
        "several": lambda x, n: np.unravel_index([0, n], (2, 2))[1] * x,
        "ravel_multi_index": lambda x, n: np.ravel_multi_index((0, n), (2, 2)) * x,
    }.items(),
    ids=lambda item: item[0],
)
def test_whole_floats_are_no_counts(f):
    """Where Python and NumPy take ints alone, a float that is whole raises, too."""
    f = f[1]
    np.testing.assert_array_equal(dj.jit(f, backend="python")(1.75, 1), f(1.75, 1))
    with pytest.raises(TypeError):
        f(1.75, 1.0)
    for n in (1.0, np.float64(1.0)):
        with pytest.raises(TypeError):
            dj.jit(f, backend="python")(1.75, n)


def test_slices_that_end_at_numbers_of_numpys():
    """`np.abs` makes an int of NumPy's of an int: known before the program runs, it equals none of a pair's parts."""

    def smooth(y, width, start, step):
        n = np.abs(int(width)) // 2
        a, b, c = np.abs(int(start)), y[: n + 1], np.int64(step)
        return np.sum(y[n:-n] ** 2) * np.sum(b[::-1] * y[-n - 1 :]) + np.sum(y[a:n:c] ** 3)

    y = np.sin(np.arange(9.0))
    dj.check_grads(lambda y: smooth(y, 5, 1, 1), (y,), order=2, backend="python")
    assert dj.jit(smooth, backend="python")(y, 5, 1, 1) == pytest.approx(smooth(y, 5, 1, 1))


def test_lengths_that_einsum_stretches_when_the_program_runs():
    """A length that is 1 by chance meets all of the other one's; others that differ raise."""

    def f(x, y, k, m):
        return np.einsum("ij,ij->", x[:k], y[:m]) + np.einsum("ij,jk->", x[:, :k], y[:m])

    x, y = np.arange(9.0).reshape(3, 3) + 1.0, np.cos(np.arange(9.0)).reshape(3, 3)
    g = dj.grad(f, argnums=(0, 1), backend="python")
    for k, m in ((1, 3), (3, 1), (1, 1), (3, 3), (2, 2)):
        a, b = np.zeros_like(x), np.zeros_like(y)
        for i in range(max(k, m)):
            for j in range(3):
                a[i % k, j] += y[i % m, j]
                b[i % m, j] += x[i % k, j]
            a[:, i % k] += np.sum(y[i % m])
            b[i % m] += np.sum(x[:, i % k])
        np.testing.assert_allclose(dj.jit(f, backend="python")(x, y, k, m), f(x, y, k, m))
        np.testing.assert_allclose(g(x, y, k, m), (a, b))
    for k, m in ((2, 3), (3, 2)):
        with pytest.raises(ValueError, match=r"two lengths|mismatch|not aligned"):
            g(x, y, k, m)
    with pytest.raises(ValueError, match="two lengths"):
        dj.jit(lambda x, k: np.einsum("ij,ij->", x[:2, :k], x.T[:k, :2]), backend="python")(x, 3)


# `a.resize(n)` is no np.resize: it changes the array itself, and has zeros behind ------------------------------------


def longer(x):
    a = x * 2.0
    a.resize(5)
    return np.sum(a * np.arange(1.0, 6.0)) / len(a)


def shorter(x):
    a = np.outer(x, x * x)
    nothing = a.resize((2, 2))
    return np.sum(a[1]) * len(a) + (1.0 if nothing is None else 0.0)


def by_lengths(x):
    a = x * 2.0 if x[0] > 0.0 else x * 3.0
    a.resize(2, 3, refcheck=False)
    return np.sum(a[0] * x) * a.shape[1] + np.sum(a[1])


def grows_in_a_loop(x, n=4):
    a, last = np.zeros(0), 0.0
    for k in range(n):
        if x[k % 3] > 100.0:
            raise ValueError("too large")
        a.resize(a.size + 1, refcheck=False)
        a[k] = x[k % 3] ** 2
        if k == 0:
            last = a[0]
        else:
            for j in range(k):
                a[j] += x[k % 3] * a[k - j]
    return np.sum(a * a) + last


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [longer, shorter, by_lengths, grows_in_a_loop])
def test_resized_in_place(function, backend):
    x = np.array([1.0, -2.0, 3.0])
    value, slope = dj.value_and_grad(function, backend=backend)(x)
    np.testing.assert_allclose(value, function(x.copy()), rtol=1e-13)
    exact = [(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(slope, exact, rtol=1e-6, atol=1e-7)


def resized_by_another_name(x):
    b = x * 2.0
    a = b if x[0] > 0.0 else x * 3.0
    a.resize(5, refcheck=False)
    return np.sum(b) / len(b)


def resized_argument(x):
    x.resize(5, refcheck=False)
    return np.sum(x) / len(x)


def resized_in_a_call(x):
    def longer(a):
        a.resize(5, refcheck=False)

    b = x * 2.0
    longer(b)
    return np.sum(b) / len(b)


def resized_by_a_method(x):
    a = x * 2.0
    change = a.resize
    change(5)
    return np.sum(a) / len(a)


@pytest.mark.parametrize(
    "function", [resized_by_another_name, resized_argument, resized_in_a_call, resized_by_a_method]
)
def test_resizing_what_others_may_see_is_refused(function):
    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ101[\s\S]*resize"):
        dj.jit(function, backend="python")(np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_arrays_of_objects_that_hold_numbers(backend):
    def zeros(x):
        s = np.zeros((2, 2), dtype=object)
        s[0, 0] = x
        return s[0, 0] * 2.0 + s[1, 1]

    def counts(x):
        return np.array([[1, 2], [3, -4]], dtype=object)[1, 0] * x

    for f in (zeros, counts):
        assert dj.value_and_grad(f, backend=backend)(2.0) == (f(2.0), f(1.0))


Pair = collections.namedtuple("Pair", "first second")  # noqa: PYI024


@pytest.mark.parametrize(
    "made",
    [lambda x: Pair(x).first, lambda x: Pair(x, x, x).first, lambda x: Pair(x, x, third=x).first],
    ids=["one missing", "one more", "no such field"],
)
def test_namedtuples_take_what_they_take_in_python(made):
    with pytest.raises(TypeError):
        made(2.0)
    with pytest.raises(TypeError, match="DJ306"):
        dj.grad(made, backend="python")(2.0)
