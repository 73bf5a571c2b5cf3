"""Index sets, kind by kind: no entry of a dense Jacobian is missed, and structure that is there is found."""

import numpy as np
import pytest

import diffjit as dj
from diffjit.ir.nodes import Op, Value
from diffjit.ir.types import FLOAT

X = np.random.default_rng(5).uniform(0.5, 2.0, 6)
K = np.array([4, 0, 0, 2])
MASK = np.array([True, False, True, True, False, False])


def scattered(x):
    out = np.zeros(5)
    out[K] = x[:4] ** 2
    np.add.at(out, K[::-1], x[2:])
    return out


def through_views(x):
    a = np.zeros((3, 4))
    column, row = a[:, 1], a.T[2]
    column += x[:3]
    row[1:] *= 2.0
    row[0] = x[5] * column[2]
    a[1:][::-1][0, 3:] = x[4:5]
    return a.ravel()


def grown(x):
    items = []
    for k in range(1, x.size):
        items.append(x[k] * x[0])  # noqa: PERF401 - the list that grows is the point
    items.insert(1, x[2])
    items[0] = items.pop() + items[2]
    return np.array(items)


def recursive(x):
    def total(lo, hi):
        return x[lo] ** 2 if hi - lo == 1 else total(lo, (lo + hi) // 2) + total((lo + hi) // 2, hi)

    return np.array([total(0, 3), total(3, 6), x[0]])


def left_early(x):
    out = np.zeros(6)
    i = 0
    while True:
        out[i] = x[i] * (x[i - 1] if i else 1.0)
        i += 1
        if i == 4:
            break
    for j in range(5, 0, -2):
        if x[j] > 100:
            break
        out[j] += x[0]
    return out


def masked(x):
    y = x * 1.0
    y[MASK] = x[:3] * x[3]
    y[~MASK] = 0.0
    return np.concatenate((y, x[MASK], np.where(MASK, x, 1.0)))


def parts_of_complex(x):
    z = np.zeros(3, complex)
    z.real = x[:3]
    z.imag[:2] = x[3:5]
    part = z.real
    part[2] = x[5] * part[0]
    return np.abs(z) + 0.5 * z.real


def parts_in_a_callee(x):
    z = np.zeros(4, complex)

    def halves(real, imag, lo, hi):
        if hi - lo == 1:
            real[lo] = x[lo]
            imag[lo] = x[lo + 1] ** 2
        else:
            halves(real, imag, lo, (lo + hi) // 2)
            halves(real, imag, (lo + hi) // 2, hi)

    halves(z.real, z.imag, 0, 4)
    return np.abs(z)


def parts_read_only(x):
    out = np.zeros(3)
    z = x[:3] + 1j * x[3:]
    for k in range(3):
        for _ in range(2):
            out[k] = z.real[k] * x[5]
    return out


def nested_ways_out(x):
    out = x * 1.0
    for i in range(4):
        j = i
        while j < 6:
            if x[j] * 0.0 > 1.0:
                return out
            if j - i > 1:
                break
            out[j] = out[j] + x[i]
            j += 1
        else:
            out[0] = 0.0
    return out


def swapped(x):
    a, b = x[:3] * 1.0, x[3:] * 2.0
    for k in range(3):
        a, b = b, a
        a[k] *= b[k - 1]
    return np.concatenate((a, b))


# A program, and the number of entries of its pattern: for maxima, sorting, `where` and `interp` more than there are.
PROGRAMS = {
    "elementwise": (lambda x: np.sin(x) * x[::-1] + np.floor(x), 12),
    "no_derivative": (lambda x: np.floor(x) + np.sign(x) + dj.stop_gradient(x) + (x > 1), 0),
    "broadcast": (lambda x: (x[:2, None] * x[2:5]).ravel(), 12),
    "reductions": (lambda x: np.concatenate((np.sum(x.reshape(2, 3), axis=1), np.max(x.reshape(2, 3), axis=0))), 12),
    "products": (lambda x: np.prod(x.reshape(3, 2), axis=1), 6),
    "running": (lambda x: np.concatenate((np.cumsum(x), np.cumprod(x[:3]))), 27),
    "sorted": (lambda x: np.sort(x.reshape(2, 3), axis=1).ravel(), 18),
    "gathered": (lambda x: x[K] * x[K + 1], 8),
    "scattered": (scattered, 7),
    "masked": (masked, 15),
    "views": (through_views, 6),
    "lists": (grown, 10),
    "recursion": (recursive, 7),
    "loops": (left_early, 9),
    "matrix_vector": (lambda x: np.tri(3) @ x[:3], 6),
    "matrices": (lambda x: (x.reshape(2, 3) @ x.reshape(3, 2)).ravel(), 18),
    "inner": (lambda x: x[:3] @ x[3:] * np.ones(1), 6),
    "stacked": (lambda x: (x.reshape(3, 2, 1) @ np.ones((1, 2))).ravel(), 12),
    "solved": (lambda x: np.linalg.solve(np.eye(3) * 4.0 + np.outer(x[:3], x[:3]), x[3:]), 18),
    "solved_apart": (lambda x: np.linalg.solve(x[:3].reshape(3, 1, 1), np.ones((3, 1, 2))).ravel(), 6),
    "determinants": (lambda x: np.linalg.det(x.reshape(6, 1, 1)), 6),
    "rolled": (lambda x: np.roll(x, 2) - np.pad(x, 1)[2:], 11),
    "split": (lambda x: np.hstack([p[::-1] for p in np.split(x, 3)]), 6),
    "outer_axes": (lambda x: np.swapaxes(np.stack([x.reshape(2, 3)] * 2), 0, 2).ravel(), 12),
    "interpolated": (lambda x: np.interp(np.array([0.5, 2.5]), np.arange(6.0), x), 7),
    "parts": (parts_of_complex, 8),
    "parts_in_a_callee": (parts_in_a_callee, 8),
    "imaginary": (lambda x: np.array([(x[0] + 1j * x[1]).imag, np.imag(x[2]), np.angle(x[3] + 1j)]), 3),
    "parts_read_only": (parts_read_only, 8),
    "nested_ways_out": (nested_ways_out, 10),
    "swapped": (swapped, 12),
    "empty": (lambda x: np.sum(x[:0].reshape(0, 2), axis=1), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_pattern(name):
    program, entries = PROGRAMS[name]
    pattern = dj.sparsity(program)(X).toarray()
    for seed in range(3):
        x = X + 0.01 * np.random.default_rng(seed).standard_normal(6)
        dense = dj.jacfwd(program, backend="python")(x)
        assert pattern.shape == dense.shape
        assert not np.any((dense != 0) & ~pattern)
    assert pattern.sum() == entries


def test_a_kind_without_a_rule_depends_on_all_of_its_operands(monkeypatch):
    from diffjit.analysis.sparsity import index_sets

    monkeypatch.setattr(index_sets, "RULES", {k: r for k, r in index_sets.RULES.items() if k in ("copy", "zeros")})
    pattern = dj.sparsity(lambda x: np.cumsum(x[:3]) * x[5])(X).toarray()
    assert pattern.astype(int).tolist() == [[1, 1, 1, 0, 0, 1]] * 3


def test_every_structural_primitive_is_known():
    """A new primitive gets a rule here, or joins everything on purpose (`arange`), or has no floats."""
    from diffjit.analysis.sparsity import index_sets
    from diffjit.primitives.registry import RULES

    assert set(RULES) - set(index_sets.RULES) - index_sets._MOVES == {
        "arange", "all", "any", "argmax", "argmin", "argsort", "nonzero",
    }  # fmt: skip


def test_texts_of_operations():
    from diffjit.analysis.evaluate import Evaluator
    from diffjit.ir.nodes import Block, Function

    a, b = Value(FLOAT, "a"), Value(FLOAT, "b")
    out = Value(FLOAT)
    op = Op("hypot", [a, b], [out])
    out.op = op
    evaluate = Evaluator(Function("f", [a, b], Block(ops=[op], results=[out])))
    assert evaluate.operation(op)(3.0, 4.0) == 5.0
    assert evaluate.operation(op) is evaluate.operation(op)
