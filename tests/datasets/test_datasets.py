"""Data sets: hiding labels, grouping classes, archives and their faults, OpenML, synthetic sets."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.datasets
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.stats import kstest, norm
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import Bunch

from lapwing import datasets
from lapwing.classes.labels import code_classes
from lapwing.classes.markers import unlabeled_mask
from lapwing.datasets import DATASETS, group_classes, load_dataset, mask_labels

Arrays = dict[str, Any]
Write = Callable[..., Path]

MAKERS = [
    datasets.make_two_moons,
    datasets.make_clock,
    datasets.make_gaussian2c,
    datasets.make_gaussian4c,
]

# ---------------------------------------------------------------------------------- mask_labels

LABELS = {
    "int": lambda codes: codes,
    "uint8": lambda codes: codes.astype(np.uint8),
    "float": lambda codes: codes.astype(float),
    "bool": lambda codes: codes % 2 == 0,
    "str": lambda codes: np.array(["a", "bb", "ccc", "d"])[codes],
    "object": lambda codes: np.array(["a", "bb", "ccc", "d"], dtype=object)[codes],
}


@given(
    codes=st.lists(st.integers(0, 3), min_size=1, max_size=30).map(lambda c: [0, 1, *c]),
    kind=st.sampled_from(sorted(LABELS)),
    marker=st.sampled_from([-1, -1.5, None, np.nan, "?", "unlabelled", 1000]),
    seed=st.integers(0, 2**32 - 1),
    data=st.data(),
)
def test_masking_keeps_so_many_of_each_class(
    codes: list[int], kind: str, marker: Any, seed: int, data: st.DataObject
) -> None:
    y = LABELS[kind](np.array(codes))
    before = y.copy()
    classes, counts = np.unique(y, return_counts=True)
    n = data.draw(st.integers(1, int(counts.min())))
    masked = mask_labels(y, n, unlabeled=marker, random_state=seed)
    labeled = ~unlabeled_mask(masked, marker)
    assert np.array_equal(y, before)
    assert np.array_equal(y[labeled], masked[labeled])
    assert [int(np.sum(y[labeled] == c)) for c in classes] == [n] * len(classes)
    again = mask_labels(y, n, unlabeled=marker, random_state=seed)
    assert np.array_equal(labeled, ~unlabeled_mask(again, marker))
    if len(classes) > 1:  # what the estimators make of it
        coded = code_classes(masked, marker)
        assert np.array_equal(coded.classes, classes)
        assert np.array_equal(coded.classes[coded.codes[labeled]], y[labeled])


@given(
    y=st.lists(st.integers(0, 9), min_size=1, max_size=20),
    data=st.data(),
)
def test_masking_keeps_the_given_points(y: list[int], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.integers(0, len(y) - 1), unique=True))
    expected = [label if i in kept else -1 for i, label in enumerate(y)]
    assert mask_labels(y, labeled_indices=kept).tolist() == expected
    mask = np.isin(np.arange(len(y)), kept)
    assert mask_labels(y, labeled_indices=mask).tolist() == expected


def test_every_point_of_a_class_may_be_drawn() -> None:
    y = np.repeat([0, 1], 4)
    drawn = {
        int(i) for s in range(60) for i in np.flatnonzero(mask_labels(y, 1, random_state=s) + 1)
    }
    assert drawn == set(range(8))


@pytest.mark.parametrize(
    ("labels", "marker", "dtype"),
    [
        (np.array([3, 4], np.uint8), -1, np.int64),
        (np.array([3, 4]), np.nan, np.float64),
        (np.array(["a", "b"]), "none", np.dtype("<U4")),
        (np.array(["a", "b"]), -1, object),
        (np.array([True, False]), -1, object),
        (np.array([3, 4]), None, object),
    ],
)
def test_masking_widens_the_type_only_as_needed(labels: Any, marker: Any, dtype: Any) -> None:
    assert mask_labels(labels, labeled_indices=[0], unlabeled=marker).dtype == dtype


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either n_labeled_per_class or labeled_indices"),
        ({"n_labeled_per_class": 1, "labeled_indices": [0]}, "and not both"),
        ({"n_labeled_per_class": 2}, "n_labeled_per_class=2, but class 2 has 1 points"),
        ({"n_labeled_per_class": 0}, "n_labeled_per_class=0 must be an integer of at least 1"),
        ({"n_labeled_per_class": 1.0}, "n_labeled_per_class=1.0 must be an integer"),
        ({"n_labeled_per_class": True}, "n_labeled_per_class=True must be an integer"),
        ({"labeled_indices": [0, 5]}, "goes from 0 to 5; the 5 points have the indices 0 to 4"),
        ({"labeled_indices": [-1]}, "goes from -1 to -1"),
        ({"labeled_indices": [1, 1]}, "names a point more than once"),
        ({"labeled_indices": [0.0]}, "array of integers or a boolean mask"),
        ({"labeled_indices": [[0]]}, "one-dimensional"),
        ({"labeled_indices": [True]}, r"mask of shape \(1,\); y has shape \(5,\)"),
        ({"n_labeled_per_class": 1, "unlabeled": 2}, "unlabeled=2 is already in y"),
        ({"n_labeled_per_class": 1, "unlabeled": "auto"}, "give the one to write, such as -1"),
    ],
)
def test_masking_refuses(options: Arrays, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_labels([0, 0, 1, 1, 2], **options)


# ------------------------------------------------------------------------------- group_classes


def small_bunch() -> Bunch:
    target = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    return Bunch(
        data=np.arange(16.0).reshape(8, 2),
        target=target,
        target_names=np.array([10, 11, 12, 13]),
        splits=(np.array([0, 1, 2, 3]), np.array([7, 6, 1])),
        is_test=np.arange(8) >= 4,
        DESCR="Eight points.",
    )


def test_grouping_joins_and_leaves_out() -> None:
    before = small_bunch()
    data = group_classes(before, [[3, 1], [0]])
    rows = np.array([0, 1, 3, 4, 5, 7])
    assert np.array_equal(data.data, before.data[rows])
    assert data.target.tolist() == [1, 0, 0, 1, 0, 0]
    assert data.target_names.tolist() == ["13, 11", "10"]
    # The labelled points are the same points, wherever they stand now.
    for split, old in zip(data.splits, before.splits, strict=True):
        assert rows[split].tolist() == [i for i in old if i in rows]
    assert data.is_test.tolist() == [False, False, False, True, True, True]
    assert data.DESCR.endswith("Classes here: 13, 11 against 10")
    assert before.target.tolist() == small_bunch().target.tolist()


def test_grouping_all_classes_keeps_the_data_itself() -> None:
    before = small_bunch()
    data = group_classes(before, [range(2), range(2, 4)])
    assert data.data is before.data
    assert all(np.array_equal(a, b) for a, b in zip(data.splits, before.splits, strict=True))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1]], "at least two classes are needed"),
        ([[0], []], r"groups\[1\] is empty"),
        ([[0], [4]], r"groups\[1\] holds 4; the classes are 0 to 3"),
        ([[0], [1.5]], r"groups\[1\] holds 1.5"),
        ([[0, 1], [1]], "class 1 is named twice"),
    ],
)
def test_grouping_refuses(groups: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        group_classes(small_bunch(), groups)


# -------------------------------------------------------------- archives, with ones made up here


def g50c_arrays() -> Arrays:
    rng = np.random.default_rng(0)
    return {
        "X": rng.normal(size=(550, 50)).astype(np.float32),
        "y": np.tile([-1, 1], 275),
        "idxLabs": np.array([rng.permutation(550)[:50] for _ in range(10)], dtype=np.uint16),
    }


def pcmac_arrays() -> Arrays:
    rng = np.random.default_rng(0)
    X = sp.random_array((1946, 7511), density=1e-3, format="csr", rng=rng)
    parts = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
    splits = np.array([rng.permutation(1946)[:50] for _ in range(10)])
    return {**parts, "y": np.tile([-1, 1], 973), "idxLabs": splits}


def coil20_arrays() -> Arrays:
    X = np.random.default_rng(0).integers(0, 4081, size=(1440, 1024), dtype=np.uint16)
    return {"X": X, "x_scale": np.float64(1 / 4080), "y": np.repeat(np.arange(20), 72)}


def cbcl_arrays() -> Arrays:
    n = DATASETS["cbcl_face"].n_samples
    X = np.zeros((n, 361), dtype=np.uint8)
    return {"X": X, "y": np.arange(n) % 2 * 2 - 1, "is_test": np.arange(n) < 100}


@pytest.fixture(autouse=True)
def no_home_and_no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only tests that ask for the archives see them, and none reaches OpenML."""

    def unreachable(**_: Any) -> None:
        raise URLError("no network in tests")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    if "archive" not in request.fixturenames:
        monkeypatch.delenv("LAPWING_DATA_HOME", raising=False)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_archive(file: str, arrays: Arrays) -> Path:
        np.savez_compressed(tmp_path / file, **arrays)
        return tmp_path

    return write_archive


def test_archive_is_read(write: Write) -> None:
    arrays = g50c_arrays()
    home = write("g50c.npz", arrays)
    data = datasets.load_g50c(data_home=home)
    assert data.data.dtype == np.float64
    assert np.array_equal(data.data, arrays["X"])
    assert data.target.dtype == np.int64
    assert data.target_names.tolist() == [-1, 1]
    assert np.array_equal(data.target_names[data.target], arrays["y"])
    assert np.array_equal(np.array(data.splits), arrays["idxLabs"])
    assert all(split.dtype == np.int64 for split in data.splits)
    assert data.is_test is None
    assert data.image_shape is None
    assert data.source == str(home / "g50c.npz")
    for text in ("550", "Bayes error", "LapSVM paper", "Terms", "http"):
        assert text in data.DESCR


def test_data_home_comes_before_the_variable(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = write("g50c.npz", g50c_arrays())
    monkeypatch.setenv("LAPWING_DATA_HOME", str(home))
    assert datasets.load_g50c().source == str(home / "g50c.npz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"it is not in .*empty"):
        datasets.load_g50c(data_home=tmp_path / "empty")


def test_return_X_y_and_dtype(write: Write) -> None:  # noqa: N802
    home = write("g50c.npz", g50c_arrays())
    for dtype in ("float32", np.float32, "float64"):
        X, target = load_dataset("g50c", data_home=home, dtype=dtype, return_X_y=True)
        assert X.dtype == dtype
        assert target.shape == (550,)


def test_kinds_of_published_splits(write: Write) -> None:
    rng = np.random.default_rng(0)
    arrays = {"X": rng.normal(size=(1500, 241)), "y": np.tile([-1, 1], 750)}
    for count in (10, 100):
        arrays[f"idxLabs{count}"] = rng.permutation(1500)[: 12 * count].reshape(12, count)
    home = write("ssl1_digit1.npz", arrays)
    for options, count in (({}, 10), ({"n_labeled": 10}, 10), ({"n_labeled": 100}, 100)):
        data = datasets.load_ssl_benchmark("digit1", data_home=home, **options)
        assert np.array_equal(np.array(data.splits), arrays[f"idxLabs{count}"])


def test_sparse_archive_is_read(write: Write) -> None:
    arrays = pcmac_arrays()
    X, _ = datasets.load_pcmac(data_home=write("pcmac_text1.npz", arrays), return_X_y=True)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert np.array_equal(X.data, arrays["X_data"])
    assert np.array_equal(X.indices, arrays["X_indices"])
    assert X.shape == (1946, 7511)


def test_scale_is_applied_without_error(write: Write) -> None:
    arrays = coil20_arrays()
    arrays["X"][0, :2] = [4080, 1]
    home = write("coil20.npz", arrays)
    X = datasets.load_coil20(data_home=home).data
    assert X[0, 0] == 1
    np.testing.assert_allclose(X, arrays["X"] / 4080, rtol=1e-15)
    thin = datasets.load_coil20(data_home=home, dtype="float32").data
    assert np.array_equal(thin, X.astype(np.float32))


def test_single_precision_scale_means_its_decimal(write: Write) -> None:
    X = np.tile(np.arange(-1000, 1000, 10, dtype=np.int16), (9298, 2))[:, :256]
    y = np.arange(9298) % 10
    arrays = {"X": X, "x_scale": np.float32(0.001), "y": y, "n_train": np.int64(7291)}
    data = datasets.load_usps(data_home=write("usps_full.npz", arrays))
    np.testing.assert_allclose(data.data, X / 1000, rtol=1e-15)
    assert np.flatnonzero(data.is_test).tolist() == list(range(7291, 9298))


def test_test_mask_and_compact_default(write: Write) -> None:
    data = datasets.load_cbcl_face(data_home=write("cbcl_face.npz", cbcl_arrays()))
    assert data.data.dtype == np.float32
    assert data.is_test.sum() == 100
    assert "MIT Center For Biological and Computation Learning" in data.DESCR


def test_derived_problem(write: Write) -> None:
    home = write("coil20.npz", coil20_arrays())
    data = datasets.load_coil20_b(data_home=home)
    assert np.bincount(data.target).tolist() == [720, 720]
    assert np.array_equal(data.target, datasets.load_coil20(data_home=home).target >= 10)
    assert data.DESCR.startswith("COIL20(B)")
    assert data.data.dtype == np.float64
    assert data.data.max() <= 1


def test_text_of_a_missing_archive_says_all(tmp_path: Path) -> None:
    for name, record in DATASETS.items():
        with pytest.raises(FileNotFoundError) as info:
            load_dataset(name, data_home=tmp_path, download_if_missing=False)
        for part in (record.archive, record.home, str(tmp_path), *record.keys):
            assert part in str(info.value)
        assert ("download_if_missing=False" in str(info.value)) == (record.openml is not None)
    with pytest.raises(FileNotFoundError, match="data_home is not given and LAPWING_DATA_HOME is"):
        datasets.load_g50c()


def test_folder_that_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "nowhere"
    for load in (datasets.load_g50c, datasets.load_mnist, datasets.load_mnist_label_sets):
        with pytest.raises(FileNotFoundError, match=r"data_home='.*nowhere' is not a folder"):
            load(data_home=missing)
    monkeypatch.setenv("LAPWING_DATA_HOME", str(missing))
    with pytest.raises(FileNotFoundError, match=r"LAPWING_DATA_HOME='.*nowhere' is not a folder"):
        datasets.load_g50c()


def flip_bytes(content: bytes) -> bytes:
    """Damage in the middle, where the compressed data are."""
    middle = len(content) // 2
    return (
        content[:middle]
        + bytes(b ^ 0xFF for b in content[middle : middle + 64])
        + content[middle + 64 :]
    )


def without_header(content: bytes) -> bytes:
    """A whole zip file whose members are no arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for key in ("X", "y", "idxLabs"):
            file.writestr(f"{key}.npy", content[:100])
    return buffer.getvalue()


def bare_array(content: bytes) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.frombuffer(content, dtype=np.uint8))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-1],
        lambda content: b"This is no archive." * 100,
        flip_bytes,
        without_header,
        bare_array,
    ],
    ids=["empty", "half", "end", "text", "flipped", "no header", "bare array"],
)
def test_damaged_archive(write: Write, damage: Callable[[bytes], bytes]) -> None:
    path = write("g50c.npz", g50c_arrays()) / "g50c.npz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"g50c\.npz cannot be read as an NPZ .* whole copy"):
        datasets.load_g50c(data_home=path.parent)


def test_archive_of_python_objects_is_not_unpickled(write: Write) -> None:
    home = write("g50c.npz", {**g50c_arrays(), "y": np.array([{}] * 550, dtype=object)})
    with pytest.raises(ValueError, match=r"cannot be read .*Object arrays cannot be loaded"):
        datasets.load_g50c(data_home=home)


def test_archive_that_lacks_arrays(write: Write) -> None:
    home = write("g50c.npz", {"X": g50c_arrays()["X"]})
    with pytest.raises(ValueError, match=r"g50c\.npz lacks y, idxLabs; it has X\. See help"):
        datasets.load_g50c(data_home=home)
    write("g50c.npz", {})
    with pytest.raises(ValueError, match="lacks X, y, idxLabs; it has nothing"):
        datasets.load_g50c(data_home=home)


def changed(key: str, change: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, key: change(arrays[key].copy())}


def put(value: Any, *place: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("X", lambda X: X[:, :10]), r"X has the shape \(550, 10\); .* \(550, 50\)"),
        (changed("X", put(np.nan, 3, 4)), "X holds values that are not finite"),
        (changed("X", put(-np.inf, 3, 4)), "X holds values that are not finite"),
        (changed("X", lambda X: X.astype(str)), "is not the data set 'g50c'"),
        (changed("y", lambda y: y[:-1]), r"y has the shape \(549,\); the set has 550 points"),
        (changed("y", put(2, 0)), "y holds the labels -1, 1, 2; the set has -1, 1"),
        (changed("y", np.abs), "y holds the labels 1; the set has -1, 1"),
        (changed("y", lambda y: np.arange(550)), r"19, \.\.\.; the set has -1, 1"),
        (changed("idxLabs", lambda s: s[:, :9]), r"of shape \(splits, 50\); .*\(10, 9\)"),
        (changed("idxLabs", lambda s: s.astype(float)), "must be integers .* float64"),
        (changed("idxLabs", put(550, 2, 3)), "idxLabs goes from .* to 550; .* 0 to 549"),
        (changed("idxLabs", lambda s: s.astype(int) - 1), "idxLabs goes from -1"),
        (changed("idxLabs", lambda s: put(s[4, 1], 4, 0)(s)), "more than once in split 4"),
    ],
)
def test_archive_of_another_set(
    write: Write, change: Callable[[Arrays], Arrays], message: str
) -> None:
    arrays = g50c_arrays()
    arrays["idxLabs"][0, 0] = 0 if 0 not in arrays["idxLabs"][0] else arrays["idxLabs"][0, 0]
    home = write("g50c.npz", change(arrays))
    with pytest.raises(ValueError, match=message) as info:
        datasets.load_g50c(data_home=home)
    assert str(home / "g50c.npz") in str(info.value)


def test_archive_with_wrong_parts(write: Write) -> None:
    home = write("pcmac_text1.npz", changed("X_indices", put(7511, 0))(pcmac_arrays()))
    with pytest.raises(ValueError, match="is not the data set 'pcmac'"):
        datasets.load_pcmac(data_home=home)
    write("coil20.npz", {**coil20_arrays(), "x_scale": np.float64(1 / 255)})
    with pytest.raises(ValueError, match=r"X goes from 0 to 16; the set is in \[0, 1\]"):
        datasets.load_coil20(data_home=home)
    write("cbcl_face.npz", {**cbcl_arrays(), "is_test": np.zeros(5, dtype=bool)})
    with pytest.raises(ValueError, match=r"is_test must be a mask of 31021 points"):
        datasets.load_cbcl_face(data_home=home)
    usps = {"X": np.zeros((9298, 256)), "y": np.arange(9298) % 10, "n_train": np.int64(9298)}
    write("usps_full.npz", usps)
    with pytest.raises(ValueError, match="n_train=9298 must be one number between 0 and 9298"):
        datasets.load_usps(data_home=home)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_dataset("iris"), "name='iris' is no data set; there are g50c, .*mnist3vs8"),
        (lambda: datasets.load_ssl_benchmark("bci"), "no set of the benchmark; there are digit1"),
        (lambda: datasets.load_g50c(dtype="int8"), "dtype='int8' must be"),
        (lambda: datasets.load_g50c(dtype="nonsense"), "dtype='nonsense' must be"),
        (lambda: datasets.load_g50c(n_labeled=10), "g50c has splits of 50 points"),
        (lambda: datasets.load_coil20(n_labeled=40), "coil20 has no published split"),
        (lambda: load_dataset("ssl_text", n_labeled=5), "splits of 10 or 100 points; mask_labels"),
        (lambda: datasets.load_mnist_label_sets(0), "n_labeled_per_class=0 must be an integer"),
    ],
)
def test_wrong_parameters(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def label_set_arrays() -> Arrays:
    y = np.tile(np.arange(10), 7000)
    return {"y": y, "idx": np.arange(90), "offsets": np.array([0, 10, 30, 40, 90])}


def test_label_sets_of_mnist(write: Write) -> None:
    home = write("labelperm_MNIST.npz", label_set_arrays())
    assert [s.tolist() for s in datasets.load_mnist_label_sets(data_home=home)] == [
        list(range(10)),
        list(range(30, 40)),
    ]
    assert [s.size for s in datasets.load_mnist_label_sets(5, data_home=home)] == [50]
    with pytest.raises(ValueError, match="n_labeled_per_class=3: there are sets of 1, 2, 5 labels"):
        datasets.load_mnist_label_sets(3, data_home=home)


@pytest.mark.parametrize(
    "change",
    [
        changed("offsets", put(91, 4)),
        changed("offsets", put(11, 1)),
        changed("idx", put(1, 0)),
        changed("idx", put(-10, 0)),
        changed("idx", put(70000, 0)),
        changed("idx", put(11, 12)),
    ],
)
def test_wrong_label_sets_of_mnist(write: Write, change: Callable[[Arrays], Arrays]) -> None:
    home = write("labelperm_MNIST.npz", change(label_set_arrays()))
    with pytest.raises(ValueError, match=r"labelperm_MNIST\.npz does not hold label sets of MNIST"):
        datasets.load_mnist_label_sets(data_home=home)


def test_label_sets_of_mnist_are_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"labelperm_MNIST\.npz is missing.*GraphLearning"):
        datasets.load_mnist_label_sets(data_home=tmp_path)


# ---------------------------------------------------------------------------------------- OpenML


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> tuple[Bunch, list[Arrays]]:
    """What OpenML answers for USPS, to be changed by the test, and what it was asked."""
    official = DATASETS["usps"].openml
    assert official is not None
    train = np.repeat(np.arange(10), official.train_counts)
    test = np.arange(9298 - train.size) % 10
    answer = Bunch(
        data=np.random.default_rng(0).uniform(-1, 1, size=(9298, 256)),
        target=(np.concatenate([train, test]) + 1).astype(str).astype(object),
    )
    asked: list[Arrays] = []

    def fetch_openml(**options: Any) -> Bunch:
        asked.append(options)
        return answer

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return answer, asked


def test_openml_is_asked_when_there_is_no_archive(
    openml: tuple[Bunch, list[Arrays]], tmp_path: Path
) -> None:
    answer, asked = openml
    data = datasets.load_usps(data_home=tmp_path)
    assert [(a["data_id"], a["as_frame"]) for a in asked] == [(41082, False)]
    assert np.array_equal(data.data, answer.data)
    assert np.array_equal(data.target + 1, answer.target.astype(int))  # digit d is called d + 1
    assert data.splits == ()
    assert np.flatnonzero(data.is_test).tolist() == list(range(7291, 9298))
    assert data.source == "OpenML data set 41082"


def test_openml_in_another_order_has_no_test_part(openml: tuple[Bunch, list[Arrays]]) -> None:
    answer, _ = openml
    answer.target = answer.target[::-1]
    assert datasets.load_usps().is_test is None


def test_openml_is_read_without_pandas(
    openml: tuple[Bunch, list[Arrays]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing.datasets._openml.find_spec", lambda name: None)
    datasets.load_usps()
    monkeypatch.setattr("lapwing.datasets._openml.find_spec", lambda name: SimpleNamespace())
    datasets.load_usps()
    assert [asked["parser"] for asked in openml[1]] == ["liac-arff", "pandas"]


def test_openml_is_not_asked_needlessly(
    openml: tuple[Bunch, list[Arrays]], write: Write, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="download_if_missing=False forbids it"):
        datasets.load_usps(data_home=tmp_path, download_if_missing=False)
    with pytest.raises(FileNotFoundError, match=r"g50c\.npz is missing"):
        datasets.load_g50c()
    # A damaged archive is a fault to be told, not one to be hidden by a download.
    (tmp_path / "usps_full.npz").write_bytes(b"")
    with pytest.raises(ValueError, match="cannot be read"):
        datasets.load_usps(data_home=tmp_path)
    assert openml[1] == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("data", np.zeros((9298, 255)), r"OpenML data set 41082 is not .* shape \(9298, 255\)"),
        ("data", np.full((9298, 256), 255.0), r"goes from 255 to 255; the set is in \[-1, 1\]"),
        ("target", np.array(["1", "11"] * 4649), "y holds the labels 0, 10; the set has 0, 1"),
    ],
)
def test_openml_has_another_set(
    openml: tuple[Bunch, list[Arrays]], key: str, value: Any, message: str
) -> None:
    openml[0][key] = value
    with pytest.raises(ValueError, match=message):
        datasets.load_usps()


def test_openml_out_of_reach(tmp_path: Path, openml: tuple[Bunch, list[Arrays]]) -> None:
    openml[0].target = np.array(["six"] * 9298)
    with pytest.raises(FileNotFoundError, match=r"usps_full\.npz is missing.*number 41082.*six"):
        datasets.load_usps(data_home=tmp_path)


def test_no_network() -> None:
    with pytest.raises(FileNotFoundError, match=r"mnist\.npz is missing.*554.*no network in tests"):
        datasets.load_mnist3vs8()


# ------------------------------------------------------------------------------ the real archives

COUNTS = {
    "g50c": [275, 275],
    "uspst": [327, 273, 206, 178, 196, 140, 174, 173, 160, 180],
    "pcmac": [961, 985],
    "coil20": [72] * 20,
    "usps": [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821],
    "mnist": [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958],
    "cbcl_face": [28120, 2901],
    "ssl_digit1": [766, 734],
    "ssl_usps": [1200, 300],
    "ssl_coil2": [750, 750],
    "ssl_g241c": [750, 750],
    "ssl_g241n": [752, 748],
    "ssl_text": [750, 750],
    "uspst_b": [1180, 827],
    "coil20_b": [720, 720],
    "mnist3vs8": [7141, 6825],
}
TEST_COUNTS = {
    "usps": [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
    "mnist": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    "mnist3vs8": [1010, 974],
    "cbcl_face": [23572, 472],
}
BASES = {"uspst_b": "uspst", "coil20_b": "coil20", "mnist3vs8": "mnist"}


@pytest.mark.parametrize("name", COUNTS)
def test_real_set(name: str, archive: Callable[[str], Path]) -> None:
    record = DATASETS[BASES.get(name, name)]
    path = archive(record.archive.removesuffix(".npz"))
    data = load_dataset(name)
    n = sum(COUNTS[name])
    assert data.source == str(path)
    assert data.data.shape == (n, record.n_features)
    assert data.data.dtype == record.dtype
    assert np.bincount(data.target).tolist() == COUNTS[name]
    assert len(data.target_names) == len(COUNTS[name])
    values = data.data.data if record.sparse else data.data
    assert np.isfinite([values.min(), values.max()]).all()
    if record.value_range is not None:
        assert record.value_range[0] <= values.min()
        assert values.max() <= record.value_range[1]
        assert values.max() > 0.9 * record.value_range[1]
    tests = None if data.is_test is None else np.bincount(data.target[data.is_test]).tolist()
    assert tests == TEST_COUNTS.get(name)


@pytest.mark.parametrize("name", [name for name, record in DATASETS.items() if record.splits])
def test_published_splits(name: str, archive: Callable[[str], Path]) -> None:
    record = DATASETS[name]
    archive(record.archive.removesuffix(".npz"))
    for count, _ in record.splits:
        data = load_dataset(name, n_labeled=count)
        assert len(data.splits) == (12 if name.startswith("ssl_") else 10)
        assert len({tuple(sorted(split)) for split in data.splits}) == len(data.splits)
        for split in data.splits:
            assert np.unique(split).size == count
            assert 0 <= split.min() <= split.max() < record.n_samples
            assert np.unique(data.target[split]).size == len(record.labels)
            y = mask_labels(data.target, labeled_indices=split)
            assert np.sum(y >= 0) == count


def test_every_archive_has_its_own_function(archive: Callable[[str], Path]) -> None:
    for name in ("g50c", "uspst", "uspst_b", "pcmac", "coil20", "coil20_b", "usps", "cbcl_face"):
        archive(DATASETS[BASES.get(name, name)].archive.removesuffix(".npz"))
        data = getattr(datasets, f"load_{name}")()
        assert np.bincount(data.target).tolist() == COUNTS[name]
    for name in ("digit1", "usps", "coil2", "g241c", "g241n", "g241d", "text"):
        data = datasets.load_ssl_benchmark(name, n_labeled=100)
        assert np.bincount(data.target).tolist() == COUNTS[f"ssl_{name.replace('1d', '1n')}"]
        assert {split.size for split in data.splits} == {100}


def test_rows_of_pcmac_have_unit_length(archive: Callable[[str], Path]) -> None:
    archive("pcmac_text1")
    X = datasets.load_pcmac().data
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1, rtol=1e-6)


def test_bayes_error_of_g50c(archive: Callable[[str], Path]) -> None:
    """Unit covariances and means so far apart that the Bayes error is 5 % (LapSVM paper, 6.1)."""
    archive("g50c")
    X, target = datasets.load_g50c(return_X_y=True)
    groups = [X[target == k] for k in (0, 1)]
    for group in groups:
        spread = np.linalg.eigvalsh(np.cov(group.T))
        # Marchenko-Pastur: the extreme eigenvalues for identity covariance, p/n = 50/274.
        assert (1 - np.sqrt(50 / 274)) ** 2 - 0.1 < spread.min()
        assert spread.max() < (1 + np.sqrt(50 / 274)) ** 2 + 0.1
    squared = np.sum((groups[0].mean(axis=0) - groups[1].mean(axis=0)) ** 2) - 50 * 2 / 275
    assert norm.cdf(-np.sqrt(squared) / 2) == pytest.approx(0.05, abs=0.015)


def test_label_sets_are_those_of_mnist(archive: Callable[[str], Path]) -> None:
    archive("mnist")
    archive("labelperm_MNIST")
    _, target = datasets.load_mnist3vs8(return_X_y=True)
    assert target.size == 13966
    digits = np.load(archive("mnist"))["y"]
    for count in range(1, 6):
        sets = datasets.load_mnist_label_sets(count)
        assert len(sets) == 100
        assert all(np.bincount(digits[rows]).tolist() == [count] * 10 for rows in sets)


# -------------------------------------------------------------------------------- synthetic sets


@pytest.mark.parametrize("make", MAKERS)
def test_synthetic_labels(make: Callable[..., Any]) -> None:
    X, y, truth = make(n_samples=80, n_labeled_per_class=3, random_state=0, return_truth=True)
    assert X.dtype == np.float64
    assert X.shape[0] == 80
    assert np.bincount(truth).tolist() == [40, 40]
    assert set(np.unique(y)) == {-1, 0, 1}
    assert np.array_equal(y[y >= 0], truth[y >= 0])
    assert np.bincount(y[y >= 0]).tolist() == [3, 3]
    assert 0 < truth[:40].sum() < 40, "the classes are mixed"


@pytest.mark.parametrize("make", MAKERS)
def test_synthetic_sets_repeat(make: Callable[..., Any]) -> None:
    first = make(random_state=3)
    assert len(first) == 2
    for again in (
        make(random_state=3, return_truth=True),
        make(random_state=np.random.RandomState(3)),
    ):
        assert np.array_equal(first[0], again[0])
        assert np.array_equal(first[1], again[1])
    assert not np.array_equal(first[0], make(random_state=4)[0])


def test_default_sizes_are_the_papers() -> None:
    assert [make(random_state=0)[0].shape for make in MAKERS] == [
        (200, 2),
        (200, 2),
        (500, 500),
        (500, 500),
    ]
    assert [int((make(random_state=0)[1] >= 0).sum()) for make in MAKERS] == [2, 2, 50, 50]


@pytest.mark.parametrize("make", MAKERS[:2])
def test_a_neighbour_graph_sees_the_two_curves(make: Callable[..., Any]) -> None:
    apart = whole = 0
    for seed in range(20):
        X, _, truth = make(random_state=seed, return_truth=True)
        edges = kneighbors_graph(X, 6).tocoo()
        apart += bool(np.all(truth[edges.row] == truth[edges.col]))
        whole += connected_components(edges + edges.T)[0] == 2
    assert apart >= 18
    assert whole >= 14


def test_moons_lie_on_half_circles() -> None:
    X, _, truth = datasets.make_two_moons(noise=0, random_state=0, return_truth=True)
    upper, lower = X[truth == 0], X[truth == 1]
    np.testing.assert_allclose(np.hypot(upper[:, 0], upper[:, 1]), 1)
    np.testing.assert_allclose(np.hypot(lower[:, 0] - 1, lower[:, 1] - 0.5), 1)
    assert upper[:, 1].min() > -1e-9
    assert lower[:, 1].max() < 0.5 + 1e-9


def test_clock_is_a_circle_and_two_hands() -> None:
    X, _, truth = datasets.make_clock(201, noise=0, random_state=0, return_truth=True)
    assert np.bincount(truth).tolist() == [100, 101]
    np.testing.assert_allclose(np.hypot(*X[truth == 0].T), 1)
    steps = np.sort(np.arctan2(*X[truth == 0].T))
    np.testing.assert_allclose(np.diff(steps), 2 * np.pi / 100)  # no point twice, no gap
    hands = X[truth == 1]
    minute = np.isclose(hands[:, 0], 0) & (hands[:, 1] > -1e-9)
    assert hands[minute, 1].max() == pytest.approx(0.65)
    hour = hands[~minute]
    np.testing.assert_allclose(np.arctan2(hour[:, 1], hour[:, 0]), -np.pi / 6)  # four o'clock
    assert np.hypot(*hour.T).max() == pytest.approx(0.4)
    # Evenly spaced, so each hand has points as it is long.
    assert minute.sum() / hour.shape[0] == pytest.approx(0.65 / 0.4, rel=0.05)


@pytest.mark.parametrize("make", MAKERS[:2])
def test_noise_is_a_standard_deviation(make: Callable[..., Any]) -> None:
    options = {"n_samples": 4000, "random_state": 0}
    clean, noisy = make(noise=0, **options)[0], make(noise=0.1, **options)[0]
    # The same order in both: what differs is the noise, of which the first is 0 times the same.
    assert (noisy - clean).std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("make", "means"),
    [
        (datasets.make_gaussian2c, {(0,): [-2.5, 0, 0], (1,): [2.5, 0, 0]}),
        (
            datasets.make_gaussian4c,
            {
                (0, False): [-2.5, -5, 0],
                (0, True): [-2.5, 5, 0],
                (1, False): [2.5, -5, 0],
                (1, True): [2.5, 5, 0],
            },
        ),
    ],
)
def test_gaussians_follow_the_recipe(
    make: Callable[..., Any], means: dict[tuple[Any, ...], list[float]]
) -> None:
    n, d = 8000, 6
    X, _, truth = make(n, d, random_state=0, return_truth=True)
    # The second feature tells the clusters of a class of Gaussian4C apart: 5 standard deviations.
    keys = [truth, X[:, 1] > 0][: len(next(iter(means)))]
    for key, mean in means.items():
        cluster = X[np.logical_and.reduce([k == v for k, v in zip(keys, key, strict=True)])]
        assert len(cluster) == n // len(means)
        centered = cluster - np.pad(mean, (0, d - len(mean)))
        assert np.abs(centered.mean(axis=0)).max() < 4.5 / np.sqrt(len(cluster))
        assert np.abs(np.cov(centered.T) - np.eye(d)).max() < 6 / np.sqrt(len(cluster))
        assert kstest(centered.ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize("make", MAKERS[2:])
def test_bayes_error_of_the_gaussians(make: Callable[..., Any]) -> None:
    n = 200_000
    X, _, truth = make(n, 2, random_state=0, return_truth=True)
    expected = norm.cdf(-2.5)
    error = np.mean((X[:, 0] > 0) != truth)
    assert error == pytest.approx(expected, abs=4 * np.sqrt(expected / n))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: datasets.make_gaussian2c(501), "n_samples=501 must be a multiple of 2"),
        (lambda: datasets.make_gaussian4c(498), "n_samples=498 must be a multiple of 4"),
        (lambda: datasets.make_gaussian4c(8, 1), "n_features=1 must be an integer of at least 2"),
        (lambda: datasets.make_gaussian2c(8, 0), "n_features=0 must be an integer of at least 1"),
        (lambda: datasets.make_gaussian2c(0), "n_samples=0 must be an integer of at least 1"),
        (lambda: datasets.make_two_moons(1), "n_samples=1 must be an integer of at least 2"),
        (lambda: datasets.make_clock(2.5), "n_samples=2.5 must be an integer of at least 2"),
        (lambda: datasets.make_two_moons(noise=-1), "noise=-1 must be a finite number"),
        (lambda: datasets.make_clock(noise=np.nan), "noise=nan must be a finite number"),
        (lambda: datasets.make_clock(6, n_labeled_per_class=4), "but class 0 has 3 points"),
    ],
)
def test_synthetic_sets_refuse(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
