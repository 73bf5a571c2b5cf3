"""Factors and lengths of cosine and sine transforms."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

import numpy as np
import pytest
import scipy.fft

from tests.options.modes import compared

X = np.cos(np.arange(8.0)) + 0.1 * np.arange(8.0)
W = np.cos(np.arange(1.0, 60.0))
ROWS = {}
for turned, norm in ((True, "forward"), (False, "ortho")):
    for kind in (2, 3) if turned else (1,):

        def program(x, turned=turned, norm=norm, kind=kind):
            given = {"type": kind, "norm": norm, "orthogonalize": turned}
            parts = [
                f(x, **given) for f in ((scipy.fft.dct, scipy.fft.idst) if turned else (scipy.fft.idct, scipy.fft.dst))
            ]
            return sum(np.sum(part * W[: part.shape[0]]) for part in parts)

        ROWS[f"{kind}, {norm}, {turned}"] = program


def lengths(x):
    image = x.reshape(2, 4)
    wide = scipy.fft.dctn(image, s=[5], orthogonalize=True, norm="forward")
    tall = scipy.fft.idstn(image, s=(2, -1), axes=(1, 0))
    return np.sum(wide**2 * W[:5]) + np.sum(tall**2 * W[:2])


ROWS["lengths"] = lengths


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    compared(ROWS[name], X, backend, rtol=1e-5, order=1)
