"""Rules of linear algebra on (stacks of) matrices: matmul, solve, inv, det, cholesky.

Formulas from M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and I. Murray, "Differentiation of the Cholesky decomposition" (arXiv:1602.07527). Cotangents
may keep extra leading dimensions: the engine sums them over broadcast stacks.
"""

# NumPy's stubs of operands of any type.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.primitives.registry import rule


def turned(a: Any) -> Any:
    """Each matrix of a stack transposed."""
    return np.swapaxes(a, -1, -2)


matmul = rule("matmul", "a b", bilinear=True, numbers="holomorphic")


@matmul.vjp
def matmul_vjp(a: Any, b: Any, out_bar: Any) -> Any:
    """a_bar = out_bar b^T, b_bar = a^T out_bar, where a vector stands for a row on the left, a column on the right."""
    return matmul_left_bar(a, b, out_bar), matmul_right_bar(a, b, out_bar)


def matmul_left_bar(a: Any, b: Any, out_bar: Any) -> Any:
    """Cotangent of the left operand."""
    if b.ndim == 1:
        return out_bar * b if a.ndim == 1 else out_bar[..., None] * b
    if a.ndim == 1:
        return b @ out_bar if b.ndim == 2 else (b @ out_bar[..., None])[..., 0]
    return out_bar @ turned(b)


def matmul_right_bar(a: Any, b: Any, out_bar: Any) -> Any:
    """Cotangent of the right operand."""
    if a.ndim == 1:
        return out_bar * a if b.ndim == 1 else a[:, None] * out_bar[..., None, :]
    if b.ndim == 1:
        return np.transpose(a) @ out_bar if a.ndim == 2 else (turned(a) @ out_bar[..., None])[..., 0]
    if b.ndim == 2 and a.ndim > 2:
        # One matrix for a whole stack: one large product, not a stack of products that would be summed.
        rows = 1
        for k in tuple(range(a.ndim - 1)):
            rows = rows * a.shape[k]
        stacked = np.reshape(a, (rows, a.shape[-1]))
        return np.transpose(stacked) @ np.reshape(out_bar, (rows, out_bar.shape[-1]))
    return turned(a) @ out_bar


# Solving A x = b. NumPy takes b as a vector only if it has one dimension.

solve = rule("solve", "A b", numbers="holomorphic")


@solve.jvp
def solve_jvp(A: Any, b: Any, out: Any, A_dot: Any, b_dot: Any) -> Any:
    """A x_dot = b_dot - A_dot x."""
    return solve_right(A, b, b_dot - solve_product(A_dot, b, out))


def solve_product(A: Any, b: Any, x: Any) -> Any:
    """A x, for an x of the form of the solution with right-hand side b."""
    if b.ndim == 1 and A.ndim > 2:
        return (A @ x[..., None])[..., 0]
    return A @ x


def solve_right(A: Any, b: Any, r: Any) -> Any:
    """The solution for the right-hand side r, which has the form of b or of a solution for it."""
    if b.ndim == 1 and A.ndim > 2:
        return np.linalg.solve(A, r[..., None])[..., 0]
    return np.linalg.solve(A, r)


@solve.vjp
def solve_vjp(A: Any, b: Any, out: Any, out_bar: Any) -> Any:
    """b_bar = A^-T x_bar, A_bar = -b_bar x^T."""
    if b.ndim == 1 and A.ndim > 2:
        b_bar = np.linalg.solve(turned(A), out_bar[..., None])[..., 0]
    else:
        b_bar = np.linalg.solve(turned(A), out_bar)
    if b.ndim == 1:
        return -b_bar[..., :, None] * out[..., None, :], b_bar
    return -b_bar @ turned(out), b_bar


inv = rule("inv", "A", numbers="holomorphic")


@inv.jvp
def inv_jvp(A_dot: Any, out: Any) -> Any:
    """C_dot = -C A_dot C, for C = A^-1."""
    return -out @ A_dot @ out


@inv.vjp
def inv_vjp(out: Any, out_bar: Any) -> Any:
    """A_bar = -C^T C_bar C^T, for C = A^-1."""
    return -turned(out) @ out_bar @ turned(out)


# Determinant. Its derivative is the matrix of cofactors, det(A) A^-T, which exists also where A is singular (Jacobi).
# LU gives det and inverse with the same rounded last pivot, so their product is accurate however small det is, unless
# it is 0; then the cofactors come from their definition, in O(n^5).

det = rule("det", "A", numbers="holomorphic")


def cofactors(A: Any, det_A: Any) -> Any:
    """The cofactors of one matrix."""
    if det_A != 0:
        return det_A * np.transpose(np.linalg.inv(A))
    n = A.shape[0]
    if n < 2:
        return np.ones_like(A)
    result = np.empty_like(A)
    minor = np.empty((max(n - 1, 0), max(n - 1, 0)), A.dtype)  # the derivative for n = 1 asks for n = 0
    for i in range(n):
        for j in range(n):
            minor[:i, :j] = A[:i, :j]
            minor[:i, j:] = A[:i, j + 1 :]
            minor[i:, :j] = A[i + 1 :, :j]
            minor[i:, j:] = A[i + 1 :, j + 1 :]
            result[i, j] = (1 - 2 * ((i + j) % 2)) * np.linalg.det(minor)
    return result


def stacked_cofactors(A: Any, det_A: Any) -> Any:
    """The cofactors of each matrix of a stack."""
    if A.ndim == 2:
        return cofactors(A, det_A)
    n = A.shape[-1]
    count = 1
    for k in tuple(range(A.ndim - 2)):
        count = count * A.shape[k]
    matrices = np.reshape(A, (count, n, n))
    values = np.reshape(det_A, (count,))
    result = np.empty_like(matrices)
    for k in range(count):
        result[k] = cofactors(matrices[k], values[k])
    return np.reshape(result, A.shape)


@det.jvp
def det_jvp(A: Any, A_dot: Any, out: Any) -> Any:
    """Jacobi's formula."""
    return np.sum(stacked_cofactors(A, out) * A_dot, axis=(-2, -1))


# Power series of a determinant: elimination, carried out on series. Jacobi's formula would divide by the determinant
# itself for each order, and be expanded anew for each minor where that is 0.


def eliminated_det(A: Any) -> Any:
    """The determinant of one matrix, by elimination with complete pivoting.

    Below a pivot that is 0 up to rounding, where the first orders of the series may vanish, nothing is divided.
    """
    n = A.shape[0]
    rest = A.copy()
    value = 1.0
    largest_of_all = 0.0
    for i in range(n):
        for j in range(n):
            largest_of_all = max(largest_of_all, abs(A[i, j]))
    least = (1e-8 if A.dtype == np.float64 else 1e-4) * largest_of_all
    for k in range(n):
        row, column, largest = k, k, -1.0
        for i in range(k, n):
            for j in range(k, n):
                if abs(rest[i, j]) > largest:
                    row, column, largest = i, j, abs(rest[i, j])
        if largest <= least:
            value = value * undivided_det(rest[k:, k:])
            break
        if row != k:
            value = -value
            for j in range(k, n):
                rest[k, j], rest[row, j] = rest[row, j], rest[k, j]
        if column != k:
            value = -value
            for i in range(k, n):
                rest[i, k], rest[i, column] = rest[i, column], rest[i, k]
        value = value * rest[k, k]
        for i in range(k + 1, n):
            factor = rest[i, k] / rest[k, k]
            for j in range(k + 1, n):
                rest[i, j] -= factor * rest[k, j]
    return value


def undivided_det(A: Any) -> Any:
    """The determinant of one matrix from its powers, by Faddeev and Leverrier; for few rows."""
    n = A.shape[0]
    unit = np.eye(n, dtype=A.dtype)
    power = np.eye(n, dtype=A.dtype)
    value = 1.0
    for k in range(1, n + 1):
        product = A @ power
        value = np.trace(product) / k  # minus the next coefficient of the characteristic polynomial
        power = product - value * unit
    return value * (2.0 * (n % 2) - 1.0)


@det.program
def det_program(A: Any) -> Any:
    """The determinant of each matrix of a stack."""
    if A.ndim == 2:
        return eliminated_det(A)
    n = A.shape[-1]
    count = 1
    for k in tuple(range(A.ndim - 2)):
        count = count * A.shape[k]
    matrices = np.reshape(A, (count, n, n))
    values = np.empty(count, A.dtype)
    for k in range(count):
        values[k] = eliminated_det(matrices[k])
    return np.reshape(values, A.shape[:-2])


@det.vjp
def det_vjp(A: Any, out: Any, out_bar: Any) -> Any:
    """Jacobi's formula."""
    if A.ndim == 2:
        return out_bar * cofactors(A, out)
    return out_bar[..., None, None] * stacked_cofactors(A, out)


# Cholesky. NumPy reads the lower triangle of A alone, so the exact derivative by the entries of A lives there: an
# off-diagonal entry stands for two of the symmetric matrix. For a complex matrix, which is Hermitian, it reads the real
# part of the diagonal.

cholesky = rule("cholesky", "A", numbers="adjoint")


def lower_half(a: Any) -> Any:
    """Murray's Phi: the lower triangle, with half the diagonal."""
    return 0.5 * (np.tril(a) + np.tril(a, -1))


def adjoint(a: Any) -> Any:
    """Each matrix of a stack transposed, and conjugated."""
    return np.conjugate(turned(a)) if a.dtype.kind == "c" else turned(a)


@cholesky.jvp
def cholesky_jvp(A_dot: Any, out: Any) -> Any:
    """L_dot = L Phi(L^-1 A_dot L^-H), where A_dot is Hermitian by its lower triangle."""
    half_of = lower_half(A_dot)
    half = np.linalg.solve(out, half_of + adjoint(half_of))
    whole = np.linalg.solve(out, adjoint(half))
    return out @ lower_half(whole)


@cholesky.vjp
def cholesky_vjp(out: Any, out_bar: Any) -> Any:
    """A_bar = Phi(S + S^H), S = L^-H Phi(L^H L_bar) L^-1."""
    inner = lower_half(adjoint(out) @ np.tril(out_bar))
    half = np.linalg.solve(adjoint(out), inner)
    whole = np.linalg.solve(adjoint(out), adjoint(half))
    return lower_half(whole + adjoint(whole))
