"""Accesses that go without a test name the test on which they rely, and the verifier tells where the order is broken.

The mistakes that are made on purpose here are those that have been made: a test that is printed inside its one use,
behind what relies on it, and one that is dropped because nobody uses what it reads.
"""

import numpy as np
import pytest

import diffjit as dj
from diffjit.ir import passes
from diffjit.ir.build import Builder
from diffjit.ir.checks import PROVEN, Check, cannot_fail, fitting, inherit, needed, relying
from diffjit.ir.nodes import CHECKS, Block, Function, Op, Value
from diffjit.ir.text import folding
from diffjit.ir.types import FLOAT, INT, Array, Scalar, Sym
from diffjit.ir.walk import clone, dce, nothing, walk
from diffjit.lowering.loops.fusion import fuse_loops
from diffjit.lowering.text import source
from diffjit.settings import settings
from diffjit.transforms import pipeline

VECTOR = Array(np.dtype(float), (Sym(),), "C")


def program():
    """`a[i]; a[i] = x`, where the store relies on the load."""
    a, i, x = Value(VECTOR, "a"), Value(INT, "i"), Value(FLOAT, "x")
    build = Builder()
    v = build.value("load", [a, i], Scalar(np.dtype(float)))
    build.op("store", [a, x, i], **relying(v.op, "a test"))
    return Function("f", [a, i, x], build.block), v.op, build.block.ops[1]


def test_a_check_precedes_what_relies_on_it():
    f, load, store = program()
    assert not needed(f)
    assert store.attrs["inbounds"] is load.attrs[CHECKS][0]
    copy = clone(f)
    assert not needed(copy)
    f.body.ops.reverse()
    assert needed(f) == {store.attrs["inbounds"]}
    assert not needed(copy)


def test_a_check_that_is_gone_is_owed_by_callers():
    f, load, store = program()
    f.body.ops.remove(load)
    assert needed(f) == {store.attrs["inbounds"]}
    outer = Function("g", f.params, Block())
    with Builder(outer.body).inside(outer.body):
        Builder(outer.body).op("call", f.params, function=f)
    assert needed(outer) == needed(f)
    outer.body.ops.insert(0, load)
    assert not needed(outer)


def test_one_that_relies_hands_on_whom_it_relies_on():
    _, load, store = program()
    assert relying(store, "another")["inbounds"] is load.attrs[CHECKS][0]


def test_what_cannot_fail_need_not_be_there():
    f, load, _ = program()
    cannot_fail(load)
    f.body.ops.remove(load)
    assert not needed(f)
    assert PROVEN.proven


def test_an_element_that_is_there_by_its_type_needs_no_test():
    row = Value(Array(np.dtype(float), (3,), "C"), "row")
    build = Builder()
    for k, proven in ((2, True), (-3, True), (3, False), (-4, False)):
        v = build.value("load", [row, build.const(k)], FLOAT)
        assert relying(v.op, "a test")["inbounds"].proven == proven


def test_a_shared_operation_tests_for_both():
    _, first, _ = program()
    _, second, store = program()
    inherit(first, second)
    assert store.attrs["inbounds"] in first.attrs[CHECKS]


def test_memory_is_made_before_it_is_relied_upon():
    build = Builder()
    tape = build.value("empty", [build.const(3)], VECTOR, order="C")
    assert fitting(tape, "recording")["inbounds"].by == "recording"
    with pytest.raises(AssertionError, match="is not made where it is accessed"):
        fitting(Value(VECTOR), "recording")


def test_a_condition_holds_in_its_first_branch_alone():
    a, i, c = Value(VECTOR, "a"), Value(INT, "i"), Value(Scalar(np.dtype(bool)), "c")
    check = Check("versions")

    def access():
        block = Block()
        Builder(block).op("store", [a, a, i], inbounds=check)
        return block

    both = Op("if", [c], [], {CHECKS: (check,)}, [access(), Block()])
    assert not needed(Function("f", [a, i, c], Block(ops=[both])))
    both.regions.reverse()
    assert needed(Function("f", [a, i, c], Block(ops=[both]))) == {check}


def test_the_body_of_a_loop_cannot_rely_on_its_own_end():
    f, load, store = program()
    zero, n, one = (Op("const", [], [Value(INT)], {"value": k}) for k in (0, 3, 1))
    loop = Op("for", [zero.out, n.out, one.out], [], {}, [Block([Value(INT)], [store, load])])
    f.body.ops = [zero, n, one, loop]
    assert needed(f) == {store.attrs["inbounds"]}


@pytest.mark.parametrize("kind", ["load", "view"])
def test_loops_are_put_together_behind_tests_that_stores_make(kind):
    """What relies on the index of a store was moved before it, with the loops."""
    e, e_bar, u = (Value(VECTOR, name) for name in ("e", "e_bar", "u"))
    i, x = Value(INT, "i"), Value(FLOAT, "x")
    build = Builder()
    store = build.op("store", [e, x, i])
    if kind == "load":
        read = build.value("load", [e_bar, i], FLOAT, **relying(store, "reverse"))
    else:
        cell = Array(np.dtype(float), (), "C")
        read = build.value("view", [e_bar, i], cell, spec=("i",), **relying(store, "reverse"))
    waves = [build.value(wave, [u], VECTOR) for wave in ("sin", "cos")]
    f = Function("f", [e, e_bar, u, i, x], build.block)
    f.body.results = [read, *waves]
    assert not needed(f)
    fuse_loops(f)
    assert not needed(f)


def read_later(a, b, i):
    """Nothing reads `v` until the end, so it would be printed there."""
    v = a[i]
    s = 0.0
    for k in range(b.size):
        s += np.sin(b[k])
    return s * v


def test_every_access_without_a_test_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "cache_dir", str(tmp_path))
    seen = []

    def look(function, *rest):
        seen.extend(op.attrs["inbounds"] for op in walk(function.body) if "inbounds" in op.attrs)
        return run(function, *rest)

    run = pipeline.run_passes
    monkeypatch.setattr(pipeline, "run_passes", look)
    dj.grad(read_later, (0, 1), backend="numba")(np.ones(3), np.ones(4), 1)
    assert seen
    assert all(isinstance(check, Check) for check in seen)


def test_a_test_that_is_printed_inside_its_use_is_found(monkeypatch, tmp_path):
    """Without effects in their order the gradient would write before the index is tested."""

    def scaled(a, i):
        return a[i] * 2.0

    monkeypatch.setattr(settings, "cache_dir", str(tmp_path))
    monkeypatch.setattr(folding, "relies", lambda op: False)
    monkeypatch.setattr(source.LoweredPrinter, "raises", lambda self, op: False)
    with pytest.raises(dj.DiffjitError, match="printed in front of checks"):
        dj.value_and_grad(scaled, backend="numba")(np.ones(3), 1)


def dropped(function):
    """A pass that takes away what nobody needs, tests and all."""
    dce(function, nothing)


def turned(function):
    """A pass that mixes up the order."""
    function.body.ops.reverse()


@pytest.mark.parametrize("mistake", [dropped, turned])
def test_a_pass_that_drops_or_moves_a_test_is_named(mistake):
    f, *_ = program()
    with pytest.raises(AssertionError, match="after the pass a mistake: no check comes before what relies on it"):
        passes.run_passes(f, [passes.Pass("a mistake", mistake)], passes.Phase.PROGRAM, "test")


def test_the_verifier_is_asked_in_tests():
    assert settings.verify_passes
