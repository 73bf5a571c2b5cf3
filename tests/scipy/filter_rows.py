"""Rows of prototypes of filters, of fractions, and of systems as objects, made inside programs and outside."""

from __future__ import annotations

import numpy as np
import scipy.signal as sg

from tests.scipy.rows import row

T, U = np.linspace(0.0, 2.0, 6), np.array([0.3, -0.2, 0.7, 1.1, 0.4, -0.6])
W = np.array([0.2, 0.9, 2.3])


def real(parts):
    """Complex numbers as pairs of real ones, their order left out."""
    return tuple(np.sum(part.real + part.real**2 + part.imag**2) for part in map(np.asarray, parts))


row("normalize", lambda x, y: sg.normalize([[0.0, x, 2.0], [0.0, 1.0, y]], [y, x]), 0.7, 1.3, of=sg.normalize)
for name in ("lp2lp", "lp2hp"):
    turned = getattr(sg, name)
    row(name, lambda x, y, w, turned=turned: turned([x], [1.0, y, x], w), 0.7, 1.3, 0.8, of=turned)
    row(f"{name} backwards", lambda x, y, w, turned=turned: turned([1.0, x, y], [y, 2.0], w), 0.7, 1.3, 0.8)
for name in ("lp2bp", "lp2bs"):
    turned = getattr(sg, name)
    row(name, lambda x, y, w, b, turned=turned: turned([x], [1.0, y, x], w, b), 0.7, 1.3, 0.8, 0.4, of=turned)
    row(f"{name} backwards", lambda x, y, w, turned=turned: turned([1.0, x], [y], w, bw=x), 0.7, 1.3, 0.8)
row("bilinear", lambda x, y, fs: sg.bilinear([x, 1.0], [1.0, y, x], fs), 0.7, 1.3, 2.0, of=sg.bilinear)
row("bilinear_zpk", lambda x, y, k: sg.bilinear_zpk([-x], [-y, -2.0], k, 3.0), 0.7, 1.3, 0.8, of=sg.bilinear_zpk)
row("lp2lp_zpk", lambda x, y, k: sg.lp2lp_zpk([-x], [-y, -2.0], k, x), 0.7, 1.3, 0.8, of=sg.lp2lp_zpk)
row("lp2hp_zpk", lambda x, y, k: sg.lp2hp_zpk([-x], [-y, -2.0], k, x), 0.7, 1.3, 0.8, of=sg.lp2hp_zpk)
row("lp2bp_zpk", lambda x, y, k: real(sg.lp2bp_zpk([-x], [-y, -2.0], k, x, y)), 0.7, 1.3, 0.8, of=sg.lp2bp_zpk)
row("lp2bs_zpk", lambda x, y, k: real(sg.lp2bs_zpk([-x], [-y, -2.0], k, x, y)), 0.7, 1.3, 0.8, of=sg.lp2bs_zpk)
row("sos2zpk", lambda x, y: real(sg.sos2zpk([[1.0, x, 0.2, 1.0, y, 0.1], [x, 3.0, y, 2.0, 0.1, y]])), 0.7, 1.3,
    of=sg.sos2zpk)  # fmt: skip
row("sections of constants", lambda u: sg.sosfilt(sg.tf2sos([1.0, 0.3], [1.0, 0.2, 0.1]), u) * sg.sosfilt(
    sg.zpk2sos([0.1], [0.2, 0.3], 2.0), u), U)  # fmt: skip
row("residue", lambda x, y: real(sg.residue([1.0, x], [2.0, 5.0 + y, 3.0])), 0.7, 1.3, of=sg.residue, twice=True)
row("residue with a polynomial", lambda x, y: real(sg.residue([x, 1.0, y, 0.3], [1.0, y, x, 0.1])), 0.7, 3.1)


def made_inside(x, y):
    """What a system answers by frequency, by its methods, and what it is in another form."""
    system = sg.lti([x], [1.0, y, 3.0])
    return (*system.bode(W)[1:], system.to_ss().A, np.sum(np.abs(system.poles)))


def made_inside_by_roots(x, y):
    system = sg.ZerosPolesGain([-x], [-1.0, -2.0 - y], 3.0)
    return *system.bode(n=6), system.to_tf().den


def made_inside_in_steps(x, y):
    system = sg.dlti([x], [1.0, -0.3 * y, 0.02], dt=0.1)
    return system.impulse(n=4)[1][0], *system.bode(W)[1:], np.abs(sg.dfreqresp(system, n=5)[1])


def states_made_inside(x, y):
    states = sg.StateSpace([[0.3, x], [-0.2, y]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]], dt=0.1)
    return np.abs(sg.dfreqresp(states, W)[1]), sg.dlsim(states, U)[2], states.output(U, 0.1 * np.arange(6))[1]


row("systems made inside", made_inside, 0.7, 1.3)
row("systems made inside, in time", lambda x, y: sg.lti([x], [1.0, y]).step(T=T)[1], 0.7, 1.3)
row("systems of roots made inside", made_inside_by_roots, 0.7, 1.3)
row("systems in steps made inside", made_inside_in_steps, 0.7, 0.3, of=(sg.dfreqresp, sg.dbode))
row("states in steps made inside", states_made_inside, 0.7, 0.3)
row("frequencies that SciPy chooses", lambda x, y: (*sg.bode(([x], [1.0, 2 * y, y * y]), n=6), np.abs(
    sg.freqs_zpk([-x], [-1.0, -y], 2.0, worN=5)[1])), 0.7, 1.3)  # fmt: skip
ROOTS = sg.ZerosPolesGain([-1.0], [-2.0, -0.5], 2.0)
STATES = sg.StateSpace([[0.0, 1.0], [-2.0, -1.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]])
QUOTIENT, DELAYED = sg.lti([1.0, 0.4], [1.0, 0.7]), sg.dlti([1.0], [1.0, -0.5], dt=0.1)
row("systems from outside", lambda w: ROOTS.bode(w)[1] + STATES.bode(w)[1] + STATES.A[1, 0] * w, W)
row("systems from outside, in time", lambda u: QUOTIENT.output(u, T)[1] + QUOTIENT.step(T=T)[1] * u, U)
row("systems in steps from outside", lambda u: sg.dlsim(DELAYED, u, t=[0.0, 0.11, 0.2, 0.3, 0.33, 0.4])[1] * DELAYED.dt
    + np.sum(DELAYED.impulse(n=3)[1][0] * u[0]), U)  # fmt: skip


row("czt", lambda u, r: real((sg.czt(u, 5, 0.9 - 0.3j, r),)), U, 1.2, of=sg.czt)
row("czt of rows", lambda u: np.abs(sg.czt(np.stack((u, u**2)), axis=1)), U)
row("zoom_fft", lambda u: np.abs(sg.zoom_fft(u, [0.1, 0.7], 4, fs=3.0)), U, of=sg.zoom_fft)
row("zoom_fft to the end", lambda u: np.abs(sg.zoom_fft(u, 0.4, 5, endpoint=True)), U)
row("group_delay", lambda x, y: sg.group_delay(([1.0, x, 0.3], [1.0, y]), w=5)[1], 0.7, 0.4, of=sg.group_delay)
row("group_delay at", lambda x, y: sg.group_delay(([1.0, x], [1.0, y, 0.1]), W, fs=9.0), 0.7, 0.4)
