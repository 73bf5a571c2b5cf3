"""libdevice, NVIDIA's library of elementary functions as LLVM bitcode: part of `nvidia-cuda-nvcc`, or of a toolkit."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

_NAME = "libdevice.10.bc"


@cache
def path() -> Path | None:
    """Where it is; None where it is not installed."""
    return next((p for p in _places() if p.is_file()), None)


def _places() -> Iterator[Path]:
    package = importlib.util.find_spec("nvidia")
    for folder in () if package is None else (package.submodule_search_locations or ()):
        yield from sorted(Path(folder).glob(f"*/nvvm/libdevice/{_NAME}"))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "nvvm", "libdevice", _NAME)
    yield Path("/usr/local/cuda/nvvm/libdevice", _NAME)


def bitcode() -> bytes:
    """Its content."""
    found = path()
    assert found is not None, "who asks has seen that it is installed"
    return found.read_bytes()


@cache
def functions() -> dict[str, str]:
    """The declarations of its functions, by name: none where it is not installed."""
    if path() is None:
        return {}
    module = llvm.parse_bitcode(bitcode(), llvm.create_context())
    found: dict[str, str] = {}
    for f in module.functions:
        if f.name.startswith("__nv_") and not f.is_declaration:
            head = re.search(
                r"^define (?:internal |dso_local |linkonce_odr )*(.*?@__nv_\w+)\((.*?)\)", str(f), re.MULTILINE
            )
            if head is not None:
                kinds = ", ".join(p.split()[0] for p in head[2].split(",") if p.strip())
                found[f.name] = f"declare {head[1]}({kinds})"
    return found
