"""Solutions of equations: `fixed_point`, `root`, `linear_solve`, `minimize_implicit`.

How a solution was found does not matter to its derivative, which is one more linear system (the implicit function
theorem), solved by products alone. The solvers are plain NumPy, and functions with rules of their own (`api.custom`);
the equation is interpreted once, and what it reads of its surroundings becomes further arguments, so that closures have
derivatives, too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from diffjit.api import implicit_solvers as solvers
from diffjit.api.composed import Composed
from diffjit.api.inline import nest, plain
from diffjit.errors import UsageError
from diffjit.frontend.nested import Inner
from diffjit.frontend.outputs import Out
from diffjit.frontend.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar, is_float

_OPTIONS = ("tol", "maxiter")


class Equation:
    """A function of x and of flat arguments, interpreted already: a callable for the solvers."""

    __name__ = "equation"

    def __init__(self, inner: Inner) -> None:
        self.inner = inner

    def __call__(self, *args: Any) -> Any:
        """It exists while a program is specialised; nothing calls it."""
        del args
        raise TypeError(self.__name__)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs, node
        function = self.inner.program.function
        given = [fitting(interpreter, a, p) for a, p in zip(args, function.params, strict=True)]
        return interpreter.abstract(self.inner.program.result, interpreter.copy_in(function, given))


def fitting(interpreter: Any, value: Any, param: Value) -> Value:
    """A value in the type of a parameter."""
    found, ty = interpreter.number(value), param.type
    if isinstance(ty, Scalar):
        return interpreter.cast(found, ty.dtype, weak=ty.weak)
    if found.type.dtype != ty.dtype:
        found = interpreter.cast(found, ty.dtype)
    if ty.layout not in ("A", found.type.layout):
        found = interpreter.build.value("copy", [found], Array(ty.dtype, found.type.dims, ty.layout), order=ty.layout)
    return found


class Implicit(Composed):
    """A function of a start (or a right-hand side) and arguments that gives the solution."""

    def __init__(self, name: str, function: Any, options: tuple[float | None, int | None]) -> None:
        super().__init__(function, None)
        self.name, self.options = name, options

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs
        start = interpreter.number(args[0])
        if not is_float(start.type):
            start = interpreter.cast(start, np.float64)
        if start.type.dtype.kind != "f":
            cure = "write complex numbers as two real ones"
            raise UsageError("DJ519", f"{self.name} solves for real numbers", cure=cure)
        inner = nest(interpreter, self.function, [start, *args[1:]], {}, node, refusal=f"a function under {self.name}")
        if inner is None:
            return NONE
        self.check(inner, 0 if self.name == "minimize_implicit" else getattr(start.type, "ndim", 0))
        tol, steps = self.options
        if tol is None:
            tol = float(np.finfo(start.type.dtype).eps) * 8
        equation = Equation(inner)
        made = solvers.VERBS[self.name](equation)
        given = [Static(o) for o in (*made, tol, steps or solvers.STEPS[self.name])]
        return interpreter.call(Static(solvers.SOLVERS[self.name]), [*given, start, *inner.inputs[1:]], {}, node)

    def check(self, inner: Inner, ndim: int) -> None:
        """The equation has as many parts as unknowns, in the same form; what is minimised is a number."""
        function = inner.program.function
        right = len(function.results) == 1 and isinstance(inner.program.result, Out)
        if right and is_float(function.results[0].type) and getattr(function.results[0].type, "ndim", 0) == ndim:
            return
        wanted = "a number" if ndim == 0 else f"an array of {ndim} dimension{'s' * (ndim > 1)}"
        raise UsageError("DJ519", f"`{function.name}` under {self.name} must return {wanted}", cure=_CURES[ndim > 0])


_CURES = ("return one float", "return one array of floats, of the form of the first argument")


def _run(name: str, function: Any, start: Any, args: tuple[Any, ...], options: tuple[Any, Any]) -> Any:
    return _made(name, function, options)(start, *args)


@functools.lru_cache(maxsize=256)
def _made(name: str, function: Any, options: tuple[Any, Any]) -> Implicit:
    return Implicit(name, function, options)


def _inside(name: str) -> Any:
    def inline(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        for option, value in kwargs.items():
            if option not in _OPTIONS:
                raise UsageError("DJ530", f"{name}: there is no option `{option}`", cure="options are tol and maxiter")
            if not isinstance(value, Static):
                raise UsageError(
                    "DJ530", f"{name}: `{option}` is only known at run time", cure="write it as a constant"
                )
        options = tuple(getattr(kwargs.get(k), "obj", None) for k in _OPTIONS)
        function = plain(interpreter, args[0])
        made = Implicit(name, function, options)  # type: ignore[arg-type]
        return made.__diffjit_inline__(interpreter, args[1:], {}, node)

    return inline


def fixed_point(f: Any, x0: Any, *args: Any, tol: float | None = None, maxiter: int | None = None) -> Any:
    """The x with `x == f(x, *args)`, found by iterating from x0: a number or an array.

    Differentiable in args and in what f reads of its surroundings, at the cost of one linear system; x0 has no
    derivative. tol bounds the last step, relative to x.
    """
    return _run("fixed_point", f, x0, args, (tol, maxiter))


def root(f: Any, x0: Any, *args: Any, tol: float | None = None, maxiter: int | None = None) -> Any:
    """The x with `f(x, *args) == 0`, found by Newton's method from x0: a number or an array of f's shape.

    Differentiable as `fixed_point` is.
    """
    return _run("root", f, x0, args, (tol, maxiter))


def linear_solve(matvec: Any, b: Any, *args: Any, tol: float | None = None, maxiter: int | None = None) -> Any:
    """The x with `matvec(x, *args) == b`, where matvec is linear in x: by GMRES, without a matrix.

    Differentiable in b, in args and in what matvec reads of its surroundings.
    """
    return _run("linear_solve", matvec, b, args, (tol, maxiter))


def minimize_implicit(f: Any, x0: Any, *args: Any, tol: float | None = None, maxiter: int | None = None) -> Any:
    """A minimum of f over its first argument, found by Newton's method from x0.

    Differentiable as `fixed_point` is: the gradient of f vanishes there.
    """
    return _run("minimize_implicit", f, x0, args, (tol, maxiter))


for _verb in (fixed_point, root, linear_solve, minimize_implicit):
    _verb.__diffjit_inline__ = _inside(_verb.__name__)  # type: ignore[attr-defined]

__all__ = ["fixed_point", "linear_solve", "minimize_implicit", "root"]
