"""Rows of samples, tests and densities of `scipy.stats`, and of functions of `scipy.special`."""

from __future__ import annotations

import numpy as np
import scipy.interpolate as si
import scipy.linalg as sl
import scipy.special as sc
from scipy import stats

from tests.scipy.rows import row

rng = np.random.default_rng(3)
H, G = rng.normal(size=24), rng.uniform(1.0, 3.0, 9)
U, W = rng.normal(size=7), rng.normal(size=7)
M = rng.normal(size=(8, 3))
Q = np.array([0.2, 0.7, 1.1])
S = rng.uniform(1.0, 3.0, (3, 3))

row("skew", lambda a: stats.skew(a) + stats.skew(a, bias=False), H, of=stats.skew, twice=True)
row("skew of rows", lambda a: stats.skew(a, axis=1, keepdims=True), M)
row("kurtosis", lambda a: stats.kurtosis(a) + stats.kurtosis(a, fisher=False, bias=False), H, of=stats.kurtosis)
row("moment", lambda a: stats.moment(a, order=3, axis=1) + stats.moment(a.ravel(), 2, center=0.1), M, of=stats.moment)
row("moments", lambda a: stats.moment(a, order=[1, 2, 4]), M)
row("variation", lambda a: stats.variation(a, axis=None) + stats.sem(a, axis=None), G, of=(stats.variation, stats.sem))
row("describe", lambda a: stats.describe(a)[2:], M, of=stats.describe)
row("zscore", lambda a: stats.zscore(a, axis=1, ddof=1) + stats.zscore(a, axis=None), M, of=stats.zscore, twice=True)
row("gzscore", stats.gzscore, G, of=stats.gzscore)
row("zmap", stats.zmap, U, W, of=stats.zmap)
row("means", lambda a, w: stats.gmean(a, weights=w) + stats.hmean(a) + stats.gstd(a), G, np.arange(1.0, 10.0),
    of=(stats.gmean, stats.hmean, stats.gstd))  # fmt: skip
row("means of rows", lambda a, w: stats.gmean(a, axis=1, weights=w) + stats.hmean(a, axis=1, weights=w), S, S.T**2)
row("means with one row of weights", lambda a, w: stats.gmean(a, weights=w) + stats.hmean(a, weights=w), S, G[:3])
row("mean of all", lambda a, w: stats.gmean(a, axis=None, weights=w, keepdims=False), S, S.T)
row("pmean", lambda a, w: stats.pmean(a, 2.5, weights=w) + stats.pmean(a, 0) + stats.pmean(a, -1), G, G[::-1] ** 2,
    of=stats.pmean)  # fmt: skip
row("trim_mean", lambda a: stats.trim_mean(a, 0.2) + stats.trim_mean(a, 0.3, axis=None), H, of=stats.trim_mean)
row("circular", lambda a: (stats.circmean(a), stats.circvar(a), stats.circstd(a)), H, twice=True,
    of=(stats.circmean, stats.circvar, stats.circstd))  # fmt: skip
row("circular hours", lambda a: (stats.circmean(a, 24.0, axis=0), stats.circstd(a, high=2, low=-2, axis=1)), M)
row("circular normalised", lambda a: stats.circstd(a, 180.0, -180.0, normalize=True), M)
row("iqr", lambda a: stats.iqr(a) + stats.iqr(a, rng=(10, 80), scale="normal"), H, of=stats.iqr)
row("median_abs_deviation", lambda a: stats.median_abs_deviation(a, scale="normal"), H, of=stats.median_abs_deviation)
row("scoreatpercentile", lambda a: stats.scoreatpercentile(a, [20, 63.0]) + stats.scoreatpercentile(a, 5), H,
    of=stats.scoreatpercentile)  # fmt: skip
row("mquantiles", lambda a: np.asarray(stats.mstats.mquantiles(a, [0.1, 0.5, 0.93])), H, of=stats.mstats.mquantiles)
row("entropy", lambda p, q: stats.entropy(p, base=2) + stats.entropy(p, q), G, G[::-1] ** 2, of=stats.entropy)
row("ttest_1samp", lambda a: tuple(stats.ttest_1samp(a, 0.3, alternative="less")), H, of=stats.ttest_1samp, twice=True)
row("ttest_rel", lambda a, b: tuple(stats.ttest_rel(a, b)), U, W, of=stats.ttest_rel)
row("ttest_ind", lambda a, b: tuple(stats.ttest_ind(a, b)), U, H, of=stats.ttest_ind)
row("ttest_ind Welch", lambda a, b: tuple(stats.ttest_ind(a, b, equal_var=False, alternative="greater")), U, H)
row("f_oneway", lambda a, b: tuple(stats.f_oneway(a, b, b[:5] ** 2)), U, H, of=stats.f_oneway)
row("chisquare", lambda a: tuple(stats.chisquare(a)), G, of=stats.chisquare)
row("normaltest", lambda a: tuple(stats.normaltest(a)) + tuple(stats.jarque_bera(a)), H,
    of=(stats.normaltest, stats.jarque_bera))  # fmt: skip
row("skewtest", lambda a: tuple(stats.skewtest(a)) + tuple(stats.kurtosistest(a)), H,
    of=(stats.skewtest, stats.kurtosistest))  # fmt: skip
row("pearsonr", lambda a, b: tuple(stats.pearsonr(a, b)), U, W, of=stats.pearsonr, twice=True)
row("linregress", lambda a, b: tuple(stats.linregress(a, b)), U, W, of=stats.linregress, twice=True)
row("ranks", lambda a: stats.rankdata(a) * a + stats.rankdata(a, "min"), H, of=stats.rankdata)
row("spearmanr", lambda a, b: stats.spearmanr(a, b)[0] * a + stats.kendalltau(a, b)[1] * b, U, W,
    of=(stats.spearmanr, stats.kendalltau))  # fmt: skip
row("ks_1samp", lambda a, s: stats.ks_1samp(a, stats.norm.cdf, (0.1, s))[0], H, 1.2, of=stats.ks_1samp)
row("kstest", lambda a: (stats.kstest(a, "logistic", (0.2, 1.1)).statistic, stats.kstest(a, "norm").statistic), H,
    of=stats.kstest)  # fmt: skip
row("gaussian_kde", lambda a, x: stats.gaussian_kde(a)(x), H, Q, of=stats.gaussian_kde, twice=True)
row("gaussian_kde weights", lambda a, w, x: stats.gaussian_kde(a, "silverman", w).logpdf(x), G, np.arange(1.0, 10), Q)
row("gaussian_kde plane", lambda a, b: stats.gaussian_kde(a.T, b)(a[:2].T + 0.1), M[:, :2], 0.6)
KERNELS = stats.gaussian_kde(H)
row("gaussian_kde outside", lambda x: KERNELS.pdf(x) + KERNELS.integrate_box_1d(-1.0, x[0]), Q)

row("wofz", lambda x, y: np.abs(sc.wofz(x + 1j * y)) + np.real(sc.wofz(x)), Q, 0.3, of=sc.wofz, twice=True)
PLANE = (
    sc.erf, sc.erfc, sc.erfi, sc.erfcx, sc.dawsn, sc.ndtr, sc.exp1, sc.expi, sc.spence, sc.wrightomega, sc.loggamma,
    sc.gamma, sc.rgamma, sc.psi,
)  # fmt: skip
for of in PLANE:
    row(f"{of.__name__} in the plane",
        lambda x, of=of: np.real(of((0.8 + 0.3j) * x - 0.4j)) * 0.7 + np.imag(of(1.3j - x)), Q, of=of)  # fmt: skip
ORDERED = (sc.jv, sc.yv, sc.iv, sc.kv, sc.kve, sc.hankel1, sc.hankel2, sc.hankel1e, sc.hankel2e, sc.hyp0f1)
for of in ORDERED:
    row(f"{of.__name__} in the plane",
        lambda x, of=of: np.real(of(1.5, (0.8 + 0.3j) * x)) * 0.7 + np.imag(of(2, 1.3j + x)), Q, of=of)  # fmt: skip
row("hankel of real numbers", lambda x: np.real(sc.hankel1(0, x)) * np.imag(sc.hankel2(1.5, x)), Q, twice=True)
row("hypergeometric in the plane",
    lambda x: np.real(sc.hyp1f1(0.3, 2, 1j * x)) * np.imag(sc.hyp2f1(0.3, 1, 2.5, 0.4j * x)), Q,
    of=(sc.hyp1f1, sc.hyp2f1), twice=True)  # fmt: skip
row("loggamma in the plane twice",
    lambda x: np.real(sc.loggamma(x + 0.3j)) * np.imag(sc.gamma(0.2 - 1j * x)), Q, twice=True)  # fmt: skip
for of in (sc.fresnel, sc.sici, sc.shichi, sc.airy):
    row(of.__name__, lambda x, of=of: of(x)[0] * 0.7 - of(x)[1] * of(x)[-1], Q + 0.1, of=of, twice=True)
row("fresnel in the plane", lambda x: np.real(sc.fresnel(x + 0.3j)[0]) + np.imag(sc.sici(0.2j - x)[1]), Q)
row("kelvin", lambda x: np.real(sc.kelvin(x)[0] * sc.kelvin(x)[3]) + np.imag(sc.kelvin(x)[1] * sc.kelvin(x)[2]), Q,
    of=sc.kelvin, twice=True)  # fmt: skip
row("ellipj", lambda u, m: np.stack(sc.ellipj(u, m)) + sc.ellipj(7.0 * u, 0.1 * m)[2], Q, 0.8, of=sc.ellipj, twice=True)
row("zeta", lambda a: sc.zeta(a + 1.5) * sc.zeta(a + 2.0, 0.7) + sc.zeta(3.0, a), Q, of=sc.zeta, twice=True)
row("zipf", lambda a: stats.zipf.pmf(3, a + 1.5) + stats.zipf.logpmf(2, a + 2.0), Q)
row("skellam", lambda a, b: stats.skellam.pmf(2, a, b) + stats.skellam.logpmf(-1, a, b) + stats.skellam.cdf(1, a, b),
    Q, 1.3, twice=True)  # fmt: skip
row("noncentral chi-squared", lambda x, w: stats.ncx2.pdf(x, 3, w) + stats.ncx2.cdf(x, 1.5, w) * stats.ncx2.sf(x, 4, w),
    2.0 * Q, 0.8, twice=True)  # fmt: skip
row("voigt_profile", sc.voigt_profile, Q, 0.4, 0.3, of=sc.voigt_profile, twice=True)
row("voigt_profile sharp", lambda x, s: sc.voigt_profile(x, s, 0.0) + sc.voigt_profile(x, 0.0, s), Q, 0.4)
row("lambertw", lambda x: np.real(sc.lambertw(x)) + np.imag(sc.lambertw(-x - 0.3j, -1)), Q, of=sc.lambertw, twice=True)
for name, n in (("hermite", 4), ("hermitenorm", 3), ("legendre", 5), ("chebyt", 4), ("chebyu", 3), ("laguerre", 3),
                ("chebyc", 3), ("chebys", 4), ("sh_chebyt", 3), ("sh_chebyu", 2), ("sh_legendre", 4)):  # fmt: skip
    family = getattr(sc, name)
    row(f"{name}", lambda x, f=family, n=n: f(n)(x), Q / 2, of=family)
row("shapes", lambda x: sc.genlaguerre(3, 0.5)(x) * sc.gegenbauer(3, 0.7)(x), Q / 2, of=(sc.genlaguerre, sc.gegenbauer))
row("jacobi", lambda a, x: sc.jacobi(4, a, 0.2)(x), 0.3, Q / 2, of=sc.jacobi, twice=True)
row("coefficients", lambda x, a: sc.hermite(3).deriv(1)(x) * sc.legendre(0).coef[0] + (2.0 * sc.gegenbauer(2, a))(x),
    0.4, 0.7)  # fmt: skip
row("between others' ends", lambda x: sc.eval_chebyc(3, x) * sc.eval_sh_chebyt(2, x) + sc.eval_sh_legendre(3, x)
    + sc.eval_chebys(4, x) * sc.eval_sh_chebyu(3, x), Q / 2, twice=True,
    of=(sc.eval_chebyc, sc.eval_chebys, sc.eval_sh_chebyt, sc.eval_sh_chebyu, sc.eval_sh_legendre))  # fmt: skip
row("eval_sh_jacobi", lambda p, q, x: sc.eval_sh_jacobi(3, p, q, x), 2.3, 0.6, Q / 2, of=sc.eval_sh_jacobi, twice=True)
GIVEN, MONIC = sc.genlaguerre(3, 0.4), sc.chebyt(3, monic=True)
row("orthopoly1d outside", lambda x: GIVEN(x) * MONIC(x) + GIVEN.deriv()(x), Q / 2, of=type(GIVEN), twice=True)
for n, m in ((0, 0), (3, 2), (5, -3), (4, 4), (2, 3)) if hasattr(sc, "sph_harm_y") else ():  # SciPy 1.15
    row(f"sph_harm_y {n} {m}", lambda t, p, n=n, m=m: np.real(sc.sph_harm_y(n, m, t, p)) * 0.7
        + np.imag(sc.sph_harm_y(n, m, t, p)), Q, 2 * Q, of=sc.sph_harm_y)  # fmt: skip

# Vectors and matrices ------------------------------------------------------------------------------------------------

L = np.tril(S) + 2.0 * np.eye(3)
C = L @ L.T  # a covariance
D, T = np.array([0.4, 1.3, 0.8]), np.array([[1.4, 0.3], [0.3, 0.9]])
NORMAL, TWO = stats.multivariate_normal, stats.multivariate_normal([0.1, -0.3], T)
WISHART, SHARES = stats.wishart(5, C), stats.dirichlet([1.5, 2.0, 0.7])

row(
    "multivariate_normal",
    lambda x, m, c: NORMAL.logpdf(x, m, c @ c.T) + NORMAL.pdf(x[0], m, c @ c.T),
    M,
    U[:3],
    L,
    of=NORMAL,
    twice=True,
)
row("multivariate_normal made", lambda x, m, c: NORMAL(m, c @ c.T).pdf(x) * NORMAL(cov=c @ c.T).logpdf(x), M, U[:3], L)
row(
    "multivariate_normal outside",
    lambda x: TWO.logpdf(x) * TWO.cov[0, 1] + TWO.entropy() * TWO.mean[1],
    U[:2],
    twice=True,
)
row("multivariate_normal of numbers", lambda x, m, v: NORMAL.logpdf(x, m, v) * NORMAL.pdf(x[1], cov=v), Q, 0.3, 1.2)
row("multivariate_normal of a number that the run finds",
    lambda x, v: NORMAL.logpdf(x[x > 1.0], cov=v * np.eye(np.sum(x > 1.0))), D, 1.2)  # fmt: skip
row("multivariate_normal spreads", lambda v, d: NORMAL.logpdf(U[:3], W[:3], v) + NORMAL.logpdf(U[:3], W[:3], d), 1.3, D)
row("multivariate_normal grids", lambda x, v: NORMAL.pdf(x, [0.1, 0.2], v), M[:6, :2].reshape(2, 3, 2), D[:2])
row("multivariate_normal entropy", lambda c: NORMAL.entropy(None, c @ c.T) + NORMAL.entropy(D, c[0, 0]), L)
row(
    "multivariate_normal draws",
    lambda m: NORMAL.rvs(m, C, size=4, random_state=np.random.default_rng(3)) + NORMAL(m, C).rvs(random_state=7),
    U[:3],
)
row(
    "multivariate_t",
    lambda x, m, c, n: stats.multivariate_t.logpdf(x, m, c @ c.T, n) + stats.multivariate_t(m, c @ c.T, n).pdf(x[1]),
    M,
    U[:3],
    L,
    3.4,
    of=stats.multivariate_t,
    twice=True,
)
row(
    "multivariate_t spreads",
    lambda x, v, n: (
        stats.multivariate_t.pdf(x, 0.2, v, df=n)
        + stats.multivariate_t(df=n).logpdf(x[0])
        + stats.multivariate_t.entropy(None, v, n)
    ),
    Q,
    1.3,
    2.2,
)
row(
    "matrix_normal",
    lambda x, m, r, c: (
        stats.matrix_normal.logpdf(x, m, r @ r.T, c @ c.T) + stats.matrix_normal(m, c[0, 0], r[0, 0]).pdf(x)
    ),
    M[:2],
    M[3:5],
    T,
    L,
    of=stats.matrix_normal,
)
row(
    "matrix_normal of several",
    lambda x, d: stats.matrix_normal.logpdf(x, rowcov=d, colcov=[1.0, 0.7]),
    M[:, :2].reshape(-1, 2, 2),
    D[:2],
)
row(
    "matrix_normal entropy",
    lambda r, c: (
        stats.matrix_normal.entropy(r @ r.T, c @ c.T) + stats.matrix_normal(rowcov=r @ r.T, colcov=c @ c.T).entropy()
    ),
    T,
    L,
)
row(
    "wishart",
    lambda x, n, c: stats.wishart.logpdf(x @ x.T, n, c @ c.T) + stats.wishart(n, c @ c.T).pdf(x @ x.T),
    S + 1,
    4.5,
    L,
    of=stats.wishart,
    twice=True,
)
row("wishart numbers", lambda x, n: stats.wishart.logpdf(x, n, 0.7) + stats.invwishart.logpdf(x, n, 0.7), Q, 4.5)
row("wishart several", lambda x: WISHART.logpdf(np.stack([x @ x.T, 2.0 * x @ x.T], axis=-1)), S + 1)
row(
    "wishart moments",
    lambda n, c: stats.wishart.mean(n, c) + stats.wishart(n, c).var() + stats.wishart.entropy(n, c @ c.T),
    4.5,
    L,
)
row(
    "invwishart",
    lambda x, n, c: stats.invwishart.logpdf(x @ x.T, n, c @ c.T) + stats.invwishart(n, c @ c.T).pdf(x @ x.T),
    L + 0.5,
    5.5,
    L,
    of=stats.invwishart,
    twice=True,
)
row(
    "invwishart moments",
    lambda n, c: stats.invwishart.mean(n, c) + stats.invwishart(n, c).mode() + stats.invwishart.entropy(n, c @ c.T),
    5.5,
    L,
)
row(
    "dirichlet",
    lambda x, a: stats.dirichlet.logpdf(x[:2] / np.sum(x), a) + stats.dirichlet(a).pdf(x / np.sum(x)),
    D,
    G[:3],
    of=stats.dirichlet,
    twice=True,
)
row("dirichlet several", lambda x: SHARES.logpdf((x / np.sum(x, axis=1)[:, None]).T), S)
row(
    "dirichlet moments",
    lambda a: stats.dirichlet.mean(a) + stats.dirichlet(a).cov() * stats.dirichlet.var(a) + stats.dirichlet.entropy(a),
    G[:3],
)
row(
    "multinomial",
    lambda p: (
        stats.multinomial.logpmf([[1, 2, 0], [3, 0, 0]], 3, p / np.sum(p))
        + stats.multinomial(3, p / np.sum(p)).pmf([0, 2, 1])
    ),
    D,
    of=stats.multinomial,
    twice=True,
)
row(
    "multinomial edges",
    lambda p: (
        stats.multinomial.pmf([[1, 2, 1], [-1, 2, 2]], 3, p / np.sum(p)) + stats.multinomial.mean(3, p / np.sum(p))[:2]
    ),
    D,
)
row(
    "dirichlet_multinomial",
    lambda a: (
        stats.dirichlet_multinomial.logpmf([[1, 2, 0], [3, 0, 1]], a, 3)[0]
        + stats.dirichlet_multinomial(a, [4, 3]).pmf([3, 0, 1])
    ),
    G[:3],
    of=stats.dirichlet_multinomial,
    twice=True,
)

# Points and times -----------------------------------------------------------------------------------------------------

PX, PY = np.array([0.0, 0.4, 1.1, 1.7, 2.5, 3.0]), np.array([0.3, -0.2, 0.8, 0.5, -0.6, 0.1])
for kind in ("multiquadric", "inverse", "gaussian", "linear", "cubic", "quintic", "thin-plate"):
    row(f"Rbf {kind}", lambda y, x, kind=kind: si.Rbf(PX, PX[::-1] ** 2, y, function=kind)(x, 2 * x), PY, Q, of=si.Rbf)
row("Rbf options", lambda x, y, e: si.Rbf(x, y, epsilon=e, smooth=0.1)(Q.reshape(3, 1)), PX, PY, 0.7, twice=True)
row("Rbf of several", lambda y: si.Rbf(PX, np.stack([y, y * y], axis=1), mode="N-D", function=lambda r: r + 0.1)(Q), PY)
row("lagrange", lambda x, y: si.lagrange(x[:5], y[:5])(Q), PX, PY, of=si.lagrange, twice=True)
row("lagrange coefficients", lambda y: si.lagrange(PX[:3], y[:3]).coeffs, PY)
row(
    "splprep",
    lambda x, y: (*si.splev(Q / 2, si.splprep([x, y], s=0)[0]), si.splprep([x, y], s=0)[1]),
    PX,
    PY,
    of=si.splprep,
)
row("splprep options", lambda y: tuple(si.splev(Q, si.splprep([y, PX, y * y], u=PX, k=2, s=0)[0], der=1)), PY)
row("splprep integral", lambda y: si.splint(0.1, 0.6, si.splprep([PX, y], s=0.0)[0])[1], PY)
row("funm", lambda a: sl.funm(a @ a.T + np.eye(3), lambda z: np.sqrt(z) * np.sin(z)), L, of=sl.funm, twice=True)
row("funm of complex matrices", lambda a, b: np.abs(sl.funm(a + 1j * b, np.exp)), S, L)
