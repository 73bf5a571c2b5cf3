"""Streams of random numbers: NumPy's Generator and RandomState, and Python's Random, as arrays of what they remember.

A program takes a stream as an array of 64-bit words. It draws by reading the array and writing to it, and what it has
left there becomes the stream's state when the program ends, however it ends.

    Generator      the words of its bit generator
    RandomState    these, and the second of two normal variates: whether there is one, and its bits
    Random         the same, of Python's Mersenne Twister
"""

from __future__ import annotations

import random
import struct
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from diffjit.dataclass import dataclass

_LOW = (1 << 64) - 1
_TWISTER = 624  # 32-bit words of a Mersenne Twister


@dataclass(frozen=True, slots=True)
class Bits:
    """A bit generator: how many words it remembers, how they are read from its `state`, and how they are put back."""

    words: int
    read: Callable[[dict[str, Any]], list[int] | np.ndarray]
    write: Callable[[np.ndarray], dict[str, Any]]


def _buffer(state: dict[str, Any]) -> int:
    """The half of a 64-bit number that is left, as it stands in memory: a flag, and the number."""
    return int(state["has_uint32"]) | int(state["uinteger"]) << 32


def _buffered(word: Any) -> dict[str, int]:
    return {"has_uint32": int(word) & 0xFFFFFFFF, "uinteger": int(word) >> 32}


def _read_pcg(state: dict[str, Any]) -> list[int]:
    a, b = state["state"]["state"], state["state"]["inc"]
    return [a & _LOW, a >> 64, b & _LOW, b >> 64, _buffer(state)]


def _write_pcg(words: np.ndarray) -> dict[str, Any]:
    a, b, c, d, rest = words.tolist()
    return {"state": {"state": a | b << 64, "inc": c | d << 64}, **_buffered(rest)}


def _read_twister(state: dict[str, Any]) -> np.ndarray:
    made = np.zeros(_TWISTER // 2 + 1, np.uint64)
    made.view(np.uint32)[:_TWISTER] = state["state"]["key"]
    made[-1] = state["state"]["pos"]
    return made


def _write_twister(words: np.ndarray) -> dict[str, Any]:
    key = words[: _TWISTER // 2].view(np.uint32).copy()
    return {"state": {"key": key, "pos": int(words[_TWISTER // 2])}}


def _read_philox(state: dict[str, Any]) -> list[int]:
    inner = state["state"]
    return [*inner["counter"].tolist(), *inner["key"].tolist(), *state["buffer"].tolist(), state["buffer_pos"],
            _buffer(state)]  # fmt: skip


def _write_philox(words: np.ndarray) -> dict[str, Any]:
    inner = {"counter": words[:4].copy(), "key": words[4:6].copy()}
    return {"state": inner, "buffer": words[6:10].copy(), "buffer_pos": int(words[10]), **_buffered(words[11])}


def _read_sfc(state: dict[str, Any]) -> list[int]:
    return [*state["state"]["state"].tolist(), _buffer(state)]


def _write_sfc(words: np.ndarray) -> dict[str, Any]:
    return {"state": {"state": words[:4].copy()}, **_buffered(words[4])}


BITS = {
    "PCG64": Bits(5, _read_pcg, _write_pcg),
    "PCG64DXSM": Bits(5, _read_pcg, _write_pcg),
    "MT19937": Bits(_TWISTER // 2 + 1, _read_twister, _write_twister),
    "Philox": Bits(12, _read_philox, _write_philox),
    "SFC64": Bits(5, _read_sfc, _write_sfc),
}

Key = tuple[str, str]  # the class of a stream, and its bit generator


def key_of(value: Any) -> Key | None:
    """What kind of stream it is; None for anything else, also for streams of users' classes."""
    name = type(value).__name__
    if name == "Random":
        return ("Random", "MT19937") if type(value) is random.Random else None
    if name not in ("Generator", "RandomState") or type(value) is not getattr(np.random, name):
        return None
    bits = type(bit_generator(value))
    known = bits.__name__ in BITS and getattr(np.random, bits.__name__) is bits
    return (name, bits.__name__) if known else None


def is_stream(value: Any) -> bool:
    """Whether it is a stream that programs may draw from."""
    return key_of(value) is not None


def bit_generator(stream: Any) -> Any:
    """The bit generator of a stream of NumPy's."""
    return stream._bit_generator if type(stream).__name__ == "RandomState" else stream.bit_generator  # noqa: SLF001


def size_of(key: Key) -> int:
    """How many words a stream of a kind remembers."""
    return BITS[key[1]].words + 2 * (key[0] != "Generator")


def words_of(stream: Any) -> np.ndarray:
    """What a stream remembers, in an array of its own."""
    if type(stream) is random.Random:
        _, inner, second = stream.getstate()
        made = np.zeros(_TWISTER // 2 + 3, np.uint64)
        made.view(np.uint32)[:_TWISTER] = inner[:-1]
        made[-3] = inner[-1]
        made[-2:] = second is not None, _as_word(second or 0.0)
        return made
    legacy = type(stream).__name__ == "RandomState"
    state = bit_generator(stream).state
    words = np.array(BITS[state["bit_generator"]].read(state), np.uint64)
    if not legacy:
        return words
    normal = stream.get_state(legacy=False)
    return np.concatenate([words, np.array([normal["has_gauss"], _as_word(normal["gauss"])], np.uint64)])


def put_back(stream: Any, words: np.ndarray) -> None:
    """Let a stream remember what is in an array."""
    if type(stream) is random.Random:
        inner = (*words[: _TWISTER // 2].view(np.uint32).tolist(), int(words[-3]))
        stream.setstate((3, inner, _as_float(words[-1]) if words[-2] else None))
        return
    generator = bit_generator(stream)
    name = type(generator).__name__
    state = {"bit_generator": name, **BITS[name].write(words[: BITS[name].words])}
    if type(stream).__name__ == "RandomState":
        stream.set_state({**state, "has_gauss": int(words[-2]), "gauss": _as_float(words[-1])})
    else:
        generator.state = state


_REENTRANT = type(threading.RLock())


@contextmanager
def held(drawn: Sequence[Any]) -> Generator[None, None, None]:
    """Let no other thread draw from these streams, as NumPy's own methods do: other calls wait."""
    locks = [bit_generator(stream).lock for stream in drawn if type(stream) is not random.Random]
    with ExitStack() as stack:
        for lock in sorted((x for x in locks if isinstance(x, _REENTRANT)), key=id):
            stack.enter_context(lock)
        yield


def new(key: Key) -> Any:
    """A stream of a kind, in some state."""
    name, bits = key
    if name == "Random":
        return random.Random(0)  # noqa: S311 - the user's
    return getattr(np.random, name)(getattr(np.random, bits)(0))


def copied(stream: Any) -> Any:
    """Another stream that will give the same numbers."""
    key = key_of(stream)
    assert key is not None
    made = new(key)
    put_back(made, words_of(stream))
    return made


def _as_word(number: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def _as_float(word: Any) -> float:
    return struct.unpack("<d", struct.pack("<Q", int(word)))[0]
