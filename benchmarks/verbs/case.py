"""What a case is: one result, as diffjit, JAX and SciPy make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]

#: in the order in which they run: the others are compared with JAX, where there is no other reference
PEERS = {"jax": "jax.jit, double precision", "diffjit": "diffjit", "scipy": "SciPy's numerical derivatives"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One line of the table.

    title        what is computed
    arguments    makes the arguments from a size
    quick, full  the two sizes
    diffjit      gives the function that is timed, as a user of diffjit writes it
    jax          the same for an experienced user of JAX; it is compiled and waited for
    scipy        the same by SciPy, or why there is none
    tolerance    largest difference between diffjit and JAX, relative to the largest element
    numerical    the same between SciPy and JAX: that of differences
    reference    what all are compared with instead of JAX
    """

    title: str
    arguments: Callable[..., tuple[Any, ...]]
    quick: Mapping[str, int]
    full: Mapping[str, int]
    diffjit: Callable[[], Function]
    jax: Callable[[], Function]
    scipy: Callable[[], Function] | str
    tolerance: float = 1e-9
    numerical: float = 1e-4
    reference: Function | None = None

    def size(self, *, quick: bool) -> Mapping[str, int]:
        """The chosen size."""
        return self.quick if quick else self.full

    def prepare(self, peer: str, arguments: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
        """A function that is ready to be called, and the arguments in the peer's own form."""
        if peer == "diffjit":
            return self.diffjit(), arguments
        if peer == "scipy":
            if isinstance(self.scipy, str):
                raise TypeError(self.scipy)
            return self.scipy(), arguments
        import jax

        jax.config.update("jax_enable_x64", True)
        function, block = jax.jit(self.jax()), jax.block_until_ready
        return lambda *args: block(function(*args)), jax.tree.map(jax.numpy.asarray, arguments)
