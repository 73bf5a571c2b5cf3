"""`grad` and `value_and_grad`: gradients of scalar functions by reverse mode."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit.api.engine.derived import Derived, verb
from diffjit.api.engine.programs import Arguments, Compiled
from diffjit.frontend.entry.outputs import Out, rebuild

if TYPE_CHECKING:
    from diffjit.frontend.entry.results import Program


@dataclass(slots=True, eq=False)
class GradientResult:
    """How a program's flat results become what a gradient function returns."""

    which: list[int | str]  # the arguments that it differentiates by
    where: dict[int, int | None]  # their float leaves -> position among the results (None: zero)
    picks: tuple[int, ...] | None  # the positions where each of them is one number or array
    single: bool  # one argument: its gradient is not in a tuple
    value: Any  # the tree of the function's own result
    with_value: bool
    has_aux: bool

    def __call__(self, outs: tuple[Any, ...], call: Arguments) -> Any:
        """The result."""
        picks = self.picks
        if picks is None:
            gradients = self.trees(outs, call)
        else:
            gradients = outs[picks[0]] if self.single else tuple([outs[k] for k in picks])
        if self.with_value:
            value = self.value
            return (outs[value.index] if type(value) is Out else rebuild(value, list(outs))), gradients
        return (gradients, rebuild(self.value, list(outs))[1]) if self.has_aux else gradients

    def trees(self, outs: tuple[Any, ...], call: Arguments) -> Any:
        """Gradients in the structure of the arguments."""
        where = self.where
        trees = []
        for argument in self.which:
            leaves = (gradient_leaf(call.leaves[k], where.get(k), outs, k in where) for k in call.leaf_range(argument))
            trees.append(call.structure(argument).unflatten(leaves))
        return trees[0] if self.single else tuple(trees)


class Gradient(Derived):
    """The gradient of a scalar function, with or without its value."""

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
        self.argnums = argnums
        self.has_aux = has_aux
        self.with_value = with_value
        self.holomorphic = holomorphic

    def form(self) -> tuple[Any, ...] | None:
        """Which gradient."""
        if isinstance(self.argnums, (int, str)):
            which: Any = self.argnums
        else:
            which = tuple(self.argnums)
        return ("grad", which, self.has_aux, self.with_value, self.holomorphic)

    def shortcut(self, compiled: Compiled, finish: GradientResult) -> Callable[[tuple[Any, ...]], Any] | None:
        """Where the gradients stand among the results as they are."""
        picks, value = finish.picks, finish.value
        if not picks or finish.has_aux or (finish.with_value and type(value) is not Out):
            return None
        if finish.single:
            take: Callable[[tuple[Any, ...]], Any] = operator.itemgetter(picks[0])
        elif len(picks) == 1:
            take = lambda outs: (outs[picks[0]],)  # noqa: E731 - `itemgetter` makes no tuple of one
        else:
            take = operator.itemgetter(*picks)
        run = compiled.direct or (lambda *args: compiled(args))
        if not finish.with_value:
            return lambda args: take(run(*args))
        index = value.index

        def shortcut(args: tuple[Any, ...]) -> Any:
            outs = run(*args)
            return outs[index], take(outs)

        return shortcut

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, GradientResult]:
        """The compiled function, and how its flat results become this function's."""
        from diffjit.api.gradients import build

        return build(self, program, call)

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The gradient as a program of its own: transforms compose."""
        from diffjit.api.gradients import gradient_program

        return gradient_program(self, args, kwargs)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.engine.inline import inline_gradient

        return inline_gradient(self, interpreter, args, kwargs, node)


def gradient_leaf(leaf: Any, position: int | None, outs: tuple[Any, ...], chosen: bool) -> Any:
    """The gradient by one leaf, in the leaf's own type; zero where nothing depends on it."""
    if not chosen:
        return np.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray) else type(leaf)(0)
    if position is not None:
        return outs[position]
    return np.zeros_like(leaf, subok=False) if isinstance(leaf, np.ndarray) else type(leaf)(0)


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
    backend       "numba" (compiled) or "python" (readable text); the default is `settings.backend`

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
