"""Products and factorisations against NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import diffjit as dj
from diffjit.ir.types import BOOL
from tests.lowering.harness import check, run

rng = np.random.default_rng(5)


def made(shape: tuple[int, ...], code: str) -> np.ndarray:
    a = rng.normal(size=shape)
    if code == "?":
        return a > 0
    if code[0] == "c":
        return (a + 1j * rng.normal(size=shape)).astype(code)
    return (a * 3).astype(code)


SHAPES = [((4,), (4,)), ((3, 4), (4,)), ((3,), (3, 4)), ((3, 4), (4, 2)), ((40, 30), (30, 50)), ((2, 3, 4), (4, 5)),
((2, 3, 4), (2, 4, 5)),
          ((3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 2, 3), (5,
          3, 2)), ((1, 1), (1, 1))]  # fmt: skip


@pytest.mark.parametrize(("s", "t"), SHAPES)
@pytest.mark.parametrize("code", ["f8", "f4", "c16", "i8", "?"])
def test_matmul(s: tuple[int, ...], t: tuple[int, ...], code: str) -> None:
    a, b = made(s, code), made(t, code)
    check("matmul", a @ b, a, b, rtol=1e-4 if code == "f4" else 1e-11)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_products_of_ints(dtype: str) -> None:
    """They wrap around in their own type."""
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 100, shape).astype(dtype) for shape in ((5, 40), (40, 4)))
    for f, args in (
        (lambda p, q: p @ q, (a, b)), (lambda p, q: p @ q, (a, b[:, 0])), (lambda p, q: q @ p, (b, a[0])),
        (np.dot, (a[0], b[:, 1])),
    ):  # fmt: skip
        found, wanted = dj.jit(f, backend="numba")(*args), f(*args)
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
        np.testing.assert_array_equal(found, wanted)


def test_matmul_layouts() -> None:
    for n in (3, 30):
        a, b = rng.normal(size=(n, n + 1)), rng.normal(size=(n + 1, n + 2))
        for x in (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2], a[::-1]):
            for y in (b, np.asfortranarray(b), np.repeat(b, 2, axis=0)[::2], b[:, ::-1]):
                check("matmul", x @ y, x, y, rtol=1e-11)
            check("matmul", x @ b[:, 0], x, b[:, 0], rtol=1e-11)
            check("matmul", a[:, 0] @ x, a[:, 0], x, rtol=1e-11)


def test_an_axis_of_one_element_has_any_stride() -> None:
    """NumPy calls such matrices contiguous: their rows are not apart by what BLAS asks for."""
    v, w = rng.normal(size=100), rng.normal(size=(100, 90))
    for row in (v[None, :], as_strided(v, (1, 100), (24, 8)), as_strided(v, (1, 100), (-8, 8))):
        assert row.flags.c_contiguous
        check("matmul", row @ w, row, w, rtol=1e-11)
    for column in (v[:, None], as_strided(v, (100, 1), (8, -24))):
        check("matmul", column @ w[:1], column, w[:1], rtol=1e-11)
        check("matmul", w.T @ column, w.T, column, rtol=1e-11)


def test_rows_farther_apart_than_blas_counts() -> None:
    try:
        far = np.zeros((2, 2**31 + 64), np.float32)[:, :64]  # no memory is taken but for what is written
    except MemoryError:
        pytest.skip("no room for addresses")
    far[:] = rng.normal(size=(2, 64))
    b = rng.normal(size=(64, 64)).astype(np.float32)
    check("matmul", far @ b, far, b, rtol=1e-4)


def test_matmul_mixed_and_wrong() -> None:
    a, b = made((3, 4), "i8"), made((4, 2), "f4")
    check("matmul", a @ b, a, b, rtol=1e-6)
    with pytest.raises(
        ValueError, match=r"matmul: Input operand 1 has a mismatch in its core dimension 0.*size 5 is different from 4"
    ):
        check("matmul", np.zeros((3, 2)), made((3, 4), "f8"), made((5, 2), "f8"))


@pytest.mark.parametrize("code", ["f8", "f4", "c16"])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 20])
def test_factorisations(code: str, n: int) -> None:
    a = made((n, n), code) + 8 * np.eye(n, dtype=code)
    b, columns = made((n,), code), made((n, 3), code)
    rtol = 1e-3 if code == "f4" else 1e-10
    for x in (a, np.asfortranarray(a)):
        check("solve", np.linalg.solve(x, b), x, b, rtol=rtol)
        check("solve", np.linalg.solve(x, columns), x, columns, rtol=rtol)
        check("inv", np.linalg.inv(x), x, rtol=rtol)
        check("det", np.linalg.det(x), x, rtol=rtol)
        spd = x @ x.conj().T
        check("cholesky", np.linalg.cholesky(spd), spd, rtol=rtol)


def test_stacks() -> None:
    a = rng.normal(size=(2, 3, 4, 4)) + 6 * np.eye(4)
    b = rng.normal(size=(3, 4, 2))
    check("solve", np.linalg.solve(a, b), a, b, rtol=1e-10)
    check("inv", np.linalg.inv(a), a, rtol=1e-10)
    check("det", np.linalg.det(a), a, rtol=1e-10)
    spd = a @ np.swapaxes(a, -1, -2)
    check("cholesky", np.linalg.cholesky(spd), spd, rtol=1e-10)


def test_errors() -> None:
    singular = np.ones((3, 3))
    for kind, args in (("solve", (singular, np.ones(3))), ("inv", (singular,))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            check(kind, np.ones(3) if kind == "solve" else np.ones((3, 3)), *args)
    check("det", np.linalg.det(singular), singular)
    with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
        check("cholesky", singular, -singular)
    with pytest.raises(np.linalg.LinAlgError, match="Last 2 dimensions of the array must be square"):
        check("inv", np.ones((3, 4)), np.ones((3, 4)))


def factorizes(b, a, kind):
    op = b.op("factorizes", [a], (BOOL,))
    op.attrs["kind"] = kind
    return op.out


def test_factorizes():
    good, singular = np.eye(3) * 2 + 0.1, np.ones((3, 3))
    stack = np.stack([good, singular])
    for a, kind, want in [
        (good, "solve", True),
        (singular, "solve", False),
        (good, "cholesky", True),
        (-good, "cholesky", False),
        (stack, "solve", False),
        (np.eye(3, dtype=int), "solve", True),
    ]:
        assert run(lambda b, x, kind=kind: factorizes(b, x, kind), a) is want


_LINKED = """
import sys
import numpy as np
import diffjit as dj
from diffjit.lowering.calls import blas
from tests.lowering.test_linalg import products

if sys.argv[1] == "exported":
    blas._linked = lambda library, wanted: None
a = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
print(dj.jit(products)(a, a.T @ a + np.eye(3)).tobytes().hex())
print("scipy.linalg" in sys.modules)
"""


def products(a, b):
    return (a @ b) @ np.linalg.solve(b, a.T)


def test_functions_of_the_libraries_that_scipy_is_linked_with(tmp_path):
    """They are what SciPy exports; where they are found, `scipy.linalg` need not be imported."""
    found = {}
    for way in ("linked", "exported"):
        environment = {**os.environ, "DIFFJIT_CACHE_DIR": str(tmp_path / way)}
        command = [sys.executable, "-c", _LINKED, way]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - our own text
        found[way], imported = done.stdout.splitlines()
        assert imported == "False" or way == "exported"
    assert found["linked"] == found["exported"]
