"""Complex arguments, results and intermediate values in programs, under every verb, against JAX."""

import cmath
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import diffjit as dj
from diffjit.errors import TypeProblem, UsageError

jax.config.update("jax_enable_x64", True)

BACKENDS = ["python", "numba"]
rng = np.random.default_rng(8)


def cnormal(*shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def like(x):
    made = cnormal(*np.shape(x)) if np.iscomplexobj(x) else rng.normal(size=np.shape(x))
    return made if isinstance(x, np.ndarray) else type(x)(made)


def near(found, wanted, tolerance=1e-9):
    __tracebackhide__ = True
    assert np.shape(found) == np.shape(wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


# Programs -------------------------------------------------------------------------------------------------------------


def parts_are_written(x, a):
    z = np.zeros(3, complex)
    z.real[:] = np.sin(x)
    z.imag[1:] = a * x[1:]
    z.imag[0] = x[0] ** 2
    z.real *= 2.0
    z.imag[...] += z.real * x
    return np.sum(np.abs(z**2) * x)


def parts_are_written_jax(x, a):
    real = 2 * jnp.sin(x)
    imag = jnp.concatenate([x[:1] ** 2, a * x[1:]]) + real * x
    return jnp.sum(jnp.abs((real + 1j * imag) ** 2) * x)


def parts_of_arguments_are_written(z, w):
    z.imag[0] = w.real[1] * z.real[2]
    z[1] *= w[0]
    z.real[1:] += z.imag[:2]
    return np.sum((z * w).real ** 2 + np.abs(z))


def parts_of_arguments_are_written_jax(z, w):
    z = z.at[0].set(z[0].real + 1j * w[1].real * z[2].real)
    z = z.at[1].multiply(w[0])
    z = z.at[1:].add(z.imag[:2])
    return jnp.sum((z * w).real ** 2 + jnp.abs(z))


def branches_in_a_loop(z, c):
    for _ in range(5):
        z = z * z * 0.3 + c
        if abs(z) > 1.5:
            z = z / abs(z)
    return abs(z) ** 2 + z.real


def running_sums_in_place(z, x):
    out = np.empty_like(z)
    for i in range(z.size):
        out[i] = z[i] * x[i] + (out[i - 1] if i > 0 else 0)
    z[::2] = out[::2]
    z[1] += x[0]
    return np.sum(np.abs(z * out) ** 2)


def running_sums_in_place_jax(z, x):
    out = jnp.cumsum(z * x)
    z = z.at[::2].set(out[::2]).at[1].add(x[0])
    return jnp.sum(jnp.abs(z * out) ** 2)


def a_list_that_grows(z):
    items = []
    for k in range(3):
        items.append(z**k)  # noqa: PERF401 - a list that grows is what is tested
    total = 0j
    for w in items:
        total = total * 0.5 + w
    return abs(total) + np.sum(np.abs(np.array(items)) ** 2)


def a_list_that_grows_jax(z):
    items = jnp.stack([1 + 0 * z, z, z * z])
    return abs((items[0] * 0.5 + items[1]) * 0.5 + items[2]) + jnp.sum(jnp.abs(items) ** 2)


def indices_and_masks(z, w):
    a = np.zeros(4, complex)
    a[[0, 2, 2]] = w
    a[z.real > 0] *= 2
    np.add.at(a, [0, 2, 2], z[:3])
    a[np.array([False, True, False, True])] = z[1]
    return np.sum(np.abs(a) ** 2 * np.arange(1, 5)) + a[2].imag


def indices_and_masks_jax(z, w):
    a = jnp.zeros(4, complex).at[2].set(w[2]).at[0].set(w[0])
    a = jnp.where(z.real > 0, a * 2, a)
    a = a.at[jnp.array([0, 2, 2])].add(z[:3]).at[jnp.array([1, 3])].set(z[1])
    return jnp.sum(jnp.abs(a) ** 2 * jnp.arange(1, 5)) + a[2].imag


def conjugates_outlive_what_they_were_made_of(z, w):
    a, b = np.conj(z * w), z * w
    c = np.conj(b)
    b[0] = 5.0
    b *= 2
    return np.sum((c * z * a).real) + np.sum(np.abs(b * c) ** 2)


def conjugates_outlive_what_they_were_made_of_jax(z, w):
    a, b = jnp.conj(z * w), z * w
    c = jnp.conj(b)
    b = b.at[0].set(5.0) * 2
    return jnp.sum((c * z * a).real) + jnp.sum(jnp.abs(b * c) ** 2)


def product(z, n):
    return z if n <= 0 else z * product(z + 0.1j, n - 1)


def recursion(z):
    return abs(product(z, 4)) ** 2


def real_in_complex_out_of_cmath(x):
    z = cmath.exp(1j * x) / (x + 2j) + cmath.sqrt(x - 3) * cmath.rect(x, 0.3)
    return cmath.phase(z) + abs(cmath.log(z) * cmath.asin(z)) ** 2


def real_in_complex_out_of_cmath_jax(x):
    z = jnp.exp(1j * x) / (x + 2j) + jnp.sqrt(x - 3 + 0j) * x * jnp.exp(0.3j)
    return jnp.angle(z) + abs(jnp.log(z) * jnp.arcsin(z)) ** 2


PROGRAMS = {
    parts_are_written: (parts_are_written_jax, (rng.normal(size=3), 0.7)),
    parts_of_arguments_are_written: (parts_of_arguments_are_written_jax, (cnormal(3), cnormal(3))),
    branches_in_a_loop: (branches_in_a_loop, (2.9 + 1.2j, 0.4 - 0.3j)),
    running_sums_in_place: (running_sums_in_place_jax, (cnormal(4), rng.normal(size=4))),
    a_list_that_grows: (a_list_that_grows_jax, (0.6 + 0.8j,)),
    indices_and_masks: (indices_and_masks_jax, (cnormal(4), cnormal(3))),
    conjugates_outlive_what_they_were_made_of: (
        conjugates_outlive_what_they_were_made_of_jax,
        (cnormal(3), cnormal(3)),
    ),
    recursion: (recursion, (0.3 + 0.4j,)),
    real_in_complex_out_of_cmath: (real_in_complex_out_of_cmath_jax, (0.8,)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(f, backend):
    """Gradient, tangent, and both second derivatives."""
    g, args = PROGRAMS[f]
    which = tuple(range(len(args)))
    gradient, wanted = dj.grad(f, argnums=which, backend=backend), jax.grad(g, argnums=which)
    for x, y in zip(gradient(*args), wanted(*args), strict=True):
        near(x, y)
    dots = tuple(map(like, args))
    near(dj.jvp(f, args, dots, backend=backend)[1], jax.jvp(g, args, dots)[1])
    forward = dj.jvp(gradient, args, dots, backend=backend)[1]
    for x, y in zip(forward, jax.jvp(wanted, args, dots)[1], strict=True):
        near(x, y, 1e-8)
    reverse = dj.vjp(gradient, *args, backend=backend)[1](dots)
    for x, y in zip(reverse, jax.vjp(wanted, *args)[1](tuple(map(jnp.asarray, dots))), strict=True):
        near(x, y, 1e-8)


# Verbs ----------------------------------------------------------------------------------------------------------------


def energy(xp, z):
    return xp.sum(xp.abs(xp.exp(1j * z) + z**2) ** 2)


def turn(xp, z):
    return xp.sin(z) * z[0]


def mixed(xp, z):
    return xp.conj(z) * 2j + z.real * (1 + 1j)


Z, ZS = cnormal(3), cnormal(4, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lanes(backend):
    f, g = functools.partial(energy, np), functools.partial(energy, jnp)
    near(dj.vmap(dj.grad(f), backend=backend)(ZS), jax.vmap(jax.grad(g))(ZS))
    near(
        dj.grad(lambda zs: np.sum(dj.vmap(f)(zs)), backend=backend)(ZS),
        jax.grad(lambda zs: jnp.sum(jax.vmap(g)(zs)))(ZS),
    )
    found = dj.vmap(lambda z: np.fft.ifft(np.fft.fft(z) * z), backend=backend)(ZS)
    near(found, jax.vmap(lambda z: jnp.fft.ifft(jnp.fft.fft(z) * z))(ZS))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("verb", ["jacfwd", "jacrev", "jacobian", "hessian"])
def test_holomorphic_matrices(verb, backend):
    theirs = getattr(jax, verb)(functools.partial(turn, jnp), holomorphic=True)(Z)
    near(getattr(dj, verb)(functools.partial(turn, np), holomorphic=True, backend=backend)(Z), theirs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_matrices_between_real_and_complex(backend):
    x = Z.real.copy()
    wanted = jax.jacfwd(lambda x: jnp.exp(1j * x))(x)
    near(dj.jacfwd(lambda x: np.exp(1j * x), backend=backend)(x), wanted)
    near(dj.jacobian(lambda x: np.exp(1j * x), backend=backend)(x), wanted)
    wanted = jax.jacrev(lambda z: jnp.abs(z) ** 2)(Z)
    near(dj.jacrev(lambda z: np.abs(z) ** 2, backend=backend)(Z), wanted)
    near(dj.jacobian(lambda z: np.abs(z) ** 2, backend=backend)(Z), wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_holomorphic_gradients(backend):
    found = dj.grad(lambda z: np.sum(z**3 / (1 + z)), holomorphic=True, backend=backend)(Z)
    near(found, jax.grad(lambda z: jnp.sum(z**3 / (1 + z)), holomorphic=True)(Z))
    value, slope = dj.value_and_grad(lambda z: cmath.sqrt(z) * z, holomorphic=True, backend=backend)(1 + 2j)
    assert value == cmath.sqrt(1 + 2j) * (1 + 2j)
    near(slope, 1.5 * cmath.sqrt(1 + 2j))
    assert dj.grad(lambda z: 2j, holomorphic=True, backend=backend)(1j) == 0
    # A step of a real function into the complex plane is its derivative without cancellation (Squire & Trapp 1998).
    f = lambda x: np.exp(x) / np.sqrt(np.sin(x) ** 3 + np.cos(x) ** 3)
    near(dj.grad(f, backend=backend)(0.7), np.imag(f(0.7 + 1e-200j)) / 1e-200, 1e-14)


@pytest.mark.parametrize("backend", BACKENDS)
def test_linear_maps(backend):
    for f in (turn, mixed):
        value, tangent = dj.linearize(functools.partial(f, np), Z, backend=backend)
        wanted, theirs = jax.linearize(functools.partial(f, jnp), Z)
        near(value, wanted)
        near(tangent(ZS[0]), theirs(ZS[0]))
    a = cnormal(2, 3)
    (found,) = dj.linear_transpose(lambda z: a @ z, Z, backend=backend)(a[:, 0])
    near(found, a.T @ a[:, 0])
    (found,) = dj.linear_transpose(lambda x: a @ x, Z.real, backend=backend)(a[:, 0])
    near(found, (a.T @ a[:, 0]).real)


@pytest.mark.parametrize("backend", BACKENDS)
def test_verbs_inside_programs(backend):
    def program(d, xp, z):
        f, h = functools.partial(energy, xp), functools.partial(turn, xp)
        slope = d.grad(f)(z)
        pulled = d.vjp(h, z)[1](slope)[0]
        pushed = d.jvp(h, (z,), (pulled,))[1]
        return xp.sum(xp.abs(pushed) ** 2) + xp.sum(d.linearize(h, z)[1](slope).imag)

    f, g = functools.partial(program, dj, np), functools.partial(program, jax, jnp)
    near(dj.jit(f, backend=backend)(Z), g(Z))
    near(dj.grad(f, backend=backend)(Z), jax.grad(g)(Z), 1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_own_rules(backend):
    """Own rules take and give cotangents as `vjp` does."""

    def made(d):
        back = d.custom_vjp(lambda z, x: z * z * x)
        back.defvjp(lambda z, x: (z * z * x, (z, x)), lambda r, g: (6 * r[0] * r[1] * g, (r[0] ** 2 * g).real))
        ahead = d.custom_jvp(lambda z: z * z)
        ahead.defjvp(lambda p, t: (p[0] * p[0], 2 * p[0] * t[0] + t[0].conj()))
        return back, ahead

    (f, h), (g, k) = made(dj), made(jax)
    x = Z.real.copy()
    found = dj.grad(lambda z, x: np.sum(np.abs(f(z, x)) ** 2), argnums=(0, 1), backend=backend)(Z, x)
    for mine, theirs in zip(found, jax.grad(lambda z, x: jnp.sum(jnp.abs(g(z, x)) ** 2), (0, 1))(Z, x), strict=True):
        near(mine, theirs)
    near(dj.jvp(h, (Z,), (ZS[0],), backend=backend)[1], jax.jvp(k, (Z,), (jnp.asarray(ZS[0]),))[1])
    near(dj.vjp(h, Z, backend=backend)[1](ZS[0])[0], 2 * Z * ZS[0] + ZS[0].conj())


@pytest.mark.parametrize("backend", BACKENDS)
def test_spectral_loss(backend):
    def loss(xp, x):
        half, whole = xp.fft.rfft(x), xp.fft.fft(x)
        return xp.sum(xp.abs(half) ** 2 / (1 + xp.arange(4.0))) + xp.sum(xp.abs(whole) ** 4)

    x = rng.normal(size=6)
    near(
        dj.hessian(functools.partial(loss, np), backend=backend)(x), jax.hessian(functools.partial(loss, jnp))(x), 1e-8
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_classes_and_dtypes(backend):
    """Gradients have the class and dtype of the arguments: Python's, NumPy's, arrays without dimensions."""
    for z in (1 + 2j, np.complex64(1 + 2j), np.complex128(1 + 2j), np.array(1 + 2j), np.array([1 + 2j], np.complex64)):
        slope = dj.grad(lambda z: np.sum(np.abs(z) ** 2), backend=backend)(z)
        assert type(slope) is type(z)
        near(slope, 2 * np.conj(z), 1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_origin(backend):
    """As for real numbers: |z| has slope 0 in its corner, sqrt an infinite one, and masks hide it."""
    assert dj.grad(abs, backend=backend)(0j) == 0
    z = np.array([0j, 1 + 1j])
    near(dj.grad(lambda z: np.sum(np.abs(z)), backend=backend)(z), np.array([0, (1 - 1j) / np.sqrt(2)]))
    masked = dj.grad(lambda z: np.sum(np.where(np.abs(z) > 0, np.sqrt(z), 0).real), backend=backend)(z)
    near(masked, np.array([0, 0.5 / np.sqrt(1 + 1j)]))


def test_pullbacks_keep_to_real_numbers():
    _, pullback = dj.vjp(lambda x: x * 2.0, 1.0, backend="python")
    with pytest.raises(UsageError, match=r"DJ507.*the cotangent is complex"):
        pullback(1j)
    with pytest.raises(UsageError, match=r"DJ507.*tangent 0 is complex"):
        dj.jvp(lambda x: x, (np.ones(2),), (np.ones(2) * 1j,), backend="python")
    with pytest.raises(UsageError, match=r"DJ507.*complex"):
        dj.jit(lambda x: dj.jvp(lambda y: y * y, (x,), (1j,))[1], backend="python")(2.0)


@pytest.mark.parametrize(
    ("verb", "f", "x", "options"),
    [
        ("grad", lambda z: z * z, 1j, {}),
        ("grad", abs, 1j, {"holomorphic": True}),
        ("grad", lambda z: z, 1.0, {"holomorphic": True}),
        ("jacfwd", abs, 1j, {}),
        ("jacrev", lambda x: x * 1j, 1.0, {}),
        ("hessian", abs, 1j, {}),
        ("jacfwd", lambda x: x * 1.0, 1j, {}),
        ("jacrev", abs, 1j, {"holomorphic": True}),
    ],
)
def test_refused_where_jax_refuses(verb, f, x, options):
    with pytest.raises(TypeError):
        getattr(jax, verb)(f, **options)(x)
    with pytest.raises(TypeProblem, match="DJ325"):
        getattr(dj, verb)(f, backend="python", **options)(x)


def in_order(z):
    return 1.0 if z < 2 else z.real


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [math.exp, math.erf, float, int, round, np.float64, in_order, lambda z: np.quantile(np.array([z, 2 * z]), 0.5)],
)
def test_numbers_without_an_order_and_functions_of_real_ones(f, backend):
    """What Python or NumPy refuses raises a TypeError here, too, instead of taking the real part."""
    with pytest.raises(TypeError):
        f(0.5 + 1j)
    with pytest.raises(TypeError):
        dj.vjp(lambda z: f(z) * 1.0, 0.5 + 1j, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [
        lambda z: np.conj(z) * np.exp(z) * z.real + np.abs(z),
        lambda z: np.abs(np.fft.fft(z * z)) ** 2,
        lambda z: np.sign(z) * z**2.5 + np.log(z),
    ],
    ids=["parts", "transform", "powers"],
)
def test_taylor_series(f, backend):
    """The terms of `jet` are derivatives along a line."""
    along = ZS[0]
    line = lambda t: f(Z + t * along)
    slope = lambda t: dj.jvp(line, (t,), (1.0,))[1]
    bend = dj.jit(lambda t: dj.jvp(slope, (t,), (1.0,))[1], backend="python")
    _, (first, second) = dj.jet(f, (Z,), ((along, 0 * along),), backend=backend)
    near(first, dj.jit(slope, backend="python")(0.0))
    near(second, bend(0.0))


# Shapes and dtypes ----------------------------------------------------------------------------------------------------

KINDS = ["float32", "float64", "complex64", "complex128"]


def combined(xp, a, b):
    c = a * b + xp.exp(b * 0.3) - xp.conj(a)
    return xp.abs(xp.fft.fft(c, axis=-1)) ** 2 * xp.real(a)


@settings(max_examples=12)
@given(st.sampled_from(KINDS), st.sampled_from(KINDS), st.integers(1, 4), st.sampled_from([(), (1,), (3,), (2, 1)]))
def test_shapes_and_dtypes(first, second, n, lead):
    """Broadcasting and promotion: cotangents have the shapes and dtypes of the operands, whatever they met."""
    draw = np.random.default_rng(n)

    def made(kind, shape):
        x = draw.normal(size=shape) + (1j * draw.normal(size=shape) if kind[0] == "c" else 0)
        return x.astype(kind)

    args = made(first, (n,)), made(second, (*lead, n))
    value, pullback = dj.vjp(functools.partial(combined, np), *args, backend="python")
    wanted, theirs = jax.vjp(functools.partial(combined, jnp), *args)
    tolerance = 1e-3 if "float32" in (first, second) or "complex64" in (first, second) else 1e-9
    near(value, wanted, tolerance)
    for mine, other in zip(pullback(value), theirs(wanted), strict=True):
        scale = max(1.0, np.max(np.abs(other)))
        near(mine / mine.dtype.type(scale), np.asarray(other) / mine.dtype.type(scale), tolerance)
