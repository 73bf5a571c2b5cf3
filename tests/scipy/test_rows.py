"""SciPy's functions and classes inside programs: values, all modes and both backends, against SciPy itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import diffjit as dj
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import COMPOSITES
from tests.scipy import filter_rows, outside_rows, region_rows, sample_rows, sparse_rows, system_rows  # noqa: F401 - add their rows
from tests.scipy.rows import ROWS

MODULES = ("interpolate", "signal", "ndimage", "spatial", "sparse", "transforms")


def close(found: Any, wanted: Any, rtol: float = 1e-10) -> None:
    """Equal up to rounding, in structure, shape and dtype."""
    if isinstance(wanted, (tuple, list)):
        for one, other in zip(found, wanted, strict=True):
            close(one, other)
        return
    assert np.shape(found) == np.shape(wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(
        found, wanted, rtol=rtol, atol=1e-11 * max(1.0, float(np.max(np.abs(wanted), initial=0)))
    )


def scalar(function: Any) -> Any:
    """A number of all that a program gives."""

    def total(*args: Any) -> Any:
        found = function(*args)
        parts = found if isinstance(found, (tuple, list)) else (found,)
        return sum(np.sum(np.sin(part) + part * part) for part in parts)

    return total


@pytest.mark.parametrize("name", ROWS)
def test_values_and_derivatives(name: str) -> None:
    row = ROWS[name]
    close(dj.jit(row.function, backend="python")(*row.args), row.function(*row.args))
    order = 2 if row.twice else 1
    dj.check_grads(scalar(row.function), row.args, order=order, backend="python", rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ROWS)
def test_compiled(name: str) -> None:
    row = ROWS[name]
    close(dj.jit(row.function)(*row.args), row.function(*row.args))
    which = tuple(range(len(row.args)))
    found, wanted = (dj.grad(scalar(row.function), argnums=which, backend=b)(*row.args) for b in ("numba", "python"))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10 * max(1.0, float(np.max(np.abs(other)))))


@pytest.mark.parametrize("name", ROWS)
def test_lanes(name: str) -> None:
    """Lanes of the last argument give what calls of their own give, and so do their gradients."""
    row = ROWS[name]
    *others, last = row.args
    lanes = np.stack([np.asarray(last), np.asarray(last) * 0.995])
    axes = (None,) * len(others) + (0,)
    plain = [row.function(*others, lane) for lane in lanes]
    if isinstance(plain[0], tuple):
        return
    close(dj.vmap(row.function, in_axes=axes, backend="python")(*others, lanes), np.stack(plain), 1e-9)
    gradient = dj.grad(scalar(row.function), argnums=len(others), backend="python")
    mapped = dj.jit(dj.vmap(gradient, in_axes=axes), backend="python")(*others, lanes)
    np.testing.assert_allclose(mapped, [gradient(*others, lane) for lane in lanes], rtol=1e-8, atol=1e-9)


def test_every_function_has_a_row() -> None:
    learn()
    folders = tuple(f"diffjit.primitives.library.{name}" for name in MODULES)
    declared = {
        f for f, plain in COMPOSITES.items() if plain.__module__.startswith((*folders, "diffjit.solvers.sparse"))
    }
    assert declared - {f for row in ROWS.values() for f in row.of} == set()


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
