"""Lists of known length that are cut at places of the run: as Python's."""

import bisect
import itertools

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import MemoryProblem, TypeProblem
from tests.containers.quotients import DIRECTION, check

POINT = np.array([3.0, 1.1, 2.0, 0.5])


class Tank:
    def __init__(self, level):
        self.level = level


def parts(x):
    values = [x[0], x[1] * 2, x[2], 4.0]
    k = int(np.argmax(x < 1.5))
    return sum(values[:k]) + sum(values[k:]) ** 2 * x[3] + sum(values[-k:]) + sum(values[::k]) + sum(values[k::-1])


def filled(x):
    weights = [1.0, 2.0, 3.0 * x[1], 4.0]
    behind = list(itertools.accumulate(weights))
    k = bisect.bisect(behind, 5.0)
    return sum(weights[:k]) + (5.0 - behind[k - 1]) * x[2] / weights[k]


def arrays(x):
    rows = [x * 1.0, x * 2, x * 3]
    rest = rows[int(x[1]) :]
    rest[0][0] = 7.0 * x[1]
    return np.sum(rows[1]) + np.sum(rest[0] ** 2) + len(rest)


def objects(x):
    tanks = [Tank(x[0]), Tank(x[1]), Tank(x[2])]
    rest = tanks[int(x[1]) :]
    tanks[2].level = x[3] * 5
    return sum([t.level**2 for t in rest])


def replaced(x):
    values = [x[0], x[1], x[2]]
    k = int(x[1])
    values[k:] = [x[3]]
    return sum(values) * len(values)


def deleted(x):
    values = [x[0], x[1], x[2]]
    k = int(x[1])
    del values[k:]
    return sum(values) * len(values)


def inner_lists(x):
    rows = [[x[0], x[1]], [x[2]], [x[3], x[0]]]
    rest = rows[int(x[1]) :]
    rest[0].append(x[3])
    return sum(rows[1]) * 3 + len(rest[0]) + sum(rest[1])


def without_one(x):
    values = [x[0], x[1], x[2]]
    k = int(x[1])
    texts = ["a", "bb", "ccc"]
    return np.prod(np.array(values[:k] + values[k + 1 :])) + sum([len(t) for t in texts[k:]]) * x[0]


def of_tuples(x):
    """Tuples stay what they are, but for the length of a part."""
    t = (x[0], x[1] * 2, x[2], 4.0)
    pairs = ((x[0], 1.0), (x[1], x[2]), (x[3], 2.0))
    k = int(x[0] - 0.5)
    s = sum(t[:k]) + sum(v * v for v in t[1:k]) * x[3] + sum(t[-k:]) + sum(t[::k]) + t[:k][-1] * len(t[k - 1 :])
    s = s + sum(a * b for a, b in pairs[:k]) + sum(a * b for a, b in zip(t[:k], t[1 : k + 1]))  # noqa: B905, RUF007
    s = s + np.sum(np.array(t[:k]) ** 2) + sum(list(t[:k])) + sum(tuple(t[:k][1:])) + max(t[k - 1 :][::-1])
    return s + np.prod(np.ones((2, 3, 4)).shape[:k]) * (x[1] if x[0] in t[:k] else 0.0)


def objects_of_a_tuple(x):
    tanks = (Tank(x[0]), Tank(x[1]), Tank(x[2]))
    rest = tanks[int(x[1]) :]
    tanks[2].level = x[3] * 5
    return sum([t.level**2 for t in rest])


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "program",
    [parts, filled, arrays, objects, replaced, deleted, inner_lists, without_one, of_tuples, objects_of_a_tuple],
)
def test_cut(program, backend):
    check(program, POINT, backend)
    ends = [dj.grad(program, backend=backend)(POINT + s * 1e-5 * DIRECTION) for s in (1, -1)]
    second = dj.hvp(program, (POINT,), (DIRECTION,), backend=backend)
    np.testing.assert_allclose(second, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "program",
    [
        lambda t, k: t[:k] == t[:2],
        lambda t, k: t[:k] == [*t[:2]],
        lambda t, k: t[:k] < t[1:],
        lambda t, k: t[:k] + (1.0,),  # noqa: RUF005
        lambda t, k: (1.0,) + t[:k] + t[1:k],  # noqa: RUF005
        lambda t, k: isinstance(t[:k], tuple),
        lambda t, k: type(t[:k][1:]) is list,
        lambda t, k: t[:k],
        lambda t, k: {"cut": t[:k], "list": list(t[:k])},
    ],
    ids=["equal", "no list", "order", "joined", "joined twice", "asked", "type", "returned", "within a dict"],
)
@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_part_of_a_tuple_is_one(program, backend):
    def cut(x):
        return program((x, x * 2, x * 3), int(x))

    assert dj.jit(cut, backend=backend)(2.5) == cut(2.5)


@pytest.mark.parametrize(
    "program",
    [lambda t, k: t[:k] * 2, lambda t, k: [1.0] + t[:k], lambda t, k: {t[:k]: 1.0}],  # noqa: RUF005
    ids=["repeated", "joined to a list", "key"],
)
def test_a_part_of_a_tuple_is_no_list(program):
    with pytest.raises(dj.DiffjitError, match="DJ307"):
        dj.jit(lambda x: program((x, x * 2, x * 3), int(x)), backend="python")(2.5)


def test_a_part_of_a_tuple_is_not_changed():
    def changed(x):
        part = (x, x * 2)[: int(x)]
        part.append(x)  # pyright: ignore[reportAttributeAccessIssue]
        return sum(part)

    with pytest.raises(dj.DiffjitError, match="DJ402"):
        dj.grad(changed, backend="python")(1.5)


def positive_squares(x):
    found = [(x[k] ** 2, k) for k in range(len(x)) if x[k] > 0]
    return {"all": tuple(found), "list": found, "rest": tuple([a for a, _ in found])[1:]}


@pytest.mark.parametrize("backend", ["numba", "python"])
def test_tuples_of_the_run_are_returned_as_such(backend):
    x = np.array([1.0, -3.0, 2.0, 4.0])
    assert dj.jit(positive_squares, backend=backend)(x) == positive_squares(x)
    found, tangent = dj.jvp(positive_squares, (x,), (np.ones(4),), backend=backend)
    assert found == positive_squares(x)
    assert tangent["all"] == ((2.0, 0.0), (4.0, 0.0), (8.0, 0.0))
    assert tangent["rest"] == (4.0, 8.0)


USES = {
    "an index for each axis": lambda x, places: x[places],
    "repeated": lambda x, places: sum(places * 2),
    "a key": lambda x, places: sum({places: x[0]}.values()),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_a_tuple_of_the_run_is_not_used_for(use):
    def program(x):
        return use(x, tuple([k for k in range(len(x)) if x[k] > 0]))

    with pytest.raises(dj.DiffjitError, match="DJ307"):
        dj.jit(program)(np.array([1.0, -3.0, 2.0]))


def below_and_above(x):
    found = []
    for k in range(len(x)):
        found.append((k, tuple([v * v for v in x if v < x[k]]), [v for v in x if v > x[k]]))  # noqa: PERF401
    return found, [items for _, items, _ in found]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_tuples_of_the_run_leave_as_tuples(backend):
    x = np.array([1.5, 3.5, 2.5, 0.5])
    assert dj.jit(below_and_above, backend=backend)(x) == below_and_above(x)
    value, tangent = dj.jvp(below_and_above, (x,), (np.array([1.0, 0.0, 2.0, 0.0]),), backend=backend)
    assert value == below_and_above(x)
    assert tangent[1] == [(0.0,), (3.0, 10.0, 0.0), (3.0, 0.0), ()]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_list_holds_tuples_or_lists(backend):
    def f(x):
        rows = []
        for k in range(len(x)):
            items = [v for v in x if v < x[k]]
            if x[k] > 1.0:
                rows.append(items)
            else:
                rows.append(tuple(items))
        return sum(isinstance(r, tuple) for r in rows)

    with pytest.raises(TypeProblem, match="a tuple of a length of the run"):
        dj.jit(f, backend=backend)(np.array([0.5, 1.5]))


def test_a_tuple_of_the_run_is_not_changed():
    def f(x):
        rows = [tuple([v for v in x if v > 0.0])]
        for k in range(len(x)):
            rows.append(tuple([v for v in x if v < x[k]]))  # noqa: PERF401
        rows[-1][0] = 1.0
        return rows

    with pytest.raises(MemoryProblem, match="a tuple is changed here"):
        dj.jit(f)(np.array([0.5, 1.5]))


def kinds_that_differ(x):
    pair, items, grown = (x[0], x[1]), [x[0], x[1]], [v for v in x if v > 0.0]
    return (
        pair == items, items != pair, pair == (x[0], x[1]), items == grown, pair == grown, pair == tuple(grown),
        pair in [items, items], [items].count(pair), "ab" == ["a", "b"],
        [p == [1.0, 1.0] for p in zip(grown, grown, strict=True)],
        [r == () for r in [[v for v in x if v > y] for y in x]],
    )  # fmt: skip


def starred(x):
    def inside(*rest):
        return isinstance(rest, tuple), rest == (), rest == [], sum(rest), (1.0, *rest)

    return inside(*[v for v in x if v > 1.0]), inside(*[v for v in x if v > 9.0])


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("function", [kinds_that_differ, starred])
def test_lists_tuples_and_texts_differ(function, backend):
    x = np.array([1.0, 1.0])
    assert dj.jit(function, backend=backend)(x) == function(x)


def of_several_lengths(x):
    rows, row = [], (x[0],)
    for k in range(len(x)):
        if x[k] > 1.0:
            row = (x[k], 1.0, x[0])
        elif x[k] > 0.8:
            row = ()
        rows.append(row)
        rows.append((*row, 2.0 * x[k]))
        if x[k] > 1.05:
            rows.append((x[k], 2.0))
        else:
            rows.append((1.0,))
    total = 0.0
    for k, found in enumerate(rows):
        total += sum(found) * len(found) * isinstance(found, tuple)
        if len(found) == 2:
            a, b = found
            total += a * b * k
    return total


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_tuples_of_several_lengths(backend):
    check(of_several_lengths, POINT, backend)


def longest(x):
    best, pair = (), (x[0], x[1])
    for k in range(len(x)):
        found = tuple([v for v in x if v < x[k]])
        if len(found) > len(best):
            best = found
        if len(found) > len(pair):
            pair = found
    return best, pair, pair[:1], (*pair, 1.0), best == (), isinstance(pair, tuple)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_tuples_of_the_run_beside_others(backend):
    assert dj.jit(longest, backend=backend)(POINT) == longest(POINT)
    assert dj.jit(longest, backend=backend)(POINT[:2]) == longest(POINT[:2])
