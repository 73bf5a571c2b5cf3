"""Random numbers: NumPy's Generator, RandomState and `np.random`, and Python's `random`, as plain Python over draws.

A draw is a function of a stream's words: it gives numbers, and the words that the stream is left with. So it may be
computed again on a way back, or in a checkpointed call, and gives the same numbers there. Draws have no derivative;
parameters that move or stretch a distribution act on standard variates, by the arithmetic of NumPy's own code, and
other parameters by what is known of the distribution (`implicit`).
"""

from diffjit.primitives.random import generator, implicit, legacy, python

CLASSES: dict[str, type] = {
    "Generator": generator.Generator,
    "RandomState": legacy.RandomState,
    "Random": python.Random,
}  # the classes that stand for those of streams

__all__ = ["CLASSES", "generator", "implicit", "legacy", "python"]
