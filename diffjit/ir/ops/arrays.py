"""Arrays: making them, views of them, their lengths, and what rearranges them."""

from diffjit.ir.ops.schema import Cost, Raises, Reads, Row, View, declare

declare(
    Row("dim", "a", "attrs axis: a.shape[axis] -> int",
        raises=Raises.NEVER, length=True, constant=True, shared=True, reads=Reads.LENGTHS, cost=Cost.FREE,
        name="{}_size", size=6),
    Row("stride", "a", "attrs axis: a.strides[axis] in elements -> int",
        raises=Raises.NEVER, constant=True, shared=True, reads=Reads.LENGTHS, cost=Cost.FREE),
    # New arrays
    Row("empty", "*lengths", 'attrs order ("C" or "F") -> fresh array',
        raises=Raises.ALLOCATION, constant=True, fill="anything", makes=True, lengths_at=0, name="empty"),
    Row("zeros", "*lengths", 'attrs order ("C" or "F") -> fresh array',
        raises=Raises.ALLOCATION, constant=True, fill="zeros", makes=True, lengths_at=0, name="zeros"),
    Row("full", "value *lengths", 'attrs order ("C" or "F") -> fresh array',
        raises=Raises.ALLOCATION, fill="value", makes=True, lengths_at=1, name="full"),
    Row("empty_like", "a", "same shape and stride order; dtype from the output -> fresh array",
        raises=Raises.NEVER, constant=True, fill="anything", makes=True, reads=Reads.LENGTHS, like=0),
    Row("zeros_like", "a", "same shape and stride order; dtype from the output -> fresh array",
        raises=Raises.NEVER, constant=True, fill="zeros", makes=True, reads=Reads.LENGTHS, like=0),
    Row("copy", "a", 'attrs order ("C", "F", "K") -> fresh array',
        raises=Raises.NEVER, makes=True, same=True, like=0, name="{}_copy"),
    Row("arange", "start stop step", "-> fresh array of one dimension",
        raises=Raises.VALUES, shared=True, makes=True, name="indices"),
    # Views
    Row("view", "a *ints",
        'attrs spec: basic indexing, one entry per index: "i" takes one int; "n" is newaxis; ":" is a full slice; '
        '("s", start, stop, step) True where an int is taken from the inputs, None if absent -> an array reference '
        "into a (possibly 0-d)",
        raises=Raises.INDEX, view=View.ALWAYS, indices_at=1, error=IndexError, name="{}_view", size=2),
    Row("transpose", "a", "attrs perm -> view", raises=Raises.NEVER, view=View.ALWAYS, name="{}_t", size=2),
    Row("diagonal", "a", "attrs offset; of a 2-D array -> view (writable here)",
        raises=Raises.LENGTHS, view=View.ALWAYS, name="{}_diagonal"),
    Row("broadcast_to", "a *lengths", "a read-only view",
        raises=Raises.LENGTHS, view=View.ALWAYS, lengths_at=1, name=""),
    Row("real_view", "a", "a.real of a complex array, a view",
        raises=Raises.NEVER, view=View.ALWAYS, like=0, name="{}_real"),
    Row("imag_view", "a", "a.imag of a complex array, a view",
        raises=Raises.NEVER, view=View.ALWAYS, like=0, name="{}_imag"),
    Row("reshape", "a *lengths",
        "attrs view: True (a view for certain) or False (a fresh copy's value); lengths final, no -1",
        raises=Raises.LENGTHS, view=View.MAYBE, lengths_at=1, name="{}_flat"),
    # Rearranged
    Row("concatenate", "*arrays", "attrs axis", raises=Raises.LENGTHS, shared=True, name=""),
    Row("sort", "a", "attrs axis; stable", library=True, raises=Raises.NEVER, shared=True, like=0),
    Row("argsort", "a", "attrs axis; stable", library=True, raises=Raises.NEVER, constant=True, shared=True, like=0),
    Row("nonzero", "a", "flat positions of True in a.ravel() (np.flatnonzero) -> fresh int array",
        raises=Raises.NEVER, constant=True, shared=True, name="where_{}"),
    Row("unbroadcast", "g like", "sums g to the shape of `like` -> same kind as `like`",
        raises=Raises.NEVER, shared=True, same=True, like=1, name=""),
)  # fmt: skip
