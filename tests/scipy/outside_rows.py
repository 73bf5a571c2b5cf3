"""Rows of objects that SciPy made outside: solutions of differential equations, maps of vectors, factors, trees."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sl
from scipy import spatial, stats
from scipy.integrate import solve_ivp

from tests.scipy.rows import row

X = np.array([0.7, 1.3, 0.4, 2.1])


def solved(method, span=(0.0, 4.0)):
    """A `scipy.integrate.OdeSolution`, which is made outside of programs."""
    return solve_ivp(lambda t, y: [y[1], -y[0]], span, [1.0, 0.2], method=method, dense_output=True).sol


for name in ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"):
    dense = solved(name)
    row(f"dense output of {name}", lambda t, found=dense: found(t)[0], X, twice=name == "RK45")
AHEAD, BACK = solved("RK45"), solved("RK45", (4.0, 0.0))
row("dense output, backwards", lambda t: BACK(t) * BACK.t_max, X)
row("dense output at one time", lambda t: AHEAD(t) * (AHEAD.t_min + 1.0), 0.7)
EDGES = AHEAD.ts
row("dense output at its ends", lambda s: AHEAD(np.array([EDGES[0], EDGES[2], EDGES[-1], 5.0]))[0] * s, 0.7)
MATRIX = sp.csc_matrix(np.array([[4.0, 1, 0, 0], [1, 5, 2, 0], [0, 1, 6, 1], [1, 0, 0, 3]]))
MAP, FLAT = sl.aslinearoperator(MATRIX), sl.aslinearoperator(np.arange(12.0).reshape(4, 3))
OWN = sl.LinearOperator((4, 4), matvec=lambda v: 2 * v + np.roll(v, 1), rmatvec=lambda v: 2 * v + np.roll(v, -1))
row("maps by matrices", lambda x: (MAP @ x, MAP.rmatvec(x), MAP.T @ x, FLAT.H @ x, FLAT.matmat(np.outer(x[:3], x))), X,
    of=type(MAP))  # fmt: skip
row("maps after each other", lambda x: ((MAP * OWN) @ x, (OWN.H * MAP.T).rmatvec(x) * MAP.shape[0]), X)
row("systems with maps from outside", lambda x: sl.cg(OWN.H * OWN, x, rtol=1e-13)[0], X)
SOLVES, SHOWN = sl.factorized(MATRIX), sl.splu(MATRIX).solve
row("factorized outside", lambda x: (SOLVES(x), SHOWN(x, "T")), X)
POINTS = np.random.default_rng(4).random((20, 2)) * 3
NEAR = spatial.KDTree(POINTS)


def near_points(x, s):
    """Points around one that stands still, around one that moves, and around several."""
    alone = NEAR.query_ball_point([1.2, 1.6], 1.0)
    total = np.sum((POINTS[alone] - x[:2]) ** 2) + len(alone) * s
    for i in NEAR.query_ball_point(x[2:], 1.0, p=1.0):
        total += np.sum((POINTS[i] - x[2:]) ** 3)
    for k, there in enumerate(NEAR.query_ball_point(POINTS[:4], 0.8)):
        for i in there:
            total += x[k] ** 2 * POINTS[i, 0]
    return total * NEAR.query_ball_point(x[2:], 1.0, return_length=True)


row("query_ball_point", near_points, np.array([0.7, 1.3, 1.4, 1.7]), 0.3)
row("query_pairs", lambda x: sum(x[i % 4] * x[j % 4] for i, j in sorted(NEAR.query_pairs(0.5))), X)
row("skewnorm", lambda x, a: (stats.skewnorm.cdf(x, a, 0.1, 1.2), stats.skewnorm.sf(x, -a), stats.skewnorm.logcdf(
    x, a), stats.skewnorm(a).logsf(x)), X, 1.7)  # fmt: skip
