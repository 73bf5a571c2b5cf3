"""`jit`, `stop_gradient`, `check_grads` and `source`."""

from __future__ import annotations

from typing import Any

from diffjit.api.derived import Derived, Jitted, verb
from diffjit.errors import UsageError


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

    def __reduce__(self) -> str:
        return "stop_gradient"

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.inline import stopped

        del kwargs, node
        return stopped(interpreter, args[0])


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
    from diffjit.api.checks import check

    check(f, args, order, [modes] if isinstance(modes, str) else list(modes), atol, rtol, eps)


def clear_cache() -> None:
    """Remove generated modules, machine code and manifests from the cache folder (`settings.cache_dir`).

    Programs that this process has compiled already stay; new ones are made from their source.
    """
    from diffjit.lowering import cache

    cache.clear()


def source(fun: Any, *args: Any, stage: str = "source", **kwargs: Any) -> str:
    """The text that diffjit runs for these arguments, as a Python module.

    stage   "source": the program at the level of the user's code; "lowered": the loops that Numba compiles
    """
    from diffjit.api.text import text_of

    if stage not in ("source", "lowered"):
        raise UsageError("DJ508", f"unknown stage {stage!r}", cure='stages are "source" and "lowered"')
    return text_of(fun if isinstance(fun, Derived) else Jitted(fun, None), args, kwargs, stage)
