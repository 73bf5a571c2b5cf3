"""`try`, `raise` and `assert`, and what makes an expression stop half-way.

Inside a `try` that catches it, an operation that may fail is guarded: its statement is interpreted again under the
condition that it succeeds (`Split`), with everything evaluated so far remembered, and the other path jumps to the
handler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gast

from diffjit.frontend import values as av
from diffjit.frontend.mixin import Mixin
from diffjit.frontend.templates import describe
from diffjit.frontend.values import Static
from diffjit.ir.nodes import Block


class Split(Exception):
    """An operation inside a `try` may fail: go on where `ok` holds, else do `failed`."""

    def __init__(self, ok: Any, failed: Callable[[], None], cleared: tuple[Any, ...] = ()) -> None:
        super().__init__()
        self.ok = ok
        self.failed = failed
        self.cleared = cleared  # jumps that are known not to be under way where `ok` holds


class Abandon(Exception):
    """The rest of a statement is never reached."""


class Exceptions(Mixin):
    """Mixin of the interpreter: exceptions."""

    # Actions that may stop half-way

    def guarded(self, action: Callable[[], Any], *, fresh: bool = False) -> Any:
        """Run an action that may stop half-way, here or on some paths; None where it did.

        `fresh`: it runs several times, so that nothing it evaluated outside is remembered inside.
        """
        if not self.handlers:
            try:
                return action()
            except Abandon:
                return None
        return self._guarded(action, {} if fresh or self.memo is None else dict(self.memo))

    def _guarded(self, action: Callable[[], Any], memo: dict[Any, Any]) -> Any:
        outer, step = self.memo, self.step
        self.memo, self.step = memo, 0
        try:
            return action()
        except Abandon:
            return None
        except Split as stop:
            split = stop
            if isinstance(split.ok, Static):
                return self._guarded(action, memo) if split.ok.obj else split.failed()
            return self.fork(split.ok, lambda: self._resumed(action, memo.copy(), split), split.failed)
        finally:
            self.memo, self.step = outer, step

    def _resumed(self, action: Callable[[], Any], memo: dict[Any, Any], split: Split) -> Any:
        for key in split.cleared:
            del self.cells[key]
        return self._guarded(action, memo)

    def settle(self) -> None:
        """Inside a `try`: the rest of this statement runs only where no exception is under way."""
        if self.dead or (self.handlers and self.jumped()):
            raise Abandon
        if self.memo is None:
            return
        raised = tuple(k for k in self.cells if k[0] == "jump" and k[1] == "raise")
        flag = self.pending() if raised else Static(False)
        if not isinstance(flag, Static):
            raise Split(self.logical_not(flag), lambda: None, raised)

    def guard(self, ok: Any, exception: type, message: str, fact: Any = None) -> None:
        """Inside a `try` that catches `exception`: the current statement goes on only where `ok` holds."""
        handler = self.handler_for(exception)
        if handler is None:
            return
        assert self.memo is not None
        key = fact if fact is not None else self.next_step()
        if key in self.memo:
            return
        self.memo[key] = True
        raise Split(ok, lambda: self.start_exception(self.exception_object(exception, Static(message)), handler))

    def next_step(self) -> Any:
        """Numbers the guarded operations of one expression, in the order of evaluation."""
        self.step += 1
        return (id(self.here), self.step)

    def remembered(self, action: Callable[[], Any]) -> Any:
        """A call that was made already is not made again when its statement is resumed."""
        key = self.next_step()
        if key not in self.memo:
            result = action()
            self.memo[key] = result
            self.settle()
        return self.memo[key]

    # raise

    def exec_Assert(self, node: gast.AST) -> None:
        test = self.test(node.test)

        def fail() -> None:
            args = () if node.msg is None else (self.eval(node.msg),)
            self.throw(self.exception_object(AssertionError, *args), node)

        self.when(test, lambda: None, fail)

    def exec_Raise(self, node: gast.AST) -> None:
        if node.exc is None:
            if not self.exceptions:
                raise self.unsupported("DJ124", "a bare `raise` outside `except`", node)
            self.throw(self.exceptions[-1], node)
            return
        value = self.eval(node.exc)
        if isinstance(value, Static) and isinstance(value.obj, type) and issubclass(value.obj, BaseException):
            value = self.call(value, [], {}, node)
        if not (isinstance(value, av.Ref) and isinstance(held := self.contents(value), av.ObjC)) or not issubclass(
            held.cls, BaseException
        ):
            raise self.unsupported("DJ124", f"raising {describe(value)}", node)
        self.throw(value, node)

    def exception_object(self, cls: type, *args: Any) -> av.Ref:
        """An exception."""
        return self.new(av.ObjC(cls, {"args": av.Tup(args)}))

    def message_parts(self, exception: av.Ref) -> tuple[Any, ...]:
        """The text of an exception object."""
        parts: tuple[Any, ...] = ()
        for k, item in enumerate(self.contents(exception).fields["args"].items):
            parts += ((", ",) if k else ()) + self.text_parts(item)
        return parts

    def throw(self, exception: av.Ref, node: gast.AST | None = None) -> None:
        """Raise: jump to the handler that catches it, else leave the function."""
        cls = self.contents(exception).cls
        handler = self.handler_for(cls)
        if handler is not None:
            self.start_exception(exception, handler)
            return
        values, formats = self.print_parts(self.message_parts(exception))
        if node is None:
            self.build.op("raise", values, exception=cls, parts=formats)
        else:
            with self.at(node):
                self.build.op("raise", values, exception=cls, parts=formats)
        self.dead = True

    def raise_if(self, cond: Any, exception: type, message: str) -> None:
        """Fail where the condition holds."""
        if isinstance(cond, Static) and not cond.obj:
            return
        if self.catches(exception):
            self.guard(self.logical_not(cond), exception, message)
        elif isinstance(cond, Static):
            self.throw(self.exception_object(exception, Static(message)))
            raise Abandon
        else:
            block = Block()
            with self.build.inside(block):
                self.build.op("raise", [], exception=exception, parts=(message,))
            self.build.op("if", [cond], regions=[block, Block()])

    # try

    def exec_Try(self, node: gast.AST) -> None:
        if node.finalbody:
            self._with_finally(node)
        else:
            self._try_except(node)

    def _try_except(self, node: gast.AST, body: Callable[[], None] | None = None) -> None:
        uid = next(self._uids)
        catches = [self._caught(h) for h in node.handlers]
        self.handlers.append((uid, tuple(t for types in catches for t in types)))
        try:
            self.exec_block(node.body) if body is None else body()
        finally:
            self.handlers.pop()
        if node.orelse:
            self.unless_jumped(lambda: self.exec_block(node.orelse))
        for key in [k for k in self.cells if k[0] == "jump" and k[1] == "raise" and k[2] == uid]:
            handler = next(h for h, types in zip(node.handlers, catches, strict=True) if issubclass(key[3], types))
            exception, flag = self.caught(key), self.land(*key[1:])
            self.when(flag, lambda h=handler, e=exception: self._handle(h, e))

    def caught(self, key: Any) -> av.Ref:
        """The exception of a jump to a handler."""
        exception = self.cells.pop(("exc", *key[2:]))
        return exception.value if isinstance(exception, av.Maybe) else exception

    def _handle(self, handler: gast.AST, exception: av.Ref) -> None:
        self.exceptions.append(exception)
        try:
            if handler.name is not None:
                name = handler.name if isinstance(handler.name, str) else handler.name.id
                self.bind(name, exception, handler)
            self.exec_block(handler.body)
        finally:
            self.exceptions.pop()

    def _with_finally(self, node: gast.AST) -> None:
        uid = next(self._uids)
        self.handlers.append((uid, (BaseException,)))
        try:
            if node.handlers:
                self._try_except(node)
            else:
                self.exec_block([*node.body, *node.orelse])
        finally:
            self.handlers.pop()
        if self.dead:
            return
        jumps = {k: self.cells.pop(k) for k in [k for k in self.cells if k[0] == "jump"]}
        self.exec_block(node.finalbody)
        if self.jumped():
            return
        raised = {k: f for k, f in jumps.items() if k[1] == "raise" and k[2] == uid}
        self.cells.update({k: f for k, f in jumps.items() if k not in raised})
        for key, flag in raised.items():
            exception = self.caught(key)
            self.when(self.flag_value(flag), lambda e=exception: self.throw(e, node))

    def _caught(self, handler: gast.AST) -> tuple[type, ...]:
        if handler.type is None:
            return (BaseException,)
        value = self.eval(handler.type)
        items = value.items if isinstance(value, av.Tup) else (value,)
        types = tuple(i.obj for i in items if isinstance(i, Static) and isinstance(i.obj, type))
        if len(types) != len(items):
            raise self.unsupported("DJ124", "`except` needs exception classes", handler)
        return types

    def handler_for(self, exception: type) -> Any:
        """The innermost `try` of the program that catches an exception class."""
        return next((h for h in reversed(self.handlers) if issubclass(exception, h[1])), None)

    def catches(self, exception: type) -> bool:
        """Whether an exception of this class would be caught here."""
        return self.handler_for(exception) is not None

    def start_exception(self, exception: av.Ref, handler: Any) -> None:
        """Jump to a handler."""
        key = (handler[0], self.contents(exception).cls)
        self.cells["exc", *key] = exception
        self.jump("raise", *key)
