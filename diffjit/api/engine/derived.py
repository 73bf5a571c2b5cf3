"""Callables made by diffjit: `Derived` specialises on demand, caches by structure, composes with other transforms."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from diffjit import rare
from diffjit.api.engine import shared
from diffjit.api.engine.programs import Arguments, Building, Compiled, by_shapes, fixed_key, flatten_call, glance, look
from diffjit.api.engine.tracebacks import P, R, boundary, shorten
from diffjit.dataclass import dataclass
from diffjit.depth import deep_calls
from diffjit.errors import UsageError
from diffjit.frontend.entry.outputs import Caller, Change, Out, gives_back, rebuild, refuse_shared, write_back
from diffjit.frontend.entry.texts import CARRIED
from diffjit.garbage import no_garbage_collection
from diffjit.settings import settings

if TYPE_CHECKING:
    from diffjit.frontend.entry.results import Program
    from diffjit.lowering.cuda.foreign import Taken

MAX_SPECIALISATIONS = 256
MAX_SHORTCUTS = 4096  # of calls with arrays of certain shapes
MAX_CACHED = 2048  # functions and settings that verbs keep derivatives of

_CACHED: dict[Any, Derived] = {}


NO_OPTIONS = frozenset(
    {*functools.WRAPPER_ASSIGNMENTS, "__wrapped__", "_cache", "_fixed", "_shortcuts", "_templates", "function"}
)


@dataclass(slots=True)
class Here:
    """Arguments that hold no arrays of other libraries: they are taken, and results given back, as they are."""

    args: tuple[Any, ...]
    library: str = ""

    def given_back(self, result: Any) -> Any:
        """The result."""
        return result


class Derived:
    """A function made from another one. Subclasses say which program it runs."""

    unchanged = True  # the caller's arrays stay as they are
    takes: ClassVar[tuple[str, ...] | None] = (
        None  # the modes of the derivatives that it takes of its function, if known
    )
    settled = True  # every call has arguments of the types that it was compiled for, down to layout and alignment

    def __init__(self, function: Any, backend: str | None) -> None:
        if not callable(function):
            raise _no_function(function)
        self.function = function
        self.backend = backend
        self._cache: dict[Any, tuple[Compiled, Any]] = {}
        self._fixed: dict[Any, frozenset[int]] = {}
        self._shortcuts: dict[Any, tuple[object, Callable[[], bool], Callable[[Sequence[Any]], Any]]] = {}
        self._templates: dict[Any, Any] = {}  # what was made for functions of the same code
        functools.update_wrapper(self, function, updated=())

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Decorated methods bind like functions."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        """How it is made: its function and options, or its name where it stands in a module, as what is decorated does.

        What was compiled stays; another process finds machine code in its own cache.
        """
        if _stands_in_its_module(self):
            return vars(self)["__qualname__"]
        made = NO_OPTIONS - {"function"}
        from diffjit.frontend.entry.source import text_of  # programs that are found do without the frontend

        state = {k: v for k, v in vars(self).items() if k not in made}
        return _made_again, (type(self),), {**state, "text": text_of(self.function)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state.pop("text", "")
        if text:
            CARRIED[text] = None
        Derived.__init__(self, state["function"], state["backend"])
        vars(self).update(state)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result for these arguments."""
        try:
            seen = None if kwargs else look(args)
            known = self._shortcuts.get(seen)
            if known is not None:
                stamp, valid, shortcut = known
                if stamp is settings.stamp and valid():
                    return shortcut(args)
            if (self.backend or settings.backend) == "cuda" and glance(args) is None:
                return self._on_a_device(args, kwargs)
            call = flatten_call(args, kwargs)
            if call.form is not None:
                seen, known = call.form, self._shortcuts.get(call.form)
                if known is not None:
                    stamp, valid, shortcut = known
                    if stamp is settings.stamp and valid():
                        return shortcut(call.leaves)
            compiled, finish = self.lookup(call, args, kwargs)
            fixed = {k for key in (call.key, call.general) for k in self._fixed.get(key, ())}
            lasting = by_shapes(call.leaves, fixed)  # these are seen
            if seen is not None and lasting and (call.form is not None or glance(args) is not None):
                shortcut = self.shortcut(compiled, finish)
                if shortcut is not None:
                    if len(self._shortcuts) >= MAX_SHORTCUTS:
                        self._shortcuts.clear()
                    self._shortcuts[seen] = settings.stamp, compiled.valid, shortcut
            return self.finished(finish, compiled(call.leaves), call, args, kwargs)
        except rare.Needed as needed:
            rare.ask(needed)
        except BaseException as error:
            shorten(error)
            raise
        return self(*args, **kwargs)  # here, so that no error tells of the first call

    def _on_a_device(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a program with kernels for arguments that may hold arrays of other libraries."""
        from diffjit.lowering.cuda.foreign import taken

        given = taken(args, kwargs)
        call = flatten_call(given.args, given.kwargs)
        compiled, finish = self.lookup(call, given.args, given.kwargs)
        try:
            outs = compiled(call.leaves)
        finally:
            if compiled.mutated and not self.unchanged:
                given.write_back()
        return given.given_back(self.finished(finish, outs, call, given.args, given.kwargs))

    def taken(self, *args: Any) -> Here | Taken:
        """Arguments that may hold arrays of other libraries, as a program with kernels takes them."""
        if (self.backend or settings.backend) != "cuda":
            return Here(args)
        from diffjit.lowering.cuda.foreign import taken

        return taken(args, {})

    def finished(
        self, finish: Any, outs: tuple[Any, ...], call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """What the caller gets of a program's flat results; containers among the arguments become what it made them."""
        flat = call.results(outs)
        caller = Caller((*args, *kwargs.values()))
        result = rebuild(finish.value, flat, caller)
        if finish.changes:
            write_back(finish.changes, flat, caller)
        return result

    def shortcut(self, compiled: Compiled, finish: Any) -> Callable[[Sequence[Any]], Any] | None:
        """Calls of numbers and arrays, and of trees that look the same, where nothing else hangs on the arguments."""
        if finish.changes or compiled.changed_outside or compiled.apart is not None or gives_back(finish.value):
            return None
        take, run = quickly(finish.value), compiled.direct
        if run is None:
            return lambda args: take(compiled(args))
        return lambda args: take(run(*args))

    def lookup(self, call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Compiled, Any]:
        """The executable for this structure of arguments; specialised again when something outside has changed."""
        found = self.known(call)
        if found is None or not found[0].valid():
            with Building.lock, no_garbage_collection(), deep_calls():  # imports the compiler, the first time
                found = self.made(call, args, kwargs)
        if found[0].changed_outside:
            refuse_shared(found[0].changed_outside, (args, kwargs))
        if found[0].apart is not None:
            found[0].apart.check((*args, *kwargs.values()))
        return found

    def known(self, call: Arguments) -> tuple[Compiled, Any] | None:
        """What was made for such a call."""
        mode = self.backend or settings.backend, settings.form
        for key in (call.key,) if call.general is None else (call.key, call.general):
            fixed = self._fixed.get(key, frozenset())
            found = self._cache.get((key, mode, tuple(fixed_key(call.leaves, k) for k in sorted(fixed))))
            if found is not None:
                return found
        return None

    def made(self, call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Compiled, Any]:
        """The executable, made by this thread if none has made it."""
        backend = self.backend or settings.backend
        self.share(call)
        found = self.known(call)
        if found is not None and found[0].valid():
            return found
        if backend == "numba" and self.form() is not None:
            recalled = self.recall(call, args, kwargs)
            if recalled is not None:
                return recalled
        from diffjit.api.engine.engine import mistakes
        from diffjit.frontend.entry.demand import as_demanded
        from diffjit.ir.stages import recorded

        def build() -> tuple[Program, tuple[Compiled, Any]]:
            program = self.specialise(args, kwargs)
            return program, self.build(program, call)

        with mistakes("building", self), recorded(self):
            program, made = as_demanded(self.takes, build)
        if backend == "numba" and self.form() is not None:
            from diffjit.api.engine import manifest

            manifest.remember(self, call, args, kwargs, program, made)
        self.keep(call, backend, program.fixed, made)
        return made

    def share(self, call: Arguments) -> None:
        """Take over what was made for others that are made like this one (`shared`)."""
        own = shared.kept(self, root(self), _ways(self))
        self._cache, self._fixed, self._shortcuts = own.cache, own.fixed, own.shortcuts
        self._templates = own.templates
        if self._templates and self.known(call) is None:
            self._take(call)

    def _take(self, call: Arguments) -> None:
        """A program that was made for another function of the same code."""
        mode = self.backend or settings.backend, settings.form
        fixed = self._templates.get((call.key, mode))
        values = () if fixed is None else tuple(fixed_key(call.leaves, k) for k in sorted(fixed))
        found = self._templates.get((call.key, mode, values))
        compiled = None if found is None else shared.attached(found[0], root(self))
        if compiled is not None and found is not None and fixed is not None:
            self._hold(call, mode[0], fixed, (compiled, found[1]))

    def options(self) -> frozenset[tuple[str, type, Any]]:
        """How it is made from its function, to be compared with others: TypeError where that cannot be."""
        return frozenset((k, type(v), v) for k, v in vars(self).items() if k not in NO_OPTIONS)

    def keep(self, call: Arguments, backend: str, fixed: frozenset[int], made: tuple[Compiled, Any]) -> None:
        """Keep a program for later calls; `fixed` leaves have the same values there."""
        self._hold(call, backend, fixed, made)
        template = shared.detached(made[0], root(self))
        if template is not None:
            mode = backend, settings.form
            self._templates[call.key, mode] = fixed
            values = tuple(fixed_key(call.leaves, k) for k in sorted(fixed))
            self._templates[call.key, mode, values] = template, made[1]

    def _hold(self, call: Arguments, backend: str, fixed: frozenset[int], made: tuple[Compiled, Any]) -> None:
        if fixed:
            self._fixed[call.key] = fixed
        if len(self._cache) >= MAX_SPECIALISATIONS:
            self._cache.clear()
            self._shortcuts.clear()
            self._templates.clear()
        self._cache[call.key, (backend, settings.form), tuple(fixed_key(call.leaves, k) for k in sorted(fixed))] = made

    def recall(self, call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Compiled, Any] | None:
        """What another process has compiled for such a call."""
        from diffjit.api.engine import manifest

        found = manifest.recall(self, call, args, kwargs)
        if found is None:
            return None
        compiled, result, fixed = found
        self.keep(call, "numba", fixed, (compiled, result))
        return compiled, result

    def form(self) -> tuple[Any, ...] | None:
        """How this is made from its function, as data; None where other processes do not learn of it."""
        return None

    def specialise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The program of the function that this one is made from."""
        from diffjit.api.engine.engine import program_of

        return program_of(self.function, args, kwargs)

    def transform(self, program: Program, call: Arguments, *, compiled: str = "") -> Program:
        """The program of this function, made from that of the function that it is made from.

        A call runs it, a program that calls this function copies it in. `compiled`: where it becomes machine code.
        """
        del call, compiled
        return program

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, Any]:
        """The executable, and how its flat results become this function's result."""
        from diffjit.api.engine.engine import executable, is_compiled
        from diffjit.transforms.outlined import own

        made = self.transform(program, call, compiled=is_compiled(self.backend))
        if self.unchanged:
            made.function.body.results = own(made.function.body.results, made.function)
        compiled = executable(program, made.function, self.backend, unchanged=self.unchanged, settled=self.settled)
        return compiled, Result(made.result, made.changes)

    def inputs(self, compiled: Compiled, finish: Any, call: Arguments) -> list[Any]:
        """What the executable is given at such a call."""
        del finish
        return [*call.leaves, *(getter() for getter in compiled.captures)]

    def __repr__(self) -> str:
        return f"<diffjit.{type(self).__name__.lower()} of {getattr(self.function, '__name__', self.function)}>"


D = TypeVar("D", bound=Derived)


def cached(cls: type[D], *settings: Any) -> D:
    """The function of this class and these settings, the same for every call of a verb."""
    key = cls, *settings
    try:
        made = _CACHED.get(key)
    except TypeError:  # settings that cannot be compared
        return cls(*settings)
    if made is None:
        if len(_CACHED) >= MAX_CACHED:
            _CACHED.clear()
        made = _CACHED.setdefault(key, cls(*settings))  # another thread may have made it
    return made  # type: ignore[return-value]


def root(derived: Any) -> Any:
    """The function that everything starts from."""
    while isinstance(derived, Derived):
        derived = derived.function
    return derived


def _ways(derived: Any) -> Iterator[tuple[type, frozenset[Any]]]:
    """How it is made from the function that everything starts from, step by step."""
    while isinstance(derived, Derived):
        yield type(derived), derived.options()
        derived = derived.function


def _made_again(cls: type[Derived]) -> Derived:
    return cls.__new__(cls)


def _stands_in_its_module(derived: Any) -> bool:
    """Whether a name leads to it: it was made by a decorator."""
    found = sys.modules.get(getattr(derived, "__module__", ""))
    for part in getattr(derived, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is derived


@dataclass(slots=True, eq=False)
class Result:
    """How a program's flat results become what the function returns, and what it leaves in its arguments."""

    value: Any
    changes: list[Change]


def quickly(value: Any) -> Callable[[tuple[Any, ...]], Any]:
    """`rebuild` of one tree: of one number or array, and of tuples of them, without a walk."""
    if type(value) is tuple and all(type(v) is Out for v in value):
        places = [v.index for v in value]
        if places == list(range(len(places))):
            return operator.itemgetter(slice(len(places)))
        if len(places) > 1:
            return operator.itemgetter(*places)
    return _put_together(value, set()) or (lambda outs: rebuild(value, outs, Caller()))


def _put_together(value: Any, met: set[int]) -> Callable[[Sequence[Any]], Any] | None:
    """The same of tuples, lists and dicts that stand at one place each; None of other things."""
    kind = type(value)
    if kind is Out:
        return operator.itemgetter(value.index)
    if kind in (float, int, str, bool, type(None)):
        return lambda _: value
    if kind not in (tuple, list, dict) or (kind is not tuple and id(value) in met):
        return None
    met.add(id(value))
    parts = [_put_together(v, met) for v in (value.values() if kind is dict else value)]
    makers = [part for part in parts if part is not None]
    if len(makers) < len(parts):
        return None
    if kind is list:
        return lambda outs: [make(outs) for make in makers]
    if kind is tuple:
        return lambda outs: tuple([make(outs) for make in makers])
    keys = tuple(value)
    return lambda outs: dict(zip(keys, [make(outs) for make in makers], strict=True))


class Jitted(Derived):
    """The function itself, compiled."""

    unchanged = False
    takes = ()

    def form(self) -> tuple[Any, ...] | None:
        """It has no choices."""
        return ("jit",)

    def specialise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The program, with what it leaves in the caller's containers."""
        from diffjit.api.engine.engine import program_of

        return program_of(self.function, args, kwargs, with_changes=True)

    def program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """A jitted function is differentiated as the function itself."""
        from diffjit.api.engine.engine import program_of

        return program_of(self.function, args, kwargs)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.engine.inline import abstract_function

        return interpreter.call(abstract_function(interpreter, self.function), args, kwargs, node)


def verb(make: Callable[P, R]) -> Callable[P, R]:
    """A verb that makes a function: users call it, and programs, where it makes a static callable."""
    called = boundary(make)

    def inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        from diffjit.api.engine.inline import call_verb

        del node
        return call_verb(make, interpreter, args, kwargs)

    called.__diffjit_inline__ = inside  # type: ignore[attr-defined]
    return called


def parameter_position(function: Any, name: str) -> int | None:
    """The position of a positional parameter, or None."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    for k, p in enumerate(parameters.values()):
        if p.name == name and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            return k
    return None


def _no_function(given: Any) -> UsageError:
    """The error for something that is not a function."""
    if isinstance(given, (classmethod, property, functools.cached_property)):
        kind = type(given).__name__
        cure = f"decorate the function: the line `@{kind}` goes above diffjit's"
        return UsageError("DJ504", f"a {kind} is not a function", cure=cure)
    cure = "pass the function itself, not its result: `grad(f)`, not `grad(f(x))`"
    return UsageError("DJ504", f"{given!r} is not a function", cure=cure)


def selected(argnums: Any) -> Any:
    """What argnums asks for: a position, a name, or a tuple of these; NumPy's integers are positions, too."""
    try:
        if isinstance(argnums, str):
            return argnums
        if not np.iterable(argnums):
            return operator.index(argnums)
        return tuple(which if isinstance(which, str) else operator.index(which) for which in argnums)
    except TypeError:
        raise UsageError(
            "DJ505",
            f"argnums is {argnums!r}, which is no position or name of an argument",
            cure="give an int, a name, or a tuple of these; the function's own arguments come after: `grad(f)(x)`",
        ) from None


def resolve(function: Any, argnums: Any, call: Arguments) -> list[int | str]:
    """Positions or names of arguments, each to a positional index or a keyword of this call."""
    single = isinstance(argnums, (int, str))
    found: list[int | str] = []
    for which in [argnums] if single else list(argnums):
        if isinstance(which, str):
            if which in call.keywords:
                found.append(which)
                continue
            position = parameter_position(function, which)
            if position is None or position >= len(call.positional):
                names = ", ".join(_names(function))
                problem = "was called without" if which in _names(function) else "has no parameter"
                raise UsageError(
                    "DJ505",
                    f"`{_called(function)}` {problem} `{which}`, which argnums asks for",
                    cure=f"its parameters are: {names}",
                )
            found.append(position)
        else:
            position = which if which >= 0 else which + len(call.positional)
            if not 0 <= position < len(call.positional):
                named = _names(function)
                if 0 <= position < len(named) and named[position] in call.keywords:
                    found.append(named[position])
                    continue
                raise UsageError(
                    "DJ505",
                    f"argnums has position {which}, but the call has {len(call.positional)} positional arguments",
                    cure="count from 0, or use the argument's name",
                )
            found.append(position)
    return found


def _names(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


def _called(function: Any) -> str:
    return getattr(function, "__name__", str(function))
