"""Linear systems of `scipy.signal` in their forms: quotients of polynomials, poles and zeros, matrices of states."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.signal

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.registry import implements


def coefficients(values, name):
    """Coefficients of a polynomial, the first one not zero."""
    values = as_float(np.atleast_1d(np.asarray(values)))
    if values.ndim != 1:
        raise ValueError(f"{name} must be a rank-1 array of coefficients")
    if values[0] == 0:
        raise NotImplementedError(f"scipy.signal with a first coefficient of 0 in {name}: leave it out")
    return values


def numerators(num, size):
    """Rows of numerators, filled up to the length of the denominator."""
    num = as_float(np.atleast_2d(np.asarray(num)))
    more = num.shape[1] - size
    if more > 0:
        if np.any(np.abs(num[:, :more]) > 1e-14):
            raise ValueError("Improper transfer function. `num` is longer than `den`.")
        return num[:, more:]
    return np.concatenate((np.zeros((num.shape[0], -more), num.dtype), num), axis=1)


@implements(scipy.signal.tf2ss)
def tf2ss(num, den):
    """Matrices of states from a quotient of polynomials."""
    den = coefficients(den, "den")
    size = den.shape[0]
    num = numerators(num, size) / den[0]
    den = den / den[0]
    if size == 1:
        return np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((num.shape[0], 1)), num
    A = np.concatenate((-den[None, 1:], np.eye(size - 2, size - 1)))
    return A, np.eye(size - 1, 1), num[:, 1:] - num[:, :1] * den[1:], num[:, :1]


def characteristic(A):
    """The coefficients of the characteristic polynomial of a matrix, by Faddeev and LeVerrier: without eigenvalues."""
    n = A.shape[0]
    found = np.zeros(n + 1, A.dtype)
    found[0] = 1.0
    M = np.eye(n, dtype=A.dtype)
    for k in range(1, n + 1):
        product = A @ M
        found[k] = -np.trace(product) / k
        M = product + found[k] * np.eye(n, dtype=A.dtype)
    return found


def matrices(A, B, C, D):
    """Matrices of states that fit each other."""
    if A is None or B is None or C is None or D is None:
        raise NotImplementedError("scipy.signal with A, B, C or D of None: pass zeros")
    A, B, C, D = (as_float(np.atleast_2d(np.asarray(part))) for part in (A, B, C, D))
    n, p, q = A.shape[0], B.shape[1], C.shape[0]
    if A.shape != (n, n) or B.shape != (n, p) or C.shape != (q, n) or D.shape != (q, p):
        raise ValueError("The shapes of A, B, C and D do not fit each other")
    return A, B, C, D


@implements(scipy.signal.abcd_normalize)
def abcd_normalize(A=None, B=None, C=None, D=None):
    """Matrices of states that fit each other."""
    return matrices(A, B, C, D)


@implements(scipy.signal.ss2tf)
def ss2tf(A, B, C, D, input=0):  # noqa: A002 - SciPy's name
    """A quotient of polynomials from matrices of states."""
    A, B, C, D = matrices(A, B, C, D)
    if input >= D.shape[1]:
        raise ValueError("System does not have the input specified.")
    B, D = B[:, input : input + 1], D[:, input : input + 1]
    den = characteristic(A)
    num = np.zeros((C.shape[0], A.shape[0] + 1), np.result_type(A.dtype, B.dtype, C.dtype, D.dtype))
    for k in range(C.shape[0]):
        num[k] = characteristic(A - B @ C[k : k + 1]) + (D[k] - 1) * den
    return num, den


def with_roots(roots):
    """The real polynomial that has these roots, each with its conjugate."""
    roots = as_float(np.atleast_1d(np.asarray(roots)))
    if roots.ndim != 1:
        raise NotImplementedError("scipy.signal with zeros of several outputs: one call for each")
    found = np.poly(roots)
    if roots.dtype.kind != "c":
        return found
    if np.any(np.abs(np.imag(found)) > 1e-10 * (1.0 + np.abs(np.real(found)))):
        raise NotImplementedError("scipy.signal with roots that have no conjugates: coefficients are complex numbers")
    return np.real(found)


@implements(scipy.signal.zpk2tf)
def zpk2tf(z, p, k):
    """A quotient of polynomials from zeros, poles and a gain."""
    return as_float(np.atleast_1d(np.asarray(k))) * with_roots(z), with_roots(p)


@implements(scipy.signal.tf2zpk)
def tf2zpk(b, a):
    """Zeros, poles and a gain from a quotient of polynomials."""
    if np.ndim(b) > 1:  # of `ss2tf`, whose row begins with zeros
        b, a = scipy.signal.normalize(b, a)
    b, a = coefficients(b, "b"), coefficients(a, "a")
    return np.roots(b), np.roots(a), b[0] / a[0]


@implements(scipy.signal.zpk2ss)
def zpk2ss(z, p, k):
    """Matrices of states from zeros, poles and a gain."""
    num, den = zpk2tf(z, p, k)
    return tf2ss(num, den)


@implements(scipy.signal.sos2tf)
def sos2tf(sos):
    """A quotient of polynomials from sections of the second order."""
    sos = as_float(np.asarray(sos))
    b, a = np.ones(1, sos.dtype), np.ones(1, sos.dtype)
    for k in range(sos.shape[0]):
        longer_b, longer_a = np.zeros(2 * k + 3, sos.dtype), np.zeros(2 * k + 3, sos.dtype)
        for j in range(3):
            longer_b[j : j + 2 * k + 1] += sos[k, j] * b
            longer_a[j : j + 2 * k + 1] += sos[k, 3 + j] * a
        b, a = longer_b, longer_a
    return b, a


def parts_of(system):
    """What a system consists of in its form: the tuple itself, or what an object holds."""
    if isinstance(system, scipy.signal.TransferFunction):
        return system.num, system.den
    if isinstance(system, scipy.signal.StateSpace):
        return system.A, system.B, system.C, system.D
    if isinstance(system, scipy.signal.ZerosPolesGain):
        return system.zeros, system.poles, system.gain
    if not isinstance(system, (tuple, list)):
        raise NotImplementedError("scipy.signal with this object: pass a tuple, as (num, den) or (A, B, C, D)")
    return system


def states(system):
    """The matrices of states of a system in one of its forms."""
    if isinstance(system, scipy.signal.dlti):
        raise AttributeError("this function is for continuous-time systems")  # noqa: TRY004 - as SciPy
    system = parts_of(system)
    if len(system) == 2:
        return tf2ss(system[0], system[1])
    if len(system) == 3:
        return zpk2ss(system[0], system[1], system[2])
    if len(system) != 4:
        raise ValueError("a system is a tuple of 2 (tf), 3 (zpk) or 4 (ss) parts")
    return matrices(system[0], system[1], system[2], system[3])


@implements(scipy.signal.cont2discrete)
def cont2discrete(system, dt, method="zoh", alpha=None):
    """A system in steps of time from one in time."""
    if not isinstance(system, (tuple, list)):
        raise NotImplementedError("scipy.signal.cont2discrete of an object: pass a tuple, as (num, den)")
    if len(system) == 3:
        raise NotImplementedError("scipy.signal.cont2discrete of zeros and poles: pass (num, den) by zpk2tf")
    a, b, c, d = states(system)
    if method in ("bilinear", "tustin"):
        found = general(a, b, c, d, dt, 0.5)
    elif method in ("euler", "forward_diff"):
        found = general(a, b, c, d, dt, 0.0)
    elif method == "backward_diff":
        found = general(a, b, c, d, dt, 1.0)
    elif method == "gbt":
        if alpha is None:
            raise ValueError("Alpha parameter must be specified for the generalized bilinear transform (gbt) method")
        if alpha < 0 or alpha > 1:
            raise ValueError("Alpha parameter must be within the interval [0,1] for the gbt method")
        found = general(a, b, c, d, dt, alpha)
    elif method == "zoh":
        ad, bd = held(a, b, dt)
        found = ad, bd, c, d
    elif method == "foh":
        ad, first, second = ramped(a, b, dt)
        found = ad, first - second + ad @ second, c, d + c @ second
    elif method == "impulse":
        if not np.allclose(d, 0):
            raise ValueError("Impulse method is only applicable to strictly proper systems")
        ad = scipy.linalg.expm(a * dt)
        found = ad, ad @ b * dt, c, c @ b * dt
    else:
        raise ValueError(f"Unknown transformation method '{method}'")
    if len(system) == 2:
        num, den = ss2tf(found[0], found[1], found[2], found[3])
        return num, den, dt
    return found[0], found[1], found[2], found[3], dt


def general(a, b, c, d, dt, alpha):
    """A step by a mean of slopes at its ends."""
    one = np.eye(a.shape[0])
    left = one - alpha * dt * a
    ad = scipy.linalg.solve(left, one + (1.0 - alpha) * dt * a)
    bd = scipy.linalg.solve(left, dt * b)
    return ad, bd, np.transpose(scipy.linalg.solve(np.transpose(left), np.transpose(c))), d + alpha * (c @ bd)


def held(A, B, dt):
    """How a step of time changes a state, and an input that is held meanwhile."""
    n, m = A.shape[0], B.shape[1]
    whole = np.concatenate((np.concatenate((A, B), axis=1), np.zeros((m, n + m))))
    step = scipy.linalg.expm(whole * dt)
    return step[:n, :n], step[:n, n:]


def ramped(A, B, dt):
    """How a step of time changes a state, an input, and the rest of an input that grows meanwhile."""
    n, m = A.shape[0], B.shape[1]
    top = np.concatenate((A * dt, B * dt, np.zeros((n, m))), axis=1)
    middle = np.concatenate((np.zeros((m, n + m)), np.eye(m)), axis=1)
    step = scipy.linalg.expm(np.concatenate((top, middle, np.zeros((m, n + 2 * m)))))
    return step[:n, :n], step[:n, n : n + m], step[:n, n + m :]
