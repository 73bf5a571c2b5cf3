"""From a Python function and arguments to a specialised IR program; calling compiled programs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.analysis.memory import Memory
from diffjit.analysis.order import Order
from diffjit.errors import DiffjitError, InternalError, MemoryProblem, UsageError
from diffjit.frontend.program import Program, specialise
from diffjit.ir.nodes import Function, Loc
from diffjit.ir.types import Array
from diffjit.lowering.python import compile_python
from diffjit.settings import settings
from diffjit.transforms.pipeline import dump, finish, numbers


@dataclass(slots=True, eq=False)
class Arguments:
    """One call's arguments: numeric leaves and their structure, argument by argument."""

    positional: list[tree.Structure]
    keywords: dict[str, tree.Structure]
    leaves: list[Any]
    starts: list[int]  # first leaf of each positional argument, then of each keyword
    key: Any

    def leaf_range(self, which: int | str) -> range:
        """The leaves of one argument."""
        if isinstance(which, int):
            start = self.starts[which]
            return range(start, start + self.positional[which].count())
        k = len(self.positional) + list(self.keywords).index(which)
        return range(self.starts[k], self.starts[k] + self.keywords[which].count())

    def structure(self, which: int | str) -> tree.Structure:
        """The structure of one argument."""
        return self.positional[which] if isinstance(which, int) else self.keywords[which]


class CallKey:
    """What the specialisations of a call hang on, hashed once."""

    __slots__ = ("hashed", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.hashed = hash(value)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CallKey) and self.value == other.value)


_DTYPES = {id(np.dtype(code)): code for code in "?bBhHiIlLqQfdFD"}  # the dtypes of the usual arrays, by identity
_PLAIN: dict[Any, Arguments] = {}  # calls with numbers and arrays alone, by what is quickly seen of them
_MANY = 4096


def _glance(args: tuple[Any, ...]) -> Any:
    """What is quickly seen of numbers and arrays; None where there is more to an argument."""
    seen: list[Any] = []
    for a in args:
        kind = type(a)
        if kind is np.ndarray:
            code = _DTYPES.get(id(a.dtype))
            if code is None:
                return None
            shape = a.shape
            small = 1 in shape or (shape and shape[-1] <= tree.SMALL)
            seen.append((code, a.flags.num, tree.known_lengths(shape) if small else len(shape)))
        elif kind is float or kind is int:
            seen.append(kind)
        else:
            return None
    return tuple(seen)


def flatten_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Split a call's arguments."""
    seen = None if kwargs else _glance(args)
    if seen is None:
        return _split_call(args, kwargs)
    known = _PLAIN.get(seen)
    if known is None:
        if len(_PLAIN) >= _MANY:
            _PLAIN.clear()
        known = _PLAIN[seen] = _split_call(args, kwargs)
        known.leaves = []
    return Arguments(known.positional, known.keywords, list(args), known.starts, known.key)


def _split_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    leaves: list[Any] = []
    starts: list[int] = []
    positional = []
    for a in args:
        more, structure = tree.flatten(a)
        starts.append(len(leaves))
        leaves += more
        positional.append(structure)
    keywords = {}
    for name, a in kwargs.items():
        more, structure = tree.flatten(a)
        starts.append(len(leaves))
        leaves += more
        keywords[name] = structure
    return Arguments(positional, keywords, leaves, starts, CallKey((tuple(positional), tuple(keywords.items()))))


def program_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, with_changes: bool = False) -> Program:
    """The program of a function, or of a derivative, for these arguments."""
    if hasattr(function, "program"):
        return function.program(args, kwargs)
    try:
        program = specialise(function, args, kwargs, with_changes=with_changes)
    except DiffjitError as error:
        raise error.at(_definition(function)) from error.__cause__
    except Exception as error:
        raise InternalError(
            "DJ901",
            f"diffjit failed while specialising `{getattr(function, '__name__', function)}`: "
            f"{type(error).__name__}: {error}",
            cure="this is a mistake in diffjit: please report it with the function",
        ) from error
    finish(program.function, "program")
    return program


def _definition(function: Any) -> Loc | None:
    """Where a function is defined, for errors about the whole of it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Loc(code.co_filename, code.co_firstlineno, 0, 0, code.co_name)


def mutated_params(function: Function) -> list[int]:
    """Parameters whose arrays the program writes to."""
    memory = Memory(function, Order(function))
    return [k for k, p in enumerate(function.params) if isinstance(p.type, Array) and memory.written(p)]


@dataclass(slots=True, eq=False)
class Compiled:
    """An executable program: calls with flat leaves, checks what the specialisation rests on."""

    run: Callable[..., Any]
    captures: list[Callable[[], Any]]
    capture_keys: list[Any]
    guards: list[tuple[Callable[[], Any], Any]]
    mutated: list[int]
    unchanged: bool  # a derivative: the caller's arrays stay as they are
    names: list[str] = field(default_factory=list)
    place: Loc | None = None  # where the function is defined

    def valid(self) -> bool:
        """Whether everything static outside is still the same."""
        for getter, expected in self.guards:
            try:
                value = getter()
            except (KeyError, IndexError, AttributeError, ValueError):
                return False
            if value is not expected and not _same(value, expected):
                return False
        if not self.captures:
            return True
        return all(tree.leaf_key(getter()) == key for getter, key in zip(self.captures, self.capture_keys, strict=True))

    def __call__(self, leaves: list[Any]) -> tuple[Any, ...]:
        """The program's flat results."""
        inputs = [*leaves, *[getter() for getter in self.captures]] if self.captures else leaves
        if self.mutated:
            self.check_memory(inputs)
        return self.run(*inputs)

    def check_memory(self, inputs: list[Any]) -> None:
        """Arguments that share memory while one is written would have to be one; read-only ones cannot be written."""
        for k in self.mutated:
            if not inputs[k].flags.writeable:
                message = "assignment destination is read-only"
                raise ValueError(message)
            for j, other in enumerate(inputs):
                if (
                    j != k
                    and isinstance(other, np.ndarray)
                    and np.may_share_memory(inputs[k], other)
                    and np.shares_memory(inputs[k], other)
                ):
                    raise MemoryProblem(
                        "DJ402",
                        f"arguments `{self._name(k)}` and `{self._name(j)}` share memory, "
                        f"and `{self._name(k)}` is written to",
                        loc=self.place,
                        cure=f"pass a copy: {self._name(j)}.copy()",
                    )

    def _name(self, k: int) -> str:
        return self.names[k] if k < len(self.names) and self.names[k] else f"#{k}"


def _same(a: Any, b: Any) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):
        return False


def is_compiled(backend: str | None) -> bool:
    """Whether programs become machine code: then small arrays become numbers, before derivatives are taken too."""
    return (backend or settings.backend) == "numba"


def compile_ir(function: Function, backend: str | None, residuals: int = 0) -> Callable[..., Any]:
    """An executable for IR: flat arguments in, tuple of flat results out."""
    chosen = backend or settings.backend
    if chosen == "python":
        return compile_python(function)
    if chosen == "numba":
        from diffjit.lowering.cpu import compile_function

        function = numbers(function)
        if residuals:
            n = len(function.results)
            return compile_function(function, residual_outs=frozenset(range(n - residuals, n)))
        return compile_function(function)
    raise UsageError("DJ503", f"unknown backend {chosen!r}", cure='backends are "numba" and "python"')


def executable(
    program: Program, function: Function, backend: str | None, *, unchanged: bool, residuals: int = 0
) -> Compiled:
    """Compile an IR function with a program's captures and guards."""
    keys = [tree.leaf_key(g()) for g in program.captures]
    source = program.function
    place = Loc(source.source_file, source.source_line, 0, 0, source.name)
    return Compiled(
        compile_ir(function, backend, residuals),
        program.captures,
        keys,
        program.guards,
        mutated_params(program.function),
        unchanged,
        program.arg_names,
        place,
    )


__all__ = ["Arguments", "Compiled", "dump", "executable", "flatten_call", "mutated_params", "program_of"]
