"""Problems of GradBench (https://github.com/gradbench/gradbench) as programs in ordinary NumPy."""

NAMES = ("ba", "det", "gmm", "ht", "kmeans", "llsq", "lse", "lstm", "ode", "particle", "saddle")
