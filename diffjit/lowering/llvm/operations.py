"""Functions that generated code calls and that are LLVM: Numba calls such functions intrinsics.

Numba makes a class, a template and two registrations for an intrinsic when it is defined, and looks its parameters up
again at each call. The runtime has three hundred of them, of which a program uses ten: these are objects that
know their rule, and Numba asks them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import models, register_model, typeof_impl

from diffjit.lowering.llvm.numba_internals import defined, signature_of


class Operation:
    """One of them. `typing(*types)` gives the result type or None; `emit(context, builder, types, args)` the code."""

    __slots__ = ("arity", "emit", "kind", "known", "name", "typing")

    def __init__(self, name: str, arity: int, typing: Callable[..., Any], emit: Callable[..., Any]) -> None:
        self.name, self.arity, self.typing, self.emit = name, arity, typing, emit
        self.kind: Any = None  # its type
        self.known: dict[tuple[Any, ...], Any] = {}  # types of operands -> the signature, None where it takes none such

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def signature(self, operands: tuple[Any, ...]) -> Any:
        """The signature for operands of such types, if it takes them."""
        plain = tuple(types.unliteral(t) for t in operands)  # pyright: ignore[reportArgumentType]
        if plain not in self.known:
            result = self.typing(*plain) if len(plain) == self.arity else None
            self.known[plain] = None if result is None else signature_of(result, *plain)
            if result is not None:
                defined(self, plain, self._implementation)
        return self.known[plain]

    def _implementation(self, context: Any, builder: Any, sig: Any, args: Any, loc: Any = None) -> Any:
        del loc
        return self.emit(context, builder, sig.args, args)


def operation(name: str, arity: int, typing: Callable[..., Any], emit: Callable[..., Any]) -> Any:
    """An operation, as what code that is written for Numba calls."""
    return Operation(name, arity, typing, emit)


class OperationType(types.Callable, types.Opaque):
    """The type of an operation; no two have the same."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        super().__init__(f"operation({operation.name})")

    @property
    def key(self) -> Operation:
        """What makes it another type."""
        return self.operation

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The signature of a call."""
        del context
        return None if kws else self.operation.signature(tuple(args))

    def get_call_signatures(self) -> tuple[list[Any], bool]:
        """Those that are known, for messages."""
        return [s for s in self.operation.known.values() if s is not None], True

    def get_impl_key(self, sig: Any) -> Operation:
        """What its code is registered under."""
        del sig
        return self.operation


register_model(OperationType)(models.OpaqueModel)


@typeof_impl.register(Operation)
def _type_of(asked: Operation, _context: Any) -> OperationType:
    if asked.kind is None:
        asked.kind = OperationType(asked)
    return asked.kind
