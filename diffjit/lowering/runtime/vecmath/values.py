"""Numbers whose arithmetic is written into LLVM: the language of the vectorised elementary functions.

    def sigmoid(x: Number) -> Number:
        t = exp(-fabs(x))
        return select(x < 0.0, t, 1.0) / (1.0 + t)

A function of `vecmath` runs once for each place that calls it, while that place is compiled. Its arguments are
`Number`s; what it computes is appended to the code of the caller. So there is no call, no branch and nothing to be
typed or inlined: the loop around the caller holds plain instructions, each of which LLVM has for vectors too. No
operation carries a fast-math flag: error-free transformations (`two_sum`, `two_product`) mean what they say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir as llvm_ir
from numba.core import types

from diffjit.dataclass import dataclass
from diffjit.lowering.runtime.build import float_only, operation


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format."""

    index: int  # of its constants in a `Choice`
    mantissa: int  # bits stored
    bias: int  # of the exponent
    floats: Any  # LLVM's type
    ints: Any  # LLVM's integers of the same width

    @property
    def round_up(self) -> float:
        """Added to a number and taken away again: the nearest integer. The sum's low bits are that integer."""
        return 1.5 * 2.0**self.mantissa


DOUBLE = Format(0, 52, 1023, llvm_ir.DoubleType(), llvm_ir.IntType(64))
SINGLE = Format(1, 23, 127, llvm_ir.FloatType(), llvm_ir.IntType(32))


class Choice(NamedTuple):
    """A constant, or a tuple of coefficients, in each format."""

    double: Any
    single: Any


class Number:
    """A float, an integer as wide as that float, or a truth value, in code that is being emitted."""

    __slots__ = ("builder", "format", "value")

    def __init__(self, builder: Any, value: Any, form: Format) -> None:
        self.builder = builder
        self.value = value
        self.format = form

    @property
    def is_int(self) -> bool:
        """Whether it is an integer or a truth value."""
        return isinstance(self.value.type, llvm_ir.IntType)

    def made(self, value: Any) -> Number:
        """A result beside this number."""
        return Number(self.builder, value, self.format)

    def like(self, other: Any) -> Any:
        """LLVM's value of an operand: a number, a Python constant or a choice of constants."""
        if isinstance(other, Number):
            return other.value
        if isinstance(other, Choice):
            other = other[self.format.index]
        return self.value.type(other)

    def pick(self, choice: Choice) -> Any:
        """The constant for this number's format."""
        return choice[self.format.index]

    def _two(self, floats: str, ints: str, other: Any, *, swap: bool = False) -> Number:
        x, y = self.value, self.like(other)
        return self.made(getattr(self.builder, ints if self.is_int else floats)(*((y, x) if swap else (x, y))))

    def __add__(self, other: Any) -> Number:
        return self._two("fadd", "add", other)

    def __radd__(self, other: Any) -> Number:
        return self._two("fadd", "add", other)

    def __sub__(self, other: Any) -> Number:
        return self._two("fsub", "sub", other)

    def __rsub__(self, other: Any) -> Number:
        return self._two("fsub", "sub", other, swap=True)

    def __mul__(self, other: Any) -> Number:
        return self._two("fmul", "mul", other)

    def __rmul__(self, other: Any) -> Number:
        return self._two("fmul", "mul", other)

    def __truediv__(self, other: Any) -> Number:
        return self._two("fdiv", "udiv", other)

    def __rtruediv__(self, other: Any) -> Number:
        return self._two("fdiv", "udiv", other, swap=True)

    def __neg__(self) -> Number:
        return self.made(self.builder.neg(self.value) if self.is_int else self.builder.fneg(self.value))

    def __and__(self, other: Any) -> Number:
        return self._two("and_", "and_", other)

    def __or__(self, other: Any) -> Number:
        return self._two("or_", "or_", other)

    def __xor__(self, other: Any) -> Number:
        return self._two("xor", "xor", other)

    def __invert__(self) -> Number:
        return self.made(self.builder.not_(self.value))

    def __lshift__(self, n: int) -> Number:
        return self._two("shl", "shl", n)

    def __rshift__(self, n: int) -> Number:
        """Shift in zeros."""
        return self._two("lshr", "lshr", n)

    def _compare(self, sign: str, other: Any) -> Number:
        compare = self.builder.icmp_signed if self.is_int else self.builder.fcmp_ordered
        return self.made(compare(sign, self.value, self.like(other)))

    def __lt__(self, other: Any) -> Number:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Number:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Number:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Number:
        return self._compare(">=", other)

    def equals(self, other: Any) -> Number:
        """x == y."""
        return self._compare("==", other)

    def is_nan(self) -> Number:
        """x != x."""
        return self.made(self.builder.fcmp_unordered("uno", self.value, self.value))


# Functions that LLVM has as instructions ------------------------------------------------------------------------------


def _intrinsic(x: Number, name: str, *rest: Any) -> Number:
    ty = x.value.type
    args = [x.value, *(x.like(r) for r in rest)]
    fn_type = llvm_ir.FunctionType(ty, [ty] * len(args))
    return x.made(x.builder.call(x.builder.module.declare_intrinsic(name, [ty], fn_type), args))


def fma(x: Number, y: Any, z: Any) -> Number:
    """x * y + z, rounded once."""
    return _intrinsic(x, "llvm.fma", y, z)


def fabs(x: Number) -> Number:
    """|x|."""
    return _intrinsic(x, "llvm.fabs")


def copysign(x: Number, y: Number) -> Number:
    """|x| with the sign of y."""
    return _intrinsic(x, "llvm.copysign", y)


def sqrt(x: Number) -> Number:
    """The square root."""
    return _intrinsic(x, "llvm.sqrt")


def trunc(x: Number) -> Number:
    """x without its fraction."""
    return _intrinsic(x, "llvm.trunc")


def constant(beside: Number, value: Any) -> Number:
    """A float constant."""
    return beside.made(beside.format.floats(value[beside.format.index] if isinstance(value, Choice) else value))


def select(condition: Number, x: Any, y: Any) -> Number:
    """x if the condition holds, else y; constants are floats unless the other is an integer."""
    like = x if isinstance(x, Number) else y if isinstance(y, Number) else constant(condition, 0.0)
    return like.made(like.builder.select(condition.value, like.like(x), like.like(y)))


def bits(x: Number) -> Number:
    """A float's bits as an integer."""
    return x.made(x.builder.bitcast(x.value, x.format.ints))


def from_bits(n: Number) -> Number:
    """The float that has these bits."""
    return n.made(n.builder.bitcast(n.value, n.format.floats))


def widened(x: Number) -> Number:
    """A float32 as a float64."""
    return Number(x.builder, x.builder.fpext(x.value, DOUBLE.floats), DOUBLE)


def narrowed(x: Number) -> Number:
    """A float64 as a float32."""
    return Number(x.builder, x.builder.fptrunc(x.value, SINGLE.floats), SINGLE)


# Steps that the functions share ---------------------------------------------------------------------------------------


def polynomial(x: Number, coefficients: Choice) -> Number:
    """c[0] + c[1] x + ...: a long one in two chains, of even and of odd powers, that the processor works on at once."""
    terms = x.pick(coefficients)
    if len(terms) < LONG:
        return _horner(x, terms)
    square = x * x
    return fma(x, _horner(square, terms[1::2]), _horner(square, terms[::2]))


LONG = 6


def _horner(x: Number, terms: tuple[float, ...]) -> Number:
    *rest, last = terms
    total = constant(x, last)
    while rest:
        total = fma(total, x, rest.pop())
    return total


def fast_two_sum(x: Number, y: Any) -> tuple[Number, Number]:
    """x + y rounded, and what rounding took away; |x| >= |y| or x = 0."""
    total = x + y
    return total, y - (total - x)


def two_sum(x: Number, y: Any) -> tuple[Number, Number]:
    """x + y rounded, and what rounding took away."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def two_product(x: Number, y: Any) -> tuple[Number, Number]:
    """x * y rounded, and what rounding took away."""
    product = x * y
    return product, fma(x, y, -product)


def nearest(x: Number, factor: Any) -> tuple[Number, Number]:
    """x * factor rounded to an integer: as a float, and as bits whose low part is that integer."""
    magic = x.format.round_up
    shifted = fma(x, factor, magic)
    return shifted - magic, bits(shifted)


def power_of_two(n: Number) -> Number:
    """2**n of an integer in the range of normal numbers; bits above the exponent's are dropped."""
    return from_bits((n + n.format.bias) << n.format.mantissa)


def times_power_of_two(x: Number, n: Number) -> Number:
    """x * 2**n of an integer n from -2 bias to 2 bias, rounded once: overflow and subnormal results included."""
    bias, mantissa = n.format.bias, n.format.mantissa
    both = n + 2 * bias
    half = both >> 1
    return x * from_bits(half << mantissa) * from_bits((both - half) << mantissa)


def quotient(n: Number, n_low: Any, d: Number, d_low: Any) -> tuple[Number, Number]:
    """(n + n_low) / (d + d_low) to twice the precision."""
    inverse = 1.0 / d
    ratio = n * inverse
    rest = fma(-ratio, d, n)
    rest = rest + (n_low - ratio * d_low)
    return ratio, rest * inverse


def _truth(*kinds: Any) -> Any:
    return types.boolean if isinstance(kinds[0], types.Float) else None


def elementwise(function: Callable[..., Number], *, truth: bool = False) -> Any:
    """The Numba intrinsic of a function of numbers of one format; its result is such a number, or a truth value."""

    def emit(_context: Any, builder: Any, kinds: Any, args: Any) -> Any:
        form = DOUBLE if kinds[0].bitwidth == 64 else SINGLE
        return function(*(Number(builder, a, form) for a in args)).value

    typing = _truth if truth else float_only
    return operation(function.__name__, function.__code__.co_argcount, typing, emit)
