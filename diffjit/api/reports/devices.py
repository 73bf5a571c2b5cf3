"""`devices`, `device_put` and `device_get`: which devices there are, and arrays in the memory that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from diffjit import tree

if TYPE_CHECKING:
    from diffjit.lowering.cuda.devices import Description


def devices() -> list[Description]:
    """The devices of this machine: the processor first, then the GPUs that `backend="cuda"` can use.

    Each has a `name`, a `kind` ("cpu" or "cuda") and `details`. Nothing has to be installed to ask.
    """
    from diffjit.lowering.cuda.devices import listed

    return listed()


def device_put(x: Any) -> Any:
    """A tree with copies of its arrays in memory that the GPU reaches, which programs for it need not copy again.

    They are NumPy arrays, which everything else takes, too. What is there already stays as it is. Raises UsageError
    (DJ562) where there is no GPU.
    """
    from diffjit.lowering.cuda.arguments import is_shared, to_shared
    from diffjit.lowering.cuda.devices import current
    from diffjit.lowering.cuda.pool import start

    current()
    start()
    leaves, structure = tree.flatten(x)
    moved = [to_shared(a) if isinstance(a, np.ndarray) and not is_shared(a) else a for a in leaves]
    return structure.unflatten(iter(moved))


def device_get(x: Any) -> Any:
    """A tree with copies of its arrays in plain memory of the processor."""
    leaves, structure = tree.flatten(x)
    return structure.unflatten(iter([_copied(a) if isinstance(a, np.ndarray) else a for a in leaves]))


def _copied(array: np.ndarray) -> np.ndarray:
    from diffjit.lowering.cuda.arguments import from_shared, is_shared

    return from_shared(array) if is_shared(array) else array.copy()
