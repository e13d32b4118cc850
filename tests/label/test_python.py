"""`lapwing.label`: arguments, labels, downloads."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from PIL import Image
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import lapwing
from lapwing import LapERLSClassifier, LapERLSRegressor, LapSVC
from lapwing.models import load_model
from tests.label.pages import CLASSES, TRUTH, Browser, X

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def opened(*data: Any, **options: Any) -> Any:
    return lapwing.label(*data, **{"journal": None, "browser": False, **options})


def test_labels_can_be_used_as_y() -> None:
    y = np.full(60, -1)
    u, v, w = (TRUTH.index(name) for name in CLASSES)
    y[[u, v]] = 5, 7
    with opened(X, y, classes=[7, 5, 9]) as page:
        assert page.session.history.classes == ("7", "5", "9")
        page.session.give([w], "9")
        labels = page.labels()
        assert labels[[u, v, w, 50]].tolist() == [5, 7, 9, None]
        assert {type(label) for label in labels} == {int, type(None)}
        lapwing.LapRLSClassifier().fit(X, labels)
        # A class that was typed is a text, and estimators want all classes of one kind.
        page.session.give([50], "other")
        assert page.labels()[[u, v, w, 50]].tolist() == ["5", "7", "9", "other"]
        lapwing.LapRLSClassifier().fit(X, page.labels())


@pytest.mark.parametrize("missing", [None, np.nan, "", -1])
def test_missing_labels_are_recognised(missing: Any) -> None:
    y = np.full(60, missing, dtype=object)
    y[4] = "a"
    with opened(X, y) as page:
        assert page.session.history.counts() == {"a": 1}


def test_texts_are_learnt_searched_and_saved(tmp_path: Path) -> None:
    texts = [("A cat and a DOG", "a car on a road")[k % 2] + f" {k % 5}" for k in range(40)]
    pipeline = make_pipeline(TfidfVectorizer(), LapSVC("linear", gamma_A=0.01))
    with opened(texts, model=pipeline) as page:
        browser = Browser(page.url)
        assert browser.get("api/rows?ids=0")[0]["supporting_words"] == []
        page.session.give([0], "pets")
        page.session.give([1], "traffic")
        assert page.session.wait()
        assert page.session.state()["predicted"] == {"pets": 20, "traffic": 20}
        rows = browser.get("api/rows?ids=0,1")
        assert [row["text"] for row in rows] == texts[:2]
        words = [set(row["supporting_words"]) for row in rows]
        assert words == [{"cat", "dog", "and"}, {"car", "on", "road"}]
        assert browser.get("api/find?words=dog%20CAT%200") == [0, 10, 20, 30]
        assert browser.get("api/find?words=ca") == list(range(40))
        assert browser.ask("GET", "api/export/report.html").status == 200
        (tmp_path / "m").write_bytes(browser.ask("GET", "api/export/model.lapwing").content)
    loaded = load_model(tmp_path / "m").pipeline
    assert loaded.predict(texts[:2]).tolist() == ["pets", "traffic"]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_series_are_shown_as_texts(missing: Any) -> None:
    texts = pd.Series(["a cat and a dog", "a car"] * 20)
    model = make_pipeline(TfidfVectorizer(), LapERLSClassifier())
    with opened(texts, model=model) as page:
        assert page.session.rows([1])[0]["text"] == "a car"
    with opened(np.arange(40.0)[:, None], texts=texts.replace("a car", missing)) as page:
        assert [row["text"] for row in page.session.rows([0, 1])] == ["a cat and a dog", ""]


@pytest.mark.parametrize("model", [None, LapSVC(gamma_I=0.5)], ids=["default", "given"])
def test_downloads_equal_those_of_a_fit(model: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(X, index=[f"r{k}" for k in range(60)])
    expected = clone(model or LapERLSClassifier()).fit(X, TRUTH[:12] + [None] * 48)
    with opened(frame, model=model) as page:
        for k, label in enumerate(TRUTH[:12]):
            page.session.give([k], label)
        assert page.session.state()["model"]["name"] == type(expected).__name__
        browser = Browser(page.url)
        names = ("predictions.csv", "labels.csv", "model.lapwing")
        predicted, given, saved = (browser.ask("GET", f"api/export/{name}") for name in names)
    lines = predicted.content.decode().splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == expected.transduction_.tolist()
    assert lines[1].startswith("r0,")
    assert given.content.decode().startswith(f"index,label,chosen\nr0,{TRUTH[0]},")
    (tmp_path / "m").write_bytes(saved.content)
    pipeline = load_model(tmp_path / "m").pipeline
    np.testing.assert_allclose(pipeline.decision_function(X), expected.decision_function(X))
    assert not hasattr(model, "classes_"), "a clone was fitted"


@pytest.mark.parametrize("channels", [(), (1,), (3,), (4,)])
def test_arrays_are_shown_as_images(channels: tuple[int, ...]) -> None:
    shape = (60, 2, 2, *channels)
    with opened(X, images=np.linspace(-1.0, 3.0, np.prod(shape)).reshape(shape)) as page:
        drawn = np.asarray(Image.open(BytesIO(page.session.image(59)[1])))
    assert drawn.shape == (2, 2, *(channels if channels != (1,) else ()))
    assert drawn.min() > 240, "stretched over all pictures"
    assert drawn.max() == drawn.ravel()[-1] == 255


def test_image_files_are_shown(tmp_path: Path) -> None:
    (tmp_path / "p.gif").write_bytes(b"GIF89a...")
    with opened(X, images=[str(tmp_path / "p.gif"), tmp_path / "none.png", *[None] * 58]) as page:
        assert page.session.image(0) == ("image/gif", b"GIF89a...")
        for row in (1, 2):
            with pytest.raises(Exception, match="This row has no picture"):
                page.session.image(row)


def test_default_journal_is_named_by_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(X, journal="auto") as page:
        page.session.give([1], "a")
        with opened(X + 1, journal="auto") as other:
            assert other.session.version == 0
    assert len(list(tmp_path.glob("lapwing-*.labels.jsonl"))) == 2
    with opened(X, journal="auto") as page:
        assert page.labels()[1] == "a"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": LogisticRegression()}, TypeError, "model must be a classifier of lapwing"),
        ({"model": LapERLSRegressor()}, TypeError, "got LapERLSRegressor"),
        ({"model": Pipeline([("p", "passthrough")])}, TypeError, "got str"),
        ({"classes": ["a", " "]}, ValueError, "classes: The name of a class is empty"),
        ({"ids": [1, 2]}, ValueError, "inconsistent numbers of samples"),
        ({"texts": ["a"]}, ValueError, "inconsistent numbers of samples"),
        ({"y": [None]}, ValueError, "inconsistent numbers of samples"),
        ({"y": ["NA", *[None] * 59]}, ValueError, "y: 'NA' means \"no label\" in tables"),
        ({"images": np.zeros((60, 5))}, ValueError, r"the shape \(60, 5\); pictures need"),
        ({"images": np.full((60, 2, 2), np.nan)}, ValueError, "must be finite numbers"),
        ({"images": np.zeros((59, 2, 2))}, ValueError, "images has 59 pictures, and there are 60"),
        ({"embedding": np.zeros((60, 3))}, ValueError, "embedding must be two columns"),
        ({"target": 60}, ValueError, "target=60 must be percent"),
        ({"target": "5"}, ValueError, "target='5' must be percent"),
        ({"check_every": 0}, ValueError, "check_every=0 must be a whole number"),
    ],
)
def test_rejects_invalid_arguments(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        opened(X, **options)


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.dia_array])
def test_sparse_rows_of_any_format_are_shown(form: Any) -> None:
    with opened(form(np.diag([1.0, 2, 3, 4]))) as page:
        assert page.session.rows([2])[0]["cells"] == {"x2": "3"}


def test_warns_if_all_rows_are_equal() -> None:
    with opened(np.ones((5, 2))) as page:
        assert page.session.wait()
        assert page.session.state()["warnings"] == [
            "The model could not learn: All rows are equal, so labels carry no information "
            "about other rows."
        ]
        with pytest.raises(Exception, match="The graph has not been computed"):
            page.session.suggest(1)


def test_page_opens_the_browser_has_a_link_and_can_be_closed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    page = opened(X, target=10, browser=True)
    assert shown == [page.url]
    assert page.session.state()["target"] == 0.1
    assert repr(page) == f"<LabelServer at {page.url}: 0 of 60 rows have a label>"
    assert f'href="{page.url}"' in page._repr_html_()
    page.close()
    page.close()
