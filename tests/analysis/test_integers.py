"""Integers that wrap around: whatever is believed of an index, the program does what Python does."""

import importlib.util
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.settings import settings

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def quotient(f, x):
    """The gradient of f by central differences."""
    g = np.zeros_like(x)
    for k in range(x.size):
        step = np.zeros_like(x)
        step[k] = 1e-6
        g[k] = (f(x + step) - f(x - step)) / 2e-6
    return g


def outcome(run):
    """What a call gives, or the class of what it raises."""
    try:
        return run()
    except (IndexError, OverflowError) as error:
        return type(error)


def check(f, x, backend):
    """Value and gradient are Python's; so is the class of an error."""
    expected = outcome(lambda: f(x))
    value, gradient = (outcome(lambda verb=verb: verb(f, backend=backend)(x)) for verb in (dj.jit, dj.grad))
    if isinstance(expected, type) or isinstance(value, type) or isinstance(gradient, type):
        assert isinstance(expected, type)
        assert value is gradient
        assert value in (IndexError, OverflowError)  # of several that are due, one or the other comes first
        return
    slopes = quotient(f, x)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6 * max(1.0, np.abs(slopes).max()))


def narrowed(x):
    y = x.copy()
    s = 0.0
    for k in range(300):
        s = s + y[np.int64(k).astype(np.uint8)] ** 2
        y[np.int64(k + 1).astype(np.uint8)] = 0.01 * s + 0.3
    return s


def narrow_counter(x):
    y = x.copy()
    s = 0.0
    j = np.uint8(0)
    for k in range(300):
        s = s + y[j] ** 2
        y[j + np.uint8(1)] = 0.01 * s + 0.3 + 0.0 * k
        j = j + np.uint8(1)
    return s


def last_int64(x):
    s = 0.0
    at = np.int64(9223372036854775800)
    for _ in range(50):
        if at < x.size:
            s += x[at]
        at = at + np.int64(1)
    return s


def last_int64_and_python(x):
    s = 0.0
    at = np.int64(9223372036854775806)
    for _ in range(5):
        if at < x.size:
            s += x[at]
        at += 1
    return s


def last_int8(x):
    s = 0.0
    at = np.int8(120)
    for _ in range(20):
        s += x[at]
        at = at + np.int8(1)
    return s


def far_strides(x):
    s = 0.0
    for k in range(int(2**24 + 1 + 0 * x[0])):
        s += x[k * 2**40]
    return s


def below_zero(x):
    s = 0.0
    for k in range(20):
        low = np.minimum(np.uint8(k), np.uint8(5)) - np.uint8(10)
        s += x[low] * (np.int64(low) * 2**40)
    return s * 1e-12


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    "f",
    [narrowed, narrow_counter, last_int64, last_int64_and_python, last_int8, far_strides, below_zero],
    ids=lambda f: f.__name__,
)
def test_indices_that_wrap_around(f, backend):
    check(f, np.linspace(0.1, 1.0, 300), backend)


class Program:
    """A random function of a vector, whose indices are integers of all types, near the ends of their ranges."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        starts = [self.start(), self.start()]
        self.lines = [
            "def f(x):",
            "    y = x.copy()",
            "    s = 0.0",
            *(f"    {n} = {v}" for n, v in zip("ij", starts, strict=True)),
        ]
        self.lines.append(f"    for k in range({self.pick('3', '9', '40', 'x.size', 'x.size - 1', '1, x.size')}):")
        for _ in range(self.random.randint(2, 5)):
            self.lines += ["        " + line for line in self.statement()]
        self.lines.append("    return s + np.sum(y * y)")

    def pick(self, *choices):
        return self.random.choice(choices)

    def kind(self):
        return self.pick("int8", "uint8", "int16", "int32", "uint32", "int64", "int64")

    def number(self, kind):
        limits = np.iinfo(kind)
        return self.pick(
            0,
            1,
            2,
            3,
            limits.max,
            limits.max - 2,
            limits.max - 6,
            limits.min + 1,
            limits.min + 4,
            -1 if limits.min else 7,
        )

    def start(self):
        kind = self.kind()
        return self.pick("0", "3", f"np.{kind}({self.number(kind)})", f"np.{kind}({self.number(kind)})")

    def integer(self, depth=2):
        if not depth or self.random.random() < 0.35:
            kind = self.kind()
            return self.pick("i", "j", "k", "k", "1", "2", f"np.{kind}({self.pick(1, 2, 3)})")
        left, right = self.integer(depth - 1), self.integer(depth - 1)
        kind = self.kind()
        return self.pick(
            f"({left} + {right})",
            f"({left} + 1)",
            f"({left} - {right})",
            f"({left} * {self.pick(2, 3, 64, 2**31)})",
            f"np.int64({left}).astype(np.{kind})",
            f"({left} % 7)",
            f"-({left})",
            f"min({left}, 5)",
        )

    def index(self):
        at = self.pick(self.integer(1), self.integer(2), "i", "j", "k")
        return at, self.pick(
            f"0 <= {at} < x.size", f"0 <= {at} < x.size", f"{at} < x.size", f"-x.size <= {at} and {at} < x.size", "True"
        )

    def statement(self):
        (a, first), (b, second) = self.index(), self.index()
        which = self.random.random()
        if which < 0.35:
            return [f"{self.pick('i', 'j')} {self.pick('=', '=', '+=')} {self.integer()}"]
        if which < 0.65:
            return [f"if {first}:", f"    s += 0.3 * y[{a}] * y[{a}]"]
        return [f"if {first} and {second}:", f"    y[{a}] = 0.5 * y[{b}] + 0.02 * s"]

    def text(self):
        return "import numpy as np\n\n\n" + "\n".join(self.lines) + "\n"


REFUSED = ("DJ302", "DJ304")


def loaded(text, folder):
    """The function of a text, from a file of its own."""
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"integers_{abs(hash(text))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def is_refused(text, folder, backend):
    """Check one program; whether it was refused: built, or run where an int of several types would wrap around."""
    f, x = loaded(text, folder), np.linspace(0.3, 0.9, 7)
    try:
        check(f, x, backend)
    except dj.DiffjitError as error:
        if error.code not in REFUSED:
            raise AssertionError(text) from error
        return True
    except AssertionError as error:
        if outcome(lambda: dj.jit(f, backend=backend)(x)) is not OverflowError:
            raise AssertionError(text) from error
        return True
    return False


@pytest.mark.parametrize("batch", range(5))
def test_random_integers(batch, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "cache_mb", 0)
    texts = {seed: Program(seed).text() for seed in range(8 * batch, 8 * batch + 8)}
    refused = [seed for seed, text in texts.items() if is_refused(text, tmp_path, "numba" if seed % 3 else "python")]
    assert len(refused) <= 2
