"""Statements."""

from __future__ import annotations

import importlib
from typing import Any

import gast
import numpy as np

from diffjit import tree
from diffjit.errors import MemoryProblem, UnsupportedSyntax
from diffjit.frontend.entry.subset import assigned_names
from diffjit.frontend.syntax.loops import Tail
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.syntax.operators import BINARY, DUNDER
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import DynList, describe
from diffjit.frontend.values.values import NONE, UNBOUND, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar

_UNCHANGING = frozenset({"numpy", "math", "cmath", "functools", "itertools", "operator"})  # but for their versions


class Statements(Mixin):
    """Mixin of the interpreter: executes statements."""

    def exec_block(self, statements: list[Any]) -> None:
        """Execute statements one after another, minding jumps."""
        for k, statement in enumerate(statements):
            if self.jumped():
                return
            if not isinstance(self.pending(), Static):
                self.unless_jumped(lambda rest=statements[k:]: self.exec_block(rest))
                return
            if isinstance(statement, gast.If) and not self.handlers:
                done = False
                with self.arriving():
                    done = self.guarded(lambda s=statement, rest=statements[k + 1 :]: self.exec_if(s, rest))
                if done:
                    return
                continue
            tail = Tail(statement, statements[k + 1 :])
            self.guarded(lambda t=tail: self._exec_at(t), fresh=True, behind=lambda t=tail: self._exec_behind(t))
            if tail.done:
                return

    def _exec_at(self, tail: Tail) -> None:
        """Execute the statement in front of a tail."""
        self.tail = tail
        self.exec(tail.node)

    def _exec_behind(self, tail: Tail) -> None:
        """Execute the statements of a tail, unless that is done."""
        if not tail.done:
            tail.done = True
            self.exec_block(tail.rest)

    def exec(self, statement: gast.AST) -> None:
        """Execute one statement."""
        kind = type(statement).__name__
        method = getattr(self, f"exec_{kind}", None)
        if method is None:
            raise self.unsupported(
                "DJ101", f"{_SPOKEN.get(kind, f'`{kind.lower()}`')} cannot be differentiated", statement
            )
        outer, self.here = self.here, statement
        try:
            with self.arriving(), self.at(statement):
                method(statement)
        finally:
            self.here = outer

    def exec_Pass(self, node: gast.AST) -> None:
        pass

    exec_Global = exec_Pass  # noqa: N815 - named after the node
    exec_Nonlocal = exec_Pass  # noqa: N815

    def exec_Expr(self, node: gast.AST) -> None:
        if isinstance(node.value, gast.Constant):
            return
        if isinstance(node.value, gast.YieldFrom):
            self.yield_all(self.eval(node.value.value), node)
            return
        self.eval(node.value)

    def eval_Yield(self, node: gast.AST) -> Any:
        """A generator that a loop goes through: what it receives is None."""
        self.yield_value(NONE if node.value is None else self.eval(node.value), node)
        return NONE

    def eval_YieldFrom(self, node: gast.AST) -> Any:
        """The items of another iterable, and what it returns where it is a generator."""
        source = self.eval(node.value)
        generator = isinstance(source, av.Iter) and source.kind == "generator"
        if not generator and self.object_class(source) is not None:
            raise self.unsupported("DJ101", "the value of a `yield from` an object", node, "loop over it")
        self.yield_all(source, node)
        return self.generated.pop(source.serial, NONE) if generator else NONE

    def yield_all(self, source: Any, node: gast.AST) -> None:
        """Hand on the items of another iterable."""
        self.iterate(source, lambda item: self.yield_value(item, node), node, key=id(node))

    def yield_value(self, value: Any, node: gast.AST) -> None:
        """Hand a value to the loop that consumes this generator."""
        frame = self.frames[-1]
        if frame.on_yield is None:
            raise self.unsupported("DJ112", "this `yield` is not consumed by a loop", node)
        self.frames.pop()
        try:
            frame.on_yield(value)
        finally:
            self.frames.append(frame)

    def exec_Import(self, node: gast.AST) -> None:
        for alias in node.names:
            module = self.import_module(alias.name, None, node)
            if alias.asname is None:
                self.bind(alias.name.split(".")[0], Static(importlib.import_module(alias.name.split(".")[0])), node)
            else:
                self.bind(alias.asname, Static(module), node)

    def import_module(self, name: str, package: str | None, node: gast.AST) -> Any:
        """A module, imported while specialising."""
        self.portable &= name.split(".", maxsplit=1)[0] in _UNCHANGING
        try:
            return importlib.import_module(name, package)
        except Exception as error:  # the module may raise whatever it likes
            raise self._import_failed(str(error), type(error), node) from error

    def _import_failed(self, why: str, cls: type[Exception], node: gast.AST) -> UnsupportedSyntax:
        failed = self.unsupported("DJ129", f"the import fails: {why}", node, "import at module level")
        failed.python = cls
        return failed

    def exec_ImportFrom(self, node: gast.AST) -> None:
        package = self.frames[-1].fn.scope.namespace.get("__package__") if node.level else None
        module = self.import_module("." * (node.level or 0) + (node.module or ""), package, node)
        for alias in node.names:
            self.bind(alias.asname or alias.name, self.lift_static(self._import_name(module, alias.name, node)), node)

    def _import_name(self, module: Any, name: str, node: gast.AST) -> Any:
        """A name of a module, or a module in a package that nobody has imported yet."""
        if not hasattr(module, name) and hasattr(module, "__path__"):
            return self.import_module(f"{module.__name__}.{name}", None, node)
        if not hasattr(module, name):
            raise self._import_failed(f"cannot import name '{name}' from '{module.__name__}'", ImportError, node)
        return getattr(module, name)

    # Assignment

    def exec_Assign(self, node: gast.AST) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign_target(target, value)

    def exec_AnnAssign(self, node: gast.AST) -> None:
        if self.frames[-1].class_body and isinstance(node.target, gast.Name):
            self.frames[-1].annotated[node.target.id] = node.annotation
        if node.value is not None:
            self.assign_target(node.target, self.eval(node.value))

    def assign_target(self, target: gast.AST, value: Any) -> None:
        """Bind, store into, or unpack into a target."""
        if isinstance(target, gast.Name):
            self.forbid_flat(value, target)
            self.bind(target.id, value, target)
        elif isinstance(target, (gast.Tuple, gast.List)):
            self.unpack_into(target.elts, value, target)
        elif isinstance(target, gast.Subscript):
            with self.at(target):
                self.once(lambda: self.set_known(self.eval(target.value), self.eval(target.slice), value, target))
        elif isinstance(target, gast.Attribute):
            with self.at(target):
                self.once(lambda: self.set_attribute(self.eval(target.value), target.attr, value, target))
        elif isinstance(target, gast.Starred):
            self.assign_target(target.value, value)
        else:
            raise self.unsupported("DJ101", f"assignment to `{type(target).__name__}`", target)

    def forbid_flat(self, value: Any, node: gast.AST | None = None) -> None:
        """Refuse another name for a copy that stands for `a.flat`: nobody would know of what it is."""
        if isinstance(value, Value) and value in self.flat_of:
            message = "`.flat` of an array that is not in C's order is kept under a name, or is that of one of several"
            cure = "index it at once, a.flat[k], or keep a.ravel(), which is a copy"
            raise self.error(MemoryProblem("DJ404", message, cure=cure), node)

    def forbid_one_of_several(self, value: Any) -> None:
        """Refuse what stands for `a.flat` where paths meet: nobody would know that parts of it are copies."""
        self.forbid_flat(value)
        if self.is_flat(value):
            message = "`.flat` of an array is that of one of several"
            raise self.error(MemoryProblem("DJ404", message, cure="choose the array, and take its .flat afterwards"))

    def unpack_into(self, targets: list[Any], value: Any, node: gast.AST) -> None:
        star = next((k for k, t in enumerate(targets) if isinstance(t, gast.Starred)), None)
        if star is not None:
            self.unpack_with_star(targets, star, value, node)
            return
        items = self.unpack(value, len(targets), node)
        if len(items) != len(targets):
            message = f"{len(items)} values are unpacked into {len(targets)} names"
            raise self.type_problem("DJ312", message, node, python=ValueError)
        for target, item in zip(targets, items, strict=True):
            self.assign_target(target, item)

    def unpack_with_star(self, targets: list[Any], star: int, value: Any, node: gast.AST) -> None:
        """`a, *b, c = value`."""
        behind = len(targets) - star - 1
        items = self.items_or_list(value, node)
        if isinstance(items, av.Ref):  # as long as it turns out to be when the program runs
            short = self.compare_kind("less", self.length(items), Static(len(targets) - 1))
            self.raise_if(short, ValueError, av.inexact("not enough values to unpack"))
            part = av.Slice(Static(star), Static(-behind) if behind else NONE, NONE)
            first = [self.get_item(items, Static(k)) for k in range(star)]
            middle, last = self.get_item(items, part), [self.get_item(items, Static(-k)) for k in range(behind, 0, -1)]
        elif len(items) < len(targets) - 1:
            message = f"{len(items)} values are too few for {len(targets)} names"
            raise self.type_problem("DJ312", message, node, python=ValueError)
        else:
            first, last = items[:star], items[len(items) - behind :]
            middle = self.new(av.ListC(tuple(items[star : len(items) - behind])))
        for target, item in zip(targets, [*first, middle, *last], strict=True):
            self.assign_target(target, item)

    def exec_AugAssign(self, node: gast.AST) -> None:
        kind = BINARY[type(node.op)]
        target = node.target
        if isinstance(target, gast.Name):
            current = self.once(lambda: self.lookup(target.id, target))
            updated = self.changed_once(kind, current, self.eval(node.value), node)
            if updated is not current:
                self.bind(target.id, updated, target)
            return
        if isinstance(target, gast.Attribute):
            owner = self.eval(target.value)
            current = self.once(lambda: self.get_attribute(owner, target.attr, target))
            updated = self.changed_once(kind, current, self.eval(node.value), node)
            self.set_attribute(owner, target.attr, updated, target)
            return
        owner, index = self.eval(target.value), self.eval(target.slice)
        current = self.once(lambda: self.get_item(owner, index, target))
        if isinstance(current, Value) and current.op is not None and current.op.kind in ("gather", "mask_get"):
            value = self.eval(node.value)
            updated = self.binary(kind, current, value, node)
            self.check_castable(updated, current, node)
            if isinstance(updated, Value) and updated.type == current.type:  # a copy that nobody sees need not change
                self.set_item(owner, index, updated, target)
                return
            self.once(lambda: self.receive(current, updated, node))
            self.set_item(owner, index, current, target)
            return
        updated = self.changed_once(kind, current, self.eval(node.value), node)
        is_view = isinstance(updated, Value) and isinstance(updated.type, Array) and updated is current
        is_view &= not self.is_flat(owner)
        # A tuple refuses also what has been changed in place, and an object's own `__setitem__` is called with it.
        own = isinstance(owner, av.Tup) or (isinstance(owner, av.Ref) and isinstance(self.contents(owner), av.ObjC))
        if own or not is_view:
            self.set_item(owner, index, updated, target)

    def changed_once(self, kind: str, current: Any, value: Any, node: gast.AST) -> Any:
        """`current op= value`: storing the result may raise, after which the statement is resumed behind the change."""
        return self.once(lambda: self.augmented(kind, current, value, node))

    @for_each
    def augmented(self, kind: str, current: Any, value: Any, node: gast.AST) -> Any:
        """`x op= value`: arrays and lists change in place, everything else gives a new value."""
        if isinstance(current, av.Opt):  # what may be None is an array, or a list, where it is not
            return self.augmented(kind, self.not_none(current), value, node)
        if isinstance(current, Value) and isinstance(current.type, Array):
            if self.doubts and self.handlers:  # NumPy has written when it raises
                problem = "an array that is changed in place under an error state that raises"
                raise self.unsupported("DJ124", problem, node, "write x = x + y, say")
            result = self.binary(kind, current, value, node)
            self.once(lambda: self.receive(current, result, node))
            return current
        if isinstance(current, Value) and isinstance(current.type, Scalar):
            self.note_changed(current)
        if isinstance(current, Static) and tree.contents(current.obj) is not None:
            raise self.type_problem(
                "DJ314", f"{describe(current)} cannot be changed in place", node, cure="write a = a + b"
            )
        if isinstance(current, av.Ref):
            if self.is_part_of_tuple(current):
                return self.binary(kind, current, value, node)
            held = self.contents(current)
            if isinstance(held, (av.ListC, DynList)) and kind in ("add", "multiply") and self.adds_lists(value, kind):
                return self.binary(kind, current, value, node)
            if isinstance(held, (av.ListC, DynList)) and kind == "add":
                self.list_extend(current, value, node)
                return current
            if isinstance(held, (av.ListC, DynList)) and kind == "multiply":
                self.repeat_in_place(current, value, node)
                return current
            if isinstance(held, av.DictC):
                joined = self.combine_in_place(kind, current, value)
                if joined is not None:
                    return joined
        cls, dunder = self.operating_class(current), f"__i{DUNDER.get(kind)}__"
        if cls is not None and self.class_has(cls, dunder):
            found = self.call_method(current, dunder, [value])
            if not self.gives_up(found):
                return found
        return self.binary(kind, current, value, node)

    def adds_lists(self, value: Any, kind: str) -> bool:
        """Whether what is added to a list in place makes something of lists itself: Python asks it before the list.

        NumPy's arrays and numbers do, but for ints that say how often a list is repeated.
        """
        if isinstance(value, av.Ref) and isinstance(self.object_form(value), av.ObjC):
            return self.class_has(self.class_of(value), f"__r{DUNDER.get(kind)}__")
        if isinstance(value, Static) and isinstance(value.obj, np.number | np.bool):
            value = self.number(value)
        if not isinstance(value, Value) or not isinstance(value.type, Scalar):
            return isinstance(value, Value) or (isinstance(value, Static) and isinstance(value.obj, np.ndarray))
        return not value.type.weak and (kind == "add" or value.type.dtype.kind not in "iu")

    def receive(self, target: Value, value: Any, node: gast.AST | None) -> None:
        """`target` takes a function's result: as it is, while an assignment takes more dimensions and any dtype."""
        self.check_castable(value, target, node)
        ndim = value.type.ndim if isinstance(value, Value) and isinstance(value.type, Array) else 0
        if ndim > target.type.ndim:
            message = f"a result of {ndim} dimensions does not fit into an array of {target.type.ndim}"
            raise self.type_problem("DJ310", message, node, cure="reshape an operand first", python=ValueError)
        self.assign_array(target, value, node)

    def check_castable(self, value: Any, target: Value, node: gast.AST | None) -> None:
        """NumPy refuses `int_array += float`."""
        ty = value.type if isinstance(value, Value) else None
        if isinstance(ty, (Array, Scalar)) and not np.can_cast(ty.dtype, target.type.dtype, "same_kind"):
            raise self.type_problem(
                "DJ313",
                f"{ty.dtype} cannot be added in place into an array of {target.type.dtype}",
                node,
                cure="convert the array first",
                python=TypeError,
            )

    def exec_Delete(self, node: gast.AST) -> None:
        for target in node.targets:
            if isinstance(target, gast.Name):
                self.lookup(target.id, target)
                self.bind(target.id, UNBOUND, target)
            elif isinstance(target, gast.Subscript):
                self.once(lambda t=target: self.delete_item(self.eval(t.value), self.eval(t.slice), t))
            elif isinstance(target, gast.Attribute):
                self.once(lambda t=target: self.delete_attribute(self.eval(t.value), t.attr, t))
            else:
                raise self.unsupported("DJ101", "`del` of this target", target)

    # Definitions

    def exec_FunctionDef(self, node: gast.AST) -> None:
        fn: Any = self.make_fn(node, node.name)
        for decorator in reversed(node.decorator_list):
            fn = self.call(self.eval(decorator), [fn], {}, decorator)
        self.bind(node.name, fn, node)

    # Jumps

    def exec_Return(self, node: gast.AST) -> None:
        self.return_value(NONE if node.value is None else self.eval(node.value))

    def return_value(self, value: Any) -> None:
        """Leave the function with a value."""
        frame = self.frames[-1]
        self.cells["ret", frame.uid] = value
        self.jump("return", frame.uid)

    def exec_Break(self, node: gast.AST) -> None:
        self.jump("break", self.loop_stack()[-1])

    def exec_Continue(self, node: gast.AST) -> None:
        self.jump("continue", self.loop_stack()[-1])

    def loop_stack(self) -> list[Any]:
        """Loops of this frame that `break` may mean, innermost last."""
        return self.frame_loops.setdefault(self.frames[-1].uid, [])

    # Branches

    def exec_If(self, node: gast.AST) -> None:
        self.exec_if(node, [])

    def exec_if(self, node: gast.AST, rest: list[Any]) -> bool:
        """An `if` statement; True when `rest` was interpreted inside a branch."""
        reached = [False]

        def behind() -> None:
            reached[0] = True
            self.exec_block(rest)

        with self.at(node):
            test = self.test(node.test)
            if isinstance(test, Static):
                self.exec_block(node.body if test.obj else node.orelse)
            else:
                then, other = (lambda b=b: self.in_branch(lambda: self.exec_block(b)) for b in (node.body, node.orelse))
                self.fork(test, then, other, rest=behind if rest else None)
        return reached[0]

    # Loops

    def exec_While(self, node: gast.AST) -> None:
        uid = next(self._uids)
        checked_inside = bool(self.handlers)  # a condition that may raise into a handler is part of the body

        def cond() -> Any:
            return Static(True) if checked_inside else self.test(node.test)

        def body(_: list[Value]) -> None:
            if checked_inside:
                self.guarded(lambda: self.when(self.test(node.test), lambda: None, lambda: self.jump("end", uid)))
            self.unless_jumped(lambda: self.loop_body(node, uid))

        assigned = frozenset(assigned_names([node.test, *node.body]))
        broke = self.looping(id(node), "while", [], body, cond=cond, assigned=assigned, break_uid=uid, node=node)
        self.land("end", uid)
        self.loop_else(broke, node)

    def exec_For(self, node: gast.AST) -> None:
        uid = next(self._uids)
        iterable = self.eval(node.iter)

        def body(item: Any) -> None:
            self.guarded(lambda: self.assign_target(node.target, item))
            self.unless_jumped(lambda: self.loop_body(node, uid))

        assigned = frozenset(assigned_names([node.target, *node.body]))
        broke = self.iterate(iterable, body, node, key=id(node), assigned=assigned, break_uid=uid, in_turn=True)
        self.loop_else(broke, node)

    def loop_body(self, node: gast.AST, uid: Any) -> None:
        """The statements of a loop."""
        self.loop_stack().append(uid)
        try:
            self.exec_block(node.body)
        finally:
            self.loop_stack().pop()
        self.land("continue", uid)

    def loop_else(self, broke: Any, node: gast.AST) -> None:
        """The `else` of a loop, which runs where it was not left by `break`."""
        if node.orelse:
            self.unless_jumped(lambda: self.when(broke, lambda: None, lambda: self.exec_block(node.orelse)))


_SPOKEN = {
    "AsyncFunctionDef": "an async function", "AsyncFor": "an `async for` loop", "AsyncWith": "an `async with` block",
}  # fmt: skip
