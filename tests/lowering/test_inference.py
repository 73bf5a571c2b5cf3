"""Types that are inferred without running everything again are what running everything again finds."""

import numpy as np
import pytest

from diffjit.lowering.llvm import compiler
from diffjit.settings import settings
from tests.lowering.test_registers import Program, both, ran


@pytest.fixture
def functions(monkeypatch):
    """How many functions have had their types inferred; none comes from the disk."""
    monkeypatch.setattr(settings, "cache_mb", 0)
    unify, seen = compiler._Inferer.unify, []

    def checked(self, *args, **options):
        seen.append(self)
        for constraint in self.constraints.constraints:
            known = getattr(constraint, "signature", None)
            types = {name: variable.type for name, variable in self.typevars.items()}
            constraint(self)
            assert getattr(constraint, "signature", None) == known, vars(constraint)
            assert {name: self.typevars[name].type for name in types} == types, vars(constraint)
        return unify(self, *args, **options)

    monkeypatch.setattr(compiler._Inferer, "unify", checked)
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_of_programs_that_join_arrays(seed, functions):
    ran(both(Program(seed).text())[1], 3, 0)
    assert functions


VIEWS = """
def f(a, n, k):
    p, s = a, 0.0
    q = fresh(a)
    for i in range(n):
        s += p[0] + q[-1]
        p = q[k:]
        q = q[::-1]
    return s, p, q
"""


def test_where_views_of_an_array_take_its_place(functions):
    plain, fast = both(VIEWS)
    for one, other in zip(ran(plain, 3, 1), ran(fast, 3, 1), strict=True):
        np.testing.assert_array_equal(one, other)
    assert functions
