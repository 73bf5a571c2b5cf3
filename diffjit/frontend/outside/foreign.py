"""Calls of functions without source: ufuncs without a rule, C functions, and what `diffjit.foreign` declares.

Each becomes one operation, `foreign`, which is a function of its operands alone: an array that a C function writes to
is copied first, and what it holds afterwards is assigned to the array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from diffjit import streams, tree
from diffjit.errors import TypeProblem, UsageError
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import Static
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, COMPLEX, FLOAT, INT, Array, Scalar
from diffjit.primitives.routines import Held, Routine, Site, Slot, module_of, site
from diffjit.primitives.signatures import Parameter, Signature, declared, is_ctypes, loop_of, signature_of, undeclared
from diffjit.stored import stored

_MACHINE = frozenset("?bBhHiIlLqQfdFD")  # dtypes that compiled code has
_WEAK = {"b": BOOL, "i": INT, "u": INT, "f": FLOAT}
_TYPES: dict[Any, Scalar] = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}

# What Python's own functions, NumPy and SciPy raise; where a `try` is around, other exceptions are refused.
_TOLD = (
    ValueError, RuntimeError, np.linalg.LinAlgError, ZeroDivisionError, OverflowError, FloatingPointError, TypeError,
    IndexError, KeyError, AttributeError, AssertionError, NotImplementedError, FileNotFoundError, PermissionError,
    IsADirectoryError, OSError, EOFError, UnicodeDecodeError, ImportError, ModuleNotFoundError, StopIteration,
    FileExistsError, Exception,
)  # fmt: skip

_routines: dict[tuple[int, str], Routine] = {}  # of functions that are called as they are, by identity


def routine_for(function: Any, way: str, signature: Signature | None = None) -> Routine:
    """The routine of a function that is called as it is."""
    key = id(function), way
    if key not in _routines or _routines[key].signature != signature:
        _routines[key] = Routine(function, qualified(function), way, signature)
    return _routines[key]


def qualified(function: Any) -> str:
    """The name of a function without source, for messages."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if name is None:
        return "function" if is_ctypes(function) else type(function).__name__
    home = module_of(function)
    return f"{home}.{name}" if home and home != "builtins" else str(name).rpartition("<locals>.")[2]


def types_of(values: list[Value]) -> tuple[Any, ...]:
    """The types of operands: numbers and arrays."""
    return tuple(v.type for v in values)


def without_source(function: Any) -> bool:
    """Whether calls of a function become operations of kind `foreign`."""
    return (
        isinstance(function, np.ufunc) or is_ctypes(function) or isinstance(getattr(function, "routine", None), Routine)
    )


class ForeignCalls(Mixin):
    """Mixin of the interpreter: functions without source."""

    def method_of_owner(self, obj: Any, node: Any) -> Any:
        """A method of C's of a stream or of an object of SciPy's (`splu(A).solve`); None of anything else."""
        owner = tree.asked(obj, "__self__")
        if streams.is_stream(owner):
            held = self.owner_of(obj)
        elif stored(type(owner)) is not None:
            held = self.lift_object(owner)
        else:
            return None
        return self.get_attribute(held, obj.__name__, node)

    def call_c_function(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A function of ctypes as it is."""
        self.guards["declared", id(obj)] = Guard(lambda: declared(obj), declared(obj))
        try:
            found = signature_of(obj)
            if found is not None:
                self.refuse_undeclared(obj, found)
        except UsageError as error:
            raise self.error(error, node) from None
        if found is None:
            raise self.no_rule(obj, node)
        return self.call_routine(routine_for(obj, "c", found), args, kwargs, node)

    def refuse_undeclared(self, obj: Any, signature: Any) -> None:
        """What C says of a function is not enough to know what it does to memory, or whether it is a function."""
        name = qualified(obj)
        if any(p.pointer for p in signature.parameters):
            raise undeclared(
                name,
                "is a C function that takes pointers, and does not say whether it reads or writes there",
                f"diffjit.foreign({name}, reads=0, writes=1) says it, argument by argument",
            )
        if not signature.parameters or signature.result is None:
            what = "nothing" if signature.result is None else "no arguments"
            raise undeclared(
                name, f"is a C function that {'returns' if signature.result is None else 'takes'} {what}",
                "what it does cannot be seen: call it outside the program",
            )  # fmt: skip

    def call_routine(self, routine: Routine, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of a function without source."""
        self.portable = False  # how it is called hangs on this process
        if routine.way == "python":
            return self.call_through_python(routine, args, kwargs, node)
        if routine.way == "ufunc":
            out = self.with_out
            return out(routine.function, lambda *a, **k: self.call_ufunc(routine, a, k, node), args, kwargs, node)
        if kwargs:
            raise self.unsupported("DJ118", f"argument `{next(iter(kwargs))}` of the C function `{routine.name}`", node)
        return self.call_c(routine, args, node)

    def emit_foreign(
        self, made: Site, operands: list[Value], like: list[list[Value]], types: list[Any], kind: str = "foreign"
    ) -> list[Value]:
        """The operation; `like` gives the lengths of each result."""
        lengths = [n for found in like for n in found]
        return self.build.op(kind, [*operands, *lengths], types, site=made).outputs

    def extents(self, v: Value, operands: list[Value]) -> list[Value]:
        """The lengths of an array, of operands where these have them: what only shows a shape need not be made."""
        return [self.number(self.extent(v, k, operands)) for k in range(v.type.ndim)]

    def extent(self, v: Value, axis: int, operands: list[Value]) -> Any:
        """One of the lengths."""
        for a in (x for x in operands if isinstance(x.type, Array)):
            if v.type.dims[axis] in a.type.dims:
                return self.dim(a, a.type.dims.index(v.type.dims[axis]))
        if v.op is not None and v.op.row.fill is not None and v.op.row.lengths_at is not None:
            return v.op.inputs[v.op.row.lengths_at + axis]
        return self.dim(v, axis)

    def of_dtype(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """A number or array in the dtype that is taken."""
        return value if value.type.dtype == dtype else self.cast(value, dtype)

    # Ufuncs

    def call_ufunc(self, routine: Routine, args: tuple[Any, ...], kwargs: dict[str, Any], node: Any) -> Any:
        """Element by element."""
        ufunc = routine.function
        if kwargs:
            raise self.unsupported("DJ118", f"argument `{next(iter(kwargs))}` of `{routine.name}`", node)
        if len(args) != ufunc.nin:
            raise self.error(self.wrong_count(routine, ufunc.nin, args), node)
        operands = [self.number(self.array_from(a) if isinstance(a, (av.Tup, av.Ref)) else a) for a in args]
        loop = self.loop_types(routine, [v.type for v in operands], node)
        takes, gives = loop.split("->")
        operands = [self.of_dtype(v, np.dtype(code)) for v, code in zip(operands, takes, strict=True)]
        arrays = [v for v in operands if isinstance(v.type, Array)]
        way = "ufunc" if _MACHINE.issuperset(takes + gives) and loop_of(ufunc, loop) else "python"
        if way == "python":
            routine = routine_for(ufunc, "python")
        if not arrays:
            types: list[Any] = [Scalar(np.dtype(code)) for code in gives]
            lengths: list[Value] = []
        else:
            self.guard_broadcast(operands)
            dims = self.broadcast([v.type.dims for v in arrays])
            if any(v.type.dims != dims for v in arrays):
                spread = self.call(Static(np.broadcast_arrays), arrays, {}, node).items
                wide = iter(spread)
                operands = [self.number(next(wide)) if isinstance(v.type, Array) else v for v in operands]
                arrays = [v for v in operands if isinstance(v.type, Array)]
            types = [Array(np.dtype(code), dims, "C") for code in gives]
            lengths = self.extents(arrays[0], [])
        slots = tuple(Slot(k) for k in range(len(gives)))
        made = site(
            routine, types_of(operands), tuple(types), loop=loop if way == "ufunc" else "",
            arguments=(tuple(Slot(k) for k in range(len(operands))), {}) if way == "python" else None,
            results=(slots[0] if len(slots) == 1 else slots) if way == "python" else None,
        )  # fmt: skip
        outs = self.emit_foreign(made, operands, [lengths] * len(gives), types)
        return outs[0] if len(outs) == 1 else av.Tup(tuple(outs))

    def loop_types(self, routine: Routine, types: list[Any], node: Any) -> str:
        """The loop that NumPy chooses, by its rules for Python's own numbers: "dd->d"."""
        ufunc = routine.function
        kinds = {"b": np.dtype(bool), "i": int, "f": float, "c": complex}
        asked: list[Any] = [kinds[t.dtype.kind] if isinstance(t, Scalar) and t.weak else t.dtype for t in types]
        if all(isinstance(t, type) for t in asked):
            asked = [np.dtype(t) for t in asked]
        try:
            found = ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout))
        except TypeError as error:
            told = ", ".join(str(t.dtype) for t in types)
            raise self.type_problem(
                "DJ302", f"`{routine.name}` does not take {told}", node, cure="convert the operands first"
            ) from error
        letters = [dtype.char for dtype in found]
        return "".join(letters[: ufunc.nin]) + "->" + "".join(letters[ufunc.nin :])

    def wrong_count(self, routine: Routine, wanted: int, args: Any) -> TypeProblem:
        """The error for a wrong number of arguments."""
        message = f"`{routine.name}` takes {wanted} arguments, not {len(args)}"
        return TypeProblem("DJ308", message, python=TypeError)

    # C functions

    def call_c(self, routine: Routine, args: list[Any], node: Any) -> Any:
        """Numbers by value, arrays by pointer."""
        signature = routine.signature
        assert signature is not None
        if len(args) != len(signature.taken):
            raise self.error(self.wrong_count(routine, len(signature.taken), args), node)
        operands = [self.c_operand(routine, p, a, node) for p, a in zip(signature.taken, args, strict=True)]
        written = [k for k in range(len(args)) if k in routine.writes]
        targets = [self.array(args[k]) for k in written]
        types: list[Any] = [] if signature.result is None else [_WEAK[signature.result.kind]]
        types += [Array(operands[k].type.dtype, operands[k].type.dims, operands[k].type.layout) for k in written]
        made = site(routine, types_of(operands), tuple(types))
        outs = self.emit_foreign(made, operands, [self.extents(v, operands) for v in targets], types)
        for target, new in zip(targets, outs[len(outs) - len(targets) :], strict=True):
            self.build.op("assign", [target, new])
        return Static(None) if signature.result is None else outs[0]

    def c_operand(self, routine: Routine, p: Parameter, given: Any, node: Any) -> Value:
        """An argument in the type that C takes."""
        if not p.pointer:
            value = self.number(given)
            real = isinstance(value.type, Scalar) and value.type.dtype.kind != "c"
            if not real or (p.dtype.kind != "f" and value.type.dtype.kind == "f"):
                raise self.error(self.wrong_c(routine, f"a number of type {p.dtype}", given), node)
            return self.of_dtype(value, p.dtype)
        value = self.array(given)
        if (
            not isinstance(value.type, Array)
            or value.type.dtype != p.dtype
            or (p.ndim is not None and value.type.ndim != p.ndim)
        ):
            shape = "" if p.ndim is None else f" with {p.ndim} dimensions"
            raise self.error(self.wrong_c(routine, f"an array of {p.dtype}{shape}", given), node)
        if value.type.layout != p.order and not (value.type.ndim < 2 and value.type.layout in ("C", "F")):
            ty = Array(value.type.dtype, value.type.dims, p.order)
            value = self.build.value("copy", [value], ty, order=p.order)
        return value

    def wrong_c(self, routine: Routine, wanted: str, given: Any) -> TypeProblem:
        """The error for an argument of another type."""
        told = describe(given)
        if isinstance(given, Value) and isinstance(given.type, Array):
            told = f"an array of {given.type.dtype} with {given.type.ndim} dimensions"
        problem = f"the C function `{routine.name}` takes {wanted}, not {told}"
        return TypeProblem("DJ302", problem, cure="convert it first", python=TypeError)

    # Through Python

    def call_through_python(self, routine: Routine, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call that Python makes, with results as declared."""
        catches = self.told_apart(args)
        operands: list[Value] = []
        given = tuple(self.passed_on(a, operands, routine, node) for a in args)
        named = {name: self.passed_on(a, operands, routine, node) for name, a in kwargs.items()}
        declared_result = routine.result
        if callable(declared_result) and not isinstance(declared_result, (type, np.dtype)):
            found = self.call(self.lift_static(declared_result), list(args), dict(kwargs), node)
        else:
            found = self.lift_static(declared_result)
        types: list[Any] = []
        lengths: list[list[Value]] = []
        results = self.result_form(found, types, lengths, operands, routine.name, node)
        if not types:
            raise self.error(UsageError("DJ551", f"`{routine.name}` returns no number or array",
                                        cure="call it outside the program"), node)  # fmt: skip
        outs = self.ask_of_python(routine, operands, lengths, types, catches, arguments=(given, named), results=results)
        return self.from_slots(results, outs)

    def ask_of_python(
        self, routine: Routine, operands: list[Value], like: list[list[Value]], types: list[Any],
        catches: tuple[type, ...], *, kind: str = "foreign", **forms: Any,
    ) -> list[Value]:  # fmt: skip
        """What Python gives when it is called; where it has raised what a `try` catches, the handler runs."""
        types, like = ([*types, INT], [*like, []]) if catches else (types, like)
        made = site(routine, types_of(operands), tuple(types), catches=catches, **forms)
        outs = self.once(lambda: self.emit_foreign(made, operands, like, types, kind))
        if catches:
            self._go_on_if_told(outs[-1], catches, routine.name)
            outs = outs[:-1]
        return outs

    def told_apart(self, args: list[Any]) -> tuple[type, ...]:
        """The exceptions that a `try` around catches, and that are told of a call that Python makes."""
        if not self.handlers:
            return ()
        own = (e for a in self._held_in(args) if hasattr(a, "exceptions") for e in a.exceptions())
        named = (e for handler in self.handlers for e in handler[1] if issubclass(e, Exception))
        return tuple(cls for cls in dict.fromkeys((*_TOLD, *own, *named)) if self.handler_for(cls) is not None)

    def _held_in(self, args: Any) -> Iterator[Any]:
        """The objects that are handed over as they are."""
        for a in args:
            if isinstance(a, Static):
                yield a.obj
            elif isinstance(a, av.Tup):
                yield from self._held_in(a.items)

    def _go_on_if_told(self, told: Value, catches: tuple[type, ...], name: str) -> None:
        """Go on where nothing was raised, else jump to the handler of what was."""

        def failed(k: int = 0) -> None:
            def caught() -> None:
                self.throw(self.failure(catches[k], av.inexact(f"what `{name}` says")))

            if k + 1 == len(catches):
                caught()
            else:
                self.when(self.compare_kind("equal", told, Static(k)), caught, lambda: failed(k + 1))

        self.go_on_where(self.compare_kind("equal", told, Static(-1)), failed)

    def passed_on(self, value: Any, operands: list[Value], routine: Routine, node: Any) -> Any:
        """An argument as a tree with slots."""
        if isinstance(value, Value) and isinstance(value.type, (Scalar, Array)):
            operands.append(value)
            return Slot(len(operands) - 1)
        if isinstance(value, Static):
            return Held(value.obj)
        if isinstance(value, av.Tup):
            items = [self.passed_on(v, operands, routine, node) for v in value.items]
            return value.cls(*items) if value.cls is not None else tuple(items)
        held = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, av.ListC):
            return [self.passed_on(v, operands, routine, node) for v in held.items]
        if isinstance(held, av.DictC) and not held.is_set and held.cls in (None, dict):
            return {k: self.passed_on(v, operands, routine, node) for k, v in held.items.items()}
        raise self.error(
            UsageError(
                "DJ551", f"`{routine.name}` is given {describe(value)}",
                cure="functions without source take numbers, arrays, and tuples, lists and dicts of them",
            ), node,
        )  # fmt: skip

    def result_form(
        self, value: Any, types: list[Any], lengths: list[list[Value]], operands: list[Value], told: str, node: Any
    ) -> Any:
        """The tree of results, given something that looks like them."""
        if isinstance(value, Static) and isinstance(value.obj, type | np.dtype):
            known = _TYPES.get(value.obj)
            return self.result_leaf(known or Scalar(np.dtype(value.obj)), types, lengths, [])
        if isinstance(value, Static) and av.is_number(value.obj):
            return self.result_leaf(scalar_type_of(value.obj), types, lengths, [])
        if isinstance(value, Value) and isinstance(value.type, Scalar):
            return self.result_leaf(value.type, types, lengths, [])
        if isinstance(value, Value) and isinstance(value.type, Array):
            return self.result_leaf(
                Array(value.type.dtype, value.type.dims, "C"), types, lengths, self.extents(value, operands)
            )
        if isinstance(value, av.Tup):
            items = [self.result_form(v, types, lengths, operands, told, node) for v in value.items]
            return value.cls(*items) if value.cls is not None else tuple(items)
        held = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, av.ListC):
            return [self.result_form(v, types, lengths, operands, told, node) for v in held.items]
        if isinstance(held, av.DictC) and not held.is_set:
            return {k: self.result_form(v, types, lengths, operands, told, node) for k, v in held.items.items()}
        raise self.error(
            UsageError(
                "DJ551", f"the declared result of `{told}` is {describe(value)}",
                cure="say what it returns: result=float, or a function of its arguments that gives something of the "
                "same shape and dtype: result=lambda a: a",
            ), node,
        )  # fmt: skip

    def result_leaf(self, ty: Any, types: list[Any], lengths: list[list[Value]], found: list[Value]) -> Slot:
        """One result."""
        types.append(ty)
        lengths.append(found)
        return Slot(len(types) - 1)

    def from_slots(self, spec: Any, outs: list[Value]) -> Any:
        """A tree of results as abstract value."""
        if isinstance(spec, Slot):
            return outs[spec.index]
        if isinstance(spec, tuple):
            items = tuple(self.from_slots(s, outs) for s in spec)
            return av.Tup(items, type(spec) if hasattr(spec, "_fields") else None)
        if isinstance(spec, list):
            return self.new(av.ListC(tuple(self.from_slots(s, outs) for s in spec)))
        return self.new(av.DictC({k: self.from_slots(s, outs) for k, s in spec.items()}))
