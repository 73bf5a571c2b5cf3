"""Machine code on disk: found again by another process, made again when it is damaged."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np
import diffjit as dj
from numba.core.event import install_recorder

def f(x, A):
    y = []
    for i in range(x.size):
        y.append(x[i] ** 2)
    return sum(y) + np.sum(A @ x)

with install_recorder("numba:compile") as seen:
    g = dj.grad(f)(np.array([1.0, 2.0, 3.0]), np.ones((2, 3)))
names = {str(event.data["dispatcher"].__name__) for _, event in seen.buffer}
print(g.tolist(), "compiled" if "f_grad" in names else "found")
"""
GRADIENT = "[4.0, 6.0, 8.0]"


@pytest.fixture
def program(tmp_path):
    """A file: functions without source are refused."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def start(folder, **environment):
        for manifest in folder.glob("*.manifest"):  # with one, a process does not come as far as Numba
            manifest.unlink()
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, str(path)],
            env={**os.environ, "DIFFJIT_CACHE_DIR": str(folder), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return start


def test_a_second_process_compiles_nothing(program, tmp_path):
    folder = tmp_path / "cache"
    assert program(folder) == f"{GRADIENT} compiled"
    assert program(folder) == f"{GRADIENT} found"
    (kept,) = folder.glob("*.bin")
    content = kept.read_bytes()
    for damaged in (content[:-7], b"", content[:40] + bytes([content[40] ^ 1]) + content[41:]):
        kept.write_bytes(damaged)
        assert program(folder) == f"{GRADIENT} compiled"
    assert program(folder) == f"{GRADIENT} found"


def test_a_limit_of_zero_keeps_nothing(program, tmp_path):
    folder = tmp_path / "cache"
    assert program(folder, DIFFJIT_CACHE_MB="0") == f"{GRADIENT} compiled"
    assert not list(folder.glob("*.bin"))


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
def test_a_folder_that_others_can_write_to_is_not_used(program, tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    assert program(folder) == f"{GRADIENT} compiled"
    assert not list(folder.iterdir())


def test_the_least_recently_used_files_go(tmp_path, monkeypatch):
    from diffjit.lowering.calls import cache

    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    for k in range(4):
        path = tmp_path / f"{k}.bin"
        path.write_bytes(bytes(100))
        os.utime(path, (k, k))
    cache.make_room(250)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.bin", "3.bin"]


RECURSIVE = """
import diffjit as dj

def tree(x, depth):
    if depth < 1:
        return x * x
    left = tree(0.5 * x, depth - 1)
    return tree(x * left, depth - 2) + left

print(dj.grad(tree)(1.5, 4))
"""


def test_recursive_functions_are_compiled_in_each_process(tmp_path):
    """Numba does not resolve the pointers between them when it loads machine code."""
    path, folder = tmp_path / "program.py", tmp_path / "cache"
    path.write_text(RECURSIVE)
    environment = {**os.environ, "DIFFJIT_CACHE_DIR": str(folder)}
    first, second = (
        subprocess.run([sys.executable, str(path)], env=environment, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our own program
        for _ in range(2)
    )
    assert first == second
    assert not list(folder.glob("*.bin"))
