"""Views with and without gaps along their last axis: the same numbers, and gaps are never taken for none."""

from __future__ import annotations

import numpy as np
import pytest

import diffjit as dj

rng = np.random.default_rng(5)


def inner_parts(u):
    v = u[1:-1, 1:-1] * 2.0 + u[:-2, 2:]
    u = u.copy()
    u[1:-1, 1:-1] += v * v
    return np.sum(u * u)


def steps(u):
    a, b = u[:, ::2], u[::2, 1:5]
    c = a[1:3, 1:3] * b[:2, 1:3] + u[1:3, ::-1][:, :2]
    return np.sum(c * c)


def one_name_for_both(u):
    part = u[1:4, 1:4]
    total = np.sum(part * part)
    for k in range(3):
        part = u[1:4, k : k + 5 : 2]
        total += (k + 1.0) * np.sum(part * part * part)
    part = u.T[1:4, 1:3]
    return total + np.sum(np.sin(part))


def turned(u):
    w = u.T[1:4, 1:-1]
    d = u[1][None, :3] * w[:, :3] + u[:3, 2][:, None]
    return np.sum(np.cos(d))


def planes(u):
    t = np.stack((u, u * u, np.sin(u)))
    a = t[:, 1:-1, 2]
    b = t[1, :, 1:-1]
    c = t[..., 1:3]
    return np.sum(a * a) + np.sum(b[1:] * b[:-1]) + np.sum(c[0] * c[2])


def written_through(u):
    out = np.zeros((9, 9))
    view = out[1:-1, 1:-1]
    for i in range(3):
        view[i, i + 1 :] = u[i, : 6 - i] * (i + 1.0)
        out[::3, i] += u[i, :3]
    return np.sum(out * out) + out[3, 2]


PROGRAMS = [inner_parts, steps, one_name_for_both, turned, planes, written_through]
U = rng.normal(size=(7, 7))
ARGUMENTS = {
    "rows": U,
    "columns": np.asfortranarray(U),
    "gaps": np.repeat(np.repeat(U, 2, axis=0), 3, axis=1)[::2, ::3],
    "rows with gaps between": np.pad(U, 3)[3:-3, 3:-3],
    "backwards": U[:, ::-1].copy()[:, ::-1],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", ARGUMENTS)
def test_like_numpy(program, form) -> None:
    u = ARGUMENTS[form]
    value, gradient = dj.value_and_grad(program)(u)
    assert value == pytest.approx(program(U.copy()), rel=1e-12)
    assert dj.jit(program)(u) == pytest.approx(value, rel=1e-12)
    h, direction = 1e-6, rng.normal(size=U.shape)
    slope = (program(U + h * direction) - program(U - h * direction)) / (2 * h)
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_threads_see_them_too() -> None:
    u = rng.normal(size=(700, 500))
    value, gradient = dj.value_and_grad(inner_parts)(u)
    assert value == pytest.approx(inner_parts(u), rel=1e-12)
    h, direction = 1e-6, rng.normal(size=u.shape)
    slope = (inner_parts(u + h * direction) - inner_parts(u - h * direction)) / (2 * h)
    assert np.sum(gradient * direction) == pytest.approx(slope, rel=1e-5)
    assert "__diffjit_rows__" in dj.source(inner_parts, u, stage="lowered")
