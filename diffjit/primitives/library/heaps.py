"""Priority queues: the functions of `heapq`, as CPython's own Python version has them."""

# Python's signatures take whatever Python takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import heapq

from diffjit.primitives.registry import implements


def moved_up(heap, first, place):
    """Move the item at `place` towards the root, as far as `first`, until its parent is not greater."""
    item = heap[place]
    while place > first:
        parent = (place - 1) // 2
        above = heap[parent]
        if not item < above:
            break
        heap[place] = above
        place = parent
    heap[place] = item


def moved_down(heap, place):
    """Move the item at `place` to a leaf, the smaller children up; then up again to where it belongs."""
    end = len(heap)
    first = place
    item = heap[place]
    child = 2 * place + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    moved_up(heap, first, place)


@implements(heapq.heappush)
def heappush(heap, item, /):
    """Add an item."""
    heap.append(item)
    moved_up(heap, 0, len(heap) - 1)


@implements(heapq.heappop)
def heappop(heap, /):
    """Take the smallest item."""
    last = heap.pop()
    if len(heap) == 0:
        return last
    smallest = heap[0]
    heap[0] = last
    moved_down(heap, 0)
    return smallest


@implements(heapq.heapify)
def heapify(heap, /):
    """Order a list in place."""
    for place in range(len(heap) // 2 - 1, -1, -1):
        moved_down(heap, place)


@implements(heapq.heapreplace)
def heapreplace(heap, item, /):
    """Take the smallest item, then add one."""
    smallest = heap[0]
    heap[0] = item
    moved_down(heap, 0)
    return smallest


@implements(heapq.heappushpop)
def heappushpop(heap, item, /):
    """Add an item, then take the smallest."""
    if len(heap) > 0 and heap[0] < item:
        smallest = heap[0]
        heap[0] = item
        moved_down(heap, 0)
        return smallest
    return item


@implements(heapq.nsmallest)
def nsmallest(n, iterable, key=None):
    """The n smallest items, in order."""
    return sorted(iterable, key=key)[: max(n, 0)]


@implements(heapq.nlargest)
def nlargest(n, iterable, key=None):
    """The n largest items, in falling order."""
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]
