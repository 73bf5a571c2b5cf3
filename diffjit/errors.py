"""Errors that show the user's own line, what is wrong with it, and what to write instead.

Families: DJ1xx syntax, DJ2xx no rule, DJ3xx types, DJ4xx memory and aliasing, DJ5xx use of the API, DJ6xx numbers
that are not finite, DJ9xx ours.
"""

from __future__ import annotations

import functools
import linecache
from ast import literal_eval
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from diffjit.ir.nodes import Loc


class DiffjitError(Exception):
    """Base class of all errors that diffjit itself raises."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        loc: Loc | None = None,
        note: str = "",
        cure: str = "",
        python: type[Exception] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.loc = loc
        self.note = note
        self.cure = cure
        self.python = python  # what Python itself raises here: a `try` of the program may catch it
        self.branch: Any = None  # what is refused in a branch of a program, which may never be taken

    def at(self, loc: Loc | None) -> DiffjitError:
        """Fill in the place, if none is known yet."""
        if self.loc is None:
            self.loc = loc
        return self

    def as_python(self) -> DiffjitError:
        """The error as what Python or NumPy would raise, too: a caller's `except ValueError` catches it."""
        if self.python is None or isinstance(self, self.python):
            return self
        both = _both(type(self), self.python)
        made = both.__new__(both, *self.args)
        made.__dict__.update(self.__dict__)
        made.__cause__, made.__suppress_context__ = self.__cause__, True
        return made.with_traceback(self.__traceback__)

    def __reduce__(self) -> Any:
        """Across processes: as it is told, also where its class is one of diffjit's and one of Python's."""
        cls = type(self)
        own, python = (cls, None) if cls.__bases__[1:] != (self.python,) else cls.__bases__
        return _made_again, (own, python, self.args, {**vars(self), "branch": None})

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.loc is not None:
            lines += _excerpt(self.loc)
        if self.note:
            lines.append(f"note: {self.note}")
        if self.cure:
            lines.append(f"help: {self.cure}")
        return "\n".join(lines)


@functools.cache
def _both(own: type[DiffjitError], python: type[Exception]) -> type[DiffjitError]:
    return type(own.__name__, (own, python), {"__module__": own.__module__, "__doc__": own.__doc__})


def _made_again(own: type[DiffjitError], python: type[Exception] | None, args: Any, state: dict[str, Any]) -> Any:
    """An error that another process has raised."""
    cls = own if python is None else _both(own, python)
    made = cls.__new__(cls, *args)
    made.__dict__.update(state)
    return made


class UnsupportedSyntax(DiffjitError):
    """A construct outside the subset of Python that diffjit differentiates (DJ1xx)."""


class NoRule(DiffjitError):
    """A function without a derivative rule, or without a derivative (DJ2xx)."""


def without_rule(
    kind: str, what: str, loc: Loc | None = None, cure: str = "stop_gradient marks it as constant"
) -> NoRule:
    """The error for a kind of operation that a mode knows nothing of; `what` it lacks."""
    return NoRule("DJ202", f"`{kind}` has no {what}", loc=loc, cure=cure)


def real_only(kind: str, loc: Loc | None = None) -> NoRule:
    """The error for a kind of operation that is for real numbers alone."""
    cure = "write it with functions that have one, or its real and imaginary parts as separate real numbers"
    return NoRule("DJ203", f"`{kind}` has no derivative rule for complex numbers", loc=loc, cure=cure)


class TypeProblem(DiffjitError):
    """A value whose type does not fit, or changes on the way (DJ3xx)."""


class MemoryProblem(DiffjitError):
    """Aliasing or mutation that cannot be differentiated safely (DJ4xx)."""


class UsageError(DiffjitError):
    """The API was called with arguments that make no sense (DJ5xx)."""


class DeviceProblem(DiffjitError):
    """A GPU, or its driver, has failed (DJ563)."""


class NonFinite(DiffjitError, FloatingPointError):
    """A number stopped being finite while `settings.nan_check` was on (DJ601)."""

    def __init__(self, message: str, place: tuple[str, int, int, int, str] | None = None) -> None:
        from diffjit.ir.nodes import Loc

        super().__init__(
            "DJ601",
            message,
            loc=None if place is None else Loc(*place),
            cure="keep the operands away from where the function or its derivative is not finite; "
            "settings.nan_check = False switches this test off",
        )

    @classmethod
    def found(
        cls,
        what: str,
        names: tuple[str, ...],
        values: tuple[Any, ...],
        place: tuple[str, int, int, int, str] | None = None,
    ) -> NonFinite:
        """The error for a result, the first of the values, and its operands."""
        import numpy as np

        result, *operands = (np.asarray(v) for v in values)
        index = tuple(int(k[0]) for k in np.nonzero(~np.isfinite(result))) if result.ndim else ()
        where = f"[{', '.join(map(str, index))}]" if index else ""
        subject = what if not where else f"element {where} of {what}"
        error = cls(f"{subject} became {result[index]}", place)
        shown = [f"{name} = {_shown(v, result.shape, index)}" for name, v in zip(names, operands, strict=True)]
        error.note = ", ".join(dict.fromkeys(shown))
        return error


def _shown(value: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> str:
    """An operand at the element in question, or what there is to say of an array as a whole."""
    import numpy as np

    if value.ndim and value.shape == shape:
        return f"{value[index]} (at [{', '.join(map(str, index))}])"
    if not value.ndim:
        return str(value)
    return np.array2string(value, threshold=8, edgeitems=2, separator=", ").replace("\n", "")


class BrokenPromise(DiffjitError):
    """What compiled code relies on did not hold, as `settings.checked` has found: a mistake of diffjit's (DJ903)."""


class GradientMismatch(DiffjitError, AssertionError):
    """`check_grads` has found derivatives that disagree (DJ602); `report` holds all that was compared."""

    report: Any = None

    @classmethod
    def of(cls, report: Any, worst: Any) -> GradientMismatch:
        """The error for a report and its worst row."""
        place = worst.worst or worst.argument
        error = cls(
            "DJ602",
            f"the derivative of `{report.name}` by `{place}` disagrees with its difference quotient "
            f"(order {worst.order}, {worst.mode}): {worst.ad:.8g} and {worst.quotient:.8g}",
            note=worst.note,
            cure="a rule of your own may be wrong, or the function jumps or is rounded near this point; "
            "all comparisons stand below\n" + str(report),
        )
        error.report = report
        return error


def on_behalf(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A call that a program makes: what is raised is the program's own, as a file that does not exist."""
    return function(*args, **kwargs)


def words(function: Callable[..., Any], *args: Any) -> str:
    """What Python itself says when a call fails, in its own version's words; "" where it does not."""
    try:
        function(*args)
    except (ArithmeticError, ValueError, TypeError) as error:
        return str(error)
    return ""


def raised(cls: type[BaseException], args: tuple[Any, ...], fields: dict[str, Any] | None) -> BaseException:
    """An exception of a program: its class, its arguments, and what its `__init__` has set, which is not run again."""
    if fields is None:
        return cls(*args)
    native = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    error = native.__new__(cls, *args)
    native.__init__(error, *args)
    error.args = args
    for name, value in fields.items():
        object.__setattr__(error, name, value)
    return error


def filled(form: tuple[Any, ...], values: Iterator[Any], text: Callable[[tuple[Any, ...], Iterator[Any]], str]) -> Any:
    """What an exception holds: `("value", ...)` takes the next of the values, `("text", parts)` those of its formats.

    Others are `("constant", it)`, and `"tuple"`, `"list"` and `"dict"` of such forms.
    """
    kind, content = form
    match kind:
        case "value":
            return next(values)
        case "text":
            return text(content, values)
        case "tuple":
            return tuple(filled(item, values, text) for item in content)
        case "list":
            return [filled(item, values, text) for item in content]
        case "dict":
            return {key: filled(item, values, text) for key, item in content}
    return content


def field(spec: str) -> str:
    """The place of a value in a template of `str.format`."""
    return "{" + (spec if spec.startswith(("!", ":")) or not spec else ":" + spec) + "}"


def plainly(spec: str) -> str:
    """A specification of `format` that might be taken for another one: `*^10` fills with asterisks."""
    return f":{spec}" if spec.startswith(("%", "*", "&", "!", ":")) else spec


def each_written(between: str, parts: tuple[Any, ...]) -> str:
    """The specification of an array whose items are each written between literal text, and joined."""
    return "*" + repr((between, parts))


def in_another(parts: tuple[Any, ...], spec: str) -> str:
    """The specification of a value in a text, of these parts, that is written in a format of its own."""
    return "&" + repr((parts, spec))


def written(value: Any, spec: str) -> str:
    """A value in a text: `%5.2f` is Python's operator, `!r` its repr, and all else a specification of `format`.

    `*(between, parts)` is that of an array: its items one after another, each in the text that the parts are. So is
    `&(parts, spec)` that of one value, and the text is written as `spec` says.
    """
    if spec.startswith("&"):
        parts, around = literal_eval(spec[1:])
        text = "".join(p if isinstance(p, str) else written(value, p[1] or "") for p in parts)
        return written(text, around)
    if spec.startswith("*"):
        between, parts = literal_eval(spec[1:])
        return between.join("".join(p if isinstance(p, str) else written(v, p[1] or "") for p in parts) for v in value)
    return spec % (value,) if spec.startswith("%") else field(spec).format(value)


class CacheWarning(UserWarning):
    """The folder that keeps compiled programs cannot be used: all works as it should, and is compiled anew."""


class UntestedVersion(UserWarning):
    """A version of Python, NumPy, Numba or llvmlite is newer than any that diffjit has been tested with."""


class InternalError(DiffjitError):
    """A mistake in diffjit itself (DJ9xx). Please report it with the program that shows it."""

    @classmethod
    def of(cls, doing: str, error: Exception, loc: Loc | None = None, hint: str = "") -> InternalError:
        """The error for something that was not expected to be raised, which becomes its cause (DJ901)."""
        return cls(
            "DJ901",
            f"diffjit failed while {doing}: {type(error).__name__}: {_first_line(error)}",
            loc=loc,
            cure="this is a mistake in diffjit: please report it with the function; "
            "settings.full_tracebacks = True shows where it was made" + hint,
        )


def alike(name: str, names: Iterable[str]) -> str:
    """The cure for a name that is not there: one that looks like it, if any."""
    import difflib  # only messages need it

    found = difflib.get_close_matches(name, names, 1)
    return f"did you mean `{found[0]}`?" if found else ""


def _first_line(error: Exception) -> str:
    """What an error says, in a line; Numba begins with the name of the pass that it was in."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if not line.startswith("Failed in ")), lines[0] if lines else "")


def _excerpt(loc: Loc) -> list[str]:
    # Every text that `exec` runs is called `<string>`: the line may be that of another one.
    text = "" if loc.file == "<string>" else linecache.getline(loc.file, loc.line).rstrip("\n")
    number = str(loc.line)
    pad = " " * len(number)
    start = max(loc.col, len(text) - len(text.lstrip()))
    lines = [f"  --> {loc.file}:{loc.line}:{start + 1}"]
    if text:
        end = min(loc.end_col, len(text)) if loc.end_col > loc.col else len(text)
        caret = " " * start + "^" * max(1, end - start)
        lines += [f"{pad} |", f"{number} | {text}", f"{pad} | {caret}"]
    if loc.function:
        lines.append(f"note: in `{loc.function}`")
    return lines
