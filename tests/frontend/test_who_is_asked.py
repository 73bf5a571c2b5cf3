"""Which operand's class Python asks what an operator means: derived ones first, others where one gives up."""

import random

import numpy as np
import pytest

import diffjit as dj
from tests.aliases.check import loaded

METHODS = ("add", "radd", "iadd", "sub", "rsub", "eq", "ne", "lt", "gt", "le", "ge", "divmod", "rdivmod")
OPERATIONS = (
    "{0} + {1}", "{0} - {1}", "{0} == {1}", "{0} != {1}", "{0} < {1}", "{0} >= {1}", "{0} > {1}", "divmod({0}, {1})",
)  # fmt: skip


def classes(rng):
    """The text of three classes, of which the second derives from the first, and maybe the third from both or none."""
    lines = []
    for name, bases in (("A", ""), ("B", "(A)"), ("C", rng.choice(["", "(B)"]))):
        lines += [f"class {name}{bases}:", "    def __init__(self, v):", "        self.v = v"]
        for method in METHODS:
            if rng.random() < 0.5:
                continue
            weight = rng.randint(2, 9)
            known = rng.choice(["A", "B", "C", "(float, np.floating)", "(A, B, C)", "object"])
            first = rng.random() < 0.6
            lines += [f"    def __{method}__(self, other):"]
            if first:
                lines += [f"        if not isinstance(other, {known}):", "            return NotImplemented"]
            lines.append(f"        w = getattr(other, 'v', {rng.randint(2, 5)}.0)")
            if method in ("eq", "ne", "lt", "gt", "le", "ge"):
                lines.append(f"        return self.v * {weight} > w * {rng.randint(2, 9)}")
            else:
                lines.append(f"        return self.v * {weight} + w * {rng.randint(2, 9)}.5")
        if rng.random() < 0.5:
            lines.append("    __hash__ = None")
    return lines


def program(seed):
    rng = random.Random(seed)
    lines = classes(rng)
    lines += ["def told(r, x):", "    return r if isinstance(r, (float, np.floating)) else x * 3.0 if r else x"]
    lines += ["def f(x, y):", "    a, b, c, total = A(x), B(y), C(x * 1.3711), 0.0"]
    for k in range(12):
        left, right = (rng.choice(["a", "b", "c", "b", "2.0", "x"]) for _ in range(2))
        if left not in "abc":
            right = rng.choice("abc")
        lines.append("    try:")
        if rng.random() < 0.15 and left in "abc":
            lines += [f"        d = {left}", f"        d += {right}", f"        total += told(d, x) * {k + 1}"]
        else:
            operation = rng.choice(OPERATIONS).format(left, right)
            lines.append(f"        total += told({operation}, x) * {k + 1}")
        lines += ["    except TypeError:", f"        total += y * {100 + k}"]
    lines.append("    return total")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.slow) for k in range(12, 300))])
def test_random_classes(seed):
    f = loaded(program(seed), f"asked {seed}", np=np)["f"]
    for point in ((0.7213, 1.3171), (1.9137, 0.4071)):
        value, slopes = dj.value_and_grad(f, (0, 1), backend="python")(*point)
        assert value == pytest.approx(f(*point), rel=1e-12)
        x, y = point
        for slope, (dx, dy) in zip(slopes, ((1e-6, 0.0), (0.0, 1e-6)), strict=True):
            assert slope == pytest.approx((f(x + dx, y + dy) - f(x - dx, y - dy)) / 2e-6, rel=1e-6, abs=1e-6)


class Length:
    def __init__(self, v):
        self.v = v

    def __add__(self, other):
        return Length(self.v + other.v) if isinstance(other, Length) else NotImplemented

    def __eq__(self, other):
        return NotImplemented

    __hash__ = None


class Offset(Length):
    def __radd__(self, other):
        return Length(self.v * other.v * 2)


class Scale:
    def __init__(self, v):
        self.v = v

    def __radd__(self, other):
        return Length(other.v * self.v)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: (Length(x) + Offset(x * x)).v,
        lambda x: (Length(x) + Scale(x * 3)).v,
        lambda x: x if Length(x) == Length(x) else 2 * x,
        lambda x: x if Length(x) != Scale(x) else 2 * x,
    ],
    ids=["derived", "gives up", "equal", "not equal"],
)
def test_derived_classes_and_those_that_give_up(f, backend):
    assert dj.jit(f, backend=backend)(1.3) == pytest.approx(f(1.3), rel=1e-14)
    dj.check_grads(f, (1.3,), order=2, backend=backend)


def test_nobody_says_what_it_means():
    with pytest.raises(TypeError):
        dj.jit(lambda x: Length(x) + 3.0, backend="python")(1.3)


def test_giving_up_on_one_path_alone_is_refused():
    class Moody:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return NotImplemented if self.v > 1.0 else self.v

    with pytest.raises(dj.DiffjitError):
        dj.jit(lambda x: Moody(x) + 3.0, backend="python")(0.3)
