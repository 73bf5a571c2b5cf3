"""Dataclasses: what their generated methods and the functions of `dataclasses` do."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

from diffjit.frontend.calls.classes import FIELDS, HANDED, LOCAL
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.templates import DynList, describe
from diffjit.frontend.values.values import NONE, Static, is_none

OPTIONS = "__diffjit_dataclass__"  # of a local class: the decorator's arguments
GENERATED = "__create_fn__.<locals>."  # with this begins what `dataclasses` calls the code that it writes


def _init_of(cls: type, *args: Any, **kwargs: Any) -> None:
    """The `__init__` that `dataclasses` wrote for a class."""
    cls.__init__(*args, **kwargs)


def _given(field: dataclasses.Field[Any]) -> dict[str, Any]:
    """The arguments of `field`."""
    names = ("init", "compare", "kw_only", "default", "default_factory")
    return {n: v for n in names if (v := getattr(field, n)) is not dataclasses.MISSING}


def parameters_of(cls: Any) -> dict[str, dict[str, Any]]:
    """What a generated `__init__` takes, in its order: fields, and what it hands on to `__post_init__` (`InitVar`)."""
    constants = {n for n, f in cls.__dataclass_fields__.items() if f._field_type.name == "_FIELD_CLASSVAR"}  # noqa: SLF001
    return {n: _given(f) for n, f in cls.__dataclass_fields__.items() if n not in constants}


def by_place(fields: dict[str, dict[str, Any]]) -> list[str]:
    """The fields that a generated `__init__` takes by place."""
    return [n for n, options in fields.items() if options["init"] and not options.get("kw_only")]


class DataclassCalls(Mixin):
    """Mixin of the interpreter: dataclasses."""

    @core(dataclasses.dataclass)
    def dc_dataclass(self, cls: Any = NONE, **options: Any) -> Any:
        if is_none(cls):
            return av.Partial(Static(dataclasses.dataclass), (), options)
        if cls.obj.__module__ != LOCAL:
            raise self.unsupported(
                "DJ113", "a class from outside made a dataclass here", None, "decorate it where it is defined"
            )
        setattr(cls.obj, OPTIONS, {name: option.obj for name, option in options.items()})
        cls.obj.__match_args__ = tuple(n for n, given in self._local_parameters(cls.obj).items() if given["init"])
        return cls

    @core(dataclasses.field)
    def dc_field(self, **options: Any) -> Any:
        return av.Descriptor("field", options)

    def dataclass_fields(self, cls: type) -> dict[str, dict[str, Any]]:
        """The fields of a dataclass, each with the arguments of `field`."""
        if not hasattr(cls, OPTIONS):
            return {f.name: _given(f) for f in dataclasses.fields(cls)}  # pyright: ignore[reportArgumentType]
        handed = {n for c in cls.__mro__ for n in vars(c).get(HANDED, ())}
        return {n: given for n, given in self._local_parameters(cls).items() if n not in handed}

    def _local_parameters(self, cls: type) -> dict[str, dict[str, Any]]:
        """What the `__init__` of a dataclass that is defined inside takes."""
        return {n: self._local_field(cls, n) for c in reversed(cls.__mro__) for n in vars(c).get(FIELDS, ())}

    def _local_field(self, cls: type, name: str) -> dict[str, Any]:
        member = getattr(cls, name, None)
        if member is None:
            return {"init": True, "compare": True}
        if not isinstance(member.value, av.Descriptor) or member.value.kind != "field":
            return {"init": True, "compare": True, "default": member.value}
        given = {
            k: getattr(v, "obj", v) if k in ("init", "compare", "kw_only") else v
            for k, v in member.value.function.items()
        }
        return {"init": True, "compare": True, **given}

    def dataclass_init(self, ref: av.Ref, cls: type, args: list[Any], kwargs: dict[str, Any], node: Any) -> None:
        """What the generated __init__ of a dataclass does."""
        local = hasattr(cls, OPTIONS)
        fields = self._local_parameters(cls) if local else parameters_of(cls)
        lift = (lambda v: v) if local else self.lift_static
        names = [n for n, options in fields.items() if options["init"]]
        places = by_place(fields)
        given = dict(zip(places, args, strict=False)) | kwargs
        values: dict[str, Any] = {}
        for name, options in fields.items():
            if name in given:
                values[name] = given[name]
            elif "default" in options:
                values[name] = lift(options["default"])
            elif "default_factory" in options:
                values[name] = self.call(lift(options["default_factory"]), [], {}, node)
        unknown = [n for n in given if n not in names]
        missing = [n for n in names if n not in values]
        if unknown or missing or len(args) > len(places):
            problem = (
                f"needs the field `{missing[0]}`" if missing else f"has no field `{unknown[0]}`" if unknown else ""
            )
            problem = problem or f"takes {len(places)} fields by place, not {len(args)}"
            raise self.type_problem("DJ306", f"`{cls.__name__}` {problem}", node, python=TypeError)
        kept = self.dataclass_fields(cls)
        handed = [values.pop(n) for n in fields if n not in kept]
        held, own = self.contents(ref), {n: v for n, v in values.items() if self.descriptor(cls, n, "__set__") is None}
        self.once(lambda: self.write(ref, dataclasses.replace(held, fields={**held.fields, **own})))
        for name in [n for n in values if n not in own]:
            self.call_method(self.descriptor(cls, name, "__set__"), "__set__", [ref, values[name]])
        if self.class_has(cls, "__post_init__"):
            self.call_method(ref, "__post_init__", handed)

    def generated_init(self, cls: type, function: Any) -> Any:
        """The `__init__` that `dataclasses` wrote for a class or one of its bases; None of other functions."""
        code = getattr(function, "__code__", None)
        if code is None or code.co_name != "__init__" or not code.co_qualname.startswith(GENERATED):
            return None
        home = next(c for c in cls.__mro__ if vars(c).get("__init__") is function)
        return av.Partial(Static(_init_of), (Static(home),), {})

    @core(_init_of)
    def dc_init(self, cls: Any, ref: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.dataclass_init(ref, cls.obj, list(args), kwargs, None)
        return NONE

    def compares_by_fields(self, cls: type, kind: str) -> bool:
        """Whether a dataclass's generated method decides a comparison."""
        options = getattr(cls, OPTIONS, None)
        if options is None:
            return False
        return options.get("eq", True) if kind in ("equal", "not_equal") else options.get("order", False)

    def dataclass_object(self, value: Any, function: str) -> Any:
        """The class of a dataclass's instance."""
        cls = self.object_class(value)
        if not _is_dataclass(cls):
            problem = f"{function}() of {describe(value)}, which is no dataclass's instance"
            raise self.type_problem("DJ308", problem, python=TypeError)
        return cls

    @core(dataclasses.replace)
    def dc_replace(self, obj: Any, /, **changes: Any) -> Any:
        cls = self.dataclass_object(obj, "replace")
        names = [n for n, options in self.dataclass_fields(cls).items() if options["init"]]
        kept = {n: self.get_attribute(obj, n) for n in names if n not in changes}
        return self.instantiate(cls, [], {**kept, **changes}, None)

    @core(dataclasses.asdict)
    def dc_asdict(self, obj: Any) -> Any:
        self.dataclass_object(obj, "asdict")
        return self.without_classes(obj, lambda items: self.new(av.DictC(items)))

    @core(dataclasses.astuple)
    def dc_astuple(self, obj: Any) -> Any:
        self.dataclass_object(obj, "astuple")
        return self.without_classes(obj, lambda items: av.Tup(tuple(items.values())))

    def without_classes(self, value: Any, make: Any) -> Any:
        """A copy in which dataclasses' instances are dicts or tuples."""
        cls = self.object_class(value)
        if cls is not None and _is_dataclass(cls):
            names = self.dataclass_fields(cls)
            return make({n: self.without_classes(self.get_attribute(value, n), make) for n in names})
        held = self.contents(value) if isinstance(value, av.Ref) else None
        if isinstance(held, av.ListC):
            return self.new(av.ListC(tuple(self.without_classes(i, make) for i in held.items)))
        if isinstance(held, av.DictC):
            return self.new(
                dataclasses.replace(held, items={k: self.without_classes(v, make) for k, v in held.items.items()})
            )
        if isinstance(value, av.Tup):
            return av.Tup(tuple(self.without_classes(i, make) for i in value.items), value.cls)
        if isinstance(held, DynList) and self.is_live(held):
            self.only_grows(held)
        return self.cp_deepcopy(value)

    @core(dataclasses.fields)
    def dc_fields(self, class_or_instance: Any) -> Any:
        plain = isinstance(class_or_instance, Static)
        cls = class_or_instance.obj if plain else self.dataclass_object(class_or_instance, "fields")
        if hasattr(cls, OPTIONS):
            return av.Tup(tuple(Static(types.SimpleNamespace(name=name)) for name in self.dataclass_fields(cls)))
        return av.Tup(tuple(map(Static, dataclasses.fields(cls))))  # pyright: ignore[reportArgumentType]

    @core(dataclasses.is_dataclass)
    def dc_is_dataclass(self, obj: Any) -> Any:
        return Static(_is_dataclass(obj.obj if isinstance(obj, Static) else self.object_class(obj)))


def _is_dataclass(cls: Any) -> bool:
    return cls is not None and (dataclasses.is_dataclass(cls) or hasattr(cls, OPTIONS))
