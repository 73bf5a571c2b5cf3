"""`np.matrix` as a program: an array of two dimensions, always, with `*` and `**` of linear algebra."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import warnings

import numpy as np

from diffjit.primitives.library.subclasses.held import METHODS, Held, name_of
from diffjit.primitives.registry import constant, implements

_MATRICES = {  # what NumPy makes matrices of
    np.linalg.inv, np.linalg.pinv, np.linalg.cholesky, np.linalg.qr, np.linalg.matrix_power,
    np.atleast_2d, np.flipud, np.fliplr, np.rot90,
    np.dot, np.inner, np.kron, np.concatenate, np.vstack, np.hstack, np.column_stack, np.diff, np.sort,
    np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.real, np.imag,
}  # fmt: skip
_ARRAYS = {  # what it makes arrays and numbers of
    np.trace, np.diag, np.diagonal, np.ravel, np.outer, np.where, np.einsum, np.tensordot, np.unique, np.tril, np.triu,
    np.copy,
    np.shape, np.size, np.ndim, np.allclose, np.array_equal, np.count_nonzero, np.nonzero,
    np.linalg.det, np.linalg.slogdet, np.linalg.norm, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.cond,
    np.linalg.matrix_rank,
}  # fmt: skip
_VECTORS = {np.linalg.eig, np.linalg.eigh, np.linalg.svd}  # arrays of values beside matrices of vectors
_METHODS = {**METHODS, np.argmax: "argmax", np.argmin: "argmin", np.squeeze: "squeeze"}


def made_by(function):
    """What a function of NumPy makes of matrices."""
    if function in _METHODS:
        return "method"
    kinds = (("matrix", _MATRICES), ("array", _ARRAYS), ("vectors", _VECTORS), ("of the last", {np.linalg.solve}))
    return next((kind for kind, functions in kinds if function in functions), "")


def method_of(function):
    """The method that a function calls."""
    return _METHODS[function]


def parsed(text):
    """The numbers of a text like "1 2; 3 4"."""
    with warnings.catch_warnings():  # NumPy advises against the class
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asarray(np.matrixlib.matrix(text))


constant(made_by, method_of, parsed)


def plain(value):
    """The array of a matrix, also of those in a list; anything else is itself."""
    if isinstance(value, np.matrixlib.matrix):
        return value.held_values
    if isinstance(value, tuple):
        return tuple([plain(v) for v in value])
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def matrix(values):
    """The matrix that shows an array; one of one dimension is a row."""
    values = np.asarray(values)
    if values.ndim > 2:
        raise ValueError("matrix must be 2-dimensional")
    made = object.__new__(Matrix)
    made.held_values = np.atleast_2d(values)
    return made


def in_two(value):
    """A matrix of what a function gives, or several."""
    if isinstance(value, tuple):
        return tuple([matrix(v) for v in value])
    return matrix(value)


def is_basic(key):
    """Whether an index gives a view."""
    if isinstance(key, tuple):
        return all(is_basic(k) for k in key)
    if isinstance(key, list):
        return False
    return isinstance(key, slice | int | np.integer) or key is Ellipsis


def is_matrix_product(other):
    """Whether `*` is the product of matrices, rather than of each element with a number."""
    return isinstance(other, np.ndarray | list | tuple)


@implements(np.matrixlib.matrix)
class Matrix(Held):
    """An array of two dimensions."""

    stands_for = np.matrixlib.matrix

    def __init__(self, data, dtype=None, copy=True):
        if isinstance(data, str):
            values = parsed(data)
        elif isinstance(data, np.matrixlib.matrix):
            values = data.held_values
        else:
            values = np.asarray(data)
        if dtype is not None:
            values = values.astype(dtype)
        elif copy:
            values = np.array(values)
        if values.ndim > 2:
            raise ValueError("matrix must be 2-dimensional")
        self.held_values = np.atleast_2d(values)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__":
            raise NotImplementedError(f"`{method}` of a ufunc of an np.matrix: take np.asarray(m) first")
        if kwargs:
            raise NotImplementedError("options of NumPy's functions of an np.matrix: take np.asarray(m) first")
        return in_two(ufunc(*[plain(x) for x in inputs]))

    def __array_function__(self, func, types, args, kwargs):
        kind = made_by(func)
        if kind == "method":
            return getattr(args[0], method_of(func))(*args[1:], **kwargs)
        if kind == "":
            raise NotImplementedError(f"`{name_of(func)}` of an np.matrix: take np.asarray(m) first")
        given = func(*[plain(x) for x in args], **{name: plain(x) for name, x in kwargs.items()})
        if kind == "array" or (kind == "of the last" and not isinstance(args[1], np.matrixlib.matrix)):
            return given
        if kind == "of the last":
            return matrix(given)
        if kind == "matrix":
            return in_two(given) if isinstance(given, tuple) or np.ndim(given) > 0 else given
        if not isinstance(given, tuple):
            return given
        if len(given) == 2:
            return type(given)(given[0], matrix(given[1]))
        return type(given)(matrix(given[0]), given[1], matrix(given[2]))

    # What it is.

    @property
    def A(self):  # noqa: N802 - NumPy's name
        """The array."""
        return self.held_values

    @property
    def A1(self):  # noqa: N802 - NumPy's name
        """The array in one dimension."""
        return self.held_values.ravel()

    @property
    def T(self):  # noqa: N802 - NumPy's name
        """Rows as columns."""
        return matrix(self.held_values.T)

    @property
    def H(self):  # noqa: N802 - NumPy's name
        """Conjugate rows as columns."""
        return matrix(np.conjugate(self.held_values.T)) if np.iscomplexobj(self.held_values) else self.T

    @property
    def I(self):  # noqa: N802, E743 - NumPy's name
        """The inverse, or the pseudoinverse of what is not square."""
        if self.held_values.shape[0] == self.held_values.shape[1]:
            return matrix(np.linalg.inv(self.held_values))
        return matrix(np.linalg.pinv(self.held_values))

    @property
    def real(self):
        """Real parts."""
        return matrix(self.held_values.real)

    @property
    def imag(self):
        """Imaginary parts."""
        return matrix(self.held_values.imag)

    @property
    def flat(self):
        """The elements one after another."""
        return self.held_values.flat

    def __getattr__(self, name):
        raise NotImplementedError(f"`{name}` of an np.matrix: take np.asarray(m) first")

    def getA(self):  # noqa: N802 - NumPy's name
        """The array."""
        return self.A

    def getA1(self):  # noqa: N802 - NumPy's name
        """The array in one dimension."""
        return self.A1

    def getT(self):  # noqa: N802 - NumPy's name
        """Rows as columns."""
        return self.T

    def getH(self):  # noqa: N802 - NumPy's name
        """Conjugate rows as columns."""
        return self.H

    def getI(self):  # noqa: N802 - NumPy's name
        """The inverse."""
        return self.I

    # Elements.

    def __iter__(self):
        return iter([matrix(self.held_values[k]) for k in range(self.held_values.shape[0])])

    def __getitem__(self, key):
        found = self.held_values[plain(key)]
        if np.ndim(found) == 0:
            return found
        if np.ndim(found) == 1 and isinstance(key, tuple) and len(key) > 1 and np.isscalar(key[1]):
            return matrix(found[:, None])
        return matrix(found)

    def __setitem__(self, key, value):
        if is_basic(key):
            target = self[key]
            if isinstance(target, np.matrixlib.matrix):
                target.held_values[...] = plain(value)
                return
        self.held_values[plain(key)] = plain(value)

    def item(self, *place):
        """One number."""
        return self.held_values.item(*place)

    def tolist(self):
        """Lists of numbers."""
        return self.held_values.tolist()

    def __float__(self):
        return float(self.held_values)

    def __complex__(self):
        return complex(self.held_values)

    def __bool__(self):
        return bool(self.held_values)

    def __hash__(self):
        raise TypeError("unhashable type: 'matrix'")

    # Operators.

    def __mul__(self, other):
        if isinstance(other, np.matrixlib.matrix):
            return matrix(np.dot(self.held_values, other.held_values))
        if is_matrix_product(other):
            return matrix(np.dot(self.held_values, np.atleast_2d(np.asarray(other))))
        return matrix(self.held_values * other)

    def __rmul__(self, other):
        if is_matrix_product(other):
            return matrix(np.dot(np.asarray(other), self.held_values))
        return matrix(other * self.held_values)

    def __imul__(self, other):
        self.held_values[...] = (self * other).held_values
        return self

    def __pow__(self, other):
        return matrix(np.linalg.matrix_power(self.held_values, other))

    def __ipow__(self, other):
        self.held_values[...] = np.linalg.matrix_power(self.held_values, other)
        return self

    def __matmul__(self, other):
        return matrix(np.matmul(self.held_values, plain(other)))

    def __rmatmul__(self, other):
        return matrix(np.matmul(np.asarray(other), self.held_values))

    def __add__(self, other):
        return matrix(self.held_values + plain(other))

    def __radd__(self, other):
        return matrix(other + self.held_values)

    def __sub__(self, other):
        return matrix(self.held_values - plain(other))

    def __rsub__(self, other):
        return matrix(other - self.held_values)

    def __truediv__(self, other):
        return matrix(self.held_values / plain(other))

    def __rtruediv__(self, other):
        return matrix(other / self.held_values)

    def __mod__(self, other):
        return matrix(self.held_values % plain(other))

    def __floordiv__(self, other):
        return matrix(self.held_values // plain(other))

    def __iadd__(self, other):
        values = self.held_values
        values += plain(other)
        return self

    def __isub__(self, other):
        values = self.held_values
        values -= plain(other)
        return self

    def __itruediv__(self, other):
        values = self.held_values
        values /= plain(other)
        return self

    def __neg__(self):
        return matrix(-self.held_values)

    def __pos__(self):
        return matrix(+self.held_values)

    def __abs__(self):
        return matrix(np.abs(self.held_values))

    def __invert__(self):
        return matrix(np.invert(self.held_values))

    def __lt__(self, other):
        return matrix(self.held_values < plain(other))

    def __le__(self, other):
        return matrix(self.held_values <= plain(other))

    def __gt__(self, other):
        return matrix(self.held_values > plain(other))

    def __ge__(self, other):
        return matrix(self.held_values >= plain(other))

    def __eq__(self, other):
        return matrix(self.held_values == plain(other))

    def __ne__(self, other):
        return matrix(self.held_values != plain(other))

    def __and__(self, other):
        return matrix(self.held_values & plain(other))

    def __or__(self, other):
        return matrix(self.held_values | plain(other))

    # Reductions keep two dimensions.

    def sum(self, axis=None, dtype=None, out=None):
        """The sum, or a row or column of sums."""
        return collapsed(np.sum(self.held_values, axis=axis, dtype=dtype, keepdims=True), axis, out)

    def prod(self, axis=None, dtype=None, out=None):
        """Products."""
        return collapsed(np.prod(self.held_values, axis=axis, dtype=dtype, keepdims=True), axis, out)

    def mean(self, axis=None, dtype=None, out=None):
        """Means."""
        return collapsed(np.mean(self.held_values, axis=axis, dtype=dtype, keepdims=True), axis, out)

    def std(self, axis=None, dtype=None, out=None, ddof=0):
        """Standard deviations."""
        return collapsed(np.std(self.held_values, axis=axis, dtype=dtype, ddof=ddof, keepdims=True), axis, out)

    def var(self, axis=None, dtype=None, out=None, ddof=0):
        """Variances."""
        return collapsed(np.var(self.held_values, axis=axis, dtype=dtype, ddof=ddof, keepdims=True), axis, out)

    def max(self, axis=None, out=None):
        """The largest elements."""
        return collapsed(np.max(self.held_values, axis=axis, keepdims=True), axis, out)

    def min(self, axis=None, out=None):
        """The smallest elements."""
        return collapsed(np.min(self.held_values, axis=axis, keepdims=True), axis, out)

    def ptp(self, axis=None, out=None):
        """The largest less the smallest elements."""
        return self.max(axis, out) - self.min(axis, out)

    def any(self, axis=None, out=None):
        """Whether one is true."""
        return collapsed(np.any(self.held_values, axis=axis, keepdims=True), axis, out)

    def all(self, axis=None, out=None):
        """Whether all are."""
        return collapsed(np.all(self.held_values, axis=axis, keepdims=True), axis, out)

    def argmax(self, axis=None, out=None):
        """Where the largest elements are."""
        if axis is None:
            return np.argmax(self.held_values)
        return collapsed(np.expand_dims(np.argmax(self.held_values, axis=axis), axis), axis, out)

    def argmin(self, axis=None, out=None):
        """Where the smallest elements are."""
        if axis is None:
            return np.argmin(self.held_values)
        return collapsed(np.expand_dims(np.argmin(self.held_values, axis=axis), axis), axis, out)

    # Other shapes and numbers.

    def cumsum(self, axis=None, dtype=None, out=None):
        """Sums up to each element."""
        return collapsed(np.cumsum(self.held_values, axis=axis, dtype=dtype), 0, out)

    def trace(self):
        """The sum of the diagonal, as a matrix."""
        return matrix(np.trace(self.held_values))

    def diagonal(self, offset=0):
        """The diagonal, as a row."""
        return matrix(np.diagonal(self.held_values, offset))

    def dot(self, other):
        """The product of matrices."""
        return np.dot(self, other)

    def transpose(self, *axes):
        """Rows as columns."""
        return matrix(self.held_values.transpose(*axes))

    def squeeze(self, axis=None):
        """A row where it is a column."""
        if axis is not None:
            raise NotImplementedError("squeeze(axis=...) of an np.matrix: take np.asarray(m) first")
        return self.T if self.held_values.shape[1] == 1 else self

    def flatten(self, order="C"):
        """All elements in a row."""
        return matrix(self.held_values.flatten(order))

    def ravel(self, order="C"):
        """All elements in a row."""
        return matrix(self.held_values.ravel(order))

    def reshape(self, *shape, order="C"):
        """In other rows and columns."""
        return matrix(self.held_values.reshape(*shape, order=order))

    def astype(self, dtype):
        """Numbers of another type."""
        return matrix(self.held_values.astype(dtype))

    def copy(self, order="C"):
        """Another one."""
        return matrix(self.held_values.copy())

    def conj(self):
        """Conjugate numbers."""
        return matrix(np.conjugate(self.held_values))

    def conjugate(self):
        """Conjugate numbers."""
        return matrix(np.conjugate(self.held_values))

    def clip(self, min=None, max=None):  # noqa: A002 - NumPy's names
        """Between limits."""
        return matrix(np.clip(self.held_values, plain(min), plain(max)))

    def round(self, decimals=0):
        """Rounded numbers."""
        return matrix(np.round(self.held_values, decimals))

    def fill(self, value):
        """One number everywhere."""
        self.held_values[...] = value


def collapsed(values, axis, out):
    """The number that is left of all axes, or a matrix."""
    if out is not None:
        raise NotImplementedError("out= of an np.matrix's method: take np.asarray(m) first")
    return values[0, 0] if axis is None else matrix(values)


@implements(np.matrixlib.asmatrix)
def asmatrix(data, dtype=None):
    """A matrix that shows the array."""
    if isinstance(data, np.matrixlib.matrix) and dtype is None:
        return data
    return Matrix(data, dtype, copy=False)


@implements(np.bmat)
def bmat(obj, ldict=None, gdict=None):
    """A matrix of blocks."""
    if isinstance(obj, str):
        raise NotImplementedError("np.bmat of a text: give lists of the blocks")
    if isinstance(obj, np.ndarray):
        return Matrix(obj)
    if isinstance(obj[0], list | tuple):
        return matrix(np.concatenate([np.concatenate([np.atleast_2d(plain(b)) for b in row], -1) for row in obj], 0))
    return matrix(np.concatenate([np.atleast_2d(plain(b)) for b in obj], -1))
