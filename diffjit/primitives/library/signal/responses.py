"""What linear systems of `scipy.signal` answer: in time, in steps of time, and by frequency."""

# SciPy's signatures take whatever SciPy takes: no types.
# pyright: basic, reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.signal

from diffjit.primitives.library.axes import as_float
from diffjit.primitives.library.signal.forms import held, parts_of, ramped, ss2tf, states
from diffjit.primitives.registry import implements, present

# In time --------------------------------------------------------------------------------------------------------------


def time_step(T):
    """How far times are apart."""
    if T[0] < 0:
        raise ValueError("Initial time must be nonnegative")
    dt = T[min(1, T.shape[0] - 1)] - T[0]
    if not np.allclose(np.diff(T), dt):
        raise ValueError("Time steps are not equally spaced.")
    return dt


def driven(A, B, U, dt, interp, x):
    """States at equal steps of time, from the first one on."""
    if interp:
        ad, first, second = ramped(A, B, dt)
        now, then = first - second, second
    else:
        ad, now = held(A, B, dt)
        then = np.zeros(now.shape)
    out = np.zeros((U.shape[0], A.shape[0]), np.result_type(A.dtype, B.dtype, U.dtype, x.dtype))
    out[0] = x
    for k in range(1, U.shape[0]):
        out[k] = ad @ out[k - 1] + now @ U[k - 1] + then @ U[k]
    return out


def free(A, count, dt, x):
    """States at equal steps of time, that nothing drives."""
    ad = scipy.linalg.expm(A * dt)
    out = np.zeros((count, A.shape[0]), np.result_type(A.dtype, x.dtype))
    out[0] = x
    for k in range(1, count):
        out[k] = ad @ out[k - 1]
    return out


def answer(A, B, C, D, U, T, X0, interp):
    """The outputs and states of a system at times."""
    T = np.atleast_1d(np.asarray(T))
    if T.ndim != 1:
        raise ValueError("T must be a rank-1 array.")
    n = A.shape[0]
    start = np.zeros(n) if X0 is None else np.broadcast_to(as_float(np.asarray(X0)), (n,))
    dt = time_step(T)
    start = scipy.linalg.expm(A * T[0]) @ start  # nothing drives it before
    if U is None or (isinstance(U, (int, float)) and U == 0):
        x = free(A, T.shape[0], dt, start)
        return T, np.squeeze(x @ C.T), np.squeeze(x)
    U = as_float(np.atleast_1d(np.asarray(U)))
    if U.ndim == 1:
        U = U[:, None]
    if U.shape[0] != T.shape[0]:
        raise ValueError("U must have the same number of rows as elements in T.")
    if U.shape[1] != B.shape[1]:
        raise ValueError("System does not define that many inputs.")
    x = driven(A, B, U, dt, interp, start)
    return T, np.squeeze(x @ C.T + U @ D.T), np.squeeze(x)


@implements(scipy.signal.lsim)
def lsim(system, U, T, X0=None, interp=True):
    """What a system answers to an input."""
    A, B, C, D = states(system)
    return answer(A, B, C, D, U, T, X0, interp)


def response_times(A, N):
    """Seven times the time in which the slowest part of a system decays."""
    slowest = np.min(np.abs(np.real(np.linalg.eigvals(A))))
    return np.linspace(0.0, 7 / np.where(slowest == 0, 1.0, slowest), 100 if N is None else N)


@implements(scipy.signal.step)
def step(system, X0=None, T=None, N=None):
    """What a system answers to an input that is switched on."""
    A, B, C, D = states(system)
    T = response_times(A, N) if T is None else np.asarray(T)
    found = answer(A, B, C, D, np.ones(T.shape), T, X0, False)
    return found[0], found[1]


@implements(scipy.signal.impulse)
def impulse(system, X0=None, T=None, N=None):
    """What a system answers to a stroke."""
    A, B, C, D = states(system)
    if B.shape[1] != 1:
        raise NotImplementedError("scipy.signal.impulse of several inputs: one call for each")
    T = response_times(A, N) if T is None else np.asarray(T)
    start = B[:, 0] if X0 is None else B[:, 0] + as_float(np.asarray(X0))
    return T, answer(A, B, C, D, None, T, start, False)[1]


# In steps of time -----------------------------------------------------------------------------------------------------


def parts_in_steps(system):
    """What a system in steps of time consists of, and its step."""
    if isinstance(system, scipy.signal.lti):
        raise AttributeError("this function is for discrete-time systems")  # noqa: TRY004 - as SciPy
    if isinstance(system, scipy.signal.dlti):
        return (*parts_of(system), system.dt)
    if not isinstance(system, (tuple, list)):
        raise NotImplementedError("scipy.signal with this object: pass a tuple, as (num, den, dt)")
    return system


def in_steps(system):
    """The matrices of states of a system in steps of time, and the step."""
    parts = parts_in_steps(system)
    dt = parts[len(parts) - 1]
    A, B, C, D = states(tuple(parts[: len(parts) - 1]))
    return A, B, C, D, dt


def stepped(A, B, C, D, u, x0):
    """The outputs and states of a system, step by step."""
    x = np.zeros((u.shape[0], A.shape[0]), np.result_type(A.dtype, B.dtype, u.dtype))
    if x0 is not None:
        x[0] = as_float(np.asarray(x0))
    for k in range(1, u.shape[0]):
        x[k] = A @ x[k - 1] + B @ u[k - 1]
    return x @ C.T + u @ D.T, x


@implements(scipy.signal.dlsim)
def dlsim(system, u, t=None, x0=None):
    """What a system in steps of time answers to an input."""
    A, B, C, D, dt = in_steps(system)
    u = as_float(np.atleast_1d(np.asarray(u)))
    if u.ndim == 1:
        u = u[:, None]
    if t is None:
        tout = np.linspace(0.0, (u.shape[0] - 1) * dt, u.shape[0])
    else:
        t = np.asarray(t)
        if t[0] > 0:
            raise NotImplementedError("scipy.signal.dlsim(t=...) of an input that begins later: begin at 0")
        tout = np.linspace(0.0, t[-1], int(np.floor(t[-1] / dt)) + 1)
        u = np.stack([np.interp(tout, t, u[:, k]) for k in range(u.shape[1])], axis=1)
    y, x = stepped(A, B, C, D, u, x0)
    return (tout, y, x) if len(parts_in_steps(system)) == 5 else (tout, y)


def switched(system, x0, t, n, stroke):
    """What a system in steps of time answers to each of its inputs alone."""
    if t is not None:
        raise NotImplementedError("scipy.signal.dstep and dimpulse(t=...): pass n")
    A, B, C, D, dt = in_steps(system)
    if B.shape[1] != 1:
        raise NotImplementedError("scipy.signal.dstep and dimpulse of several inputs: use dlsim")
    last = np.linspace(0, (100 if n is None else n) * dt, 100 if n is None else n, endpoint=False)[-1]
    count = int(np.floor(last / dt)) + 1  # by rounding, this may be one step less
    u = np.zeros((count, 1)) if stroke else np.ones((count, 1))
    if stroke:
        u[0, 0] = 1.0
    return np.linspace(0.0, last, count), (stepped(A, B, C, D, u, x0)[0],)


@implements(scipy.signal.dstep)
def dstep(system, x0=None, t=None, n=None):
    """What a system in steps of time answers to an input that is switched on."""
    return switched(system, x0, t, n, False)


@implements(scipy.signal.dimpulse)
def dimpulse(system, x0=None, t=None, n=None):
    """What a system in steps of time answers to a stroke."""
    return switched(system, x0, t, n, True)


# By frequency ---------------------------------------------------------------------------------------------------------


def chosen(zeros, poles, count):
    """The frequencies that SciPy chooses by zeros and poles: powers of ten, which do not move with them."""
    if poles.shape[0] == 0:
        poles = np.array([-1000.0 + 0j])
    roots = np.concatenate((poles + 0j, zeros + 0j))
    known = np.imag(roots) >= 0
    known[poles.shape[0] :] &= np.abs(roots[poles.shape[0] :]) < 1e5
    away = np.abs(np.real(roots) + (np.abs(roots) < 1e-10))
    last = np.round(np.log10(np.max(np.where(known, 3 * away + 1.5 * np.imag(roots), -np.inf))) + 0.5)
    first = np.round(np.log10(0.1 * np.min(np.where(known, away + 2 * np.imag(roots), np.inf))) - 0.5)
    return np.logspace(int(first), int(last), count)  # ints: multiple roots, which have no derivative, need none


def at_frequencies(w, count, zeros, poles):
    """Frequencies that are given, or as many as SciPy chooses by the zeros and poles that two functions give."""
    if w is None or isinstance(w, int):
        return chosen(zeros(), poles(), count if w is None else w)
    return np.atleast_1d(np.asarray(w))


def roots_or_none(values):
    """The roots of a polynomial, the first coefficient of which may be zero."""
    start = 0
    while start < values.shape[0] - 1 and values[start] == 0:
        start += 1
    return np.roots(values[start:])


def polynomial(values, s):
    """A polynomial, its highest power first."""
    found = 0.0 * s
    for k in range(values.shape[0]):
        found = found * s + values[k]
    return found


@implements(scipy.signal.freqs)
def freqs(b, a, worN=200, plot=None):
    """What a filter answers by frequency."""
    if plot is not None:
        raise NotImplementedError("scipy.signal.freqs(plot=...)")
    b, a = as_float(np.atleast_1d(np.asarray(b))), as_float(np.atleast_1d(np.asarray(a)))
    w = at_frequencies(worN, 200, lambda: roots_or_none(b), lambda: roots_or_none(a))
    return w, polynomial(b, 1j * w) / polynomial(a, 1j * w)


def by_roots(at, roots):
    """The product of distances to roots."""
    roots = np.atleast_1d(np.asarray(roots))
    found = 1.0 + 0.0 * at
    for k in range(roots.shape[0]):
        found = found * (at - roots[k])
    return found


@implements(scipy.signal.freqs_zpk)
def freqs_zpk(z, p, k, worN=200):
    """What a filter answers by frequency, by its zeros and poles."""
    z, p = np.atleast_1d(np.asarray(z)), np.atleast_1d(np.asarray(p))
    w = at_frequencies(worN, 200, lambda: z, lambda: p)
    return w, np.ravel(np.asarray(k)) * by_roots(1j * w, z) / by_roots(1j * w, p)


@implements(scipy.signal.freqz_zpk)
def freqz_zpk(z, p, k, worN=512, whole=False, fs=2 * np.pi):
    """What a filter in steps of time answers by frequency, by its zeros and poles."""
    if worN is None or isinstance(worN, int):
        w = np.linspace(0, 2 * np.pi if whole else np.pi, 512 if worN is None else worN, endpoint=False)
    else:
        w = 2 * np.pi * as_float(np.atleast_1d(np.asarray(worN))) / fs
    at = np.exp(1j * w)
    return w * (fs / (2 * np.pi)), k * by_roots(at, z) / by_roots(at, p)


@implements(*present(scipy.signal, "sosfreqz", "freqz_sos"))
def freqz_sos(sos, worN=512, whole=False, fs=2 * np.pi):
    """What sections of the second order answer by frequency."""
    sos = as_float(np.asarray(sos))
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if sos.shape[0] == 0:
        raise ValueError("Cannot compute frequencies with no sections")
    if not np.all(sos[:, 3] == 1):
        raise ValueError("sos[:, 3] should be all ones")
    w, found = scipy.signal.freqz(sos[0, :3], sos[0, 3:], worN=worN, whole=whole, fs=fs)
    for k in range(1, sos.shape[0]):
        found = found * scipy.signal.freqz(sos[k, :3], sos[k, 3:], worN=worN, whole=whole, fs=fs)[1]
    return w, found


@implements(scipy.signal.freqresp)
def freqresp(system, w=None, n=10000):
    """What a system with one input and one output answers by frequency."""
    if isinstance(system, scipy.signal.dlti):
        raise AttributeError("freqresp can only be used with continuous-time systems.")  # noqa: TRY004 - as SciPy
    parts = parts_of(system)
    if len(parts) == 2:
        return freqs(np.ravel(np.asarray(parts[0])), parts[1], n if w is None else w)
    if len(parts) == 3:
        return freqs_zpk(parts[0], parts[1], parts[2], n if w is None else w)
    A, B, C, D = states(parts)
    if D.shape != (1, 1):
        raise ValueError("freqresp() requires a SISO (single input, single output) system.")
    if w is None or isinstance(w, int):
        num, den = ss2tf(A, B, C, D)
        w = chosen(roots_or_none(num[0]), np.roots(den), n if w is None else w)
    w = np.atleast_1d(np.asarray(w))
    found = np.zeros(w.shape[0], np.complex128)
    for k in range(w.shape[0]):
        found[k] = (C @ np.linalg.solve(1j * w[k] * np.eye(A.shape[0]) - A, B + 0j))[0, 0] + D[0, 0]
    return w, found


@implements(scipy.signal.bode)
def bode(system, w=None, n=100):
    """What a system answers by frequency, in decibels and degrees."""
    w, found = freqresp(system, w, n)
    phase = np.unwrap(np.arctan2(np.imag(found), np.real(found)))
    return w, 20.0 * np.log10(np.abs(found)), phase * 180.0 / np.pi


@implements(scipy.signal.dfreqresp)
def dfreqresp(system, w=None, n=10000, whole=False):
    """What a system in steps of time, with one input and one output, answers by frequency."""
    parts = parts_in_steps(system)
    if len(parts) == 4:
        return freqz_zpk(parts[0], parts[1], parts[2], n if w is None else w, whole)
    num, den = (parts[0], parts[1]) if len(parts) == 3 else ss2tf(*parts[:4])
    num, den = as_float(np.ravel(np.asarray(num))), as_float(np.ravel(np.asarray(den)))
    late = np.zeros(max(den.shape[0] - num.shape[0], 0))  # powers of the delay that the numerator begins with
    early = np.zeros(max(num.shape[0] - den.shape[0], 0))
    return scipy.signal.freqz(
        np.concatenate((late, num)), np.concatenate((early, den)), worN=n if w is None else w, whole=whole
    )


@implements(scipy.signal.dbode)
def dbode(system, w=None, n=100):
    """What a system in steps of time answers by frequency, in decibels and degrees."""
    parts = parts_in_steps(system)
    w, found = dfreqresp(system, w, n)
    phase = np.unwrap(np.arctan2(np.imag(found), np.real(found)))
    return w / parts[len(parts) - 1], 20.0 * np.log10(np.abs(found)), np.rad2deg(phase)


# Quotients ------------------------------------------------------------------------------------------------------------


@implements(scipy.signal.deconvolve)
def deconvolve(signal, divisor):
    """What a signal was before a convolution, and what is left."""
    num, den = np.atleast_1d(np.asarray(signal)), np.atleast_1d(np.asarray(divisor))
    if num.ndim != 1 or num.shape[0] == 0:
        raise ValueError("Parameter signal must be non-empty 1d array")
    if den.ndim != 1 or den.shape[0] == 0:
        raise ValueError("Parameter divisor must be non-empty 1d array")
    if den.shape[0] > num.shape[0]:
        return np.zeros(0), as_float(num)
    start = np.zeros(num.shape[0] - den.shape[0] + 1)
    start[0] = 1.0
    quotient = scipy.signal.lfilter(num, den, start)
    return quotient, num - scipy.signal.convolve(den, quotient)
