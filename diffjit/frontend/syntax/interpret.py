"""The abstract interpreter: walks a function's syntax tree, tracks what every name is bound to, and builds IR.

`Interpreter` is assembled from mixins, one per theme: arithmetic, expressions, control flow, iteration, objects,
indexing,
NumPy's core functions, builtins, and lifting of outside objects.
"""

from __future__ import annotations

import itertools
import operator
import sysconfig
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gast

import diffjit.primitives
from diffjit.errors import DiffjitError, TypeProblem, UnsupportedSyntax
from diffjit.frontend.calls.builtin_calls import BuiltinCalls
from diffjit.frontend.calls.calls import Calls
from diffjit.frontend.calls.classes import Classes
from diffjit.frontend.calls.constants import Constants
from diffjit.frontend.calls.container_calls import ContainerCalls
from diffjit.frontend.calls.dataclass_calls import DataclassCalls
from diffjit.frontend.calls.introspect import Introspection
from diffjit.frontend.calls.methods import Methods
from diffjit.frontend.calls.nested import Nested
from diffjit.frontend.calls.numbers import Numbers
from diffjit.frontend.calls.questions import Questions
from diffjit.frontend.calls.recursion import Bottom, Recursion
from diffjit.frontend.calls.repeated import RepeatedCalls
from diffjit.frontend.entry.changed import ChangedOutside
from diffjit.frontend.entry.demand import current
from diffjit.frontend.entry.lift import Lifting
from diffjit.frontend.entry.source import source_of
from diffjit.frontend.entry.subset import local_names, yields
from diffjit.frontend.entry.watch import Watching
from diffjit.frontend.kernels.blocks import Blocks
from diffjit.frontend.kernels.launches import Launches
from diffjit.frontend.numpy.arith import Arith
from diffjit.frontend.numpy.asserted import Asserted
from diffjit.frontend.numpy.failures import Failures
from diffjit.frontend.numpy.fourier import FourierTransforms
from diffjit.frontend.numpy.index_tricks import IndexTricks
from diffjit.frontend.numpy.known import KnownArrays
from diffjit.frontend.numpy.npcore import NumpyCore
from diffjit.frontend.numpy.npmethods import NumpyMethods
from diffjit.frontend.numpy.npreduce import NumpyReductions
from diffjit.frontend.numpy.npshapes import NumpyShapes
from diffjit.frontend.numpy.read_only import ReadOnly
from diffjit.frontend.numpy.warned import Warned, is_under_state
from diffjit.frontend.objects.arenas import Arenas
from diffjit.frontend.objects.derived import Derived
from diffjit.frontend.objects.descriptors import Descriptors
from diffjit.frontend.objects.iterate import Iteration
from diffjit.frontend.objects.iterators import Iterators
from diffjit.frontend.objects.lists import Lists
from diffjit.frontend.objects.making import Making
from diffjit.frontend.objects.members import Members
from diffjit.frontend.objects.objects import Objects
from diffjit.frontend.objects.resumable import Resumable
from diffjit.frontend.objects.rows import Rows
from diffjit.frontend.objects.sets import SetOperators
from diffjit.frontend.objects.tables import Tables
from diffjit.frontend.outside.by_element import ByElement
from diffjit.frontend.outside.foreign import ForeignCalls
from diffjit.frontend.outside.namespaces import Namespaces
from diffjit.frontend.outside.opaque import OpaqueCalls
from diffjit.frontend.outside.operator_functions import OperatorFunctions
from diffjit.frontend.outside.rare_parts import RareParts
from diffjit.frontend.outside.streams import Streams
from diffjit.frontend.protocols.of_numpy import Protocols
from diffjit.frontend.protocols.of_objects import ObjectArrays
from diffjit.frontend.protocols.of_python import DataModel
from diffjit.frontend.protocols.own_arrays import OwnArrays
from diffjit.frontend.syntax.comprehensions import Comprehensions
from diffjit.frontend.syntax.control import PART, Control
from diffjit.frontend.syntax.exceptions import Exceptions
from diffjit.frontend.syntax.expr import Expressions
from diffjit.frontend.syntax.frames import Frame, Hints, Learned, NeedStatic
from diffjit.frontend.syntax.index import Indexing
from diffjit.frontend.syntax.loops import Loops
from diffjit.frontend.syntax.managers import Managers
from diffjit.frontend.syntax.operators import Operators
from diffjit.frontend.syntax.patterns import Patterns
from diffjit.frontend.syntax.statements import Statements
from diffjit.frontend.texts.shown import Shown
from diffjit.frontend.texts.text import Text
from diffjit.frontend.texts.words import OptionWords
from diffjit.frontend.values import values as av
from diffjit.frontend.values.portable import Portable
from diffjit.frontend.values.sums import Sums
from diffjit.frontend.values.templates import Sites, describe, kind_of, split
from diffjit.frontend.values.values import NONE, UNBOUND, Static
from diffjit.ir.build import Builder
from diffjit.ir.nodes import Loc, Value
from diffjit.ir.types import BOOL, is_float

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIBRARY = str(Path(diffjit.primitives.__file__).parent.parent)
_SOLVERS = str(Path(_LIBRARY) / "solvers")
_STANDARD = sysconfig.get_paths()["stdlib"]
MAX_INLINE_DEPTH = 60
MAX_STATIC_RECURSION = 8  # with run-time branches on the way


class Interpreter(
    Arith, Operators, Expressions, Comprehensions, Text, Shown, Statements, Patterns, Exceptions, Failures, Control,
    Loops, Iteration, Iterators, Resumable, Calls, Constants, Objects, Classes, Numbers, Lists, Methods, Indexing,
    NumpyCore, NumpyShapes, NumpyReductions, NumpyMethods, BuiltinCalls, ContainerCalls, Introspection, Lifting,
    Recursion, Making, RepeatedCalls, Nested, Arenas, Sums, IndexTricks, Warned, Asserted, Questions, DataclassCalls,
    Derived, Protocols, SetOperators, Managers, Tables, Portable, ReadOnly, FourierTransforms, ForeignCalls, Watching,
    Streams, OpaqueCalls, ChangedOutside, Blocks, Launches, Rows, Descriptors, Namespaces, Members, KnownArrays,
    OperatorFunctions, ObjectArrays, OwnArrays, DataModel, RareParts, ByElement, OptionWords,
):  # fmt: skip
    """Interprets functions abstractly; see the module's docstring."""

    def __init__(
        self, build: Builder | None = None, *, rule_mode: bool = False, learned: Learned | None = None
    ) -> None:
        self.build = build or Builder()
        self.build.before = self.guard_operation
        self.rule_mode = rule_mode
        self.to_take = None if rule_mode else current()  # which derivatives will be taken of what is interpreted
        self.learned = learned or Learned()
        self.sites = Sites(
            hints=self.learned.lists, apart=bool(self.learned.apart), sums=self.learned.sums, rows=self.learned.rows
        )
        self.cells: dict[Any, Any] = {}
        self.dead = False
        self.frames: list[Frame] = []
        self.handlers: list[Any] = []
        self.awaited: list[frozenset[int]] = []  # the frames around each `finally` and `__exit__` that is still to run
        self.handler_frames, self.passed, self.managing, self.shown = {}, set(), set(), set()
        self.memos: dict[int, dict[Any, Any]] = {}  # of deep copies, by the dicts that stand for them
        self.described: dict[type, dict[str, Any]] = {}  # the descriptors of their own that classes have
        self.accesses: dict[tuple[type, str], Any] = {}  # `__setattr__` and its kin, of classes that have their own
        self.last_read: dict[int, Any] = {}  # items of live lists -> their contents as read last
        self.recursions: list[Any] = []  # recursive functions under interpretation, innermost last
        self.begin_repeated()
        self.memo: dict[Any, Any] | None = None
        self.here: Any = None  # the expression or statement under interpretation
        self.step = 0
        self.current_loop: Any = None
        self.tail: Any = None
        self.stacks_of_exits, self.known_arrays, self.facts = [], {}, {}
        self.generated: dict[int, Any] = {}  # generators that were gone through -> what they returned
        self.forks = 0  # run-time branches and loops around the place under interpretation
        self.branches = 0  # and those branches among them that the program writes as `if`
        self.hints = Hints()
        self.unroll: set[Any] = set()
        self.known_tests: set[Any] = set()  # loops that went on after an iteration for certain
        self.jumps: dict[Any, None] = {}  # keys of the cells of jumps that have begun; of returns, until all paths met
        self.growing: set[Any] = set()  # loops over a list that their body changes
        self.iv_loops: dict[Value, Any] = {}
        self.arg_loops: dict[Value, Any] = {}
        self.call_path: tuple[Any, ...] = ()
        self.init_nested()
        self.class_counts: dict[Any, int] = {}  # classes inside functions -> how many times they were made
        self.questions = []
        self.changed_numbers, self.changed_places, self.without_dims, self.boxes = [], [], {}, []
        self.refined: dict[Value, dict[Any, Any]] = {}  # flag of a jump -> static things known where it is not taken
        self.exhausted: dict[Value, dict[Any, Any]] = {}  # flag of a jump -> jumps, of which one is under way
        self.init_warned()
        self.lost: set[Any] = set()  # variables and attributes whose form behind a loop without turns is not followed
        self._uids = itertools.count(1)
        self.launches = []
        self.noted = None
        self.init_lifting()
        self.init_rows()
        self.init_opaque()
        self.init_changed()

    # Places and errors

    def loc(self, node: gast.AST | None) -> Loc | None:
        """The place of a node in the user's file."""
        if node is None or not self.frames or getattr(node, "lineno", None) is None:
            return self.build.loc
        if self.in_library() or in_standard_library(self.frames[-1].fn.file) or (self.rule_mode and self.build.loc):
            return self.build.loc  # the place of the user's call, or of the operation that a rule belongs to
        fn = self.frames[-1].fn
        end = node.end_col_offset if node.end_lineno == node.lineno else node.col_offset
        return Loc(fn.file, node.lineno, node.col_offset, end or node.col_offset, fn.name)

    def in_library(self) -> bool:
        """Whether diffjit's own Python source is being interpreted."""
        return not self.rule_mode and bool(self.frames) and self.frames[-1].fn.file.startswith(_LIBRARY)

    def in_solvers(self) -> bool:
        """Whether that source is a solver's, and not of what is written in place of a function of the library's."""
        return self.in_library() and self.frames[-1].fn.file.startswith(_SOLVERS)

    def error(self, error: DiffjitError, node: gast.AST | None = None) -> DiffjitError:
        """The same error with the current place filled in."""
        return error.at(self.loc(node))

    def unsupported(self, code: str, message: str, node: gast.AST | None = None, cure: str = "") -> UnsupportedSyntax:
        """A construct outside the subset."""
        return UnsupportedSyntax(code, message, loc=self.loc(node), cure=cure)

    def type_problem(
        self, code: str, message: str, node: gast.AST | None = None, *, cure: str = "", python: Any = None
    ) -> TypeProblem:
        """A value of a type that does not fit."""
        return TypeProblem(code, message, loc=self.loc(node), cure=cure, python=python)

    @contextmanager
    def at(self, node: gast.AST) -> Iterator[None]:
        """Operations built meanwhile belong to this node's line."""
        old, self.build.loc = self.build.loc, self.loc(node)
        try:
            yield
        except DiffjitError as error:
            error.at(self.build.loc)
            raise
        finally:
            self.build.loc = old

    # Names

    def lookup(self, name: str, node: gast.AST | None = None) -> Any:
        """What a name is bound to here."""
        frame = self.frames[-1]
        if name in frame.local:
            return self._local(frame.uid, name, node)
        scope = frame.fn.scope
        for uid in scope.frames:
            if name in scope.locals_of[uid]:
                return self._local(uid, name, node)
        owner = self.assigned_outside(name, scope)
        return self.lift_name(name, scope, node) if owner is None else self._local(owner, name, node)

    def _local(self, uid: int, name: str, node: gast.AST | None) -> Any:
        value = self.cells.get(("v", uid, name), UNBOUND)
        if value is UNBOUND and self.recursions and self.recursions[-1].result is None:
            raise Bottom  # bound where the function calls itself, of which nothing is known yet
        if value is UNBOUND:
            raise self.unbound(name, node, later=uid == self.frames[-1].uid and self.bound_in_other_turns(name))
        if isinstance(value, av.Maybe):
            value = self.bound(value, name, key=(uid, name))
            self.cells["v", uid, name] = value
        if isinstance(value, av.Poison):
            cure = value.cure or f"give `{name}` one type on all paths"
            error = self.type_problem("DJ304", f"variable `{name}` is {value.reason}", node, cure=cure)
            raise self.unusable(value, error)
        return value

    def bound_in_other_turns(self, name: str) -> bool:
        """Whether the place is in a branch inside of a loop that binds a name: an earlier turn may have bound it."""
        return bool(self.loops) and name in self.loops[-1].assigned and self.forks > self.loops[-1].forks

    def unbound(self, name: str, node: gast.AST | None = None, *, later: bool, of: type | None = None) -> DiffjitError:
        """The error of a variable without a value; `later`: the program raises when it runs, if it comes here.

        `of`: the class of the object that it is an attribute of.
        """
        if later:
            self.raise_unbound(Static(True), name, of)
        if of is not None:
            return self.no_attribute(of, name, node)
        cure = f"give `{name}` a value on every path before"
        return self.type_problem(
            "DJ303", f"variable `{name}` is not bound here", node, cure=cure, python=UnboundLocalError
        )

    def raise_unbound(self, missing: Any, name: str, of: type | None = None, key: Any = PART) -> None:
        """Fail where a variable, or an attribute of an object of the class `of`, has no value."""
        if PART in self.lost or key in self.lost:  # Python has one: no handler of the program catches this
            told = f"`{name}` has another type where a loop has no turn: give it one type on all paths [DJ304]"
            self.refuse_if(missing, NotImplementedError, av.inexact(told))
            return
        if of is not None:
            message = av.inexact(f"'{of.__name__}' object has no attribute '{name}' [DJ317]")
            self.raise_if(missing, AttributeError, message)
            return
        unbound = av.inexact(f"variable `{name}` is read before it has a value [DJ303]")
        self.raise_if(missing, UnboundLocalError, unbound)

    def bound(self, value: av.Maybe, name: str = "a variable", of: type | None = None, key: Any = PART) -> Any:
        """The value of a variable that may be unbound: checked when the program runs."""
        self.raise_unbound(self.build.value("logical_not", [value.bound], BOOL), name, of, key)
        return value.value

    def not_none(self, value: av.Opt, name: str = "") -> Any:
        """The value of something that may be None: checked when the program runs. `name`: the attribute asked for."""
        if isinstance(value.value, av.Poison):
            cure = "give it one type on all paths, and each object one name"
            reason = f"what is not None here is {value.value.reason}"
            raise self.unusable(value.value, self.type_problem("DJ304", reason, cure=cure))
        if name:
            self.raise_if(value.is_none, AttributeError, f"'NoneType' object has no attribute '{name}'")
        else:
            self.raise_if(value.is_none, TypeError, av.inexact("a value is None where a number is needed [DJ305]"))
        return value.value

    def bind(self, name: str, value: Any, node: gast.AST | None = None) -> None:
        """Bind a name in the frame that owns it."""
        if isinstance(value, Value) and value.name is None:
            value.name = name
        frame = self.frames[-1]
        if self.noted is not None:
            self.note_binding(name, value)
        if name in frame.local:
            self.cells["v", frame.uid, name] = value
            return
        scope = frame.fn.scope
        for uid in scope.frames:
            if name in scope.locals_of[uid]:
                self.cells["v", uid, name] = value
                return
        self.assign_outside(name, scope, value, node)

    # Functions

    def fn_of(self, pyfunc: Any) -> av.Fn:
        """A Python function object as an abstract function."""
        code = pyfunc.__code__  # once: another thread may replace it
        source = source_of(pyfunc, code)
        self.followed[pyfunc] = code
        scope = av.Scope((), pyfunc, pyfunc.__globals__)
        if (pyfunc.__module__ or "").startswith("diffjit."):
            defaults = tuple(self.lift_static(d) for d in pyfunc.__defaults__ or ())
            kw = {k: self.lift_static(d) for k, d in (pyfunc.__kwdefaults__ or {}).items()}
        else:
            defaults = tuple(self.lift_default(pyfunc, i) for i in range(len(pyfunc.__defaults__ or ())))
            kw = {k: self.lift_kwdefault(pyfunc, k) for k in (pyfunc.__kwdefaults__ or {})}
        return av.Fn(source.node, pyfunc.__name__, source.file, defaults, kw, scope, pyfunc)

    def call_fn(self, fn: av.Fn, args: list[Any], kwargs: dict[str, Any], node: gast.AST | None = None) -> Any:
        """Interpret a call by inlining the function's body."""
        if is_under_state(fn.pyfunc):
            return self.call_under_state(fn.pyfunc, args, kwargs, node)
        if len(self.frames) > MAX_INLINE_DEPTH:
            raise self.unsupported(
                "DJ111",
                f"calls nested more than {MAX_INLINE_DEPTH} deep at `{fn.name}`",
                node,
                "use a loop; if it calls itself without end, return before that call",
            )
        bound = self.bind_arguments(fn, args, kwargs, node)
        if yields(fn.node):
            return self.generator(fn, bound)
        if self.memo is not None:
            return self.remembered(lambda: self.call_bound(fn, bound, node))
        return self.call_bound(fn, bound, node)

    def call_bound(self, fn: av.Fn, bound: dict[str, Any], node: gast.AST | None) -> Any:
        """Interpret a call of a function whose parameters are bound."""
        record = next((r for r in self.recursions if r.node is fn.node and self.belongs(r, bound)), None)
        if record is not None:
            return self.recursive_site(record, bound, node)
        if fn.node in self.learned.outlined:
            return self.outline(fn, bound, node)
        if self.calls_itself(fn, bound):
            raise self.what_calls_itself(fn, bound)
        form = self.shared_form(fn, bound)
        return self.write_out(fn, bound, node) if form is None else self.shared_call(fn, bound, form, node)

    def calls_itself(self, fn: av.Fn, bound: dict[str, Any]) -> bool:
        """Whether a function is called by itself, and nobody knows how many times before the program runs."""
        active = self._active(fn)
        if not active:
            return False
        if self.forks > active[-1].forks:
            return not self.ends_by_itself(active, bound)
        return len(active) > MAX_STATIC_RECURSION and self._as_before(active[-1], bound)

    def _active(self, fn: av.Fn) -> list[Frame]:
        """Calls of a function that have not ended."""
        return [f for f in self.frames if f.fn.node is fn.node and not f.comprehension]

    def _as_before(self, frame: Frame, bound: dict[str, Any]) -> bool:
        """Whether a call within one of the same function finds all that is known as that one did: it has no end."""
        before, now = frame.before, self.cells
        frame.before = None  # which is asked once
        if before is None or frame.form != self.static_form(bound):
            return False
        changed = (key for key, value in before.items() if key in now and now[key] is not value)
        return all(self.form_of(before[key], {}) == self.form_of(now[key], {}) for key in changed)

    def ends_by_itself(self, active: list[Frame], bound: dict[str, Any]) -> bool:
        """Whether a recursive call can be written out: something static in its arguments differs at each level.

        Where nodes are handed on whose depth nobody knows, a number that counts the levels is none of these.
        """
        if any(_is_node(value) for value in bound.values()):
            return False
        forms = [f.form for f in active]
        return len(active) < MAX_STATIC_RECURSION and self.static_form(bound) not in forms

    def static_form(self, bound: dict[str, Any]) -> Any:
        """What is known of arguments while specialising."""
        seen: dict[int, int] = {}
        return tuple((name, self.form_of(value, seen)) for name, value in bound.items())

    def form_of(self, value: Any, seen: dict[int, int]) -> Any:
        """A value with every run-time number replaced by its type; an object that was `seen` is its number there.

        Written out wherever they are, objects that share others would be as many as the ways that lead to them.
        """
        if isinstance(value, Static):
            return repr(value.obj)
        if isinstance(value, Value):
            return str(value.type)
        if isinstance(value, av.Handle):
            return str(kind_of(value))
        if isinstance(value, av.Ref):
            if value.uid in seen:
                return seen[value.uid]
            seen[value.uid] = len(seen)
            held = self.held(value)
            if isinstance(held, av.Poison) and held.cure:  # nothing gives it a form, and it may never be looked at
                return held.reason
            held = self.contents(value)
            if isinstance(held, av.DictC) and isinstance(held.items, av.LazyItems):
                return "outside", value.uid  # a table of which little is read
            return self.form_of(held, seen) if kind_of(held) is not None else str(type(held))
        if isinstance(value, av.Opt):
            return "or None", self.form_of(value.value, seen)
        if kind_of(value) is not None:
            return (str(kind_of(value)), tuple(self.form_of(v, seen) for v in split(value)))
        return str(type(value))

    def run_body(self, fn: av.Fn, bound: dict[str, Any], node: gast.AST | None, on_yield: Any = None) -> Any:
        """Interpret a function's body in a new frame and return its result."""
        with self.entered(fn, bound, node, on_yield) as frame:
            if isinstance(fn.node, gast.Lambda):
                with self.at(fn.node.body):
                    self.guarded(lambda: self.return_value(self.eval(fn.node.body)))
            else:
                self.exec_block(fn.node.body)
            return self.returned(frame)

    @contextmanager
    def entered(self, fn: av.Fn, bound: dict[str, Any], node: gast.AST | None, on_yield: Any = None) -> Iterator[Frame]:
        """A new frame of a function, while its body is interpreted."""
        local, outer = local_names(fn.node)
        frame = Frame(
            next(self._uids), fn, local, outer, on_yield=on_yield, forks=self.forks, form=self.static_form(bound)
        )
        if len(self.frames) >= MAX_STATIC_RECURSION and len(self._active(fn)) >= MAX_STATIC_RECURSION:
            frame.before = dict(self.cells)
        state = self.call_path, self.memo, self.here, self.step
        self.call_path, self.memo = (*self.call_path, id(node), self.step), None
        for name, value in bound.items():
            if isinstance(value, Value) and value.name is None:
                value.name = name
            self.cells["v", frame.uid, name] = value
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()
            self.call_path, self.memo, self.here, self.step = state
            for name in frame.forgotten(local):
                self.cells.pop(("v", frame.uid, name), None)

    def returned(self, frame: Frame) -> Any:
        """What a function's body returned."""
        result = self.cells.pop(("ret", frame.uid), NONE)
        flag = self.flag_value(self.cells.pop(("jump", "return", frame.uid), None))
        self.jumps.pop(("jump", "return", frame.uid), None)  # all paths through the function have met
        if isinstance(result, av.Maybe):
            result = result.value  # where the flag holds, a path has returned it
        if isinstance(flag, Value) and not self.dead and not self.raised_unless(flag):
            return self.join_fall_through(flag, result)
        return result

    def join_fall_through(self, returned: Value, result: Any) -> Any:
        """A function that returns a value on some paths only gives None on the others."""
        if isinstance(result, Static) and result.obj is None:
            return result
        missing = self.build.value("logical_not", [returned], BOOL)
        if isinstance(result, av.Opt):
            return av.Opt(self.ew("logical_or", missing, result.is_none), result.value)
        return av.Opt(missing, result)

    def bind_arguments(
        self, fn: av.Fn, args: list[Any], kwargs: dict[str, Any], node: gast.AST | None
    ) -> dict[str, Any]:
        """Match call arguments with parameters as Python does."""
        spec = fn.node.args
        names = [a.id for a in (*spec.posonlyargs, *spec.args)]
        args, starred = without_star(args)
        bound: dict[str, Any] = dict(zip(names, args, strict=False))
        if len(args) > len(names):
            if spec.vararg is None:
                raise self.type_problem(
                    "DJ306",
                    f"`{fn.name}` takes {len(names)} positional argument{'s' * (len(names) != 1)} "
                    f"but {len(args)} were given",
                    node,
                    python=TypeError,
                )
            bound[spec.vararg.id] = av.Tup(tuple(args[len(names) :]))
        if starred is not None:
            bound.update(self.starred_arguments(spec, names, args, starred, node))
        elif spec.vararg is not None:
            bound.setdefault(spec.vararg.id, av.Tup(()))
        keyword_names = {a.id for a in (*spec.args, *spec.kwonlyargs)}
        extra: dict[str, Any] = {}
        for key, value in kwargs.items():
            if key in keyword_names and key not in bound:
                bound[key] = value
            elif spec.kwarg is not None and key not in keyword_names:
                extra[key] = value
            else:
                raise self.type_problem(
                    "DJ306", f"`{fn.name}` got an unexpected or repeated argument `{key}`", node, python=TypeError
                )
        if spec.kwarg is not None:
            bound[spec.kwarg.id] = self.new(av.DictC(extra))
        for name, value in zip(reversed(names), reversed(fn.defaults), strict=False):
            bound.setdefault(name, value)
        for name, value in fn.kw_defaults.items():
            bound.setdefault(name, value)
        missing = [n for n in (*names, *(a.id for a in spec.kwonlyargs)) if n not in bound]
        if missing:
            raise self.type_problem("DJ306", f"`{fn.name}` needs the argument `{missing[0]}`", node, python=TypeError)
        return bound

    def starred_arguments(
        self, spec: Any, names: list[str], args: list[Any], starred: Any, node: Any
    ) -> dict[str, Any]:
        """Parameters from a list whose length is only known at run time; so is that of the one with a star."""
        if spec.vararg is None:
            message = "a star for arguments, where their number is only known at run time"
            raise self.unsupported("DJ117", message, node, "index it, or slice it, instead")
        missing = names[len(args) :]
        few = self.compare_kind("less", self.length(starred), Static(len(missing)))
        self.raise_if(few, TypeError, f"{len(missing)} more positional arguments are needed")
        bound = {name: self.get_item(starred, Static(k)) for k, name in enumerate(missing)}
        items = self.new(av.ListC(tuple(args[len(names) :])))
        self.list_extend(items, self.get_item(starred, av.Slice(Static(len(missing)), NONE, NONE)), node)
        return {**bound, spec.vararg.id: self.part_of_tuple(items)}

    # Static demands

    def need_static(self, value: Value, error: DiffjitError) -> NeedStatic:
        """The exception that asks for a number to be fixed."""
        return NeedStatic(error, self.static_sources(value))

    def static_int(self, value: Any, what: str, node: gast.AST | None = None) -> int:
        """An integer that must be known while specialising (an axis, a number of dimensions, ...)."""
        value = self.as_known(value)
        if (cls := self.object_class(value)) is not None and self.class_has(cls, "__index__"):
            return self.static_int(self.call_method(value, "__index__", []), what, node)
        if isinstance(value, Static):
            try:
                return operator.index(value.obj)
            except TypeError:
                pass
        elif isinstance(value, Value) and not is_float(value.type):
            error = TypeProblem(
                "DJ307",
                f"{what} must be known before the program runs",
                cure="pass it as a plain int argument or constant",
            )
            raise self.need_static(value, self.error(error, node))
        raise self.type_problem("DJ308", f"{what} must be an int, not {describe(value)}", node)


def in_standard_library(file: str) -> bool:
    """Whether a file is one of Python's own."""
    return file.startswith(_STANDARD) and "site-packages" not in file


def without_star(args: list[Any]) -> tuple[list[Any], Any]:
    """Arguments, and the list that a star at their end stands for."""
    if args and isinstance(args[-1], av.Iter) and args[-1].kind == "starred":
        return args[:-1], args[-1].parts[0]
    return args, None


def _is_node(value: Any) -> bool:
    return isinstance(value.value if isinstance(value, av.Opt) else value, av.Handle)
