"""Solutions of equations: `fixed_point`, `root`, `linear_solve`, `minimize_implicit`.

How a solution was found does not matter to its derivative, which is one more linear system (the implicit function
theorem), solved by products alone where it is large. The solvers are plain NumPy, and functions with rules of their own
(`api.custom`); the equation is interpreted once (`states`), and what it reads of its surroundings becomes further
arguments, so that closures have derivatives, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffjit.api.engine.composed import Call, Composed, applied
from diffjit.api.engine.inline import plain
from diffjit.errors import UsageError
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.solvers import implicit_solvers as solvers
from diffjit.solvers.states import State

SOLVERS = ("auto", "dense", "cg", "gmres")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a verb."""

    tol: float | None = None
    maxiter: int | None = None
    solver: str = "auto"
    M: Any = None

    def checked(self, name: str) -> Options:
        """These options; raises where they contradict each other."""
        if self.solver not in SOLVERS:
            raise _refused(f"{name}: there is no linear solver {self.solver!r}", f"solvers are {', '.join(SOLVERS)}")
        if self.M is not None and self.solver == "dense":
            raise _refused(f"{name}: a matrix that is factorised takes no preconditioner", "leave out M, or the solver")
        return self


class Implicit(Composed):
    """A function of a start (or a right-hand side) and arguments that gives the solution."""

    def __init__(self, name: str, function: Any, options: Options) -> None:
        super().__init__(function, None)
        self.name, self.choices = name, options.checked(name)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del kwargs
        state = State(interpreter, args[0], self.name)
        wanted = "" if self.name == "minimize_implicit" else "value"
        field = state.function(self.function, [], args[1:], node, wanted=wanted)
        if field is None:
            return NONE
        near = None
        if self.choices.M is not None:
            point = [] if self.name == "linear_solve" else [state.tree()]
            near = state.function(self.choices.M, point, args[1:], node, what=f"{self.name}, as preconditioner,")
            if near is None:
                return NONE
        eps = float(np.finfo(state.precision()).eps)
        tol = 8.0 * eps if self.choices.tol is None else float(self.choices.tol)
        steps = self.choices.maxiter or solvers.STEPS[self.name]
        plan = [Static(o) for o in (self.name, field, near, self.choices.solver, tol, eps, steps)]
        given = [field.given(field.floats), field.given(field.others)]
        given += [av.Tup(()), av.Tup(())] if near is None else [near.given(near.floats), near.given(near.others)]
        parts = av.Tup(tuple(state.parts))
        found = interpreter.call(Static(solvers.found), [av.Tup(tuple(plan)), parts, *given], {}, node)
        return NONE if found is NONE else state.formed(found)


def _refused(problem: str, cure: str) -> UsageError:
    return UsageError("DJ530", problem, cure=cure)


_equation = applied(("tol", "maxiter", "solver"), f=plain, matvec=plain, M=plain)


@_equation
def fixed_point(
    f: Any,
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: str = "auto",
    M: Any = None,
) -> Call:
    """The x with `x == f(x, *args)`, found by iterating from x0.

    f         gives a tree of the form of x0
    x0        where to start: a number or an array, real or complex, or a tree of these
    args      trees of anything that f takes
    tol       bounds the last step, relative to x; eight times the rounding of its numbers by default
    maxiter   the most steps: 10,000
    solver    of the derivative's linear system: "dense", "gmres", "cg", or "auto"
    M         `M(v, x, *args)`, near the inverse of the derivative of `x - f(x)`, for "gmres" and "cg"

    "auto" is "dense" up to 100 real numbers, else "gmres"; "cg" is for maps that are symmetric and positive definite.
    Differentiable in args and in what f reads of its surroundings, at the cost of one linear system; x0 has no
    derivative, nor does M. Functions of complex numbers need not be holomorphic.
    Raises `RuntimeError` where it does not converge, and, in a derivative, where its linear system is singular or its
    solver does not converge; `ValueError` for an f that gives another shape; `UsageError` for one that gives another
    form, and for options that there are not.
    """
    return Call(Implicit, ("fixed_point", f, Options(tol, maxiter, solver, M)), (x0, *args))


@_equation
def root(
    f: Any,
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: str = "auto",
    M: Any = None,
) -> Call:
    """The x with `f(x, *args) == 0`, found by Newton's method from x0.

    As `fixed_point`; solver and M are those of Newton's steps, too, and M is near the inverse of the derivative of f.
    tol bounds the last step, relative to x, and maxiter the number of steps (100).
    """
    return Call(Implicit, ("root", f, Options(tol, maxiter, solver, M)), (x0, *args))


@_equation
def linear_solve(
    matvec: Any,
    b: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: str = "auto",
    M: Any = None,
) -> Call:
    """The x with `matvec(x, *args) == b`, where matvec is linear in x.

    matvec    gives a tree of the form of its first argument; for complex numbers, linear by real factors will do
    b         a number or an array, real or complex, or a tree of these; x has its form
    args      trees of anything that matvec takes
    tol       bounds the residual, relative to b; by default it goes down to rounding
    maxiter   the most restarts of "gmres" after 40 vectors each (50), or steps of "cg" (10 for each number)
    solver    "dense", "gmres", "cg" (for a Hermitian map that is positive definite), or "auto"
    M         the preconditioner: `M(v, *args)`, linear in v and near the inverse of matvec, for "gmres" and "cg"

    "auto" is "dense" up to 100 real numbers, else "gmres".
    Differentiable in b, in args and in what matvec reads of its surroundings; M has no derivative.
    Raises as `fixed_point` does.
    """
    return Call(Implicit, ("linear_solve", matvec, Options(tol, maxiter, solver, M)), (b, *args))


@_equation
def minimize_implicit(
    f: Any,
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: str = "auto",
    M: Any = None,
) -> Call:
    """A minimum of f, which gives a float, over its first argument, found by Newton's method from x0.

    As `root`, for the gradient of f; "auto" is "dense" up to 100 real numbers, else "cg". Steps are found by conjugate
    gradients. In a derivative, a point that is no strict minimum raises `RuntimeError`.
    """
    return Call(Implicit, ("minimize_implicit", f, Options(tol, maxiter, solver, M)), (x0, *args))


__all__ = ["fixed_point", "linear_solve", "minimize_implicit", "root"]
