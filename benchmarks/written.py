"""Programs of as many lines as asked for, written out by a generator: how compiling grows with the length of a program.

A program is a sequence of rounds of numbers, as a model of many parts has them: some lines of scalars, a loop that
spreads, a loop that reacts, and what couples both. All rounds have the same form, with constants and places of their
own, so that the adjoint by hand is a loop over a table.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.row import Function, Row

PARAMETERS = 20
BEFORE, AFTER = 6, 4  # lines
ROUND = """\
    a = p[{i}] * s + {c0}
    b = np.tanh(a) - {c1} * p[{j}]
    c = np.exp(-b * b) + {c2} * a
    s = {c3} * c / (1.0 + b * b)
    for i in range(1, n - 1):
        v[i] = u[i] + {c4} * s * (u[i + 1] - 2.0 * u[i] + u[i - 1])
    for i in range(1, n - 1):
        u[i] = v[i] + {c5} * p[{k}] * v[i] * (1.0 - v[i])
    s = s + {c6} * u[{m}] * b
    total = total + s * s
"""
IN_JAX = """\
    a = p[{i}] * s + {c0}
    b = np.tanh(a) - {c1} * p[{j}]
    c = np.exp(-b * b) + {c2} * a
    s = {c3} * c / (1.0 + b * b)
    w = u[1:-1] + {c4} * s * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    u = u.at[1:-1].set(w + {c5} * p[{k}] * w * (1.0 - w))
    s = s + {c6} * u[{m}] * b
    total = total + s * s
"""
FIRST = """\
def program(x, p):
    n = x.size
    u = x.copy()
    v = x.copy()
    s = 0.5
    total = 0.0
"""
LAST = """\
    energy = np.sum(u * u)
    total = total + energy
    total = 0.5 * total
    return total
"""
SMALLEST = 8  # points


def table(lines: int) -> tuple[np.ndarray, np.ndarray]:
    """The places and the constants of each round."""
    rounds = (lines - BEFORE - AFTER) // ROUND.count("\n")
    rng = np.random.default_rng(lines)
    places = rng.integers(0, PARAMETERS, (rounds, 4))
    places[:, 3] = rng.integers(1, SMALLEST - 1, rounds)
    return places, np.round(rng.uniform(0.02, 0.2, (rounds, 7)) + np.array([0.3, 0, 0, 0.9, 0, 0, 0]), 4)


def text(lines: int, form: str = ROUND) -> str:
    """The program."""
    body = ""
    for places, constants in zip(*table(lines), strict=True):
        named = dict(zip("ijkm", places, strict=True)) | {f"c{k}": c for k, c in enumerate(constants)}
        body += form.format(**named)
    return FIRST + body + LAST


def function(source: str, name: str, np: Any) -> Function:
    """A function from its text, in a module with a file: a second process finds it again as it does a user's."""
    folder = Path(tempfile.gettempdir()) / f"diffjit-benchmark-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.py"
    if not file.exists() or file.read_text() != source:
        file.write_text(source)
    module = ModuleType(f"diffjit_benchmark_{name}")
    vars(module).update(__file__=str(file), np=np)
    sys.modules[module.__name__] = module
    exec(compile(source, str(file), "exec"), vars(module))  # noqa: S102 - our own text
    return module.program


def arguments(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A field and parameters."""
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 0.9, n), rng.uniform(0.2, 0.8, PARAMETERS)


def by_hand(lines: int) -> Callable[[Function], tuple[Function, Function]]:
    """Loops over the table; all states are kept."""

    def pair(njit: Function) -> tuple[Function, Function]:
        places, constants = table(lines)

        @njit
        def forward(x, p, places, constants, us, vs, scalars):  # noqa: ANN001, ANN202
            us[0] = x
            s, total = 0.5, 0.0
            for r in range(len(places)):
                i, j, k, m = places[r]
                a = p[i] * s + constants[r, 0]
                b = np.tanh(a) - constants[r, 1] * p[j]
                c = np.exp(-b * b) + constants[r, 2] * a
                scalars[r, 0], scalars[r, 1], scalars[r, 2], scalars[r, 3] = s, a, b, c
                s = constants[r, 3] * c / (1.0 + b * b)
                u, v, w = us[r], vs[r], us[r + 1]
                w[0], w[-1] = u[0], u[-1]
                for q in range(1, len(u) - 1):
                    v[q] = u[q] + constants[r, 4] * s * (u[q + 1] - 2.0 * u[q] + u[q - 1])
                    w[q] = v[q] + constants[r, 5] * p[k] * v[q] * (1.0 - v[q])
                s += constants[r, 6] * w[m] * b
                scalars[r, 4] = s
                total += s * s
            return 0.5 * (total + np.sum(us[-1] * us[-1]))

        @njit
        def backward(x, p, places, constants):  # noqa: ANN001, ANN202
            rounds, n = len(places), len(x)
            us, vs, scalars = np.empty((rounds + 1, n)), np.empty((rounds, n)), np.empty((rounds, 5))
            value = forward(x, p, places, constants, us, vs, scalars)
            u_bar, p_bar, s_bar = us[-1].copy(), np.zeros_like(p), 0.0
            v_bar = np.zeros(n)
            for r in range(rounds - 1, -1, -1):
                i, j, k, m = places[r]
                s, a, b, c = scalars[r, 0], scalars[r, 1], scalars[r, 2], scalars[r, 3]
                u, v, w = us[r], vs[r], us[r + 1]
                s_bar += scalars[r, 4]
                b_bar = s_bar * constants[r, 6] * w[m]
                u_bar[m] += s_bar * constants[r, 6] * b
                inner = constants[r, 3] * c / (1.0 + b * b)
                for q in range(1, n - 1):
                    p_bar[k] += u_bar[q] * constants[r, 5] * v[q] * (1.0 - v[q])
                    v_bar[q] = u_bar[q] * (1.0 + constants[r, 5] * p[k] * (1.0 - 2.0 * v[q]))
                    u_bar[q] = 0.0
                for q in range(1, n - 1):
                    g = v_bar[q] * constants[r, 4]
                    s_bar += g * (u[q + 1] - 2.0 * u[q] + u[q - 1])
                    u_bar[q] += v_bar[q] - 2.0 * g * inner
                    u_bar[q + 1] += g * inner
                    u_bar[q - 1] += g * inner
                c_bar = s_bar * constants[r, 3] / (1.0 + b * b)
                b_bar -= s_bar * inner * 2.0 * b / (1.0 + b * b) + c_bar * 2.0 * b * np.exp(-b * b)
                a_bar = c_bar * constants[r, 2] + b_bar * (1.0 - np.tanh(a) ** 2)
                p_bar[j] -= b_bar * constants[r, 1]
                p_bar[i] += a_bar * s
                s_bar = a_bar * p[i]
            return value, (u_bar, p_bar)

        def primal(x: np.ndarray, p: np.ndarray) -> float:
            shape = len(places), len(x)
            kept = np.empty((shape[0] + 1, shape[1])), np.empty(shape), np.empty((shape[0], 5))
            return forward(x, p, places, constants, *kept)

        return primal, lambda x, p: backward(x, p, places, constants)

    return pair


def row(lines: int) -> Row:
    """The first gradient of such a program."""

    def in_jax() -> Function:
        import jax.numpy as jnp

        return function(text(lines, IN_JAX), f"in_jax_{lines}", np=jnp)

    return Row(
        title=f"first gradient of {lines:,} lines with loops",
        program=function(text(lines), f"lines_{lines}", np=np),
        arguments=arguments,
        quick={"n": SMALLEST},
        full={"n": 64},
        argnums=(0, 1),
        by_hand=by_hand(lines),
        in_jax=in_jax,
        in_autograd="refuses writes into arrays",
        kind="start",
    )
