"""Comparison of the grid solvers with lapwing's estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded.grid import Embedding, GridFit, GridSide, Tuning, squared_fit
from benchmarks.embedded.tube import tube_fit
from benchmarks.shared.measuring import timed_fit
from lapwing import LapERLSClassifier, LapESVC

Array = NDArray[Any]
GridSolver = Callable[[Embedding, float, Sequence[GridSide]], GridFit]
SOLVERS: dict[str, GridSolver] = {"laperls": squared_fit, "lapesvr": tube_fit}
ESTIMATORS: dict[str, Any] = {"laperls": LapERLSClassifier, "lapesvr": LapESVC}


class Agreement(NamedTuple):
    """Agreement of two decision functions on the same points.

    Attributes
    ----------
    difference : float
        Largest difference relative to the root mean square.
    signs : float
        Points (%) with different classes.
    """

    difference: float
    signs: float

    @classmethod
    def of(cls, ours: Array, theirs: Array) -> Agreement:
        size = float(np.sqrt(np.mean(np.square(theirs, dtype=np.float64)))) or 1.0
        signs = 100 * float(np.mean((ours >= 0) != (theirs >= 0)))
        return cls(float(np.max(np.abs(ours - theirs))) / size, signs)

    def show(self) -> str:
        return f"{self.difference:.1e}, {self.signs:.2f} %"


def library_values(
    method: str, X: Any, y: Array, tuning: Tuning, **options: Any
) -> tuple[Array, float]:
    """Return the decision values of an estimator on its training points, and the seconds."""
    estimator = ESTIMATORS[method](**tuning._asdict(), **options)
    model, seconds = timed_fit(estimator, X, y)
    return np.asarray(model.decision_function(X)), seconds
