"""Filters along some of the axes, cells in place of points, and the extremes of regions."""

# SciPy says of its results what it says of all its backends: no types.
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportGeneralTypeIssues=false

import numpy as np
import pytest
import scipy.ndimage as nd

import diffjit as dj
from tests.options.modes import compared

A = np.random.default_rng(5).normal(size=(3, 2, 4))
K = np.random.default_rng(6).normal(size=(2, 3))
IMAGE = np.random.default_rng(7).normal(size=(4, 3))
LABELS = np.array([[1, 1, 2], [1, 0, 2], [0, 5, 5], [4, 4, 4]])
W = np.cos(np.arange(1.0, 200.0))
ENDS = {"axes": (0, -1), "origin": (0, 1), "mode": ("mirror", "wrap")}


def weighed(part):
    return np.sum(part * part * W[: part.size].reshape(part.shape))


def weights(a):
    return weighed(nd.correlate(a, a[:2, 0, :3], axes=(0, -1), origin=(0, 1))) + weighed(
        nd.convolve(a, K, axes=(0, 2), origin=(-1, 0))
    )


def chosen(a):
    found = nd.maximum_filter(a, size=(2, 3), **ENDS), nd.median_filter(a, footprint=K > 0, axes=(1, 2))
    return sum(weighed(part) for part in found) + weighed(nd.grey_dilation(a, structure=K, axes=(0, 2)))


def slopes(a):
    given = {"axes": (0, 2), "mode": ("mirror", "wrap")}
    return weighed(nd.gaussian_laplace(a, (0.8, 0.6), **given)) + weighed(
        nd.gaussian_gradient_magnitude(a, (0.8, 0.5, 0.6), **given)
    )


def own(a):
    spread = nd.generic_filter(a, lambda part: np.sum(part**3), size=2, axes=(2,))
    return weighed(spread) + slopes(a)


def cells(mode, order):
    def program(image):
        return weighed(nd.zoom(image, (1.7, 2.0), mode=mode, order=order, cval=0.3, grid_mode=True))

    return program


def regions(image):
    low, high, first, last = nd.extrema(image, LABELS, [1, 2, 3, 5])
    least, most, at, to = nd.extrema(image)
    one = nd.extrema(image, LABELS, 4)
    inside = nd.extrema(image, LABELS)
    places = sum(k * place[0] + place[1] for k, place in enumerate(first + last))
    found = least * most + (one[0] + one[2][1]) * one[1] + inside[0] * inside[1]
    return weighed(low) + np.sum(high**3) + places * image[at] + image[to] ** 2 + found


ROWS = {
    "weights": (weights, A),
    "chosen": (chosen, A),
    "own": (own, A),
    **{f"cells {mode} {order}": (cells(mode, order), IMAGE)
       for mode, order in (("reflect", 3), ("grid-constant", 1), ("constant", 1), ("nearest", 2))},
    "regions": (regions, IMAGE),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:It is recommended")
@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("name", ROWS)
def test_in_every_mode(name, backend):
    program, x = ROWS[name]
    if backend == "numba" and not name.startswith("cells"):  # only the gradient is compiled
        found, wanted = dj.grad(program)(x), dj.grad(program, backend="python")(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    else:
        compared(program, x, backend, rtol=1e-5, order=2 if backend == "python" else 1)


def test_types():
    program = lambda image: nd.extrema(image, LABELS, [1, 2, 3])
    found, wanted = dj.jit(program, backend="python")(IMAGE), program(IMAGE)
    assert found[2:] == wanted[2:]
    np.testing.assert_array_equal(found[0], wanted[0])


def test_windows_are_not_turned():
    with pytest.raises(dj.UnsupportedSyntax, match="in their order"):
        dj.jit(lambda a: nd.correlate(a, K, axes=(2, 0)), backend="python")(A)
