"""What a class inherits from `np.ndarray`: an object with attributes, and an array that these methods reach.

NumPy makes what is computed from such an object one of its class again, in one of three ways: views, copies and most of
its methods are made like it (`like`), ufuncs, reductions and functions of linear algebra call `__array_wrap__`
(`wrapped`), and functions that begin with `np.asarray` make a plain array. Which does what is in the tables below.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportAttributeAccessIssue=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.subclasses.held import METHODS, name_of
from diffjit.primitives.registry import constant

VALUES = "held_values"  # where the array is kept among the attributes of an object

# Methods that give an object of the class, also of one number
_VIEWS = (
    "astype", "copy", "flatten", "ravel", "reshape", "squeeze", "swapaxes", "transpose", "take", "repeat", "diagonal",
    "compress", "argsort",
)  # fmt: skip
_REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "cumsum", "cumprod", "clip", "mean", "std", "var")
_PLACES = ("argmax", "argmin", "trace", "dot")  # a number of all, else an object
_KNOWN = ("size", "ndim", "itemsize", "nbytes", "flags")  # attributes that are the array's
_PLAIN = ("item", "nonzero", "searchsorted", "tobytes", "tolist")

_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod,
}  # fmt: skip
_COMPARED = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}

_CALLED = {  # functions that call the method of their name
    **METHODS, np.cumprod: "cumprod", np.argmax: "argmax", np.argmin: "argmin", np.argsort: "argsort",
    np.squeeze: "squeeze", np.swapaxes: "swapaxes", np.take: "take", np.repeat: "repeat", np.diagonal: "diagonal",
    np.trace: "trace", np.ravel: "ravel", np.nonzero: "nonzero", np.searchsorted: "searchsorted",
}  # fmt: skip
_LIKE = {  # what gives objects of the class, or several
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.flip, np.flipud, np.fliplr, np.rot90, np.roll, np.tile, np.moveaxis,
    np.rollaxis, np.expand_dims, np.diagflat, np.diff, np.ediff1d, np.gradient, np.sort, np.real, np.imag,
    np.angle, np.isclose, np.nan_to_num, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.median,
    np.average, np.nansum, np.nanmean, np.nanmax, np.nanmin, np.insert, np.delete, np.kron,
    np.split, np.array_split, np.take_along_axis,
    np.linalg.inv, np.linalg.pinv, np.linalg.cholesky, np.linalg.qr, np.linalg.matrix_power,
}  # fmt: skip
_ARRAYS = {  # ... and what gives plain ones, or numbers
    np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.append, np.pad, np.resize,
    np.copy, np.where, np.select, np.broadcast_to, np.tril, np.triu, np.cross, np.outer, np.einsum, np.tensordot,
    np.convolve, np.interp, np.vander, np.polyfit, np.cov, np.corrcoef, np.unwrap, np.sinc,
    np.histogram, np.bincount, np.digitize, np.lexsort,
    np.shape, np.size, np.ndim, np.allclose, np.array_equal, np.count_nonzero, np.argwhere, np.flatnonzero,
    np.linalg.det, np.linalg.slogdet, np.linalg.norm, np.linalg.eigvals, np.linalg.eigvalsh, np.linalg.cond,
    np.linalg.matrix_rank, np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.fft2, np.fft.ifft2,
}  # fmt: skip
_NUMBERS = {np.dot, np.inner, np.vdot}  # a number where it is one, else an object
_VECTORS = {np.linalg.eig, np.linalg.eigh, np.linalg.svd}  # arrays of values beside objects of vectors


def kind_of(function):
    """What a function of NumPy makes of objects of classes of arrays."""
    if function in _CALLED:
        return "method"
    kinds = (
        ("like", _LIKE), ("array", _ARRAYS), ("number", _NUMBERS), ("vectors", _VECTORS),
        ("of the last", {np.linalg.solve}), ("diagonal", {np.diag}),
    )  # fmt: skip
    return next((kind for kind, functions in kinds if function in functions), "")


def method_of(function):
    """The method that a function calls."""
    return _CALLED[function]


def is_asked(cls, name):
    """Whether a class has another method of a name than NumPy's arrays."""
    return getattr(cls, name, None) is not getattr(np.ndarray, name)


def wraps_by(cls):
    """How many arguments a class's own `__array_wrap__` takes."""
    code = cls.__array_wrap__.__code__
    return 3 if code.co_flags & 4 else code.co_argcount - 1


def is_array_class(asked):
    """Whether an array is to be seen as an object of a class, not with another dtype."""
    return isinstance(asked, type) and issubclass(asked, np.ndarray)


constant(kind_of, method_of, is_asked, wraps_by, is_array_class)


# Known to the interpreter alone


def is_own(value):
    """Whether a value is an object of a class of arrays."""
    raise AssertionError(value)


def values_of(value):
    """The array of an object of a class of arrays; anything else is itself."""
    raise AssertionError(value)


def showing(cls, values):
    """A new object of a class of arrays that shows an array, which nobody has finished."""
    raise AssertionError(cls, values)


def is_left_to(owner, other):
    """Whether an operator of arrays leaves its second operand, no array, to say what it means."""
    raise AssertionError(owner, other)


# How objects are made


def plain(value):
    """The array of an object, also of those in lists and tuples; anything else is itself."""
    if is_own(value):
        return values_of(value)
    if isinstance(value, tuple):
        return tuple([plain(v) for v in value])
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def seen(cls, source):
    """`source.view(cls)`: an object that shows the memory of an array, or of another object."""
    made = showing(cls, values_of(source))
    made.__array_finalize__(source)
    return made


def new(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """`np.ndarray.__new__(cls, shape, ...)`: memory of its own, or all that a buffer has."""
    if buffer is None:
        values = np.empty(shape, dtype, "C" if order is None else order)
    else:
        values = on_memory(values_of(buffer), shape, np.dtype(dtype))
        if offset != 0 or strides is not None or (order is not None and order != "C"):
            raise NotImplementedError("a part of a buffer, or in another order: reshape and slice the array itself")
    made = showing(cls, values)
    made.__array_finalize__(None)
    return made


def on_memory(buffer, shape, dtype):
    """An array of a shape on the memory of another one."""
    if not isinstance(buffer, np.ndarray) or buffer.dtype != dtype:
        raise NotImplementedError("np.ndarray on memory that is no array of its dtype: np.asarray(a, dtype) first")
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    if np.prod(lengths) > buffer.size:
        raise TypeError("buffer is too small for requested array")
    if not buffer.flags.c_contiguous:
        raise ValueError("ndarray is not C-contiguous")
    if np.prod(lengths) < buffer.size:
        raise NotImplementedError("np.ndarray on a part of a buffer: slice the array itself")
    return buffer.reshape(shape)


def like(owner, values):
    """An object of the class of another one, which its class finishes."""
    made = showing(type(owner), np.asarray(values))
    made.__array_finalize__(owner)
    return made


def wrapped(owner, values, context=None):
    """What NumPy makes of an array that it computed from an object."""
    values = np.asarray(values)
    if not is_asked(type(owner), "__array_wrap__"):
        return like(owner, values)
    given = (values, context, values.ndim == 0)
    return owner.__array_wrap__(*given[: wraps_by(type(owner))])


def leader(values):
    """Of several objects, the one whose class decides: the first of the highest priority."""
    best = None
    for value in values:
        if is_own(value) and (best is None or value.__array_priority__ > best.__array_priority__):
            best = value
    return best


def is_whole(key):
    """Whether an index has an Ellipsis, which keeps what it finds an array."""
    return key is Ellipsis or (isinstance(key, tuple) and any(k is Ellipsis for k in key))


def refuse_out(name, given):
    """An array for the result is not taken by methods, nor another class than theirs."""
    if "subok" in given:
        raise NotImplementedError(f"subok= of `{name}` of an object of a class of arrays: np.asarray(...) of it")
    if given.get("out") is not None:
        raise NotImplementedError(f"out= of `{name}` of an object of a class of arrays: assign to its elements")


def refuse_asked(owner, name):
    """Reductions ask a class's own `__array_ufunc__`, in another way than calls of ufuncs do."""
    if is_asked(type(owner), "__array_ufunc__"):
        raise NotImplementedError(f"`{name}` of a class of arrays with an `__array_ufunc__` of its own: "
                                  "take np.asarray(...) of it first")  # fmt: skip


def _view(name):
    def method(self, *args, **kwargs):
        refuse_out(name, kwargs)
        return like(self, getattr(values_of(self), name)(*args, **kwargs))

    return method


def _reduction(name):
    def method(self, *args, **kwargs):
        refuse_out(name, kwargs)
        refuse_asked(self, name)
        return wrapped(self, getattr(values_of(self), name)(*[plain(a) for a in args], **kwargs))

    return method


def _place(name):
    def method(self, *args, **kwargs):
        refuse_out(name, kwargs)
        found = getattr(values_of(self), name)(*[plain(a) for a in args], **kwargs)
        return like(self, found) if np.ndim(found) > 0 else found

    return method


def _plain(name):
    def method(self, *args, **kwargs):
        return getattr(values_of(self), name)(*[plain(a) for a in args], **kwargs)

    return method


def _attribute(name):
    def read(self):
        return getattr(values_of(self), name)

    return property(read)


def _operator(ufunc):
    def method(self, other):
        return NotImplemented if is_left_to(self, other) else ufunc(self, other)

    return method


def _reflected(ufunc):
    def method(self, other):
        return ufunc(other, self)

    return method


def _in_place(ufunc):
    def method(self, other):
        if is_left_to(self, other):
            return NotImplemented
        if is_asked(type(self), "__array_ufunc__"):
            return ufunc(self, other, out=(self,))
        ufunc(values_of(self), values_of(other), out=values_of(self))
        return self

    return method


def _unary(ufunc):
    def method(self):
        return ufunc(self)

    return method


class Inherited:
    """The methods of `np.ndarray`."""

    @property
    def __array_priority__(self):
        return 0.0

    def __init__(self, *args, **kwargs):
        pass  # all has been done

    def __array_finalize__(self, obj):
        pass

    def __array__(self, dtype=None, copy=None):
        return values_of(self) if dtype is None else values_of(self).astype(dtype)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return array if type(array) is type(self) else like(self, values_of(array))

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        if method == "at":
            ufunc.at(*[values_of(x) for x in inputs])
            return None
        if out is not None:
            given = out if isinstance(out, tuple) else (out,)
            if len(given) != 1 or method != "__call__":
                raise NotImplementedError("several arrays for the results of a ufunc: assign to their elements")
            ufunc(*[values_of(x) for x in inputs], out=values_of(given[0]), **kwargs)
            return given[0]
        found = getattr(ufunc, method)(*[values_of(x) for x in inputs], **kwargs)
        first = leader(inputs)
        if isinstance(found, tuple):
            return tuple([wrapped(first, v, (ufunc, inputs, k)) for k, v in enumerate(found)])
        return wrapped(first, found, (ufunc, inputs, 0))

    def __array_function__(self, func, types, args, kwargs):
        kind = kind_of(func)
        if kind == "method" and is_own(args[0]):
            return getattr(args[0], method_of(func))(*args[1:], **kwargs)
        if func is np.searchsorted:
            return np.searchsorted(*[plain(x) for x in args], **kwargs)
        if kind in ("", "method"):
            raise NotImplementedError(f"`{name_of(func)}` of an object of class {type(self).__name__}, "
                                      "a class of arrays: take np.asarray(...) of it first")  # fmt: skip
        found = func(*[plain(x) for x in args], **{name: plain(x) for name, x in kwargs.items()})
        first = leader(args)
        if kind == "diagonal":
            kind = "like" if args[0].ndim == 2 else "array"
        if (
            kind == "array"
            or kwargs.get("subok") is False
            or (kind == "of the last" and not is_own(args[1]))
            or first is None
        ):
            return found
        if kind == "of the last":
            return wrapped(args[1], found)
        if kind == "number":
            return like(first, found) if np.ndim(found) > 0 else found
        if kind == "like":
            if isinstance(found, np.ndarray) or not isinstance(found, (tuple, list)):
                return wrapped(first, found)
            made = [wrapped(first, v) for v in found]
            return type(found)(*made) if hasattr(found, "_fields") else type(found)(made)
        if not isinstance(found, tuple):
            return found
        if len(found) == 2:
            return type(found)(found[0], wrapped(first, found[1]))
        return type(found)(wrapped(first, found[0]), found[1], wrapped(first, found[2]))

    # What it is.

    @property
    def shape(self):
        """Its lengths."""
        return values_of(self).shape

    @shape.setter
    def shape(self, shape):
        raise NotImplementedError("`shape = ...` of an object of a class of arrays: make another one by reshape")

    @property
    def dtype(self):
        """Of the array."""
        return values_of(self).dtype

    @dtype.setter
    def dtype(self, dtype):
        raise NotImplementedError("`dtype = ...` of an object of a class of arrays: make another one by astype")

    @property
    def flat(self):
        """The elements one after another."""
        return values_of(self).flat

    @flat.setter
    def flat(self, value):
        values_of(self).flat[...] = plain(value)

    @property
    def T(self):  # noqa: N802 - NumPy's name
        """Axes in the other order."""
        return like(self, values_of(self).T)

    @property
    def real(self):
        """Real parts."""
        return like(self, values_of(self).real) if np.iscomplexobj(values_of(self)) else self

    @real.setter
    def real(self, value):
        values_of(self).real[...] = plain(value)

    @property
    def imag(self):
        """Imaginary parts."""
        return like(self, values_of(self).imag)

    @imag.setter
    def imag(self, value):
        values_of(self).imag[...] = plain(value)

    def conj(self):
        """Complex conjugates."""
        return like(self, np.conj(values_of(self))) if np.iscomplexobj(values_of(self)) else self

    def conjugate(self):
        """Complex conjugates."""
        return self.conj()

    def view(self, dtype=None, type=None):  # noqa: A002 - NumPy's name
        """Another object that shows the same memory."""
        asked = dtype if type is None else type
        if asked is None:
            return like(self, values_of(self))
        if asked is np.ndarray:
            return values_of(self)
        if is_array_class(asked):
            return seen(asked, self)
        return like(self, values_of(self).view(asked))

    def round(self, decimals=0, out=None):
        """Rounded to whole numbers."""
        if out is not None or decimals != 0:
            raise NotImplementedError("`round` of an object of a class of arrays: take np.asarray(...) of it first")
        return wrapped(self, np.round(values_of(self)))

    def fill(self, value):
        """Set all elements."""
        values_of(self).fill(plain(value))

    def sort(self, *args, **kwargs):
        """Sort in place."""
        values_of(self).sort(*args, **kwargs)

    def __copy__(self):
        return like(self, values_of(self).copy())

    def __deepcopy__(self, memo=None):
        return like(self, values_of(self).copy())

    # Elements.

    def __len__(self):
        return len(values_of(self))

    def __iter__(self):
        if values_of(self).ndim == 1 and not is_asked(type(self), "__getitem__"):
            return iter(values_of(self))
        return iter([self[k] for k in range(len(values_of(self)))])

    def __contains__(self, item):
        return plain(item) in values_of(self)

    def __getitem__(self, key):
        found = values_of(self)[plain(key)]
        return like(self, found) if np.ndim(found) > 0 or is_whole(key) else found

    def __setitem__(self, key, value):
        values_of(self)[plain(key)] = plain(value)

    def __float__(self):
        return float(values_of(self))

    def __int__(self):
        return int(values_of(self))

    def __complex__(self):
        return complex(values_of(self))

    def __bool__(self):
        return bool(values_of(self))

    def __str__(self):
        return str(values_of(self))

    def __format__(self, spec):
        return format(values_of(self).item() if values_of(self).ndim == 0 else values_of(self), spec)

    def __index__(self):
        return values_of(self).item()

    def __hash__(self):
        raise TypeError(f"unhashable type: '{type(self).__name__}'")


for _name in _KNOWN:
    setattr(Inherited, _name, _attribute(_name))
for _name in _VIEWS:
    setattr(Inherited, _name, _view(_name))
for _name in _REDUCTIONS:
    setattr(Inherited, _name, _reduction(_name))
for _name in _PLACES:
    setattr(Inherited, _name, _place(_name))
for _name in _PLAIN:
    setattr(Inherited, _name, _plain(_name))
for _name, _ufunc in _BINARY.items():
    setattr(Inherited, f"__{_name}__", _operator(_ufunc))
    setattr(Inherited, f"__r{_name}__", _reflected(_ufunc))
    setattr(Inherited, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in _COMPARED.items():
    setattr(Inherited, f"__{_name}__", _operator(_ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(Inherited, f"__{_name}__", _unary(_ufunc))
