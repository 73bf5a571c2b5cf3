"""`jit`, `stop_gradient`, `check_grads` and `source`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from diffjit import tree
from diffjit.api.engine.derived import Derived, Jitted, verb
from diffjit.api.engine.tracebacks import boundary

if TYPE_CHECKING:
    from diffjit.api.reports.checks import Report

T = TypeVar("T")


@verb
def jit(fun: Any = None, *, backend: str | None = None) -> Any:
    """Compile a function. It does what the function does, also to its arguments.

    fun       the function; without it, a decorator with arguments
    backend   "numba" (compiled), "cuda" (with kernels for a GPU) or "python" (readable text)
    """
    if fun is None:
        return lambda f: Jitted(f, backend)
    return Jitted(fun, backend)


def stop_gradient(x: T) -> T:
    """x, through which no derivative flows: inside a program, what this gives is a constant.

    Arrays are copies, and so are the containers that they are in, as inside a program.
    """
    return tree.apart(x, x)


def _stopped_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    from diffjit.api.engine.inline import stopped

    del node
    return stopped(interpreter, *args, **kwargs)


stop_gradient.__diffjit_inline__ = _stopped_inside  # type: ignore[attr-defined]


@boundary
def check_grads(
    f: Any,
    args: tuple[Any, ...],
    order: int = 1,
    modes: Any = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    directions: int = 1,
    seed: int = 0,
    backend: str | None = None,
) -> Report:
    """Compare derivatives with complex steps and difference quotients, in random directions.

    f            the function (any tree of results; its floats count), args its arguments (trees, too)
    order        derivatives up to this order, in all combinations of the modes
    modes        "fwd" (jvp) and/or "rev" (vjp)
    atol, rtol   tolerances of first derivatives; the defaults go by dtype, and grow tenfold with each order
    eps          the step of difference quotients, in proportion to the arguments' size; the default goes by dtype
    directions   how many random directions for each argument; `seed` chooses them
    backend      "numba", "cuda" or "python"

    First derivatives are compared with the complex step too, where the plain Python function takes complex numbers
    (it must be complex-analytic for that to count). Second derivatives and higher ones are compared with quotients of
    the derivatives one order below, which have been compared themselves.

    Returns the report, which prints as a table. Raises `GradientMismatch` (an AssertionError, with the report in
    `.report`) where they disagree: it names the argument and the element that is furthest off, and says where quotients
    from the left and from the right disagree, as at a kink.
    """
    from diffjit.api.reports.checks import check

    listed = [modes] if isinstance(modes, str) else list(modes)
    return check(
        f,
        args,
        order,
        listed,
        atol=atol,
        rtol=rtol,
        eps=eps,
        seed=seed,
        directions=directions,
        backend=backend,
    )


@boundary
def clear_cache() -> None:
    """Remove generated modules, machine code and manifests from the cache folder (`settings.cache_dir`).

    Functions that have been derived already stay compiled; new ones are made from their source.
    """
    from diffjit.api.engine import shared
    from diffjit.lowering.calls import cache

    cache.clear()
    shared.forget()


@boundary
def source(fun: Any, *args: Any, stage: str = "source", **kwargs: Any) -> str:
    """The text that diffjit runs for these arguments, as a Python module.

    stage   "source": the program at the level of the user's code; "lowered": the loops that Numba compiles; "llvm":
            what LLVM has made of them; "asm": the assembly of the machine code

    Nothing is run. For "llvm" and "asm" the program is compiled anew, with the passes that its calls are compiled with.
    Raises UsageError (DJ508) for other stages, and where the stage is one of compiled code and the backend "python".
    """
    from diffjit.api.engine.text import text_of

    return text_of(fun if isinstance(fun, Derived) else Jitted(fun, None), args, kwargs, stage)
