"""Trees of arguments and results: tuples, lists, dicts, named tuples (by optree), dataclasses and plain objects.

`flatten` splits a value into numeric leaves and a hashable structure; `Structure.unflatten` puts leaves back.
"""

from __future__ import annotations

import array
import copy
import dataclasses
import enum
import functools
import os
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from diffjit import streams
from diffjit.dataclass import dataclass
from diffjit.labels import Constant, Labels, Numbering
from diffjit.stored import is_class_of_arrays, stored

NO_THREADS = 1 << 16  # more axes than any nest has
_COUNTS = 8  # an int of at least so much may be meant as an array's length
_MANY = 1024  # so many elements of arguments that loops over pairs of them may pay threads
_LARGE = 1 << 15  # so many that loops over them may


@dataclass(frozen=True, slots=True)
class Leaf:
    """Place of a numeric leaf; `key` is what a specialisation depends on."""

    key: Any


@dataclass(frozen=True, slots=True)
class Fixed:
    """Something static, by what a program can tell of it (`static_key`)."""

    value: Any
    key: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, slots=True)
class Record:
    """An instance of a dataclass or of a user's class, by its attributes."""

    cls: type
    names: tuple[str, ...]
    inner: Structure


@dataclass(frozen=True, slots=True)
class Structure:
    """A tree without its numeric leaves."""

    spec: Any  # an optree treespec; None for one number or array
    slots: tuple[Leaf | Fixed | Record, ...]
    keys: tuple[Any, ...] = ()  # of the dicts, as they stand there: optree tells neither their order nor 1 from True

    def unflatten(self, leaves: Any) -> Any:
        """The tree with these leaves (an iterator)."""
        if self.spec is None:
            return next(leaves)
        import optree

        if len(self.slots) == 1 and self.spec.is_leaf():
            return _fill(self.slots[0], leaves)
        return optree.tree_unflatten(self.spec, [_fill(s, leaves) for s in self.slots])

    def is_leaf(self) -> bool:
        """Whether the tree is one number or array."""
        return self.spec is None

    def count(self) -> int:
        """The number of numeric leaves."""
        return sum(1 if isinstance(s, Leaf) else s.inner.count() if isinstance(s, Record) else 0 for s in self.slots)


def _fill(slot: Leaf | Fixed | Record, leaves: Any) -> Any:
    if isinstance(slot, Leaf):
        return next(leaves)
    if isinstance(slot, Fixed):
        return slot.value
    known = stored(slot.cls)
    if known is not None and known.labelled and known.make is not None:
        return known.make(slot.cls, dict(zip(slot.names, slot.inner.unflatten(leaves), strict=True)))
    return make_object(parts_class(slot.cls), dict(zip(slot.names, slot.inner.unflatten(leaves), strict=True)))


def make_object(cls: type, fields: dict[str, Any]) -> Any:
    """An instance with these attributes, made without running __init__."""
    obj = _maker(cls)(cls)
    for name, value in fields.items():
        set_attribute(obj, name, value)
    return obj


def plain_object(cls: type, fields: dict[str, Any]) -> Any:
    """An object with these attributes, whatever the class: one of arrays shows an array, and has others of its own."""
    return make_object(_shadow(cls) if is_class_of_arrays(cls) else cls, fields)


@functools.cache
def _shadow(cls: type) -> type:
    return type(cls.__name__, (), {"stands_for": cls})


@functools.cache
def _maker(cls: type) -> Callable[[type], Any]:
    """What makes a blank instance: `object.__new__`, or that of a class of Python's own that it derives from."""
    makers = (getattr(c, "__new__") for c in cls.__mro__ if "__new__" in vars(c))  # noqa: B009
    return next(made for made in makers if not is_function(made))


class Parts:
    """What belongs to each part of an object of SciPy's, as attributes: tangents, cotangents."""

    def __repr__(self) -> str:
        return f"Parts({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def parts_class(cls: type) -> type:
    """The class of what has a derivative for each part of an object: SciPy's own would take it for an object's."""
    known = stored(cls)
    return cls if known is None or known.labelled else Parts


def is_numeric(value: Any) -> bool:
    """A number or numeric array, not a flag, nor what is more than its number: a member of an enum, a span of time."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufc" and (type(value) is np.ndarray or stored(type(value)) is None)
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, _MORE)


_MORE = (bool, enum.Enum, np.timedelta64)


def is_of_others(value: Any) -> bool:
    """An array of texts, dates or objects, which Python computes with while a program is specialised."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "OUSMm"


_OPERATORS = frozenset(
    f"__{side}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "abs", "lt", "le", "gt", "ge", "eq")
    for side in ("", "r")
)


@functools.cache
def has_own_operators(cls: type) -> bool:
    """Whether a class of numbers says itself what arithmetic does."""
    return any(is_function(vars(c).get(name)) for c in cls.__mro__ for name in _OPERATORS)


_LIBRARIES = frozenset(
    {"builtins", "numpy", "functools", "numba", "jax", "jaxlib", "scipy", "types", "_thread", "ctypes", "_ctypes"}
)


def is_function(value: Any) -> TypeGuard[types.FunctionType]:
    """Whether a function with source: by its type, as a proxy says that it is of the class of what it wraps."""
    return type(value) is types.FunctionType


def stands_for_another(value: Any) -> bool:
    """Whether a callable does what the function does that it says it wraps; a wrapper of the user's may do more."""
    return type(value).__module__.split(".")[0] in _LIBRARIES and callable(value) and hasattr(value, "__wrapped__")


def is_built_inside(value: Any) -> bool:
    """Whether diffjit says how a call is built inside a program: its verbs, and what they make.

    A wrapper of the user's (`functools.wraps`) has their attributes, too, and is what it says.
    """
    name = "__diffjit_inline__"
    if is_function(value):
        return name in vars(value) and value.__globals__["__name__"].startswith(f"{__package__}.")
    if isinstance(value, type):  # one that says so of itself, not of its instances
        return isinstance(vars(value).get(name), staticmethod)
    return hasattr(type(value), name)


def asked(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that methods and functions have, of any object: a user's `__getattr__` is not called."""
    cls = type(value)
    if is_function(getattr(cls, "__getattr__", None)) or reads_itself(cls):
        return default
    return getattr(value, name, default)


def is_of_numba(value: Any) -> bool:
    """Whether a function that Numba compiled, not a wrapper to which `py_func` was copied."""
    return type(value).__module__.split(".")[0] == "numba" and hasattr(value, "py_func")


def package_of(cls: type) -> str:
    """The package that a class is from; none for namespaces, which hold what the user gives them."""
    return "" if cls is types.SimpleNamespace else cls.__module__.split(".")[0]


def is_record(value: Any) -> bool:
    """A dataclass instance, or an instance of a user's class with attributes."""
    if isinstance(value, (type, Labels, Constant)):
        return False
    if dataclasses.is_dataclass(value):
        return True
    if stored(type(value)) is not None:
        return True
    module = package_of(type(value))
    if module in _LIBRARIES or module.startswith("_cython"):
        return False
    if is_function(value):
        return False
    if not hasattr(value, "__dict__"):
        return bool(slots(type(value)))
    return (
        not isinstance(value, (types.ModuleType, types.MethodType, BaseException))
        and not is_built_inside(value)
        and not hasattr(type(value), "_member_map_")
    )


def is_plain_record(value: Any) -> bool:
    """Whether it is a record, as are all objects of its class, whose attributes are all in its `__dict__`.

    Classes that a function makes are none: who remembers one keeps alive what their methods have closed over.
    """
    cls = type(value)
    if "<locals>" in cls.__qualname__:
        return False
    whole = not (all_slots(cls) or reads_itself(cls) or is_built_inside(value)) and stored(cls) is None
    return whole and hasattr(value, "__dict__") and is_record(value)


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of a record."""
    known = stored(type(value))
    if known is not None:
        return known.read(value)
    found = {name: getattr(value, name) for name in all_slots(type(value)) if hasattr(value, name)}
    own = object.__getattribute__(value, "__dict__") if reads_itself(type(value)) else getattr(value, "__dict__", {})
    return found | own


def attribute(value: Any, name: str) -> Any:
    """One attribute of a record."""
    known = stored(type(value))
    if known is not None:
        return known.read(value)[name]
    if reads_itself(type(value)):
        return object.__getattribute__(value, name)
    own = getattr(value, "__dict__", {})  # first: descriptors of its class may answer for an attribute
    return own[name] if name in own else getattr(value, name)


def set_attribute(value: Any, name: str, new: Any) -> None:
    """Set one attribute of a record, whatever its class does instead."""
    if name in all_slots(type(value)) or not hasattr(value, "__dict__"):
        object.__setattr__(value, name, new)
    else:
        vars(value)[name] = new


def reads_itself(cls: type) -> bool:
    """Whether a user's class says itself what its attributes are; a proxy answers for what it wraps."""
    return is_function(cls.__getattribute__)


def slots(cls: type) -> tuple[str, ...]:
    """The slots of a user's class: its instances change, which those of Python's library do not."""
    return () if cls.__module__.split(".")[0] in sys.stdlib_module_names else all_slots(cls)


@functools.cache
def all_slots(cls: type) -> tuple[str, ...]:
    """The slots of a class, also of Python's library (`statistics.NormalDist`)."""
    if cls.__module__.split(".")[0] == "diffjit":
        return ()
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        own = vars(base).get("__slots__", ())
        given = (own,) if isinstance(own, str) else tuple(own)
        for name in given:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{base.__name__.lstrip('_')}{name}"  # noqa: PLW2901 - as Python names what is private
            if name not in ("__dict__", "__weakref__"):
                names[name] = None
    return tuple(names)


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Numeric leaves and structure of a tree."""
    if is_numeric(tree):
        return [tree], Structure(None, (Leaf(leaf_key(tree)),))
    import optree  # plain numbers and arrays do without

    items, spec = optree.tree_flatten(tree, none_is_leaf=True)
    leaves: list[Any] = []
    slots: list[Any] = []
    for item in items:
        if is_numeric(item) or streams.is_stream(item):
            leaves.append(item)
            slots.append(Leaf(leaf_key(item)))
        elif is_record(item):
            fields = attributes(item)
            more, inner = flatten(tuple(fields.values()))
            leaves += more
            slots.append(Record(type(item), tuple(fields), inner))
        else:
            slots.append(Fixed(item, static_key(item)))
    return leaves, Structure(spec, tuple(slots), tuple(_dict_keys(tree)))


def labels_of(structures: Iterable[Structure]) -> Iterator[Labels]:
    """The labels of arrays in the structures of arguments, in their order."""
    for structure in structures:
        for slot in structure.slots:
            if isinstance(slot, Record):
                yield from labels_of((slot.inner,))
            elif isinstance(slot, Fixed) and isinstance(slot.value, Labels):
                yield slot.value


def with_numbers(structure: Structure, number: Numbering) -> Structure:
    """The structure with numbered labels."""
    slots: list[Any] = []
    for slot in structure.slots:
        if isinstance(slot, Record):
            slots.append(Record(slot.cls, slot.names, with_numbers(slot.inner, number)))
        elif isinstance(slot, Fixed) and isinstance(slot.value, Labels):
            slots.append(Fixed(number(slot.value), slot.key))
        else:
            slots.append(slot)
    return Structure(structure.spec, tuple(slots), structure.keys)


def numbering(*args: Any) -> Numbering:
    """Numbers the labels of arguments as those of a call are."""
    return Numbering(tuple(labels_of(flatten(a)[1] for a in args)))


_CONTAINERS = (dict, list, tuple, set, frozenset, deque)


def apart(value: Any, given: Any) -> Any:
    """The value with arrays and containers of its own: nothing that is changed in it changes what was given."""
    leaves, structure = flatten(value)
    if not any(isinstance(leaf, np.ndarray) for leaf in leaves) and structure.is_leaf():
        return value
    records = (slot.cls for slot in structure.slots if isinstance(slot, Record))
    if any(issubclass(cls, _CONTAINERS) or parts_class(cls) is not cls for cls in records):
        return copy.deepcopy(value)  # a Counter, say, which holds what is no attribute, or SciPy's
    taken = [leaf for leaf in flatten(given)[0] if isinstance(leaf, np.ndarray)]
    made: list[Any] = []
    for leaf in leaves:
        shared = isinstance(leaf, np.ndarray) and any(np.may_share_memory(leaf, other) for other in taken)
        made.append(leaf.copy(order="K") if shared else leaf)
        taken += [leaf] if isinstance(leaf, np.ndarray) else []
    return structure.unflatten(iter(made))


def _dict_keys(tree: Any) -> Iterator[Any]:
    """The keys of all dicts in a tree, in the order in which a program finds them."""
    if isinstance(tree, (tuple, list)):
        for item in tree:
            if isinstance(item, (tuple, list, dict)):
                yield from _dict_keys(item)
    elif isinstance(tree, dict):
        yield tuple([(k if type(k) is str else static_key(k)) for k in tree])
        for key, item in tree.items():
            if isinstance(item, (tuple, list, dict)):
                yield (key if type(key) is str else static_key(key)), tuple(_dict_keys(item))


SMALL = 4  # the longest vector that a specialisation knows the length of


def known_lengths(shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """The lengths that a specialisation knows: 1, and small ones of the last two axes (of vectors, matrices)."""
    ndim = len(shape)
    first = ndim  # the first of the small axes at the end
    while first > max(0, ndim - 2) and 1 <= shape[first - 1] <= SMALL:
        first -= 1
    return tuple([n if n == 1 or k >= first else None for k, n in enumerate(shape)])


LONG = 16  # the most numbers at the beginning of an argument that a specialisation may know to be there
_AXES = 1 << 32  # facts about axes are numbered from here
_NDIM = 64


def reach(leaf: int, axis: int, length: int) -> int:
    """The number, among those that a specialisation is fixed for, of whether an axis of a leaf has such a length."""
    return _AXES + (leaf * _NDIM + axis) * (LONG + 1) + length


def reached(fact: int) -> tuple[int, int, int] | None:
    """The leaf, the axis and the length that a fact is about; None where it is about something else."""
    if fact < _AXES:
        return None
    place, length = divmod(fact - _AXES, LONG + 1)
    return *divmod(place, _NDIM), length


def counts(leaves: Sequence[Any]) -> dict[int, tuple[int, int]]:
    """Ints that are an array's length, as `n` beside an array of n rows: of which array, and along which axis.

    What is known of the length is known of them: that a loop over range(n) stays inside, that arrays made with n fit.
    Small ones are not looked at: they are equal by chance.
    """
    lengths: dict[int, tuple[int, int]] = {}
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, np.ndarray):
            for axis, (n, known) in enumerate(zip(leaf.shape, known_lengths(leaf.shape), strict=True)):
                if known is None:
                    lengths.setdefault(n, (k, axis))
    ints = {k: n for k, n in enumerate(leaves) if type(n) is int and n >= _COUNTS}
    return {k: lengths[n] for k, n in ints.items() if n in lengths}


RELATED = 1 << 30  # in place of a leaf: what lengths of arrays differ by, where that is little
_LITTLE = 8


def close(lengths: Iterable[int]) -> dict[int, int]:
    """For each of some lengths the shortest one that it differs little from; small ones are so by chance."""
    found: dict[int, int] = {}
    base = 0
    for n in sorted(lengths):
        base = base if base >= _COUNTS and n - base <= _LITTLE else n
        found[n] = base
    return found


def relations(leaves: Sequence[Any]) -> tuple[tuple[int, int, int], ...]:
    """All lengths of arrays, counted in the order of the arrays, that differ by little, and by what.

    That is more than `close` says of them: a program that is made for a part of these lengths, as that of one lane is,
    hangs on nothing else.
    """
    lengths = [
        n
        for leaf in leaves
        if isinstance(leaf, np.ndarray)
        for n, known in zip(leaf.shape, known_lengths(leaf.shape), strict=True)
        if known is None
    ]
    order = list(dict.fromkeys(lengths))
    pairs = [(i, j, m - n) for i, n in enumerate(order) for j, m in enumerate(order[:i])]
    return tuple([pair for pair in pairs if abs(pair[2]) <= _LITTLE])


def cores() -> int:
    """How many cores this process may use."""
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("NUMBA_NUM_THREADS", "")
    return min(able, int(asked)) if asked.isdecimal() and int(asked) else able


def threads_from(leaves: list[Any]) -> int:
    """How many axes a nest of loops has at least that may pay threads, given the arrays that it computes with.

    With few elements that is none, with many each, and in between those over pairs of elements: it has more axes than
    the arrays have. To compile a nest for threads takes as long again as the nest.
    """
    arrays = [a for a in leaves if isinstance(a, np.ndarray)]
    count = sum([a.size for a in arrays])
    if count < _MANY or cores() == 1:
        return NO_THREADS
    return 1 if count >= _LARGE else 1 + max([a.ndim for a in arrays if a.size * 4 >= count], default=0)


def leaf_key(leaf: Any) -> Any:
    """What a specialisation depends on: type, and for arrays dtype, known lengths, layout."""
    if isinstance(leaf, np.ndarray):
        flags = leaf.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        own = () if type(leaf) is np.ndarray and flags.aligned else (type(leaf), flags.aligned)
        return (leaf.dtype.str, known_lengths(leaf.shape), layout, flags.writeable, *own)
    if isinstance(leaf, np.generic):
        return leaf.dtype.str
    return streams.key_of(leaf) or type(leaf)


_BY_VALUE = frozenset({type(None), bool, int, str, bytes, np.dtype})


_WITH_VALUES = ("datetime", "decimal", "fractions")
_NEVER_CHANGE = frozenset({"date", "datetime", "time", "timedelta", "timezone", "Decimal", "Fraction"})


def never_changes(cls: type) -> bool:
    """Whether values of a class of Python's library are what they are for good: dates, decimals, fractions."""
    name, module = cls.__name__, cls.__module__
    return name in _NEVER_CHANGE and module in _WITH_VALUES and getattr(sys.modules[module], name, None) is cls


def static_key(value: Any) -> Any:
    """What is equal for two values only if no program can tell them apart.

    1, 1.0 and True are equal, so are 0.0 and -0.0, range(0, 3, 2) and range(0, 4, 2), and whatever a class says.
    """
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    if kind is Labels or kind is Constant:
        return kind, static_key(value.shown)
    if never_changes(kind):  # noon here and noon there are equal, if they are the same moment; so are 1.0 and 1.00
        return kind, repr(value)
    if isinstance(value, (float, complex, np.generic)):
        return kind, repr(value)
    if isinstance(value, (int, str, bytes)):
        return kind, value if isinstance(value, enum.Enum) else repr(value)
    if isinstance(value, tuple):
        return kind, tuple([static_key(v) for v in value])
    if isinstance(value, (set, frozenset)):
        return kind, tuple([static_key(v) for v in value])  # a program sees the order
    if isinstance(value, range):
        return kind, (value.start, value.stop, value.step)
    if isinstance(value, slice):
        return kind, (static_key(value.start), static_key(value.stop), static_key(value.step))
    if isinstance(value, types.MethodType):
        return kind, value.__func__, id(value.__self__)
    if kind.__eq__ is object.__eq__ or isinstance(value, (type, types.BuiltinFunctionType)):
        try:
            hash(value)
        except TypeError:  # functions of ctypes
            return kind, ("id", id(value))
        return kind, value
    return kind, ("id", id(value)), contents(value)


class Items:
    """What an array of objects holds: the same items, of the same classes."""

    __slots__ = ("classes", "items")

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.classes = list(map(type, items))

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, Items) and self.classes == other.classes and self.items == other.items
        except ValueError:  # other arrays, whose == is an array
            return False

    def __hash__(self) -> int:
        return len(self.items)


def contents(value: Any) -> Any:
    """What may change in an object that is read while a program is specialised; None of those where nothing does.

    Arrays of texts, dates and objects, and bytes that can be written to. Numbers are read at each call.
    """
    if is_of_others(value):
        return Items(value.ravel().tolist()) if value.dtype.kind == "O" else value.tobytes()
    return bytes(value) if isinstance(value, (bytearray, memoryview, array.array)) else None


def is_long(obj: Any) -> bool:
    """Whether it is a Python int that 64 bits do not hold."""
    return type(obj) is int and not -(2**63) <= obj < 2**63


def sign_of(number: Any) -> int:
    """-1, 0 or 1."""
    return int(number > 0) - int(number < 0)  # NumPy does not subtract its truth values
