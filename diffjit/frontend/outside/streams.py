"""Streams of random numbers in programs: an object whose one attribute that changes is the array of the stream's words.

    z = rng.normal()    ->    words, z = foreign[Draw](state)
                              leave(state, words)

So a draw is an ordinary function, and the order of draws is that of writes to an array. The array of a stream from
outside is a parameter that no derivative copies first (`transforms.prepare`): what it holds in the end is what the
stream remembers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit import streams
from diffjit.frontend.entry.lift import Capture, Guard
from diffjit.frontend.entry.places import StreamOf, Twin
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import FLOAT, INT, Array, Scalar, is_float
from diffjit.primitives.random import CLASSES
from diffjit.primitives.random.draws import Draw, Reordered, Seeded, routine
from diffjit.primitives.routines import Routine, Slot

_NUMBERS: dict[Any, Scalar] = {float: FLOAT, int: INT}  # of Python's, where one number is drawn


class Streams(Mixin):
    """Mixin of the interpreter: random numbers."""

    def init_streams(self) -> None:
        """No streams yet."""
        self.stream_params: list[Value] = []
        self.stream_places: dict[int, tuple[Any, av.Ref]] = {}

    # Streams

    def stream_param(self, key: streams.Key, hint: str | None = None) -> Value:
        """A parameter for the words of a stream from outside."""
        param = Value(_words(key), hint)
        self.stream_params.append(param)
        return param

    def stream(self, key: streams.Key, words: Value, *, outside: bool = False) -> av.Ref:
        """The object of a stream."""
        fields = {"state": words, "bits": Static(key[1])}
        held = av.ObjC(CLASSES[key[0]], fields)
        return self.outside(held) if outside else self.new(held)

    def given_stream(self, value: Any, params: list[Value]) -> av.Ref:
        """A stream among the arguments; the parameter for its words goes behind the others."""
        key = streams.key_of(value)
        assert key is not None
        params.append(self.stream_param(key))
        return self.stream(key, params[-1], outside=True)

    def lift_stream(self, place: Any, value: Any, getter: Any, hint: str | None) -> av.Ref:
        """A stream from outside, which may be found at several places."""
        known = self.stream_places.get(id(value))
        if known is not None:
            self.guards[place, "same"] = Guard(Twin(getter, known[0]), True)
            return known[1]
        for k, (other, _) in enumerate(self.stream_places.values()):
            self.guards[place, "another", k] = Guard(Twin(getter, other), False)
        key = streams.key_of(value)
        assert key is not None
        param = self.stream_param(key, hint)
        self.captures[place] = Capture(getter, param)
        self.keep_alive.append(value)
        made = self.stream(key, param, outside=True)
        self.stream_places[id(value)] = getter, made
        return made

    def stream_of(self, name: Any) -> av.Ref:
        """The stream behind `np.random` ("RandomState") or `random` ("Random")."""
        getter = StreamOf(name.obj)
        return self.lift_at(("stream", name.obj), getter(), getter, hint=name.obj.lower())

    def owner_of(self, method: Any) -> av.Ref:
        """The stream that a method is bound to: `np.random.normal` is a method of the one behind `np.random`."""
        for name in CLASSES:
            if name != "Generator" and method.__self__ is StreamOf(name)():
                return self.stream_of(Static(name))
        return self.lift_object(method.__self__)

    def key_of_stream(self, ref: av.Ref) -> streams.Key:
        """What kind of stream an object stands for."""
        held = self.contents(ref)
        return held.cls.stands_for.__name__, held.fields["bits"].obj

    def seeded_stream(self, cls: Any, bits: Any, seed: Any) -> av.Ref:
        """A stream that the program makes."""
        key = cls.obj.stands_for.__name__, bits.obj
        return self.stream(key, self.seeded_words(key, seed))

    def reseed_stream(self, ref: av.Ref, seed: Any) -> Static:
        """A stream as if it had been made with this seed."""
        words = self.seeded_words(self.key_of_stream(ref), seed)
        self.leave(self.contents(ref).fields["state"], words)
        return Static(None)

    def seeded_words(self, key: streams.Key, seed: Any) -> Value:
        """What a new stream remembers."""
        called = routine(Seeded, key)
        operands: list[Value] = []
        given = self.passed_on(seed, operands, called, None)
        return self.drawn(called, (Static(None).obj, (given,), {}), operands, [_words(key)], [])[0]

    # Draws

    def draw(
        self, ref: av.Ref, method: Any, shape: Any, /, *args: Any, gives: Any = Static(float), **named: Any
    ) -> Any:
        """What a method of a stream gives, and what it does to the stream."""
        key = self.key_of_stream(ref)
        called = routine(Draw, key, method.obj)
        state = self.contents(ref).fields["state"]
        operands = [state]
        given = tuple(self.passed_on(a, operands, called, None) for a in args)
        by_name = {name: self.passed_on(a, operands, called, None) for name, a in named.items()}
        lengths: list[Value] = []
        if is_none(shape):
            ty: Any = _NUMBERS.get(gives.obj) or Scalar(self.dtype_of(gives))
        else:
            known = self.lengths_of(shape)
            ty = Array(np.dtype(self.dtype_of(gives)), self.known_dims(known), "C")
            lengths = [self.number(n) for n in known]
        words, found = self.drawn(
            called, (Slot(0), given, by_name), operands, [_words(key), ty], lengths, raises=method.obj not in SAFE
        )
        self.leave(state, words)
        return found

    def stream_twin(self, ref: av.Ref) -> av.Ref:
        """Another stream in the same state: what it gives, the first one will give."""
        state = self.contents(ref).fields["state"]
        return self.stream(self.key_of_stream(ref), self.copy(state))

    def drawn_order(self, ref: av.Ref, count: Any) -> Value:
        """The numbers from 0 on, in the order that a shuffle gives them."""
        key = self.key_of_stream(ref)
        called = routine(Reordered, key)
        state, n = self.contents(ref).fields["state"], self.number(count)
        ty = Array(np.dtype(np.int64), self.known_dims((count,)), "C")
        words, found = self.drawn(called, (Slot(0), (Slot(1),), {}), [state, n], [_words(key), ty], [n])
        self.leave(state, words)
        return found

    def leave(self, state: Value, words: Value) -> None:
        """Let a stream remember what a draw has left of it."""
        self.once(lambda: self.build.op("leave", [state, words]))

    def drawn(
        self, called: Routine, given: tuple[Any, ...], operands: list[Value], types: list[Any], lengths: list[Value],
        *, raises: bool = True,
    ) -> list[Value]:  # fmt: skip
        """The operation."""
        slots = [Slot(k) for k in range(len(types))]
        results = tuple(slots) if len(slots) > 1 else slots[0]
        counts = [[self.number(Static(types[0].dims[0]))], *([lengths] if len(types) > 1 else [])]
        catches = self.told_apart([]) if raises else ()
        return self.ask_of_python(called, operands, counts, types, catches, arguments=(given, {}), results=results)

    def fixed(self, value: Any) -> Any:
        """A number or array through which no derivative flows."""
        if isinstance(value, av.Tup) or (isinstance(value, av.Ref) and isinstance(self.contents(value), av.ListC)):
            return av.Tup(tuple(self.fixed(v) for v in self.sequence_items(value, None)))
        if not isinstance(value, Value) or not is_float(value.type):
            return value
        given = self.copy(value) if isinstance(value.type, Array) else value
        return self.build.value("stop_gradient", [given], value.type, name=value.name)


SAFE = frozenset({"random", "random_sample", "standard_normal", "standard_exponential", "gauss"})  # never raise


def _words(key: streams.Key) -> Array:
    return Array(np.dtype(np.uint64), (streams.size_of(key),), "C")
