"""Kernels as PTX, for GPUs that need not be there, and as machine code of three generations where `ptxas` is."""

import re
import subprocess

import numpy as np
import pytest

import diffjit as dj
from diffjit import UsageError
from diffjit.lowering.cuda import library
from tests.cuda.test_kernels import M, X, energy, outbreak, table_lookup, walk
from tests.cuda.test_loops_in_parallel import A, B, smoothed
from tests.modes import case
from tests.test_corpus import COMPILED, NOT_YET

pytestmark = pytest.mark.skipif(library.path() is None, reason="libdevice is not installed")
RATES = np.linspace(0.4, 2.5, 33)


def assembled(text, tmp_path):
    """Every kernel of a text as machine code of three generations; how many there are."""
    kernels = [part for part in re.split(r"^// (?=\w+$)", text, flags=re.MULTILINE) if ".visible .entry" in part]
    tool = library.path().parents[2] / "bin" / "ptxas"
    for k, kernel in enumerate(kernels):
        assert "dj_kernel" in kernel
        file = tmp_path / f"{k}.ptx"
        file.write_text(kernel.partition("\n")[2])
        for processor in ("sm_75", "sm_80", "sm_90") if tool.exists() else ():
            done = subprocess.run(  # noqa: S603 - NVIDIA's assembler, on our own text
                [str(tool), f"-arch={processor}", str(file), "-o", str(tmp_path / "k.cubin")],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
    return len(kernels)


PROGRAMS = {
    "arrays": (dj.grad(energy, (0, 1), backend="cuda"), (M, X)),
    "lanes": (dj.vmap(dj.grad(outbreak), backend="cuda"), (RATES,)),
    "lists": (dj.vmap(dj.grad(walk), backend="cuda"), (RATES,)),
    "errors": (dj.vmap(table_lookup, (0, None), backend="cuda"), (np.arange(9), X)),
    "loops": (dj.jit(smoothed, backend="cuda"), (A, B)),
    "functions": (
        dj.jit(
            lambda x: np.cbrt(x) + np.arctan2(x, 2) + np.log1p(x) + x**0.3 + np.hypot(x, 1) + np.floor(x),
            backend="cuda",
        ),
        (X,),
    ),
    "single": (dj.grad(lambda x: np.sum(np.exp(x) * np.cos(x)), backend="cuda"), (X.astype(np.float32),)),
    "complex": (dj.jit(lambda x: np.exp(1j * x) * x, backend="cuda"), (X,)),
    "integers": (dj.jit(lambda k: (k * 3 + 1) * k, backend="cuda"), (np.arange(50),)),
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_kernels_become_machine_code(name, tmp_path):
    f, args = PROGRAMS[name]
    text = dj.source(f, *args, stage="ptx")
    assert assembled(text, tmp_path) >= 1
    hosted = [s for s in text.splitlines() if s.startswith("//") and "runs on the host" in s]
    assert not hosted


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if k < 6 else [pytest.mark.slow]) for k, n in enumerate(COMPILED)]
)
def test_kernels_of_the_corpus(name, tmp_path):
    c = case(name)
    if name in NOT_YET or not c.supports("grad"):
        pytest.skip("no gradient")
    assembled(dj.source(dj.jit(c.function, backend="cuda"), *c.args(), stage="ptx"), tmp_path)


def test_the_stage_belongs_to_the_backend():
    with pytest.raises(UsageError, match="DJ508"):
        dj.source(dj.jit(energy), M, X, stage="ptx")
