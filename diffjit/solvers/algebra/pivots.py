"""Orthogonal and triangular factors by SciPy's name; where columns are exchanged, SciPy's own code finds their order.

The order jumps where two columns are equally long, and is a constant between.
"""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg

from diffjit.api.foreign import foreign
from diffjit.api.functions import stop_gradient
from diffjit.primitives.library.orthogonal import matrix
from diffjit.primitives.registry import implements

ORDER = foreign(
    lambda a: scipy.linalg.qr(np.asarray(a), mode="r", pivoting=True)[1].astype(np.int32),
    result=lambda a: np.zeros(a.shape[1], np.int32),
)


@implements(scipy.linalg.qr)
def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """Orthogonal and triangular factor, and with pivoting the order of columns that they are of."""
    if mode == "raw":
        raise NotImplementedError("scipy.linalg.qr(mode='raw'): use 'full'")
    a = matrix(a)
    if mode == "r" and a.shape[0] > a.shape[1]:
        raise NotImplementedError("scipy.linalg.qr(mode='r') of a tall matrix: use 'economic'")
    order = ORDER(stop_gradient(a)) if pivoting else None
    columns = a[:, order] if pivoting else a
    if mode == "r":
        r = np.linalg.qr(columns, "r")
        return (r, order) if pivoting else (r,)
    found = np.linalg.qr(columns, "reduced" if mode == "economic" else "complete")
    return (found[0], found[1], order) if pivoting else (found[0], found[1])
