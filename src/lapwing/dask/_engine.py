"""Fits of estimators to points on a cluster.

An engine is a subclass of an in-memory estimator, whose code prepares and solves. It overrides how
X and y are read, and keeps the predictions for all points on the workers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.random import sample_without_replacement

from lapwing._arrays import Array
from lapwing.classes.decoding import predict_codes
from lapwing.classes.probabilities import gaps_of, sharpness_of_gaps, usual_gap
from lapwing.classes.volumes import ClassOffsets, prior_offsets
from lapwing.dask._data import ClusterPoints, Labels
from lapwing.dask._row_blocks import RowBlocks
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.parameters import check_parameters
from lapwing.estimators.prepared import Prepared, Solution, Targets, Tick
from lapwing.graphs.base import check_magnitude
from lapwing.graphs.order_statistics import quantiles
from lapwing.kernels import WIDTHS, Kernel, make_kernel
from lapwing.problem import check_weights

_LOG = logging.getLogger("lapwing")

# Number of sampled rows for class offsets; volumes then have an error of about 0.2 % of all points.
_OFFSET_ROWS = 2**17


class _LoggedStages:
    """Stages of a fit, with their times in the log."""

    @contextmanager
    def stage(self, name: str, max_steps: int | None = 0) -> Iterator[Tick]:
        start = time.monotonic()
        yield lambda attributes: False
        _LOG.info("%s: %.1f s", name, time.monotonic() - start)


class _IdentityRows:
    """Identity map from points to rows of X."""

    def __getitem__(self, index: Any) -> Any:
        return index


@dataclass(frozen=True, eq=False)
class ClusterProblem:
    """Counterpart of `lapwing.problem.Problem` whose points stay on the workers.

    Equal rows are separate points, because finding them would send rows from worker to worker.

    Attributes
    ----------
    X : ClusterPoints
    index : ndarray of shape (l,)
        Row of each observation, ascending.
    targets : ndarray of shape (l, c)
    weights : ndarray of shape (l,)
    weights_of_all : RowBlocks of shape (n, 1) or None
        Sample weights of all rows; None for 1.
    """

    X: ClusterPoints
    index: Array
    targets: Array
    weights: Array
    weights_of_all: RowBlocks | None = None

    rows = _IdentityRows()

    @property
    def n_points(self) -> int:
        return self.X.shape[0]

    @property
    def n_unlabeled(self) -> int:
        return self.n_points - len(self.index)

    @property
    def observed(self) -> Array:
        """Row of each observation."""
        return self.index

    @property
    def labeled_rows(self) -> Array:
        """Mask of the labelled rows with weights, which is True for all."""
        return np.ones(len(self.index), dtype=bool)

    @property
    def row_weights(self) -> Array:
        return self.weights


class OnCluster:
    """Base of all engines, listed before the estimator among their bases."""

    # Whether blocks of points may be sparse.
    _takes_sparse: ClassVar[bool] = False

    def fit_points(self: Any, X: ClusterPoints, y: Labels, weights: RowBlocks | None) -> RowBlocks:
        """Fit, set the attributes, and return the decision values of all points."""
        if X.stored is not None and not self._takes_sparse:
            raise TypeError(
                "X has sparse chunks, which only DaskS3VC takes. Use X.map_blocks(lambda block: "
                "block.toarray()), with fewer features if memory is short."
            )
        check_parameters(self)
        self._check_combination()
        self._refuse()
        self.n_features_in_ = X.shape[1]
        if X.names is not None:
            self.feature_names_in_ = X.names
        targets: Targets = self._read_targets(y.column)
        input_checks.warn_labels(targets.warning)
        self._keep_targets(targets)
        stages = _LoggedStages()
        problem = self._problem(X, y, targets, weights)
        prepared = self._prepare(targets, problem, stages)
        solution = self._solve(prepared, stages)
        with stages.stage("answers"):
            values: RowBlocks = self._finish(X, prepared, solution)
        return values

    def _refuse(self) -> None:
        """Raise ValueError for parameters that clusters do not support."""

    def _problem(
        self: Any, X: ClusterPoints, y: Labels, targets: Targets, weights: RowBlocks | None
    ) -> ClusterProblem:
        sample = X.sample()
        check_magnitude(np.array([X.largest]))
        input_checks.warn_feature_scales(sample, X.names)
        input_checks.warn_outlying_rows(sample)
        given = None
        if weights is not None:
            given = np.ones(len(targets.labeled))
            given[: len(y.rows)] = weights[y.rows][:, 0]
            _check_signs(given[: len(y.rows)], y.rows)
        checked = check_weights(given, targets.labeled, targets.class_weights)
        known = np.flatnonzero(targets.labeled & (checked > 0))
        problem = ClusterProblem(X, y.rows[known], targets.columns[known], checked[known], weights)
        targets.check(targets, problem)  # type: ignore[arg-type]
        return problem

    def _finish(
        self: Any, X: ClusterPoints, prepared: Prepared[Any, Any], solution: Solution
    ) -> Any:
        self._keep_function(solution.function.attributes)
        solution.assign(self)
        values = self._answer(X, prepared.problem, solution)
        self._diagnose(prepared, solution)
        return values

    def _answer(self: Any, X: Any, problem: Any, solution: Solution) -> Any:
        self._warn_constant(X, problem, solution, "The fitted values")
        return solution.values

    def _make_kernel(self: Any, problem: Any) -> Kernel | None:
        """Return the kernel, with its width from all points and its centre from a sample."""
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return None
        gamma = self.gamma
        if isinstance(gamma, str) and gamma in WIDTHS:
            total = float(problem.X.variances().sum())
            gamma = WIDTHS[gamma] * (1.0 / total if total > 0 and np.isfinite(total) else 1.0)
        sample = problem.X.sample()
        return make_kernel(self.kernel, sample, gamma=gamma, degree=self.degree, coef0=self.coef0)


class ClassifierOnCluster(OnCluster):
    """Base of engines of classifiers."""

    def _offsets(self: Any, values: Any) -> ClassOffsets:
        """Compute the class offsets for the class prior from a sample of the values."""
        n = values.shape[0]
        rows = sample_without_replacement(n, min(n, _OFFSET_ROWS), random_state=0)
        return prior_offsets(values[np.sort(rows)], self.class_prior_)

    def _answer(self: Any, X: Any, problem: Any, solution: Solution) -> Any:
        values: RowBlocks = self._shift(solution.values)
        known = values.at(problem.index)
        n_classes = len(self.classes_)
        counts = values.total(_class_counts, known, n_classes)
        if problem.n_unlabeled >= 2 and np.count_nonzero(counts) == 1:
            label = self.classes_.tolist()[int(np.argmax(counts))]
            diagnostics.warn_all_one_class(problem.n_unlabeled, label)
        else:
            self._warn_constant(X, problem, solution, "Decision values")
        self._sharpen_from(values, known, problem, solution)
        return values

    def _sharpen_from(
        self: Any, values: RowBlocks, known: Any, problem: Any, solution: Any
    ) -> None:
        """Do as `SemiSupervisedClassifier._sharpen`, with the median computed on the workers."""
        own = usual_gap(values[problem.index])
        gap = own
        if problem.n_unlabeled:
            gaps = values.view(_gaps, known)
            gap = float(quantiles(gaps, problem.n_unlabeled, [0.5])[0][0, 0])
            if gap == 0:
                gap = float(gaps.total(np.sum)) / problem.n_unlabeled
        left_out, codes, rows = self._left_out_labels(problem, solution)
        found = sharpness_of_gaps(
            self._sharpness_prior, gap, own, max(2, values.n_columns), left_out, codes
        )
        self._keep_sharpness(found, left_out, rows)


def _check_signs(weights: Array, rows: Array) -> None:
    """Check that no labelled row has a negative weight."""
    if (weights < 0).any():
        i = int(np.argmin(weights))
        raise ValueError(
            f"sample_weight must not be negative on labelled rows: row {rows[i]} has {weights[i]}."
        )


def _unlabeled(block: Array, known: tuple[Array, Array]) -> Array:
    return np.delete(block, known[1], axis=0)


def _class_counts(block: Array, known: tuple[Array, Array], n_classes: int) -> Array:
    return np.bincount(predict_codes(_unlabeled(block, known)), minlength=n_classes)


def _gaps(block: Array, known: tuple[Array, Array]) -> Array:
    return gaps_of(_unlabeled(block, known))[:, None]
