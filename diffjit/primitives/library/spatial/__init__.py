"""`scipy.spatial` as programs: distances, rotations, nearest neighbours."""

from diffjit.primitives.library.spatial import distances, neighbours, rotations

__all__ = ["distances", "neighbours", "rotations"]
