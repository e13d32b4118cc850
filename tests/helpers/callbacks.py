"""A callback that watches a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers.answers import scores


class Record:
    """Callback that records iterations, with the scores of every iterate at some points.

    Parameters
    ----------
    X : array-like or None
        Points of the scores; None for those of the fit.
    stop_after : int or None
        Iterations after which it asks to stop.
    """

    def __init__(self, X: Any = None, stop_after: int | None = None) -> None:
        self.X, self.stop_after = X, stop_after
        self.given: tuple[Any, Any] = None, None  # X and y of the fit
        self.scores: list[np.ndarray] = []
        self.predictions: list[np.ndarray] = []  # at the end of a fit
        self.states: list[str] = []
        self.begun: list[tuple[str, int | None]] = []
        self.ended: list[str] = []

    @property
    def stages(self) -> list[tuple[str, int | None]]:
        return [task for task in self.begun if task[0] != "iteration"]

    def setup(self, estimator: Any, context: Any) -> None:
        self.states.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.states.append("teardown")

    def on_fit_task_begin(
        self, estimator: Any, context: Any, *, X: Any = None, y: Any = None
    ) -> None:
        self.begun.append((context.task_name, context.max_subtasks))
        self.given = X, y

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, fitted_estimator: Any = None
    ) -> bool | None:
        self.ended.append(context.task_name)
        at = self.given[0] if self.X is None else self.X
        if context.task_name == "fit":
            self.predictions.append(fitted_estimator.predict(at))
        if context.task_name != "iteration":
            return None
        if hasattr(
            fitted_estimator, "intercept_"
        ):  # some methods have no function before their end
            self.scores.append(scores(fitted_estimator, at))
        return self.stop_after is not None and len(self.scores) >= self.stop_after
