"""Elements that nobody needs and copies that nobody can tell: the same gradients without, and memory of their own."""

import itertools

import numpy as np
import pytest

import diffjit as dj
from tests.transforms.test_undo import function

N, M = 5, 6


def in_place(A, C):
    A[:] = np.reshape(np.reshape(A, (A.shape[0], A.shape[1], 1, A.shape[2])) @ C, A.shape)
    return np.sum(A)


def triangle(X):
    c = np.eye(X.shape[1])
    for i in range(X.shape[1] - 1):
        c[i + 1 :, i] = c[i, i + 1 :] = X[:, i] @ X[:, i + 1 :]
    return np.sum(c)


def test_a_product_is_not_made_for_its_lengths():
    rng = np.random.default_rng(1)
    A, C = rng.standard_normal((3, 4, 15)), rng.standard_normal((15, 15))
    text = dj.source(dj.grad(in_place, (0, 1)), A, C, stage="lowered")
    assert text.count("gemm(") == 2  # of the cotangents of A and C
    assert text.count("copy_into(A") <= 1
    a_bar, c_bar = dj.grad(in_place, (0, 1))(A, C)
    np.testing.assert_allclose(a_bar, np.broadcast_to(C.sum(1), A.shape), rtol=1e-12)
    np.testing.assert_allclose(c_bar, np.broadcast_to(A.sum((0, 1))[:, None], C.shape), rtol=1e-12)


def test_slices_of_equal_bounds_are_equally_long():
    """Nothing is recorded to find out, and the products of all rows are one that the gradient does not need."""
    X = np.random.default_rng(2).standard_normal((20, 12))
    text = dj.source(dj.grad(triangle), X, stage="lowered")
    assert "step_" not in text
    assert "append(" not in text
    assert text.count("gemm(") == 2
    found = dj.grad(triangle)(X)
    for e in np.eye(X.size)[:40].reshape(-1, *X.shape) * 1e-6:
        wanted = (triangle(X + e) - triangle(X - e)) / 2e-6
        assert np.sum(found * e) * 1e6 == pytest.approx(wanted, rel=1e-6, abs=1e-7)


STATEMENTS = (
    "U = {a}.copy()",
    "V = {a} @ B",
    "V = np.reshape(np.reshape({a}, (k, -1)), ({a}.shape[0], {a}.shape[1]))",
    "V = np.reshape({a} * {b}, (k, -1)).reshape({a}.shape)",
    "U = {a}.T.copy().T",
    "V = np.ascontiguousarray({a})",
    "A[:] = {a} * 0.5",
    "{a}[:] = {b} + 0.1 * {a}",
    "{a}[k, k + 1 :] = {b}[k, 1 + k : n] * 0.7",
    "{a}[k:, k] += {b}[k:n, k] * x[k]",
    "{a}[: k + 1] *= {b}[: 1 + k]",
    "{a} *= x",
    "W = {a}[k:]; W[0] = W[0] * 1.1",
    "total += np.sum({a}[k, k + 1 :] * {b}[k, k + 1 :])",
    "total += {a}[i, j] * {b}[j, k]",
    "kept.append({a}.copy())",
    "kept[-1][0] *= 0.9",
    "U = kept[0].copy() if k > 1 else {a}.copy()",
)


def program(seed):
    """Copies, products, reshapes and writes, in loops and branches; some of it needed."""
    rng = np.random.default_rng(seed)
    lines = [
        "import numpy as np",
        "",
        "",
        "def f(A, B, x, k, n, i, j):",
        "    U, V, W, total = A.copy(), A * 1.0, A, 0.0",
        "    kept = [A.copy()]",
    ]
    depth = 1
    for _ in range(rng.integers(4, 10)):
        head = rng.choice(["", "for q in range(2):", "if k > 1:", "for k in range(k + 1):"], p=[0.6, 0.15, 0.15, 0.1])
        if head:
            lines.append("    " + head)
            depth = 2
        for _ in range(rng.integers(1, 3)):
            a, b = rng.choice(["A", "U", "V"], 2)
            lines += ["    " * depth + part for part in str(rng.choice(STATEMENTS)).format(a=a, b=b).split("; ")]
        depth = 1
    parts = rng.choice(["total", "np.sum(U * U)", "np.sum(V[k])", "np.sum(A)", "np.sum(W)", "kept[-1][0, 0]"], 2)
    return "\n".join([*lines, f"    return {parts[0]} + {parts[1]}"]) + "\n"


def outcome(verb, arguments):
    try:
        return verb(*arguments)
    except (IndexError, ValueError) as error:
        return type(error)
    except dj.DiffjitError as error:
        return error.code


def compare(seed, backend="numba"):
    """Whether a program returned: alone, beside its value, and by difference quotients its gradient is the same."""
    source = program(seed)
    f = function(source, f"<unneeded {seed}>")
    rng = np.random.default_rng(seed)
    alone = dj.grad(f, (0, 1, 2), backend=backend)
    beside = dj.value_and_grad(f, (0, 1, 2), backend=backend)
    returned = 0
    for k, i in ((1, 2), (2, N)):
        arrays = rng.uniform(0.5, 1.5, (N, M)), rng.uniform(0.5, 1.5, (M, M)) / M, rng.uniform(0.5, 1.5, M)
        given = lambda arrays=arrays, k=k, i=i: (*(a.copy() for a in arrays), k, M, i, 1)
        python, want, own = outcome(f, given()), outcome(beside, given()), given()
        got = outcome(alone, own)
        if isinstance(got, str) or isinstance(python, type):
            assert got is python or got == want, source
            continue
        returned += 1
        assert python == pytest.approx(want[0], rel=1e-11), source
        for a, b in itertools.combinations([*got, *own[:3]], 2):
            assert not np.shares_memory(a, b), source
        for mine, other, before in zip(got, want[1], arrays, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-11, err_msg=source)
            assert np.all(np.isfinite(before))
        for a, b in zip(own[:3], arrays, strict=True):
            assert np.array_equal(a, b), source
        for place in range(3):
            along = rng.standard_normal(arrays[place].shape)
            ends = []
            for step in (1e-6, -1e-6):
                moved = list(given())
                moved[place] = moved[place] + step * along
                ends.append(f(*moved))
            slope = (ends[0] - ends[1]) / 2e-6
            assert np.sum(got[place] * along) == pytest.approx(slope, rel=2e-5, abs=1e-5), source
    return returned > 0


def test_random_programs_in_python():
    assert sum(compare(seed, "python") for seed in range(40)) > 25


def test_random_programs_compiled_with_checks(monkeypatch):
    monkeypatch.setattr(dj.settings, "checked", True)
    assert sum(compare(seed) for seed in range(100, 108)) > 4


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_many_random_programs(block):
    assert sum(compare(seed) for seed in range(1000 + 20 * block, 1020 + 20 * block)) > 10
