"""One row for each kind of operation: what it computes, reads, writes and may raise, what it costs, how it is called.

Elementwise kinds have theirs from `diffjit.primitives.registry.elementwise`, beside their derivatives.
"""

from diffjit.ir.ops import access, arrays, containers, control, matrices, reductions
from diffjit.ir.ops.schema import ROWS, Cost, Raises, Reads, Row, View, declare

__all__ = [
    "ROWS", "Cost", "Raises", "Reads", "Row", "View", "access", "arrays", "containers", "control", "declare",
    "matrices", "reductions",
]  # fmt: skip
