"""The first gradient of a function of 150 lines in a new process: a mechanism of 60 reactions, written out."""

import numpy as np

from benchmarks.row import AUTOGRAD, JAX, Row, as_it_stands

#: in each reaction the first two species become the last two; `mechanism` spells the table out, as generators of
#: chemical kinetics do
REACTIONS = np.array(
    [
        (7, 18, 17, 4),
        (11, 15, 2, 0),
        (15, 8, 17, 7),
        (6, 15, 17, 18),
        (12, 4, 7, 18),
        (16, 12, 0, 2),
        (5, 18, 1, 9),
        (0, 8, 15, 12),
        (13, 12, 14, 4),
        (11, 3, 1, 4),
        (15, 6, 8, 13),
        (9, 13, 16, 12),
        (18, 11, 17, 13),
        (18, 7, 10, 0),
        (8, 5, 10, 3),
        (6, 18, 8, 9),
        (3, 2, 15, 17),
        (2, 11, 19, 13),
        (4, 0, 9, 13),
        (13, 3, 1, 17),
        (12, 18, 10, 8),
        (16, 7, 1, 9),
        (0, 2, 3, 1),
        (6, 13, 9, 8),
        (4, 1, 10, 17),
        (11, 4, 12, 17),
        (14, 16, 12, 3),
        (19, 16, 8, 13),
        (7, 9, 13, 8),
        (16, 9, 17, 10),
        (0, 13, 10, 19),
        (12, 18, 4, 1),
        (10, 14, 11, 17),
        (19, 8, 15, 0),
        (18, 1, 0, 11),
        (8, 14, 9, 10),
        (5, 11, 19, 10),
        (11, 8, 9, 12),
        (3, 0, 4, 9),
        (16, 7, 8, 18),
        (10, 5, 13, 3),
        (3, 10, 18, 7),
        (14, 5, 2, 10),
        (6, 18, 14, 8),
        (7, 3, 1, 16),
        (6, 10, 5, 8),
        (10, 2, 11, 4),
        (13, 9, 16, 8),
        (14, 11, 13, 9),
        (13, 18, 19, 1),
        (13, 4, 6, 0),
        (15, 16, 13, 7),
        (1, 14, 16, 9),
        (17, 10, 7, 2),
        (18, 9, 3, 7),
        (1, 19, 16, 6),
        (13, 18, 1, 0),
        (15, 3, 5, 16),
        (9, 7, 0, 16),
        (17, 13, 1, 3),
    ]
)


def mechanism(factors, energies, temperature, c, target, dt):
    """The distance of the mixture from a target after a short time."""
    c0 = c[0]
    c1 = c[1]
    c2 = c[2]
    c3 = c[3]
    c4 = c[4]
    c5 = c[5]
    c6 = c[6]
    c7 = c[7]
    c8 = c[8]
    c9 = c[9]
    c10 = c[10]
    c11 = c[11]
    c12 = c[12]
    c13 = c[13]
    c14 = c[14]
    c15 = c[15]
    c16 = c[16]
    c17 = c[17]
    c18 = c[18]
    c19 = c[19]
    # rates of the reactions
    k = factors * np.exp(-energies / temperature)
    r0 = k[0] * c7 * c18
    r1 = k[1] * c11 * c15
    r2 = k[2] * c15 * c8
    r3 = k[3] * c6 * c15
    r4 = k[4] * c12 * c4
    r5 = k[5] * c16 * c12
    r6 = k[6] * c5 * c18
    r7 = k[7] * c0 * c8
    r8 = k[8] * c13 * c12
    r9 = k[9] * c11 * c3
    r10 = k[10] * c15 * c6
    r11 = k[11] * c9 * c13
    r12 = k[12] * c18 * c11
    r13 = k[13] * c18 * c7
    r14 = k[14] * c8 * c5
    r15 = k[15] * c6 * c18
    r16 = k[16] * c3 * c2
    r17 = k[17] * c2 * c11
    r18 = k[18] * c4 * c0
    r19 = k[19] * c13 * c3
    r20 = k[20] * c12 * c18
    r21 = k[21] * c16 * c7
    r22 = k[22] * c0 * c2
    r23 = k[23] * c6 * c13
    r24 = k[24] * c4 * c1
    r25 = k[25] * c11 * c4
    r26 = k[26] * c14 * c16
    r27 = k[27] * c19 * c16
    r28 = k[28] * c7 * c9
    r29 = k[29] * c16 * c9
    r30 = k[30] * c0 * c13
    r31 = k[31] * c12 * c18
    r32 = k[32] * c10 * c14
    r33 = k[33] * c19 * c8
    r34 = k[34] * c18 * c1
    r35 = k[35] * c8 * c14
    r36 = k[36] * c5 * c11
    r37 = k[37] * c11 * c8
    r38 = k[38] * c3 * c0
    r39 = k[39] * c16 * c7
    r40 = k[40] * c10 * c5
    r41 = k[41] * c3 * c10
    r42 = k[42] * c14 * c5
    r43 = k[43] * c6 * c18
    r44 = k[44] * c7 * c3
    r45 = k[45] * c6 * c10
    r46 = k[46] * c10 * c2
    r47 = k[47] * c13 * c9
    r48 = k[48] * c14 * c11
    r49 = k[49] * c13 * c18
    r50 = k[50] * c13 * c4
    r51 = k[51] * c15 * c16
    r52 = k[52] * c1 * c14
    r53 = k[53] * c17 * c10
    r54 = k[54] * c18 * c9
    r55 = k[55] * c1 * c19
    r56 = k[56] * c13 * c18
    r57 = k[57] * c15 * c3
    r58 = k[58] * c9 * c7
    r59 = k[59] * c17 * c13
    # what each species gains and loses
    d0 = r1 + r5 - r7 + r13 - r18 - r22 - r30 + r33 + r34 - r38 + r50 + r56 + r58
    d1 = r6 + r9 + r19 + r21 + r22 - r24 + r31 - r34 + r44 + r49 - r52 - r55 + r56 + r59
    d2 = r1 + r5 - r16 - r17 - r22 + r42 - r46 + r53
    d3 = -r9 + r14 - r16 - r19 + r22 + r26 - r38 + r40 - r41 - r44 + r54 - r57 + r59
    d4 = r0 - r4 + r8 + r9 - r18 - r24 - r25 + r31 + r38 + r46 - r50
    d5 = -r6 - r14 - r36 - r40 - r42 + r45 + r57
    d6 = -r3 - r10 - r15 - r23 - r43 - r45 + r50 + r55
    d7 = -r0 + r2 + r4 - r13 - r21 - r28 - r39 + r41 - r44 + r51 + r53 + r54 - r58
    d8 = -r2 - r7 + r10 - r14 + r15 + r20 + r23 + r27 + r28 - r33 - r35 - r37 + r39 + r43 + r45 + r47
    d9 = r6 - r11 + r15 + r18 + r21 + r23 - r28 - r29 + r35 + r37 + r38 - r47 + r48 + r52 - r54 - r58
    d10 = r13 + r14 + r20 + r24 + r29 + r30 - r32 + r35 + r36 - r40 - r41 + r42 - r45 - r46 - r53
    d11 = -r1 - r9 - r12 - r17 - r25 + r32 + r34 - r36 - r37 + r46 - r48
    d12 = -r4 - r5 + r7 - r8 + r11 - r20 + r25 + r26 - r31 + r37
    d13 = (
        -r8 + r10 - r11 + r12 + r17 + r18 - r19 - r23 + r27 + r28 - r30 + r40 - r47 + r48 - r49 - r50 + r51 - r56 - r59
    )
    d14 = r8 - r26 - r32 - r35 - r42 + r43 - r48 - r52
    d15 = -r1 - r2 - r3 + r7 - r10 + r16 + r33 - r51 - r57
    d16 = -r5 + r11 - r21 - r26 - r27 - r29 - r39 + r44 + r47 - r51 + r52 + r55 + r57 + r58
    d17 = r0 + r2 + r3 + r12 + r16 + r19 + r24 + r25 + r29 + r32 - r53 - r59
    d18 = -r0 + r3 + r4 - r6 - r12 - r13 - r15 - r20 - r31 - r34 + r39 + r41 - r43 - r49 - r54 - r56
    d19 = r17 - r27 + r30 - r33 + r36 + r49 - r55
    # one step
    c0 = c0 + dt * d0
    c1 = c1 + dt * d1
    c2 = c2 + dt * d2
    c3 = c3 + dt * d3
    c4 = c4 + dt * d4
    c5 = c5 + dt * d5
    c6 = c6 + dt * d6
    c7 = c7 + dt * d7
    c8 = c8 + dt * d8
    c9 = c9 + dt * d9
    c10 = c10 + dt * d10
    c11 = c11 + dt * d11
    c12 = c12 + dt * d12
    c13 = c13 + dt * d13
    c14 = c14 + dt * d14
    c15 = c15 + dt * d15
    c16 = c16 + dt * d16
    c17 = c17 + dt * d17
    c18 = c18 + dt * d18
    c19 = c19 + dt * d19
    # how far the mixture is from its target
    e0 = c0 - target[0]
    e1 = c1 - target[1]
    e2 = c2 - target[2]
    e3 = c3 - target[3]
    e4 = c4 - target[4]
    e5 = c5 - target[5]
    e6 = c6 - target[6]
    e7 = c7 - target[7]
    e8 = c8 - target[8]
    e9 = c9 - target[9]
    e10 = c10 - target[10]
    e11 = c11 - target[11]
    e12 = c12 - target[12]
    e13 = c13 - target[13]
    e14 = c14 - target[14]
    e15 = c15 - target[15]
    e16 = c16 - target[16]
    e17 = c17 - target[17]
    e18 = c18 - target[18]
    e19 = c19 - target[19]
    square = e0 * e0 + e1 * e1 + e2 * e2 + e3 * e3 + e4 * e4 + e5 * e5 + e6 * e6 + e7 * e7 + e8 * e8 + e9 * e9
    square = (
        square
        + e10 * e10
        + e11 * e11
        + e12 * e12
        + e13 * e13
        + e14 * e14
        + e15 * e15
        + e16 * e16
        + e17 * e17
        + e18 * e18
        + e19 * e19
    )
    return np.sqrt(square)


def arguments():
    """Random constants."""
    rng = np.random.default_rng(0)
    uniform = rng.uniform
    return uniform(0.5, 2.0, 60), uniform(100.0, 900.0, 60), 500.0, uniform(0.1, 1.0, 20), uniform(0.1, 1.0, 20), 0.01


def by_hand(njit):
    """The table itself, by loops: this is what one writes who may choose."""

    @njit
    def forward(factors, energies, temperature, c, target, dt, table, k, r):
        e = c - target
        for i in range(k.size):
            k[i] = factors[i] * np.exp(-energies[i] / temperature)
            r[i] = k[i] * c[table[i, 0]] * c[table[i, 1]]
            for j in range(2):
                e[table[i, j]] -= dt * r[i]
                e[table[i, j + 2]] += dt * r[i]
        return np.sqrt(np.sum(e * e)), e

    @njit
    def backward(factors, energies, temperature, c, target, dt, table):
        k, r = np.empty(len(table)), np.empty(len(table))
        value, e = forward(factors, energies, temperature, c, target, dt, table, k, r)
        e /= value
        c_bar = e.copy()
        factors_bar, energies_bar = np.empty(k.size), np.empty(k.size)
        temperature_bar = 0.0
        for i in range(k.size):
            a, b = table[i, 0], table[i, 1]
            r_bar = dt * (e[table[i, 2]] + e[table[i, 3]] - e[a] - e[b])
            c_bar[a] += r_bar * k[i] * c[b]
            c_bar[b] += r_bar * k[i] * c[a]
            factors_bar[i] = r_bar * r[i] / factors[i]
            energies_bar[i] = -r_bar * r[i] / temperature
            temperature_bar += r_bar * r[i] * energies[i] / temperature**2
        return value, (factors_bar, energies_bar, temperature_bar, c_bar)

    def primal(*args):
        return forward(*args, REACTIONS, np.empty(60), np.empty(60))[0]

    def gradient(*args):
        return backward(*args, REACTIONS)

    return primal, gradient


ROW = Row(
    title="first gradient of 150 lines",
    program=mechanism,
    arguments=arguments,
    quick={},
    full={},
    argnums=(0, 1, 2, 3),
    by_hand=by_hand,
    in_jax=as_it_stands(JAX, mechanism),
    in_autograd=as_it_stands(AUTOGRAD, mechanism),
    kind="start",
)
