"""What SciPy's code says besides a solution: counts, texts, slopes and matrices of its own, the points that it passed.

It hangs on SciPy's steps, not on theory: it is there to be printed, tested and raised, and has no derivative. Texts are
numbers among those of the process, as compiled code holds numbers alone.
"""

# Operands are numbers or arrays of any kind, as the frontend finds them.
# pyright: basic

from __future__ import annotations

import threading

import numpy as np
import scipy.optimize

from diffjit.api.foreign import foreign
from diffjit.primitives.opaque.objects import ask
from diffjit.primitives.routines import RUN

TEXTS: list[str] = []
NUMBERS: dict[str, int] = {}
SLOPED = ("cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "slsqp", "dogleg", "trust-ncg", "trust-krylov", "trust-exact")
_lock = threading.Lock()


def number_of(text: str) -> int:
    """The number of a text."""
    with _lock:
        if text not in NUMBERS:
            NUMBERS[text] = len(TEXTS)
            TEXTS.append(text)
        return NUMBERS[text]


def text_of(number: int) -> str:
    """The text with a number."""
    return TEXTS[number]


def said(number):
    """A text that SciPy has returned."""
    return ask(str, ask(text_of, number))


def as_it_is(told, _x):
    return told


LEFT = foreign(as_it_is, result=lambda told, x: told)
LEFT.routine.name = "what SciPy's code says of its own steps"
LEFT.routine.cure = "it hangs on how SciPy stops, not on the solution alone: diffjit.stop_gradient marks it as constant"


class Trail:
    """The points that SciPy hands to a callback; it is an object of the run, at a place among them."""

    def __init__(self) -> None:
        self.points: list[np.ndarray] = []
        self.place = len(RUN.objects)
        RUN.objects.append(self)

    def __call__(self, x, *more) -> None:
        """One more, with the numbers that come with it."""
        self.points.append(np.array([*np.ravel(x), *more], float))


def passed_points(place, count, width):
    """The points of a trail, which is an object of the run, one below the other."""
    return np.array(RUN.objects[place].points, float).reshape(count, width)


POINTS = foreign(passed_points, result=lambda place, count, width: np.zeros((count, width)))


def leave_trail(options, follows):
    """The trail that SciPy's code leaves by a callback among its options, which change; None where nobody follows."""
    if not follows:
        return None
    options["callback"] = Trail()
    return options["callback"]


def where(trail):
    """Where the points are among the objects of the run, and how many."""
    return (-1, 0) if trail is None else (trail.place, len(trail.points))


def remarks(found, way, trail, n):
    """What `scipy.optimize.minimize` says: a text, a count, a slope, a matrix; where the points are, and how many."""
    slope, matrix = found.get("jac"), found.get("hess_inv")
    if way not in SLOPED or np.shape(slope) != (n,):
        slope = np.full(n, np.nan)
    rows = np.zeros((0, 0)) if way != "bfgs" else np.full((n, n), np.nan) if matrix is None else matrix
    text = number_of(str(found.message))
    return text, int(found.get("njev", 0)), np.array(slope, float), np.array(rows, float), *where(trail)


def like_remarks(x, way):
    """What these look like."""
    return 0, 0, x, np.zeros((x.size, x.size)) if way == "bfgs" else np.zeros((0, 0)), 0, 0


def minimised(height, x0, given, options):
    """What `scipy.optimize.minimize` finds, its counts, and what it says."""
    way, follow = options["remarks"]
    trail = leave_trail(given, follow)
    found = scipy.optimize.minimize(height, x0, **given)
    counts = int(found.status), int(found.get("nit", 0)), int(found.nfev)
    return found, (*counts, *remarks(found, way, trail, x0.size))


def like_told(x, options):
    """What the counts and remarks look like."""
    return 0, 0, 0, *like_remarks(x, options["remarks"][0])
