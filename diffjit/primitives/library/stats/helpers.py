"""What SciPy's own formulas are written with: choices by conditions, of functions that are called where they hold.

They are private to SciPy, and differ between its versions: those that the installed one has are given here.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import importlib

import numpy as np

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements, present


def parts_of(module: str, *names: str) -> list:
    """Those of these functions that a module of SciPy has, where it has the module."""
    try:
        found = importlib.import_module(module)
    except ImportError:  # of another version
        return []
    return present(found, *names)


def listed(args):
    """Arguments as a tuple: one array stands for itself."""
    return tuple(args) if isinstance(args, (tuple, list)) else (args,)


@implements(
    *parts_of("scipy._lib.array_api_extra", "apply_where"),
    *parts_of("scipy._external.array_api_extra", "apply_where"),  # from SciPy 1.18 on
)
def apply_where(cond, args, f1, f2=None, fill_value=None, kwargs=None, xp=None):
    """f1 where the condition holds, else f2 or a value."""
    args, named = listed(args), {} if kwargs is None else kwargs
    other = fill_value if f2 is None else f2(*args, **named)
    return np.where(cond, f1(*args, **named), other)


@implements(*parts_of("scipy._lib._util", "_lazywhere"))
def lazywhere(cond, arrays, f, fillvalue=None, f2=None):
    """f where the condition holds, else f2 or a value."""
    arrays = listed(arrays)
    other = fillvalue if f2 is None else f2(*arrays)
    return np.where(cond, f(*arrays), other)


@implements(*parts_of("scipy._lib._util", "_lazyselect"))
def lazyselect(condlist, choicelist, arrays, default=0):
    """The first function whose condition holds, else a value."""
    arrays = listed(arrays)
    result = default
    for k in range(len(condlist) - 1, -1, -1):
        result = np.where(condlist[k], choicelist[k](*arrays), result)
    return result


@implements(*parts_of("scipy._lib._array_api", "xp_promote"))
def promoted(*args, broadcast=False, force_floating=False, xp=None):
    """Arguments as arrays of one dtype."""
    made = tuple(as_float(np.asarray(a)) if force_floating else np.asarray(a) for a in args)
    if broadcast:
        made = tuple(np.broadcast_arrays(*made))
    return made[0] if len(args) == 1 else made
