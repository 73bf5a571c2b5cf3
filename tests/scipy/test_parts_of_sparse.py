"""Elements, rows, columns and blocks of sparse matrices: those that SciPy gives, and the derivatives by the entries."""

import numpy as np
import pytest
import scipy.sparse as sp

import diffjit as dj
from diffjit.errors import DiffjitError

ROWS, COLS = np.array([0, 1, 0, 2, 3, 2, 2]), np.array([0, 1, 2, 0, 2, 2, 0])  # one place has two entries
ENTRIES = np.array([1.0, 3.0, 2.0, 4.0, 6.0, 5.0, 0.5])
SOME, TWO = np.array([2, 0, -2]), np.array([0, 2])
MASK = np.array([True, False, True, False])


def blocks(kind, v):
    """Parts that are sparse again, of matrices and arrays."""
    a = kind((v, (ROWS, COLS)), shape=(4, 3))
    parts = [a[::-1, 1:], a[SOME], a[:, TWO], a[SOME[:, None], TWO]]
    return np.concatenate([np.ravel(part.toarray()) for part in parts])


def taken_twice(kind, v):
    a = kind((v, (ROWS, COLS)), shape=(4, 3))
    return np.concatenate((a[MASK][:, 2:] @ v[:1], a[np.ix_(TWO, TWO)] @ np.ones(2), a[[3, 0], :2].T @ v[:2]))


def elements(kind, v):
    a = kind((v, (ROWS, COLS)), shape=(4, 3))
    return np.ravel(a[SOME, [0, 2, 0]]) * a[2, 0] + a[-1, -1] * a[0, 1] + a[np.int64(0), 2]


def lines(kind, v):
    """Single rows and columns of SciPy's matrices, which are matrices."""
    a = kind((v, (ROWS, COLS)), shape=(4, 3))
    parts = [a[2], a[:, 2], a[2, TWO]]
    return np.concatenate([np.ravel(part.toarray()) for part in parts] + [a[0, :] * np.ones(3)])


@pytest.mark.parametrize(
    ("program", "kind", "backend"),
    [
        (blocks, sp.csr_matrix, "python"), (taken_twice, sp.csc_array, "python"), (elements, sp.csc_matrix, "numba"),
        (elements, sp.csr_array, "python"), (lines, sp.csc_matrix, "python"),
    ],
)  # fmt: skip
def test_parts(program, kind, backend):
    wanted, direction = program(kind, ENTRIES), np.cos(ENTRIES)
    value, pull = dj.vjp(lambda v: program(kind, v), ENTRIES, backend=backend)
    np.testing.assert_allclose(value, wanted, rtol=1e-15)
    weights = np.sin(1.0 + np.arange(wanted.size))
    slope = (program(kind, ENTRIES + 1e-4 * direction) - program(kind, ENTRIES - 1e-4 * direction)) / 2e-4
    assert np.sum(pull(weights)[0] * direction) == pytest.approx(np.sum(weights * slope), rel=1e-9)


def test_an_element_that_is_not_there():
    with pytest.raises(IndexError):
        dj.jit(lambda v: sp.csr_matrix((v, (ROWS, COLS)), shape=(4, 3))[5, 0], backend="python")(ENTRIES)


@pytest.mark.parametrize("place", [(Ellipsis, 1), 2, (np.array([[0, 1], [2, 3]]), np.array([[0, 1], [2, 0]]))])
def test_parts_that_are_refused(place):
    """Of arrays: rows are vectors, and elements in tables have the form of the table."""
    with pytest.raises(DiffjitError, match="DJ118"):
        dj.jit(lambda v: sp.csr_array((v, (ROWS, COLS)), shape=(4, 3))[place].toarray(), backend="python")(ENTRIES)
