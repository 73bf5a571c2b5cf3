"""Rows of linear systems of `scipy.signal`, and of tests of `scipy.stats` on orders, counts and spreads."""

from __future__ import annotations

import numpy as np
import scipy.signal as sg
from scipy import stats

from diffjit.primitives.registry import present
from tests.scipy.rows import row

rng = np.random.default_rng(3)
T, U = np.linspace(0.0, 2.0, 6), rng.normal(size=6)
A = -np.eye(3) + 0.3 * rng.normal(size=(3, 3))
B, C, D = rng.normal(size=(3, 1)), rng.normal(size=(1, 3)), rng.normal(size=(1, 1))
SOS, TAILS = rng.normal(size=(2, 3)), 0.1 * rng.normal(size=(2, 2))

row("tf2ss", lambda x, y: sg.tf2ss([x, y], [1.5 * x, 0.2, y]), 0.7, 1.3, of=sg.tf2ss, twice=True)
row("ss2tf", sg.ss2tf, A, B, C, D, of=sg.ss2tf)
row("abcd_normalize", lambda a: sg.abcd_normalize(a, B, C, D)[0] * a, A, of=sg.abcd_normalize)
row("zpk2tf", lambda z, k: sg.zpk2tf(z, [0.3, 0.5 + 0.2j, 0.5 - 0.2j], k), U[:2], 1.4, of=sg.zpk2tf)
row("ss2zpk", lambda x, y: tuple(np.real(part) for part in sg.ss2zpk(
    np.array([[x, 1.0], [-2.0, -y]]), np.array([[0.0], [1.0]]), np.array([[1.0, x]]), np.zeros((1, 1)))),
    0.7, 1.3, of=sg.tf2zpk)  # fmt: skip
row("tf2zpk", lambda x, y: tuple(np.real(part) for part in sg.tf2zpk([x, y], [1.0, 3.0, y])), 0.7, 1.3, of=sg.tf2zpk)
row("zpk2ss", lambda x, y: sg.zpk2ss([x], [y, -1.0], 2.0), 0.7, -1.3, of=sg.zpk2ss)
row("sos2tf", lambda b, a: sg.sos2tf(np.concatenate((b, np.ones((2, 1)), a), axis=1)), SOS, TAILS, of=sg.sos2tf)
for method in ("zoh", "foh", "bilinear", "euler", "backward_diff"):
    row(f"cont2discrete {method}",
        lambda a, b, d, dt, method=method: sg.cont2discrete((a, b, C, d), dt, method), A, B, D, 0.2,
        of=sg.cont2discrete)  # fmt: skip
row("cont2discrete of quotients", lambda x, y: sg.cont2discrete(([x], [1.0, y, 0.3]), 0.1, "impulse")[:2], 0.7, 1.3)
row("lsim", lambda x, y, u: sg.lsim(([x], [1.0, y]), u, T), 0.7, 1.3, U, of=sg.lsim, twice=True)
row("lsim held", lambda a, u: sg.lsim((a, B, C, D), u, T + 0.4, [1.0, 2.0, 3.0], interp=False), A, U)
row("lsim free", lambda x, y: sg.lsim(([x], [1.0, y, 2.0]), 0, T, X0=[0.1, 0.2])[1], 0.7, 1.3)
SYSTEM, STATES = sg.lti([1.0, 0.4], [1.0, 0.7, 2.0]), sg.StateSpace(A, B, C, D)
row("lsim of objects", lambda u: sg.lsim(SYSTEM, u, T)[1] + sg.lsim(STATES, u, T)[1], U)
row("step", lambda x, y: sg.step(([x], [1.0, y, 3.0]), N=20), 0.7, 1.3, of=sg.step)
row("impulse", lambda x, y: sg.impulse(([x], [1.0, y]), T=[0.0, 0.5, 1.0]), 0.7, 1.3, of=sg.impulse)
row("dlsim", lambda a, u: sg.dlsim((a, B, C, D, 0.1), u, x0=[1.0, 0.2, 0.3]), A, U, of=sg.dlsim)
row("dstep", lambda x, y: sg.dstep(([x], [1.0, y], 0.1), n=4)[1][0] + sg.dimpulse(([x], [1.0, y], 0.1), n=4)[1][0],
    0.7, 0.3, of=(sg.dstep, sg.dimpulse))  # fmt: skip
row("freqs", lambda x, y: np.abs(sg.freqs([x, y], [1.0, 0.2 * y], [0.3, 0.5])[1]), 0.7, 0.3, of=sg.freqs, twice=True)
row("freqs_zpk", lambda x, y: np.abs(sg.freqs_zpk([x], [-y + 0.5j, -y - 0.5j], 0.7, [0.3, 0.5])[1]), 0.7, 0.3,
    of=sg.freqs_zpk)  # fmt: skip
row("freqz_zpk", lambda x, y: np.abs(sg.freqz_zpk([x], [-y + 0.5j, -y - 0.5j], 0.7, 7, fs=10.0)[1]), 0.7, 0.3,
    of=sg.freqz_zpk)  # fmt: skip
row("sosfreqz", lambda b, a: np.abs(sg.sosfreqz(np.concatenate((b, np.ones((2, 1)), a), axis=1), 8)[1]), SOS, TAILS,
    of=present(sg, "sosfreqz", "freqz_sos"))  # fmt: skip
row("bode", lambda x, y: sg.bode(([x], [1.0, y, 2.0]), [0.1, 1.0, 3.0, 10.0]), 0.7, 1.3, of=sg.bode)
row("freqresp", lambda a: np.abs(sg.freqresp((a, B, C, D), [0.1, 1.0])[1]), A, of=sg.freqresp)
row("deconvolve", sg.deconvolve, rng.normal(size=8), np.array([1.0, 0.3, 0.2]), of=sg.deconvolve)


def apart(n: int) -> np.ndarray:
    """A sample of n numbers, no two of them near each other."""
    return 2.7 * (rng.permutation(n) + 0.3 * rng.random(n)) / n - 1.3


H, G = apart(24), rng.uniform(1.0, 3.0, 9)
V, W = apart(7), apart(7)
M = apart(24).reshape(8, 3)
P, FEW = rng.uniform(0.02, 0.9, 7), np.array([0.001, 0.004, 0.01, 0.03, 0.2, 0.012, 0.05])

row("within limits", lambda a: (stats.tmean(a, (-1, 1)), stats.tvar(a, (-1.0, None)), stats.tstd(a),
    stats.tsem(a, (None, 0.9), (True, False)), stats.tmin(a, -0.5), stats.tmax(a, 0.65, axis=None)), H,
    of=(stats.tmean, stats.tvar, stats.tstd, stats.tsem, stats.tmin, stats.tmax))  # fmt: skip
row("within limits of rows", lambda a: (stats.tmean(a, (-1.5, 1.2), axis=1), stats.tmin(a, -1.5, 1, keepdims=True)), M)
row("sigmaclip", lambda a: tuple(stats.sigmaclip(a, 1.3, 2.5)), H, of=stats.sigmaclip)
row("kstat", lambda a: (stats.kstat(a), stats.kstat(a, 3), stats.kstat(a, 4), stats.kstatvar(a)), G,
    of=(stats.kstat, stats.kstatvar))  # fmt: skip
for of in present(stats, "lmoment"):
    row("lmoment", lambda a, of=of: (of(a), of(a, [1, 3], standardize=False)), H, of=of)
for method in ("vasicek", "van es", "correa", "ebrahimi"):
    row(f"differential_entropy {method}",
        lambda a, method=method: stats.differential_entropy(a, method=method, base=2.0), H,
        of=stats.differential_entropy)  # fmt: skip
row("yeojohnson", stats.yeojohnson, np.append(H, 0.0), 0.7, of=stats.yeojohnson)
row("yeojohnson at 2", stats.yeojohnson, np.array([0.0, 1.0, -1.0]), 2.0, twice=True)
row("boxcox_llf", stats.boxcox_llf, 0.0, G, of=stats.boxcox_llf, twice=True)
for of in present(stats, "yeojohnson_llf"):
    row("yeojohnson_llf", lambda p, a, of=of: (of(p, a), of(p, a * a), of(p, -a * a)), 0.7, H, of=of)
row("shapiro", lambda a: tuple(stats.shapiro(a)) + tuple(stats.shapiro(a[:9])) + tuple(stats.shapiro(a[:5])), H,
    of=stats.shapiro)  # fmt: skip
row("anderson", lambda a: (stats.anderson(a).statistic, stats.anderson(np.exp(a), "expon").statistic), H,
    of=stats.anderson)  # fmt: skip
row("levene", lambda a, b: tuple(stats.levene(a, b)), V, H,
    of=stats.levene)  # fmt: skip
row("bartlett", lambda a, b: tuple(stats.bartlett(a, b, b[:4])), V, H, of=stats.bartlett)
row("alexandergovern", lambda a, b: stats.alexandergovern(a, b).pvalue, V, H, of=stats.alexandergovern)
row("ttest_ind_from_stats", lambda a, s: tuple(stats.ttest_ind_from_stats(a, s, 5, 0.2, 0.7, 8, False)), 0.3, 1.2,
    of=stats.ttest_ind_from_stats)  # fmt: skip
row("ttest_ind of one", lambda a, b: tuple(stats.ttest_ind(a[:1], b)), V, H)
for power in (None, "log-likelihood", "neyman", "cressie-read"):
    row(f"power_divergence {power}", lambda a, power=power: tuple(stats.power_divergence(a, a[::-1], lambda_=power)), G,
        of=stats.power_divergence)  # fmt: skip
row("chi2_contingency", lambda a: tuple(stats.chi2_contingency(a))[:2], 5 * np.abs(M) + 1, of=stats.chi2_contingency)
row("chi2_contingency of four", lambda a: tuple(stats.chi2_contingency(a))[:2], np.array([[9.0, 2.1], [3.3, 7.2]]))
row("expected_freq", stats.contingency.expected_freq, np.abs(M), of=stats.contingency.expected_freq)
for method in ("fisher", "pearson", "mudholkar_george", "tippett", "stouffer"):
    row(f"combine_pvalues {method}", lambda p, method=method: tuple(stats.combine_pvalues(p, method)), P,
        of=stats.combine_pvalues)  # fmt: skip
row("false_discovery_control", lambda p: stats.false_discovery_control(p, method="by"), FEW,
    of=stats.false_discovery_control)  # fmt: skip
row("percentileofscore", lambda a: a * stats.percentileofscore(a, [0.1, -0.3], "mean")[1], V,
    of=stats.percentileofscore)  # fmt: skip
row("pointbiserialr", lambda a: tuple(stats.pointbiserialr([1, 0, 1, 1, 0, 0, 1], a)), V, of=stats.pointbiserialr)
row("theilslopes", lambda y, x: tuple(stats.theilslopes(y, x)), V, W, of=stats.theilslopes)
row("siegelslopes", lambda y, x: tuple(stats.siegelslopes(y, x)) + tuple(stats.siegelslopes(y, x, "separate")), V, W,
    of=stats.siegelslopes)  # fmt: skip

# What is constant between places where elements change their order.
ORDERS = present(
    stats, "mannwhitneyu", "ks_2samp", "kruskal", "ansari", "mood", "fligner", "brunnermunzel", "ranksums",
    "cramervonmises_2samp", "chatterjeexi", "spearmanrho", "somersd", "wilcoxon",
)  # fmt: skip
for of in ORDERS:
    row(
        f"order {of.__name__}",
        lambda a, b, of=of: (of(a, b).statistic * a, of(a, b).pvalue * b),
        V,
        W if of is not stats.wilcoxon else 0.37 * W + 2,
        of=of,
    )
row("order along an axis", lambda a: stats.mannwhitneyu(a, a[:5] * 1.1 + 0.01, axis=0, keepdims=True).pvalue * a, M)
row("friedmanchisquare", lambda a, b: stats.friedmanchisquare(a, b, a * a).pvalue * b, V, W,
    of=stats.friedmanchisquare)  # fmt: skip
row("median_test", lambda a, b: tuple(stats.median_test(a, b))[:3], H, V, of=stats.median_test)
