"""`np.nditer`: the elements of several arrays side by side, in the order of memory, read or written in place.

with np.nditer(a, flags=["multi_index"], op_flags=["readwrite"]) as it:
    for x in it:
        x[...] = x * it.multi_index[0]
"""

# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np

from diffjit.primitives.library.windows import layout_of
from diffjit.primitives.registry import implements

KNOWN = (
    "c_index",
    "common_dtype",
    "copy_if_overlap",
    "external_loop",
    "f_index",
    "multi_index",
    "refs_ok",
    "zerosize_ok",
)
WRITING = ("readwrite", "writeonly")


@implements(np.nditer)
class Elements:
    """An iterator over arrays; `place` is how many elements it has passed."""

    def __init__(
        self, op, flags=None, op_flags=None, op_dtypes=None, order="K", casting="safe", op_axes=None, itershape=None,
        buffersize=0,
    ):  # fmt: skip
        """Broadcast the arrays, and make those that are None."""
        self.flags = () if flags is None else tuple(flags)
        for flag in self.flags:
            if flag not in KNOWN:
                raise NotImplementedError(f"np.nditer with the flag {flag!r}: leave it out")
        if op_dtypes is not None or op_axes is not None or itershape is not None:
            raise NotImplementedError("np.nditer with op_dtypes, op_axes or itershape: convert and broadcast before")
        if order not in ("K", "C", "F"):
            raise NotImplementedError(f"np.nditer(order={order!r}): say 'C' or 'F'")
        given = list(op) if isinstance(op, (tuple, list)) else [op]
        arrays = [np.asarray(a) for a in given if a is not None]
        self.shape = np.broadcast_shapes(*[a.shape for a in arrays])
        kind = np.result_type(*arrays)
        held = [layout_of(a) for a in arrays if a.ndim > 0]
        columns = all(of == "F" for of in held) and all(a.shape == self.shape for a in arrays)
        if order == "K" and not columns and any(of != "C" for of in held):
            raise NotImplementedError("np.nditer of arrays that are not in C's order: give order='C'")
        self.columns = order == "F" or (order == "K" and columns and len(held) > 0)
        per_operand = _by_operand(op_flags, given)
        self.writes = [any(flag in WRITING for flag in of) for of in per_operand]
        self.operands, rest = [], arrays
        for k in range(len(given)):
            if given[k] is None:
                self.operands.append(np.zeros(self.shape, kind, order="F" if self.columns else "C"))
                continue
            a = rest[0]
            rest = rest[1:]
            if self.writes[k] and a.shape != self.shape:
                raise ValueError(
                    "output operand requires a reduction along dimension 0, but the reduction is not enabled"
                )
            self.operands.append(a if a.shape == self.shape else np.broadcast_to(a, self.shape))
        self.itersize = 1
        for n in self.shape:
            self.itersize *= n
        if self.itersize == 0 and "zerosize_ok" not in self.flags:
            raise ValueError("Iteration of zero-sized operands is not enabled")
        self.ndim, self.nop = len(self.shape), len(given)
        self.place = 0

    @property
    def finished(self):
        """Whether it is behind the last element."""
        return self.place >= self.itersize

    @property
    def multi_index(self):
        """The indices of the element."""
        if "multi_index" not in self.flags:
            raise ValueError("Iterator is not tracking a multi-index")
        return self.indices()

    @property
    def index(self):
        """The index of the element among all."""
        rows = "c_index" in self.flags
        if not rows and "f_index" not in self.flags:
            raise ValueError("Iterator does not have an index")
        if rows != self.columns:
            return self.place
        found, step, places = 0, 1, self.indices()
        for j in range(self.ndim - 1, -1, -1) if rows else range(self.ndim):
            found += step * places[j]
            step *= self.shape[j]
        return found

    @property
    def value(self):
        """The elements here, as arrays without axes; one alone, or a tuple."""
        found = tuple([self[k] for k in range(self.nop)])
        return found[0] if self.nop == 1 else found

    def indices(self):
        """The indices of the element, whoever asks."""
        rest, found = self.place, ()
        for j in range(self.ndim) if self.columns else range(self.ndim - 1, -1, -1):
            found = (*found, rest % self.shape[j])
            rest = rest // self.shape[j]
        return found if self.columns else found[::-1]

    def __getitem__(self, k):
        a = self.operands[k]
        if "external_loop" in self.flags:
            return np.reshape(a.T if self.columns else a, -1)
        return a[(*self.indices(), ...)]

    def __setitem__(self, k, value):
        if not self.writes[k]:
            raise ValueError("Iterator operand is not writeable")
        self[k][...] = value

    def __len__(self):
        return self.itersize

    def __iter__(self):
        if "external_loop" in self.flags:
            yield self.value
            self.place = self.itersize
            return
        for k in range(self.place, self.itersize):
            self.place = k
            yield self.value
        self.place = self.itersize

    def iternext(self):
        """Go on; whether there is a next element."""
        self.place = self.itersize if "external_loop" in self.flags else self.place + 1
        return self.place < self.itersize

    def reset(self):
        """Go back to the first element."""
        self.place = 0

    def close(self):
        """Nothing is buffered."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return None


def _by_operand(op_flags, given):
    """The flags of each operand."""
    if op_flags is None:
        return [("readonly",) if a is not None else ("writeonly",) for a in given]
    if len(op_flags) > 0 and isinstance(op_flags[0], str):
        return [op_flags for _ in given]
    return list(op_flags)
