"""What NumPy and Python do about doubtful results: error states and warnings change nothing, unless they raise.

Inside of a `with` under whose state they do, each operation of NumPy's is followed by a test of its result. What
raises is what is so without doubt: for functions of NumPy's that are several operations, and for numbers too small to
tell, the program raises a NotImplementedError where Python may raise.
"""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gast
import numpy as np

from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Asked
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.arithmetic import POLES, QUIET, SAID, UNDERFLOWING


class Record(warnings.catch_warnings):
    """Stands for one that records: where nobody reads the record, it only silences."""


class ErrorState(np.errstate):
    """Stands for one that the program makes."""

    def __init__(self, actions: dict[str, str]) -> None:
        super().__init__()
        self.actions = actions


_KINDS = ("divide", "over", "under", "invalid")  # in the order in which NumPy looks at them
_WORDS = {"divide": "divide by zero", "over": "overflow", "under": "underflow", "invalid": "invalid value"}
_ANY = Static(Warning)
_TINY = 2.2250738585072014e-308
_MAKING = frozenset({"empty", "empty_like", "where", "full", "full_like", "nan_to_num"})
_CURE = "test the operands or the result instead: np.isfinite(...), x > 0, ..."


_UNDER_STATE = {part for part in np.errstate.__call__.__code__.co_consts if isinstance(part, types.CodeType)}


def under_error_state(state: np.errstate, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call under an error state: `np.errstate(...)(function)` is this with the first two arguments given."""
    with state:
        return function(*args, **kwargs)


def is_under_state(function: Any) -> bool:
    """Whether a function is what `@np.errstate(...)` makes of one."""
    return getattr(function, "__code__", None) in _UNDER_STATE


class Warned(Mixin):
    """Mixin of the interpreter: error states and warnings."""

    def init_warned(self) -> None:
        """Nothing raises."""
        self.sets_error_state = False  # the program does, by np.errstate or np.seterr
        self.error_actions: dict[str, str] = {}  # of the `with np.errstate(...)` around
        self.warnings_raise = False
        self.may_filter: frozenset[int] = frozenset()  # statements of `with warnings.catch_warnings()`
        self.doubts: dict[str, type[Exception]] = {}  # what raises

    def only_silenced(self, what: str, actions: Any) -> None:
        """Refuse a setting under which operations raise that would not raise otherwise."""
        for action in actions:
            if not isinstance(action, Static) or action.obj in ("raise", "call", "error"):
                raise self.unsupported("DJ124", f"{what} that raises, or calls a function", None, _CURE)

    @contextmanager
    def under_state(self, manager: Any, body: list[gast.AST]) -> Iterator[None]:
        """The body of a `with` of an error state, or of a state of the warnings."""
        if isinstance(manager, np.errstate) and not isinstance(manager, ErrorState):
            given = {kind: Static(getattr(manager, f"_{kind}")) for kind in ("all", *_KINDS)}
            manager = self.np_errstate(**given).obj
        kept = self.error_actions, self.warnings_raise, self.may_filter
        if isinstance(manager, ErrorState):
            self.error_actions = {**self.error_actions, **manager.actions}
        if isinstance(manager, warnings.catch_warnings):
            self.may_filter = frozenset(id(n) for s in body for n in (s, getattr(s, "value", s)))
        self._settle_doubts()
        try:
            yield
        finally:
            self.error_actions, self.warnings_raise, self.may_filter = kept
            self._settle_doubts()

    def call_under_state(self, function: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A call of what `@np.errstate(...)` has made of a function."""
        held = inspect.getclosurevars(function).nonlocals
        return self.call(
            Static(under_error_state), [Static(held["self"]), self.lift_static(held["func"]), *args], kwargs, node
        )

    @core(under_error_state)
    def np_under_state(self, state: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        with self.under_state(state.obj, []):
            return self.call(function, list(args), kwargs, self.here)

    def _settle_doubts(self) -> None:
        actions = self.error_actions
        if self.warnings_raise:
            asked = Asked(np.geterr, ())
            self.guards["error state"] = Guard(asked, asked())
            actions = {**np.geterr(), **actions}
        raising = {"raise": FloatingPointError, **({"warn": RuntimeWarning} if self.warnings_raise else {})}
        self.doubts = {kind: raising[actions[kind]] for kind in _KINDS if actions.get(kind) in raising}

    @contextmanager
    def without_doubts(self) -> Iterator[None]:
        """Inside of a function of a library, whose operations are not those of the library's own code."""
        kept, self.doubts = self.doubts, {}
        try:
            yield
        finally:
            self.doubts = kept

    @core(np.errstate)
    def np_errstate(self, *, call: Any = NONE, **actions: Any) -> Any:
        del call
        self.sets_error_state = True
        for action in actions.values():
            if not isinstance(action, Static) or action.obj == "call":
                self.only_silenced("an error state", (action,))
        overall = actions.pop("all", NONE)
        given = {kind: overall.obj for kind in _KINDS if overall.obj is not None}
        given.update({kind: a.obj for kind, a in actions.items() if a.obj is not None})
        return Static(ErrorState(given))

    @core(np.geterr)
    def np_geterr(self) -> Any:
        if self.sets_error_state:
            cure = "remember in a variable what was set"
            raise self.unsupported("DJ124", "np.geterr of an error state that the program sets", None, cure)
        return self.answer(np.geterr, ())

    @core(np.seterr)
    def np_seterr(self, *args: Any, **actions: Any) -> Any:
        self.only_silenced("an error state", (*args, *actions.values()))
        self.sets_error_state = True
        return self.new(av.DictC({name: Static(action) for name, action in np.geterr().items()}))

    @core(warnings.simplefilter)
    def simple_filter(
        self, action: Any, category: Any = _ANY, lineno: Any = Static(0), append: Any = Static(False)
    ) -> Any:
        return self._filter(action, category, (lineno, append))

    @core(warnings.filterwarnings)
    def filter_warnings(
        self, action: Any, message: Any = Static(""), category: Any = _ANY, module: Any = Static(""),
        lineno: Any = Static(0), append: Any = Static(False),
    ) -> Any:  # fmt: skip
        return self._filter(action, category, (message, module, lineno, append))

    def _filter(self, action: Any, category: Any, conditions: tuple[Any, ...]) -> Any:
        """Warnings raise from here to the end of the `with`; elsewhere, and under conditions, that is refused."""
        of_all = isinstance(category, Static) and issubclass(RuntimeWarning, category.obj)
        plain = of_all and id(self.here) in self.may_filter
        plain = plain and all(isinstance(c, Static) and not c.obj for c in conditions)
        raises = isinstance(action, Static) and action.obj == "error"
        touched = of_all or (isinstance(category, Static) and issubclass(category.obj, RuntimeWarning))
        if not plain and (raises or (self.warnings_raise and touched)):
            self.only_silenced("a filter of warnings", (Static("error"),))
        self.only_silenced("a filter of warnings", () if raises else (action,))
        if plain:
            self.warnings_raise = raises
            self._settle_doubts()
        return NONE

    @core(warnings.catch_warnings)
    def catch_warnings(self, *, record: Any = Static(False), action: Any = NONE, **_: Any) -> Any:
        self.only_silenced("a filter of warnings", (action,))
        if not isinstance(record, Static):
            raise self.no_record(None)
        return Static(Record(record=True) if record.obj else warnings.catch_warnings())

    def no_record(self, node: Any) -> Exception:
        """What a record of warnings is refused with, where the program gives it a name."""
        return self.unsupported("DJ124", "a record of warnings", node, _CURE)

    # Results that raise

    def check_operator(self, kind: str, left: Any, right: Any, result: Any) -> None:
        """After an operator: Python's own numbers raise what they raise in any state."""
        site = (self.call_path, self.place(), "doubts")
        if site in self.learned.doubts:  # they are Python's on one path and NumPy's on another
            self.mind_result(kind, (left, right), result)
        elif not self.are_pythons(left, right, site):
            arrays = any(isinstance(v, Value) and isinstance(v.type, Array) for v in (left, right))
            self.check_doubts(kind, (left, right), result, kind if arrays else f"scalar {kind}")

    def check_doubts(self, kind: str, args: tuple[Any, ...], result: Any, name: str) -> None:
        """After an operation of NumPy's: what raises under the state that the program has set."""
        if not self.doubts or kind in QUIET:
            return
        if not self.is_of_floats(result):
            whole = kind in ("floor_divide", "remainder") and self.are_ints(result)
            if whole and "divide" in self.doubts:
                self._raise_doubt("divide", self.compare_kind("equal", args[1], Static(0)), name)
            return
        if isinstance(result, Value) and result.type.dtype.kind == "c":
            self.mind_result(name, args, result)
            return
        finite = [self.ew("isfinite", a) for a in args]
        pole = self._pole(kind, args)
        infinite = self._every(self.ew("isinf", result), *finite)
        small = self.ew("less", self.ew("absolute", result), Static(_TINY))
        found = {
            "divide": pole,
            "over": infinite if pole is None else self._every(infinite, self.ew("logical_not", pole)),
            "invalid": self._every(
                self.ew("isnan", result), *(self.ew("logical_not", self.ew("isnan", a)) for a in args)
            ),
        }
        if "under" in self.doubts and kind in UNDERFLOWING:
            nonzero = [] if kind in ("exp", "exp2") else [self.ew("not_equal", a, Static(0)) for a in args]
            found["under"] = self._every(self.ew("equal", result, Static(0.0)), *finite, *nonzero)
        for which in _KINDS:
            if which in self.doubts and found.get(which) is not None:
                self._raise_doubt(which, found[which], name)
        if "under" in self.doubts and kind not in ("add", "subtract"):
            inexact = self._every(small, self.ew("not_equal", result, Static(0.0)))
            self._refuse_doubt(inexact, name, "is so small that NumPy may raise")

    def is_of_floats(self, value: Any) -> bool:
        """A number or array of floats or complex numbers."""
        if isinstance(value, Static):
            return isinstance(value.obj, (float, complex, np.inexact))
        return isinstance(value, Value) and isinstance(value.type, Array | Scalar) and value.type.dtype.kind in "fc"

    def are_ints(self, value: Any) -> bool:
        """An int, or an array of them."""
        if isinstance(value, Value) and isinstance(value.type, Array):
            return value.type.dtype.kind in "iu"
        return self.is_int(value)

    def _every(self, first: Any, *others: Any) -> Any:
        for other in others:
            first = self.ew("logical_and", first, other)
        return first

    def _pole(self, kind: str, args: tuple[Any, ...]) -> Any:
        """Where an infinite result is exact: the quotient of a number by zero, the logarithm of zero."""
        if kind in ("divide", "floor_divide"):
            left, right = args
            by_zero = self.ew("equal", right, Static(0))
            return self._every(by_zero, self.ew("not_equal", left, Static(0)), self.ew("isfinite", left))
        if kind == "power":
            return self._every(self.ew("equal", args[0], Static(0)), self.ew("less", args[1], Static(0)))
        if kind == "arctanh":
            return self.ew("equal", self.ew("absolute", args[0]), Static(1.0))
        return self.ew("equal", args[0], Static(POLES[kind])) if kind in POLES else None

    def _raise_doubt(self, which: str, cond: Any, name: str) -> None:
        message = f"{_WORDS[which]} encountered in {name}"
        exact = name.removeprefix("scalar ") in SAID
        self.raise_if(self._anywhere(cond), self.doubts[which], message if exact else av.inexact(message))

    def _anywhere(self, cond: Any) -> Any:
        if isinstance(cond, Value) and isinstance(cond.type, Array):
            return self.reduce("any", cond)
        return Static(bool(cond.obj)) if isinstance(cond, Static) else cond

    def _refuse_doubt(self, cond: Any, name: str, what: str) -> None:
        message = f"a result of `{name}` {what} under this error state [DJ124]"
        self.refuse_if(self._anywhere(cond), NotImplementedError, message)

    def mind_result(self, name: str, args: Any, result: Any) -> Any:
        """After a function that is several operations: where finite numbers give others, Python may have raised."""
        if not self.doubts or name in _MAKING:
            return result
        given = [v for v in self._numbers_among(args) if self.is_of_floats(v)]
        finite = [self.logical_not(self._anywhere(self.ew("logical_not", self.ew("isfinite", v)))) for v in given]
        if name == "astype":
            what = "is of numbers that are not finite, and NumPy may raise"
            for value in finite if self.are_ints(result) else ():
                self._refuse_doubt(self.logical_not(value), name, what)
            return result
        for value in self._numbers_among((result,)):
            if self.is_of_floats(value):
                wrong: Any = self._anywhere(self.ew("logical_not", self.ew("isfinite", value)))
                for each in finite:
                    wrong = self.both(wrong, each)
                self._refuse_doubt(wrong, name, "is not finite, and NumPy may raise")
        return result

    def _numbers_among(self, values: Any) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if isinstance(value, av.Tup):
                found += self._numbers_among(value.items)
            elif isinstance(value, av.Ref) and isinstance(held := self.contents(value), av.ListC):
                found += self._numbers_among(held.items)
            else:
                found.append(value)
        return found
