"""Objects: attributes, and instances of users' classes."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import sys
import types
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.errors import DiffjitError, alike
from diffjit.frontend.calls.dataclass_calls import GENERATED, OPTIONS
from diffjit.frontend.entry.lift import plain_container
from diffjit.frontend.entry.places import WRITTEN
from diffjit.frontend.outside.surroundings import is_library
from diffjit.frontend.syntax.handlers import core, kinds
from diffjit.frontend.syntax.machines import variable
from diffjit.frontend.syntax.managers import is_manager
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import describe
from diffjit.frontend.values.values import NONE, Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar
from diffjit.primitives.foreign import learn, stand_in, stood_for
from diffjit.primitives.opaque.acts import STREAMS
from diffjit.primitives.registry import COMPOSITES
from diffjit.primitives.signatures import is_ctypes
from diffjit.stored import is_class_of_arrays

_CONTAINERS = (dict, list, set, frozenset, float, int, complex, str)  # a class made of one has two natures


def has_plain_version(method: types.FunctionType) -> bool:
    """Whether a method, perhaps inherited from a library's class, is one that is known by a plain version."""
    learn(method)
    return method in COMPOSITES


# Of a method they are its function's, and so are those that a user has set.
_OF_FUNCTIONS = (
    "__name__",
    "__doc__",
    "__annotations__",
    "__module__",
    "__qualname__",
    "__code__",
    "__defaults__",
    "__kwdefaults__",
)


class Objects(Mixin):
    """Mixin of the interpreter: attributes and classes."""

    # Classes

    def instantiate(self, cls: type, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """Create an object of a user's class."""
        if issubclass(cls, BaseException):
            ref = self.once(lambda: self.exception_object(cls, *args))
            if isinstance(self.class_lookup(cls, "__init__"), (types.FunctionType, av.Member)):
                self.call(self.class_attribute(ref, cls, "__init__", node), args, kwargs, node)
            return ref
        if issubclass(cls, np.generic):
            return self.cast_to(cls, args, node)
        if issubclass(cls, enum.Enum) and len(args) == 1 and not isinstance(args[0], Static):
            return self.member_of_value(cls, args[0])
        if issubclass(cls, enum.Enum | enum.auto):
            known = [self.as_python(a) for a in args]
            if kwargs or not all(isinstance(a, Static) for a in known):
                cure = "write its members in a class"
                raise self.unsupported("DJ118", f"an enum made of {describe(args[-1])}", node, cure)
            return Static(self.evaluated(cls, *(a.obj for a in known)))
        built = next((b for b in _CONTAINERS if issubclass(cls, b)), None)
        if (
            built is not None
            and self.container_of(cls) is None
            and cls.__module__.split(".")[0] not in sys.stdlib_module_names
        ):
            cure = f"keep a {built.__name__} in an attribute of the object"
            raise self.unsupported("DJ113", f"`{cls.__name__}`, a class of its own of {built.__name__}s", node, cure)
        maker = self.class_lookup(cls, "__new__")
        if isinstance(maker, staticmethod) and self.is_of_users(maker.__func__):
            return self.made_anew(cls, maker.__func__, args, kwargs, node)
        if is_class_of_arrays(cls):
            return self.initialised(self.ndarray_new(Static(cls), *args, **kwargs), cls, args, kwargs, node)
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            return self.made_namedtuple(cls, args, kwargs, node)
        if cls is types.SimpleNamespace and not args:
            return self.new(av.ObjC(cls, dict(kwargs)))
        if cls.__module__ == "builtins" or cls.__module__.split(".")[0] in _OF_CONSTANTS:
            if all(isinstance(a, Static) for a in (*args, *kwargs.values())):
                return Static(self.evaluated(cls, *(a.obj for a in args), **{k: v.obj for k, v in kwargs.items()}))
            raise self.no_rule(cls, node)
        made = self.made_by_recursion(cls, args, kwargs, node)
        if made is not None:
            return made
        ref = self.once(lambda: self.unfinished(cls) or self.blank(cls))
        return self.initialised(ref, cls, args, kwargs, node)

    def made_namedtuple(self, cls: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> av.Tup:
        """A named tuple; its defaults may have been set later, as `Law.__new__.__defaults__ = (None,)` does it."""
        plain_container(cls, "__getitem__")
        bound = {**dict(zip(cls._fields, args, strict=False)), **kwargs}
        for name, default in cls._field_defaults.items():
            bound.setdefault(name, default.value if isinstance(default, av.Member) else self.lift_static(default))
        later = getattr(cls.__new__, "__defaults__", None) or ()
        for name, default in zip(reversed(cls._fields), reversed(later), strict=False):
            bound.setdefault(name, self.lift_static(default))
        missing = [name for name in cls._fields if name not in bound]
        if missing or len(args) > len(cls._fields) or not bound.keys() <= set(cls._fields):
            problem = f"misses `{missing[0]}`" if missing else "got an unexpected argument"
            raise self.type_problem("DJ306", f"`{cls.__name__}` {problem}", node, python=TypeError)
        return av.Tup(tuple(bound[f] for f in cls._fields), cls)

    def is_of_users(self, function: Any) -> bool:
        """Whether a method is the user's, not made for a namedtuple or in a library of Python's."""
        if not tree.is_function(function):
            return False
        module = function.__globals__.get("__name__", "")
        return not module.startswith("namedtuple_") and module.split(".")[0] not in {*sys.stdlib_module_names, "numpy"}

    def made_anew(self, cls: type, maker: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """What `__new__` of a class makes: an object of that class is initialised."""
        made = self.call(self.method_fn(maker, cls), [Static(cls), *args], kwargs, node)
        own = self.object_class(made) if isinstance(made, av.Ref) else None
        if isinstance(made, av.Sum | av.Opt | av.Handle) or self.is_opaque(made):
            cure = "make the object in a function, and return it"
            raise self.unsupported("DJ113", f"`__new__` of `{cls.__name__}`, which gives one of several", node, cure)
        return self.initialised(made, own, args, kwargs, node) if own is not None and issubclass(own, cls) else made

    @kinds(object=object.__new__, dict=dict.__new__, list=list.__new__)
    def object_new(self, kind: str, cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`object.__new__(cls)`: an object without attributes; of a class of dicts or lists, one without items."""
        del kind, args, kwargs
        return self.blank(cls.obj)

    @core(tuple.__new__)
    def tuple_new(self, cls: Any, items: Any = None) -> Any:
        """`tuple.__new__(cls, items)`, of a namedtuple's class."""
        if not hasattr(cls.obj, "_fields"):
            cure = "give it fields: a namedtuple"
            raise self.unsupported("DJ113", f"`{cls.obj.__name__}`, a class of tuples", None, cure)
        plain_container(cls.obj, "__getitem__")
        return av.Tup(tuple(self.sequence_items(items, None)), cls.obj)

    def _is_made_by_users(self, cls: type) -> bool:
        """Whether a class has a `__new__` of its own, whose arguments `object.__init__` does not mind."""
        maker = self.class_lookup(cls, "__new__")
        return is_class_of_arrays(cls) or (isinstance(maker, staticmethod) and self.is_of_users(maker.__func__))

    def initialised(self, ref: Any, cls: type, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        """A new object after its `__init__`."""
        init = self.class_lookup(cls, "__init__")
        if (hasattr(cls, OPTIONS) and not isinstance(init, av.Member)) or (
            dataclasses.is_dataclass(cls) and _generated_init(cls)
        ):
            self.dataclass_init(ref, cls, args, kwargs, node)
        elif tree.is_function(init) or isinstance(init, av.Member):
            self.call(self.class_attribute(ref, cls, "__init__", node), args, kwargs, node)
        elif (own := self.inherited(cls, init)) is not None:
            self.call(own, [ref, *args], kwargs, node)
        elif (args or kwargs) and not (init is object.__init__ and self._is_made_by_users(cls)):
            if cls.__new__ is not object.__new__ or cls.__init__ is not object.__init__:
                raise self.no_rule(cls, node)
            raise self.type_problem("DJ306", f"`{cls.__name__}` takes no arguments", node, python=TypeError)
        return self.settled_in(ref)

    def member_of_value(self, cls: type[enum.Enum], value: Any) -> Any:
        """`Phase(k)` of a value that is only known at run time: the member that has it."""
        hits = [(m, self.truth(self.compare_kind("equal", value, self.lift_static(m.value)))) for m in cls]
        found = functools.reduce(self.either, (hit for _, hit in hits), Static(False))
        self.raise_if(self.logical_not(found), ValueError, f"not a valid {cls.__name__}")

        def pick(k: int) -> Any:
            member, hit = hits[k]
            last = k == len(hits) - 1
            return Static(member) if last else self.choose(hit, lambda: Static(member), lambda: pick(k + 1))

        return pick(0)

    def cast_to(self, cls: type, args: list[Any], node: Any) -> Any:
        """np.float64(x) and the like."""
        if not args:
            return Static(cls())
        if all(isinstance(a, Static) and not isinstance(a.obj, np.ndarray) for a in args):
            return Static(self.evaluated(cls, *(a.obj for a in args)))
        if len(args) > 1 or issubclass(cls, (np.character, np.datetime64, np.timedelta64)):
            raise self.no_rule(cls, node)
        if not issubclass(cls, (np.complexfloating, np.bool_)):
            self.real_only(f"np.{cls.__name__}()", args[0])
        if issubclass(cls, np.integer) and self.is_weak(args[0]):
            return self.cast(self.to_int(args[0]), np.dtype(cls))
        return self.cast(args[0], np.dtype(cls))

    def method_fn(self, function: Any, owner: type) -> av.Fn:
        """A method's function, which remembers its class for super()."""
        fn = self.fn_of(function)
        homes = (c for c in owner.__mro__ if any(function is getattr(h, "__func__", h) for h in vars(c).values()))
        return dataclasses.replace(fn, owner=next(homes, owner))

    def accessor(self, function: Any, owner: type) -> Any:
        """What a property calls: a function of its class, or what else it was given, as another object's method."""
        return self.method_fn(function, owner) if tree.is_function(function) else self.lift_static(function)

    def call_method(self, ref: av.Ref, name: str, args: list[Any], kwargs: dict[str, Any] | None = None) -> Any:
        """Call a method of an object by name."""
        return self.call(self.get_attribute(ref, name), args, kwargs or {})

    # Attributes

    @for_each
    def get_attribute(self, owner: Any, name: str, node: Any = None) -> Any:
        """`owner.name`."""
        if isinstance(owner, av.Opt):
            return self.get_attribute(self.not_none(owner, name), name, node)
        self.mind_own_attribute(owner, name)
        if name == "__get__" and self.is_function(owner):
            return av.Bound(owner, Static(types.FunctionType.__get__))
        if name == "__class__" and self.is_builtin(owner):
            return self.py_type(owner)
        if isinstance(owner, Value):
            if isinstance(owner.type, (Array, Scalar)):
                self.long_list(owner, name)
                if isinstance(owner.type, Scalar) and self.lacks(owner, name, AttributeError):
                    raise self.no_attribute(self.class_of(owner), name, node, cure="")
                return self.array_attribute(owner, name, node)
            return av.Method(owner, name)
        if isinstance(owner, Static):
            if tree.is_of_others(owner.obj):
                value = getattr(owner.obj, name)
                return av.Method(owner, name) if callable(value) else self.lift_static(value)
            if isinstance(owner.obj, np.ndarray) and owner.obj.dtype.names is not None:
                return self.records_attribute(owner.obj, name, node)
            if isinstance(owner.obj, np.ndarray):
                return self.array_attribute(self.lift_constant(owner.obj), name, node)
            as_array = av.is_number(owner.obj) and name in ("T", "real", "imag", "shape", "ndim", "dtype", "size")
            if as_array and not self.lacks(owner, name, AttributeError):
                return self.array_attribute(owner, name, node)
            return self.static_attribute(owner.obj, name, node)
        if isinstance(owner, av.Tup):
            if owner.cls is not None and name in owner.cls._fields:
                return owner.items[owner.cls._fields.index(name)]
            if name in ("_replace", "_asdict"):
                return av.Method(owner, name)
            if owner.cls is not None and isinstance(
                self.class_lookup(owner.cls, name), (types.FunctionType, property, av.Member)
            ):
                return self.class_attribute(owner, owner.cls, name, node)
            if not hasattr(tuple, name):
                if owner.cls is not None and self.class_has(owner.cls, name):  # a constant of the class
                    return self.static_attribute(owner.cls, name, node)
                raise self.no_attribute(owner.cls or tuple, name, node, cure="")
            return av.Method(owner, name)
        if isinstance(owner, av.Handle) and isinstance(owner.kind, type) and name != "__dict__":
            return self.handle_attribute(owner, name, node)
        if isinstance(owner, av.Ref):
            held = None if name == "sort" and self.is_disordered(owner) else self.contents(owner)
            if isinstance(held, av.ObjC):
                return self.object_attribute(owner, held, name, node)
            cls = self.class_of(owner) if isinstance(held, av.DictC) else list
            if not hasattr(cls, name):
                raise self.no_attribute(cls, name, node, cure="")
            return av.Method(owner, name)
        if isinstance(owner, (av.Slice, av.Range)) and name in ("start", "stop", "step"):
            return getattr(owner, name)
        if isinstance(owner, av.Slice) and name == "indices":
            return av.Method(owner, name)
        if isinstance(owner, av.Fn | av.Method) and name == "__name__":
            return Static(owner.name)
        if isinstance(owner, av.Partial) and name in ("func", "args", "keywords"):
            known = {"func": owner.function, "args": av.Tup(owner.args)}
            return known[name] if name in known else self.new(av.DictC(dict(owner.kwargs)))
        if isinstance(owner, av.Fn | av.Partial) and owner.attributes is not None and not name.startswith("__"):
            return self.get_attribute(owner.attributes, name, node)
        if isinstance(owner, av.Bound) and name in ("__self__", "__func__"):
            return owner.receiver if name == "__self__" else owner.function
        of_function = name in _OF_FUNCTIONS or not name.startswith("__")
        if isinstance(owner, av.Bound) and of_function:
            return self.get_attribute(owner.function, name, node)
        if isinstance(owner, av.Fn) and owner.pyfunc is not None and of_function:
            return self.static_attribute(owner.pyfunc, name, node)
        if isinstance(owner, av.Descriptor) and name in ("setter", "getter", "deleter"):
            return av.Method(owner, name)
        if isinstance(owner, av.Iter) and owner.kind == "super":
            return self.super_attribute(owner, name, node)
        if isinstance(owner, (av.Format, av.Range, av.Iter)):
            return av.Method(owner, name)
        raise self.type_problem("DJ317", f"{describe(owner)} has no attribute `{name}`", node)

    def is_builtin(self, value: Any) -> bool:
        """Whether the class of a value is Python's or NumPy's own, which says nothing else by `__class__`."""
        if isinstance(value, Static):
            return type(value.obj) in (str, bytes)
        if isinstance(value, av.Ref):
            return not isinstance(self.contents(value), av.ObjC)
        return not isinstance(value, (av.Handle, av.Iter))

    def no_attribute(
        self, cls: type, name: str, node: Any, *, cure: str = "set it on every path before it is read"
    ) -> DiffjitError:
        """The error of an object that lacks an attribute, or that stands for one of a library which has it."""
        known = stood_for(cls) or getattr(cls, "stands_for", None)
        if known is not None and hasattr(known, name):
            return self.no_rule(known, node, of=name)
        if getattr(cls, "has_more", ""):
            return self.not_all_known(cls, name, node)
        problem = f"`{(known or cls).__name__}` object has no attribute `{name}`"
        return self.type_problem("DJ317", problem, node, cure=cure, python=AttributeError)

    def not_all_known(self, cls: type, name: str, node: Any) -> DiffjitError:
        """The error of what stands for an object of a library that may have an attribute which this has not."""
        problem = f"`{name}` of {cls.has_more}"  # pyright: ignore[reportAttributeAccessIssue]
        return self.unsupported("DJ118", problem, node, "compute it from other parts: this one is not there")

    def static_attribute(self, obj: Any, name: str, node: Any) -> Any:
        if isinstance(obj, av.Traceback):
            problem = f"`{name}` of a traceback, which compiled code does not have"
            raise self.unsupported("DJ124", problem, node, "use the class of the exception and its `args`")
        if name == "__call__" and isinstance(obj, np.ufunc):
            return Static(obj)
        if (found := self.word_attribute(obj, name, node)) is not None:
            return found
        if isinstance(obj, type):
            plain = stand_in(obj)  # of SciPy's classes, what is written as a program
            obj = plain if hasattr(plain, name) and not name.startswith("__") else obj
        owner = self.static_attribute_set(obj, name)
        if name == "__dict__":
            self.refuse_set_attributes(obj)
        if owner is not None and self.cells["v", owner, name] is not av.UNBOUND:
            return self._local(owner, name, node)
        if obj is sys and name in STREAMS:
            return Static(STREAMS[name])
        if obj is sys and name in ("argv", "path"):
            return self.lift_at(("attr", id(obj), name), getattr(obj, name), lambda: getattr(obj, name), keep=obj)
        try:
            value = getattr(obj, name)
        except AttributeError as error:
            cure = alike(name, dir(obj))
            raise self.type_problem("DJ317", str(error), node, cure=cure, python=AttributeError) from None
        if isinstance(obj, type) and (init := self.generated_init(obj, value)) is not None:
            return init
        if isinstance(value, av.Member):
            if isinstance(obj, enum.Enum):
                return self.member_attribute(Static(obj), value, type(obj), name)
            return self.static_member(obj, value)
        if name == "_make" and hasattr(obj, "_fields"):
            return av.Iter("spread", (Static(obj),))
        if isinstance(obj, types.ModuleType) and is_library(obj):
            self.watch_library(obj, name, value)
        elif isinstance(obj, types.ModuleType):
            if name in vars(obj):
                return self.lift_name_in(vars(obj), name)
            if value is vars(obj):
                return self.lift_namespace(value)
            return self.lift_at(("attr", id(obj), name), value, lambda: getattr(obj, name), keep=obj)  # its __getattr__
        if (
            isinstance(obj, type)
            and not is_library(obj)
            and isinstance(value, (int, float, np.ndarray, list, dict, set, frozenset))
            and not isinstance(value, bool)
            and not isinstance(value, enum.Enum)
        ):
            return self.lift_at(("attr", obj, name), value, lambda: getattr(obj, name))
        if isinstance(obj, (str, bytes)) and callable(value):
            return av.Method(Static(obj), name)
        if is_ctypes(value):  # of a library, or what has been put in its place
            return self.lift_at(("attr", id(obj), name), value, lambda: getattr(obj, name), keep=obj)
        fixed = isinstance(obj, type) and obj.__module__.startswith(WRITTEN)
        self.portable &= fixed or isinstance(obj, (str, bytes, np.dtype, np.ufunc)) or _is_fixed_library(obj)
        return self.lift_static(value) if fixed or is_library(obj) else self.attribute_of(obj, name, value)

    def object_attribute(self, owner: av.Ref, held: av.ObjC, name: str, node: Any) -> Any:
        read = self.own_access(held, "__getattribute__")
        if read is not None and not (name.startswith("__") and name.endswith("__")):  # of which Python asks the class
            return self.call(self.method_fn(read, held.cls), [owner, Static(name)], {}, node)
        return self.plain_attribute(owner, held, name, node)

    def own_access(self, held: av.ObjC, name: str) -> Any:
        """`__getattribute__` or `__setattr__`, where a class has one of its own; None of others."""
        if (held.cls, name) in self.accesses:
            return self.accesses[held.cls, name]
        found = self.class_lookup(held.cls, name)
        if isinstance(found, av.Member):
            message = f"`{name}` of a class that is defined inside the program"
            raise self.unsupported("DJ113", message, None, "define the class at module level")
        own = self.inherited(held.cls, found) if name == "__setattr__" else None  # `dict.__setitem__`
        if tree.is_function(found) and not hasattr(held.cls, OPTIONS):
            own = found
        self.accesses[held.cls, name] = own
        return own

    def plain_attribute(self, owner: av.Ref, held: av.ObjC, name: str, node: Any) -> Any:
        """An attribute as `object` finds it."""
        if self.described_first(held.cls, name):
            return self.class_attribute(owner, held.cls, name, node)
        if name in held.fields:
            value = held.fields[name]
            missing = (value is av.UNBOUND or isinstance(value, av.Maybe)) and (held.cls, name) not in self.lost
            if missing and self.class_gives(held.cls, name):
                return self.own_or_of_class(owner, held.cls, name, node)
            if value is av.UNBOUND:
                inside = bool(self.loops) and self.forks > self.loops[-1].forks  # an earlier turn may have set it
                raise self.unbound(variable(name), later=inside, of=_owner(held.cls, name))
            if not isinstance(value, av.Maybe):
                return value
            return self.bound(value, variable(name), _owner(held.cls, name), (held.cls, name))
        if name == "__dict__":
            made = self.new(
                av.DictC(self.own_fields(held), frozen="is an object's __dict__, of which diffjit has a copy")
            )
            self.dict_owners[made.uid] = owner
            return made
        if held.origin is not None:
            obj = held.origin[0]
            if name in tree.attributes(obj):
                return self.outside_attribute(held, name)
            self.watch_object(obj, name, inspect.getattr_static(held.cls, name, None))
        return self.class_attribute(owner, held.cls, name, node)

    def class_gives(self, cls: type, name: str) -> bool:
        """Whether a class gives what its object does not hold itself: by all but an empty slot, or by `__getattr__`."""
        if self.class_has(cls, name):
            return not isinstance(self.class_lookup(cls, name), types.MemberDescriptorType)
        return self.class_has(cls, "__getattr__")

    def own_or_of_class(self, owner: av.Ref, cls: type, name: str, node: Any) -> Any:
        """An attribute that one path has set, and the class gives for the other: which is seen when it runs."""
        value = self.contents(owner).fields[name]
        bound = Static(False) if value is av.UNBOUND else value.bound
        return self.choose(bound, lambda: value.value, lambda: self.class_attribute(owner, cls, name, node))

    def outside_attribute(self, held: av.ObjC, name: str) -> Any:
        """What an object from outside holds under a name."""
        obj, getter = held.origin  # pyright: ignore[reportGeneralTypeIssues] - of one that is made inside there is none
        held_now = tree.attribute(obj, name)
        return self.lift_at(("attr", id(obj), name), held_now, lambda: tree.attribute(getter(), name), keep=obj)

    def class_attribute(self, owner: Any, cls: type, name: str, node: Any) -> Any:
        """An attribute found on an object's class."""
        if name == "__class__":
            return Static(cls)
        if (own := self.descriptor(cls, name)) is not None:
            return self.from_descriptor(own, owner, cls)
        found = self.as_property(self.class_lookup(cls, name))
        if found is None and not hasattr(cls, name):
            asked = self.class_lookup(cls, "__getattr__")
            if (own := self.inherited(cls, asked)) is not None:  # `__getattr__ = dict.get`
                return self.call(own, [owner, Static(name)], {}, node)
            if tree.is_function(asked):
                return self.call(self.method_fn(asked, cls), [owner, Static(name)], {}, node)
            if isinstance(asked, av.Member):
                return self.call(self.member_attribute(owner, asked, cls, "__getattr__"), [Static(name)], {}, node)
            raise self.no_attribute(cls, name, node)
        if isinstance(found, av.Member):
            return self.member_attribute(owner, found, cls, name)
        if (own := self.inherited(cls, found)) is not None:
            return av.Bound(owner, own)
        if isinstance(found, property):
            return self.call(self.accessor(found.fget, cls), [owner], {}, node)
        if isinstance(found, functools.cached_property):
            value = self.call(self.accessor(found.func, cls), [owner], {}, node)
            if owner.uid in self.sites.outside:  # which is not given what was found: the next run finds it again
                value = self.mark_kept(value)
            held = self.contents(owner)
            self.cells["h", owner.uid] = dataclasses.replace(held, fields={**held.fields, name: value})
            return value
        if isinstance(found, functools.partialmethod) and tree.is_function(found.func):
            given = tuple(self.lift_member(found, ("args", k), a) for k, a in enumerate(found.args))
            named = {k: self.lift_member(found, ("keywords", k), v) for k, v in found.keywords.items()}
            return av.Partial(av.Bound(owner, self.method_fn(found.func, cls)), given, named)
        if isinstance(found, functools.singledispatchmethod):
            return av.Partial(Static(functools.singledispatchmethod.__get__), (Static(found), owner), {})
        if isinstance(found, staticmethod):
            return self.lift_static(found.__func__)
        if isinstance(found, classmethod):
            return av.Bound(Static(cls), self.lift_static(found.__func__))
        if tree.is_function(found) and is_manager(found):
            return av.Bound(owner, self.cl_contextmanager(self.method_fn(found.__wrapped__, cls)))  # pyright: ignore[reportFunctionMemberAccess]
        if tree.is_function(found):
            return av.Bound(owner, Static(found) if has_plain_version(found) else self.method_fn(found, cls))
        if isinstance(found, functools._lru_cache_wrapper):  # noqa: SLF001 - the class of its results
            return av.Bound(owner, Static(found))
        if issubclass(cls, BaseException) and isinstance(found, _MADE_IN_C):
            return self.exception_attribute(owner, name)
        if found is None and self.class_has(cls, name):
            return Static(None)
        if isinstance(found, types.MemberDescriptorType) or found is None:
            raise self.type_problem("DJ317", f"attribute `{name}` is not set here", node, python=AttributeError)
        if found is object.__getattribute__ or found is object.__setattr__:
            return av.Bound(owner, Static(found))
        if tree.is_of_numba(found):
            return av.Bound(owner, self.fn_of(found.py_func))  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]
        if isinstance(found, types.MethodDescriptorType) and (origin := self.contents(owner).origin) is not None:
            return Static(getattr(origin[0], name))  # of a class without source: Python calls it on the object itself
        if isinstance(found, types.WrapperDescriptorType) and found.__objclass__ is not object:
            raise self.no_rule(found, node)  # an operator of such a class
        return self.static_attribute(cls, name, node)

    def set_plain_attribute(self, owner: av.Ref, held: av.ObjC, name: str, value: Any, node: Any) -> None:
        """`owner.name = value` as `object` does it."""
        if name.startswith("__") and name.endswith("__") and self.set_special(owner, held, name, value, node):
            return
        if (own := self.descriptor(held.cls, name, "__set__")) is not None:
            self.call_method(own, "__set__", [owner, value])
            return
        setter = self.as_property(self.class_lookup(held.cls, name))
        if self.set_member(owner, setter, name, value):
            return
        if isinstance(setter, property):
            if setter.fset is None:
                raise self.type_problem("DJ317", f"property `{name}` has no setter", node, python=AttributeError)
            self.call(self.accessor(setter.fset, held.cls), [owner, value], {}, node)
            return
        self.set_where_it_fits(owner, held.cls, name, value, node)

    def set_own_attribute(self, owner: av.Ref, name: str, value: Any) -> None:
        """Set what an object holds itself, whatever its class says."""
        if isinstance(owner, av.Handle):
            self.set_handle_attribute(owner, name, value)
            return
        held = self.contents(owner)
        self.write(owner, dataclasses.replace(held, fields={**held.fields, name: value}))
        self.update_dicts(owner, name, value)

    @core(object.__setattr__)
    def object_setattr(self, owner: Any, name: Any, value: Any) -> Any:
        """`object.__setattr__(owner, name, value)`: whatever its class does instead."""
        held = self.object_form(owner) if isinstance(owner, av.Ref) else None
        if not isinstance(held, av.ObjC) or not isinstance(name, Static):
            return self.py_setattr(owner, name, value)
        self.set_plain_attribute(owner, held, name.obj, value, None)
        return NONE

    @core(object.__getattribute__)
    def object_getattribute(self, owner: Any, name: Any) -> Any:
        """`object.__getattribute__(owner, name)`: whatever its class does instead."""
        held = self.contents(owner) if isinstance(owner, av.Ref) else None
        if not isinstance(held, av.ObjC) or not isinstance(name, Static):
            return self.py_getattr(owner, name)
        return self.plain_attribute(owner, held, name.obj, None)

    @for_each
    def set_attribute(self, owner: Any, name: str, value: Any, node: Any = None) -> None:
        """`owner.name = value`."""
        if self.is_opaque(owner):
            self.ask_python(Static(setattr), owner, Static(name), value)
            return
        if isinstance(owner, av.Opt):
            self.set_attribute(self.not_none(owner), name, value, node)
            return
        if isinstance(owner, av.Ref) and isinstance(held := self.object_form(owner), av.ObjC):
            set_it = self.own_access(held, "__setattr__")
            if set_it is None:
                self.set_plain_attribute(owner, held, name, value, node)
            elif getattr(getattr(held.cls, "__dataclass_params__", None), "frozen", False):
                problem = f"cannot assign to field `{name}` of a frozen dataclass"
                raise self.type_problem("DJ317", problem, node, python=dataclasses.FrozenInstanceError)
            else:
                setter = set_it if isinstance(set_it, av.Fn) else self.method_fn(set_it, held.cls)
                self.call(setter, [owner, Static(name), value], {}, node)
            return
        if isinstance(owner, Value) and isinstance(owner.type, Array) and name == "shape":
            self.set_shape(owner, value, node)
            return
        if isinstance(owner, Value) and isinstance(owner.type, Array) and name in ("real", "imag", "flat"):
            target = self.array_attribute(owner, name, node)
            if target in self.flat_of:
                self.write_flat(owner, lambda made: self.assign_array(made, value, node))
            else:
                self.assign_array(target, value, node)
            return
        outside = owner.pyfunc if isinstance(owner, av.Fn) else owner.obj if isinstance(owner, Static) else None
        if self.set_static_attribute(outside, name, value):
            return
        if isinstance(owner, av.Fn | av.Partial) and owner.attributes is not None and not name.startswith("__"):
            self.set_attribute(owner.attributes, name, value, node)
            return
        cure = "set it once before, or return the new value"
        error = self.unsupported("DJ127", f"attribute `{name}` of {describe(owner)} is assigned", node, cure)
        if isinstance(owner, av.Bound) or (isinstance(owner, Value) and not hasattr(np.ndarray, name)):
            error.python = AttributeError  # numbers, arrays and methods take no attributes; labelled arrays do
        raise error

    def delete_attribute(self, owner: Any, name: str, node: Any) -> None:
        """`del owner.name`, of an object that the program has made: it has none then, or that of its class."""
        held = self.contents(owner) if isinstance(owner, av.Ref) and not isinstance(owner, av.Handle) else None
        if not isinstance(held, av.ObjC) or owner.uid in self.sites.outside or owner in self.dict_owners.values():
            cure = "make the object inside, or set the attribute to None"
            raise self.unsupported("DJ101", f"`del` of an attribute of {describe(owner)}", node, cure)
        found = self.class_lookup(held.cls, name)
        own_way = self.class_lookup(held.cls, "__delattr__") is not object.__delattr__
        if own_way or self.descriptor(held.cls, name, "__delete__") is not None:
            raise self.unsupported("DJ101", "`del` of an attribute of a class that says itself what that does", node)
        if isinstance(found, property) and found.fdel is not None:
            self.call(self.accessor(found.fdel, held.cls), [owner], {}, node)
            return
        self.plain_attribute(owner, held, name, node)  # raises where there is none
        if name not in held.fields:
            raise self.type_problem("DJ317", f"attribute `{name}` is one of the class", node, python=AttributeError)
        self.write(owner, dataclasses.replace(held, fields={n: v for n, v in held.fields.items() if n != name}))


def _owner(cls: type, name: str) -> type | None:
    """Whose attribute a program reads; None of the variables of a generator, which are attributes to diffjit."""
    return cls if variable(name) == name else None


_OF_CONSTANTS = frozenset({"numpy", "decimal", "fractions", "packaging"})  # whose objects are made of constants
_MADE_IN_C = (types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType)


def _is_fixed_library(obj: Any) -> bool:
    """Whether the attributes of a module or class hang on the versions of Python and NumPy alone."""
    name = obj.__name__ if isinstance(obj, types.ModuleType) else getattr(obj, "__module__", "")
    return is_library(obj) and name.split(".")[0] not in ("sys", "scipy", "numba")


def _generated_init(cls: type) -> bool:
    """Whether `dataclasses` wrote the method: one of the user's may be from a text without a file, too."""
    init = cls.__dict__.get("__init__") or inspect.getattr_static(cls, "__init__", None)
    code = getattr(init, "__code__", None)
    return code is not None and code.co_qualname.startswith(GENERATED)
