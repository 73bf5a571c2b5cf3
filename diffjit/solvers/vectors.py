"""States that are trees, as one real vector and back: plain Python, read by the frontend.

`parts` and `forms` are the numbers and arrays of a tree, in order. A complex part is its real parts, then its imaginary
ones: what a solver does to a vector, and its derivative, hold for functions of complex numbers whether these are
holomorphic or not.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np


def plain(forms):
    """Whether the tree is one real array of one dimension: the vector itself."""
    return len(forms) == 1 and np.ndim(forms[0]) == 1 and not np.iscomplexobj(forms[0])


def span(forms):
    """The length of the vector."""
    n = 0
    for form in forms:
        n += 2 * np.size(form) if np.iscomplexobj(form) else np.size(form)
    return n


def whole(parts):
    """The vector of a tree."""
    if plain(parts):
        return parts[0] + 0.0
    pieces = []
    for p in parts:
        flat = np.reshape(p, -1)
        if np.iscomplexobj(p):
            pieces.append(np.real(flat))
            pieces.append(np.imag(flat))
        else:
            pieces.append(flat)
    return np.concatenate(pieces)


def stored(out, at, p):
    """Write a part to a vector from a place on, and give the place after it."""
    if np.iscomplexobj(p):
        return stored(out, stored(out, at, p.real), p.imag)
    if np.ndim(p) == 0:
        out[at] = p
        return at + 1
    out[at : at + p.size] = p.ravel()
    return at + p.size


def packed(parts, forms, y):
    """Other parts of these forms as one vector, in the type of y; parts of a complex one may be real."""
    for p, form in zip(parts, forms):  # noqa: B905 - read by the frontend
        if np.shape(p) != np.shape(form):
            raise ValueError("the function returns another shape than that of its state")
    out = np.zeros_like(y)
    if plain(forms):
        out[...] = parts[0]
        return out
    at = 0
    for p, form in zip(parts, forms):  # noqa: B905
        at = stored(out, at, p)
        if np.iscomplexobj(form) and not np.iscomplexobj(p):
            at += np.size(p)
    return out


def joined(real, imag):
    """A complex array of its parts."""
    out = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    out.real = real
    out.imag = imag
    return out


def unpacked(y, forms):
    """The parts of a tree whose vector is y."""
    if plain(forms):
        return (y,)
    parts = []
    at = 0
    for form in forms:
        n = np.size(form)
        if np.iscomplexobj(form):
            z = joined(y[at : at + n], y[at + n : at + 2 * n])
            parts.append(z[0] if np.ndim(form) == 0 else z.reshape(form.shape))
            at += 2 * n
        else:
            parts.append(y[at] if np.ndim(form) == 0 else y[at : at + n].reshape(form.shape))
            at += n
    return tuple(parts)


def rows(ys, forms):
    """The parts of trees whose vectors are the rows of ys, with a first axis for these."""
    parts = []
    at = 0
    for form in forms:
        n = np.size(form)
        if np.iscomplexobj(form):
            z = joined(ys[:, at : at + n], ys[:, at + n : at + 2 * n])
            at += 2 * n
        else:
            z = ys[:, at : at + n].copy()
            at += n
        parts.append(z[:, 0].copy() if np.ndim(form) == 0 else z.reshape((ys.shape[0], *form.shape)))
    return tuple(parts)
