"""Kernels run on the emulated device, turn by turn, in random order; with `-m cuda`, on this machine's GPU.

With `DIFFJIT_CUDA=watched` in the environment, the emulated device remembers which turn has come to which element.
"""

import os

import pytest

import diffjit as dj
from diffjit.lowering.cuda.gpu import driver


@pytest.fixture(autouse=True, params=["emulated", pytest.param("gpu", marks=pytest.mark.cuda)])
def device(request, monkeypatch):
    if request.param == "emulated":
        monkeypatch.setenv("DIFFJIT_CUDA", os.environ.get("DIFFJIT_CUDA") or "emulated")  # or "watched"
        return
    monkeypatch.delenv("DIFFJIT_CUDA", raising=False)
    for name in ("_LEAST", "_FEW"):
        monkeypatch.setattr(driver, name, 0)
    if all(d.kind != "cuda" for d in dj.devices()):
        pytest.skip("needs an NVIDIA GPU")
