"""What is asked of NVIDIA's driver, with one that runs on the processor: in a process of its own."""

import ctypes
import mmap
import subprocess
import sys
from pathlib import Path

import pytest

from diffjit.lowering.cuda.gpu import pages
from tests.cuda.driver_checks import CHECKS


def test_what_is_asked_of_the_driver(request, tmp_path, monkeypatch):
    if "gpu" in request.node.callspec.id:
        pytest.skip("needs no GPU")
    monkeypatch.setenv("DIFFJIT_CACHE_DIR", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-m", "tests.cuda.driver_checks"],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [check.__name__ for check in CHECKS]


def test_the_system_tells_where_pages_are(request):
    if "gpu" in request.node.callspec.id:
        pytest.skip("needs no GPU")
    if pages._table() is None:
        pytest.skip("the system does not tell")
    memory = mmap.mmap(-1, 64 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert not pages.here(start, len(memory))
    memory[0] = 1
    assert pages.here(start, len(memory))
    assert not pages.here(start + mmap.PAGESIZE, len(memory) - mmap.PAGESIZE)
    memory[-1] = 1
    assert pages.here(start + mmap.PAGESIZE, len(memory) - mmap.PAGESIZE)
