"""Gradients without the value: what only the value needed is gone, what may raise is not, and the rest is the same."""

import numpy as np
import pytest

import diffjit as dj
from tests.transforms.test_undo import N, Writer, function


def products(alpha, beta, C, A, B):
    C[:] = alpha * A @ B + beta * C
    return np.sum(C)


def arguments():
    rng = np.random.default_rng(3)
    return 1.5, 1.2, rng.normal(size=(20, 30)), rng.normal(size=(20, 25)), rng.normal(size=(25, 30))


def test_the_product_of_the_value_is_not_made():
    args = arguments()
    verbs = dj.grad(products, range(5)), dj.value_and_grad(products, range(5))
    counts = [dj.source(verb, *args, stage="lowered").count("gemm(") for verb in verbs]
    assert counts == [2, 3]
    for mine, other in zip(verbs[0](*args), verbs[1](*args)[1], strict=True):
        np.testing.assert_array_equal(mine, other)
    assert np.array_equal(args[2], arguments()[2])


def test_the_gradient_of_what_is_assigned_as_a_whole():
    """No copy of its cotangent, and no zeros, are made."""
    text = dj.source(dj.grad(products, range(5)), *arguments())
    back = text.split("# Reverse sweep.")[1]
    assert ".copy(" not in back
    assert "zeros" not in back


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_whole_assignments_in_every_place(backend):
    """By views of views, in branches and loops, beside views that were taken before."""

    def f(x, y, k):
        u, row = x.copy(), np.zeros(4)
        head, both = u[:2], u[:]
        u[:] = u * y
        head[0] *= 3.0
        both[:] = np.sin(both) + u[0]
        for i in range(3):
            row[:] = u * row + y
            if i == k:
                both[...] = row
                u[:][:] = u * u
        head[1] += u[3]
        u[:] = y[0] * 2.0
        u[1] *= both[1] * row[2]
        return np.sum(u * row) + head[1]

    x, y = np.array([0.3, -0.7, 1.1, 0.4]), np.array([0.9, 0.2, -0.5, 1.3])
    for k in (0, 2, 5):
        found = dj.grad(f, (0, 1), backend=backend)(x, y, k)
        for e in np.eye(4) * 1e-6:
            slopes = (f(x + e, y, k) - f(x - e, y, k)) / 2e-6, (f(x, y + e, k) - f(x, y - e, k)) / 2e-6
            np.testing.assert_allclose([g @ e * 1e6 for g in found], slopes, rtol=1e-6, atol=1e-8)
        second = dj.jacfwd(dj.grad(f, backend=backend), backend=backend)(x, y, k)
        np.testing.assert_allclose(second, dj.hessian(f, backend=backend)(x, y, k), rtol=1e-9, atol=1e-12)


def outcome(verb, x, a, k):
    try:
        return verb(x, a, k)
    except (IndexError, dj.DiffjitError) as error:
        return type(error)


def compare(seed):
    """Whether a random program that writes in place has the same gradient with its value and without, bit by bit."""
    source = (
        Writer(seed)
        .program()
        .replace("return total, u", "return total")
        .replace("return total, [w, row]", "return total")
    )
    f = function(source, f"<unread {seed}>")
    alone, beside = dj.grad(f, (0, 1)), dj.value_and_grad(f, (0, 1))
    rng = np.random.default_rng(seed)
    returned = False
    for _ in range(2):
        call = rng.normal(size=N) * 0.8, 0.6, int(rng.integers(0, 5))
        want, got = outcome(beside, *call), outcome(alone, *call)
        if isinstance(want, type) or isinstance(got, type):
            assert want is got, source
            continue
        returned = True
        for mine, other in zip(got, want[1], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-11, err_msg=source)
    return returned


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(seed) for seed in range(300, 306)) > 2


def added(x, y):
    return np.sum(x + y)


def multiplied(x, y):
    return np.sum(np.outer(x, x) @ y + 0.0 * x[0])


def assigned(x, y):
    u = x.copy()
    u[:] = y
    u[:] = x * 2.0
    u[:] = u + y
    return np.sum(u)


def last_assigned(x, y):
    u = np.zeros(len(x))
    u[:] = y
    return np.sum(x) + np.sum(u)


def picked(x, y):
    return x[len(y)] + np.sum(y)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", [added, multiplied, assigned, last_assigned, picked], ids=lambda f: f.__name__)
def test_what_the_value_would_raise_is_raised(f, backend):
    """Though nobody asks for the value, and the derivative could do without."""
    with pytest.raises((ValueError, IndexError)) as plain:
        f(np.ones(17), np.ones(19))
    verbs = (dj.grad(f, backend=backend), dj.value_and_grad(f, (0, 1), backend=backend), dj.grad(f, 1, backend=backend))
    for verb in verbs:
        with pytest.raises(plain.type):
            verb(np.ones(17), np.ones(19))
