"""What every estimator shares: reading points and labels, answering, forgetting an earlier fit.

A family of methods (`lapwing.estimators.manifold` for manifold regularisation, say) adds its own
`fit`; no numerics live here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from lapwing._arrays import is_sparse
from lapwing.classes.labels import labeled_rows
from lapwing.estimators import diagnostics
from lapwing.graphs import AffinityGraph, Laplacian, build_laplacian, default_graph
from lapwing.kernels import Kernel, make_kernel
from lapwing.problem import Problem, check_weights, make_problem
from lapwing.spaces import DecisionFunction, KernelExpansion, LinearFunction
from lapwing.spaces.base import Array

__all__ = ["SemiSupervisedEstimator", "Targets", "is_fitted_name", "only_labeled"]


class Targets(NamedTuple):
    """y, read: one row a row of X."""

    columns: Array  # (n_rows, c), read only where labelled
    labeled: Array  # (n_rows,) bool
    class_weights: Array  # (n_rows,) factors of the sample weights


def only_labeled(marker: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and weights of the rows that hold a label, to score on.

    scikit-learn's own scorers would count the unlabelled marker as one more class, and a search
    over partly labelled data would always choose by it.

    Raises
    ------
    ValueError
        If no row is labelled.
    """
    check_consistent_length(X, y, sample_weight)
    labeled = labeled_rows(y, marker)
    if labeled.all():
        return X, y, sample_weight
    X = X.tocsr() if is_sparse(X) else X  # not every sparse format has rows
    if not labeled.any():
        raise ValueError(
            f"score needs labelled rows, and all {len(labeled)} are unlabelled. Hold out rows with "
            "labels, e.g. with StratifiedKFold, which spreads them over the folds."
        )
    rows = np.flatnonzero(labeled)
    weights = None if sample_weight is None else _safe_indexing(sample_weight, rows)
    return _safe_indexing(X, rows), _safe_indexing(y, rows), weights


def is_fitted_name(name: str) -> bool:
    """Whether an attribute is one that a fit makes: ``alpha_``, not ``_private`` or ``graph``."""
    return name.endswith("_") and not name.startswith("_")


class SemiSupervisedEstimator(CallbackSupportMixin, BaseEstimator):
    """Points and labels in, decision values and answers out; see the module.

    A fit leaves `labeled_` and either `coef_` or `kernel_`, `X_fit_` and `alpha_`, with
    `intercept_`; a method whose functions are something else overrides `_function`.
    """

    _regression = False
    intercept_: Array

    @abstractmethod
    def _read_targets(self, y: Any) -> Targets:
        """Read y, and keep what decoding needs."""

    @abstractmethod
    def _transduce(self, values: Array) -> Array:
        """Answers from decision values (n, c)."""

    def _check_observations(self, problem: Problem) -> None:
        """Refuse a problem whose weights leave too little to learn from."""
        return

    def _begin(self, X: Any, y: Any) -> tuple[Any, Targets]:
        """Points and targets of a fit, read and checked."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Mark "
                "unlabelled points in y."
            )
        X = self._read_points(X, reset=True)
        check_consistent_length(X, y)
        return X, self._read_targets(y)

    def _read_points(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_min_samples=2 if reset else 1,
        )
        return _canonical(X) if is_sparse(X) else X

    def _make_kernel(self, problem: Problem) -> Kernel | None:
        """The kernel, its matrix forecast; None for the linear space, which forms no matrix."""
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return None
        kernel = make_kernel(
            self.kernel, problem.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        kernel.forecast(problem.X)
        return kernel

    def _make_problem(
        self,
        X: Any,
        targets: Targets,
        sample_weight: Any,
        recipe: Any,
        *,
        needs_graph: bool,
        merge: bool = True,
    ) -> Problem:
        """The problem; equal rows become one vertex where neither kernel nor graph is given."""
        weights = check_weights(sample_weight, X, targets.labeled) * targets.class_weights
        pairwise = self._pairwise()
        given_graph = isinstance(recipe, AffinityGraph)
        if pairwise:
            self._check_precomputed(X, recipe, needs_graph=needs_graph)
        else:
            diagnostics.warn_feature_scales(X, getattr(self, "feature_names_in_", None))
            diagnostics.warn_outlying_rows(X)
        problem: Problem = make_problem(
            X,
            targets.labeled,
            targets.columns,
            weights,
            merge=merge and not (pairwise or given_graph),
            pairwise=pairwise,
        )
        self.labeled_ = targets.labeled
        self.basis_ = problem.rows
        return problem

    def _check_precomputed(self, X: Any, recipe: Any, *, needs_graph: bool) -> None:
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' takes the kernel matrix as X, square, not {X.shape}."
            )
        if needs_graph and not isinstance(recipe, AffinityGraph):
            raise ValueError(
                "kernel='precomputed' leaves no points to build a graph from: pass the graph as "
                "graph=AffinityGraph(affinity) or a sparse matrix, or set gamma_I=0."
            )
        diagnostics.check_kernel_matrix(X, "X")

    def _make_laplacian(self, recipe: Any, X: Any, problem: Problem) -> Laplacian:
        if recipe is None:
            recipe = default_graph(problem.X, regression=self._regression)
        elif isinstance(recipe, AffinityGraph) and problem.n_points < X.shape[0]:
            rows = problem.rows  # a graph on all rows, some of which are left out
            recipe = AffinityGraph(
                recipe.affinity(X)[rows][:, rows],
                normalized=recipe.normalized,
                power=recipe.power,
            )
        return build_laplacian(recipe, problem.X, problem.X.dtype)

    def _forget(self) -> Mapping[str, Any]:
        """Drop what an earlier fit left: a fit that fails must not answer with its remains."""
        left = {name: value for name, value in vars(self).items() if is_fitted_name(name)}
        for name in left:
            delattr(self, name)
        return left

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def _answer(self, X: Any, problem: Problem, values: Array) -> None:
        """Answers for all rows, those left out of the fit included."""
        values = values[problem.vertex]
        left_out = np.flatnonzero(problem.vertex < 0)
        if len(left_out):
            values[left_out] = self._function()(self._restrict(X[left_out]))
        self.transduction_ = self._transduce(self._balance(values))

    def _balance(self, values: Array) -> Array:
        """Decision values of all rows, shifted where classes are held to a prior."""
        return values

    def _decision_values(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._read_points(X, reset=False)
        return self._function()(self._restrict(X))

    def _restrict(self, X: Any) -> Any:
        """Columns of a precomputed kernel that belong to the basis."""
        return X[:, self.basis_] if self._pairwise() and len(self.basis_) < X.shape[1] else X

    def _function(self) -> DecisionFunction:
        if hasattr(self, "coef_"):
            return LinearFunction(self.coef_.T, self.intercept_)
        return KernelExpansion(self.kernel_, self.X_fit_, self.alpha_, self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._pairwise()
        return tags

    def _pairwise(self) -> bool:
        """Whether X is a kernel matrix."""
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, str) and kernel == "precomputed"


def _canonical(X: Any) -> Any:
    """CSR points as scikit-learn's compiled loops read them; the user's matrix stays as it is.

    They take squared norms entry by entry, wrong where one is stored twice, and some know 32-bit
    indices only.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = type(X)(parts, shape=X.shape)
    return X
