"""Linear algebra and Fourier transforms."""

import numpy as np

from diffjit.ir.ops.schema import Raises, Row, declare

_SINGULAR = np.linalg.LinAlgError

declare(
    Row("matmul", "a b", "NumPy's @ for 1-D, 2-D and stacked operands",
        library=True, raises=Raises.LENGTHS, shared=True, operator="@", name="", size=1, core=2),
    Row("solve", "A b", "numpy.linalg.solve of one or stacked matrices",
        library=True, raises=Raises.VALUES, error=_SINGULAR, shared=True, like=1, core=2),
    Row("inv", "A", "numpy.linalg.inv of one or stacked matrices",
        library=True, raises=Raises.VALUES, error=_SINGULAR, shared=True, like=0),
    Row("det", "A", "numpy.linalg.det of one or stacked matrices", library=True, raises=Raises.VALUES, shared=True),
    Row("cholesky", "A", "numpy.linalg.cholesky of one or stacked matrices",
        library=True, raises=Raises.VALUES, error=_SINGULAR, shared=True, like=0),
    Row("eigh", "A",
        "values and vectors of a decomposition in one array (`primitives.spectral`); attrs upper, whether it reads the "
        "upper triangle",
        library=True, raises=Raises.VALUES, error=_SINGULAR, shared=True),
    Row("svd", "A", "values and vectors of a decomposition in one array (`primitives.spectral`)",
        library=True, raises=Raises.VALUES, error=_SINGULAR, shared=True),
    Row("factorizes", "a", 'attrs kind ("solve": not singular, "cholesky": positive definite) -> bool',
        library=True, raises=Raises.VALUES, constant=True, boolean=True),
    Row("fft", "a", "attrs axis, forward: Fourier transform without factor, of complex numbers",
        library=True, raises=Raises.NEVER, shared=True, like=0),
    Row("rfft", "a", "attrs axis: half a transform of real numbers", library=True, raises=Raises.NEVER, shared=True),
    Row("irfft", "a n", "attrs axis: n real numbers from half a transform",
        library=True, raises=Raises.LENGTHS, shared=True),
)  # fmt: skip
