"""Random programs over lists of numbers and of arrays do what Python does with them, errors and memory included."""

import random

import numpy as np
import pytest
from numba.core.runtime import nrt

import diffjit as dj

KINDS = ("number", "array")


class Program:
    """A function of a vector and an int; `k` chooses places, some of which are not there."""

    def __init__(self, seed, kind):
        self.random, self.kind = random.Random(seed), kind
        self.lines = [
            "def f(x, k):",
            f"    a, b = [{self.item()}], [{self.item()}, {self.item()}]",
            "    s = 0.0 * x[0]",
        ]

    def pick(self, *choices):
        return self.random.choice(choices)

    def item(self):
        number = f"x[{self.random.randrange(3)}]"
        return f"{number} * {self.pick('2.0', number)}" if self.kind == "number" else f"{number} * x"

    def place(self):
        return self.pick("0", "-1", "k", "-k", "1", "k - 2", "len(a) - 1", "len(b) - 1", "k + 1")

    def statement(self, depth):
        name = self.pick("a", "b")
        read = f"{name}[{self.place()}]" if self.kind == "number" else f"np.sum({name}[{self.place()}])"
        taken = f"{name}.pop({self.pick('', self.place())})"
        kind = self.random.random()
        if kind < 0.3:
            return [f"{name}.append({self.item()})"]
        if kind < 0.45:
            return [f"{name}.insert({self.place()}, {self.item()})"]
        if kind < 0.55:
            return [f"s += {taken if self.kind == 'number' else f'np.sum({taken})'}"]
        if kind < 0.65:
            return [f"{name}[{self.place()}] = {self.item()}"]
        if kind < 0.75:
            return [f"s += {read}"]
        if kind < 0.8:
            return [self.pick("a = list(b)", "b = a + b", "b = a.copy()", f"s += len({name})")]
        if kind < 0.9 or depth > 1:
            return [f"if len(a) > {self.pick('k', '2', 'len(b)')}:", *self.body(depth + 1)]
        return [f"for i in range({self.pick('k', '3', '20')}):", *self.body(depth + 1)]

    def body(self, depth):
        return ["    " + line for _ in range(self.random.randint(1, 3)) for line in self.statement(depth)]

    def text(self):
        for _ in range(6):
            self.lines += ["    " + line for line in self.statement(0)]
        one = "v" if self.kind == "number" else "np.sum(v * x)"
        self.lines += ["    for v in a + b:", f"        s = 0.5 * s + {one}", "    return s"]
        return "\n".join(["import numpy as np", *self.lines, ""])


@pytest.fixture
def _counted():
    nrt._nrt.memsys_enable_stats()
    yield
    nrt._nrt.memsys_disable_stats()


@pytest.mark.usefixtures("_counted")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [*range(12), 131, 192])
def test_as_python(seed, kind, tmp_path, monkeypatch):
    text = Program(seed, kind).text()
    (tmp_path / f"lists_{kind}_{seed}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    plain = __import__(f"lists_{kind}_{seed}").f
    fast, slope = dj.jit(plain), dj.grad(plain)
    x, v = np.array([0.5, -1.25, 2.0]), np.array([0.3, 0.7, -0.2])
    for k in (0, 0, 1, 2, 5, 30):  # once to compile
        before = nrt.rtsys.get_allocation_stats()
        try:
            want = plain(x, k)
        except IndexError as error:
            for f in (fast, slope):
                with pytest.raises(IndexError, match=str(error).removeprefix("list assignment ")):
                    f(x, k)
        else:
            assert fast(x, k) == pytest.approx(want, rel=1e-12)
            difference = (plain(x + 1e-6 * v, k) - plain(x - 1e-6 * v, k)) / 2e-6
            assert slope(x, k) @ v == pytest.approx(difference, rel=1e-5, abs=1e-7)
        after = nrt.rtsys.get_allocation_stats()
        assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free, text


@pytest.mark.parametrize("cut", [(None, None, 2), (1, None, 3), (-1, 0, -2), (None, 4, -1), (5, 2, 1)])
def test_parts_of_a_growing_list_are_deleted(cut):
    def f(x):
        items = [v for v in x if v > 0]
        del items[cut[0] : cut[1] : cut[2]]
        return sum(v * (k + 1) for k, v in enumerate(items)) ** 2

    x = np.arange(1.0, 8.0)
    value, slope = dj.value_and_grad(f, backend="python")(x)
    assert value == f(x)
    np.testing.assert_allclose(slope, [(f(x + e) - f(x - e)) / 2e-5 for e in 1e-5 * np.eye(7)], rtol=1e-7, atol=1e-6)


def lists_that_take_themselves(x, k):
    rows = []
    for i in range(3):
        rows.append([x[0] * i, x[1]])  # noqa: PERF401 - a list that grows
    rows[0] += rows[k]
    rows[k].extend(rows[1])
    rows[-1] += rows[-1]
    return sum(sum(row) * (i + 1) for i, row in enumerate(rows)) + len(rows[0])


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("k", range(3))
def test_a_list_takes_the_items_that_another_has_which_may_be_itself(k, backend):
    x = np.array([0.9, 1.3, 0.4])
    value, slope = dj.value_and_grad(lists_that_take_themselves, backend=backend)(x, k)
    assert value == pytest.approx(lists_that_take_themselves(x, k))
    f = lists_that_take_themselves
    steps = [(f(x + 1e-6 * e, k) - f(x - 1e-6 * e, k)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(slope, steps, rtol=1e-6, atol=1e-9)


class Scaled:
    def __init__(self, v):
        self.v = v

    def __radd__(self, other):
        return [self.v * item for item in other]


def added(x):
    items = first = [3.0, 1.0, 2.0]
    items += x
    return items @ np.arange(3.0) + len(first)


def added_to_one_that_grows(x):
    items = [v for v in x if v > 0.5]
    items += x[:2]
    return np.sum(items) + len(items)


def a_number_added(x):
    items = [3, x[1]]
    try:
        items += x[0]
    except TypeError:
        return 0.0 * x[0]
    return items[1] ** 2 + len(items)


def multiplied(x):
    items = [3.0, 1.0, 2.0]
    items *= x
    return np.sum(items) + len(items)


def repeated(x):
    items = first = [3.0, x[0]]
    items *= np.int64(2)
    return sum(first) + len(items)


def added_in_an_object(x):
    rows = {"a": [x[0], 2.0]}
    rows["a"] += x[1:]
    return np.sum(rows["a"] ** 2)


def asked_before_the_list(x):
    items = [x[0], 2.0]
    items += Scaled(x[1])
    return sum(items) + len(items)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "function",
    [added, added_to_one_that_grows, a_number_added, multiplied, repeated, added_in_an_object, asked_before_the_list],
)
def test_what_is_added_to_a_list_is_asked_before_the_list(function, backend):
    """`items += array` makes an array: `list.__iadd__` is asked last."""
    x = np.array([0.9, 1.3, 0.4])
    value, slope = dj.value_and_grad(function, backend=backend)(x)
    assert value == pytest.approx(function(x))
    steps = [(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(slope, steps, rtol=1e-6, atol=1e-9)
