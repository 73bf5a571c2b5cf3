"""Compares random programs whose turns are computed in batches with plain NumPy: values, exceptions, slopes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Any

import numpy as np

import diffjit as dj
from tests.aliases.check import LARGE, Wrong, loaded, outcome
from tests.batches.programs import Writer

STEP = 1e-4
SIZES = ((100, 7, 9), (24, 7, 9), (64, 20, 17), (15, 7, 9), (65, 90, 9), (1, 9, 20), (0, 7, 9), (129, 30, 40))


def arguments(seed: int, n: int, d: int, k: int) -> list[Any]:
    """A point."""
    rng = np.random.default_rng(seed)
    return [*(rng.uniform(0.1, 1.0, shape) for shape in ((n, d), n, (k, d), d)), 0.37 + 0.3 * (seed % 2)]


def copied(point: list[Any]) -> list[Any]:
    """The same numbers."""
    return [x.copy() if isinstance(x, np.ndarray) else x for x in point]


def loss(result: Any) -> Any:
    """One number that hangs on all that a program gives."""
    total, out, rows = result
    return total + np.sum(out * np.cos(1.0 + np.arange(len(out)))) + 0.3 * np.sum(rows * rows)


def check(seed: int, count: int = 4) -> str:
    """Compare one program in calls of several sizes; what came of it."""
    text = Writer(seed).text()
    f = loaded(text, f"batched_{seed}")["f"]
    value = dj.jit(f)
    gradient = dj.value_and_grad(lambda *a: loss(f(*a)), argnums=(0, 1, 2, 3, 4))
    found: Counter[str] = Counter()
    for call in range(count):
        size = SIZES[(seed + 3 * call) % len(SIZES)] if call else SIZES[seed % 3]
        try:
            found[_compared(f, value, gradient, arguments(seed, *size), seed + call)] += 1
        except Wrong as problem:
            raise Wrong(f"{size}: {problem}\n{text}") from problem
    return next((name for name in found if name.startswith("[DJ")), "") or max(found, key=lambda x: found[x])


def _compared(f: Any, value: Any, gradient: Any, point: list[Any], seed: int) -> str:
    after, given = copied(point), copied(point)
    wanted, error = outcome(lambda: f(*after))
    got, problem = outcome(lambda: value(*given))
    if isinstance(problem, dj.InternalError):
        raise Wrong(f"internal: {problem}")
    if isinstance(problem, dj.DiffjitError):
        return str(problem).splitlines()[0]
    if type(problem) is not type(error):
        raise Wrong(f"value: {problem!r}, should be {error!r}")
    for x, y in zip(given, after, strict=True):
        _near(x, y, "arguments after the call")
    if error is None:
        for x, y in zip(got, wanted, strict=True):
            _near(x, y, "value")
    slopes, problem = outcome(lambda: gradient(*copied(point)))
    if isinstance(problem, dj.DiffjitError):
        if isinstance(problem, dj.InternalError):
            raise Wrong(f"internal: {problem}")
        return str(problem).splitlines()[0]
    if type(problem) is not type(error):
        raise Wrong(f"gradient: {problem!r}, should be {error!r}")
    if error is not None:
        return "raises"
    rng = np.random.default_rng(seed)
    direction = [rng.uniform(-1.0, 1.0, np.shape(x)) for x in point[:-1]] + [0.7]
    slope = sum(float(np.sum(g * t)) for g, t in zip(slopes[1], direction, strict=True))
    quotient = _quotient(f, point, direction)
    if quotient is None:
        return "values"
    found = {"gradient": slope}
    if seed % 3 == 0:
        whole = lambda *a: loss(f(*a))
        found["jvp"] = dj.jvp(whole, tuple(copied(point)), tuple(direction))[1]
        found["vjp"] = sum(
            float(np.sum(g * t)) for g, t in zip(dj.vjp(whole, *copied(point))[1](1.0), direction, strict=True)
        )
    for what, number in found.items():
        if not abs(float(number) - quotient) <= 2e-5 * max(1.0, abs(quotient)):
            raise Wrong(f"{what} {number}, should be {quotient}")
    return "slopes"


def _quotient(f: Any, point: list[Any], direction: list[Any]) -> float | None:
    """The slope along a direction by differences; None where they do not agree, as at kinks."""

    def at(h: float) -> float:
        return float(loss(f(*(x + h * t for x, t in zip(point, direction, strict=True)))))

    with np.errstate(all="ignore"):
        found = [(8.0 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12.0 * h) for h in (STEP, 0.37 * STEP)]
    if not np.all(np.isfinite(found)) or abs(found[0]) > LARGE:
        return None
    return found[1] if abs(found[0] - found[1]) <= 2e-6 * max(1.0, abs(found[0])) else None


def _near(got: Any, wanted: Any, what: str) -> None:
    u, v = np.asarray(got), np.asarray(wanted)
    size = float(np.max(np.abs(v), initial=0.0, where=np.isfinite(v)))
    if u.shape != v.shape or not np.allclose(u, v, rtol=1e-9, atol=1e-9 * max(1.0, size), equal_nan=True):
        raise Wrong(f"{what}: {got!r}, should be {wanted!r}")


def main() -> None:
    """The command line: seeds from, to, seconds."""
    from diffjit.transforms.optimise import batches

    first, last, seconds = sys.argv[1:]
    start, counts = time.monotonic(), Counter[str]()
    batched = batches.in_batches
    done: list[bool] = []
    from diffjit.transforms import pipeline

    def noted(function: Any) -> bool:
        done.append(batched(function))
        return done[-1]

    pipeline.in_batches = noted
    for seed in range(int(first), int(last)):
        if time.monotonic() - start > float(seconds):
            break
        done.clear()
        try:
            found = check(seed)
        except Wrong as error:
            found = "WRONG"
            print(f"seed {seed}: {error}"[:4000], flush=True)  # noqa: T201
        counts[f"{found[:90]} | {'batches' if any(done) else 'alone'}"] += 1
    for key, number in counts.most_common():
        print(number, key)  # noqa: T201


if __name__ == "__main__":
    main()
