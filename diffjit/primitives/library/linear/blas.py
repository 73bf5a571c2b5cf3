"""BLAS by the names of `scipy.linalg.blas`: products of matrices and vectors."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from diffjit.primitives.registry import implements


def real(x):
    """An operand of a real function."""
    x = np.asarray(x)
    if np.iscomplexobj(x):
        raise NotImplementedError("a real function of BLAS for complex numbers: take the one that begins with z")
    return x.astype(np.float64)


def plane(x):
    """An operand of a complex function."""
    return np.asarray(x).astype(np.complex128)


def turned(a, way):
    """A matrix, its transpose, or its adjoint."""
    if way == 0:
        return a
    return np.transpose(a) if way == 1 else np.conjugate(np.transpose(a))


def plainly(name, steps, **told):
    """Raise for parts of vectors, and for results that are written over operands."""
    if any(step != 1 for step in steps) or any(value is not None and value != 0 for value in told.values()):
        raise NotImplementedError(f"scipy.linalg.blas.{name} of parts of operands: slice these, assign the result")


def product(alpha, a, b, beta, c):
    """A product, and what is added to it."""
    found = alpha * (a @ b)
    return found if c is None else found + beta * c


@implements(blas.dgemm)
def dgemm(alpha, a, b, beta=0.0, c=None, trans_a=0, trans_b=0, overwrite_c=0):
    """A product of matrices, and what is added to it."""
    plainly("dgemm", (), overwrite_c=overwrite_c)
    return product(alpha, turned(real(a), trans_a), turned(real(b), trans_b), beta, None if c is None else real(c))


@implements(blas.zgemm)
def zgemm(alpha, a, b, beta=0.0, c=None, trans_a=0, trans_b=0, overwrite_c=0):
    """A product of complex matrices, and what is added to it."""
    plainly("zgemm", (), overwrite_c=overwrite_c)
    return product(alpha, turned(plane(a), trans_a), turned(plane(b), trans_b), beta, None if c is None else plane(c))


@implements(blas.dgemv)
def dgemv(alpha, a, x, beta=0.0, y=None, offx=0, incx=1, offy=0, incy=1, trans=0, overwrite_y=0):
    """A product with a vector, and what is added to it."""
    plainly("dgemv", (incx, incy), offx=offx, offy=offy, overwrite_y=overwrite_y)
    return product(alpha, turned(real(a), trans), real(x), beta, None if y is None else real(y))


@implements(blas.ddot)
def ddot(x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    """The product of two vectors."""
    plainly("ddot", (incx, incy), n=n, offx=offx, offy=offy)
    return np.sum(np.ravel(real(x)) * np.ravel(real(y)))


@implements(blas.zdotc)
def zdotc(x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    """The product of two complex vectors, the first of which is conjugated."""
    plainly("zdotc", (incx, incy), n=n, offx=offx, offy=offy)
    return np.sum(np.conjugate(np.ravel(plane(x))) * np.ravel(plane(y)))


@implements(blas.zdotu)
def zdotu(x, y, n=None, offx=0, incx=1, offy=0, incy=1):
    """The product of two complex vectors."""
    plainly("zdotu", (incx, incy), n=n, offx=offx, offy=offy)
    return np.sum(np.ravel(plane(x)) * np.ravel(plane(y)))


@implements(blas.dnrm2)
def dnrm2(x, n=None, offx=0, incx=1):
    """The length of a vector."""
    plainly("dnrm2", (incx,), n=n, offx=offx)
    return np.linalg.norm(np.ravel(real(x)))


@implements(blas.dasum)
def dasum(x, n=None, offx=0, incx=1):
    """The sum of sizes."""
    plainly("dasum", (incx,), n=n, offx=offx)
    return np.sum(np.abs(np.ravel(real(x))))
