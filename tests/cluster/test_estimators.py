"""Estimators for clusters: parameters, labels, errors, and how little comes to the client."""

from __future__ import annotations

import inspect
import pickle
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import lapwing
import lapwing.dask as on_cluster
from lapwing import AnchorGraph, Landmarks
from lapwing._host.threads import available_threads
from lapwing.classes.labels import code_classes
from lapwing.dask import (
    DaskAnchorGraphClassifier,
    DaskEigenfunctionClassifier,
    DaskLapERLSClassifier,
    DaskLapERLSRegressor,
    DaskS3VC,
    _data,
    _embedded,
)
from lapwing.dask._session import ClusterSession
from lapwing.exceptions import DaskWarning
from lapwing.graphs import KNNGraph, order_statistics
from tests.cluster.conftest import Case, array

dask = pytest.importorskip("dask", reason="dask is not installed")

LANDMARKS = Case().X[::10]

# Of every estimator: parameters of both, and those that the one without Dask has besides.
EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "DaskAnchorGraphClassifier": ({"graph": AnchorGraph(anchors=LANDMARKS)}, {}),
    "DaskEigenfunctionClassifier": ({}, {}),
    "DaskLapERLSClassifier": ({"space": Landmarks(centers=LANDMARKS)}, {}),
    "DaskLapERLSRegressor": ({"space": Landmarks(centers=LANDMARKS), "graph": KNNGraph(6)}, {}),
    "DaskS3VC": (
        {"loss": "squared_hinge", "method": "quasi-newton", "tol": 1e-9},
        {"kernel": "linear", "multi_class": "ovr"},
    ),
}


def pair(name: str) -> tuple[Any, Any]:
    """An estimator for clusters and the same without Dask."""
    shared, besides = EXAMPLES[name]
    local = getattr(lapwing, name.removeprefix("Dask"))
    return getattr(on_cluster, name)(**shared), local(**shared, **besides)


def targets(name: str, case: Case) -> np.ndarray:
    return np.where(case.y >= 0, case.X[:, 0], np.nan) if name.endswith("Regressor") else case.y


def test_every_estimator_has_an_example() -> None:
    assert set(EXAMPLES) == set(on_cluster.__all__)


@pytest.mark.parametrize("name", EXAMPLES)
def test_parameters_and_defaults_equal_those_without_dask(name: str) -> None:
    model, local = pair(name)
    assert is_classifier(model) == is_classifier(local)
    own, others = (
        {each.name: each.default for each in inspect.signature(type(one)).parameters.values()}
        for one in (model, local)
    )
    assert own.pop("client") is None
    assert own.items() <= others.items()


def test_labels_in_every_form(client: Any) -> None:
    case = Case(n=120)
    known = np.flatnonzero(case.y >= 0)
    rows, names = known[::-1], np.array(["low", "mid", "top"], dtype=object)
    texts = np.where(case.y >= 0, names[case.y], None)
    signs = np.where(case.y >= 0, np.sign(case.y - 0.5), np.nan)  # -1 is a class
    forms = [
        (case.labels, case.y),
        (case.y, case.y),
        ((rows, case.y[rows]), case.y),
        (array.from_array(texts, chunks=(50,)), texts),
        (texts.tolist(), texts),
        (array.from_array(signs, chunks=(50,)), signs),
        ((rows, texts[rows]), texts),
    ]
    if find_spec("pandas") is not None:
        pandas = import_module("pandas")
        forms.append((pandas.DataFrame({"row": rows, "label": case.y[rows]}), case.y))
    for y, labels in forms:
        found = _data.read_labels(ClusterSession.of(client), y, "auto", 120, regression=False)
        np.testing.assert_array_equal(found.rows, known)
        coded = code_classes(found.column)
        np.testing.assert_array_equal(coded.classes[coded.codes[: len(known)]], labels[known])
        assert len(coded.codes) > len(known)
        assert not coded.labeled[len(known) :].any()
    model = DaskEigenfunctionClassifier().fit(case.chunks, (rows, texts[rows]))
    expected = lapwing.EigenfunctionClassifier().fit(case.X, case.y)
    assert model.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(model.transduction_.compute(), names[expected.transduction_])


def test_each_kind_of_marker_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_data, "_MARKERS", 3)
    mixed = np.array([None] * 9 + ["", -1, "x"], dtype=object)
    found = _data._labels_of_chunk(mixed, "auto", False)
    assert found.rows.tolist() == [11]
    assert sorted(map(str, found.markers)) == ["", "-1", "None", "None", "None"]
    numbers = _data._labels_of_chunk(np.array([-1.0, np.nan, np.nan, np.nan, 2.0]), "auto", False)
    np.testing.assert_array_equal(numbers.markers, [-1, np.nan, np.nan])
    whole = _data.joined([np.array([1, 2]), np.empty(0), np.array(["a"], dtype=object)])
    assert whole.tolist() == [1, 2, "a"]


def test_clones_share_the_client_and_pickles_drop_it(client: Any) -> None:
    case = Case(n=120)
    model = DaskEigenfunctionClassifier(client=client).fit(case.chunks, case.labels)
    assert clone(model).client is client
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert not hasattr(again, "transduction_")
    np.testing.assert_array_equal(again.predict(case.chunks), model.predict(case.chunks))


def test_unpersisted_chunks_are_computed_once_with_a_warning(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(n=120)
    log = tmp_path / "computed"

    def chunk(start: int) -> np.ndarray:
        with log.open("a") as file:
            file.write(f"{start}\n")
        return case.X[start : start + 40]

    def points(rows: float) -> Any:
        parts = [dask.delayed(chunk)(start) for start in (0, 40, 80)]
        blocks = [array.from_delayed(p, (rows, case.X.shape[1]), dtype=float) for p in parts]
        return array.concatenate(blocks, allow_unknown_chunksizes=True)

    for name in ("DaskLapERLSClassifier", "DaskAnchorGraphClassifier"):
        log.unlink(missing_ok=True)
        with pytest.warns(DaskWarning, match=r"X is not persisted.*X = X.persist\(\)"):
            pair(name)[0].fit(points(40), case.labels)
        assert sorted(log.read_text().split()) == ["0", "40", "80"]
    with pytest.warns(DaskWarning) as warned:
        model = DaskEigenfunctionClassifier().fit(points(np.nan), case.labels)
    assert any("unknown sizes" in str(each.message) for each in warned)
    assert model.transduction_.chunks == ((40, 40, 40),)
    assert np.isnan(model.predict(points(np.nan)).shape[0])
    assert model.predict(points(np.nan)).compute().shape == (120,)


# Blocks of the regressor are those of the classifier with landmarks.
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "DaskLapERLSRegressor"])
def test_the_client_receives_nothing_as_large_as_x(
    name: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(n=1600, d=3, n_classes=2, distance=1.0)
    monkeypatch.setattr(_data, "_SAMPLE_BYTES", 2**12)
    monkeypatch.setattr(order_statistics, "_FEW", 16)
    monkeypatch.setattr(order_statistics, "_CELLS", 32)
    largest = [0]
    gather = ClusterSession.gather

    def weighed(self: ClusterSession, futures: Any) -> list[Any]:
        found = gather(self, futures)
        largest[0] = max(largest[0], *(len(pickle.dumps(each)) for each in found))
        return found

    monkeypatch.setattr(ClusterSession, "gather", weighed)
    monkeypatch.setattr(_embedded, "eigenpair_slack", lambda n: 0.3)  # fewer products
    shared = dict(EXAMPLES[name][0])
    if "space" in shared:
        shared |= {"space": Landmarks(10), "n_eigenvectors": 6}
    if isinstance(shared.get("graph"), AnchorGraph):
        shared["graph"] = AnchorGraph(10)
    if name == "DaskS3VC":
        shared["tol"] = 1e-3
    y = array.from_array(targets(name, case), chunks=(800,))
    getattr(on_cluster, name)(**shared).fit(case.chunks, y)
    assert 0 < largest[0] < 8 * 1600


CASE = Case(n=120)
UNEVEN = [array.from_delayed(dask.delayed(CASE.X[:60, :d]), (60, 4), dtype=float) for d in (3, 4)]
HOLED = np.where(np.arange(480).reshape(120, 4) == 77 * 4 + 1, np.nan, CASE.X)
TWO = np.column_stack([CASE.y, CASE.y])
KNOWN = np.flatnonzero(CASE.y >= 0)
INVALID_X = [
    (CASE.X, r"X must be a Dask array or frame, not ndarray"),
    (dask.delayed(CASE.X), r"X must be a Dask array or frame, not Delayed"),
    (array.from_array(HOLED, chunks=(50, 4)), r"first in row 77"),
    (array.from_array(CASE.X[:, 0]), r"two dimensions"),
    (array.from_array(CASE.X[:1]), r"array with 1 sample\(s\) and 4 feature\(s\)"),
    (array.concatenate(UNEVEN), r"different numbers of features, \[3, 4\]"),
    (array.from_array(CASE.X.astype(complex)), r"X must hold real numbers only"),
    (array.from_array(CASE.X.astype("M8[s]")), r"X contains dates or times"),
    (array.full((120, 4), "a word", dtype="U6"), r"X contains texts, such as 'a word'"),
]
INVALID_Y = [
    *((y, r"y must be an array or series, of Dask") for y in (3, "labels.csv", {0: 1})),
    ([0, 1], r"X has 120 rows and y has 2: .* \(rows, labels\)"),
    (array.from_array(CASE.y[:100]), r"X has 120 rows and y has 100"),
    (array.from_array(TWO), r"y has 2 columns, and a cluster takes one\. Give one"),
    (([], []), r"The table of labels is empty. Label at least one point"),
    (([1, 120], [0, 1]), r"from 0 to 119"),
    (([1, 1], [0, 1]), r"row 1 more than once"),
    (([1, 2], [0, 1, 1]), r"2 rows and 3 labels"),
    (([1, 2], [1, 1]), r"one class only"),
]
INVALID_WEIGHTS = [
    (np.where(np.arange(120) == 100, np.nan, 1.0), r"holds NaN or infinity, first at row 100"),
    (array.full(120, np.inf, chunks=60), r"NaN or infinity, first at row 0"),
    (np.where(np.arange(120) == KNOWN[3], -2.0, 1.0), rf"labelled rows: row {KNOWN[3]} has -2.0"),
    (np.ones(100), r"sample_weight has the shape \(100,\), and X has 120 rows"),
    (array.ones(100, chunks=60), r"X has 120 rows and sample_weight has 100"),
    (1.0 * (CASE.y < 0), r"zero on every labelled row"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(("X", *case) for case in INVALID_X),
        *(("y", *case) for case in INVALID_Y),
        *(("sample_weight", *case) for case in INVALID_WEIGHTS),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.filterwarnings("ignore:X is not persisted")
def test_rejects_invalid_inputs(name: str, value: Any, message: str, client: Any) -> None:
    given: dict[str, Any] = {"X": CASE.chunks, "y": CASE.labels} | {name: value}
    with pytest.raises((TypeError, ValueError), match=message):
        DaskEigenfunctionClassifier().fit(**given)


def test_rejects_points_of_predictions(client: Any) -> None:
    X, model = CASE.chunks, DaskEigenfunctionClassifier().fit(CASE.chunks, CASE.labels)
    for points, message in (
        (X[:, :3], r"X has 3 features, but .* expecting 4"),
        (X[:, 0], r"two dimensions"),
        *((points, r"X must be a Dask array or frame") for points in (CASE.X, "points.npy")),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            model.predict(points)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DaskS3VC(method="cccp"), r"method='cccp' with unlabeled_loss='auto' needs a number"),
        (DaskS3VC(unlabeled_loss="symmetric_hinge"), r"unlabeled_loss='symmetric_hinge' needs"),
        (DaskLapERLSClassifier(space=Landmarks(0)), r"n_components=0 must be a whole number"),
        (DaskLapERLSClassifier(graph=KNNGraph(0)), r"n_neighbors=0 must be a whole number"),
        (DaskLapERLSClassifier(graph=KNNGraph(power=0)), r"power=0 must be a whole number"),
        (DaskLapERLSClassifier(space=None), r"space=None needs the kernel matrix of all points"),
        (DaskLapERLSClassifier(n_eigenvectors=None), r"n_eigenvectors=None needs"),
        (DaskLapERLSClassifier("linear"), r"kernel='linear' has no landmarks"),
        (DaskLapERLSClassifier(graph=AnchorGraph()), r"is not supported on a cluster. Use KNN"),
        (DaskLapERLSClassifier(graph=KNNGraph(120)), r"n_neighbors=120 must be smaller than the"),
        (
            DaskLapERLSRegressor(graph=KNNGraph(metric="cosine")),
            r"KNNGraph\(metric='cosine'\) is not supported on a cluster: use 'euclidean'",
        ),
        (DaskAnchorGraphClassifier(gamma_I=-1.0), r"gamma_I=-1.0 must be"),
        (DaskAnchorGraphClassifier(client="tcp://host:1"), r"client='tcp://host:1' is not a Dask"),
    ],
)
def test_rejects_parameters_not_supported(model: Any, message: str, client: Any) -> None:
    y = array.from_array(targets(type(model).__name__, CASE), chunks=(60,))
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(CASE.chunks, y)


def test_workers_count_their_threads_without_a_warning(client: Any) -> None:
    def threads() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return available_threads()

    assert set(client.run(threads).values()) == {1}
