"""Small things that scientists' programs do."""

import collections
import ctypes
import weakref

import numpy as np
import pytest
import scipy.integrate
import scipy.sparse.linalg
from packaging.version import Version, parse

import diffjit as dj
from tests.first_order import of_one_number

BACKENDS = ["python", "numba"]
Pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024 - as programs make them


class Empty:
    """A class without an `__init__`."""


def function_or_flag(x):
    f = lambda v: v * v
    total = 0.0
    if f == True:  # noqa: E712
        total += 1.0
    if f != False:  # noqa: E712
        total += 10.0
    return total + f(x)


def broadcast_shape(x):
    b = np.broadcast(np.ones((3, 1)) * x, np.ones(4))
    return x * b.shape[0] * b.ndim + b.size


def one_tuple(x):
    p = Pair(x, 2.0 * x)
    q = p

    def told(s, e):
        return 1.0 if s is e else 2.0

    return x * told(p, q) * q.b


def nearly_real(x):
    z = np.real_if_close(np.array([x + 1e-18j, 2.0 * x + 0j]))
    return np.sum(np.real(z)) + np.sum(np.imag(np.real_if_close(np.array([x + 1j * x]))))


def length_of_what_was_none(x):
    modes = None
    for k in range(3):
        if x > 0.3 * k:
            modes = ["a", "b", "c"][: k + 1]
    return len(modes) * x


def number_in_a_text(x):
    q = np.zeros(3)
    q[1] = "2.5"
    return np.sum(q) * x


def written_broadcast(x):
    p, q = np.broadcast_arrays(x, 2.0)
    r = np.atleast_1d(p)
    r[0] = 3.0 * r[0]
    return r[0] * q


class Doubled:
    def __init__(self, x):
        self.a = 2.0 * x


def weakly(x):
    node = Doubled(x)
    back = weakref.ref(node)
    return back().a ** 2


def slot(x):
    return x * int.__mul__(3, 4) + float.__add__(1.0, 2.0)


def integrals(x):
    f = np.vectorize(lambda b, a: scipy.integrate.quad(lambda t, a: np.exp(-a * t), 0.0, b, args=(a,)))
    value, _ = f(np.array([0.5, 1.0]), x)
    return np.sum(value)


def several(x):
    d, e, k = np.vectorize(lambda z, a: (z * a, z + a, 2))(np.array([0.5, 1.0]), x)
    p, q, _ = np.vectorize(lambda z, a: (z * a, z + a, 2))(x, 1.5)
    return np.sum(d) + np.sum(e * x) + k[0] + p * q


def called_once_more(x):
    seen, out = [], np.zeros(3)

    def fill(i, v):
        out[i] += v * x
        seen.append(i)

    np.vectorize(fill)(np.arange(3), np.array([1.0, 2.0, 3.0]))
    return np.sum(out) + len(seen)


def drawn(x):
    rng = np.random.default_rng(3)
    return np.sum(np.vectorize(lambda v: v * rng.normal())(np.array([1.0, 2.0]) * x))


def typed(x):
    return np.sum(np.vectorize(lambda v: 0 if v < 0.5 else v, otypes=[float])(np.array([x, 2.0 * x])))


def list_of_one_branch(x):
    """A list that only one branch makes, read behind it."""
    if x < 1.0:
        found = []
        for k in range(int(x * 5.0)):
            found.append(x * k)  # noqa: PERF401 - a list that grows
    k, total = 2, 0.0
    while total < x:
        total = total + found[k] * x + 0.2
    return total


def lists_of_one_branch(x):
    rows = 0.0
    if x < 1.0:
        found, other = [x], [x, x]
        for k in range(int(x * 4.0)):
            found.append(found[k] * x)
        other[1] = found[-1]
    if x < 0.9:
        for v in found:
            rows += v * other[1]
    return rows


M = np.random.default_rng(0).normal(size=(8, 8))
M = M + M.T


class Hamiltonian(scipy.sparse.linalg.LinearOperator):
    """As simulations of quantum systems have it: a map that is never written out."""

    def __init__(self, m):
        super().__init__(m.dtype, m.shape)
        self.m = m

    def _matvec(self, v):
        return self.m @ v


def lowest_states(x):
    m = M + x * np.diag(np.arange(8.0))
    w, v = scipy.sparse.linalg.eigsh(Hamiltonian(m), k=2, which="SA")
    plain = scipy.sparse.linalg.LinearOperator((8, 8), matvec=lambda u: m @ u, dtype=float)
    return np.sum(w) + np.sum(v[:, 0] ** 4) + scipy.sparse.linalg.eigsh(plain, k=1, return_eigenvectors=False)[0]


def sparse_conjugate(x):
    m = scipy.sparse.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]])) * x
    return np.sum(m.conjugate().transpose() @ np.ones(2) * np.array([1.0, 2.0]))


PROGRAMS = [
    lowest_states, sparse_conjugate, list_of_one_branch, lists_of_one_branch,
    function_or_flag, broadcast_shape, one_tuple, nearly_real, length_of_what_was_none, number_in_a_text,
    written_broadcast, weakly, slot, integrals, several, called_once_more, drawn, typed,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_python_has_it(program, backend):
    x, h = 0.71, 1e-6
    assert np.isclose(dj.jit(program, backend=backend)(x), program(x), rtol=1e-12)
    slope = (program(x + h) - program(x - h)) / (2 * h)
    assert np.isclose(dj.grad(program, backend=backend)(x), slope, rtol=1e-7)
    assert np.isclose(dj.jvp(program, (x,), (1.0,), backend=backend)[1], slope, rtol=1e-7)


@pytest.mark.parametrize("program", [list_of_one_branch, lists_of_one_branch])
def test_second_order(program):
    x, h = 0.71, 1e-5
    f = dj.grad(program, backend="python")
    bend = (f(x + h) - f(x - h)) / (2 * h)
    assert np.isclose(dj.jvp(f, (x,), (1.0,), backend="python")[1], bend, rtol=1e-6)
    assert np.isclose(dj.grad(f, backend="python")(x), bend, rtol=1e-6)


def test_the_first_number_decides():
    def first_is_an_int(x):
        return np.sum(np.vectorize(lambda v: 0 if v < 0.5 else v)(np.array([x, 2.0 * x])))

    with pytest.raises(dj.TypeProblem, match="DJ304"):  # NumPy makes an int of the second one
        dj.jit(first_is_an_int, backend="python")(0.3)


def test_vectorize_of_what_may_be_nothing():
    """Where the types are told, no element gives an empty array."""
    plus = np.vectorize(lambda a, b: a * b + 1.0, otypes=[float])
    both = np.vectorize(lambda a, b: (a * b, a - b), otypes=[float, float])

    def f(x, least):
        large = x[x > least]
        return np.sum(plus(large, large)) + np.sum(both(large, 2.0)[0]) + plus(x[:0], 1.0).size

    x = np.array([1.0, 2.0, 3.0])
    for least in (1.5, 5.0):
        assert dj.jit(f)(x, least) == pytest.approx(f(x, least))
        np.testing.assert_allclose(dj.grad(f)(x, least), np.where(x > least, 2 * x + 2, 0.0))


def test_vectorize_of_nothing():
    with pytest.raises(ValueError, match="size 0"):
        dj.jit(lambda x: np.sum(np.vectorize(lambda v: v)(x)), backend="python")(np.ones(0))


def test_a_class_without_source():
    """Its `__init__` is not Python's empty one, so it is not said to take no arguments."""
    with pytest.raises(dj.NoRule, match=r"DJ201.*ctypes\.c_double"):
        dj.grad(lambda x: x * ctypes.c_double(x).value, backend="python")(0.3)
    with pytest.raises(dj.TypeProblem, match="DJ306"):
        dj.grad(lambda x: x * Empty(x).k, backend="python")(0.3)


def test_versions_of_libraries():
    """Objects that are made of constants, and compared, are known before the program runs."""

    def by_version(x):
        return x * x if Version(np.__version__) >= Version("1.20") and parse("2.0rc1") < parse("2.0") else x

    assert dj.grad(by_version, backend="python")(1.5) == 3.0


def names_of_rows(x):
    names, values = np.asarray(["hot", "cold", "hot"]), np.array([x, 2.0 * x, x**2])
    scales = np.asarray(("1.5", "2.5"), dtype=float)
    return sum(values[names == name].mean() * len(name) for name in np.unique(names)) + np.sum(scales * x)


def option_in_an_array(x, posture="standing"):
    posture = np.asarray(posture)
    area = np.where(posture == "sitting", 0.7, 0.725)
    return float(np.sum(area * x**2) + (x if np.array("sitting") == posture else 2.0 * x))


def by_element_and_word(x):
    def loss(v, kind, *, shade="none"):
        return v**2 if kind == "square" and shade == "none" else 3.0 * v

    by = np.vectorize(loss)
    values = np.array([x, 2.0 * x])
    return float(np.sum(by(values, "square") + by(values, ["square", "line"]) + by(values, "square", shade="full")))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [names_of_rows, option_in_an_array, by_element_and_word])
def test_arrays_of_texts(program, backend):
    """`np.asarray` of texts, and texts as operands of `np.vectorize`, were refused; `np.array` of lists was not."""
    of_one_number(program, backend, rel=1e-13)


def test_a_message_of_what_is_missing():
    """How many texts are joined is seen when the program runs: it was a mistake of diffjit's own."""

    def model(x):
        missing = []
        if x < 0.0:
            missing.append("first")
        if x < 1.0:
            missing.append("second")
        if x > 5.0:
            raise ValueError("no " + " and ".join(missing))
        return x * x

    assert dj.grad(model, backend="python")(0.7) == 1.4
    with pytest.raises(dj.UnsupportedSyntax, match=r"DJ118.*joining texts"):
        dj.grad(lambda x: x * len(" and ".join(["a"] * int(x))), backend="python")(2.5)
