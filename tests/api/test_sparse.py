"""Sparse Jacobians and Hessians against dense ones and JAX; patterns, colours, and what is refused."""

import dataclasses

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import diffjit as dj
from diffjit.api.coloring import column_colors, places, star_colors

jax = pytest.importorskip("jax")
jnp = jax.numpy

U = np.random.default_rng(3).standard_normal(9)
BACKENDS = pytest.mark.parametrize("backend", ["python", "numba"])


def residual(u, k):
    """Diffusion and reaction on a line, with fixed ends."""
    r = np.zeros(u.size)
    for i in range(1, u.size - 1):
        r[i] = k * (u[i + 1] - 2 * u[i] + u[i - 1]) + np.exp(u[i])
    r[0] = u[0]
    r[-1] = u[-1] - 1.0
    return r


def residual_jax(u, k):
    inside = k * (u[2:] - 2 * u[1:-1] + u[:-2]) + jnp.exp(u[1:-1])
    return jnp.concatenate([u[:1], inside, u[-1:] - 1.0])


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bands(n, width):
    return abs(np.subtract.outer(np.arange(n), np.arange(n))) <= width


# ------------------------------------------------------------------------------------------------------------- verbs


@BACKENDS
def test_jacobian(backend):
    found = dj.sparse_jacobian(residual, backend=backend)(U, 2.0)
    assert isinstance(found, scipy.sparse.csr_matrix)
    assert found.nnz == 3 * 7 + 2
    np.testing.assert_allclose(found.toarray(), jax.jacfwd(residual_jax)(U, 2.0), atol=1e-12)


@BACKENDS
def test_hessian(backend):
    found = dj.sparse_hessian(rosenbrock, backend=backend)(U)
    assert found.nnz == 9 + 2 * 8
    np.testing.assert_allclose(
        found.toarray(), jax.hessian(lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))(U),
        atol=1e-9,
    )  # fmt: skip


def test_decorators_and_methods():
    @dj.sparse_jacobian(argnums="u", backend="python")
    def cubes(a, u):
        return a * u**3

    @dataclasses.dataclass
    class Model:
        a: float

        @dj.sparse_hessian(argnums=1, backend="python")
        def energy(self, u):
            return self.a * np.sum(u**4)

    np.testing.assert_allclose(cubes(2.0, U).toarray(), np.diag(6 * U**2))
    np.testing.assert_allclose(cubes(2.0, u=U).toarray(), np.diag(6 * U**2))
    np.testing.assert_allclose(Model(2.0).energy(U).toarray(), np.diag(24 * U**2))


def test_trees_have_a_matrix_for_each_pair():
    def model(p, x):
        return {"z": p["b"] * x, "a": (np.sum(x), p["w"] @ x)}

    p = {"w": np.arange(6.0).reshape(2, 3), "b": 2.0}
    found = dj.sparse_jacobian(model, argnums=(0, 1), backend="python")(p, U[:3])
    assert found["z"][0]["b"].shape == (3, 1)
    assert found["z"][0]["w"].nnz == 0
    assert found["a"][1][0]["w"].shape == (2, 6)
    np.testing.assert_allclose(found["a"][1][0]["w"].toarray(), np.kron(np.eye(2), U[:3]))
    pattern = dj.sparsity(model, argnums=(0, 1))(p, U[:3])
    again = dj.sparse_jacobian(model, argnums=(0, 1), backend="python", pattern=pattern)(p, 2 * U[:3])
    np.testing.assert_allclose(again["z"][1].toarray(), 2 * np.eye(3))
    np.testing.assert_allclose(again["a"][1][1].toarray(), p["w"])


def test_hessian_of_a_tree_has_symmetric_blocks():
    def energy(p):
        return np.sum(p["z"][1:] * p["z"][:-1] ** 2) * p["a"] + np.sum(p["m"] ** 3) * p["z"][0]

    p = {"z": U, "m": U[:4].reshape(2, 2), "a": 1.5}
    found = dj.sparse_hessian(energy, backend="python")(p)
    wanted = dj.hessian(energy, backend="python")(p)
    for row in p:
        for column in p:
            shape = found[row][column].shape
            np.testing.assert_allclose(found[row][column].toarray(), np.reshape(wanted[row][column], shape), atol=1e-12)


def test_extras_and_prints_come_once(capsys):
    def model(u):
        print("once")  # noqa: T201 - what users write
        return u**2, {"norm": np.sum(u)}

    found, aux = dj.sparse_jacobian(model, has_aux=True, backend="python")(U)
    np.testing.assert_allclose(found.toarray(), np.diag(2 * U))
    assert aux["norm"] == np.sum(U)
    assert capsys.readouterr().out == "once\n"
    found, aux = dj.sparse_hessian(lambda u: (np.sum(u**3), "text"), has_aux=True, backend="python")(U)
    np.testing.assert_allclose(found.toarray(), np.diag(6 * U))
    assert aux == "text"


def test_single_precision():
    found = dj.sparse_jacobian(lambda u: u[1:] * u[:-1], backend="python")(U.astype(np.float32))
    assert found.dtype == np.float32
    assert found.nnz == 16


def test_memory_orders_and_read_only_arguments():
    a = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    a.flags.writeable = False

    def model(a):
        a = a.T[::-1]
        a[0] *= 2.0
        return a * a[:, :1]

    args = a[:, ::2]
    found = dj.sparse_jacobian(model, backend="python")
    for x in (a.copy(order="F"), a.copy(order="C"), a.copy()[:, ::2], args.copy()):
        wanted = dj.jacfwd(model, backend="python")(x)
        np.testing.assert_allclose(found(x).toarray(), wanted.reshape(x.size, x.size))


def test_numbers_to_numbers():
    found = dj.sparse_jacobian(lambda x: x**2, backend="python")(3.0)
    assert found.shape == (1, 1)
    assert found[0, 0] == 6.0
    assert dj.sparse_jacobian(lambda x: 1.0, backend="python")(3.0).nnz == 0


def test_empty_arrays():
    assert dj.sparse_jacobian(lambda u: u * 2.0, backend="python")(np.zeros(0)).shape == (0, 0)


def several(p, x, order):
    """Results and arguments of several forms: numbers, a matrix in either order, a constant."""
    m = p["m"].T if order else p["m"]
    return {"a": p["b"] * np.sum(x[:2]), "m": m * p["b"] + np.float64(2.0), "c": 1.0, "n": x[::-1] * x[0]}


@BACKENDS
@pytest.mark.parametrize("at_once", [1, 1 << 22])
def test_directions_are_taken_part_by_part(backend, at_once, monkeypatch):
    monkeypatch.setattr("diffjit.api.patterns.compressed._AT_ONCE", at_once)
    for order in "CF":
        p = {"m": np.array(np.arange(6.0).reshape(2, 3), order=order), "b": 2.0}
        found = dj.sparse_jacobian(several, argnums=(0, 1), backend=backend)(p, U, True)
        wanted = dj.jacobian(several, argnums=(0, 1), backend="python")(p, U, True)
        for name, size in (("a", 1), ("m", 6), ("c", 1), ("n", U.size)):
            for k, inputs in enumerate((p, {"x": U})):
                for leaf, value in inputs.items():
                    got = found[name][k][leaf] if k == 0 else found[name][k]
                    want = wanted[name][k][leaf] if k == 0 else wanted[name][k]
                    assert got.shape == (size, np.size(value))
                    np.testing.assert_allclose(got.toarray(), np.reshape(want, got.shape), atol=1e-12)


def test_few_columns_at_the_end_are_left_over():
    from diffjit.api.engine.engine import program_of
    from diffjit.api.patterns.compressed import lanes_for

    function = program_of(residual, (U, 2.0), {}).function
    assert [lanes_for(function, [0], n) for n in (1, 2, 4, 8, 9, 13, 16, 17)] == [1, 2, 4, 8, 5, 7, 8, 6]


@BACKENDS
def test_a_pattern_with_other_rows_than_the_result(backend):
    with pytest.raises(dj.UsageError, match="DJ521"):
        dj.sparse_jacobian(lambda u: u[1:] * 2.0, pattern=np.eye(9), backend=backend)(U)
    with pytest.raises(dj.UsageError, match="DJ521"):
        dj.sparse_jacobian(lambda u: (u, np.ones(3)), pattern=(np.eye(9), np.eye(9)), backend=backend)(U)


def test_extras_of_compiled_code():
    found, aux = dj.sparse_jacobian(lambda u: (u**2, np.sum(u)), has_aux=True, backend="numba")(U)
    np.testing.assert_allclose(found.toarray(), np.diag(2 * U))
    np.testing.assert_allclose(aux, np.sum(U))


# ----------------------------------------------------------------------------------------------------------- patterns


def test_the_pattern_follows_the_branch():
    def upwind(u, v):
        r = np.zeros(u.size)
        for i in range(1, u.size - 1):
            r[i] = v * (u[i] - u[i - 1]) if v > 0 else v * (u[i + 1] - u[i])
        return r

    left, right = (dj.sparsity(upwind)(U, v).toarray() for v in (1.0, -1.0))
    assert left[1, 0]
    assert not left[1, 2]
    assert right[1, 2]
    assert not right[1, 0]
    both = dj.sparse_jacobian(upwind, backend="python", pattern=left | right)
    for v in (1.0, -1.0):
        np.testing.assert_allclose(both(U, v).toarray(), dj.jacfwd(upwind, backend="python")(U, v))


def test_a_product_with_a_banded_matrix_is_banded():
    d = np.diff(np.eye(9), axis=0)
    assert dj.sparsity(lambda u: d @ u)(U).nnz == 16
    assert dj.sparsity(lambda u: u @ d.T)(U).nnz == 16
    assert dj.sparsity(lambda u: d @ np.outer(u, u))(U).nnz == 8 * 9 * 3 - 8 * 2


@BACKENDS
def test_a_given_pattern_is_tested(backend):
    with pytest.raises(dj.UsageError, match="DJ522"):
        dj.sparse_jacobian(residual, pattern=bands(9, 0), backend=backend)(U, 2.0)
    found = dj.sparse_jacobian(residual, pattern=scipy.sparse.csr_matrix(bands(9, 2)), backend=backend)(U, 2.0)
    np.testing.assert_allclose(found.toarray(), jax.jacfwd(residual_jax)(U, 2.0), atol=1e-12)


@BACKENDS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_entries_are_seen_beside_large_and_infinite_ones(backend, dtype):
    def large(x):
        return np.array([(1e8 if x.dtype == np.float64 else 100.0) * x[0] + x[1] + 5 * x[2], x[1]])

    def infinite(x):
        return np.array([x[1] + 5 * x[2] + np.sqrt(x[0] - 1.0), x[0]])

    x = np.array([1.0, 1.0, 2.0], dtype)
    lacks = np.array([[1, 1, 0], [1, 1, 0]])
    for f in (large, infinite):
        with np.errstate(divide="ignore"), pytest.raises(dj.UsageError, match="DJ522"):
            dj.sparse_jacobian(f, pattern=lacks, backend=backend)(x)
        with np.errstate(divide="ignore"):
            found = dj.sparse_jacobian(f, pattern=np.ones((2, 3)), backend=backend)(x)
            np.testing.assert_allclose(found.toarray(), dj.jacfwd(f, backend=backend)(x))


def test_a_found_pattern_is_tested_too(monkeypatch):
    """As if compiled code took another branch than the run on sets: all columns are evaluated."""
    from diffjit.analysis.sparsity.index_sets import IndexSets

    monkeypatch.setattr(IndexSets, "run", lambda *_: [[frozenset((i,)) for i in range(9)]])
    found = dj.sparse_jacobian(residual, backend="python")(U, 2.0)
    np.testing.assert_allclose(found.toarray(), jax.jacfwd(residual_jax)(U, 2.0), atol=1e-12)


def test_printing_programs_leave_arguments_alone(capsys):
    def model(u):
        u *= 2.0
        print(u.size)  # noqa: T201 - what users write
        return u * u

    u = U.copy()
    np.testing.assert_allclose(dj.sparse_jacobian(model, backend="python")(u).toarray(), np.diag(8 * U))
    np.testing.assert_array_equal(u, U)
    assert capsys.readouterr().out == "9\n"


def test_hessians_take_half_a_pattern():
    found = dj.sparse_hessian(rosenbrock, pattern=np.tril(bands(9, 1)), backend="python")(U)
    np.testing.assert_allclose(found.toarray(), dj.hessian(rosenbrock, backend="python")(U), atol=1e-9)


# ------------------------------------------------------------------------------------------------------------- colours


@st.composite
def patterns(draw, *, symmetric=False):
    rows = draw(st.integers(1, 12))
    columns = rows if symmetric else draw(st.integers(1, 12))
    entries = draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))))
    made = np.zeros((rows, columns), bool)
    for i, j in entries:
        made[i, j] = True
        if symmetric:
            made[j, i] = True
    return made


@given(patterns())
def test_columns_of_one_color_do_not_meet(pattern):
    colors = column_colors(scipy.sparse.csr_matrix(pattern))
    for color in set(colors):
        assert np.all(pattern[:, colors == color].sum(axis=1) <= 1)
    assert len(set(colors)) == max(colors) + 1


def decompressed(pattern, colors, matrix):
    """The matrix from its products with the colours' directions."""
    sparse = scipy.sparse.csr_matrix(pattern)
    table = matrix @ (colors[:, None] == np.arange(max(colors) + 1))
    return scipy.sparse.csr_matrix((table[places(sparse, colors)], sparse.indices, sparse.indptr), pattern.shape)


@given(patterns(), st.integers(0, 1000))
def test_compressed_is_dense(pattern, seed):
    matrix = pattern * np.random.default_rng(seed).standard_normal(pattern.shape)
    found = decompressed(pattern, column_colors(scipy.sparse.csr_matrix(pattern)), matrix)
    np.testing.assert_array_equal(found.toarray(), matrix)


@given(patterns(symmetric=True), st.integers(0, 1000))
def test_stars_read_each_entry_of_a_symmetric_matrix(pattern, seed):
    matrix = np.random.default_rng(seed).standard_normal(pattern.shape)
    matrix = pattern * (matrix + matrix.T)
    colors = star_colors(scipy.sparse.csr_matrix(pattern))
    np.testing.assert_array_equal(decompressed(pattern, colors, matrix).toarray(), matrix)
    assert max(colors) <= max(column_colors(scipy.sparse.csr_matrix(pattern)))


@given(patterns(symmetric=True), st.randoms(use_true_random=False))
def test_searches_by_machine_code_and_by_masks(pattern, random):
    """The same colours in the same order of columns."""
    from diffjit.api import coloring

    order = np.array(random.sample(range(len(pattern)), len(pattern)))
    sparse = scipy.sparse.csc_matrix(pattern)
    rows = sparse.tocsr()
    given = sparse.indptr, sparse.indices, rows.indptr, rows.indices, order
    wanted = coloring.greedy(*given)
    columns = np.split(sparse.indices, sparse.indptr[1:-1])
    np.testing.assert_array_equal(coloring._by_masks(columns, len(pattern), order), wanted)
    if len(pattern) in (9, 12):
        np.testing.assert_array_equal(coloring._GREEDY(*given), wanted)
        np.testing.assert_array_equal(
            coloring._STARS(rows.indptr, rows.indices, order), coloring.stars(rows.indptr, rows.indices, order)
        )


def test_known_numbers_of_colors():
    assert max(column_colors(scipy.sparse.csr_matrix(bands(50, 1)))) + 1 == 3
    arrow = np.eye(50, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    assert max(column_colors(scipy.sparse.csr_matrix(arrow))) + 1 == 50
    assert max(star_colors(scipy.sparse.csr_matrix(arrow))) + 1 == 2
    found = dj.sparse_hessian(lambda x: np.sum(x[1:] ** 2 * x[0]) + x[0] ** 3, backend="python")
    np.testing.assert_allclose(
        found(U).toarray(), dj.hessian(lambda x: np.sum(x[1:] ** 2 * x[0]) + x[0] ** 3, backend="python")(U)
    )


# --------------------------------------------------------------------------------------------------------------- SciPy


def test_least_squares():
    def fit(u, data):
        return np.concatenate((u - data, 3.0 * (u[1:] - u[:-1]), 0.1 * u[2:] * u[:-2]))

    data = np.sin(np.arange(40.0))
    jacobian = dj.sparse_jacobian(fit, pattern=dj.sparsity(fit)(data, data), backend="python")
    found = scipy.optimize.least_squares(fit, data, jac=jacobian, args=(data,))
    pattern = dj.sparsity(fit)(data, data)
    numerical = scipy.optimize.least_squares(fit, data, jac_sparsity=pattern, args=(data,))
    np.testing.assert_allclose(found.x, numerical.x, atol=1e-6)
