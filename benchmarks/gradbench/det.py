"""The determinant by expansion along the first row, with lists that say which row and column comes next."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.problem import Problem


def minor(a: np.ndarray, n: int, m: int, rows: list[int], columns: list[int]) -> Any:
    """The determinant of the minor of m rows and columns that are still in the lists."""
    row, column = rows[n], columns[n]
    if m == 1:
        return a[row * n + column]
    total = 0.0
    sign = 1.0
    rows[n] = rows[row]  # the row is gone until the end
    before = n
    for _ in range(m):
        element = a[row * n + column]
        columns[before] = columns[column]
        total += sign * element * minor(a, n, m - 1, rows, columns)
        columns[before] = column
        before = column
        column = columns[column]
        sign = -sign
    rows[n] = row
    return total


def determinant(a: np.ndarray, n: int) -> Any:
    """Of a matrix of n rows, one behind the other."""
    rows = [k + 1 for k in range(n)]
    columns = [k + 1 for k in range(n)]
    rows.append(0)
    columns.append(0)
    return minor(a, n, n, rows, columns)


def arguments(rng: Any, n: int) -> tuple[Any, ...]:
    """Numbers between 0 and 1."""
    return rng.rand(n * n), n


def derivative() -> Any:
    """Reverse mode."""
    import diffjit as dj

    return dj.grad(determinant)


def reference(a: np.ndarray, n: int) -> Any:
    """The matrix of cofactors."""
    matrix = a.reshape(n, n)
    return (np.linalg.det(matrix) * np.linalg.inv(matrix).T).ravel()


PROBLEM = Problem(
    title="det",
    sizes={f"{n}": {"n": n} for n in (5, 6, 7, 8, 9, 10)},
    arguments=arguments,
    primal=determinant,
    derivative=derivative,
    reference=reference,
    in_jax="JAX traces all of the n! products",
    published={"8": ("CoDiPack", 0.64), "10": ("CoDiPack", 64.0)},
)
