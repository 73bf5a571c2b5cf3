"""Iterations of `scipy.sparse.linalg`: SciPy's own finds the solution, whose derivative is that of the exact one.

A tangent is the solution of one more system of the same matrix, by the same method with the same preconditioner, but to
rounding; where the method does not get there, by a factorisation. So is the solution that the tangent is taken at: a
derivative does not hang on a loose tolerance. Backwards, the system is turned.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from diffjit.api.custom import custom_jvp, custom_vjp
from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.sparse.matrices import is_sparse, times
from diffjit.primitives.registry import implements
from diffjit.solvers.aside.remarks import leave_trail, where
from diffjit.solvers.scipy.closed import closed
from diffjit.solvers.sparse.operators import Operator, heard, map_of, with_operator

# `how`, what is known of a system while specialising: the method's name, whether the matrix is dense, and the user's
# function where that is the preconditioner. `kit`, what has no derivative: options, first guess, preconditioner.


def matrix(dense: bool, data: Any, row: Any, col: Any, n: int) -> Any:
    """The matrix as SciPy is given it."""
    if dense:
        made = np.zeros((n, n), data.dtype)
        made[row, col] = data
        return made
    return scipy.sparse.csr_matrix((np.array(data), (np.array(row), np.array(col))), shape=(n, n))


def preconditioner(field: Any, given: Any, turned: bool, n: int) -> Any:
    """What stands in place of the inverse, turned where the matrix is; a function cannot be turned."""
    if given is None or (field is not None and turned):
        return None
    if field is not None:
        return map_of(field, *given, n)
    dense, data, row, col = given
    made = matrix(dense, data, row, col, n)
    return made.T if turned else made


def found(how: Any, kit: Any, data: Any, row: Any, col: Any, b: Any) -> Any:
    """SciPy's method at work: the solution, and what it says."""
    name, dense, field, follows = how
    options, guess, before = kit
    n = b.shape[0]
    options = dict(options)
    trail = leave_trail(options, follows)
    x, told = getattr(scipy.sparse.linalg, name)(
        matrix(dense, data, row, col, n), np.array(b), guess if guess is None else np.array(guess),
        **conditioned(name, preconditioner(field, before, False, n)), **options,
    )  # fmt: skip
    return np.asarray(x, dtype=b.dtype), (int(told), *where(trail))


def conditioned(name: str, made: Any) -> dict[str, Any]:
    """A preconditioner under the method's own word for it."""
    return {} if made is None else {"M1" if name == "qmr" else "M": made}


FOUND = foreign(found, result=lambda how, kit, data, row, col, b: (b, (0, 0, 0)))


def exact(how: Any, turned: bool, kit: Any, data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution to rounding."""
    name, dense, field, _ = how
    options, _, before = kit
    n = b.shape[0]
    right = np.array(b)
    if not np.any(right):
        return right
    double = np.result_type(right, np.float64)
    system = matrix(dense, np.asarray(data, dtype=double), row, col, n)
    given = {key: value for key, value in options.items() if key not in ("rtol", "atol", "maxiter")}
    if name != "minres":
        given["atol"] = 0.0
    x, _ = getattr(scipy.sparse.linalg, name)(
        system, right.astype(double), rtol=1e-14, **conditioned(name, preconditioner(field, before, turned, n)), **given
    )
    for _ in range(2):
        if np.linalg.norm(right - system @ x) <= 1e-12 * np.linalg.norm(right):
            return x.astype(right.dtype)
        x = np.linalg.solve(system, right) if dense else scipy.sparse.linalg.splu(system.tocsc()).solve(
            right.astype(double)
        )  # fmt: skip
    return x.astype(right.dtype)


EXACTLY = foreign(exact, result=lambda how, turned, kit, data, row, col, b: b)


def solved(how: Any, turned: bool, kit: Any, data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution of a system with these entries, to rounding."""
    return EXACTLY(how, turned, kit, data, row, col, b)


SOLVED = custom_vjp(solved, nondiff_argnums=(0, 1))


def forward(how: Any, turned: bool, primals: Any, tangents: Any) -> Any:
    """The tangent solves the same system."""
    kit, data, row, col, b = primals
    x = SOLVED(how, turned, kit, data, row, col, b)
    return x, SOLVED(how, turned, kit, data, row, col, tangents[4] - times(tangents[1], row, col, b.shape[0], x))


def ahead(how: Any, turned: bool, kit: Any, data: Any, row: Any, col: Any, b: Any) -> Any:
    """The solution, and what the way back needs."""
    x = SOLVED(how, turned, kit, data, row, col, b)
    return x, (kit, data, row, col, x)


def back(how: Any, turned: bool, kept: Any, x_bar: Any) -> Any:
    """The cotangent solves the turned system."""
    kit, data, row, col, x = kept
    b_bar = SOLVED(how, not turned, kit, data, col, row, x_bar)
    return None, -b_bar[row] * x[col], None, None, b_bar


SOLVED.defvjp(ahead, back)
SOLVED.defjvp(forward)


def iterated(how: Any, kit: Any, data: Any, row: Any, col: Any, b: Any) -> Any:
    """SciPy's solution, and what it says."""
    return FOUND(how, kit, data, row, col, b)


ITERATED = custom_jvp(iterated, nondiff_argnums=(0,))


@ITERATED.defjvp
def moved(how: Any, primals: Any, tangents: Any) -> Any:
    """The exact solution moves."""
    kit, data, row, col, b = primals
    x, told = ITERATED(how, kit, data, row, col, b)
    if told[0] != 0:
        raise RuntimeError("scipy.sparse.linalg: the iteration did not converge, what it gave has no derivative")
    near = SOLVED(how, False, kit, data, row, col, b)
    change = tangents[4] - times(tangents[1], row, col, b.shape[0], near)
    return (x, told), (SOLVED(how, False, kit, data, row, col, change), told)


def entries(A: Any) -> Any:
    """Whether a matrix is dense, its entries, their rows and columns; of a dense one all, the zeros too."""
    if is_sparse(A):
        data, row, col = A.entries()
        return False, as_float(data), row, col
    a = as_float(np.asarray(A))
    n, m = a.shape
    return True, np.ravel(a), np.repeat(np.arange(n), m), np.tile(np.arange(m), n)


def system(
    name: str, A: Any, b: Any, x0: Any, before: Any, callback: Any, options: Any, shift: Any = None, norms: bool = False
) -> Any:
    """A solution by one of SciPy's methods; `norms`: a callback gets norms, not points."""
    if isinstance(x0, str):
        raise NotImplementedError(f"scipy.sparse.linalg.{name}(x0='Mb'): give M @ b")
    if isinstance(A, Operator):
        return with_operator(name, A, b, x0, before, options, callback, norms)
    dense, data, row, col = entries(A)
    b = np.ravel(as_float(np.asarray(b)))
    n = b.shape[0]
    if A.shape[0] != A.shape[1] or A.shape[0] != n:
        raise ValueError(f"shapes of A {A.shape} and b {b.shape} are incompatible")
    kind = np.result_type(data, b)
    data, b = data.astype(kind), b.astype(kind)
    if callback is not None and kind.kind == "c":
        raise NotImplementedError(f"scipy.sparse.linalg.{name}(callback=...) of complex numbers: leave it out")
    if shift is not None:
        along = np.arange(n)
        shifts = np.zeros(n, kind) - shift
        dense, data = False, np.concatenate((data, shifts))
        row, col = np.concatenate((row, along)), np.concatenate((col, along))
    field, given = None, None
    if isinstance(before, Operator):
        field, *given = closed(before.matvec, (stop_gradient(b),), (), ())
    elif before is not None:
        given = entries(before)
    how = name, dense, field, callback is not None
    x, told = ITERATED(how, stop_gradient((options, x0, given)), data, row, col, b)
    if callback is not None:
        heard(callback, told[1:], x, norms, field)
    return x, told[0]


def known(**options: Any) -> Any:
    """The options that are given."""
    return {name: value for name, value in options.items() if value is not None}


@implements(scipy.sparse.linalg.cg)
def cg(A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M=None, callback=None):
    """Conjugate gradients."""
    return system("cg", A, b, x0, M, callback, known(rtol=rtol, atol=atol, maxiter=maxiter))


@implements(scipy.sparse.linalg.cgs)
def cgs(A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M=None, callback=None):
    """Conjugate gradients, squared."""
    return system("cgs", A, b, x0, M, callback, known(rtol=rtol, atol=atol, maxiter=maxiter))


@implements(scipy.sparse.linalg.bicg)
def bicg(A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M=None, callback=None):
    """Conjugate gradients of two sides."""
    return system("bicg", A, b, x0, M, callback, known(rtol=rtol, atol=atol, maxiter=maxiter))


@implements(scipy.sparse.linalg.bicgstab)
def bicgstab(A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M=None, callback=None):
    """Conjugate gradients of two sides, stabilised."""
    return system("bicgstab", A, b, x0, M, callback, known(rtol=rtol, atol=atol, maxiter=maxiter))


@implements(scipy.sparse.linalg.qmr)
def qmr(A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M1=None, M2=None, callback=None):
    """Quasi-minimal residuals."""
    if M1 is not None or M2 is not None:
        raise NotImplementedError("scipy.sparse.linalg.qmr with preconditioners: use gmres")
    return system("qmr", A, b, x0, None, callback, known(rtol=rtol, atol=atol, maxiter=maxiter))


@implements(scipy.sparse.linalg.tfqmr)
def tfqmr(A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=None, M=None, callback=None, show=False):
    """Quasi-minimal residuals without the transpose."""
    return system("tfqmr", A, b, x0, M, callback, known(rtol=rtol, atol=atol, maxiter=maxiter, show=show))


@implements(scipy.sparse.linalg.gmres)
def gmres(
    A, b, x0=None, *, rtol=1e-05, atol=0.0, restart=None, maxiter=None, M=None, callback=None, callback_type=None
):  # fmt: skip
    """Generalised minimal residuals."""
    options = known(rtol=rtol, atol=atol, restart=restart, maxiter=maxiter)
    if callback is not None:
        options["callback_type"] = "legacy" if callback_type is None else callback_type
    return system("gmres", A, b, x0, M, callback, options, None, callback_type != "x")


@implements(scipy.sparse.linalg.lgmres)
def lgmres(
    A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=1000, M=None, callback=None, inner_m=30, outer_k=3, outer_v=None,
    store_outer_Av=True, prepend_outer_v=False,
):  # fmt: skip
    """Minimal residuals, with vectors of the turns before."""
    if outer_v is not None:
        raise NotImplementedError("scipy.sparse.linalg.lgmres(outer_v=...): leave it out")
    options = known(rtol=rtol, atol=atol, maxiter=maxiter, inner_m=inner_m, outer_k=outer_k)
    return system("lgmres", A, b, x0, M, callback, options)


@implements(scipy.sparse.linalg.gcrotmk)
def gcrotmk(
    A, b, x0=None, *, rtol=1e-05, atol=0.0, maxiter=1000, M=None, callback=None, m=20, k=None, CU=None,
    discard_C=False, truncate="oldest",
):  # fmt: skip
    """Conjugate residuals, with a space that is kept."""
    if CU is not None:
        raise NotImplementedError("scipy.sparse.linalg.gcrotmk(CU=...): leave it out")
    options = known(rtol=rtol, atol=atol, maxiter=maxiter, m=m, k=k, truncate=truncate)
    return system("gcrotmk", A, b, x0, M, callback, options)


@implements(scipy.sparse.linalg.minres)
def minres(
    A, b, x0=None, *, rtol=1e-05, shift=None, maxiter=None, M=None, callback=None, show=False, check=False
):  # fmt: skip
    """Minimal residuals of a symmetric matrix."""
    options = known(rtol=rtol, maxiter=maxiter, show=show, check=check)
    return system("minres", A, b, x0, M, callback, options, shift)
