"""Value, gradient and tangent of programs of four numbers, against Python and difference quotients."""

import numpy as np

import diffjit as dj

DIRECTION = np.array([1.0, 0.3, -0.2, 0.7])


def check(program, point, backend):
    """Compare a program at a point."""
    wanted = [(program(point + 1e-5 * e) - program(point - 1e-5 * e)) / 2e-5 for e in np.eye(4)]
    value, gradient = dj.value_and_grad(program, backend=backend)(point)
    np.testing.assert_allclose(value, program(point), rtol=1e-12)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(dj.jvp(program, (point,), (DIRECTION,), backend=backend)[1], gradient @ DIRECTION)
