"""When Python looks for garbage: not while a program is made, and not through all that was made for it at once."""

import gc
import weakref

import pytest

from diffjit import garbage


class Node:
    def __init__(self):
        self.own = self


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(garbage, "_parked", 0)


def young():
    return len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))


def test_what_was_made_is_old_and_garbage_is_found_later():
    gc.collect()
    with garbage.no_garbage_collection():
        assert not gc.isenabled()
        nodes = [Node() for _ in range(20_000)]
        first = weakref.ref(nodes[0])
        del nodes
    assert gc.isenabled()
    assert young() < 5_000
    assert gc.get_freeze_count() < garbage.FEW  # which Python itself has frozen, at most
    gc.collect()
    assert first() is None


def test_not_more_and_more(monkeypatch):
    monkeypatch.setattr(garbage, "MOST", 30_000)
    kept = []
    for parked in (True, False, True):
        with garbage.no_garbage_collection():
            kept.append([[] for _ in range(20_000)])
            before = garbage._parked
        assert (garbage._parked > before) == parked


def test_what_users_froze_stays_frozen():
    gc.collect()
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with garbage.no_garbage_collection():
            kept = [[] for _ in range(20_000)]
        assert gc.get_freeze_count() == count
        assert len(kept) == 20_000
    finally:
        gc.unfreeze()


def test_one_within_another_and_none_where_it_is_off():
    gc.disable()
    try:
        with garbage.no_garbage_collection(), garbage.no_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
