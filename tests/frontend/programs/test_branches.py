"""What is refused in a branch is refused where the branch is taken; options decide which branch there is."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import diffjit as dj
import diffjit.frontend.entry.program as specialising

BACKENDS = ["python", "numba"]
X = np.array([0.3, 0.5, 0.7])


def by_axis(x, n):
    return np.sum(x.argmax(axis=1) if x.size == n else x) * 2.0


def unpacked(x, n):
    if n > 3:
        _, k = x.shape
    else:
        k = 1
    return np.sum(x) * k


def unknown_name(x, n):
    if n > 3:
        return np.sum(unicode(x))  # noqa: F821 - as programs for Python 2 have it
    return np.sum(x) * 2.0


def of_the_wrong_shape(x, n):
    if n > 3:
        x = x @ np.ones((5, 2))
    return np.sum(x**2)


def without_the_attribute(x, n):
    return x.missing if n > 3 else np.sum(x) * 2.0


def too_many_indices(x, n):
    if n > 3:
        return np.sum(x[0, 1])
    return np.sum(x)


CERTAIN = {
    by_axis: np.exceptions.AxisError, unpacked: ValueError, unknown_name: NameError, of_the_wrong_shape: ValueError,
    without_the_attribute: AttributeError, too_many_indices: IndexError,
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CERTAIN)
def test_what_python_raises(case, backend):
    slope = (case(X + 1e-6, 2) - case(X - 1e-6, 2)) / 2e-6
    assert np.isclose(np.sum(dj.grad(case, backend=backend)(X, 2)), slope)
    n = 3 if case is by_axis else 8
    with pytest.raises(CERTAIN[case]):
        case(X, n)
    with pytest.raises(CERTAIN[case]):
        dj.grad(case, backend=backend)(X, n)


def with_a_hessenberg_form(x, n):
    total = np.sum(x**2)
    if x[0] * n > 3.0:
        total = total + np.sum(scipy.linalg.hessenberg(np.outer(x, x)))
    return total


def with_what_python_makes(x, n):
    y = x * 2.0
    if x[0] * n > 3.0:
        y = np.ma.corrcoef(np.ma.array(x, mask=x > 0.4))
    return np.sum(y**2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_refused(backend):
    np.testing.assert_allclose(dj.grad(with_a_hessenberg_form, backend=backend)(X, 2.0), 2 * X)
    with pytest.raises(NotImplementedError, match=r"DJ201.*test_branches"):
        dj.grad(with_a_hessenberg_form, backend=backend)(X, 80.0)
    np.testing.assert_allclose(dj.grad(with_what_python_makes, backend=backend)(X, 2.0), 8 * X)
    with pytest.raises(NotImplementedError, match=r"ma.extras.corrcoef.*test_branches"):
        dj.grad(with_what_python_makes, backend=backend)(X, 80.0)


def of_two_kinds(x, n):
    a = np.outer(x, x) + np.eye(3) if n > 3 else n
    total = np.sum(x)
    total += np.linalg.inv(a)[0, 0] * 0.0
    total += np.linalg.inv(a)[1, 0] * 1.0
    total += np.linalg.inv(a)[2, 0] * 2.0
    total += np.linalg.inv(a)[0, 0] * 3.0
    total += np.linalg.inv(a)[1, 0] * 4.0
    total += np.linalg.inv(a)[2, 0] * 5.0
    total += np.linalg.inv(a)[0, 0] * 6.0
    total += np.linalg.inv(a)[1, 0] * 7.0
    total += np.linalg.inv(a)[2, 0] * 8.0
    total += np.linalg.inv(a)[0, 0] * 9.0
    total += np.linalg.inv(a)[1, 0] * 10.0
    total += np.linalg.inv(a)[2, 0] * 11.0
    return total


def test_refused_branches_cost_no_new_beginning(monkeypatch):
    attempts = []
    interpreted = specialising._interpreted
    monkeypatch.setattr(specialising, "_interpreted", lambda *a, **k: (attempts.append(1), interpreted(*a, **k))[1])
    weights = np.array([18.0, 22.0, 26.0])
    wanted = jax.grad(lambda x: jnp.sum(x) + jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(3))[:, 0] @ weights)(X)
    np.testing.assert_allclose(dj.grad(of_two_kinds, backend="python")(X, 8.0), wanted, rtol=1e-5)
    assert len(attempts) <= 2
    with pytest.raises(NotImplementedError, match=r"a matrix is needed here.*DJ302.*test_branches"):
        dj.grad(of_two_kinds, backend="python")(X, 2.0)


def both_refused(x):
    if x[0] > 1.0:
        return np.sum(scipy.linalg.hessenberg(np.outer(x, x)))
    return np.sum(scipy.linalg.hessenberg(np.outer(x, 2 * x)))


def behind_a_way_out(x):
    if x[0] > 1.0:
        return 0.0
    return np.sum(scipy.linalg.hessenberg(np.outer(x, x)))


def caught(x):
    try:
        if x[0] > 1.0:
            return np.sum(scipy.linalg.hessenberg(np.outer(x, x)))
    except NotImplementedError:
        return 0.0
    return np.sum(x)


@pytest.mark.parametrize("program", [both_refused, behind_a_way_out, caught])
def test_what_stays_refused(program):
    with pytest.raises(dj.DiffjitError):
        dj.grad(program, backend="python")(X)


class Line:
    def __init__(self, a):
        self.a = a

    def value(self, x):
        return self.a * x


class Cube:
    def __init__(self, a):
        self.b = a * a

    def value(self, x):
        return self.b * x**3


class Price:
    def __init__(self, x, order=3):
        self.order = order
        self.x = x

    def at(self, y):
        if self.order == 0:
            form = None
        elif self.order == 1:
            form = Line(self.x)
        else:
            form = Cube(self.x)
        return form.value(y)


def priced(x, y):
    return Price(x).at(y) + Price(x, 1).at(y)


def chosen_by_an_argument(x, n):
    items = [x, x] if n > 2 else np.ones(3) * x
    return items[0] * len(items)


@pytest.mark.parametrize("backend", BACKENDS)
def test_options(backend):
    np.testing.assert_allclose(dj.grad(priced, argnums=(0, 1), backend=backend)(1.3, 0.7), (1.5918, 3.7843))
    f = dj.grad(chosen_by_an_argument, backend=backend)
    assert [f(1.3, n) for n in (1, 3, 2, 4)] == [3.0, 2.0, 3.0, 2.0]


def of_two(p):
    a, b = p
    return a * b


def of_three(p):
    a, b, c = p
    return a * b * c


KINDS = {1: of_two, 2: of_three}


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_of_several_functions(backend):
    """One that could not take what it is given, were it chosen."""
    f = dj.grad(lambda x, kinds: KINDS[kinds[0]](x), backend=backend)
    np.testing.assert_allclose(f(X, np.array([2])), [0.35, 0.21, 0.15])
    with pytest.raises(ValueError, match="unpacked"):
        f(X, np.array([1]))
