"""Problems of GradBench (https://github.com/gradbench/gradbench) as programs in ordinary NumPy."""

NAMES = ("det", "gmm", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle")
