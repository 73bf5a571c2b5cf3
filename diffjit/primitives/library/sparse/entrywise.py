"""What `scipy.sparse` does with each element of a matrix: functions that leave zero as it is."""

# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np


class Entrywise:
    """Matrices with `of_sums(function)`: another one, of a function of the elements, those at one place added up."""

    def __abs__(self):
        return self.of_sums(np.abs)

    @property
    def real(self):
        """Real parts."""
        return self.like(self.entries()[0].real)

    @property
    def imag(self):
        """Imaginary parts."""
        return self.like(self.entries()[0].imag)

    def sqrt(self):
        """Square roots of elements."""
        return self.of_sums(np.sqrt)

    def sin(self):
        """Sines of elements."""
        return self.of_sums(np.sin)

    def tan(self):
        """Tangents of elements."""
        return self.of_sums(np.tan)

    def arcsin(self):
        """Inverse sines of elements."""
        return self.of_sums(np.arcsin)

    def arctan(self):
        """Inverse tangents of elements."""
        return self.of_sums(np.arctan)

    def sinh(self):
        """Hyperbolic sines of elements."""
        return self.of_sums(np.sinh)

    def tanh(self):
        """Hyperbolic tangents of elements."""
        return self.of_sums(np.tanh)

    def arcsinh(self):
        """Inverse hyperbolic sines of elements."""
        return self.of_sums(np.arcsinh)

    def arctanh(self):
        """Inverse hyperbolic tangents of elements."""
        return self.of_sums(np.arctanh)

    def expm1(self):
        """Exponentials of elements, less one."""
        return self.of_sums(np.expm1)

    def log1p(self):
        """Logarithms of one more than the elements."""
        return self.of_sums(np.log1p)

    def deg2rad(self):
        """Elements in degrees, as radians."""
        return self.of_sums(np.deg2rad)

    def rad2deg(self):
        """Elements in radians, as degrees."""
        return self.of_sums(np.rad2deg)

    def sign(self):
        """Signs of elements."""
        return self.of_sums(np.sign)

    def rint(self):
        """Elements rounded to the nearest integer."""
        return self.of_sums(np.rint)

    def floor(self):
        """Elements rounded down."""
        return self.of_sums(np.floor)

    def ceil(self):
        """Elements rounded up."""
        return self.of_sums(np.ceil)

    def trunc(self):
        """Elements rounded towards zero."""
        return self.of_sums(np.trunc)

    def nonzero(self):
        """Where entries are not zero."""
        data, row, col = self.entries()
        kept = np.flatnonzero(data)
        return row[kept], col[kept]

    def count_nonzero(self, axis=None):
        """How many entries are not zero."""
        if axis is not None:
            raise NotImplementedError("count_nonzero(axis=...) of a sparse matrix: count the rows of nonzero()")
        return np.count_nonzero(self.entries()[0])

    def getnnz(self, axis=None):
        """How many entries are stored, in all or in each row or column."""
        if not self.matrix:
            raise AttributeError("getnnz")
        _, row, col = self.entries()
        if axis is None:
            return row.shape[0]
        along = axis % 2
        return np.bincount(row if along else col, minlength=self.shape[1 - along])

    @property
    def size(self):
        """How many entries are stored."""
        return self.entries()[1].shape[0]

    def max(self, axis=None, out=None):
        """The greatest element."""
        return self.greatest(np.max, axis, out)

    def min(self, axis=None, out=None):
        """The smallest element."""
        return self.greatest(np.min, axis, out)

    def greatest(self, function, axis, out):
        """The greatest or smallest element, which may be one of those that are not there."""
        if axis is not None or out is not None:
            raise NotImplementedError("max(axis=...) of a sparse matrix: take it of .toarray()")
        return function(self.toarray())
