"""Small arrays as numbers: compiled programs against plain Python, and their derivatives against the readable ones."""

import importlib.util
import itertools

import numpy as np
import pytest

import diffjit as dj
from diffjit.frontend.program import specialise
from diffjit.ir.types import Array
from diffjit.ir.walk import walk
from diffjit.transforms.pipeline import finish, numbers
from tests.transforms.small_programs import Writer

_numbers = itertools.count()
SEEDS = 30


def load(folder, text):
    path = folder / f"small_program_{next(_numbers)}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def arguments(seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, 3), rng.uniform(-1, 1, (4 + seed % 2 * 2, 3)), 0.4, 4


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def check(f, seed, modes):
    args = arguments(seed)
    with np.errstate(all="raise"):
        try:
            wanted = f(*copies(args))
        except FloatingPointError:
            return
    if not np.isfinite(wanted) or abs(wanted) > 1e6:
        return
    mine, theirs = copies(args), copies(args)
    f(*theirs)
    found = dj.jit(f)(*mine)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    if "grad" in modes:
        compiled = dj.grad(f, (0, 1, 2))(*args)
        readable = dj.grad(f, (0, 1, 2), backend="python")(*args)
        for a, b in zip(compiled, readable, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1.0, abs(wanted)))
    if "jvp" in modes:
        dots = (np.ones(3), np.full_like(args[1], 0.5), 1.0, 0)
        compiled, readable = (dj.jvp(f, args, dots, backend=b)[1] for b in ("numba", "python"))
        np.testing.assert_allclose(compiled, readable, rtol=1e-8, atol=1e-9)
    if "vjp" in modes:
        _, pull = dj.vjp(f, *args)
        readable = dj.vjp(f, *args, backend="python")[1](1.5)
        for _ in range(2):
            for a, b in zip(pull(1.5)[:3], readable[:3], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1.0, abs(wanted)))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_programs(tmp_path, seed):
    text = Writer(seed).program()
    check(load(tmp_path, text), seed, ("grad", "jvp", "vjp")[seed % 3])
