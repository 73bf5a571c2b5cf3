"""Objects from outside the function: arguments, globals, closure variables, attributes.

Numbers and arrays among them become parameters of the program, read afresh at each call ("captures"); all else is
static and guarded: when it changes, the function is specialised again.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import inspect
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import streams, tree
from diffjit.errors import TypeProblem, UnsupportedSyntax
from diffjit.frontend.entry.places import (
    AsArray,
    Cell,
    Contents,
    Default,
    Getter,
    Global,
    Item,
    Keys,
    Kind,
    Length,
    Shape,
    Sign,
)
from diffjit.frontend.outside.surroundings import is_cython, is_surroundings
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.lengths import Lengths
from diffjit.frontend.values.values import Static
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar, Sym, is_float
from diffjit.labels import Constant, Labels
from diffjit.primitives.foreign import stand_in
from diffjit.stored import stored


@dataclasses.dataclass(slots=True, eq=False)
class Capture:
    """A number or array from outside: how to read it, and the parameter that stands for it."""

    getter: Callable[[], Any]
    param: Value


@dataclasses.dataclass(slots=True, eq=False)
class Guard:
    """Something static from outside: the specialisation holds while it is the same object."""

    getter: Callable[[], Any]
    expected: Any


class Masked:
    """In place of `np.ma.masked`, which is an array of one number to who does not ask."""


MASKED = Masked()


def array_type(array: np.ndarray) -> Array:
    """What a specialisation knows of an array: dtype, lengths of 1 and of small vectors, layout."""
    if type(array) is not np.ndarray or not array.dtype.isnative:
        refuse_unusual(array)
    dims = tuple(Sym(not_one=True) if n is None else n for n in tree.known_lengths(array.shape))
    if array.flags.c_contiguous:
        layout = "C"
    elif array.flags.f_contiguous:
        layout = "F"
    else:
        layout = "A"
    return Array(array.dtype, dims, layout)


def refuse_unusual(array: np.ndarray) -> None:
    """Arrays whose operators mean something else, or whose numbers the processor cannot read."""
    if not array.dtype.isnative:
        what = f"an array of dtype {array.dtype.str!r}, in another byte order than the processor's"
        cure = 'a.astype(a.dtype.newbyteorder("=")) turns the bytes round'
    else:
        return
    raise TypeProblem("DJ323", what, cure=cure)


_TAKEN_FOR = (int, float, complex, list, tuple, set, frozenset)  # what objects of the user's classes may be as well


def _plain_number(cls: type) -> None:
    """Refuse a class of numbers that has operators of its own, as some classes of units have."""
    if tree.has_own_operators(cls):
        what = f"a number of class `{cls.__name__}`, which has operators of its own"
        raise UnsupportedSyntax("DJ113", what, cure="pass float(...) of it, or an object that holds the number")


CONSTANT = "constant"  # the place of an array that is known while specialising: its lengths are
ONLY_READ = "is a mappingproxy, which is only read"
_READS = ("__getitem__", "__iter__", "__len__", "__contains__")
_OF_TUPLES = (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__float__", "__int__", "__abs__",
)  # fmt: skip
_READS_OF_DICTS = ("get", "items", "values", "keys", "__missing__")


def _has_another(cls: type, plain: type, name: str) -> bool:
    """Whether objects of a class may have another attribute of this name than those of a plain one."""
    found = inspect.getattr_static(cls, name, None)
    own = cls.__dictoffset__ != 0 or hasattr(cls, "__getattr__")
    return found is not inspect.getattr_static(plain, name, None) or (found is None and own)


_NO_OPERATORS = frozenset({
    "__class_getitem__", "__copy__", "__deepcopy__", "__delattr__", "__dir__", "__format__", "__getattr__",
    "__getattribute__", "__getnewargs__", "__getstate__", "__init__", "__init_subclass__", "__new__", "__reduce__",
    "__reduce_ex__", "__repr__", "__setattr__", "__setstate__", "__sizeof__", "__str__",
})  # fmt: skip


def _plain_operators(cls: type, base: type) -> None:
    """Refuse a class of containers that has operators of its own."""
    for c in cls.__mro__[: cls.__mro__.index(base)]:
        own = (n for n, v in vars(c).items() if n[:2] == "__" and n not in _NO_OPERATORS and tree.is_function(v))
        found = next(own, None)
        if found is not None:
            what = f"a {base.__name__} of class `{cls.__name__}`, which has a `{found}` of its own"
            raise UnsupportedSyntax("DJ113", what, cure="keep what it holds in an attribute of an object")


def plain_container(cls: type, *followed: str) -> None:
    """Refuse a class of tuples, lists or dicts that says itself what their items are, or how tuples compare.

    Methods that are `followed` are called.
    """
    names = (*_READS, *(_READS_OF_DICTS if issubclass(cls, dict) else _OF_TUPLES if issubclass(cls, tuple) else ()))
    if cls.__module__.split(".")[0] in sys.stdlib_module_names:
        return
    own = (name for name in names if name not in followed and tree.is_function(getattr(cls, name, None)))
    found = next(own, None)
    if found is not None:
        what = f"a {cls.__bases__[0].__name__} of class `{cls.__name__}`, which has a `{found}` of its own"
        raise UnsupportedSyntax("DJ113", what, cure="keep what it holds in an attribute of an object")


_NOT_FOLLOWED = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.dtype, np.ufunc, str,
    bytes, range, slice, Labels, Constant,
)  # fmt: skip
_LIBRARIES = frozenset({
    "builtins", "numpy", "functools", "numba", "jax", "jaxlib", "scipy", "contextlib", "warnings", "_thread", "typing",
    "types", "ctypes", "_ctypes", "uarray", "operator", "decimal", "itertools",
})  # fmt: skip


_FEW = 16  # items of a dict that are arguments of the program, whether it reads them or not


class Lifting(Mixin):
    """Mixin of the interpreter: outside objects as abstract values."""

    def init_lifting(self) -> None:
        """Start with nothing captured."""
        self.captures: dict[Any, Capture] = {}
        self.guards: dict[Any, Guard] = {}
        self.lifted: dict[Any, Any] = {}
        self.param_paths: dict[Value, Any] = {}
        self.signs: dict[Any, int] = {}  # those of ints from outside on which the types of powers hang
        self.length_facts = Lengths()
        self.objects: dict[int, av.Ref] = {}  # objects from outside by their identities; `guards` keep them
        self.flat_of: dict[Value, Value] = {}  # copies that stand for `a.flat`, and their arrays
        self.flat_views: set[Value] = set()  # views that stand for `a.flat`
        self.exceptions: list[Any] = []
        self.frame_loops: dict[int, list[Any]] = {}
        self.loops: list[Any] = []
        self.keep_alive: list[Any] = []
        self.followed: dict[Any, types.CodeType] = {}  # Python functions that were interpreted, and their code
        self.dictionaries: dict[type, Any] = {}
        self.init_streams()
        self.portable = True  # whether the program rests on these, guards and captures alone
        self.own_classes: dict[type, dict[type, None]] = {}  # of users, by what their objects are taken for

    def taken_plainly(self, value: Any) -> None:
        """A number or container of a class of the user's is taken for one of Python's: questions are another matter."""
        cls = type(value)
        base = next((b for b in _TAKEN_FOR if cls is not b and issubclass(cls, b)), None)
        if base is None or hasattr(cls, "_fields") or isinstance(value, (bool, np.generic)):
            return
        if cls.__module__.split(".")[0] not in sys.stdlib_module_names:
            if base in (int, float, complex):
                _plain_number(cls)
            else:
                _plain_operators(cls, base)
            self.own_classes.setdefault(base, {})[cls] = None

    def refuse_own(self, plain: type, differs: Callable[[type], bool]) -> None:
        """Refuse a question that an object of a class of the user's, taken for a plain one, would answer otherwise."""
        for cls in self.own_classes.get(plain, ()):
            if differs(cls):
                what = f"what objects of class `{cls.__name__}` answer in another way than Python's {plain.__name__}"
                cure = f"keep the {plain.__name__} in an attribute of an object: here it is taken for a plain one"
                raise self.unsupported("DJ113", what, None, cure)

    def mind_own_attribute(self, value: Any, name: str) -> None:
        """Refuse an attribute that an object of such a class may have, or have another one of."""
        if self.own_classes and isinstance(value, Value | av.Tup | av.Ref) and not self.in_library():
            plain = self.class_of(value)
            self.refuse_own(plain, lambda cls: _has_another(cls, plain, name))

    def may_fix(self, value: Value) -> bool:
        """Whether an int parameter may be made static by starting again."""
        path = self.param_paths.get(value)
        return path is not None and path not in self.learned.captures

    def argument(self, param: Value, path: Any, sign: int | None) -> None:
        """A parameter that may be fixed, and its sign where that is asked for."""
        if not (isinstance(param.type, Scalar) and is_float(param.type)):  # fixed floats would have no derivative
            self.param_paths[param] = path
        if sign is not None:
            self.signs[path] = sign

    def lift_name(self, name: str, scope: av.Scope, node: Any) -> Any:
        """A free name: a closure cell, a global, or a builtin."""
        pyfunc = scope.pyfunc
        if pyfunc is not None and name in pyfunc.__code__.co_freevars:
            index = pyfunc.__code__.co_freevars.index(name)
            cell = pyfunc.__closure__[index]
            try:
                value = cell.cell_contents
            except ValueError:
                raise self.type_problem("DJ303", f"closure variable `{name}` has no value yet", node) from None
            return self.lift_at(("cell", id(cell)), value, Cell(pyfunc, index), keep=cell, hint=name)
        if name in scope.namespace:
            return self.lift_name_in(scope.namespace, name)
        if hasattr(builtins, name):
            return self.builtin(name, scope.namespace)
        for names in (scope.namespace, vars(builtins)):
            self.watch_absent(names, names, name)  # which a `try` may rest on
        raise self.type_problem("DJ303", f"name `{name}` is not defined", node, python=NameError)

    def lift_name_in(self, namespace: dict[str, Any], name: str) -> Any:
        """A module's variable."""
        return self.lift_at(
            ("global", id(namespace), name), namespace[name], Global(namespace, name), keep=namespace, hint=name
        )

    def lift_default(self, pyfunc: Any, k: int) -> Any:
        k -= len(pyfunc.__defaults__)  # the last one is the last parameter's, however many there will be
        return self.lift_at(("default", pyfunc, k), pyfunc.__defaults__[k], Default(pyfunc, k))

    def lift_kwdefault(self, pyfunc: Any, name: str) -> Any:
        return self.lift_at(("kwdefault", pyfunc, name), pyfunc.__kwdefaults__[name], Default(pyfunc, name), hint=name)

    def lift_member(self, obj: Any, path: Any, value: Any) -> Any:
        """A part of an outside object (functools.partial's arguments)."""
        group, key = path
        return self.lift_at(("member", id(obj), path), value, lambda: getattr(obj, group)[key], keep=obj)

    def lift_at(
        self, key: Any, value: Any, getter: Callable[[], Any], *, keep: Any = None, hint: str | None = None
    ) -> Any:
        """An outside object found at a place that can be read again at each call."""
        if key in self.lifted:
            return self.lifted[key]
        self.keep_alive.append(keep)
        result = self._lift(key, value, getter, hint)
        self.lifted[key] = result
        return result

    def _lift(self, key: Any, value: Any, getter: Callable[[], Any], hint: str | None) -> Any:
        if isinstance(value, (bool, np.bool_, enum.Enum)):
            self.guards[key] = Guard(getter, value)
            return Static(value)
        if tree.is_numeric(value) and not isinstance(value, np.ndarray):
            self.taken_plainly(value)
            infinite = isinstance(value, (float, np.floating)) and np.isinf(value)  # which rules must know
            if key in self.learned.captures or infinite or tree.is_long(value):
                self.guards[key] = Guard(getter, value)
                return Static(value)
            if key in self.learned.signs:
                self.signs[key] = tree.sign_of(value)
                self.guards[key, "sign"] = Guard(Sign(getter), tree.sign_of(value))
            return self.capture(key, scalar_type_of(value), getter, hint)
        if isinstance(value, np.ndarray) and stored(type(value)) is None:
            if value.dtype.kind not in "biufc":
                return self.lift_opaque(key, value, getter)
            constant = key[0] == CONSTANT
            if constant or key in self.learned.captures:
                ty = array_type(value)
                if not constant:
                    self.guards[key, "shape"] = Guard(Shape(getter), value.shape)
                return self.capture(key, Array(ty.dtype, value.shape, ty.layout), getter, hint)
            return self.capture(key, array_type(value), getter, hint)
        if (of_dicts := self.lifted_of_dicts(key, value, getter)) is not None:
            return of_dicts
        if isinstance(value, (tuple, list, dict)):
            plain_container(type(value))
        self.taken_plainly(value)
        if isinstance(value, tuple):
            items = tuple(self.lift_at((key, k), x, Item(getter, k), hint=hint) for k, x in enumerate(value))
            self.guard_container(key, Length(getter), len(value), Kind(getter))
            return av.Tup(items, type(value) if hasattr(value, "_fields") else None)
        if isinstance(value, (list, dict, set)):
            found = self.known_container(key, value, getter)
            if found is not None:
                return found
        if isinstance(value, list):
            self.guard_container(key, Length(getter), len(value), Kind(getter))
            numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in value)
            if len(value) > 64 and numbers and key not in self.learned.changed:
                array = self.capture(key, array_type(np.array(value)), AsArray(getter), hint)
                self.long_lists[array] = key, value, getter
                return array
            return self.outside(
                av.ListC(tuple(self.lift_at((key, k), x, Item(getter, k), hint=hint) for k, x in enumerate(value))),
                (key, value, getter),
            )
        return self._lift_keyed(key, value, getter, hint)

    def _lift_keyed(self, key: Any, value: Any, getter: Callable[[], Any], hint: str | None) -> Any:
        """A dict or set; or an object."""
        if (written := self.lifted_as_written(key, value, getter)) is not None:
            return written
        if isinstance(value, (dict, set, frozenset, types.MappingProxyType)):
            keys = tuple(value)
            self.guard_container(key, Keys(getter), keys, Kind(getter))
            if isinstance(value, set | frozenset):
                return self.outside(self.set_from_outside(value), (key, value, getter))

            def read(k: Any) -> Any:
                return self.lift_at((key, "key", k), value[k], Item(getter, k), hint=k if isinstance(k, str) else hint)

            items = av.LazyItems(keys, read) if len(keys) > _FEW else {k: read(k) for k in keys}
            if isinstance(value, types.MappingProxyType):
                return self.outside(av.DictC(items, frozen=ONLY_READ), (key, value, getter))
            cls = next((c for c in (OrderedDict, defaultdict) if isinstance(value, c)), None)
            made_by = value.default_factory if isinstance(value, defaultdict) else None
            factory = None if made_by is None else self.lift_static(made_by)
            return self.outside(av.DictC(items, cls=cls, factory=factory), (key, value, getter))
        if streams.is_stream(value):
            return self.lift_stream(key, value, getter, hint)
        if not self.is_plain_object(value):
            return self.lift_opaque(key, value, getter)
        self.guards[key] = Guard(getter, value)
        found = self.objects.get(id(value))
        if found is None:
            found = self.objects[id(value)] = self.outside(
                av.ObjC(stand_in(type(value)), {}, (value, getter)), (key, value, getter)
            )
            if type(value) in self.learned.whole:
                held = self.sites.outside[found.uid]
                self.sites.outside[found.uid] = replace(held, fields=self.all_fields(held))
        else:  # one object at two places
            self.guards[key, "same"] = Guard(lambda: getter() is value, True)
        return found

    def lift_opaque(self, key: Any, value: Any, getter: Getter) -> Static:
        """An object that is not looked into, but by Python while the program is specialised."""
        self.guards[key] = Guard(getter, value)
        held = tree.contents(value)
        if held is not None:
            self.guards[key, "contents"] = Guard(Contents(getter), held)
        return Static(value)

    def set_from_outside(self, value: set[Any] | frozenset[Any]) -> av.DictC:
        """What a set holds that the program has not made."""
        keys = tuple(value)
        cls = frozenset if isinstance(value, frozenset) else None
        return av.DictC({k: self.lift_static(k) for k in keys}, is_set=True, cls=cls, past=(("outside", keys),))

    def guard_container(self, key: Any, extent: Getter, expected: Any, kind: Kind) -> None:
        """A container is of its class, and has its length or its keys; what it holds is guarded item by item."""
        self.guards[key] = Guard(extent, expected)
        self.guards[key, "kind"] = Guard(kind, kind())

    def outside(self, contents: Any, place: tuple[Any, Any, Callable[[], Any]] | None = None) -> av.Ref:
        """A heap object that stands for an outside one; it is the same in every state of the program.

        `place`: its key, the object and how to get it; what changes is given back there.
        """
        ref = av.Ref()
        self.sites.outside[ref.uid] = contents
        if place is None:
            return ref
        self.outside_places[ref.uid] = place
        if self.learned.changed:
            self.objects[id(place[1])] = ref
        return ref

    def capture(self, key: Any, ty: Any, getter: Callable[[], Any], hint: str | None) -> Value:
        """A parameter for a number or array from outside."""
        param = Value(ty, hint)
        self.captures[key] = Capture(getter, param)
        self.param_paths[param] = key
        return param

    def is_plain_object(self, value: Any) -> bool:
        """An instance of a user's class, whose attributes are followed."""
        if issubclass(type(value), _NOT_FOLLOWED) or tree.never_changes(type(value)):
            return False
        if value is None or value is Ellipsis or tree.is_of_numba(value) or tree.is_built_inside(value):
            return False
        if stored(type(value)) is not None:
            return True
        return tree.package_of(type(value)) not in _LIBRARIES and not is_surroundings(value) and not is_cython(value)

    def lift_static(self, value: Any) -> Any:
        """An object that is certain not to change: a constant in the source, a library's attribute; a key of a dict."""
        if isinstance(value, av.Ref):  # an object that is a key
            return value
        if isinstance(value, tuple) and hasattr(value, "n_fields"):  # one of C's, as sys.float_info
            return Static(value)
        if value is sys.modules:  # it does change, and is asked
            return Static(value)
        if isinstance(value, (tuple, list)) and not isinstance(value, np.ndarray):
            items = tuple(self.lift_static(x) for x in value)
            if isinstance(value, tuple):
                return av.Tup(items, type(value) if hasattr(value, "_fields") else None)
            return self.new(av.ListC(items))
        if isinstance(value, types.MappingProxyType):
            return self.lift_object(value)
        if isinstance(value, dict):
            return self.new(av.DictC({k: self.lift_static(v) for k, v in value.items()}))
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            return Static(MASKED) if type(value).__name__ == "MaskedConstant" else self.lift_constant(value)
        if isinstance(value, range):
            return av.Range(Static(value.start), Static(value.stop), Static(value.step))
        if tree.is_function(value) and not self.has_handler(value):
            return Static(value)
        if self.is_plain_object(value) or streams.is_stream(value):
            return self.lift_object(value)
        return Static(value)

    def has_handler(self, value: Any) -> bool:
        """Whether a function has an implementation of its own here."""
        return self.handler_of(value) is not None

    def lift_object(self, obj: Any) -> Any:
        """An existing object (a bound method's self, a callable instance)."""
        return self.lift_at(("object", id(obj)), obj, lambda: obj, keep=obj)

    def is_field(self, value: Any, index: Any) -> bool:
        """Whether an index names a field of an array of records."""
        names = value.dtype.names if isinstance(value, np.ndarray) else None
        return names is not None and isinstance(index, Static) and isinstance(index.obj, str) and index.obj in names

    def lift_field(self, records: np.ndarray, name: str) -> Any:
        """A field of records from outside: a view of them, read at each call."""
        key = ("field", id(records), name)
        return self.lift_at(key, records[name], Item(lambda: records, name), keep=records, hint=name)

    def records_attribute(self, records: np.ndarray, name: str, node: Any) -> Any:
        """An attribute of an array of records: a field, where it is a `np.recarray`, or what is known of any array."""
        of_records = type(records) is np.recarray and not hasattr(np.recarray, name)
        if of_records and self.is_field(records, Static(name)):
            return self.lift_field(records, name)
        if name in ("shape", "ndim", "size", "dtype"):
            return self.lift_static(getattr(records, name))
        return self.array_attribute(self.lift_constant(records), name, node)

    def lift_constant(self, array: np.ndarray) -> Value:
        """An array known while specialising becomes a capture that always reads the same array."""
        if array.dtype.names is not None:
            first = array.dtype.names[0]
            raise TypeProblem(
                "DJ323", "an array of records is used where numbers are needed", loc=self.build.loc,
                cure=f"take one field of all of them: `table[{first!r}]`, and `table[{first!r}][i]` for one number",
            )  # fmt: skip
        if array.dtype.kind not in "biufc":
            what = "objects" if array.dtype.kind == "O" else f"dtype {array.dtype}"
            message, cure = (
                f"an array of {what} is used where numbers are needed",
                "a.astype(float) makes numbers of it",
            )
            raise TypeProblem("DJ323", message, loc=self.build.loc, cure=cure)
        key = (CONSTANT, id(array))
        return self.lift_at(key, array, lambda: array, keep=array)
