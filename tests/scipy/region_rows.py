"""Rows of images and scattered points: windows, regions, triangles, hulls."""

from __future__ import annotations

import numpy as np
import scipy.interpolate as si
import scipy.ndimage as nd
import scipy.sparse as sp
from scipy import spatial
from scipy.sparse import csgraph

from tests.scipy.rows import row

rng = np.random.default_rng(8)
I = rng.permutation(42).reshape(6, 7) / 9.0 + 0.03  # noqa: E741 - an image, no two elements of which are near each other
CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
HILL = np.array([[0.0, 0.5, 0.0], [0.5, 1.0, 0.5], [0.0, 0.5, 0.0]])

# Windows --------------------------------------------------------------------------------------------------------------

for name in ("maximum_filter", "minimum_filter", "median_filter"):
    rank = getattr(nd, name)
    row(f"{name} size", lambda a, f=rank: f(a, size=3), I, of=rank, twice=True)
    row(f"{name} footprint", lambda a, f=rank: f(a, footprint=CROSS, mode="constant", cval=0.7), I)
    row(f"{name} sizes", lambda a, f=rank: f(a, (2, 3), mode="mirror", origin=(0, 1)), I)
row("maximum_filter modes", lambda a: nd.maximum_filter(a, (2, 3), mode=("wrap", "mirror")), I)
row("rank_filter", lambda a: nd.rank_filter(a, 2, size=3, mode="nearest"), I, of=nd.rank_filter)
row("rank_filter from above", lambda a: nd.rank_filter(a, -2, footprint=CROSS), I)
row("percentile_filter", lambda a: nd.percentile_filter(a, 80, size=3) + nd.percentile_filter(a, -30, 3), I,
    of=nd.percentile_filter)  # fmt: skip
row("maximum_filter1d", lambda a: nd.maximum_filter1d(a, 4, axis=0, origin=-1), I, of=nd.maximum_filter1d)
row("minimum_filter1d", lambda a: nd.minimum_filter1d(a, 3, mode="wrap"), I, of=nd.minimum_filter1d)
row("generic_filter", lambda a, s: nd.generic_filter(a, lambda w, s: np.sum(w * w) * s, 2, extra_arguments=(s,)), I,
    0.4, of=nd.generic_filter)  # fmt: skip
for name in ("grey_dilation", "grey_erosion", "grey_opening", "grey_closing", "white_tophat", "black_tophat",
             "morphological_gradient"):  # fmt: skip
    grey = getattr(nd, name)
    row(f"{name} size", lambda a, f=grey: f(a, size=(3, 2)), I, of=grey)
    row(f"{name} structure", lambda a, f=grey: f(a, structure=HILL, mode="nearest"), I)
row("center_of_mass", nd.center_of_mass, I, of=nd.center_of_mass, twice=True)
row("center_of_mass label", lambda a: nd.center_of_mass(a, (I > 2.0).astype(int), 1), I)
row("center_of_mass labels", lambda a: tuple(c[1] for c in nd.center_of_mass(a, np.round(I).astype(int), [1, 2])), I)

# Regions --------------------------------------------------------------------------------------------------------------

row("label", lambda a: nd.label(a > 2.0)[0] * a + nd.label(a > 2.0, np.ones((3, 3)))[1], I, of=nd.label)
for name in ("binary_erosion", "binary_dilation", "binary_opening", "binary_closing"):
    binary = getattr(nd, name)
    row(f"{name}", lambda a, f=binary: f(a > 1.0) * a + f(a > 1.5, structure=CROSS, iterations=2) * a, I, of=binary)
row("binary_fill_holes", lambda a: nd.binary_fill_holes(a > 1.0) * a, I, of=nd.binary_fill_holes)
row("binary_propagation", lambda a: nd.binary_propagation(a > 4.0, mask=a > 1.0) * a, I, of=nd.binary_propagation)
row("binary_hit_or_miss", lambda a: nd.binary_hit_or_miss(a > 2.0, CROSS) * a, I, of=nd.binary_hit_or_miss)
row("distance_transform_edt", lambda s: nd.distance_transform_edt(I > 0.5, sampling=(s, 2 * s)), 0.7,
    of=nd.distance_transform_edt, twice=True)  # fmt: skip
row("distance_transform_edt of ones", lambda a: nd.distance_transform_edt(a > 0.5, return_indices=True)[0] * a, I)
row("distance_transform_cdt", lambda a: nd.distance_transform_cdt(a > 0.5) * a, I, of=nd.distance_transform_cdt)

# Scattered points -----------------------------------------------------------------------------------------------------

P, V = rng.random((12, 2)), rng.normal(size=12)
X = 0.35 + 0.3 * rng.random((4, 2))
SPACE = np.random.default_rng(0).random((14, 3))
row("LinearNDInterpolator", lambda p, v, x: si.LinearNDInterpolator(p, v)(x), P, V, X, of=si.LinearNDInterpolator,
    twice=True)  # fmt: skip
row("LinearNDInterpolator beyond", lambda v, x: si.LinearNDInterpolator(list(P), v, fill_value=0.5)(4 * x - 1), V, X)
row("LinearNDInterpolator columns", lambda v, x: si.LinearNDInterpolator((P[:, 0], P[:, 1]), v)(x[:, 0], x[:, 1]),
    np.stack([V, V * V], axis=1), X)  # fmt: skip
row("LinearNDInterpolator space", lambda p, x: si.LinearNDInterpolator(p, p[:, 0] ** 2)(x), SPACE, SPACE[:3] / 3 + 0.3)
row("griddata linear", lambda p, v, x: si.griddata(p, v, (x[None, :, 0], x[:, None, 1])), P, V, X)
row("griddata rescaled", lambda v, x: si.griddata((P[:, 0], P[:, 1]), v, x, rescale=True), V, X)
BETWEEN, TRIANGLES = si.LinearNDInterpolator(P, V), spatial.Delaunay(P)
row("LinearNDInterpolator outside", lambda x: BETWEEN(x) + TRIANGLES.find_simplex(x), X)
row("Delaunay", lambda p: p[spatial.Delaunay(p).simplices].sum(axis=1), P, of=spatial.Delaunay)
row("Delaunay find_simplex", lambda p, x: spatial.Delaunay(p).find_simplex(x) * x[:, 0], P, X)
row("ConvexHull", lambda p: spatial.ConvexHull(p).volume + spatial.ConvexHull(p).area ** 2, P, of=spatial.ConvexHull,
    twice=True)  # fmt: skip
row("ConvexHull space", lambda p: spatial.ConvexHull(p).volume * spatial.ConvexHull(p).area, SPACE)
row("ConvexHull corners", lambda p: p[spatial.ConvexHull(p).vertices], P)

# Graphs ---------------------------------------------------------------------------------------------------------------

EDGES = np.triu(rng.random((6, 6)) + 0.5, 1) * (rng.random((6, 6)) < 0.6)
row("connected_components", lambda a: csgraph.connected_components(sp.csr_matrix(a), directed=False)[1] * a[0], EDGES,
    of=csgraph.connected_components)  # fmt: skip
for path in (csgraph.shortest_path, csgraph.dijkstra, csgraph.floyd_warshall):
    row(f"{path.__name__}", lambda e, f=path: 1 / (1 + f(sp.csr_matrix((e, FROM_TO), (6, 6)), directed=False)),
        EDGES[EDGES > 0], of=path, twice=True)  # fmt: skip
row("reverse_cuthill_mckee", lambda a: a[csgraph.reverse_cuthill_mckee(sp.csr_matrix(a + a.T), True)], EDGES,
    of=csgraph.reverse_cuthill_mckee)  # fmt: skip
FROM_TO = np.nonzero(EDGES)

# Transforms of images, and places that a function gives --------------------------------------------------------------

for name, by in (("fourier_gaussian", 0.8), ("fourier_uniform", 1.7), ("fourier_shift", 0.6)):
    times = getattr(nd, name)
    row(f"{name}", lambda a, s, f=times: np.fft.ifft2(f(np.fft.fft2(a), s)).real, I, by, of=times)
    row(f"{name} of half", lambda a, s, f=times: np.fft.irfft2(f(np.fft.rfft2(a), (s, 2 * s), n=7), s=(6, 7)), I, by)
row("geometric_transform", lambda a, s: nd.geometric_transform(a, lambda at, by: (at[0] * by + 0.21, at[1] * 0.9 + by),
    extra_arguments=(s,), mode="nearest"), I, 0.7, of=nd.geometric_transform)  # fmt: skip
