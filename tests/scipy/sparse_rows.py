"""Rows of `scipy.sparse.linalg`: systems by iterations, factors and triangles, maps, functions of matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl

from tests.scipy.rows import row

rng = np.random.default_rng(5)
S = rng.normal(size=(4, 4))
P = S @ S.T / 4 + np.eye(4)  # positive definite
V = rng.normal(size=4)
LU = sl.splu(sp.csc_matrix(P + 0.3 * S))
ILU = sl.spilu(sp.csc_matrix(P))
MAP = sl.LinearOperator((4, 4), matvec=lambda x: P @ x, dtype=float)

for name in ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"):
    method = getattr(sl, name)
    row(f"{name}", lambda p, v, m=method: m(sp.csr_array(p + p.T), v, rtol=1e-13)[0], P, V, of=method,
        twice=name in ("cg", "gmres"))  # fmt: skip
row("cg dense", lambda p, v: sl.cg(p + p.T, v, 0.1 * v, rtol=1e-13)[0], P, V)
row("gmres ahead", lambda p, v: sl.gmres(p, v, M=sp.diags(1 / np.diag(p)), rtol=1e-13, restart=3)[0], P, V)
row(
    "gmres ilu", lambda p, v: sl.gmres(sp.csc_matrix(p), v, M=sl.LinearOperator((4, 4), ILU.solve), rtol=1e-13)[0], P, V
)
row("minres shift", lambda p, s, v: sl.minres(sp.csc_array(p + p.T), v, shift=s, rtol=1e-13)[0], P, 0.3, V, twice=True)
row("gmres complex", lambda p, v: np.abs(sl.gmres(p + 1j * np.eye(4), v, rtol=1e-13)[0]), P, V)
row("LinearOperator", lambda p, v: sl.cg(sl.LinearOperator((4, 4), lambda x: (p + p.T) @ x), v, rtol=1e-13)[0], P, V,
    of=(sl.LinearOperator, type(MAP)))  # fmt: skip
row("LinearOperator outside", lambda v: sl.cg(MAP, v, rtol=1e-13)[0] + MAP @ v + MAP.matvec(v), V)
row("aslinearoperator", lambda p, v: sl.aslinearoperator(sp.csr_array(p)).dot(v) + sl.aslinearoperator(p).rmatvec(v), P,
    V, of=sl.aslinearoperator)  # fmt: skip
row("splu", lambda p, v: sl.splu(sp.csc_matrix(p)).solve(v, "T"), P + 0.3 * S, V, of=sl.splu, twice=True)
row("splu columns", lambda p, v: sl.splu(sp.csc_matrix(p)).solve(np.outer(v, v)), P + 0.3 * S, V, twice=True)
row("splu complex", lambda p, v: np.abs(sl.splu(sp.csc_matrix(p) + sp.csc_matrix(1j * np.eye(4))).solve(v, "H")), P, V)
row("splu outside", lambda v: LU.solve(v) + LU.solve(v**2, "T") + ILU.solve(v), V, of=sl.SuperLU)
row("spsolve_triangular", lambda p, v: sl.spsolve_triangular(sp.csr_matrix(np.tril(p)), v), P, V,
    of=sl.spsolve_triangular)  # fmt: skip
row("triangular unit", lambda p, v: sl.spsolve_triangular(sp.csr_array(np.triu(p)), v, False, False, False, True),
    P, V)  # fmt: skip
row("sparse inv", lambda p: sl.inv(sp.csc_matrix(p)).toarray(), P, of=sl.inv)
row("sparse expm", lambda p: sl.expm(sp.csc_matrix(p)).toarray(), 0.3 * S, of=sl.expm)
row("expm_multiply", lambda p, v: sl.expm_multiply(sp.csr_array(p), v), 0.7 * S, V, of=sl.expm_multiply)
row("expm_multiply times", lambda p, v: sl.expm_multiply(p, v, 0.0, 1.0, num=4), 0.3 * S, V)
row("sparse norm", lambda p: sl.norm(sp.csr_array(p)) + sl.norm(sp.csr_array(p), axis=1), S, of=sl.norm)
SIX = np.random.default_rng(2).normal(size=(6, 6)) + np.diag(np.arange(6.0) * 3)
ONES = np.ones(6)
row("eigsh", lambda a: sl.eigsh(sp.csc_array(a + a.T), 2, v0=ONES)[0], SIX, of=sl.eigsh, twice=True)
row("eigsh vectors", lambda a: np.abs(sl.eigsh(sp.csc_array(a + a.T), 2, v0=ONES, which="SA")[1]), SIX)
row("eigsh dense", lambda a: sl.eigsh(a + a.T, 3, sigma=1.0, v0=ONES, return_eigenvectors=False), SIX)

for name in ("sqrt", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1", "log1p", "sign",
             "deg2rad", "rad2deg", "rint", "floor", "ceil", "trunc"):  # fmt: skip
    row(f"sparse {name}", lambda v, f=name: getattr(sp.csc_array(np.diag(v)), f)().toarray(), np.abs(V) / 4)
row("sparse abs", lambda v: abs(sp.csr_matrix(np.diag(v))).toarray() + np.abs(sp.csr_array(np.diag(v))).toarray(), V)
row("sparse sums", lambda v: (abs(sp.coo_matrix((v, ([0, 1, 0, 1], [1, 1, 1, 0])), (2, 2))).tanh() * 2.0).toarray(), V)
row("sparse parts", lambda v: np.real(sp.csr_array(np.diag(v * (1 + 2j)))).toarray() * v, V)
row("sparse imag", lambda v: sp.csc_array(np.diag(v * (1 + 2j))).imag.toarray() * v, V)
row("sparse conj", lambda v: np.conj(sp.csc_array(np.diag(v * (1 + 2j)))).imag.toarray(), V)
row("sparse mean", lambda p: sp.csr_array(p).mean() + sp.csr_array(p).mean(axis=1) * sp.csc_array(p).mean(0), S)

# Formats and blocks ---------------------------------------------------------------------------------------------------


def filled(made, v):
    """A matrix that is filled element by element."""
    for i in range(4):
        made[i, i] = 2.0 + v[i] ** 2
    made[0, 1] = v[1]
    made[2, 0] += v[2]
    made[3, :] = 2 * v
    return made.tocsr() @ v + made[2, 0]


for kind in (sp.lil_matrix, sp.lil_array, sp.dok_matrix, sp.dok_array):
    row(f"{kind.__name__}", lambda v, kind=kind: filled(kind((4, 4)), v), V, of=kind, twice=kind is sp.lil_matrix)
row("lil of sparse", lambda p, v: sp.csr_matrix(p).tolil().tocsc() @ v + sp.lil_array(p).toarray()[1], P, V)
row("dia_matrix", lambda v: sp.dia_matrix((np.stack([v, v * v]), [0, -1]), shape=(4, 4)) @ v, V, of=sp.dia_matrix)
row("dia_array", lambda p, v: sp.dia_array(p) @ v + sp.csr_array(p).todia().diagonal(), P, V, of=sp.dia_array)
row("dia one", lambda v: (2.0 * sp.dia_matrix((v, 0), shape=(4, 4))).T @ v, V, twice=True)
row("spdiags", lambda p, v: sp.spdiags(p[:3], [0, 1, -1], 4, 4, format="csc") @ v, P, V, of=sp.spdiags)
row("block_diag", lambda p, v: sp.block_diag([p, v[:, None], sp.csr_matrix(p)]) @ np.r_[v, 1.0, v], P, V,
    of=sp.block_diag)  # fmt: skip
row("bmat", lambda p, v: sp.bmat([[sp.csr_matrix(p), None], [None, sp.diags(v)]], format="csr") @ np.r_[v, v], P, V,
    of=sp.bmat, twice=True)  # fmt: skip
row("block_array", lambda p, v: sp.block_array([[sp.csr_array(p), sp.diags_array(v)]]).toarray(), P, V,
    of=sp.block_array)  # fmt: skip
row("triangles", lambda p: sp.triu(p, k=1).toarray() + sp.tril(sp.csr_matrix(p), format="csc").toarray() ** 2, P,
    of=(sp.triu, sp.tril))  # fmt: skip
FROM, TO = np.array([[0.0, 1.0, 2.0, 1.0], [2.0, 0.0, 1.0, 0.0]])  # of a table of numbers
row("places that are floats", lambda v: (sp.csr_matrix((v, (range(4), TO)), (4, 3)).T @ sp.coo_matrix(
    (v**2, (FROM, TO)), (4, 3)) + sp.csc_matrix((v, FROM, [0.0, 2.0, 3.0, 4.0]), (3, 3))).toarray(), V)  # fmt: skip
row("kronsum", lambda p, v: sp.kronsum(p[:2, :2], sp.csr_array(p[:3, :3]), format="csr").toarray() * v[0], P, V,
    of=(sp.kronsum, sp.isspmatrix))  # fmt: skip
row("sparse counts", lambda p, v: p[sp.csr_array(np.triu(p)).nonzero()] * sp.csc_matrix(np.triu(p)).getnnz(axis=0)[2] +
    sp.coo_array(p).max() * sp.csr_matrix(-p).min() * sp.csr_matrix(np.triu(p)).count_nonzero(), P, V)  # fmt: skip
row("find", lambda p: sp.find(sp.coo_matrix(p))[2], P, of=sp.find)

# Parts of spectra -----------------------------------------------------------------------------------------------------

rng = np.random.default_rng(3)
SKEW, START = rng.normal(size=(7, 7)), np.ones(7)
TALL = rng.normal(size=(7, 5))
row("eigs", lambda a: np.sort(np.abs(sl.eigs(a, 2, v0=START, return_eigenvectors=False))), SKEW, of=sl.eigs, twice=True)
row("eigs vectors", lambda a: np.abs(sl.eigs(sp.csr_array(a), 3, v0=START)[1][:, 0]), SKEW)
row("svds", lambda a: sl.svds(sp.csc_array(a), 2, v0=START[:5], return_singular_vectors=False), TALL, of=sl.svds,
    twice=True)  # fmt: skip
row("svds vectors", lambda a: sl.svds(a, 2, v0=START[:5])[0] ** 2 + sl.svds(a, 2, v0=START[:5])[2][:, :2].sum() ** 2,
    TALL)  # fmt: skip


def rows_and_columns(p, form):
    """A row, what a column gives, and a sum."""
    a = form(p)
    return a.getrow(1).toarray(), a.getcol(-2) @ np.ones(1), a.getrow(-1).sum() ** 2


for form in (sp.csr_matrix, sp.csc_matrix):
    row(f"rows and columns of {form.__name__}", lambda p, f=form: rows_and_columns(p, f), P)
