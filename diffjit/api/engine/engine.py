"""From a Python function and arguments to a specialised IR program, and from there to an executable.

Imported with the first program that has to be built: a cached one runs without.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import diffjit.primitives  # noqa: F401 - declares the primitives
from diffjit import rare, tree
from diffjit.analysis.manager import analyses
from diffjit.analysis.numbers import review_numbers
from diffjit.api.engine.programs import Building, Compiled
from diffjit.errors import DiffjitError, InternalError, UsageError
from diffjit.frontend.entry.demand import Undemanded
from diffjit.frontend.entry.program import Program, specialise
from diffjit.ir.nodes import Function, Loc, Op
from diffjit.ir.passes import Phase
from diffjit.ir.stages import record
from diffjit.ir.types import Array
from diffjit.ir.walk import callees, walk
from diffjit.settings import settings
from diffjit.transforms.checkpoint.calls import refuse_changes
from diffjit.transforms.custom import without_rules
from diffjit.transforms.pipeline import finish, numbers
from diffjit.transforms.prepare import WRITTEN
from diffjit.transforms.recursive.settled import settled as recursive_settled


def program_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, with_changes: bool = False) -> Program:
    """The program of a function, or of a derivative, for these arguments."""
    if tree.is_built_inside(function) and hasattr(function, "program"):
        return function.program(args, kwargs)
    try:
        with Building.lock:
            program = specialise(function, args, kwargs, with_changes=with_changes)
            if _cannot_run_twice(program):
                with rare.whole():
                    program = specialise(function, args, kwargs, with_changes=with_changes)
            review_numbers(program.function, in_place=program.changes_arrays)
    except Undemanded:
        raise
    except DiffjitError as error:
        raise error.at(_definition(function)).as_python() from error.__cause__
    except Exception as error:
        raise mistake(error, "specialising", function) from error
    with mistakes("specialising", function):
        record("interpreted", program.function)
        refuse_changes(program.function)
        finish(program.function, "program", Phase.PROGRAM)
    return program


def _cannot_run_twice(program: Program) -> bool:
    """Whether a program lacks a part, and something of a first run would be seen or changes what a second one does."""
    if not program.parts(asked=False):
        return False
    acts = any(op.row.effect and op.kind != "raise" for op in _everything(program.function))
    return acts or bool(program.streams or program.changed_outside or mutated_params(program.function))


def _everything(function: Function) -> Iterator[Op]:
    """The operations of a function, of those that it calls, and of their rules."""
    todo, seen = [function], set[int]()
    while todo:
        for each in callees(todo.pop()):
            if id(each) in seen:
                continue
            seen.add(id(each))
            for op in walk(each.body):
                yield op
                rules = op.attrs.get("rules")
                if rules is not None:
                    todo += (f for f in (rules.forward, rules.ahead, rules.back) if f is not None)


@contextmanager
def mistakes(doing: str, function: Any) -> Iterator[None]:
    """What diffjit raises here without meaning to is a mistake of its own, and told as such."""
    try:
        yield
    except (DiffjitError, MemoryError, Undemanded):
        raise
    except Exception as error:
        raise mistake(error, doing, function) from error


def mistake(error: Exception, doing: str, function: Any) -> InternalError:
    """The error for a mistake in diffjit, with the user's line that was worked on."""
    name = getattr(function, "__name__", function)
    return InternalError.of(f"{doing} `{name}`", error, _worked_on(error) or _definition(function))


def _worked_on(error: Exception) -> Loc | None:
    """The place of the operation that the innermost function had in its hands: its variables name it."""
    found: Loc | None = None
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            loc = value.loc if type(value) is Op else None
            found = loc or found
        trace = trace.tb_next
    return found


def _definition(function: Any) -> Loc | None:
    """Where a function is defined, for errors about the whole of it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Loc(code.co_filename, code.co_firstlineno, 0, 0, code.co_name)


def written_params(function: Function) -> list[int]:
    """Parameters whose arrays the program writes to itself."""
    memory = analyses(function).memory
    return [k for k, p in enumerate(function.params) if isinstance(p.type, Array) and memory.written(p)]


def mutated_params(function: Function) -> list[int]:
    """Parameters whose arrays the program writes to, or derivatives in it write to copies of."""
    memory = analyses(function).memory
    copied = {memory.find(op.inputs[0]) for op in walk(function.body) if WRITTEN in op.attrs}
    return [
        k
        for k, p in enumerate(function.params)
        if isinstance(p.type, Array) and (memory.written(p) or memory.find(p) in copied)
    ]


def is_compiled(backend: str | None) -> str:
    """The backend where programs become machine code: then small arrays are numbers before derivatives are taken, too.

    Else an empty text.
    """
    chosen = backend or settings.backend
    return chosen if chosen in ("numba", "cuda") else ""


def compile_ir(
    function: Function,
    backend: str | None,
    residuals: int = 0,
    *,
    settled: bool = False,
    threads_from: int = tree.NO_THREADS,
) -> Callable[..., Any]:
    """An executable for IR: flat arguments in, tuple of flat results out.

    `settled`: every call has arguments of the same types, down to layout and alignment. `threads_from`: how many axes a
    nest of loops has that may run in threads.
    """
    chosen = backend or settings.backend
    function = without_rules(function)
    if chosen == "python":
        from diffjit.lowering.python import compile_python

        return compile_python(function, residuals)
    if chosen in ("numba", "cuda"):
        from diffjit.lowering.calls.cpu import compile_function

        device = _device() if chosen == "cuda" else ""
        function = recursive_settled(numbers(function, compiled=chosen))
        n = len(function.results)
        tapes = frozenset(range(n - residuals, n))
        call = compile_function(
            function,
            residual_outs=tapes,
            settled=settled,
            threads_from=1 if device else threads_from,
            device=device,
        )
        if device:
            from diffjit.lowering.cuda.arguments import shared

            return shared(call, mutated_params(function))
        return call
    raise UsageError("DJ503", f"unknown backend {chosen!r}", cure='backends are "numba", "cuda" and "python"')


def _device() -> str:
    """The form of the kernels of the device at hand."""
    from diffjit.lowering.cuda.devices import form

    return form()


def executable(
    program: Program,
    function: Function,
    backend: str | None,
    *,
    unchanged: bool,
    residuals: int = 0,
    settled: bool = False,
) -> Compiled:
    """Compile an IR function with a program's captures and guards."""
    keys = [tree.leaf_key(g()) for g in program.captures]
    source = program.function
    place = Loc(source.source_file, source.source_line, 0, 0, source.name)
    return Compiled(
        compile_ir(function, backend, residuals, settled=settled, threads_from=program.threads_from),
        program.captures,
        keys,
        program.guards,
        [k for k in mutated_params(program.function) if k not in program.streams],
        unchanged,
        program.arg_names,
        place,
        program.streams,
        program.followed,
        program.portable,
        program.changed_outside,
        program.apart,
    )
