"""Sparse matrices that are made with a dtype: complex ones of waves and quantum states, float32; others are refused."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import diffjit as dj
from diffjit.errors import DiffjitError

K = np.array([0.5, 0.7, 0.3, 0.9, 0.4])


def damped_wave(k):
    """Helmholtz's equation on a line, assembled element by element."""
    n = k.size
    a = sp.lil_matrix((n, n), dtype=complex)
    for i in range(n):
        a[i, i] = 2.0 - k[i] ** 2 + 0.1j
        if i > 0:
            a[i, i - 1] = a[i - 1, i] = -1.0
    b = np.zeros(n, complex)
    b[2] = 1.3
    return np.sum(np.abs(sl.spsolve(a.tocsr(), b)) ** 2)


def quantum_state(v):
    """Two steps of Crank and Nicolson."""
    n = v.size
    h = sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n, n), dtype=complex) * -0.5 + sp.diags(v.astype(complex), 0)
    u, psi = sp.eye(n, dtype=np.complex128) + 0.05j * h, np.ones(n) / np.sqrt(n)
    for _ in range(2):
        psi = sl.spsolve(u.tocsc(), (sp.identity(n, dtype="complex128") - 0.05j * h) @ psi)
    return np.abs(psi[0]) ** 2


@pytest.mark.parametrize(("program", "backend"), [(damped_wave, "numba"), (quantum_state, "python")])
def test_complex_matrices(program, backend):
    value, gradient = dj.value_and_grad(program, backend=backend)(K)
    assert value == pytest.approx(program(K), rel=1e-13)
    direction = np.cos(K)
    slope = (program(K + 1e-4 * direction) - program(K - 1e-4 * direction)) / 2e-4
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6)


def in_single_precision(v):
    a = sp.bmat([[sp.csr_matrix(np.outer(v, v)), None], [None, sp.eye(2)]], dtype=np.float32, format="csr")
    return (
        a.toarray(),
        sp.coo_array((v, (range(5), range(5))), dtype="f4").toarray(),
        sp.dia_array((v, 0), shape=(5, 5), dtype=np.complex64).toarray(),
    )


def test_they_have_the_dtype_that_was_asked_for():
    for found, wanted in zip(dj.jit(in_single_precision, backend="python")(K), in_single_precision(K), strict=True):
        assert found.dtype == wanted.dtype
        assert np.array_equal(found, wanted)


def test_others_are_refused():
    with pytest.raises(DiffjitError, match="of dtype bool"):
        dj.jit(lambda v: sp.csr_matrix(np.outer(v, v) > 0, dtype=bool).toarray(), backend="python")(K)
