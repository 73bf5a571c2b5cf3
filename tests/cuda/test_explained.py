"""What `explain` says of kernels."""

import numpy as np
import pytest

import diffjit as dj
from tests.cuda.kernels_by_hand import summed

X = np.linspace(0.1, 1.0, 2000)
W = np.ones((3, 2000))


def model(x, w):
    y = np.exp(-x * x)
    s = 0.0
    for i in range(1, len(y)):
        s = 0.5 * s + y[i] * y[i - 1]
    z = np.zeros(len(x))
    for i in range(len(x)):
        z[i] = np.sin(x[i]) * y[i]
    while s > 1.0:
        s = s / 2
    return s + np.sum(w @ z)


def line(text):
    """The line of this file with these words first."""
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123
        return next(k for k, row in enumerate(file, 1) if row.strip().startswith(text))


def test_kernels_and_the_host():
    shown = dj.explain(dj.grad(model, backend="cuda"), X, W)
    used = shown.device
    loops = [p for p in used.kernels if p.name.startswith("loops")]
    assert {p.name for p in used.kernels} - {p.name for p in loops} <= {
        "fill_spread",
        "copy_into_spread",
        "add_into_spread",
    }
    assert {p.line for p in loops} == {line("y = np.exp"), line("for i in range(len(x))")}
    text = dj.source(dj.grad(model, backend="cuda"), X, W, stage="lowered")
    assert all(f"({p.name}, " in text for p in loops)
    assert all(f"{p.name}(" in text for p in used.kernels)
    assert len(loops) == text.count("spread(loops") + text.count("run_turns(loops")
    why = [f"{p.line}: {p.why}" for p in used.host]
    for place, reason in (
        ("for i in range(1, len(y))", "a turn goes on with numbers of the one before"),
        ("while s > 1.0", "a `while` takes one turn after the other"),
        ("return s + np.sum", "matrices are multiplied by cuBLAS"),
    ):
        assert any(w.startswith(f"{line(place)}: {reason}") for w in why)
    assert used.copied == [("x", X.nbytes), ("w", W.nbytes)]
    assert "each waited for" in str(shown)
    assert "device_put" in shown._repr_html_()


@pytest.mark.parametrize("fun", [model, dj.vmap(lambda a: np.sin(a) * a)])
def test_what_needs_no_gpu(fun, monkeypatch):
    monkeypatch.delenv("DIFFJIT_CUDA", raising=False)
    args = (X, W) if fun is model else (X,)
    assert dj.explain(fun, *args, backend="cuda").device.kernels
    assert all(p.name.endswith("_spread") for p in dj.explain(dj.grad(summed, backend="cuda"), X).device.kernels)


def test_what_stays_and_is_not_copied():
    put = dj.device_put(X)
    assert dj.explain(dj.grad(lambda x: np.sum(np.sin(x)), backend="cuda"), put).device.copied == []


def test_other_backends_have_no_device():
    assert dj.explain(dj.grad(model), X, W).device is None
