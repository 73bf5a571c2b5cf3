"""Waves: programs with complex numbers and Fourier transforms on the way from real parameters to a real result."""

import cmath

import numpy as np

from tests.corpus.registry import program, rng


def _schroedinger_jax(depth, width, momentum):
    import jax.numpy as jnp

    n, length, dt = 32, 12.0, 0.05
    x = (jnp.arange(n) - n // 2) * (length / n)
    k = 2 * jnp.pi * jnp.fft.fftfreq(n, length / n)
    psi = jnp.exp(-((x + 2.0) ** 2) + 1j * momentum * x)
    psi = psi / jnp.sqrt(jnp.sum(jnp.abs(psi) ** 2) * (length / n))
    half = jnp.exp(-0.5j * dt * (-depth * jnp.exp(-((x / width) ** 2))))
    for _ in range(6):
        psi = half * psi
        psi = jnp.fft.ifft(jnp.exp(-0.5j * dt * k**2) * jnp.fft.fft(psi))
        psi = half * psi
    return jnp.sum(x * jnp.abs(psi) ** 2) * (length / n)


@program(
    args=lambda: (3.0, 1.2, 2.0),
    wrt=("depth", "width", "momentum"),
    jax=_schroedinger_jax,
    tags=("quantum", "fft", "complex"),
)
def schroedinger_split_step(depth, width, momentum):
    """Mean position of a wave packet that has run into a well, by Strang splitting (Feit, Fleck & Steiger 1982)."""
    n, length, dt = 32, 12.0, 0.05
    x = (np.arange(n) - n // 2) * (length / n)
    k = 2 * np.pi * np.fft.fftfreq(n, length / n)
    psi = np.exp(-((x + 2.0) ** 2) + 1j * momentum * x)
    psi /= np.sqrt(np.sum(np.abs(psi) ** 2) * (length / n))
    half = np.exp(-0.5j * dt * (-depth * np.exp(-((x / width) ** 2))))
    for _ in range(6):
        psi *= half
        psi[:] = np.fft.ifft(np.exp(-0.5j * dt * k**2) * np.fft.fft(psi))
        psi *= half
    return np.sum(x * np.abs(psi) ** 2) * (length / n)


def _power_spectrum_jax(signal, gain):
    import jax.numpy as jnp

    window = jnp.hanning(signal.shape[0])
    power = jnp.abs(jnp.fft.rfft(signal * window)) ** 2
    target = 1.0 / (1.0 + jnp.arange(power.shape[0]) ** 2)
    return jnp.mean((jnp.log(gain * power + 1e-3) - jnp.log(target)) ** 2)


@program(
    args=lambda: (rng(4).normal(size=15), 0.8), wrt=("signal", "gain"), jax=_power_spectrum_jax, tags=("signal", "fft")
)
def power_spectrum_loss(signal, gain):
    """Distance of a windowed power spectrum from a Lorentzian, in logarithms."""
    power = np.abs(np.fft.rfft(signal * np.hanning(len(signal)))) ** 2
    target = 1.0 / (1.0 + np.arange(len(power)) ** 2)
    return np.mean((np.log(gain * power + 1e-3) - np.log(target)) ** 2)


def _impedance_jax(values, omega):
    import jax.numpy as jnp

    r1, r2, inductance, capacitance = values
    y = jnp.zeros((3, 3), dtype=complex)
    branches = ((0, 1, 1 / r1), (1, 2, 1 / (1j * omega * inductance)), (2, 0, 1j * omega * capacitance), (1, 0, 1 / r2))
    for a, b, admittance in branches:
        y = y.at[a, a].add(admittance).at[b, b].add(admittance)
        y = y.at[a, b].add(-admittance).at[b, a].add(-admittance)
    y = y.at[2, 2].add(0.5)
    voltage = jnp.linalg.solve(y, jnp.array([1.0, 0.0, 0.2j]))
    return 20 * jnp.log10(jnp.abs(voltage[1] / voltage[0])) + jnp.angle(voltage[2])


@program(
    args=lambda: (np.array([1.5, 2.0, 0.3, 0.7]), 1.3),
    wrt=("values", "omega"),
    jax=_impedance_jax,
    tags=("circuits", "linalg", "complex"),
)
def ac_circuit_gain(values, omega):
    """Gain and phase of a ladder of resistors, a coil and a capacitor: nodal analysis with complex admittances."""
    r1, r2, inductance, capacitance = values
    y = np.zeros((3, 3), dtype=complex)
    branches = [(0, 1, 1 / r1), (1, 2, 1 / (1j * omega * inductance)), (2, 0, 1j * omega * capacitance), (1, 0, 1 / r2)]
    for a, b, admittance in branches:
        y[a, a] += admittance
        y[b, b] += admittance
        y[a, b] -= admittance
        y[b, a] -= admittance
    y[2, 2] += 0.5
    voltage = np.linalg.solve(y, np.array([1.0, 0.0, 0.2j]))
    return 20 * np.log10(np.abs(voltage[1] / voltage[0])) + np.angle(voltage[2])


@program(args=lambda: (0.37, 0.61, 60), wrt=("x", "y"), tags=("fractal", "while", "complex"))
def mandelbrot_potential(x, y, limit):
    """Potential outside of the Mandelbrot set: the iteration runs until the point has escaped."""
    c = complex(x, y)
    z = 0j
    count = 0
    while abs(z) < 1e3 and count < limit:
        z = z * z + c
        count += 1
    return np.log(abs(z)) / 2.0**count


def _burgers_jax(u, nu):
    import jax.numpy as jnp

    n = u.shape[0]
    k = jnp.fft.rfftfreq(n, 1.0 / n)
    keep = k < n / 3
    hat = jnp.fft.rfft(u)
    for _ in range(4):
        v = jnp.fft.irfft(hat, n)
        slope = 0.5j * k * jnp.fft.rfft(v * v) * keep
        hat = (hat - 0.01 * slope) / (1.0 + 0.01 * nu * k**2)
    return jnp.sum(jnp.fft.irfft(hat, n) ** 4)


@program(args=lambda: (np.sin(np.arange(16) * 0.39) + 0.3, 0.2), wrt=("u", "nu"), jax=_burgers_jax, tags=("pde", "fft"))
def burgers_pseudo_spectral(u, nu):
    """Burgers' equation on a circle: derivatives in Fourier space, products in real space, two thirds of the modes."""
    n = len(u)
    k = np.fft.rfftfreq(n, 1.0 / n)
    hat = np.fft.rfft(u)
    for _ in range(4):
        v = np.fft.irfft(hat, n)
        slope = 0.5j * k * np.fft.rfft(v * v)
        slope[k >= n / 3] = 0.0
        hat = (hat - 0.01 * slope) / (1.0 + 0.01 * nu * k**2)
    return np.sum(np.fft.irfft(hat, n) ** 4)


@program(args=lambda: (0.8, 0.3, 1.1), wrt=("n", "k", "thickness"), tags=("optics", "cmath", "complex"))
def absorbing_film_reflectance(n, k, thickness):
    """Reflectance of an absorbing film on glass, with Python's complex numbers (Airy's formula)."""
    film, glass = complex(1.0 + n, -k), 1.5 + 0j
    first, second = (1 - film) / (1 + film), (film - glass) / (film + glass)
    phase = cmath.exp(-2j * film * thickness)
    r = (first + second * phase) / (1 + first * second * phase)
    return abs(r) ** 2 + 0.1 * cmath.phase(r)
