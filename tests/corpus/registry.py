"""The register of corpus programs: plain NumPy functions with the arguments they are tested on.

A corpus module is named `science_*`, `language_*`, `exceptions_*`, `memory_*`, `types_*` or `run_time_*` and registers its
programs on import:

    @program(args=lambda: (rng(1).normal(size=5), 0.1), wrt=("x", "k"), tags=("ode",))
    def decay(x, k): ...

The JAX twin of a program (`jax=`) imports JAX inside, is traceable, and takes the same arguments as the program.
Differentiate twins in forward mode (`jax.jvp`): a few contain a `while_loop`, which JAX cannot reverse.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

PREFIXES = ("science_", "language_", "memory_", "types_", "exceptions_", "run_time_")


@dataclass(frozen=True)
class Program:
    """One function of the corpus, its test arguments and what is differentiated."""

    name: str
    function: Callable
    args: Callable[[], tuple]
    wrt: tuple[int | str, ...]
    jax: Callable | None = None
    tags: tuple[str, ...] = ()
    second_order: bool = True
    kwargs: dict = field(default_factory=dict)

    def wrt_positions(self) -> tuple[int | str, ...]:
        """Return `wrt` with the names of positional arguments as positions; names found in `kwargs` stay names."""
        names = list(inspect.signature(self.function).parameters)
        return tuple(names.index(w) if isinstance(w, str) and w not in self.kwargs else w for w in self.wrt)


PROGRAMS: dict[str, Program] = {}


def program(*, args, wrt, jax=None, tags=(), second_order=True, kwargs=None, numpy="2.0"):
    """Register the decorated function as a corpus program, from that version of NumPy on, and return it unchanged."""

    def register(function):
        name = function.__name__
        if np.lib.NumpyVersion(np.__version__) < f"{numpy}.0":
            return function
        if name in PROGRAMS:
            message = f"two corpus programs are named {name!r}"
            raise ValueError(message)
        PROGRAMS[name] = Program(
            name=name,
            function=function,
            args=args,
            wrt=(wrt,) if isinstance(wrt, str | int) else tuple(wrt),
            jax=jax,
            tags=tuple(tags),
            second_order=second_order,
            kwargs=dict(kwargs or {}),
        )
        return function

    return register


def load_all() -> dict[str, Program]:
    """Import every corpus module beside this file and return all programs by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith(PREFIXES):
            importlib.import_module(f"{__package__}.{module.name}")
    return PROGRAMS


def rng(seed):
    """Return a fresh, seeded random generator, for the arguments of programs."""
    return np.random.default_rng(seed)
