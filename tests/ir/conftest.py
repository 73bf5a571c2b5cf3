"""Programs made by hand: the rows of elementwise kinds are declared where their derivatives are."""

import diffjit.primitives

__all__ = ["diffjit"]
