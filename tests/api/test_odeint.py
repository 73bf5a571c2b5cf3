"""Differential equations: against closed forms, SciPy, JAX, variational equations and difference quotients."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import diffjit as dj

BOTH = pytest.mark.parametrize("backend", ["python", "numba"])
ADJOINTS = pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
TIGHT = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(autouse=True)
def _readable(monkeypatch):
    monkeypatch.setattr(dj.settings, "backend", "python")


def close(found, wanted, rtol=1e-7, atol=1e-9):
    """The same numbers."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def predators(y, t, p):
    """Lotka and Volterra's equations, with prey that grows faster and faster."""
    prey, hunters = y
    return [prey * (p[0] * (1.0 + 0.1 * t * t) - p[1] * hunters), hunters * (p[2] * prey - p[3])]


Y0, P = np.array([1.0, 0.7]), np.array([1.1, 0.4, 0.3, 0.8])
TS = np.array([0.2, 1.0, 1.7, 3.0])


def by_scipy(y0, p, ts):
    """States at the times, and their derivatives by y0 and p, from the variational equations."""

    def both(t, z):
        (x, y), u, v = z[:2], z[2:6].reshape(2, 2), z[6:].reshape(2, 4)
        season = 1.0 + 0.1 * t * t
        by_y = np.array([[p[0] * season - p[1] * y, -p[1] * x], [p[2] * y, p[2] * x - p[3]]])
        by_p = np.array([[x * season, -x * y, 0.0, 0.0], [0.0, 0.0, x * y, -y]])
        return np.concatenate([predators(z[:2], t, p), (by_y @ u).ravel(), (by_y @ v + by_p).ravel()])

    start = np.concatenate([y0, np.eye(2).ravel(), np.zeros(8)])
    z = solve_ivp(both, (ts[0], ts[-1]), start, t_eval=ts, rtol=1e-12, atol=1e-12, method="DOP853").y.T
    return z[:, :2], z[:, 2:6].reshape(-1, 2, 2), z[:, 6:].reshape(-1, 2, 4)


@BOTH
@ADJOINTS
def test_states_and_their_derivatives(backend, adjoint):
    def states(y0, p):
        return dj.odeint(predators, y0, TS, p, adjoint=adjoint, **TIGHT)

    wanted, by_y0, by_p = by_scipy(Y0, P, TS)
    close(dj.jit(states, backend=backend)(Y0, P), wanted)
    for verb in (dj.jacrev, dj.jacfwd):
        found = verb(states, argnums=(0, 1), backend=backend)(Y0, P)
        close(found[0], by_y0)
        close(found[1], by_p)


def wave(y0, ts, p, adjoint="discrete"):
    """A number of all states."""
    return np.sum(np.sin(dj.odeint(predators, y0, ts, p, adjoint=adjoint, rtol=1e-11, atol=1e-11)))


@pytest.fixture(scope="module")
def by_jax():
    """JAX's gradients of the same number, by its own adjoint, and its Hessian by the parameters."""
    jax = pytest.importorskip("jax")
    from jax.experimental.ode import odeint

    def field(y, t, p):
        return jax.numpy.stack(predators(y, t, p))

    def loss(y0, ts, p):
        return jax.numpy.sum(jax.numpy.sin(odeint(field, y0, ts, p, rtol=1e-11, atol=1e-11)))

    with jax.enable_x64(True):
        first = jax.jit(jax.grad(loss, argnums=(0, 1, 2)))(Y0, TS, P)
        second = jax.jit(jax.jacrev(jax.grad(loss, 2), 2))(Y0, TS, P)
        return jax.tree.map(np.asarray, (first, second))


@BOTH
@ADJOINTS
def test_gradients_as_jax_has_them(by_jax, backend, adjoint):
    found = dj.grad(wave, argnums=(0, 1, 2), backend=backend)(Y0, TS, P, adjoint)
    for a, b in zip(found, by_jax[0], strict=True):
        close(a, b, rtol=1e-6, atol=1e-8)


@ADJOINTS
def test_second_derivatives_as_jax_has_them(by_jax, adjoint):
    for outer in (dj.jacfwd, dj.jacrev):
        found = outer(dj.grad(wave, argnums=2), argnums=2)(Y0, TS, P, adjoint)
        close(found, by_jax[1], rtol=1e-5, atol=1e-7)
    close(dj.hessian(wave, argnums=2)(Y0, TS, P, adjoint), by_jax[1], rtol=1e-5, atol=1e-7)


def spring(y, t, w):
    """A harmonic oscillator."""
    return [y[1], -w * w * y[0]]


def swing(x0, v0, w, t0, t1, adjoint="discrete"):
    """The place at t1."""
    return dj.odeint(spring, np.array([x0, v0]), np.array([t0, t1]), w, adjoint=adjoint, **TIGHT)[1, 0]


def swing_exact(x0, v0, w, t0, t1):
    """The same by its formula."""
    return x0 * np.cos(w * (t1 - t0)) + v0 / w * np.sin(w * (t1 - t0))


EVERY = (0, 1, 2, 3, 4)
AT = (0.8, -0.3, 1.7, 0.2, 2.1)


@BOTH
@ADJOINTS
def test_an_oscillator_to_second_order(backend, adjoint):
    def ours(x):
        return swing(x[0], x[1], x[2], x[3], x[4], adjoint)

    def formula(x):
        return swing_exact(x[0], x[1], x[2], x[3], x[4])

    x, d = np.array(AT), np.array([0.3, -1.0, 0.5, 0.7, -0.2])
    close(dj.grad(ours, backend=backend)(x), dj.grad(formula)(x))
    wanted = dj.jvp(dj.grad(formula), (x,), (d,))[1]
    close(dj.hvp(ours, (x,), (d,), backend=backend), wanted, rtol=1e-5, atol=1e-7)
    close(dj.jvp(dj.grad(ours), (x,), (d,), backend=backend)[1], wanted, rtol=1e-5, atol=1e-7)


def test_third_derivatives():
    third, wanted = (dj.grad(dj.grad(dj.grad(f, 2), 2), 2)(*AT) for f in (swing, swing_exact))
    close(third, wanted, rtol=1e-5)


@ADJOINTS
def test_backwards_in_time(adjoint):
    at = (0.8, -0.3, 1.7, 2.1, 0.2)
    close(swing(*at, adjoint), swing_exact(*at))
    close(dj.grad(swing, argnums=EVERY)(*at, adjoint), dj.grad(swing_exact, argnums=EVERY)(*at), atol=1e-8)


@BOTH
def test_lanes_and_loops(backend):
    ws = np.array([0.5, 1.0, 3.0])
    lanes = dj.vmap(dj.grad(swing, argnums=2), (None, None, 0, None, None), backend=backend)
    wanted = [dj.grad(swing_exact, argnums=2)(0.8, -0.3, w, 0.2, 2.1) for w in ws]
    close(lanes(0.8, -0.3, ws, 0.2, 2.1), wanted)

    def total(w, solution):
        out = 0.0
        for k in range(3):
            out += solution(0.1 * k, 0.5, w, 0.0, 1.0 + k)
        return out

    close(dj.grad(total, backend=backend)(1.3, swing), dj.grad(total)(1.3, swing_exact))


@dj.grad
def slope_of_the_swing(w):
    """A verb as a decorator, around one inside."""
    return swing(0.8, -0.3, w, 0.2, 2.1)


def test_as_a_decorator():
    close(slope_of_the_swing(1.7), dj.grad(swing_exact, 2)(*AT))


class Body(NamedTuple):
    """A state."""

    place: Any
    speed: Any


@dataclass
class Medium:
    """What surrounds it."""

    drag: float
    pull: Any
    power: int


def moved(body, t, media, name):
    """Bodies with drag, each in one row."""
    medium = media[name]
    return Body(body.speed, -medium.drag * body.speed**medium.power + medium.pull * np.exp(-t))


def flat_motion(y, t, drag, pull, power):
    """The same for a vector."""
    return np.concatenate([y[6:], -drag * y[6:] ** power + (pull * np.exp(-t)).ravel()])


@BOTH
@ADJOINTS
def test_trees_of_states_and_arguments(backend, adjoint):
    rng = np.random.default_rng(3)
    start = Body(rng.standard_normal((2, 3)), np.abs(rng.standard_normal((2, 3))))
    pull, ts = rng.standard_normal((2, 3)) + 2.0, np.array([0.0, 0.5, 0.8])

    def tree(start, medium):
        found = dj.odeint(moved, start, ts, {"air": medium}, "air", adjoint=adjoint, **TIGHT)
        return np.sum(found.place[1:] ** 3) + np.sum(found.speed[-1])

    def flat(y0, drag, pull):
        found = dj.odeint(flat_motion, y0, ts, drag, pull, 2, **TIGHT)
        return np.sum(found[1:, :6] ** 3) + np.sum(found[-1, 6:])

    by_start, by_medium = dj.grad(tree, argnums=(0, 1), backend=backend)(start, Medium(0.3, pull, 2))
    y0 = np.concatenate([start.place.ravel(), start.speed.ravel()])
    by_y0, by_drag, by_pull = dj.grad(flat, argnums=(0, 1, 2))(y0, 0.3, pull)
    assert isinstance(by_start, Body)
    close(np.concatenate([by_start.place.ravel(), by_start.speed.ravel()]), by_y0)
    close(by_medium.drag, by_drag)
    close(by_medium.pull, by_pull)
    h = 1e-4
    close(by_drag, (flat(y0, 0.3 + h, pull) - flat(y0, 0.3 - h, pull)) / (2 * h), rtol=1e-5)


@BOTH
@ADJOINTS
def test_what_a_slope_reads_of_its_surroundings(backend, adjoint):
    def decay(k, y0):
        def slope(y, t):
            return -k[0] * y * t

        return dj.odeint(slope, y0, np.array([0.0, 1.0, 2.0]), adjoint=adjoint, **TIGHT)[-1]

    def formula(k, y0):
        return y0 * np.exp(-2.0 * k[0])

    at = np.array([0.4]), 1.5
    found = dj.grad(decay, argnums=(0, 1), backend=backend)(*at)
    close(found[0], dj.grad(formula)(*at))
    close(found[1], dj.grad(formula, 1)(*at))


@BOTH
def test_single_precision(backend):
    y0 = np.array([0.8, -0.3], dtype=np.float32)

    def place(y0, w):
        return dj.odeint(spring, y0, np.array([0.2, 2.1]), w, rtol=1e-5, atol=1e-5)[1, 0]

    found = dj.grad(place, backend=backend)(y0, 1.7)
    assert found.dtype == np.float32
    wanted = dj.grad(swing_exact, argnums=(0, 1))(*AT)
    close(found, wanted, rtol=1e-3, atol=1e-3)


@BOTH
def test_one_time_and_integers(backend):
    """The start alone; a start and times that are integers."""
    alone = dj.jit(lambda y0: dj.odeint(spring, y0, np.array([0.3]), 2.0), backend=backend)
    close(alone(Y0), [Y0])
    close(dj.jacrev(alone, backend=backend)(Y0), [np.eye(2)])
    found = dj.jit(lambda w: dj.odeint(spring, np.array([1, 0]), [0, 1, 2], w, **TIGHT), backend=backend)(1.5)
    close(found[:, 0], np.cos([0.0, 1.5, 3.0]))
    pair = dj.odeint(lambda y, t: (y[1], -y[0]), (1, 0.0), [0, 1, 2], **TIGHT)
    close(pair[0], np.cos([0.0, 1.0, 2.0]))


# Dense output and events


@BOTH
def test_dense_output(backend):
    def places(w, ts):
        sol = dj.odeint(spring, np.array([1.0, 0.0]), np.array([0.0, 5.0]), w, dense=True, **TIGHT)
        return sol(ts)[:, 0] + sol(2.5)[0]

    def formula(w, ts):
        return np.cos(w * ts) + np.cos(w * 2.5)

    ts = np.array([3.0, 0.0, 0.1, 5.0, 4.9])
    close(dj.jit(places, backend=backend)(1.3, ts), formula(1.3, ts), rtol=1e-6)
    close(dj.jacrev(places, backend=backend)(1.3, ts), dj.jacrev(formula)(1.3, ts), rtol=1e-6)
    close(dj.jacfwd(places, argnums=1, backend=backend)(1.3, ts), dj.jacfwd(formula, 1)(1.3, ts), rtol=1e-5, atol=1e-7)


def test_a_solution_called_from_python():
    state = {"x": 1.0, "rest": np.array([[0.0, 2.0]])}

    def slope(s, t, w):
        return {"x": s["rest"][0, 0], "rest": np.array([[-w * w * s["x"], -s["rest"][0, 1]]])}

    sol = dj.odeint(slope, state, np.array([0.0, 1.0, 3.0]), 1.3, dense=True, **TIGHT)
    assert isinstance(sol, dj.OdeSolution)
    close(sol.y["x"], np.cos(1.3 * sol.t))
    assert sol.y["rest"].shape == (3, 1, 2)
    at, many = sol(2.2), sol(np.array([0.5, 2.9]))
    close(at["x"], np.cos(1.3 * 2.2))
    assert at["rest"].shape == (1, 2)
    close(many["rest"][:, 0, 1], 2.0 * np.exp(-np.array([0.5, 2.9])))
    close(sol.y_end["x"], np.cos(3.9))
    assert (sol.event, sol.t_end, sol.t_events, sol.y_events) == (-1, 3.0, (), ())
    for outside in (-0.1, 3.1):
        with pytest.raises(ValueError, match="outside of the integration"):
            sol(outside)


def fall(y, t, g):
    """Free fall."""
    return [y[1], -g]


def ground(y, t, g):
    """The height."""
    return y[0]


GROUND = dj.Event(ground, terminal=True, direction=-1)


def bounces(h, v, g, r):
    """The time of the fourth bounce."""
    t, y = 0.0, np.array([h, v])
    for _ in range(4):
        sol = dj.odeint(fall, y, np.array([t, t + 10.0]), g, events=GROUND)
        t, y = sol.t_end, np.array([0.0, -r * sol.y_end[1]])
    return t


def bounces_exact(h, v, g, r):
    """The same by its formula."""
    speed = np.sqrt(v * v + 2.0 * g * h)
    return (v + speed) / g + 2.0 * speed / g * (r + r**2 + r**3)


BALL = (2.0, 1.5, 9.81, 0.8)


@BOTH
def test_a_bouncing_ball(backend):
    close(dj.jit(bounces, backend=backend)(*BALL), bounces_exact(*BALL), rtol=1e-10)
    found = dj.grad(bounces, argnums=(0, 1, 2, 3), backend=backend)(*BALL)
    close(found, dj.grad(bounces_exact, argnums=(0, 1, 2, 3))(*BALL))
    dots = (0.5, -1.0, 2.0, 0.1)
    close(dj.jvp(bounces, BALL, dots, backend=backend)[1], dj.jvp(bounces_exact, BALL, dots)[1])


def test_a_bouncing_ball_to_second_order():
    found, wanted = (dj.hessian(f, argnums=(0, 1, 2, 3))(*BALL) for f in (bounces, bounces_exact))
    close(np.array(found), np.array(wanted))


def crossings(w, level, direction):
    """When an oscillator passes a level, and how fast it then is; and where it is at the time 2."""
    sol = dj.odeint(
        spring, np.array([1.0, 0.0]), np.array([0.0, 9.0]), w,
        events=[dj.Event(lambda y, t, w: y[0] - level, direction=direction), lambda y, t, w: t - 2.0], **TIGHT,
    )  # fmt: skip
    return np.concatenate([sol.t_events[0], sol.y_events[0][:, 1], sol.t_events[1], sol.y_events[1][:, 0]])


def crossings_exact(w, level, direction):
    """The same by its formula."""
    first = np.arccos(level)
    turns = 2.0 * np.pi * np.arange(2 + (direction < 0))
    times = (turns + (first if direction < 0 else 2.0 * np.pi - first)) / w
    return np.concatenate([times, -w * np.sin(w * times), np.array([2.0, np.cos(2.0 * w)])])


@pytest.mark.parametrize("direction", [-1, 1])
def test_events_that_are_recorded(direction):
    at = 1.6, 0.3

    def ours(w, level):
        return crossings(w, level, direction)

    def formula(w, level):
        return crossings_exact(w, level, direction)

    wanted = dj.jacfwd(formula, argnums=(0, 1))(*at)
    for verb in (dj.jacrev, dj.jacfwd):
        for found, right in zip(verb(ours, argnums=(0, 1))(*at), wanted, strict=True):
            close(found, right, rtol=1e-6, atol=1e-7)
    close(dj.jit(ours, backend="numba")(*at), formula(*at), rtol=1e-6)
    if direction > 0:
        return
    close(dj.jacrev(ours, backend="numba")(*at), wanted[0], rtol=1e-6, atol=1e-7)
    second, wanted = (dj.jacfwd(dj.jacrev(f))(*at) for f in (ours, formula))
    close(second, wanted, rtol=1e-5, atol=1e-6)


def test_events_in_both_directions_are_those_of_scipy():
    def level(y, t, w):
        return y[0] - 0.3

    sol = dj.odeint(spring, np.array([1.0, 0.0]), np.array([9.0, 0.0]), 1.6, events=level, **TIGHT)
    wanted = solve_ivp(
        lambda t, y: spring(y, t, 1.6), (9.0, 0.0), [1.0, 0.0], events=lambda t, y: y[0] - 0.3, rtol=1e-11, atol=1e-11
    )
    assert sol.t_events[0].size == 5
    close(sol.t_events[0], wanted.t_events[0], rtol=1e-6)


@BOTH
def test_the_first_of_several_ends_stops(backend):
    """Both lie in one step; what is recorded and asked for lies before."""

    def stops(speed):
        sol = dj.odeint(
            lambda y, t: speed, 0.0, np.array([0.0, 1.0, 2.0, 9.0]),
            events=(
                dj.Event(lambda y, t: y - 5.0, terminal=True), dj.Event(lambda y, t: y - 4.0, terminal=True),
                dj.Event(lambda y, t: y - 3.0), dj.Event(lambda y, t: y - 4.5),
            ),
        )  # fmt: skip
        return sol.t, sol.y, sol.t_end, sol.y_end, sol.event, sol.t_events

    t, y, t_end, y_end, event, (last, stop, before, after) = dj.jit(stops, backend=backend)(1.6)
    close(t, [0.0, 1.0, 2.0])
    close(y, [0.0, 1.6, 3.2])
    close((t_end, y_end, event), (2.5, 4.0, 1))
    close(np.concatenate([stop, before]), [2.5, 1.875])
    assert last.size == after.size == 0
    if backend == "python":
        close(dj.grad(lambda s: stops(s)[2])(1.6), -4.0 / 1.6**2)
        close(dj.grad(lambda s: stops(s)[3])(1.6), 0.0)


def creeping(y, t, mu):
    """Van der Pol's oscillator, which is stiff where it creeps."""
    return [y[1], mu * (1.0 - y[0] * y[0]) * y[1] - y[0]]


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_fixed_steps_of_a_stiff_equation_do_not_amplify(tolerance):
    """Where the control of errors is what holds the solution, the derivative with these steps would be 1e30."""

    def both(t, z):
        by_y = np.array([[0.0, 1.0], [-100.0 * z[0] * z[1] - 1.0, 50.0 * (1.0 - z[0] ** 2)]])
        return np.concatenate([creeping(z[:2], t, 50.0), (by_y @ z[2:].reshape(2, 2)).ravel()])

    start = [2.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    wanted = solve_ivp(both, (0.0, 30.0), start, method="Radau", rtol=1e-10, atol=1e-12).y[2:4, -1]

    def place(y0, adjoint):
        options = {"rtol": tolerance, "atol": tolerance, "adjoint": adjoint}
        return dj.odeint(creeping, y0, np.array([0.0, 30.0]), 50.0, **options)[-1, 0]

    gradient = dj.grad(place, backend="numba")
    close(gradient(np.array([2.0, 0.0]), "discrete"), wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(RuntimeError, match="too small"):  # backwards, it is unstable
        gradient(np.array([2.0, 0.0]), "continuous")


def test_events_in_lanes():
    def lands(h):
        return dj.odeint(fall, np.array([h, 0.0]), np.array([0.0, 9.0]), 9.81, events=GROUND).t_end

    hs = np.array([0.5, 1.0, 30.0])
    close(dj.vmap(lands)(hs), np.sqrt(2.0 * hs / 9.81))
    close(dj.vmap(dj.grad(lands))(hs), 1.0 / np.sqrt(2.0 * hs * 9.81))


# Refusals


@BOTH
def test_an_event_without_a_derivative(backend):
    """A function that is zero to third order; and, for comparison, a ball that starts on the ground."""

    def touches(v):
        flat = dj.Event(lambda y, t: (t - 0.5) ** 3, terminal=True)
        return dj.odeint(lambda y, t: v, 0.0, np.array([0.0, 2.0]), events=flat).t_end

    close(dj.jit(touches, backend=backend)(1.0), 0.5)
    with pytest.raises(RuntimeError, match="without crossing"):
        dj.grad(touches, backend=backend)(1.0)

    def lands(v):
        return dj.odeint(fall, np.array([0.0, v]), np.array([0.0, 2.0]), 9.81, events=GROUND).t_end

    close(dj.grad(lands, backend=backend)(3.0), 2.0 / 9.81)


@pytest.mark.parametrize(
    ("backend", "adjoint"), [("python", "discrete"), ("numba", "discrete"), ("python", "continuous")]
)
def test_no_number_comes_out_where_a_solver_fails(backend, adjoint):
    def explodes(a):
        return dj.odeint(lambda y, t, a: a * y * y, 1.0, np.array([0.0, 2.0]), a, adjoint=adjoint)[-1]

    def undefined(a):
        return dj.odeint(lambda y, t, a: a / (y - y), 1.0, np.array([0.0, 2.0]), a, adjoint=adjoint)[-1]

    def leaves_the_domain(a):
        return dj.odeint(lambda y, t, a: np.log(y - a), 1.5, np.array([0.0, 9.0]), a, adjoint=adjoint)[-1]

    def long(a):
        return dj.odeint(lambda y, t, a: np.cos(a * y), 1.0, np.array([0.0, 99.0]), a, adjoint=adjoint, mxstep=9)[-1]

    cases = (explodes, "too small"), (undefined, "not finite"), (leaves_the_domain, "too small"), (long, "mxstep")
    for f, text in cases:
        for run in (dj.jit(f, backend=backend), dj.grad(f, backend=backend)):
            with pytest.raises(RuntimeError, match=text), np.errstate(all="ignore"):
                run(1.0)


@BOTH
def test_times_and_shapes_that_do_not_fit(backend):
    def at(ts, n):
        return np.sum(dj.odeint(lambda y, t: np.ones(n) * t, np.ones(3), ts))

    run = dj.jit(at, backend=backend)
    close(run(np.array([0.0, 1.0]), 3), 7.5)
    for ts in ([0.0, 1.0, 1.0], [0.0, 1.0, 0.5], [1.0, 0.5, 0.7], [0.0, np.nan], [1.0, 1.0]):
        with pytest.raises(ValueError, match="increase strictly"):
            run(np.array(ts), 3)
    with pytest.raises(ValueError, match="no times"):
        run(np.zeros(0), 3)
    for n in (1, 4):
        with pytest.raises(ValueError, match="another shape"):
            run(np.array([0.0, 1.0]), n)


def test_forms_and_options_that_do_not_fit():
    ts = np.array([0.0, 1.0])
    for slope in (lambda y, t: y[0], lambda y, t: (y, y), lambda y, t: np.outer(y, y)):
        with pytest.raises(dj.UsageError, match="DJ519"):
            dj.odeint(slope, np.ones(2), ts)
    with pytest.raises(dj.UsageError, match="DJ519"):
        dj.odeint(spring, np.ones(2), ts, 1.0, events=lambda y, t, w: y)
    with pytest.raises(dj.UsageError, match="DJ519"):
        dj.odeint(lambda y, t: 1j * y, np.ones(2), ts)
    with pytest.raises(dj.UsageError, match="DJ519"):
        dj.odeint(spring, np.ones(2), 1.0, 1.0)
    for options in (
        {"adjoint": "backwards"}, {"adjoint": "continuous", "dense": True},
        {"adjoint": "continuous", "events": GROUND}, {"events": dj.Event(ground, direction=2)},
    ):  # fmt: skip
        with pytest.raises(dj.UsageError, match="DJ530"):
            dj.odeint(spring, np.ones(2), ts, 1.0, **options)
    with pytest.raises(dj.UsageError, match="no option `steps`"):
        dj.jit(lambda w: dj.odeint(spring, np.ones(2), ts, w, steps=3))(1.0)


ROWS = (
    (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9), (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)  # fmt: skip


def test_the_discrete_derivative_is_that_of_the_steps():
    """At a loose tolerance: the derivative of the steps with sizes held fixed, not of the exact solution."""

    def solution(w, dense):
        ts = np.array([0.0, 3.0])
        return dj.odeint(spring, np.array([1.0, 0.0]), ts, w, dense=dense, rtol=1e-3, atol=1e-3)

    def same_steps(w):
        y = np.array([1.0, 0.0])
        for h in steps:
            slopes = [np.array(spring(y, 0.0, w))]
            for row in ROWS:
                last = y + h * sum(a * k for a, k in zip(row, slopes, strict=True))
                slopes.append(np.array(spring(last, 0.0, w)))
            y = last
        return y[0]

    steps = solution(1.7, dense=True).steps
    assert steps.size > 3
    close(solution(1.7, dense=True).y[-1, 0], same_steps(1.7), rtol=1e-12)
    h = 1e-5
    quotient = (same_steps(1.7 + h) - same_steps(1.7 - h)) / (2 * h)
    close(dj.grad(lambda w: solution(w, dense=True).y[-1, 0])(1.7), quotient, rtol=1e-8)
    close(dj.grad(lambda w: solution(w, dense=False)[-1, 0])(1.7), quotient, rtol=1e-8)
    assert 1e-4 < abs(quotient + 3.0 * np.sin(1.7 * 3.0)) < 1e-1
