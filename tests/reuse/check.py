"""Compares a program that is compiled once with plain NumPy, call by call: values, exceptions, arguments, slopes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

import diffjit as dj
from tests.aliases.check import LARGE, Wrong, loaded, outcome
from tests.pythons_errors import is_of_numbers
from tests.reuse.calls import Call, calls
from tests.reuse.programs import Writer

STEP = 1e-4


def loss(result: Any) -> Any:
    """One number that hangs on all that a program gives."""
    vector, number = result
    return np.sum(vector * np.cos(1.0 + np.arange(len(vector)))) + 0.7 * number


def check(seed: int, backend: str, count: int = 6) -> str:
    """Compare one program with NumPy in several calls; what came of it."""
    text = Writer(seed).text()
    f = loaded(text, f"reused_{seed}")["f"]
    value = dj.jit(f, backend=backend)
    floats = lambda a, b, w, s, m, k: loss(f(a, b, w, m, s, k))
    gradient = dj.value_and_grad(floats, argnums=(0, 1, 2, 3), backend=backend)
    found: Counter[str] = Counter()
    for place, call in enumerate(calls(seed, count)):
        try:
            found[_compared(f, value, floats, gradient, call, backend)] += 1
        except Wrong as problem:
            raise Wrong(f"{backend}, call {place}, {call}: {problem}\n{text}") from problem
    return next((name for name in found if name.startswith("[DJ")), "") or (
        "raises" if found["raises"] == count else "right" if found["slopes"] else "values"
    )


def _compared(f: Any, value: Any, floats: Any, gradient: Any, call: Call, backend: str) -> str:
    after, given = call.arguments(), call.arguments()
    wanted, error = outcome(lambda: f(*after))
    got, problem = outcome(lambda: value(*given))
    refusal = _refused(problem)
    if refusal:
        return refusal
    if isinstance(problem, ValueError) and "read-only" in str(problem):  # said before anything is computed
        return "unfit"
    if isinstance(problem, TypeError):  # said when the program is built
        return "unfit"
    if error is not None and (is_of_numbers(str(error)) or isinstance(error, (TypeError, OverflowError))):
        return "unfit"
    _ended(problem, error, "value")
    if error is None and not np.all(np.isfinite(_flat(wanted))) and not call.edges:
        return "unfit"
    _near(given, after, "arguments after the call")
    if error is None:
        _near(got, wanted, "value")
        if wanted[0].size and _dtypes(got) != _dtypes(wanted):  # np.bincount of nothing counts
            raise Wrong(f"dtypes {_dtypes(got)}, should be {_dtypes(wanted)}")
    if any(dtype != "float64" for dtype in call.dtypes) or call.number not in ("float", "float64"):
        return "values"
    return _slopes(floats, gradient, call, error, backend)


def _slopes(floats: Any, gradient: Any, call: Call, error: Exception | None, backend: str) -> str:
    a, b, w, m, s, k = call.arguments()
    point = [a, b, w, s]
    got, problem = outcome(lambda: gradient(*point, m, k))
    refusal = _refused(problem)
    if refusal:
        return refusal
    _ended(problem, error, "gradient")
    _near([a, b, w, m], [x for x in call.arguments() if isinstance(x, np.ndarray)], "arguments after the gradient")
    if error is not None:
        return "raises"
    if call.edges:
        return "values"
    rng = np.random.default_rng(call.seed + 1)
    direction = [rng.uniform(-1.0, 1.0, np.shape(x)) for x in point[:-1]] + [0.7]
    slope = sum(float(np.sum(g * d)) for g, d in zip(got[1], direction, strict=True))
    tangent, problem = (
        outcome(lambda: dj.jvp(lambda *x: floats(*x, m, k), tuple(point), tuple(direction), backend=backend)[1])
        if call.seed % 4 == 0
        else (slope, None)
    )
    refusal = _refused(problem)
    if refusal:
        return refusal
    _ended(problem, None, "jvp")
    wanted = _quotients(floats, call, direction)
    if wanted is None:
        return "values"
    for what, number in (("gradient", slope), ("jvp", tangent)):
        if not abs(float(number) - wanted) <= 1e-5 * max(1.0, abs(wanted)):
            raise Wrong(f"{what} {number}, should be {wanted}; {got[1]}")
    return "slopes"


def _quotients(floats: Any, call: Call, direction: list[Any]) -> float | None:
    """The slope along a direction by differences; None where they do not agree, as at jumps."""

    def at(h: float) -> float:
        a, b, w, m, s, k = call.arguments()
        moved = [
            np.add(x, h * d, out=x if x.flags.writeable else None) for x, d in zip((a, b, w), direction, strict=False)
        ]
        return float(floats(*moved, s + h * direction[-1], m, k))

    with np.errstate(all="ignore"):
        try:
            found = [(8.0 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12.0 * h) for h in (STEP, 0.37 * STEP)]
        except Exception:  # noqa: BLE001 - another path nearby
            return None
    if not np.all(np.isfinite(found)) or abs(found[0]) > LARGE:
        return None
    return found[1] if abs(found[0] - found[1]) <= 2e-6 * max(1.0, abs(found[0])) else None


def _refused(problem: Exception | None) -> str:
    if isinstance(problem, dj.InternalError):
        raise Wrong(f"internal: {problem}") from problem
    if isinstance(problem, dj.DiffjitError):
        first = str(problem).splitlines()
        return f"{first[0]} | {first[3] if len(first) > 3 else ''}"
    return "[DJ---] not implemented: " + str(problem) if isinstance(problem, NotImplementedError) else ""


def _ended(problem: Exception | None, error: Exception | None, what: str) -> None:
    if (problem is None) != (error is None) or not isinstance(problem, type(error)):
        raise Wrong(f"{what}: {problem!r}, should be {error!r}") from problem


def _flat(tree: Any) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in tree] or [np.zeros(0)])


def _near(got: Any, wanted: Any, what: str) -> None:
    for x, y in zip(got, wanted, strict=True):
        u, v = np.asarray(x), np.asarray(y)
        single = any(t.dtype in (np.float32, np.complex64) for t in map(np.asarray, wanted))
        size = float(np.max(np.abs(v), initial=0.0, where=np.isfinite(v))) if v.dtype.kind in "fc" else 0.0
        tolerance = 1e-4 if single else 1e-9
        if u.shape != v.shape or not np.allclose(u, v, rtol=tolerance, atol=tolerance * max(1.0, size), equal_nan=True):
            raise Wrong(f"{what}: {x!r}, should be {y!r}")


def _dtypes(tree: Any) -> list[str]:
    return [str(leaf.dtype) if isinstance(leaf, np.ndarray) else np.asarray(leaf).dtype.kind for leaf in tree]


def main() -> None:
    """The command line: seeds from, to, backend, seconds."""
    first, last, backend, seconds = sys.argv[1:]
    start, counts, examples = time.monotonic(), Counter[str](), {}
    for seed in range(int(first), int(last)):
        if time.monotonic() - start > float(seconds):
            break
        try:
            found = check(seed, backend)
        except Wrong as error:
            found = "WRONG"
            print(f"seed {seed}: {error}"[:5000], flush=True)  # noqa: T201
        key = found[:80]
        counts[key] += 1
        examples.setdefault(key, (seed, found))
    for key, number in counts.most_common():
        print(number, examples[key] if key.startswith("[") else key)  # noqa: T201


if __name__ == "__main__":
    main()
