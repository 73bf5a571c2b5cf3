"""Calls: what is called decides how."""

from __future__ import annotations

import functools
import inspect
import operator
import re
import sys
import types
import typing
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.errors import DiffjitError, NoRule
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Asked, Keys
from diffjit.frontend.kernels.words import is_of_kernels
from diffjit.frontend.numpy.warned import under_error_state
from diffjit.frontend.objects.iterate import UnknownLength
from diffjit.frontend.outside.foreign import routine_for
from diffjit.frontend.outside.surroundings import ASKING, FILES, is_cython, is_pure_library
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.managers import is_manager
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.foreign import learn
from diffjit.primitives.registry import (
    COMPLEX,
    COMPOSITES,
    CONSTANT,
    ELEMENTWISE,
    FUNCTIONS,
    PLANE,
    REAL,
    STATELESS,
    unread,
)
from diffjit.primitives.signatures import is_ctypes


def _called_through_cache(function: Any) -> Any:
    """Stands for a function behind functools.cache."""
    raise NotImplementedError


_FETCHERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_dispatching: Any = functools.singledispatch(abs)
_DISPATCHER = _dispatching.__code__

_OWNERS = (dict, list, set, frozenset, tuple, str, np.ndarray)
_NUMBERS = (bool, int, float, complex)
_WHOLE = {"gcd": (0, 1), "lcm": (0, 1), "ldexp": (1,)}  # operands of functions of `math` that are ints


class Calls(Mixin):
    """Mixin of the interpreter: calls."""

    def call(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any = None) -> Any:
        """Call any value."""
        if isinstance(function, av.Fn):
            return self.call_fn(function, args, kwargs, node)
        if isinstance(function, av.Bound):
            return self.call(function.function, [function.receiver, *args], kwargs, node)
        if isinstance(function, av.Partial):
            args, kwargs = self.arguments_of_partial(function, args, kwargs, node)
            return self.call(function.function, args, kwargs, node)
        if isinstance(function, av.Method):
            return self.builtin_method(function.receiver, function.name, args, kwargs, node)
        if isinstance(function, av.Ref):
            return self.call_method(function, "__call__", args, kwargs)
        if isinstance(function, av.Tup) and function.cls is not None and self.class_has(function.cls, "__call__"):
            return self.call(self.class_attribute(function, function.cls, "__call__", node), args, kwargs, node)
        if isinstance(function, av.Iter) and function.kind in ("item", "spread"):
            return self.call_helper(function, args, node)
        if isinstance(function, av.Opt):
            return self.call(self.not_none(function), args, kwargs, node)
        if isinstance(function, av.Sum):
            return self.each(function, lambda f: self.call(f, args, kwargs, node))
        if isinstance(function, Static) and is_of_kernels(function.obj):
            return self.call_of_kernels(function.obj, args, kwargs, node)
        if isinstance(function, Static):
            return self.call_static(function.obj, args, kwargs, node)
        raise self.no_function(function, node, self.wrong_type(function))

    def no_function(self, value: Any, node: Any, python: type[Exception] | None) -> DiffjitError:
        """A number, None or a text is called, which Python finds out when it comes to it."""
        return self.type_problem("DJ308", f"{describe(value)} is called like a function", node, python=python)

    def call_method_from_outside(
        self, method: types.MethodType, args: list[Any], kwargs: dict[str, Any], node: Any
    ) -> Any:
        """Call a method of an object or class from outside."""
        owner = method.__self__
        fixed = isinstance(owner, tuple(STATELESS))
        if _module_of(type(owner)) == "scipy" and not fixed:
            raise self.no_rule(method, node)
        receiver = Static(owner) if isinstance(owner, type) or fixed else self.lift_object(owner)
        return self.call(self.lift_static(method.__func__), [receiver, *args], kwargs, node)

    def call_annotation(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """`Stack[float](...)`, and what `typing.NewType` makes; None of other functions."""
        if isinstance(obj, typing.NewType):
            return args[0]
        origin = typing.get_origin(obj)
        return None if origin is None else self.call(Static(origin), args, kwargs, node)

    def call_static(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """Call a Python object known while specialising."""
        try:
            hash(obj)
        except TypeError:
            if is_ctypes(obj):
                return self.call_c_function(obj, args, kwargs, node)
            return self.call(self.lift_object(obj), args, kwargs, node)
        learn(obj)
        if isinstance(obj, _FETCHERS):
            return self.call(self.fetcher(obj, node), args, kwargs, node)
        if (own := self.method_of_owner(obj, node)) is not None:
            return self.call(own, args, kwargs, node)
        users = (tree.is_function(obj) or isinstance(obj, type)) and not self.has_handler(obj) and obj not in COMPOSITES
        if not users and any(self.sum_within(v) is not None for v in (*args, *kwargs.values())):
            return self.each_argument(args, kwargs, lambda a, k: self.call_static(obj, a, k, node))
        for way in (
            self.call_annotation, self.call_inherited, self.call_unbound, self.call_member, self.call_surroundings,
            self.call_special, self.call_protocol, self.call_substitution,
        ):  # fmt: skip
            found = way(obj, args, kwargs, node)
            if found is not None:
                return found
        handler = self.handler_of(obj)
        if handler is not None:
            return self.with_out(obj, lambda *a, **k: self.handled(obj, handler, list(a), k, node), args, kwargs, node)
        if obj in CONSTANT:
            return self.call_constant(obj, args, kwargs, node)
        plain = self.plain_version(obj, args)
        if plain is not None:
            if isinstance(plain, type):
                return self.instantiate(plain, args, kwargs, node)
            return self.call_composite(obj, plain, args, kwargs, node)
        if obj in FUNCTIONS and not self.beyond_rules(obj, args):
            return self.call_elementwise(obj, FUNCTIONS[obj], args, kwargs, node)
        if is_foreign(obj):
            raise self.foreign_array(obj, node)
        if isinstance(obj, np.errstate):
            return av.Partial(Static(under_error_state), (Static(obj), *args), kwargs)
        if isinstance(obj, functools.partial):
            return self.call_partial(obj, args, kwargs, node)
        if (applied := self.by_element(obj, node)) is not None:
            return self.call(applied, args, kwargs, node)
        if tree.is_built_inside(obj):
            try:
                return obj.__diffjit_inline__(self, args, kwargs, node)  # pyright: ignore[reportFunctionMemberAccess]
            except DiffjitError as error:
                raise self.error(error, node) from error.__cause__
        if _module_of(obj) == "numba" and getattr(obj, "__name__", "") in ("prange", "jit", "njit"):
            return self.call_of_numba(obj, args)
        if isinstance(obj, type):
            return self.call_class(obj, args, kwargs, node)
        if is_cython(obj) or hasattr(obj, "arg_extractor"):  # SciPy's transforms, whose source says what they take
            return self.call_unknown(obj, args, kwargs, node)
        if isinstance(obj, types.MethodType):
            return self.call_method_from_outside(obj, args, kwargs, node)
        if tree.is_of_numba(obj):
            return self.call_static(obj.py_func, args, kwargs, node)  # pyright: ignore[reportFunctionMemberAccess]
        if isinstance(obj, np.ufunc) and obj.signature is None and not self.is_static_call(obj, args, kwargs):
            return self.call_routine(routine_for(obj, "ufunc"), args, kwargs, node)
        if _module_of(obj) == "numpy" and not isinstance(obj, np.ufunc) and not self.is_static_call(obj, args, kwargs):
            return self.call_unknown(obj, args, kwargs, node)
        if tree.is_function(obj) and obj.__code__ is _DISPATCHER and args:
            return self.dispatched(obj, args, kwargs, node)
        if tree.is_function(obj):
            if self.is_static_call(obj, args, kwargs):
                return self.run_now(obj, args, kwargs)
            if is_manager(obj):
                inner = self.lift_static(obj.__wrapped__)  # pyright: ignore[reportFunctionMemberAccess]
                return self.make_manager(inner, *args, **kwargs)
            if (
                hasattr(obj, "__wrapped__")
                and obj.__code__.co_flags & inspect.CO_VARARGS
                and getattr(obj, "__module__", "").startswith("functools")
            ):
                return self.call_static(obj.__wrapped__, args, kwargs, node)  # pyright: ignore[reportFunctionMemberAccess]
            if _module_of(obj) == "scipy":
                return self.call_scipy(obj, args, kwargs, node)
            return self.call_fn(self.fn_of(obj), args, kwargs, node)
        if isinstance(obj, functools._lru_cache_wrapper):  # noqa: SLF001 - the class of its results
            return self.call_cached(self.lift_static(obj.__wrapped__), *args, **kwargs)
        if isinstance(obj, types.WrapperDescriptorType) and obj.__objclass__ in (int, float, complex):
            return self.call_slot(obj, args, kwargs, node)
        if tree.stands_for_another(obj):
            return self.call_static(obj.__wrapped__, args, kwargs, node)  # pyright: ignore[reportAttributeAccessIssue, reportFunctionMemberAccess]
        if self.is_static_call(obj, args, kwargs):
            return self.run_now(obj, args, kwargs)
        if (
            not isinstance(obj, types.BuiltinFunctionType)
            and not isinstance(obj, np.ufunc)
            and callable(obj)
            and not callable_builtin(obj)
        ):
            return self.call(self.lift_object(obj), args, kwargs, node)
        if not callable(obj):
            raise self.no_function(Static(obj), node, TypeError)
        return self.call_unknown(obj, args, kwargs, node)

    def call_partial(self, obj: functools.partial[Any], args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """One that was made outside."""
        bound = [self.lift_member(obj, ("args", k), a) for k, a in enumerate(obj.args)]
        named = {k: self.lift_member(obj, ("keywords", k), v) for k, v in obj.keywords.items()}
        self.guards["keywords", id(obj)] = Guard(Keys(lambda: obj.keywords), tuple(obj.keywords))
        return self.call(av.Partial(self.lift_static(obj.func), tuple(bound), named), args, kwargs, node)

    def fetcher(self, obj: Any, node: Any) -> Any:
        """`operator.itemgetter(1)` and its like, made outside."""
        maker, given = obj.__reduce__()
        return self.call(self.lift_static(maker), [self.lift_static(v) for v in given], {}, node)

    def call_of_numba(self, obj: Any, args: list[Any]) -> Any:
        """`prange(n)`; `njit` of a function, which is that function, or with options."""
        if obj.__name__ == "prange":
            return self.py_range(*args)
        return next(filter(self.is_function, args), None) or av.Partial(Static(obj), (), {})

    def call_composite(self, obj: Any, plain: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A function of the library, by its plain Python version."""
        self.demand_read(obj, plain, args, kwargs, node)
        if self.doubts and any(self.is_function(a) or isinstance(a, av.Bound) for a in (*args, *kwargs.values())):
            problem = "a function that a library calls under an error state that raises"
            raise self.unsupported("DJ124", problem, node, "test the operands or the result instead")
        with self.without_doubts():
            result = self.with_out(
                plain, lambda *a, **k: self.call_fn(self.fn_of(plain), list(a), k, node), args, kwargs, node
            )
        self.mind_result(getattr(obj, "__name__", ""), args, result)
        return self.as_python_numbers(result) if getattr(obj, "__module__", "") == "math" else result

    def demand_read(self, obj: Any, plain: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> None:
        """Refuse what is given for a parameter that the library's version of a function does not read."""
        for place, name, default in unread(plain):
            given = args[place] if place < len(args) else kwargs.get(name, Static(default))
            if name != "out" and not (isinstance(given, Static) and _alike(given.obj, default)):
                raise self.unsupported("DJ118", f"argument `{name}` of `{called(obj)}`", node, "leave it out")

    def call_slot(self, obj: types.WrapperDescriptorType, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """`int.__mul__(a, b)`: the operator, for numbers of that class."""
        plain = getattr(operator, obj.__name__, None)
        fits = all(self.ask(a, lambda cls: issubclass(cls, obj.__objclass__)) for a in args)
        if plain is None or not fits:
            return self.call_unknown(obj, args, kwargs, node)
        return self.call(Static(plain), args, kwargs, node)

    def call_unbound(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """`dict.copy(options)`, `np.ndarray.item(a)`: the method of the first argument; None of other functions."""
        if not isinstance(obj, types.MethodDescriptorType) or obj.__objclass__ not in _OWNERS or not args:
            return None
        if obj in COMPOSITES or self.has_handler(obj):  # arrays' methods with rules of their own
            return None
        if not self.ask(args[0], lambda cls: issubclass(cls, obj.__objclass__)):
            problem = f"`{obj.__qualname__}` is called with {describe(args[0])}"
            raise self.type_problem("DJ308", problem, node, python=TypeError)
        return self.call(self.get_attribute(args[0], obj.__name__, node), args[1:], kwargs, node)

    def plain_version(self, obj: Any, args: list[Any]) -> Any:
        """The library's version of a function, for these arguments; None where it has none."""
        if obj in COMPLEX and _some_complex(self.types_of_numbers(args)):
            return COMPLEX[obj]
        return COMPOSITES[obj] if obj in COMPOSITES and not self.beyond_rules(obj, args) else None

    def beyond_rules(self, obj: Any, args: list[Any]) -> bool:
        """SciPy's ufuncs of complex numbers, and polynomials of orders that are not ints: values without a rule."""
        if not isinstance(obj, np.ufunc) or getattr(np, obj.__name__, None) is obj or obj in PLANE:
            return False
        numbers = self.types_of_numbers(args)
        if _some_complex(numbers):
            return True
        if obj not in COMPOSITES or obj in REAL:
            return False
        order = getattr(args[0], "obj", None) if args else None
        if isinstance(order, float):  # those that SciPy has for ints alone raise there
            return not order.is_integer() or all(kinds[0] in "ilq" for kinds in obj.types)
        return not (numbers and isinstance(numbers[0], Scalar) and numbers[0].dtype.kind in "iu")

    def types_of_numbers(self, args: list[Any]) -> list[Any]:
        """Of the numbers and arrays among the arguments."""
        return [self.number(a).type for a in args if isinstance(a, Value) or av.is_number(getattr(a, "obj", None))]

    def dispatched(
        self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any, owner: tuple[Any, ...] = ()
    ) -> Any:
        """A call of what functools.singledispatch made: the class of the first argument chooses; of `owner`."""
        if isinstance(args[0], av.Sum):
            return self.each(args[0], lambda v: self.dispatched(function, [v, *args[1:]], kwargs, node, owner))
        if isinstance(args[0], av.Opt):
            none, some = (
                lambda v=v: self.dispatched(function, [v, *args[1:]], kwargs, node, owner)
                for v in (NONE, args[0].value)
            )
            return self.choose(args[0].is_none, none, some)
        found = self.ask(args[0], function.dispatch)
        cls, self.portable = self.class_of(args[0]), False
        self.guards["dispatch", id(function), cls] = Guard(lambda: function.dispatch(cls), found)
        self.keep_alive.append(function)
        return self.call(self.lift_static(found), [*owner, *args], kwargs, node)

    def call_scipy(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A function of SciPy without a rule, by its source; where that does not do, it is refused by its name."""
        saved, block, first = dict(self.cells), self.build.block, len(self.build.block.ops)
        try:
            return self.call_fn(self.fn_of(obj), args, kwargs, node)
        except DiffjitError as error:
            if not is_pure_library(obj):
                raise self.no_rule(obj, node) from error
        self.cells, self.dead = saved, False
        del block.ops[first:]
        return self.call_unknown(obj, args, kwargs, node)

    @core(functools.lru_cache, functools.cache)
    def ft_cache(self, maxsize: Any = NONE, typed: Any = NONE) -> Any:
        del typed
        if isinstance(maxsize, Static):
            return av.Partial(Static(functools.cache), (), {})
        return av.Partial(Static(_called_through_cache), (maxsize,), {})

    @core(_called_through_cache)
    def call_cached(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """A call through functools.cache: the function runs each time, so it must leave no traces."""
        before = dict(self.cells)
        result = self.call(function, list(args), kwargs)
        if any(self.cells.get(key) is not value for key, value in before.items() if key[0] in ("v", "h")):
            message = "a function behind functools.cache changes what lives outside"
            raise self.unsupported("DJ125", message, None, "return what it computes instead")
        return self.mark_kept(result)

    def as_python_numbers(self, value: Any) -> Any:
        """Numbers in a result of `math`, which are Python's own."""
        if isinstance(value, av.Tup):
            return av.Tup(tuple(self.as_python_numbers(v) for v in value.items))
        if isinstance(value, Static) and isinstance(value.obj, np.generic):
            return Static(value.obj.item())
        return self.as_weak(value) if isinstance(value, Value) and isinstance(value.type, Scalar) else value

    def no_rule(self, obj: Any, node: Any, *, of: str = "") -> NoRule:
        """An unknown function, or what a class of a library has under this name."""
        return NoRule(
            "DJ201",
            f"`{called(obj)}{of and '.'}{of}` has no derivative rule",
            loc=self.loc(node),
            cure="write it with the functions listed in the documentation (page `supported`), "
            "or let diffjit.foreign say what its result looks like, and diffjit.custom_jvp what its derivative is",
        )

    def foreign_array(self, obj: Any, node: Any) -> NoRule:
        """A function of a library that has arrays of its own."""
        known = called(obj)
        library, name = OTHER_ARRAYS[_root(obj)], known.rpartition(".")[2]
        cure = f"write it with NumPy, `np.{name}`" if callable(getattr(np, name, None)) else "write it with NumPy"
        return NoRule(
            "DJ201",
            f"`{known}` is a function of {library}, on arrays of {library}",
            loc=self.loc(node),
            cure=f"{cure}, or let diffjit.foreign call it as it is and diffjit.custom_jvp say what its derivative is",
        )

    def is_static_call(self, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
        """Whether a function without effects may simply be run while specialising."""
        writes = "out" in kwargs or (isinstance(obj, np.ufunc) and len(args) > obj.nin)
        return is_pure(obj) and not writes and all(isinstance(a, Static) for a in (*args, *kwargs.values()))

    def evaluated(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of a Python call on plain objects; where Python raises, so does the program."""
        self.rest_on_context(tree.asked(function, "__self__"), *args)
        try:
            return function(*args, **kwargs)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, OSError) as error:
            self.raise_if(Static(True), type(error), str(error))
            raise

    def rest_on_context(self, *values: Any) -> None:
        """What is computed from decimals holds while the context is the same that says how they are rounded."""
        if any(tree.never_changes(type(v)) and type(v).__module__ == "decimal" for v in values):
            asked, self.portable = Asked(_context, ()), False
            self.guards["context of decimals"] = Guard(asked, asked())

    def run_now(self, obj: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Run a function while specialising."""
        named = {k: v.obj for k, v in kwargs.items()}
        return self.lift_static(self.evaluated(obj, *(a.obj for a in args), **named))

    def handled(self, obj: Any, handler: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """Call the interpreter's own implementation of a function."""
        try:
            result = handler(*args, **kwargs)
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, UnknownLength) as error:
            name = getattr(obj, "__name__", str(obj))
            given = ", ".join([describe(a) for a in args] + [f"{k}={describe(v)}" for k, v in kwargs.items()])
            raise self.type_problem(
                "DJ320", f"`{name}` does not take ({given})", node, cure="see its documentation for what it takes"
            ) from error
        name = getattr(obj, "__name__", "")
        return self.mind_result(name, args, result) if _module_of(obj) == "numpy" else result

    def with_out(self, function: Any, handler: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """The `out` argument, for every function at once; what follows it by position is passed on by name."""
        names = parameter_names(function)
        if "out" not in names and _hands_on(function):
            return handler(*args, **kwargs)
        if "out" in names[: len(args)]:
            k = names.index("out")
            args, kwargs = args[:k], {**dict(zip(names[k:], args[k:], strict=False)), **kwargs}
        out = kwargs.pop("out", NONE)
        result = handler(*args, **kwargs)
        if isinstance(out, av.Tup) and isinstance(result, av.Tup) and len(out.items) == len(result.items):
            return av.Tup(tuple(self.received(k, v, node) for k, v in zip(out.items, result.items, strict=True)))
        return self.received(out.items[0] if isinstance(out, av.Tup) else out, result, node)

    def received(self, out: Any, result: Any, node: Any) -> Any:
        """A result where it is to be written: in an array, or in one of its own where none is given."""
        if is_none(out):
            return result
        self.receive(self.receiver(out, node), result, node)
        return out

    def receiver(self, out: Any, node: Any) -> Value:
        """What an argument `out` stands for: an array to write into."""
        if isinstance(out, Value) and isinstance(out.type, Array):
            return out
        cure = "out= takes an array; arctan2(y, x), not arctan(y, x), is the angle of a point"
        raise self.type_problem("DJ302", f"{describe(out)} cannot receive a result", node, cure=cure, python=TypeError)

    def call_elementwise(self, obj: Any, kind: str, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A ufunc or math function, with `out`, `where` and `dtype`."""
        from_math = getattr(obj, "__module__", None) == "math"
        out = kwargs.pop("out", NONE)
        where = kwargs.pop("where", Static(True))
        dtype = kwargs.pop("dtype", NONE) if isinstance(obj, np.ufunc) else NONE
        casting = kwargs.pop("casting", Static("same_kind"))
        if isinstance(obj, np.ufunc) and len(args) > obj.nin:
            out = args[obj.nin]
            args = args[: obj.nin]
        elif kwargs and not isinstance(obj, np.ufunc):  # `np.sinc(x=a)`
            for name in parameter_names(obj)[len(args) :]:
                args = [*args, kwargs.pop(name)] if name in kwargs else args
        params = ELEMENTWISE[kind].params
        if len(args) < len(params):
            problem = f"`{getattr(obj, '__name__', kind)}` takes {len(params)} arguments, not {len(args)}"
            raise self.type_problem("DJ306", problem, node, python=TypeError)
        surplus = args[len(params) :]
        if kwargs or surplus:
            name = f"`{next(iter(kwargs))}`" if kwargs else f"{describe(surplus[0])} in place {len(args)}"
            raise self.unsupported("DJ118", f"argument {name} of `{getattr(obj, '__name__', kind)}`", node)
        if isinstance(out, av.Tup):
            out = out.items[0]
        args = [self.array_from(a) if isinstance(a, (av.Tup, av.Ref)) and self.is_sequence(a) else a for a in args]
        if isinstance(obj, np.ufunc):
            args = self.loop_operands(obj, [self.as_operand(a) for a in args], dtype, casting, node)
        given = args
        if from_math:
            args = [self.as_python_number(kind, place, a, node) for place, a in enumerate(args)]
        has_out = not is_none(out)
        if has_out:
            self.receiver(out, node)
        masked = not (isinstance(where, Static) and where.obj is True)
        if masked and has_out:
            safe = args
            result = self.ew(kind, *safe, weak=from_math)
            result = self.ew("where", where, result, out, weak=False)
            (self.assign_array if casting.obj == "unsafe" else self.receive)(out, result, node)
            return out
        result = self.ew(kind, *args, weak=from_math)
        if self.doubts and getattr(np, kind, None) is obj:
            if has_out or masked:
                raise self.unsupported("DJ124", "`out` and `where` under an error state that raises", node)
            self.check_doubts(kind, tuple(args), result, kind)
        if from_math:
            self.check_math(obj, kind, args, given, result)
            result = self.as_python_numbers(result)
        if has_out:
            (self.assign_array if casting.obj == "unsafe" else self.receive)(out, result, node)
            return out
        return result

    def as_python_number(self, kind: str, place: int, value: Any, node: Any) -> Any:
        """math.* turns its arguments into Python's numbers: into floats, but for those that have to be ints."""
        if isinstance(value, Static):
            whole = place in _WHOLE.get(kind, ()) or not isinstance(value.obj, int)
            return value if whole else Static(self.evaluated(float, value.obj))
        number = self.number(value)
        self.real_only(f"`math.{kind}`", number)
        if isinstance(number.type, Array):
            if all(d == 1 for d in number.type.dims):
                number = self.item(number)
            else:
                raise self.type_problem(
                    "DJ302",
                    f"`math.{kind}` takes one number, not an array",
                    node,
                    cure="use the NumPy function of the same name",
                    python=TypeError,
                )
        if place in _WHOLE.get(kind, ()) and number.type.dtype.kind in "biu":
            return self.cast(number, np.int64, weak=True)
        return (
            self.cast(number, np.float64, weak=True)
            if number.type.dtype.kind != "f" or not number.type.weak
            else number
        )


@functools.lru_cache(maxsize=1024)  # the signature of a ufunc is read off its documentation, which takes a while
def parameter_names(function: Any) -> list[str]:
    """The names of positional parameters; none are known of some C functions."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _hands_on(function: Any) -> bool:
    """Whether an `out` that a function is given belongs to what it calls, a program's own functions."""
    module = getattr(function, "__module__", None) or ""
    return module.split(".")[0] in sys.stdlib_module_names or module.startswith("diffjit.frontend")


def callable_builtin(obj: Any) -> bool:
    """A callable implemented in C, or a library object, that cannot be followed."""
    module = getattr(type(obj), "__module__", "builtins")
    return module.split(".")[0] in ("builtins", "numpy", "scipy", "functools")


# Libraries whose functions take and make arrays of their own: their source says nothing about numbers.
OTHER_ARRAYS = {
    "jax": "JAX", "jaxlib": "JAX", "torch": "PyTorch", "tensorflow": "TensorFlow", "keras": "Keras", "cupy": "CuPy",
    "mlx": "MLX", "paddle": "Paddle", "mxnet": "MXNet", "pytensor": "PyTensor", "aesara": "Aesara", "theano": "Theano",
    "casadi": "CasADi", "dask": "Dask", "xarray": "xarray", "pandas": "pandas", "polars": "Polars", "sympy": "SymPy",
    "cvxpy": "CVXPY", "flax": "Flax", "equinox": "Equinox", "haiku": "Haiku",
}  # fmt: skip


def _root(obj: Any) -> str:
    """The library that a function, a class or an object with methods comes from; "" where it is none of these."""
    owner = tree.asked(obj, "__self__")
    classes = obj.__mro__ if isinstance(obj, type) else (*type(owner).__mro__, *type(obj).__mro__)
    roots = [_module_of(obj), *map(_module_of, classes)]
    return next((root for root in roots if root in OTHER_ARRAYS), "")


def is_foreign(obj: Any) -> bool:
    """Whether a function belongs to a library that has arrays of its own, and is not a wrapper of the user's."""
    wrapped = inspect.unwrap(obj) if callable(obj) else obj
    return bool(_root(obj)) and (wrapped is obj or bool(_root(wrapped)))


def called(obj: Any) -> str:
    """The name of a function, with the module that users import it from."""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None) or f"{type(obj).__name__} object"
    module = getattr(obj, "__module__", None) or "numpy" * (getattr(np, str(name), None) is obj)
    if module.split(".")[0] in ("scipy", *OTHER_ARRAYS):
        module = ".".join(part for part in module.split(".") if not part.startswith("_"))
    return f"{module}.{name}" if module and module != "builtins" else name


def _module_of(obj: Any) -> str:
    return (getattr(obj, "__module__", None) or "").split(".")[0]


_PURE_BUILTINS = frozenset({
    "abs", "all", "any", "bin", "bool", "chr", "complex", "divmod", "float", "format", "hash", "hex", "int",
    "isinstance", "issubclass", "len", "max", "min", "oct", "ord", "pow", "repr", "round", "sorted", "str", "sum",
})  # fmt: skip
_PURE_MODULES = (
    "numpy", "math", "cmath", "operator", "_operator", "itertools", "warnings", "copy", "string", "typing", "re", "ast",
)  # fmt: skip
_IMPURE = ("numpy.random", "numpy.lib._npyio", "numpy.testing", "numpy.ctypeslib", "numpy.memmap")
_WRITING = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


def is_pure(obj: Any) -> bool:
    """A library function that depends on its arguments alone and changes nothing."""
    if isinstance(obj, np.ufunc):
        return True
    module = getattr(obj, "__module__", None) or ""
    if module == "builtins":
        return getattr(obj, "__name__", "") in _PURE_BUILTINS
    bound = tree.asked(obj, "__self__")
    if is_of_values(obj):
        return True
    if isinstance(bound, np.generic | re.Match | re.Pattern):  # they never change
        return True
    if (bound if isinstance(bound, type) else type(bound)) in _NUMBERS:
        return True
    if bound is not None and not isinstance(bound, (types.ModuleType, np.ufunc)):
        return False
    writes = obj in FILES or getattr(obj, "__name__", "") in _WRITING
    return module.split(".")[0] in _PURE_MODULES and not module.startswith(_IMPURE) and not writes


def _context() -> Any:
    """All that a result of decimals hangs on beside them."""
    import decimal  # programs without decimals do without

    now = decimal.getcontext()
    trapped = tuple(sorted(signal.__name__ for signal, caught in now.traps.items() if caught))
    return now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, trapped


def is_of_values(obj: Any) -> bool:
    """Whether a call makes a date, a decimal or a fraction, or is a method of one, and asks no clock and no zone."""
    if isinstance(obj, type):
        return tree.never_changes(obj)
    bound = tree.asked(obj, "__self__")
    owner = bound if isinstance(bound, type) else type(bound)
    return tree.never_changes(owner) and getattr(obj, "__name__", "") not in ASKING


def _alike(given: Any, default: Any) -> bool:
    """Whether an argument is what a parameter has anyway."""
    return given is default or (type(given) is type(default) and not isinstance(given, np.ndarray) and given == default)


def _some_complex(numbers: list[Any]) -> bool:
    return any(t.dtype.kind == "c" for t in numbers)
