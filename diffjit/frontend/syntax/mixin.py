"""What the parts of the interpreter have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Mixin:
    """Base of the interpreter's parts. To the type checker it has whatever attribute the whole interpreter may have."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...
