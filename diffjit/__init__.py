"""diffjit turns ordinary Python/NumPy functions into their derivatives, as code.

derivatives       grad, value_and_grad, jvp, vjp, jet, linearize, linear_transpose
matrices          jacobian, jacfwd, jacrev, hessian, hvp; sparse_jacobian, sparse_hessian, sparsity, column_colors
many arguments    vmap
compiling         jit, clear_cache
marks             stop_gradient, constant, checkpoint, checkpointed
own rules         custom_jvp, custom_vjp; foreign (functions of C and the like)
equations         root, fixed_point, linear_solve, minimize_implicit; odeint with Event and OdeSolution
devices           devices, device_put, device_get
looking inside    source, explain, memory, check_grads
settings          settings
errors            DiffjitError, and of it UnsupportedSyntax, NoRule, TypeProblem, MemoryProblem, UsageError, NonFinite,
                  DeviceProblem, GradientMismatch, InternalError; warnings: CacheWarning, UntestedVersion

Names and the order of arguments follow JAX. `help(diffjit.grad)` explains a verb; an error's text ends with a cure.
"""

import importlib
from typing import TYPE_CHECKING, Any

from diffjit.api.functions import check_grads, clear_cache, jit, source, stop_gradient
from diffjit.api.grad import grad, value_and_grad
from diffjit.api.products import jvp, vjp
from diffjit.errors import (
    CacheWarning,
    DeviceProblem,
    DiffjitError,
    GradientMismatch,
    InternalError,
    MemoryProblem,
    NonFinite,
    NoRule,
    TypeProblem,
    UnsupportedSyntax,
    UntestedVersion,
    UsageError,
)
from diffjit.settings import settings

if TYPE_CHECKING:
    from diffjit.api.checkpoint import checkpoint, checkpointed
    from diffjit.api.coloring import column_colors
    from diffjit.api.custom import custom_jvp, custom_vjp
    from diffjit.api.foreign import foreign
    from diffjit.api.jet import jet
    from diffjit.api.linear import constant, linear_transpose, linearize
    from diffjit.api.matrices import hessian, hvp, jacfwd, jacobian, jacrev
    from diffjit.api.reports.devices import device_get, device_put, devices
    from diffjit.api.reports.explain import explain
    from diffjit.api.reports.memory import memory
    from diffjit.api.sparse import sparse_hessian, sparse_jacobian, sparsity
    from diffjit.api.vmap import vmap
    from diffjit.solvers.implicit import fixed_point, linear_solve, minimize_implicit, root
    from diffjit.solvers.ode import odeint
    from diffjit.solvers.ode_solution import Event, OdeSolution

__version__ = "0.1.0"

# Verbs whose modules bring the frontend along: a gradient that another process has compiled does without.
_LATER = {
    "checkpoint": "api.checkpoint", "checkpointed": "api.checkpoint", "constant": "api.linear",
    "linear_transpose": "api.linear", "linearize": "api.linear", "custom_jvp": "api.custom", "custom_vjp": "api.custom",
    "hessian": "api.matrices", "hvp": "api.matrices", "jacfwd": "api.matrices", "jacobian": "api.matrices",
    "jacrev": "api.matrices", "vmap": "api.vmap", "fixed_point": "solvers.implicit", "linear_solve": "solvers.implicit",
    "minimize_implicit": "solvers.implicit", "root": "solvers.implicit", "column_colors": "api.coloring",
    "sparse_hessian": "api.sparse", "sparse_jacobian": "api.sparse", "sparsity": "api.sparse", "jet": "api.jet",
    "devices": "api.reports.devices", "device_put": "api.reports.devices", "device_get": "api.reports.devices",
    "memory": "api.reports.memory", "explain": "api.reports.explain", "odeint": "solvers.ode", "foreign": "api.foreign",
    "Event": "solvers.ode_solution", "OdeSolution": "solvers.ode_solution",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a verb when it is first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'diffjit' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"diffjit.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    """What is public, imported or not."""
    return [*__all__, "__version__"]


__all__ = [
    "CacheWarning",
    "DeviceProblem",
    "DiffjitError",
    "Event",
    "GradientMismatch",
    "InternalError",
    "MemoryProblem",
    "NoRule",
    "NonFinite",
    "OdeSolution",
    "TypeProblem",
    "UnsupportedSyntax",
    "UntestedVersion",
    "UsageError",
    "check_grads",
    "checkpoint",
    "checkpointed",
    "clear_cache",
    "column_colors",
    "constant",
    "custom_jvp",
    "custom_vjp",
    "device_get",
    "device_put",
    "devices",
    "explain",
    "fixed_point",
    "foreign",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "linear_solve",
    "linear_transpose",
    "linearize",
    "memory",
    "minimize_implicit",
    "odeint",
    "root",
    "settings",
    "source",
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
