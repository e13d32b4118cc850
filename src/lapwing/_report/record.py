"""Record of a fit, read by the terminal, the report, the files and the labelling page.

`ReportData` holds the figures of its report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from lapwing._tables.predictions import Predictions
from lapwing._tables.tables import Table
from lapwing.model_selection.comparison import Comparison


@dataclass(frozen=True)
class Hints:
    """Commands or calls for the next step.

    Attributes
    ----------
    label : str
        Sentence on where the rows to label are listed; may be empty.
    predict : str
        Command or call that predicts new rows.
    """

    label: str
    predict: str


@dataclass(frozen=True)
class Origin:
    """Request that led to a fit.

    Attributes
    ----------
    seed : int or None
        Random seed.
    hints : Hints
        Commands or calls for the next step.
    command : str
        Command line; empty for a fit in Python.
    plain_command : str
        Command that fits the same model without choosing it again; empty if nothing was chosen.
    truth : str
        Column of the true labels; empty if there is none.
    layout : tuple of str
        The two columns of the map; empty for principal components.
    """

    seed: int | None
    hints: Hints
    command: str = ""
    plain_command: str = ""
    truth: str = ""
    layout: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remedies:
    """Remedies for common faults of a fit, as parameters of its method.

    Attributes
    ----------
    unlabeled_weight : str
        Reduces the weight of the unlabelled rows.
    convergence : str
        Makes the problem easier for the solver.
    underfitting : str
        Parameter of which a smaller value fits the labels more closely.
    """

    unlabeled_weight: str
    convergence: str
    underfitting: str


@dataclass(frozen=True)
class MethodFacts:
    """Description of the method of a fit.

    Attributes
    ----------
    name : str
        Name on the command line.
    solver : str
        Name of the solver.
    unlabeled_use : str
        How the estimator uses unlabelled rows; empty if it does not.
    remedies : Remedies
        Remedies for common faults.
    margin_note : str
        Why margins do not measure certainty; empty if they do.
    twin : str
        Description of the supervised twin; empty if there is none.
    """

    name: str
    solver: str
    unlabeled_use: str
    remedies: Remedies
    margin_note: str = ""
    twin: str = ""


@dataclass(frozen=True)
class Choice:
    """How the method of a fit was chosen.

    Attributes
    ----------
    comparison : Comparison or None
        None if nothing was compared.
    skipped : tuple of str
        Candidates that would have taken too long.
    reason : str
        Reason for the method if nothing was compared.
    """

    comparison: Comparison | None = None
    skipped: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class FittedTwin:
    """Supervised twin: the same estimator without the term of the unlabelled rows.

    Attributes
    ----------
    estimator : estimator
        Fitted to transformed points.
    answers : ndarray of shape (n,)
        Its predictions for all rows.
    """

    estimator: Any
    answers: NDArray[Any]


@dataclass(frozen=True)
class Trust:
    """Precision of the sure predictions of a fit; see `lapwing.model_selection.sure_rows`.

    Attributes
    ----------
    level : float
        Required fraction of correct predictions.
    threshold : float or None
        Smallest probability of a sure prediction; None if no prediction is sure.
    expected : float or None
        Expected fraction of correct predictions.
    low, high : float or None
        Its 90 % interval.
    n_tests : int
        Number of held-out labels.
    n_needed : int
        Number of labels required for the highest level; 0 if no number is enough.
    """

    level: float
    threshold: float | None
    expected: float | None
    low: float | None
    high: float | None
    n_tests: int
    n_needed: int

    def to_dict(self) -> dict[str, Any]:
        """Return a dict that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class FitRecord:
    """A fit, its rows and its predictions.

    Attributes
    ----------
    method : MethodFacts
        Description of the method.
    origin : Origin
        Request that led to the fit.
    table : Table
        Training table.
    pipeline : Pipeline
        Preprocessing and estimator, fitted; takes features as they are in the file. Its last step
        is the estimator.
    points : ndarray or CSR of shape (n, d)
        Transformed features, the input of the estimator.
    vertex : ndarray of int of shape (n,)
        The graph's vertex of each row; equal rows share one.
    predictions : Predictions
        Label, scores and margin of every row.
    scaling : str
        Description of the preprocessing.
    twin : FittedTwin or None
        None if there is none, or no report is requested.
    trust : Trust or None
        Precision of the sure predictions; None for regression.
    choice : Choice or None
        None if the user named the method.
    next_rows : ndarray of int or None
        The most informative rows to label next; None if not requested, or if their computation
        would take too long.
    """

    method: MethodFacts
    origin: Origin
    table: Table
    pipeline: Pipeline
    points: Any
    vertex: NDArray[np.intp]
    predictions: Predictions
    scaling: str
    twin: FittedTwin | None = None
    trust: Trust | None = None
    choice: Choice | None = None
    next_rows: NDArray[np.intp] | None = None

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.pipeline[-1]

    @cached_property
    def truth(self) -> list[Any] | None:
        """True labels of the rows, None where unknown; None for a table without them."""
        if self.table.truth is None:
            return None
        blank = self.table.unlabeled
        return [None if v == blank or v != v else v for v in self.table.truth.tolist()]


@dataclass(frozen=True)
class ReportData:
    """The figures of a report: text, numbers, lists and dicts, as JSON has them.

    Attributes
    ----------
    kind : str
        'classification' or 'regression'.
    fitted : dict
        Estimator, method, and size of the data. `unlabeled_use` is how the unlabelled rows were
        used, `remedies` what helps against common faults, `next_step` a recommendation.
    notes : list of dict
        Findings, the most serious first: `text`, and `level` ('problem', 'warning', 'good' or
        'info').
    volumes : dict
        Of classes: counts and shares of each of the `classes` (`fills_prior`: its labels are all
        rows that the prior allows), `max_share` for the scale of the bars, `n_omitted` classes,
        precision of the sure predictions (`trust`), `class_words`, and `associations` of columns
        with the classes. Of numbers: `histogram` and statistics of `labels` and predictions
        (`rows`).
    map : dict
        Of each drawn row: coordinates in tenths of a unit (`x`, `y`), `index`, `ids`, `labeled`,
        `color` (its class, or its bin of `bin_edges`), `opacity` (2 full, 0 hollow), `value`
        (margin or number), the class by the `twin`, and `is_wrong`; also `axes`, `projection`, and
        the numbers of rows drawn (`n_drawn`) and beyond the border (`n_outside`).
    rows : dict
        Lists of rows. Of classes: `suggested` for a label, `least_certain`, `most_certain`,
        `contradicted` (labels that the model contradicts), a histogram of the `margins`, errors
        and calibration of `left_out` labels. Of numbers: `largest_residuals`, `lowest` and
        `highest` predictions, `outliers` among the labels, `rms_residual`. The first list has
        `cells` of the table's `columns`.
    graph : dict
        Size, degrees and components of the graph, `unlabeled_components`, the share of the edge
        weight between classes, and the graph's `construction`; empty if there was none.
    convergence : dict
        Status of the solver; by column its optimality and objective; history by iteration.
    twin : dict
        Rows on which the supervised twin differs (`n_differing`, `class_pairs`), or the
        `rms_difference`; empty if there is none.
    truth : dict
        Errors by the `column` of true labels, of the fit and of its twin, the `p_value` of their
        difference, confusions, or the `coverage` of prediction intervals; empty if there is none.
    choice : dict
        How the method was chosen: the compared `methods`, or the `reason`; empty if the user named
        it.
    path : dict
        Leave-one-out errors of the best `settings` of the `varied` parameters, and over one or two
        of these (`parameters`, `values`, `squared_errors`, `chosen_index`); `left_out_rmse` with
        the chosen parameters (regression); whether they have the largest likelihood
        (`by_likelihood`), or are the defaults because no setting was better by more than chance
        (`kept_default`). Empty if there was a single setting.
    repeat : dict
        Command, Python lines, parameters and versions.
    """

    kind: str
    fitted: dict[str, Any]
    notes: list[dict[str, Any]]
    volumes: dict[str, Any]
    map: dict[str, Any]
    rows: dict[str, Any]
    graph: dict[str, Any]
    convergence: dict[str, Any]
    twin: dict[str, Any]
    truth: dict[str, Any]
    choice: dict[str, Any]
    path: dict[str, Any]
    repeat: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as a dict that JSON can hold exactly."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: object) -> ReportData:
        """Make the figures from a dict of `to_dict`, which may have passed through JSON.

        Parameters
        ----------
        data : dict
            Result of `to_dict`.

        Returns
        -------
        ReportData
            The same figures.

        Raises
        ------
        ValueError
            If `data` is not such a dict.
        """
        kinds = {f.name: {"s": str, "l": list, "d": dict}[str(f.type)[0]] for f in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != set(kinds):
            raise ValueError("these are not the figures of a report that this version can show.")
        wrong = [name for name, kind in kinds.items() if not isinstance(data[name], kind)]
        if wrong or data["kind"] not in ("classification", "regression"):
            raise ValueError(
                f"the figures of the report are damaged in {(wrong or ['kind'])[0]!r}."
            )
        return cls(**data)
