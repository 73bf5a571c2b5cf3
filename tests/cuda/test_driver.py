"""What is asked of NVIDIA's driver, with one that runs on the processor: in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

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
