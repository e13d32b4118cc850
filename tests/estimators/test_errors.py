"""Bad input: every error names the parameter, the value and what to do; warnings cause and cure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import (
    AffinityGraph,
    KNNGraph,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
    exceptions,
)
from lapwing._features import refuse_gaps
from lapwing.estimators import diagnostics, input_checks
from lapwing.estimators.input_checks import check_kernel_matrix
from lapwing.exceptions import (
    ConstantFitWarning,
    FeatureScaleWarning,
    LapwingWarning,
    NothingUnlabeledWarning,
    OutlierWarning,
    SingleClassWarning,
    UnlabeledComponentWarning,
)
from lapwing.graphs import Laplacian
from lapwing.solvers.manifold import kinks

N = 40
RNG = np.random.default_rng(0)
TRUTH = np.arange(N) % 2
X = RNG.standard_normal((N, 3)) + 2 * TRUTH[:, None]
Y = np.where(np.arange(N) < 12, TRUTH, -1)
T = np.where(np.arange(N) < 12, X.sum(axis=1), np.nan)
K = rbf_kernel(X, gamma=0.2)
W = KNNGraph(5).affinity(X)

CLASSIFIERS = [LapSVC, LapRLSClassifier]
REGRESSORS = [LapRLSRegressor, LapSVR]
ESTIMATORS = [*CLASSIFIERS, *REGRESSORS]
# Points, graphs and kernel matrices are read by the same code, of labels and of targets.
READERS = [LapSVC, LapSVR]


def labels(estimator: type) -> np.ndarray:
    return Y if estimator in CLASSIFIERS else T


def with_value(A: Any, value: float) -> np.ndarray:
    A = np.array(A)
    A[3, 1] = value
    return A


def asymmetric(A: Any, size: float) -> np.ndarray:
    A = np.array(A, dtype=float)
    A[0, 1] += size
    return A


# ---- parameters --------------------------------------------------------------------------------


GRAPHS: dict[str, tuple[Any, str]] = {
    "k = n": (
        KNNGraph(N),
        r"n_neighbors=40 must be smaller than the number of points, n=40: .*Use n_neighbors <= 39",
    ),
    "k = 0": (KNNGraph(0), r"n_neighbors=0 must be a whole number of at least 1"),
    "power": (KNNGraph(5, power=0), r"power=0 must be a whole number of at least 1"),
    "weights": (KNNGraph(5, weights="cosine"), r"weights='cosine' must be one of 'heat', "),
    "another n": (
        AffinityGraph(W[:39, :39]),
        r"The affinity has 39 rows but X has 40 points\. Give the affinity of exactly the points.*"
        r"Cross-validation fits to some of the rows: .*KNNGraph\(\), or use leave_one_out",
    ),
    "not square": (AffinityGraph(W[:39]), r"The affinity must be square.*\(39, 40\)"),
    "asymmetric": (
        AffinityGraph(asymmetric(W.toarray(), 0.5)),
        r"The affinity is not symmetric: \|W - W\.T\| is up to 0\.5 .*W\.maximum\(W\.T\)",
    ),
    "asymmetric, sparse": (
        sp.csr_array(asymmetric(W.toarray(), 0.5)),
        r"The affinity is not symmetric",
    ),
    "negative": (
        AffinityGraph(-W),
        r"The affinity has negative entries \(smallest: -.*similarities, not below 0: clip them",
    ),
    "NaN": (AffinityGraph(with_value(W.toarray(), np.nan)), r"Input affinity contains NaN"),
    "infinite": (AffinityGraph(with_value(W.toarray(), np.inf)), r"Input affinity contains inf"),
}


@pytest.mark.parametrize(("graph", "message"), GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("estimator", READERS)
def test_wrong_graphs(estimator: type, graph: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator(graph=graph).fit(X, labels(estimator))


def test_equal_rows_count_once_among_neighbours() -> None:
    few = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0)
    y = np.repeat([0, -1, 1], 5)
    with pytest.raises(ValueError, match=r"n_neighbors=5 must be smaller .*n=3"):
        LapSVC(graph=KNNGraph(5)).fit(few, y)


# ---- points ------------------------------------------------------------------------------------

GAP = r"Input X contains NaN in 1 place, first in row 3, column 1"

POINTS: dict[str, tuple[Any, Any, str]] = {
    "NaN": (with_value(X, np.nan), None, GAP + r" \(counted from 0\)\. Fill the gaps.*Only y"),
    "NaN in two places": (
        np.where(np.isin(np.arange(N), [5, 9])[:, None] & [False, True, False], np.nan, X),
        None,
        r"Input X contains NaN in 2 places, first in row 5, column 1 \(counted",
    ),
    "NaN in a frame": (
        pd.DataFrame(with_value(X, np.nan), columns=["a", "weight", "b"]),
        None,
        GAP + r", 'weight', \(counted from 0\)",
    ),
    "infinite": (
        with_value(X, np.inf),
        None,
        r"Input X contains infinity in 1 place, first in row .*\. Replace it by a number",
    ),
    "minus infinity": (with_value(X, -np.inf), None, r"Input X contains infinity in 1 place"),
    "NaN in sparse": (sp.csr_array(with_value(X, np.nan)), None, GAP),
    "one row": (X[:1], slice(1), r"Found array with 1 sample\(s\).* a minimum of 2 is required"),
    "the labels alone": (
        X,
        slice(12),
        r"X has 40 rows, but y has 12 entries: y takes one for each row of X\. Rows without a "
        r"label stay in X, and (NaN|-1 or a missing value .*) marks them in y",
    ),
}


@pytest.mark.parametrize(("points", "rows", "message"), POINTS.values(), ids=POINTS.keys())
@pytest.mark.parametrize("estimator", READERS)
def test_wrong_points(estimator: type, points: Any, rows: Any, message: str) -> None:
    y = labels(estimator)
    with pytest.raises(ValueError, match=message):
        estimator().fit(points, y if rows is None else y[rows])


def test_values_whose_sum_is_too_large_are_finite() -> None:
    large = np.full((8, 1), 1e308)
    refuse_gaps(large)
    refuse_gaps(sp.csr_array(large))
    with pytest.raises(ValueError, match="infinity in 1 place, first in row 8, column 0"):
        refuse_gaps(np.vstack([large, [[-np.inf]]]))


@pytest.mark.parametrize("estimator", READERS)
def test_no_y(estimator: type) -> None:
    message = f"{estimator.__name__} requires y to be passed, but the target y is None. Mark unl"
    with pytest.raises(ValueError, match=message):
        estimator().fit(X, None)


# ---- labels ------------------------------------------------------------------------------------

LABELS: dict[str, tuple[Any, dict[str, Any], str]] = {
    # Other errors of y are in tests/classes.
    "one class": (
        np.where(Y == 0, -1, Y),
        {"unlabeled": -1},
        r"one class only, 1, besides the unlabelled marker unlabeled=-1: a classifier needs labels "
        r"of at least 2 classes",
    ),
    "a negative class weight": (
        Y,
        {"class_weight": {0: -1.0}},
        r"class_weight=\{0: -1\.0\} must give every class a finite weight > 0\. To leave a class",
    ),
    "a class weight of zero": (Y, {"class_weight": {0: 0}}, r"class_weight=\{0: 0\} must give"),
    "a class weight of NaN": (Y, {"class_weight": {1: np.nan}}, r"class_weight=\{1: nan\} must"),
    "a class weight that is a text": (
        Y,
        {"class_weight": {0: "many"}},
        r"class_weight=\{0: 'many'\} must give every class a finite weight > 0",
    ),
    "class weights of other classes": (
        Y,
        {"class_weight": {"a": 2.0, "b": 1.0}},
        r"a weight for 'a', which is not a class of y, but none for 0\. .*: 0, 1\.",
    ),
}


@pytest.mark.parametrize(("y", "options", "message"), LABELS.values(), ids=LABELS.keys())
def test_wrong_labels(y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LapSVC(**options).fit(X, y)


def test_wrong_targets() -> None:
    infinite = np.where(np.arange(N) == 7, np.inf, T)
    with pytest.raises(ValueError, match="Input y contains infinity, first at row 7"):
        LapSVR().fit(X, infinite)


@pytest.mark.parametrize("estimator", READERS)
def test_wrong_weights(estimator: type) -> None:
    y = labels(estimator)
    at = np.arange(N) < 12
    for weights, message in (
        (np.where(at, 0.0, 1), r"sample_weight is zero on every labelled row"),
        (np.ones(N - 1), r"sample_weight\.shape == \(39,\), expected \(40,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            estimator().fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_class_without_weight_is_not_forgotten_in_silence(loss: str) -> None:
    names = np.where(Y == -1, "?", np.where(Y == 0, "fir", "oak"))
    message = (
        r"sample_weight is zero on every labelled row of the classes \['fir'\]\. Give some "
        r"of their rows a positive weight, or leave these rows out of X and y"
    )
    with pytest.raises(ValueError, match=message):
        LapSVC(loss=loss, unlabeled="?").fit(X, names, sample_weight=(Y != 0).astype(float))


# ---- kernels -----------------------------------------------------------------------------------

KERNELS: dict[str, tuple[Any, str]] = {
    "not square": (K[:, :30], r"takes the kernel matrix as X, square, not \(40, 30\)"),
    "asymmetric": (
        asymmetric(K, 0.25),
        r"X must be a symmetric kernel matrix: .*differ by up to 0\.25\. .*pass \(K \+ K\.T\) / 2",
    ),
    "negative definite": (
        K - 2 * np.eye(N),
        r"X must be a positive semi-definite kernel matrix: it has an eigenvalue of at most -2.*"
        r"Use a kernel that is positive semi-definite, or clip the negative eigenvalues",
    ),
    "NaN": (with_value(K, np.nan), r"Input X contains NaN"),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("matrix", "message"), KERNELS.values(), ids=KERNELS.keys())
@pytest.mark.parametrize("estimator", READERS)
def test_wrong_kernel_matrices(estimator: type, matrix: Any, message: str, form: Any) -> None:
    with pytest.raises(ValueError, match=message):
        estimator("precomputed", graph=AffinityGraph(W)).fit(form(matrix), labels(estimator))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [30, 700])
def test_kernel_matrices_small_and_large(n: int, dtype: Any, form: Any) -> None:
    points = np.random.default_rng(0).standard_normal((n, 5))
    low_rank = (points @ points.T).astype(dtype)  # semi-definite, and singular
    check_kernel_matrix(form(low_rank), "K")
    check_kernel_matrix(form(rbf_kernel(points).astype(dtype)), "K")
    check_kernel_matrix(form(np.zeros((n, n), dtype=dtype)), "K")
    bump = np.sin(np.arange(n))
    wrong = low_rank - dtype(0.2 * n) * np.outer(bump, bump).astype(dtype) / dtype(bump @ bump)
    with pytest.raises(ValueError, match=r"K must be a positive semi-definite .* eigenvalue of at"):
        check_kernel_matrix(form(wrong), "K")
    with pytest.raises(ValueError, match=r"K must be a positive semi-definite"):
        check_kernel_matrix(form(-low_rank), "K")
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"K holds NaN or infinite values"):
            check_kernel_matrix(form(with_value(low_rank, value)), "K")


@pytest.mark.parametrize("estimator", READERS)
def test_a_precomputed_kernel_needs_a_given_graph(estimator: type) -> None:
    for graph in (None, KNNGraph(5)):
        message = r"kernel='precomputed' leaves no points to build a graph from: .*or set gamma_I=0"
        with pytest.raises(ValueError, match=message):
            estimator("precomputed", graph=graph).fit(K, labels(estimator))
    estimator("precomputed", gamma_I=0).fit(K, labels(estimator))


def test_kernel_functions_that_misbehave() -> None:
    for kernel, message in (
        (lambda A, B: A.sum(axis=1), r"returned an array of shape \(40,\) for 40 and 40 points\. "),
        (lambda A, B: np.full((len(A), len(B)), np.nan), r"returned NaN or infinite values"),
        (lambda A, B: -A @ B.T, r"must be a positive semi-definite kernel matrix"),
        (lambda A, B: A @ (B + 1).T, r"must be a symmetric kernel matrix"),
    ):
        with pytest.raises(ValueError, match=message):
            LapSVC(kernel).fit(X, Y)


def test_kernels_that_are_not_positive_semi_definite_with_these_parameters() -> None:
    message = r"The matrix of kernel='sigmoid' must be a positive semi-definite kernel matrix"
    with pytest.raises(ValueError, match=message):
        LapSVC("sigmoid", gamma=1.0, coef0=1.0).fit(X, Y)
    with pytest.raises(ValueError, match=r"The matrix of kernel='poly' must be a positive semi-d"):
        LapSVC("poly", coef0=-5.0).fit(X, Y)


@pytest.mark.filterwarnings("ignore:invalid value encountered in power:RuntimeWarning")
def test_a_broken_power_of_negative_numbers() -> None:
    with pytest.raises(
        ValueError, match=r"kernel='poly' .*degree=2.5 gives NaN or inf.*a fractional degree"
    ):
        LapSVC("poly", degree=2.5).fit(X, Y)


# ---- solvers and early stopping ----------------------------------------------------------------

COMBINATIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    **{
        f"{solver} and kinks": (
            LapSVC(loss="hinge", solver=solver),
            {},
            rf"solver='{solver}' needs a loss without kinks.*'hinge'.*Use solver='dual'",
        )
        for solver in ("newton", "pcg")
    },
    "newton and LapSVR": (
        LapSVR(solver="newton"),
        {},
        r"solver='newton' needs a loss without kinks.*Use solver='dual' \(or 'auto'\)",
    ),
    **{
        f"stopping and {solver}": (
            LapSVC(stopping="stability", solver=solver),
            {},
            rf"stopping needs the iterates of solver='pcg'.* not solver='{solver}'.*stopping=None",
        )
        for solver in ("newton", "dual")
    },
    "stopping and kinks": (
        LapSVC(stopping="stability", loss="hinge"),
        {},
        r"stopping needs the iterates of solver='pcg' and a loss without kinks.*loss='hinge'",
    ),
    "nothing to validate on": (
        LapSVC(stopping="validation", validation_fraction=None),
        {},
        r"stopping='validation' needs labels to validate on: pass validation_data=\(X_val, y_val\) "
        r"to fit, or set validation_fraction",
    ),
    "nothing to validate on, mixed": (
        LapRLSRegressor(stopping="mixed", validation_fraction=None),
        {},
        r"stopping='mixed' needs labels to validate on",
    ),
    "validation data that nobody asked for": (
        LapSVC(),
        {"validation_data": (X, Y)},
        r"validation_data is only used with stopping='validation' or 'mixed', not None",
    ),
    "validation data of stability": (
        LapRLSRegressor(stopping="stability"),
        {"validation_data": (X, T)},
        r"validation_data is only used with .* not 'stability'",
    ),
    "validation points alone": (
        LapSVC(stopping="validation"),
        {"validation_data": X},
        r"validation_data must be a tuple \(X_val, y_val\) of points and their labels, not ndarray",
    ),
    "validation data of another length": (
        LapSVC(stopping="validation"),
        {"validation_data": (X[:5], TRUTH[:4])},
        r"inconsistent numbers of samples: \[5, 4\]",
    ),
    "validation data with other features": (
        LapSVC(stopping="validation"),
        {"validation_data": (X[:5, :2], TRUTH[:5])},
        r"validation_data: X has 2 features, but LapSVC is expecting 3",
    ),
    "validation data of other classes": (
        LapSVC(stopping="validation"),
        {"validation_data": (X[:3], [0, 1, 2])},
        r"validation_data: y has labels that are not among the training labels: 2\. Give labelled "
        r"points of the classes 0, 1",
    ),
    **{
        f"validation data with {unlabeled} of {type(estimator).__name__}": (
            estimator,
            {"validation_data": (X[:3], [0, 1, unlabeled])},
            r"validation_data: 1 of the 3 entries of y are unlabelled, first in row 2\. Leave such",
        )
        for estimator, unlabeled in (
            (LapSVC(stopping="mixed"), None),
            (LapSVC(stopping="validation"), -1),
            (LapSVC(stopping="validation", unlabeled=-1), np.nan),
            (LapRLSRegressor(stopping="validation"), np.nan),
        )
    },
    "validation data without a target": (
        LapRLSRegressor(stopping="validation"),
        {"validation_data": (X[:2], [np.nan] * 2)},
        r"validation_data: 2 of the 2 entries of y are unlabelled",
    ),
    "infinite validation targets": (
        LapRLSRegressor(stopping="validation"),
        {"validation_data": (X[:2], [1.0, np.inf])},
        r"validation_data: Input y contains infinity, first at row 1",
    ),
}


@pytest.mark.parametrize(
    ("estimator", "options", "message"), COMBINATIONS.values(), ids=COMBINATIONS.keys()
)
def test_what_does_not_go_together(estimator: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, labels(type(estimator)), **options)


def test_the_insensitive_loss_is_not_stopped_by_validation_data() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'validation_data'"):
        LapSVR().fit(X, T, validation_data=(X, T))


@pytest.mark.parametrize("stopping", ["stability", "mixed"])
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
def test_stability_watches_unlabelled_points(stopping: str) -> None:
    message = rf"stopping='{stopping}' watches the unlabelled points, and there are none\. Use"
    with pytest.raises(ValueError, match=message):
        LapSVC(stopping=stopping).fit(
            X, TRUTH, **({} if stopping == "stability" else {"validation_data": (X, TRUTH)})
        )


def test_a_label_that_cannot_be_spared() -> None:
    y = np.full(N, -1)
    y[:2] = [0, 1]
    message = (
        r"validation_fraction=0\.2 leaves no label to validate on: every class has a single one\. "
        r"Pass validation_data to fit, or use stopping='stability'"
    )
    with pytest.raises(ValueError, match=message):
        LapSVC(stopping="validation").fit(X, y)


# ---- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_kernel_that_does_not_fit_is_forecast(
    monkeypatch: pytest.MonkeyPatch, estimator: type
) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    message = (
        r"The kernel matrix of 40 points \(float64\) needs .*, but 10\.0 kB are available\. Use "
        r"fewer unlabelled points, float32 .*kernel='linear'.*LAPWING_MEMORY_LIMIT"
    )
    with pytest.raises(MemoryError, match=message):
        estimator().fit(X, labels(estimator))
    estimator("linear").fit(X, labels(estimator))


DIRECT: dict[str, tuple[Any, Any, str]] = {
    "a kernel": (
        LapSVC("precomputed", graph=AffinityGraph(W)),
        K,
        r"A direct solver at n = 40 points needs 25\.0 kB, but 10\.0 kB are available\. Use "
        r"solver='pcg', which only applies the kernel matrix",
    ),
    "features": (
        LapSVC("linear"),
        np.hstack([X] * 12),
        r"A direct solver with 36 features needs 20\.2 kB.*Use solver='pcg', which only applies X",
    ),
    "more features than points": (
        LapSVC("linear"),
        np.hstack([X] * 20),
        r"A direct solver at n = 40 points with more features than points needs 37\.5 kB",
    ),
}


@pytest.mark.parametrize("solver", ["newton", "dual"])
@pytest.mark.parametrize(("estimator", "points", "message"), DIRECT.values(), ids=DIRECT.keys())
def test_a_factorisation_that_does_not_fit_is_forecast(
    monkeypatch: pytest.MonkeyPatch, estimator: Any, points: Any, message: str, solver: str
) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    with pytest.raises(MemoryError, match=message):
        estimator.set_params(solver=solver).fit(points, Y)
    estimator.set_params(solver="pcg", gamma_A=0.1).fit(points, Y)


def test_without_memory_for_a_factorisation_conjugate_gradient_is_chosen(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    with caplog.at_level("INFO", logger="lapwing"):
        model = LapSVC("precomputed", graph=AffinityGraph(W), gamma_A=0.1).fit(K, Y)
    assert model.solver_ == "pcg"
    assert "solver 'pcg': a factorisation does not fit in memory" in caplog.text
    monkeypatch.delenv("LAPWING_MEMORY_LIMIT")
    assert LapSVC("precomputed", graph=AffinityGraph(W), gamma_A=0.1).fit(K, Y).solver_ == "dual"


# ---- warnings ----------------------------------------------------------------------------------


def told(fit: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return caught


def the_only(fit: Callable[[], Any], category: type[Warning]) -> str:
    """The text of the one warning, which must point at this file: at the user's call."""
    caught = told(fit)
    assert [warning.category for warning in caught] == [category]
    assert caught[0].filename == __file__
    return str(caught[0].message)


def apart() -> np.ndarray:
    """Three clusters far from one another; the last has no label."""
    points = X / 10
    points[20:30] += 50
    points[30:] += 100
    return points


APART = np.where((np.arange(N) < 12) | (np.arange(N) // 10 == 2), TRUTH, -1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_components_without_a_label(estimator: type) -> None:
    y = APART.copy() if estimator in CLASSIFIERS else np.where(APART == -1, np.nan, APART)
    text = the_only(
        lambda: estimator(graph=KNNGraph(4, power=3), gamma=0.01).fit(apart(), y),
        UnlabeledComponentWarning,
    )
    assert (
        "1 of the graph's 3 connected components contain no labelled point (10 points, the " in text
    )
    assert "largest component 10)" in text
    assert "Label a point in each, e.g. row 30 (rows count from 0). More neighbours" in text
    assert "keep power=3 then" in text
    y[30] = 1
    assert told(lambda: estimator(graph=KNNGraph(4), gamma=0.01).fit(apart(), y)) == []


def components(sizes: Any) -> Laplacian:
    """A graph of rings and of single points."""
    blocks = [np.roll(np.eye(n), 1, axis=1) * (n > 1) for n in sizes]
    W = sp.block_diag(blocks, format="csr")
    return Laplacian.from_affinity(W.maximum(W.T))


def test_rows_are_named_and_specks_are_not() -> None:
    def told_of(sizes: Any, rows: Any = None) -> str:
        laplacian = components(sizes)
        at = np.arange(laplacian.n_points)
        problem: Any = SimpleNamespace(labeled=at < 2, rows=at if rows is None else rows)
        caught = told(lambda: diagnostics.warn_unlabeled_components(laplacian, problem))
        return " ".join(str(warning.message) for warning in caught)

    text = told_of([50, 3, 7, 1, 5, 4, 9, 7])
    assert "7 of the graph's 8 connected components" in text
    assert "e.g. rows 70, 53, 79, 61, 66 (rows count from 0, the largest components first)" in text
    assert "e.g. rows 1700, 1630, 1600 (" in told_of([50, 3, 7, 10], np.arange(0, 700, 10) + 1100)
    assert told_of([991, 3, 3, 3]) == ""  # 0.9 % of the points
    assert told_of([990, 3, 3, 4]).startswith("3 of the graph's 4")
    assert told_of([1000]) == ""


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_rows_to_label_are_those_of_x(estimator: type) -> None:
    """Repeated rows are one point of the graph, which does not shift the numbers."""
    twice = np.repeat(apart(), 2, axis=0)
    y = np.repeat(APART, 2)
    model = estimator(graph=KNNGraph(4), gamma=0.01)
    text = the_only(lambda: model.fit(twice, y), UnlabeledComponentWarning)
    assert "e.g. row 60 (" in text
    y[60] = 1
    assert told(lambda: model.fit(twice, y)) == []


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_one_class_for_all_unlabelled_points(estimator: type) -> None:
    y = np.where(TRUTH == 0, "fir", "?")
    y[[1, 3]] = "oak"
    model = estimator(unlabeled="?", graph=KNNGraph(3))
    text = the_only(lambda: model.fit(X + 20 * TRUTH[:, None], y), SingleClassWarning)
    assert "All 18 unlabelled points were given class 'oak'. Usual causes: " in text
    assert "standardise the features" in text
    assert "class_weight='balanced'" in text
    assert "a smaller gamma_I" in text
    assert set(model.transduction_[y == "?"]) == {"oak"}


def test_one_class_for_one_unlabelled_point_is_no_wonder() -> None:
    y = TRUTH.copy()
    y[7] = -1
    assert told(lambda: LapSVC().fit(X, y)) == []
    caught = told(lambda: LapSVC().fit(X, TRUTH))
    assert [warning.category for warning in caught] == [NothingUnlabeledWarning]


@pytest.mark.parametrize("estimator", READERS)
def test_features_of_different_scales(estimator: type) -> None:
    y = labels(estimator)
    scaled = X * [1, 1e5, 1]
    model = estimator(graph=KNNGraph(20))
    text = the_only(lambda: model.fit(scaled, y), FeatureScaleWarning)
    assert "Features differ in scale by more than 10000: feature 1 has range" in text
    assert "make_pipeline(StandardScaler(), LapSVC())" in text
    frame = pd.DataFrame(scaled, columns=["age", "income", "height"])
    assert "feature 'income' has range" in the_only(
        lambda: model.fit(frame, y), FeatureScaleWarning
    )
    assert told(lambda: make_pipeline(StandardScaler(), model).fit(scaled, y)) == []
    # Constant features have no scale; sparse ones are not centred, so not scaled either.
    assert told(lambda: model.fit(np.hstack([X, np.full((N, 1), 1e9)]), y)) == []
    assert told(lambda: model.fit(sp.csr_array(scaled), y)) == []


def test_the_scale_that_is_too_much() -> None:
    ramp = np.linspace(0, 1, N)
    grid = np.column_stack([ramp, ramp[::-1]])
    for factors, shift, warned in (
        ([1, 9_999], [0, 0], False),
        ([1, 10_010], [0, 0], True),
        ([1e-3, 10.01], [0, 1e6], True),
        ([1, 1], [0, 1e9], False),
        ([1e-9, 1e-9], [0, 0], False),
    ):
        caught = told(lambda X=grid * factors + shift: LapSVC(graph=KNNGraph(20)).fit(X, Y))
        assert warned == any(warning.category is FeatureScaleWarning for warning in caught)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", READERS)
def test_rows_far_off(estimator: type, container: Any) -> None:
    far = np.vstack([X, X[0]])
    far[-1] = 1e4
    y = np.append(labels(estimator), labels(estimator)[-1])
    model = estimator(graph=KNNGraph(20))
    caught = told(lambda: model.fit(container(far), y))
    (warning,) = [w for w in caught if w.category is OutlierWarning]
    assert warning.filename == __file__
    text = str(warning.message)
    assert f"Row {N} lies so far from all others that it makes the variance of X" in text
    assert "Look for wrong values" in text
    assert "make_pipeline(QuantileTransformer(), LapSVC())" in text
    assert told(lambda: model.fit(container(X), labels(estimator))) == []


def test_how_far_rows_are_too_far() -> None:
    def told_of(X: Any) -> str:
        caught = told(lambda: input_checks.warn_outlying_rows(X))
        assert all(warning.category is OutlierWarning for warning in caught)
        return " ".join(str(warning.message) for warning in caught)

    rng = np.random.default_rng(0)
    bulk = rng.normal(size=(1000, 5))
    for rows, expected in [
        ([7], "Row 7 lies so far"),
        ([7, 3], "Rows 3, 7 lie so far from all others that they make"),
        (range(10, 20), "Rows 10, 11, 12, 13, 14, ... lie so far"),
        (range(11), ""),  # more than a few: a cluster
    ]:
        moved = bulk.copy()
        moved[list(rows)] += 1e4
        assert told_of(moved).startswith(expected), rows
        assert bool(told_of(moved)) == bool(expected)
    for heavy in (rng.exponential(size=(1000, 3)), rng.standard_t(3, size=(1000, 2))):
        assert told_of(heavy) == ""
    assert told_of(np.eye(1, 5)) == ""
    assert told_of(np.vstack([np.zeros((99, 2)), np.ones((1, 2))])) == ""  # nothing to compare with
    assert told_of(np.full((50, 3), 0.1)) == ""


@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(solver="pcg", max_iter=1),
        LapSVC(solver="newton", max_iter=1, gamma_A=1e-2, gamma_I=1e-2),
        LapSVC(solver="dual", max_iter=1, gamma_A=1e-2, gamma_I=1e-2),
        LapRLSClassifier(solver="pcg", max_iter=1),
        LapRLSRegressor(solver="pcg", max_iter=1),
    ],
    ids=repr,
)
def test_not_converged(estimator: Any) -> None:
    text = the_only(lambda: estimator.fit(X, labels(type(estimator))), ConvergenceWarning)
    assert f"solver={estimator.solver!r} did not converge in 1 iterations: the relative opt" in text
    assert "tol=1e-08. Raise max_iter or tol, or use a larger gamma_A" in text
    assert ("stopping='stability'" in text) == (estimator.solver == "pcg")
    assert estimator.status_ == "not converged"
    assert estimator.n_iter_ == 1


@pytest.mark.parametrize("estimator", [LapSVC(loss="hinge"), LapSVR(epsilon=0.01)], ids=repr)
def test_libsvm_not_converged(monkeypatch: pytest.MonkeyPatch, estimator: Any) -> None:
    monkeypatch.setattr(kinks, "_MAX_STEPS", 1)
    monkeypatch.setattr(kinks, "ROUNDS", 1)  # the method of multipliers goes on after libsvm
    caught = told(lambda: estimator.fit(X, labels(type(estimator))))
    texts = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert len(texts) == 1
    assert texts[0].startswith("solver='dual' did not converge")


def test_warnings_can_be_filtered_together() -> None:
    for warning in vars(exceptions).values():
        if isinstance(warning, type) and issubclass(warning, Warning):
            assert issubclass(warning, LapwingWarning)
            assert issubclass(warning, UserWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        LapSVC(graph=KNNGraph(20)).fit(X * [1, 1e5, 1], Y)


@pytest.mark.parametrize("factor", [1e25, 1e-20])
def test_points_whose_dot_products_leave_float32_are_refused(factor: float) -> None:
    what = "overflow" if factor > 1 else "underflow"
    with pytest.raises(ValueError, match=rf"dot products {what} float32\. Scale the features"):
        LapSVC("linear", gamma_I=0).fit((X * factor).astype(np.float32), Y)


def test_running_out_of_digits_is_reported() -> None:
    points = X.astype(np.float32)
    model = LapSVC(gamma=1e-6, gamma_A=1e-10, solver="pcg")
    text = the_only(lambda: model.fit(points, Y), ConvergenceWarning)
    assert "was limited by rounding errors" in text
    assert "X as float64" in text


def test_a_regression_that_is_nearly_constant_is_reported() -> None:
    t = np.linspace(0, 1, 60)[:, None]
    y = np.where(np.arange(60) % 6 == 0, 0.1 * np.sin(6 * t[:, 0]), np.nan)
    with pytest.warns(ConstantFitWarning, match="nearly constant"):
        LapSVR(epsilon=0.2).fit(t, y)


def test_solvers_are_checked_before_anything_is_computed() -> None:
    def never(a: Any, b: Any) -> Any:
        raise AssertionError("the kernel was computed")

    with pytest.raises(ValueError, match="needs a loss without kinks"):
        LapSVC(never, loss="hinge", solver="pcg").fit(X, Y)
