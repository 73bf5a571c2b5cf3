"""Compiles IR for the CPU: generated module -> Numba -> a Python callable that raises what NumPy would."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from diffjit.analysis.manager import analyses
from diffjit.errors import DiffjitError, InternalError, TypeProblem
from diffjit.garbage import no_garbage_collection
from diffjit.ir import stages
from diffjit.ir.nodes import Function, Loc, Op, Value
from diffjit.ir.raising import leaves_traces
from diffjit.ir.types import Array, List, Scalar, Stack
from diffjit.ir.walk import callees, uses, walk
from diffjit.lowering.calls import cache, failures
from diffjit.lowering.calls.entry import TOO_LONG, Entry, wrapper
from diffjit.lowering.calls.native import Native
from diffjit.lowering.flow.trees import TREES, Trees
from diffjit.lowering.llvm import numba_internals, outside, tiers
from diffjit.lowering.llvm.emission import MODULE_KEY
from diffjit.lowering.runtime.tape import Tape
from diffjit.lowering.runtime.typespec import spec_of
from diffjit.lowering.text.module import Module, lower, recursive_ones
from diffjit.tree import NO_THREADS, is_long

_wanted: ContextVar[list[str] | None] = ContextVar("_wanted", default=None)


@contextmanager
def texts() -> Iterator[list[str]]:
    """Collect the text of what would be compiled meanwhile (`stage="lowered"`), and compile nothing."""
    written: list[str] = []
    token = _wanted.set(written)
    try:
        yield written
    finally:
        _wanted.reset(token)


def compile_function(
    function: Function,
    *,
    name_hint: str | None = None,
    residual_outs: frozenset[int] = frozenset(),
    settled: bool = False,
    threads_from: int = NO_THREADS,
    device: str = "",
) -> Callable[..., tuple[Any, ...]]:
    """A callable of flat arguments that returns the tuple of results.

    Arguments are arrays, Python numbers for weak scalars and NumPy's for others. Results are arrays, Python numbers for
    weak scalars, NumPy scalars for others, and Python lists for lists. Results at the positions `residual_outs` that
    are lists or stacks come back as opaque `Tape`s, which another compiled function takes where it has a list or stack
    as parameter: nothing is copied. A pullback that is called twice copies its stacks itself (`stack_copy`) before it
    pops. `settled`: every call has arguments of the same types, down to layout and alignment. `threads_from`: nests of
    so many axes may have so many elements that threads pay. `device`: the form of the kernels of a device that runs
    what threads would, "" without.
    """
    _refuse_dtypes(function)
    module = lower(function, residual_outs, threads_from=threads_from, device=device)
    stages.note("lowered", "py", lambda: module.text)
    written = _wanted.get()
    if written is not None:
        written.append(module.text)
        return _never
    key = int(cache.digest(module.text)[:15], 16)
    loaded = _load(module, name_hint or function.name, key)
    dispatcher = getattr(loaded, module.entry)
    words = {n: _words(op) for n, op in module.ops.items()}
    first = FirstCall(dispatcher, module.places, settled=settled, loc=_place(function))
    _stays_for(first, loaded)
    entry = Entry(
        function.name,
        len(function.results),
        _conversions(function, residual_outs, first),
        key,
        failures.Sites(module.places, words, module.promises),
    )
    first.tiers = leaves_no_traces(function)  # tapes hold on to it, and it to all code that was made for it
    call: Any = wrapper(entry, None, first)
    call.entry, call.described, call.first = dispatcher, entry, first
    return call


def _never(*_args: Any) -> tuple[Any, ...]:
    raise AssertionError("only its text was wanted")


_MACHINE = frozenset({"bool", "float32", "float64", "complex64", "complex128"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def _refuse_dtypes(function: Function) -> None:
    """Half and extended precision: NumPy has them, Numba has not."""
    for f in callees(function):
        made = [(v, op.loc) for op in walk(f.body) for v in op.outputs]
        for v, loc in [*((p, None) for p in f.params), *made]:
            dtype = getattr(v.type, "dtype", None)
            if dtype is not None and dtype.name not in _MACHINE:
                source = _place(f)
                raise TypeProblem(
                    "DJ323",
                    f"numbers of dtype {dtype.name} cannot be compiled",
                    loc=loc or source,
                    cure='use np.float32 or np.float64; backend="python" takes them as they are',
                )


def _place(function: Function) -> Loc | None:
    """The first line of the user's function."""
    f = function
    return Loc(f.source_file, f.source_line, 0, 0, f.name) if f.source_file else None


def _words(op: Op) -> failures.Words:
    types_in = tuple(v.type for v in op.inputs)
    said = (op.attrs.get(name) for name in ("exception", "found", "held"))
    return failures.Words(types_in, tuple(op.attrs.get("parts", ())), *said)


def _load(module: Module, hint: str, key: int) -> types.ModuleType:
    """Write and import the generated module."""
    stem = re.sub(r"\W", "_", hint) or "function"
    path = cache.module_file(stem, module.text)
    name = f"{cache.PACKAGE}.{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    loaded = types.ModuleType(name)
    loaded.__file__ = str(path)
    setattr(loaded, MODULE_KEY, key)
    linecache.cache[str(path)] = (len(module.text), None, module.text.splitlines(keepends=True), str(path))
    tree = ast.parse(module.text)
    exec(compile(tree, str(path), "exec"), loaded.__dict__)  # noqa: S102 - our own text
    setattr(loaded, TREES, Trees(module.text, tree))
    return loaded


_users: Counter[str] = Counter()  # how many programs run what each generated module holds


def _stays_for(program: FirstCall, loaded: types.ModuleType) -> None:
    """A generated module is among those of Python, where Numba looks for it, as long as there is a program of it.

    Machine code ends with the dispatchers, and these with their module.
    """
    name = loaded.__name__
    _users[name] += 1
    sys.modules[name] = loaded  # again, where the last other program of it has ended since it was found
    weakref.finalize(program, _leave, name).atexit = False


def _leave(name: str) -> None:
    _users[name] -= 1
    if not _users[name]:
        del _users[name]
        module = sys.modules.pop(name)
        linecache.cache.pop(str(module.__file__), None)
        for held in vars(module).values():
            if isinstance(held, numba_internals.Dispatcher):
                numba_internals.forget(held)


def _conversions(
    function: Function, residual_outs: frozenset[int], program: FirstCall
) -> list[tuple[int, Callable[[Any], Any]]]:
    """What Python has to do to results: make NumPy scalars, wrap tapes, mark broadcast views read-only."""
    found: list[tuple[int, Callable[[Any], Any]]] = []
    for k, v in enumerate(function.results):
        ty = v.type
        if isinstance(ty, Scalar) and not ty.weak:
            found.append((k, ty.dtype.type))
        elif isinstance(ty, (List, Stack)) and k in residual_outs:
            found.append((k, partial(_tape, spec_of(ty), program)))
        elif isinstance(ty, List) and isinstance(ty.elem, Scalar) and not ty.elem.weak:
            found.append((k, partial(_strong_items, ty.elem.dtype.type)))
        elif isinstance(ty, Array) and ty.ndim == 0:
            found.append((k, np.asarray))  # boxing turns 0-d arrays into scalars
        elif isinstance(ty, Array) and v.op is not None and v.op.kind == "broadcast_to":
            found.append((k, _read_only))
    return found


def _tape(spec: str, owner: Any, meminfo: Any) -> Tape:
    return Tape(meminfo, spec, owner)


def _strong_items(make: type[np.generic], items: list[Any]) -> list[Any]:
    return [make(x) for x in items]


def _read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def leaves_no_traces(function: Function) -> bool:
    """Whether a program may be left and started again: nobody sees what it has done before.

    What it has printed is not printed again (`failures.counted_prints`).
    Nor does it call itself, as quick code takes much of the stack.
    """
    functions = callees(function)
    memory = analyses(function).memory
    used = uses(function) if any(isinstance(p.type, Stack) for p in function.params) else {}

    def changed(parameter: Value) -> bool:
        if isinstance(parameter.type, Stack):  # a pullback takes copies of its tapes apart
            return any(not isinstance(user, Op) or user.kind != "stack_copy" for user in used.get(parameter, ()))
        return isinstance(parameter.type, (Array, List)) and memory.written(parameter)

    return (
        not recursive_ones(functions)
        and not any(map(changed, function.params))
        and not any(op.kind != "print" and leaves_traces(op) for f in functions for op in walk(f.body))
    )


class FirstCall:
    """Compiles at the first call. Where all calls have arguments of the same types, later ones skip the dispatcher."""

    def __init__(self, dispatcher: Any, places: list[Loc | None], *, settled: bool, loc: Loc | None = None) -> None:
        self.dispatcher = dispatcher
        self.loc = loc  # of the function
        self.places = places  # in the user's file, by lines of the text
        self.settled = settled
        self.ready: Callable[..., Any] | None = None
        self.then: Callable[[Native], None] | None = None  # what to do with code that runs without Numba
        self.tiers = False  # whether it may run quick code first
        self.job: tiers.Job | None = None  # whose fast code is on its way
        self.light: Callable[..., Any] | None = None
        self.given: tuple[Any, ...] = ()  # the types of arguments that the job is for
        self.stages = stages.listening()

    def mistake(self, error: Exception) -> InternalError:
        """What compiled code does not raise, compiling it has: with the user's line, where Numba says which."""
        line = getattr(getattr(error, "loc", None), "line", None) or 0
        at = [*self.places[: line + 1][::-1], *self.places] if line < len(self.places) else self.places
        loc = next((p for p in at if p is not None), None)
        return InternalError.of(f"compiling `{self.dispatcher.__name__}`", error, loc, hint=self._text_of(error))

    def _text_of(self, error: Exception) -> str:
        """The line of the loops that an error is about, innermost first, for who mends it."""
        file = self.dispatcher.py_func.__code__.co_filename
        found = re.search(rf'{re.escape(Path(file).name)}", line (\d+)', str(error))
        return f"; it was made in `{linecache.getline(file, int(found[1])).strip()}`" if found else ""

    @contextmanager
    def compiling(self, listener: stages.Stages | None) -> Iterator[None]:
        """What compiling raises is a mistake of diffjit's or of LLVM's, and told as such."""
        with no_garbage_collection(), stages.told(listener):
            try:
                yield
            except (failures.Stopped, DiffjitError, MemoryError):
                raise
            except outside.Fatal as fatal:
                raise self._refused(fatal) from None
            except Exception as error:
                raise self.mistake(error) from error

    def _types(self, args: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(numba_internals.type_of(self.dispatcher, a) for a in args)

    def anew(self, args: Iterable[Any]) -> None:
        """Compile for arguments like these, whatever there is already, and tell who listens."""
        from diffjit.lowering.llvm.compiler import compile_anew

        with self.compiling(stages.listening()):
            compile_anew(self.dispatcher, args)

    def __call__(self, *args: Any) -> Any:
        """The compiled function's results."""
        dispatcher = self.dispatcher
        if any(map(is_long, args)):  # Numba would look for another type
            raise OverflowError(TOO_LONG)
        if self.job is not None or (self.tiers and self.stages is None and tiers.allowed()):
            return self._in_tiers(args)
        if self.stages is not None and dispatcher.overloads:  # another program with the same text was compiled before
            with stages.told(self.stages):
                self.anew(args)
        with self.compiling(self.stages):
            numba_internals.compile_for(dispatcher, args)
        result = dispatcher(*args)  # outside: it may run for long, and call Python, whose garbage is collected
        self.stages = None
        self.ready = dispatcher
        given = self._types(args)
        made = dispatcher.overloads.get(given)  # None where there are parameters with defaults
        if made is not None and self.settled:
            self.ready = made.entry_point
        self.tell(given)
        return result

    def tell(self, given: tuple[Any, ...]) -> None:
        """Tell who waits for it of code that runs without Numba."""
        if not self.settled:
            return
        native = numba_internals.cache_of(self.dispatcher).natives.get(given)
        then = self.then  # once: of two first calls, one may be done with it
        if native is not None and then is not None:
            then(native)

    def _in_tiers(self, args: tuple[Any, ...]) -> Any:
        """The results, by quick code until there is fast code."""
        if self.job is None:
            self._begin(args)
        elif not self.settled and self._types(args) != self.given:
            with self.compiling(None):
                numba_internals.compile_for(self.dispatcher, args)
            return self.dispatcher(*args)
        job, light = self.job, self.light
        if job is None or light is None:  # there is only fast code
            assert self.ready is not None
            return self.ready(*args)
        if job.failed and not job.fatal:
            self._compile_alone(args)
        elif job.failed:
            self.ready = light if self.settled else self.dispatcher
        elif job.ready is not None:
            self.ready = job.ready if self.settled else self._with_fast_code(job)
        return job.call(light, args) if self.ready is None else self.ready(*args)

    def _begin(self, args: tuple[Any, ...]) -> None:
        """Compile quickly; another program of the same text may have done so already."""
        dispatcher = self.dispatcher
        self.given = self._types(args)
        with self.compiling(None), tiers.session():
            dispatcher.compile(self.given)
        made = dispatcher.overloads[self.given]
        job = numba_internals.cache_of(dispatcher).jobs.get(self.given)
        if job is not None:
            self.light = made.entry_point
            self.job = job  # last: another thread that sees it runs the light code
            job.afterwards(partial(self.tell, self.given))
        elif getattr(made.library, "pending", None) is not None:
            self._compile_alone(args)
        else:  # from the disk, or not to be made quickly
            self.ready = made.entry_point if self.settled else dispatcher
            self.tell(self.given)

    def _with_fast_code(self, job: tiers.Job) -> Any:
        """What takes arguments of any types, with the fast code for those that have it."""
        from diffjit.lowering.llvm.compiler import with_overload

        with self.compiling(None):
            return with_overload(self.dispatcher, job.parts)

    def _compile_alone(self, args: tuple[Any, ...]) -> None:
        """Compile it anew, as fast as it gets, and wait for that."""
        from diffjit.lowering.llvm.compiler import compiled

        self.dispatcher = compiled(self.dispatcher.py_func)
        given = self._types(args)
        with self.compiling(None):
            self.dispatcher.compile(given)
        self.ready = self.dispatcher.overloads[given].entry_point if self.settled else self.dispatcher
        self.job, self.light = None, None  # last: another thread that sees this runs what is ready
        self.tell(given)

    def _refused(self, fatal: outside.Fatal) -> InternalError:
        words = fatal.words.splitlines()
        return InternalError(
            "DJ902",
            "LLVM does not survive this function: it ended the process that compiled it, whichever passes ran",
            loc=self.loc,
            note=words[-1][:400] if words else "",
            cure='please report this with the function; backend="python" runs it without LLVM',
        )
