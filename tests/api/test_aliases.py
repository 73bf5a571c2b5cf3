"""Two arguments that share memory, one of which is written: refused under each verb, never taken for copies."""

import numpy as np
import pytest

import diffjit as dj


def product(a, b):
    a[1:] = b[:-1] * a[1:]
    return a * b


def total(a, b):
    return np.sum(product(a, b))


U = np.arange(1.0, 7.0)
VERBS = {
    "jit": dj.jit(product),
    "grad": dj.grad(total),
    "jvp": lambda u, v: dj.jvp(product, (u, v), (U, U)),
    "vjp": lambda u, v: dj.vjp(product, u, v),
    "jacfwd": dj.jacfwd(product),
    "jacrev": dj.jacrev(product),
    "jacobian": dj.jacobian(product),
    "hessian": dj.hessian(total),
    "hvp": lambda u, v: dj.hvp(total, (u, v), (U, U), argnums=(0, 1)),
    "jet": lambda u, v: dj.jet(product, (u, v), ((U,), (U,))),
    "grad of grad": dj.grad(lambda a, b: np.sum(dj.grad(total)(a, b))),
    "jitted grad": dj.jit(dj.grad(total)),
}


@pytest.mark.parametrize("name", VERBS)
def test_shared_memory_is_refused(name):
    u = U.copy()
    VERBS[name](u, U.copy())
    u = U.copy()
    with pytest.raises(dj.DiffjitError, match=r"DJ402[\s\S]*test_aliases.py:"):
        VERBS[name](u, u)
    with pytest.raises(dj.DiffjitError, match="DJ402"):
        VERBS[name](u[::-1], u)
    np.testing.assert_array_equal(u, U)


# What marked functions and verbs return is their own, called plainly as in programs --------------------------------


@dj.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda kept, g: (np.clip(g, -1.0, 1.0),))


@dj.custom_jvp
def tail(x):
    return x[1:]


tail.defjvp(lambda primals, tangents: (tail(primals[0]), tangents[0][1:]))


@dj.constant
def same(x):
    return x


def through_custom(x):
    y = 2.0 * x
    z = clipped(y)
    z[0] = 0.0
    return np.sum(y * y)


def through_view(x):
    y = 2.0 * x
    z = tail(y)
    y[:] = 0.0
    return np.sum(z * z)


def through_stopped(x):
    y = 2.0 * x
    z = dj.stop_gradient({"y": y, "more": [y]})
    z["y"][0] = 0.0
    z["more"][0][1] = 0.0
    z["more"].append(y)
    return np.sum(y * y)


def through_constant(x):
    y = 2.0 * x
    z = same(y)
    z[0] = 0.0
    return np.sum(y * y)


def through_jvp(x):
    y = 2.0 * x
    z, _ = dj.jvp(lambda a: a, (y,), (y,))
    z[0] = 0.0
    return np.sum(y * y)


def through_vjp(x):
    y = 2.0 * x
    z, _ = dj.vjp(lambda a: a, y)
    z[0] = 0.0
    return np.sum(y * y)


def through_linearize(x):
    y = 2.0 * x
    z, _ = dj.linearize(lambda a: a, y)
    z[0] = 0.0
    return np.sum(y * y)


def through_aux(x):
    y = 2.0 * x
    (_, z), _ = dj.value_and_grad(lambda a: (np.sum(a), a), has_aux=True)(y)
    z[0] = 0.0
    return np.sum(y * y)


THROUGH = [f for name, f in list(globals().items()) if name.startswith("through_")]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", THROUGH, ids=lambda f: f.__name__)
def test_results_are_apart_from_arguments(f, backend):
    x = np.array([0.3, 0.7, 1.1])
    tangent = np.array([1.0, 2.0, -1.0])
    kept = x[1:] if f is through_view else x
    assert f(x) == pytest.approx(4.0 * np.sum(kept**2))
    value, gradient = dj.value_and_grad(f, backend=backend)(x)
    assert value == pytest.approx(f(x))
    if f is through_view:
        np.testing.assert_allclose(gradient, [0.0, *8.0 * x[1:]])
    else:
        np.testing.assert_allclose(gradient, 8.0 * x)
    np.testing.assert_allclose(dj.jvp(f, (x,), (tangent,), backend=backend)[1], gradient @ tangent)
    np.testing.assert_array_equal(x, [0.3, 0.7, 1.1])


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_values_of_verbs_are_apart_from_arguments(backend):
    x = np.array([0.3, 0.7, 1.1])
    same, both = lambda a: a, lambda a: (np.sum(a), a)
    found = [
        dj.jvp(same, (x,), (x,), backend=backend)[0],
        dj.vjp(same, x, backend=backend)[0],
        dj.linearize(same, x, backend=backend)[0],
        dj.grad(both, has_aux=True, backend=backend)(x)[1],
        dj.jacfwd(both, has_aux=True, backend=backend)(x)[1],
    ]
    assert not any(np.shares_memory(x, v) for v in found)
