"""Every primitive on complex numbers, in every mode and on both backends, against JAX; others are refused."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import diffjit as dj
from diffjit.errors import NoRule
from diffjit.primitives.registry import ELEMENTWISE, HOLOMORPHIC, PLANAR, RULES

jax.config.update("jax_enable_x64", True)

BACKENDS = ["python", "numba"]
rng = np.random.default_rng(5)


def cnormal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def normal(*shape):
    return rng.normal(size=shape)


def regular(*shape):
    return cnormal(*shape) + 3 * np.eye(shape[-1])


def hermitian(n):
    a = cnormal(n, n)
    return a @ a.conj().T + np.eye(n)


ROWS = {}  # name -> (function of NumPy's or JAX's module and arguments, arguments)


def row(name, function, *args):
    """Add one function to check."""
    assert name not in ROWS
    ROWS[name] = function, args


def ufunc(name):
    return lambda xp, *args: getattr(xp, name)(*args)


Z, W, X = cnormal(3), cnormal(3), normal(3)


def spectrum(w, v, xp):
    """What does not hang on the phase of vectors."""
    return w + xp.abs(v[0]) ** 2


def channels(u, s, vh, xp):
    """The same for singular vectors."""
    return s + xp.abs(u[0] * vh[:, 1]) ** 2


ONE = ["negative", "positive", "reciprocal", "square", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
       "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arctanh",
       "absolute", "real", "imag", "conjugate", "rint"]  # fmt: skip
for kind in ONE:
    row(kind, ufunc(kind), Z)
for kind in ("add", "subtract", "multiply", "divide", "power"):
    row(kind, ufunc(kind), Z, W)
    row(f"{kind}_real_left", ufunc(kind), X, W)
    row(f"{kind}_real_right", ufunc(kind), Z, X)
row("sign", lambda xp, z: xp.sign(z) if xp is np else z / xp.abs(z), Z)  # JAX gives its sign no derivative
# JAX 0.10's derivative is of another branch where the real part is negative.
row("arccosh", lambda xp, z: xp.arccosh(z) if xp is np else xp.log(z + xp.sqrt(z + 1) * xp.sqrt(z - 1)), Z)
row("float_power", ufunc("float_power"), Z, W)
row("power_constant", lambda xp, z: z**2 + z**-1 + z**0.5 + z**3, Z)
row("power_of_number", lambda xp, z: (-2.0 + 0j) ** z + 2.0**z, Z)
row("maximum", ufunc("maximum"), Z, W)
row("minimum", ufunc("minimum"), Z, W)
row("fmax", lambda xp, z, w: (xp.fmax if xp is np else xp.maximum)(z, w), Z, W)
row("fmin", lambda xp, z, w: (xp.fmin if xp is np else xp.minimum)(z, w), Z, W)
row("where", lambda xp, z, x: xp.where(x > 0, z, x), Z, X)
row("where_masks", lambda xp, z: xp.where(xp.abs(z) > 0, xp.sqrt(z), 0.0), np.array([1 + 1j, 0.5 - 2j]))
row("select", lambda xp, z, w: (z if z.real > w.real else w * z) if xp is np else z, 1 + 2j, 0.3 - 1j)
row("cast_up", lambda xp, x: x.astype(complex) * (1 + 2j), X)
row("cast_single", lambda xp, z: z.astype(np.complex64).astype(complex), Z)
row("zdiv", lambda xp, z, x: xp.log(z / x) / xp.sqrt(x + 0j), Z, X)
row("zmul", lambda xp, z, x: xp.log(z / x) * xp.sqrt(x + 0j), Z, X)
row("angle", lambda xp, z: xp.angle(z), Z)
row("scalars", lambda xp, z, x: z * x + abs(z) / z.conjugate() - z.real * 1j + z.imag, 1 + 2j, 0.7)
row("broadcast", lambda xp, z, x: z[:, None] * x + xp.conj(z), Z, X)
row("imaginary_unit", lambda xp, x: xp.exp(1j * x) / (2 + 1j), X)

M, N = cnormal(3, 4), normal(4, 2)
for kind in ("sum", "prod", "max", "min", "mean", "cumsum", "cumprod"):
    row(kind, lambda xp, z, kind=kind: getattr(xp, kind)(z, axis=0), M)
    if not kind.startswith("cum"):
        row(f"{kind}_all", lambda xp, z, kind=kind: getattr(xp, kind)(z), M)
row("sum_keepdims", lambda xp, z: xp.sum(z, axis=1, keepdims=True) * z, M)
row("var", lambda xp, z: xp.var(z, axis=0), M)
row("std", lambda xp, z: xp.std(z), M)
row("norm", lambda xp, z: xp.linalg.norm(z), M)
row("norm_one", lambda xp, z: xp.linalg.norm(z, 1, axis=1), M)
row("sort", lambda xp, z: xp.sort(z), Z)
row("matmul", lambda xp, a, b: a @ b, M, cnormal(4, 2))
row("matmul_real_right", lambda xp, a, b: a @ b, M, N)
row("matmul_real_left", lambda xp, a, b: a @ b, normal(2, 3), M)
row("matmul_vectors", lambda xp, a, b: a @ b, Z, W)
row("matmul_stacked", lambda xp, a, b: a @ b, cnormal(2, 3, 4), cnormal(4, 2))
row("matmul_large", lambda xp, a: (a @ a.T.conj())[::7], cnormal(20, 12))
row("dot", lambda xp, a, b: xp.dot(a, b), M, cnormal(4))
row("vdot", lambda xp, a, b: xp.vdot(a, b), Z, W)
row("vdot_real", lambda xp, a, b: xp.vdot(a, b), X, W)
row("inner", lambda xp, a, b: xp.inner(a, b), Z, W)
row("outer", lambda xp, a, b: xp.outer(a, b), Z, X)
row("kron", lambda xp, a, b: xp.kron(a, b), Z, W)
row("einsum", lambda xp, a, b: xp.einsum("ij,jk->ik", a, b), M, N)
row("tensordot", lambda xp, a, b: xp.tensordot(a, b, 1), M, cnormal(4, 2))
row("trace", lambda xp, a: xp.trace(a @ a), cnormal(3, 3))
row("solve", lambda xp, a, b: xp.linalg.solve(a, b), regular(3, 3), Z)
row("solve_real_left", lambda xp, a, b: xp.linalg.solve(a, b), normal(3, 3) + 3 * np.eye(3), M)
row("solve_real_right", lambda xp, a, b: xp.linalg.solve(a, b), regular(2, 3, 3), normal(2, 3, 2))
row("inv", lambda xp, a: xp.linalg.inv(a), regular(3, 3))
row("det", lambda xp, a: xp.linalg.det(a), regular(3, 3))
row("eigh", lambda xp, a: spectrum(*xp.linalg.eigh(a @ a.conj().T), xp), cnormal(3, 3))
row("svd", lambda xp, a: channels(*xp.linalg.svd(a, full_matrices=False), xp), cnormal(3, 2))
row("cholesky", lambda xp, a: xp.linalg.cholesky(a @ a.conj().T + xp.eye(3)), cnormal(3, 3))
row("concatenate", lambda xp, z, x: xp.concatenate((z, x)), Z, X)
row("stack", lambda xp, z, w: xp.stack((z, w), axis=1), Z, W)
row("gather", lambda xp, z: z[np.array([2, 0, 2])] * z, Z)
row("mask", lambda xp, z: z[np.array([True, False, True])] ** 2, Z)
row("views", lambda xp, z: z.reshape(4, 3).T[1:, ::-1] * z[0, 0], M)
row("flip", lambda xp, z: xp.roll(z[::-1], 1), Z)
row("parts", lambda xp, z: z.real * z.imag[::-1], Z)
row("diagonal", lambda xp, z: xp.diagonal(z) + xp.diag(z), cnormal(3, 3))
row("tril", lambda xp, z: xp.tril(z) @ xp.triu(z), cnormal(3, 3))
row("clip_of_abs", lambda xp, z: xp.clip(xp.abs(z), 0.1, 10.0), Z)
row(
    "interpolated", lambda xp, z: xp.linspace(z[0], z[1], 4) if xp is np else z[0] + (z[1] - z[0]) * xp.arange(4) / 3, Z
)
row("polyval", lambda xp, z: xp.polyval(z, 0.3 + 0.1j), Z)
row("convolve", lambda xp, a, b: xp.convolve(a, b), Z, cnormal(2))
row("diff", lambda xp, z: xp.diff(z), Z)
row("nan_to_num", lambda xp, z: xp.nan_to_num(z), Z)

FFT = [
    ("fft", cnormal(6), {}), ("fft", normal(5), {}), ("ifft", cnormal(2, 3, 4), {"axis": 1, "n": 5}),
    ("fft", cnormal(3, 5), {"axis": 0, "norm": "ortho"}), ("rfft", normal(7), {}), ("irfft", cnormal(5), {}),
    ("rfft", normal(4, 6), {"axis": 0, "norm": "forward"}), ("irfft", cnormal(4, 5), {"n": 7, "axis": 0}),
    ("hfft", cnormal(5), {"n": 9}), ("ihfft", normal(8), {"norm": "ortho"}), ("fft2", cnormal(3, 4), {}),
    ("ifft2", cnormal(3, 4), {"norm": "forward"}), ("rfftn", normal(3, 4, 5), {}), ("irfftn", cnormal(3, 4, 5), {}),
    ("fftn", cnormal(2, 3), {"s": (4, 2), "axes": (0, 1)}), ("ifftn", cnormal(2, 3, 4), {"axes": (0, 2)}),
    ("rfft2", normal(3, 4), {}), ("irfft2", cnormal(3, 4), {"s": (5, 4), "axes": (1, 0)}),
    ("fftshift", cnormal(5, 4), {"axes": 0}), ("ifftshift", cnormal(5, 4), {}), ("rfft", normal(1), {}),
]  # fmt: skip
for number, (kind, x, options) in enumerate(FFT):
    row(f"{kind}_{number}", lambda xp, a, kind=kind, options=options: getattr(xp.fft, kind)(a, **options), x)


def of(name, xp):
    """The function of a row with one of the modules."""
    function, args = ROWS[name]
    return (lambda *a: function(xp, *a)), args


def like(x):
    """A random tangent."""
    made = cnormal(*np.shape(x)) if np.iscomplexobj(x) else normal(*np.shape(x))
    return made.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(made)


def near(found, wanted, tolerance=1e-9):
    __tracebackhide__ = True
    assert np.shape(found) == np.shape(wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    scale = max(1.0, np.max(np.abs(wanted), initial=0.0))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * scale)


@functools.cache
def expected(name):
    """Tangents of the arguments, a cotangent of the result; value, tangent and cotangents by JAX."""
    g, args = of(name, jnp)
    dots = tuple(like(x) for x in args)

    @jax.jit
    def products(args, dots, seed):
        value, tangent = jax.jvp(g, args, dots)
        return value, tangent, jax.vjp(g, *args)[1](seed)

    seed = like(np.asarray(jax.eval_shape(g, *args).dtype.type(0)) * np.ones(jax.eval_shape(g, *args).shape))
    return dots, seed, products(args, dots, seed)


def check(name, value, tangent, bars):
    """All of them, with their types and dtypes."""
    _, _, (wanted, wanted_tangent, wanted_bars) = expected(name)
    near(value, wanted)
    near(tangent, wanted_tangent)
    for found, bar, x in zip(bars, wanted_bars, ROWS[name][1], strict=True):
        near(found, bar)
        assert type(found) is type(x)


@pytest.mark.parametrize("name", ROWS)
def test_products(name):
    """Value, jvp and vjp, called from Python on the readable backend."""
    f, args = of(name, np)
    dots, seed, _ = expected(name)
    value, tangent = dj.jvp(f, args, dots, backend="python")
    again, pullback = dj.vjp(f, *args, backend="python")
    near(again, value)
    check(name, value, tangent, pullback(seed))


@pytest.mark.parametrize("name", ROWS)
def test_compiled(name):
    """The same inside of one compiled program."""
    f, args = of(name, np)
    dots, seed, _ = expected(name)

    @dj.jit
    def products(args, dots, seed):
        value, tangent = dj.jvp(f, args, dots)
        return value, tangent, dj.vjp(f, *args)[1](seed)

    check(name, *products(args, dots, seed))


def loss(f, xp, *args):
    out = f(*args)
    return xp.sum(xp.real(out) ** 2 + xp.imag(out) ** 3)


@pytest.mark.parametrize("name", ROWS)
def test_second_order(name):
    """Forward over reverse and reverse over reverse."""
    (f, args), (g, _) = of(name, np), of(name, jnp)
    which = tuple(range(len(args)))
    dots = expected(name)[0]
    wanted = jax.grad(functools.partial(loss, g, jnp), argnums=which)

    @jax.jit
    def twice(args, dots):
        seeds = tuple(jnp.asarray(d) for d in dots)
        return (*jax.jvp(wanted, args, dots), jax.vjp(wanted, *args)[1](seeds))

    gradient = dj.grad(functools.partial(loss, f, np), argnums=which, backend="python")
    first, forward, reverse = twice(args, dots)
    found = dj.jvp(gradient, args, dots, backend="python")
    for mine, theirs in zip(found, (first, forward), strict=True):
        for x, y in zip(mine, theirs, strict=True):
            near(x, y, 1e-8)
    for x, y in zip(dj.vjp(gradient, *args, backend="python")[1](dots), reverse, strict=True):
        near(x, y, 1e-8)


NARROW = [name for name in ROWS if name in HOLOMORPHIC | PLANAR.keys() | RULES.keys() or "fft" in name]


@pytest.mark.parametrize("name", NARROW)
def test_single_precision(name):
    """complex64 and float32 stay what they are: values, tangents, cotangents."""
    f, args = of(name, np)
    args = tuple(
        x.astype(np.complex64 if np.iscomplexobj(x) else np.float32) for x in args if isinstance(x, np.ndarray)
    )
    if name in ("select", "cast_up", "cast_single") or not args:
        return
    value, tangent = dj.jvp(f, args, args, backend="python")
    assert value.dtype == tangent.dtype == f(*args).dtype
    for x, bar in zip(args, dj.vjp(f, *args, backend="python")[1](value), strict=True):
        assert bar.dtype == x.dtype


# What has no rule for complex numbers ---------------------------------------------------------------------------------

COMPLEX_LOOPS = {
    kind
    for kind, entry in ELEMENTWISE.items()
    if isinstance(entry.ufunc, np.ufunc) and any(types[0] in "FD" for types in entry.ufunc.types)
}
CONSTANT = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
            "logical_xor", "logical_not", "isnan", "isinf", "isfinite"}  # fmt: skip


def test_every_elementwise_primitive_of_numpy_is_covered():
    assert HOLOMORPHIC | PLANAR.keys() >= COMPLEX_LOOPS - CONSTANT
    tested = set(ROWS) | {"cast", "copy", "one_minus_square"}  # the last in rows of inverse functions
    assert (HOLOMORPHIC | PLANAR.keys()) <= tested


def test_every_structural_primitive_is_covered():
    """By a row, or by refusing."""
    tested = {name.split("_")[0] for name in ROWS} | {"mask_get", "unbroadcast"}
    assert {kind for kind, r in RULES.items() if r.numbers} <= tested


@pytest.mark.parametrize("backend", BACKENDS)
def test_sinc_is_for_real_numbers(backend):
    with pytest.raises(NoRule, match=r"DJ203.*`sinc`"):
        dj.grad(lambda z: np.sum(np.abs(np.sinc(z))), backend=backend)(Z)
