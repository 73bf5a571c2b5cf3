"""The folder of compiled programs fails in every way that a disk can: programs are compiled, and right."""

import errno
import io
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import diffjit as dj
from diffjit.api.engine import manifest
from diffjit.errors import CacheWarning
from diffjit.lowering.calls import cache, machinecode

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are those of POSIX systems")
X = np.array([0.3, 0.7, 1.1])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setattr(dj.settings, "cache_dir", str(path))
    cache._warn_once.cache_clear()
    return path


def fresh(scale):
    """A program that no other test has."""

    def loss(x):
        return np.sum(np.sin(x) * scale)

    return loss


def check(function, scale):
    np.testing.assert_allclose(dj.grad(function)(X), scale * np.cos(X), rtol=1e-12)


def test_a_full_disk_is_warned_of_once(folder, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(cache, "write_bytes", full)
    with pytest.warns(CacheWarning, match="No space left on device") as seen:
        check(fresh(2.0), 2.0)
    assert len([w for w in seen if w.category is CacheWarning]) == 1

    def other(x):
        return np.sum(np.cos(x) * 3.0)

    np.testing.assert_allclose(dj.grad(other)(X), -3.0 * np.sin(X), rtol=1e-12)  # a warning would be an error here
    assert not list(folder.iterdir())


SCRIPT = """
import sys, warnings
import numpy as np
import diffjit as dj
from diffjit.api.engine.derived import Derived

plain = Derived.specialise
def specialise(self, args, kwargs):
    print("specialised")
    return plain(self, args, kwargs)
Derived.specialise = specialise

def loss(x):
    return np.sum(np.sin(x) * x)

warnings.simplefilter("error" if "strict" in sys.argv else "ignore")
print(dj.grad(loss)(np.ones(3)))
"""


@pytest.fixture
def script(tmp_path, folder):
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)

    def run(*arguments):
        environment = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "DIFFJIT_CACHE_DIR": str(folder)}
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, str(path), *arguments], env={**os.environ, **environment}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


FOUND = "[1.38177329 1.38177329 1.38177329]\n"


def ways(tmp_path):
    """What may be in place of a file."""
    return {
        "cut off": lambda p, data: p.write_bytes(data[:-7]),
        "cut to nothing": lambda p, data: p.write_bytes(b""),
        "one bit": lambda p, data: p.write_bytes(data[:60] + bytes([data[60] ^ 4]) + data[61:]),
        "a directory": lambda p, data: (p.unlink(), p.mkdir(), (p / "inside").write_text("x")),
        "writable by others": lambda p, data: p.chmod(0o666),
        "a link": lambda p, data: (p.rename(tmp_path / p.name), p.symlink_to(tmp_path / p.name)),
        "a pipe": lambda p, data: (p.unlink(), os.mkfifo(p)),
        "unreadable": lambda p, data: p.chmod(0o000) if os.getuid() else p.write_bytes(b"x" * 100),
    }


def test_whatever_is_in_place_of_a_file(script, folder, tmp_path):
    assert script() == "specialised\n" + FOUND
    files = sorted(folder.iterdir())
    assert {p.suffix for p in files} == {".py", ".bin", ".manifest"}
    assert script() == FOUND
    for name, spoil in ways(tmp_path).items():
        for path in sorted(folder.iterdir()):
            spoil(path, path.read_bytes())
        assert script() == "specialised\n" + FOUND, name
        for path in folder.iterdir():
            if path.is_dir():
                (path / "inside").unlink()
                path.rmdir()
    script()
    assert script("strict") == FOUND  # all was written anew


@pytest.mark.parametrize("harm", [os.system, eval, subprocess.run])
def test_files_name_nothing_but_our_records(harm, monkeypatch):
    content = pickle.dumps((harm, 1))
    with pytest.raises(pickle.UnpicklingError, match="is not what a"):
        machinecode._Reader(io.BytesIO(content)).load()
    with pytest.raises(pickle.UnpicklingError, match="is not what a"):
        manifest._Reader(io.BytesIO(content), fresh).load()


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, monkeypatch):
    shared, temporary = tmp_path / "shared", tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o777)
    temporary.mkdir()
    monkeypatch.setattr(dj.settings, "cache_dir", str(shared))
    monkeypatch.setattr(cache.tempfile, "tempdir", str(temporary))
    assert cache.folder() == temporary / f"diffjit-{os.getuid()}"
    check(fresh(4.0), 4.0)
    assert not list(shared.iterdir())


def test_a_folder_for_one_process_is_removed_at_exit(tmp_path):
    taken = tmp_path / f"diffjit-{os.getuid()}"
    taken.write_text("somebody else's")
    program = "import diffjit.lowering.calls.cache as c; print(c.folder())"
    environment = {
        **os.environ, "TMPDIR": str(tmp_path), "DIFFJIT_CACHE_DIR": "/dev/null/none",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }  # fmt: skip
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(tmp_path / "diffjit-"))
    assert list(tmp_path.iterdir()) == [taken]


def test_warnings_are_one_category():
    assert issubclass(CacheWarning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CacheWarning)
        cache._warn_once.cache_clear()
        with pytest.raises(CacheWarning):
            cache.keep(cache.Path("/dev/null/none/x"), b"")
