"""Machine code lives as long as a program of it: generated modules, and what Numba keeps of them, end with it."""

import gc
import linecache
import sys
import weakref

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine import derived, shared
from diffjit.lowering.calls import cache

PLAIN = "def f(x):\n    return np.sum(np.sin(x) * x * 0.73125)\n"
WITH_A_TAPE = """def f(x):
    y = x * 0.8128
    while np.sum(y) < 20.0:
        y = y * x + np.sin(y) + 1.0
    return np.sum(y)
"""


def generated():
    return {name for name in sys.modules if name.startswith(f"{cache.PACKAGE}.")}


@pytest.mark.parametrize("text", [PLAIN, WITH_A_TAPE])
def test_nothing_is_left_of_a_function(text):
    before, x, scope = generated(), np.array([1.0, 2.0]), {"np": np}
    linecache.cache["<freed>"] = (len(text), None, text.splitlines(keepends=True), "<freed>")
    exec(compile(text, "<freed>", "exec"), scope)  # noqa: S102 - our own text
    f = scope["f"]
    step = 1e-6
    wanted = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(2)]
    value, pullback = dj.vjp(f, x)
    made = generated() - before
    kept = [weakref.ref(sys.modules[name]) for name in made]
    assert kept
    del f, scope
    shared.forget()
    gc.collect()
    for _ in range(2):  # what was recorded is freed by code that is still there
        np.testing.assert_allclose(pullback(1.0)[0], wanted, rtol=1e-7)
    del pullback, value
    linecache.cache.pop("<freed>")
    derived._CACHED.clear()
    shared.forget()
    gc.collect()
    assert not generated() & made
    assert all(module() is None for module in kept)


def test_no_module_stays_with_llvm():
    """Unoptimised LLVM, ten times as large as the machine code, was held as long as the process lived."""
    from numba.core.registry import cpu_target

    held = cpu_target.target_context.codegen()._engine._ee._modules
    dj.grad(lambda x: np.sum(np.sin(x) * x * 0.25171))(np.ones(3))  # what many programs link, too
    before = len(held)
    for k in range(3):
        gradient = dj.grad(lambda x, k=k: np.sum(np.sin(x) * x * (0.3113 + k)))
        assert gradient(np.ones(2))[0] == pytest.approx((np.sin(1.0) + np.cos(1.0)) * (0.3113 + k))
    assert len(held) == before
