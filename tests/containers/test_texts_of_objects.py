"""The text of containers and objects is what Python writes, and of what they are when it is made."""

import collections
import dataclasses
import logging
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import DiffjitError


@dataclasses.dataclass
class Point:
    a: float
    b: int = 2
    hidden: float = dataclasses.field(default=0.0, repr=False)


class Pair(NamedTuple):
    a: float
    b: object


class Spoken(NamedTuple):
    a: float

    def __repr__(self):
        return f"spoken {self.a:.1f}"


class Named:
    def __init__(self, v):
        self.v = v

    def __repr__(self):
        return f"Named<{self.v}>"


class Both(Named):
    def __str__(self):
        return f"both {self.v:.2f}"

    def __format__(self, spec):
        return f"{spec}:{self.v}"


class Bunch(dict):
    pass


SET, ONLY_READ, LONG = {3, 4, 1}, types.MappingProxyType({"a": 1}), [float(k) for k in range(70)]

MADE = {
    "list": lambda x: [x, 1, "a", None, True],
    "tuple": lambda x: (x,),
    "named tuple": lambda x: Pair(x, [x]),
    "named tuple that speaks": Spoken,
    "dict": lambda x: {"a": x, 1: (x, np.float64(x))},
    "dict of its own": lambda x: Bunch(a=x),
    "ordered": lambda x: collections.OrderedDict(a=x),
    "default": lambda x: collections.defaultdict(list, {"a": [x]}),
    "set": lambda x: {1, 2},
    "empty set": lambda x: set(),
    "frozen set": lambda x: frozenset([1]),
    "set outside": lambda x: SET,
    "mapping proxy": lambda x: ONLY_READ,
    "deque": lambda x: collections.deque([x, 1.0], maxlen=3),
    "range": lambda x: range(int(x), 5),
    "range in steps": lambda x: range(0, 5, 2),
    "slice": lambda x: slice(1, int(x)),
    "keys": lambda x: {"a": x}.keys(),
    "items": lambda x: {"a": x}.items(),
    "dataclass": Point,
    "repr": Named,
    "str and format": Both,
    "namespace": lambda x: types.SimpleNamespace(a=x),
    "exception": lambda x: ValueError("a", x),
    "text": lambda x: f"it's {x}",
    "text with quotes": lambda x: f'"it\'s" \\ {x}',
    "one or another": lambda x: "low" if x < 2.0 else "high",
    "one or none": lambda x: None if x < 2.0 else x,
}


@pytest.mark.parametrize("kind", MADE)
def test_texts(kind):
    made = MADE[kind]

    def program(x):
        v = made(x)
        return str(v), repr(v), f"{v} {v!r}", "%s|%r" % (v, v), "{} {!r}".format(v, v), f"{[v]}", f"{(v,)}"  # noqa: UP031, UP032

    for x in (1.5, 2.5):
        assert dj.jit(program, backend="python")(x) == program(x)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_what_is_printed_and_raised(backend, capsys):
    def program(x):
        history, best, a = [], None, np.array([x, 2.0])
        for k in range(int(x) + 2):
            history.append(k * x)
            if history[-1] > 2.0:
                best = history[-1]
        print(history, best, [a], Point(x), f"{f'{x:.1f}':>8}|{x:%}|{x:*>6}|{best!s:<6}|")  # noqa: T201
        raise ValueError(f"{Point(x)} after {history}")

    for x in (1.5, 0.5):
        said = []
        for f in (program, dj.jit(program, backend=backend), dj.grad(program, backend=backend)):
            with pytest.raises(ValueError, match="Point") as error:
                f(x)
            said.append((str(error.value), capsys.readouterr().out))
        assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_exceptions_hold_what_may_be_none(backend):
    def program(x):
        best = x if x > 2.0 else None
        if x > 3.0:
            return f"{best:.2f}"
        raise ValueError("best", best)

    f = dj.jit(program, backend=backend)
    for x in (1.5, 2.5):
        with pytest.raises(ValueError, match="best") as error:
            f(x)
        assert error.value.args == ("best", x if x > 2.0 else None)
    assert f(4.0) == program(4.0)


def test_a_text_is_of_what_was_there(capsys):
    def program(x):
        a, items, table = np.array([x, 2.0]), [x], {"a": [x]}
        text, other = f"{items} {table}", f"{a}"
        items.append(2.0)
        table["a"][0] = 3.0
        a[0] = 9.0
        print(other)  # noqa: T201
        return text

    assert dj.jit(program)(1.5) == program(1.5)
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["[1.5 2. ]"] * 2


def test_a_long_list_outside_is_written_as_a_list(capsys):
    dj.jit(lambda x: (print(LONG), x)[1], backend="python")(2.0)  # noqa: T201
    assert capsys.readouterr().out == f"{LONG}\n"


def test_texts_in_another_format():
    def program(x):
        text = f"{x:%}|{x:*^9.2f}|{x:!>8}|{x:%>8}|{f'{x}':*>6}|{'a':*>3}|{x!s:%>5}"
        return text, f"{[x]!s:>9}|{Named(x)!r:^12}|{f'{x:.1f}':>8}", "%9s|%-8r|%.2s" % ([x], Named(x), f"{x}")  # noqa: UP031

    assert dj.jit(program, backend="python")(1.5) == program(1.5)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_logs_and_other_streams(backend, caplog, capsys):
    def program(x):
        logging.getLogger("texts").warning("%s %r %s", Point(x), Named(x), {1, 2})
        print(Both(x), [Named(x)], SET, file=sys.stderr)  # noqa: T201
        return x

    program(1.5)
    dj.jit(program, backend=backend)(1.5)
    assert len(caplog.messages) == 2
    assert caplog.messages[0] == caplog.messages[1]
    first, second = capsys.readouterr().err.splitlines()
    assert first == second


def test_places_in_templates():
    def program(x):
        given = {"k": {0: 1, "a": 2}, "p": Named(x), "w": ".3f"}
        return "{0!r} {1:.2f} {k[0]} {k[a]} {p.v:{w}}".format("a", x, **given), "{:>{}}".format("a", 4)

    assert dj.jit(program, backend="python")(1.5) == program(1.5)


def test_formats_that_objects_lack():
    def program(x):
        try:
            return f"{[x]:>10}"
        except TypeError as error:
            return str(error)

    assert dj.jit(program, backend="python")(1.5) == program(1.5)


def test_what_only_the_run_knows_is_printed(capsys):
    def program(x):
        pairs, words, arrays, table = [], [], [], {}
        for k in range(int(x)):
            pairs.append((k, x))
            words.append(f"step {k}")
            arrays.append(np.array([x, k]))
            table[2 * k] = (x, None)
        print("all:", pairs, words, arrays, tuple(v * x for v in range(int(x))), table, sep=" | ")  # noqa: T201
        return x

    for x in (0.5, 1.5, 3.5):
        program(x)
        wanted = capsys.readouterr().out
        for f in (dj.jit(program, backend="python"), dj.grad(program, backend="python")):
            f(x)
            assert capsys.readouterr().out == wanted


@pytest.mark.parametrize("kind", ["pairs", "keys", "items"])
def test_what_only_the_run_knows_is_refused(kind):
    def program(x):
        pairs, table, found = [], {}, set()
        for k in range(int(x)):
            pairs.append((k, x))
            table[k] = x
            found.add(k)
        return str(pairs if kind == "pairs" else table if kind == "keys" else found)

    with pytest.raises(DiffjitError, match="DJ118"):
        dj.jit(program, backend="python")(2.5)
