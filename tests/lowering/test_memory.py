"""Loads, stores, views, assignments and what overlaps, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from diffjit.ir.types import FLOAT, INT, Array, Scalar, Sym
from diffjit.settings import settings
from tests.lowering.harness import check, layout_of, run, same, type_of

rng = np.random.default_rng(3)
F8 = np.dtype("f8")


def three_layouts(a: np.ndarray) -> list[np.ndarray]:
    return [a.copy(), np.asfortranarray(a), np.repeat(a, 2, axis=0)[::2]]


def test_load_and_store() -> None:
    for code in ("f8", "f4", "i8", "?", "c16", "u2"):
        for a in three_layouts((rng.normal(size=(3, 4)) * 3).astype(code)):
            for i, j in [(0, 0), (2, 3), (-1, -4), (1, -1)]:
                check("load", a[i, j], a, i, j)
                before = a.copy()

                def build(b: Any, x: Any, i: Any, j: Any) -> Any:
                    v = b.value("load", [x, j, i], Scalar(x.type.dtype))
                    b.op("store", [x, v, i, j])
                    return v

                if abs(j) < 3 and abs(i) < 4:
                    run(build, a, i, j)
                    before[i, j] = before[j, i]
                    same(a, before)


@pytest.mark.parametrize("bad", [(3, 0), (-4, 0), (0, 4), (0, -5), (2**62, 0), (-(2**63), 0)])
def test_out_of_range(bad: tuple[int, int]) -> None:
    a = rng.normal(size=(3, 4))
    with pytest.raises(IndexError) as ours:
        check("load", 0.0, a, *bad)
    axis = 0 if not -3 <= bad[0] < 3 else 1
    assert str(ours.value) == f"index {bad[axis]} is out of bounds for axis {axis} with size {a.shape[axis]}"


VIEWS: list[tuple[Any, tuple[int, ...], Callable[..., np.ndarray]]] = [
    (("i", ":"), (1,), lambda a, i: a[i, :]),
    ((":", "i"), (-1,), lambda a, i: a[:, i]),
    (("i",), (2,), lambda a, i: a[i]),
    ((("s", True, True, None), ":"), (1, 3), lambda a, i, j: a[i:j, :]),
    ((":", ("s", True, None, None)), (-2,), lambda a, i: a[:, i:]),
    ((("s", None, None, True), ":"), (-1,), lambda a, i: a[::i, :]),
    ((("s", True, True, True), ("s", None, True, None)), (3, 0, -2, 2), lambda a, i, j, k, m: a[i:j:k, :m]),
    (("n", ":", "n", ":"), (), lambda a: a[None, :, None, :]),
    (("i", "i"), (1, 2), lambda a, i, j: a[i, j, ...]),
    ((":", ":"), (), lambda a: a[:, :]),
    ((("s", True, True, None),), (10, 20), lambda a, i, j: a[i:j]),
]


@pytest.mark.parametrize("case", range(len(VIEWS)))
def test_views(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "verify_passes", False)  # types are those of NumPy's views, which knows more
    spec, ints, expected = VIEWS[case]
    for a in three_layouts(rng.normal(size=(4, 5))):
        view = expected(a, *ints)
        ty = Array(F8, tuple(Sym() for _ in view.shape), layout_of(view) if case != 8 else "C")
        got = run(lambda b, x, *i, ty=ty: b.value("view", [x, *i], ty, spec=spec), a, *ints)
        same(got, np.asarray(view))
        assert view.size == 0 or view.ndim == 0 or np.shares_memory(got, a)


def test_view_index_out_of_range() -> None:
    a = rng.normal(size=(4, 5))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        run(lambda b, x, i: b.value("view", [x, i], Array(F8, (Sym(),), "C"), spec=("i",)), a, 4)
    with pytest.raises(IndexError, match="index -6 is out of bounds for axis 1 with size 5"):
        run(lambda b, x, i: b.value("view", [x, i], Array(F8, (Sym(),), "A"), spec=(":", "i")), a, -6)


def test_transposes_and_diagonals() -> None:
    a = rng.normal(size=(2, 3, 4))
    for x in [a, np.asfortranarray(a), a[:, ::2]]:
        for perm in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)]:
            expected = x.transpose(perm)
            check("transpose", expected, x, perm=perm, layout=layout_of(expected))
    m = rng.normal(size=(3, 5))
    for x in [m, m.T]:
        for k in (-4, -1, 0, 1, 4, 9):
            check("diagonal", np.diagonal(x, k), x, offset=k, layout="A")


def test_reshape() -> None:
    a = rng.normal(size=(4, 6))
    check("reshape", a.reshape(3, 8), a, 3, 8, view=True)
    check("reshape", a.reshape(24), a, 24, view=True)
    check("reshape", a.T.reshape(3, 8), a.T, 3, 8, view=False)
    check("reshape", a[:, 0].reshape(4, 1, 1), a[:, 0], 4, 1, 1, view=True, layout="A")
    check("reshape", np.zeros((0, 3)).reshape(3, 0), np.zeros((0, 3)), 3, 0, view=True)
    with pytest.raises(ValueError, match=r"cannot reshape array of size 24 into shape \(5,5\)"):
        check("reshape", np.zeros((5, 5)), a, 5, 5, view=True)
    out = run(lambda b, x, n: b.value("reshape", [x, n], Array(F8, (Sym(),), "C"), view=True), a, 24)
    assert np.shares_memory(out, a)


def test_broadcast_to() -> None:
    a = rng.normal(size=(3, 1))
    check("broadcast_to", np.broadcast_to(a, (2, 3, 4)), a, 2, 3, 4, layout="A")
    got = run(lambda b, x, n: b.value("broadcast_to", [x, n], Array(F8, (Sym(),), "A")), np.array(2.0), 3)
    same(got, np.full(3, 2.0))
    assert not got.flags.writeable
    with pytest.raises(
        ValueError, match=r"remapped shapes \[original->remapped\]: \(3,1\)  and requested shape \(2,1\)"
    ):
        check("broadcast_to", np.zeros((2, 1)), a, 2, 1, layout="A")


def test_parts_of_complex_arrays() -> None:
    z = rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2))
    for part in ("real", "imag"):
        got = run(lambda b, x, part=part: b.value(f"{part}_view", [x], Array(F8, x.type.dims, "A")), z)
        same(got, getattr(z, part))
        assert np.shares_memory(got, z)


ASSIGNMENTS: list[tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray], Any, Any]] = [
    (lambda a: a[1:], lambda a: a[:-1], (("s", 1, None, None),), (("s", None, -1, None),)),
    (lambda a: a[:-1], lambda a: a[1:], (("s", None, -1, None),), (("s", 1, None, None),)),
    (lambda a: a[:], lambda a: a[::-1], (("s", None, None, None),), (("s", None, None, -1),)),
]


@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize("fused", [False, True])
def test_overlapping_assignment(case: int, fused: bool) -> None:
    target, source, spec_t, spec_s = ASSIGNMENTS[case]
    a = rng.normal(size=10)
    expected = a.copy()
    target(expected)[...] = source(expected).copy() * 2.0 if fused else source(expected).copy()

    def build(b: Any, x: Any) -> Any:
        def cut(spec: Any) -> Any:
            flags = tuple(None if p is None else True for p in spec[0][1:])
            ints = [b.const(p) for p in spec[0][1:] if p is not None]
            return b.value(
                "view", [x, *ints], Array(F8, (Sym(),), "A" if spec[0][3] == -1 else "C"), spec=(("s", *flags),)
            )

        dst, src = cut(spec_t), cut(spec_s)
        if fused:
            src = b.value("multiply", [src, b.const(2.0)], src.type)
        b.op("assign", [dst, src])
        return []

    run(build, a)
    same(a, expected)


def test_assign_and_accum_broadcast() -> None:
    for code in ("f8", "f4", "i8"):
        for source in (
            3,
            2.5,
            rng.normal(size=4),
            rng.normal(size=(3, 1)),
            rng.normal(size=(3, 4)),
            rng.normal(size=(1, 3, 4)),
        ):
            a = np.zeros((3, 4), code)
            run(lambda b, x, y: b.op("assign", [x, y]) and [], a, source)
            expected = np.zeros((3, 4), code)
            expected[...] = source
            same(a, expected)
    a = np.ones((3, 4))
    run(lambda b, x, y: b.op("accum", [x, y]) and [], a, np.arange(4.0))
    same(a, 1 + np.arange(4.0) * np.ones((3, 1)))
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3,\) into shape \(3,4\)"):
        run(lambda b, x, y: b.op("assign", [x, y]) and [], a, np.zeros(3))


def test_transposed_assignment_to_itself() -> None:
    a = rng.normal(size=(4, 4))
    expected = a.T.copy()

    def build(b: Any, x: Any) -> Any:
        t = b.value("transpose", [x], Array(F8, x.type.dims[::-1], "F"), perm=(1, 0))
        b.op("assign", [x, t])
        return []

    run(build, a)
    same(a, expected)


def test_in_place_update_of_the_same_view_needs_no_copy() -> None:
    a = rng.normal(size=6)
    expected = np.sin(a) + a

    def build(b: Any, x: Any) -> Any:
        b.op("assign", [x, b.value("add", [b.value("sin", [x], x.type), x], x.type)])
        return []

    from diffjit.lowering.text.module import lower
    from tests.lowering.harness import program

    assert "empty" not in lower(program(build, a)).text
    run(build, a)
    same(a, expected)


GATHERS: list[tuple[tuple[str, ...], Callable[..., np.ndarray], list[np.ndarray | int]]] = [
    (("a",), lambda a, i: a[i], [np.array([2, 0, -1, 2])]),
    (("a", "a"), lambda a, i, j: a[i, j], [np.array([0, 1]), np.array([[3], [-4]])]),
    ((":", "a"), lambda a, i: a[:, i], [np.array([3, 3, 0])]),
    (("a", "i"), lambda a, i, j: a[i, j], [np.array([2, 1]), 1]),
    (("a", ":", "a"), lambda a, i, j: a[i, :, j], [np.array([1, 0]), np.array([2, 1])]),
    ((":", "a", "a"), lambda a, i, j: a[:, i, j], [np.array([1, 0]), np.array([2, 1])]),
    (("a",), lambda a, i: a[i], [np.zeros((0, 2), int)]),
    (("a",), lambda a, i: a[i], [np.array([[1, 2], [0, 0]], np.int32)]),
]


@pytest.mark.parametrize("case", range(len(GATHERS)))
def test_gather_and_scatter(case: int) -> None:
    spec, numpy, indices = GATHERS[case]
    a = rng.normal(size=(3, 4, 5)[: max(2, len(spec))] if case != 0 else (4,))
    for x in three_layouts(a):
        expected = numpy(x, *indices)
        check("gather", expected, x, *indices, spec=spec)
        value = rng.normal(size=expected.shape)
        for v in (value, 2.5):
            for kind in ("scatter", "scatter_add"):
                got, want = x.copy("K"), x.copy("K")
                run(lambda b, x, v, *i, kind=kind: b.op(kind, [x, v, *i], spec=spec) and [], got, v, *indices)
                rest = iter(indices)
                index = tuple(slice(None) if s == ":" else next(rest) for s in spec)
                if kind == "scatter":
                    want[index] = v
                else:
                    np.add.at(want, index, v)
                same(got, want)


def test_gather_errors() -> None:
    a = rng.normal(size=(3, 4))
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        check("gather", np.zeros((1, 4)), a, np.array([3]), spec=("a",))
    with pytest.raises(
        IndexError, match=r"shape mismatch: indexing arrays could not be broadcast together with shapes \(2,\) \(3,\)"
    ):
        check("gather", np.zeros(2), a, np.array([0, 1]), np.array([0, 1, 2]), spec=("a", "a"))


def test_permuting_in_place() -> None:
    p = np.array([2, 0, 1])
    want = p.copy()
    want[want] = want.copy()[::-1].copy()

    def build(b: Any, x: Any) -> Any:
        r = b.value("view", [x, b.const(-1)], Array(x.type.dtype, x.type.dims, "A"), spec=(("s", None, None, True),))
        b.op("scatter", [x, r, x], spec=("a",))
        return []

    run(build, p)
    same(p, want)


def test_mask_set() -> None:
    a = rng.normal(size=(4, 5))
    m = a > 0.2
    for x in three_layouts(a):
        want = x.copy("K")
        want[m] = -1.0
        run(lambda b, x, m, v: b.op("mask_set", [x, m, v]) and [], x, m, -1.0)
        same(x, want)
        want[m] = np.arange(m.sum(), dtype=float)
        run(lambda b, x, m, v: b.op("mask_set", [x, m, v]) and [], x, m, np.arange(m.sum(), dtype=float))
        same(x, want)
    rows = np.array([True, False, True, True])
    want = a.copy()
    want[rows] = np.arange(5.0)
    run(lambda b, x, m, v: b.op("mask_set", [x, m, v]) and [], a, rows, np.arange(5.0))
    same(a, want)
    with pytest.raises(ValueError, match="NumPy boolean array indexing assignment cannot assign 3 input values to the"):
        run(lambda b, x, m, v: b.op("mask_set", [x, m, v]) and [], a, a > 100, np.zeros(3))


def test_accum_at() -> None:
    a = np.zeros((2, 3))
    run(lambda b, x, v, i, j: b.op("accum_at", [x, v, i, j]) and [], a, 2.5, -1, 1)
    same(a, np.array([[0, 0, 0], [0, 2.5, 0]]))


def test_share() -> None:
    a = rng.normal(size=10)
    from diffjit.ir.types import BOOL

    for x, y, want in [
        (a, a[3:], True),
        (a[:3], a[3:], False),
        (a[::2], a[1::2], True),
        (a, a.copy(), False),
        (a[:0], a, False),
    ]:
        assert run(lambda b, x, y: b.value("share", [x, y], BOOL), x, y) is want


def test_read_only_arguments_are_read() -> None:
    a = rng.normal(size=5)
    a.flags.writeable = False
    check("sin", np.sin(a), a)


def test_dims_and_weak_results() -> None:
    a = rng.normal(size=(3, 4))
    got = run(lambda b, x: b.value("dim", [x], INT, axis=1), a)
    assert got == 4
    assert type(got) is int
    assert type(run(lambda b, x: b.value("multiply", [x, b.const(2.0)], FLOAT), 1.5)) is float
    assert type(run(lambda b, x: b.value("load", [x, b.const(0), b.const(1)], Scalar(F8)), a)) is np.float64
    assert type_of(np.float32(1)) == Scalar(np.dtype("f4"))


def test_elements_as_views() -> None:
    a = np.arange(6.0).reshape(2, 3)

    def build(b: Any, x: Any, i: Any, j: Any) -> Any:
        one = b.value("view", [x, i, j], Array(F8, (), "C"), spec=("i", "i"))
        b.op("assign", [one, b.const(7.0)])
        return b.value("load", [one], Scalar(F8))

    assert run(build, a, 1, -1) == 7.0
    assert a[1, 2] == 7.0
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        run(build, a, 0, 3)


def test_strides() -> None:
    a = rng.normal(size=(4, 5))
    for x in (a, a.T, a[::2, ::-1]):
        for axis in (0, 1):
            assert run(lambda b, x, axis=axis: b.value("stride", [x], INT, axis=axis), x) == x.strides[axis] // 8
