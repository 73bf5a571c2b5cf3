"""The stages of a program: `source(..., stage=...)` down to the machine's instructions, and `settings.dump`."""

import itertools
import re

import numpy as np
import pytest

import diffjit as dj


def energy(x, k):
    total = 0.0
    for i in range(x.size):
        total += np.sin(x[i]) * k
    return total


def shouting(x):
    x[0] = 1.0
    print("called")  # noqa: T201 - what must not happen
    return x[0] * x[1]


def power(n, x):
    return x if n == 0 else x * power(n - 1, x)


def square(x):
    return x * x


X = np.linspace(0.1, 1.0, 5)
FORMS = {"llvm": r"(?m)^define .*@.*energy", "asm": r"(?m)^\s*\.globl\s+.*energy"}


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "numba")


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("stage", FORMS)
def test_machine_text(stage, isolate, monkeypatch):
    monkeypatch.setattr(dj.settings, "isolate", isolate)
    slope = dj.grad(energy)
    slope(X, 2.0)  # compiled, and in the cache
    text = dj.source(slope, X, 2.0, stage=stage)
    assert re.search(FORMS[stage], text)
    assert slope(X, 2.0) == pytest.approx(2.0 * np.cos(X))


def test_text_is_that_of_optimised_code():
    """Sums of squares are vectorised by LLVM's passes, not before."""
    text = dj.source(lambda x: np.sum(x * x), X, stage="llvm")
    assert re.search(r"fmul [\w ]*<\d+ x double>", text)


def test_both_ways_give_the_same_code(monkeypatch):
    """What the second process says of its code is what this one would make."""
    found = []
    for isolate in (True, False):
        monkeypatch.setattr(dj.settings, "isolate", isolate)
        text = dj.source(square, 2.0, stage="asm")
        found.append([line.split("#")[0].split()[0] for line in text.splitlines() if line.startswith("\tv")])
    assert found[0] == found[1] != []


def test_nothing_runs(capsys):
    x = np.ones(3) * 2.0
    assert dj.source(shouting, x, stage="asm")
    assert capsys.readouterr().out == ""
    assert x[0] == 2.0


@pytest.mark.parametrize(
    ("made", "args"),
    [
        (dj.grad(power, 1), (3, 1.5)),
        (dj.sparse_jacobian(square), (X,)),
        (dj.vmap(square), (X,)),
        (dj.jit(square), (2.0,)),
    ],
)
def test_verbs(made, args):
    assert "define" in dj.source(made, *args, stage="llvm")


def test_stages_of_compiled_code_alone():
    for stage in ("lowered", "llvm", "asm"):
        with pytest.raises(dj.UsageError, match="DJ508"):
            dj.source(dj.grad(energy, backend="python"), X, 2.0, stage=stage)


def test_unknown_stages_list_the_known_ones():
    with pytest.raises(dj.UsageError) as caught:
        dj.source(energy, X, 2.0, stage="machine")
    for stage in ("source", "lowered", "llvm", "asm"):
        assert f'"{stage}"' in str(caught.value)


# The folder


def stages(folder):
    """Numbers, names and suffixes of the files of one program."""
    names = sorted(path.name for path in folder.iterdir())
    found = [re.fullmatch(r"(\d\d)-([\w-]+)\.(\w+)", name) for name in names]
    assert all(found), names
    assert [int(m[1]) for m in found] == list(range(len(found)))
    return [(m[2], m[3]) for m in found]


def test_a_folder_for_each_program(tmp_path, monkeypatch):
    monkeypatch.setattr(dj.settings, "dump", str(tmp_path))
    dj.grad(energy)(X, 2.0)
    dj.jvp(energy, (X, 2.0), (X, 1.0))
    first, second = sorted(tmp_path.iterdir())
    assert second.name.startswith("energy_")
    found = stages(first)
    order = [
        ("source", "py"), ("interpreted", "ir"), ("program", "py"), ("reverse", "ir"), ("reverse", "py"),
        ("lowered", "py"), ("llvm", "ll"), ("asm", "s"),
    ]  # fmt: skip
    assert [stage for stage in found if stage in order] == order
    assert ("forward", "ir") in stages(second)
    texts = {path.name.partition("-")[2]: path.read_text() for path in first.iterdir()}
    assert "def energy(x, k):" in texts["source.py"]
    assert texts["interpreted.ir"].startswith("function energy(")
    assert "x_bar" in texts["reverse.py"]
    assert texts["lowered.py"] == dj.source(dj.grad(energy), X, 2.0, stage="lowered")
    assert re.search(FORMS["llvm"], texts["llvm.ll"])
    assert re.search(FORMS["asm"], texts["asm.s"])


def test_passes_that_change_nothing_write_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(dj.settings, "dump", str(tmp_path))
    dj.grad(energy, backend="python")(X, 2.0)
    (folder,) = tmp_path.iterdir()
    texts = [path.read_text() for path in sorted(folder.glob("*.ir"))]
    assert len(texts) > 2
    assert all(a != b for a, b in itertools.pairwise(texts))


def test_a_later_process_replaces_what_an_earlier_one_has_left(tmp_path, monkeypatch):
    monkeypatch.setattr(dj.settings, "dump", str(tmp_path))
    folder = tmp_path / "square"
    folder.mkdir()
    (folder / "99-llvm.ll").write_text("old")
    (folder / "notes.txt").write_text("the user's")
    dj.jit(square, backend="python")(2.0)
    names = {path.name for path in folder.iterdir()}
    assert "99-llvm.ll" not in names
    assert {"notes.txt", "00-source.py"} <= names


def test_what_fails_leaves_its_stages(tmp_path, monkeypatch):
    from diffjit.api import gradients

    def fail(*_args, **_kwargs):
        raise KeyError("lost")

    monkeypatch.setattr(dj.settings, "dump", str(tmp_path))
    monkeypatch.setattr(gradients, "joint", fail)
    with pytest.raises(dj.InternalError):
        dj.grad(square, backend="python")(2.0)
    assert stages(tmp_path / "square")[:2] == [("source", "py"), ("interpreted", "ir")]
