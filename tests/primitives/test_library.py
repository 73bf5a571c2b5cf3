"""Composites run as plain Python give what NumPy's and math's own functions give: values, shapes and dtypes."""

from __future__ import annotations

import heapq
import math
import warnings
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES, unread
from tests.primitives.library_cases import CASES

learn()

# Tested below: they change their argument in place.
IN_PLACE = {
    np.put, np.put_along_axis, np.fill_diagonal, np.copyto, np.putmask, np.place, np.ndarray.fill, np.ndarray.sort,
    np.ndarray.partition,
} | {f for f in COMPOSITES if getattr(f, "__name__", "") == "at"}  # fmt: skip


SCIPYS = (
    "series",
    "special",
    "interpolate",
    "signal",
    "ndimage",
    "spatial",
    "sparse",
    "stats",
    "linear",
    "transforms",
    "labelled",
    "subclasses",
)  # rows of tests/scipy, programs of tests/labelled

IDS = [f"{getattr(function, '__name__', function)}-{k}" for k, (function, _, _) in enumerate(CASES)]


def check(actual: Any, expected: Any, *, single: bool = False) -> None:
    """Equal up to rounding, in structure, shape and dtype; `single`: computed from numbers in single precision."""
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            check(a, e, single=single)
        return
    assert np.shape(actual) == np.shape(expected)
    if isinstance(expected, (np.ndarray, np.floating)):
        assert np.asarray(actual).dtype == expected.dtype
    single = single or np.asarray(expected).dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(actual, expected, rtol=3e-5 if single else 1e-10, atol=1e-5 if single else 1e-11)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_composite_equals_the_original(case: Any) -> None:
    function, args, kwargs = case
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = any(isinstance(a, np.ndarray) and a.dtype in (np.float32, np.complex64) for a in args)
        check(COMPOSITES[function](*args, **kwargs), function(*args, **kwargs), single=single)


def test_every_composite_has_a_case() -> None:
    tested = {function for function, _, _ in CASES} | IN_PLACE
    outers = {f for f in COMPOSITES if getattr(f, "__name__", "") == "outer" and f not in (np.outer, np.linalg.outer)}
    # Python's containers, managers and statistics are not functions of arrays: programs of the corpus use them.
    rooms = (".containers", ".queues", ".tables", ".contexts", ".samples", ".elements", ".typed")
    containers = {f for f, plain in COMPOSITES.items() if plain.__module__.endswith(rooms)}
    transforms = {f for f in COMPOSITES if f in vars(np.fft).values()}  # rows of test_complex
    folders = tuple(f"diffjit.primitives.library.{name}." for name in SCIPYS)
    scipys = {f for f, plain in COMPOSITES.items() if plain.__module__.startswith((*folders, "diffjit.solvers."))}
    streams = {f for f, plain in COMPOSITES.items() if plain.__module__.startswith("diffjit.primitives.random.")}
    bars = {f for f, plain in COMPOSITES.items() if plain.__module__.startswith("diffjit.primitives.opaque.progress.")}
    other_names = {getattr(np, "row_stack", np.vstack)} | bars  # tests/frontend/test_progress
    other_names.add(np.lib.stride_tricks.as_strided)  # programs of tests/frontend/tried
    other_names |= {np.shares_memory, np.may_share_memory}  # refused: test_counts_and_questions
    assert not set(COMPOSITES) - tested - outers - containers - transforms - scipys - streams - other_names


def test_heaps() -> None:
    rng = np.random.default_rng(0)
    mine: list[float] = []
    theirs: list[float] = []
    for v in rng.integers(0, 9, 60):
        COMPOSITES[heapq.heappush](mine, int(v))
        heapq.heappush(theirs, int(v))
        if v > 5:
            for function in (heapq.heapreplace, heapq.heappushpop):
                assert COMPOSITES[function](mine, 4) == function(theirs, 4)
        assert mine == theirs
    COMPOSITES[heapq.heapify](mine)
    assert [COMPOSITES[heapq.heappop](mine) for _ in theirs] == sorted(theirs)
    for function in (heapq.nsmallest, heapq.nlargest):
        assert COMPOSITES[function](3, theirs, key=lambda v: -v) == function(3, theirs, key=lambda v: -v)


def test_functions_that_change_an_array() -> None:
    for function, args in (
        (np.put, ([0, 5, -1], [7.0, 8.0])),
        (np.put_along_axis, (np.array([[0], [3], [1]]), 9.0, 1)),
        (np.put, ([0, 25, -1], [7.0, 8.0], "wrap")),
        (np.put, ([0, 25, -1], 7.0, "clip")),
        (np.fill_diagonal, (5.0,)),
        (np.fill_diagonal, ([5.0, 6.0],)),
        (np.fill_diagonal, ([1.0, 2.0, 3.0],)),
        (np.copyto, (2.5,)),
        (np.putmask, (np.arange(12).reshape(3, 4) % 2 == 0, 1.5)),
        (np.putmask, (np.arange(12).reshape(3, 4) % 2 == 0, [1.0, 2.0, 3.0, 4.0, 5.0])),
        (np.putmask, (np.arange(12).reshape(3, 4) % 2 == 0, [[1.0], [2.0], [3.0]])),
        (np.place, (np.arange(12).reshape(3, 4) % 2 == 0, [1.0, 2.0, 3.0, 4.0])),
        (np.place, (np.arange(12).reshape(3, 4) > 20, [])),
        (np.subtract.at, (([0, 0, 2], [1, 1, 3]), [1.0, 2.0, 3.0])),
        (np.multiply.at, ([0, 0], [1.0, 2.0, 3.0, 4.0])),
        (np.maximum.at, ((slice(None), 1), 0.5)),
        (np.divide.at, (np.arange(12).reshape(3, 4) % 2 == 0, 2.0)),
        (np.negative.at, (1,)),
        (np.ndarray.fill, (3.0,)),
        (np.ndarray.sort, ()),
        (np.ndarray.sort, (0,)),
    ):
        ours, theirs = np.cos(np.arange(12.0)).reshape(3, 4), np.cos(np.arange(12.0)).reshape(3, 4)
        COMPOSITES[function](ours, *args)
        function(theirs, *args)
        np.testing.assert_array_equal(ours, theirs)
    for function in (COMPOSITES[np.fill_diagonal], np.fill_diagonal):
        tall, cube = np.zeros((7, 3)), np.zeros((2, 2, 2))
        function(tall, [1.0, 2.0], wrap=True)
        function(cube, 3.0)
        assert (np.sum(tall), tall[4, 0], np.sum(cube)) == (9.0, 2.0, 6.0)
    a = np.arange(3.0)
    COMPOSITES[np.ndarray.partition](a[::-1], 1)
    np.testing.assert_array_equal(a, [2.0, 1.0, 0.0])
    a = np.arange(3.0)
    COMPOSITES[np.copyto](a, -a, where=np.array([True, False, True]))
    np.testing.assert_array_equal(a, [0.0, 1.0, -2.0])


def test_views_stay_views() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    for function, args in (
        (np.swapaxes, (0, 1)), (np.moveaxis, (0, -1)), (np.expand_dims, (1,)), (np.flip, ()),
        (np.squeeze, ()), (np.rot90, ()), (np.atleast_3d, ()),
    ):  # fmt: skip
        assert np.shares_memory(COMPOSITES[function](a, *args), a)
    assert all(np.shares_memory(part, a) for part in COMPOSITES[np.split](a, 2))
    assert np.shares_memory(COMPOSITES[np.einsum]("abc->cab", a), a)
    assert np.shares_memory(COMPOSITES[np.einsum]("ii->i", a[0, :, :3]), a)
    assert np.shares_memory(COMPOSITES[np.trim_zeros](a[0, 0]), a)
    assert not np.shares_memory(COMPOSITES[np.tile](a, 1), a)


@pytest.mark.parametrize(
    ("function", "args", "error"),
    [
        (np.swapaxes, (np.ones(3), 0, 1), np.exceptions.AxisError),
        (np.squeeze, (np.ones((2, 3)), 0), ValueError),
        (np.split, (np.ones(5), 2), ValueError),
        (np.pad, (np.ones(5), 2, "nonsense"), NotImplementedError),
        (np.block, ([[1.0], 2.0],), ValueError),
        (np.bincount, ([1, -1],), ValueError),
        (np.bincount, ([1.5],), TypeError),
        (np.insert, (np.ones(3), [0, 4], 1.0), IndexError),
        (np.piecewise, (np.ones(3), [np.ones(3) > 0], [1.0, 2.0, 3.0]), ValueError),
        (np.einsum, ("ii", np.ones((2, 3))), ValueError),
        (np.einsum, ("...i->i", np.ones((2, 3))), ValueError),
        (np.polyfit, (np.ones(5), np.ones(5), 1), np.linalg.LinAlgError),
        (np.linalg.pinv, (np.full((2, 2), np.nan),), np.linalg.LinAlgError),
        (np.asarray_chkfinite, ([np.nan],), ValueError),
        (np.subtract.reduce, (np.empty(0),), ValueError),
        (np.add.reduceat, (np.ones(3), [0, 3]), IndexError),
        (np.linalg.norm, (np.eye(2), 7), ValueError),
        (np.linalg.norm, (np.ones((2, 2, 2)), "fro"), ValueError),
        (np.tensordot, (np.ones((2, 3)), np.ones((2, 3)), 1), ValueError),
        (np.convolve, (np.ones(3), np.ones(2), "middle"), ValueError),
        (math.comb, (-1, 2), ValueError),
        (np.choose, (5, (1.0, 2.0)), ValueError),
        (np.select, ([[True], [False]], [1.0]), ValueError),
        (np.select, ([], []), ValueError),
        (np.searchsorted, ([1.0, 2.0], 1.0, "middle"), ValueError),
        (np.searchsorted, ([1.0, 2.0], 1.0, None), TypeError),
        (np.trim_zeros, ([0.0, 1.0], "x"), ValueError),
        (np.stack, ([],), ValueError),
        (np.pad, (np.ones(3), (1, 2, 3)), ValueError),
        (np.pad, (np.ones((3, 3)), ((1, 2), (0, 1), (1, 1))), ValueError),
        (np.linspace, (0.0, 1.0, 3.0), TypeError),
        (np.eye, (2.0,), TypeError),
        (np.linalg.matrix_power, (np.eye(2), 1.5), TypeError),
    ],
)
def test_errors(function: Any, args: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        COMPOSITES[function](*args)


def _answer(f, *args):
    try:
        return f(*args)
    except (ValueError, TypeError) as error:
        return type(error), str(error).partition("[")[0]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_histograms_are_numpys(backend):
    """Values on edges and beyond, bins of one value, no values, no numbers."""

    def weighed(a, bins, w):
        return np.histogram(a, bins, weights=w)

    def counted(a, bins):
        return np.histogram(a, bins)

    def ranged(a, bins, low, high):
        return np.histogram(a, bins, (low, high))

    def pairs(x, y, bins):
        return np.histogram2d(x, y, bins)

    def pairs_within(x, y, bins, high):
        return np.histogram2d(x, y, bins, [[0.0, high], [0.1, high]])

    rng = np.random.default_rng(3)
    cases = []
    for k in range(4):
        a, w = rng.normal(size=5 + 20 * k) * 10.0 ** (k - 1), rng.normal(size=5 + 20 * k)
        cases += [
            (weighed, a, 3 * k + 1, w), (counted, np.round(a), 7), (ranged, a, 6, -1.0, 2.0), (pairs, a, w, 5),
            (counted, np.round(a, 1), np.unique(np.round(a[:9], 1))), (counted, a.astype(np.float32), 9),
            (counted, (a * 3).astype(int), 4), (weighed, a, 5, (w * 5).astype(int)),
        ]  # fmt: skip
    cases += [
        (counted, np.zeros(0), 3), (counted, np.array([1.0, np.nan]), 3), (counted, np.array([1.0, np.inf]), 3),
        (ranged, a, 3, 2.0, 1.0), (ranged, a, 3, 2.0, np.nan), (weighed, a, 3, w[:-1]), (pairs, a, w[:-1], 3),
        (counted, np.full(2, 2.0), 4), (counted, a, np.array([3.0])), (counted, a, 0),
        (counted, np.array([1.0, np.nan, 2.0]), np.array([0.0, 1.5, 3.0])), (counted, np.ones((3, 4)), 3),
        (counted, a, np.array([[0.0, 1.0]])),
    ]  # fmt: skip
    edge = np.linspace(0, 1, 101).astype(np.float32)  # on the edges, to single precision
    cases += [
        (ranged, edge, 10, 0.0, 1.0), (ranged, edge, 10, 0, 1), (ranged, edge, 10, np.float64(0), np.float64(1)),
        (pairs, edge, edge, 10), (pairs, edge, edge * 1.0, 10), (pairs_within, edge, edge, 10, 1.0),
        (pairs_within, edge, edge[::-1].astype(float), 10, 0.7), (ranged, np.arange(5, dtype=np.int8), 4, -1, 3),
    ]  # fmt: skip
    for f, *args in cases:
        want, got = _answer(f, *args), _answer(dj.jit(f, backend=backend), *args)
        if isinstance(want[0], type):
            assert got == want
            continue
        for one, other in zip(want, got, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_bins_that_floats_cannot_tell_apart(backend):
    """As newer releases of NumPy say it; older ones divide by zero."""

    def counted(a):
        return np.histogram(a, 4)

    with pytest.raises(ValueError, match="Too many bins for data range"):
        dj.jit(counted, backend=backend)(np.full(3, 1e300))


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_result_type(backend):
    """Python's numbers are weak, NumPy's are not."""

    def kinds(a, b, n, x):
        first = np.zeros(2, np.result_type(a, n, 2.0))
        second = np.zeros(2, np.result_type(a, b, np.int8))
        third = np.zeros(2, dtype=np.result_type(n, x, a[0]))
        return first, second, third, np.zeros(1, np.result_type(n, np.int16)), np.zeros(1, np.result_type("f4", a))

    numbers = (3, 2.5), (np.int8(3), np.float64(2.5)), (True, 1j)
    for a, b in ((np.float32, np.int16), (np.int8, np.uint8), (np.float64, np.complex64)):
        for n, x in numbers:
            args = np.ones(2, a), np.ones(3, b), n, x
            want = [y.dtype for y in kinds(*args)]
            assert [y.dtype for y in dj.jit(kinds, backend=backend)(*args)] == want


def test_what_a_comprehension_reads_is_read():
    def plain(function, values, other):
        return [function(v) for v in values]

    assert [name for _, name, _ in unread(plain)] == ["other"]
