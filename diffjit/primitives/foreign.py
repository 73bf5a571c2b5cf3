"""Functions of libraries that are slow to import: their rules are read once a program has imported the library.

A program that calls `scipy.special.jv` has imported `scipy.special`, so that nothing is imported here before.
"""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import numpy as np

from diffjit.primitives import scipy_special
from diffjit.primitives.registry import COMPOSITES, FUNCTIONS, extended, settle
from diffjit.stored import is_class_of_arrays, stored

# A library's module -> the module with plain Python versions of its functions. Those that hand users' functions to
# solvers are written with verbs, in a room above this one.
_LIBRARY = {
    "scipy.special": "diffjit.solvers.functions",
    "scipy.linalg": "diffjit.solvers.algebra",
    "scipy.stats": "diffjit.solvers.probability",
    "scipy.interpolate": "diffjit.solvers.geometry.between",
    "scipy.signal": "diffjit.primitives.library.signal",
    "scipy.ndimage": "diffjit.solvers.images",
    "scipy.spatial": "diffjit.solvers.geometry.points",
    "scipy.sparse": "diffjit.primitives.library.sparse",
    "scipy.sparse.csgraph": "diffjit.solvers.graphs",
    "scipy.sparse.linalg": "diffjit.solvers.sparse",
    "scipy.fft": "diffjit.primitives.library.transforms",
    "scipy.integrate": "diffjit.solvers.scipy.integrate",
    "scipy.optimize": "diffjit.solvers.scipy.optimize",
    "scipy.fftpack": "diffjit.primitives.library.transforms.pack",
    "numpy.ma": "diffjit.primitives.library.subclasses.joined_masks",
    "pandas": "diffjit.primitives.library.labelled.tables",
    "xarray": "diffjit.primitives.library.labelled.dimensions",
    "tqdm": "diffjit.primitives.opaque.progress.bars",
    "tqdm.auto": "diffjit.primitives.opaque.progress.auto",
    "tqdm.notebook": "diffjit.primitives.opaque.progress.notebook",
}
# NumPy's functions and classes that few programs use, or whose rules are written with verbs: they are read with the
# first program that has one.
_LATE = {
    np.linalg.eig: "diffjit.solvers.algebra.spectra",
    np.linalg.eigvals: "diffjit.solvers.algebra.spectra",
    np.roots: "diffjit.solvers.algebra.spectra",
    np.polynomial.polynomial.polyroots: "diffjit.solvers.algebra.spectra",
    np.nditer: "diffjit.primitives.library.resumed.elements",
    np.frompyfunc: "diffjit.primitives.library.subclasses.of_objects",
    np.matrixlib.matrix: "diffjit.primitives.library.subclasses.matrices",
    np.matrixlib.asmatrix: "diffjit.primitives.library.subclasses.matrices",
    np.bmat: "diffjit.primitives.library.subclasses.matrices",
}
# Modules that other packages import for themselves: read with the first function that a program calls.
_CALLED = {
    "array": "diffjit.primitives.library.derived.typed",
    "statistics": "diffjit.primitives.library.samples",
    "concurrent.futures._base": "diffjit.solvers.aside.workers.executors",
    "concurrent.futures.process": "diffjit.solvers.aside.workers.executors",
    "concurrent.futures.thread": "diffjit.solvers.aside.workers.executors",
    "joblib.parallel": "diffjit.solvers.aside.workers.jobs",
    "multiprocessing.context": "diffjit.solvers.aside.workers.pools",
    "multiprocessing.pool": "diffjit.solvers.aside.workers.pools",
}
_known: set[str] = set()


def learn(called: Any = None) -> None:
    """Fill the tables of the registry for libraries that have been imported since, and for a function of NumPy's."""
    home = getattr(called, "__module__", None)
    late = _LATE.get(called) or (_CALLED.get(home) if isinstance(home, str) else None)
    if late is not None:
        room(late)
    for name, own in _LIBRARY.items():
        if name not in _known and name in sys.modules:
            read(name, own)


def room(own: str) -> Any:
    """One of diffjit's modules that few programs need, read with the first one."""
    if own not in _known:
        read(own, own)
    return sys.modules[own]


def read(name: str, own: str) -> None:
    """Fill the tables by one of diffjit's modules."""
    others = extended()
    _known.add(name)
    if name == "scipy.special":
        FUNCTIONS.update(scipy_special.functions())
    importlib.import_module(own)
    if not others:
        settle()


def stand_in(cls: type) -> type:
    """The class whose programs the objects of a class run: of a class of SciPy that is known, the plain one."""
    shown = vars(cls).get("stands_for")
    if shown is not None and is_class_of_arrays(shown):  # a plain object in the place of one that shows an array
        return shown
    if stored(cls) is None or is_class_of_arrays(cls):
        return cls
    learn(cls)
    return COMPOSITES.get(cls, cls)  # pyright: ignore[reportReturnType] - a class stands for a class


@functools.cache
def stood_for(cls: type) -> type | None:
    """The class that one of the library's is written for, as that of deques; None of others."""
    return next((known for known, plain in COMPOSITES.items() if plain is cls and isinstance(known, type)), None)
