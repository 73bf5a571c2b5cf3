"""NVIDIA's driver, by its C interface (CUDA Driver API): the library that comes with the driver, nothing else."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar

from diffjit.dataclass import dataclass
from diffjit.errors import DeviceProblem
from diffjit.lowering.calls.interrupts import compiled
from diffjit.lowering.cuda import pool
from diffjit.lowering.cuda.device_runtime import ARENA, SHORT, THREADS
from diffjit.lowering.cuda.gpu import cublas, pages
from diffjit.lowering.cuda.images import KERNEL, OLDEST, with_room
from diffjit.lowering.cuda.products import Product
from diffjit.lowering.cuda.rooms import START, Rooms, Words, staggered

_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
_PROCESSORS, _MAJOR, _MINOR, _MANAGED, _TOGETHER = 16, 75, 76, 83, 89  # CU_DEVICE_ATTRIBUTE_*
_ANY_CONTEXT, _HOST = 3, -1  # CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP, CU_DEVICE_CPU
_GLOBAL = 1  # CU_MEM_ATTACH_GLOBAL
_OUT_OF_MEMORY = 2
_OLDEST = divmod(int(OLDEST.removeprefix("sm_")), 10)
_LOCAL = 1 << 16  # bytes of a room that is in local memory, which threads have to which none is given, too
_BLOCKS = 16  # for each processor of the device
_PREFETCHED = 1 << 20  # bytes from which on an array is sent for before it is used: a page at a time is slower
_SHARES = 4  # of the device's memory: one for rooms that are as large as they can be
_TRUSTED = 0.002  # seconds for which the host is believed not to have come to an array: to ask takes some microseconds
_FEW = 2  # turns
_LEAST = 1 << 15  # operations that are worth a launch, which takes some ten microseconds

# The pool asks from threads that have no context yet.
_GROW = """
@taken = internal global i64 0

define i64 @dj_grow(i64 %size) {{
  %place = alloca i64
  store i64 0, ptr %place
  %before = load i64, ptr @taken
  %after = add i64 %before, %size
  %fits = icmp ule i64 %after, {most}
  br i1 %fits, label %ask, label %none
none:
  ret i64 0
ask:
  %set = call i32 inttoptr (i64 {current} to ptr)(i64 {context})
  %code = call i32 inttoptr (i64 {allocate} to ptr)(ptr %place, i64 %size, i32 {flags})
  %good = icmp eq i32 %code, 0
  br i1 %good, label %note, label %none
note:
  store i64 %after, ptr @taken
  %made = load i64, ptr %place
  ret i64 %made
}}

define void @dj_shrink(i64 %address, i64 %size) {{
  %set = call i32 inttoptr (i64 {current} to ptr)(i64 {context})
  %code = call i32 inttoptr (i64 {give} to ptr)(i64 %address)
  %before = load i64, ptr @taken
  %after = sub i64 %before, %size
  store i64 %after, ptr @taken
  ret void
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


@dataclass(slots=True)
class _Loaded:
    """A kernel with local memory of a size."""

    function: Any
    arena: int  # where the words are that tell of its rooms; 0: it takes no memory
    together: int  # blocks that run at once
    words: tuple[int, int] = (-1, -1)  # what the arena holds: base and size


class _Kernel:
    """A kernel on the device."""

    def __init__(self, device: Gpu, image: bytes) -> None:
        self.device, self.image = device, image
        self.loaded: dict[int, _Loaded] = {}
        self.rooms = Rooms() if self.of(START).arena else None
        self.local = _LOCAL

    def of(self, size: int) -> _Loaded:
        """The kernel with local memory of a size for each thread."""
        if size not in self.loaded:
            self.loaded[size] = self.device.translated(with_room(self.image, size))
        return self.loaded[size]


class _Place:
    """A launch of a kernel whose threads take memory."""

    def __init__(self, device: Gpu, kernel: _Kernel, count: int, given: Any, flag: ctypes.c_uint8) -> None:
        self.device, self.kernel, self.given, self.flag = device, kernel, given, flag
        self.blocks = -(-count // THREADS)

    def most(self) -> int:
        """The bytes that a room can have."""
        return self.device.free() // THREADS

    def share(self) -> int:
        """The bytes that a room can have where all threads that run at once have one, and arrays have their memory."""
        threads = THREADS * min(self.blocks, self.kernel.of(START).together)
        return self.device.free() // _SHARES // threads

    def run(self, size: int) -> int:
        """Run all turns with rooms of a size."""
        if size <= self.kernel.local:
            power = 1 << (size - 1).bit_length()
            try:
                return self._run(self.kernel.of(power), 0, power, self.kernel.of(power).together)
            except MemoryError:
                self.kernel.local = 0
        apart = staggered(size)
        loaded = self.kernel.of(START)
        blocks = min(self.blocks, loaded.together, self.device.free() // (apart * THREADS))
        if blocks < 1:
            self.flag.value = 1
            return 0
        return self._run(loaded, self.device.workspace(blocks * THREADS * apart), apart, blocks)

    def _run(self, loaded: _Loaded, base: int, size: int, blocks: int) -> int:
        if loaded.words != (base, size):
            self.device.write(loaded.arena, Words(base, size, 0))
            loaded.words = base, size
        self.device.run(loaded.function, min(self.blocks, blocks), self.given)
        if not self.flag.value:
            return 0
        words, loaded.words = Words(), (-1, -1)
        self.device.read(loaded.arena, words)
        return words[SHORT]


class Gpu:
    """The first GPU of this process (`CUDA_VISIBLE_DEVICES` chooses), in the context that other libraries use too."""

    form = "ptx"
    engines: ClassVar[list[Any]] = []  # they live as long as the process

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
        self.lock = threading.Lock()  # of the rooms, and of cuBLAS
        self.products: cublas.Handle | None = None
        self.memory, self.size = ctypes.c_uint64(), 0  # for rooms
        self.sent: dict[int, float] = {}  # when pieces of memory were last known to be on the device
        self.pieces = 0
        self._enter()
        memory = ctypes.c_size_t()
        self.cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), self.device)
        # Managed memory may be more than the device has: it would move to and fro without an end.
        cuda, self.total = self.cuda, memory.value
        self._grows(pool.MANAGED, (cuda.cuMemAllocManaged, cuda.cuMemFree_v2), _GLOBAL, memory.value * 9 // 10)
        self._grows(pool.PINNED, (cuda.cuMemHostAlloc, cuda.cuMemFreeHost), _ANY_CONTEXT, memory.value)

    def _grows(self, memory: pool.Pool, functions: tuple[Any, Any], flags: int, most: int) -> None:
        current, allocate, give = (
            ctypes.cast(f, ctypes.c_void_p).value for f in (self.cuda.cuCtxSetCurrent, *functions)
        )
        text = _GROW.format(
            current=current,
            allocate=allocate,
            give=give,
            context=self.context.value,
            flags=flags,
            most=most,
        )
        engine = compiled(text)
        self.engines.append(engine)
        memory.grow_by(*map(engine.get_function_address, ("dj_grow", "dj_shrink")))

    def _enter(self) -> None:
        if os.getpid() != self.process:
            raise DeviceProblem(
                "DJ563",
                "a process that was forked cannot use the GPU of the one that it comes from",
                cure='start it afresh: multiprocessing.get_context("spawn")',
            )
        self._check(self.cuda.cuCtxSetCurrent(self.context), "entering the device's context")

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
        """An image as a kernel of this device."""
        return _Kernel(self, image)

    def translated(self, image: bytes) -> _Loaded:
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
        arena, size, together = ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_int()
        name = ARENA.encode()
        if name in image:
            code = self.cuda.cuModuleGetGlobal_v2(ctypes.byref(arena), ctypes.byref(size), module, name)
            self._check(code, "loading a kernel")
        code = self.cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(together), function, THREADS, ctypes.c_size_t(0)
        )
        self._check(code, "loading a kernel")
        return _Loaded(function, arena.value, together.value * self.processors)

    def launch(
        self, kernel: Any, count: int, args: int, failed: int, arrays: list[tuple[int, int]], *, once: bool
    ) -> None:
        """Run all turns, each a thread's, and wait for them."""
        self._enter()
        for first, size in arrays:
            self._send(first, size)
        number, byte = ctypes.c_int64(count), ctypes.c_uint64(failed)
        given = (ctypes.c_void_p * 3)(ctypes.addressof(number), args, ctypes.addressof(byte))
        if kernel.rooms is None:
            self.run(kernel.of(START).function, min(-(-count // THREADS), self.processors * _BLOCKS), given)
            return
        with self.lock:
            place = _Place(self, kernel, count, given, ctypes.c_uint8.from_address(failed))
            kernel.rooms.run(place, failed, once=once)
            self.give_back()

    def run(self, function: Any, blocks: int, given: Any) -> None:
        """Run a kernel in so many blocks, and wait for it."""
        code = self.cuda.cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, None, given, None)
        self._check(code, "launching a kernel")
        self._check(self.cuda.cuStreamSynchronize(None), "running a kernel")

    def free(self) -> int:
        """Bytes for the rooms of threads: most of what is free."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._check(self.cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "asking for memory")
        return (free.value + self.size) * 3 // 4

    def workspace(self, size: int) -> int:
        """Memory of the device for rooms: one for all kernels, which run one after the other."""
        if size > self.size:
            if self.size:
                self._check(self.cuda.cuMemFree_v2(self.memory), "giving memory back")
                self.size = 0
            code = self.cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(size))
            self._check(code, "taking memory for the arrays that turns make")
            self.size = size
        return self.memory.value

    def give_back(self) -> None:
        """A workspace so large that arrays may lack it goes back."""
        if self.size > self.total // _SHARES:
            self._check(self.cuda.cuMemFree_v2(self.memory), "giving memory back")
            self.size = 0

    def write(self, to: int, words: Any) -> None:
        """Words of the host to the device."""
        size = ctypes.c_size_t(ctypes.sizeof(words))
        self._check(self.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(to), words, size), "launching a kernel")

    def read(self, start: int, words: Any) -> None:
        """Words of the device to the host."""
        size = ctypes.c_size_t(ctypes.sizeof(words))
        self._check(self.cuda.cuMemcpyDtoH_v2(words, ctypes.c_uint64(start), size), "running a kernel")

    def _send(self, first: int, size: int) -> None:
        """Send for a large array before it is used, where it is not there: a page at a time is slower."""
        if size < _PREFETCHED or not self.together:
            return
        piece = pool.MANAGED.piece(first, first + size)
        if not piece:
            return
        if self.pieces != pool.MANAGED.pieces():  # some have come or gone
            self.pieces = pool.MANAGED.pieces()
            self.sent.clear()
        sent, now = self.sent.get(piece), time.monotonic()
        if sent is not None and now - sent < _TRUSTED:
            return
        self.sent[piece] = now
        if sent is None or pages.here(first, size):
            self._prefetch(first, size, self.device)

    def _prefetch(self, first: int, size: int, to: int) -> None:
        code = self.cuda.cuMemPrefetchAsync(ctypes.c_uint64(first), ctypes.c_size_t(size), to, None)
        self._check(code, "sending for an array")

    def fetch(self, first: int, size: int) -> None:
        """Have an array sent to the host, which goes on meanwhile."""
        if size >= _PREFETCHED and self.together and pool.MANAGED.piece(first, first + size):
            self._enter()
            self._prefetch(first, size, _HOST)

    def copy(self, to: int, start: int, size: int) -> None:
        """Copy bytes between addresses that the device or the host reaches."""
        self._enter()
        self._send(to, size)
        code = self.cuda.cuMemcpy(ctypes.c_uint64(to), ctypes.c_uint64(start), ctypes.c_size_t(size))
        self._check(code, "copying an array")
        self._check(self.cuda.cuStreamSynchronize(None), "copying an array")

    def multiplies(self, much: bool) -> bool:
        """Whether a product runs here: where there is cuBLAS, and much to do."""
        return much and cublas.opened() is not None

    def product(self, p: Product) -> None:
        """Multiply matrices, and wait for it."""
        self._enter()
        for first, size in p.extents():
            self._send(first, size)
        with self.lock:
            if self.products is None:
                self.products = cublas.Handle()
                self._taken(self.products.code)
            self._taken(self.products.product(p))
            self._check(self.cuda.cuStreamSynchronize(None), "multiplying matrices")

    def _taken(self, code: int) -> None:
        if cublas.out_of_memory(code):
            message = "no memory on the GPU (multiplying matrices)"
            raise MemoryError(message)
        if code:
            raise DeviceProblem(
                "DJ563",
                f"the GPU has failed in multiplying matrices: cuBLAS answers {code}",
                cure='backend="numba" runs the same program on the processor',
            )

    def wait_for(self, stream: int | None) -> None:
        """Wait for what another library has asked of a stream (None: nothing is to be waited for)."""
        if stream is not None:
            self._enter()
            self._check(self.cuda.cuStreamSynchronize(ctypes.c_void_p(stream)), "waiting for a stream")

    def pays(self, count: int, work: int) -> bool:
        """Whether turns that do so much in all are worth a launch."""
        return count >= _FEW and work >= _LEAST
