"""diffjit turns ordinary Python/NumPy functions into their derivatives, as code."""

from diffjit import primitives  # noqa: F401 - declares the primitives
from diffjit.api.functions import check_grads, jit, source, stop_gradient
from diffjit.api.grad import grad, value_and_grad
from diffjit.api.linear import constant, linear_transpose, linearize
from diffjit.api.matrices import hessian, hvp, jacfwd, jacobian, jacrev
from diffjit.api.products import jvp, vjp
from diffjit.api.vmap import vmap
from diffjit.errors import (
    DiffjitError,
    InternalError,
    MemoryProblem,
    NoRule,
    TypeProblem,
    UnsupportedSyntax,
    UsageError,
)
from diffjit.settings import settings

__version__ = "0.1.0"

__all__ = [
    "DiffjitError",
    "InternalError",
    "MemoryProblem",
    "NoRule",
    "TypeProblem",
    "UnsupportedSyntax",
    "UsageError",
    "check_grads",
    "constant",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "settings",
    "source",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
