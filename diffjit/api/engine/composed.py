"""Verbs that are programs by being copied in.

A `Composed` function says how a call of it is built inside a program under interpretation (`__diffjit_inline__`);
called from Python, it is specialised like a user's function that consists of that call. So every verb, `jit` and
programs that call it find one thing: a program.

A verb that is called with all that it works on, as `root`, says which call of a `Composed` function it stands for
(`applied`); from Python that call is made, inside a program it is copied in.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, ParamSpec

from diffjit import tree
from diffjit.api.engine.derived import NO_OPTIONS, Derived, cached
from diffjit.api.engine.engine import program_of
from diffjit.api.engine.tracebacks import shorten
from diffjit.dataclass import dataclass
from diffjit.errors import UsageError
from diffjit.frontend.entry.outputs import OptOut, RecordOut
from diffjit.frontend.entry.program import Program
from diffjit.frontend.values.values import Static
from diffjit.ir.build import Builder

P = ParamSpec("P")


def certain(program: Program, spec: Any, what: str) -> Any:
    """A tree of results without any that may be None: where one is, the program raises."""
    match spec:
        case OptOut():
            body = program.function.body
            Builder(body).raise_where(body.results[spec.flag], TypeError, f"`{program.function.name}` {what}")
            return certain(program, spec.inner, what)
        case RecordOut():
            return RecordOut(spec.cls, {n: certain(program, v, what) for n, v in spec.fields.items()})
        case tuple():
            items = [certain(program, v, what) for v in spec]
            return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
        case list():
            return [certain(program, v, what) for v in spec]
        case dict():
            return {k: certain(program, v, what) for k, v in spec.items()}
        case _:
            return spec


class Composed(Derived):
    """A function made from another one by building around a copy of it."""

    takes = ()  # of itself: what it takes of its function, it says when it copies that in

    def specialise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        """The program that consists of this call."""
        return program_of(self, args, kwargs)

    def form(self) -> tuple[Any, ...] | None:
        """Which verb, with which options."""
        options = sorted((k, v) for k, v in vars(self).items() if k not in NO_OPTIONS)
        return (type(self).__qualname__, *options) if all(_is_plain(v) for _, v in options) else None

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        raise NotImplementedError


def _is_plain(option: Any) -> bool:
    """Whether it means the same in another process, and prints as what it is."""
    if type(option) in (tuple, list):
        return all(map(_is_plain, option))
    return option is None or type(option) in (bool, int, float, str)


class Marked(Composed):
    """A function that means something to derivatives; called from Python, it is the function itself."""

    apart = True  # what it returns is its own, here as in programs

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        try:
            result = self.function(*args, **kwargs)
            return tree.apart(result, (args, kwargs)) if self.apart else result
        except BaseException as error:
            shorten(error)
            raise


class Call(NamedTuple):
    """A call of a composed function: its class and settings, and what it is called with."""

    made: type[Composed]
    settings: tuple[Any, ...]
    args: tuple[Any, ...]
    named: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Parameters:
    """How a program's call of a verb is taken: which arguments belong to the function, and which to the call."""

    verb: str
    parameters: tuple[inspect.Parameter, ...]
    constants: Sequence[str]
    settings: dict[str, Callable[[Any, Any], Any]]
    missing: Callable[[str, str, str], UsageError]
    options: str

    def bound(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the verb; values that are not given are their defaults."""
        first = [p.name for p in self.parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        options = [p.name for p in self.parameters if p.kind is p.KEYWORD_ONLY]
        given = dict(zip(first, args, strict=False))
        for name, value in kwargs.items():
            if name in given or name not in (*first, *options):
                raise _refused(f"{self.verb}: there is no option `{name}`", self.options.format(", ".join(options)))
            given[name] = value
        for p in self.parameters:
            if p.kind is not p.VAR_POSITIONAL and p.name not in given:
                if p.default is p.empty:
                    raise self.missing(self.verb, p.name, f"{self.verb}({', '.join(first)}, *args)")
                given[p.name] = Static(p.default)
        taken = {name: self.taken(interpreter, name, value) for name, value in given.items()}
        return [*(taken[name] for name in first), *args[len(first) :]], {name: taken[name] for name in options}

    def taken(self, interpreter: Any, parameter: str, value: Any) -> Any:
        """An argument as the verb takes it."""
        if parameter not in self.constants:
            return self.settings[parameter](interpreter, value) if parameter in self.settings else value
        if isinstance(value, Static):
            return value.obj
        raise _refused(f"{self.verb}: `{parameter}` is only known at run time", "write it as a constant")


def missing_argument(verb: str, parameter: str, form: str) -> UsageError:
    """The error for a call inside a program that lacks an argument."""
    return _refused(f"{verb}: the argument `{parameter}` is missing", form)


def _refused(problem: str, cure: str) -> UsageError:
    return UsageError("DJ530", problem, cure=cure)


def applied(
    constants: Sequence[str] = (),
    *,
    checked: Callable[..., tuple[Any, ...]] | None = None,
    missing: Callable[[str, str, str], UsageError] = missing_argument,
    options: str = "the options are {}",
    **settings: Callable[[Any, Any], Any],
) -> Callable[[Callable[P, Call]], Callable[P, Any]]:
    """A verb by a function that says which call it stands for, of values or of what stands for them in programs.

    constants   parameters that a program must give as constants
    settings    how other parameters that belong to the function, not to the call, are taken out of a program
    checked     what looks at the call's arguments where there are any: at calls from Python
    missing, options   how it is said that an argument is missing, and which options there are
    """

    def decorate(describe: Callable[P, Call]) -> Callable[P, Any]:
        declared = tuple(inspect.signature(describe).parameters.values())
        parameters = Parameters(describe.__name__, declared, constants, settings, missing, options)

        def inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
            given, named = parameters.bound(interpreter, args, kwargs)
            call = describe(*given, **named)  # pyright: ignore[reportCallIssue]
            return call.made(*call.settings).__diffjit_inline__(interpreter, list(call.args), dict(call.named), node)

        @functools.wraps(describe)
        def verb(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                call = describe(*args, **kwargs)
                given = call.args if checked is None else checked(*call.args)
                return cached(call.made, *call.settings)(*given, **call.named)
            except BaseException as error:
                shorten(error)
                raise

        verb.__diffjit_inline__ = inside  # type: ignore[attr-defined]
        return verb

    return decorate
