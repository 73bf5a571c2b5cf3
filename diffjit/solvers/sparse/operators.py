"""Maps that are known by what they make of a vector: `LinearOperator`, and systems with one.

SciPy's method calls the user's compiled function. The solution's derivative is that of what vanishes, A x - b, whose
linear system is solved by products with the function's own derivative.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.sparse.matrices import is_sparse
from diffjit.primitives.registry import implements
from diffjit.solvers.aside import callbacks
from diffjit.solvers.aside.remarks import leave_trail, where
from diffjit.solvers.scipy.closed import closed
from diffjit.solvers.scipy.handed import SOLUTION, vector

MATRIX = type(scipy.sparse.linalg.aslinearoperator(np.eye(1)))  # and that of maps by a matrix
CUSTOM = type(scipy.sparse.linalg.LinearOperator((1, 1), matvec=abs, dtype=np.float64))  # SciPy's class of maps


@implements(scipy.sparse.linalg.LinearOperator, CUSTOM)
class Operator:
    """A map of vectors."""

    def __init__(self, shape, matvec, rmatvec=None, matmat=None, dtype=None, rmatmat=None):
        self.shape, self.of_vector, self.back = shape, matvec, rmatvec

    @property
    def ndim(self):
        """Two."""
        return 2

    def adjoint(self):
        """The map whose matrix is transposed and conjugated."""
        if self.back is None:
            raise NotImplementedError("rmatvec is not defined")
        return Operator((self.shape[1], self.shape[0]), self.back, self.of_vector)

    def transpose(self):
        """The map whose matrix is transposed."""
        return Transposed(self.adjoint())

    @property
    def H(self):  # noqa: N802 - SciPy's name
        """The adjoint."""
        return self.adjoint()

    @property
    def T(self):  # noqa: N802 - SciPy's name
        """The transpose."""
        return self.transpose()

    def matvec(self, x):
        """What the map makes of a vector."""
        x = np.asarray(x)
        if x.shape[0] != self.shape[1]:
            raise ValueError("dimension mismatch")
        return np.reshape(self.of_vector(np.ravel(x)), (self.shape[0],) + (1,) * (x.ndim - 1))

    def rmatvec(self, x):
        """What the adjoint makes of a vector."""
        if self.back is None:
            raise NotImplementedError("rmatvec is not defined")
        return np.ravel(self.back(np.ravel(np.asarray(x))))

    def matmat(self, X):
        """What the map makes of columns."""
        return np.stack([self.matvec(X[:, k]) for k in range(X.shape[1])], axis=1)

    def dot(self, x):
        """What the map makes of a vector, of columns, or of what another map makes."""
        if isinstance(x, Operator):
            return followed(self, x)
        x = np.asarray(x)
        if x.ndim == 2 and x.shape[1] != 1:
            return self.matmat(x)
        return self.matvec(x)

    def __matmul__(self, x):
        return self.dot(x)

    def __mul__(self, x):
        return self.dot(x)

    def __call__(self, x):
        """The map itself."""
        return self.dot(x)


def followed(last, first):
    """One map after another."""
    if first.shape[0] != last.shape[1]:
        raise ValueError(f"cannot multiply {last} and {first}: shape mismatch")
    shape = last.shape[0], first.shape[1]
    return Operator(shape, lambda x: last.matvec(first.matvec(x)), lambda x: first.rmatvec(last.rmatvec(x)))


class Transposed(Operator):
    """A map of vectors, by the adjoint of the one that it is the transpose of."""

    def __init__(self, adjoint):
        there, back = adjoint.of_vector, adjoint.back
        self.shape = adjoint.shape
        self.of_vector = lambda x: np.conjugate(there(np.conjugate(x)))
        self.back = lambda x: np.conjugate(back(np.conjugate(x)))


@implements(MATRIX)
class OfMatrix(Operator):
    """A matrix `A` from outside as a map."""

    def __init__(self, A):
        self.shape, self.A = A.shape, A

    def of_vector(self, x):
        """What it makes of a vector."""
        return self.A @ x

    def back(self, x):
        """What its adjoint makes of a vector."""
        if is_sparse(self.A):
            return np.conjugate(self.A.T @ np.conjugate(x))
        return np.conjugate(np.transpose(self.A)) @ x


@implements(scipy.sparse.linalg.aslinearoperator)
def aslinearoperator(A):
    """A matrix as a map."""
    if isinstance(A, Operator):
        return A
    turned = A.T if is_sparse(A) else np.conjugate(np.transpose(np.asarray(A)))
    return Operator(A.shape, lambda x: A @ x, lambda x: turned @ x)


def left(fields, kit, x, p):
    """What vanishes."""
    return vector(fields[0]((x,), p[0], kit[0][0])) - p[1]


def map_of(field, floats, others, n):
    """A field as SciPy's map."""
    return scipy.sparse.linalg.LinearOperator(
        (n, n), matvec=lambda x: field((np.array(np.ravel(x)),), floats, others), dtype=np.float64
    )


def found(fields, x0, kit, p):
    """SciPy's method at work."""
    others, before, name, options, follows, guess = kit
    n = p[1].shape[0]
    given = dict(options)
    trail = leave_trail(given, follows)
    if fields[1] is not None:
        given["M"] = map_of(fields[1], *before, n)
    elif before is not None:
        given["M"] = before
    x, told = getattr(scipy.sparse.linalg, name)(
        map_of(fields[0], p[0], others, n), np.array(p[1]), guess if guess is None else np.array(guess), **given
    )
    return np.ravel(x), np.zeros(n), told == 0, (int(told), *where(trail))


FOUND = foreign(found, result=lambda fields, x0, kit, p: (x0, x0, True, (0, 0, 0)))


def heard(callback, trail, x, norms, functions):
    """Call a callback with what a method has handed it: points, or norms of what is left."""
    if norms:
        callbacks.heard(callback, trail, x, (functions,))
    else:
        callbacks.followed(callback, trail, x, (), lambda x: x, (functions,))


def with_operator(name, A, b, x0, before, options, callback=None, norms=False):
    """A solution by one of SciPy's methods, of a system whose map is known by its products."""
    b = np.ravel(as_float(np.asarray(b)))
    if b.dtype != np.float64:
        raise NotImplementedError("systems with a LinearOperator for anything but float64: give the matrix")
    n = b.shape[0]
    if A.shape[0] != A.shape[1] or A.shape[0] != n:
        raise ValueError(f"shapes of A {A.shape} and b {b.shape} are incompatible")
    start = stop_gradient(0.0 * b)
    field, floats, others = closed(A.matvec, (start,), (), ("forward",))
    ready, given = None, None
    if isinstance(before, Operator):
        ready, ready_floats, ready_others = closed(before.matvec, (start,), (), ())
        given = stop_gradient((ready_floats, ready_others))
    elif before is not None:
        given = stop_gradient(before.toarray() if is_sparse(before) else before)
    kit = others, given, name, options, callback is not None, x0 if x0 is None else stop_gradient(x0)
    x, _, _, told = SOLUTION((left, "auto", False), FOUND, (field, ready), kit, start, (floats, b))
    if callback is not None:
        heard(callback, told[1:], x, norms, (field, ready))
    return x, told[0]
