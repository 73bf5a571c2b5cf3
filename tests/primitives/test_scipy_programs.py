"""Programs that use SciPy's linear algebra and distributions: all modes on both backends."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.special
from scipy import stats

import diffjit as dj

rng = np.random.default_rng(5)


def evidence(hyper: Any, y: Any) -> Any:
    """The logarithm of a Gaussian process' marginal likelihood, with priors of its parameters."""
    t = np.linspace(0.0, 1.0, y.size)
    k = np.exp(hyper[0]) * np.exp(-((t[:, None] - t[None, :]) ** 2) / np.exp(hyper[1])) + 0.1 * np.eye(y.size)
    factor, lower = sl.cho_factor(k, lower=True)
    fit = -0.5 * y @ sl.cho_solve((factor, lower), y) - np.sum(np.log(np.diag(factor)))
    return fit + np.sum(stats.norm.logpdf(hyper, 0.3, scale=2.0)) + stats.gamma.logpdf(np.exp(hyper[0]), 2.0)


def propagated(a: Any, x: Any) -> Any:
    """A linear system's state after some time, and its stationary covariance."""
    a = a - 3 * np.eye(3)
    p = sl.solve_continuous_lyapunov(a, -np.eye(3))
    return np.sum((sl.expm(2.5 * a) @ x) ** 2) + np.trace(p) + sl.lu_solve(sl.lu_factor(a), x)[0]


def counts(p: Any, noise: Any) -> Any:
    """Counts and residuals with heavy tails."""
    rate = np.exp(p[0] + p[1] * np.arange(4))
    return np.sum(stats.poisson.logpmf([1, 0, 2, 5], rate)) + np.sum(stats.t.logpdf(noise, 3.0 + p[1] ** 2, p[0]))


PROGRAMS = [
    (evidence, (np.array([0.2, -0.4]), rng.normal(size=5))),
    (propagated, (0.5 * rng.normal(size=(3, 3)), rng.normal(size=3))),
    (counts, (np.array([0.2, -0.4]), rng.normal(size=5))),
]


@pytest.mark.parametrize(("backend", "order"), [("python", 2), ("numba", 1)])
@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_programs_in_all_modes(function: Any, args: Any, backend: Any, order: int) -> None:
    assert dj.jit(function, backend=backend)(*args) == pytest.approx(function(*args), rel=1e-11)
    dj.check_grads(function, args, order=order, backend=backend)


@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_programs_mapped(function: Any, args: Any) -> None:
    lanes = np.stack([args[1], 0.9 * args[1] + 0.1])
    gradient = dj.grad(function, backend="python")
    mapped = dj.jit(dj.vmap(dj.grad(function), in_axes=(None, 0)), backend="python")(args[0], lanes)
    np.testing.assert_allclose(mapped, [gradient(args[0], lane) for lane in lanes], rtol=1e-9, atol=1e-11)


def test_what_is_refused() -> None:
    with pytest.raises(dj.NoRule, match=r"`scipy.linalg.hessenberg` has no derivative rule"):
        dj.grad(lambda a: sl.hessenberg(a)[0, 0])(np.eye(2))
    with pytest.raises(dj.NoRule, match=r"`scipy.stats.kstwo_gen._ppf` has no derivative rule"):
        dj.grad(lambda a: stats.kstwo.ppf(a, 3.0) + a)(0.5)
    with pytest.raises(dj.NoRule, match=r"by argument 1"):
        dj.grad(lambda a: scipy.special.jv(a, 1.0))(0.5)


TWICE = """
import sys
import numpy as np
import scipy.special
import diffjit as dj

def f(a):
    return np.sum(scipy.special.jv(1, np.linalg.eigvalsh(a))) + np.sum(scipy.special.expit(np.linalg.svd(a)[1]))

print(np.round(dj.grad(f)(np.diag([1.0, 2.0, 4.0])), 12).tolist())
"""


def test_machine_code_of_another_process(tmp_path: Any) -> None:
    (tmp_path / "program.py").write_text(TWICE)
    env = {**os.environ, "DIFFJIT_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(tmp_path / "program.py")]
    texts = [subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout for _ in range(2)]  # noqa: S603
    assert texts[0] == texts[1] != ""
