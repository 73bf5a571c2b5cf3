"""`settings` and the environment variables that give their first values."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import diffjit as dj


def python(code, folder, **environment):
    """Run a script in a new interpreter and return what it prints."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    known = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, script], env={**os.environ, **known}, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PROGRAM = """
    import numpy as np
    import diffjit as dj

    def cost(x):
        return np.sum(x * x)

    print(dj.settings.backend, dj.grad(cost)(np.ones(2)))
"""


def test_backend_of_the_settings(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")
    slope = dj.grad(lambda x: x * x)
    assert slope(3.0) == 6.0
    monkeypatch.setattr(dj.settings, "backend", "fortran")
    with pytest.raises(dj.UsageError, match="DJ503"):
        dj.grad(lambda x: x * x)(3.0)
    assert dj.grad(lambda x: x * x, backend="python")(3.0) == 6.0


def test_changed_backend_takes_effect_at_the_next_call(monkeypatch):
    """A function made under one setting is compiled again under another."""
    monkeypatch.setattr(dj.settings, "backend", "python")
    slope = dj.grad(lambda x: x * x)
    assert slope(3.0) == 6.0
    monkeypatch.setattr(dj.settings, "backend", "fortran")
    with pytest.raises(dj.UsageError, match="DJ503"):
        slope(3.0)


def test_backend_of_the_environment(tmp_path):
    assert python(PROGRAM, tmp_path, DIFFJIT_BACKEND="python") == "python [2. 2.]"


def test_no_such_setting():
    with pytest.raises(AttributeError):
        dj.settings.bakend = "python"


def test_dump_of_the_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(dj.settings, "dump", str(tmp_path))

    def cost(x):
        return np.sum(x * x)

    dj.grad(cost, backend="python")(np.ones(2))
    files = sorted(p for p in tmp_path.rglob("*") if p.is_file())
    texts = [p for p in files if p.suffix == ".py" and not p.name.endswith("-source.py")]
    assert texts
    for p in texts:
        compile(p.read_text(), str(p), "exec")
    assert any("x_bar" in p.read_text() for p in texts)


def test_dump_of_the_environment(tmp_path):
    folder = tmp_path / "dump"
    python(PROGRAM, tmp_path, DIFFJIT_BACKEND="python", DIFFJIT_DUMP=str(folder))
    assert [p for p in folder.rglob("*.py") if "cost" in p.read_text()]


def test_cache_folder_of_the_environment(tmp_path):
    folder = tmp_path / "cache"
    assert python(PROGRAM, tmp_path, DIFFJIT_BACKEND="numba", DIFFJIT_CACHE_DIR=str(folder)) == "numba [2. 2.]"
    assert list(folder.rglob("*.py"))
