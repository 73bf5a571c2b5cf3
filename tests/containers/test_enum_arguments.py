"""Members of enums of numbers as arguments are members: they have names, are themselves, and count as numbers."""

import enum

import numpy as np
import pytest

import diffjit as dj


class Mode(enum.IntEnum):
    FLAT = 2
    STEEP = 3


class Scale(float, enum.Enum):
    HALF = 0.5


class Parts(enum.IntFlag):
    LOW = 1
    HIGH = 2


def counted(x, mode):
    return x[mode] * mode * (10 if mode is Mode.STEEP else 1) + sum(x[k] for k in range(mode)) * mode.value


def looked_up(x, table):
    mode, scale = table["mode"], table["rest"][0]
    return {Mode.FLAT: x[0], Mode.STEEP: x[1] ** 2}[mode] * scale * (mode > 2) + x[2] * len(mode.name)


def flagged(x, parts):
    return x[0] * (Parts.LOW in parts) + x[1] * (parts | Parts.HIGH) + x[2] * (Parts.HIGH in parts)


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize(
    ("f", "given"),
    [
        (counted, [Mode.FLAT, Mode.STEEP]),
        (looked_up, [{"mode": m, "rest": (Scale.HALF,)} for m in Mode] + [{"mode": Mode.STEEP, "rest": (0.25,)}]),
        (flagged, [Parts.LOW, Parts.HIGH, Parts.LOW | Parts.HIGH]),
    ],
    ids=["counted", "looked_up", "flagged"],
)
def test_as_python(f, given, backend):
    x = np.array([0.5, 1.5, -0.7, 2.0])
    value, gradient = dj.jit(f, backend=backend), dj.grad(f, backend=backend)
    for what in (*given, given[0]):
        assert value(x, what) == f(x, what)
        quotient = [(f(x + h, what) - f(x - h, what)) / 2e-6 for h in np.eye(4) * 1e-6]
        np.testing.assert_allclose(gradient(x, what), quotient, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(dj.vjp(f, x, what, backend=backend)[1](1.0)[0], quotient, rtol=1e-7, atol=1e-8)
