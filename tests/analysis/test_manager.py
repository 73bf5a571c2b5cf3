"""Analyses are made once for a function as it is, and anew when anything about it has changed."""

import numpy as np
import pytest

from diffjit.analysis.manager import analyses
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import INT, Array, Scalar, Sym
from diffjit.ir.walk import walk

F8 = Scalar(np.dtype("f8"))


def program():
    """for k in range(n): y[k] = x[k]"""
    x, y = (Value(Array(F8.dtype, (Sym(),), "C"), name) for name in "xy")
    n = Value(INT, "n")
    body = Block()
    build = Builder(body)
    inner = Block([Value(INT, "k")])
    with build.inside(inner):
        read = build.value("load", [x, inner.args[0]], F8)
        build.op("store", [y, read, inner.args[0]])
    build.op("for", [build.const(0), n, build.const(1)], [], regions=[inner], exit=False)
    return Function("f", [x, y, n], body)


def test_the_same_function_is_looked_at_once():
    f = program()
    known = analyses(f)
    memory = known.memory
    assert analyses(f) is known
    assert analyses(f).memory is memory
    assert analyses(f).bounds.order is memory.order


def an_operation_goes(f):
    next(op for op in walk(f.body) if op.kind == "for").regions[0].ops.pop()


def an_operand_changes(f):
    load = next(op for op in walk(f.body) if op.kind == "load")
    load.inputs[0] = f.params[1]


def an_attribute_changes(f):
    next(op for op in walk(f.body) if op.kind == "for").attrs["reverse"] = True


def a_type_changes(f):
    load = next(op for op in walk(f.body) if op.kind == "load")
    load.out.type = Scalar(np.dtype("f4"))


def a_block_changes(f):
    f.body = Block(f.body.args, f.body.ops, f.body.results)


def a_result_comes(f):
    f.body.results.append(f.params[0])


def two_operations_change_places(f):
    f.body.ops[0], f.body.ops[1] = f.body.ops[1], f.body.ops[0]


@pytest.mark.parametrize(
    "change",
    [an_operation_goes, an_operand_changes, an_attribute_changes, a_type_changes, a_block_changes, a_result_comes,
     two_operations_change_places],
    ids=lambda c: c.__name__,
)  # fmt: skip
def test_a_function_that_has_changed_is_looked_at_again(change):
    f = program()
    known = analyses(f)
    change(f)
    assert analyses(f) is not known


def test_what_is_written_after_a_change():
    f = program()
    x, y, _ = f.params
    assert analyses(f).memory.written(y)
    assert not analyses(f).memory.written(x)
    store = next(op for op in walk(f.body) if op.kind == "store")
    store.inputs[0] = x
    assert analyses(f).memory.written(x)
    assert not analyses(f).memory.written(y)
