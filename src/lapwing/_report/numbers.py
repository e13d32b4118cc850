"""What a regression says of its rows: distributions, residuals, the twin, the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from lapwing._report.rows import histogram
from lapwing._report.text import clean

N_SHADES = 7
_SCATTERED = 1500
_ID = 40  # letters of a name in a picture


@dataclass(frozen=True)
class NumberRows:
    """Numbers of n rows; NaN is unknown.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        What the user calls the rows.
    labeled : ndarray of bool of shape (n,)
        Which rows had a number to learn from.
    given, predicted : ndarray of shape (n,)
        The labels and the answers.
    twin, truth : ndarray of shape (n,) or None
        The supervised twin's answers and the true numbers, where there are any.
    """

    ids: NDArray[Any]
    labeled: NDArray[np.bool_]
    given: NDArray[np.float64]
    predicted: NDArray[np.float64]
    twin: NDArray[np.float64] | None
    truth: NDArray[np.float64] | None

    @classmethod
    def read(cls, predictions: Any, y: Any, twin: Any = None, truth: Any = None) -> NumberRows:
        """Read the numbers of a table's rows; a truth that is no number is unknown."""
        labeled = np.asarray(predictions.was_labeled, dtype=bool)
        return cls(
            np.asarray(predictions.ids),
            labeled,
            np.where(labeled, np.asarray(y, dtype=np.float64), np.nan),
            np.asarray(predictions.label, dtype=np.float64),
            None if twin is None else np.asarray(twin, dtype=np.float64),
            None if truth is None else np.array([_to_float(v) for v in truth]),
        )

    def shades(self) -> tuple[NDArray[np.intp], list[float]]:
        """Sort labels and other rows' predictions into shades.

        They are equally wide between the 2nd and the 98th percentile of the predictions.
        """
        low, high = np.quantile(self.predicted, [0.02, 0.98])
        edges = np.linspace(low, high, N_SHADES + 1) if high > low else np.full(N_SHADES + 1, low)
        shown = np.where(self.labeled, self.given, self.predicted)
        group = np.clip(np.searchsorted(edges, shown, "right") - 1, 0, N_SHADES - 1)
        return group, edges.tolist()

    def volumes(self) -> dict[str, Any]:
        """Compare the distribution of the labels with that of the predictions."""
        given = self.given[self.labeled]
        return {
            "histogram": histogram(given, 20, self.predicted),
            "labels": _summary(given),
            "rows": _summary(self.predicted),
        }

    def list_rows(self, n_listed: int) -> dict[str, Any]:
        """Name labelled rows with the largest residuals, and extreme answers."""
        known = np.flatnonzero(self.labeled)
        residual = np.abs(self.given - self.predicted)
        worst = known[np.argsort(-residual[known], kind="stable")][:n_listed]
        free = np.flatnonzero(~self.labeled)
        order = free[np.argsort(self.predicted[free], kind="stable")]
        few = min(n_listed, len(order) // 2)
        return {
            "residuals": [self._describe(i) for i in worst],
            "lowest": [self._describe(i) for i in order[:few]],
            "highest": [self._describe(i) for i in order[len(order) - few :][::-1]],
            "rms": float(np.sqrt(np.mean(residual[known] ** 2))),
        }

    def compare_with_twin(self, n_listed: int) -> dict[str, Any]:
        """Find where the supervised twin gives another number."""
        free = np.flatnonzero(~self.labeled)
        if self.twin is None or not len(free):
            return {}
        apart = np.abs(self.twin - self.predicted)
        order = free[np.argsort(-apart[free], kind="stable")]
        spread = float(np.std(self.predicted))
        return {
            "n_unlabeled": len(free),
            "rms": float(np.sqrt(np.mean(apart[free] ** 2))),
            "median": float(np.median(apart[free])),
            "spread": spread,
            "rows": [self._describe(i) for i in order[:n_listed]],
        }

    def compare_with_truth(self, name: str) -> dict[str, Any]:
        """Measure errors on the unlabelled rows whose true number is known."""
        if self.truth is None:
            return {}
        known = np.flatnonzero(~self.labeled & np.isfinite(self.truth))
        if not len(known):
            return {"name": name, "n": 0}
        result = {"name": name, "n": len(known), **self._errors(self.predicted, known)}
        result["twin"] = {} if self.twin is None else self._errors(self.twin, known)
        result["p_value"] = None
        if self.twin is not None:
            ours, twins = (np.abs(a - self.truth)[known] for a in (self.predicted, self.twin))
            result["p_value"] = _signed_rank(ours - twins)
        drawn = known
        if len(known) > _SCATTERED:
            drawn = np.sort(np.random.default_rng(0).choice(known, _SCATTERED, replace=False))
        result["ids"] = [clean(self.ids[i], _ID) for i in drawn]
        result["truth"] = self.truth[drawn].tolist()
        result["predicted"] = self.predicted[drawn].tolist()
        worst = known[np.argsort(-np.abs(self.truth - self.predicted)[known], kind="stable")]
        result["rows"] = [self._describe(i) for i in worst[:8]]
        return result

    def _errors(self, answers: NDArray[np.float64], known: NDArray[Any]) -> dict[str, Any]:
        assert self.truth is not None
        residual = answers[known] - self.truth[known]
        variance = float(np.var(self.truth[known]))
        return {
            "rmse": float(np.sqrt(np.mean(residual**2))),
            "mae": float(np.mean(np.abs(residual))),
            "r2": 1 - float(np.mean(residual**2)) / variance if variance > 0 else None,
        }

    def _describe(self, i: int) -> dict[str, Any]:
        def value(numbers: NDArray[np.float64] | None) -> float | None:
            return None if numbers is None or not np.isfinite(numbers[i]) else float(numbers[i])

        return {
            "row": int(i),
            "id": clean(self.ids[i]),
            "label": value(self.given),
            "predicted": value(self.predicted),
            "twin": value(self.twin),
            "truth": value(self.truth),
        }


def _signed_rank(difference: NDArray[np.float64]) -> float:
    """How probable so unequal errors are if neither is better: Wilcoxon's test of paired values."""
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
