"""What a program asks of where it runs: its variables, its module, the frame of Python, the exception at hand.

Python answers by looking at who asks. Here nobody does who it could look at, so that such a question is answered while
specialising, or refused, and never handed to Python.
"""

from __future__ import annotations

import builtins
import inspect
import sys
import traceback
from typing import Any

import gast

from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, UNBOUND, Static

_FRAMES = (
    inspect.currentframe, inspect.stack, inspect.trace, traceback.extract_stack, traceback.format_stack,
    traceback.walk_stack, *(getattr(sys, name) for name in ("_getframe", "_getframemodulename") if hasattr(sys, name)),
)  # fmt: skip


class Namespaces(Mixin):
    """Mixin of the interpreter: what belongs to the place of a call."""

    @core(builtins.globals)
    def py_globals(self) -> Any:
        return self.lift_namespace(self.frames[-1].fn.scope.namespace)

    # A module's variables may be reached as items of a dict, too: those that the program assigns are looked up by name.

    def is_name_in(self, owner: Any, index: Any) -> bool:
        """Whether an item is a variable of a module, whose name is known."""
        known = isinstance(index, Static) and isinstance(index.obj, str)
        return known and isinstance(owner, av.Ref) and owner.uid in self.namespaces

    def variable_at(self, owner: Any, index: Any, node: Any) -> Any:
        """`globals()[name]` of a variable that the program assigns; None of all else."""
        value, at = self._assigned_at(owner, index)
        if isinstance(value, av.Maybe):
            problem = f"`{index.obj}`, which only some paths have assigned, is read from the variables of a module"
            raise self.unsupported("DJ118", problem, node, "read it by its name")
        if value is UNBOUND:
            raise self.type_problem("DJ303", f"no variable is called `{index.obj}`", node, python=KeyError)
        return None if value is None else self._local(at, index.obj, node)

    def variable_is_there(self, owner: Any, index: Any) -> Any:
        """`name in globals()`; None where something else is asked."""
        if not self.is_name_in(owner, index):
            return None
        value, _ = self._assigned_at(owner, index)
        if isinstance(value, av.Maybe):
            return value.bound
        return Static(index.obj in self.held(owner).items if value is None else value is not UNBOUND)

    def _assigned_at(self, owner: Any, index: Any) -> tuple[Any, Any]:
        """What the program has assigned to a variable, and whose it is; None, where it never assigns it."""
        at = self.assigned_outside(index.obj, self.namespaces[owner.uid]) if self.is_name_in(owner, index) else None
        return (None, None) if at is None else (self.cells.get(("v", at, index.obj), UNBOUND), at)

    def refuse_assigned(self, ref: av.Ref) -> None:
        """The dict of a module's variables is what it was when the program began."""
        self._refuse_set(("global", id(self.namespaces[ref.uid].namespace)), "variables of a module")

    def refuse_set_attributes(self, obj: Any) -> None:
        """So is the dict of the attributes of a function."""
        self._refuse_set(("attribute", id(obj)), f"attributes of {describe(Static(obj))}")

    def _refuse_set(self, owner: Any, what: str) -> None:
        if any(at == owner for at, _ in self.names_before):
            problem = f"the {what} are taken as a dict, and the program sets some of them"
            raise self.unsupported("DJ118", problem, None, "read them by their names")

    @core(builtins.locals)
    def py_locals(self) -> Any:
        return self.new(av.DictC(dict(self._variables("locals()"))))

    @core(builtins.vars)
    def py_vars(self, obj: Any = None) -> Any:
        if obj is None:
            return self.new(av.DictC(dict(self._variables("vars()"))))
        plain = isinstance(obj, Static) and type(getattr(obj.obj, "__dict__", None)) is dict
        if not plain and self.object_class(obj) is None:
            raise self.unsupported("DJ118", f"vars() of {describe(obj)}", None, "name the attributes")
        return self.get_attribute(obj, "__dict__")

    @core(builtins.dir)
    def py_dir(self, obj: Any = None) -> Any:
        if obj is None:
            return self.new(av.ListC(tuple(Static(n) for n in sorted(n for n, _ in self._variables("dir()")))))
        if not isinstance(obj, Static):
            raise self.unsupported("DJ118", f"dir() of {describe(obj)}", None, "name the attributes")
        return self.answer(dir, (obj.obj,))

    def _variables(self, asked: str) -> list[tuple[str, Any]]:
        """The variables of the function that asks, in Python's order; refused where the path taken decides on them."""
        frame = self.frames[-1]
        function = frame.fn.pyfunc
        own = None if frame.comprehension or frame.class_body or function is None else function.__code__
        if own is None or own.co_flags & inspect.CO_GENERATOR or not isinstance(frame.fn.node, gast.FunctionDef):
            where = "a generator, a comprehension, or a function or class that is defined inside another function"
            raise self.unsupported("DJ118", f"{asked} in {where}", None, "name the variables")
        found: list[tuple[str, Any]] = []
        for name in dict.fromkeys((*own.co_varnames, *own.co_cellvars, *own.co_freevars)):
            value = self.cells.get(("v", frame.uid, name), UNBOUND) if name in frame.local else UNBOUND
            if name in own.co_freevars:
                value = self.lookup(name)
            if isinstance(value, av.Maybe) or (value is UNBOUND and any(name in r.assigned for r in self.loops)):
                problem = f"{asked} where it hangs on the path taken whether `{name}` has a value"
                raise self.unsupported("DJ118", problem, None, f"give `{name}` a value before, or name the variables")
            if value is not UNBOUND:
                found.append((name, self.lookup(name)))
        return found

    # The frame

    @core(*_FRAMES)
    def py_frame(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        problem = "a frame of Python, which compiled code does not have"
        raise self.unsupported("DJ118", problem, None, "pass what is asked of it as an argument")

    # The exception at hand

    @core(sys.exc_info)
    def py_exc_info(self) -> Any:
        current = self.current_exception()
        if current is None:
            return av.Tup((NONE, NONE, NONE))
        return av.Tup((self.py_type(current), current, av.TRACEBACK))

    @core(*(getattr(sys, name) for name in ("exception",) if hasattr(sys, name)))
    def py_exception(self) -> Any:
        return self.current_exception() or NONE

    @core(BaseException.with_traceback)
    def py_with_traceback(self, exception: Any, trace: Any) -> Any:
        del trace
        return exception

    @core(traceback.format_exc)
    def py_format_exc(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        exception = self.current_exception()
        if exception is None:
            return Static("NoneType: None\n")
        cls = self.py_type(exception)
        if not isinstance(cls, Static):
            raise self.unsupported("DJ124", "the text of one of several exceptions", None, "use str(error)")
        home = "" if cls.obj.__module__ in ("builtins", "__main__") else f"{cls.obj.__module__}."
        name = home + cls.obj.__qualname__
        begin = av.inexact("Traceback (most recent call last):\n").parts
        return av.Format((*begin, f"{name}: ", *self.text_parts(exception), "\n"))
