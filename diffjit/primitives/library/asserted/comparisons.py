"""What `np.testing` asks of numbers and arrays; messages are not NumPy's."""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np


def assert_allclose(actual, desired, rtol=1e-07, atol=0, equal_nan=True):
    """Raise where two arrays differ by more than the tolerances."""
    if not np.allclose(actual, desired, rtol=rtol, atol=atol, equal_nan=equal_nan):
        raise AssertionError("Not equal to tolerance")


def assert_array_equal(actual, desired):
    """Raise where two arrays differ; NaN is equal to NaN."""
    if not np.all((actual == desired) | (np.isnan(actual) & np.isnan(desired))):
        raise AssertionError("Arrays are not equal")


def assert_almost_equal(actual, desired, decimal):
    """Raise where two arrays differ in one of so many decimals."""
    if not np.allclose(actual, desired, rtol=0.0, atol=1.5 * 10.0 ** (-decimal), equal_nan=True):
        raise AssertionError("Arrays are not almost equal")


def assert_array_less(x, y):
    """Raise where one array is not less than the other."""
    if not np.all(x < y):
        raise AssertionError("Arrays are not strictly ordered `x < y`")
