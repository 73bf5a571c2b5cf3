"""The public names as type checkers see them: what a verb makes has the parameters of the function it is given.

Docstrings and defaults stand with the functions; a test holds the two together.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np

from diffjit import errors as errors
from diffjit.api.reports.checks import Report
from diffjit.api.reports.explain import Explanation
from diffjit.api.reports.memory import TapeSize
from diffjit.errors import CacheWarning as CacheWarning
from diffjit.errors import DeviceProblem as DeviceProblem
from diffjit.errors import DiffjitError as DiffjitError
from diffjit.errors import GradientMismatch as GradientMismatch
from diffjit.errors import InternalError as InternalError
from diffjit.errors import MemoryProblem as MemoryProblem
from diffjit.errors import NonFinite as NonFinite
from diffjit.errors import NoRule as NoRule
from diffjit.errors import TypeProblem as TypeProblem
from diffjit.errors import UnsupportedSyntax as UnsupportedSyntax
from diffjit.errors import UntestedVersion as UntestedVersion
from diffjit.errors import UsageError as UsageError
from diffjit.lowering.cuda.devices import Description
from diffjit.settings import settings as settings
from diffjit.solvers.ode_solution import Event as Event
from diffjit.solvers.ode_solution import OdeSolution as OdeSolution

_P = ParamSpec("_P")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

_Argnums: TypeAlias = int | str | Sequence[int | str]
_Function: TypeAlias = Callable[..., Any]
_Point: TypeAlias = tuple[Any, ...] | list[Any]
_Mode: TypeAlias = Literal["fwd", "rev"]
_Solver: TypeAlias = Literal["auto", "dense", "cg", "gmres"]

__version__: str

class _CustomFunction(Protocol[_P, _R_co]):
    """A function with rules of its own."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    def defjvp(self, jvp: _F) -> _F: ...
    def defjvps(self, *jvps: _Function | None) -> None: ...
    def defvjp(self, fwd: _Function, bwd: _Function) -> None: ...

@overload
def grad(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def grad(
    fun: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def value_and_grad(
    fun: Callable[_P, _R],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[_P, tuple[_R, Any]]: ...
@overload
def value_and_grad(
    fun: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[Callable[_P, _R]], Callable[_P, tuple[_R, Any]]]: ...
@overload
def jacfwd(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def jacfwd(
    fun: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def jacrev(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def jacrev(
    fun: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def jacobian(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def jacobian(
    fun: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def hessian(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def hessian(
    fun: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def sparse_jacobian(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    pattern: Any = None,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def sparse_jacobian(
    fun: None = None, argnums: _Argnums = 0, has_aux: bool = False, *, pattern: Any = None, backend: str | None = None
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def sparse_hessian(
    fun: Callable[_P, Any],
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    pattern: Any = None,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def sparse_hessian(
    fun: None = None, argnums: _Argnums = 0, has_aux: bool = False, *, pattern: Any = None, backend: str | None = None
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def sparsity(fun: Callable[_P, Any], argnums: _Argnums = 0, has_aux: bool = False) -> Callable[_P, Any]: ...
@overload
def sparsity(
    fun: None = None, argnums: _Argnums = 0, has_aux: bool = False
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def jit(fun: Callable[_P, _R], *, backend: str | None = None) -> Callable[_P, _R]: ...
@overload
def jit(fun: None = None, *, backend: str | None = None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
@overload
def vmap(
    fun: Callable[_P, Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    axis_size: int | None = None,
    backend: str | None = None,
) -> Callable[_P, Any]: ...
@overload
def vmap(
    fun: None = None, in_axes: Any = 0, out_axes: Any = 0, *, axis_size: int | None = None, backend: str | None = None
) -> Callable[[Callable[_P, Any]], Callable[_P, Any]]: ...
@overload
def checkpoint(fun: Callable[_P, _R]) -> Callable[_P, _R]: ...
@overload
def checkpoint(fun: None = None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
@overload
def constant(fun: Callable[_P, _R]) -> Callable[_P, _R]: ...
@overload
def constant(fun: None = None) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
@overload
def custom_jvp(fun: Callable[_P, _R], nondiff_argnums: int | Iterable[int] = ()) -> _CustomFunction[_P, _R]: ...
@overload
def custom_jvp(
    fun: None = None, nondiff_argnums: int | Iterable[int] = ()
) -> Callable[[Callable[_P, _R]], _CustomFunction[_P, _R]]: ...
@overload
def custom_vjp(fun: Callable[_P, _R], nondiff_argnums: int | Iterable[int] = ()) -> _CustomFunction[_P, _R]: ...
@overload
def custom_vjp(
    fun: None = None, nondiff_argnums: int | Iterable[int] = ()
) -> Callable[[Callable[_P, _R]], _CustomFunction[_P, _R]]: ...
@overload
def foreign(
    function: Callable[_P, _R], result: Any = None, *, reads: int | Iterable[int] = (), writes: int | Iterable[int] = ()
) -> Callable[_P, _R]: ...
@overload
def foreign(
    function: None = None, result: Any = None, *, reads: int | Iterable[int] = (), writes: int | Iterable[int] = ()
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
@overload
def foreign(
    function: object, result: Any = None, *, reads: int | Iterable[int] = (), writes: int | Iterable[int] = ()
) -> Callable[..., Any]: ...
@overload
def jvp(
    fun: Callable[..., _R],
    primals: _Point,
    tangents: _Point,
    has_aux: Literal[False] = False,
    *,
    backend: str | None = None,
) -> tuple[_R, Any]: ...
@overload
def jvp(
    fun: Callable[..., _R], primals: _Point, tangents: _Point, has_aux: Literal[True], *, backend: str | None = None
) -> tuple[Any, Any, Any]: ...
@overload
def jvp(
    fun: Callable[..., _R], primals: _Point, tangents: _Point, has_aux: bool, *, backend: str | None = None
) -> Any: ...
@overload
def vjp(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[False] = False, backend: str | None = None
) -> tuple[_R, Callable[[Any], tuple[Any, ...]]]: ...
@overload
def vjp(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[True], backend: str | None = None
) -> tuple[Any, Callable[[Any], tuple[Any, ...]], Any]: ...
@overload
def vjp(fun: Callable[..., _R], *primals: Any, has_aux: bool, backend: str | None = None) -> Any: ...
@overload
def linearize(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[False] = False, backend: str | None = None
) -> tuple[_R, Callable[..., Any]]: ...
@overload
def linearize(
    fun: Callable[..., _R], *primals: Any, has_aux: Literal[True], backend: str | None = None
) -> tuple[Any, Callable[..., Any], Any]: ...
@overload
def linearize(fun: Callable[..., _R], *primals: Any, has_aux: bool, backend: str | None = None) -> Any: ...
def linear_transpose(fun: _Function, *primals: Any, backend: str | None = None) -> Callable[[Any], tuple[Any, ...]]: ...
def jet(
    fun: Callable[..., _R],
    primals: _Point,
    series: _Point,
    factorial_scaled: bool = True,
    *,
    backend: str | None = None,
) -> tuple[_R, Any]: ...
@overload
def hvp(
    fun: _Function,
    primals: _Point,
    tangents: _Point,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    backend: str | None = None,
) -> Any: ...
@overload
def hvp(
    fun: _Function,
    primals: None = None,
    tangents: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[_Point, _Point], Any]: ...
@overload
def hvp(
    fun: None = None,
    primals: None = None,
    tangents: None = None,
    argnums: _Argnums = 0,
    has_aux: bool = False,
    *,
    backend: str | None = None,
) -> Callable[[_Function, _Point, _Point], Any]: ...
def stop_gradient(x: _T) -> _T: ...
def checkpointed(iterable: Iterable[_T], budget: int | str = 64) -> Iterable[_T]: ...
def fixed_point(
    f: _Function,
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: _Solver = "auto",
    M: Any = None,
) -> Any: ...
def root(
    f: _Function,
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: _Solver = "auto",
    M: Any = None,
) -> Any: ...
def linear_solve(
    matvec: _Function,
    b: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: _Solver = "auto",
    M: Any = None,
) -> Any: ...
def minimize_implicit(
    f: _Function,
    x0: Any,
    *args: Any,
    tol: float | None = None,
    maxiter: int | None = None,
    solver: _Solver = "auto",
    M: Any = None,
) -> Any: ...
def odeint(
    func: _Function,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = ...,
    atol: float = ...,
    hmax: float = ...,
    mxstep: int = ...,
    adjoint: Literal["discrete", "continuous"] = "discrete",
    events: Event | _Function | Sequence[Event | _Function] = (),
    dense: bool = False,
    method: Literal["dopri5", "rodas5p"] = "dopri5",
) -> Any: ...
def check_grads(
    f: _Function,
    args: tuple[Any, ...],
    order: int = 1,
    modes: _Mode | Sequence[_Mode] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    directions: int = 1,
    seed: int = 0,
    backend: str | None = None,
) -> Report: ...
def clear_cache() -> None: ...
def column_colors(pattern: Any) -> np.ndarray: ...
def source(
    fun: _Function, *args: Any, stage: Literal["source", "lowered", "llvm", "asm", "ptx"] = "source", **kwargs: Any
) -> str: ...
def devices() -> list[Description]: ...
def device_put(x: _T) -> _T: ...
def device_get(x: _T) -> _T: ...
def memory(fun: _Function, *args: Any, backend: str | None = None, **kwargs: Any) -> TapeSize: ...
def explain(fun: _Function, *args: Any, backend: str | None = None, **kwargs: Any) -> Explanation: ...
