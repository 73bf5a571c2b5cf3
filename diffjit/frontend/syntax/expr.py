"""Expressions other than operators."""

from __future__ import annotations

import functools
import inspect
import operator
import types
from dataclasses import replace
from typing import Any

import gast
import numpy as np

from diffjit.frontend.entry.subset import functions_with_attributes
from diffjit.frontend.syntax.frames import NeedStatic
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array

_SPOKEN = {"Await": "`await`"}
_NEAR, _FAR, _LOW = Static(0), Static(2**62), Static(-(2**62))
_SEVERAL = 8  # so many branches may a call with a star have


class _Function:
    """What holds the attributes of a function."""


_Function.__name__ = "function"


class Expressions(Mixin):
    """Mixin of the interpreter: evaluates expressions to abstract values."""

    def eval(self, node: gast.AST) -> Any:
        """The abstract value of an expression."""
        if self.memo is not None and id(node) in self.memo:
            return self.memo[id(node)]
        method = getattr(self, f"eval_{type(node).__name__}", None)
        if method is None:
            raise self.unsupported(
                "DJ101", f"{_SPOKEN.get(type(node).__name__, f'`{type(node).__name__}`')} is not supported", node
            )
        outer = self.here, self.step
        self.here, self.step = node, 0
        try:
            with self.at(node):
                value = method(node)
        finally:
            self.here, self.step = outer
        if isinstance(value, av.Poison):
            cure = value.cure or "give it one type on all paths"
            raise self.unusable(value, self.type_problem("DJ304", f"this value is {value.reason}", node, cure=cure))
        if self.memo is not None:
            self.memo[id(node)] = value
        self.settle()
        return value

    def eval_Constant(self, node: gast.AST) -> Any:
        return Static(node.value)

    def eval_Name(self, node: gast.AST) -> Any:
        return self.lookup(node.id, node)

    def eval_NamedExpr(self, node: gast.AST) -> Any:
        value = self.eval(node.value)
        self.bind(node.target.id, value, node)
        return value

    def eval_Tuple(self, node: gast.AST) -> Any:
        if not any(isinstance(item, gast.Starred) for item in node.elts):
            return av.Tup(tuple(self.eval_items(node.elts)))
        made: Any = av.Tup(())
        for item in node.elts:
            value = self.eval(item.value if isinstance(item, gast.Starred) else item)
            if not isinstance(item, gast.Starred):
                value = av.Tup((value,))
            elif self.is_growing(value):
                value = self.call(Static(tuple), [value], {})
            elif not (isinstance(value, av.Sum) and all(isinstance(v, av.Tup) for v in value.variants)):
                value = self._starred_tuple(value, item)
            made = self.binary("add", made, value, item)
        return made

    def _starred_tuple(self, value: Any, node: gast.AST) -> Any:
        """What a star stands for in a tuple: as many items as there are when the program runs, if no argument says."""
        try:
            return av.Tup(tuple(self.unpack(value, None, node)))
        except NeedStatic as unknown:
            if unknown.sources:
                raise
            return self.call(Static(tuple), [value], {})

    def eval_List(self, node: gast.AST) -> Any:
        if any(isinstance(item, gast.Starred) for item in node.elts):
            made = self.new(av.ListC(()))
            for item in node.elts:
                if isinstance(item, gast.Starred):
                    self.list_extend(made, self.starred_items(self.eval(item.value), item), item)
                else:
                    self.list_append(made, self.eval(item))
            return made
        return self.new(av.ListC(tuple(self.eval_items(node.elts))))

    def eval_Set(self, node: gast.AST) -> Any:
        return self.displayed_set(self.make_set(self.eval_items(node.elts), node))

    def starred_items(self, value: Any, node: gast.AST) -> Any:
        """What a star stands for in a list: a tuple where the number of items is known, or can be."""
        value = self.certain(value)
        if isinstance(value, Value) and isinstance(value.type, Array) and value.type.ndim > 0:
            length = self.length(value)
            return av.Tup(tuple(self.unpack(value, None, node))) if self.is_or_can_be_known(length) else value
        return value

    def is_or_can_be_known(self, number: Any) -> bool:
        """Whether a number is known while specialising, or would be with an argument fixed."""
        return isinstance(number, Static) or self.can_be_static(number)

    def eval_items(self, nodes: list[gast.AST], starred: int | None = None) -> list[Any]:
        """Elements of a display or arguments of a call; `starred` is how many a star stands for."""
        out: list[Any] = []
        for item in nodes:
            if isinstance(item, gast.Starred):
                out.extend(self.unpack(self.eval(item.value), starred, item, wrong=TypeError))
            else:
                out.append(self.eval(item))
        return out

    def eval_Dict(self, node: gast.AST) -> Any:
        pairs: list[tuple[Any, Any]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                pairs.append((None, self.eval(value)))
            else:
                pairs.append((self.eval(key), self.eval(value)))
        return self.make_dict(pairs, node)

    def eval_IfExp(self, node: gast.AST) -> Any:
        test = self.test(node.test)
        if isinstance(test, Static):
            return self.eval(node.body if test.obj else node.orelse)
        then, other = (lambda n=n: self.in_branch(lambda: self.eval(n)) for n in (node.body, node.orelse))
        return self.choose(test, then, other)

    def eval_Call(self, node: gast.AST) -> Any:
        function = self.eval(node.func)
        made = self.called_as_written(function, node)
        if isinstance(made, av.Partial) and isinstance(function, Static) and function.obj is functools.partial:
            return replace(made, attributes=self._attributes_of(node))
        return made

    def called_as_written(self, function: Any, node: gast.AST) -> Any:
        """A call of a function that was found already, with the arguments that a call has."""
        args = self._arguments(function, node)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                kwargs |= self.dict_contents(self.eval(keyword.value), node).items
            else:
                kwargs[keyword.arg] = self.eval(keyword.value)
        if args and isinstance(args[-1], av.Iter) and args[-1].kind == "several":
            return self._call_with_several(function, args, kwargs, node)
        if self.known_arrays:
            args, kwargs = self.with_known(function, args, kwargs)
        self.mind_words(function, args, kwargs)
        receiver = [function.receiver] if isinstance(function, av.Method) else []
        return self.remember_known(self.call(function, args, kwargs, node), function, *receiver, *args, **kwargs)

    def _arguments(self, function: Any, node: gast.AST) -> list[Any]:
        """Positional arguments; a star at their end may stand for as many as there are when the program runs."""
        fewest, most = self._starred(function, node)
        starred = most if fewest == most else None
        if starred is not None or not (node.args and isinstance(node.args[-1], gast.Starred)):
            return self.eval_items(node.args, starred)
        args = self.eval_items(node.args[:-1])
        value = self.certain(self.eval(node.args[-1].value))
        if takes_any(function):
            if isinstance(value, av.Iter) and not self.can_unroll(value):
                value = self.collect(value)
            if self.is_growing(value):
                return [*args, av.Iter("starred", (value,), claimed=True)]
        try:
            return [*args, *self.unpack(value, None, node.args[-1])]
        except NeedStatic as unknown:
            if unknown.sources or fewest is None or most is None or most - fewest > _SEVERAL:
                raise
            counts = Static(range(fewest, most + 1))
            return [*args, av.Iter("several", (value, counts), claimed=True)]

    def _starred(self, function: Any, node: gast.AST) -> tuple[int, int] | tuple[None, None]:
        """The fewest and the most arguments that the one star of a call may stand for."""
        held = self.contents(function) if isinstance(function, av.Ref) else None
        if isinstance(held, av.ObjC):
            taken = _without_first(_parameters(Static(self.class_lookup(held.cls, "__call__"))))
        else:
            taken = _parameters(function)
        keywords = {k.arg for k in node.keywords}
        if taken is None or None in keywords or sum(isinstance(a, gast.Starred) for a in node.args) != 1:
            return None, None
        names, optional = taken
        most = next((k for k, name in enumerate(names) if name in keywords), len(names))
        before = len(node.args) - 1
        if before > most:
            return None, None
        return max(min(most, len(names) - optional) - before, 0), most - before

    def _call_with_several(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: gast.AST) -> Any:
        """A call whose star stands for so many arguments or so many: a branch for each number."""
        *args, several = args
        value, counts = several.parts
        length = self.length(value)

        def call(count: int) -> Any:
            return self.call(function, [*args, *(self.get_item(value, Static(k)) for k in range(count))], kwargs, node)

        def pick(count: int) -> Any:
            other = self.truth(self.compare_kind("not_equal", length, Static(count)), node)
            if count == counts.obj[-1]:
                message = "the star stands for a number of arguments that the function does not take"
                self.raise_if(other, TypeError, av.inexact(message))
                return call(count)
            return self.choose(other, lambda: pick(count + 1), lambda: call(count))

        return pick(counts.obj[0])

    def eval_Lambda(self, node: gast.AST) -> Any:
        return self.make_fn(node, "<lambda>")

    def make_fn(self, node: gast.AST, name: str) -> av.Fn:
        """A nested function; it sees the variables of its enclosing frames as they are when it is called."""
        frame = self.frames[-1]
        visible = {frame.uid, *frame.fn.scope.frames}
        for f in self.frames:
            f.captured = f.captured or f.uid in visible
        defaults = tuple(self.eval(d) for d in node.args.defaults)
        kw = {
            a.id: self.eval(d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        }
        scope = outer = frame.fn.scope
        if not frame.class_body:  # methods do not see the names of their class
            seen = {**outer.locals_of, frame.uid: frame.local}
            scope = av.Scope((frame.uid, *outer.frames), outer.pyfunc, outer.namespace, seen)
        attributes = self._attributes_of(node)
        return av.Fn(node, name, frame.fn.file, defaults, kw, scope, None, frame.fn.owner, attributes)

    def _attributes_of(self, node: gast.AST) -> av.Ref | None:
        """The object that holds the attributes of a function that is made here, where it gets some."""
        told = node in functions_with_attributes(self.frames[-1].fn.node)
        return self.new(av.ObjC(_Function, {})) if told else None

    def eval_Attribute(self, node: gast.AST) -> Any:
        return self.get_attribute(self.eval(node.value), node.attr, node)

    def eval_Subscript(self, node: gast.AST) -> Any:
        owner, index = self.eval(node.value), self.eval(node.slice)
        return self.remember_known(self.get_item(owner, index, node), operator.getitem, owner, index)

    def eval_Slice(self, node: gast.AST) -> Any:
        return self.cut(*(NONE if part is None else self.eval(part) for part in (node.lower, node.upper, node.step)))

    def cut(self, start: Any, stop: Any, step: Any) -> av.Slice:
        """`start:stop:step`; a bound that may be None is then a number beyond the end, which NumPy cuts."""
        if isinstance(step, av.Opt):
            step = self._number_or(step, Static(1))
        if isinstance(start, av.Opt) or isinstance(stop, av.Opt):
            down = Static(False) if is_none(step) else self.truth(self.compare_kind("less", step, Static(0)))
            first, last = (self.choose(down, lambda e=e: e[0], lambda e=e: e[1]) for e in ((_FAR, _NEAR), (_LOW, _FAR)))
            start, stop = self._number_or(start, first), self._number_or(stop, last)
        return av.Slice(start, stop, step)

    def _number_or(self, value: Any, otherwise: Any) -> Any:
        """A number, or another one where it is None."""
        if not isinstance(value, av.Opt):
            return value
        return self.choose(value.is_none, lambda: otherwise, lambda: value.value)

    def eval_Starred(self, node: gast.AST) -> Any:
        raise self.unsupported("DJ101", "a star here is not supported", node)

    def static_key(self, value: Any, node: gast.AST | None = None) -> Any:
        """A dict key: known while specialising."""
        if isinstance(value, Static):
            return value.obj
        if self.object_key(value) is not None:
            return self.object_key(value)
        if isinstance(value, av.Tup):
            return tuple(self.static_key(i, node) for i in value.items)
        if isinstance(value, av.Format):
            value = next((p[0] for p in value.parts if not isinstance(p, str) and isinstance(p[0], Value)), value)
        if isinstance(value, Value):
            message = "a dict or set key that is only known at run time"
            cure = "use a dict made inside the function, with numbers or tuples of numbers as keys"
            raise self.need_static(value, self.unsupported("DJ123", message, node, cure))
        raise self.unsupported("DJ123", f"{describe(value)} as a dict key", node)


def takes_any(function: Any) -> bool:
    """Whether a function takes any number of arguments, and may get them as one list."""
    if isinstance(function, av.Bound):
        return takes_any(function.function)
    if isinstance(function, Static) and function.obj is not zip and isinstance(function.obj, type):
        init = inspect.getattr_static(function.obj, "__init__", None)
        return takes_any(init.value if isinstance(init, av.Member) else Static(init))
    if isinstance(function, Static) and isinstance(function.obj, types.FunctionType):
        return bool(function.obj.__code__.co_flags & inspect.CO_VARARGS)
    if isinstance(function, Static):
        return function.obj in (max, min, zip)
    return isinstance(function, av.Fn) and getattr(function.node, "args").vararg is not None  # noqa: B009


def _parameters(function: Any) -> tuple[list[str], int] | None:
    """The names of a function's positional parameters, and how many have defaults; None if it takes any number."""
    if isinstance(function, av.Bound):
        return _without_first(_parameters(function.function))
    if isinstance(function, av.Fn):
        spec = function.node.args  # pyright: ignore[reportAttributeAccessIssue]
        names = [a.id for a in (*spec.posonlyargs, *spec.args)]
        return None if spec.vararg else (names, len(function.defaults))
    if not isinstance(function, Static):
        return None
    if isinstance(function.obj, np.ufunc):
        return [f"x{k}" for k in range(function.obj.nin)], 0
    if isinstance(function.obj, type):
        cls: Any = function.obj
        if hasattr(cls, "_fields"):
            return list(cls._fields), len(cls._field_defaults)
        init = inspect.getattr_static(cls, "__init__", None)
        return _without_first(_parameters(init.value if isinstance(init, av.Member) else Static(init)))
    if isinstance(function.obj, types.FunctionType):
        code = function.obj.__code__
        names = list(code.co_varnames[: code.co_argcount])
        return None if code.co_flags & inspect.CO_VARARGS else (names, len(function.obj.__defaults__ or ()))
    return None


def _without_first(taken: tuple[list[str], int] | None) -> tuple[list[str], int] | None:
    """The parameters of a method, without the object's own."""
    return None if taken is None else (taken[0][1:], taken[1])
