"""Numbers with slopes as items of NumPy's arrays: the derivative of an array program without diffjit, to any order.

A slope carries a tag, so that a derivative may be taken inside of another one: verbs of a program can be played too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_tags = itertools.count(1)


def new_tag() -> int:
    """The tag of a derivative that is begun: larger than those of all derivatives around it."""
    return next(_tags)


class Slope:
    """A number and its slope by one derivative's tag; both may be such numbers of smaller tags."""

    __slots__ = ("slope", "tag", "value")

    def __init__(self, value: Any, slope: Any, tag: int) -> None:
        self.value, self.slope, self.tag = value, slope, tag

    def _binary(self, other: Any, compute: Callable[..., Any], by_self: Any, by_other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        tag = max(self.tag, other.tag) if isinstance(other, Slope) else self.tag
        (a, a_dot), (b, b_dot) = parts(self, tag), parts(other, tag)
        dot = 0.0
        for partial, moved in ((by_self, a_dot), (by_other, b_dot)):
            if not (isinstance(moved, float) and moved == 0.0):
                dot = partial(a, b) * moved + dot
        return Slope(compute(a, b), dot, tag)

    def __add__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a + b, lambda a, b: 1.0, lambda a, b: 1.0)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a - b, lambda a, b: 1.0, lambda a, b: -1.0)

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b - a, lambda a, b: -1.0, lambda a, b: 1.0)

    def __mul__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a * b, lambda a, b: b, lambda a, b: a)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: a / b, lambda a, b: 1.0 / b, lambda a, b: -a / (b * b))

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(other, lambda a, b: b / a, lambda a, b: -b / (a * a), lambda a, b: 1.0 / a)

    def __pow__(self, power: Any) -> Any:
        def by_base(a: Any, b: Any) -> Any:
            return b * a ** (b - 1) if number(b) != 0 else 0.0

        return self._binary(power, lambda a, b: a**b, by_base, lambda a, b: a**b * log(a))

    def __rpow__(self, base: Any) -> Any:
        return self._binary(base, lambda a, b: b**a, lambda a, b: b**a * log(b), lambda a, b: a * b ** (a - 1))

    def __floordiv__(self, other: Any) -> Any:
        return float(number(self) // number(other))

    def __rfloordiv__(self, other: Any) -> Any:
        return float(number(other) // number(self))

    def __mod__(self, other: Any) -> Any:
        return self - other * float(number(self) // number(other))

    def __rmod__(self, other: Any) -> Any:
        return other - self * float(number(other) // number(self))

    def __neg__(self) -> Slope:
        return Slope(-self.value, -self.slope, self.tag)

    def __pos__(self) -> Slope:
        return self

    def __abs__(self) -> Any:
        size = number(self)
        return self if size > 0 else -self if size < 0 else self * 0.0

    def __float__(self) -> float:
        raise TypeError("a slope would be lost")  # where an array of floats is written to

    def __bool__(self) -> bool:
        return bool(number(self))

    def __hash__(self) -> int:
        return hash(number(self))

    def __lt__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else bool(number(self) < number(other))

    def __le__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else bool(number(self) <= number(other))

    def __gt__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else bool(number(self) > number(other))

    def __ge__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else bool(number(self) >= number(other))

    def __eq__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else bool(number(self) == number(other))

    def __ne__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else bool(number(self) != number(other))

    def copy(self) -> Slope:
        return self

    @property
    def real(self) -> Slope:
        return self

    # What NumPy's functions of objects call.

    def sin(self) -> Slope:
        return Slope(sin(self.value), cos(self.value) * self.slope, self.tag)

    def cos(self) -> Slope:
        return Slope(cos(self.value), -sin(self.value) * self.slope, self.tag)

    def exp(self) -> Slope:
        out = exp(self.value)
        return Slope(out, out * self.slope, self.tag)

    def log(self) -> Slope:
        return Slope(log(self.value), self.slope / self.value, self.tag)

    def sqrt(self) -> Slope:
        out = sqrt(self.value)
        return Slope(out, 0.5 / out * self.slope, self.tag)

    def tanh(self) -> Slope:
        out = tanh(self.value)
        return Slope(out, (1.0 - out * out) * self.slope, self.tag)

    def square(self) -> Any:
        return self * self

    def floor(self) -> float:
        return float(math.floor(number(self)))


def _function(name: str) -> Callable[[Any], Any]:
    plain = getattr(math, name)
    return lambda x: getattr(x, name)() if isinstance(x, Slope) else plain(x)


NAMES = ("sin", "cos", "exp", "log", "sqrt", "tanh")
sin, cos, exp, log, sqrt, tanh = map(_function, NAMES)
ELEMENTWISE = {name: np.frompyfunc(_function(name), 1, 1) for name in NAMES}


def number(x: Any) -> Any:
    """The number without any slope."""
    while isinstance(x, Slope):
        x = x.value
    return x


def parts(x: Any, tag: int) -> tuple[Any, Any]:
    """The value and the slope by a tag."""
    return (x.value, x.slope) if isinstance(x, Slope) and x.tag == tag else (x, 0.0)


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """A function of each number of trees of the same form; arrays become arrays of objects."""
    first = trees[0]
    if isinstance(first, np.ndarray):
        out = np.empty(first.shape, object)
        for place in np.ndindex(first.shape):
            out[place] = function(*(tree[place] for tree in trees))
        return out
    if isinstance(first, dict):
        return {key: mapped(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, list | tuple):
        return type(first)(mapped(function, *items) for items in zip(*trees, strict=True))
    return function(*trees)


def leaves(tree: Any) -> list[Any]:
    """The numbers of a tree, in order."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def numbers(tree: Any) -> np.ndarray:
    """The numbers of a tree, as one array, without slopes."""
    return np.array([float(number(x)) for x in leaves(tree)])


def along(function: Callable[..., Any], points: Any, directions: Any) -> tuple[Any, Any]:
    """The value of a function of several trees, and its slope along directions."""
    tag = new_tag()
    out = function(*mapped(lambda p, d: Slope(p, d, tag), points, directions))
    return mapped(lambda x: parts(x, tag)[0], out), mapped(lambda x: parts(x, tag)[1], out)


def units(tree: Any) -> list[Any]:
    """A direction for each number of a tree."""
    count = len(leaves(tree))
    found = []
    for index in range(count):
        entries = iter([float(index == k) for k in range(count)])
        found.append(mapped(lambda _, entries=entries: next(entries), tree))
    return found


def gradient(function: Callable[..., Any], points: Any) -> Any:
    """The gradient of a function with one number as its result, as a tree like its arguments'."""
    slopes = iter([along(function, points, unit)[1] for unit in units(points)])
    return mapped(lambda _: next(slopes), points)


class ExactNumPy:
    """NumPy for numbers with slopes: arrays of floats that a program makes hold objects; the rest is NumPy's."""

    def __getattr__(self, name: str) -> Any:
        return ELEMENTWISE[name] if name in ELEMENTWISE else getattr(np, name)

    @staticmethod
    def _objects(array: Any) -> Any:
        return array.astype(object) if array.dtype.kind == "f" else array

    def zeros(self, shape: Any, dtype: Any = float) -> Any:
        return self._objects(np.zeros(shape, dtype))

    empty = zeros

    def ones(self, shape: Any, dtype: Any = float) -> Any:
        return self._objects(np.ones(shape, dtype))

    def full(self, shape: Any, value: Any) -> Any:
        return np.full(shape, value, object if isinstance(value, Slope | float) else None)

    def array(self, items: Any) -> Any:
        return self._objects(np.array(items))

    def asarray(self, items: Any) -> Any:
        return items if isinstance(items, np.ndarray) else self.array(items)

    def arange(self, *bounds: Any) -> Any:
        return self._objects(np.arange(*bounds))

    def linspace(self, *bounds: Any) -> Any:
        return self._objects(np.linspace(*bounds))

    def eye(self, n: int) -> Any:
        return self._objects(np.eye(n))

    def zeros_like(self, like: Any) -> Any:
        return self.zeros(np.shape(like)) if np.asarray(like).dtype.kind == "O" else np.zeros_like(like)

    def ones_like(self, like: Any) -> Any:
        return self.ones(np.shape(like)) if np.asarray(like).dtype.kind == "O" else np.ones_like(like)

    def where(self, mask: Any, one: Any, other: Any) -> Any:
        return self._objects(np.where(np.asarray(mask, bool), one, other))

    def maximum(self, one: Any, other: Any, **options: Any) -> Any:
        return np.frompyfunc(_larger, 2, 1)(one, other, **options)

    def minimum(self, one: Any, other: Any, **options: Any) -> Any:
        return -np.frompyfunc(_larger, 2, 1)(-np.asarray(one), -np.asarray(other), **options)


def _larger(a: Any, b: Any) -> Any:
    """The larger of two numbers; the mean of both at a tie, whose slope is the convention."""
    return a if a > b else b if b > a else 0.5 * (a + b) if isinstance(a, Slope) or isinstance(b, Slope) else a


# Verbs --------------------------------------------------------------------------------------------------------------


class ExactVerbs:
    """diffjit's verbs for numbers with slopes, by the book: each derivative is one of slopes of its own tag."""

    @staticmethod
    def value_and_grad(function: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
        chosen = argnums if isinstance(argnums, tuple) else (argnums,)

        def both(*args: Any) -> Any:
            def of_chosen(*points: Any) -> Any:
                full = [copied(arg) for arg in args]
                for k, point in zip(chosen, points, strict=True):
                    full[k] = copied(point)
                return function(*full)

            points = tuple(args[k] for k in chosen)
            bars = gradient(of_chosen, points)
            return of_chosen(*points), bars if isinstance(argnums, tuple) else bars[0]

        return both

    @classmethod
    def grad(cls, function: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
        return lambda *args: cls.value_and_grad(function, argnums)(*args)[1]

    @staticmethod
    def jvp(function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
        return along(function, copied(primals), tangents)

    @staticmethod
    def vjp(function: Callable[..., Any], *args: Any) -> Any:
        kept = copied(args)

        def pullback(bar: Any) -> Any:
            weighed = lambda *points: inner(bar, function(*points))
            return gradient(weighed, kept)

        return function(*copied(args)), pullback

    @staticmethod
    def jacobian(function: Callable[..., Any]) -> Callable[..., Any]:
        def matrix(v: Any) -> Any:
            columns = [along(function, (copied(v),), unit)[1] for unit in units((v,))]
            return np.stack(columns, axis=-1)

        return matrix

    jacfwd = jacrev = jacobian

    @classmethod
    def hessian(cls, function: Callable[..., Any]) -> Callable[..., Any]:
        return cls.jacobian(cls.grad(function))

    @classmethod
    def hvp(cls, function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
        return along(cls.grad(function), copied(primals), tangents)[1]

    @staticmethod
    def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0) -> Callable[..., Any]:
        def lanes(*args: Any) -> Any:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            count = next(np.shape(arg)[axis] for arg, axis in zip(args, axes, strict=True) if axis is not None)
            take = lambda k: (a if axis is None else np.take(a, k, axis) for a, axis in zip(args, axes, strict=True))
            made = [function(*take(k)) for k in range(count)]
            if isinstance(made[0], np.ndarray):
                return np.stack(made, axis=out_axes)
            out = np.empty(count, object)
            out[:] = made
            return out

        return lanes

    @staticmethod
    def stop_gradient(x: Any) -> Any:
        return mapped(number, x)

    @staticmethod
    def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    class custom_jvp:  # noqa: N801 - diffjit's name
        """A function of a number with a rule of its own."""

        def __init__(self, function: Callable[..., Any]) -> None:
            self.function = function

        def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
            self.rule = rule
            return rule

        def __call__(self, x: Any) -> Any:
            if not isinstance(x, Slope):
                return self.function(x)
            out, dot = self.rule((x.value,), (x.slope,))
            return Slope(out, dot, x.tag)

    class custom_vjp(custom_jvp):  # noqa: N801 - diffjit's name
        """A function of a number with a reverse rule of its own, which is linear."""

        def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
            def rule(primals: Any, tangents: Any) -> Any:
                out, kept = forward(*primals)
                return out, backward(kept, tangents[0])[0]

            self.rule = rule


def copied(tree: Any) -> Any:
    """A tree of fresh arrays."""
    return mapped(lambda x: x, tree)


def inner(left: Any, right: Any) -> Any:
    """The sum of the products of the numbers of two trees."""
    return sum(u * v for u, v in zip(leaves(left), leaves(right), strict=True))
