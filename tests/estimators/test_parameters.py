"""Errors of parameters: name, value and allowed values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import lapwing
from lapwing import (
    S3VC,
    AnchorGraph,
    AnchorGraphClassifier,
    BalancedGraphClassifier,
    EigenfunctionClassifier,
    KNNGraph,
    LapERLSClassifier,
    LapERLSClassifierCV,
    LapERLSRegressor,
    LapESVR,
    LapRLSClassifierCV,
    LapSVC,
    LapSVR,
)
from lapwing.estimators.parameters import check_parameters
from lapwing.losses import Hinge, TargetKind
from lapwing.losses.registry import loss_names
from tests.helpers.data import data_for

EVERY = [getattr(lapwing, name) for name in lapwing.estimators.__all__]
NUMBER, COUNT, FLAG = "a number > 0", "a whole number >= 1", "True or False."
LIST = "a list of finite numbers"
FRACTION = "a number between 0 and 1, or None."
LOSS = f"one of {', '.join(map(repr, loss_names(TargetKind.SIGNS)))}, or an object of lapwing.loss"
STOPPING = "one of None, 'stability', 'validation', 'mixed'."
SOLVER = "one of 'auto', 'newton', 'pcg', 'dual'."
KERNEL = "a name, such as 'rbf', or a function (X, Z) -> matrix."

# For each parameter: the expected values as in the message, and invalid values. Estimators with
# another rule have separate rows.
RULES: list[tuple[type, str, str, tuple[Any, ...]]] = [
    (LapSVC, "gamma_A", f"{NUMBER}: the ambient norm", (0, -1.0, np.nan, np.inf, "a", None, True)),
    (LapSVC, "gamma_I", "a number >= 0; 0 means no graph.", (-0.5, np.inf, [1.0])),
    (LapSVC, "gamma", "a finite number > 0, 'scale', 'wide' or 'auto'.", (0.0, -1, np.nan, None)),
    (LapSVC, "degree", f"{NUMBER}.", (0, "3")),
    (LapSVC, "coef0", "a finite number.", (None, np.inf)),
    (LapSVC, "kernel", KERNEL, (None, ["rbf"])),
    (LapSVC, "solver", SOLVER, ("lbfgs", None)),
    (LapSVC, "tol", f"{NUMBER}.", (0.0, "1e-8")),
    (LapSVR, "tol", f"{NUMBER}.", (None,)),  # it never stops early
    (LapSVC, "max_iter", f"{COUNT}.", (0, 10.0, True)),
    (LapSVC, "fit_intercept", FLAG, ("no", None)),
    (LapSVC, "loss", LOSS, ("squared", None, 3.0, Hinge)),
    (LapSVC, "stopping", STOPPING, ("early", True)),
    (LapSVC, "validation_fraction", FRACTION, (0.0, 1)),
    (LapSVC, "warm_start", FLAG, (1,)),
    (LapSVC, "refine", "one of 'cut', None.", ("flow", True)),
    (LapSVC, "class_weight", "'balanced', a dict from classes to their weights, or", ("even",)),
    (LapSVR, "epsilon", "a number >= 0, in the units of y.", (-0.1, None)),
    (LapESVR, "epsilon", "a number >= 0, in the units of y.", (-0.1, None)),
    (LapERLSClassifier, "C", "a finite number > 0.", (0, np.inf)),
    (LapERLSClassifier, "lam", f"{NUMBER}.", (0.0,)),
    (LapERLSClassifier, "mu", "a number >= 0.", (-1,)),
    (LapERLSClassifier, "n_eigenvectors", f"{COUNT}, 'auto', or None for the", (0, 2.5, [5])),
    (S3VC, "C_star", "a finite number >= 0, or None for C l / u.", (-1, "auto")),
    (S3VC, "s", "a finite number > 0.", (0,)),
    (S3VC, "method", "one of 'continuation', 'quasi-newton', 'gradient', 'cccp', ", ("newton",)),
    (S3VC, "unlabeled_loss", "one of 'auto', 'gaussian', 'symmetric_hinge', or an obj", ("hat",)),
    (S3VC, "multi_class", "one of 'auto', 'ovo', 'ovr'.", ("crammer",)),
    (S3VC, "n_init", f"{COUNT}.", (0, 1.0)),
    (EigenfunctionClassifier, "n_eigenfunctions", f"{COUNT}, or None.", (0,)),
    (EigenfunctionClassifier, "n_components", f"{COUNT}.", (0,)),
    (EigenfunctionClassifier, "n_bins", "a whole number >= 3.", (2,)),
    (EigenfunctionClassifier, "bandwidth", "a number > 0 in the units of X, or None.", (0,)),
    (EigenfunctionClassifier, "clip", "a number >= 0 and less than 0.5.", (0.5, -0.1)),
    (AnchorGraphClassifier, "class_mass_normalization", FLAG, ("yes",)),
    (BalancedGraphClassifier, "method", "one of 'laplace', 'random-walk', 'poisson', ", ("magic",)),
    (BalancedGraphClassifier, "n_votes", "a whole number >= 0; 0 leaves the neigh", (-1, 0.5)),
    (LapRLSClassifierCV, "gamma_As", f"{LIST} > 0, at least one.", ([], [0.0], 1.0)),
    (LapRLSClassifierCV, "gamma_Is", f"{LIST} >= 0; 0 means no graph", ([-1.0],)),
    (LapRLSClassifierCV, "gammas", f"{LIST} > 0 or 'scale'", (["auto"], "scale")),
    (LapRLSClassifierCV, "graphs", "a list of graphs, at least one, or None", (KNNGraph(), [])),
    (LapERLSClassifierCV, "Cs", f"{LIST} > 0, at least one.", ([0.0],)),
    (LapERLSClassifierCV, "lams", f"{LIST} > 0, at least one.", ([],)),
    (LapERLSClassifierCV, "mus", f"{LIST} >= 0, at least one.", ([-1.0],)),
    (LapERLSClassifierCV, "n_eigenvectors", "a list of whole numbers >= 1 or 'a", (10, [None])),
]


@pytest.mark.parametrize(("estimator", "name", "wanted", "values"), RULES)
def test_rejects_values_out_of_range(estimator: Any, name: str, wanted: str, values: Any) -> None:
    for value in values:
        with pytest.raises(ValueError, match=re.escape(f"{name}={value!r} must be {wanted}")):
            check_parameters(estimator(**{name: value}))


def data_of(estimator: Any) -> tuple[Any, Any]:
    return data_for(estimator, 2)[:2]


@pytest.mark.parametrize("estimator", EVERY)
def test_every_fit_rejects_invalid_parameters(estimator: Any) -> None:
    X, y = data_of(estimator)

    class Nonsense:
        def __repr__(self) -> str:
            return "nonsense"

    known = estimator().get_params(deep=False)
    for name in known.keys() - {"memory"}:  # joblib checks it
        given = {"gamma_I": 1.0} if name == "graph" and "gamma_I" in known else {}
        with pytest.raises((ValueError, TypeError), match=rf"^{name}=nonsense "):
            estimator(**given, **{name: Nonsense()}).fit(X, y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
        estimator(gama=1.0)


def test_accepts_numpy_numbers() -> None:
    numbers = {"gamma": np.float32(0.5), "gamma_A": np.float64(0.1), "gamma_I": np.int64(1)}
    LapSVC(**numbers, max_iter=np.int32(100), fit_intercept=np.bool_(True)).fit(*data_of(LapSVC))


@pytest.mark.parametrize("estimator", EVERY)
def test_classes_have_no_attributes_of_other_families(estimator: Any) -> None:
    """Parameters are attributes of instances only."""
    known = {name for name in dir(estimator) if not name.startswith("_")}
    assert {name for name in known if not callable(getattr(estimator, name))} == set()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LapSVC(gamma="large"), "gamma='large' is not known. Use 'scale', 'wide', "),
        (LapSVC("gaussian"), "kernel='gaussian' is not known. Use 'rbf', 'poly', "),
        (LapSVC(graph="knn"), "graph='knn' is not a graph. Use None (the default grap"),
        *(
            (estimator(space="full"), "space='full' is not known. Use 'auto', None (")
            for estimator in (LapERLSClassifier, BalancedGraphClassifier)
        ),
        (LapRLSClassifierCV(graphs=[5]), "graph=5 is not a graph"),
        (S3VC(space="full"), "space='full' is not a space. Use None (the full kernel) or"),
        (EigenfunctionClassifier(n_bins=2001), "n_bins=2001 must be at most 2000: ea"),
        (EigenfunctionClassifier(bandwidth=1e-6), "bandwidth=1e-06 is less than the width of the"),
        (AnchorGraphClassifier(KNNGraph()), "graph=KNNGraph() is not an AnchorGraph. U"),
        (AnchorGraphClassifier(AnchorGraph(n_nearest=0)), "n_nearest=0 must be"),
        (AnchorGraphClassifier(AnchorGraph(power=0)), "power=0 must be"),
        (LapERLSRegressor(memory=3), "'memory' should be None, a string or"),
        (LapERLSRegressor(memory="/proc/nope/x"), "memory='/proc/nope/x' is not a wr"),
    ],
    ids=str,
)
def test_rejects_unknown_values(estimator: Any, message: str) -> None:
    kind = TypeError if " is not a" in message and "memory" not in message else ValueError
    with pytest.raises(kind, match=re.escape(message)):
        estimator.fit(*data_of(type(estimator)))
