"""What belongs to a program's surroundings, not to its mathematics: which functions Python calls, and how.

Functions of these modules are not followed, whether they have source or not: a logger, a clock or a file does what it
does, and returns objects that only Python knows.
"""

from __future__ import annotations

import builtins
import json
import logging
import os
import pathlib
import shutil
import sys
import textwrap
import time
import types
import warnings
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.frontend.entry.places import LIBRARIES
from diffjit.primitives.opaque.acts import StreamMethod

_MODULES = frozenset({
    "_datetime", "_io", "_thread", "_warnings", "csv", "_csv", "datetime", "gc", "genericpath", "getpass", "glob",
    "gzip", "importlib", "io", "json", "logging", "matplotlib", "mpl_toolkits", "multiprocessing", "nt", "ntpath",
    "os", "pathlib", "pickle", "_pickle", "pkgutil", "platform", "posix", "posixpath", "pprint", "resource",
    "shutil", "signal", "socket", "subprocess", "sys", "tempfile", "textwrap", "threading", "time", "traceback",
    "tracemalloc", "uuid",
})  # fmt: skip

# What a clock gives: a number without a derivative.
CLOCKS: dict[Any, str] = {
    **dict.fromkeys((time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time), "float"),
    **dict.fromkeys(
        (time.time_ns, time.perf_counter_ns, time.monotonic_ns, time.process_time_ns, time.thread_time_ns), "int"
    ),
}

# Questions with an answer that is known while specialising; it is asked for again at each call of the program.
_ANSWERED = frozenset({
    os.getenv, os.path.exists, os.path.isfile, os.path.isdir, os.getcwd, os.cpu_count, os.getpid, os.path.join,
    os.path.basename, os.path.dirname, os.path.abspath, os.path.splitext, os.path.expanduser, os.path.split,
    logging.getLogger, logging.getLevelName, sys.getrecursionlimit, shutil.which, os.fspath,
})  # fmt: skip
# What depends on a text alone, which is read while specialising where it is known.
_OF_TEXTS = frozenset({
    json.loads, str.maketrans, textwrap.dedent, textwrap.fill, textwrap.indent, textwrap.shorten, textwrap.wrap,
})  # fmt: skip
_OF_NAMES = frozenset({
    "as_posix", "is_absolute", "is_relative_to", "joinpath", "relative_to", "with_name", "with_stem", "with_suffix",
})  # fmt: skip
"""Methods of paths that ask nothing of the disk."""
_ANSWERED_OF_DATES = (
    "__format__", "astimezone", "ctime", "fromtimestamp", "strftime", "strptime", "timestamp", "utcfromtimestamp",
)  # fmt: skip
ASKING = frozenset({"now", "today", "utcnow", *_ANSWERED_OF_DATES})
"""Methods of dates that ask the clock, the zone or the language that the program runs in."""
_OF_A_DICT = {"get", "__getitem__", "__contains__"}
_ANSWERED_METHODS = {
    pathlib.Path: {"absolute", "expanduser", "resolve"},
    logging.Logger: {"isEnabledFor", "getEffectiveLevel", "hasHandlers", "getChild"},
    type(os.environ): _OF_A_DICT,
}
_LOGS = frozenset({
    "addFilter", "addHandler", "basicConfig", "captureWarnings", "critical", "debug", "disable", "error", "exception",
    "fatal", "info", "log", "removeHandler", "setLevel", "shutdown", "warn", "warning",
})  # fmt: skip


READERS = frozenset({np.loadtxt, np.genfromtxt, np.load, np.fromfile, np.fromregex})
"""NumPy's functions that read a file, by its name as their first argument."""
FILES = frozenset({*READERS, np.save, np.savetxt, np.savez, np.savez_compressed})
"""NumPy's functions of files: nothing about them is known before the program runs."""
_READING = frozenset({
    "close", "exists", "getvalue", "is_dir", "is_file", "load", "loads", "read", "read_bytes", "read_text", "reader",
    "readline", "readlines", "seek",
})  # fmt: skip


def may_write(obj: Any, args: list[Any]) -> bool:
    """Whether a call may change a file, or open one that is written to; the arguments that are known."""
    name = getattr(obj, "__name__", "")
    if obj not in FILES and not is_surroundings(obj):
        return False
    if name == "open":
        modes = args[1:] if isinstance(obj, types.BuiltinFunctionType) else args
        return bool(set("".join(m for m in modes if isinstance(m, str))) & set("wax+"))
    return name not in _READING and not is_quiet(obj)


def root(obj: Any) -> str:
    """The package that a function, a method or an object of the surroundings comes from."""
    owner = tree.asked(obj, "__self__")
    if owner is not None and not isinstance(owner, types.ModuleType):
        obj = owner
    if obj is sys.modules:
        return "sys"
    known = isinstance(obj, (type, types.FunctionType, types.BuiltinFunctionType))
    module = getattr(obj if known else type(obj), "__module__", None) or ""
    return module.partition(".")[0]


def is_surroundings(obj: Any) -> bool:
    """Whether Python itself is to call a function, or to keep an object."""
    return root(obj) in _MODULES or obj is builtins.open or isinstance(obj, StreamMethod)


def is_cython(obj: Any) -> bool:
    """Whether a function or a bound method is compiled by Cython, and has no source."""
    return type(tree.asked(obj, "__func__", obj)).__name__ == "cython_function_or_method"


def is_answered(obj: Any) -> bool:
    """Whether a call is a question that is answered while specialising."""
    owner = tree.asked(obj, "__self__")
    if owner is sys.modules:
        return obj.__name__ in _OF_A_DICT
    if any(isinstance(owner, cls) and obj.__name__ in names for cls, names in _ANSWERED_METHODS.items()):
        return True
    if root(obj) == "datetime" and getattr(obj, "__name__", "") in _ANSWERED_OF_DATES:
        return tree.never_changes(owner if isinstance(owner, type) else type(owner))
    return isinstance(obj, (types.FunctionType, types.BuiltinFunctionType)) and obj in _ANSWERED


def is_of_texts(obj: Any) -> bool:
    """Whether what a call gives depends on texts alone, as a path does on its name: it is known where they are."""
    if root(obj) != "pathlib":
        return obj in _OF_TEXTS
    return isinstance(obj, type) or getattr(obj, "__name__", "") in _OF_NAMES


def is_log(obj: Any) -> bool:
    """Whether a function writes to a log, or sets one up: it returns None."""
    return root(obj) == "logging" and getattr(obj, "__name__", "") in _LOGS


def is_quiet(obj: Any) -> bool:
    """Whether a call may stand inside a `try`: it raises nothing that a program expects."""
    stream = isinstance(obj, StreamMethod) and obj.name in ("write", "flush")
    told = obj in (builtins.print, warnings.warn)
    return obj in CLOCKS or is_log(obj) or stream or told or root(obj) in ("gc", "traceback")


def is_pure_library(obj: Any) -> bool:
    """Whether a function of NumPy or SciPy depends on its arguments alone: what nobody reads of it may be left out."""
    module = getattr(obj, "__module__", None) or ""
    return module.startswith(("numpy.linalg", "scipy.linalg")) or isinstance(obj, np.ufunc)


def is_library(obj: Any) -> bool:
    """Whether an object belongs to a library, whose attributes are its own, not the program's."""
    name = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", None) or ""
    return name.split(".")[0] in LIBRARIES
