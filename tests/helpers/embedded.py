"""Direct fits of embedded regression, for tests."""

from __future__ import annotations

from lapwing.solvers.embedded.systems import (
    DenseSystem,
    EmbeddedResult,
    FeatureSide,
    FeatureSystem,
    MatrixSide,
)


def least_squares(problem: DenseSystem | FeatureSystem, C: float) -> EmbeddedResult:
    """LapERLS for the labels of a problem."""
    if isinstance(problem, DenseSystem):
        return MatrixSide.of(problem, C).minimize(problem.side)
    return FeatureSide.of(problem, C).minimize(problem.side)
