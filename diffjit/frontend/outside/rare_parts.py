"""Parts that a program is made without, until a run comes to them."""

from __future__ import annotations

from typing import Any

from diffjit import rare
from diffjit.frontend.entry.lift import Guard
from diffjit.frontend.entry.places import Attribute
from diffjit.frontend.syntax.handlers import core
from diffjit.frontend.syntax.mixin import Mixin
from diffjit.frontend.values.values import NONE, Static


class RareParts(Mixin):
    """Mixin of the interpreter: what is left out."""

    @core(rare.left_out)
    def leave_out(self, part: Static) -> Any:
        """Raise here, where no `try`, `finally` or `with` of the program's would see it."""
        lacking = part.obj
        if rare.is_whole() or self.awaited or self.catches(lacking):
            return NONE
        self.guards["rare", lacking] = Guard(Attribute(lacking, "asked"), lacking.asked)
        if not lacking.asked:
            self.throw(self.exception_object(lacking, Static(rare.reason(lacking))))
        return NONE
