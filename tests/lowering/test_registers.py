"""Arrays without stack slots: in random programs that assign them in loops, branches and on the way out, every one is
freed once, whichever way a call ends."""

import ast
import random

import numpy as np
import pytest
from numba.core.runtime import nrt

from diffjit.lowering.calls.failures import Stopped
from diffjit.lowering.flow.trees import TREES, Trees
from diffjit.lowering.llvm.compiler import compiled, inner
from diffjit.lowering.runtime import memory
from diffjit.settings import settings

empty_float64 = memory.empty("float64")


@pytest.fixture(autouse=True)
def _nothing_from_disk(monkeypatch):
    """Programs have no files of their own here."""
    monkeypatch.setattr(settings, "cache_mb", 0)


@inner
def fresh(a):
    made = empty_float64((a.shape[0],))
    for i in range(a.shape[0]):
        made[i] = a[i] + 0.5
    return made


class Program:
    """A random function of a vector and two ints; its loops end."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = ["def f(a, n, k):", "    s = 0.0", "    p = fresh(a)", "    q = p", "    r = a[1:]"]
        self.loops = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def array(self):
        name = self.pick("p", "q", "r")
        return self.pick(name, name, f"fresh({name})", f"{name}[1:]", f"{name}[:-1]", f"fresh({name}[1:])", "a")

    def element(self):
        return f"{self.pick('p', 'q', 'r', 'a')}[{self.pick('0', '-1', '1', 'k % 4', 'n - 2')}]"

    def test(self):
        return self.pick("s > 0.5", "k % 2 == 0", "n > k", "p.shape[0] > q.shape[0]", "0 < k < 3", "k > 1 and s < 2.0")

    def block(self, depth, looping):
        indent = "    " * depth
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.random()
            if kind < 0.4 or depth > 4:
                self.lines.append(indent + f"{self.pick('p', 'q', 'r')} = {self.array()}")
            elif kind < 0.5:
                self.lines.append(
                    indent + self.pick("p, q = q, p", "q, r = r, fresh(q)", "p, r = r, p", "t = p", "k += 1")
                )
            elif kind < 0.6:
                self.lines.append(indent + self.pick(f"s += {self.element()}", f"{self.element()} = s + 1.0"))
            elif kind < 0.8:
                self.lines.append(indent + f"if {self.test()}:")
                self.block(depth + 1, looping)
                if self.random.random() < 0.5:
                    self.lines.append(indent + "else:")
                    self.block(depth + 1, looping)
            elif kind < 0.92:
                self.loop(depth, indent)
            elif looping:
                self.lines.append(
                    indent + self.pick("break", f"if {self.test()}: break", f"if {self.test()}: continue")
                )
            else:
                self.lines.append(indent + f"if {self.test()}: return s, {self.pick('p', 'q', 'fresh(r)')}, r")
                return

    def loop(self, depth, indent):
        self.loops += 1
        name = f"i{self.loops}"
        if self.random.random() < 0.6:
            self.lines.append(indent + f"for {name} in range({self.pick('n', '3', 'k % 3', '1, n')}):")
        else:
            self.lines += [indent + f"{name} = 0", indent + f"while {name} < {self.pick('3', 'n')}:"]
            self.lines.append(indent + f"    {name} += 1")
        self.block(depth + 1, looping=True)

    def text(self):
        self.block(1, looping=False)
        self.lines.append(f"    return s, {self.pick('p', 'q', 'a[2:]')}, {self.pick('r', 'q', 'fresh(p)')}")
        return "\n".join(self.lines)


def both(text):
    tree = ast.parse(text)
    scope = {"__name__": "registers", "fresh": lambda a: a + 0.5}
    exec(compile(tree, "<registers>", "exec"), scope)  # noqa: S102 - our own text
    plain = scope["f"]
    fast = dict(scope, fresh=fresh)
    fast[TREES] = Trees(text, tree)
    exec(compile(tree, "<registers>", "exec"), fast)  # noqa: S102 - our own text
    return plain, compiled(fast["f"])


def ran(f, n, k):
    a = np.array([0.25, -1.0, 2.0, 0.5, -0.75])
    try:
        return [*f(a, n, k), a]
    except (IndexError, Stopped):
        return [a]


@pytest.fixture
def _counted():
    nrt._nrt.memsys_enable_stats()
    yield
    nrt._nrt.memsys_disable_stats()


def compare(seed):
    """Compare a random program with Python; how many calls ended with an error."""
    text = Program(seed).text()
    plain, fast = both(text)
    ran(fast, 1, 1)
    failed = 0
    for n, k in ((3, 0), (0, 1), (4, 2), (2, 3)):
        want = ran(plain, n, k)
        before = nrt.rtsys.get_allocation_stats()
        got = ran(fast, n, k)
        assert len(got) == len(want), text
        for one, other in zip(got, want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=text)
        failed += len(want) == 1
        del got, one
        after = nrt.rtsys.get_allocation_stats()
        assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free, text
    return failed


@pytest.mark.usefixtures("_counted")
def test_each_array_is_freed_once():
    assert sum(map(compare, range(40))) > 1
