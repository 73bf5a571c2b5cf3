"""Where memory does not suffice, or a length makes no sense: NumPy's exceptions, and nothing is lost."""

import subprocess
import sys

import numpy as np
import pytest

import diffjit as dj

LIMITED = """
import resource
import numpy as np
import diffjit as dj

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4 // 1024

def grow(x):
    items = []
    while True:
        items.append(x)
    return sum(items)

def double(n, x):
    s = 0.0
    while True:
        s += np.sum(np.ones(n) * x) + np.ones(n * 8)[0]
        n *= 2
    return s

resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
for made, args in ((dj.jit(grow), (1.0,)), (dj.jit(double), (1000, 1.0))):
    for _ in range(2):
        try:
            made(*args)
        except MemoryError as error:
            print(error, "in" in error.__notes__[0])
    print(resident() < 600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_memory_is_given_back_where_it_does_not_suffice(tmp_path):
    script = tmp_path / "limited.py"
    script.write_text(LIMITED)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=300
    )
    words = "no memory for an array or list of this size True\n"
    assert done.stdout == 2 * (2 * words + "True\n")
    assert not done.stderr  # no callback has failed meanwhile


@pytest.mark.parametrize("n", [5, 200_000])
@pytest.mark.parametrize("derive", [dj.jit, dj.grad])
def test_arrays_in_the_words_of_an_error_are_what_they_were(n, derive):
    def refuse(x, n):
        u = np.ones((2, n)) * x
        v = u[:, ::-1]
        if x > 0:
            raise ValueError(f"no: {v} and {u[0, 0]}")
        return np.sum(v)

    u = np.ones((2, n)) * 2.5
    with pytest.raises(ValueError, match="no:") as caught:
        derive(refuse)(2.5, n)
    assert str(caught.value) == f"no: {u} and {u[0, 0]}"


def test_lengths_are_checked_where_arrays_are_made():
    cases = [
        np.zeros, lambda n: np.ones((2, n)), lambda n: np.full(n, 2.5), lambda n: np.empty((n, n)),
        np.eye, np.identity, lambda n: np.sum(np.eye(n, 3)), lambda n: np.sum(np.zeros(n)),
        lambda n: np.repeat(np.ones(3), n),
    ]  # fmt: skip
    for case in cases:
        with pytest.raises(ValueError, match=r"negative|may not contain") as wanted:
            case(-3)
        with pytest.raises(ValueError) as found:
            dj.jit(case)(-3)
        assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize("n", [2**61, 2**40])
def test_arrays_that_are_too_big(n):
    for case in (np.zeros, lambda n: np.zeros((2, n)), lambda n: np.ones(n) * 2.0):
        with pytest.raises((ValueError, MemoryError)) as wanted:
            case(n)
        with pytest.raises(wanted.type if wanted.type is ValueError else MemoryError):
            dj.jit(case)(n)
    with pytest.raises(ValueError, match="array is too big"):
        dj.jit(lambda n: np.zeros((n, n, n)))(2**22)
