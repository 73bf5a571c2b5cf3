"""Pools of threads and processes: their calls are made one after another, as parts of the program.

What Python promises of their results is the same. A call in another process works on copies of what it is given, and
what it changes is lost: where it would change something, it is refused.
"""
