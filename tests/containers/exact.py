"""Numbers that carry a slope through plain Python: the derivative of a program without diffjit, to any order."""

from __future__ import annotations

import math
from typing import Any


class Dual:
    """A number and its slope, which may be such numbers themselves. Order and truth are those of the number."""

    def __init__(self, value: Any, slope: Any) -> None:
        self.value, self.slope = value, slope

    def __add__(self, other: Any) -> Dual:
        return Dual(self.value + _value(other), self.slope + _slope(other))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __pos__(self) -> Dual:
        return self

    def __sub__(self, other: Any) -> Dual:
        return self + (-other)

    def __rsub__(self, other: Any) -> Dual:
        return (-self) + other

    def __mul__(self, other: Any) -> Dual:
        return Dual(self.value * _value(other), self.slope * _value(other) + self.value * _slope(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        quotient = self.value / _value(other)
        return Dual(quotient, (self.slope - quotient * _slope(other)) / _value(other))

    def __rtruediv__(self, other: Any) -> Dual:
        return Dual(other, 0.0) / self

    def __pow__(self, power: int) -> Dual:
        return Dual(self.value**power, power * self.value ** (power - 1) * self.slope)

    def __abs__(self) -> Dual:
        return -self if self < 0 else self

    def __lt__(self, other: Any) -> bool:
        return number(self) < number(other)

    def __le__(self, other: Any) -> bool:
        return number(self) <= number(other)

    def __gt__(self, other: Any) -> bool:
        return number(self) > number(other)

    def __ge__(self, other: Any) -> bool:
        return number(self) >= number(other)

    def __eq__(self, other: object) -> bool:
        return number(self) == number(other)

    def __hash__(self) -> int:
        return hash(number(self))

    def __bool__(self) -> bool:
        return bool(number(self))

    # What NumPy's functions of objects call.

    def sin(self) -> Dual:
        return Dual(_sine(self.value), _cosine(self.value) * self.slope)

    def cos(self) -> Dual:
        return Dual(_cosine(self.value), -_sine(self.value) * self.slope)

    def tanh(self) -> Dual:
        t = self.value.tanh() if isinstance(self.value, Dual) else math.tanh(self.value)
        return Dual(t, (1.0 - t * t) * self.slope)


def number(x: Any) -> Any:
    """The number without any slope."""
    while isinstance(x, Dual):
        x = x.value
    return x


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _slope(x: Any) -> Any:
    return x.slope if isinstance(x, Dual) else 0.0


def _sine(x: Any) -> Any:
    return x.sin() if isinstance(x, Dual) else math.sin(x)


def _cosine(x: Any) -> Any:
    return x.cos() if isinstance(x, Dual) else math.cos(x)


def slope(x: Any) -> Any:
    """The slope of a result; numbers that depend on nothing have none."""
    return _slope(x)
