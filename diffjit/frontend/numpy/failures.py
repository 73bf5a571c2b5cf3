"""What may fail: the errors that Python and NumPy raise, and when.

Inside a `try` that catches such an error, the operation is tested beforehand (`Exceptions.guard`); elsewhere compiled
code reports what NumPy would, and Python's own arithmetic follows IEEE 754. `CHECKS` names the test of each operation
of the IR; functions of Python that are several operations call theirs.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffjit.errors import words
from diffjit.frontend.numpy.arith import PYTHON_OPERATORS
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import TRIED, Value, const_of, is_const
from diffjit.ir.ops import ROWS
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.library import selecting
from diffjit.primitives.registry import ELEMENTWISE

CHECKS = {
    "reshape": "check_reshape", "matmul": "check_matmul", "concatenate": "check_concatenate", "max": "check_extreme",
    "min": "check_extreme", "argmax": "check_extreme", "argmin": "check_extreme", "gather": "check_gather",
    "scatter": "check_scatter", "scatter_add": "check_scatter", "mask_get": "check_mask", "mask_set": "check_mask_set",
    "assign": "check_assign", "broadcast_to": "check_broadcast_to", "solve": "check_square", "inv": "check_square",
    "det": "check_square", "cholesky": "check_square", "eigh": "check_square", "factorizes": "check_square",
    "zeros": "check_lengths", "empty": "check_lengths", "full": "check_full",
    "left_shift": "check_shift", "right_shift": "check_shift",
}  # fmt: skip
DIVIDING = frozenset({"divide", "floor_divide", "remainder"})
OVERFLOWING = frozenset({"exp", "exp2", "expm1", "cosh", "sinh", "power", "ldexp", "gamma", "lgamma"})

# Without length or items. Compiled functions and kernels are not among them: `kernel[blocks, threads]`.
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc)

# Numbers for which the functions of `math` are undefined: each for some.
_UNDEFINED: tuple[float, ...] = (-1.5, 2.5, float("inf"), -2.0)
_UNDEFINED_INTS: tuple[float, ...] = (-2, 3)

_DOUBT = "%s, of numbers that are Python's on one path and NumPy's on another: use float(...) [DJ304]"


class Failures(Mixin):
    """Mixin of the interpreter: tests of what may fail, inside a `try`."""

    def guard_operation(self, kind: str, inputs: Sequence[Value], attrs: dict[str, Any]) -> None:
        """Called before an operation is added to the program."""
        self.forget_known(kind, inputs, attrs)
        if self.handlers and kind in ELEMENTWISE:
            attrs[TRIED] = True
        if self.handlers and kind in CHECKS and self.memo is not None and self.catches_any(LookupError, ValueError):
            getattr(self, CHECKS[kind])(kind, list(inputs), attrs)

    def catches_any(self, *exceptions: type) -> bool:
        """Whether some failure of these families would be caught here."""
        return any(
            issubclass(c, e) or issubclass(e, c) for _, kinds in self.handlers for c in kinds for e in exceptions
        )

    def demand(self, ok: Any, exception: type, message: Any) -> None:
        """Inside a `try` that catches `exception`: the current statement goes on only where `ok` holds."""
        if not (isinstance(ok, Static) and ok.obj) and self.catches(exception):
            self.guard(ok, exception, message)

    def wrong_type(self, value: Any) -> type[TypeError] | None:
        """What Python raises where a number, None, a slice or a function is used as a container, or as a function."""
        number = isinstance(value, Value) and isinstance(value.type, Scalar)
        if isinstance(value, Static):
            number = value.obj is None or av.is_number(value.obj) or isinstance(value.obj, _FUNCTIONS)
        return TypeError if number or isinstance(value, (av.Slice, av.Fn, av.Bound, av.Method)) else None

    def no_iterator(self, value: Any) -> Exception:
        """`next` of what is no iterator here; what is none in Python, either, raises a TypeError there."""
        error = self.unsupported("DJ118", "next() on this iterator", None, "use a for loop")
        error.python = None if self.class_has(self.class_of(value), "__next__") else TypeError
        return error

    # Python's numbers

    def check_zero_division(self, kind: str, left: Any, right: Any) -> None:
        """Division of Python numbers by zero."""
        if kind not in DIVIDING or not self.catches(ZeroDivisionError):
            return
        site = (self.call_path, self.place(), "division")
        if site in self.learned.doubts:
            self.refuse_if(self.compare_kind("equal", right, Static(0)), ZeroDivisionError, _DOUBT % "division by zero")
            return
        if not self.are_pythons(left, right, site):
            return
        examples = [self.example(v) for v in (left, right)]
        message = words(PYTHON_OPERATORS[kind], examples[0], examples[1] * 0)
        self.demand(self.compare_kind("not_equal", right, Static(0)), ZeroDivisionError, message)

    def are_pythons(self, left: Any, right: Any, site: Any = None) -> bool:
        """Whether both operands are Python's numbers, whose errors are exceptions."""
        kinds = [v for v in (left, right) if not isinstance(v, Value) or isinstance(v.type, Scalar)]
        answers = [self.ask(v, lambda cls: not issubclass(cls, np.generic), site) for v in kinds]
        return len(kinds) == 2 and all(answers)

    def check_power(self, kind: str, left: Any, right: Any, result: Any) -> None:
        """`**` of Python's floats: a result that is too large, and zero to a negative power."""
        if kind != "power" or self.is_int(result) or not self.catches_any(ArithmeticError):
            return
        site = (self.call_path, self.place(), "power")
        if site in self.learned.doubts:
            self.refuse_if(self.exceeds(result, left, right), OverflowError, _DOUBT % "an infinite power")
            return
        if not self.are_pythons(left, right, site):
            return
        zero = self.both(self.compare_kind("equal", left, Static(0)), self.compare_kind("less", right, Static(0)))
        message = words(pow, self.example(left) * 0, self.example(right) * 0 - 1)
        self.demand(self.logical_not(zero), ZeroDivisionError, message)
        self.demand(self.logical_not(self.exceeds(result, left, right)), OverflowError, words(pow, 1e300, 2.0))

    def exceeds(self, result: Any, *args: Any) -> Any:
        """An infinite result of finite numbers."""
        infinite: Any = self.ew("isinf", result)
        for arg in args:
            infinite = self.both(infinite, self.ew("isfinite", arg))
        return infinite

    def check_math(self, function: Any, kind: str, args: list[Any], given: list[Any], result: Any) -> None:
        """A function of `math`, by C's rule: NaN of numbers is a domain error, infinity of finite ones too large.

        `given` are the arguments before they were made floats.
        """
        if ROWS[kind].total or not (self.catches(ValueError) or self.catches(OverflowError)):
            return
        if all(isinstance(a, Static) for a in args):
            self.evaluated(function, *(a.obj for a in args))
            return
        invalid: Any = self.ew("isnan", result)
        for arg in args:
            invalid = self.both(invalid, self.logical_not(self.ew("isnan", arg)))
        infinite = self.exceeds(result, *args)
        pole: Any = infinite
        if kind in OVERFLOWING:
            pole = self.both(infinite, self.is_pole(kind, args[0]))
            if kind == "gamma":  # lgamma(-inf) is infinity
                invalid = self.either(invalid, self.is_pole(kind, args[0]))
        message = self.domain_error(function, args, given)
        self.demand(self.logical_not(self.either(invalid, pole)), ValueError, message)
        if kind in OVERFLOWING:
            self.demand(self.logical_not(infinite), OverflowError, "math range error")

    def domain_error(self, function: Any, args: list[Any], given: list[Any]) -> Any:
        """What `math` says of numbers that a function is not defined for; since Python 3.14 it shows a single one."""
        whole = self.class_of(given[0]) is int
        for example in _UNDEFINED_INTS if whole else _UNDEFINED:
            if said := words(function, *(example for _ in args)):
                before, shown, behind = said.partition(repr(float(example)))
                return av.Format((before, (args[0], ""), behind)) if shown and len(args) == 1 else said
        return "math domain error"

    def is_pole(self, kind: str, x: Any) -> Any:
        """Where a function that may overflow is infinite for another reason."""
        if kind == "power":
            return self.compare_kind("equal", x, Static(0.0))
        if kind not in ("gamma", "lgamma"):
            return Static(False)
        whole = self.compare_kind("equal", self.ew("floor", x), x)
        return self.both(whole, self.compare_kind("less_equal", x, Static(0.0)))

    def check_rounding(self, value: Any) -> None:
        """`int(x)` and its like: infinity and NaN are no integers."""
        if not self.handlers or (isinstance(value, Value) and value.type.dtype.kind != "f"):
            return
        if self.catches(OverflowError):
            finite = self.logical_not(self.ew("isinf", value))
            self.demand(finite, OverflowError, words(int, float("inf")))
        if self.catches(ValueError):
            self.demand(self.logical_not(self.ew("isnan", value)), ValueError, words(int, float("nan")))

    def check_fits(self, value: Value, dtype: np.dtype) -> None:
        """A Python int that becomes one of NumPy's of fewer numbers: `np.uint8(300)`, `few + 300`, `few[0] = -1`."""
        if dtype.kind not in "iu" or np.can_cast(np.int64, dtype) or not self.is_weak_int(value):
            return
        if self.catches(OverflowError):
            bounds = np.iinfo(dtype)
            inside: Any = self.compare_kind("greater_equal", value, Static(int(bounds.min)))
            if dtype.itemsize < value.type.dtype.itemsize:
                inside = self.both(inside, self.compare_kind("less_equal", value, Static(int(bounds.max))))
            told = ("Python integer ", (value, ""), f" out of bounds for {dtype.name}")
            self.demand(inside, OverflowError, av.Format(told))

    def check_long(self, value: Value) -> None:
        """A float that is stored among ints, by way of Python's int: one of more than 64 bits does not fit."""
        if value.type.dtype.kind == "f" and self.catches(OverflowError):
            # NaN and infinities fail otherwise, or become some int.
            fits = self.both(
                self.compare_kind("greater_equal", value, Static(-(2.0**63))),
                self.compare_kind("less", value, Static(2.0**63)),
            )
            inside = self.either(fits, self.logical_not(self.ew("isfinite", value)))
            self.demand(inside, OverflowError, "Python int too large to convert to C long")

    def is_weak_int(self, value: Value) -> bool:
        """Whether a number is Python's own int."""
        ty = value.type
        return isinstance(ty, Scalar) and ty.weak and ty.dtype.kind == "i"

    def example(self, value: Any) -> Any:
        """A number of the type of a Python number."""
        return self.class_of(value)(1)

    def check_shift(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        """`<<` and `>>` of Python's ints."""
        del kind, attrs
        count = inputs[1]
        if self.is_weak(count) and self.sign(count) != "+":
            self.demand(self.compare_kind("greater_equal", count, Static(0)), ValueError, "negative shift count")

    # Shapes

    def lengths(self, array: Value) -> list[Any]:
        """The lengths of an array."""
        return [self.dim(array, k) for k in range(array.type.ndim)] if isinstance(array.type, Array) else []

    def folded(self, number: Value) -> Any:
        """A constant of the program as the object that it is."""
        return Static(const_of(number)) if is_const(number) else number

    def same(self, first: Any, second: Any) -> Any:
        """Whether two lengths agree."""
        if first is second:
            return Static(True)
        known = [v for v in (first, second) if isinstance(v, Value) and v.op is not None and v.op.kind == "dim"]
        if len(known) == 2:
            symbols = [v.op.inputs[0].type.dims[v.op.attrs["axis"]] for v in known]  # pyright: ignore[reportOptionalMemberAccess]
            if symbols[0] == symbols[1]:
                return Static(True)
        return self.compare_kind("equal", first, second)

    def product(self, numbers: Sequence[Any]) -> Any:
        """The product of lengths."""
        total: Any = Static(1)
        for n in numbers:
            total = n if isinstance(total, Static) and total.obj == 1 else self.ew("multiply", total, n)
        return total

    def shape_text(self, lengths: Sequence[Any]) -> tuple[Any, ...]:
        """A shape as NumPy writes it, in pieces of text."""
        out: list[Any] = ["("]
        for k, n in enumerate(lengths):
            out += [","] if k else []
            out.append((n, ""))
        return (*out, ",)" if len(lengths) == 1 else ")")

    def check_reshape(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind, attrs
        array, *sizes = inputs[0], *map(self.folded, inputs[1:])
        old, new = self.product(self.lengths(array)), self.product(sizes)
        for n in sizes:
            if not isinstance(n, Static) and self.sign(n) != "+":
                message = "a reshape to a length that is computed and turns out negative: write -1"
                self.refuse_if(self.compare_kind("less", n, Static(0)), NotImplementedError, message)
        parts = ("cannot reshape array of size ", (old, ""), " into shape ", *self.shape_text(sizes))
        self.demand(self.same(old, new), ValueError, av.Format(parts))

    def check_matmul(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del attrs
        a, b = (self.lengths(v) for v in inputs)
        ok = self.same(a[-1], b[-2] if len(b) > 1 else b[0])
        self.demand(ok, ValueError, av.inexact(f"{kind}: the inner lengths differ"))

    def check_concatenate(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind
        first, *others = (self.lengths(v) for v in inputs)
        message = av.inexact("all the input array dimensions except for the concatenation axis must match exactly")
        for other in others:
            for k, (n, m) in enumerate(zip(first, other, strict=False)):
                if k != attrs["axis"]:
                    self.demand(self.same(n, m), ValueError, message)

    def check_extreme(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        lengths = self.lengths(inputs[0])
        if "arg" in kind:
            axes = range(len(lengths)) if attrs["axis"] is None else (attrs["axis"],)
            message = f"attempt to get {kind} of an empty sequence"
        else:
            axes = attrs["axes"]
            message = f"zero-size array to reduction operation {kind}imum which has no identity"
        reduced = self.product([lengths[k] for k in axes])
        result = self.product([n for k, n in enumerate(lengths) if k not in axes])
        ok = self.either(
            self.compare_kind("not_equal", reduced, Static(0)), self.compare_kind("equal", result, Static(0))
        )
        self.demand(ok, ValueError, message)

    def check_gather(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind
        base, *indices = inputs
        if not self.catches(IndexError):
            return
        self.guard_broadcast(indices, IndexError)
        axes = [k for k, s in enumerate(attrs["spec"]) if s != ":"]
        for axis, index in zip(axes, indices, strict=True):
            length = self.dim(base, axis)
            inside = self.ew("less", index, length)
            if index.type.dtype.kind == "i":
                inside = self.ew("logical_and", inside, self.ew("greater_equal", index, self.ew("negative", length)))
            ok, wrong = inside, index
            if isinstance(index.type, Array):
                ok = self.reduce("all", inside)
                wrong = self.call_fn(self.fn_of(selecting.first_beyond), [ok, index, inside], {}, None)
                wrong = wrong.value if isinstance(wrong, av.Opt) else wrong
            parts = ("index ", (wrong, ""), f" is out of bounds for axis {axis} with size ", (length, ""))
            self.demand(ok, IndexError, av.Format(parts))

    def check_scatter(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        base, _, *indices = inputs
        self.check_gather(kind, [base, *indices], attrs)

    def check_mask(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind, attrs
        message = av.inexact("boolean index did not match indexed array")
        for n, m in zip(self.lengths(inputs[0]), self.lengths(inputs[1]), strict=False):
            self.demand(self.same(n, m), IndexError, message)

    def check_mask_set(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        self.check_mask(kind, inputs, attrs)
        values = self.product(self.lengths(inputs[2])[:1])
        if isinstance(inputs[2].type, Array) and self.catches(ValueError):
            places = self.as_weak(self.reduce("sum", inputs[1]))
            ok = self.either(self.compare_kind("equal", values, Static(1)), self.compare_kind("equal", values, places))
            self.demand(ok, ValueError, av.inexact("NumPy boolean array indexing assignment cannot assign the values"))

    def check_assign(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind, attrs
        target, source = (self.lengths(v) for v in inputs)
        self.demand_fit(source, target, "could not broadcast input array from shape ", " into shape ")

    def check_broadcast_to(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind, attrs
        source, *target = inputs[0], *map(self.folded, inputs[1:])
        words = "operands could not be broadcast together with remapped shapes [original->remapped]: "
        self.demand_fit(self.lengths(source), target, words, "  and requested shape ")

    def demand_fit(self, source: list[Any], target: list[Any], before: str, between: str) -> None:
        """A shape broadcasts to another one."""
        ok: Any = Static(True)
        for n, m in zip(reversed(source), reversed(target), strict=False):
            fits = self.same(n, m)
            if not isinstance(fits, Static):
                fits = self.either(fits, self.compare_kind("equal", n, Static(1)))
            elif not fits.obj:
                fits = self.compare_kind("equal", n, Static(1))
            ok = self.both(ok, fits)
        message = av.Format((before, *self.shape_text(source), between, *self.shape_text(target)))
        self.demand(ok, ValueError, message)

    def check_square(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del attrs
        lengths = self.lengths(inputs[0])
        message = "Last 2 dimensions of the array must be square"
        self.demand(self.same(*lengths[-2:]), np.linalg.LinAlgError, message)
        if kind == "solve":
            b = self.lengths(inputs[1])
            ok = self.same(lengths[-1], b[-2] if len(b) > 1 else b[0])
            self.demand(ok, ValueError, av.inexact("solve: Input operand 1 has a mismatch in its core dimension 0"))

    def check_lengths(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        del kind, attrs
        for n in map(self.folded, inputs):
            if self.sign(n) != "+":
                ok = self.compare_kind("greater_equal", n, Static(0))
                self.demand(ok, ValueError, "negative dimensions are not allowed")

    def check_full(self, kind: str, inputs: list[Value], attrs: dict[str, Any]) -> None:
        self.check_lengths(kind, inputs[1:], attrs)
