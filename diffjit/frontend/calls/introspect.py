"""Questions about types: isinstance, type, callable, getattr and the like are answered while specialising."""

from __future__ import annotations

import builtins
import collections
import collections.abc
import copy
import functools
import inspect
import sys
import types
from typing import Any

import gast
import numpy as np

from diffjit import tree
from diffjit.frontend.calls.questions import itself
from diffjit.frontend.syntax.handlers import core, late
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.join import OR_EMPTY_TUPLE
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.foreign import stood_for

_ITERATORS = {
    "enumerate": enumerate, "zip": zip, "map": map, "filter": filter, "reversed": type(reversed([])),
    "generator": types.GeneratorType, "genexp": types.GeneratorType, "keys": type({}.keys()),
    "values": type({}.values()), "items": type({}.items()),
}  # fmt: skip
_CALLABLES: dict[Any, type] = {
    av.Bound: types.MethodType, av.Method: types.BuiltinFunctionType, av.Partial: functools.partial, av.Format: str,
}  # fmt: skip


class SomeIterator(collections.abc.Iterator[Any]):
    """The class of an iterator of which no more is known."""


class Introspection(Mixin):
    """Mixin of the interpreter: questions about types."""

    @core(builtins.isinstance)
    @for_each
    def isinstance(self, value: Any, classes: Any, node: Any = None) -> Any:
        """Whether a value is an instance, by what is known of its type."""
        del node
        flat: list[type] = []
        todo = [classes]
        while todo:
            item = todo.pop()
            if isinstance(item, av.Tup):
                todo += list(item.items)
            elif isinstance(item.obj, tuple):
                todo += [Static(x) for x in item.obj]
            elif hasattr(item.obj, "__args__") and not isinstance(item.obj, type):
                todo += [Static(x) for x in item.obj.__args__]
            else:
                flat.append(item.obj)
        if isinstance(value, av.Opt):
            inner = self.isinstance(value.value, classes)
            if type(None) in flat:
                return Static(True) if inner.obj else value.is_none
            return self.logical_not(value.is_none) if inner.obj else Static(False)
        held = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, av.ObjC) and issubclass(held.cls, tuple(flat)):
            return Static(True)  # also of the library's own class, whatever it stands for
        return Static(self.ask(value, lambda cls: issubclass(cls, tuple(flat))))

    def class_of(self, value: Any) -> type:
        """The Python class that a value has at run time."""
        if isinstance(value, Static):
            return type(value.obj)
        if isinstance(value, Value):
            if isinstance(value.type, Array):
                return np.ndarray
            if isinstance(value.type, Scalar):
                if value.type.weak:
                    return {"b": bool, "i": int, "f": float, "c": complex}[value.type.dtype.kind]
                return value.type.dtype.type
            return list
        if isinstance(value, av.Tup):
            return value.cls or tuple
        if isinstance(value, av.Ref):
            held = self.contents(value)
            if isinstance(held, av.ObjC):
                known = None if self.in_library() else stood_for(held.cls)
                return known or getattr(held.cls, "stands_for", held.cls)
            if isinstance(held, av.DictC):
                return held.cls or (set if held.is_set else collections.defaultdict if held.factory else dict)
            if getattr(held, "frozen", "") == OR_EMPTY_TUPLE:
                problem = f"whether this is a list hangs on the path taken: it {OR_EMPTY_TUPLE}"
                raise self.type_problem("DJ304", problem, cure="give `[]` in place of `()`")
            return tuple if self.is_part_of_tuple(value) else list
        if isinstance(value, av.Range):
            return range
        if isinstance(value, av.Slice):
            return slice
        if isinstance(value, av.Opt | av.Sum | av.Maybe):
            cure = "test `is None` before, or use isinstance"
            raise self.type_problem("DJ304", f"what {describe(value)} is hangs on the path taken", cure=cure)
        if isinstance(value, av.Iter):
            kind = value.parts[1].obj if value.kind == "view" else value.kind
            return _ITERATORS.get(kind, types.FunctionType if kind in ("item", "spread") else SomeIterator)
        return next((cls for kind, cls in _CALLABLES.items() if isinstance(value, kind)), types.FunctionType)

    @core(builtins.type)
    @for_each
    def py_type(self, value: Any) -> Any:
        if isinstance(value, av.Opt):
            return self.choose(value.is_none, lambda: Static(type(None)), lambda: self.py_type(value.value))
        return Static(self.ask(value, itself))

    @core(builtins.issubclass)
    def py_issubclass(self, cls: Any, classes: Any) -> Any:
        return Static(
            issubclass(cls.obj, tuple(i.obj for i in classes.items) if isinstance(classes, av.Tup) else classes.obj)
        )

    @core(builtins.callable)
    def py_callable(self, value: Any) -> Any:
        if isinstance(value, Static):
            return Static(callable(value.obj))
        if isinstance(value, av.Ref):
            held = self.contents(value)
            return Static(isinstance(held, av.ObjC) and self.class_has(held.cls, "__call__"))
        if isinstance(value, av.Tup) and value.cls is not None:
            return Static(self.class_has(value.cls, "__call__"))
        return Static(isinstance(value, (av.Fn, av.Bound, av.Partial, av.Method)))

    def same_array(self, left: Any, right: Any) -> Any:
        """Whether two names are of one array; None where nobody knows."""
        if not all(isinstance(v, Value) and isinstance(v.type, Array) for v in (left, right)):
            return None
        if left is right:
            return Static(True)
        for one, other in ((left, right), (right, left)):
            if _is_new(one) and (_is_new(other) or other in self.param_paths):
                return Static(False)  # every operation makes an array of its own, which no caller has
            if one.op is not None and one.op.kind == "if" and one.type.ndim > 0:  # numbers are read where paths join
                chosen = [region.results[one.op.outputs.index(one)] for region in one.op.regions]
                there, otherwise = (self.same_array(v, other) for v in chosen)
                if isinstance(there, Static) and isinstance(otherwise, Static):
                    return self.choose(one.op.inputs[0], lambda: there, lambda: otherwise)  # noqa: B023 - called here
        return None

    @core(builtins.getattr)
    def py_getattr(self, value: Any, name: Any, default: Any = None) -> Any:
        if default is None:
            return self.get_attribute(value, name.obj)
        if (read := self.getter(value, name)) is not None:
            return self.call(self.fn_of(_read_or), [read, default], {}, None)
        there = self.py_hasattr(value, name)
        return self.choose(there, lambda: self.get_attribute(value, name.obj), lambda: default)

    @core(inspect.getfullargspec)
    def getfullargspec(self, function: Any) -> Any:
        """The parameters of a function with source, as estimators ask for those of their constructors."""
        fn = function.function if isinstance(function, av.Bound) else function
        known = fn.pyfunc if isinstance(fn, av.Fn) else getattr(fn, "obj", None)
        if not isinstance(known, types.FunctionType):
            raise self.unsupported(
                "DJ118", f"inspect.getfullargspec of {describe(function)}", None, "name what it takes"
            )
        return self.lift_static(inspect.getfullargspec(known))

    @core(builtins.eval)
    def py_eval(self, source: Any, *namespaces: Any) -> Any:
        """A text that is known means what it would mean as an expression here."""
        if not isinstance(source, Static) or not isinstance(source.obj, str) or namespaces:
            cure = "call a function instead"
            raise self.unsupported("DJ118", "eval of a text made at run time, or in a namespace", None, cure)
        return self.eval_text(source.obj, _expression)

    def eval_text(self, text: str, parsed: Any) -> Any:
        """A text as an expression that stands here."""
        try:
            tree = parsed(text.strip(), self.here.lineno, self.here.col_offset)
        except SyntaxError as error:
            self.raise_if(Static(True), SyntaxError, av.inexact(str(error)))
            raise
        return self.eval(tree)

    @late("numexpr", "evaluate")
    def numexpr_evaluate(self, ex: Any, **options: Any) -> Any:
        """The expression in a text, of the variables where it is evaluated, with NumPy's functions."""
        known = isinstance(ex, Static) and isinstance(ex.obj, str)
        given = {name for name, option in options.items() if not is_none(option)} - _NUMEXPR_ADVICE
        if not known or given:
            what = f"numexpr.evaluate with `{min(given)}`" if given else "numexpr.evaluate of a text made at run time"
            raise self.unsupported("DJ118", what, None, "write the expression itself")
        return self.call_static(np.asarray, [self.eval_text(ex.obj, _numexpr)], {}, None)

    @core(builtins.setattr)
    def py_setattr(self, value: Any, name: Any, new: Any) -> Any:
        self.set_attribute(value, name.obj, new)
        return NONE

    @core(inspect.signature)
    def signature_of(self, function: Any, **options: Any) -> Any:
        """The parameters of a function: of one that is defined inside, as its source has them."""
        known = (
            function.pyfunc if isinstance(function, av.Fn) else function.obj if isinstance(function, Static) else None
        )
        if callable(known) and not options:
            if tree.is_function(known):
                self.fn_of(known)  # whose code is watched
            return Static(inspect.signature(known))
        if not isinstance(function, av.Fn) or options:
            problem = f"`inspect.signature` of {describe(function)}"
            raise self.unsupported("DJ118", problem, None, "ask it of a function that is defined by `def` or `lambda`")
        return Static(inspect.Signature(self._parameters(function)))

    def _parameters(self, function: av.Fn) -> list[inspect.Parameter]:
        """Those of a function that is defined inside; defaults and annotations must be known."""
        given, kinds = function.node.args, inspect.Parameter
        names = [(n, kinds.POSITIONAL_ONLY) for n in given.posonlyargs]
        names += [(n, kinds.POSITIONAL_OR_KEYWORD) for n in given.args]
        names += [(n, kinds.VAR_POSITIONAL) for n in (given.vararg,) if n]
        names += [(n, kinds.KEYWORD_ONLY) for n in given.kwonlyargs]
        names += [(n, kinds.VAR_KEYWORD) for n in (given.kwarg,) if n]
        positional = [*given.posonlyargs, *given.args]
        defaults = dict(zip([n.id for n in reversed(positional)], reversed(function.defaults), strict=False))
        defaults |= function.kw_defaults
        unknown = any(n.annotation for n, _ in names) or not all(isinstance(d, Static) for d in defaults.values())
        if unknown:
            problem = "`inspect.signature` of a function defined inside that has annotations, or defaults that vary"
            raise self.unsupported("DJ118", problem, None, "define it outside, or leave them out")
        known = {name: default.obj for name, default in defaults.items()}
        return [kinds(n.id, kind, default=known.get(n.id, kinds.empty)) for n, kind in names]

    @core(builtins.hasattr)
    @for_each
    def py_hasattr(self, value: Any, name: Any) -> Any:
        if isinstance(value, av.Opt):
            there = self.py_hasattr(value.value, name)
            return self.choose(value.is_none, lambda: Static(hasattr(None, name.obj)), lambda: there)
        if isinstance(value, av.Bound) and not name.obj.startswith("__"):
            return self.py_hasattr(value.function, name)
        if isinstance(value, av.Fn | av.Partial) and value.attributes is not None and not name.obj.startswith("__"):
            there = isinstance(value, av.Partial) and hasattr(functools.partial, name.obj)
            return Static(True) if there else self.py_hasattr(value.attributes, name)
        if isinstance(value, av.Fn) and value.pyfunc is not None:
            return self.py_hasattr(Static(value.pyfunc), name)
        if isinstance(value, av.Iter) and value.kind == "super":
            instance, base, found = self.behind(value, name.obj)
            if isinstance(found, property):
                read = av.Partial(self.accessor(found.fget, base), (instance,), {})
                return self.call(self.fn_of(_can_read), [read], {}, None)
            return Static(hasattr(base, name.obj))
        held = self.object_form(value) if isinstance(value, av.Ref) else None
        if (read := self.getter(value, name)) is not None:
            return self.call(self.fn_of(_can_read), [read], {}, None)
        if (more := self.may_have_more(value, name.obj)) is not None:
            return Static(more)
        if (late := self.has_late(value, name.obj)) is not None:
            return late
        if isinstance(held, av.ObjC) and (self.in_library() or self.class_of(value) is held.cls):
            found = held.fields.get(name.obj)
            if isinstance(found, av.Maybe) and not self.class_gives(held.cls, name.obj):
                if (held.cls, name.obj) not in self.lost:
                    return found.bound
                key = held.cls, name.obj  # it is there, in a form that was not followed
                self.bound(found, name.obj, held.cls, key)
            held_itself = found is not None and found is not av.UNBOUND and not isinstance(found, av.Maybe)
            return Static(held_itself or self.class_has(held.cls, name.obj) or self.object_has(held, name.obj))
        if not isinstance(value, Static):
            self.mind_own_attribute(value, name.obj)
        elif (owner := self.static_attribute_set(value.obj, name.obj)) is not None:
            held = self.cells["v", owner, name.obj]
            return held.bound if isinstance(held, av.Maybe) else Static(held is not av.UNBOUND)
        return Static(
            self.static_has(value.obj, name.obj)
            if isinstance(value, Static)
            else self.ask(value, lambda cls: any(name.obj in vars(base) for base in cls.__mro__))
        )

    def may_have_more(self, value: Any, name: str) -> bool | None:
        """Whether what stands for an object of a library has an attribute; refused where the library's may have it.

        None of all else: `has_more` says what objects are of which not all is written that the library's have.
        """
        held = self.object_form(value) if isinstance(value, av.Ref) else value
        cls = held.cls if isinstance(held, av.ObjC | av.Tup) else None
        if not getattr(cls, "has_more", ""):
            return None
        if (isinstance(held, av.ObjC) and name in held.fields) or (name != "has_more" and self.class_has(cls, name)):
            return True
        if name.startswith("__"):
            return hasattr(getattr(cls, "stands_for", cls), name)
        raise self.not_all_known(cls, name, None)

    def getter(self, value: Any, name: Any) -> Any:
        """What reads an attribute by a property or `__getattr__`, which may raise an AttributeError; None of others."""
        held = self.object_form(value) if isinstance(value, av.Ref) else None
        if not isinstance(held, av.ObjC):
            return None
        own = held.fields.get(name.obj, av.UNBOUND)
        if own is not av.UNBOUND and not isinstance(own, av.Maybe):
            return None
        if not isinstance(self.class_lookup(held.cls, name.obj), property):
            of_class = self.class_has(held.cls, name.obj) or not self.class_has(held.cls, "__getattr__")
            outside = held.origin is not None and name.obj in tree.attributes(held.origin[0])
            if of_class or outside or self.may_have_more(value, name.obj) is not None:
                return None
        return av.Partial(Static(builtins.getattr), (value, name), {})


def _is_new(value: Value) -> bool:
    """An array that an operation made."""
    return value.op is not None and not value.op.row.meets


def _can_read(read: Any) -> bool:
    """`hasattr(owner, name)` of what is computed, by a property or `__getattr__`; read as a program."""
    try:
        read()
    except AttributeError:
        return False
    return True


def _read_or(read: Any, default: Any) -> Any:
    """`getattr(owner, name, default)` of what is computed; read as a program."""
    try:
        return read()
    except AttributeError:
        return default


# Options of numexpr's that say how, not what.
_NUMEXPR_ADVICE = frozenset({"order", "casting", "sanitize", "optimization", "truediv", "disable_cache"})


class _Numexpr(gast.NodeTransformer):
    """What a text means to numexpr: names that are called are its functions, floats are NumPy's of 64 bits."""

    def visit_Call(self, node: gast.AST) -> gast.AST:
        name = getattr(node.func, "id", "")
        function = getattr(np, name, None) if name in sys.modules["numexpr.expressions"].functions else None
        made = node.func if function is None else gast.copy_location(gast.Constant(function, None), node.func)
        return gast.copy_location(gast.Call(made, [self.visit(a) for a in node.args], node.keywords), node)

    def visit_Constant(self, node: gast.AST) -> gast.AST:
        return (
            gast.copy_location(gast.Constant(np.float64(node.value), None), node)
            if isinstance(node.value, float)
            else node
        )

    def visit_Name(self, node: gast.AST) -> gast.AST:
        operand = gast.copy_location(gast.Constant(_numexpr_operand, None), node)
        return gast.copy_location(gast.Call(operand, [node], []), node)


@functools.cache
def _numexpr(text: str, line: int, column: int) -> gast.AST:
    """The syntax tree of a text for numexpr."""
    return _Numexpr().visit(copy.deepcopy(_expression(text, line, column)))


def _numexpr_operand(value: Any) -> Any:
    """A variable as numexpr takes it; read as a program."""
    return np.asarray(value) if isinstance(value, float | list | tuple) else value


@functools.cache  # what is known of a place in the program hangs on its node
def _expression(text: str, line: int, column: int) -> gast.AST:
    """The syntax tree of a text that stands at a place in the program."""
    tree = gast.parse(text, mode="eval").body
    for part in gast.walk(tree):
        if hasattr(part, "lineno"):
            part.lineno = part.end_lineno = line
            part.col_offset = part.end_col_offset = column
    return tree
