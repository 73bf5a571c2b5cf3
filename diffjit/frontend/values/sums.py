"""Values that are one of several things at run time: whatever is done to one is done to each, in branches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values import values as av
from diffjit.frontend.values.values import Static


def for_each(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the interpreter that is applied to each variant of an argument that is a sum."""

    @functools.wraps(method)
    def spread(self: Any, *args: Any, **kwargs: Any) -> Any:
        for k, value in enumerate(args):
            found = sum_in(value)
            if found is not None:
                chosen, place = found
                return self.each(
                    chosen, lambda v, k=k, place=place: spread(self, *args[:k], place(v), *args[k + 1 :], **kwargs)
                )
        return method(self, *args, **kwargs)

    return spread


def sum_in(value: Any) -> tuple[av.Sum, Callable[[Any], Any]] | None:
    """A sum, by itself or where it may be None instead, and what is made of a variant there."""
    if isinstance(value, av.Sum):
        return value, lambda v: v
    if isinstance(value, av.Opt) and isinstance(value.value, av.Sum):
        return value.value, functools.partial(av.Opt, value.is_none)
    return None


class Sums(Mixin):
    """Mixin of the interpreter: sums."""

    def each(self, value: av.Sum, use: Callable[[Any], Any]) -> Any:
        """Use one variant or another."""

        def one(k: int) -> Any:
            return self.in_branch(lambda: use(value.variants[k]))

        def pick(k: int) -> Any:
            if k == len(value.variants) - 1:
                return one(k)
            return self.fork(self.ew("equal", value.tag, Static(k)), lambda: one(k), lambda: pick(k + 1))

        return pick(0)

    def each_argument(self, args: list[Any], kwargs: dict[str, Any], call: Callable[..., Any]) -> Any:
        """`call(args, kwargs)` for each variant of the arguments; None if none is a sum."""
        for k, value in enumerate(args):
            found = self.sum_within(value)
            if found is not None:
                chosen, place = found
                return self.each(
                    chosen, lambda v, k=k, place=place: call([*args[:k], place(v), *args[k + 1 :]], kwargs)
                )
        for name, value in kwargs.items():
            found = sum_in(value)
            if found is not None:
                chosen, place = found
                return self.each(chosen, lambda v, name=name, place=place: call(args, {**kwargs, name: place(v)}))
        return None

    def sum_within(self, value: Any) -> tuple[av.Sum, Callable[[Any], Any]] | None:
        """A sum that is an argument or stands in a tuple or list there, and the argument made of a variant."""
        if (found := sum_in(value)) is not None:
            return found
        if isinstance(value, av.Iter) and value.kind == "view" and (found := sum_in(value.parts[0])) is not None:
            chosen, place = found  # keys or values of one of several dicts
            return chosen, lambda v: replace(value, parts=(place(v), *value.parts[1:]))
        held = self.contents(value) if isinstance(value, av.Ref) else value
        if not isinstance(held, av.Tup | av.ListC):
            return None
        for k, item in enumerate(held.items):
            found = self.sum_within(item)
            if found is not None:
                return found[0], functools.partial(_placed, held.items, k, found[1])
        return None


def _placed(items: tuple[Any, ...], k: int, place: Callable[[Any], Any], variant: Any) -> av.Tup:
    """The items with one that is made of a variant."""
    return av.Tup((*items[:k], place(variant), *items[k + 1 :]))
