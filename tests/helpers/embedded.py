"""Direct fits of embedded regression, for tests."""

from __future__ import annotations

from lapwing.solvers.embedded.systems import (
    DenseSystem,
    EmbeddedResult,
    FeatureSystem,
)


def least_squares(problem: DenseSystem | FeatureSystem, C: float) -> EmbeddedResult:
    """LapERLS for the labels of a problem."""
    return problem.eliminate(C).minimize(problem.side)
