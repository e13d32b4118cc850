"""Callbacks that watch a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.answers import scores


class Iterates:
    """A callback that keeps the scores of every iterate at some points."""

    def __init__(self, X: Any, stop_after: int | None = None) -> None:
        self.X = X
        self.stop_after = stop_after
        self.scores: list[np.ndarray] = []

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool | None:
        if context.task_name != "iteration":
            return None
        self.scores.append(scores(fitted_estimator, self.X))
        return self.stop_after is not None and len(self.scores) >= self.stop_after
