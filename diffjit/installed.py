"""The versions that diffjit runs with, and what it says where others are installed.

What is older than declared is refused, before something inside fails for it. What is newer than tested is used, with
one warning: most releases change nothing that matters here, and some do.
"""

from __future__ import annotations

import platform
import re
import warnings

from diffjit.errors import UntestedVersion, UsageError

# The lowest as pyproject.toml declares them, and the highest that have passed the whole suite (.ci/nightly).
LOWEST = {"python": "3.11", "numpy": "2.0", "numba": "0.62", "llvmlite": "0.45"}
HIGHEST = {"python": "3.14", "numpy": "2.5", "numba": "0.68", "llvmlite": "0.50"}


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers: what comes behind them mends and adds nothing."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def check(name: str, version: str) -> None:
    """Refuse what is too old; warn of what is newer than anything that was tested."""
    found = _release(version)
    if found < _release(LOWEST[name]):
        raise refusal(f"{name} {version} is too old: diffjit needs {LOWEST[name]} or newer")
    if found > _release(HIGHEST[name]):
        warnings.warn(
            f"{name} {version} is newer than diffjit has been tested with ({LOWEST[name]} to {HIGHEST[name]}). If "
            f"something fails, or a number looks wrong, look for a newer diffjit or install {name} {HIGHEST[name]}; "
            'warnings.simplefilter("ignore", diffjit.UntestedVersion) switches this message off',
            UntestedVersion,
            stacklevel=2,
        )


def check_python(numpy: str) -> None:
    """Python and NumPy: whatever is differentiated rests on them."""
    check("python", platform.python_version())
    check("numpy", numpy)


def refusal(message: str) -> UsageError:
    """The error for versions that do not do."""
    known = ", ".join(f"{name} {LOWEST[name]} to {HIGHEST[name]}" for name in LOWEST)
    error = UsageError(
        "DJ561",
        message,
        note=f"tested with {known}",
        cure='pip install --upgrade numpy numba scipy; without numba, backend="python" still runs',
        python=ImportError,
    ).as_python()
    assert isinstance(error, UsageError)
    return error
