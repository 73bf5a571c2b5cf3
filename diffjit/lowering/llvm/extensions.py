"""Numba's extension modules without the package around them, which takes long to import."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load(name: str) -> Any:
    """One of Numba's extension modules.

    They are shared with the package: they keep their state in C, and Python initialises such a module once.
    """
    full = f"numba.{name}"
    if full in sys.modules:
        return sys.modules[full]
    package = importlib.util.find_spec("numba")
    if package is None or not package.submodule_search_locations:
        raise ImportError(full)
    folder = Path(package.submodule_search_locations[0], *name.split(".")[:-1])
    found = importlib.machinery.PathFinder.find_spec(full, [str(folder)])
    if found is None or not isinstance(found.loader, importlib.machinery.ExtensionFileLoader):
        raise ImportError(full)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
