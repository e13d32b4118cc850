"""ONNX export: what onnxruntime answers is what the estimator answers."""

from __future__ import annotations

import os
import sys
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

from lapwing import (
    S3VC,
    AnchorGraphClassifier,
    FewLabelClassifier,
    KNNGraph,
    Landmarks,
    LapERLSClassifierCV,
    LapESVC,
    LapESVR,
    LapRLSClassifier,
    LapRLSClassifierCV,
    LapRLSRegressor,
    LapRLSRegressorCV,
    LapSVC,
    LapSVCCV,
    LapSVR,
    Linear,
)
from lapwing.kernels import KERNELS
from lapwing.model_selection import Candidate, LabeledStratifiedKFold
from lapwing.onnx_export import OnnxExportError, save_onnx, to_onnx
from lapwing.onnx_export.export import TRANSLATED_KERNELS

RNG = np.random.default_rng(1)
N = 60
# Far from the origin and on other scales, where a careless distance loses its digits.
X = RNG.normal(size=(N, 4)) * [3, 1, 0.5, 2] + [100, 0, -20, 1]
NEW = RNG.normal(size=(31, 4)) * [3, 1, 0.5, 2] + [100, 0, -20, 1]
CENTERED = X - X.mean(axis=0)
CODES = (X[:, 1] > 0).astype(int)
LABELED = np.arange(N) % 3 == 0
Y = np.where(LABELED, CODES, -1)
THREE = np.where(LABELED, np.where(X[:, 3] > 2, 2, CODES), -1)
NUMBERS = np.where(LABELED, X[:, 1], np.nan)
COLORS = np.array(["red", "green", "blue"])[np.arange(N) % 3]


def frame(points: Any = X, colors: Any = COLORS) -> pd.DataFrame:
    table = pd.DataFrame(points, columns=["a", "b", "c", "d"])
    table["color"] = np.resize(colors, len(points))
    table.loc[3, "a"] = np.nan
    return table


def run(model: Any, points: Any, input_type: Any = "double") -> dict[str, Any]:
    """What onnxruntime gives, by the names of the outputs."""
    session = onnxruntime.InferenceSession(
        to_onnx(model, input_type=input_type).SerializeToString(),
        providers=["CPUExecutionProvider"],
    )
    inputs = session.get_inputs()
    kinds = {
        "tensor(double)": np.float64,
        "tensor(float)": np.float32,
        "tensor(string)": object,
    }
    assert {one.type for one in inputs} <= {"tensor(string)", f"tensor({input_type})"}
    if len(inputs) == 1:
        feed = {inputs[0].name: np.asarray(points, dtype=kinds[inputs[0].type])}
    else:
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
    assert np.abs(expected).max() > 0.1  # nothing would be told by zeros
    np.testing.assert_allclose(answer["scores"], expected, rtol=1e-5, atol=1e-5)
    shares = model.predict_proba(points)
    np.testing.assert_allclose(answer["probabilities"], shares, rtol=1e-4, atol=1e-6)
    labels = model.predict(points)
    assert answer["label"].tolist() == labels.tolist()
    assert len(set(labels.tolist())) > 1


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kernel", [*TRANSLATED_KERNELS])
def test_kernels_agree(kernel: str, y: Any) -> None:
    # tanh is no kernel for every parameter: a flat one is nearly linear.
    more = {"gamma": 1e-3, "coef0": 0.0} if kernel == "sigmoid" else {}
    points = StandardScaler().fit(X)
    model = LapSVC(kernel, graph=None, gamma_I=0.01, **more)
    model.fit(points.transform(X), y)
    check(model, points.transform(NEW))


def test_translations_are_of_kernels() -> None:
    assert len(TRANSLATED_KERNELS) >= 6
    assert TRANSLATED_KERNELS.keys() <= KERNELS.keys()


@pytest.mark.parametrize("unit", [2.0**120, 2.0**-120])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_kernels_of_points_of_another_magnitude_agree(kernel: str, unit: float) -> None:
    gamma = 0.1 / (unit if kernel == "laplacian" else unit**2)
    model = LapSVC(kernel, gamma=gamma, gamma_I=0.01).fit(CENTERED * unit, Y)
    check(model, (NEW - X.mean(axis=0)) * unit)


def test_a_kernel_without_translation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KERNELS, "affine", replace(KERNELS["linear"], text="x'z"))
    model = LapSVC("affine", graph=None, gamma_I=0.01).fit(X, Y)
    with pytest.raises(OnnxExportError, match=r"'affine' has no translation to ONNX. Use .*'rbf'"):
        to_onnx(model)


SHORT: dict[str, Any] = {"gammas": ["scale"], "graphs": [KNNGraph(5)]}
SCALED = make_pipeline(StandardScaler(), LapSVC())
MODELS = [
    LapSVC(fit_intercept=False),
    LapRLSClassifier(),
    LapRLSRegressor(fit_intercept=False),
    LapSVR(),
    LapESVC(),
    LapESVR(),
    LapRLSClassifierCV(**SHORT),
    LapSVCCV(**SHORT),
    LapERLSClassifierCV(**SHORT),
    LapRLSRegressorCV(**SHORT),
    # Of what chooses, the chosen one is exported.
    FewLabelClassifier([Candidate("scaled", SCALED, "classes are connected sheets")]),
    GridSearchCV(SCALED, {"lapsvc__gamma_I": [0.1, 1.0]}, cv=LabeledStratifiedKFold(3)),
]


@pytest.mark.parametrize("three", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_estimators_agree(model: Any, three: bool) -> None:
    y = (THREE if three else Y) if is_classifier(model) else NUMBERS
    check(make_pipeline(StandardScaler(), clone(model)).fit(X, y), NEW)
    if "fit_intercept" in model.get_params(deep=False) and hasattr(model, "gamma_I"):
        other = {"fit_intercept": not model.fit_intercept, "gamma_I": 0.01}
        check(clone(model).set_params(**other).fit(X, y), NEW)


LOW_DENSITY = [
    {},
    {"kernel": "linear"},
    {"kernel": "laplacian"},
    {"space": Linear()},
    {"space": Landmarks(9)},
    {"kernel": "linear", "gamma_I": 0.1},
    {"gamma_I": 0.1},
]


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.NoImprovementWarning")
@pytest.mark.parametrize(
    ("options", "y", "multi_class"),
    [
        *((options, Y, "ovo") for options in LOW_DENSITY),
        # Votes of pairs, and scores of classes, are made of the same columns whatever the space.
        *((options, THREE, way) for options in LOW_DENSITY[:2] for way in ("ovo", "ovr")),
    ],
    ids=lambda value: (
        f"{len(np.unique(value)) - 1}-classes" if isinstance(value, np.ndarray) else repr(value)
    ),
)
def test_low_density_separation_agrees(options: Any, y: Any, multi_class: str) -> None:
    estimator = S3VC(C=5.0, tol=1e-3, multi_class=multi_class, **options)
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    check(model, NEW)
    if y is not Y and multi_class == "ovo":
        values = model.decision_function(NEW)
        pairs = model[-1]._function().pairs(model[0].transform(NEW))
        assert (np.abs(pairs) > 1).any()  # some votes are cut off
        assert (np.abs(values) <= 1).all()


@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_class_offsets_are_exported(kernel: str, y: Any) -> None:
    prior = [2, 7] if y is Y else [1, 2, 6]
    model = make_pipeline(StandardScaler(), LapSVC(kernel, class_prior=prior)).fit(X, y)
    assert np.abs(model[-1].class_offsets_).max() > 0.05
    check(model, NEW)


@pytest.mark.parametrize(
    ("y", "more"),
    [
        (np.where(LABELED, np.where(CODES, "yes", "nö"), "").astype(object), {"unlabeled": ""}),
        ([bool(v) if v >= 0 else None for v in Y], {"unlabeled": None}),
        (np.where(Y >= 0, Y + 1.0, np.nan), {"unlabeled": None}),
        (np.where(Y >= 0, Y * 10 + 3, -1).astype(np.int8), {}),
    ],
    ids=["texts", "truth values", "floats", "small integers"],
)
def test_labels_of_every_kind_agree(y: Any, more: dict[str, Any]) -> None:
    model = make_pipeline(StandardScaler(), LapSVC(**more)).fit(X, y)
    check(model, NEW)
    kind = run(model, NEW)["label"].dtype.kind
    assert kind == ("O" if isinstance(model.classes_[0], str) else model.classes_.dtype.kind)


def test_a_score_of_zero_and_equal_scores_elect_as_predict_does() -> None:
    two = LapSVC("linear").fit(X, Y)
    two.coef_[:] = 0
    assert run(two, NEW)["label"].tolist() == two.predict(NEW).tolist() == [1] * len(NEW)
    three = LapSVC("linear").fit(X, THREE)
    three.coef_[:] = 0
    assert run(three, NEW)["label"].tolist() == three.predict(NEW).tolist() == [0] * len(NEW)


def test_points_of_length_zero_have_no_direction() -> None:
    model = LapSVC("cosine", gamma_I=0.01).fit(X - X.mean(axis=0), Y)
    points = np.vstack([np.zeros(4), NEW - X.mean(axis=0)])
    assert run(model, points)["scores"][0] == model.decision_function(points)[0] == 0


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian", "cosine"])
def test_sparse_training_points_agree(kernel: str) -> None:
    points = StandardScaler().fit_transform(X)
    model = LapSVC(kernel, gamma_I=0.01).fit(sp.csr_array(points * (np.abs(points) > 0.3)), Y)
    new = StandardScaler().fit(X).transform(NEW)
    expected = model.decision_function(sp.csr_array(new))
    np.testing.assert_allclose(run(model, new)["scores"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "cosine", "poly", "laplacian", "linear"])
def test_single_precision_training_points_agree(kernel: str) -> None:
    points = (X - X.mean(axis=0)).astype(np.float32)
    model = LapSVC(kernel, gamma_I=0.01).fit(points, Y)
    check(model, NEW - X.mean(axis=0))


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(),
        RobustScaler(with_centering=False, with_scaling=False),
        MinMaxScaler((-1, 2)),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        PCA(3),
        PCA(2, whiten=True),
        TruncatedSVD(3, random_state=0),
        FunctionTransformer(),
        "passthrough",
    ],
    ids=str,
)
def test_scalers_agree(scaler: Any) -> None:
    steps = [("scale", scaler), ("estimator", LapSVC("laplacian", gamma_I=0.01))]
    middle = X.mean(axis=0)
    check(Pipeline(steps).fit(X, Y), middle + 1.5 * (NEW - middle))  # some beyond what was fitted


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_rows_of_unit_length_agree_and_zeros_stay(norm: str) -> None:
    points = StandardScaler().fit(X)
    model = make_pipeline(Normalizer(norm), LapSVC(gamma_I=0.01)).fit(points.transform(X), Y)
    new = points.transform(NEW)
    new[3] = 0.0
    new[4] *= 1e-17  # too short for scikit-learn to divide by
    check(model, new)


def mixed(*, numbers: Any, texts: Any, remainder: str = "drop") -> ColumnTransformer:
    imputed = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    encoder = OneHotEncoder(handle_unknown="ignore")
    return ColumnTransformer(
        [
            *(("texts", encoder, texts), ("gone", "drop", [1])),
            *(("none", StandardScaler(), []), ("numbers", imputed, numbers)),
        ],
        remainder=remainder,
    )


@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
@pytest.mark.parametrize(
    "numbers",
    [
        *(["b", "a"], pd.Index(["a", "b"]), slice("a", "b"), slice("c")),
        *([1, -5], slice(0, 2), slice(1, None, -1)),
        *([True, True, False, False, False], np.arange(5) < 2),
        make_column_selector(pattern="^[ab]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_mixed_columns_agree(numbers: Any, remainder: str) -> None:
    steps = mixed(numbers=numbers, texts=["color"], remainder=remainder)
    model = make_pipeline(steps, LapSVC(gamma_I=0.01)).fit(frame(), Y)
    new = frame(NEW, ["blue", "unseen", "red"])
    check(model, new)
    inputs = {one.name: one.type.tensor_type.elem_type for one in to_onnx(model).graph.input}
    assert list(inputs) == list(new.columns)
    assert inputs["color"] == onnx.TensorProto.STRING


def test_columns_by_position_agree() -> None:
    points = np.column_stack([X, np.arange(N) % 3])
    points[5, 0] = np.nan
    model = make_pipeline(mixed(numbers=slice(0, 2), texts=[-1], remainder="passthrough"), LapSVC())
    check(model.fit(points, Y), np.column_stack([NEW, np.arange(len(NEW)) % 4]))


def test_texts_alone_agree() -> None:
    texts = np.column_stack([COLORS, np.where(CODES == 1, "up", "down")]).astype(object)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LapSVC()).fit(texts, Y)
    new = np.array([["red", "up"], ["blue", "down"], ["pink", "up"]], dtype=object)
    check(model, new)


def test_inputs_of_single_precision_are_rounded_and_nothing_else_is() -> None:
    single = NEW.astype(np.float32)
    steps = mixed(numbers=["a", "b"], texts=["color"])
    for model, new in (
        (make_pipeline(StandardScaler(), LapSVC()).fit(X, Y), single),
        (
            make_pipeline(steps, LapSVC(gamma_I=0.01)).fit(frame(), Y),
            frame(single, ["blue", "unseen", "red"]),
        ),
    ):
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
WORDS = np.where(X[:, 1] > 0, "sea ship", "moon star")
NAMED = frame().rename(columns={"color": "label"})

# Models, and the messages by which their export is refused.
FORMLESS = [
    (LapSVC(product, gamma_I=0), X, "A kernel that is a Python function cannot be exported"),
    (S3VC("precomputed", C=5.0), CENTERED @ CENTERED.T, "kernel='precomputed' cannot be exported"),
    (AnchorGraphClassifier(), X, "AnchorGraphClassifier cannot .* for new points are neither"),
    (LogisticRegression(), X, "LogisticRegression cannot .* it is not an estimator of lapwing"),
    (PowerTransformer(), X, "PowerTransformer cannot .*; the steps that can are .*StandardScaler"),
    (TfidfVectorizer(), WORDS, "TfidfVectorizer cannot .*: .*Compute .* export .* last step"),
    (FunctionTransformer(np.cbrt), X, r"FunctionTransformer\(cbrt\) cannot be exported"),
    (MaxAbsScaler(clip=True), X, r"MaxAbsScaler\(clip=True\) cannot be exported"),
    (SimpleImputer(add_indicator=True), X, "SimpleImputer can be exported to ONNX for numbers"),
    (OneHotEncoder(drop="first"), X.round(), "OneHotEncoder can be exported to ONNX without drop"),
    (OneHotEncoder(min_frequency=5), X.round(), "OneHotEncoder can be exported .* without drop"),
    (OneHotEncoder(), GAPS, "OneHotEncoder with a missing value"),
    (
        mixed(numbers=["a", "b"], texts=["label"]),
        NAMED,
        "The column 'label' has the name of an output",
    ),
]


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


def test_an_unfitted_model_is_reported() -> None:
    with pytest.raises(NotFittedError):
        to_onnx(LapSVC())
    with pytest.raises(NotFittedError):
        to_onnx(make_pipeline(StandardScaler(), LapSVC()))


def test_a_model_too_large_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    model = LapSVC().fit(X, Y)
    monkeypatch.setattr("lapwing.onnx_export.export._LIMIT", 1000)
    with pytest.raises(OnnxExportError, match="more than the 2 GB of an ONNX file"):
        to_onnx(model)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"needs 'onnx'.*'lapwing-learn\[onnx\]'"):
        to_onnx(LapSVC())
