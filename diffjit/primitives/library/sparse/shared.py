"""What sparse matrices share with those made of them, and what changes them in place: as SciPy has it."""

# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import inspect

import numpy as np
import scipy.sparse

from diffjit.primitives.library.sparse.storage import in_order, summed

TURNED = {"csr": "csc", "csc": "csr"}
# Whether `tocoo()` copies the entries, which has changed between versions of SciPy.
COPIES = {
    form: inspect.signature(kind.tocoo).parameters["copy"].default
    for form, kind in (("csr", scipy.sparse.csr_array), ("csc", scipy.sparse.csc_array))
}


class Shared:
    """Matrices in a format, with `made(form, data, row, col, shape)`: another one, in any format."""

    @property
    def format(self):
        """The name of the format."""
        return self.form

    def getformat(self):
        """The name of the format."""
        return self.form

    def asformat(self, format, copy=False):  # noqa: A002 - SciPy's name
        """In another format; itself in its own."""
        if format is None or format == self.form:
            return self.copy() if copy else self
        return self.converted(format)

    def converted(self, form):
        """In another format."""
        return self.made(form, *self.entries(), self.shape)

    def tocoo(self, copy=False):
        """By rows and columns of entries."""
        return self.asformat("coo", copy)

    def tocsr(self, copy=False):
        """Compressed rows."""
        return self.asformat("csr", copy)

    def tocsc(self, copy=False):
        """Compressed columns."""
        return self.asformat("csc", copy)

    def tolil(self, copy=False):
        """For assignments."""
        return self.asformat("lil", copy)

    def todok(self, copy=False):
        """For assignments."""
        return self.asformat("dok", copy)

    def todia(self, copy=False):
        """By diagonals."""
        return self.asformat("dia", copy)

    def transpose(self, axes=None, copy=False):
        """Turned at the diagonal."""
        if axes is not None and tuple(axes) != (1, 0):
            raise ValueError("Sparse arrays/matrices do not support an 'axes' parameter")
        return self.turned().copy() if copy else self.turned()

    def turned(self):
        """Turned at the diagonal, of entries of its own."""
        data, row, col = self.entries()
        return self.made(self.form, data, col, row, (self.shape[1], self.shape[0]))

    def copy(self):
        """Another one, of entries of its own."""
        return self.like(self.entries()[0].copy())

    def astype(self, dtype, casting="unsafe", copy=True):
        """Of another dtype."""
        data = self.entries()[0]
        if np.dtype(dtype) == data.dtype:
            return self.copy() if copy else self
        if np.dtype(dtype).kind not in "fc":
            raise NotImplementedError(f"sparse matrices of dtype {np.dtype(dtype)}: use float, float32 or complex")
        return self.like(data.astype(dtype, casting=casting))

    def conjugate(self, copy=True):
        """Of conjugate entries."""
        data = self.entries()[0]
        if data.dtype.kind == "c":
            return self.like(np.conjugate(data))
        return self.copy() if copy else self

    def conj(self, copy=True):
        """Of conjugate entries."""
        return self.conjugate(copy)

    def getH(self):  # noqa: N802 - SciPy's name
        """Turned at the diagonal, of conjugate entries."""
        if not self.matrix:
            raise AttributeError("getH")
        return self.transpose().conjugate()

    def __imul__(self, other):
        if not self.is_number(other):
            return self * other
        self.scale(other)
        return self

    def __itruediv__(self, other):
        if not self.is_number(other):
            return self / other
        self.scale(1.0 / other)
        return self

    def scale(self, factor):
        """Multiply the entries where they stand."""
        self.data *= factor

    def sum_duplicates(self):
        """Entries at one place become one, in order."""
        if self.form == "coo":
            self.data, self.row, self.col = summed(self.data, self.row, self.col, self.shape[1])
        elif self.form in TURNED and not in_order(self.indptr, self.indices):
            raise NotImplementedError("sum_duplicates() of rows out of order, in place: A = A.tocoo().tocsr()")

    def sort_indices(self):
        """The entries of rows in order."""
        if not in_order(self.indptr, self.indices):
            raise NotImplementedError("sort_indices() of rows out of order, in place: A = A.tocoo().tocsr()")
