"""Python's heaps, bisection and orders by `<`, as programs over lists: what stands where is what Python leaves."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false

from __future__ import annotations

import bisect
import functools
import heapq

import numpy as np

from diffjit.primitives.registry import implements


def sift_down(heap, start, place):
    """Move an item towards the root, to where its parent is not greater."""
    item = heap[place]
    while place > start:
        parent = (place - 1) >> 1
        if not item < heap[parent]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def sift_up(heap, place):
    """Move the smaller children of an item up to a leaf, put the item there, and let it find its place."""
    end, start, item = len(heap), place, heap[place]
    child = 2 * place + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    sift_down(heap, start, place)


@implements(heapq.heappush)
def heappush(heap, item):
    """Add an item."""
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


@implements(heapq.heappop)
def heappop(heap):
    """Take the smallest item."""
    last = heap.pop()
    return heapreplace(heap, last) if len(heap) > 0 else last


@implements(heapq.heapreplace)
def heapreplace(heap, item):
    """Take the smallest item, then add another one."""
    smallest = heap[0]
    heap[0] = item
    sift_up(heap, 0)
    return smallest


@implements(heapq.heappushpop)
def heappushpop(heap, item):
    """Add an item, then take the smallest one."""
    return heapreplace(heap, item) if len(heap) > 0 and heap[0] < item else item


@implements(heapq.heapify)
def heapify(heap):
    """Make a list a heap."""
    for place in range(len(heap) // 2 - 1, -1, -1):
        sift_up(heap, place)


@implements(heapq.nsmallest)
def nsmallest(n, iterable, key=None):
    """The smallest items in order."""
    return sorted(iterable, key=key)[:n]


@implements(heapq.nlargest)
def nlargest(n, iterable, key=None):
    """The largest items, falling."""
    return sorted(iterable, key=key, reverse=True)[:n]


def merged(first, second, key, reverse):
    """Two runs as one; of two heads that are equal, that of the first comes first."""
    a = first if key is None else [key(v) for v in first]
    b = second if key is None else [key(v) for v in second]
    found, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        if j >= len(b) or (i < len(a) and not (a[i] < b[j] if reverse else b[j] < a[i])):
            found.append(first[i])
            i += 1
        else:
            found.append(second[j])
            j += 1
    return found


def merge(key, reverse, *iterables):
    """The items of several sorted iterables in order, as `heapq.merge` gives them: two runs at a time."""
    runs = [list(items) for items in iterables]
    found = []
    for run in runs:
        found = merged(found, run, key, reverse)
    yield from found


def place(a, x, lo, hi, key, behind):
    """A place at which an item keeps a list sorted, in front of its equals or behind them."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        item = a[mid] if key is None else key(a[mid])
        if (not x < item) if behind else item < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@implements(bisect.bisect_left)
def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """The first place at which an item keeps a list sorted."""
    return place(a, x, lo, hi, key, False)


@implements(bisect.bisect_right)
def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """The last place at which an item keeps a list sorted."""
    return place(a, x, lo, hi, key, True)


@implements(bisect.insort_left)
def insort_left(a, x, lo=0, hi=None, *, key=None):
    """Insert an item before its equals."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


@implements(bisect.insort_right)
def insort_right(a, x, lo=0, hi=None, *, key=None):
    """Insert an item behind its equals."""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def order_by_less(keys, falling):
    """The places of a list's items in order, which `<` alone decides: runs are merged, equals stay as they were."""
    n = len(keys)
    order, merged = np.arange(n), np.empty(n, np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for place in range(start, end):
                if right == end:
                    later = False
                elif left == middle:
                    later = True
                elif falling:
                    later = bool(keys[order[left]] < keys[order[right]])
                else:
                    later = bool(keys[order[right]] < keys[order[left]])
                if later:
                    merged[place] = order[right]
                    right += 1
                else:
                    merged[place] = order[left]
                    left += 1
        order, merged = merged, order
        width *= 2
    return order


class Ranked:  # noqa: PLW1641 - no key is a key of a dict
    """What `functools.cmp_to_key` makes of an item: it is compared by a function that gives a number."""

    def __init__(self, compare, item):
        self.compare = compare
        self.obj = item

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0

    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0


@implements(functools.cmp_to_key)
def cmp_to_key(mycmp):
    """A key for those who sort."""
    return lambda item: Ranked(mycmp, item)
