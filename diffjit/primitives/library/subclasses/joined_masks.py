"""The functions of `np.ma` that move entries: other shapes, several arrays as one, a choice of two."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import numpy as np
from numpy import ma

from diffjit.primitives.library.subclasses.masked import (
    data_of,
    fill_kept,
    fill_number,
    is_mask,
    made_masked,
    mask_of,
    masked,
)
from diffjit.primitives.library.subclasses.masking import getmaskarray
from diffjit.primitives.registry import implements


def _declare_single():
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        function = getattr(np, name)

        def of_one(*args, _function=function):
            found = [masked(_function(data_of(a)), _function(getmaskarray(a))) for a in args]
            return found[0] if len(found) == 1 else tuple(found)

        implements(getattr(ma, name))(of_one)


_declare_single()


def _declare_several():
    for name in ("vstack", "hstack", "dstack", "column_stack", "stack"):
        function = getattr(np, name)

        def of_several(arrays, *args, _function=function, **kwargs):
            values = _function([data_of(a) for a in arrays], *args, **kwargs)
            return masked(values, _function([getmaskarray(a) for a in arrays], *args, **kwargs))

        implements(getattr(ma, name))(of_several)


_declare_several()


@implements(ma.concatenate)
def concatenate(arrays, axis=0):
    """Several arrays along an axis."""
    values = np.concatenate([data_of(a) for a in arrays], axis)
    if not any(is_mask(mask_of(a)) for a in arrays):
        return masked(values, False)
    return masked(values, np.concatenate([getmaskarray(a) for a in arrays], axis))


@implements(ma.append)
def append(a, b, axis=None):
    """Two arrays along an axis."""
    return concatenate((a, b) if axis is not None else (np.ravel(made_masked(a)), np.ravel(made_masked(b))), axis or 0)


@implements(ma.squeeze)
def squeeze(a, axis=None):
    """Without axes of length 1."""
    return made_masked(a).turned(lambda part: np.squeeze(part, axis))


@implements(ma.reshape)
def reshape(a, new_shape, order="C"):
    """In another shape."""
    return made_masked(a).reshape(new_shape, order=order)


@implements(ma.transpose)
def transpose(a, axes=None):
    """With axes in another order."""
    return made_masked(a).turned(lambda part: np.transpose(part, axes))


@implements(ma.swapaxes)
def swapaxes(a, axis1, axis2):
    """With two axes exchanged."""
    return made_masked(a).turned(lambda part: np.swapaxes(part, axis1, axis2))


@implements(ma.where)
def where(condition, x, y):
    """Entries of one array or another; those of a condition that does not count do not count."""
    chosen = condition.filled(False) if isinstance(condition, ma.MaskedArray) else condition
    values = np.asarray(np.where(chosen, data_of(x), data_of(y)))
    if not (is_mask(mask_of(condition)) or is_mask(mask_of(x)) or is_mask(mask_of(y))):
        return masked(values, False)
    hidden = np.where(chosen, getmaskarray(x), getmaskarray(y))
    return masked(values, np.logical_or(hidden, getmaskarray(condition)))


@implements(ma.fix_invalid)
def fix_invalid(a, mask=False, copy=True, fill_value=None):
    """What is not finite does not count, and is the fill value."""
    if mask is not False or not copy:
        raise NotImplementedError("np.ma.fix_invalid(mask=..., copy=False)")
    values, given = data_of(a), mask_of(a)
    wrong = ~np.isfinite(values)
    number = fill_number(fill_kept(a), values.dtype) if fill_value is None else fill_value
    return masked(np.where(wrong, number, values), np.logical_or(wrong, given), fill_kept(a))


@implements(ma.ptp)
def ptp(obj, axis=None):
    """The greatest entry that counts less the least one."""
    obj = made_masked(obj)
    return obj.max(axis) - obj.min(axis)


@implements(ma.median)
def median(a, axis=None):
    """The median of the entries that count."""
    if axis is not None:
        raise NotImplementedError("np.ma.median along an axis")
    return np.median(made_masked(a).compressed())
