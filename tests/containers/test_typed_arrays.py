"""`array.array` as programs of quantum chemistry use it: lists of numbers of one type."""

import array

import numpy as np
import pytest

import diffjit as dj


def contracted(x, n):
    exps, coefs = array.array("d"), array.array("d", [x, 2 * x])
    kinds = array.array("i", [1, 2])
    for k in range(n):
        exps.append(x * k)
    exps[1] = x * x
    exps.extend(coefs)
    exps.insert(0, x)
    exps.pop()
    both = exps + coefs
    total = 0.0
    for u, v in zip(exps, both, strict=False):
        total += u * v
    total += np.sum(np.array(both) * 2.0) + both[1:3][0] * len(both)
    return total * kinds[1] + exps.index(x) + np.dot(np.asarray(coefs), coefs) * isinstance(exps, array.array)


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_as_python(backend):
    numerical = (contracted(1.3 + 1e-6, 4) - contracted(1.3 - 1e-6, 4)) / 2e-6
    np.testing.assert_allclose(dj.jit(contracted, backend=backend)(1.3, 4), contracted(1.3, 4), rtol=1e-12)
    np.testing.assert_allclose(dj.grad(contracted, backend=backend)(1.3, 4), numerical, rtol=1e-7)


def test_what_does_not_fit():
    def large(k):
        return array.array("b", [k])[0]

    assert dj.jit(large, backend="python")(7) == 7
    with pytest.raises(OverflowError):
        dj.jit(large, backend="python")(200)
    with pytest.raises(dj.DiffjitError, match="return its numbers"):
        dj.jit(lambda x: array.array("d", [x]), backend="python")(1.0)
