"""`source`: text that a reader can paste into a file that imports NumPy."""

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


def smooth(u, k, n):
    u = u.copy()
    for t in range(n):  # noqa: B007 - the name is what is tested
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * np.sin(u[i - 1]) * u[i + 1]
    return np.sum(u * u)


def branches(x, a):
    total = 0.0
    for v in x:
        if v > 0.3:
            total += np.exp(a * v)
        elif v > 0:
            break
        else:
            total -= v * v
    return total


def solved(m, b):
    x = np.linalg.solve(m @ m.T + np.eye(2), b)
    return np.sum(x**2) + np.mean(m)


def collected(x, n):
    kept = []
    for i in range(n):
        kept.append(np.sin(x * i))  # noqa: PERF401
    return sum(kept)


CASES = [
    (smooth, (np.linspace(0, 1, 8), 0.1, 3)),
    (branches, (np.array([0.5, -0.2, 0.9, 0.1, 7.0]), 0.7)),
    (solved, (np.array([[1.0, 0.2], [-0.3, 0.8]]), np.array([1.0, -2.0]))),
    (collected, (0.3, 4)),
]
MADE = {
    "jit": dj.jit,
    "grad": dj.grad,
    "value_and_grad": dj.value_and_grad,
}


def run(text, args):
    """Run a module that may use NumPy alone, and return what its last function gives."""
    space = {"__name__": "pasted"}
    exec(compile(text, "<pasted>", "exec"), space)  # noqa: S102 - what a reader would do
    functions = [v for v in space.values() if callable(v) and getattr(v, "__module__", "") == "pasted"]
    return functions[-1](*[a.copy() if isinstance(a, np.ndarray) else a for a in args])


def numbers(result):
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([numbers(p) if isinstance(p, tuple) else np.ravel(p) for p in parts])


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("made", MADE)
def test_text_runs_with_numpy_alone(made, f, args):
    derived = MADE[made](f)
    text = dj.source(derived, *args)
    imports = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imports <= {"numpy", "math"}
    # The text of `grad` gives the value, too.
    wanted = MADE["value_and_grad" if made == "grad" else made](f, backend="python")(*args)
    np.testing.assert_array_equal(numbers(run(text, args)), numbers(wanted))


def test_text_of_a_second_derivative_runs():
    text = dj.source(dj.grad(dj.grad(collected)), 0.3, 4)
    wanted = -sum(i * i * np.sin(0.3 * i) for i in range(4))
    assert numbers(run(text, (0.3, 4)))[-1] == pytest.approx(wanted, rel=1e-13)


def test_text_keeps_the_names_of_the_user():
    text = dj.source(dj.value_and_grad(smooth, argnums=("u", "k")), np.linspace(0, 1, 8), 0.1, 3)
    for name in ("u_bar", "k_bar", "smooth_grad", "u.copy()"):
        assert name in text
    assert "# test_source.py:" in text
    assert max(map(len, text.splitlines())) <= 120


def test_text_keeps_the_names_of_loops():
    text = dj.source(dj.grad(smooth), np.linspace(0, 1, 8), 0.1, 3)
    assert "for t in range(n):" in text
    assert "for i in range(1, u.size - 1):" in text


def test_text_of_a_plain_function():
    text = dj.source(smooth, np.linspace(0, 1, 8), 0.1, 3)
    assert "def smooth(u, k, n):" in text
    assert run(text, (np.linspace(0, 1, 8), 0.1, 3)) == smooth(np.linspace(0, 1, 8), 0.1, 3)


def test_text_is_the_same_each_time():
    args = (np.linspace(0, 1, 8), 0.1, 3)
    assert dj.source(dj.grad(smooth), *args) == dj.source(dj.grad(smooth), *args)


def test_keyword_arguments():
    text = dj.source(dj.grad(smooth, "k"), np.linspace(0, 1, 8), n=2, k=0.1)
    assert "k_bar" in text


def test_lowered_text_shows_the_loops():
    text = dj.source(dj.grad(smooth), np.linspace(0, 1, 8), 0.1, 3, stage="lowered")
    compile(text, "<lowered>", "exec")
    code = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    assert not any("np.sum" in line for line in code)
    assert any(line.lstrip().startswith("for ") for line in code)


def test_unknown_stage():
    with pytest.raises(dj.UsageError, match="DJ508"):
        dj.source(smooth, np.ones(3), 0.1, 1, stage="assembly")


def test_traceback_shows_a_generated_line():
    import traceback

    def element(x, n):
        return 2.0 * x[n]

    compiled = dj.jit(element, backend="python")
    with pytest.raises(IndexError) as caught:
        compiled(np.ones(3), 5)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert "x[n]" in frame.line


def scaled(x, weights, scale):
    return np.sum(np.sin(weights * x)) * scale


def test_a_section_begins_above_the_comments_of_its_first_statement():
    x, w = np.linspace(0.1, 1, 3), np.ones(3)
    text = dj.source(dj.grad(lambda x: dj.jvp(lambda x: scaled(x, w, 2.0), (x,), (np.ones(3),))[1]), x)
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index("# Reverse sweep.")
    assert lines[at - 1] == ""
    assert not lines[at - 2].startswith("#")
    assert "np.sum(np.sin(weights * x))" in lines[at + 1]


HASHED = """
import diffjit as dj


def step(x, n):
    position, velocity, force = x + 1.0, 2.0 * x, x - 1.0
    for _ in range(n):
        position, velocity, force = velocity, force * x, position
    return position + velocity + force


print(dj.source(dj.grad(step), 0.5, 3))
"""


def test_text_does_not_depend_on_how_strings_are_hashed(tmp_path):
    import os
    import subprocess
    import sys

    (tmp_path / "hashed.py").write_text(HASHED)
    texts = {
        subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, tmp_path / "hashed.py"],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True, capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(texts) == 1
