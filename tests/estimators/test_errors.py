"""Errors and warnings about invalid inputs, with cause and remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import (
    S3VC,
    AffinityGraph,
    BalancedGraphClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifier,
    LapESVC,
    LapRLSClassifier,
    LapRLSRegressor,
    LapSVC,
    LapSVR,
    Linear,
    exceptions,
)
from lapwing._features import refuse_gaps
from lapwing.estimators import choice, diagnostics, input_checks
from lapwing.estimators.input_checks import check_kernel_matrix
from lapwing.exceptions import (
    FeatureScaleWarning,
    LapwingWarning,
    OutlierWarning,
    SingleClassWarning,
    UnlabeledComponentWarning,
)
from lapwing.graphs import Laplacian
from lapwing.solvers.manifold import kinks
from tests.helpers.rows import ArrayRows
from tests.helpers.warned import warned

N = 40
RNG = np.random.default_rng(0)
ROW = np.arange(N)
TRUTH = ROW % 2
X = RNG.standard_normal((N, 3)) + 2 * TRUTH[:, None]
Y = np.where(ROW < 12, TRUTH, -1)
T = np.where(ROW < 12, X.sum(axis=1), np.nan)
K = rbf_kernel(X, gamma=0.2)
W = KNNGraph(5).affinity(X)

CLASSIFIERS = [LapSVC, LapRLSClassifier]
REGRESSORS = [LapRLSRegressor, LapSVR]
ESTIMATORS = [*CLASSIFIERS, *REGRESSORS]
# Classifiers and regressors read points, graphs and kernel matrices by the same code.
READERS = [LapSVC, LapSVR]


def labels(estimator: type) -> np.ndarray:
    return T if estimator in REGRESSORS else Y


def with_value(A: Any, value: float) -> np.ndarray:
    A = np.array(A, dtype=float)
    A[3, 1] = value
    return A


def asymmetric(A: Any, size: float) -> np.ndarray:
    return with_value(A, A[1, 3] + size)


# ---- points, kernels and graphs ------------------------------------------------------------------

GIVEN = {"kernel": "precomputed", "graph": AffinityGraph(W)}
AFFINITY = r"The affinity is not symmetric: \|W - W\.T\| is up to 0\.5 .*W\.maximum\(W\.T\)"
GAP = r"Input X contains NaN in 1 place, first in row 3, column 1"
DEFINITE = (
    r"X must be a positive semi-definite kernel matrix: it has an eigenvalue of at most -2.*"
    r"Use a kernel that is positive semi-definite, or clip the negative eigenvalues"
)
GAPS = np.where(np.isin(ROW, [5, 9])[:, None] & [False, True, False], np.nan, X)
NAMED = pd.DataFrame(with_value(X, np.nan), columns=["a", "weight", "b"])
OTHER_N = r"affinity has 39 rows but X has 40 points\. Give the affinity of exactly.*leave_one_out"

# (name, parameters, points, message)
INPUTS: list[tuple[str, dict[str, Any], Any, str]] = [
    ("k = n", {"graph": KNNGraph(N)}, X, r"n_neighbors=40 must be smaller .*n=40: .*Use .* <= 39"),
    ("k = 0", {"graph": KNNGraph(0)}, X, r"n_neighbors=0 must be a whole number of at least 1"),
    ("power", {"graph": KNNGraph(5, power=0)}, X, r"power=0 must be a whole number of at least 1"),
    ("weights", {"graph": KNNGraph(5, weights="cosine")}, X, r"weights='cosine' must be one of 'h"),
    ("another n", {"graph": AffinityGraph(W[:39, :39])}, X, OTHER_N),
    ("wide graph", {"graph": AffinityGraph(W[:39])}, X, r"affinity must be square.*\(39, 40\)"),
    ("skew graph", {"graph": AffinityGraph(asymmetric(W.toarray(), 0.5))}, X, AFFINITY),
    ("skew, sparse", {"graph": sp.csr_array(asymmetric(W.toarray(), 0.5))}, X, AFFINITY),
    ("negative", {"graph": AffinityGraph(-W)}, X, r"negative entries \(smallest: -.*: clip them"),
    ("infinite graph", {"graph": with_value(W.toarray(), np.inf)}, X, "affinity .*(?i:inf)"),
    ("NaN in a graph", {"graph": with_value(W.toarray(), np.nan)}, X, "affinity .*(?i:nan)"),
    ("NaN", {}, with_value(X, np.nan), GAP + r" \(counted from 0\)\. Fill the gaps.*Only y"),
    ("NaN in two places", {}, GAPS, r"NaN in 2 places, first in row 5, column 1 \(counted"),
    ("NaN in a frame", {}, NAMED, GAP + r", 'weight', \(counted from 0\)"),
    ("infinite", {}, with_value(X, np.inf), r"X contains infinity in 1 place, .*\. Replace it by"),
    ("minus infinity", {}, with_value(X, -np.inf), r"Input X contains infinity in 1 place"),
    ("NaN in sparse", {}, sp.csr_array(with_value(X, np.nan)), GAP),
    ("wide kernel", GIVEN, K[:, :30], r"the kernel matrix as X, square, not \(40, 30\)"),
    ("skew kernel", GIVEN, asymmetric(K, 0.25), r"symmetric .* by up to 0\.25\. .*pass \(K \+ K"),
    ("negative definite", GIVEN, K - 2 * np.eye(N), DEFINITE),
    ("negative definite, sparse", GIVEN, sp.csr_array(K - 2 * np.eye(N)), DEFINITE),
    ("NaN in a kernel", GIVEN, with_value(K, np.nan), r"Input X contains NaN"),
    *(
        (f"no graph: {g}", {"kernel": "precomputed", "graph": g}, K, r"no points .*set gamma_I=0")
        for g in (None, KNNGraph(5))
    ),
]


@pytest.mark.parametrize(
    ("options", "points", "message"), [c[1:] for c in INPUTS], ids=[c[0] for c in INPUTS]
)
@pytest.mark.parametrize("estimator", READERS)
def test_rejects_invalid_points_kernels_and_graphs(
    estimator: type, options: dict[str, Any], points: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimator(**options).fit(points, labels(estimator))


def test_accepts_finite_values_whose_sum_overflows() -> None:
    large = np.full((8, 1), 1e308)
    refuse_gaps(large)
    refuse_gaps(sp.csr_array(large))
    with pytest.raises(ValueError, match="infinity in 1 place, first in row 8, column 0"):
        refuse_gaps(np.vstack([large, [[-np.inf]]]))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [30, 700])
def test_checks_kernel_matrices_of_all_sizes_and_forms(n: int, dtype: Any, form: Any) -> None:
    points = np.random.default_rng(0).standard_normal((n, 5))
    low_rank = (points @ points.T).astype(dtype)  # semi-definite, and singular
    for valid in (low_rank, rbf_kernel(points).astype(dtype), np.zeros((n, n), dtype=dtype)):
        check_kernel_matrix(form(valid), "K")
    bump = np.sin(np.arange(n))
    wrong = low_rank - dtype(0.2 * n) * np.outer(bump, bump).astype(dtype) / dtype(bump @ bump)
    for invalid, message in (
        (wrong, r"K must be a positive semi-definite .* eigenvalue of at"),
        (-low_rank, r"K must be a positive semi-definite"),
        (with_value(low_rank, np.nan), r"K holds NaN or infinite values"),
        (with_value(low_rank, np.inf), r"K holds NaN or infinite values"),
    ):
        with pytest.raises(ValueError, match=message):
            check_kernel_matrix(form(invalid), "K")


@pytest.mark.filterwarnings("ignore:invalid value encountered in power:RuntimeWarning")
@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (lambda A, B: A.sum(axis=1), {}, r"an array of shape \(40,\) for 40 and 40 points\. "),
        (lambda A, B: np.full((len(A), len(B)), np.nan), {}, r"returned NaN or infinite values"),
        (lambda A, B: -A @ B.T, {}, r"must be a positive semi-definite kernel matrix"),
        (lambda A, B: A @ (B + 1).T, {}, r"must be a symmetric kernel matrix"),
        ("sigmoid", {"gamma": 1.0, "coef0": 1.0}, r"kernel='sigmoid' must be a positive semi-def"),
        ("poly", {"coef0": -5.0}, r"The matrix of kernel='poly' must be a positive semi-definite"),
        ("poly", {"degree": 2.5}, r"kernel='poly' .*degree=2.5 gives NaN or inf.*a fractional deg"),
    ],
    ids=["shape", "NaN", "negative", "skew", "sigmoid", "poly", "power"],
)
@pytest.mark.parametrize(
    "estimator",
    [
        LapSVC(),
        LapERLSClassifier(),
        LapERLSClassifier(space=Landmarks(30)),  # whose matrix is never formed
        S3VC(),
        S3VC(space=Landmarks(10)),
    ],
    ids=str,
)
def test_rejects_functions_that_are_not_kernels(
    estimator: Any, kernel: Any, options: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        clone(estimator).set_params(kernel=kernel, **options).fit(X, Y)


# ---- labels, weights, solvers and early stopping -------------------------------------------------

ENTRIES = (
    r"X has 40 rows, but y has 12 entries: .*\. Rows without a label stay in X, and {} marks them"
)
SPECIES = np.where(Y == -1, "?", np.where(Y == 0, "fir", "oak"))
WEIGHTLESS = (
    r"sample_weight is zero on every labelled row of the classes \['fir'\]\. Give some "
    r"of their rows a positive weight, or leave these rows out of X and y"
)
WEIGHTLESS_FIRS = {"y": SPECIES, "sample_weight": (Y != 0).astype(float)}
UNASKED = "validation_data is only used with stopping='v"
VALIDATED, REGRESSION = LapSVC(stopping="validation"), LapRLSRegressor(stopping="validation")
MIXED, LINEAR = LapSVC(stopping="mixed"), LapSVC("linear", gamma_I=0)
WATCHES = r"stopping='{}' needs unlabelled points, but all are labelled\. Use"
ITERATES = "stopping needs solver='pcg'.* not solver='{}'.*stopping=None"
UNKNOWN = r"validation_data: 1 of the 3 entries of y are unlabelled, first in row 2\. Leave such"
# Equal rows are one point and not neighbours.
THREE_POINTS = {"X": np.repeat([[0.0], [1.0], [2.0]], 5, axis=0), "y": np.repeat([0, -1, 1], 5)}


def never(A: Any, B: Any) -> Any:
    raise AssertionError("the kernel was computed")


# (estimator, arguments of `fit`, message); other errors of y are in tests/classes.
FITS: list[tuple[Any, dict[str, Any], str]] = [
    (LapSVC(), {"X": X[:1], "y": Y[:1]}, r"Found array with 1 sample\(s\).* a minimum of 2 is req"),
    *((LapSVC(), {"X": X * size}, "squares overflow or underflow") for size in (1e160, 1e-165)),
    (LapSVC(), {"y": Y[:12]}, ENTRIES.format("-1 or a missing value .*")),
    (LapSVR(), {"y": T[:12]}, ENTRIES.format("NaN")),
    (LapSVC(), {"y": None}, "LapSVC requires y to be passed, but the target y is None. Mark unlab"),
    (LapSVR(), {"y": np.where(ROW == 7, np.inf, T)}, "y contains infinity, first at row 7"),
    (LapSVC(graph=KNNGraph(5)), THREE_POINTS, r"n_neighbors=5 must be smaller .*n=3"),
    (LINEAR, {"X": np.float32(X * 1e25)}, r"products overflow float32\. Scale the features"),
    (S3VC(space=Linear()), {"X": np.float32(X * 1e25)}, "products overflow float32"),
    (LINEAR, {"X": np.float32(X * 1e-20)}, r"products underflow float32\. Scale the features"),
    (
        LapSVC(unlabeled=-1),
        {"y": np.where(Y == 0, -1, Y)},
        "one class only, 1, besides .* at least",
    ),
    *(
        (LapSVC(class_weight={0: weight}), {}, rf"class_weight=\{{0: {weight!r}\}} must give every")
        for weight in (-1.0, 0, np.nan, "many")
    ),
    (LapSVC(class_weight={"a": 2.0}), {}, r"a weight for 'a', .*, but none for 0\. .*: 0, 1"),
    (LapSVC(), {"sample_weight": np.where(ROW < 12, 0.0, 1)}, "zero on every labelled row"),
    (LapSVR(), {"sample_weight": np.ones(N - 1)}, r"the shape \(39,\), and X has 40 rows"),
    *(
        (estimator.set_params(unlabeled="?"), WEIGHTLESS_FIRS, WEIGHTLESS)
        for estimator in (LapSVC(), LapSVC(loss="hinge"), S3VC(), BalancedGraphClassifier())
    ),
    *(
        # Before the kernel is computed.
        (LapSVC(never, loss="hinge", solver=solver), {}, rf"'{solver}' needs .*'hinge'.*er='dual'")
        for solver in ("newton", "pcg")
    ),
    (
        LapSVR(solver="newton"),
        {},
        r"solver='newton' needs .* differentiable.*Use solver='dual' \(or 'auto'",
    ),
    *(
        (LapSVC(stopping="stability", solver=solver), {}, ITERATES.format(solver))
        for solver in ("newton", "dual")
    ),
    (LapSVC(stopping="stability", loss="hinge"), {}, r"and a differentiable loss.*loss='hinge'"),
    (LapSVC(stopping="stability"), {"y": TRUTH}, WATCHES.format("stability")),
    (MIXED, {"y": TRUTH, "validation_data": (X, TRUTH)}, WATCHES.format("mixed")),
    (VALIDATED, {"y": np.where(ROW < 2, TRUTH, -1)}, "=0.2 leaves no label .*Pass validation_data"),
    *(
        (estimator.set_params(validation_fraction=None), {}, r"=\(X_val, y_val\) .*validation_frac")
        for estimator in (LapSVC(stopping="validation"), LapRLSRegressor(stopping="mixed"))
    ),
    (LapSVC(), {"validation_data": (X, Y)}, UNASKED + "alidation' or 'mixed', not None"),
    (LapRLSRegressor(stopping="stability"), {"validation_data": (X, T)}, UNASKED + ".*'stability'"),
    (
        LapSVC(stopping="validation", updatable=True),
        {"validation_data": (X, TRUTH)},
        r"validation_data is not kept for add_labels\. Use validation_fraction",
    ),
    (VALIDATED, {"validation_data": X}, r"a tuple \(X_val, y_val\) of points .*, not ndarray"),
    (VALIDATED, {"validation_data": (X[:5], TRUTH[:4])}, r"numbers of samples: \[5, 4\]"),
    (VALIDATED, {"validation_data": (X[:5, :2], TRUTH[:5])}, r"validation_data: X has 2 features"),
    (VALIDATED, {"validation_data": (X[:3], [0, 1, 2])}, r"not among .*: 2\. Give .*classes 0, 1"),
    (MIXED, {"validation_data": (X[:3], [0, 1, None])}, UNKNOWN),
    (VALIDATED, {"validation_data": (X[:3], [0, 1, -1])}, UNKNOWN),
    (REGRESSION, {"validation_data": (X[:3], [0, 1, np.nan])}, UNKNOWN),
    (REGRESSION, {"validation_data": (X[:2], [np.nan] * 2)}, r"2 of the 2 entries of y are unla"),
    (REGRESSION, {"validation_data": (X[:2], [1.0, np.inf])}, r"_data: Input y contains infinity"),
]


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NothingUnlabeledWarning")
@pytest.mark.parametrize(("estimator", "given", "message"), FITS)
def test_rejects_invalid_arguments(estimator: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(estimator).fit(**{"X": X, "y": labels(type(estimator))} | given)


# ---- memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_forecasts_memory_of_the_kernel(monkeypatch: pytest.MonkeyPatch, estimator: type) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    message = (
        r"The kernel matrix of 40 points \(float64\) needs .*, but 10\.0 kB are available\. Use "
        r"fewer unlabelled points, float32 .*kernel='linear'.*LAPWING_MEMORY_LIMIT"
    )
    with pytest.raises(MemoryError, match=message):
        estimator().fit(X, labels(estimator))
    estimator("linear").fit(X, labels(estimator))


@pytest.mark.parametrize("solver", ["newton", "dual"])
def test_forecasts_the_memory_of_a_factorisation(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, solver: str
) -> None:
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "10k")
    model = LapSVC(**GIVEN, gamma_A=0.1)
    message = r"at n = 40 points needs 25\.0 kB, but 10\.0 kB are available\. Use solver='pcg'"
    with pytest.raises(MemoryError, match=message):
        clone(model).set_params(solver=solver).fit(K, Y)
    with caplog.at_level("INFO", logger="lapwing"):
        assert model.fit(K, Y).solver_ == "pcg"
    assert "solver 'pcg': a factorisation does not fit in memory" in caplog.text
    monkeypatch.delenv("LAPWING_MEMORY_LIMIT")
    assert model.fit(K, Y).solver_ == "dual"


# ---- warnings ----------------------------------------------------------------------------------


def the_only(fit: Callable[[], Any], category: type[Warning]) -> str:
    """Return the message of the only warning, which must point to the call in this file."""
    caught = warned(fit)
    assert [warning.category for warning in caught] == [category]
    assert caught[0].filename == __file__
    return str(caught[0].message)


def apart() -> np.ndarray:
    """Make three distant clusters; the last has no label."""
    points = X / 10
    points[20:30] += 50
    points[30:] += 100
    return points


APART = np.where((ROW < 12) | (ROW // 10 == 2), TRUTH, -1)


def test_warns_about_components_without_labels() -> None:
    y = APART.copy()
    model = LapSVC(graph=KNNGraph(4, power=3), gamma=0.01)
    text = the_only(lambda: model.fit(apart(), y), UnlabeledComponentWarning)
    assert re.match(
        r"1 of the graph's 3 connected components contain no labelled point \(10 points, the "
        r"largest component 10\).* Label a point in each, e\.g\. row 30 \(rows count from 0\)\. "
        r"More neighbours .* keep power=3 then",
        text,
    )
    # Repeated rows are one point, and rows are those of X.
    twice = np.repeat(apart(), 2, axis=0), np.repeat(y, 2)
    assert "e.g. row 60 (" in the_only(lambda: model.fit(*twice), UnlabeledComponentWarning)
    y[30] = 1
    assert warned(lambda: model.fit(apart(), y)) == []


def components(sizes: Any) -> Laplacian:
    """Make a graph of rings and isolated points."""
    blocks = [np.roll(np.eye(n), 1, axis=1) * (n > 1) for n in sizes]
    W = sp.block_diag(blocks, format="csr")
    return Laplacian.from_affinity(W.maximum(W.T))


def test_warning_names_rows_of_large_components() -> None:
    def messages(sizes: Any, rows: Any = None) -> str:
        laplacian = components(sizes)
        at = np.arange(laplacian.n_points)
        problem: Any = SimpleNamespace(labeled=at < 2, rows=at if rows is None else rows)
        caught = warned(lambda: diagnostics.warn_unlabeled_components(laplacian, problem))
        return " ".join(str(warning.message) for warning in caught)

    text = messages([50, 3, 7, 1, 5, 4, 9, 7])
    assert "7 of the graph's 8 connected components" in text
    assert "e.g. rows 70, 53, 79, 61, 66 (rows count from 0, the largest components first)" in text
    assert "e.g. rows 1700, 1630, 1600 (" in messages([50, 3, 7, 10], np.arange(0, 700, 10) + 1100)
    assert messages([991, 3, 3, 3]) == ""  # 0.9 % of the points
    assert messages([990, 3, 3, 4]).startswith("3 of the graph's 4")
    assert messages([1000]) == ""


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_warns_if_all_unlabelled_points_get_one_class(estimator: type) -> None:
    y = np.where(TRUTH == 0, "fir", "?")
    y[[1, 3]] = "oak"
    model = estimator(unlabeled="?", graph=KNNGraph(3))
    text = the_only(lambda: model.fit(X + 20 * TRUTH[:, None], y), SingleClassWarning)
    assert re.match(
        r"All 18 unlabelled points were given class 'oak'\. Usual causes: .*standardise the "
        r"features.*class_weight='balanced'.*a smaller gamma_I",
        text,
    )
    assert set(model.transduction_[y == "?"]) == {"oak"}
    one = np.where(ROW == 7, -1, TRUTH)
    assert warned(lambda: estimator().fit(X, one)) == []  # a single point has one class


@pytest.mark.parametrize("estimator", READERS)
def test_warns_about_features_of_different_scales(estimator: type) -> None:
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
    assert warned(lambda: make_pipeline(StandardScaler(), model).fit(scaled, y)) == []
    # Constant features have no scale, and sparse features are not checked.
    assert warned(lambda: model.fit(np.hstack([X, np.full((N, 1), 1e9)]), y)) == []
    assert warned(lambda: model.fit(sp.csr_array(scaled), y)) == []


@pytest.mark.parametrize("container", [np.asarray, ArrayRows])
def test_scales_that_differ_too_much(container: Any) -> None:
    ramp = np.linspace(0, 1, N)
    for factors, shift, expected in (
        ([1, 9_999], [0, 0], False),
        ([1, 10_010], [0, 0], True),
        ([1e-3, 10.01], [0, 1e6], True),
        ([1, 1], [0, 1e9], False),
        ([1e-9, 1e-9], [0, 0], False),
    ):
        grid = container(np.column_stack([ramp, ramp[::-1]]) * factors + shift)
        found = warned(lambda grid=grid: input_checks.warn_feature_scales(grid))
        assert [w.category for w in found] == [FeatureScaleWarning] * expected, factors


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", READERS)
def test_warns_about_outlying_rows(estimator: type, container: Any) -> None:
    far = np.vstack([X, X[0]])
    far[-1] = 1e4
    y = np.append(labels(estimator), labels(estimator)[-1])
    model = estimator(graph=KNNGraph(20))
    caught = warned(lambda: model.fit(container(far), y))
    (warning,) = [w for w in caught if w.category is OutlierWarning]
    assert warning.filename == __file__
    text = str(warning.message)
    assert f"Row {N} lies so far from all others that it makes the variance of X" in text
    assert "Look for wrong values" in text
    assert "make_pipeline(QuantileTransformer(), LapSVC())" in text
    assert warned(lambda: model.fit(container(X), labels(estimator))) == []


def test_rows_that_count_as_outlying() -> None:
    def messages(X: Any) -> str:
        caught = warned(lambda: input_checks.warn_outlying_rows(X))
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
        assert messages(moved).startswith(expected), rows
        assert bool(messages(moved)) == bool(expected)
    ten = bulk[:10] + np.eye(10)[:, 7:8] * 1e4
    assert messages(ten).startswith("Row 7 lies so far")
    assert messages(ten[1:]) == ""  # one of nine is more than a tenth
    for heavy in (rng.exponential(size=(1000, 3)), rng.standard_t(3, size=(1000, 2))):
        assert messages(heavy) == ""
    assert messages(np.eye(1, 5)) == ""
    assert messages(np.vstack([np.zeros((99, 2)), np.ones((1, 2))])) == ""  # no others to compare
    assert messages(np.full((50, 3), 0.1)) == ""


SMALL = {"gamma_A": 1e-2, "gamma_I": 1e-2}
UNCONVERGED: list[tuple[Any, str]] = [
    *(
        (
            estimator.set_params(max_iter=1),
            rf"solver='{estimator.solver}' did not converge in 1 iterations: the relative opt.*"
            r"tol=1e-08\. Raise max_iter or tol, or use a larger gamma_A \(better conditioned\)"
            + (r"; stop by .*stopping='stability'" if estimator.solver == "pcg" else r"\.$"),
        )
        for estimator in (
            *(LapSVC(solver="pcg"), LapRLSClassifier(solver="pcg"), LapRLSRegressor(solver="pcg")),
            *(LapSVC(solver="newton", **SMALL), LapSVC(solver="dual", **SMALL)),
        )
    ),
    (S3VC(max_iter=1), r"L-BFGS did not converge in .* iterations.*tol"),
    (LapESVC(C=1.0, max_iter=1, tol=1e-15), r"'interior point' stopped \(not converged\)"),
    (
        LapERLSClassifier(n_eigenvectors=None, space=Landmarks(15), max_iter=1),
        r"solver='conjugate gradient' stopped",
    ),
]


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.SingleClassWarning")
@pytest.mark.parametrize(("estimator", "message"), UNCONVERGED)
def test_warns_at_max_iter(estimator: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice._MATRIX_POINTS, "squared", 10)
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        estimator.fit(X, labels(type(estimator)))
    assert caught[0].filename == __file__
    assert estimator.status_ == "not converged"


@pytest.mark.parametrize("estimator", [LapSVC(loss="hinge"), LapSVR(epsilon=0.01)], ids=repr)
def test_warns_if_libsvm_does_not_converge(monkeypatch: pytest.MonkeyPatch, estimator: Any) -> None:
    monkeypatch.setattr(kinks, "_STEPS_PER_LABEL", 1)
    monkeypatch.setattr(kinks, "ROUNDS", 1)  # the method of multipliers goes on after libsvm
    found = warned(lambda: estimator.fit(X, labels(type(estimator))))
    texts = [str(w.message) for w in found if w.category is ConvergenceWarning]
    assert [text[:34] for text in texts] == ["solver='dual' did not converge in "]


def test_all_warnings_have_one_base() -> None:
    for warning in vars(exceptions).values():
        if isinstance(warning, type) and issubclass(warning, Warning):
            assert issubclass(warning, LapwingWarning)
            assert issubclass(warning, UserWarning)


def test_warns_about_limited_precision() -> None:
    points = X.astype(np.float32)
    model = LapSVC(gamma=1e-6, gamma_A=1e-10, solver="pcg")
    text = the_only(lambda: model.fit(points, Y), ConvergenceWarning)
    assert "was limited by rounding errors" in text
    assert "X as float64" in text
