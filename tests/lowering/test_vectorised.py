"""Loops whose order nobody prescribes use vector instructions: looked for in what LLVM has made of them."""

import re

import numpy as np
import pytest

import diffjit as dj

VECTOR = re.compile(r"= f(?:add|mul)[a-z ]*<\d+ x (?:double|float)>|= (?:add|mul)[a-z ]*<\d+ x i64>")


def rows(a, x):
    return a @ x


def columns(a, x):
    return a.T @ x


def left(a, x):
    return x @ a


def inner(a, x):
    return x @ x


def small(a, x):
    return a[:8, :8] @ a[8:16, :8]


def integers(a, x):
    k = a.astype(np.int64)
    return k @ k


def element(a, x):
    return a * x + a


def along(a, x):
    return np.sum(a * a, axis=1)


def whole(a, x):
    return np.sum(a * x)


def loop(a, x):
    out = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * x[j] + 1.0
    return out


PROGRAMS = (rows, columns, left, inner, small, integers, element, along, whole, loop)


def bodies(text):
    """The blocks that a loop's own jump ends, of all functions."""
    for block in re.split(r"\n(?=[\w.$]+:)", text):
        label = block.partition(":")[0].strip()
        if re.search(rf"label %{re.escape(label)}(?![\w.])", block):
            yield block


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_loops_use_vectors(program, dtype):
    rng = np.random.default_rng(0)
    a, x = rng.random((40, 40)).astype(dtype), rng.random(40).astype(dtype)
    found = [b for b in bodies(dj.source(dj.jit(program), a, x, stage="llvm")) if VECTOR.search(b)]
    assert found
    assert not any("diffjit_fail" in b for b in found)
