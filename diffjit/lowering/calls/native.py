"""Machine code that runs without Numba: an object file that Numba made, linked here by LLVM alone.

`import numba` and the first look at its registries cost 0.5 s; what an earlier process compiled needs neither. It does
need the C functions of three of Numba's extension modules, which are loaded by themselves, and linked under the names
that Numba gives them. An object that refers to anything else is left to Numba.
"""

from __future__ import annotations

import builtins
import ctypes
import importlib.util
import os
import re
import struct
import sys
import types
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from diffjit.dataclass import dataclass
from diffjit.lowering.calls import blas, fourier, interrupts, records, reserve, special, threads
from diffjit.lowering.calls.cache import PACKAGE
from diffjit.lowering.cuda import launch, pool, products
from diffjit.lowering.draws import symbols
from diffjit.lowering.llvm import extensions

SUPPORTED = sys.platform == "linux" and struct.calcsize("P") == 8 and sys.byteorder == "little"
_EXPECTED = (ImportError, OSError, AttributeError, KeyError, ValueError, struct.error)  # of a Numba built otherwise
_HERE = Path(__file__).parents[2]
_EXTENSIONS = ("_helperlib", "_dynfunc", "core.runtime._nrt_python")

UNRESOLVED = b".numba.unresolved$"  # in the names of pointers that Numba sets: to functions that call each other


@dataclass(frozen=True, slots=True)
class Native:
    """A compiled function as data."""

    code: bytes  # an object file
    function: str  # the symbol that Python calls
    name: str
    environments: tuple[tuple[str, tuple[Any, ...]], ...]  # symbols, and the constants that they give access to


def native(code: bytes, described: Any, environments: list[Any]) -> Native | None:
    """What Numba has compiled as data; None where running it takes Numba."""
    given = tuple((e.env_name, tuple(e.consts)) for e in environments)
    plain = all(isinstance(c, np.dtype) or c is np.ndarray for _, constants in given for c in constants)
    own = described.env_name in {name for name, _ in given}
    if not SUPPORTED or not plain or not own or UNRESOLVED in code:
        return None
    try:
        if any(_address(name) is None for name in undefined(code)):
            return None
    except _EXPECTED:
        return None
    return Native(code, described.llvm_cpython_wrapper_name, described.qualname.split(".")[-1], given)


def load(made: Native) -> Callable[..., Any] | None:
    """The function as Python calls it; None where the process lacks what it refers to."""
    if not SUPPORTED:
        return None
    engine = _engine()  # the first one lets LLVM see the symbols of the process
    try:
        addresses = {name: _address(name) for name in undefined(made.code)}
    except _EXPECTED:
        return None
    if None in addresses.values():
        return None
    for name, address in addresses.items():
        llvm.add_symbol(name, address)
    engine.add_object_file(llvm.ObjectFileRef.from_data(made.code))
    engine.finalize_object()
    dynamic = extensions.load("_dynfunc")
    scope: dict[str, Any] = {"__name__": PACKAGE}
    kept: list[Any] = [engine]
    for name, constants in made.environments:
        environment = dynamic.Environment(scope)
        environment.consts.extend(constants)
        ctypes.c_void_p.from_address(engine.get_global_value_address(name)).value = id(environment)
        kept.append(environment)
    address = engine.get_function_address(made.function)
    if not address:
        return None
    own = kept[1]
    return dynamic.make_function(_module(), made.name, made.name, address, own, tuple(kept))


@cache
def _module() -> types.ModuleType:
    return types.ModuleType(PACKAGE)


def _engine() -> Any:
    """A linker for one object, with the settings that Numba compiles with."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    x86 = target.name.startswith("x86")
    machine = target.create_target_machine(reloc="static" if x86 else "default", codemodel="jitdefault", jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _stamp(path: str) -> tuple[str, int, int]:
    about = os.stat(path)  # noqa: PTH116
    return path, about.st_size, about.st_mtime_ns


@cache
def sources() -> list[tuple[str, int, int]]:
    """The files of diffjit, with their sizes and times: machine code of others is not used."""
    found = (f"{folder}{os.sep}{name}" for folder, _, names in os.walk(_HERE) for name in names)  # pathlib is slow
    return sorted(_stamp(path) for path in found if path.endswith(".py"))


@cache
def setting() -> str | None:
    """Everything beyond a program that its machine code depends on; None where there is no Numba."""
    package = importlib.util.find_spec("numba") if sys.modules.get("numba", True) is not None else None
    if package is None:
        return None
    home = Path(package.origin or "").parent
    stamps = [*sources(), _stamp(str(home / "_version.py"))]
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    asked = sorted((k, v) for k, v in os.environ.items() if k.startswith("NUMBA_"))
    versions = (llvmlite.__version__, np.__version__, sys.version)
    return repr((stamps, processor, asked, versions))


# Symbols --------------------------------------------------------------------------------------------------------------


@cache
def _address(name: str) -> int | None:
    """The address of a symbol as Numba would link it."""
    helpers, dynamic, runtime = (extensions.load(n) for n in _EXTENSIONS)
    if name.startswith("NRT_"):
        return runtime.c_helpers.get(name[4:])
    if name.startswith("numba_"):
        return helpers.c_helpers.get(name[6:]) or dynamic.c_helpers.get(name[6:])
    if name.startswith("PyExc_"):
        found = getattr(builtins, name[6:], None)
        return None if found is None else id(found)
    if name == "_Py_NoneStruct":
        return id(None)
    if name.startswith("dj_"):
        provide(name.encode())
        return llvm.address_of_symbol(name)
    return helpers.c_helpers.get(name) or llvm.address_of_symbol(name)


# What starts C functions of ours, by their names.
_STARTS: tuple[tuple[tuple[str, ...], Callable[[], Any]], ...] = (
    ((threads.SYMBOL,), threads.start), ((reserve.SYMBOL,), reserve.start), (interrupts.SYMBOLS, interrupts.start),
    (records.SYMBOLS, records.start), (pool.SYMBOLS, pool.start), ((launch.SYMBOL,), launch.start),
    ((products.SYMBOL,), products.start),
)  # fmt: skip
_TRANSFORMS = re.compile(rb"dj_i?r?fft_")  # loops that NumPy exports
_PRODUCTS = re.compile(rb"dj_[sdcz](ge|po|sy|he)")  # routines that SciPy exports


def provide(data: bytes) -> None:
    """Start the C functions of ours that machine code refers to, as an object or as LLVM has it, or that a name is."""
    if _PRODUCTS.search(data):
        blas.register()
    if _TRANSFORMS.search(data):
        fourier.register()
    for one in (special, symbols):
        for name in {found.decode() for found in one.SYMBOLS.findall(data)}:
            if one.provides(name):
                one.register(name)
    for names, start in _STARTS:
        if any(name.encode() in data for name in names):
            start()


def undefined(code: bytes) -> list[str]:
    """The symbols that an ELF object refers to and does not define."""
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit ELF object")
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, table + k * size) for k in range(count)]
    found: list[str] = []
    for section in sections:
        if section[1] != 2:  # a table of symbols
            continue
        strings = sections[section[6]][4]
        for place in range(section[4], section[4] + section[5], 24):
            name, _, _, where = struct.unpack_from("<IBBH", code, place)
            if name and where == 0:
                start = strings + name
                found.append(code[start : code.index(b"\0", start)].decode())
    return found
