"""Python's own library, as programs of numbers use it: `statistics`, `contextlib`, maps over tables beside arrays."""

import collections
import contextlib
import inspect
import json
import statistics
import textwrap
from operator import mul
from statistics import NormalDist, fmean, stdev

import numpy as np
import scipy.interpolate
import scipy.optimize
import scipy.special

from .registry import program

SAMPLE = np.array([0.3, 1.2, -0.5, 2.2, 0.9])


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def statistics_of_lists_and_arrays(x):
    """Means, deviations and a regression, of an array, of lists of known length and of one that grows."""
    values = [v * v for v in x]
    large = []
    for v in x:
        if v > statistics.mean(x):
            large.append(np.sin(v))
    slope, start = statistics.linear_regression([0.0, 1.0, 2.0, 3.5, 4.0], values)
    spread = stdev(x) * statistics.pstdev(values) + statistics.variance(large) + statistics.pvariance(x, mu=0.5)
    near = statistics.median(values) * statistics.correlation(list(x), values) + statistics.fmean(x, weights=values)
    return spread + near + slope * start + statistics.harmonic_mean([v + 0.1 for v in values])


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def statistics_of_groups(x):
    """Groups in a dict, one of which is too small; normal distributions from a sample and from parameters."""
    groups = {}
    for key, v in zip("abbac", x, strict=True):
        groups.setdefault(key, []).append(v * v)
    total = 0.0
    for rank, group in enumerate(groups.values()):
        try:
            total += stdev(group) * (rank + 1)
        except statistics.StatisticsError:
            total += fmean(group) * total
    fitted, given = NormalDist.from_samples(x), NormalDist(x[0], x[1])
    return total + fitted.pdf(1.0) * given.cdf(x[2]) + given.inv_cdf(0.3) * statistics.quantiles(x, n=4)[1]


STANDARD = NormalDist(0.4, 1.3)
SIGNATURE = inspect.signature(lambda base, factor=2.0, *, shift=0.5: None)


def bound(x, *given, **named):
    """What a decorator does that passes on what it was given, as the function's signature has it."""
    found = SIGNATURE.bind(x, *given, **named)
    found.apply_defaults()
    return found.args[0] * found.args[1] + found.kwargs["shift"]


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def objects_of_the_library_from_outside(x):
    """A normal distribution and a signature that were made outside: their attributes are slots."""
    total = STANDARD.pdf(x[0]) * STANDARD.stdev + STANDARD.cdf(x[1]) * x[2]
    return total * bound(x[1]) + bound(x[2], x[3], shift=x[4])


FOUND = scipy.optimize.minimize(lambda v: np.sum((v - 1.5) ** 2), np.zeros(2))
COUNTS = collections.Counter("abca")
PAST = collections.deque([1.0, 2.5, 0.5], maxlen=4)
RATES = collections.defaultdict(lambda: 0.25, fast=2.0)
CLOUD = scipy.interpolate.Rbf([0.0, 1.0, 2.5, 4.0], [1.0, 0.5, 2.0, 1.5])
LEGENDRE, HERMITE = scipy.special.legendre(4), scipy.special.hermite(3)


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def results_counts_and_queues_from_outside(x):
    """What SciPy has found, a Counter, a deque, a defaultdict and polynomials that were made outside."""
    total = FOUND.x @ x[:2] + FOUND["fun"] * x[2] + (x[0] if FOUND.success and "jac" in FOUND else x[1])
    total += COUNTS["a"] * x[1] + COUNTS["z"] * x[2] + COUNTS.most_common(1)[0][1] * x[3] + sum(COUNTS.values())
    total += sum(v * w for v, w in zip(PAST, x, strict=False)) + PAST[-1] * max(PAST) * x[4]
    total += RATES["fast"] * x[0] + RATES["slow"] * x[1] + len(RATES)
    RATES.pop("slow")
    return total * CLOUD(x[3]) + LEGENDRE(0.1 * x[1]) * HERMITE.deriv()(x[2]) + (LEGENDRE * 2.0).c[0] * x[0]


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def map_over_a_table_beside_an_array(x):
    """`map` of a function of two: one side is an array, the other a list written out, longer or shorter."""
    total = sum(map(mul, x, [1.0, 2.0, 3.0]))
    for v in map(lambda a, w: np.sin(a * w), [0.5, 1.5, 2.0, 1.0, 0.7, 9.0], x * x):
        total += v * total
    return total


class Noted:
    """A manager that notes when it is entered and left."""

    def __init__(self, notes, weight):
        self.notes = notes
        self.weight = weight

    def __enter__(self):
        self.notes.append(self.weight)
        return self

    def __exit__(self, *problem):
        self.notes.append(2.0 * self.weight)


class Swallowing(Noted):
    """One that takes errors as well."""

    def __exit__(self, *problem):
        self.notes.append(3.0 * self.weight)
        return True


def _told(notes):
    return sum(v * (k + 1) for k, v in enumerate(notes))


@program(args=lambda: (SAMPLE.copy(), 3), wrt=("x",), tags=("language",))
def managers_and_calls_on_a_stack(x, n):
    """Several managers and calls, in a loop, in a branch, by `push`; an early `close`; what `pop_all` hands on."""
    notes = []
    with contextlib.ExitStack() as stack:
        entered = [stack.enter_context(Noted(notes, x[k])) for k in range(n)]
        for k in range(n):
            stack.callback(notes.append, x[k] * k)
        if n > 2:
            stack.push(Noted(notes, x[3]))
        total = sum(m.weight**2 for m in entered)
        later = stack.pop_all()
        notes.append(total)
    later.close()
    with contextlib.ExitStack() as stack:
        stack.enter_context(Noted(notes, x[4]))
        stack.callback(lambda w, power=1: notes.append(w**power), x[0], power=2)
        for v in x:
            if v > 0.0:
                total += v * entered[0].weight
    return total + _told(notes)


@program(args=lambda: (SAMPLE.copy(),), wrt=("x",), tags=("language",))
def errors_that_meet_a_stack(x):
    """An error inside is swallowed, or goes on to a handler; all that was entered by then is left."""
    notes = []
    total = x[0]
    for v in x:
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(Noted(notes, v))
                stack.callback(notes.append, 3.0 * v)
                if v < 0.0:
                    raise ValueError
                total = total * (1.0 + v)
        except ValueError:
            total = total * 3.0 + 1.0
    with contextlib.ExitStack() as stack:
        stack.enter_context(Swallowing(notes, x[1]))
        if x[2] < 0.0:
            raise ValueError
        total = total * 2.0
    return total + _told(notes)


SETTINGS = """
    {"scheme": {"order": 2, "dt": 0.1}, "stages": [1, 2.5, null, true], "name": "heun"}
"""


@program(args=lambda: (SAMPLE.copy(), SETTINGS), wrt=("x",), tags=("language",))
def settings_that_are_read_from_a_text(x, text):
    """JSON of an argument and of a constant: numbers, branches and loops by what it says, changed, and read afresh."""
    total = 0.0
    for _ in range(2):
        settings = json.loads(textwrap.dedent(text))
        settings["stages"][0] += x[0]
        total += settings["stages"][0] ** 2
    scheme = settings["scheme"]
    for _ in range(scheme["order"]):
        x = x + scheme["dt"] * np.sin(x) * (3.0 if settings["name"] == "heun" else 1.0)
    try:
        json.loads("{'quotes': 1}")
    except ValueError:
        total *= 2.0
    weights = [w for w in settings["stages"] if w is not None]
    return total + x[1] * weights[-1] + np.sum(x[: len(weights)] * np.array(weights))


@program(args=lambda: (SAMPLE.copy(), "GATTACACCG"), wrt=("x",), tags=("language",))
def letters_of_a_strand(x, strand):
    """`translate` by tables that are made, given and changed; `startswith` of several; bytes; `format_map`."""
    partner = str.maketrans("ACGT", "TGCA")
    other = strand[::-1].translate(partner)
    partner[ord("A")] = "N"
    strong = str.maketrans({"A": None, "T": None})
    total = x[4] * strand.translate(partner).count("N") + x[3] * len(other.translate(strong))
    for k, letter in enumerate(other):
        if letter.startswith(("A", "G")):
            total += (k + 1.0) * x[k % 3] ** 2
        elif other[k:].endswith(("TC", "GT")) and letter.encode() in b"TC":
            total -= x[k % 2]
    weight = sum(strand.encode("ascii")) - strand.encode().count(b"A")
    return total + x[1] * weight * len("{first}-{n:03d}".format_map({"first": strand[:2], "n": 7}))
