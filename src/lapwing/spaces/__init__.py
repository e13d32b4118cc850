"""Function spaces, which define the meaning of the coefficients of a fit."""

from lapwing.spaces.base import (
    Coefficients,
    CoordinateSpace,
    QuadraticSystem,
    Restriction,
    Smoothness,
    Space,
)
from lapwing.spaces.full import FullKernelSpace
from lapwing.spaces.functions import (
    AnchorFunction,
    EigenfunctionSum,
    FittedFunction,
    KernelExpansion,
    LinearFunction,
    NeighborhoodFunction,
    VotedFunction,
    evaluate,
    function_from,
)
from lapwing.spaces.linear import LinearSpace
from lapwing.spaces.mapped import MappedSpace, deformed, full_map, landmark_map
from lapwing.spaces.recipes import (
    SPACES,
    Landmarks,
    Linear,
    SpaceRecipe,
    check_space,
    make_space,
)

__all__ = [
    "SPACES",
    "AnchorFunction",
    "Coefficients",
    "CoordinateSpace",
    "EigenfunctionSum",
    "FittedFunction",
    "FullKernelSpace",
    "KernelExpansion",
    "Landmarks",
    "Linear",
    "LinearFunction",
    "LinearSpace",
    "MappedSpace",
    "NeighborhoodFunction",
    "QuadraticSystem",
    "Restriction",
    "Smoothness",
    "Space",
    "SpaceRecipe",
    "VotedFunction",
    "check_space",
    "deformed",
    "evaluate",
    "full_map",
    "function_from",
    "landmark_map",
    "make_space",
]
