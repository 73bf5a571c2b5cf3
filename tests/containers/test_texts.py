"""Texts that are made while a program runs, as results and as what is left in objects, lists and dicts."""

from __future__ import annotations

import bisect
import collections

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.syntax.loops import Loops

BACKENDS = ["python", pytest.param("numba", marks=pytest.mark.slow)]


class Model:
    """A model that writes down what it did."""

    def __init__(self, k):
        self.k = k
        self.note = ""
        self.log = []
        self.last = {"text": "none", "x": 0.0}

    def run(self, x):
        y = self.k * x * x
        self.note = f"y = {y:.3f}" if y > 0.2 else "little"
        self.log.append("up" if x > 0.5 else "down")
        self.last = {"text": f"{x:5.2f}!", "x": x}
        self.trace = "turns:" + str(x) + f" and {y!r}"
        return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [0.7, 0.1])
def test_what_a_method_leaves(x, backend):
    mine, theirs = Model(2.0), Model(2.0)
    assert np.isclose(dj.jit(mine.run, backend=backend)(x), theirs.run(x))
    assert vars(mine) == vars(theirs)
    before = dict(vars(mine))
    assert np.isclose(dj.grad(mine.run, backend=backend)(x), 4.0 * x)
    assert vars(mine) == before  # derivatives change nothing outside


def told(x):
    n = int(x * 10)
    size = f"big {x:.1f}" if x > 0.5 else "small"
    return x * x, f"{n} {n:03d} {x > 0.2} {np.sin(x)!r} {x!r} {{}}", [size, {"a": f"{x:e}"}]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [0.7, 0.1])
def test_results(x, backend):
    assert dj.jit(told, backend=backend)(x) == told(x)
    value, tangent = dj.jvp(told, (x,), (1.0,), backend=backend)
    assert value == told(x)
    assert np.isclose(tangent[0], 2.0 * x)
    (found, aux), slope = dj.value_and_grad(lambda x: (told(x)[0], told(x)[1]), has_aux=True, backend=backend)(x)
    assert (found, aux) == told(x)[:2]
    assert np.isclose(slope, 2.0 * x)
    inner = dj.jit(told, backend=backend)

    def outer(x):
        value, text, (size, _) = inner(x)
        return value * x, f"{text} and {size}"

    assert dj.jit(outer, backend=backend)(x) == outer(x)
    assert np.isclose(dj.grad(lambda x: outer(x)[0], backend=backend)(x), 3.0 * x * x)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: dj.jacobian(told)(0.7), r"DJ322.* is a text"),
        (lambda: dj.vmap(told)(np.array([0.7, 0.1])), r"DJ321.*a text that is made"),
        (lambda: dj.jit(lambda x: f"{x * np.ones(2)}")(0.7), r"DJ319.*made of an array"),
    ],
)
def test_what_has_no_texts(call, code):
    with pytest.raises(dj.DiffjitError, match=code):
        call()


def listed(x, n):
    text, total = "", 0.0
    for k in range(n):
        text += f"{k}: {x[k]:.2f}, "
        total += x[k] ** 2
    return total, text


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_a_text_that_a_loop_makes_longer(monkeypatch, backend):
    """A loop is written out soon, also where an argument says how long it is; else it is refused, soon as well."""
    attempts, as_ever = [], Loops._attempt
    monkeypatch.setattr(Loops, "_attempt", lambda *given: (attempts.append(given), as_ever(*given))[1])
    x = np.linspace(0.1, 0.6, 6)
    assert dj.jit(listed, backend=backend)(x, 5) == listed(x, 5)
    slope, text = dj.grad(listed, has_aux=True, backend=backend)(x, 6)
    assert np.allclose(slope, 2.0 * x)
    assert text == listed(x, 6)[1]
    for y in (x, x[:3]):
        assert dj.jit(lambda x: listed(x, len(x)), backend=backend)(y) == listed(y, len(y))
    with pytest.raises(dj.DiffjitError, match=r"DJ304.*a text gets longer"):
        dj.jit(lambda x: listed([v for v in x if v > 0.3], np.sum(x > 0.3)), backend=backend)(x)
    assert len(attempts) < 120


Reading = collections.namedtuple("Reading", "value unit")  # noqa: PYI024 - what users write


def containers_in_words(x):
    print({5: "five", "x": x}, {}, (1, "d", x), (x,))  # noqa: T201
    print([x, "a"], [(1, {"deep": [x, None]})], Reading(x, "m"))  # noqa: T201
    print(f"{(x, 'b')}")  # noqa: T201
    return x


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_containers_are_printed_as_python_prints_them(backend, capfd):
    containers_in_words(1.5)
    wanted = capfd.readouterr().out
    dj.jit(containers_in_words, backend=backend)(1.5)
    assert capfd.readouterr().out == wanted


def test_a_search_does_not_begin_before_the_list():
    with pytest.raises(ValueError, match="lo must be non-negative"):
        dj.jit(lambda items: bisect.bisect(items, 1.0, -1))([0.5, 2.0])
