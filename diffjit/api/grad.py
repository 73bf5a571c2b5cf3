"""`grad` and `value_and_grad`: gradients of scalar functions by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from diffjit.api.engine.derived import Derived, selected, verb
from diffjit.api.engine.programs import Arguments, flatten_call

if TYPE_CHECKING:
    from diffjit.frontend.entry.results import Program


class Gradient(Derived):
    """The gradient of a scalar function, with or without its value."""

    takes = ("reverse",)

    def __init__(
        self,
        function: Any,
        argnums: Any,
        *,
        has_aux: bool,
        with_value: bool,
        backend: str | None,
        holomorphic: bool = False,
    ) -> None:
        super().__init__(function, backend)
        self.argnums = selected(argnums)
        self.has_aux = has_aux
        self.with_value = with_value
        self.holomorphic = holomorphic

    def form(self) -> tuple[Any, ...] | None:
        """Which gradient."""
        return ("grad", self.argnums, self.has_aux, self.with_value, self.holomorphic)

    def transform(self, program: Program, call: Arguments, *, compiled: str = "") -> Program:
        """The gradient of a program."""
        from diffjit.api.gradients import derive

        return derive(self, program, call, compiled=compiled)

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The gradient as a program of its own: transforms compose."""
        from diffjit.api.engine.engine import program_of
        from diffjit.frontend.entry.demand import before, current, demanded

        with demanded(before(self.takes, current())):
            program = program_of(self.function, args, kwargs)
        return self.transform(program, flatten_call(args, kwargs))

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.engine.inline import inline

        return inline(self, interpreter, args, kwargs, node)


def _decorate(function: Any, make: Callable[[Any], Any]) -> Any:
    return make if function is None else make(function)


@verb
def grad(
    fun: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """The gradient of a function that returns one float.

    fun           the function; without it, a decorator (`@dj.grad(argnums="w")`)
    argnums       position or name of the argument to differentiate by, or a sequence of them
    has_aux       the function returns (value, aux); the gradient function then returns (gradient, aux)
    holomorphic   the function is a holomorphic one of complex arguments: the result is its complex derivative
    backend       "numba" (compiled), "cuda" (with kernels for a GPU) or "python" (text); by default `settings.backend`

    The result takes the same arguments; gradients have the shape, class and dtype of the arguments. By a complex
    argument x + iy it is df/dx - i df/dy, as JAX defines it: a step against its conjugate goes downhill.
    Raises `DiffjitError` with the user's line where a program cannot be differentiated, and where the result (or, with
    `holomorphic`, an argument) is not of the kind asked for (DJ325).
    """
    return _decorate(
        fun,
        lambda f: Gradient(
            f, argnums, has_aux=has_aux, with_value=False, backend=backend, holomorphic=bool(holomorphic)
        ),
    )


@verb
def value_and_grad(
    fun: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Any:
    """Like `grad`, but the result is (value, gradient); with `has_aux`, ((value, aux), gradient)."""
    return _decorate(
        fun,
        lambda f: Gradient(
            f, argnums, has_aux=has_aux, with_value=True, backend=backend, holomorphic=bool(holomorphic)
        ),
    )
