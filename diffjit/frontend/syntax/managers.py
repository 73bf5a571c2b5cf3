"""`with`: managers that change nothing, objects with __enter__ and __exit__, and generators of contextlib."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gast

from diffjit.errors import NoRule
from diffjit.frontend.entry.subset import harmless_contexts, own_nodes
from diffjit.frontend.numpy.warned import Record
from diffjit.frontend.syntax.exceptions import passes
from diffjit.frontend.syntax.frames import NeedStatic, whole
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.loops import Loop
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn
from diffjit.frontend.values.values import NONE, TRACEBACK, Static
from diffjit.primitives.library.contexts import begun, entered


def _made_manager(function: Any) -> Any:
    """Stands for a function behind contextlib.contextmanager."""
    raise NotImplementedError


def is_manager(function: types.FunctionType) -> bool:
    """What contextlib.contextmanager makes of a function."""
    return hasattr(function, "__wrapped__") and function.__code__.co_filename == contextlib.__file__


_OUTSIDE = "move the block outside, or write what the context manager does"


class Managers(Mixin):
    """Mixin of the interpreter: `with`."""

    loops: list[Loop]
    stacks_of_exits: list[int]  # the ExitStacks around: how many loops stand around each

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
    def make_manager(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
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

        self.managing.add(generator.serial)
        self.iterate(generator, at_yield, node)
        self._go_on(jumps)

    def _inside_object(self, manager: av.Ref, body: Callable[[Any], None]) -> None:
        """`__exit__` is called on every path out of the body, and may swallow an exception."""
        uid = next(self._uids)
        watched = bool(self.handlers) or self.may_swallow(manager)
        is_stack = self.class_of(manager) is contextlib.ExitStack
        value = self.call_method(manager, "__enter__", [])
        if watched:
            self.enter_try(uid, (BaseException,), passed=True)
        try:
            with self.awaiting(), self._entering(is_stack=is_stack):
                self.guarded(lambda: body(value), fresh=True)
        finally:
            if watched:
                self.handlers.pop()
        if self.dead:
            return
        jumps = self.take_jumps()
        # What leaves the block stops half-way by itself: a statement that is resumed would run its body once more.
        if is_stack and not watched:
            self.guarded(lambda: self.call_method(manager, "leave_in_peace", []), fresh=True)
            self._go_on(jumps)
            return
        raised = {k: self.flag_value(f) for k, f in jumps.items() if k[1] == "raise" and k[2] == uid}
        caught = [(self.caught(k), f) for k, f in raised.items()]
        self.guarded(lambda: self._leave_object(manager, caught), fresh=True)
        closing = {k: f for k, f in jumps.items() if k[1] == "raise" and k not in raised and passes(k[2], uid)}
        self._go_on({k: f for k, f in jumps.items() if k not in raised and k not in closing})
        for key, flag in closing.items():
            again = functools.partial(self.throw_again, key[2], self.caught(key))
            self.unless_jumped(functools.partial(self.when, self.flag_value(flag), again))

    def _go_on(self, jumps: dict[Any, Any]) -> None:
        """Jumps out of the body go on behind the manager, unless it raised: that takes back what was on its way."""
        if jumps:
            self.unless_jumped(lambda: self.cells.update(jumps))

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
        if self.class_of(manager) is contextlib.ExitStack:
            return bool(self.learned.swallowing)
        return self._may_be_true(self.get_attribute(manager, "__exit__"))

    @contextmanager
    def _entering(self, *, is_stack: bool) -> Iterator[None]:
        """While the body of an ExitStack runs: the loops inside, which enter managers, are those from here on."""
        if is_stack:
            self.stacks_of_exits.append(len(self.loops))
        try:
            yield
        finally:
            if is_stack:
                self.stacks_of_exits.pop()

    @core(begun)
    def ct_begun(self, manager: Any) -> Any:
        """A manager that an ExitStack enters."""
        if isinstance(manager, av.Iter) and manager.kind == "manager":
            cure = "write `with` for it, or a class with __enter__ and __exit__"
            raise self.unsupported("DJ101", "an ExitStack that enters a generator of contextlib", None, cure)
        return manager

    @core(entered)
    def ct_entered(self, leave: Any) -> Any:
        """An exit that an ExitStack will call: each has a place of its own, and blocks that may be left are watched."""
        inside = self.loops[self.stacks_of_exits[-1] :] if self.stacks_of_exits else []
        if inside:
            message = "an ExitStack enters managers in a loop whose length is only known at run time"
            error = self.unsupported("DJ115", message, None, "enter them one by one, or in a loop of known length")
            bounds = () if inside[-1].can_unroll else inside[-1].bounds
            sources = [s for b in bounds for s in self.static_sources(b)]
            raise NeedStatic(error, [("loop", whole(inside[-1].site)), *sources])
        if self._may_be_true(leave) and not self.learned.swallowing:
            raise Learn("swallowing", {True})
        return leave

    def _may_be_true(self, method: Any) -> bool:
        """Whether a function returns something other than None and False."""
        function = getattr(method, "function", method)
        if not isinstance(function, av.Fn):
            return True
        if isinstance(function.node, gast.Lambda):
            return not isinstance(function.node.body, gast.Constant) or bool(function.node.body.value)
        results = [n.value for n in own_nodes(function.node) if isinstance(n, gast.Return) and n.value is not None]
        return not all(isinstance(r, gast.Constant) and not r.value for r in results)
