"""Compares what diffjit makes of a random program with plain Python: values, exceptions, memory and derivatives."""

from __future__ import annotations

import linecache
import random
import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import diffjit as dj
from tests.aliases import slopes
from tests.aliases.slopes import ExactNumPy, ExactVerbs, along, gradient, mapped, numbers
from tests.containers.writing import Unfit, limited
from tests.pythons_errors import is_of_numbers

STEPS = 50_000  # lines that a program may run
LARGE = 1e5
Arguments = tuple[Any, ...]


class Wrong(Exception):
    """A difference from plain Python."""


def loaded(text: str, name: str, **scope: Any) -> dict[str, Any]:
    """The module of a text; names given stand for what it imports."""
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    made = sys.modules[name] = types.ModuleType(name)
    module = made.__dict__
    module.update(scope)
    lines = ("" if scope and line.startswith("import ") else line for line in text.splitlines())
    exec(compile("\n".join(lines) + "\n", file, "exec"), module)  # noqa: S102 - our own text
    return module


def arguments(seed: int, shapes: dict[str, tuple[int, ...]]) -> tuple[Arguments, Arguments, int]:
    """A point, a direction, and an int."""
    rng = np.random.default_rng(seed)
    point = (*(rng.uniform(0.1, 1.0, shape) for shape in shapes.values()), 0.37 + 0.4 * (seed % 2))
    direction = (*(rng.uniform(-1.0, 1.0, shape) for shape in shapes.values()), 0.7)
    return point, direction, 2 + seed % 3


def copied(tree: Any) -> Any:
    """A fresh tree of the same numbers."""
    return tuple(leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in tree)


def outcome(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """A result, or the exception that was raised."""
    with np.errstate(all="ignore"):
        try:
            return run(), None
        except Unfit:
            raise
        except Exception as error:  # noqa: BLE001 - compared with Python's
            return None, error


def near(got: Any, wanted: Any, what: str, tolerance: float = 1e-8) -> None:
    """Raise Wrong unless two trees of numbers agree to rounding."""
    got, wanted = numbers(got), numbers(wanted)
    if got.shape != wanted.shape or not np.allclose(
        got, wanted, rtol=tolerance, atol=tolerance * max(1.0, _size(wanted)), equal_nan=True
    ):
        raise Wrong(f"{what}: {got}, should be {wanted}")


def _size(array: np.ndarray) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def check(seed: int, backends: tuple[str, ...], writer: Any) -> str:
    """Compare a program with plain Python and with exact slopes: "right", "raises", or why it was left out."""
    return checked(writer(seed).text(), seed, backends, writer)


def checked(text: str, seed: int, backends: tuple[str, ...], writer: Any) -> str:
    """`check` of a program's text."""
    plain = loaded(text, f"aliased_{seed}")["f"]
    point, direction, k = arguments(seed, writer.shapes)
    after = mapped(lambda x: x, point) if writer.verbs else copied(point)  # verbs are played: nothing of diffjit's runs
    first = played(text)["f"] if writer.verbs else plain
    try:
        value, error = outcome(lambda: limited(lambda: first(*after, k), STEPS))
    except Unfit as problem:
        return f"unfit: {problem}"
    if error is not None and is_of_numbers(str(error)):
        return "unfit: division"
    wanted: dict[str, Any] = {"value": value, "error": error, "after": after}
    if error is None:
        if not np.all(np.isfinite(numbers((value, *after)))) or _size(numbers(value)) > LARGE:
            return "unfit: large"
        wanted |= exact(text, point, direction, k)
        near(wanted["exact value"], value, "the oracle's own value")
        if max(_size(numbers(wanted[name])) for name in ("gradient", "second")) > LARGE:
            return "unfit: steep"
    for backend in backends:
        try:
            compare(plain, point, direction, k, backend, wanted)
        except Wrong as problem:
            raise Wrong(f"{backend}: {problem}\n{text.removeprefix(writer.head)}") from None
        except dj.DiffjitError as problem:
            if isinstance(problem, dj.InternalError):
                raise Wrong(f"{backend}: {problem}\n{text.removeprefix(writer.head)}") from problem
            return str(problem).partition("]")[0] + "] " + str(problem).splitlines()[0].partition("] ")[2]
        except Exception as problem:
            raise Wrong(
                f"{backend}: {type(problem).__name__}: {problem}\n{text.removeprefix(writer.head)}"
            ) from problem
    return "right" if error is None else "raises"


def played(text: str) -> dict[str, Any]:
    """The module of a text, with arrays of numbers with slopes and with verbs by the book."""
    return loaded(text, "exact_program", np=ExactNumPy(), dj=ExactVerbs())


def exact(text: str, point: Arguments, direction: Arguments, k: int) -> dict[str, Any]:
    """Value, gradient and second derivatives by numbers with slopes."""
    module = played(text)
    function = lambda *trees: module["f"](*trees, k)
    objects = mapped(lambda x: x, point)
    return {
        "exact value": function(*mapped(lambda x: x, point)),
        "gradient": gradient(function, objects),
        "second": gradient(lambda *trees: along(function, trees, direction)[1], objects),
    }


def compare(
    f: Any, point: Arguments, direction: Arguments, k: int, backend: str, wanted: dict[str, Any], count: int = 1
) -> None:
    """Each verb against what is wanted."""
    counts = tuple(range(len(point)))
    of_numbers = lambda *args: f(*args, k)
    gradient_of = dj.grad(f, argnums=counts, backend=backend)
    after = copied(point)
    got = outcome(lambda: dj.jit(f, backend=backend)(*after, k))
    ended(got, wanted, "value")
    near(after, wanted["after"], "arguments after the call")
    given = copied(point)
    verbs: dict[str, Callable[[], Any]] = {
        "grad": lambda: gradient_of(*given, k),
        "jvp": lambda: dj.jvp(of_numbers, given, direction, backend=backend),
        "vjp": lambda: dj.vjp(of_numbers, *given, backend=backend)[1](1.0),
        "second": lambda: dj.jvp(dj.grad(of_numbers, argnums=counts), given, direction, backend=backend)[1],
        "reverse over reverse": lambda: dj.grad(
            lambda *args: _inner(dj.grad(of_numbers, argnums=counts)(*args), direction), argnums=counts, backend=backend
        )(*given),
        "jet": lambda: dj.jet(of_numbers, given, tuple((d, 0.0 * d) for d in direction), backend=backend),
        "lanes": lambda: dj.vmap(
            dj.value_and_grad(f, argnums=counts), in_axes=(*(0 for _ in point), None), backend=backend
        )(*(np.stack([p, p]) for p in given), k),
        "lanes of values": lambda: dj.vmap(f, in_axes=(1, *(0 for _ in point[1:]), None), backend=backend)(
            np.stack([given[0], given[0]], axis=1), *(np.stack([p, p]) for p in given[1:]), k
        ),
    }
    others = list(verbs)[1:]
    chosen = {"grad", *random.Random(float(point[0][0])).sample(others, count)}
    for what, run in verbs.items():
        if what not in chosen:
            continue
        got = outcome(run)
        if isinstance(got[1], dj.DiffjitError) and not isinstance(got[1], dj.InternalError) and what != "grad":
            continue
        ended(got, wanted, what)
        near(given, point, f"arguments after {what}")
        if got[1] is None:
            judged(what, got[0], direction, wanted)


def judged(what: str, got: Any, direction: Arguments, wanted: dict[str, Any]) -> None:
    """The result of a verb against exact slopes."""
    gradient, second = wanted["gradient"], wanted["second"]
    slope = float(_inner(mapped(slopes.number, gradient), direction))
    bend = float(_inner(mapped(slopes.number, second), direction))
    if what in ("grad", "vjp"):
        near(got, gradient, what)
    elif what in ("second", "reverse over reverse"):
        near(got, second, what, 1e-7)
    elif what == "jvp":
        near(got, (wanted["value"], slope), what)
    elif what == "jet":
        near((got[0], *got[1]), (wanted["value"], slope, bend), what, 1e-7)
    elif what == "lanes":
        near(tuple(part[0] for part in got[1]), gradient, "first lane")
        near(tuple(part[1] for part in got[1]), gradient, "second lane")
        near(got[0], np.array([wanted["value"]] * 2), "values of lanes")
    else:
        near(got, np.array([wanted["value"]] * 2), what)


def _inner(left: Any, right: Any) -> Any:
    return sum(np.sum(u * v) for u, v in zip(left, right, strict=True))


def ended(got: tuple[Any, Exception | None], wanted: dict[str, Any], what: str) -> None:
    """Raise Wrong unless a call ended as plain Python's did; raise a refusal."""
    problem, error = got[1], wanted["error"]
    if isinstance(problem, dj.DiffjitError):
        raise problem
    if (problem is None) != (error is None):
        raise Wrong(f"{what}: {problem!r}, should be {error!r}") from problem
    if error is None:
        if what == "value":
            near(got[0], wanted["value"], what)
        return
    same = type(problem).__name__ == type(error).__name__ or isinstance(problem, type(error))
    if not same or (not isinstance(error, TypeError) and not _words(error, problem)):
        raise Wrong(f"{what}: {problem!r}, should be {error!r}") from problem


def _words(error: Exception, problem: Exception) -> bool:
    """Whether an exception has Python's words, where these are promised: those of the program itself."""
    promised = "unpack" not in str(error) and "index" not in str(error) and "broadcast" not in str(error)
    return not promised or str(error) in str(problem)


def main(writer: Any) -> None:
    """The command line: seeds from, to, and backends."""
    first, last, *backends = sys.argv[1:]
    counts: Counter[str] = Counter()
    for seed in range(int(first), int(last)):
        try:
            found = check(seed, tuple(backends) or ("python", "numba"), writer)
        except Wrong as error:
            found = "WRONG"
            print(f"seed {seed}: {error}"[:6000], flush=True)  # noqa: T201
        if found.startswith("["):
            print(f"seed {seed}: {found}", flush=True)  # noqa: T201
        counts[found if not found.startswith("[") else found[:7]] += 1
    print(dict(counts))  # noqa: T201
