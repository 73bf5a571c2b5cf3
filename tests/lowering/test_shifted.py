"""Additions to shifted parts, in programs built by hand: what is read and written between them, and what is fresh."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from diffjit.ir.build import Builder
from diffjit.ir.nodes import Function, Value
from diffjit.ir.types import FLOAT, INT, Array, Sym
from diffjit.ir.walk import clone, walk
from diffjit.lowering.calls.cpu import compile_function
from diffjit.lowering.loops.stencils import SHIFTED, join_shifted
from tests.lowering.harness import program

N = 5


class Drawn:
    """A program of two targets and two sources at random, as operations and as NumPy's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.length = Sym(not_one=True)
        self.long = Sym(not_one=True)

    def build(self, b: Builder, s: Value, t: Value, given: Value, c: Value) -> list[Value]:
        """The operations; what each does with arrays is kept for `expected`."""
        self.log: list[Any] = []
        n, two = b.value("dim", [s], b.const(0).type, axis=0), b.const(2)
        total = b.value("add", [n, two], n.type)
        whole = Array(s.type.dtype, (self.long,), "C")
        fresh = [b.value("zeros", [total], whole, order="C") for _ in range(2)]
        targets, sources, results = [*fresh, given], [("s", s), ("t", t)], []
        for _ in range(self.random.randint(3, 12)):
            which = self.random.random()
            k, (label, source) = self.random.randrange(3), self.random.choice(sources)
            if which < 0.5:
                first = self.random.randint(0, 2)
                b.op("accum", [self.part(b, targets[k], first, n), source])
                self.log.append(("add", k, first, label))
            elif which < 0.75:
                kind = self.random.choice(["negative", "multiply"])
                made = b.value(kind, [source] if kind == "negative" else [source, c], source.type)
                new = f"v{len(sources)}"
                sources.append((new, made))
                self.log.append((kind, new, label))
            elif which < 0.85:
                b.op("assign", [self.random.choice([s, t]), source] if label not in "st" else [s, t])
                self.log.append(("assign", "t" if label not in "st" and b.block.ops[-1].inputs[0] is t else "s",
                                 label if label not in "st" else "t"))  # fmt: skip
            elif which < 0.93:
                results.append(b.value("sum", [targets[k]], FLOAT, axes=(0,), keepdims=False))
                self.log.append(("sum", k))
            else:
                b.op("accum", [self.part(b, targets[k], 0, n), self.part(b, targets[(k + 1) % 3], 1, n)])
                self.log.append(("across", k, (k + 1) % 3))
        return [*results, *fresh]

    def part(self, b: Builder, array: Value, first: int, n: Value) -> Value:
        """As many elements as a source has."""
        start = b.const(first)
        stop = b.value("add", [n, start], n.type)
        return b.value("view", [array, start, stop], Array(array.type.dtype, (self.length,), "C"),
                       spec=(("s", True, True, None),))  # fmt: skip

    def expected(self, s: Any, t: Any, given: Any, c: float) -> list[Any]:
        """What NumPy makes of it; changes `s`, `t` and `given`."""
        targets, known, results = [np.zeros(N + 2), np.zeros(N + 2), given], {"s": s, "t": t}, []
        for what, *rest in self.log:
            if what == "add":
                targets[rest[0]][rest[1] : rest[1] + N] += known[rest[2]]
            elif what == "across":
                targets[rest[0]][:N] += targets[rest[1]][1 : N + 1].copy()
            elif what == "sum":
                results.append(targets[rest[0]].sum())
            elif what == "assign":
                known[rest[0]][:] = known[rest[1]].copy()
            else:
                known[rest[0]] = -known[rest[1]] if what == "negative" else known[rest[1]] * c
        return [*results, *targets[:2]]


def drawn(seed: int) -> tuple[Drawn, Function]:
    """A program and its function."""
    one = Drawn(seed)
    vector, whole = Array(np.dtype(float), (one.length,), "C"), Array(np.dtype(float), (one.long,), "C")
    return one, program(one.build, types=(vector, vector, whole, FLOAT), name=f"drawn{seed}")


def joined(function: Function) -> Counter[str]:
    """How often which kind of operation is there, once additions have been joined."""
    copy = clone(function)
    join_shifted(copy)
    return Counter(op.kind + ("_fresh" if op.attrs.get("fresh") else "") for op in walk(copy.body))


@pytest.mark.parametrize("batch", range(8))
def test_random_programs(batch: int) -> None:
    rng = np.random.default_rng(batch)
    for seed in range(5 * batch, 5 * batch + 5):
        one, function = drawn(seed)
        arguments = [rng.integers(1, 9, N) * 1.0, rng.integers(1, 9, N) * 1.0, rng.integers(1, 9, N + 2) * 1.0, 3.0]
        twins: list[Any] = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        got, wanted = compile_function(function)(*arguments), one.expected(*twins)
        for a, b in zip([*got, *arguments[:3]], [*wanted, *twins[:3]], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=str(one.log))


def test_the_programs_have_what_they_are_for() -> None:
    found = sum((joined(drawn(seed)[1]) for seed in range(40)), Counter[str]())
    assert found[f"{SHIFTED}_fresh"] > 8
    assert found[SHIFTED] > 8
    assert found["accum"] > 40


def test_what_the_caller_gave_is_added_to_before_an_error() -> None:
    one = Drawn(0)
    vector, whole = Array(np.dtype(float), (one.length,), "C"), Array(np.dtype(float), (one.long,), "C")

    def build(b: Builder, s: Value, given: Value, i: Value) -> list[Value]:
        n = b.value("dim", [s], i.type, axis=0)
        b.op("accum", [one.part(b, given, 0, n), s])
        item = b.value("load", [s, i], FLOAT)
        b.op("accum", [one.part(b, given, 1, n), s])
        return [item]

    function = program(build, types=(vector, whole, INT), name="interrupted")
    assert joined(function)[SHIFTED] == 0
    given = np.zeros(N + 2)
    with pytest.raises(IndexError):
        compile_function(function)(np.ones(N), given, N)
    np.testing.assert_array_equal(given, [1.0] * N + [0.0] * 2)
