"""Functions without source: how they are called, and what a call of one takes and gives.

A `Routine` is such a function. It is called in one of three ways:

    "c"        a C function: numbers by value, arrays by pointer
    "ufunc"    a ufunc of NumPy's kind: its loop for certain dtypes, a C function, too
    "python"   anything that Python can call, through Python

A `Site` is a routine with the types that a call has; operations of kind `foreign` hold one. All calls of the same types
share it. `run` is the call as the Python backend makes it: a function of its operands alone. An array that a C
function writes to is an operand, and once more, changed, a result.
"""

from __future__ import annotations

import ctypes
import hashlib
import keyword
import re
import sys
import threading
from dataclasses import field
from typing import Any, cast

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import DiffjitError, UsageError
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.signatures import Signature, loop_of

_PYTHON = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


class _Run(threading.local):
    """The objects of Python that the run under way in this thread keeps (`primitives.opaque`)."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.began: list[Any] | None = None  # what a run that begins will keep


RUN = _Run()


@dataclass(frozen=True, slots=True)
class Slot:
    """A leaf in a tree of arguments or results: its position among the operands or results."""

    index: int


@dataclass(slots=True, eq=False)
class Routine:
    """A function without source."""

    function: Any
    name: str  # as messages name it
    way: str  # "c", "ufunc" or "python"
    signature: Signature | None = None
    reads: frozenset[int] = frozenset()  # positions of pointers, among what a call gives
    writes: frozenset[int] = frozenset()
    result: Any = None  # of a Python callable: what its results look like
    cure: str = ""  # what to do instead of taking its derivative
    steady: str = ""  # what other processes know it by, where they have the same one

    @property
    def stem(self) -> str:
        """A word for names in generated code."""
        word = re.sub(r"\W", "_", self.name.rsplit(".", 1)[-1]).strip("_") or "function"
        return word + "_" if keyword.iskeyword(word) or word[0].isdigit() else word

    @property
    def told(self) -> str:
        """What it is to users: a solver's own hands on what their functions do."""
        return "a function in a solver's hands" if self.name.startswith("diffjit.solvers.") else f"`{self.name}`"

    def call_c(self, given: list[Any], *, copied: bool = False) -> Any:
        """Call a C function: its result; with `copied`, that and the arrays that it writes to, which are copies."""
        signature = self.signature
        assert signature is not None
        if len(given) != len(signature.taken):
            raise TypeError(f"{self.stem}() takes {len(signature.taken)} arguments ({len(given)} given)")
        rest = iter(enumerate(given))
        passed: list[Any] = []
        changed: list[tuple[Any, np.ndarray]] = []
        alive: list[np.ndarray] = []
        for p in signature.parameters:
            if not p.given:
                passed.append(p.value)
                continue
            k, x = next(rest)
            if p.pointer:
                if np.asarray(x).dtype != p.dtype:
                    raise TypeError(f"{self.stem}() takes an array of {p.dtype} as argument {k}")
                writes = k in self.writes
                alive.append(np.array(x, order=cast("Any", p.order), copy=True if writes else None))
                passed.append(alive[-1].ctypes.data)
                changed += [(x, alive[-1])] if writes else []
            else:
                passed.append(_PYTHON[p.dtype.kind](x))
        value = _prototype(signature)(*passed)
        if not copied:
            for x, new in changed:
                x[...] = new
            return value
        if signature.result is not None and signature.result.kind == "u" and value >= 2**63:
            raise OverflowError("a Python int does not fit into 64 bits in compiled code")
        return [*([] if signature.result is None else [value]), *(new for _, new in changed)]


@dataclass(slots=True, eq=False)
class Site:
    """A routine, called with operands of certain types."""

    routine: Routine
    label: str  # its name in generated code: no other site of the process has it
    inputs: tuple[Scalar | Array, ...]
    outputs: tuple[Scalar | Array, ...]
    arguments: Any = None  # a tree with slots: what a Python callable is given, (args, kwargs)
    results: Any = None  # and what it returns
    loop: str = ""  # of a ufunc: the dtypes of its loop, "dd->d"
    catches: tuple[type, ...] = ()  # exceptions that are told instead of raised: the last result is the place of one
    kept: list[Any] = field(default_factory=list[Any])  # objects of the trees

    def __repr__(self) -> str:
        return f"<{self.label}>"

    @property
    def through_python(self) -> bool:
        """Whether Python is called, which may raise anything."""
        return self.routine.way == "python"

    def loops(self) -> tuple[int, int]:
        """The addresses of a ufunc's loop and of its data."""
        found = loop_of(self.routine.function, self.loop)
        assert found is not None  # else it would be called through Python
        return found

    # As the Python backend calls it

    @property
    def text(self) -> str:
        """What the text at the level of the user's code calls: a ufunc by its own name, else `run`."""
        home = module_of(self.routine.function) if self.routine.way == "ufunc" else None
        return self.label if home is None else f"{'np' if home == 'numpy' else home}.{self.routine.function.__name__}"

    def imports(self) -> dict[str, str]:
        """The names of modules that the text needs, and the lines that bring them."""
        if self.text == self.label:
            return {"SITES": "from diffjit.primitives.routines import SITES"}
        home = self.text.rpartition(".")[0]
        return {} if home == "np" else {home.partition(".")[0]: f"import {home}"}

    def definitions(self) -> dict[str, str]:
        """The names of functions that the text needs, and what they are."""
        return (
            {self.label: f'{self.label} = SITES["{self.label}"].run  # {self.routine.name}'}
            if self.text == self.label
            else {}
        )

    def run(self, *operands: Any) -> Any:
        """The results for arguments; where Python is called, the lengths of results that are arrays follow."""
        given = [_as(x, ty) for x, ty in zip(operands, self.inputs, strict=False)]
        if self.routine.way == "c":
            outs: list[Any] = self.routine.call_c(given, copied=True)
        elif self.routine.way == "ufunc":
            with np.errstate(all="ignore"):
                made = self.routine.function(*given, signature=self.loop, order="C")
            outs = list(cast("tuple[Any, ...]", made)) if isinstance(made, tuple) else [made]
        else:
            lengths = iter(operands[len(self.inputs) :])
            outs = self.call_python(given, [tuple(int(next(lengths)) for _ in range(_ndim(t))) for t in self.outputs])
        made = tuple(_as(x, ty) for x, ty in zip(outs, self.outputs, strict=True))
        return made[0] if len(made) == 1 else made

    def call_python(self, given: list[Any], shapes: list[tuple[int, ...]]) -> list[Any]:
        """What a Python callable returns, seen to have the form that was declared.

        It gets copies of arrays, which it may keep; what it would change of them would be lost, and is refused. One
        that has to see which arrays share memory gets the arrays themselves, and leaves them as they are.
        """
        itself = getattr(self.routine.function, "sees_memory", False)
        passed: list[Any] = [x if itself or not isinstance(x, np.ndarray) else x.copy(order="K") for x in given]
        args, kwargs = filled(self.arguments, passed)
        found: dict[int, Any] = {}
        kept = RUN.objects  # a program that Python runs meanwhile keeps objects of its own
        try:
            returned = self.routine.function(*args, **kwargs)
        except Exception as error:
            if not self.catches or isinstance(error, DiffjitError):
                raise
            return self._instead(error, shapes)
        finally:
            RUN.objects, RUN.began = kept if RUN.began is None else RUN.began, None
        for x, own in zip(given, passed, strict=True):
            if isinstance(x, np.ndarray) and not _same(x, own):
                raise UsageError(
                    "DJ552", f"{self.routine.told} changed an array that it was given",
                    cure="return what it computes, or change a copy",
                )  # fmt: skip
        self._collect(self.results, returned, found)
        if self.catches:
            found[len(self.outputs) - 1] = -1
        return [
            self._fitting(found[k], ty, shape) for k, (ty, shape) in enumerate(zip(self.outputs, shapes, strict=True))
        ]

    def _instead(self, error: Exception, shapes: list[tuple[int, ...]]) -> list[Any]:
        """What is given in place of results where an exception is told."""
        if type(error) not in self.catches:
            problem = f"{self.routine.told} raised {type(error).__name__}, and a `try` is around the call"
            cure = f"catch {type(error).__name__} inside of a function that Python calls, or test before the call"
            raise UsageError("DJ130", problem, cure=cure) from error
        nothing = [np.zeros(n, ty.dtype) if n else ty.dtype.type(0) for ty, n in zip(self.outputs, shapes, strict=True)]
        return [*nothing[:-1], self.catches.index(type(error))]

    def _collect(self, spec: Any, value: Any, found: dict[int, Any]) -> None:
        """The leaves of a result."""
        if isinstance(spec, Slot):
            found[spec.index] = value
        elif isinstance(spec, dict):
            parts = cast("dict[Any, Any]", spec)
            if not isinstance(value, dict) or set(cast("dict[Any, Any]", value)) != set(parts):
                raise self.unfit(f"{_told(value)} where a dict with the keys {list(parts)} is declared")
            for key, part in parts.items():
                self._collect(part, value[key], found)
        elif isinstance(spec, (tuple, list)):
            items = cast("tuple[Any, ...]", spec)
            if not isinstance(value, (tuple, list)) or len(cast("Any", value)) != len(items):
                raise self.unfit(f"{_told(value)} where a {type(items).__name__} of {len(items)} is declared")
            for part, item in zip(items, cast("tuple[Any, ...]", value), strict=True):
                self._collect(part, item, found)

    def _fitting(self, value: Any, ty: Scalar | Array, shape: tuple[int, ...]) -> Any:
        """A leaf of a result in the declared type: memory of its own, in C's order."""
        if type(value) is float and isinstance(ty, Scalar) and ty.dtype == np.float64:
            return value
        given = np.asarray(value)
        if given.dtype.kind not in "biufc" or not np.can_cast(given.dtype, ty.dtype, "same_kind"):
            raise self.unfit(f"{_told(value)} of dtype {given.dtype} where {ty.dtype} is declared")
        if given.shape != shape:
            raise self.unfit(f"{_told(value)} of shape {given.shape} where {shape} is declared")
        return np.array(given, ty.dtype, order="C") if isinstance(ty, Array) else given.astype(ty.dtype)[()]

    def unfit(self, problem: str) -> DiffjitError:
        """The error for a result that is not what was declared."""
        return UsageError(
            "DJ552", f"`{self.routine.name}` returned {problem}", python=ValueError,
            cure="let `result` of diffjit.foreign say what the function returns",
        ).as_python()  # fmt: skip


def _same(a: Any, b: Any) -> bool:
    """Whether two arrays are equal, NaN for NaN."""
    return a.shape == b.shape and (np.array_equal(a, b) or bool(np.all((a == b) | ((a != a) & (b != b)))))  # noqa: PLR0124


def _ndim(ty: Scalar | Array) -> int:
    return ty.ndim if isinstance(ty, Array) else 0


def _told(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "an array"
    return "None" if value is None else f"{'an' if type(value).__name__[0] in 'aeiou' else 'a'} {type(value).__name__}"


def _as(x: Any, ty: Scalar | Array) -> Any:
    """A number as Python's or NumPy's own, as its type says."""
    if isinstance(ty, Array):
        return x
    return _PYTHON[ty.dtype.kind](x) if ty.weak else ty.dtype.type(x)


def filled(spec: Any, values: list[Any]) -> Any:
    """A tree with values in its slots."""
    if isinstance(spec, Slot):
        return values[spec.index]
    if isinstance(spec, (tuple, list)):
        items = [filled(s, values) for s in cast("tuple[Any, ...]", spec)]
        if isinstance(spec, list):
            return items
        made: Any = cast("Any", spec).__class__
        return made(*items) if hasattr(made, "_fields") else tuple(items)
    if isinstance(spec, dict):
        return {k: filled(s, values) for k, s in cast("dict[Any, Any]", spec).items()}
    return spec.value if isinstance(spec, Held) else spec


@dataclass(frozen=True, slots=True)
class Held:
    """An object in a tree of arguments that is passed on as it is."""

    value: Any


def _prototype(signature: Signature) -> Any:
    """The C function as ctypes calls it, with addresses for pointers."""
    kinds = [ctypes.c_void_p if p.pointer else np.ctypeslib.as_ctypes_type(p.dtype) for p in signature.parameters]
    result = None if signature.result is None else np.ctypeslib.as_ctypes_type(signature.result)
    make = ctypes.PYFUNCTYPE if signature.gil else ctypes.CFUNCTYPE
    return make(result, *kinds)(signature.address)


# The sites of this process --------------------------------------------------------------------------------------------

SITES: dict[str, Site] = {}  # by label
_known: dict[Any, Site] = {}
_lock = threading.Lock()


def site(
    routine: Routine,
    inputs: tuple[Scalar | Array, ...],
    outputs: tuple[Scalar | Array, ...],
    *,
    arguments: Any = None,
    results: Any = None,
    loop: str = "",
    catches: tuple[type, ...] = (),
) -> Site:
    """The site for a call of these types: one for all calls that are the same."""
    key = (
        routine.way, id(routine.function), id(routine), tuple(map(_kind, inputs)), tuple(map(_kind, outputs)),
        key_of(arguments), key_of(results), loop, catches,
    )  # fmt: skip
    with _lock:
        if key not in _known:
            made = Site(
                routine,
                _label(routine, inputs, outputs, arguments, catches),
                inputs,
                outputs,
                arguments,
                results,
                loop,
                catches,
                [arguments],
            )
            _known[key] = SITES[made.label] = made
        return _known[key]


def _label(routine: Routine, inputs: Any, outputs: Any, arguments: Any, catches: tuple[type, ...]) -> str:
    """A name that no other site of the process has; where a routine is known elsewhere, one that says what it is."""
    told = repr((routine.steady, tuple(map(_kind, inputs)), tuple(map(_kind, outputs)), arguments, *catches))
    if routine.steady and " at 0x" not in told:
        return f"{routine.stem}_{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    k = 0
    while f"{routine.stem}_{k}" in SITES:
        k += 1
    return f"{routine.stem}_{k}"


def _kind(ty: Scalar | Array) -> Any:
    return ("array", ty.dtype, ty.ndim) if isinstance(ty, Array) else ("number", ty.dtype, ty.weak)


def key_of(spec: Any) -> Any:
    """What tells a tree of arguments from others."""
    if isinstance(spec, (tuple, list)):
        return (type(spec), tuple(map(key_of, cast("tuple[Any, ...]", spec))))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(spec, dict):
        return ("dict", tuple((k, key_of(s)) for k, s in cast("dict[Any, Any]", spec).items()))
    if isinstance(spec, Held):
        plain = isinstance(spec.value, (int, float, complex, str, bytes, type(None)))
        return (type(spec.value), repr(spec.value)) if plain else id(spec.value)
    return spec


def module_of(function: Any) -> str | None:
    """A module that has the function under its own name: a public one, where there is one."""
    name = str(getattr(function, "__name__", ""))
    home = getattr(function, "__module__", None) or ""
    parts = home.split(".")
    public = [".".join(parts[:k]) for k in range(1, len(parts) + 1) if not any(p.startswith("_") for p in parts[:k])]
    for place in (*reversed(public), home, "numpy", "scipy.special"):
        if place in sys.modules and getattr(sys.modules[place], name, None) is function:
            return place
    return None
