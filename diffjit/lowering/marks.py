"""What generated loops say of themselves: ranges by another name, and what stands between an array and its subscript.

    for i in parallel(n):             no iteration reads what another writes
    u.inside[i + 1]                   the index is within bounds, and not negative
    u_bar.wraps[i]                    it is within bounds, and may count from the end
    row = u.inside.lent[i, :]         the view holds no reference to the memory that it shows

Without such a word an index is tested. The compiler takes the words out again (`flow.facts`).
"""

from __future__ import annotations

RANGE = "range"
NEST = "nest"  # a loop over an array, of a length that only the run knows: LLVM need not unroll it
PARALLEL = "parallel"  # as `nest`, and no iteration reads what another writes
SCALAR = "scalar"  # as `nest`, and it hardly ever runs: LLVM neither unrolls nor vectorises it
ABREAST = "abreast"  # as `parallel`, of few iterations, whose number is known: LLVM makes vectors of them (`partials`)
SIDE_BY_SIDE = "side_by_side"  # as `abreast`, where LLVM has to see itself what an iteration reads of others
LOOPS = frozenset({NEST, PARALLEL, SCALAR, ABREAST, SIDE_BY_SIDE})

INSIDE = "inside"
WRAPS = "wraps"
LENT = "lent"
TESTED = "tested"  # nothing is known; it is not printed
FACTS = frozenset({INSIDE, WRAPS, LENT})

nest = parallel = scalar = abreast = side_by_side = range
