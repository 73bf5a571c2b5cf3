"""Subscripts: reading and writing elements, slices, masks and index arrays, on arrays and on containers."""

from __future__ import annotations

import collections
import operator
from dataclasses import replace
from typing import Any

import numpy as np

from diffjit import tree
from diffjit.errors import TypeProblem
from diffjit.frontend.kernels.words import is_kernel
from diffjit.frontend.numpy.arith import broadcast_dims, may_fit, shape_text
from diffjit.frontend.numpy.index_tricks import is_index_trick
from diffjit.frontend.objects.lists import split_slice
from diffjit.frontend.objects.members import gives_items
from diffjit.frontend.outside.surroundings import is_surroundings
from diffjit.frontend.syntax.frames import NeedStatic, whole
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.syntax.operators import is_exact
from diffjit.frontend.values import values as av
from diffjit.frontend.values.lengths import Lengths
from diffjit.frontend.values.mixed import BECOME_FLOATS
from diffjit.frontend.values.sums import for_each
from diffjit.frontend.values.templates import DynList, describe
from diffjit.frontend.values.values import NONE, Static, is_none
from diffjit.ir.build import scalar_type_of
from diffjit.ir.nodes import Value
from diffjit.ir.types import BOOL, FLOAT, INT, Array, Dim, Scalar
from diffjit.primitives.library import containers


class Indexing(Mixin):
    """Mixin of the interpreter: subscripts."""

    length_facts: Lengths

    def get_item(self, owner: Any, index: Any, node: Any = None) -> Any:
        """`owner[index]`."""
        found = self._item_at(owner, index, node)
        if isinstance(found, av.Maybe):
            return self.bound(found, "of an item")
        if isinstance(found, av.Ref) and isinstance(owner, av.Ref):
            self.remember_choice(found, owner)
        return found

    @for_each
    def _item_at(self, owner: Any, index: Any, node: Any) -> Any:
        if isinstance(owner, av.Opt) or (isinstance(index, av.Opt) and not self.may_have_none(owner)):
            return self.get_item(self.certain(owner), self.certain(index), node)
        if (variable := self.variable_at(owner, index, node)) is not None:
            return variable
        index = self.as_index(owner, index)
        if isinstance(owner, Static) and is_kernel(owner.obj):
            return self.configured(owner.obj, index, node)
        if isinstance(owner, Static) and gives_items(owner.obj):
            return self.item_given(owner, index, node)
        if isinstance(owner, Static) and self.wrong_type(owner) is None:
            if is_index_trick(owner.obj):
                return self.index_trick(owner.obj, index, node)
            if is_surroundings(owner.obj) and isinstance(index, Static):
                return self.answer(owner.obj.__getitem__, (index.obj,))
            if self.is_field(owner.obj, index):
                return self.lift_field(owner.obj, index.obj)
            if isinstance(owner.obj, np.ndarray) and not tree.is_of_others(owner.obj):
                owner = self.lift_constant(owner.obj)
            elif isinstance(index, Static):
                return self.lift_static(self._known_item(owner.obj, index.obj, node))
            elif isinstance(index, av.Slice):
                return Static(owner.obj[self.static_slice(index, node)])
            elif isinstance(owner.obj, type) or type(owner.obj).__module__ == "typing":
                return self._alias(owner, index)
            else:
                return self.get_item(av.Tup(tuple(self.lift_static(x) for x in owner.obj)), index, node)
        if isinstance(owner, Value) and isinstance(owner.type, Array):
            return self.part_of_flat(owner, index, node) if self.is_flat(owner) else self.array_get(owner, index, node)
        if isinstance(owner, Value):
            if isinstance(index, av.Tup) and not index.items and not self.lacks(owner, "__getitem__", TypeError):
                return self.own_number(owner)
            if not owner.type.weak and (self._only_axes(index) or self._is_bool(index)):  # as an array without axes
                return self.array_get(self.array_from(owner), index, node)
            python = TypeError if owner.type.weak else IndexError  # of Python's numbers, and of NumPy's
            raise self.type_problem("DJ314", "a number cannot be indexed", node, python=python)
        if isinstance(owner, av.Tup) and owner.cls is not None:
            own = self.class_lookup(owner.cls, "__getitem__")
            if tree.is_function(own):
                return self.call(self.method_fn(own, owner.cls), [owner, index], {}, node)
        if isinstance(owner, av.Tup) and self.is_cut(part := av.ListC(owner.items), index):
            return self.part_of_tuple(self.dyn_get(self.as_growing(part), index, node))
        if isinstance(owner, av.Tup):
            return self.sequence_get(list(owner.items), index, node, lambda items: av.Tup(tuple(items)))
        if isinstance(owner, av.Range):
            return self.range_get(owner, index, node)
        if isinstance(owner, av.Ref):
            held = self.contents(owner)
            if self.is_cut(held, index):
                return self.dyn_get(self.as_growing(held), index, node)
            if isinstance(held, av.ListC):
                if not held.items and isinstance(index, Value) and self.loops and owner.uid in self.sites.of:
                    raise self.grows(owner)  # filled later in the loop, unless it is from outside
                make = lambda items: self.new(av.ListC(tuple(items)))  # noqa: E731
                return self.sequence_get(list(held.items), index, node, make, "list")
            if isinstance(held, DynList):
                return self.same_kind(held, self.dyn_get(owner, index, node), index)
            if isinstance(held, av.DictC) and held.is_set:
                raise self.type_problem("DJ314", "a set cannot be indexed", node, python=TypeError)
            if isinstance(held, av.DictC):
                return self.dict_item(owner, held, index, node)
            return self.call_method(owner, "__getitem__", [index])
        if isinstance(owner, av.Format):
            raise self.letters([owner], "an index", node)
        problem = f"{describe(owner)} cannot be indexed"
        raise self.type_problem("DJ314", problem, node, python=self.wrong_type(owner))

    def _alias(self, owner: Static, index: Any) -> Static:
        """A type with parameters, such as `Union[int, None]`; where these are not known, without them."""
        parts = [i.obj if isinstance(i, Static) else None for i in index.items] if isinstance(index, av.Tup) else [None]
        return Static(owner.obj[tuple(parts)]) if None not in parts else owner

    def _known_item(self, obj: Any, key: Any, node: Any) -> Any:
        """A letter of a text, a member of an enum, an item of an array of objects; or what Python raises."""
        try:
            return obj[key]
        except KeyError:
            self.out_of_range(Static(key), KeyError)
        except IndexError as error:
            self.out_of_range(str(error))
        except TypeError as error:
            raise self.type_problem("DJ314", str(error), node, python=TypeError) from None

    @for_each
    def set_item(self, owner: Any, index: Any, value: Any, node: Any = None) -> None:
        """`owner[index] = value`."""
        if isinstance(owner, av.Opt) or isinstance(index, av.Opt):
            self.set_item(self.certain(owner), self.certain(index), value, node)
            return
        if self.is_name_in(owner, index):
            self.assign_outside(index.obj, self.namespaces[owner.uid], value, node)
            return
        index = self.as_index(owner, index)
        if isinstance(owner, Value) and isinstance(owner.type, Array):
            if owner in self.flat_of:
                self.write_flat(self.flat_of[owner], lambda made: self.array_set(made, index, value, node))
            else:
                self.array_set(owner, index, value, node)
            return
        if isinstance(owner, av.Ref):
            held = self.made_growing(owner, index)
            if isinstance(held, av.ListC):
                self.list_set(owner, held, index, value, node)
                return
            if isinstance(held, DynList):
                self.dyn_set(owner, index, value, node)
                return
            if isinstance(held, av.DictC):
                self.dict_set(owner, held, index, value, node)
                return
            self.call_method(owner, "__setitem__", [index, value])
            return
        if isinstance(owner, Value):
            self.need_array(owner)
        python = TypeError if isinstance(owner, av.Tup) else self.wrong_type(owner)
        raise self.type_problem("DJ314", f"{describe(owner)} cannot be assigned into", node, python=python)

    def certain(self, value: Any) -> Any:
        """A value that may be None, where it must not be."""
        return self.not_none(value) if isinstance(value, av.Opt) else value

    def delete_item(self, owner: Any, index: Any, node: Any) -> None:
        """`del owner[index]`."""
        held = self.made_growing(owner, index) if isinstance(owner, av.Ref) else None
        if isinstance(held, av.DictC):
            self.dict_pop(owner, index)
        elif isinstance(held, av.ObjC):
            self.call_method(owner, "__delitem__", [index])
        elif isinstance(held, av.ListC):
            items = list(held.items)
            part = self.static_slice(index, node) if isinstance(index, av.Slice) else None
            place = self.static_int(index, "the index", node) if part is None else 0
            if not -len(items) <= place < len(items) and part is None:
                self.out_of_range("list assignment index out of range")
            del items[place if part is None else part]
            self.write(owner, replace(held, items=tuple(items)))
        elif isinstance(held, DynList):
            if isinstance(index, av.Slice):
                self.call_plain(containers.delete_slice, owner, *split_slice(index), node=node)
            else:
                self.dyn_pop(owner, index)
        else:
            raise self.unsupported("DJ101", "`del` of this item", node)

    # Containers of known length

    def static_slice(self, index: av.Slice, node: Any) -> slice:
        """A slice whose bounds are known while specialising."""
        parts = [
            None if is_none(p) else self.static_int(p, "a slice bound of a list or tuple", node)
            for p in (index.start, index.stop, index.step)
        ]
        self.raise_if(Static(parts[2] == 0), ValueError, "slice step cannot be zero")
        return slice(*parts)

    def sequence_get(self, items: list[Any], index: Any, node: Any, rebuild: Any, what: str = "tuple") -> Any:
        """Indexing of a list or tuple of known length."""
        if isinstance(index, av.Slice):
            return rebuild(items[self.static_slice(index, node)])
        if isinstance(index, Value):
            if not items and isinstance(index.type, Scalar) and index.type.dtype.kind in "biu":
                self.out_of_range(f"{what} index out of range")  # whatever it is
            return self.select_item(items, index, node)
        k = self.static_int(index, "the index", node)
        if not -len(items) <= k < len(items):
            self.out_of_range(f"{what} index out of range")
        return items[k]

    def select_item(self, items: list[Any], index: Value, node: Any) -> Any:
        """A run-time index into a container of known length: numbers of one kind become a small array."""
        if self.can_be_static(index) or not items:
            if (found := self.table_item(items, index)) is not None:
                return found
            error = TypeProblem(
                "DJ307", "this index into a list or tuple must be known before the program runs", cure="use an array"
            )
            raise self.need_static(index, self.error(error, node))
        kinds = {self.kind_of_number(i) for i in items}
        if len(kinds) > 1 or None in kinds:
            return self.select_any(items, index, node)
        found = self.array_get(self.array_from(av.Tup(tuple(items))), index, node)
        return self.as_weak(found) if all(self.is_weak(i) for i in items) else found

    def kind_of_number(self, value: Any) -> Any:
        """Numbers of one kind can share an array; None for anything else."""
        value = av.as_number(value)
        if isinstance(value, Static) and av.is_number(value.obj):
            return (scalar_type_of(value.obj).dtype, self.is_weak(value))
        if isinstance(value, Value) and isinstance(value.type, Scalar):
            return (value.type.dtype, value.type.weak)
        return None

    def dict_item(self, owner: av.Ref, held: av.DictC, index: Any, node: Any) -> Any:
        """`dict[key]`."""
        if self.is_run_time_key(index) and not self.can_be_known(index):
            if held.factory is not None:
                self.known_key(owner, index, node)  # a missing key is entered
            return self.select_key(held.items, index, lambda: self.out_of_range(index, KeyError))
        key = self.known_key(owner, index, node)
        if key in held.items:
            return held.items[key]
        if held.factory is not None:
            value = self.call(held.factory, [], {}, node)
            held = self.contents(owner)
            self.write(owner, replace(held, items={**held.items, key: value}))
            return value
        if held.cls is not None and issubclass(held.cls, collections.defaultdict):
            raise self.unsupported(
                "DJ118", "a missing key of a defaultdict", node, "use a plain dict with `setdefault`"
            )
        self.out_of_range(Static(key), KeyError)
        return NONE

    def select_key(self, items: dict[Any, Any], key: Any, missing: Any) -> Any:
        """A run-time key of a dict with known keys: a chain of branches, of many numbers after halving them."""

        def among(keys: list[Any]) -> Any:
            if len(keys) > _CHAIN:
                middle = len(keys) // 2
                lower = self.truth(self.compare_kind("less", key, self.lift_static(keys[middle])))
                return self.choose(lower, lambda: among(keys[:middle]), lambda: among(keys[middle:]))
            return pick(keys)

        def pick(keys: list[Any]) -> Any:
            if not keys:
                return missing()
            hit = self.equal_keys(key, self.lift_static(keys[0]))
            return self.choose(hit, lambda: items[keys[0]], lambda: pick(keys[1:]))

        ordered = all(isinstance(k, int | float | np.integer | np.floating) and k == k for k in items)  # noqa: PLR0124
        real = isinstance(key, Value) and isinstance(key.type, Scalar) and key.type.dtype.kind in "biuf"
        return among(sorted(items)) if ordered and real and len(items) > _CHAIN else pick(list(items))

    def dict_set(self, owner: av.Ref, held: av.DictC, index: Any, value: Any, node: Any) -> None:
        """`dict[key] = value`."""
        key = self.known_key(owner, index, node)
        self.write(owner, replace(held, items={**held.items, key: value}))

    # Arrays

    def index_items(self, array: Value, index: Any, node: Any) -> list[Any]:
        """The index as one entry per position: int, Slice, None, or an array; ellipsis expanded, masks kept."""
        items = list(index.items) if isinstance(index, av.Tup) else [index]
        out = [self.index_item(item, node) for item in items]
        consumed = sum(
            i.type.ndim if isinstance(i, Value) and isinstance(i.type, Array) and i.type.dtype.kind == "b" else 1
            for i in out
            if i is not None and i is not Ellipsis
        )
        if sum(1 for i in out if i is Ellipsis) > 1:
            raise self.type_problem("DJ314", "an index can only have a single ellipsis", node)
        missing = array.type.ndim - consumed
        if missing < 0:
            raise self.type_problem(
                "DJ314", f"{consumed} indices for an array of {array.type.ndim} dimensions", node, python=IndexError
            )
        full = av.Slice(NONE, NONE, NONE)
        if Ellipsis in [i for i in out if i is Ellipsis]:
            k = next(k for k, i in enumerate(out) if i is Ellipsis)
            out[k : k + 1] = [full] * missing
        else:
            out += [full] * missing
        return out

    def index_item(self, item: Any, node: Any) -> Any:
        if isinstance(item, av.Opt):
            item = self.not_none(item)
        if isinstance(item, av.Slice) or item is None:
            return item
        if isinstance(item, Static):
            if item.obj is None:
                return None
            if item.obj is Ellipsis:
                return Ellipsis
            if isinstance(item.obj, slice):
                return av.Slice(Static(item.obj.start), Static(item.obj.stop), Static(item.obj.step))
            if isinstance(item.obj, (bool, np.bool_)):
                raise self.unsupported("DJ126", "a bool among other indices", node, "use int(...) or a mask array")
            if isinstance(item.obj, (int, np.integer)):
                return Static(int(item.obj))
            if isinstance(item.obj, np.ndarray):
                return self.lift_constant(item.obj)
        if isinstance(item, (av.Tup, av.Ref, av.Range)):
            empty = self.is_sequence(item) and isinstance(n := self.length(item), Static) and n.obj == 0
            item = self.array_from(item, np.int64 if empty else None)  # `a[[]]` takes nothing
        if isinstance(item, Value):
            if isinstance(item.type, Array) and item.type.ndim == 0 and item.type.dtype.kind in "iu":
                item = self.number(item)
            item = self.whole(item, IndexError)
            if item.type == Scalar(np.dtype(np.uint64)):
                return self.to_int(item)  # above 2**63 it is no index, and no negative one
            if item.type.dtype.kind in "iu" or (isinstance(item.type, Array) and item.type.dtype.kind == "b"):
                return item
            if isinstance(item.type, Scalar) and item.type.dtype.kind == "b":
                raise self.unsupported("DJ126", "a bool among other indices", node, "use int(...) or a mask array")
        python = IndexError if isinstance(item, Static | Value) else None
        problem, cure = f"{describe(item)} cannot be an index", "indices are ints, slices, masks and int arrays"
        cure = f"use int(...); {BECOME_FLOATS}" if isinstance(item, Value) and item.type == FLOAT else cure
        error = self.type_problem("DJ314", problem, node, cure=cure, python=python)
        turns = [loop.site for loop in self.loops if loop.can_unroll]
        if turns and isinstance(item, Value) and isinstance(item.type, Scalar):  # an int of a list that gets floats
            raise NeedStatic(error, [("loop", whole(turns[-1]))])
        raise error

    def array_get(self, array: Value, index: Any, node: Any = None) -> Any:
        """`array[index]`."""
        if self._is_bool(index):  # a mask without axes: of a new axis in front
            return self.mask_get(self.array_get(array, NONE), self.array_from(av.Tup((index,))))
        items = self.index_items(array, index, node)
        arrays = [i for i in items if isinstance(i, Value) and isinstance(i.type, Array)]
        if not arrays:
            return self.basic_get(array, items, scalar_ok=not self._has_ellipsis(index))
        if arrays[0].type.dtype.kind == "b" and items[0] is arrays[0] and all(map(_is_full, items[1:])):
            return self.mask_get(array, arrays[0])
        base, spec, indices = self.advanced(array, items, node)
        dims = self.advanced_dims(base, spec, indices)
        ty = Array(array.type.dtype, dims, "C")
        return self.build.value("gather", [base, *indices], ty, spec=spec)

    def _has_ellipsis(self, index: Any) -> bool:
        items = index.items if isinstance(index, av.Tup) else (index,)
        return any(isinstance(i, Static) and i.obj is Ellipsis for i in items)

    def _only_axes(self, index: Any) -> bool:
        items = index.items if isinstance(index, av.Tup) else (index,)
        return all(isinstance(i, Static) and (i.obj is Ellipsis or i.obj is None) for i in items)

    def _is_bool(self, index: Any) -> bool:
        if isinstance(index, Static):
            return isinstance(index.obj, bool | np.bool_)
        return isinstance(index, Value) and isinstance(index.type, Scalar) and index.type.dtype.kind == "b"

    def array_set(self, array: Value, index: Any, value: Any, node: Any = None) -> None:
        """`array[index] = value`."""
        if self._is_bool(index):  # a mask without axes
            value = self.stored_value(value, node, array)
            if array.type.ndim or (isinstance(value.type, Array) and value.type.ndim > 0):
                row = self.array_get(array, NONE)
                self.array_set(row, self.array_from(av.Tup((index,))), value, node)
                return
            self.when(index, lambda: self.array_set(array, av.Tup(()), value, node))
            return
        items = self.index_items(array, index, node)
        arrays = [i for i in items if isinstance(i, Value) and isinstance(i.type, Array)]
        value = self.stored_value(value, node, array)
        if not arrays:
            if (
                all(isinstance(i, (Static, Value)) for i in items)
                and len(items) == array.type.ndim
                and not self._has_ellipsis(index)
            ):
                indices = [self.checked_index(array, k, i) for k, i in enumerate(items)]
                scalar = self.scalar_for_store(array, value, node)
                self.build.op("store", [array, scalar, *indices])
                return
            target = self.basic_get(array, items, scalar_ok=False)
            self.assign_array(target, value, node)
            return
        if arrays[0].type.dtype.kind == "b" and items[0] is arrays[0] and all(map(_is_full, items[1:])):
            if isinstance(value.type, Array) and value.type.ndim > 1 and arrays[0].type.ndim == array.type.ndim:
                message = f"an array of {value.type.ndim} dimensions is written where a mask is True"
                raise self.type_problem("DJ310", message, node, cure="make it one-dimensional", python=TypeError)
            value = self.without_leading(value, array.type.ndim - arrays[0].type.ndim + 1, node)
            self.build.op("mask_set", [array, arrays[0], self.as_dtype(value, array.type.dtype, scattered=True)])
            return
        base, spec, indices = self.advanced(array, items, node)
        value = self.without_leading(value, len(self.advanced_dims(base, spec, indices)), node)
        self.build.op("scatter", [base, self.as_dtype(value, array.type.dtype, scattered=True), *indices], spec=spec)

    def without_leading(self, value: Value, ndim: int, node: Any) -> Value:
        """NumPy lets what is written have further leading dimensions of length 1, and no others."""
        if not isinstance(value.type, Array) or value.type.ndim <= ndim:
            return value
        extra = value.type.ndim - ndim
        if any(d != 1 for d in value.type.dims[:extra]):
            message = f"an array of {value.type.ndim} dimensions is written to a selection of {ndim}"
            cure = "give it the shape of the selection: value.reshape(...)"
            raise self.type_problem("DJ310", message, node, cure=cure, python=ValueError)
        rest = [av.Slice(NONE, NONE, NONE)] * ndim
        return self.basic_get(value, [*([Static(0)] * extra), *rest], scalar_ok=False)

    def stored_value(self, value: Any, node: Any, target: Value | None = None) -> Value:
        """A value about to be written into an array."""
        value = self.none_as_nan(self.as_array(value), None if target is None else target.type.dtype)
        if isinstance(value, (av.Tup, av.Ref, av.Range)):
            return self.array_from(value)
        if isinstance(value, Value) and isinstance(value.type, (Array, Scalar)):
            return value
        if self.is_text(value):  # NumPy reads the number that stands there
            value = self.call(Static(float), [value], {}, node)
        if is_exact(value):  # a fraction or decimal, which NumPy makes a number of its dtype
            whole = target is not None and target.type.dtype.kind in "iu"
            value = self.call(Static(int if whole else float), [value], {}, node)
        return self.number(value, "a number or array")

    def scalar_for_store(self, array: Value, value: Value, node: Any) -> Value:
        if isinstance(value.type, Array):
            if value.type.ndim == 0 or all(d == 1 for d in value.type.dims):
                value = self.item(value)
            else:
                raise self.type_problem("DJ314", "an array is assigned to a single element", node, python=ValueError)
        return self.as_dtype(value, array.type.dtype)

    def assign_array(self, target: Value, value: Any, node: Any = None) -> None:
        """`target[...] = value` for an array reference."""
        source = self.as_dtype(self.stored_value(value, node, target), target.type.dtype)
        if isinstance(source.type, Array) and source.type.ndim > target.type.ndim:
            extra = source.type.ndim - target.type.ndim
            if all(d == 1 for d in source.type.dims[:extra]):
                source = self.basic_get(
                    source, [Static(0)] * extra + [av.Slice(NONE, NONE, NONE)] * target.type.ndim, scalar_ok=True
                )
            else:
                raise self.type_problem(
                    "DJ310",
                    f"an array of {source.type.ndim} dimensions is stored into one of {target.type.ndim}",
                    node,
                    python=ValueError,
                )
        if isinstance(source.type, Array) and not may_fit(source.type.dims, target.type.dims):
            shapes = f"from shape {shape_text(source.type.dims)} into shape {shape_text(target.type.dims)}"
            self.raise_if(Static(True), ValueError, av.inexact(f"could not broadcast input array {shapes}"))
            return
        self.build.op("assign", [target, source])

    def checked_index(self, array: Value, axis: int, index: Any) -> Value:
        """An int index; inside a `try` that catches IndexError, its range is tested first."""
        value = self.number(index)
        if self.catches(IndexError):
            length = self.number(self.dim(array, axis))
            low = self.build.value("greater_equal", [value, self.build.value("negative", [length], INT)], BOOL)
            high = self.build.value("less", [value, length], BOOL)
            fact = ("inside", array, axis, index.obj if isinstance(index, Static) else index)
            ok = self.build.value("logical_and", [low, high], BOOL)
            parts = ("index ", (value, ""), f" is out of bounds for axis {axis} with size ", (length, ""))
            self.guard(ok, IndexError, av.Format(parts), fact)
        return value

    def basic_get(self, array: Value, items: list[Any], *, scalar_ok: bool) -> Value:
        """Basic indexing: an element, or a view."""
        if scalar_ok and all(isinstance(i, (Static, Value)) for i in items):
            indices = [self.checked_index(array, k, i) for k, i in enumerate(items)]
            return self.build.value("load", [array, *indices], Scalar(array.type.dtype))
        spec: list[Any] = []
        inputs: list[Value] = []
        dims: list[Dim] = []
        axis = 0
        contiguous = array.type.layout == "C"
        seen_full = False
        for item in items:
            if item is None:
                spec.append("n")
                dims.append(1)
                continue
            length = array.type.dims[axis]
            if isinstance(item, av.Slice):
                if _is_full(item):
                    spec.append(":")
                    dims.append(length)
                else:
                    parts = tuple(
                        None if is_none(p) else self.slice_bound(p) for p in (item.start, item.stop, item.step)
                    )
                    self.step_of_slice(item.step)
                    spec.append(("s", *(None if p is None else True for p in parts)))
                    inputs += [p for p in parts if p is not None]
                    dims.append(self.slice_length(length, item))
                    contiguous = (
                        contiguous
                        and not seen_full
                        and (is_none(item.step) or (isinstance(item.step, Static) and item.step.obj == 1))
                    )
                seen_full = True
            else:
                spec.append("i")
                inputs.append(self.checked_index(array, axis, item))
                contiguous = contiguous and not seen_full
            axis += 1
        if all(s == ":" for s in spec) and len(spec) == array.type.ndim:
            return self.build.value(
                "view", [array], Array(array.type.dtype, tuple(dims), array.type.layout), spec=tuple(spec)
            )
        layout = "C" if contiguous else "A"
        if array.type.layout == "F" and array.type.ndim == 1:
            layout = "A"
        return self.build.value(
            "view", [array, *inputs], Array(array.type.dtype, tuple(dims), layout), spec=tuple(spec)
        )

    def step_of_slice(self, step: Any) -> None:
        """A step of 0 raises where the slice stands, also where a handler waits or nobody reads the part."""
        if not is_none(step):
            zero = Static(step.obj == 0) if isinstance(step, Static) else self.compare_kind("equal", step, Static(0))
            self.raise_if(zero, ValueError, "slice step cannot be zero")

    def slice_length(self, length: Dim, item: av.Slice) -> Dim:
        """What is known of a slice's length; slices that cut the same number of elements share a symbol."""
        known = lambda p: p.obj if is_none(p) else operator.index(p.obj)  # noqa: E731
        parts = (known(p) if isinstance(p, Static) else p for p in (item.start, item.stop, item.step))
        return self.length_facts.slice(length, *parts)

    def advanced(self, array: Value, items: list[Any], node: Any) -> tuple[Value, tuple[str, ...], list[Value]]:
        """Split an advanced index into a basic view and positions for `gather`/`scatter`."""
        expanded: list[Any] = []
        for item in items:
            if isinstance(item, Value) and isinstance(item.type, Array) and item.type.dtype.kind == "b":
                expanded += list(self.nonzero(item))
            else:
                expanded.append(item)
        basic: list[Any] = []
        spec: list[str] = []
        indices: list[Value] = []
        full = av.Slice(NONE, NONE, NONE)
        for item in expanded:
            if isinstance(item, (av.Slice, type(None))):
                basic.append(item)
                spec.append(":")
            elif isinstance(item, Value) and isinstance(item.type, Array):
                basic.append(full)
                spec.append("a")
                indices.append(item)
            else:
                basic.append(full)
                spec.append("i")
                indices.append(self.number(item))
        del node
        if not all(_is_full(b) for b in basic if b is not None) or None in basic:
            array = self.basic_get(array, basic, scalar_ok=False)
        while spec and spec[-1] == ":" and len(spec) > array.type.ndim:
            spec.pop()
        return array, tuple(spec), indices

    def advanced_dims(self, base: Value, spec: tuple[str, ...], indices: list[Value]) -> tuple[Dim, ...]:
        """The shape of an advanced index: broadcast index dimensions, first or in place as NumPy decides."""
        broadcast = broadcast_dims([i.type.dims for i in indices if isinstance(i.type, Array)])
        positions = [k for k, s in enumerate(spec) if s != ":"]
        kept = [base.type.dims[k] for k, s in enumerate(spec) if s == ":"]
        if positions == list(range(positions[0], positions[-1] + 1)):
            before = sum(1 for s in spec[: positions[0]] if s == ":")
            return (*kept[:before], *broadcast, *kept[before:])
        return (*broadcast, *kept)

    def mask_get(self, array: Value, mask: Value) -> Value:
        rest = array.type.dims[mask.type.ndim :]
        return self.length_facts.choose(self.build, "mask_get", [array, mask], array.type.dtype, rest)

    def element(self, array: Value, index: Any) -> Any:
        """`array[index]` for iteration: an element of a 1-D array, else a row as a view."""
        full = av.Slice(NONE, NONE, NONE)
        items = [index, *([full] * (array.type.ndim - 1))]
        return self.remember_known(self.basic_get(array, items, scalar_ok=True), operator.getitem, array, index)


_CHAIN = 16  # so many keys are looked at one after another


def _is_full(item: Any) -> bool:
    return isinstance(item, av.Slice) and is_none(item.start) and is_none(item.stop) and is_none(item.step)
