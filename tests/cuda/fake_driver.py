"""NVIDIA's driver as far as `gpu.driver` asks it, on the processor.

Memory is plain, and kernels are the emulated device's. So what is asked of the driver, in which order, and what becomes
of its answers is tested without a GPU.
"""

import ctypes

import llvmlite.binding as llvm

from diffjit.lowering.cuda.device_runtime import ARENA, BASE, SIZE
from diffjit.lowering.cuda.images import TURN
from diffjit.lowering.cuda.rooms import Words

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]
OUT_OF_MEMORY, NOT_FOUND = 2, 500
CALLBACK_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
CALLBACK_FREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
CALLBACK_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)
TURN_OF = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


class FakeDriver:
    """A device with so many bytes; `asked` has the names of what was asked, `fails` codes for names."""

    def __init__(self, memory=1 << 28):
        self.memory, self.asked, self.fails = memory, [], {}
        self.held, self.modules, self.current = {}, [], 0
        self.cuCtxSetCurrent = CALLBACK_SET(self._set)
        self.cuMemAllocManaged = CALLBACK_ALLOCATE(self._allocate)
        self.cuMemHostAlloc = CALLBACK_ALLOCATE(self._allocate)
        self.cuMemFree_v2 = CALLBACK_FREE(self._free)
        self.cuMemFreeHost = CALLBACK_FREE(self._free)

    def _set(self, context):
        self.current = context
        return 0

    def _allocate(self, place, size, flags):
        assert flags in (1, 3)
        self.asked.append("managed" if flags == 1 else "pinned")
        return self._take(ctypes.c_uint64.from_address(place), size)

    def _take(self, place, size):
        assert self.current
        if sum(self.held.values()) + size > self.memory:
            return OUT_OF_MEMORY
        start = LIBC.malloc(size + 256)
        place.value = -(-start // 256) * 256
        self.held[place.value] = size  # the little memory of a test is not given back
        return 0

    def _free(self, address):
        self.asked.append("free")
        del self.held[address]
        return 0

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        answer = getattr(self, f"_{name.removesuffix('_v2').lower()}")

        def asked(*args):
            self.asked.append(name)
            return self.fails.pop(name, 0) or answer(*args) or 0

        return asked

    def _cudevicegetcount(self, count):
        count._obj.value = 1

    def _cudeviceget(self, device, number):
        device._obj.value = 7 + number

    def _cudevicegetname(self, text, size, device):
        text.value = b"a device of tests"

    def _cudevicetotalmem(self, size, device):
        size._obj.value = self.memory

    def _cudevicegetattribute(self, value, which, device):
        value._obj.value = {16: 4, 75: 9, 76: 0, 83: 1, 89: 1}[which]

    def _cudeviceprimaryctxretain(self, context, device):
        context._obj.value = 12345

    def _cumemgetinfo(self, free, total):
        free._obj.value, total._obj.value = self.memory - sum(self.held.values()), self.memory

    def _cumemalloc(self, place, size):
        return self._take(place._obj, size.value)

    def _cugeterrorname(self, code, name):
        name._obj.value = f"CUDA_ERROR_{code}".encode()

    def _cugeterrorstring(self, code, text):
        text._obj.value = b"of a test"

    def _cumoduleloaddataex(self, module, image, count, options, values):
        assert image.startswith(b"\x7fELF")
        engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""),
            llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(codemodel="jitdefault", jit=True),
        )
        engine.add_object_file(llvm.ObjectFileRef.from_data(image))
        engine.finalize_object()
        self.modules.append(engine)
        module._obj.value = len(self.modules)

    def _cumodulegetfunction(self, function, module, name):
        assert name == b"dj_kernel"
        function._obj.value = module.value

    def _cumodulegetglobal(self, place, size, module, name):
        place._obj.value = self.modules[module.value - 1].get_global_value_address(name.decode())
        return 0 if place._obj.value else NOT_FOUND

    def _cuoccupancymaxactiveblockspermultiprocessor(self, blocks, function, threads, shared):
        blocks._obj.value = 2

    def _culaunchkernel(self, function, bx, by, bz, tx, ty, tz, shared, stream, given, extra):
        assert bx >= 1
        assert (by, bz, tx, ty, tz, shared, stream, extra) == (1, 1, 128, 1, 1, 0, None, None)
        engine = self.modules[function.value - 1]
        count = ctypes.c_int64.from_address(given[0]).value
        failed = ctypes.c_int64.from_address(given[2]).value
        arena = engine.get_global_value_address(ARENA)
        local = None
        if arena:
            words = Words.from_address(arena)
            if not words[BASE]:  # local memory, which the kernel itself has on a GPU
                local = ctypes.create_string_buffer(words[SIZE] + 16)
                words[BASE] = -(-ctypes.addressof(local) // 16) * 16
        turn = TURN_OF(engine.get_function_address(TURN))
        for k in reversed(range(count)):
            turn(k, given[1], failed)
        if local is not None:
            words[BASE] = 0

    def _custreamsynchronize(self, stream):
        return 0

    def _cumemcpy(self, to, start, size):
        ctypes.memmove(to.value, start.value, size.value)

    def _cumemcpyhtod(self, to, words, size):
        ctypes.memmove(to.value, words, size.value)

    def _cumemcpydtoh(self, words, start, size):
        ctypes.memmove(words, start.value, size.value)

    def _cumemprefetchasync(self, first, size, to, stream):
        assert to in (7, -1)
