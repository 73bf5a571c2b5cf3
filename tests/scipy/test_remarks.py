"""What SciPy's code says besides a solution: texts, counts, slopes, the points that it hands to callbacks."""

import numpy as np
import pytest
import scipy.optimize as so
import scipy.sparse
import scipy.sparse.linalg

import diffjit as dj
from diffjit.errors import DiffjitError, NoRule, TypeProblem, UsageError

FINE = {"xatol": 1e-10, "fatol": 1e-14}
BACKENDS = ("numba", "python")


def bowl(q, a):
    return (q[0] - a) ** 2 + q[0] ** 4 + (q[1] - 2 * a) ** 2


def slope(f, a, h=1e-4):
    return (f(a + h) - f(a - h)) / (2 * h)


def by_callback(a):
    path = []
    n = [0]

    def note(x):
        n[0] += 1
        path.append(x.copy())

    found = so.minimize(bowl, np.zeros(2), args=(a,), method="Nelder-Mead", callback=note, options=FINE)
    return found.x[0] + found.x[1] ** 2, n[0], np.array(path)


def by_result(a):
    heights = []

    def note(intermediate_result):
        heights.append(intermediate_result.fun)

    found = so.minimize(bowl, np.zeros(2), args=(a,), callback=note)
    return found.x[0] * found.x[1], len(heights), heights[0]


def under_constraint(a):
    steps = []
    rule = {"type": "eq", "fun": lambda q: q[0] - q[1]}
    found = so.minimize(bowl, [0.1, 0.1], args=(a,), constraints=rule, callback=lambda q: steps.append(q[1]), tol=1e-12)
    return found.x[0], len(steps), steps[-1]


def of_a_region(a):
    told = []

    def note(x, convergence):
        told.append((x[0], convergence))

    found = so.differential_evolution(bowl, [(-2, 2), (-2, 2)], args=(a,), rng=1, maxiter=4, polish=True, callback=note)
    return found.x[0], len(told), told[0][0]


def hopping(a):
    seen = []

    def note(x, f, accepted):
        seen.append((f, accepted))

    found = so.basinhopping(
        lambda q: bowl(q, a), [0.5, 0.5], niter=2, rng=1, callback=note, minimizer_kwargs={"method": "BFGS"}
    )
    return found.x[0], seen[0][1], found.message


MATRIX = np.diag(np.arange(2.0, 8.0)) + 0.1


def of_conjugate_gradients(a):
    count = [0]

    def note(x):
        count[0] += 1

    x, info = scipy.sparse.linalg.cg(scipy.sparse.csr_matrix(MATRIX) * a, np.arange(6.0), rtol=1e-10, callback=note)
    return np.sum(x**2), count[0], info


def of_residuals(a):
    norms = []
    x, _ = scipy.sparse.linalg.gmres(
        scipy.sparse.linalg.LinearOperator((6, 6), matvec=lambda v: a * (MATRIX @ v), dtype=float), np.arange(6.0),
        rtol=1e-10, callback=norms.append, callback_type="pr_norm",
    )  # fmt: skip
    return np.sum(x**2), len(norms), norms[0]


@pytest.mark.parametrize(
    "f", [of_conjugate_gradients, of_residuals, by_callback, by_result, under_constraint, of_a_region, hopping]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_callbacks(f, backend):
    expected = f(0.7)
    found = dj.jit(f, backend=backend)(0.7)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, str | list):
            assert one == other
        else:
            np.testing.assert_allclose(one, other, rtol=1e-5)
    gradient = dj.grad(lambda a: f(a)[0], backend=backend)
    assert gradient(0.7) == pytest.approx(slope(lambda a: f(a)[0], 0.7), rel=2e-3)
    assert dj.jvp(lambda a: f(a)[0], (0.7,), (1.0,), backend=backend)[1] == pytest.approx(gradient(0.7))


def test_what_a_search_has_passed_has_no_derivative():
    def last(a):
        path = []
        so.minimize(bowl, np.zeros(2), args=(a,), callback=path.append)
        return path[-1][0]

    assert dj.jit(last)(0.7) == pytest.approx(last(0.7), rel=1e-5)
    for derivative in (dj.grad(last), lambda a: dj.jvp(last, (a,), (1.0,))):
        with pytest.raises(NoRule, match=r"DJ205.*own steps"):
            derivative(0.7)


def changes_a_list(a):
    weight = [1.0]

    def note(x):
        weight[0] *= 0.5

    return so.minimize(lambda q: bowl(q, a) + weight[0] * q[1] ** 2, np.zeros(2), callback=note).x[1]


def changes_an_array(a):
    weight = np.ones(3)
    part = weight[1:]

    def note(x):
        part[0] *= 0.5

    return so.minimize(lambda q: bowl(q, a) + weight[1] * q[1] ** 2, np.zeros(2), callback=note).x[1]


def changes_a_flag(a):
    late = False

    def note(x):
        nonlocal late
        late = True

    return so.minimize(lambda q: bowl(q, a) + (q[1] ** 2 if late else 0.0), np.zeros(2), callback=note).x[1]


def changes_a_constraint(a):
    rows = []
    rule = {"type": "ineq", "fun": lambda q: q[0] - 0.01 * len(rows)}
    return so.minimize(bowl, [0.5, 0.5], args=(a,), constraints=rule, callback=rows.append).x[1]


@pytest.mark.parametrize("f", [changes_a_list, changes_an_array, changes_a_flag, changes_a_constraint])
def test_a_callback_that_changes_what_is_minimised_is_refused(f):
    f(0.7)
    with pytest.raises(UsageError, match=r"DJ125.*reads"):
        dj.jit(f)(0.7)


def test_a_callback_that_ends_the_search_is_refused():
    def early(a):
        def note(x):
            if x[0] > 0.1:
                raise StopIteration

        return so.minimize(bowl, np.zeros(2), args=(a,), callback=note).x[0]

    with pytest.raises(NotImplementedError, match="ends a search"):
        dj.jit(early)(0.7)


def of_bfgs(a):
    found = so.minimize(bowl, np.zeros(2), args=(a,))
    return found.x[0], np.sqrt(np.diag(found.hess_inv)), found.njev, np.max(np.abs(found.jac)) < 1e-4, found.message


def of_root(a):
    found = so.root(lambda q: [q[0] ** 2 - a, q[1] - q[0]], [1.0, 1.0])
    if not found.success:
        raise RuntimeError(found.message)
    return found.x[1], found.nfev, f"{found.message} {found.status}"


def of_least_squares(a):
    found = so.least_squares(lambda q: [q[0] ** 2 - a, q[1] - q[0]], [1.0, 1.0])
    return found.x[1], found.message.upper(), bool(found.optimality < 1e-6)


def of_a_linear_program(a):
    found = so.linprog([-1.0, -2.0], A_ub=[[1.0, 1.0], [1.0, 0.0]], b_ub=[4.0 * a, 2.0])
    assert found.success, found.message
    return found.x[1], found.message, found["message"] + "!"


def of_fsolve(a):
    x, _, ier, message = so.fsolve(lambda q: [q[0] ** 2 - a, q[1] - q[0]], [1.0, 1.0], full_output=True)
    return x[0], message if ier == 1 else "failed", ier


def of_a_number(a):
    found = so.minimize_scalar(lambda t: (t - a) ** 2 + t**4)
    return found.x, [found.message], "xtol" in found.message


@pytest.mark.parametrize("f", [of_bfgs, of_root, of_least_squares, of_a_linear_program, of_fsolve, of_a_number])
@pytest.mark.parametrize("backend", BACKENDS)
def test_remarks(f, backend):
    value, *told = dj.jit(f, backend=backend)(0.7)
    expected = f(0.7)
    gradient = dj.grad(lambda a: f(a)[0], backend=backend)(0.7)
    assert value == pytest.approx(expected[0], rel=1e-5)
    assert gradient == pytest.approx(slope(lambda a: f(a)[0], 0.7), rel=1e-3)
    for one, other in zip(told, expected[1:], strict=True):
        if isinstance(other, np.ndarray):
            np.testing.assert_allclose(one, other, rtol=1e-4)
        else:
            assert one == other


def fails(a):
    found = so.minimize(bowl, np.zeros(2), args=(a,), options={"maxiter": 1})
    if not found.success:
        raise ValueError("not found: " + found.message, a)
    return found.x[0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_text_of_scipys_is_raised(backend):
    with pytest.raises(ValueError, match="not found") as plain:
        fails(0.7)
    with pytest.raises(ValueError, match="not found") as raised:
        dj.jit(fails, backend=backend)(0.7)
    assert raised.value.args == plain.value.args

    def caught(a):
        try:
            return fails(a)
        except ValueError:
            return a * a

    assert dj.jit(caught, backend=backend)(0.7) == pytest.approx(0.49)


def test_attributes_are_those_of_the_method():
    def asks(a):
        return so.minimize(bowl, np.zeros(2), args=(a,), method="Nelder-Mead").jac

    with pytest.raises(AttributeError):
        asks(0.7)
    with pytest.raises((AttributeError, DiffjitError), match="jac"):
        dj.jit(asks)(0.7)
    scaled = dj.grad(lambda a: np.sum(so.minimize(bowl, np.zeros(2), args=(a,)).hess_inv))
    with pytest.raises(NoRule, match="DJ205"):
        scaled(0.7)
    with pytest.raises(TypeProblem, match="DJ321"):
        dj.vmap(lambda a: so.minimize(bowl, np.zeros(2), args=(a,)).message)(np.ones(2))
