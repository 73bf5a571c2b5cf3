"""`numpy.polynomial`: its classes and functions in all bases, against NumPy and difference quotients."""

import numpy as np
import pytest

import diffjit as dj

X = np.array([1.0, 2.0, 3.0, 2.5])
S = np.linspace(0.0, 1.0, 5)
P = np.polynomial
BASES = {
    "poly": (P.polynomial, P.Polynomial), "cheb": (P.chebyshev, P.Chebyshev), "leg": (P.legendre, P.Legendre),
    "herm": (P.hermite, P.Hermite), "herme": (P.hermite_e, P.HermiteE), "lag": (P.laguerre, P.Laguerre),
}  # fmt: skip
OTHER = np.array([1.0, -0.5, 2.0])
# what is a function of four coefficients or numbers: as classes have it, and as functions
CLASSES = {
    "arithmetic": lambda c, x: (c(x) * c(OTHER) + 3 - c(x[:2])) ** 2 / 2.0,
    "quotients": lambda c, x: divmod(c(x), c(OTHER))[0] + c(x) // c(OTHER) + c(x) % c(OTHER),
    "derivatives": lambda c, x: c(x).deriv(2) + c(x, domain=[0, 3]).deriv().convert(),
    "antiderivatives": lambda c, x: c(x).integ(2, k=[x[0], 1.0], lbnd=0.3) + c(x).integ(),
    "fits": lambda c, x: c.fit(S[:4], x, 2) + c.fit(S[:4], x, 1, domain=S[:4:3], w=x),
    "roots": lambda c, x: c.fromroots(x, domain=[0, 4]) + c.fromroots(x, domain=None)(1.5),
    "parts": lambda c, x: c(x).truncate(3) + c(x).cutdeg(1) + c(x * [1, 1, 1, 0]).trim() + c.basis(2) * x[0],
    "another domain": lambda c, x: c(x).convert(domain=[0, 5]) + 0.0,
    "as powers": lambda c, x: c(x, domain=[0, 3]).convert(kind=P.Polynomial),
    "from powers": lambda c, x: P.Polynomial(x).convert(kind=c),
}
FUNCTIONS = {
    "sums": lambda f, x: f("add")(x, OTHER) + f("sub")(x, OTHER),
    "products": lambda f, x: f("mul")(x, OTHER) * f("mulx")(f("pow")(x[:3], 2)),
    "quotients": lambda f, x: f("div")(x, OTHER),
    "derivatives": lambda f, x: f("der")(x, 2, 0.5) + f("der")(np.outer(OTHER, x), axis=1)[1, :2],
    "antiderivatives": lambda f, x: f("int")(x, 2, [1.0], 0.5, 2.0) + f("int")(np.outer(x, OTHER[:2]), 2)[:, 1],
    "matrices": lambda f, x: f("vander")(x, 3) + f("vander2d")(x, S[:4], [1, 1]) + f("vander3d")(x, x, x, [0, 1, 1]),
    "values": lambda f, x: f("val2d")(x, x, np.outer(x, x)) + f("val3d")(x, x, x, np.outer(x, x)[:, :, None]),
    "grids": lambda f, x: (
        f("grid2d")(x, S, np.outer(x, x)) + f("grid3d")(x, S, S[:1], np.outer(x, x)[..., None])[..., 0]
    ),
    "fits": lambda f, x: f("fit")(S[:4], x, 2, w=x) + f("fit")(S[:4], x, [0, 2]),
    "fits told about": lambda f, x: f("fit")(S[:4], np.outer(x, OTHER), 1, full=True)[0],
    "from roots": lambda f, x: f("fromroots")(x),
}


EACH = [pytest.param(base, marks=() if base in ("cheb", "lag") else pytest.mark.slow) for base in BASES]


def check(f, second):
    wanted = f(X)
    np.testing.assert_allclose(dj.jit(f, backend="python")(X), wanted, rtol=1e-10, atol=1e-11)
    h, along = 1e-5, np.array([0.3, -0.5, 0.7, 0.2])
    slope = (f(X + h * along) - f(X - h * along)) / (2 * h)
    scale = 1 + np.max(np.abs(slope))
    np.testing.assert_allclose(dj.jvp(f, (X,), (along,), backend="python")[1], slope, atol=1e-8 * scale)
    total = lambda x: np.sum(f(x) * np.cos(np.arange(f(x).size) * 0.7).reshape(f(x).shape))
    weights = np.cos(np.arange(wanted.size) * 0.7).reshape(wanted.shape)
    _, pullback = dj.vjp(f, X, backend="python")
    assert pullback(weights)[0] @ along == pytest.approx(np.sum(slope * weights), abs=1e-7 * scale)
    if second:
        change = (dj.grad(total)(X + h * along) - dj.grad(total)(X - h * along)) / (2 * h)
        found = dj.hvp(total, (X,), (along,))
        np.testing.assert_allclose(found, change, atol=1e-7 * (1 + np.max(np.abs(change))))


@pytest.mark.parametrize("base", EACH)
@pytest.mark.parametrize("name", CLASSES)
def test_classes(name, base):
    series, cls = CLASSES[name], BASES[base][1]
    check(lambda x: series(cls, x).coef, second=name == "arithmetic" and base == "leg")


@pytest.mark.parametrize("base", EACH)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, base):
    module, program = BASES[base][0], FUNCTIONS[name]
    function = lambda end: getattr(module, base + end)
    if name == "quotients":
        check(lambda x: np.concatenate(program(function, x)), second=False)
    else:
        check(lambda x: program(function, x), second=name == "derivatives" and base == "cheb")
