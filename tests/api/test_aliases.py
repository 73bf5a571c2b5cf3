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
    with pytest.raises(dj.DiffjitError, match="DJ402"):
        VERBS[name](u, u)
    with pytest.raises(dj.DiffjitError, match="DJ402"):
        VERBS[name](u[::-1], u)
    np.testing.assert_array_equal(u, U)
