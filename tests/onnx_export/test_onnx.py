"""ONNX export: predictions of onnxruntime equal those of the estimators."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import lapwing
from lapwing import S3VC, AnchorGraphClassifier, KNNGraph, Landmarks, LapSVC, Linear
from lapwing.kernels import KERNELS
from lapwing.model_selection import Candidate, LabeledStratifiedKFold
from lapwing.onnx_export import OnnxExportError, save_onnx, to_onnx
from lapwing.onnx_export.export import TRANSLATED_KERNELS
from tests.helpers.columns import CODES, COLORS, LABELED, NEW, NUMBERS, THREE, N, X, Y, frame, mixed

CENTERED = X - X.mean(axis=0)


def run(model: Any, points: Any, input_type: Any = "double") -> dict[str, Any]:
    """Run a model in onnxruntime, and return its outputs by name."""
    content = to_onnx(model, input_type=input_type).SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    points = points.toarray() if sp.issparse(points) else points
    kinds = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(string)": object}
    assert {one.type for one in inputs} <= {"tensor(string)", f"tensor({input_type})"}
    if len(inputs) == 1:
        feed = {inputs[0].name: np.asarray(points, dtype=kinds[inputs[0].type])}
    else:
        assert [one.name for one in inputs] == list(points.columns)
        feed = {one.name: np.asarray(points[[one.name]], dtype=kinds[one.type]) for one in inputs}
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


def check(model: Any, points: Any) -> None:
    answer = run(model, points)
    if not is_classifier(model):
        assert list(answer) == ["value"]
        np.testing.assert_allclose(answer["value"], model.predict(points), rtol=1e-5, atol=1e-5)
        return
    assert list(answer) == ["label", "scores", "probabilities"]
    expected = model.decision_function(points)
    assert answer["scores"].shape == expected.shape
    assert np.abs(expected).max() > 0.1  # zeros would agree trivially
    np.testing.assert_allclose(answer["scores"], expected, rtol=1e-5, atol=1e-5)
    shares = model.predict_proba(points)
    np.testing.assert_allclose(answer["probabilities"], shares, rtol=1e-4, atol=1e-6)
    labels = model.predict(points)
    assert answer["label"].tolist() == labels.tolist()
    kind = model.classes_.dtype.kind
    assert answer["label"].dtype.kind == ("O" if kind in "OU" else kind)
    assert len(set(labels.tolist())) > 1


def weak(kernel: str, **options: Any) -> LapSVC:
    """Make an estimator with a weak graph; a nearly linear sigmoid kernel is definite."""
    usual = {"gamma": 1e-3, "coef0": 0.0} if kernel == "sigmoid" else {}
    return LapSVC(kernel, **{"gamma_I": 0.01, **usual, **options})


Case = tuple[str, Any, Any, Any, Any]  # name, model, points, labels, new points
SCALER = StandardScaler().fit(X)
Z, NEW_Z, NEW_CENTERED = SCALER.transform(X), SCALER.transform(NEW), NEW - X.mean(axis=0)
LABELS: dict[str, Any] = {"two classes": Y, "three classes": THREE}


def kernel_cases() -> Iterator[Case]:
    """Make cases of all kernels, for points of several magnitudes and types."""
    for kernel in TRANSLATED_KERNELS:
        for name, y in LABELS.items():
            yield f"{kernel}, {name}", weak(kernel, graph=None), Z, y, NEW_Z
        if kernel != "sigmoid":  # of other points it is no kernel
            sparse = sp.csr_array(Z * (np.abs(Z) > 0.3))
            yield f"{kernel}, sparse", weak(kernel), sparse, Y, sp.csr_array(NEW_Z)
            single = CENTERED.astype(np.float32)
            yield f"{kernel}, float32", weak(kernel), single, Y, NEW_CENTERED
    for unit in (2.0**120, 2.0**-120):
        for kernel in ("rbf", "poly", "laplacian"):
            model = weak(kernel, gamma=0.1 / (unit if kernel == "laplacian" else unit**2))
            yield f"{kernel}, times {unit:.0e}", model, CENTERED * unit, Y, NEW_CENTERED * unit
    zeros = np.vstack([np.zeros(4), NEW_CENTERED])
    yield "cosine of a point of length zero", weak("cosine"), CENTERED, Y, zeros


SHORT: dict[str, Any] = {"gammas": ["scale"], "graphs": [KNNGraph(5)]}
SCALED = make_pipeline(StandardScaler(), LapSVC())
MODELS: list[Any] = [
    LapSVC(fit_intercept=False),
    lapwing.LapRLSClassifier(),
    lapwing.LapRLSRegressor(fit_intercept=False),
    lapwing.LapSVR(),
    lapwing.LapESVC(),
    lapwing.LapESVR(),
    lapwing.LapRLSClassifierCV(**SHORT),
    lapwing.LapSVCCV(**SHORT),
    lapwing.LapERLSClassifierCV(**SHORT),
    lapwing.LapRLSRegressorCV(**SHORT),
    lapwing.BalancedGraphClassifier(n_votes=0),
    # Meta-estimators export the chosen estimator.
    lapwing.FewLabelClassifier([Candidate("scaled", SCALED, "classes are connected sheets")]),
    GridSearchCV(SCALED, {"lapsvc__gamma_I": [0.1, 1.0]}, cv=LabeledStratifiedKFold(3)),
    # Pairs of classes, and one against the rest.
    *(
        S3VC(*names, C=5, tol=1e-3, multi_class=way)
        for names in ([], ["linear"])
        for way in ("ovo", "ovr")
    ),
]
SPACES: list[dict[str, Any]] = [
    {"kernel": "laplacian"},
    {"space": Linear()},
    {"space": Landmarks(9)},
    {"kernel": "linear", "gamma_I": 0.1},
    {"gamma_I": 0.1},
]
KINDS_OF_LABELS: dict[str, tuple[Any, Any]] = {
    "texts": (np.where(LABELED, np.where(CODES, "yes", "nö"), "").astype(object), ""),
    "truth values": ([bool(v) if v >= 0 else None for v in Y], None),
    "floats": (np.where(Y >= 0, Y + 1.0, np.nan), None),
    "small integers": (np.where(Y >= 0, Y * 10 + 3, -1).astype(np.int8), -1),
}


def estimator_cases() -> Iterator[Case]:
    for number, model in enumerate(MODELS):
        for name, y in LABELS.items() if is_classifier(model) else [("numbers", NUMBERS)]:
            name = f"{type(model).__name__} {number}, {name}"
            yield name, make_pipeline(StandardScaler(), model), X, y, NEW
            known = model.get_params(deep=False)
            if {"fit_intercept", "gamma_I"} <= known.keys() and not isinstance(model, S3VC):
                other = {"fit_intercept": not model.fit_intercept, "gamma_I": 0.01}
                yield f"{name}, other intercept", clone(model).set_params(**other), X, y, NEW
    for kernel in ("rbf", "linear"):
        for (name, y), prior in zip(LABELS.items(), ([2, 7], [1, 2, 6]), strict=True):
            model = make_pipeline(StandardScaler(), LapSVC(kernel, class_prior=prior))
            yield f"offsets, {kernel}, {name}", model, X, y, NEW
    for options in SPACES:
        model = make_pipeline(StandardScaler(), S3VC(C=5.0, tol=1e-3).set_params(**options))
        yield f"S3VC, {options}", model, X, Y, NEW
    for name, (y, unlabeled) in KINDS_OF_LABELS.items():
        yield name, make_pipeline(StandardScaler(), LapSVC(unlabeled=unlabeled)), X, y, NEW


SCALERS: list[Any] = [
    *(StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False)),
    *(RobustScaler(), RobustScaler(with_centering=False, with_scaling=False)),
    *(MinMaxScaler((-1, 2)), MinMaxScaler((-1, 2), clip=True), MaxAbsScaler()),
    *(PCA(3), PCA(2, whiten=True), TruncatedSVD(3, random_state=0)),
    *(FunctionTransformer(), "passthrough"),
]
COLUMNS: dict[str, Any] = {
    "names": ["b", "a"],
    "index": pd.Index(["a", "b"]),
    "slice of names": slice("a", "b"),
    "slice up to a name": slice("c"),
    "positions": [1, -5],
    "slice": slice(0, 2),
    "reversed slice": slice(1, None, -1),
    "list of truth values": [True, True, False, False, False],
    "mask": np.arange(5) < 2,
    "selector": make_column_selector(pattern="^[ab]"),
}


def step_cases() -> Iterator[Case]:
    beyond = X.mean(axis=0) + 1.5 * NEW_CENTERED  # some outside the range of the fit
    for scaler in SCALERS:
        steps = [("scale", scaler), ("estimator", weak("laplacian"))]
        yield str(scaler), Pipeline(steps), X, Y, beyond
    short = NEW_Z.copy()
    short[3], short[4] = 0.0, 1e-17 * short[4]  # too short for scikit-learn to divide by
    for norm in ("l1", "l2", "max"):
        yield f"length by {norm}", make_pipeline(Normalizer(norm), weak("rbf")), Z, Y, short
    new: Any = frame(NEW, ["blue", "unseen", "red"])
    for remainder in ("drop", "passthrough"):
        for name, numbers in COLUMNS.items():
            model = make_pipeline(mixed(numbers, ["color"], remainder), weak("rbf"))
            yield f"{name}, {remainder}", model, frame(), Y, new
    weighted = mixed(["b", "a"], ["color"]).set_params(transformer_weights={"numbers": 3.0})
    yield "weights of blocks", make_pipeline(weighted, weak("rbf")), frame(), Y, new
    both = mixed(["b", "a"], ["color", "c"])
    yield "texts and numbers as categories", make_pipeline(both, LapSVC()), frame(), Y, new
    turned = ColumnTransformer([("numbers", StandardScaler(), [3, 0, 2, 1])])
    yield "all columns in another order", make_pipeline(turned, weak("rbf")), X, Y, NEW
    points = np.column_stack([X, np.arange(N) % 3])
    points[5, 0] = np.nan
    new = np.column_stack([NEW, np.arange(len(NEW)) % 4])
    model = make_pipeline(mixed(slice(0, 2), [-1], "passthrough"), LapSVC())
    yield "columns of an array", model, points, Y, new
    constant = SimpleImputer(strategy="constant", fill_value=99)
    yield "gaps filled by a constant", make_pipeline(constant, weak("rbf")), points, Y, points
    texts = np.column_stack([COLORS, np.where(CODES == 1, "up", "down")]).astype(object)
    new = np.array([["red", "up"], ["blue", "down"], ["pink", "up"]], dtype=object)
    encoder = OneHotEncoder(handle_unknown="ignore")
    yield "texts alone", make_pipeline(encoder, LapSVC()), texts, Y, new


CASES = {name: case for name, *case in (*kernel_cases(), *estimator_cases(), *step_cases())}


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoImprovementWarning")
@pytest.mark.parametrize("case", CASES)
def test_exports_agree_with_their_models(case: str) -> None:
    model, points, y, new = CASES[case]
    check(clone(model).fit(points, y), new)


def test_kernels_without_translation_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {*TRANSLATED_KERNELS, "linear"} == {*KERNELS}
    monkeypatch.setitem(KERNELS, "affine", replace(KERNELS["linear"], text="x'z"))
    model = LapSVC("affine", graph=None, gamma_I=0.01).fit(X, Y)
    with pytest.raises(OnnxExportError, match=r"'affine' has no translation to ONNX. Use .*'rbf'"):
        to_onnx(model)


def test_ties_are_decoded_as_by_predict() -> None:
    for y, label in ((Y, 1), (THREE, 0)):
        model = LapSVC("linear").fit(X, y)
        model.coef_[:] = 0
        assert model.predict(NEW).tolist() == [label] * len(NEW)
        assert run(model, NEW)["label"].tolist() == [label] * len(NEW)


def test_float_inputs_are_rounded_and_computed_in_double() -> None:
    single = NEW.astype(np.float32)
    columns = frame(single, ["blue", "unseen", "red"])
    for case, new in (("LapSVC 0, two classes", single), ("names, drop", columns)):
        model, points, y, _ = CASES[case]
        model = clone(model).fit(points, y)
        scores = run(model, new, "float")["scores"]
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, run(model, new)["scores"])


def test_an_input_type_is_double_or_float(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"input_type='float16' must be 'double' or 'float'\."):
        save_onnx(LapSVC().fit(X, Y), tmp_path / "m.onnx", input_type="float16")  # type: ignore[arg-type]
    assert not (tmp_path / "m.onnx").exists()


def test_the_file_is_checked_and_the_same_every_time(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), LapSVC()).fit(X, Y)
    save_onnx(model, tmp_path / "a.onnx")
    save_onnx(model, tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    loaded = onnx.load(tmp_path / "a.onnx")
    onnx.checker.check_model(loaded, full_check=True)
    assert loaded.producer_name == "lapwing"
    used = {name for node in loaded.graph.node for name in node.input}
    assert {constant.name for constant in loaded.graph.initializer} <= used


def product(A: Any, B: Any) -> Any:
    return A @ B.T


GAPS = np.where(np.arange(N)[:, None] % 5 == 0, np.nan, CODES[:, None])
WORDS = np.where(X[:, 1] > 0, "sea ship", "moon star").astype(object)
TEXTS_WITH_GAPS = np.where(np.isnan(GAPS), np.nan, WORDS[:, None])
NUMBERS_ONLY = "SimpleImputer can be exported to ONNX for numbers only"
MOST_FREQUENT = SimpleImputer(strategy="most_frequent")
NAMED = frame().rename(columns={"color": "label"})

# Models without ONNX form, and the messages.
FORMLESS = [
    (LapSVC(product, gamma_I=0), X, "A kernel that is a Python function cannot be exported"),
    (S3VC("precomputed", C=5.0), CENTERED @ CENTERED.T, "kernel='precomputed' cannot be exported"),
    (AnchorGraphClassifier(), X, "AnchorGraphClassifier cannot .* for new points are neither"),
    (lapwing.BalancedGraphClassifier(), X, "while the nearest points of .* Fit it with n_votes=0"),
    (LogisticRegression(), X, "LogisticRegression cannot .* it is not an estimator of lapwing"),
    (PowerTransformer(), X, "PowerTransformer cannot .*; the steps that can are .*StandardScaler"),
    (TfidfVectorizer(), WORDS, "TfidfVectorizer cannot .*: .*Compute .* export .* last step"),
    (FunctionTransformer(np.cbrt), X, r"FunctionTransformer\(cbrt\) cannot be exported"),
    (MaxAbsScaler(clip=True), X, r"MaxAbsScaler\(clip=True\) cannot be exported"),
    (SimpleImputer(add_indicator=True), X, NUMBERS_ONLY),
    (SimpleImputer(missing_values=0), X.round(), NUMBERS_ONLY),
    (make_pipeline(MOST_FREQUENT, OneHotEncoder()), WORDS[:, None], NUMBERS_ONLY),
    (SimpleImputer(), np.column_stack([X, np.full(N, np.nan)]), NUMBERS_ONLY),
    (OneHotEncoder(drop="first"), X.round(), "OneHotEncoder can be exported to ONNX without drop"),
    (OneHotEncoder(min_frequency=5), X.round(), "OneHotEncoder can be exported .* without drop"),
    (OneHotEncoder(), GAPS, "OneHotEncoder with a missing value"),
    (OneHotEncoder(), TEXTS_WITH_GAPS, "categories of a column are all texts or all numbers"),
    (mixed(["a", "b"], ["label"]), NAMED, "The column 'label' has the name of an output"),
]


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize(("model", "points", "message"), FORMLESS)
def test_estimators_without_an_onnx_form_are_refused(
    model: Any, points: Any, message: str, tmp_path: Path
) -> None:
    if not hasattr(model, "predict"):
        model = make_pipeline(model, LapSVC(gamma_I=0.01))
    model.fit(points, CODES if isinstance(model, LogisticRegression) else Y)
    with pytest.raises(OnnxExportError, match=message):
        save_onnx(model, tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


def test_classes_that_are_dates_are_refused() -> None:
    days = np.datetime64("2026-01-01") + np.where(LABELED, CODES, np.timedelta64("NaT"))
    with pytest.raises(OnnxExportError, match=r"datetime64\[D\] have no ONNX form.*astype\(str"):
        to_onnx(LapSVC().fit(X, days))


def test_an_unfitted_model_is_reported() -> None:
    pipeline, chooser = make_pipeline(StandardScaler(), LapSVC()), lapwing.FewLabelClassifier()
    for model in (LapSVC(), pipeline, chooser):
        with pytest.raises(NotFittedError):
            to_onnx(model)


def test_several_targets_are_exported_one_by_one() -> None:
    alone = Candidate("ridge", lapwing.LapRLSRegressor("linear", gamma_I=0), "labels alone")
    for model in (lapwing.LapRLSRegressor(), lapwing.FewLabelRegressor([alone])):
        targets = np.column_stack([X[:, 0], X[:, 0]])
        targets[20:] = np.nan
        with pytest.raises(ValueError, match=r"single target.* Use model\.estimators_\[j\]"):
            to_onnx(model.fit(X, targets))
        to_onnx(model.estimators_[1])


def test_a_model_too_large_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LapSVC().fit(X, Y)
    monkeypatch.setattr("lapwing.onnx_export.export._LIMIT", 1000)
    with pytest.raises(OnnxExportError, match="more than the 2 GB of an ONNX file"):
        to_onnx(model)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"needs 'onnx'.*'lapwing-learn\[onnx\]'"):
        to_onnx(LapSVC())
