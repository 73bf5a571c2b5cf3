"""Draws as programs name them: `draw(stream, "standard_normal", shape)`. The interpreter makes operations of them."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np

from diffjit import streams
from diffjit.primitives.routines import Routine
from diffjit.streams import Key


class _Scratch(threading.local):
    """A stream of each kind that calls of this thread use."""

    def __init__(self) -> None:
        self.made: dict[Key, Any] = {}

    def loaded(self, key: Key, words: np.ndarray) -> Any:
        """The stream of a kind, with these words."""
        if key not in self.made:
            self.made[key] = streams.new(key)
        streams.put_back(self.made[key], words)
        return self.made[key]


_scratch = _Scratch()


class Draw:
    """A method of a stream as a function of the stream's words: the words afterwards, and what was drawn."""

    def __init__(self, key: Key, method: str) -> None:
        self.key, self.method = key, method
        self.__name__ = self.__qualname__ = method

    def __call__(self, words: np.ndarray, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[np.ndarray, Any]:
        """Draw by the library's own code."""
        stream = _scratch.loaded(self.key, words)
        own = _OWN.get((self.key[0], self.method))
        found = getattr(stream, self.method)(*args, **named) if own is None else own(stream, *args)
        return streams.words_of(stream), found


def _sampled(stream: Any, n: int, k: int) -> Any:
    return stream.sample(range(n), k)


def _chosen(stream: Any, n: int, weights: Any, sums: Any, k: int) -> Any:
    listed = [None if x is None else list(x) for x in (weights, sums)]
    return stream.choices(range(n), listed[0], cum_weights=listed[1], k=k)


# Methods of Python's that choose among items, as they choose among the numbers of these
_OWN: dict[Key, Any] = {("Random", "sample"): _sampled, ("Random", "choices"): _chosen}


class Reordered:
    """`shuffle` of the numbers from 0 to n - 1: the words afterwards, and the order."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.__name__ = self.__qualname__ = "shuffle"

    def __call__(self, words: np.ndarray, args: tuple[int], named: dict[str, Any]) -> tuple[np.ndarray, Any]:
        """Draw by the library's own code."""
        del named
        stream = _scratch.loaded(self.key, words)
        order: Any = list(range(args[0])) if self.key[0] == "Random" else np.arange(args[0])
        stream.shuffle(order)
        return streams.words_of(stream), np.asarray(order, np.int64)


class Seeded:
    """The words of a new stream, by what it is seeded with."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.__name__ = self.__qualname__ = "seeded"

    def __call__(self, words: Any, args: tuple[Any], named: dict[str, Any]) -> np.ndarray:
        """Seed as the class does."""
        del words, named
        (name, bits), (seed,) = self.key, args
        if name == "Random":
            stream = streams.new(self.key)
            stream.seed(seed)
        elif name == "RandomState" and bits == "MT19937":
            stream = np.random.RandomState(seed)
        else:
            stream = getattr(np.random, name)(getattr(np.random, bits)(seed))
        return streams.words_of(stream)


@functools.cache
def routine(make: type, *given: Any) -> Routine:
    """What is called through Python, once for each kind of stream."""
    function = make(*given)
    return Routine(function, function.__name__, "python", steady=repr((make.__name__, *given)))


class _Inline:
    """A function of the interpreter's, under the name that programs of the library call."""

    def __init__(self, name: str, variable: str) -> None:
        self.__name__, self.variable = name, variable

    def __reduce__(self) -> str:
        """It is a variable of this module."""
        return self.variable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """It is called while a program is specialised; nothing else calls it."""
        raise NotImplementedError(self.__name__)

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del node
        return getattr(interpreter, self.__name__)(*args, **kwargs)


draw = _Inline("draw", "draw")
"""draw(stream, method, shape, *args, gives=float, **named): `stream.method(*args, **named)`; a number if shape is None.

Each argument is passed on as it is, so that one with a derivative is refused; `size` is among `named`.
"""
order = _Inline("drawn_order", "order")
"""order(stream, n): what a shuffle makes of the numbers from 0 to n - 1."""
twin = _Inline("stream_twin", "twin")
"""twin(stream): another stream in the same state."""
stream_of = _Inline("stream_of", "stream_of")
"""stream_of("RandomState"): the stream of `np.random`; "Random": that of `random`."""
seeded = _Inline("seeded_stream", "seeded")
"""seeded(cls, bits, seed): a new stream."""
reseed = _Inline("reseed_stream", "reseed")
"""reseed(stream, seed): the stream as if it were new."""


def fixed(x: Any) -> Any:
    """The same, without its derivatives."""
    return x


def _fixed_inside(interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    del kwargs, node
    return interpreter.fixed(*args)


fixed.__diffjit_inline__ = _fixed_inside  # type: ignore[attr-defined]
