"""`with`: managers that change nothing, objects with __enter__ and __exit__, and generators of contextlib."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import gast

from diffjit.errors import NoRule
from diffjit.frontend.entry.subset import harmless_contexts, own_nodes
from diffjit.frontend.numpy.warned import Record
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, TRACEBACK, Static


def _made_manager(function: Any) -> Any:
    """Stands for a function behind contextlib.contextmanager."""
    raise NotImplementedError


def is_manager(function: types.FunctionType) -> bool:
    """What contextlib.contextmanager makes of a function."""
    return hasattr(function, "__wrapped__") and function.__code__.co_filename == contextlib.__file__


_OUTSIDE = "move the block outside, or write what the context manager does"


class Managers(Mixin):
    """Mixin of the interpreter: `with`."""

    def exec_With(self, node: gast.AST) -> None:
        self._within(list(node.items), node)

    def _within(self, items: list[Any], node: gast.AST) -> None:
        """The body, inside the first of these managers, and so on."""
        if not items:
            self.exec_block(node.body)
            return
        item, *others = items
        try:
            manager = self.eval(item.context_expr)
        except NoRule:
            manager = None

        def body(value: Any) -> None:
            if item.optional_vars is not None:
                self.assign_target(item.optional_vars, value)
            self._within(others, node)

        if isinstance(manager, Static) and isinstance(manager.obj, harmless_contexts()):
            if isinstance(manager.obj, Record) and item.optional_vars is not None:
                raise self.no_record(item.context_expr)
            with self.under_state(manager.obj, node.body):
                body(NONE)
        elif isinstance(manager, av.Iter) and manager.kind == "manager":
            self._inside_generator(manager.parts[0], body, node)
        elif self.is_opaque(manager) and not self.flagged(manager, "clean_"):
            raise self.unsupported("DJ101", "this `with` block cannot be differentiated", item.context_expr, _OUTSIDE)
        elif isinstance(manager, av.Ref) and self.class_has(self.class_of(manager), "__exit__"):
            self._inside_object(manager, body)
        else:
            raise self.unsupported("DJ101", "this `with` block cannot be differentiated", item.context_expr, _OUTSIDE)

    @core(contextlib.contextmanager)
    def cl_contextmanager(self, func: Any) -> Any:
        return av.Partial(Static(_made_manager), (func,), {})

    @core(_made_manager)
    def make_manager(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return av.Iter("manager", (self.call(function, list(args), kwargs),))

    def _inside_generator(self, generator: Any, body: Callable[[Any], None], node: gast.AST) -> None:
        """The body runs where the generator yields; what follows there runs also where the body jumps."""
        jumps: dict[Any, Any] = {}

        def at_yield(value: Any) -> None:
            with self.awaiting():
                body(value)
            jumps.update({k: f for k, f in self.flags_in(self.cells).items() if k[1] != "raise"})
            for key in jumps:
                self.cells.pop(key, None)

        self.iterate(generator, at_yield, node)
        self.cells.update(jumps)

    def _inside_object(self, manager: av.Ref, body: Callable[[Any], None]) -> None:
        """`__exit__` is called on every path out of the body, and may swallow an exception."""
        uid = next(self._uids)
        watched = bool(self.handlers) or self.may_swallow(manager)
        value = self.call_method(manager, "__enter__", [])
        if watched:
            self.enter_try(uid, (BaseException,))
        try:
            with self.awaiting():
                body(value)
        finally:
            if watched:
                self.handlers.pop()
        if self.dead:
            return
        jumps = self.take_jumps()
        raised = {k: self.flag_value(f) for k, f in jumps.items() if k[1] == "raise" and k[2] == uid}
        self._leave_object(manager, [(self.caught(k), f) for k, f in raised.items()])
        self.cells.update({k: f for k, f in jumps.items() if k not in raised})

    def _leave_object(self, manager: av.Ref, raised: list[tuple[Any, Any]]) -> None:
        if not raised:
            self.call_method(manager, "__exit__", [NONE, NONE, NONE])
            return
        (exception, flag), *others = raised

        def failed() -> None:
            cls = Static(self.contents(exception).cls)
            swallowed = self.truth(self.call_method(manager, "__exit__", [cls, exception, TRACEBACK]))
            self.when(swallowed, lambda: None, lambda: self.throw(exception, again=True))

        self.when(flag, failed, lambda: self._leave_object(manager, others))

    def may_swallow(self, manager: av.Ref) -> bool:
        """Whether an __exit__ returns something other than None and False."""
        method = self.get_attribute(manager, "__exit__")
        function = getattr(method, "function", None)
        if not isinstance(function, av.Fn):
            return True
        results = [n.value for n in own_nodes(function.node) if isinstance(n, gast.Return) and n.value is not None]
        return not all(isinstance(r, gast.Constant) and not r.value for r in results)
