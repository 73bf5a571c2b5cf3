"""Calls as workers make them."""

# pyright: basic

from __future__ import annotations

from typing import Any

from diffjit.api.engine.inline import nest, plain
from diffjit.frontend.numpy.reshapes import Written
from diffjit.frontend.values.values import NONE
from diffjit.ir.types import is_ref


def elsewhere(function: Any, args: Any, kwargs: Any) -> Any:
    """A call in another process, which has copies of all that it is given."""
    raise TypeError("only programs call this")


def _elsewhere_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs
    given = list(interpreter.sequence_items(args[1], node))
    named = dict(interpreter.contents(args[2]).items)
    inner = nest(interpreter, plain(interpreter, args[0]), given, named, node, refusal="a function in another process")
    if inner is None:
        return NONE
    memory = Written(inner.program.function)
    if any(is_ref(p.type) and memory.holds(p) for p in inner.program.function.params):
        message, cure = (
            "a function in another process changes an array or a list, which is lost",
            "return what it computes",
        )
        raise interpreter.unsupported("DJ125", message, node, cure)
    return interpreter.abstract(inner.program.result, interpreter.copy_in(inner.program.function, inner.inputs))


elsewhere.__diffjit_inline__ = _elsewhere_inside  # type: ignore[attr-defined]


def called(threads, function, args, kwargs):
    """A call in a thread, or in another process."""
    return function(*args, **kwargs) if threads else elsewhere(function, args, kwargs)


class Future:
    """What a call gives that was handed to workers."""

    def __init__(self, value):
        """It has been made."""
        self.value = value

    def result(self, timeout=None):
        """What the call has returned."""
        return self.value

    def get(self, timeout=None):
        """The same, as `multiprocessing` calls it."""
        return self.value

    def wait(self, timeout=None):
        """It is done."""

    def done(self):
        """Whether it has been made."""
        return True

    def ready(self):
        """The same."""
        return True

    def exception(self, timeout=None):
        """What it raises leaves the program at once."""
