"""Stages of a fit, told to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeAlias

Attributes: TypeAlias = Callable[[], Mapping[str, Any]]
Tick: TypeAlias = Callable[[Attributes], bool]
"""Tells that a step is done, given the fitted attributes so far; True asks to stop."""


class Stages(Protocol):
    """Who is told of the stages of a fit."""

    def stage(self, name: str, max_steps: int | None = 0) -> AbstractContextManager[Tick]:
        """A stage of the fit, with at most max_steps steps (None: not known)."""


class _Silent:
    """Nobody."""

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        yield lambda attributes: False


SILENT: Stages = _Silent()


class Progress:
    """The tasks of one fit: the stages, and the steps of those that iterate.

    Parameters
    ----------
    estimator : estimator with CallbackSupportMixin
    n_stages : int or None
        None: not known.
    X, y : array-like
        The training data, handed to callbacks that ask for it.
    """

    def __init__(self, estimator: Any, n_stages: int | None, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._context = estimator._init_callback_context(max_subtasks=n_stages)
        self._data = {"X": X, "y": y}
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        """A stage of the fit, with at most max_steps steps (None: not known)."""
        context = self._context.subcontext(task_name=name, max_subtasks=max_steps)
        context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

        # Every context is kept by the one above: where nobody listens, iterations make none.
        heard = bool(getattr(self._estimator, "_skl_callbacks", ()))

        def tick(attributes: Attributes) -> bool:
            if not heard:
                return False
            step = context.subcontext(task_name="iteration")
            step.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            return bool(
                step.call_on_fit_task_end(
                    estimator=self._estimator, reconstruction_attributes=attributes, **self._data
                )
            )

        yield tick
        context.call_on_fit_task_end(estimator=self._estimator, **self._data)

    def finish(self, attributes: Attributes) -> None:
        """The fit is done."""
        self._context.call_on_fit_task_end(
            estimator=self._estimator, reconstruction_attributes=attributes, **self._data
        )
