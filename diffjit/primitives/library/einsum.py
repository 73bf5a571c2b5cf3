"""Einstein's summation: `np.einsum`.

A step is one product of two arrays whose axes have labels: labels that both have and that are needed later are a stack
of matrices, those that only one has are rows or columns, and those that nothing needs any more are summed over.
"""

# NumPy's signatures take whatever NumPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import math
import string

import numpy as np

from diffjit.primitives.library.axes import is_never_one, is_one, places
from diffjit.primitives.library.windows import in_rows, unchanging, written_through
from diffjit.primitives.registry import implements


@implements(np.einsum)
def einsum(*operands, out=None, optimize=False):
    """Einstein's summation, from left to right, each step one (stacked) matrix product."""
    if isinstance(operands[0], str):
        text, arrays = operands[0].replace(" ", ""), tuple(np.asarray(x) for x in operands[1:])
    else:
        text, arrays = (
            subscripts_of_lists(operands),
            tuple(np.asarray(x) for x in operands[: len(operands) // 2 * 2 : 2]),
        )
    inputs, wanted = labels_of(text, tuple(a.ndim for a in arrays))
    shown = len(arrays) == 1 and set(inputs[0]) == set(wanted)  # as a view, which programs may write to
    if shown and are_copies(inputs[0], arrays[0]):
        labels, value = diagonals_of(inputs[0], unchanging(arrays[0]))
        value = unchanging(value)
    else:
        labels, value = diagonals_of(inputs[0], arrays[0])
    for k in places(len(arrays))[1:]:
        more_labels, more = diagonals_of(inputs[k], arrays[k])
        needed = wanted + "".join(inputs[k + 1 :])
        labels, value = contract(labels, value, more_labels, more, needed)
    gone = tuple(k for k in places(len(labels)) if labels[k] not in wanted)
    if gone:
        value = np.sum(value, axis=gone)
        labels = "".join(c for c in labels if c in wanted)
    if not wanted:
        return value[()]
    turned = np.transpose(value, tuple(labels.index(c) for c in wanted))  # of one operand a view
    return turned.copy() if len(arrays) > 1 and labels != wanted else turned


def subscripts_of_lists(operands):
    """The text for operands that are followed by lists of numbers."""
    count = len(operands) // 2
    terms = tuple(letters_of(operands[2 * j + 1]) for j in places(count))
    text = ",".join(terms)
    if len(operands) % 2 == 0:
        return text
    return text + "->" + letters_of(operands[-1])


def letters_of(numbers):
    """Letters for numbers, and three dots for an ellipsis."""
    return "".join("..." if k is Ellipsis else string.ascii_letters[k] for k in numbers)


def labels_of(text, ranks):
    """The labels of each operand and of the result; `...` stands for as many letters as it needs."""
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError("np.einsum: the numbers of operands and of subscripts do not agree")
    free = "".join(c for c in string.ascii_letters if c not in text)
    widths = tuple(rank - len(term) + 3 if "..." in term else 0 for term, rank in zip(terms, ranks, strict=True))
    unnamed = free[: max(widths)]
    inputs = tuple(
        term.replace("...", unnamed[len(unnamed) - width :]) for term, width in zip(terms, widths, strict=True)
    )
    if any(len(labels) != rank for labels, rank in zip(inputs, ranks, strict=True)):
        raise ValueError("np.einsum: an operand does not have as many dimensions as subscripts")
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        return inputs, unnamed + "".join(c for c in sorted(set(letters)) if letters.count(c) == 1)
    if unnamed and "..." not in right:
        raise ValueError("np.einsum: the result needs an ellipsis, too")
    return inputs, right.replace("...", unnamed)


def are_copies(labels, a):
    """Whether diagonals are copies here, as they are views in NumPy: not of one matrix, nor of the last two axes."""
    again = len(labels) - len(set(labels))
    return again > 0 and not (again == 1 and (len(labels) == 2 or (labels[-1] == labels[-2] and in_rows(a))))


def diagonals_of(labels, a):
    """Labels that repeat within one operand select its diagonal."""
    for c in labels:
        if labels.count(c) > 1:
            first = labels.index(c)
            second = labels.index(c, first + 1)
            if a.shape[first] != a.shape[second]:
                raise ValueError("np.einsum: a label stands for two lengths")
            if a.ndim == 2:
                return c, written_through(np.diagonal(a))
            if not are_copies(labels, a):
                rows = np.reshape(a, (*a.shape[:-2], a.shape[-1] * a.shape[-1]))
                return labels[:-1], rows[..., :: a.shape[-1] + 1]
            moved = np.moveaxis(a, (first, second), (0, 1))
            k = np.arange(moved.shape[0])
            return diagonals_of(c + labels[:first] + labels[first + 1 : second] + labels[second + 1 :], moved[k, k])
    return labels, a


def contract(a_labels, a, b_labels, b, needed):
    """Sum a * b over the labels that nothing needs any more."""
    a_labels, a = without(a_labels, a, b_labels + needed)
    b_labels, b = without(b_labels, b, a_labels + needed)
    batch = "".join(c for c in a_labels if c in b_labels and c in needed)
    summed = "".join(c for c in a_labels if c in b_labels and c not in needed)
    a, b = stretched(a_labels, a, b_labels, b, summed), stretched(b_labels, b, a_labels, a, summed)
    rows = "".join(c for c in a_labels if c not in b_labels)
    columns = "".join(c for c in b_labels if c not in a_labels)
    result = batch + rows + columns
    if not summed:
        return result, spread_out(a, a_labels, result) * spread_out(b, b_labels, result)
    product = merged(a, a_labels, batch, rows, summed) @ merged(b, b_labels, batch, summed, columns)
    lengths = tuple(a.shape[a_labels.index(c)] for c in rows) + tuple(b.shape[b_labels.index(c)] for c in columns)
    return result, np.reshape(product, product.shape[: len(batch)] + lengths)


def stretched(labels, a, other_labels, other, summed):
    """The operand at the lengths of the other one, where a label that is summed over has length 1."""
    for c in summed:
        k, j = labels.index(c), other_labels.index(c)
        n = other.shape[j]
        if is_one(a.shape[k]):
            a = a if is_one(n) else np.repeat(a, n, axis=k)
        elif not is_never_one(a, k) and not is_one(n) and a.shape[k] == 1 and n != 1:
            a = np.repeat(a, n, axis=k)
        # Of one label the product sees it. Where the other one has length 1, it is stretched in its turn.
        if len(summed) > 1 and not is_one(n) and a.shape[k] != n and (is_never_one(other, j) or n != 1):
            raise ValueError("np.einsum: a label stands for two lengths")
    return a


def without(labels, a, needed):
    """The operand summed over labels that nothing else has."""
    alone = tuple(k for k in places(len(labels)) if labels[k] not in needed)
    return ("".join(c for c in labels if c in needed), np.sum(a, axis=alone)) if alone else (labels, a)


def spread_out(a, labels, wanted):
    """The operand in the order of `wanted`, with axes of length 1 for the labels that it lacks."""
    turned = np.transpose(a, tuple(labels.index(c) for c in wanted if c in labels))
    return turned[tuple(slice(None) if c in labels else None for c in wanted)]


def merged(a, labels, batch, first, second):
    """The operand as a stack of matrices: batch axes, one axis for `first`, one for `second`."""
    turned = np.transpose(a, tuple(labels.index(c) for c in batch + first + second))
    lengths = tuple(a.shape[labels.index(c)] for c in batch)
    rows = math.prod(a.shape[labels.index(c)] for c in first)
    columns = math.prod(a.shape[labels.index(c)] for c in second)
    return np.reshape(turned, (*lengths, rows, columns))
