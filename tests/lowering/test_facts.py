"""What is proven of an access stands beside it, one by one, and what is not proven is tested."""

import numpy as np
import pytest
from numba.core import bytecode, interpreter, ir
from numba.core.bytecode import FunctionIdentity

import diffjit as dj
from diffjit.lowering import marks
from diffjit.lowering.flow.facts import BESIDE, take_out
from diffjit.lowering.marks import LOOPS, parallel


def marked(u, v, n):
    for i in parallel(n):
        u.inside[i] = v.wraps[i - 1] + v[i]
    for i in range(n):
        u.wraps[i] += 1.0
    return v.inside.lent[1:]


def plain(u, v, n):
    for i in range(n):
        u[i] = v[i - 1] + v[i]
    for i in range(n):
        u[i] += 1.0
    return v[1:]


def interpreted(f):
    found = interpreter.Interpreter(FunctionIdentity.from_function(f))
    return found.interpret(bytecode.ByteCode(found.func_id))


def operations(function):
    """What remains to be done, without the numbering of temporaries."""
    return [
        (inst.value.op if isinstance(getattr(inst, "value", None), ir.Expr) else type(inst).__name__)
        for block in function.blocks.values()
        for inst in block.body
        if not (isinstance(inst, ir.Assign) and isinstance(inst.value, ir.Var))
    ]


def test_the_words_are_taken_out():
    function = interpreted(marked)
    take_out(function)
    assert operations(function) == operations(interpreted(plain))
    names = {
        i.value.name
        for b in function.blocks.values()
        for i in b.body
        if isinstance(getattr(i, "value", None), ir.Global)
    }
    assert names == {"range", "slice"}


def test_each_word_is_kept_with_its_access():
    function = interpreted(marked)
    take_out(function)
    facts = getattr(function, BESIDE)
    assert list(facts.loops.values()) == ["parallel"]
    said = sorted(sorted(known) for known in facts.of.values())
    assert said == [["inside"], ["inside", "lent"], ["wraps"], ["wraps"], ["wraps"]]


def test_marked_loops_are_ranges_to_python():
    assert sorted(LOOPS) == ["abreast", "nest", "parallel", "scalar", "side_by_side"]
    assert all(list(getattr(marks, kind)(3)) == [0, 1, 2] for kind in LOOPS)


def gathered(y, w, idx):
    s = 0.0
    for i in range(idx.size):
        s += y[idx[i]] * w[i]
    return s


Y, W, IDX = np.linspace(0.5, 1.5, 7), np.linspace(1.0, 2.0, 30), np.arange(30) % 14 - 7


def test_one_access_of_a_line_is_proven_and_another_is_tested():
    text = dj.source(dj.jit(gathered, backend="numba"), Y, W, IDX, stage="lowered")
    assert "y[idx.inside[i]] * w.inside[i]" in text
    for bad in (7, -8):
        with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
            dj.jit(gathered, backend="numba")(Y, W, np.where(IDX == 3, bad, IDX))


def test_the_way_back_tests_no_index_again():
    text = dj.source(dj.value_and_grad(gathered, argnums=(0, 1), backend="numba"), Y, W, IDX, stage="lowered")
    back = text[text.index("Reverse sweep") :]
    assert "y_bar.wraps[idx_i] += w.inside[i]" in back
    assert "w_bar.inside[i] += y.wraps[idx_i]" in back
    value, (y_bar, w_bar) = dj.value_and_grad(gathered, argnums=(0, 1), backend="numba")(Y, W, IDX)
    assert value == gathered(Y, W, IDX)
    np.testing.assert_allclose(w_bar, Y[IDX])
    np.testing.assert_allclose(y_bar, np.bincount(IDX % 7, W, 7))


def named_like_the_words(parallel, nest, inside, n):
    scalar = 0.0
    for wraps in range(n):
        scalar += parallel[wraps] * nest[wraps - n] * inside
    lent = parallel * scalar
    return np.sum(lent)


def test_names_of_the_user_may_be_any():
    u, v = np.linspace(0.1, 1.0, 5), np.linspace(1.0, 2.0, 5)
    value, (u_bar, x_bar) = dj.value_and_grad(named_like_the_words, argnums=(0, 2), backend="numba")(u, v, 2.0, 5)
    assert value == pytest.approx(named_like_the_words(u, v, 2.0, 5))
    np.testing.assert_allclose(u_bar, 2.0 * (np.sum(u * v) + v * np.sum(u)))
    assert x_bar == pytest.approx(np.sum(u) * np.sum(u * v))


def test_without_optimisation_every_index_is_tested(monkeypatch):
    monkeypatch.setattr(dj.settings, "plain", True)
    found = dj.jit(gathered, backend="numba")
    assert found(Y, W, IDX) == gathered(Y, W, IDX)
    with pytest.raises(IndexError):
        found(Y, W, np.where(IDX == 3, 7, IDX))
