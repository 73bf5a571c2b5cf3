"""What C declares of a function: parameters, result, address. Read off ctypes, SciPy and Numba objects.

`signature_of(function)`
    of a ctypes function with `argtypes` and `restype`, a `scipy.LowLevelCallable`, or an object of `numba.cfunc`.
`loop_of(ufunc, types)`
    the loop that NumPy would run for some dtypes, a C function of its public interface.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from functools import cache
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass
from diffjit.errors import UsageError

_NUMBERS: tuple[Any, ...] = (
    ctypes.c_double, ctypes.c_float, ctypes.c_bool, ctypes.c_byte, ctypes.c_short, ctypes.c_int, ctypes.c_long,
    ctypes.c_longlong, ctypes.c_ubyte, ctypes.c_ushort, ctypes.c_uint, ctypes.c_ulong, ctypes.c_ulonglong,
)  # fmt: skip
_FUNCTION: Any = type(ctypes.pythonapi.Py_IsInitialized).__mro__[1]  # the base of all functions of ctypes
_POINTER: Any = ctypes.POINTER(ctypes.c_double).__mro__[1]  # and that of all pointers
_NEEDS_GIL, _HAS_ERRNO = 4, 8  # FUNCFLAG_PYTHONAPI and FUNCFLAG_USE_ERRNO of ctypes

_FORTRAN = 2  # NPY_ARRAY_F_CONTIGUOUS, without NPY_ARRAY_C_CONTIGUOUS

# C's names of types, as capsules spell them (Cython, SciPy).
_NAMES = {
    "double": np.float64, "float": np.float32, "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8,
    "short": np.int16, "unsigned short": np.uint16, "int": np.intc, "unsigned int": np.uintc, "unsigned": np.uintc,
    "long": np.int_, "unsigned long": np.uint, "long long": np.longlong, "unsigned long long": np.ulonglong,
    "npy_intp": np.intp, "intptr_t": np.intp, "ssize_t": np.intp, "Py_ssize_t": np.intp, "size_t": np.uintp,
    "bint": np.intc,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a C function: a number, a pointer to an array, or something that the caller does not give."""

    dtype: np.dtype[Any]
    pointer: bool = False
    given: bool = True  # False: always `value`
    value: int = 0
    ndim: int | None = None  # of an `ndpointer`
    order: str = "C"


@dataclass(frozen=True, slots=True)
class Signature:
    """A C function."""

    parameters: tuple[Parameter, ...]
    result: np.dtype[Any] | None  # None: void
    address: int
    gil: bool = False  # whether it may use Python's interface, and is called with the GIL held
    own: Any = None  # the object that keeps the function alive

    @property
    def taken(self) -> tuple[Parameter, ...]:
        """The parameters that a call gives."""
        return tuple(p for p in self.parameters if p.given)


def signature_of(function: Any) -> Signature | None:
    """The C function that an object stands for; None where it is none, or where only Python can call it."""
    if is_ctypes(function):
        return _of_ctypes(function)
    if is_low_level(function):
        return _of_capsule(function)
    if _module(function) == "numba" and hasattr(function, "ctypes"):
        return _of_ctypes(function.ctypes)
    return None


def is_ctypes(function: Any) -> bool:
    """Whether an object is a function of ctypes."""
    return isinstance(function, _FUNCTION)


def is_low_level(function: Any) -> bool:
    """Whether an object is a `scipy.LowLevelCallable`."""
    return type(function).__name__ == "LowLevelCallable" and _module(function) == "scipy"


def declared(function: Any) -> Any:
    """What may change of a ctypes function: its declaration."""
    return function.argtypes, function.restype, getattr(function, "errcheck", None)


def _module(function: Any) -> str:
    return (type(function).__module__ or "").split(".")[0]


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", None) or "function")


def undeclared(name: str, problem: str, cure: str) -> UsageError:
    """The error about what a function without source does not say of itself."""
    return UsageError("DJ551", f"`{name}` {problem}", cure=cure)


# ctypes ---------------------------------------------------------------------------------------------------------------


def _of_ctypes(function: Any) -> Signature | None:
    name = _name(function)
    if function._flags_ & (_NEEDS_GIL | _HAS_ERRNO) or getattr(function, "errcheck", None) is not None:
        return None
    if function.argtypes is None:
        raise undeclared(name, "is a C function without declared `argtypes`", f"{name}.argtypes = [ctypes.c_double]")
    parameters = tuple(_of_type(name, t) for t in function.argtypes)
    address = ctypes.cast(function, ctypes.c_void_p).value
    if not address:
        raise undeclared(name, "is a null pointer", "look it up in a library, or make it of a Python function")
    return Signature(parameters, _result(name, function.restype), address, own=function)


def _of_type(name: str, t: Any) -> Parameter:
    if t in _NUMBERS:
        return Parameter(np.dtype(t))
    if _is_pointer(t) and t._type_ in _NUMBERS:
        return Parameter(np.dtype(t._type_), pointer=True)
    if getattr(t, "_dtype_", None) is not None:  # an `ndpointer`
        fortran = (t._flags_ or 0) & 3 == _FORTRAN
        return Parameter(np.dtype(t._dtype_), pointer=True, ndim=t._ndim_, order="F" if fortran else "C")
    raise undeclared(
        name,
        f"has a parameter of type {getattr(t, '__name__', t)}",
        "parameters are numbers, or pointers to arrays: ctypes.POINTER(ctypes.c_double), or np.ctypeslib.ndpointer "
        "with a dtype",
    )


def _is_pointer(t: Any) -> bool:
    return isinstance(t, type) and issubclass(t, _POINTER)


def _result(name: str, t: Any) -> np.dtype[Any] | None:
    if t is None:
        return None
    if t in _NUMBERS:
        return np.dtype(t)
    raise undeclared(
        name, f"returns {getattr(t, '__name__', t)}", "results are numbers: set `restype` to ctypes.c_double, or None"
    )


# scipy.LowLevelCallable -----------------------------------------------------------------------------------------------


def _of_capsule(function: Any) -> Signature:
    parts: Any = tuple
    capsule: Any = parts.__getitem__(function, 0)  # its own subscripts are refused
    data = _api("PyCapsule_GetContext", ctypes.c_void_p, capsule)
    found = re.fullmatch(r"\s*([\w ]+?)\s*\((.*)\)\s*", function.signature)
    if found is None:
        raise undeclared("LowLevelCallable", f"has the signature {function.signature!r}", 'as "double (double)"')
    result, inside = found.groups()
    listed = [p.strip() for p in inside.split(",") if p.strip() not in ("", "void")]
    address = address_of(capsule)
    return Signature(
        tuple(_of_text(function.signature, p, data or 0) for p in listed),
        None if result == "void" else _dtype(function.signature, result),
        address,
        gil=address not in _without_gil(),
        own=function,
    )


def _of_text(signature: str, text: str, data: int) -> Parameter:
    """A parameter as a capsule's signature spells it: `double`, `int n`, `double *xx`."""
    if text.endswith("__pyx_skip_dispatch"):
        return Parameter(np.dtype(np.intc), given=False)
    base, star, _ = text.replace("const ", "").partition("*")
    words = base.split()
    if star:
        if text.count("*") == 1 and words == ["void"]:
            return Parameter(np.dtype(np.uintp), pointer=True, given=False, value=data)
        if text.count("*") == 1:
            return Parameter(_dtype(signature, " ".join(words)), pointer=True)
    else:
        for stop in (len(words), len(words) - 1):  # a last word may be the parameter's name
            if " ".join(words[:stop]) in _NAMES:
                return Parameter(_dtype(signature, " ".join(words[:stop])))
    raise undeclared("LowLevelCallable", f"has a parameter {text!r}", "parameters are numbers, or pointers to arrays")


def _dtype(signature: str, text: str) -> np.dtype[Any]:
    if text not in _NAMES:
        raise undeclared("LowLevelCallable", f"has the type {text!r} in its signature {signature!r}",
                         f"types are {', '.join(sorted(_NAMES))}")  # fmt: skip
    return np.dtype(_NAMES[text])


def _api(name: str, result: Any, *args: Any) -> Any:
    """A function of Python's interface, of an object and texts."""
    kinds = [ctypes.c_char_p if isinstance(a, bytes) or a is None else ctypes.py_object for a in args]
    return ctypes.PYFUNCTYPE(result, *kinds)((name, ctypes.pythonapi))(*args)


def address_of(capsule: object) -> int:
    """The C function in a capsule."""
    return _api("PyCapsule_GetPointer", ctypes.c_void_p, capsule, _api("PyCapsule_GetName", ctypes.c_char_p, capsule))


@cache
def _without_gil() -> frozenset[int]:
    """The functions of `scipy.special.cython_special`, which are all declared `nogil`."""
    exported: dict[str, object] = importlib.import_module("scipy.special.cython_special").__pyx_capi__
    return frozenset(map(address_of, exported.values()))


# Ufuncs ---------------------------------------------------------------------------------------------------------------


class _Ufunc(ctypes.Structure):
    """The head of a `PyUFuncObject` (numpy/ufuncobject.h)."""

    _fields_ = (
        ("references", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


def loop_of(ufunc: Any, types: str) -> tuple[int, int] | None:
    """The addresses of a ufunc's loop and of its data; None where NumPy does not give it away."""
    found = _Ufunc.from_address(id(ufunc))
    if (found.nin, found.nout, found.ntypes) != (ufunc.nin, ufunc.nout, len(ufunc.types)) or types not in ufunc.types:
        return None
    k = ufunc.types.index(types)
    function = found.functions[k] if found.functions else None
    if not function:
        return None
    return function, (found.data[k] if found.data else None) or function  # a loop without data does not look at it
