"""Sets whose items are known: the order that Python gives them, and what their operators do."""

import collections
import importlib
import inspect
import os
import random
import subprocess
import sys

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError
from tests.one_number import as_python

BACKENDS = ["python", "numba"]

STEPS = (
    "s.add({a})", "s.discard({a})", "s.update({items})", "s.update(t)", "s.update({{{a}: 1, {a} + 8: 2, {a} + 16: 3}})",
    "s = s | t", "s = s & {{*range({a})}}", "s = s - {{{a}, {a} + 8}}", "s ^= t", "s |= {{{a}, 2 * {a}}}",
    "s -= {{{a}, {a} + 1}}", "s &= set(range({a}, 60))", "t = s.copy()", "t = set(s)", "s, t = t, s",
    "x += 0.001 * s.pop() if s else 0", "s = dict.fromkeys(s).keys() - {{{a}}}", "s = dict.fromkeys(s).keys() & t",
    "s = t | dict.fromkeys(range({a})).keys()", "s = [{a}, {a} + 8] ^ dict.fromkeys(s).keys()",
    "s = s.union(t, [{a}, {a} + 8])", "s = s.symmetric_difference([{a}, {a} + 8])", "t = set(frozenset(s) | {{{a}}})",
    "s = {{k for k in s if k != {a}}}", "s.difference_update([{a}, {a} + 1], t)", "s = set(dict.fromkeys(s))",
    "s = {{{a}, {a} + 8, {a} + 16, {a} + 24, 2}}",
)  # fmt: skip


def text(seed):
    """A program that changes two sets, and goes through them."""
    chance = random.Random(seed)
    lines = [f"def program_{seed}(x):", "    s, t = set(), {3, 8, 16}"]
    for _ in range(chance.randrange(3, 12)):
        items = [chance.randrange(64) for _ in range(chance.randrange(8))]
        lines.append("    " + chance.choice(STEPS).format(a=chance.randrange(40), items=items))
    lines += ["    for i, k in enumerate([*s, *t]):", "        x += i * k", "    return x", ""]
    return "\n".join(lines)


def test_items_come_in_python_s_order(tmp_path, monkeypatch):
    path = tmp_path / "programs_of_sets.py"
    path.write_text("\n".join(map(text, range(40))))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("programs_of_sets")
    for seed in range(40):
        program = getattr(module, f"program_{seed}")
        assert dj.jit(program, backend="python")(1.5) == pytest.approx(program(1.5), rel=1e-12), text(seed)


def taken_away(x):
    levels = set(range(20))
    for k in range(20):
        if k not in {9, 16}:
            levels.remove(k)
    levels.add(1)
    total = 0.0
    for place, level in enumerate(levels):
        total = total + place * level * x**2
    return total


def in_place(x):
    levels = {8, 0, 17}
    levels.add(16)
    levels.remove(0)
    levels |= {0, 24}
    levels -= {17}
    return sum(k * level * x**2 for k, level in enumerate(levels))


LEVELS = set(range(20))
LEVELS.difference_update([k for k in range(20) if k not in {9, 16}])


def from_outside(x):
    return sum(k * level * x**2 for k, level in enumerate(LEVELS))


def frozen_keeps_its_items(x):
    fixed = frozenset({1, 2})
    more = fixed
    more |= {3}
    more -= {1}
    return x**2 * len(fixed) + x**3 * len(more)


def popped(x):
    kinds = {type(x), float}
    left = {8, 0, 16, 3}
    first = left.pop()
    left.add(32)
    return x**2 * (1.0 if kinds.pop() is float else 2.0) * (first + 10.0 * left.pop() + 1.0)


def controls_to_trim(x):
    controls = {"elevator": x, "rudder": x**2, "throttle": x**3}
    fixed = {"rudder": 1.0}
    total = 0.0
    for name in controls.keys() - ["rudder"]:
        total += controls[name]
    for name in sorted(controls.keys() & fixed.keys()) + sorted(controls.keys() ^ {"rudder", "flaps"}):
        total += 2.0 * controls.get(name, 0.5)
    if controls.keys() >= fixed.keys() and {"rudder"} == fixed.keys() and fixed.keys() | {"x"} != controls.keys():
        total *= 3.0
    return total


def pairs_taken_away(x):
    scales = {"a": x, "b": x**2}
    return sum(value for _, value in sorted(scales.items() - {("a", 7.0)}))


def named_by_their_class(x):
    options = dict.copy({"scale": x})
    dict.update(options, offset=1.0)
    items = [3.0]
    list.append(items, x**2)
    levels = frozenset.union(frozenset({1}), {2}, [3])
    rows = [np.ndarray.sum(np.array([x, 1.0])), np.ndarray.mean(np.array([2.0, x**2]))]
    rows.append(np.ndarray.item(np.ndarray.reshape(np.array([[x**3]]), (1,))))
    return sum(dict.values(options)) * items[1] * len(levels) + list.pop(items) * tuple.count((1, 1, 2), 1) * sum(rows)


def from_keys(x):
    totals = dict.fromkeys(("a", "b"), 0.0)
    totals["a"] += x**2
    return totals["a"] * len(dict.fromkeys("xyx")) + sum(dict.fromkeys([1, 2, 1], x).values())  # pyright: ignore[reportArgumentType, reportCallIssue]


def last_items_first(x):
    rates, total = {"a": x, "b": x**2}, 0.0
    while rates:
        _, rate = rates.popitem()
        total = total * 2.0 + rate
    ordered = collections.OrderedDict(p=x, q=x**3)
    return total + ordered.popitem(last=False)[1]


def by_their_parameters(x):
    def field(position, time):
        return position * x**2 + time

    fixed = lambda position, *more, k=3: position * x + k
    total = 0.0
    for law in (field, fixed):
        if "time" in str(inspect.signature(law)):
            total += law(2.0, 1.0) * len(inspect.signature(law).parameters)
        elif "k=3" in str(inspect.signature(law)):
            total += law(2.0)  # pyright: ignore[reportCallIssue]
    return total if list(inspect.signature(taken_away).parameters) == ["x"] else 0.0 * x


PROGRAMS = [
    taken_away, in_place, from_outside, frozen_keeps_its_items, popped, controls_to_trim, pairs_taken_away,
    named_by_their_class, from_keys, last_items_first, by_their_parameters,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_sets(f, backend):
    as_python(f, backend)


NAMED = """
import diffjit as dj

def named(x):
    names = {"alpha", "beta", "gamma", "delta", "epsilon"}
    names.discard("beta")
    return sum(k * len(name) * ord(name[0]) * x for k, name in enumerate(names))

print(dj.jit(named)(2.0) == named(2.0))
"""


def test_texts_have_another_order_in_each_process(tmp_path):
    path = tmp_path / "named.py"
    path.write_text(NAMED)
    for seed in ("1", "3"):  # which give the names another order
        environment = {**os.environ, "PYTHONHASHSEED": seed, "DIFFJIT_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(  # noqa: S603 - the program above
            [sys.executable, path], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["True"]


def empty(x):
    return x * set().pop()


def no_key(x):
    return {"a": x}.pop()  # pyright: ignore[reportCallIssue]


def nothing_appended(x):
    items = [x]
    items.append()  # pyright: ignore[reportCallIssue]
    return items[0]


def of_another_class(x):
    return dict.get([x], 0)  # pyright: ignore[reportArgumentType]


def of_no_array(x):
    return np.ndarray.item(x)


@pytest.mark.parametrize("f", [empty, no_key, nothing_appended, of_another_class, of_no_array])
def test_mistakes_are_the_program_s_own(f):
    with pytest.raises((KeyError, TypeError)) as plain:
        f(1.3)
    with pytest.raises((type(plain.value), DiffjitError)) as found:
        dj.grad(f)(1.3)
    assert getattr(found.value, "code", "DJ306") in {"DJ306", "DJ308"}


def seen_and_marked(seen, x):
    seen.add(7)
    seen.discard(1)
    return x * len(seen) if 1 not in seen else x


def joined_in_order(seen, others, x):
    seen.update(others)
    total = 0.0
    for place, item in enumerate(seen):
        total += (place + 1.0) * item * x
    return total


@pytest.mark.parametrize("function", [seen_and_marked, joined_in_order])
def test_a_set_among_the_arguments_is_changed_as_python_changes_it(function):
    others = () if function is seen_and_marked else (frozenset({4, 100, 12}),)
    compiled = dj.jit(function)
    for items in ({1, 2}, {1, 2, 3}, {2, 7}):
        given, plain = set(items), set(items)
        assert compiled(given, *others, 1.5) == function(plain, *others, 1.5)
        assert given == plain


def test_a_derivative_leaves_a_set_among_the_arguments_alone():
    given = {1, 2}
    assert dj.grad(seen_and_marked, argnums=1)(given, 1.5) == 2.0
    assert given == {1, 2}


def test_sets_of_equal_items_in_another_order_are_other_arguments():
    def first(items, x):
        return next(iter(items)) * x

    one, other = {0, 8}, {8, 0}
    compiled = dj.jit(first)
    for items in (one, other):
        assert compiled(items, 2.0) == first(items, 2.0)
