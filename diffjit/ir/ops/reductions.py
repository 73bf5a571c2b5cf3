"""Sums and the like over axes, and along them."""

from diffjit.ir.ops.schema import Raises, Row, declare

_OVER = "attrs axes (a sorted tuple), keepdims -> scalar (0-d result) or fresh array"
_PLACE = "attrs axis (int, or None for the flattened array), keepdims"
_ALONG = "attrs axis (int) -> fresh array"

declare(
    Row("sum", "a", _OVER, raises=Raises.NEVER, shared=True, reduces=True),
    Row("prod", "a", _OVER, raises=Raises.NEVER, shared=True, reduces=True),
    Row("max", "a", _OVER, raises=Raises.LENGTHS, shared=True, reduces=True),
    Row("min", "a", _OVER, raises=Raises.LENGTHS, shared=True, reduces=True),
    Row("any", "a", _OVER, raises=Raises.NEVER, shared=True, reduces=True, constant=True, boolean=True),
    Row("all", "a", _OVER, raises=Raises.NEVER, shared=True, reduces=True, constant=True, boolean=True),
    Row("argmax", "a", _PLACE, raises=Raises.LENGTHS, shared=True, constant=True),
    Row("argmin", "a", _PLACE, raises=Raises.LENGTHS, shared=True, constant=True),
    Row("cumsum", "a", _ALONG, raises=Raises.NEVER, shared=True, like=0),
    Row("cumprod", "a", _ALONG, raises=Raises.NEVER, shared=True, like=0),
)
