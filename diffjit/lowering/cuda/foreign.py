"""Arrays of other libraries that live on the device: CuPy's, PyTorch's, Numba's, by `__cuda_array_interface__`.

A program gets a copy in memory that host and device share, made on the device, and its results come back as arrays of
the library that the arguments are of. What a program writes to is copied back.
(The interface, version 3: numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.dataclass import dataclass
from diffjit.errors import UsageError
from diffjit.lowering.cuda import devices
from diffjit.lowering.cuda.arguments import in_memory, is_shared, to_shared
from diffjit.lowering.cuda.pool import extent


def _cupy(module: Any, held: Any) -> Any:
    return module.asarray(held)


def _torch(module: Any, held: Any) -> Any:
    return module.as_tensor(held, device="cuda")


def _numba(module: Any, held: Any) -> Any:
    return module.cuda.as_cuda_array(held)


LIBRARIES: dict[str, Callable[[Any, Any], Any]] = {"cupy": _cupy, "torch": _torch, "numba": _numba}


class Held:
    """A result in shared memory, as other libraries take it: whoever keeps this keeps the memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": interface["typestr"],
            "data": (interface["data"][0], not array.flags.writeable),
            "strides": array.strides,
            "version": 3,
            "stream": None,
        }


@dataclass(slots=True)
class Taken:
    """The arguments of a call, with copies in place of arrays of another library."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    library: str = ""
    copies: list[tuple[int, int, np.ndarray]] = field(default_factory=list)  # first byte, size, our copy

    def write_back(self) -> None:
        """The contents of our copies go where they came from."""
        device = devices.current()
        for address, size, array in self.copies:
            low, _ = np.lib.array_utils.byte_bounds(array)
            device.copy(address, low, size)

    def given_back(self, result: Any) -> Any:
        """A result in arrays of the arguments' library."""
        if not self.library:
            return result
        module = importlib.import_module(self.library)
        leaves, structure = tree.flatten(result)
        return structure.unflatten(iter([self._returned(module, x) for x in leaves]))

    def _returned(self, module: Any, x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        return LIBRARIES[self.library](module, Held(x if is_shared(x) else to_shared(x)))


def taken(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Taken:
    """The arguments of a call as programs take them."""
    found = Taken(args, kwargs)
    found.args = tuple(_mapped(a, found) for a in args)
    found.kwargs = {name: _mapped(a, found) for name, a in kwargs.items()}
    return found


def _mapped(x: Any, found: Taken) -> Any:
    """A container with copies in place of arrays of the device; itself where there are none."""
    if isinstance(x, (np.ndarray, np.generic, int, float, complex, str)):
        return x
    if hasattr(x, "__cuda_array_interface__"):
        return _copied(x, found)
    if isinstance(x, dict) or (isinstance(x, (list, tuple)) and len(x) < _MANY):
        items = list(x.values()) if isinstance(x, dict) else list(x)
        made = [_mapped(a, found) for a in items]
        if all(a is b for a, b in zip(made, items, strict=True)):
            return x
        if isinstance(x, dict):
            return type(x)(zip(x, made, strict=True))
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    return x


_MANY = 4096  # longer lists are lists of numbers


def _copied(x: Any, found: Taken) -> np.ndarray:
    library = type(x).__module__.split(".")[0]
    if library not in LIBRARIES:
        raise UsageError(
            "DJ564",
            f"arrays of {library} on a device are not taken",
            cure=f"convert it to an array of NumPy or CuPy (taken are those of {', '.join(LIBRARIES)})",
        )
    found.library = found.library or library
    told = x.__cuda_array_interface__
    dtype, shape = np.dtype(told["typestr"]), tuple(told["shape"])
    strides = told.get("strides") or np.empty(shape, dtype).strides
    if 0 in shape:
        return np.empty(shape, dtype)
    low, size = extent(told["data"][0], shape, strides, dtype.itemsize)
    device = devices.current()
    device.wait_for(told.get("stream"))
    memory = in_memory(size)
    made = np.ndarray(shape, dtype, memory, told["data"][0] - low, strides)
    device.copy(np.lib.array_utils.byte_bounds(made)[0], low, size)
    made.flags.writeable = not told["data"][1]
    found.copies.append((low, size, made))
    return made
