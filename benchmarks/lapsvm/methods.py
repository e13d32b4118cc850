"""Methods of the comparison, with the paper's parameters, and results of their fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lapsvm.paper import NormWeights
from benchmarks.lapsvm.setting import Setting
from benchmarks.shared.labels import error_rate, macro_error_rate
from benchmarks.shared.measuring import timed_fit
from lapwing import LapRLSClassifier, LapSVC


@dataclass(frozen=True)
class Method:
    """Method to train a classifier.

    Attributes
    ----------
    title : str
        Name in the paper's tables.
    make : callable
        Function of the common arguments that returns an unfitted estimator.
    weights : str
        Method of the paper whose parameters are used.
    supervised : bool
        Whether it uses labelled points only.
    validated : bool
        Whether the fit uses the validation set.
    precise : bool
        Whether it is run for its objective, on the first split of float64 problems only.
    slow : bool
        Whether it takes minutes on the large sets, and is run on the first split only; 'exact' has
        the same solution.
    """

    title: str
    make: Callable[..., Any]
    weights: str
    supervised: bool = False
    validated: bool = False
    precise: bool = False
    slow: bool = False


def _svc(**fixed: Any) -> Callable[..., Any]:
    # No method has a bias: with a normalised Laplacian this is the model of the paper's results
    # (errata L3), and supervised methods are compared as the same model with gamma_I = 0.
    return lambda **common: LapSVC("precomputed", fit_intercept=False, **fixed, **common)


def _rls(**fixed: Any) -> Callable[..., Any]:
    return lambda **common: LapRLSClassifier("precomputed", fit_intercept=False, **fixed, **common)


METHODS: dict[str, Method] = {
    "svm": Method("SVM", _svc(loss="hinge"), "svm", supervised=True),
    "rlsc": Method("RLSC", _rls(), "rlsc", supervised=True),
    "laprls": Method("LapRLSC", _rls(), "laprls"),
    "dual": Method("LapSVM Dual (hinge)", _svc(loss="hinge", solver="dual"), "dual", slow=True),
    "newton": Method("LapSVM Primal (Newton)", _svc(solver="newton"), "newton", slow=True),
    "exact": Method("LapSVM exact (auto)", _svc(solver="auto"), "newton"),
    "pcg": Method("PCG to its tolerance", _svc(solver="pcg"), "newton", precise=True),
    "stability": Method(
        "PCG [Stability Check]", _svc(solver="pcg", stopping="stability"), "stability"
    ),
    "validation": Method(
        "PCG [Validation Check]",
        _svc(solver="pcg", stopping="validation"),
        "validation",
        validated=True,
    ),
    "mixed": Method(
        "PCG [Mixed Check]", _svc(solver="pcg", stopping="mixed"), "mixed", validated=True
    ),
}
STOPS = ("stability", "validation", "mixed")


@dataclass(frozen=True)
class MethodRun:
    """Result of one method on one split.

    Attributes
    ----------
    errors : mapping of str to float
        Error rates in % on L, U, V and T.
    seconds : float
        Time of `fit` with given kernel matrix and graph.
    n_iter : int
        Iterations of the solver.
    objective : tuple of float
        Objective of every one-vs-rest column.
    solver, status : str
        Solver, and reason for stopping.
    """

    errors: Mapping[str, float]
    seconds: float
    n_iter: int
    objective: tuple[float, ...]
    solver: str
    status: str


@dataclass(frozen=True)
class SplitRun:
    """Results of a split, without its kernel matrix.

    Attributes
    ----------
    outcomes : mapping of str to MethodRun
    references : mapping of str to float
        Seconds of reference computations.
    """

    outcomes: Mapping[str, MethodRun]
    references: Mapping[str, float]

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> SplitRun:
        """Restore the results from the content of a file."""
        outcomes = {
            name: MethodRun(**{**run, "objective": tuple(run["objective"])})
            for name, run in content["outcomes"].items()
        }
        return cls(outcomes, content["references"])


def run_method(method: Method, setting: Setting, weights: NormWeights) -> MethodRun:
    """Fit a method on a split, and compute errors on L, U, V and T."""
    n_basis = setting.n_labeled if method.supervised else setting.n_train
    estimator = method.make(
        gamma_A=weights.gamma_A,
        gamma_I=weights.gamma_I,
        graph=None if method.supervised else setting.graph,
    )
    # A copy, not included in the time, as supervised methods would be slower with a strided view.
    K = np.ascontiguousarray(setting.K[:n_basis, :n_basis]) if method.supervised else setting.K
    options = {"validation_data": setting.validation_data} if method.validated else {}
    _, seconds = timed_fit(estimator, K, setting.y_train[:n_basis], **options)
    predicted = np.concatenate(
        [estimator.predict(setting.K[:, :n_basis]), estimator.predict(setting.K_new[:, :n_basis])]
    )
    return MethodRun(
        errors_on_parts(setting, predicted),
        seconds,
        int(np.max(estimator.n_iter_)),
        tuple(float(value) for value in np.atleast_1d(estimator.objective_)),
        str(estimator.solver_),
        str(estimator.status_),
    )


def errors_on_parts(setting: Setting, predicted: NDArray[np.int64]) -> dict[str, float]:
    """Compute error rates in % on L, U, V and T of predictions in the order of `Setting.y`."""
    rate = macro_error_rate if setting.problem.macro else error_rate
    return {name: rate(setting.y[part], predicted[part]) for name, part in setting.parts().items()}
