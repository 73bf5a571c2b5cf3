"""Words of `typing` that a program runs: subscripts, casts, generic classes, new types."""

import typing
import warnings
from typing import Generic, Literal, Optional, TypeVar, Union, cast, get_args

import pytest

from tests.one_number import as_python

BACKENDS = ["python", "numba"]
Item = TypeVar("Item")
Metres = typing.NewType("Metres", float)


class Stack(Generic[Item]):
    def __init__(self) -> None:
        self.items: list[Item] = []

    def push(self, item: Item) -> None:
        self.items.append(item)

    def pop(self) -> Item:
        return self.items.pop()


def casts(x):
    y = cast(Literal["a", "b"], x)
    return cast(Optional[float], y) ** 2 * cast(Union[float, None], y)  # noqa: UP007, UP045 - what is tested


def counted(x):
    return x**2 * len(get_args(Union[int, float])) * len(get_args(dict[str, float]))  # noqa: UP007 - what is tested


def asked(x):
    return x**2 if isinstance(x, Union[int, float]) else x  # noqa: UP007 - what is tested


def generic(x):
    stack = Stack[float]()
    stack.push(x)
    stack.push(2.0 * x)
    return stack.pop() * stack.pop()


def new_type(x):
    return Metres(x) ** 3


def warned(x):
    try:
        warnings.warn("large", stacklevel=1)
        y = x**2
    except ValueError:
        y = x
    return y * x


def nothing_zipped(x):
    total = 0.0
    for _ in zip():
        total += x
    return total + x**2 + len(list(zip(*[]))) + len([row for row in zip(*[[]])])  # noqa: B905, C416 - what is tested


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [casts, counted, asked, generic, new_type, warned, nothing_zipped])
@pytest.mark.filterwarnings("ignore")
def test_as_python(f, backend):
    as_python(f, backend)
