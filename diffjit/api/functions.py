"""`jit`, `stop_gradient`, `check_grads` and `source`."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from diffjit.api.derived import Derived, Jitted
from diffjit.api.inline import verb
from diffjit.api.products import jvp, vjp
from diffjit.errors import UsageError
from diffjit.frontend import values as av
from diffjit.ir.nodes import Value
from diffjit.ir.types import is_float


@verb
def jit(fun: Any = None, *, backend: str | None = None) -> Any:
    """Compile a function. It does what the function does, also to its arguments.

    fun       the function; without it, a decorator with arguments
    backend   "numba" (compiled) or "python" (readable text)
    """
    if fun is None:
        return lambda f: Jitted(f, backend)
    return Jitted(fun, backend)


class _StopGradient:
    """The identity, through which no derivative flows."""

    __name__ = "stop_gradient"

    def __call__(self, x: Any) -> Any:
        """Return x."""
        return x

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs, node
        return self.stop(interpreter, args[0])

    def stop(self, interpreter: Any, value: Any) -> Any:
        """The same value without derivatives, inside a program."""
        if isinstance(value, Value) and is_float(value.type):
            if hasattr(value.type, "dims"):
                value = interpreter.copy(value)
            return interpreter.build.value("stop_gradient", [value], value.type, name=value.name)
        if isinstance(value, av.Tup):
            return av.Tup(tuple(self.stop(interpreter, v) for v in value.items), value.cls)
        if isinstance(value, av.Ref):
            held = interpreter.contents(value)
            if isinstance(held, av.ListC):
                return interpreter.new(av.ListC(tuple(self.stop(interpreter, v) for v in held.items)))
            if isinstance(held, av.DictC):
                return interpreter.new(
                    av.DictC({k: self.stop(interpreter, v) for k, v in held.items.items()}, held.is_set, held.cls)
                )
        return value


stop_gradient = _StopGradient()


def check_grads(
    f: Any,
    args: tuple[Any, ...],
    order: int = 1,
    modes: Any = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float = 1e-6,
) -> None:
    """Compare derivatives with central difference quotients in random directions.

    f       the function (any number of float results), args its arguments
    order   1, or 2 to check derivatives of derivatives too
    modes   "fwd" (jvp) and/or "rev" (vjp)
    Raises AssertionError where they disagree.
    """
    rng = np.random.default_rng(0)
    rtol = 1e-5 if rtol is None else rtol
    atol = 1e-6 if atol is None else atol
    modes = [modes] if isinstance(modes, str) else list(modes)
    direction = optree.tree_map(lambda x: _random_like(rng, x), args)  # pyright: ignore[reportArgumentType]
    quotient = _difference(f, args, direction, eps)
    value, tangent = jvp(f, args, direction)
    if "fwd" in modes:
        _compare(tangent, quotient, "jvp", rtol, atol)
    if "rev" in modes:
        _, pullback = vjp(f, *args)
        seeds = optree.tree_map(lambda x: _random_like(rng, x), value)
        bars = pullback(seeds)
        left = _inner(seeds, quotient)
        right = _inner(bars, direction)
        _compare(right, left, "vjp", rtol, atol)
    if order > 1:

        def derivative(*points: Any) -> Any:
            return jvp(f, points, direction)[1]

        second = _difference(derivative, args, direction, max(eps, 1e-5))
        first = _second(f, args, direction)
        _compare(first, second, "second derivative", max(rtol, 1e-4), max(atol, 1e-5))


def _second(f: Any, args: tuple[Any, ...], direction: Any) -> Any:
    from diffjit.api.grad import Gradient, grad

    floats = [
        k
        for k, a in enumerate(args)
        if any(isinstance(x, float) or (hasattr(x, "dtype") and x.dtype.kind == "f") for x in optree.tree_leaves(a))
    ]
    if isinstance(f, Gradient):
        return jvp(f, args, direction)[1]
    g = grad(f, argnums=tuple(floats))
    _, rows = jvp(g, args, direction)
    return _inner(rows, tuple(direction[k] for k in floats))


def _random_like(rng: Any, x: Any) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        return rng.standard_normal(x.shape).astype(x.dtype)
    if isinstance(x, (float, np.floating)):
        return type(x)(rng.standard_normal())
    return np.zeros_like(x) if isinstance(x, np.ndarray) else 0 if isinstance(x, (int, np.integer)) else x


def _difference(f: Any, args: tuple[Any, ...], direction: Any, eps: float) -> Any:
    def moved(sign: float) -> Any:
        return f(
            *optree.tree_map(
                lambda x, d: x + sign * eps * d if _floating(x) else (x.copy() if isinstance(x, np.ndarray) else x),
                args,  # pyright: ignore[reportArgumentType]
                direction,
            )
        )

    return optree.tree_map(lambda a, b: (a - b) / (2 * eps), moved(1.0), moved(-1.0))


def _floating(x: Any) -> bool:
    return isinstance(x, (float, np.floating)) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")


def _inner(a: Any, b: Any) -> float:
    return float(
        sum(
            np.sum(np.asarray(x) * np.asarray(y))
            for x, y in zip(optree.tree_leaves(a), optree.tree_leaves(b), strict=True)
            if _floating(x)
        )
    )


def _compare(a: Any, b: Any, what: str, rtol: float, atol: float) -> None:
    for x, y in zip(optree.tree_leaves(a), optree.tree_leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=f"{what} against difference quotients")


def source(fun: Any, *args: Any, stage: str = "source", **kwargs: Any) -> str:
    """The text that diffjit runs for these arguments, as a Python module.

    stage   "source": the program at the level of the user's code; "lowered": the loops that Numba compiles
    """
    from diffjit.api.text import text_of

    if stage not in ("source", "lowered"):
        raise UsageError("DJ508", f"unknown stage {stage!r}", cure='stages are "source" and "lowered"')
    return text_of(fun if isinstance(fun, Derived) else Jitted(fun, None), args, kwargs, stage)
