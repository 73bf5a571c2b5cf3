"""The interpreter's parts fit together."""

import numpy as np

from diffjit.frontend.syntax.interpret import Interpreter


def test_no_part_hides_a_method_of_another():
    owners = {}
    for cls in Interpreter.__mro__[:-1]:
        for name in vars(cls):
            if not name.startswith("__"):
                owners.setdefault(name, []).append(cls.__name__)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}


def test_each_place_may_teach_something(monkeypatch):
    """A long program has many places to learn about: only starting again without a new one is counted."""
    from diffjit.frontend.entry import program

    monkeypatch.setattr(program, "MAX_RESTARTS", 6)

    def f(x):
        s = 0.0
        a = {}
        for i in range(len(x)):
            a[i % 2] = a.get(i % 2, 0.0) + x[i]
        s += a[0]
        b = {}
        for i in range(len(x)):
            b[i % 2] = b.get(i % 2, 0.0) + x[i]
        s += b[0]
        c = {}
        for i in range(len(x)):
            c[i % 2] = c.get(i % 2, 0.0) + x[i]
        s += c[0]
        d = {}
        for i in range(len(x)):
            d[i % 2] = d.get(i % 2, 0.0) + x[i]
        s += d[0]
        return s

    program.specialise(f, (np.ones(60),), {})
