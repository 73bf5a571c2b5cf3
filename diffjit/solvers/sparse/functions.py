"""Functions of sparse matrices, and their norms."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.sparse.matrices import is_sparse, of_format, parts
from diffjit.primitives.registry import implements
from diffjit.solvers.sparse.direct import system_of

TERMS = 20  # of the series of the exponential of a matrix whose norm is at most 1


def of_form(A, dense):
    """A dense matrix as a sparse one of the format of another one."""
    return of_format(A.form, A.matrix, *parts(dense, None))


@implements(scipy.sparse.linalg.inv)
def inv(A):
    """The inverse, of which most entries are there."""
    if not is_sparse(A):
        raise TypeError("Input must be a sparse arrays")
    return of_form(A, system_of(A, np.eye(A.shape[0])))


@implements(scipy.sparse.linalg.expm)
def expm(A):
    """The exponential."""
    if not is_sparse(A):
        return scipy.linalg.expm(A)
    return of_form(A, scipy.linalg.expm(A.toarray()))


@implements(scipy.sparse.linalg.expm_multiply)
def expm_multiply(A, B, start=None, stop=None, num=None, endpoint=None, traceA=None):
    """The exponential times a vector or matrix, at one time or at several."""
    if start is None and stop is None and num is None:
        return stepped(A, as_float(np.asarray(B)), 1.0)
    if start is None or stop is None:
        raise ValueError("start and stop are both given, or neither")
    count = 50 if num is None else num
    times = np.linspace(start, stop, count, endpoint is None or endpoint)
    state = stepped(A, as_float(np.asarray(B)), times[0])
    out = np.zeros((count, *state.shape), state.dtype)
    out[0] = state
    for k in range(1, count):
        state = stepped(A, state, times[k] - times[k - 1])
        out[k] = state
    return out


def stepped(A, B, t):
    """exp(t A) B by Taylor's series, in steps in which t A has a norm of at most 1."""
    size = np.abs(t) * one_norm(A)
    steps = int(np.ceil(size)) if size > 1.0 else 1
    state = B + 0.0 * (A @ B)
    for _ in range(steps):
        term = state
        for k in range(TERMS):
            term = (t / (steps * (k + 1.0))) * (A @ term)
            state = state + term
    return state


def one_norm(A):
    """The largest sum of magnitudes of a column, at least of the stored entries."""
    if not is_sparse(A):
        return np.max(np.sum(np.abs(A), axis=0))
    data, _, col = A.entries()
    sums = np.zeros(A.shape[1])
    np.add.at(sums, col, np.abs(data))
    return np.max(sums)


@implements(scipy.sparse.linalg.norm)
def norm(x, ord=None, axis=None):  # noqa: A002 - SciPy's name
    """Norms of a matrix, or of its rows or columns."""
    if not is_sparse(x):
        raise TypeError("input is not sparse. use numpy.linalg.norm")
    if ord in (2, -2):
        raise NotImplementedError("scipy.sparse.linalg.norm(ord=2): use svds, or np.linalg.norm of toarray()")
    return np.linalg.norm(x.toarray(), ord, axis)
