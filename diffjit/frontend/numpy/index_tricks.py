"""NumPy's objects that are indexed to make arrays: `np.r_`, `np.c_`, `np.mgrid`, `np.ogrid`, `np.s_`."""

from __future__ import annotations

from typing import Any

import numpy as np

from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static, is_none
from diffjit.ir.nodes import Value
from diffjit.ir.types import Array, Scalar

OBJECTS = (np.r_, np.c_, np.mgrid, np.ogrid, np.s_, np.index_exp)


def is_index_trick(obj: Any) -> bool:
    """Whether an object makes an array of its index."""
    return any(obj is known for known in OBJECTS)


class IndexTricks(Mixin):
    """Mixin of the interpreter: arrays made by indexing."""

    def index_trick(self, obj: Any, index: Any, node: Any) -> Any:
        """`np.r_[index]` and the like."""
        items = list(index.items) if isinstance(index, av.Tup) else [index]
        if obj is np.s_:
            return index
        if obj is np.index_exp:
            return av.Tup(tuple(items))
        if obj is np.mgrid or obj is np.ogrid:
            return self._grid(obj, items, several=isinstance(index, av.Tup), node=node)
        parts = [self._trick_part(item, node) for item in items]
        numbers = [isinstance(self.array(item).type, Scalar) for item in items if not isinstance(item, av.Slice)]
        if any(numbers):  # Python's among them take the precision of what they meet
            met = [part if isinstance(item, av.Slice) else item for item, part in zip(items, parts, strict=True)]
            dtype = self._numpy(np.result_type, *met).obj
            parts = [self.cast(part, dtype) for part in parts]
        if obj is np.c_:
            return self._numpy(np.column_stack, av.Tup(tuple(parts)))
        return self._numpy(np.concatenate, av.Tup(tuple(self._numpy(np.atleast_1d, p) for p in parts)))

    def _numpy(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return self.call_static(function, list(args), kwargs, None)

    def _trick_part(self, item: Any, node: Any) -> Any:
        if isinstance(item, av.Slice):
            return self._steps(item, node)
        if isinstance(item, Static) and isinstance(item.obj, str):
            raise self.unsupported("DJ118", "directions in text for np.r_ and np.c_", node, "use np.concatenate")
        return item if isinstance(item, Value) and isinstance(item.type, Array) else self.array_from(item)

    def _steps(self, item: av.Slice, node: Any) -> Any:
        """A slice as numbers: evenly spaced ones, as many as an imaginary step says."""
        start = Static(0) if is_none(item.start) else item.start
        step = Static(1) if is_none(item.step) else item.step
        if isinstance(step, Static) and isinstance(step.obj, complex):
            return self._numpy(np.linspace, start, item.stop, Static(int(abs(step.obj))))
        if is_none(item.stop):
            raise self.unsupported("DJ118", "a slice without an end here", node, "give it an end")
        return self._numpy(np.arange, start, item.stop, step)

    def _grid(self, obj: Any, items: list[Any], *, several: bool, node: Any) -> Any:
        axes = [self._steps(item, node) for item in items]
        if not several:
            return axes[0]
        sparse = Static(obj is np.ogrid)
        grids = self._numpy(np.meshgrid, *axes, indexing=Static("ij"), sparse=sparse)
        return av.Tup(tuple(self.sequence_items(grids, node))) if sparse.obj else self._numpy(np.stack, grids)
