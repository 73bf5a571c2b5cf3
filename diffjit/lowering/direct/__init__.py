"""Helpers of the runtime, from their text to LLVM in one walk: no bytecode, no inference of types, no passes.

A helper is Python over numbers and arrays that are lent to it. Its names have one type each, which the first assignment
gives; so types follow from the operands, in the order of the text. Numba took 30 to 100 ms for each helper and set of
types, a fifth of the first gradient of short programs (docs/decisions/0095).
"""
