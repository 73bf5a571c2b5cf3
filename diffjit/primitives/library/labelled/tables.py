"""pandas' Series and DataFrame as programs.

Operands with other labels, which pandas would sort and fill with NaN, are refused. NaN is left out of sums and means,
as in pandas.
"""

from diffjit.primitives.library.labelled import frames, series

__all__ = ["frames", "series"]
