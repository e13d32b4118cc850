"""The record of a fit, which the terminal, the report, the files and the page read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
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
    """How the next step is taken, on the command line or in Python.

    Attributes
    ----------
    label : str
        A sentence on where the rows to label are found; empty if that is said elsewhere.
    predict : str
        What predicts new rows.
    """

    label: str
    predict: str


@dataclass(frozen=True)
class Origin:
    """What a fit was asked for.

    Attributes
    ----------
    seed : int or None
        Of what is drawn at random.
    hints : Hints
        How the next step is taken.
    command : str
        The command line; empty for a fit in Python.
    plain_command : str
        The command that fits the same without choosing again; empty if nothing was chosen.
    truth : str
        The column of known answers; empty if there is none.
    layout : tuple of str
        The two columns of the map; empty if it is drawn by principal components.
    """

    seed: int | None
    hints: Hints
    command: str = ""
    plain_command: str = ""
    truth: str = ""
    layout: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cures:
    """What helps against the usual faults of a fit, by the parameters of its method.

    Attributes
    ----------
    less : str
        Gives the unlabelled rows less weight.
    smoother : str
        Makes the problem easier for the solver.
    closer : str
        Lets the function follow the labels more closely.
    """

    less: str
    smoother: str
    closer: str


@dataclass(frozen=True)
class MethodFacts:
    """The method of a fit in words.

    Attributes
    ----------
    name : str
        On the command line.
    solver : str
        Name of the solver.
    taught_by : str
        How unlabelled rows taught the estimator; empty if they did not.
    advice : Cures
        What helps against the usual faults.
    margin_note : str
        Why margins say little of how sure an answer is; empty where they do.
    twin : str
        The supervised twin; empty where there is none.
    """

    name: str
    solver: str
    taught_by: str
    advice: Cures
    margin_note: str = ""
    twin: str = ""


@dataclass(frozen=True)
class Choice:
    """How the method of a fit was chosen.

    Attributes
    ----------
    comparison : Comparison or None
        None where nothing was compared.
    skipped : tuple of str
        What would have taken too long to be compared.
    words : str
        Why the method was taken where nothing was compared.
    """

    comparison: Comparison | None = None
    skipped: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True, eq=False)
class FittedTwin:
    """The supervised twin: the same estimator, which unlabelled rows taught nothing.

    Attributes
    ----------
    estimator : estimator
        Fitted to transformed points.
    answers : ndarray of shape (n,)
        Its labels or numbers for all rows.
    """

    estimator: Any
    answers: NDArray[Any]


@dataclass(frozen=True)
class Trust:
    """Precision of the sure answers of a fit; see `lapwing.model_selection.sure_rows`.

    Attributes
    ----------
    level : float
        The share of right answers that is asked of them.
    threshold : float or None
        Least probability of a sure answer; None if no answer is sure.
    expected : float or None
        The share of right answers that is expected.
    low, high : float or None
        Between which it lies with a probability of 90 %.
    n_tests : int
        Labels that a fit without them was tested on.
    n_needed : int
        Labels from which on the best level can be claimed; 0 if no number is enough.
    """

    level: float
    threshold: float | None
    expected: float | None
    low: float | None
    high: float | None
    n_tests: int
    n_needed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class FitRecord:
    """A fit, its rows and its answers.

    Attributes
    ----------
    method : MethodFacts
        How it was fitted.
    origin : Origin
        What was asked for.
    table : Table
        What was learnt from.
    pipeline : Pipeline
        Preprocessing and estimator, fitted; takes features as they are in the file. Its last step
        is the estimator.
    points : ndarray or CSR of shape (n, d)
        What the estimator was given.
    vertex : ndarray of int of shape (n,)
        The graph's vertex of each row: equal rows are one.
    predictions : Predictions
        Label, scores and margin of every row.
    scaling : str
        What was done to the columns.
    twin : FittedTwin or None
        None where no report is wanted, or there is none.
    trust : Trust or None
        Which answers can be taken over; None for numbers.
    choice : Choice or None
        None where the user named the method.
    telling : ndarray of int or None
        The rows that it would help most to label next; None if none were asked for, or the graph
        that tells them would take too long.
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
    telling: NDArray[np.intp] | None = None

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.pipeline[-1]

    @cached_property
    def truth(self) -> list[Any] | None:
        """Known answers, None where there is none; None for a table without them."""
        if self.table.truth is None:
            return None
        blank = self.table.unlabeled
        return [None if v == blank or v != v else v for v in self.table.truth.tolist()]
