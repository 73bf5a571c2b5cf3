"""Elements of arrays: reading, writing, and choosing by arrays of indices or of truths."""

from diffjit.ir.ops.schema import Cost, Raises, Row, declare

declare(
    Row("load", "a *ints", "-> scalar; negative: from the end",
        raises=Raises.INDEX, indices_at=1, error=IndexError, shared=True, cost=Cost.FREE, name="{}_value", size=2),
    Row("store", "a value *ints", "a[ints] = value",
        raises=Raises.INDEX, indices_at=2, error=IndexError, writes=(0,), value=1),
    Row("accum_at", "a value *ints", "a[ints] += value, scalars",
        raises=Raises.INDEX, indices_at=2, writes=(0,), value=1, adds=True),
    Row("assign", "dst src",
        "dst[...] = src; src broadcasts, is cast, may overlap dst (as if copied first)",
        raises=Raises.NUMBERS, writes=(0,), value=1, updates=True),
    Row("leave", "stream words",
        "stream[...] = words: what a draw leaves in a stream of random numbers (of the same type)",
        raises=Raises.NEVER, writes=(0,)),
    Row("accum", "dst src", "dst[...] += src with src broadcast to dst (made by transforms; never overlaps)",
        raises=Raises.NUMBERS, writes=(0,), value=1, updates=True, adds=True),
    Row("gather", "a *indices", "attrs spec; integer-array indexing, NumPy's rules -> fresh array",
        raises=Raises.VALUES, error=IndexError, shared=True, name="", size=2),
    Row("scatter", "a value *indices", "attrs spec as `gather`: a[indices] = value",
        raises=Raises.VALUES, error=IndexError, writes=(0,), value=1),
    Row("scatter_add", "a value *indices", "attrs spec: np.add.at(a, indices, value)",
        raises=Raises.VALUES, writes=(0,), value=1, adds=True),
    Row("mask_get", "a m", "a[m], m boolean of a.ndim or fewer dimensions -> fresh array",
        raises=Raises.VALUES, error=IndexError, shared=True, name="", size=2),
    Row("mask_set", "a m value", "a[m] = value (value scalar, or 1-D of the number of True)",
        raises=Raises.VALUES, writes=(0,), value=2),
)  # fmt: skip
