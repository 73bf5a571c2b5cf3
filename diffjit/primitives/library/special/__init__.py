"""What `scipy.special` computes in C, by functions of it whose derivatives by all parameters are known."""

from diffjit.primitives.library.special import laws, orthogonal

__all__ = ["laws", "orthogonal"]
