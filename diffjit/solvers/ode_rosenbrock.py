"""Steps of the Rosenbrock method Rodas5P for stiff equations: read by the frontend.

A step solves eight linear systems with one matrix, that of the slope's derivative, and none that is nonlinear: it is a
plain program, whose derivative is exact without an implicit function theorem. The method is of order 5, L-stable and
stiffly accurate, with an error estimate of order 4.
Source: Steinebach, BIT Numer. Math. 63:27 (2023), in the form of Hairer and Wanner, Solving Ordinary Differential
Equations II, IV.7: the unknowns of the stages are such that none is multiplied by the derivative.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownLambdaType=false
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from diffjit.api.matrices import jacfwd
from diffjit.api.products import jvp


def inverted(slope, h, y, t, args):
    """The inverse of `1 / (gamma h) - J`; not finite where there is none, so that the step is rejected."""
    share = 0.21193756319429014 * h
    jacobian = jacfwd(lambda u: slope(u, t, args))(y)
    try:
        found = np.linalg.inv(np.eye(y.size) - share * jacobian)
    except np.linalg.LinAlgError:
        found = np.full((y.size, y.size), np.nan)
    return share * found


def stages(slope, h, y, t, k1, args):
    """The new state, the estimated error, and the stages."""
    w = inverted(slope, h, y, t, args)
    drift = h * jvp(lambda s: slope(y, s, args), (t,), (1.0,))[1]
    g = 1.0 / h
    s1 = w @ (k1 + 0.21193756319429014 * drift)
    u = slope(y + 3.0 * s1, t + 0.6358126895828704 * h, args)
    s2 = w @ (u - 0.42387512638858027 * drift + g * (-14.155112264123755 * s1))
    u = slope(y + 2.849394379747939 * s1 + 0.45842242204463923 * s2, t + 0.4095798393397535 * h, args)
    s3 = w @ (u - 0.3384627126235924 * drift + g * (-17.97296035885952 * s1 - 2.859693295451294 * s2))
    u = slope(
        y - 6.954028509809101 * s1 + 2.489845061869568 * s2 - 10.358996098473584 * s3,
        t + 0.9769306725060716 * h, args,
    )  # fmt: skip
    s4 = w @ (
        u + 1.8046452872882734 * drift
        + g * (147.12150275711716 * s1 - 1.41221402718213 * s2 + 71.68940251302358 * s3)
    )  # fmt: skip
    u = slope(
        y + 2.8029986275628964 * s1 + 0.5072464736228206 * s2 - 0.3988312541770524 * s3 - 0.04721187230404641 * s4,
        t + 0.4288403609558664 * h, args,
    )  # fmt: skip
    s5 = w @ (
        u + 2.325825639765069 * drift
        + g * (165.43517024871676 * s1 - 0.4592823456491126 * s2 + 42.90938336958603 * s3 - 5.961986721573306 * s4)
    )  # fmt: skip
    y6 = (
        y - 7.502846399306121 * s1 + 2.561846144803919 * s2 - 11.627539656261098 * s3 - 0.18268767659942256 * s4
        + 0.030198172008377946 * s5
    )  # fmt: skip
    s6 = w @ (
        slope(y6, t + h, args)
        + g * (24.854864614690072 * s1 - 3.0009227002832186 * s2 + 47.4931110020768 * s3 + 5.5814197821558125 * s4
               - 0.6610691825249471 * s5)
    )  # fmt: skip
    y7 = y6 + s6
    s7 = w @ (
        slope(y7, t + h, args)
        + g * (30.91273214028599 * s1 - 3.1208243349937974 * s2 + 77.79954646070892 * s3 + 34.28646028294783 * s4
               - 19.097331116725623 * s5 - 28.087943162872662 * s6)
    )  # fmt: skip
    y8 = y7 + s7
    s8 = w @ (
        slope(y8, t + h, args)
        + g * (37.80277123390563 * s1 - 3.2571969029072276 * s2 + 112.26918849496327 * s3 + 66.9347231244047 * s4
               - 40.06618937091002 * s5 - 54.66780262877968 * s6 - 9.48861652309627 * s7)
    )  # fmt: skip
    return y8 + s8, s8, (s1, s2, s3, s4, s5, s6, s7, s8)


def interpolant(h, y, new, made):
    """The coefficients of the powers of theta in `(y(t + theta h) - y) / (theta h)`: an interpolant of order 4."""
    s1, s2, s3, s4, s5, s6, s7, s8 = made
    c1 = (
        25.948786856663858 * s1 - 2.5579724845846235 * s2 + 10.433815404888879 * s3 - 2.3679251022685204 * s4
        + 0.524948541321073 * s5 + 1.1241088310450404 * s6 + 0.4272876194431874 * s7 - 0.17202221070155493 * s8
    )  # fmt: skip
    c2 = (
        -9.91568850695171 * s1 - 0.9689944594115154 * s2 + 3.0438037242978453 * s3 - 24.495224566215796 * s4
        + 20.176138334709044 * s5 + 15.98066361424651 * s6 - 6.789040303419874 * s7 - 6.710236069923372 * s8
    )  # fmt: skip
    c3 = (
        11.419903575922262 * s1 + 2.8879645146136994 * s2 + 72.92137995996029 * s3 + 80.12511834622643 * s4
        - 52.072871366152654 * s5 - 59.78993625266729 * s6 - 0.15582684282751913 * s7 + 4.883087185713722 * s8
    )  # fmt: skip
    g = 1.0 / h
    return g * (new - y + c1), g * (c2 - c1), g * (c3 - c2), -g * c3
