"""What a function returns from several places is the same variable's: an object, a list, a dict, a closure's."""

# ruff: noqa: RET504 - that the variable is returned is what is tested

import copy

import numpy as np
import pytest

import diffjit as dj

BACKENDS = ["python", "numba"]


class Body:
    def __init__(self, mass):
        self.mass = mass

    def grow(self, by):
        self.mass = self.mass * by


def one_of_two(x):
    if x > 2.0:
        body = Body(x * x)
        return body
    body = Body(3.0 * x)
    return body


def an_object(x):
    return one_of_two(x).mass * x


def one_of_three(x):
    if x > 2.0:
        body = Body(x * x)
        body.grow(x)
        return body
    elif x > 1.0:  # noqa: RET505
        body = Body(5.0 * x)
        return body
    body = Body(3.0 * x)
    body.grow(2.0)
    return body


def an_object_of_three(x):
    body = one_of_three(x)
    body.grow(x)
    return body.mass


def a_list(x):
    def parts(x):
        if x > 1.5:
            found = [x * x, x]
            return found
        found = [3.0 * x, 2.0]
        found[1] = found[0] * x
        return found

    a, b = parts(x)
    return a * b


def a_dict(x):
    def parts(x):
        if x > 1.5:
            found = {"a": x * x, "b": [x]}
            return found
        found = {"a": 3.0 * x, "b": [x * x]}
        found["b"][0] += x
        return found

    found = parts(x)
    return found["a"] * found["b"][0]


def changed_by(x, body):
    if x > 1.5:
        body = Body(2.0 * x)
        return body
    body.mass = 7.0 * x * x
    return body


def an_argument(x):
    body = Body(x)
    found = changed_by(x, body)
    return 10.0 * found.mass + body.mass**2


def two_names(x):
    def both(x):
        if x > 1.5:
            one = two = Body(x)
            two.mass = 9.0 * x * x
            return one
        one = Body(2.0 * x)
        two = one
        two.mass += x**3
        return two

    return both(x).mass


def out_of_a_loop(x):
    def first(x):
        for k in range(4):
            body = Body(x * k)
            if body.mass > 3.0:
                body.grow(x)
                return body
        body = Body(x * x)
        return body

    return first(x).mass


def until_it_fits(x):
    def found(x):
        while True:
            body = Body(x)
            x = x * 1.5
            if x > 6.0:
                return body
            if x > 3.0:
                body = Body(x * x)
                return body

    return found(x).mass


def an_array(x):
    def found(x):
        if x > 1.5:
            v = np.array([x, x * x])
            w = [v]
            return w
        v = np.array([x**3, 1.0])
        w = [v]
        w[0][1] = x
        return w

    return np.sum(found(x)[0] ** 2)


def raised(x):
    def found(x):
        if x > 2.0:
            body = Body(x * x)
            raise ValueError(body.mass)
        if x > 1.0:
            body = Body(4.0 * x)
            return body
        body = Body(x)
        return body

    try:
        body = found(x)
    except ValueError:
        body = Body(x**3)
    return body.mass * x


def read_by_a_closure(x):
    def made(x):
        if x > 1.5:
            body = Body(x * x)
            return lambda: body.mass
        body = Body(5.0 * x)
        return lambda: body.mass

    return made(x)() * x


class Field:
    def __init__(self, values):
        self.values, self.scale, self.parts = values, 1.0, [values]


def copied_or_moved(field, x):
    """A copy, the object itself or a shallow copy that is changed."""
    if x > 2.0:
        return copy.deepcopy(field)
    moved = copy.copy(field)
    moved.values = moved.values * x
    if x > 1.0:
        return field
    return moved


def one_that_is_made_and_two_that_are(x):
    field = Field(np.array([x, 2.0]))
    kept = [field]
    found = copied_or_moved(field, x)
    found.scale = found.scale * 3.0 * x
    found.values = found.values + 1.0
    found.values *= x
    return np.sum(found.values) * found.scale + kept[0].scale * x + np.sum(field.values)


def copy_of_one_of_several(x):
    field = Field(np.array([x, 2.0]))
    found = copied_or_moved(field, x)
    kept = [field, found]
    other = copy.copy(kept[1])
    other.values = other.values * np.sin(x)
    other.scale += 1.0
    return np.sum(other.values) * other.scale + np.sum(found.values) * found.scale + np.sum(field.values)


PROGRAMS = [
    one_that_is_made_and_two_that_are,
    copy_of_one_of_several,
    an_object, an_object_of_three, a_list, a_dict, an_argument, two_names, out_of_a_loop, until_it_fits, an_array,
    raised, read_by_a_closure,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_as_python_has_it(program, backend):
    both = dj.value_and_grad(program, backend=backend)
    for x in (0.7, 1.7, 2.7):
        value, slope = both(x)
        assert value == pytest.approx(program(x), rel=1e-13)
        wanted = (program(x + 1e-6) - program(x - 1e-6)) / 2e-6
        assert slope == pytest.approx(wanted, rel=1e-7)
        assert dj.jvp(program, (x,), (1.0,), backend=backend)[1] == pytest.approx(wanted, rel=1e-7)
        bend = (program(x + 1e-3) - 2.0 * program(x) + program(x - 1e-3)) / 1e-6
        second = dj.grad(dj.grad(program, backend="python"), backend="python")(x)
        assert second == pytest.approx(bend, rel=1e-4, abs=1e-5)


def test_lanes():
    xs = np.array([0.7, 1.7, 2.7])
    for program in (an_object_of_three, a_dict, an_argument):
        slopes = dj.vmap(dj.grad(program, backend="python"), backend="python")(xs)
        np.testing.assert_allclose(slopes, [dj.grad(program, backend="python")(x) for x in xs], rtol=1e-13)


def last_of_a_loop(x):
    def last(x, first, n):
        body = Body(x * x)
        for k in range(n):
            body = first
            body.mass = 2.0 * x + k
        return body

    first = Body(x)
    body = last(x, first, int(x + 1.5))
    body.mass = 5.0 * x * x
    return first.mass * 10.0 + body.mass


def last_list_of_a_loop(x):
    first, found = [x, 1.0], [2.0, x]
    for _ in range(3):
        found = first
        found[0] = 2.0 * x
    found[1] = 5.0 * x * x
    return first[0] + first[1] * 10.0 + found[1]


def last_dict_of_a_loop(x):
    first, found, k = {"a": x}, {"a": 1.0}, 0
    while k < x:
        found = first
        found["a"] = found["a"] * 2.0
        k += 1
    found["a"] += x
    return first["a"] * 10.0 + found["a"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [last_of_a_loop, last_list_of_a_loop, last_dict_of_a_loop])
def test_two_names_after_a_loop_that_changes_one(program, backend):
    both = dj.value_and_grad(program, backend=backend)
    for x in (0.7, 1.7, 2.7):
        value, slope = both(x)
        assert value == pytest.approx(program(x), rel=1e-13)
        assert slope == pytest.approx((program(x + 1e-6) - program(x - 1e-6)) / 2e-6, rel=1e-7)
