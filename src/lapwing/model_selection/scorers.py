"""Scorers that leave unlabelled rows out.

scikit-learn's scorers compare answers with all that y holds. A row that is marked as unlabelled
then counts as wrong, or as one more class, and a search chooses by it.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, make_scorer
from sklearn.utils.metadata_routing import get_routing_for_object

from lapwing._arrays import Array
from lapwing.classes.column import missing_mask, read_column
from lapwing.classes.labels import as_targets, read_known
from lapwing.classes.markers import is_auto, unlabeled_mask
from lapwing.classes.slips import refuse_slips
from lapwing.estimators.template import only_labeled


def labeled_scorer(
    scoring: str | Callable[..., Any] | None = None, *, unlabeled: Any = "auto", **kwargs: Any
) -> LabeledScorer:
    """Make a scorer that leaves unlabelled rows out.

    Estimators of lapwing do this in their own `score`. This is for other scores, and for other
    estimators. The splitters of `lapwing.model_selection` put no unlabelled row on a test side; but
    training sides hold them, so that `learning_curve` and ``return_train_score=True`` need this,
    and so does a y that holds numbers beside None, which scikit-learn's scorers refuse.

    Parameters
    ----------
    scoring : str, callable or None, default=None
        What to score by: a name that `sklearn.metrics.get_scorer` knows; a scorer
        ``(estimator, X, y)``; a metric ``(y_true, y_pred)``, of which
        `sklearn.metrics.make_scorer` makes a scorer; or None, which is the estimator's own `score`.
    unlabeled : 'auto', number, str, None or NaN, default='auto'
        What marks unlabelled rows, as for the estimator: give the same here. By default missing
        values and, for classifiers, -1 if it is no class of the fit.
    **kwargs : dict
        What `sklearn.metrics.make_scorer` takes beside a metric: ``greater_is_better``,
        ``response_method`` and parameters of the metric.

    Returns
    -------
    LabeledScorer
        To be called as ``(estimator, X, y)``, or passed as ``scoring``.

    Raises
    ------
    ValueError
        If there are `kwargs` and `scoring` is no metric. The scorer raises it if no row is
        labelled, or if a label that the fit did not know looks like a marker.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LapSVC
    >>> from lapwing.model_selection import labeled_scorer
    >>> X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    >>> model = LapSVC().fit(X, [0, -1, -1, 1, -1, -1])
    >>> float(labeled_scorer("balanced_accuracy")(model, X, [0, 0, -1, 1, -1, 1]))
    1.0
    """
    if callable(scoring) and _is_metric(scoring):
        scoring = make_scorer(scoring, **kwargs)
    elif kwargs:
        raise ValueError(
            f"{', '.join(kwargs)} can be given beside a metric (y_true, y_pred) only, and "
            f"scoring={scoring!r} is none. Make the scorer with sklearn.metrics.make_scorer, and "
            "pass that."
        )
    scorer = None if scoring is None else check_scoring(scoring=scoring)
    return LabeledScorer(scorer, unlabeled)


class LabeledScorer:
    """A scorer that leaves unlabelled rows out; `labeled_scorer` makes it.

    Parameters
    ----------
    scorer : callable or None
        ``(estimator, X, y)``; None is the estimator's own `score`.
    unlabeled : 'auto', number, str, None or NaN
        What marks unlabelled rows.
    """

    def __init__(self, scorer: Callable[..., Any] | None, unlabeled: Any) -> None:
        self.scorer = scorer
        self.unlabeled = unlabeled

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> Any:
        """Score on the labelled rows.

        Parameters
        ----------
        estimator : object
            A fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Labels, with the unlabelled marker where there is none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, if the score takes any.
        **params : dict
            Whatever else the score takes.

        Returns
        -------
        float
            The score.
        """
        labels, labeled = _read(estimator, y, self.unlabeled)
        X, sample_weight = only_labeled(labeled, X, sample_weight)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        scorer = check_scoring(estimator, scoring=self.scorer)
        return scorer(estimator, X, labels, **params)

    def get_metadata_routing(self) -> Any:
        """What the scorer inside asks for, where metadata routing is on.

        Returns
        -------
        MetadataRequest
            As ``set_score_request`` of the scorer inside has made it.
        """
        return get_routing_for_object(self.scorer)

    def _accept_sample_weight(self) -> bool:
        """What scikit-learn asks a scorer among several."""
        ask = getattr(self.scorer, "_accept_sample_weight", None)
        return self.scorer is None or (ask is not None and bool(ask()))

    def __repr__(self) -> str:
        return f"labeled_scorer({self.scorer!r}, unlabeled={self.unlabeled!r})"


def _is_metric(scoring: Callable[..., Any]) -> bool:
    """Whether a callable takes (y_true, y_pred): a scorer takes three arguments."""
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [
        parameter
        for parameter in signature(scoring).parameters.values()
        if parameter.kind in positional and parameter.default is Parameter.empty
    ]
    return len(needed) == 2


def _read(estimator: Any, y: Any, marker: Any) -> tuple[Array, Array]:
    """Labels to score on, and the mask of the rows that hold them."""
    if is_classifier(estimator):
        labels, labeled = read_known(y, marker, estimator.classes_)
        _refuse_markers(labels, estimator.classes_, marker)
        return labels, labeled
    column = read_column(y)
    mask = unlabeled_mask(column, None if is_auto(marker) else marker)
    labeled = ~mask & ~missing_mask(column)
    return as_targets(column[labeled]), labeled


def _refuse_markers(labels: Array, classes: Array, marker: Any) -> None:
    """A class that the fit did not know may be one of few labels; it may be a marker, too."""
    known = set(classes.tolist())
    strangers = [label for label in labels.tolist() if label not in known]
    if strangers:
        values, counts = np.unique(strangers, return_counts=True)
        refuse_slips(values, counts, 0, (), marker)
