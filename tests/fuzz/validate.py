"""Translation validation: what optimised code computes is what the same program computes with every optional pass off.

`record` runs a program's value and gradient on ordinary arguments, on those that raise and on those at the edges, and
writes down what came out. It runs in two processes, one of them with `DIFFJIT_PLAIN=1`; `differences` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .check import NAMES, laid_out, load, prepare
from .outcomes import Result, near, run

Record = dict[str, Any]
PLAIN = {"DIFFJIT_PLAIN": "1"}
CHECKED = {"DIFFJIT_CHECKED": "1"}
LIGHT, FAST = {"DIFFJIT_TIERS": "light"}, {"DIFFJIT_TIERS": "0"}
EDGES = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e308, 5e-324, -1.0)
INTEGERS = (0, 1, -1, 5, -5, -6, 2**62, -(2**63), 2**63 - 1)


def written(result: Result) -> Record:
    """A result as JSON can hold it: the class and the first line of an exception, or numbers to the last bit."""
    arrays = [np.asarray(item, float) for item in _flat(result.after) if isinstance(item, np.ndarray)]
    if result.error is not None:
        line = (str(result.error).splitlines() or [""])[0]
        return {"error": type(result.error).__name__, "words": line, "after": [_hex(array) for array in arrays]}
    numbers = [np.asarray(item, float) for item in _flat(result.value)]
    return {"numbers": [_hex(number) for number in numbers], "after": [_hex(array) for array in arrays]}


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield value


def _hex(array: np.ndarray) -> list[Any]:
    return [list(array.shape), np.ascontiguousarray(array).tobytes().hex()]


def _array(text: list[Any]) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text[1])).reshape(text[0])


def at_the_edges(module: Any, seed: int) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Makers of arguments for a program of the design `failing`, by name."""
    rng = np.random.default_rng(seed)
    order, ordinary = module.ORDER, module.CASES[0]

    def made(x: np.ndarray, y: np.ndarray, integers: tuple[int, ...]) -> Callable[[], list[Any]]:
        return lambda: [laid_out(x, order), laid_out(y, order), 0.7, *integers]

    for place, case in enumerate(module.CASES):
        x, y = rng.uniform(-1, 1, case["p"]), rng.uniform(-1, 1, (case["q"], case["p"]))
        yield f"call {place} {case}", made(x, y, (case["n"], case["k"], case["e"]))
    p, q, n, k, e = (ordinary[name] for name in "pqnke")
    x, y = rng.uniform(-1, 1, p), rng.uniform(-1, 1, (q, p))
    for edge in EDGES:
        there = x.copy()
        there[rng.integers(p)] = edge
        yield f"x holds {edge}", made(there, y, (n, k, e))
    for value in INTEGERS:
        yield f"k = {value}", made(x, y, (n, value, e))
        yield f"e = {value}", made(x, y, (n, k, value))
    for length in (0, 1, 2):
        yield f"length {length}", made(x[:length], y[: length + 1, :length], (n, k, e))
    base = rng.uniform(-1, 1, (q, p))

    def overlapping() -> list[Any]:
        shared = base.copy()
        return [shared[1], shared, 0.7, n, k, e]

    yield "x is a row of y", overlapping


def record(source: str, seed: int, backend: str) -> dict[str, Record]:
    """What `jit` and `value_and_grad` give, by the names of verb and arguments."""
    import diffjit as dj

    if "\nCASES = " in source:
        module = load(source, "")
        makers = dict(at_the_edges(module, seed))
        argnums: tuple[int, ...] = (0, 1, 2)
    else:
        program, _, _ = prepare(source, seed)
        module, argnums = program.module, tuple(range(len(NAMES)))
        makers = {"ordinary": lambda: [*program.arguments(), *program.integers]}
    verbs = {
        "jit": dj.jit(module.f, backend=backend),
        "grad": dj.value_and_grad(module.f, argnums=argnums, backend=backend),
    }
    return {
        f"{verb}: {name}": written(run(function, make()))
        for name, make in makers.items()
        for verb, function in verbs.items()
    }


def differences(optimised: dict[str, Record], plain: dict[str, Record]) -> list[str]:
    """Where two records differ by more than the order in which sums are rounded."""
    found = []
    for name, wanted in plain.items():
        got = optimised[name]
        if "error" in wanted or "error" in got:
            if [got.get("error"), got.get("words")] != [wanted.get("error"), wanted.get("words")]:
                found.append(f"{name}: {_said(got)}, should be {_said(wanted)} as without optional passes")
            continue
        for what in ("numbers", "after"):
            pairs = [(_array(left), _array(right)) for left, right in zip(got[what], wanted[what], strict=True)]
            if not all(near(left, right) for left, right in pairs):
                found.append(f"{name}: {what} {_said(got)}, should be {_said(wanted)} as without optional passes")
    return found


def bits_agree(optimised: dict[str, Record], plain: dict[str, Record]) -> bool:
    """Whether two records are the same to the last bit."""
    return optimised == plain


def other_bits(light: dict[str, Record], fast: dict[str, Record]) -> list[str]:
    """Where two records differ at all, other than in which NaN it is."""
    found = []
    for name, wanted in fast.items():
        got = light[name]
        same = [got.get("error"), got.get("words")] == [wanted.get("error"), wanted.get("words")]
        for what in ("numbers", "after") if same else ():
            pairs = [
                (_array(left), _array(right))
                for left, right in zip(got.get(what, ()), wanted.get(what, ()), strict=True)
            ]
            same = same and all(_same(left, right) for left, right in pairs)
        if not same:
            found.append(f"{name}: {_said(got)} by quick code, {_said(wanted)} by fast code")
    return found


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.shape != right.shape:
        return False
    known = ~(np.isnan(left) & np.isnan(right))
    return left[known].tobytes() == right[known].tobytes()


def _said(what: Record) -> str:
    if "error" in what:
        return f"{what['error']}: {what['words']}"
    return ", ".join(str(_array(text)).replace("\n", "") for text in what["numbers"])
