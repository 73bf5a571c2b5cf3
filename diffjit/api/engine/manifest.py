"""What a call needs of a program, on disk: another process with the same program runs neither frontend nor Numba.

A manifest is found by what is known before anything is specialised: the function's code, how its derivative was asked
for, the form of the arguments, the versions and the processor. It holds the machine code, how arguments and results
are arranged, and what the program rests on: every function that was followed, with a digest of its code, and the
guards that each call checks (globals, closure cells, defaults). It is used only if all of them hold here. Something
that cannot be named in another process (an object of a user's class, an array that has no place) makes the program one
without a manifest: it is specialised in each process, and only its machine code is kept (`lowering.calls.machinecode`).
"""

from __future__ import annotations

import hashlib
import importlib
import io
import pickle
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit import rare, streams, tree
from diffjit.api.engine.programs import Arguments, Compiled, fixed_key
from diffjit.errors import InternalError
from diffjit.frontend.entry.places import LIBRARIES, LIBRARY, Absent, Global
from diffjit.lowering.calls import cache, entry, native
from diffjit.settings import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from diffjit.api.engine.derived import Derived
    from diffjit.frontend.entry.results import Program

ASKED = "asked"  # behind the key of a program with parts that most are made without (`diffjit.rare`)
_SUMMED = 32  # bytes of the checksum in front
_LIBRARIES = frozenset({"builtins", "numpy", "math", "cmath", "operator", "_operator", "itertools", "functools"})


class Unportable(Exception):
    """Something has no name in another process."""


class Stale(Exception):
    """Something is not what it was, or not here."""


_ABSENT = (LookupError, AttributeError, ImportError, TypeError, ValueError)  # what looking for it may raise then


def recall(
    derived: Derived, call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Compiled, Any, frozenset[int]] | None:
    """The program that another process has left: compiled, its form of results, and the leaves that it is fixed for.

    None where there is no such file, where it is damaged (its checksum says so), and where something that it names is
    not here or not what it was: then the program is made anew. Anything else is a mistake in diffjit, and said.
    """
    try:
        found = _recalled(derived, call, args, kwargs)
        if any(rare.asked()) and (found is None or not found[0].valid()):  # it lacks what this process has asked for
            found = _recalled(derived, call, args, kwargs, ASKED)
    except (Unportable, Stale, pickle.UnpicklingError):
        return None
    except Exception as error:
        doing = f"reading what it has kept of `{getattr(derived, '__name__', derived)}`"
        raise InternalError.of(doing, error, hint="; diffjit.clear_cache() removes what was kept") from error
    return found if found is not None and found[0].valid() else None


def _recalled(
    derived: Derived, call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any], more: str = ""
) -> tuple[Compiled, Any, frozenset[int]] | None:
    root = _root(derived)
    key = _key(derived, root, call, args, kwargs) + more
    followed, found = _read(_file(root, key), root)
    fixed: frozenset[int] = frozenset()
    if isinstance(found, frozenset):  # the values of these leaves are part of the key
        fixed = found
        followed, found = _read(_file(root, key, _fixed(call, fixed)), root)
    if found is None:
        return None
    made, described, (*parts, apart), result = found
    function = native.load(made)
    if function is None:
        return None
    compiled = Compiled(
        entry.wrapper(described, function),
        *parts,
        followed={f: f.__code__ for f in followed},
        portable=True,
        apart=apart,
    )
    return compiled, result, fixed


def remember(
    derived: Derived,
    call: Arguments,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    program: Program,
    made: tuple[Compiled, Any],
) -> None:
    """Write the manifest once the program's first call has compiled it."""
    compiled, result = made
    first = getattr(compiled.run, "first", None)
    if first is None or not program.portable:
        return
    try:
        root = _root(derived)
        key = _key(derived, root, call, args, kwargs) + (ASKED if program.parts(asked=True) else "")
    except Unportable:
        return
    fixed, values = program.fixed, _fixed(call, program.fixed)

    def write(code: native.Native) -> None:
        first.then = None
        parts = (
            compiled.captures,
            compiled.capture_keys,
            compiled.guards,
            compiled.mutated,
            compiled.unchanged,
            compiled.names,
            compiled.place,
            compiled.streams,
            compiled.apart,
        )
        known = _reached(root, compiled.guards), _members(compiled.guards)
        try:
            content = _packed(
                (list(program.followed), (code, compiled.run.described, parts, result)),  # type: ignore[attr-defined]
                root,
                known,
            )
            if fixed:
                _write(_file(root, key), _packed(((), fixed), root, known))
            _write(_file(root, key, values if fixed else ""), content)
        except (Unportable, pickle.PicklingError, AttributeError, TypeError, OSError):
            return  # it has no manifest

    first.then = write


# Keys -----------------------------------------------------------------------------------------------------------------


def _root(derived: Any) -> types.FunctionType:
    """The Python function that everything starts from."""
    function = _layers(derived)[-1]
    registry = sys.modules.get("diffjit.primitives.registry")
    if (
        type(function) is not types.FunctionType
        or not settings.cache_mb
        or settings.dump
        or (registry is not None and registry.extended())  # by rules of this process
    ):
        raise Unportable
    return function


def _layers(derived: Any) -> list[Any]:
    """It, what it is made from, and what that is made from, down to the Python function."""
    from diffjit.api.engine.derived import Derived

    layers = [derived]
    while isinstance(layers[-1], Derived):
        layers.append(layers[-1].function)
    return layers


def _key(derived: Any, root: types.FunctionType, call: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """All that is known before a program is specialised."""
    forms = [layer.form() for layer in _layers(derived)[:-1]]
    if None in forms:
        raise Unportable
    setting = native.setting()
    if setting is None:
        raise Stale
    shape = [_shape(a) for a in args], {name: _shape(a) for name, a in kwargs.items()}
    return repr(
        (
            forms,
            root.__module__,
            _digest(root),
            _statics(root),
            shape,
            call.key.same,
            setting,
            settings.form,
        )
    )


def _fixed(call: Arguments, fixed: frozenset[int]) -> str:
    """The values that a program is fixed for."""
    return repr([(k, fixed_key(call.leaves, k)) for k in sorted(fixed)])


def _shape(value: Any) -> Any:
    """The form of an argument."""
    if tree.is_numeric(value):
        key = tree.leaf_key(value)
        if isinstance(key, type):
            if key not in (int, float, complex):
                raise Unportable
            return key.__name__
        if isinstance(key, tuple) and len(key) > 4:  # a class of its own, or not aligned
            raise Unportable
        return key
    if value is None or type(value) in (bool, str):
        return (type(value).__name__, value)
    if streams.is_stream(value):
        return ("stream", streams.key_of(value))
    if type(value) in (tuple, list):
        return (type(value).__name__, [_shape(v) for v in value])
    if type(value) is dict and all(type(k) in (str, int) for k in value):
        return ("dict", [(k, _shape(v)) for k, v in value.items()])
    raise Unportable


def _statics(root: types.FunctionType) -> Any:
    """What is static in a closure: closures of one code, each with other functions in it, have a manifest each."""
    found: list[Any] = []
    for cell in root.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            raise Unportable from None
        if type(value) is types.FunctionType:
            found.append(_digest(value))
        elif value is None or type(value) in (bool, str):
            found.append(value)
        else:
            found.append(type(value).__name__)
    return found


# Functions by their code ----------------------------------------------------------------------------------------------


def _digest(function: types.FunctionType) -> str:
    """A function's code, and which of its names its module has (others are built in)."""
    names = sorted(n for n in _names(function.__code__) if n in function.__globals__)
    return hashlib.sha256(repr((_code(function.__code__), names)).encode()).hexdigest()


def _names(code: types.CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)


def _code(code: types.CodeType) -> Any:
    """All of a code object that does not depend on the process."""
    return (
        code.co_filename, code.co_firstlineno, code.co_qualname, code.co_argcount, code.co_posonlyargcount,
        code.co_kwonlyargcount, code.co_flags, code.co_varnames, code.co_names, code.co_freevars, code.co_cellvars,
        code.co_code, code.co_linetable, code.co_exceptiontable, [_constant(c) for c in code.co_consts],
    )  # fmt: skip


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _code(value)
    if isinstance(value, tuple):
        return [_constant(v) for v in value]
    if isinstance(value, frozenset):
        return sorted(repr(_constant(v)) for v in value)
    return (type(value).__name__, repr(value))


def _named(module: str, qualname: str) -> Any:
    """What a name stands for in a module that this process has imported."""
    found: Any = sys.modules[module]
    for part in qualname.split("."):
        found = vars(found)[part]
    return getattr(found, "__func__", found)  # static and class methods


# Files ----------------------------------------------------------------------------------------------------------------


def _file(root: types.FunctionType, key: str, values: str = "") -> Path:
    stem = "".join(c if c.isalnum() else "_" for c in root.__name__)
    return cache.folder() / f"{stem}_{cache.digest(key + values)}.manifest"


def _write(path: Path, content: bytes) -> None:
    cache.keep(path, hashlib.sha256(content).digest() + content)


def _read(path: Path, root: types.FunctionType) -> Any:
    """What a file holds, if all that it rests on is here and as it was: the functions in it, and the rest."""
    data = cache.read_bytes(path)
    if data is None:
        return (), None
    content = data[_SUMMED:]
    if hashlib.sha256(content).digest() != data[:_SUMMED]:
        return (), None
    return _Reader(io.BytesIO(content), root).load()


_Known = tuple[dict[int, "Callable[[], Any]"], dict[int, tuple[str, str, Any]]]


def _packed(value: Any, root: types.FunctionType, known: _Known) -> bytes:
    out = io.BytesIO()
    _Writer(out, root, known).dump(value)
    return out.getvalue()


def _members(guards: list[tuple[Callable[[], Any], Any]]) -> dict[int, tuple[str, str, Any]]:
    """What stands in modules of libraries and is theirs, by where it stands and what it says of itself."""
    found: dict[int, tuple[str, str, Any]] = {}
    for getter, expected in guards:
        if isinstance(getter, Global) and callable(expected):
            module = str(getter.namespace.get("__name__"))
            told = _told(expected) if module.split(".", maxsplit=1)[0] in LIBRARIES else None
            if told is not None and vars(sys.modules.get(module, types)) is getter.namespace:
                found.setdefault(id(expected), (module, getter.name, told))
    return found


def _told(obj: Any) -> Any:
    """What a function or class of a library says of itself; None of those of users, which may be put in its place."""
    owner = getattr(obj, "__self__", None)
    home = getattr(obj, "__module__", None) or type(obj if owner is None else owner).__module__
    if home.split(".")[0].lstrip("_") not in LIBRARIES:
        return None
    return home, type(obj).__qualname__, getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)


def _reached(root: types.FunctionType, guards: list[tuple[Callable[[], Any], Any]]) -> dict[int, Callable[[], Any]]:
    """Functions without a name of their own, by where they were found first."""
    found: dict[int, Callable[[], Any]] = {}
    for getter, expected in guards:
        if type(expected) is types.FunctionType and expected is not root:
            found.setdefault(id(expected), getter)
    return found


class _Writer(pickle.Pickler):
    """Writes what another process can make sense of, and nothing else."""

    def __init__(self, file: Any, root: types.FunctionType, known: _Known) -> None:
        super().__init__(file, protocol=5)
        self.root = root
        self.known, self.members = known

    def persistent_id(self, obj: Any) -> Any:
        """Functions by where they are found, with a digest of their code; modules by name."""
        if isinstance(obj, types.ModuleType):
            if sys.modules.get(obj.__name__) is not obj:
                raise Unportable
            return ("module", obj.__name__)
        if id(obj) in self.members:
            return ("member", *self.members[id(obj)])
        if isinstance(obj, np.ufunc):  # they do not know their modules: pickle would ask every one that is imported
            for module in ("numpy", "scipy.special"):
                if getattr(sys.modules.get(module), obj.__name__, None) is obj:
                    return ("ufunc", module, obj.__name__)
            raise Unportable
        if type(obj) is not types.FunctionType or obj.__module__.startswith("diffjit."):
            return None
        if obj is self.root:
            return ("root",)
        try:
            named = _named(obj.__module__, obj.__qualname__) is obj
        except (KeyError, TypeError):
            named = False
        if named:
            return ("named", obj.__module__, obj.__qualname__, _digest(obj))
        if id(obj) in self.known:
            return ("reached", list(self.known).index(id(obj)), self.known[id(obj)], _digest(obj))
        raise Unportable

    def reducer_override(self, obj: Any) -> Any:
        """Refuse what is not known to mean the same elsewhere."""
        if isinstance(obj, (Global, Absent)):
            module = obj.namespace.get("__name__", "")
            if vars(sys.modules.get(module, types)) is not obj.namespace:
                raise Unportable
            return _variable, (type(obj), module, obj.name)
        if isinstance(obj, type):
            allowed = obj.__module__.split(".")[0] in {*_LIBRARIES, "diffjit"}
        elif isinstance(obj, (types.FunctionType, types.BuiltinFunctionType)):
            allowed = (obj.__module__ or "").split(".")[0] in {*_LIBRARIES, "diffjit"}
        else:
            home = type(obj).__module__.split(".")[0]
            allowed = home in ("numpy", "diffjit") and not hasattr(obj, "form") and not isinstance(obj, np.ndarray)
        if not allowed:
            raise Unportable
        return NotImplemented


_POWERFUL = frozenset({"eval", "exec", "compile", "open", "__import__", "input", "breakpoint", "getattr", "setattr"})


class _Reader(pickle.Unpickler):
    """Reads it, where all of it is as it was."""

    def __init__(self, file: Any, root: types.FunctionType) -> None:
        super().__init__(file)
        self.root = root
        self.reached: dict[int, Any] = {}  # functions without names, by their numbers

    def find_class(self, module: str, name: str) -> Any:
        """A class or function that a manifest may name: our records and rules, numbers, and functions of libraries."""
        own = module.split(".", maxsplit=1)[0] == "diffjit" and "." not in name
        try:
            found = super().find_class(module, name) if own else getattr(sys.modules.get(module), name, None)
        except _ABSENT as error:
            raise Stale from error
        home = (getattr(found, "__module__", None) or "").split(".")[0]
        own = own and home == "diffjit" and (isinstance(found, type) or module.startswith(LIBRARY))
        named = getattr(found, "__qualname__", name) == name  # another one may have been put there
        library = home in _LIBRARIES and name not in _POWERFUL and named
        if found is None or not (own or library):
            message = f"{module}.{name} is not what a manifest names"
            raise pickle.UnpicklingError(message)
        return found

    def persistent_load(self, pid: Any) -> Any:
        """A function or module of this process."""
        try:
            return self.found(*pid)
        except _ABSENT as error:
            raise Stale from error

    def found(self, kind: str, *rest: Any) -> Any:
        """What is known by a name, or by the way to it."""
        if kind == "root":
            return self.root
        if kind == "module":
            return sys.modules[rest[0]]
        if kind in ("ufunc", "member"):
            found = getattr(sys.modules[rest[0]], rest[1])
            if (found.__name__ != rest[1]) if kind == "ufunc" else (_told(found) != rest[2]):
                raise Stale  # another one was put there
            return found
        found = _named(rest[0], rest[1]) if kind == "named" else rest[1]()
        if type(found) is not types.FunctionType or _digest(found) != rest[-1]:
            raise Stale
        if kind == "reached":
            others = [f for number, f in self.reached.items() if number != rest[0]]
            if any(found is f for f in (self.root, *others)):  # two functions there were two
                raise Stale
            self.reached[rest[0]] = found
        return found


def _variable(place: type, module: str, name: str) -> Any:
    if module.startswith(LIBRARY):
        importlib.import_module(module)
    elif module not in sys.modules:
        raise Stale
    return place(vars(sys.modules[module]), name)
