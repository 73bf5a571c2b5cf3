"""`foreign`: functions without source inside programs. C functions, and whatever Python can call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from diffjit.api.engine.tracebacks import boundary
from diffjit.errors import UsageError
from diffjit.frontend.outside.foreign import qualified
from diffjit.primitives.routines import Routine
from diffjit.primitives.signatures import Signature, is_ctypes, is_low_level, signature_of, undeclared


class ForeignFunction:
    """A function without source, with what has to be known of it."""

    def __init__(self, routine: Routine) -> None:
        self.routine = routine
        self.__name__ = routine.stem
        self.__doc__ = getattr(routine.function, "__doc__", None)

    @boundary
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function; a C function takes arrays where it takes pointers, and writes to them."""
        if self.routine.way != "c":
            return self.routine.function(*args, **kwargs)
        if kwargs:
            raise TypeError(f"{self.__name__}() takes no keyword arguments")
        return self.routine.call_c(list(args))

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        return interpreter.call_routine(self.routine, args, kwargs, node)

    def __repr__(self) -> str:
        return f"<diffjit.foreign {self.routine.name}>"


@boundary
def foreign(function: Any = None, result: Any = None, *, reads: Any = (), writes: Any = ()) -> Any:
    """A function without source, to be called inside programs.

    function        a ctypes function with `argtypes` and `restype`, a `scipy.LowLevelCallable`, an object of
                    `numba.cfunc`, a ufunc, or anything that Python can call; without it, a decorator
    result          of what Python has to call: what it returns, as `float`, `int`, `bool`, `complex`, a dtype, or a
                    function of its arguments that gives something of the same shape and dtype (`lambda a: a`);
                    tuples, lists and dicts of these
    reads, writes   positions of the pointers that a C function reads, and of those that it writes to (after reading
                    them or not); each pointer has to be among them

    The function must depend on its arguments alone, and change nothing but what it `writes`: a program may leave calls
    out whose results it does not need, and make others again. An array that C writes to is a copy, which is assigned to
    the caller's afterwards: what C reads is what was there before the call, also where arguments share memory.

    Its derivative is refused (DJ205) unless `custom_jvp` or `custom_vjp` has given it a rule. A declaration that is not
    enough is refused (DJ551). What Python raises comes out of the program as it is; a result that is not what was
    declared raises (DJ552).
    """
    if function is None:
        return lambda f: foreign(f, result, reads=reads, writes=writes)
    if not (callable(function) or is_low_level(function)):
        raise UsageError("DJ551", f"{function!r} is not a function", cure="pass the function itself, not its result")
    signature = signature_of(function) if result is None else None
    return ForeignFunction(
        _c_routine(function, signature, _positions(reads), _positions(writes))
        if signature is not None
        else _python_routine(function, result, reads, writes)
    )


def _inside(*_: Any) -> Any:
    raise UsageError(
        "DJ551", "a function without source is declared inside a program", cure="declare it outside, and call it there"
    )


foreign.__diffjit_inline__ = _inside  # type: ignore[attr-defined]


def _positions(given: int | Iterable[int]) -> frozenset[int]:
    return frozenset((given,) if isinstance(given, int) else given)


def _c_routine(function: Any, signature: Signature, reads: frozenset[int], writes: frozenset[int]) -> Routine:
    name = qualified(function)
    pointers = {k for k, p in enumerate(signature.taken) if p.pointer}
    silent = sorted(pointers - reads - writes)
    if silent:
        raise undeclared(
            name, f"takes a pointer as argument {silent[0]}, and does not say whether it reads or writes there",
            f"foreign({name}, reads={silent[0]}), or writes={silent[0]}",
        )  # fmt: skip
    wrong = sorted((reads | writes) - pointers)
    if wrong:
        raise undeclared(name, f"takes no pointer as argument {wrong[0]}", "count what a call gives, from 0")
    if signature.result is None and not writes:
        raise undeclared(name, "returns nothing, and is not said to write anywhere", f"foreign({name}, writes=0)")
    return Routine(function, name, "c", signature, reads, writes)


def _python_routine(function: Any, result: Any, reads: Any, writes: Any) -> Routine:
    name = qualified(function)
    if reads != () or writes != ():
        raise undeclared(name, "is called through Python, and has no pointers", "leave `reads` and `writes` out")
    if isinstance(function, np.ufunc) and function.signature is None and result is None:
        return Routine(function, name, "ufunc")
    if result is None:
        what = (
            "has no C signature" if not (is_ctypes(function) or is_low_level(function)) else "is called through Python"
        )
        raise undeclared(
            name, f"{what}, and does not say what it returns",
            f"foreign({name}, result=float), or a function of its arguments that gives something of the same shape "
            "and dtype: result=lambda a: a",
        )  # fmt: skip
    return Routine(function, name, "python", result=result)


__all__ = ["ForeignFunction", "foreign"]
