"""Functions of libraries that are slow to import: their rules are read once a program has imported the library.

A program that calls `scipy.special.jv` has imported `scipy.special`, so that nothing is imported here before.
"""

from __future__ import annotations

import importlib
import sys

from diffjit.primitives import scipy_special
from diffjit.primitives.registry import FUNCTIONS, extended, settle

# A library's module -> the module with plain Python versions of its functions.
_LIBRARY = {"scipy.special": "scipy_special", "scipy.linalg": "scipy_linalg", "scipy.stats": "scipy_stats"}
_known: set[str] = set()


def learn() -> None:
    """Fill the tables of the registry for libraries that have been imported since."""
    for name, own in _LIBRARY.items():
        if name in _known or name not in sys.modules:
            continue
        others = extended()
        _known.add(name)
        if name == "scipy.special":
            FUNCTIONS.update(scipy_special.functions())
        importlib.import_module(f"diffjit.primitives.library.{own}")
        if not others:
            settle()
