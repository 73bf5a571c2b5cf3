"""Memory of arrays on a device: used again, given back to the system where there is no more, never shared by two."""

import ctypes

import numpy as np
import pytest

from diffjit.lowering.cuda import pool

GROW = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
SHRINK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)


class System:
    """A system that has so many bytes."""

    def __init__(self, name, most):
        self.most, self.held, self.next = most, {}, 1 << 40
        self.functions = GROW(self.grow), SHRINK(self.shrink)
        self.memory = pool.Pool(name)
        self.memory.grow_by(*(ctypes.cast(f, ctypes.c_void_p).value for f in self.functions))

    def grow(self, size):
        if sum(self.held.values()) + size > self.most:
            return 0
        address, self.next = self.next, self.next + 2 * size
        self.held[address] = size
        return address

    def shrink(self, address, size):
        assert self.held.pop(address) == size


def test_free_pieces_go_back_where_there_is_no_more():
    system = System("trim", 100 << 20)
    take, give = system.memory.taken, system.memory.given
    first = [take(20 << 20) for _ in range(4)]
    assert all(first)
    assert take(30 << 20) == 0  # all is in use
    for address in first[:2]:
        give(address, 20 << 20, 0)
        assert system.memory.piece(address, address + 10)
    second = take(30 << 20)
    assert second
    assert not system.memory.piece(first[0], first[0] + 10)
    assert system.memory.piece(second, second + (30 << 20))
    assert set(system.held) == {first[2], first[3], second}


@pytest.mark.parametrize("seed", range(4))
def test_random_blocks_never_overlap(seed):
    rng = np.random.default_rng(seed)
    system = System(f"random{seed}", 64 << 20)
    live, refused = {}, 0
    for _ in range(3000):
        if live and rng.random() < 0.5:
            address = int(rng.choice(list(live)))
            system.memory.given(address, live.pop(address), 0)
            continue
        size = int(2 ** rng.uniform(0, 24))
        address = system.memory.taken(size)
        if not address:
            refused += 1
            continue
        assert address % 256 == 0
        assert not any(a < address + size and address < a + n for a, n in live.items())
        assert any(a <= address and address + size <= a + n for a, n in system.held.items())
        live[address] = size
    assert refused
    assert sum(system.held.values()) <= system.most
