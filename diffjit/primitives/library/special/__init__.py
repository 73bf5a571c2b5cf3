"""What `scipy.special` computes in C, by functions of it whose derivatives by all parameters are known."""

from diffjit.primitives.library.special import laws

__all__ = ["laws"]
