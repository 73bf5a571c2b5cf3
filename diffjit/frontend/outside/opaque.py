"""Opaque calls: what Python does for a program whose derivative does not hang on it - logs, clocks, files, warnings.

    log.info("loss %s", loss)        t = time.perf_counter()        if os.environ.get("DEBUG"): ...

A call stays at its place and in its order, as an operation `opaque`; clocks give numbers without a derivative, other
results are objects that only Python knows (`primitives.opaque`). What is asked of the surroundings is answered while
specialising, and asked again at each call. An object that would have to become a number is refused.
"""

from __future__ import annotations

import builtins
import logging
import operator
import os
import time
import traceback
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.errors import DiffjitError, UsageError
from diffjit.frontend.calls.calls import is_of_values, is_pure
from diffjit.frontend.calls.methods import is_of_others
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.outputs import no_number
from diffjit.frontend.entry.places import Asked, Read
from diffjit.frontend.outside.surroundings import (
    CLOCKS,
    READERS,
    is_answered,
    is_log,
    is_of_texts,
    is_pure_library,
    is_quiet,
    is_surroundings,
    may_write,
    root,
)
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, describe, of_numbers
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Block, Function, Value
from diffjit.ir.types import BOOL, FLOAT, INT, Array, Scalar
from diffjit.ir.walk import blocks, callees, walk
from diffjit.primitives.opaque import acts, objects
from diffjit.primitives.registry import COMPOSITES, heeded
from diffjit.primitives.routines import Held, Routine, Slot, key_of, site

_TYPES = {"bool": BOOL, "int": INT, "float": FLOAT, "object": INT}
# Functions of Python that take an object as they take any other value: the interpreter's own versions ask it.
_TAKES_ANY = frozenset({
    bool, float, int, len, print, str, repr, format, iter, next, enumerate, zip, map, filter, getattr, setattr,
    objects.ask, objects.tell, warnings.warn,
})  # fmt: skip
_CHANGING = frozenset({"byteswap", "fill", "itemset", "partition", "put", "resize", "setfield", "setflags", "sort"})
_GIVES_TEXTS = (str, repr, format, time.strftime, time.ctime, time.asctime)
_OF_OBJECTS = (getattr, acts.called, operator.add, operator.getitem)  # and methods of texts give texts
_SAID = {True: "yes", False: "no"}
_routines: dict[Any, Routine] = {}


class OpaqueCalls(Mixin):
    """Mixin of the interpreter: calls that Python makes, and the objects that it returns."""

    def init_opaque(self) -> None:
        """No such call yet."""
        self.refused_calls: dict[str, DiffjitError] = {}  # what to say where a result is needed as a number
        self.keeps_objects = False
        self.gave_numbers = False  # to a call that may remember them
        self.files_read: list[str] = []  # by whom, before the program begins
        self.files_changed: list[str] = []  # by whom, as far as nobody knows better
        self.took_numbers: list[tuple[av.Ref, Any]] = []  # in which loops, out of what knows nothing of the program

    # Which calls

    def call_surroundings(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of a log, a clock, a file, or on arrays of None; None where the function is none of these."""
        others = any(map(is_of_others, args)) or is_of_values(obj) or self.takes_texts(obj, args)
        known = [self.as_python(a) for a in args] if others else args
        named = {name: self.as_python(a) for name, a in kwargs.items()} if others else kwargs
        if others and self.is_static_call(obj, known, named):
            return self.run_now(obj, known, named)
        if is_of_values(obj) and self.from_outside(obj, (*args, *kwargs.values())):
            return self.call_constant(obj, args, kwargs, node)
        if root(obj) in ("decimal", "_decimal") and not is_of_values(obj):
            message, cure = f"`{_name(obj)}`, which says how decimals are rounded", "call it outside the program"
            raise self.unsupported("DJ118", message, node, cure)
        if any(map(self.is_opaque, (*args, *_looked_at(obj, kwargs)))) and self.takes_operands(obj):
            return self.call_with_objects(obj, args, kwargs, node)
        if obj is warnings.warn and self.warnings_raise:
            cure = "raise an exception"
            raise self.unsupported("DJ124", "a warning that a filter turns into an error", node, cure)
        if is_of_texts(obj) and not kwargs:
            known = [self.as_python(a) for a in args]
            if all(isinstance(a, Static) for a in known):
                return self.run_now(obj, known, kwargs)
        if obj in READERS and (found := self.read_file(obj, args, kwargs)) is not None:
            return found
        if self.has_handler(obj) or obj in COMPOSITES or (not is_surroundings(obj) and obj is not warnings.warn):
            return None
        given = (*args, *kwargs.values())
        if is_answered(obj) and not kwargs and all(isinstance(a, Static) for a in given):
            return self.answer(obj, tuple(a.obj for a in args))
        if obj is traceback.print_exc:
            obj, args = traceback.print_exception, [self.current_exception() or NONE]
        if is_log(obj) and obj.__name__ == "exception":
            obj = logging.error if obj is logging.exception else obj.__self__.error
            kwargs = {"exc_info": self.current_exception() or NONE, **kwargs}
        nothing = is_log(obj) or obj is warnings.warn
        return self.act(obj, args, kwargs, node, gives="nothing" if nothing else CLOCKS.get(obj, "object"))

    def takes_texts(self, obj: Any, args: list[Any]) -> bool:
        """Whether NumPy is given a list or tuple of texts, which it makes an array of texts of."""
        of_numpy = (getattr(obj, "__module__", None) or "").partition(".")[0] == "numpy"
        if not of_numpy or obj in (np.array, np.asarray, np.asanyarray):  # which do so themselves
            return False
        held = [a.obj for a in map(self.as_python, args) if isinstance(a, Static) and isinstance(a.obj, list | tuple)]
        return any(isinstance(item, str) for items in held for item in items) and is_pure(obj)

    def read_file(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What NumPy reads from a file: arrays come from outside, and are read for each run of the program.

        Records are read while specialising, and other ones make another program. None where it is something else, or
        where another thing than a name says which file.
        """
        given = [self.as_python(a) for a in args]
        named = {name: self.as_python(a) for name, a in kwargs.items()}
        path = given[0].obj if given and isinstance(given[0], Static) else None
        if not isinstance(path, (str, os.PathLike)) or not all(
            isinstance(a, Static) for a in (*given, *named.values())
        ):
            return None
        read = Read(function, tuple(a.obj for a in given), {name: a.obj for name, a in named.items()})
        key = "file", function.__name__, repr((read.args, read.kwargs))
        self.files_read.append(f"`np.{function.__name__}`")
        self.refuse_changed_files()
        there = Asked(os.path.isfile, (path,))
        self.guards[*key, "is there"] = Guard(there, there())
        self.portable = False
        found = self.evaluated(read)
        if isinstance(found, np.ndarray) and found.dtype.names is not None:
            told = Asked(_contents, (read,))
            self.guards[*key, "records"] = Guard(told, (found.dtype, found.tobytes()))
            return self.lift_static(found)
        if not all(isinstance(v, np.ndarray) and v.dtype.kind in "biufc" for v in _arrays(found)):
            return None
        lifted = self.lift_at(key, found, read, keep=read, hint="data")
        return self.copy(lifted) if isinstance(lifted, Value) else lifted

    def refuse_changed_files(self) -> None:
        """What a program reads before it begins, it must not have changed."""
        if self.files_read and self.files_changed:
            problem = f"{self.files_read[0]} reads a file, and {self.files_changed[0]} may have changed it"
            raise self.unsupported("DJ131", problem, None, "read the file outside the program, and pass what it holds")

    def from_outside(self, function: Any, given: tuple[Any, ...]) -> bool:
        """Whether all that makes a date or a fraction comes from outside; many dates may be told of an argument."""
        sources = [self.static_sources(v, of_floats=True) for v in given if isinstance(v, Value)]
        known = all(isinstance(v, (Static, Value)) for v in given) and all(sources)
        told = root(function) == "datetime"
        return known and not (told and any(path not in self.captures for found in sources for _, path in found))

    def call_unknown(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A function without rule and source: Python calls it, if nobody needs its result as a number."""
        refused = self.no_rule(obj, node)
        library = (getattr(self.frames[-1].fn.pyfunc, "__module__", None) or "").startswith("scipy.")
        if self.rule_mode or self.in_library() or library or self.awaits_errors():
            raise refused
        try:
            return self.act(obj, args, kwargs, node, refused=refused, pure=is_pure_library(obj) or is_pure(obj))
        except DiffjitError as error:
            raise refused from error

    def takes_operands(self, obj: Any) -> bool:
        """Whether Python is to call a function that is given objects: one that is not the user's."""
        library = (getattr(obj, "__module__", None) or "builtins").partition(".")[0]
        if isinstance(obj, type) and issubclass(obj, BaseException):
            return False  # it is known what it holds
        return obj not in _TAKES_ANY and library in ("builtins", "numpy", "math", "operator", "_operator", "copy")

    def call_with_objects(self, obj: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A function that is given an object that only Python knows."""
        if obj is isinstance:
            return self.act(acts.of_class, args, kwargs, node, gives="bool")
        if obj in (hasattr, callable):
            return self.act(obj, args, kwargs, node, gives="bool")
        return self.act(obj, args, kwargs, node, pure=is_pure(obj))

    def answer(self, function: Any, args: tuple[Any, ...]) -> Any:
        """What is asked of the surroundings, as something known; another answer makes another program."""
        asked = Asked(function, args)
        owner = tree.asked(function, "__self__")
        self.guards["asked", getattr(function, "__qualname__", ""), id(owner), args] = Guard(asked, asked())
        self.portable = False
        return self.lift_static(self.evaluated(function, *args))

    # Objects

    def is_opaque(self, value: Any) -> bool:
        """Whether a value is an object that only Python knows."""
        held = self.held(value) if isinstance(value, av.Ref) else None
        return isinstance(held, av.ObjC) and held.cls is objects.Opaque

    def made_by_python(self, cells: Any, value: av.Ref) -> bool:
        """The same of an object that one path has made."""
        held = self.sites.found(cells, value.uid)
        return isinstance(held, av.ObjC) and held.cls is objects.Opaque

    def only_python_knows(self, value: av.Ref) -> DiffjitError:
        """The error where an object would have to be a number, or to have a known class: at the call it comes from."""
        return self.refused_calls.get(self.told(value)) or self._no_number("Python", None)

    def _no_number(self, told: str, node: Any) -> DiffjitError:
        return no_number(told, self.loc(node))

    def known_object(self, value: Any) -> Any:
        """The value, which is no object that only Python knows."""
        if self.is_opaque(value):
            raise self.only_python_knows(value)
        return value

    def flagged(self, value: Any, flag: str) -> bool:
        """A fact about the object on every path that leads here."""
        found = self.contents(value).fields[flag]
        return isinstance(found, Static) and found.obj == "yes"

    @core(objects.ask)
    def ask_python(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.act(function.obj, list(args), kwargs, self.here)

    @core(objects.tell)
    def tell_python(self, kind: Any, function: Any, *args: Any) -> Any:
        return self.act(function.obj, list(args), {}, self.here, gives=kind.obj.__name__)

    def float_of(self, value: av.Ref) -> Any:
        """`float(...)` of what was read from a file or the like: nothing that the program computes is in it."""
        if not self.flagged(value, "clean_") or self.gave_numbers:
            raise self.only_python_knows(value)
        self.took_numbers += [(value, loop) for loop in self.loops]
        return self.act(float, [value], {}, self.here, gives="float")

    def of_python(self, value: Any) -> bool:
        """Whether there is such an object in a value, or in the text that it is."""
        if isinstance(value, av.Tup):
            return any(map(self.of_python, value.items))
        if isinstance(value, av.Format):
            return any(not isinstance(part, str) and self.of_python(part[0]) for part in value.parts)
        return self.is_opaque(value)

    def leave_by_python(self, cls: type, args: list[Any], fields: dict[str, Any]) -> bool:
        """Whether an exception holds such objects: Python raises it then."""
        if not any(map(self.of_python, (*args, *fields.values()))):
            return False
        held = self.new(av.DictC(dict(fields)))
        self.act(
            acts.raised, [Static(cls), av.Tup(tuple(args)), held], {}, self.here, gives="nothing", told=cls.__name__
        )
        self.build.op("raise", [], exception=cls, parts=())  # is never reached
        return True

    # Calls

    def act(
        self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any, *, gives: str = "object",
        told: str = "", pure: bool = False, refused: DiffjitError | None = None,
    ) -> Any:  # fmt: skip
        """The operation, and what it gives."""
        again = lambda a, k: self.act(function, a, k, node, gives=gives, told=told, pure=pure, refused=refused)  # noqa: E731
        given = (*args, *kwargs.values())
        if any(isinstance(a, av.Sum) for a in given):
            return self.each_argument(args, kwargs, again)
        if any(isinstance(a, av.Opt) for a in args):
            k = next(k for k, a in enumerate(args) if isinstance(a, av.Opt))
            ways = [[*args[:k], v, *args[k + 1 :]] for v in (NONE, args[k].value)]
            return self.choose(args[k].is_none, *(lambda w=w: again(w, kwargs) for w in ways))
        held = [a for a in given if self.is_opaque(a)]
        told = told or next((self.told(a) for a in held), "") or _name(function)
        self.refused_calls.setdefault(told, refused or self._no_number(told, node))
        operands: list[Value] = []
        loose = is_log(function) or function in (builtins.print, warnings.warn)
        spec = tuple(self.handed(a, operands, told, node, loose=loose) for a in args)
        named = {k: self.handed(a, operands, told, node, loose=loose) for k, a in kwargs.items()}
        self.portable = False
        types = [] if gives == "nothing" else [_TYPES[gives]]
        if may_write(function, [a.obj for a in args if isinstance(a, Static)]):
            self.files_changed.append(f"`{told}`")
        catches = self.told_apart([]) if self.awaits_errors() and not is_quiet(function) else ()
        changing = function is getattr and getattr(args[1], "obj", "") in _CHANGING
        pure = (pure or function in acts.PURE) and not changing and all(self.flagged(a, "pure_") for a in held)
        outs = self.ask_of_python(
            _routine(function, (spec, named), gives, told), operands, [[] for _ in types], types, catches,
            kind="foreign" if pure and types else "opaque",
            arguments=(tuple(Slot(k) for k in range(len(operands))), {}), results=Slot(0) if types else (),
        )  # fmt: skip
        clean = self.without_numbers(operands, held, loose=loose or is_quiet(function))
        if gives != "object":
            return outs[0] if outs else NONE
        self.keeps_objects = True
        text = function in _GIVES_TEXTS or (function in _OF_OBJECTS and any(self.flagged(a, "text_") for a in held))
        # texts are told apart where paths meet
        facts = {"told_": told, "clean_": _SAID[clean], "pure_": _SAID[pure], "text_": _SAID[text]}
        return self.new(av.ObjC(objects.Opaque, {"place_": outs[0], **{k: Static(v) for k, v in facts.items()}}))

    def finish_body(self, body: Block) -> None:
        """What is decided once the whole program was interpreted."""
        self.refuse_changed_files()
        self._begin_run(body)
        self.review_questions(body)
        self.refuse_other_names(body)

    def _begin_run(self, body: Block) -> None:
        """Where a program keeps objects, those of the last run are let go first."""
        if self.keeps_objects:
            start = Block()
            with self.build.inside(start):
                made = site(_routine(acts.begin, ((), {}), "nothing", "begin"), (), (), arguments=((), {}), results=())
                self.build.op("opaque", [], [], site=made)
            body.ops[:0] = start.ops

    def awaits_errors(self) -> bool:
        """Whether a `try` would catch something that a call of Python may raise."""
        return any(cls is not StopIteration for handler in self.handlers for cls in handler[1])

    def told(self, value: av.Ref) -> str:
        """The call that an object comes from, for messages."""
        name = self.contents(value).fields["told_"]
        return name.obj if isinstance(name, Static) else ""

    def without_numbers(self, operands: list[Value], held: list[Any], *, loose: bool) -> bool:
        """Whether nothing that the program computes can be in the result of a call."""
        places = {self.contents(a).fields["place_"] for a in held}
        numbers = [v for v in operands if v not in places and v.type != INT]
        if not numbers:
            return all(self.flagged(a, "clean_") for a in held)
        if not loose:
            self.gave_numbers = True
            for value, loop in self.took_numbers:
                if loop in self.loops:  # they may be those that this call was given a turn before
                    raise self.only_python_knows(value)
        return False

    def handed(self, value: Any, operands: list[Value], told: str, node: Any, *, loose: bool) -> Any:
        """An argument as Python is to get it, and the operands that it is made of."""
        rest = lambda v: self.handed(v, operands, told, node, loose=loose)  # noqa: E731
        held: Any = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(value, Value) and isinstance(value.type, (Scalar, Array)):
            operands.append(value)
            return Slot(len(operands) - 1)
        if isinstance(value, Static):
            return Held(None if isinstance(value.obj, av.Traceback) else value.obj)  # as of exceptions not raised yet
        if isinstance(value, av.Tup):
            items = tuple(rest(v) for v in value.items)
            return value.cls(*items) if value.cls is not None else items
        if isinstance(value, av.Slice):
            parts = (value.start, value.stop, value.step)
            return acts.Cut(tuple(rest(p) for p in parts))
        if isinstance(value, av.Range) and all(isinstance(p, Static) for p in (value.start, value.stop, value.step)):
            return Held(range(value.start.obj, value.stop.obj, value.step.obj))
        if isinstance(value, av.Format):
            return acts.Written(tuple(self.written(value, operands)))
        if self.is_opaque(value):
            operands.append(held.fields["place_"])
            return acts.Kept(len(operands) - 1)
        if isinstance(held, av.ListC):
            return [rest(v) for v in held.items]
        if isinstance(held, av.DictC) and not held.is_set and held.cls in (None, dict):
            return {k: rest(v) for k, v in held.items.items()}
        if isinstance(held, DynList) and of_numbers(held.elem) and isinstance(held.lists[0].type.elem, Scalar):
            operands.append(self.array_from(value))
            return acts.Listed(len(operands) - 1, weak=held.lists[0].type.elem.weak)
        if self.is_exception(value):
            return acts.Thrown(self.contents(value).cls, rest(self.py_str(value)))
        if loose:
            return acts.Told(*[rest(self.text(list(parts(value)))) for parts in (self.text_parts, self.repr_parts)])
        raise self.error(
            UsageError(
                "DJ551", f"`{told}` is given {describe(value)}",
                cure="what Python calls takes numbers, texts, arrays, and tuples, lists and dicts of them",
            ), node,
        )  # fmt: skip

    def written(self, value: av.Format, operands: list[Value]) -> list[Any]:
        """The parts of a text: literal text, operands and objects with their formats."""
        parts: list[Any] = []
        for part in value.parts:
            if isinstance(part, str):
                parts.append(part)
            elif self.is_opaque(part[0]):
                operands.append(self.contents(part[0]).fields["place_"])
                parts.append((acts.Kept(len(operands) - 1), part[1]))
            else:
                for piece, text in self.flatten_text(*part):
                    if piece is None:
                        parts.append(text)
                    else:
                        operands.append(piece)
                        parts.append((Slot(len(operands) - 1), text))
        return parts


def _looked_at(function: Any, named: dict[str, Any]) -> list[Any]:
    """What a function looks at of what it is given by name: a dict holds it as it is."""
    return [] if function is dict else heeded(function, named)


def _contents(read: Any) -> Any:
    """What tells records from others."""
    found = read()
    return found.dtype, found.tobytes()


def _arrays(found: Any) -> Iterable[Any]:
    """The arrays that were read: one, or those of an archive."""
    return found.values() if isinstance(found, dict) else [found]


def forget_unread(ir: Function) -> None:
    """In place: what nobody reads of a call's result is not kept."""
    functions = callees(ir)
    read = {
        v
        for f in functions
        for block in blocks(f.body)
        for v in (*block.results, *(v for op in block.ops for v in op.inputs))
    }
    for f in functions:
        for op in walk(f.body):
            if op.kind == "opaque" and op.outputs and op.outputs[0] not in read:
                old = op.attrs["site"]
                if old.catches:
                    continue
                act = old.routine.function
                routine = _routine(act.function, act.arguments, "nothing", act.name)
                op.attrs["site"] = site(routine, old.inputs, (), arguments=old.arguments, results=())
                op.outputs = []


def _name(function: Any) -> str:
    """The name of a function, for messages and for generated text."""
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__


def _routine(function: Any, arguments: Any, gives: str, told: str) -> Routine:
    """The routine of an act: one for all calls that are the same."""
    owner = tree.asked(function, "__self__")
    bound = (id(owner), function.__name__) if owner is not None else id(function)
    key = bound, key_of(arguments), gives, told
    if key not in _routines:
        _routines[key] = Routine(acts.Act(function, arguments, gives, told), told, "python")
    return _routines[key]
