"""`try`, `raise` and `assert`, and what makes an expression stop half-way.

Inside a `try` that catches it, an operation that may fail is guarded: its statement is interpreted again under the
condition that it succeeds (`Split`), with everything evaluated so far remembered, and the other path jumps to the
handler.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import gast

from diffjit.errors import DiffjitError
from diffjit.frontend.entry.subset import jumps_in
from diffjit.frontend.objects.resumable import ESCAPED
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import Learn, describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Block, Value, const_of
from diffjit.ir.types import Scalar


class Split(Exception):
    """An operation inside a `try` may fail: go on where `ok` holds, else do `failed`."""

    def __init__(self, ok: Any, failed: Callable[[], None], cleared: tuple[Any, ...] = ()) -> None:
        super().__init__()
        self.ok = ok
        self.failed = failed
        self.cleared = cleared  # jumps that are known not to be under way where `ok` holds


class Abandon(Exception):
    """The rest of a statement is never reached."""


class Closing(NamedTuple):
    """A `finally` or `__exit__` of a generator, passed by what is raised where the generator's items go to."""

    uid: Any
    around: int  # the number of handlers around the generator


class Several(NamedTuple):
    """In place of the exception: one of several classes, in a handler that does not look at it."""

    handler: gast.AST


def passes(at: Any, uid: Any) -> bool:
    """Whether a jump to this handler comes to a certain `finally` or `__exit__`, also one that closes its generator."""
    return at == uid or (isinstance(at, Closing) and passes(at.uid, uid))


def _closings(uid: Any) -> tuple[int, ...]:
    """The handlers around each generator that is closed, the innermost first."""
    return (*_closings(uid.uid), uid.around) if isinstance(uid, Closing) else ()


_OF_EACH = ("args", "__cause__", "__context__")  # attributes of each exception

_CONSTANTS = (type(None), bool, int, float, complex, str, bytes)

# Errors of what is no number, or cannot be indexed, iterated over or unpacked: None, and numbers for containers.
_WRONG_KIND = frozenset({"DJ115", "DJ301", "DJ302", "DJ312", "DJ314"})
# What Python and NumPy refuse whatever the numbers are: kinds, shapes, axes, arguments, attributes, missing names.
_CERTAIN = frozenset(
    {"DJ115", "DJ301", "DJ302", "DJ303", "DJ306", "DJ308", "DJ310", "DJ312", "DJ314", "DJ317", "DJ318"}
)

# What arithmetic and indices raise.
_OWN_FAULTS = frozenset({IndexError, ZeroDivisionError, OverflowError, FloatingPointError})


class Exceptions(Mixin):
    """Mixin of the interpreter: exceptions."""

    handler_frames: dict[Any, frozenset[int]]  # the frames around each `try`
    passed: set[Any]  # the handlers that run on the way out of what they stand around
    managing: set[int]  # generators of `contextmanager`: what is raised in the body of a `with` is raised in them

    # Actions that may stop half-way

    def guarded(
        self, action: Callable[[], Any], *, fresh: bool = False, behind: Callable[[], Any] | None = None
    ) -> Any:
        """Run an action that may stop half-way, here or on some paths; None where it did.

        `fresh`: it runs several times, so that nothing it evaluated outside is remembered inside. `behind` follows
        where the action may fail: on the path where it did not, nothing is joined with what held before.
        """
        if not self.handlers:
            return self._stopping(action)
        if fresh or self.memo is None:
            return self._guarded(action, {}, 0, behind)
        return self._guarded(action, dict(self.memo), self.step, behind)

    def _stopping(self, action: Callable[[], Any]) -> Any:
        """Run an action; None where it stops half-way."""
        try:
            return action()
        except Abandon:
            return None
        except DiffjitError as error:
            self._fail_as_python(error)
            return None

    def _fail_as_python(self, error: DiffjitError) -> None:
        """What Python raises for certain is caught by a handler; a wrong type in a branch fails where that is taken.

        Outside of branches the program cannot run at all, and is refused at once.
        """
        certain = self.forks > len(self.loops) and error.python is TypeError and error.code in _WRONG_KIND
        if error.python is None or not (certain or self.catches(error.python)):
            raise error
        self.throw(self.exception_object(error.python, av.inexact(error.message)))

    def in_branch(self, action: Callable[[], Any]) -> Any:
        """Interpret a branch of the program: what is certain to fail there does so where the branch is taken.

        So does what is refused in it, where nothing else is left to try (`entry.program`).
        """
        self.branches += 1
        try:
            return action()
        except DiffjitError as error:
            self._fail_in_branch(error)
            return None
        finally:
            self.branches -= 1

    def _fail_in_branch(self, error: DiffjitError) -> None:
        name = self.frames[-1].fn.scope.namespace.get("__name__", "")
        if self.handlers or self.in_library() or name.split(".")[0] in ("numpy", "scipy"):
            raise error  # what theirs refuse is refused by the function's name
        if error.python is not None and error.code in _CERTAIN and error.python is not UnboundLocalError:
            self.throw(self.exception_object(error.python, av.inexact(error.message)))
            return
        site = (error.code, error.loc)
        tried = error is self.change_refused or error.code.startswith("DJ9")  # there is another way, or none at all
        if tried or not self.learned.gives_up(site, error, self.sites):
            error.branch = error.branch or site
            raise error
        self.raise_refusal(error)

    def raise_refusal(self, error: DiffjitError) -> None:
        """What is refused raises when the program comes here."""
        place = "" if error.loc is None else f" at {error.loc.file}:{error.loc.line}"
        self.throw(self.exception_object(NotImplementedError, av.inexact(f"{error.message} [{error.code}]{place}")))

    def _guarded(self, action: Callable[[], Any], memo: dict[Any, Any], first: int, behind: Any = None) -> Any:
        outer, step = self.memo, self.step
        self.memo, self.step = memo, first  # each time the action begins, its steps have the same numbers
        try:
            return self._stopping(action)
        except Split as stop:
            split = stop
            if isinstance(split.ok, Static):
                return self._guarded(action, memo, first, behind) if split.ok.obj else split.failed()
            then = action if behind is None else lambda: (action(), behind())[0]
            return self.fork(split.ok, lambda: self._resumed(then, memo.copy(), first, split), split.failed)
        finally:
            self.memo, self.step = outer, step

    def _resumed(self, action: Callable[[], Any], memo: dict[Any, Any], first: int, split: Split) -> Any:
        for key in split.cleared:
            self.recall(self.cells[key])
            del self.cells[key]
        return self._guarded(action, memo, first)

    def settle(self) -> None:
        """Inside a `try`: the rest of this statement runs only where no exception is under way."""
        self.stop_where_left()
        if self.memo is None:
            return
        jumps = self.unsure_jumps()  # a loop over a generator also leaves the generator's `try` by its `break`
        raised = tuple(k for k in jumps if k[1] == "raise")
        flag = self.pending() if raised else Static(False)
        if not isinstance(flag, Static):
            raise Split(self.logical_not(flag), lambda: self.take_one_of(jumps), raised)

    def guard(self, ok: Any, exception: type, message: Any, fact: Any = None) -> None:
        """Inside a `try` that catches `exception`: the current statement goes on only where `ok` holds.

        `message` is what Python says, or `values.inexact`, or another argument of the exception.
        """
        handler = self.handler_for(exception)
        if handler is None:
            return
        assert self.memo is not None
        keys = {self.next_step(), fact} - {None}
        if not any(key in self.memo for key in keys):
            self.memo.update(dict.fromkeys(keys, True))
            raise Split(ok, lambda: self.start_exception(self.failure(exception, message), handler))

    def go_on_where(self, ok: Any, failed: Callable[[], None]) -> None:
        """Inside a `try`: the current statement goes on only where `ok` holds."""
        assert self.memo is not None
        key = self.next_step()
        if key not in self.memo:
            self.memo[key] = True
            raise Split(ok, failed)

    def failure(self, exception: type, message: Any) -> av.Ref:
        """The exception object of an operation that failed."""
        return self.exception_object(exception, Static(message) if isinstance(message, str) else message)

    def next_step(self) -> Any:
        """Numbers the guarded operations of one expression, in the order of evaluation."""
        self.step += 1
        return (id(self.here), self.step)

    def remembered(self, action: Callable[[], Any]) -> Any:
        """A call that was made already is not made again when its statement is resumed."""
        assert self.memo is not None
        key = self.next_step()
        if key not in self.memo:
            result = action()
            self.memo[key] = result
            self.settle()
        return self.memo[key]

    def once(self, action: Callable[[], Any]) -> Any:
        """What was written or read already is not so again when its statement is resumed: memory may have changed."""
        if self.memo is None:
            return action()
        key = self.next_step()
        if key not in self.memo:
            result = action()
            self.memo[key] = (result, self.step)
        result, self.step = self.memo[key]
        return result

    # raise

    def exec_Assert(self, node: gast.AST) -> None:
        test = self.test(node.test)

        def fail() -> None:
            args = () if node.msg is None else (self.eval(node.msg),)
            self.throw(self.exception_object(AssertionError, *args), node)

        self.when(test, lambda: None, fail)

    def exec_Raise(self, node: gast.AST) -> None:
        if node.exc is None:
            current = self.current_exception()
            if current is None:
                raise self.unsupported("DJ124", "a bare `raise` outside `except`", node)
            self.throw(current, node)
            return
        called = isinstance(node.exc, gast.Call)
        found = self.eval(node.exc.func if called else node.exc)

        def given(value: Any) -> None:
            if called:
                with self.at(node.exc):
                    value = self.called_as_written(value, node.exc)
            self._raise(value, node)

        if isinstance(found, av.Sum):  # classes that a branch chose have no object in common
            self.each(found, given)
        else:
            given(found)

    def _raise(self, given: Any, node: gast.AST) -> None:
        if isinstance(given, av.Opt):
            self.raise_if(given.is_none, TypeError, av.inexact("exceptions must derive from BaseException"))
            given = given.value
        value = self.as_exception(given, node)
        run_time = self.forks > self.frames[-1].forks  # where lengths say so that are only known when it runs
        if self.in_library() and self.contents(value).cls is NotImplementedError and not run_time:
            what, _, cure = self.contents(value).fields["args"].items[0].obj.partition(": ")
            raise self.unsupported("DJ118", what, None, cure)
        if node.cause is not None:
            cause = self._cause(self.eval(node.cause), node)
            held = self.contents(value)
            self.write(value, replace(held, fields={**held.fields, "__cause__": cause}))
        self.throw(value, node)

    def _cause(self, value: Any, node: gast.AST) -> Any:
        """What is raised from: an exception, the class of one, or None, which only the run may know."""
        if isinstance(value, av.Opt):
            return replace(value, value=self._cause(value.value, node))
        if isinstance(value, av.Sum) and all(is_none(v) or self.is_exception(v) for v in value.variants):
            return value
        return value if is_none(value) else self.as_exception(value, node)

    def as_exception(self, value: Any, node: gast.AST) -> Any:
        """What is raised: an exception, or the class of one."""
        if isinstance(value, Static) and isinstance(value.obj, type) and issubclass(value.obj, BaseException):
            value = self.call(value, [], {}, node)
        if not self.is_exception(value):
            raise self.unsupported("DJ124", f"raising {describe(value)}", node)
        return value

    def exception_object(self, cls: type, *args: Any) -> av.Ref:
        """An exception."""
        return self.new(av.ObjC(cls, {"args": av.Tup(args), "__cause__": NONE, "__context__": NONE}))

    def exception_text(self, exception: av.Ref) -> Any:
        """What str() makes of an exception object."""
        held = self.contents(exception)
        if isinstance(self.class_lookup(held.cls, "__str__"), (types.FunctionType, av.Member)):
            return self.call_method(exception, "__str__", [])

        def text(args: list[Any]) -> Any:
            if len(args) > 1:
                return self.text(list(self.repr_parts(av.Tup(tuple(args)))))
            parts = self.repr_parts if issubclass(held.cls, KeyError) else self.text_parts
            return self.text([p for a in args for p in parts(a)])

        return self.over_args(held, lambda args: self.over_texts(args, text))

    def over_args(self, exception: av.ObjC, use: Callable[[list[Any]], Any]) -> Any:
        """Use what an exception holds: one of several tuples, where it was raised in several places."""
        args = exception.fields["args"]
        if isinstance(args, av.Sum):
            return self.each(args, lambda variant: use(list(variant.items)))
        return use(list(args.items))

    def exception_attribute(self, exception: av.Ref, name: str) -> Any:
        """An attribute that Python sets on each exception."""
        held = self.contents(exception)
        if name == "__traceback__":
            return av.TRACEBACK
        if name == "with_traceback":
            return av.Bound(exception, Static(BaseException.with_traceback))
        if name == "value" and issubclass(held.cls, StopIteration):
            return self.over_args(held, lambda args: args[0] if args else NONE)
        cure = "use its class, `args`, `__cause__` and attributes of your own"
        raise self.unsupported("DJ124", f"attribute `{name}` of {describe(held)}", None, cure)

    def throw(self, exception: av.Ref, node: gast.AST | None = None, *, again: bool = False) -> None:
        """Raise: jump to the handler that catches it, else leave the function; `again` behind a `finally`."""
        exception = self.out_of_generators(exception)
        cls = self.contents(exception).cls
        handler = self.handler_for(cls)
        if handler is not None:
            self.start_exception(exception, handler, again=again)
            return
        with nullcontext() if node is None else self.at(node):
            held = self.contents(exception)
            own = {name: value for name, value in held.fields.items() if name not in _OF_EACH}

            def leave(args: list[Any]) -> None:
                count = len(args)
                parted = lambda all_: self._leave(cls, all_[:count], dict(zip(own, all_[count:], strict=True)))  # noqa: E731
                self.over_texts([*args, *own.values()], parted)

            self.over_args(held, leave)
        self.dead = True

    def _leave(self, cls: type, args: list[Any], fields: dict[str, Any]) -> None:
        """Leave the program with an exception: one of a text, or what it holds."""
        if self.leave_by_python(cls, args, fields):
            return
        init = self.class_lookup(cls, "__init__")
        made = bool(fields) or (
            isinstance(init, (types.FunctionType, av.Member)) and not cls.__module__.startswith("numpy")
        )
        if not made and (not args or (len(args) == 1 and self.is_text(args[0]))):
            values, formats = self.print_parts(tuple(p for a in args for p in self.text_parts(a)))
            self.build.op("raise", values, exception=cls, parts=formats)
            return
        values = []
        forms = ("tuple", tuple(self._form(a, values) for a in args))
        attributes = ("dict", tuple((name, self._form(value, values)) for name, value in fields.items()))
        self.build.op("raise", values, exception=cls, held=(forms, attributes if made else None))

    def _form(self, value: Any, values: list[Any]) -> tuple[str, Any]:
        """What an exception holds, as `errors.filled` takes it; the numbers and arrays are added to `values`."""
        if isinstance(value, Value):
            values.append(value)
            weak = isinstance(value.type, Scalar) and value.type.weak
            return ("value", {"b": "bool", "f": "float", "c": "complex"}.get(value.type.dtype.kind) if weak else None)
        if isinstance(value, Static) and type(value.obj) in _CONSTANTS:
            return ("constant", value.obj)
        if isinstance(value, av.Tup) and value.cls is None:
            return ("tuple", tuple(self._form(item, values) for item in value.items))
        held = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, av.ListC):
            return ("list", tuple(self._form(item, values) for item in held.items))
        if isinstance(held, av.DictC) and not held.is_set and all(type(key) in _CONSTANTS for key in held.items):
            return ("dict", tuple((key, self._form(item, values)) for key, item in held.items.items()))
        texts, formats = self.print_parts(self.text_parts(value))
        values += texts
        return ("text", formats)

    def raise_if(self, cond: Any, exception: type, message: Any) -> None:
        """Fail where the condition holds, as Python does; `message` as in `guard`."""
        if not (isinstance(cond, Static) and not cond.obj):
            cond = self.both(cond, self.logical_not(self.pending()))  # what came before may have raised
        if isinstance(cond, Static) and not cond.obj:
            return
        if issubclass(exception, StopIteration) and self.left_generators():
            exception, message = RuntimeError, ESCAPED
        if self.catches(exception):
            self.guard(self.logical_not(cond), exception, message)
        elif isinstance(cond, Static):
            self.throw(self.failure(exception, message))
            raise Abandon
        else:
            self.refuse_if(cond, exception, message)

    def refuse_if(self, cond: Any, exception: type, message: Any) -> None:
        """Leave the program where the condition holds; Python would go on, so that no handler may catch this."""
        block = Block()
        with self.build.inside(block):
            values, formats = self.print_parts((message,) if isinstance(message, str) else self.text_parts(message))
            self.build.op("raise", values, exception=exception, parts=formats)
        test = self.build.const(cond.obj) if isinstance(cond, Static) else cond
        self.build.op("if", [test], regions=[block, Block()])

    # try

    def exec_Try(self, node: gast.AST) -> None:
        if node.finalbody:
            self._with_finally(node)
        else:
            self._try_except(node)

    def enter_try(self, uid: Any, catches: tuple[type, ...], *, passed: bool = False) -> None:
        """From here on, what raises these exceptions jumps to a handler, which `passed` ones pass on their way out."""
        self.handlers.append((uid, catches))
        self.handler_frames[uid] = frozenset(f.uid for f in self.frames)
        if passed:
            self.passed.add(uid)

    @contextmanager
    def beyond_yield(self, around: int) -> Iterator[None]:
        """Where a generator yields: what is raised outside closes it, so that it passes its `finally`, and no `except`.

        The first `around` handlers are those around the generator.
        """
        handlers, memo = self.handlers, self.memo
        self.handlers = handlers[:around]
        for uid, catches in handlers[around:]:
            if uid in self.passed:
                closing = Closing(uid, around)
                self.handler_frames[closing] = self.handler_frames[uid]
                self.passed.add(closing)
                self.handlers.append((closing, catches))
        self.memo = memo if self.handlers else None
        try:
            yield
        finally:
            self.handlers, self.memo = handlers, memo

    def throw_again(self, uid: Any, exception: av.Ref, node: gast.AST | None = None) -> None:
        """Raise what has passed a handler: of what closes a generator, the generator sees nothing else."""
        with ExitStack() as stack:
            for around in _closings(uid):
                stack.enter_context(self.beyond_yield(around))
            self.throw(exception, node, again=True)

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """While the body of a `try` or `with` runs, on every way out of which something else runs."""
        self.awaited.append(frozenset(f.uid for f in self.frames))
        try:
            yield
        finally:
            self.awaited.pop()

    def _try_except(self, node: gast.AST) -> None:
        uid = next(self._uids)
        catches = [self._caught(h) for h in node.handlers]
        self.enter_try(uid, tuple(t for types in catches for t in types))
        try:
            self.exec_block(node.body)
        finally:
            self.handlers.pop()
        if node.orelse:
            self.unless_jumped(lambda: self.exec_block(node.orelse))
        by: dict[Any, list[Any]] = {}
        for key in [k for k in self.flags_in(self.cells) if k[1] == "raise" and k[2] == uid]:
            handler = next(h for h, types in zip(node.handlers, catches, strict=True) if issubclass(key[3], types))
            by.setdefault(handler, []).append(key)
        for handler, keys in by.items():
            if len(keys) > 1 and handler.name is None and handler not in self.learned.told_apart:
                self._handle_any(handler, keys)
                continue
            for key in keys:
                exception, flag = self.caught(key), self.land(*key[1:])
                self.when(flag, lambda h=handler, e=exception: self._handle(h, e))

    def _handle_any(self, handler: gast.AST, keys: list[Any]) -> None:
        """A handler that does not look at its exception is written once for those of all classes."""
        flag: Any = Static(False)
        for key in keys:
            del self.cells["exc", *key[2:]]
            flag = self.either(flag, self.land(*key[1:]))
        self.when(flag, lambda: self._handle(handler, Several(handler)))

    def current_exception(self) -> av.Ref | None:
        """The exception that is being handled, if there is one."""
        found = self.exceptions[-1] if self.exceptions else None
        if isinstance(found, Several):
            raise Learn("told_apart", {found.handler})
        return found

    def caught(self, key: Any) -> av.Ref:
        """The exception of a jump to a handler."""
        exception = self.cells.pop(("exc", *key[2:]))
        exception = exception.value if isinstance(exception, av.Maybe) else exception
        if isinstance(exception, av.Poison):
            cure = "raise exceptions of different classes, or with arguments of one type"
            raise self.unusable(exception, self.type_problem("DJ304", exception.reason, cure=cure))
        return exception

    def _handle(self, handler: gast.AST, exception: av.Ref | Several) -> None:
        self.exceptions.append(exception)
        try:
            if handler.type is not None and (missing := self._classes_named(handler)[1]) is not None:
                self.throw(self.exception_object(*missing))
                return
            if handler.name is not None:
                name = handler.name if isinstance(handler.name, str) else handler.name.id
                self.bind(name, exception, handler)
            self.exec_block(handler.body)
        finally:
            self.exceptions.pop()

    def _with_finally(self, node: gast.AST) -> None:
        jump = next(jumps_in(node.finalbody), None)
        if jump is not None:  # it would take back what is on its way, as Python does
            what = f"`{type(jump).__name__.lower()}` in a `finally` block"
            raise self.unsupported("DJ124", what, jump, "leave the loop after the `try` statement")
        uid = next(self._uids)
        self.enter_try(uid, (BaseException,), passed=True)
        try:
            with self.awaiting():
                if node.handlers:
                    self._try_except(node)
                else:
                    self.exec_block([*node.body, *node.orelse])
        finally:
            self.handlers.pop()
        if self.dead:
            return
        jumps = self.take_jumps()
        self.exec_block(node.finalbody)
        if self.jumped():
            return
        raised = {k: f for k, f in jumps.items() if k[1] == "raise" and passes(k[2], uid)}
        exceptions = {k: self.caught(k) for k in raised}

        def go_on() -> None:
            self.cells.update({k: f for k, f in jumps.items() if k not in raised})
            for key, flag in raised.items():
                self.when(self.flag_value(flag), partial(self.throw_again, key[2], exceptions[key], node))

        self.unless_jumped(go_on)  # what leaves the `finally` itself takes back what was on its way

    def _classes_named(self, handler: gast.AST) -> tuple[Any, tuple[type[Exception], Static] | None]:
        """What a handler names; or what Python raises there (classes of another version), when it needs them."""
        try:
            return self.eval(handler.type), None
        except DiffjitError as error:
            if error.python is None:
                raise
            return None, (error.python, Static(error.message))

    def _caught(self, handler: gast.AST) -> tuple[type, ...]:
        value, missing = (None, None) if handler.type is None else self._classes_named(handler)
        if handler.type is None or missing is not None:
            return (BaseException,)
        items = value.items if isinstance(value, av.Tup) else (value,)
        types = tuple(i.obj for i in items if isinstance(i, Static) and isinstance(i.obj, type))
        if len(types) != len(items):
            raise self.unsupported("DJ124", "`except` needs exception classes", handler)
        return types

    def handler_for(self, exception: type) -> Any:
        """The innermost `try` of the program that catches an exception class."""
        return next((h for h in reversed(self.handlers) if issubclass(exception, h[1])), None)

    def catches(self, exception: type) -> bool:
        """Whether an exception of this class, which is not raised in so many words, would be caught here.

        The library's solvers have their own indices and divisors right: nobody looks for faults in these.
        """
        return self.handler_for(exception) is not None and not (exception in _OWN_FAULTS and self.in_solvers())

    def tries_numbers(self) -> bool:
        """Whether what Python's own numbers raise would be caught here."""
        return any(self.handler_for(e) is not None for e in (ZeroDivisionError, OverflowError, ValueError))

    def raised_unless(self, returned: Value) -> bool:
        """Whether a function has certainly raised what is caught around it where it has not returned."""
        flags = (self.flag_value(f) for key, f in self.flags_in(self.cells).items() if key[1] == "raise")
        return any(_opposite(returned, flag) for flag in flags)

    def start_exception(self, exception: av.Ref, handler: Any, *, again: bool = False) -> None:
        """Jump to a handler."""
        held = self.contents(exception)
        if self.exceptions and self.exceptions[-1] is not exception and not again:
            context = self.exceptions[-1]
            if isinstance(context, Several):
                context = av.Poison(
                    "one of several exceptions", cure="name the one that is handled: `except ... as error`"
                )
            self.write(exception, replace(held, fields={**held.fields, "__context__": context}))
        key = (handler[0], held.cls)
        self.cells["exc", *key] = exception
        self.jump("raise", *key)


def _opposite(a: Any, b: Any) -> bool:
    """Whether of two truth values one is what the other is not, as far as is seen from how they were made."""
    x, y = const_of(a) if isinstance(a, Value) else None, const_of(b) if isinstance(b, Value) else None
    if x is not None or y is not None:
        return x is not None and y is not None and bool(x) != bool(y)
    if not (isinstance(a, Value) and isinstance(b, Value)) or a.op is None or b.op is None:
        return False
    if any(p.op.kind == "logical_not" and p.op.inputs[0] is q for p, q in ((a, b), (b, a)) if p.op is not None):
        return True
    if a.op is not b.op or a.op.kind != "if":
        return False
    place = a.op.outputs.index
    return all(_opposite(region.results[place(a)], region.results[place(b)]) for region in a.op.regions)
