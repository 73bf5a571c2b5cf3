"""Products with single vectors, in loops: they read more than they compute, and BLAS has to be called."""

from __future__ import annotations

from typing import Any

from diffjit.lowering.marks import abreast, nest, parallel, scalar
from diffjit.lowering.runtime.arithmetic import plus, quotient
from diffjit.lowering.runtime.build import outlined
from diffjit.lowering.runtime.choices import minimum
from diffjit.lowering.runtime.linear import long
from diffjit.lowering.runtime.partials import added_up, few_sums_like, parts_of_sum, sums_like, take_in

_BLOCK = 2048


@outlined
def dot_lanes(a: Any, b: Any, zero: Any) -> Any:
    """The sum of products of two vectors, in blocks."""
    total = zero
    n = a.shape[0]
    long(b, n)
    for start in range(0, n, _BLOCK):
        stop = minimum(start + _BLOCK, n)
        sums = sums_like(zero)
        width = parts_of_sum(sums)
        whole = quotient(stop - start, width)
        for k in nest(whole):
            for lane in abreast(width):
                i = start + k * width + lane
                take_in(sums, lane, a.inside[i] * b.inside[i])
        part = added_up(sums)
        for i in scalar(start + whole * width, stop):
            part = plus(part, a.inside[i] * b.inside[i])
        total = plus(total, part)
    return total


@outlined
def dot_bools(a: Any, b: Any) -> Any:
    """Whether two boolean vectors are true at one place."""
    some = False
    long(b, a.shape[0])
    for i in nest(a.shape[0]):
        some |= a.inside[i] & b.inside[i]
    return some


@outlined
def matvec(a: Any, x: Any, out: Any, zero: Any) -> Any:
    """out = a @ x, by rows: four at a time, which share what is read of x."""
    n, m = a.shape
    long(x, m)
    long(out, n)
    rows = n - n % 4
    for i in range(0, rows, 4):
        sums, sums1, sums2, sums3 = few_sums_like(zero), few_sums_like(zero), few_sums_like(zero), few_sums_like(zero)
        width = parts_of_sum(sums)
        whole = quotient(m, width)
        for k in nest(whole):
            for lane in abreast(width):
                j = k * width + lane
                factor = x.inside[j]
                take_in(sums, lane, a.inside[i, j] * factor)
                take_in(sums1, lane, a.inside[i + 1, j] * factor)
                take_in(sums2, lane, a.inside[i + 2, j] * factor)
                take_in(sums3, lane, a.inside[i + 3, j] * factor)
        total, total1, total2, total3 = added_up(sums), added_up(sums1), added_up(sums2), added_up(sums3)
        for j in scalar(whole * width, m):
            factor = x.inside[j]
            total = plus(total, a.inside[i, j] * factor)
            total1 = plus(total1, a.inside[i + 1, j] * factor)
            total2 = plus(total2, a.inside[i + 2, j] * factor)
            total3 = plus(total3, a.inside[i + 3, j] * factor)
        out.inside[i] = total
        out.inside[i + 1] = total1
        out.inside[i + 2] = total2
        out.inside[i + 3] = total3
    for i in range(rows, n):
        sums = few_sums_like(zero)
        width = parts_of_sum(sums)
        whole = quotient(m, width)
        for k in nest(whole):
            for lane in abreast(width):
                j = k * width + lane
                take_in(sums, lane, a.inside[i, j] * x.inside[j])
        total = added_up(sums)
        for j in scalar(whole * width, m):
            total = plus(total, a.inside[i, j] * x.inside[j])
        out.inside[i] = total


@outlined
def matvec_by_columns(a: Any, x: Any, out: Any, zero: Any) -> Any:
    """out = a @ x, by columns: for matrices in Fortran order. Four at a time: the result is read and written less."""
    n, m = a.shape
    long(x, m)
    long(out, n)
    for i in parallel(n):
        out.inside[i] = zero
    whole = m - m % 4
    for j in range(0, whole, 4):
        factor, factor1, factor2, factor3 = x.inside[j], x.inside[j + 1], x.inside[j + 2], x.inside[j + 3]
        for i in parallel(n):
            total = out.inside[i] + a.inside[i, j] * factor
            total = total + a.inside[i, j + 1] * factor1
            total = total + a.inside[i, j + 2] * factor2
            out.inside[i] = total + a.inside[i, j + 3] * factor3
    for j in range(whole, m):
        factor = x.inside[j]
        for i in parallel(n):
            out.inside[i] = out.inside[i] + a.inside[i, j] * factor
