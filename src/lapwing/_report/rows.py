"""Statistics of the rows: class volumes, certainty, comparison with the twin and the truth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, wilcoxon
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from lapwing._arrays import as_dense, is_sparse
from lapwing._report.text import NAME_LENGTH, clean, finite_or_none, label_key
from lapwing._tables.predictions import Predictions
from lapwing._tables.tables import Table
from lapwing.classes.markers import is_missing
from lapwing.plotting.calibration import observed_frequencies
from lapwing.plotting.intervals import within

CLASSES_SHOWN = 40
_CONFUSIONS = 12  # largest number of listed pairs
_MATRIX_CLASSES = 20  # of a confusion matrix; a larger one does not fit on a page
_GROUPS, _GROUP = 8, 5  # groups of labels by probability: largest number and smallest size
N_SHADES = 7
_SCATTER_POINTS = 1500  # largest number; of more rows a sample is drawn
_CELL_LENGTH = 60  # letters
_OUTLIER_SCORE = 3.5
_NORMAL_MEDIAN = 0.6745  # median of the absolute value of a standard normal variable
_ROUNDING = 1e-6  # relative to the range of the labels


@dataclass(frozen=True)
class ClassRows:
    """Classes of n rows as codes into `names`; -1 is unknown.

    Attributes
    ----------
    names : list of str
        The c classes of the fit, then those that occur only in the truth.
    n_classes : int
        Number c of classes of the fit.
    ids : ndarray of shape (n,)
        Names of the rows.
    labeled : ndarray of bool of shape (n,)
        Rows with a label.
    given, predicted : ndarray of int of shape (n,)
        Labels and predictions.
    runner_up : ndarray of int of shape (n,)
        The class of the second best score.
    margin : ndarray of shape (n,)
        Difference of the best and the second best score.
    sure : ndarray of bool of shape (n,)
        Unlabelled rows whose prediction is sure; the other unlabelled rows are to be checked.
    probability : ndarray of shape (n,) or None
        Probability of each prediction.
    twin, truth : ndarray of int of shape (n,) or None
        The supervised twin's predictions and the true classes, if there are any.
    """

    names: list[str]
    n_classes: int
    ids: NDArray[Any]
    labeled: NDArray[np.bool_]
    given: NDArray[np.intp]
    predicted: NDArray[np.intp]
    runner_up: NDArray[np.intp]
    margin: NDArray[np.float64]
    sure: NDArray[np.bool_]
    probability: NDArray[np.float64] | None
    twin: NDArray[np.intp] | None
    truth: NDArray[np.intp] | None

    @classmethod
    def read(
        cls,
        predictions: Predictions,
        y: NDArray[Any],
        twin: NDArray[Any] | None = None,
        truth: Sequence[Any] | None = None,
    ) -> ClassRows:
        """Encode labels, predictions, the twin's predictions and the truth of a table's rows."""
        assert predictions.classes is not None
        n_classes = len(predictions.classes)
        code = {label_key(c): k for k, c in enumerate(predictions.classes)}
        known = set() if truth is None else {label_key(v) for v in truth}
        for key in sorted(known - set(code) - {""}):
            code[key] = len(code)

        def encode(labels: Iterable[Any]) -> NDArray[np.intp]:
            return np.array([code.get(label_key(v), -1) for v in labels], dtype=np.intp)

        labeled = np.asarray(predictions.was_labeled, dtype=bool)
        order = np.argsort(np.asarray(predictions.scores), axis=1, kind="stable")
        margin = np.asarray(predictions.margin, dtype=np.float64)
        sure = np.zeros(margin.size, dtype=bool) if predictions.sure is None else predictions.sure
        return cls(
            [clean(key) for key in code],
            n_classes,
            np.asarray(predictions.ids),
            labeled,
            np.where(labeled, encode(y), -1),
            encode(predictions.label),
            order[:, -2],
            margin,
            sure & ~labeled,
            predictions.probability,
            None if twin is None else encode(twin),
            None if truth is None else encode(truth),
        )

    @property
    def to_check(self) -> NDArray[np.bool_]:
        """Unlabelled rows whose prediction is to be checked."""
        return ~self.labeled & ~self.sure

    def least_certain(self, n_rows: int) -> NDArray[np.intp]:
        """Return the unlabelled rows with the smallest margins, the least certain first."""
        free = np.flatnonzero(~self.labeled)
        return free[np.argsort(self.margin[free], kind="stable")][:n_rows]

    def volumes(
        self, prior: NDArray[np.float64] | None = None, most: int | None = CLASSES_SHOWN
    ) -> dict[str, Any]:
        """Count each class among the labels, the predictions of all rows, and the truth.

        `prior` are the known proportions of the classes of the fit, if there are any; `most` is the
        largest number of classes to list, None for all.
        """
        c, n = len(self.names), len(self.predicted)
        truth = np.zeros(0, dtype=np.intp) if self.truth is None else self.truth
        codes = (self.given[self.labeled], self.predicted, self.predicted[~self.labeled],
                 self.predicted[self.sure], truth[truth >= 0])  # fmt: skip
        labels, answers, free, sure, true = (np.bincount(part, minlength=c) for part in codes)
        has_truth = bool(true.any())
        allowed = np.full(c, n)
        if prior is not None:
            allowed[: len(prior)] = np.rint(np.asarray(prior) * n)
        shown = np.sort(np.argsort(-(answers + labels), kind="stable")[:most])
        margins = [self.margin[(self.predicted == k) & ~self.labeled] for k in shown]
        label_share, row_share = labels[shown] / max(1, labels.sum()), answers[shown] / n
        listed = records(
            name=[self.names[k] for k in shown],
            code=shown,
            n_labels=labels[shown],
            label_share=label_share,
            n_rows=answers[shown],
            row_share=row_share,
            n_unlabeled=free[shown],
            n_sure=sure[shown],
            n_to_check=(free - sure)[shown],
            median_margin=[float(np.median(m)) if m.size else None for m in margins],
            true_share=true[shown] / true.sum() if has_truth else None,
            fills_prior=(allowed <= labels)[shown],
        )
        return {
            "classes": listed,
            "n_omitted": c - len(listed),
            "max_share": float(max(label_share.max(), row_share.max())),
            "has_truth": has_truth,
            "n_sure": int(self.sure.sum()),
            "n_to_check": int(self.to_check.sum()),
        }

    def list_rows(self, n_listed: int, next_rows: NDArray[np.intp] | None = None) -> dict[str, Any]:
        """List the least and most certain unlabelled rows, and labels that the model contradicts.

        `next_rows` are the rows to label next, if they are known.
        """
        order = self.least_certain(len(self.margin))
        contradicted = np.flatnonzero(self.labeled & (self.given != self.predicted))
        contradicted = contradicted[np.argsort(-self.margin[contradicted], kind="stable")]
        most = order[max(n_listed, len(order) - n_listed) :][::-1]  # no row is in both lists
        return {
            "suggested": [] if next_rows is None else self._describe(next_rows),
            "least_certain": self._describe(order[:n_listed]),
            "most_certain": self._describe(most),
            "contradicted": self._describe(contradicted[:n_listed]),
            "n_contradicted": len(contradicted),
            "margins": histogram(self.margin[order]) if len(order) else {},
        }

    def _describe(self, rows: NDArray[np.intp]) -> list[dict[str, Any]]:
        names = np.array([*self.names, ""], dtype=object)  # the last is that of -1

        def name(codes: NDArray[np.intp] | None) -> NDArray[Any] | None:
            return None if codes is None else names[codes[rows]]

        return records(
            index=rows,
            id=[clean(self.ids[i]) for i in rows],
            label=name(self.given),
            predicted=name(self.predicted),
            runner_up=name(self.runner_up),
            margin=self.margin[rows],
            probability=None if self.probability is None else self.probability[rows],
            twin=name(self.twin),
            truth=name(self.truth),
        )

    def compare_with_twin(self, n_listed: int) -> dict[str, Any]:
        """Find the rows for which the supervised twin predicts another class."""
        free = ~self.labeled
        if self.twin is None or not free.any():
            return {}
        differ = np.flatnonzero(free & (self.twin != self.predicted))
        order = differ[np.argsort(-self.margin[differ], kind="stable")]
        pairs, counts = np.unique(
            np.stack([self.twin[differ], self.predicted[differ]]), axis=1, return_counts=True
        )
        ranked = np.argsort(-counts, kind="stable")[:n_listed]
        twin, ours = np.array(self.names, dtype=object)[pairs[:, ranked]]
        return {
            "n_unlabeled": int(free.sum()),
            "n_differing": len(differ),
            "share_differing": len(differ) / int(free.sum()),
            "class_pairs": records(twin=twin, predicted=ours, n_rows=counts[ranked]),
            "n_pairs_omitted": len(counts) - len(ranked),
            "rows": self._describe(order[:n_listed]),
        }

    def compare_with_truth(self, name: str) -> dict[str, Any]:
        """Count errors and confusions on the unlabelled rows whose true class is known."""
        if self.truth is None:
            return {}
        known = ~self.labeled & (self.truth >= 0)
        if not known.any():
            return {"column": name, "n": 0}
        true, answer = self.truth[known], self.predicted[known]
        nothing: dict[str, Any] = {"twin_n_errors": None, "twin_error_rate": None, "p_value": None}
        result = {"column": name} | nothing | _confusions(true, answer, self.names)
        if self.twin is not None:
            missed = self.twin[known] != true
            result |= {
                "twin_n_errors": int(missed.sum()),
                "twin_error_rate": float(missed.mean()),
                "p_value": _mcnemar(missed, true != answer),
            }
        return result

    def compare_left_out(
        self, rows: NDArray[np.intp], probabilities: NDArray[np.float64]
    ) -> dict[str, Any]:
        """Count errors and confusions of left-out labels, and compute their probabilities.

        Parameters
        ----------
        rows : ndarray of int of shape (m,)
            Rows of the labels.
        probabilities : ndarray of shape (m, n_classes)
            Class probabilities, each by the fit without the label.
        """
        if not len(rows):
            return {}
        given, answer = self.given[rows], probabilities.argmax(axis=1)
        found = _confusions(given, answer, self.names)
        return found | {"calibration": _calibration(probabilities.max(axis=1), given == answer)}

    def signs(self, drawn: NDArray[np.intp]) -> dict[str, Any]:
        """Return the colour, opacity, value and correctness of each row `drawn` on the map."""
        given = np.where(self.labeled, self.given, self.predicted)[drawn]
        twin = (
            []
            if self.twin is None
            else np.where(self.labeled, self.given, self.twin)[drawn].tolist()
        )
        wrong = []
        if self.truth is not None:
            missed = ~self.labeled & (self.truth >= 0) & (self.truth != self.predicted)
            wrong = missed[drawn].tolist()
        return {
            "color": given.tolist(),
            "opacity": np.where(self.to_check, 0, 2)[drawn].tolist(),
            "value": self.margin[drawn].tolist(),
            "classes": self.names,
            "twin": twin,
            "is_wrong": wrong,
        }


def _confusions(
    true: NDArray[np.intp], answer: NDArray[np.intp], names: list[str]
) -> dict[str, Any]:
    """Count errors and confusions of answers."""
    c, missed = len(names), true != answer
    found, given, right = (np.bincount(k, minlength=c) for k in (true, answer, true[~missed]))
    shown = np.flatnonzero(found + given)
    # Only pairs that occur: a matrix of all classes would be far larger than the rows.
    pairs, n_rows = np.unique(true[missed] * c + answer[missed], return_counts=True)
    largest = np.argsort(-n_rows, kind="stable")[:_CONFUSIONS]
    truths, predicted = np.array(names, dtype=object)[np.stack(divmod(pairs[largest], c))]
    matrix: list[list[int]] = []
    if (m := len(shown)) <= _MATRIX_CLASSES:
        cells = np.searchsorted(shown, true) * m + np.searchsorted(shown, answer)
        matrix = np.bincount(cells, minlength=m * m).reshape(m, m).tolist()
    return {
        "n": len(true),
        "n_errors": int(missed.sum()),
        "error_rate": float(missed.mean()),
        "classes": [names[k] for k in shown],
        "codes": shown.tolist(),
        "matrix": matrix,
        "recall": [float(right[k] / found[k]) if found[k] else None for k in shown],
        "precision": [float(right[k] / given[k]) if given[k] else None for k in shown],
        "confusions": records(truth=truths, predicted=predicted, n_rows=n_rows[largest]),
    }


def _calibration(
    probability: NDArray[np.float64], right: NDArray[np.bool_]
) -> list[dict[str, Any]]:
    """Compute the accuracy in groups of equal size by probability; none for too few labels.

    Each group has the exact 90 % interval of a binomial proportion.
    """
    n_groups = min(_GROUPS, len(probability) // _GROUP)
    if n_groups < 2:
        return []
    group = np.empty(len(probability), dtype=np.intp)
    for k, rows in enumerate(np.array_split(np.argsort(probability, kind="stable"), n_groups)):
        group[rows] = k
    names = ("probability", "accuracy", "n_labels", "low", "high")
    found = observed_frequencies(probability, right, group, 0.9, "exact")
    return records(**dict(zip(names, found, strict=True)))


def even_sample(n: int, most: int) -> NDArray[np.intp]:
    """Return all of n rows, or a uniform random sample of them, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def records(**columns: Sequence[Any] | NDArray[Any] | None) -> list[dict[str, Any]]:
    """Return a dict for each row of some columns, in types of JSON; a column may be None."""
    lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns.values()]
    rows = zip(*(repeat(None) if c is None else c for c in lists), strict=False)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return the p-value of McNemar's exact test that two predictors err equally often."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    if only_first + only_second == 0:
        return 1.0
    return float(binomtest(only_first, only_first + only_second).pvalue)


def histogram(values: NDArray[Any], n_bins: int = 24, *more: NDArray[Any]) -> dict[str, Any]:
    """Count values in equal bins; the bins span all series, each has its own counts."""
    together = np.concatenate([values, *more]).astype(np.float64)
    low, high = float(together.min()), float(together.max())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, n_bins + 1)
    series = [np.histogram(v, bins=edges)[0].tolist() for v in (values, *more)]
    return {"low": low, "high": high, "series": series}


@dataclass(frozen=True)
class NumberRows:
    """Numbers of n rows; NaN is unknown.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        Names of the rows.
    labeled : ndarray of bool of shape (n,)
        Rows with a label.
    given, predicted : ndarray of shape (n,)
        Labels and predictions.
    twin, truth : ndarray of shape (n,) or None
        The supervised twin's predictions and the true numbers, if there are any.
    interval : ndarray of shape (n, 2) or None
        Ends of the prediction intervals, if there are any.
    """

    ids: NDArray[Any]
    labeled: NDArray[np.bool_]
    given: NDArray[np.float64]
    predicted: NDArray[np.float64]
    twin: NDArray[np.float64] | None
    truth: NDArray[np.float64] | None
    interval: NDArray[np.float64] | None = None

    @classmethod
    def read(
        cls,
        predictions: Predictions,
        y: NDArray[Any],
        twin: NDArray[Any] | None = None,
        truth: Sequence[Any] | None = None,
    ) -> NumberRows:
        """Read the numbers of a table's rows; a truth that is not a number is unknown."""
        labeled = np.asarray(predictions.was_labeled, dtype=bool)
        return cls(
            np.asarray(predictions.ids),
            labeled,
            np.where(labeled, np.asarray(y, dtype=np.float64), np.nan),
            np.asarray(predictions.label, dtype=np.float64),
            None if twin is None else np.asarray(twin, dtype=np.float64),
            None if truth is None else np.array([_to_float(v) for v in truth]),
            predictions.interval,
        )

    def signs(self, drawn: NDArray[np.intp]) -> dict[str, Any]:
        """Return the colour, opacity and value of each row `drawn` on the map.

        Colours are bins of equal width between the 2nd and the 98th percentile of the predictions.
        """
        low, high = np.quantile(self.predicted, [0.02, 0.98])
        edges = np.linspace(low, high, N_SHADES + 1) if high > low else np.full(N_SHADES + 1, low)
        shown = np.where(self.labeled, self.given, self.predicted)[drawn]
        color = np.clip(np.searchsorted(edges, shown, "right") - 1, 0, N_SHADES - 1)
        return {
            "color": color.tolist(),
            "opacity": [2] * len(drawn),
            "value": shown.tolist(),
            "bin_edges": edges.tolist(),
            "twin": [],
            "is_wrong": [],
        }

    def volumes(self) -> dict[str, Any]:
        """Compare the distribution of the labels with that of the predictions."""
        given = self.given[self.labeled]
        return {
            "histogram": histogram(given, 20, self.predicted),
            "labels": _summary(given),
            "rows": _summary(self.predicted),
        }

    def list_rows(self, n_listed: int, left_out: NDArray[Any] | None) -> dict[str, Any]:
        """List labelled rows with the largest residuals, and extreme predictions.

        "outliers" has the row with the largest error if it is an outlier. The errors are the
        leave-one-out residuals `left_out`, as the residual of a label that the fit follows closely
        is never large; if these are not known for each row, the residuals.
        """
        known = np.flatnonzero(self.labeled)
        residual = np.abs(self.given - self.predicted)
        worst = known[np.argsort(-residual[known], kind="stable")][:n_listed]
        free = np.flatnonzero(~self.labeled)
        order = free[np.argsort(self.predicted[free], kind="stable")]
        few = min(n_listed, len(order) // 2)
        rms = float(np.sqrt(np.mean(residual[known] ** 2)))
        errors = (self.given - self.predicted)[known]
        if left_out is not None and len(left_out) == len(known):  # no row occurs twice
            errors = left_out
        return {
            "largest_residuals": self._describe(worst),
            "lowest": self._describe(order[:few]),
            "highest": self._describe(order[len(order) - few :][::-1]),
            "rms_residual": rms,
            "outliers": [
                row | {"predicted": row["label"] - float(errors[at])}
                for at in _outliers(errors, np.ptp(self.given[known]))
                for row in self._describe(known[[at]])
            ],
        }

    def compare_with_twin(self, n_listed: int) -> dict[str, Any]:
        """Find the rows for which the supervised twin predicts another number."""
        free = np.flatnonzero(~self.labeled)
        if self.twin is None or not len(free):
            return {}
        distance = np.abs(self.twin - self.predicted)
        order = free[np.argsort(-distance[free], kind="stable")]
        spread = float(np.std(self.predicted))
        return {
            "n_unlabeled": len(free),
            "rms_difference": float(np.sqrt(np.mean(distance[free] ** 2))),
            "median_difference": float(np.median(distance[free])),
            "std_predictions": spread,
            "rows": self._describe(order[:n_listed]),
        }

    def compare_with_truth(self, name: str) -> dict[str, Any]:
        """Measure errors on the unlabelled rows whose true number is known."""
        if self.truth is None:
            return {}
        known = np.flatnonzero(~self.labeled & np.isfinite(self.truth))
        if not len(known):
            return {"column": name, "n": 0}
        result = {"column": name, "n": len(known), **self._errors(self.predicted, known)}
        result["twin"] = {} if self.twin is None else self._errors(self.twin, known)
        result["p_value"] = None
        if self.twin is not None:
            ours, twins = (np.abs(a - self.truth)[known] for a in (self.predicted, self.twin))
            result["p_value"] = _signed_rank(ours - twins)
        drawn = known[even_sample(len(known), _SCATTER_POINTS)]
        result["ids"] = [clean(self.ids[i], NAME_LENGTH) for i in drawn]
        result["true"] = self.truth[drawn].tolist()
        result["predicted"] = self.predicted[drawn].tolist()
        result["intervals"], result["coverage"] = [], None
        if self.interval is not None:
            low, high = self.interval[known].T
            result["coverage"] = float(within(low, high, self.truth[known]).mean())
            result["intervals"] = self.interval[drawn].tolist()
        worst = known[np.argsort(-np.abs(self.truth - self.predicted)[known], kind="stable")]
        result["rows"] = self._describe(worst[:8])
        return result

    def _errors(self, answers: NDArray[np.float64], known: NDArray[Any]) -> dict[str, Any]:
        assert self.truth is not None
        pair = self.truth[known], answers[known]
        return {
            "rmse": float(root_mean_squared_error(*pair)),
            "mae": float(mean_absolute_error(*pair)),
            "r2": float(r2_score(*pair)) if np.ptp(pair[0]) > 0 else None,
        }

    def _describe(self, rows: NDArray[np.intp]) -> list[dict[str, Any]]:
        def value(numbers: NDArray[np.float64] | None) -> list[float | None] | None:
            return None if numbers is None else [finite_or_none(v) for v in numbers[rows]]

        return records(
            index=rows,
            id=[clean(self.ids[i]) for i in rows],
            label=value(self.given),
            predicted=value(self.predicted),
            twin=value(self.twin),
            truth=value(self.truth),
        )


def _outliers(errors: NDArray[np.float64], spread: float) -> list[int]:
    """Return the index of the largest error if it is an outlier by its modified z-score."""
    size = np.abs(np.where(np.isfinite(errors), errors, 0.0))
    at = int(np.argmax(size))
    # Scores above 3.5 are outliers by the rule of B. Iglewicz and D. Hoaglin, "How to detect and
    # handle outliers", 1993; errors of labels that are fitted exactly are rounding errors.
    far = _NORMAL_MEDIAN * size[at] > _OUTLIER_SCORE * np.median(size)
    return [at] if far and size[at] > _ROUNDING * spread else []


def _signed_rank(difference: NDArray[np.float64]) -> float:
    """Return the p-value of Wilcoxon's signed-rank test of differences around zero."""
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, zero_method="zsplit").pvalue)


def _to_float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _summary(values: NDArray[np.float64]) -> dict[str, float]:
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
    return {
        "n": int(values.size),
        "mean": float(values.mean()),
        "std": float(values.std()),
        "min": float(low),
        "median": float(middle),
        "max": float(high),
    }


def row_columns(
    table: Table,
    rows: Sequence[int],
    *,
    most: int | None = None,
    exact: bool = False,
    texts: Collection[str] = (),
) -> dict[str, list[str]]:
    """Format the columns of some rows as in the file: whole numbers without a fraction.

    Parameters
    ----------
    table : Table
        Encoded and omitted columns are given as in the file. For a sparse table, only columns in
        which these rows have an entry are given.
    rows : sequence of int
        Indices of the rows.
    most : int, default=None
        Largest number of columns; None means all.
    exact : bool, default=False
        Whether to write all digits and letters, for programs.
    texts : collection of str, default=()
        Columns of texts, cut after 300 letters instead of 60.

    Returns
    -------
    dict of str to list of str
        The cells of each column; an empty string for an empty cell.
    """
    return {
        name: [_cell(value, exact=exact, is_text=name in texts) for value in values]
        for name, values in row_cells(table, rows, most=most).items()
    }


def row_cells(
    table: Table, rows: Sequence[int], *, most: int | None = None
) -> dict[str, Sequence[Any]]:
    """Return the unformatted cells of `row_columns`: numbers and texts, NaN or None if empty."""
    where = np.asarray(rows, dtype=np.intp)
    place = {name: j for j, name in enumerate(table.feature_names)}
    names = list(table.originals or place)
    if is_sparse(table.X):
        names = [table.feature_names[j] for j in np.unique(table.X[where].nonzero()[1])]
    found: dict[str, Sequence[Any]] = {}
    for name in islice(names, most):
        kept = table.originals.get(name)
        found[name] = (
            feature_values(table.X, place[name], where) if kept is None else kept.at(where)
        )
    return found


def feature_values(X: Any, column: int, rows: NDArray[np.intp]) -> list[Any]:
    """Return a column of a table's features in some rows; missing values are None or NaN."""
    if hasattr(X, "iter_rows"):
        return list(X.to_series(column)[rows.tolist()])
    if hasattr(X, "iloc"):
        found = X.iloc[rows.tolist(), column]
        return list(found.astype(object).where(found.notna(), None))  # pandas.NA equals nothing
    block = X[rows][:, [column]]
    values: list[Any] = as_dense(block).ravel().tolist()
    return values


def _cell(value: Any, *, exact: bool, is_text: bool = False) -> str:
    if is_missing(value) and not isinstance(value, str):
        return ""
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value) if exact else f"{value:.6g}"
    if is_text and not exact:
        return clean(" ".join(str(value).split()))
    return str(value) if exact else clean(value, _CELL_LENGTH)
