"""The words of `numba.cuda`: what a name of that module is inside a program, whether or not the module has it.

Numba's own module, `numba-cuda`'s and the simulator's have different objects under the same names, and the simulator
has some of them only while a kernel runs. So a word is known by its path, `atomic.add`, and by no object. None of this
imports Numba: a program that has a kernel has imported it.
"""

from __future__ import annotations

import types
from typing import Any

from diffjit import tree
from diffjit.dataclass import dataclass

_MODULE = "numba.cuda"
# What is not one of these is the object that the module has: `cuda.jit`, `cuda.is_available`.
_FIRST = frozenset({
    "activemask", "all_sync", "any_sync", "atomic", "ballot_sync", "blockDim", "blockIdx", "brev", "cbrt", "cg", "clz",
    "const", "default_stream", "device_array", "device_array_like", "eq_sync", "ffs", "fma", "fp16", "grid", "gridDim",
    "gridsize", "laneid", "lanemask_lt", "libdevice", "local", "managed_array", "mapped_array", "mapped_array_like",
    "match_all_sync", "match_any_sync", "nanosleep", "per_thread_default_stream", "pinned_array", "pinned_array_like",
    "popc", "selp", "shared", "shfl_down_sync", "shfl_sync", "shfl_up_sync", "shfl_xor_sync", "stream", "synchronize",
    "syncthreads", "syncthreads_and", "syncthreads_count", "syncthreads_or", "syncwarp", "threadIdx", "threadfence",
    "threadfence_block", "threadfence_system", "to_device", "warpsize",
})  # fmt: skip


BETWEEN_SIDES = ("copy_to_host", "copy_to_device")  # methods of Numba's arrays on a device


@dataclass(frozen=True, slots=True)
class Word:
    """Something that `numba.cuda` has, by its path there."""

    path: str

    @property
    def __name__(self) -> str:
        return f"cuda.{self.path}"


def word(obj: Any) -> Word | None:
    """The word that an object stands for; None where it is none."""
    if isinstance(obj, Word):
        return obj
    module = getattr(obj, "__module__", None) or ""
    if not isinstance(module, str) or not (module + ".").startswith(_MODULE + "."):
        definition = getattr(obj, "_defn", None)  # of what Numba calls an intrinsic
        module = getattr(definition, "__module__", None) or ""
        if not module.startswith(_MODULE + "."):
            return None
    path = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    return Word(path) if isinstance(path, str) and path.split(".")[0] in _FIRST else None


def word_of(owner: Any, name: str) -> Word | None:
    """What `owner.name` stands for: an attribute of the module, or of a word."""
    if isinstance(owner, types.ModuleType):
        return Word(name) if owner.__name__ == _MODULE and name in _FIRST else None
    known = word(owner)
    return None if known is None else Word(f"{known.path}.{name}")


def is_kernel(obj: Any) -> bool:
    """Whether `numba.cuda.jit` made an object, or the simulator's did."""
    return tree.is_of_numba(obj) and type(obj).__module__.startswith(_MODULE + ".")


def is_device_function(kernel: Any) -> bool:
    """Whether it was made with `device=True`: for kernels to call, not to be launched."""
    options = getattr(kernel, "targetoptions", None)
    return bool(options.get("device")) if isinstance(options, dict) else bool(getattr(kernel, "_device", False))


def dtype_of(obj: Any) -> str:
    """The dtype that one of Numba's types is, as `numba.float64`; "" where an object is none."""
    cls = type(obj)
    ours = cls.__module__.startswith("numba.core.types")
    return str(obj) if ours and (hasattr(obj, "bitwidth") or str(obj) == "bool") else ""


def is_configured(obj: Any) -> bool:
    """Whether a kernel with its blocks and threads, made outside the program: `launch = kernel[blocks, threads]`."""
    parts = ("dispatcher", "griddim", "blockdim", "sharedmem")
    return type(obj).__module__.startswith(_MODULE + ".") and all(hasattr(obj, part) for part in parts)


def is_of_kernels(obj: Any) -> bool:
    """Whether a call is one that `numba.cuda` or Numba's types say the meaning of."""
    return word(obj) is not None or is_kernel(obj) or is_configured(obj) or bool(dtype_of(obj))
