"""Rules are read where a derivative is taken that needs them, for that one; a wrong announcement costs time alone."""

import itertools
import random

import numpy as np
import pytest

import diffjit as dj
from diffjit.api import custom
from diffjit.api.grad import Gradient
from diffjit.frontend.entry import demand

jax = pytest.importorskip("jax")
jnp = jax.numpy

F, R = "forward", "reverse"


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


@pytest.fixture
def read(monkeypatch):
    """The rules that are interpreted, in order: name and mode."""
    found = []
    for name in (F, R):
        rule = getattr(custom._Call, name)

        def noted(self, *args, rule=rule, name=name):
            found.append((self.name, name))
            return rule(self, *args)

        monkeypatch.setattr(custom._Call, name, noted)
    return found


# Demands --------------------------------------------------------------------------------------------------------------


def derivatives(length):
    return [d for n in range(length + 1) for d in itertools.product((F, R), repeat=n)]


def parts(of):
    """What may be taken, where this was announced."""
    return {tuple(itertools.compress(of, keep)) for keep in itertools.product((0, 1), repeat=len(of))}


def test_covers_and_either():
    for a, b in itertools.product(derivatives(3), repeat=2):
        assert demand.covers(a, b) == (b in parts(a))
        both = demand.either(a, b)
        assert demand.covers(both, a)
        assert demand.covers(both, b)
    assert demand.covers(None, (F,))
    assert not demand.covers((F, F, F, F), None)
    assert demand.before((F,), (R,)) == (F, R)
    assert demand.before(None, ()) is None
    assert demand.before((), None) is None


@pytest.mark.parametrize(("forward", "reverse"), [(True, False), (False, True), (True, True)])
def test_rules_of_a_demand(forward, reverse):
    """Whatever may be taken finds its rule, and that one finds what is taken of it afterwards."""
    for announced in derivatives(4):
        rules = demand.of_rules(announced, forward=forward, reverse=reverse)
        for taken in parts(announced):
            if taken:
                mode = taken[0]
                own = forward if mode == F else reverse
                rule = mode if own else (F if forward else R)
                assert demand.covers(rules[rule], taken[1:] if own else (R, *taken[1:]))
    assert demand.of_rules((), forward=forward, reverse=reverse) == {}
    assert len(demand.of_rules(None, forward=forward, reverse=reverse)) == forward + reverse


# What is read ---------------------------------------------------------------------------------------------------------


def both_rules():
    @dj.custom_jvp
    def both(x):
        return np.sin(x)

    @both.defjvp
    def rule(primals, tangents):
        return both(primals[0]), np.cos(primals[0]) * tangents[0]

    both.defvjp(lambda x: (both(x), x), lambda x, bar: (bar * np.cos(x),))
    return both


@pytest.mark.parametrize(
    ("verb", "wanted"),
    [
        (dj.jit, []),
        (lambda f: dj.jit(lambda x: dj.vmap(f)(np.ones(3) * x)), []),
        (dj.grad, [R]),
        (dj.value_and_grad, [R]),
        (dj.jacrev, [R]),
        (dj.jacfwd, [F]),
        (lambda f: lambda x: dj.jvp(f, (x,), (1.0,)), [F]),
        (lambda f: dj.grad(dj.jit(f)), [R]),
        (lambda f: dj.jit(dj.grad(f)), [R]),
        (lambda f: dj.jacfwd(dj.grad(f)), [R, F]),
        (lambda f: dj.grad(lambda x: dj.jvp(f, (x,), (1.0,))[1]), [F, R]),
        (lambda f: dj.jit(lambda x: dj.stop_gradient(f(x))), []),
    ],
)
def test_modes(verb, wanted, read):
    both = both_rules()
    verb(lambda x: both(x) * x)(1.0)
    assert sorted({mode for _, mode in read}) == sorted(set(wanted))


def test_a_rule_that_cannot_be_read_is_refused_where_it_is_needed():
    @dj.custom_jvp
    def f(x):
        return np.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        del primals.real
        return f(primals[0]), tangents[0]

    assert dj.jit(lambda x: f(x) * 2.0)(1.0) == 2.0 * np.sin(1.0)
    assert dj.vmap(f)(np.ones(2)).shape == (2,)
    for verb in (dj.grad, dj.jacfwd):
        with pytest.raises(dj.DiffjitError, match="DJ101"):
            verb(lambda x: f(x) * 2.0)(1.0)


SCALE = 2.0


def test_what_a_rule_reads_outside(monkeypatch):
    """A global that a rule alone reads is no part of the value; the gradient follows it."""

    @dj.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def rule(primals, tangents):
        return f(primals[0]), SCALE * tangents[0]

    value, slope = dj.jit(lambda x: f(x) + x), dj.grad(lambda x: f(x) + x)
    assert (value(3.0), slope(3.0)) == (12.0, 3.0)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert (value(3.0), slope(3.0)) == (12.0, 6.0)
    f.defjvp(lambda primals, tangents: (f(primals[0]), 7.0 * tangents[0]))
    assert (value(3.0), slope(3.0)) == (12.0, 8.0)


def test_a_wrong_announcement(monkeypatch, read):
    """Everything is made again, with all rules."""
    both = both_rules()
    monkeypatch.setattr(Gradient, "takes", ())
    np.testing.assert_allclose(dj.grad(lambda x: both(x) * x)(1.2), np.cos(1.2) * 1.2 + np.sin(1.2), rtol=1e-12)
    np.testing.assert_allclose(dj.grad(dj.grad(both))(1.2), -np.sin(1.2), rtol=1e-12)
    assert {mode for _, mode in read} == {F, R}


# Random programs: rules that are wrong on purpose, so that it can be seen which one was taken -----------------------


def functions(np, jvp_of, vjp_of, factors):
    """Functions with a forward rule, a reverse rule, and (not for JAX) both; rules call the others."""

    @jvp_of
    def a(x):
        return np.sin(x) * x

    @a.defjvp
    def a_rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return a(x), factors[0] * np.cos(x) * t * a(x)

    @vjp_of
    def b(x):
        return a(x) * x

    b.defvjp(lambda x: (b(x), x), lambda x, bar: (factors[1] * bar * a(x),))
    return a, b


def combined(a, b, np, form):
    """A program of calls, in an order that is drawn."""
    inner = {"a": a, "b": b, "s": np.sin}

    def f(x):
        y = x
        for k in form:
            y = inner[k](y) + 0.5 * x
        if np is not jnp and x > 2.0:
            raise ValueError("too large")
        return y

    return f


VERBS = {
    "grad": lambda lib, f: lib.grad(f),
    "jvp": lambda lib, f: lambda x: lib.jvp(f, (x,), (1.0,))[1],
    "vjp": lambda lib, f: lambda x: lib.vjp(f, x)[1](1.5)[0],
    "jit": lambda lib, f: lib.jit(f),
    "fwd": lambda lib, f: lib.jacfwd(f),
    "check": lambda lib, f: lib.checkpoint(f),
}


def under(lib, f, verbs):
    for verb in verbs:
        inner, make = f, VERBS[verb]
        made = make(lib, inner)
        f = lambda x, made=made, inner=inner: made(x) + 0.25 * inner(x)
    return f


def drawn(seed):
    draw = random.Random(seed)
    form = [draw.choice("ab" if k else "abs") for k in range(draw.randint(1, 2))]
    return form, [draw.choice(list(VERBS)) for _ in range(draw.randint(1, 3))], draw.choice([0.3, -0.7, 1.1])


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed, monkeypatch):
    """As announced, and with all rules; and as JAX says where JAX has it."""
    form, verbs, x = drawn(seed)
    x = x if seed % 8 else 2.5  # which raises
    factors = 3.0 + 0.1 * seed, 5.0 - 0.1 * seed
    made = under(dj, combined(*functions(np, dj.custom_jvp, dj.custom_vjp, factors), np, form), verbs)
    if x > 2.0:
        with pytest.raises(ValueError, match="too large"):
            dj.jit(made)(x)
        return
    found = dj.jit(made)(x)

    def everything(_, make):
        with demand.demanded(None):
            return make()

    monkeypatch.setattr(demand, "as_demanded", everything)
    made = under(dj, combined(*functions(np, dj.custom_jvp, dj.custom_vjp, factors), np, form), verbs)
    np.testing.assert_allclose(found, dj.jit(made)(x), rtol=1e-12)
    if "b" not in form or not {"jvp", "fwd"} & set(verbs):  # JAX has no forward mode of reverse rules
        with jax.enable_x64(True):
            library = under(jax, combined(*functions(jnp, jax.custom_jvp, jax.custom_vjp, factors), jnp, form), verbs)
            np.testing.assert_allclose(found, library(x), rtol=1e-9)
