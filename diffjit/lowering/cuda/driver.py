"""NVIDIA's driver, by its C interface (CUDA Driver API): the library that comes with the driver, nothing else."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from diffjit.errors import DeviceProblem
from diffjit.lowering.calls.interrupts import compiled
from diffjit.lowering.cuda import pool
from diffjit.lowering.cuda.images import KERNEL, OLDEST

_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
_PROCESSORS, _MAJOR, _MINOR, _MANAGED, _TOGETHER = 16, 75, 76, 83, 89  # CU_DEVICE_ATTRIBUTE_*
_HEAP = 2  # CU_LIMIT_MALLOC_HEAP_SIZE
_OUT_OF_MEMORY = 2
_OLDEST = divmod(int(OLDEST.removeprefix("sm_")), 10)
_THREADS = 128  # of a block
_BLOCKS = 16  # for each processor of the device
_PREFETCHED = 1 << 20  # bytes from which on an array is sent for before it is used: a page at a time is slower
_LEAST = 1 << 15  # operations that are worth a launch, which takes some ten microseconds

# The pool asks from threads that have no context yet.
_GROW = """
define i64 @dj_grow(i64 %size) {{
  %place = alloca i64
  store i64 0, ptr %place
  %set = call i32 inttoptr (i64 {current} to ptr)(i64 {context})
  %code = call i32 inttoptr (i64 {allocate} to ptr)(ptr %place, i64 %size, i32 1)
  %good = icmp eq i32 %code, 0
  %made = load i64, ptr %place
  %result = select i1 %good, i64 %made, i64 0
  ret i64 %result
}}
"""


class Unavailable(Exception):
    """There is no GPU that programs can use."""


@cache
def _library() -> Any:
    """The driver; None where there is none."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        found = ctypes.CDLL(name)
    except OSError:
        return None
    return found if found.cuInit(0) == 0 else None


def _attribute(cuda: Any, which: int, device: int) -> int:
    value = ctypes.c_int()
    cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device)
    return value.value


def described() -> Iterator[tuple[str, str]]:
    """Names of the GPUs, and what is to be known of them."""
    cuda = _library()
    count = ctypes.c_int()
    if cuda is None or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return
    for number in range(count.value):
        device, text = ctypes.c_int(), ctypes.create_string_buffer(256)
        cuda.cuDeviceGet(ctypes.byref(device), number)
        cuda.cuDeviceGetName(text, len(text), device)
        memory = ctypes.c_size_t()
        cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        major, minor = (_attribute(cuda, k, device.value) for k in (_MAJOR, _MINOR))
        yield text.value.decode(), f"compute capability {major}.{minor}, {memory.value >> 30} GiB"


class Gpu:
    """The first GPU of this process (`CUDA_VISIBLE_DEVICES` chooses), in the context that other libraries use too."""

    form = "ptx"

    def __init__(self) -> None:
        self.cuda = _library()
        if self.cuda is None:
            reason = "there is no driver"
            raise Unavailable(reason)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if self.cuda.cuDeviceGet(ctypes.byref(device), 0):
            reason = "the driver finds none"
            raise Unavailable(reason)
        self.device = device.value
        found = _attribute(self.cuda, _MAJOR, self.device), _attribute(self.cuda, _MINOR, self.device)
        if found < _OLDEST or not _attribute(self.cuda, _MANAGED, self.device):
            reason = f"compute capability 7.5 and managed memory are needed, this one has {found[0]}.{found[1]}"
            raise Unavailable(reason)
        self.together = bool(_attribute(self.cuda, _TOGETHER, self.device))  # pages go while the host runs
        self.processors = _attribute(self.cuda, _PROCESSORS, self.device)
        self._check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.device), "opening the device")
        self.context = context
        self.process = os.getpid()
        self.heap = 0
        self._enter()
        text = _GROW.format(
            current=ctypes.cast(self.cuda.cuCtxSetCurrent, ctypes.c_void_p).value,
            allocate=ctypes.cast(self.cuda.cuMemAllocManaged, ctypes.c_void_p).value,
            context=context.value,
        )
        self.grow = compiled(text)
        pool.grow_by(self.grow.get_function_address("dj_grow"))
        self._room(1 << 30)

    def _enter(self) -> None:
        if os.getpid() != self.process:
            raise DeviceProblem(
                "DJ563",
                "a process that was forked cannot use the GPU of the one that it comes from",
                cure='start it afresh: multiprocessing.get_context("spawn")',
            )
        self._check(self.cuda.cuCtxSetCurrent(self.context), "entering the device's context")

    def _room(self, size: int) -> None:
        """Memory of the device for arrays and lists that turns make themselves; what is there already stays."""
        if self.cuda.cuCtxSetLimit(_HEAP, ctypes.c_size_t(size)) == 0:
            self.heap = size

    def _check(self, code: int, doing: str, more: str = "") -> None:
        if code == 0:
            return
        if code == _OUT_OF_MEMORY:
            message = f"no memory on the GPU ({doing})"
            raise MemoryError(message)
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self.cuda.cuGetErrorName(code, ctypes.byref(name))
        self.cuda.cuGetErrorString(code, ctypes.byref(text))
        told = f"{(name.value or b'').decode()}: {(text.value or b'').decode()}"
        raise DeviceProblem(
            "DJ563",
            f"the GPU has failed in {doing}: {told}",
            note=more[:400],
            cure='backend="numba" runs the same program on the processor; after such an error the process has to be '
            "started again before the GPU is used",
        )

    def load(self, image: bytes) -> Any:
        """PTX as a kernel of this device; its driver keeps what it translates."""
        self._enter()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        log = ctypes.create_string_buffer(8192)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        code = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), image + b"\0", 2, options, values)
        self._check(code, "translating a kernel", log.value.decode(errors="replace"))
        name = KERNEL.encode()
        self._check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name), "loading a kernel")
        return function

    def launch(self, kernel: Any, count: int, args: int, failed: int, arrays: list[tuple[int, int]]) -> None:
        """Run all turns, each a thread's, and wait for them."""
        self._enter()
        if self.together:
            for first, size in arrays:
                if size >= _PREFETCHED:
                    code = self.cuda.cuMemPrefetchAsync(
                        ctypes.c_uint64(first), ctypes.c_size_t(size), self.device, None
                    )
                    self._check(code, "sending for an array")
        blocks = min(-(-count // _THREADS), self.processors * _BLOCKS)
        number, byte = ctypes.c_int64(count), ctypes.c_uint64(failed)
        given = (ctypes.c_void_p * 3)(ctypes.addressof(number), args, ctypes.addressof(byte))
        code = self.cuda.cuLaunchKernel(kernel, blocks, 1, 1, _THREADS, 1, 1, 0, None, given, None)
        self._check(code, "launching a kernel")
        self._check(self.cuda.cuStreamSynchronize(None), "running a kernel")

    def copy(self, to: int, start: int, size: int) -> None:
        """Copy bytes between addresses that the device reaches."""
        self._enter()
        code = self.cuda.cuMemcpy(ctypes.c_uint64(to), ctypes.c_uint64(start), ctypes.c_size_t(size))
        self._check(code, "copying an array")
        self._check(self.cuda.cuStreamSynchronize(None), "copying an array")

    def wait_for(self, stream: int | None) -> None:
        """Wait for what another library has asked of a stream (None: nothing is to be waited for)."""
        if stream is not None:
            self._enter()
            self._check(self.cuda.cuStreamSynchronize(ctypes.c_void_p(stream)), "waiting for a stream")

    def pays(self, count: int, work: int) -> bool:
        """Whether turns that do so much in all are worth a launch."""
        return count > 1 and work >= _LEAST
