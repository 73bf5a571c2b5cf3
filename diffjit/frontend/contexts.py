"""`with`: context managers that are objects, and those that `contextlib.contextmanager` makes of generators."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import gast

from diffjit.errors import NoRule
from diffjit.frontend import values as av
from diffjit.frontend.handlers import core
from diffjit.frontend.mixin import Mixin
from diffjit.frontend.subset import harmless_contexts
from diffjit.frontend.values import NONE, Static


class Contexts(Mixin):
    """Mixin of the interpreter: `with` blocks."""

    def exec_With(self, node: gast.AST) -> None:
        self._enter_contexts(node, 0)

    def _enter_contexts(self, node: gast.AST, k: int) -> None:
        """The k-th context manager of a `with`, with the others and the block inside."""
        if k == len(node.items):
            self.exec_block(node.body)
            return
        item = node.items[k]

        def body(value: Any) -> None:
            if item.optional_vars is not None:
                self.assign_target(item.optional_vars, value)
            self.unless_jumped(lambda: self._enter_contexts(node, k + 1))

        manager = self._manager(item.context_expr)
        if isinstance(manager, Static) and isinstance(manager.obj, harmless_contexts()):
            body(NONE)
        elif isinstance(manager, av.Iter) and manager.kind == "context":
            self._run_generator(manager, body, item.context_expr)
        elif isinstance(manager, av.Iter) and manager.kind == "suppress":
            self._suppress(item.context_expr, lambda: body(NONE))
        elif self.object_class(manager) is not None and hasattr(self.object_class(manager), "__enter__"):
            value = self.call_method(manager, "__enter__", [])
            self._around(lambda: body(value), lambda: self.call_method(manager, "__exit__", [NONE, NONE, NONE]), node)
        else:
            cure = "move the block outside, or write what the context manager does"
            raise self.unsupported("DJ101", "this `with` block cannot be differentiated", item.context_expr, cure)

    def _manager(self, node: gast.AST) -> Any:
        try:
            return self.eval(node)
        except NoRule:
            return None

    def _around(self, body: Callable[[], None], leave: Callable[[], Any], node: Any) -> None:
        """A block, and what is done when it is left, also by a jump."""
        body()
        if self.dead:
            return
        jumps = {k: self.cells.pop(k) for k in [k for k in self.cells if k[0] == "jump"]}
        if any(k[1] == "raise" for k in jumps):
            message = "an exception that is caught in the program passes through a `with` block"
            raise self.unsupported("DJ101", message, node, "put the `try` inside the block")
        leave()
        self.cells.update(jumps)

    def _run_generator(self, manager: av.Iter, body: Callable[[Any], None], node: Any) -> None:
        """A context manager made of a generator: the block runs where it yields."""

        def at_yield(value: Any) -> None:
            body(value)
            jumps = [k for k in self.cells if k[0] == "jump" and k[1] != "raise"]  # the generator sees exceptions alone
            kept.update({k: self.cells.pop(k) for k in jumps})

        kept: dict[Any, Any] = {}
        (generator,) = manager.parts
        self.iterate(self.claim(generator), at_yield, node, key=("context", id(node)))
        self.cells.update(kept)

    def _suppress(self, call: gast.AST, body: Callable[[], None]) -> None:
        """`contextlib.suppress(...)`: `try` with an empty handler."""
        classes = call.args[0] if len(call.args) == 1 else gast.Tuple(elts=call.args, ctx=gast.Load())
        handler = gast.ExceptHandler(type=classes, name=None, body=[gast.Pass()])
        self._try_except(gast.Try(body=[], handlers=[handler], orelse=[], finalbody=[]), body)

    @core(contextlib.contextmanager)
    def cl_contextmanager(self, function: Any) -> Any:
        """The decorator, in a function."""
        return av.Partial(Static(_as_context), (function,), {})

    def made_context(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of a function that `contextlib.contextmanager` decorates."""
        return av.Iter("context", (self.call(function, args, kwargs, node),))

    @core(contextlib.suppress)
    def cl_suppress(self, *exceptions: Any) -> Any:
        """What a `with` recognises."""
        return av.Iter("suppress", exceptions)


def _as_context() -> None:
    """Stands for what `contextlib.contextmanager` makes of a function."""


def decorated_generator(obj: Any) -> Any:
    """The generator function under `contextlib.contextmanager`; None for other functions."""
    inner = getattr(obj, "__wrapped__", None)
    made = getattr(getattr(obj, "__code__", None), "co_filename", "") == contextlib.__file__
    return inner if made and inspect.isgeneratorfunction(inner) else None


AS_CONTEXT = _as_context
