"""Machine code on disk: a second process that makes the same text runs it without compiling.

One file beside the generated module for each signature; its name says what it depends on beyond the text: diffjit,
Numba, NumPy, Python, the processor. A file that cannot be read, or is not what was written, is compiled and written
anew. Only compiled entries are kept; what they call is linked into them.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core import types

from diffjit.ir import stages
from diffjit.lowering.calls.cache import digest, keep, make_room, read_bytes
from diffjit.lowering.calls.native import UNRESOLVED, Native, load, native, provide, sources
from diffjit.lowering.llvm import numba_internals, tiers
from diffjit.settings import settings

_SUMMED = 32  # bytes of the checksum in front
_LIGHT = "light "  # of code that was made quickly, beside what the fast code is made of
_WITH_REQUEST = 2  # parts of such a file
_EXPECTED = (OSError, ValueError, EOFError, pickle.UnpicklingError, AttributeError, ImportError, KeyError, IndexError,
             TypeError, RuntimeError)  # fmt: skip


@cache
def _setting() -> str:
    """Everything beyond the text that machine code depends on."""
    processor = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    asked = tuple(str(numba_internals.asked(name)) for name in ("CPU_NAME", "CPU_FEATURES", "OPT", "LOOP_VECTORIZE"))
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    return repr((sources(), processor, asked, versions))


def _asked_of_config() -> bool:
    """Whether the program has set what else comes from the environment, where another process looks for it."""
    given = os.environ.get
    return (
        str(int(numba_internals.asked("OPT"))) != given("NUMBA_OPT", "3")
        or str(int(numba_internals.asked("LOOP_VECTORIZE"))) != given("NUMBA_LOOP_VECTORIZE", "1")
        or given("NUMBA_CPU_NAME") != numba_internals.asked("CPU_NAME")
        or given("NUMBA_CPU_FEATURES") != numba_internals.asked("CPU_FEATURES")
    )


def _names_only(made: Any, context: Any) -> bytes:
    """Nobody inlines an entry: a module that only says which names there are stands for its LLVM."""
    described = made.fndesc
    functions = (described.llvm_func_name, described.llvm_cpython_wrapper_name)
    text = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in functions)
    text += f'@"{context.get_env_name(described)}" = global i8* null\n'
    return llvm.parse_assembly(text).as_bitcode()


@cache
def _make_room_once(megabytes: float) -> None:
    make_room(int(megabytes * 1e6))


_RECORDS = frozenset({
    ("numba.core.funcdesc", "PythonFunctionDescriptor"), ("numba.core.types.abstract", "_type_reconstructor"),
    ("numba.core.environment", "_rebuild_env"), ("numba.core.typing.templates", "Signature"),
    ("copyreg", "_reconstructor"), ("builtins", "object"), ("numpy", "dtype"), ("numpy", "ndarray"),
})  # fmt: skip


class _Reader(pickle.Unpickler):
    """Reads what Numba says of a compiled function, and nothing else: records, types and dtypes."""

    def find_class(self, module: str, name: str) -> Any:
        """A class or function that a file may name."""
        if (module, name) in _RECORDS:
            return super().find_class(module, name)
        found = getattr(sys.modules.get(module), name, None)
        if isinstance(found, type) and issubclass(found, (types.Type, np.generic)):
            return found
        message = f"{module}.{name} is not what a file of machine code names"
        raise pickle.UnpicklingError(message)


class MachineCode:
    """Stands where Numba's dispatchers have their own cache."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.module = Path(function.__code__.co_filename)
        self.entry = function.__name__
        # Numba links the parts of an entry that calls itself by pointers that it does not set again in what it reads.
        self.recursive = self.entry in function.__code__.co_names
        self.natives: dict[Any, Native] = {}  # what of it runs without Numba, by the types of arguments
        self.jobs: dict[Any, tiers.Job] = {}  # whose fast code is being made, by the types of arguments
        self.cache_path = str(self.module.parent)

    def _file(self, signature: Any, tier: str = "") -> Path:
        return self.module.with_suffix(f".{digest(f'{self.entry} {signature} {tier}{_setting()}')}.bin")

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The compiled function, or None."""
        if self.recursive or not settings.cache_mb or stages.listening():  # who reads its stages has it compiled anew
            return None
        read = self._read(self._file(signature), context)
        if read is not None:
            made, reduced = read
            self._note(made, reduced)
            return made
        read = self._read(self._file(signature, _LIGHT), context) if tiers.wanted() and tiers.allowed() else None
        if read is None:
            return None
        made, (reduced, request) = read
        self._begin(signature, made, reduced, tiers.Request(*request))
        return made

    def _read(self, file: Path, context: Any) -> tuple[Any, Any] | None:
        """What a file holds, compiled and as data; None where it is not there, or is not what was written."""
        try:
            data = read_bytes(file)
            if data is None or hashlib.sha256(data[_SUMMED:]).digest() != data[:_SUMMED]:
                return None
            with numba_internals.populated():
                context.refresh()  # names of the runtime that the code refers to
            provide(data)
            found = _Reader(io.BytesIO(data[_SUMMED:])).load()
            made = numba_internals.rebuilt(context, found[0] if len(found) == _WITH_REQUEST else found)
        except _EXPECTED:
            return None  # compiled anew, and written anew
        return made, found

    def save_overload(self, signature: Any, made: Any) -> None:
        """Keep a compiled function; a folder that cannot be written to keeps none. Its module is needed no longer."""
        self._save(signature, made)
        numba_internals.forget_module(made)

    def _save(self, signature: Any, made: Any) -> None:
        pending = getattr(made.library, "pending", None)
        if pending is not None:
            try:
                reduced = numba_internals.reduced(made)
            except RuntimeError:  # as below: `cpu.FirstCall` sees that nothing has begun
                return
            self._begin(signature, made, reduced, pending)
            return
        if self.recursive or made.library.has_dynamic_globals or not settings.cache_mb:
            return
        try:
            reduced = numba_internals.reduced(made)
        except RuntimeError:  # a signal handler ran while LLVM gave out the code, and has kept Numba from noting it
            return
        self._note(made, reduced)
        self._keep(self._file(signature), made, reduced)

    def _begin(self, signature: Any, made: Any, reduced: Any, request: tiers.Request) -> None:
        """Have the fast code made."""
        finish = partial(self._finish, signature, made, reduced)
        job = tiers.Job(request, finish, partial(self._postpone, signature, made, reduced))
        self.jobs[tuple(made.signature.args)] = job
        tiers.begin(job)

    def _postpone(self, signature: Any, made: Any, reduced: Any, request: tiers.Request) -> None:
        """Keep the light code, and what the fast code is made of, for a process that has more time."""
        if settings.cache_mb and not self.recursive and numba_internals.DYNAMIC not in reduced[0][2][0]:
            made_of = request.bitcode, request.passes, request.died
            self._keep(self._file(signature, _LIGHT), made, reduced, made_of)

    def _finish(self, signature: Any, made: Any, reduced: Any, code: bytes) -> tuple[Callable[..., Any] | None, Any]:
        """What Python calls, of the fast code of what was compiled quickly, and that code as data, which is kept."""
        (name, kind, (_, bitcode)), *rest = reduced
        reduced = ((name, kind, (code, bitcode)), *rest)
        found = self._native(reduced)
        ready = None if found is None else load(found)
        if found is None or ready is None:
            return None, reduced
        if numba_internals.DYNAMIC not in code:  # else it holds addresses of this process
            if not _asked_of_config():
                self.natives[tuple(made.signature.args)] = found
            if settings.cache_mb and not self.recursive:
                self._keep(self._file(signature), made, reduced)
                self._file(signature, _LIGHT).unlink(missing_ok=True)
        return ready, reduced

    def _keep(self, file: Path, made: Any, reduced: Any, *more: Any) -> None:
        """Write it to the disk."""
        (name, kind, (code, _)), *rest = reduced
        if UNRESOLVED in code:  # functions that call each other in a circle: Numba would not set these pointers again
            return
        whole = ((name, kind, (code, _names_only(made, made.target_context))), *rest)
        payload = numba_internals.dumped((whole, *more) if more else whole)
        try:
            _make_room_once(settings.cache_mb)
        except OSError:
            return
        keep(file, hashlib.sha256(payload).digest() + payload)

    def _note(self, made: Any, reduced: Any) -> None:
        """Keep what a process without Numba would run."""
        found = None if _asked_of_config() else self._native(reduced)
        if found is not None:
            self.natives[tuple(made.signature.args)] = found

    @staticmethod
    def _native(reduced: Any) -> Native | None:
        """What of a compiled function is data; None where running it takes Numba."""
        (_, _, (code, _)), described, _, _, _, _, _, reloaded, environments = reduced
        return None if reloaded else native(code, described, list(environments))

    def enable(self) -> None:
        """Part of the interface."""

    def disable(self) -> None:
        """Part of the interface."""

    def flush(self) -> None:
        """Part of the interface."""
