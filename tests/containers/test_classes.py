"""Questions about the classes of values that have no Python object yet: as Python answers them."""

import collections
import collections.abc
import functools
import types

import numpy as np
import pytest

import diffjit as dj

FIXED = frozenset([1, 2])


class Called:
    def __call__(self):
        return 1

    def method(self):
        return 2


def drawn(x):
    yield x


VALUES = {
    "a number": lambda x: x,
    "NumPy's number": np.float64,
    "an array": lambda x: np.array([x]),
    "a list": lambda x: [x],
    "a growing list": lambda x: [k * x for k in range(int(x) + 2)],
    "a tuple": lambda x: (x,),
    "a dict": lambda x: {"a": x},
    "an ordered dict": lambda x: collections.OrderedDict(a=x),
    "a dict with a default": lambda x: collections.defaultdict(list, a=[x]),
    "a deque": lambda x: collections.deque([x]),
    "a set": lambda x: {1, int(x)},
    "a frozen set": lambda x: frozenset([1, 3]),
    "a frozen set from outside": lambda x: FIXED | {5},
    "a text": lambda x: f"{x:.2f}",
    "a range": lambda x: range(int(x)),
    "a slice": lambda x: slice(int(x)),
    "zip": lambda x: zip([x], [1], strict=True),
    "map": lambda x: map(abs, [x]),
    "enumerate": lambda x: enumerate([x]),
    "filter": lambda x: filter(None, [x]),
    "reversed": lambda x: reversed([x]),
    "iter": lambda x: iter([x]),
    "a generator": drawn,
    "a generator expression": lambda x: (v for v in [x]),
    "keys": lambda x: {"a": x}.keys(),
    "values": lambda x: {"a": x}.values(),
    "items": lambda x: {"a": x}.items(),
    "a function": lambda x: lambda: x,
    "a method": lambda x: Called().method,
    "a method of Python's": lambda x: [x].append,
    "a partial": lambda x: functools.partial(abs, x),
    "an object that is called": lambda x: Called(),
}
NAMES = ("__call__", "__iter__", "__next__", "__len__", "__getitem__", "__float__", "append", "add", "keys", "upper",
         "send", "shape", "func", "__self__", "move_to_end", "appendleft")  # fmt: skip
CLASSES = (
    float, int, np.floating, np.ndarray, list, tuple, dict, set, frozenset, str, range, slice, zip, map, enumerate,
    collections.OrderedDict, collections.defaultdict, collections.deque, types.FunctionType, types.MethodType,
    types.BuiltinFunctionType, types.GeneratorType, functools.partial, collections.abc.Iterator,
    collections.abc.Iterable, collections.abc.Sequence, collections.abc.Mapping, collections.abc.Sized,
    collections.abc.Callable, collections.abc.KeysView, collections.abc.MutableSet,
)  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_as_python(name):
    make = VALUES[name]

    def answers(x):
        value = make(x)
        found = [1.0 if isinstance(value, cls) else 0.0 for cls in CLASSES]
        found += [1.0 if hasattr(value, attribute) else 0.0 for attribute in NAMES]
        return np.array([*found, 1.0 if callable(value) else 0.0])

    asked = [f"isinstance {cls.__name__}" for cls in CLASSES] + [f"hasattr {n}" for n in NAMES] + ["callable"]
    found = dj.jit(answers, backend="python")(1.7)
    assert [q for q, a, b in zip(asked, found, answers(1.7), strict=True) if a != b] == []
    assert dj.grad(lambda x: np.sum(answers(x)) * x, backend="numba")(1.7) == np.sum(answers(1.7))
