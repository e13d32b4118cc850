"""Spaces of functions: what the coefficients of a fit mean."""

from lapwing.spaces.base import DecisionFunction, Solution, Space, System
from lapwing.spaces.full import FullKernelSpace, KernelExpansion
from lapwing.spaces.linear import LinearFunction, LinearSpace
from lapwing.spaces.mapped import MappedSpace, deformed, full_map, landmark_map
from lapwing.spaces.parts import KernelParts, Parts, SpaceParts
from lapwing.spaces.recipes import Landmarks, Linear, SpaceRecipe, check_space

__all__ = [
    "DecisionFunction",
    "FullKernelSpace",
    "KernelExpansion",
    "KernelParts",
    "Landmarks",
    "Linear",
    "LinearFunction",
    "LinearSpace",
    "MappedSpace",
    "Parts",
    "Solution",
    "Space",
    "SpaceParts",
    "SpaceRecipe",
    "System",
    "check_space",
    "deformed",
    "full_map",
    "landmark_map",
]
