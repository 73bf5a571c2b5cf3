"""An object that only Python knows, as programs hold it: whatever they do with it, Python does."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import operator

from diffjit.primitives.opaque import acts


def ask(function, *args, **kwargs):
    """What Python returns, in a program an object that only Python knows: the interpreter implements it."""
    return function(*args, **kwargs)


def tell(kind, function, *args):
    """What Python returns, as a number of that type: the interpreter implements it."""
    raise NotImplementedError


class Opaque:  # noqa: PLW1641 - no dict has it as a key
    """An object; `place_` is its number among those of the run."""

    def __getattr__(self, name):
        return ask(getattr, self, name)

    def __call__(self, *args, **kwargs):
        """What it returns."""
        return ask(acts.called, self, *args, **kwargs)

    def __getitem__(self, key):
        return ask(operator.getitem, self, key)

    def __setitem__(self, key, value):
        ask(operator.setitem, self, key, value)

    def __delitem__(self, key):
        ask(operator.delitem, self, key)

    def __contains__(self, item):
        return tell(bool, operator.contains, self, item)

    def __len__(self):
        return tell(int, len, self)

    def __bool__(self):
        return tell(bool, bool, self)

    def __iter__(self):
        return Items(ask(iter, self))

    def __enter__(self):
        return ask(acts.method, self, "__enter__")

    def __exit__(self, kind, error, trace):
        ask(acts.method, self, "__exit__", None, None, None)

    def __eq__(self, other):
        return ask(operator.eq, self, other)

    def __ne__(self, other):
        return ask(operator.ne, self, other)

    def __lt__(self, other):
        return ask(operator.lt, self, other)

    def __le__(self, other):
        return ask(operator.le, self, other)

    def __gt__(self, other):
        return ask(operator.gt, self, other)

    def __ge__(self, other):
        return ask(operator.ge, self, other)

    def __add__(self, other):
        return ask(operator.add, self, other)

    def __radd__(self, other):
        return ask(operator.add, other, self)

    def __sub__(self, other):
        return ask(operator.sub, self, other)

    def __rsub__(self, other):
        return ask(operator.sub, other, self)

    def __mul__(self, other):
        return ask(operator.mul, self, other)

    def __rmul__(self, other):
        return ask(operator.mul, other, self)

    def __truediv__(self, other):
        return ask(operator.truediv, self, other)

    def __rtruediv__(self, other):
        return ask(operator.truediv, other, self)

    def __floordiv__(self, other):
        return ask(operator.floordiv, self, other)

    def __rfloordiv__(self, other):
        return ask(operator.floordiv, other, self)

    def __mod__(self, other):
        return ask(operator.mod, self, other)

    def __rmod__(self, other):
        return ask(operator.mod, other, self)

    def __pow__(self, other):
        return ask(operator.pow, self, other)

    def __rpow__(self, other):
        return ask(operator.pow, other, self)

    def __matmul__(self, other):
        return ask(operator.matmul, self, other)

    def __rmatmul__(self, other):
        return ask(operator.matmul, other, self)

    def __and__(self, other):
        return ask(operator.and_, self, other)

    def __or__(self, other):
        return ask(operator.or_, self, other)

    def __iadd__(self, other):
        return ask(operator.iadd, self, other)

    def __isub__(self, other):
        return ask(operator.isub, self, other)

    def __imul__(self, other):
        return ask(operator.imul, self, other)

    def __itruediv__(self, other):
        return ask(operator.itruediv, self, other)

    def __ifloordiv__(self, other):
        return ask(operator.ifloordiv, self, other)

    def __imod__(self, other):
        return ask(operator.imod, self, other)

    def __ipow__(self, other):
        return ask(operator.ipow, self, other)

    def __imatmul__(self, other):
        return ask(operator.imatmul, self, other)

    def __iand__(self, other):
        return ask(operator.iand, self, other)

    def __ior__(self, other):
        return ask(operator.ior, self, other)

    def __neg__(self):
        return ask(operator.neg, self)

    def __invert__(self):
        return ask(operator.invert, self)

    def __abs__(self):
        return ask(abs, self)


class Items:
    """An iterator that only Python knows."""

    def __init__(self, iterator):
        self.iterator = iterator

    def __iter__(self):
        return self

    def __next__(self):
        item = ask(acts.following, self.iterator)
        if tell(bool, acts.ended, item):
            raise StopIteration
        return item
