"""Objects, lists and dicts from outside that a program changes: a counter of calls, `self.w_` of a `fit`, a history.

    class Model:                                   dj.jit(model.loss)(w): model.calls is one more afterwards
        def loss(self, w):                         dj.grad(model.loss)(w): model is as it was, as an argument would be
            self.calls += 1

Where a program turns out to change one, specialisation starts again: the object is there from the start, an object like
those that the program makes, with the attributes that will be changed. What it holds in the end is given back by the
function itself; a derivative works on copies. Such an object must be no part of the arguments.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.errors import MemoryProblem
from diffjit.frontend.calls.classes import LOCAL
from diffjit.frontend.entry.lift import Guard, array_type
from diffjit.frontend.entry.outputs import Apart, Change, Foreign, Same
from diffjit.frontend.entry.places import Absent, AsFloats, Attribute, Cell, Global
from diffjit.frontend.entry.writeback import Arguments, parts
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.nodes import kinds_among
from diffjit.frontend.values.templates import DynList, Leaf, Learn, describe
from diffjit.frontend.values.values import Static
from diffjit.ir.nodes import Value
from diffjit.ir.types import FLOAT, Scalar

_CALLER = ("caller",)  # the owner of names outside of all frames
_FLOATS: dict[Any, Scalar] = {float: FLOAT, np.float64: Scalar(np.dtype(np.float64))}


class ChangedOutside(Mixin):
    """Mixin of the interpreter: what lives outside and is changed."""

    def init_changed(self) -> None:
        """Nothing is known to be changed."""
        self.taken_for_several: set[int] = set()  # containers of which the program has asked whether they are one
        self.given_once: dict[int, Any] = {}  # trees of containers that the caller gets
        self.given_places: dict[int, tuple[Any, ...]] | None = None  # of containers among the arguments
        self.of_call = False  # whether these results are those of a call inside, which goes on with them
        self.within: Callable[[av.Ref], av.Ref | None] | None = None  # of a call: which container its caller has
        self.outside_places: dict[int, tuple[Any, Any, Callable[[], Any]]] = {}  # key, object and getter
        self.before: dict[int, Any] = {}  # what a changed object held at the start
        self.dict_owners: dict[int, av.Ref] = {}  # what `obj.__dict__` gave -> the object
        self.drafts: dict[type, av.Ref] = {}  # classes in arenas without a form yet -> an object that is being made
        self.disordered: dict[int, tuple[av.Poison, av.Ref]] = {}  # `list(items)` of a set -> its form, and the items
        self.names_before: dict[Any, Any] = {}  # and what a variable was
        self.namespaces: dict[int, av.Scope] = {}  # what `globals()` gave -> where these variables are looked up
        self.long_lists: dict[Value, tuple[Any, Any, Callable[[], Any]]] = {}  # lists that are taken for arrays

    def known_container(self, key: Any, value: Any, getter: Callable[[], Any]) -> Any:
        """The list or dict that was met at another place already; it matters where some are changed."""
        if not self.learned.changed:
            return None
        self.guards[key, "same"] = Guard(lambda: getter() is value, True)
        return self.objects.get(id(value))

    def outside_change(self, ref: av.Ref, held: Any, contents: Any) -> Exception:
        """What to raise where something from outside is changed: it can be given back, or it is refused."""
        place = self.outside_places.get(ref.uid)
        if ref.uid in self.namespaces:
            cure = "assign the variables by their names, or `globals()[name] = value`"
            return self.error(MemoryProblem("DJ127", "the variables of a module are changed as a dict", cure=cure))
        if place is None:
            cure = "copy it inside the function, or return the new value"
            message = f"{describe(held)} that lives outside the function is changed"
            return self.error(MemoryProblem("DJ127", message, cure=cure))
        names = frozenset[str]()
        if isinstance(contents, av.ObjC):
            names = frozenset(n for n, v in contents.fields.items() if held.fields.get(n) is not v)
        return self._learned(place, names)

    def _learned(self, place: tuple[Any, Any, Callable[[], Any]], names: frozenset[str]) -> Learn:
        key, value, getter = place
        known = self.learned.changed.get(key)
        return Learn("changed", {key: (value, getter, names if known is None else names | known[2])})

    def learn_attributes(self, ref: av.Ref, held: Any, contents: Any) -> None:
        """Attributes that an object has at the start are there on all paths, whichever change them."""
        if isinstance(contents, av.ObjC):
            place = self.outside_places[ref.uid]
            new = [n for n in contents.fields if n not in held.fields and n in tree.attributes(place[1])]
            if new:
                raise self._learned(place, frozenset(new))

    def long_list(self, array: Value, name: str) -> None:
        """A long list of numbers outside is taken for an array, unless a method of lists is called."""
        place = self.long_lists.get(array)
        if place is not None and hasattr(list, name):
            raise self._learned(place, frozenset())

    def hold(self, arguments: list[Any], places: dict[int, tuple[Any, ...]]) -> None:
        """The caller's names for what is among the arguments: whichever variables stand for it, it sees the changes."""
        self.given_places = places
        for k, value in enumerate(arguments):
            if isinstance(value, (av.Ref, av.Tup)):
                self.cells["v", _CALLER, str(k)] = value

    def itself(self, ref: Any) -> Same | Foreign | None:
        """What stands for a container that exists already, of a function that gives the caller this very one."""
        if self.given_places is None or not isinstance(ref, av.Ref):
            return None
        if self.within is not None:
            known = self.within(ref)
            return None if known is None else Foreign(known)
        if ref.uid in self.outside_places:
            self.portable = False
            return Same((("outside", self.outside_places[ref.uid][2]),))
        place = self.given_places.get(ref.uid)
        return None if place is None else Same(place)

    @contextmanager
    def results_of_call(self, within: Callable[[av.Ref], av.Ref | None] | None) -> Iterator[None]:
        """Around the results of a call inside: what its caller has already is given itself, or all is copied (None)."""
        before = self.given_places, self.given_once, self.within, self.of_call
        self.given_places, self.given_once, self.within = None if within is None else {}, {}, within
        self.of_call = True
        try:
            yield
        finally:
            self.given_places, self.given_once, self.within, self.of_call = before

    def give_once(self, ref: av.Ref, made: Any) -> None:
        """The tree of a new container, which is one object at however many places; derivatives take these apart."""
        if self.given_places is not None:
            self.given_once[ref.uid] = made

    def is_given_back(self, key: tuple[Any, ...]) -> bool:
        """Whether a cell is of what lives outside of all programs."""
        given = key[0] == "v" and key[1:] in self.names_before and not self._is_made_inside(key[1:])
        return given or (key[0] == "h" and key[1] in self.before)

    def _is_made_inside(self, key: tuple[Any, ...]) -> bool:
        """Whether an attribute that the program sets is one of a class that it defines itself."""
        scope, _, setter = self.learned.assigned[key]
        return scope is None and _is_local(setter())

    # Variables

    def assigned_outside(self, name: str, scope: av.Scope) -> Any:
        """The owner of a variable outside that the program assigns; None of others."""
        if not self.learned.assigned:
            return None
        owner = _owner(name, scope)[0]
        return owner if (owner, name) in self.names_before else None

    def assign_outside(self, name: str, scope: av.Scope, value: Any, node: Any) -> None:
        """`global name` and `nonlocal name`, of a variable that is there when the program starts, or is not yet."""
        owner, place, setter = _owner(name, scope)
        if self.rule_mode:
            raise self.unsupported("DJ120", f"`{name}` lives outside a rule and is assigned in it", node, "return it")
        if place is None and hasattr(builtins, name):  # other functions of the module mean Python's before
            cure = "give the variable another name, or assign it once before"
            raise self.unsupported("DJ120", f"`{name}`, which is Python's own, is assigned as a global", node, cure)
        if (owner, name) not in self.names_before:
            if self._is_so_already(owner, name, place, value):
                return
            raise Learn("assigned", {(owner, name): (scope, place, setter)})
        self.cells["v", owner, name] = value

    def _is_so_already(self, owner: Any, name: str, place: Any, value: Any) -> bool:
        """Whether a variable is this very object each time the program starts: `global np; import numpy as np`."""
        if place is None or not isinstance(value, Static) or place() is not value.obj:
            return False
        self.guards["assigned", owner, name] = Guard(place, value.obj)
        self.portable = False
        return True

    def set_static_attribute(self, obj: Any, name: str, value: Any) -> bool:
        """`Model.calls = value`, `f.calls = value`, `config.debug = value`; False where there is no such place.

        Functions and modules need not have it yet; classes must, where instances look for their attributes.
        """
        if not isinstance(obj, (type, types.ModuleType, types.FunctionType)) or self.rule_mode:
            return False
        if isinstance(vars(obj).get(name), (types.FunctionType, property)):
            return False
        if name not in vars(obj) and (isinstance(obj, type) or hasattr(obj, name)):
            return False  # of a class: its own, not one that it has from another
        if _is_local(obj):
            own = vars(obj)[name].value if isinstance(vars(obj)[name], av.Member) else None
            if name.startswith("__") or isinstance(own, av.Descriptor) or isinstance(value, av.Descriptor):
                return False  # Python asks the class for these, and not by reading an attribute
        owner = ("global", id(vars(obj))) if isinstance(obj, types.ModuleType) else ("attribute", id(obj))
        if (owner, name) not in self.names_before:
            raise Learn("assigned", {(owner, name): (None, Attribute(obj, name), lambda: obj)})
        self.cells["v", owner, name] = value
        return True

    def static_attribute_set(self, obj: Any, name: str) -> Any:
        """The owner of an attribute of a class, function or module that the program sets; None of others."""
        if not self.learned.assigned:
            return None
        module = isinstance(obj, types.ModuleType)
        owner = ("global", id(vars(obj))) if module else ("attribute", id(_home(obj, name)))
        return owner if (owner, name) in self.names_before else None

    def _take_in_assigned(self) -> None:
        for (owner, name), (scope, place, setter) in self.learned.assigned.items():
            if self._is_made_inside((owner, name)):  # it has a value where the class is defined
                self.cells["v", owner, name] = self.names_before[owner, name] = av.UNBOUND
                continue
            if place is None or (scope is None and not hasattr(setter(), name)):
                absent = Absent(scope.namespace, name) if scope is not None else Absent(vars(setter()), name)
                self.guards["absent", owner, name] = Guard(absent, True)
                self.cells["v", owner, name] = self.names_before[owner, name] = av.UNBOUND
                self.portable = False
                continue
            if scope is None:
                value = self.lift_at(("variable", owner, name), place(), place, keep=place)
            else:
                value = self.lift_name(name, scope, None)
            self.cells["v", owner, name] = self.names_before[owner, name] = value
            self.portable = False

    def take_in_changed(self) -> None:
        """At the start of a program: what an earlier attempt has found to be changed.

        Lists that grow come first: what is lifted later may hold them (`state["log"]`), and finds them again.
        """
        changed = self.learned.changed.items()
        grown = {key: self._grown_outside(key, *found) for key, found in changed}
        self._take_in_assigned()
        for key, (value, getter, names) in changed:
            ref = grown[key]
            if ref is None:
                ref = self.lift_at(key, value, getter)
                held = self.sites.outside.pop(ref.uid, None)
                if held is None:  # one object, by another key
                    held = self.cells["h", ref.uid]
                self.cells["h", ref.uid] = held
            self.outside_places[ref.uid] = key, value, getter
            self.sites.made.add(ref.uid)
            self.sites.of[ref.uid] = ("outside", key)
            if names:
                held = self.cells["h", ref.uid]
                own = [n for n in sorted(names) if n in tree.attributes(value)]
                fields = {n: self.object_attribute(ref, held, n, None) for n in own}
                self.cells["h", ref.uid] = replace(held, fields={**held.fields, **fields})
            self.before[ref.uid] = self.cells["h", ref.uid]
            self.portable = False

    def item_type(self, key: Any, value: list[Any]) -> Scalar | None:
        """The one type of the floats in a list that grows at run time, whose length is no part of the program then."""
        elem = self.sites.hints.get(("outside", key))
        types: set[Any] = {_FLOATS.get(type(x)) for x in value}
        types |= {elem.type if isinstance(elem, Leaf) and elem.type in _FLOATS.values() else None} if elem else set()
        return types.pop() if len(types) == 1 else None

    def _grown_outside(self, key: Any, value: Any, getter: Callable[[], Any], _: frozenset[str]) -> av.Ref | None:
        """A list of floats from outside that grows, filled from an array; None of what is none."""
        ty = self.item_type(key, value) if isinstance(value, list) else None
        if ty is None:
            return None
        ref = self.objects[id(value)] = av.Ref()
        kind = next(cls for cls, known in _FLOATS.items() if known == ty)
        self.guards[key, "kind"] = Guard(lambda: all(type(x) is kind for x in getter()), True)
        self.guards[key, "same"] = Guard(lambda: getter() is value, True)
        self.lifted[key] = ref
        given = self.capture((key, "items"), array_type(np.array(value, float)), AsFloats(getter), None)
        held = self.dynamic((), Leaf(ty), ("outside", key))
        self.cells["h", ref.uid] = held

        def enter(k: Value) -> None:
            item = self.build.value("load", [given, k], Scalar(given.type.dtype))
            self.build.op("list_append", [held.lists[0], self.cast(item, ty.dtype, weak=ty.weak)])

        self.counted(self.number(self.dim(given, 0)), enter)
        return ref

    # In the end

    def given_back(self, output: Callable[[Any], Any]) -> list[Change]:
        """What the program leaves in objects from outside."""
        changes: list[Change] = []
        for (owner, name), before in self.names_before.items():
            if self._is_made_inside((owner, name)):
                continue
            value = self.cells["v", owner, name]
            made: Any = True
            if isinstance(value, av.Maybe):  # new outside, and given a value on some paths
                made, value = output(value.bound), value.value
            if value is not before:
                setter = self.learned.assigned[owner, name][2]
                changes.append(Change((("outside", setter),), "variable", {name: self._part(value, output)}, made))
        for uid, before in self.before.items():
            held = self.sites.held(self.cells, uid)
            if held is before and not isinstance(held, DynList):
                continue
            path = (("outside", self.outside_places[uid][2]),)
            if isinstance(held, DynList):
                changes.append(Change(path, "list", output(held)))
            elif isinstance(held, av.Poison):
                raise MemoryProblem("DJ127", f"an object outside that is changed becomes {held.reason}",
                                    cure="give it one form on all paths")  # fmt: skip
            elif isinstance(held, av.ObjC):
                new = {n: v for n, v in held.fields.items() if before.fields.get(n) is not v}
                changes.append(Change(path, "attributes", {n: self._part(v, output) for n, v in new.items()}))
            else:
                items = [(step[1], self._part(v, output)) for step, v in parts(held)]
                kind = "list" if isinstance(held, av.ListC) else "set" if held.is_set else "dict"
                changes.append(Change(path, kind, [v for _, v in items] if kind == "list" else dict(items)))
        return changes

    def _part(self, value: Any, output: Callable[[Any], Any]) -> Any:
        """One part: what came from outside stays itself."""
        getter = next((c.getter for c in self.captures.values() if c.param is value), None)
        if isinstance(value, Value) and getter is not None:
            return Same((("outside", getter),))
        return output(value)

    def to_be_apart(self, given: Arguments) -> Apart | None:
        """What of the arguments is changed or compared, and what is read outside, where there is both."""
        outside = [getter for _, held, getter in self.outside_places.values() if not isinstance(held, tuple)]
        inside = [path for uid, path in given.places.items() if uid in self.taken_for_several or given.changed(uid)]
        return Apart(inside, outside) if inside and outside else None

    def same_object(self, left: av.Ref, right: av.Ref) -> bool:
        """Whether two names are of one object: an item that was read, or what paths joined, may be any of its kind."""
        if self.sites.twins.get(left.uid, left.uid) == self.sites.twins.get(right.uid, right.uid):
            return True
        known = self.sites.made | self.sites.outside.keys()
        if left.uid == right.uid or (left.uid in known and right.uid in known):
            self.taken_for_several |= {left.uid, right.uid}
            return left.uid == right.uid
        if self.object_class(left) is not self.object_class(right):
            return False
        cure = "give each object a number of its own, and compare those"
        error = self.unsupported("DJ121", "whether these are one object, which is only known at run time", None, cure)
        raise self.in_arenas(kinds_among(self.contents(left), self.contents(right)), error)

    def changed_outside(self) -> list[Any]:
        """The objects outside that the program changes."""
        return [self.outside_places[uid][1] for uid in self.before]


def _is_local(obj: Any) -> bool:
    """Whether an object is a class that the program defines."""
    return isinstance(obj, type) and obj.__module__ == LOCAL


def _home(obj: Any, name: str) -> Any:
    """The class that has an attribute, of a class; else the object itself."""
    return next((c for c in obj.__mro__ if name in vars(c)), obj) if isinstance(obj, type) else obj


def _owner(name: str, scope: av.Scope) -> tuple[Any, Any, Any]:
    """Where a variable outside is: an identity, how it is read, and what it is set in."""
    function = scope.pyfunc
    if function is not None and name in function.__code__.co_freevars:
        index = function.__code__.co_freevars.index(name)
        cell = function.__closure__[index]
        return ("cell", id(cell)), Cell(function, index), lambda: cell
    found = Global(scope.namespace, name) if name in scope.namespace else None
    return ("global", id(scope.namespace)), found, lambda: scope.namespace
