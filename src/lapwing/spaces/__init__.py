"""Spaces of functions: what the coefficients of a fit mean."""

from lapwing.spaces.base import DecisionFunction, Solution, Space, System
from lapwing.spaces.full import FullKernelSpace, KernelExpansion
from lapwing.spaces.linear import LinearFunction, LinearSpace

__all__ = [
    "DecisionFunction",
    "FullKernelSpace",
    "KernelExpansion",
    "LinearFunction",
    "LinearSpace",
    "Solution",
    "Space",
    "System",
]
