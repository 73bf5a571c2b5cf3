"""What a row is: one program, its sizes, and the same derivative as each peer has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType
from typing import Any, Literal

Function = Callable[..., Any]

JAX, AUTOGRAD = "jax.numpy", "autograd.numpy"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table.

    title        what the program computes
    program      the user's function, in ordinary NumPy
    arguments    makes its arguments from a size
    quick, full  the two sizes
    argnums      positions of the arguments to differentiate by
    by_hand      given the decorator that compiles (numba.njit, or one that does nothing), the pair (primal, gradient);
                 gradient returns (value, (one gradient for each of argnums))
    in_jax       gives the program as an experienced JAX user writes it, or says why there is none
    in_autograd  the same for autograd
    static       positions of the arguments that are constants to JAX
    tolerance    largest difference between two gradients, relative to the largest element, that is still rounding
    kind         "run" times calls; "start" times new processes up to their first gradient
    """

    title: str
    program: Function
    arguments: Callable[..., tuple[Any, ...]]
    quick: Mapping[str, int]
    full: Mapping[str, int]
    argnums: tuple[int, ...]
    by_hand: Callable[[Function], tuple[Function, Function]]
    in_jax: Callable[[], Function] | str
    in_autograd: Callable[[], Function] | str
    static: tuple[int, ...] = ()
    tolerance: float = 1e-10
    kind: Literal["run", "start"] = "run"

    def size(self, *, quick: bool) -> Mapping[str, int]:
        """The chosen size."""
        return self.quick if quick else self.full


def as_it_stands(peer: str, function: Function, **helpers: Function) -> Callable[[], Function]:
    """For `in_jax` and `in_autograd`: the function and the helpers that it calls, unchanged, on a peer's NumPy."""

    def program() -> Function:
        np = import_module(peer)
        return rebind(function, np=np, **{name: rebind(helper, np=np) for name, helper in helpers.items()})

    return program


def rebind(function: Function, **names: Any) -> Function:
    """The same function with other globals: `rebind(f, np=jnp)` is f as it stands, computed by JAX."""
    assert isinstance(function, FunctionType)
    scope = {**function.__globals__, **names}
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
