"""The verb ``label``: a table in, a page out, and downloads that ``fit`` reads."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from lapwing._app import labelling, reading
from lapwing._app.requests import LabelRequest
from lapwing._label.serving import LabelServer
from tests.helpers.commandline import Answer, done, found, run, warned
from tests.helpers.tables import Rows, read, table, truth, write
from tests.label.pages import Browser

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

LABEL = "label t.csv --label y --no-browser"


@pytest.fixture(autouse=True)
def _no_neighbour_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the process that makes the map."""
    monkeypatch.setattr(labelling, "can_map", lambda: False)


@contextmanager
def page(data: str = "t.csv", **options: Any) -> Iterator[tuple[LabelServer, Browser]]:
    request = LabelRequest(data=(Path(data),), **options)
    with labelling.start(reading.read(request), request) as server:
        assert server.session.wait()
        yield server, Browser(server.url)


def unlabeled(n: int = 40) -> Rows:
    """Write a table without a column of labels."""
    rows = [{k: v for k, v in row.items() if k != "y"} for row in table(n)]
    write("t.csv", rows)
    return rows


def label(browser: Browser, rows: Rows, places: Any = range(6)) -> None:
    """Label rows by their groups."""
    for k in places:
        browser.post("api/batch", {"rows": [k], "label": truth(rows[k])})


def take_along(browser: Browser, *names: str) -> list[str]:
    """Save files beside the table; the words of the command that fits with them."""
    for name in names:
        answer = browser.ask("GET", f"api/export/{name}")
        assert answer.status == 200, answer.content
        Path(name).write_bytes(answer.content)
    words = shlex.split(browser.get("api/state")["fit_command"])
    assert words[:2] == ["lapwing", "fit"]
    return words[1:]


def gives_the_same(words: list[str]) -> Answer:
    """Run a fit, and check that its predictions are those of the page."""
    made = Path("predictions.csv").read_bytes()
    answer = run(*words)
    assert answer.code == 0, answer.err
    assert Path("predictions.csv").read_bytes() == made
    return answer


# --- downloads ------------------------------------------------------------------------------------


def test_downloaded_labels_record_which_rows_were_suggested() -> None:
    rows = unlabeled()
    with page(label="y", id="name") as (server, browser):
        for _ in range(6):
            assert server.session.rest()
            label(browser, rows, browser.get("api/state")["suggestions"][:1])
        words = take_along(browser, "labels.csv")
    chosen = [row["chosen"] for row in read("labels.csv")]
    assert set(chosen) == {"suggested", "random"}
    told = f"{chosen.count('suggested')} of the 6 labels are of rows that were suggested"
    warned(run(*words), told)


def test_rows_are_found_by_words_in_other_columns() -> None:
    write("t.csv", table(town=["York", "Ely", "Bath", "Ely"] * 10))
    with page(label="y") as (_, browser):
        assert browser.get("api/find?words=ELY") == list(range(1, 40, 2))
        assert browser.get("api/find?words=bath") == list(range(2, 40, 4))


@pytest.mark.parametrize(
    ("key", "column"), [({"id": "name"}, None), ({"drop": ("name",)}, "y")], ids=["id", "row"]
)
def test_fit_of_downloaded_labels_equals_the_page(key: dict[str, Any], column: str | None) -> None:
    """From a table without any column of labels."""
    rows = unlabeled()
    with page(label=column, **key) as (_, browser):
        label(browser, rows, range(4))
        browser.ask("GET", "api/export/predictions.csv")  # of fewer labels
        label(browser, rows, range(4, 6))
        words = take_along(browser, "labels.csv", "predictions.csv", "model.lapwing", "report.html")
    given = read("labels.csv")
    assert list(given[0]) == [key.get("id", "row"), column or "label", "chosen"]
    assert len(given) == 6
    assert words[1:3] == ["t.csv", "labels.csv"]
    assert words[-2:] == ["--predictions", "predictions.csv"]
    assert "6 rows got their label from labels.csv" in done(gives_the_same(words))
    assert "LapERLSClassifier" in Path("report.html").read_text(encoding="utf-8")
    predicted = found(run("predict model.lapwing t.csv --predictions p.csv --json"))["predicted"]
    assert predicted == {"u": 20, "v": 20}


def test_labels_of_the_table_can_be_changed_and_known_answers_are_not_learnt_from() -> None:
    """A second file cannot contradict the table: the labels go into a file of their own."""
    rows = table()
    write("t.csv", [row | {"known": truth(row)} for row in rows])
    known = [k for k, row in enumerate(rows) if row["y"]]
    with page(label="y", id="name", truth="known") as (server, browser):
        assert server.session.material.points.shape == (40, 2)
        assert "labels.csv" in browser.get("api/state")["fit_command"]
        browser.post("api/batch", {"rows": known[:1], "label": None})
        label(browser, rows, (20, 21, 22, 23))
        words = take_along(browser, "labels.txt", "predictions.csv")
    for flag, value in (("--labels", "labels.txt"), ("--drop", "y"), ("--truth", "known")):
        assert words[words.index(flag) + 1] == value
    n_free = len({*range(40)} - {*known[1:], 20, 21, 22, 23})
    told = f"Wrong: 0 of {n_free} rows with a known answer in 'known'"
    assert told in done(gives_the_same(words))


@pytest.mark.parametrize("form", ["svm", "npy"])
def test_matrices_are_labelled_too(form: str) -> None:
    rows = unlabeled()
    X = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    if form == "svm":
        dump_svmlight_file(X, np.full(40, -1), "t.svm")
    else:
        np.save("t.npy", X)
    marked = {"unlabeled": ("-1",)} if form == "svm" else {}
    with page(f"t.{form}", **marked) as (_, browser):
        label(browser, rows)
        words = take_along(browser, "labels.txt", "predictions.csv")
    done(gives_the_same(words))


# --- display --------------------------------------------------------------------------------------


def test_texts_and_pictures_are_shown() -> None:
    rows = [row | {"note": f"<b>{k}</b>, 1,5", "file": f"{k}.png"} for k, row in enumerate(table())]
    write("t.csv", rows)
    Path("3.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    Path("4.png").write_bytes(b"<svg onload='alert(1)'/>")
    options = {"label": "y", "id": "name", "text": ("note",), "image": "file", "drop": ("note",)}
    with page(**options) as (server, browser):
        state = browser.get("api/state")
        assert (state["has_text"], state["has_image"], state["columns"]) == (True, True, ["a", "b"])
        assert state["warnings"] == [
            "The column 'note' is shown, and the model does not learn from it. It learns from the "
            "other columns."
        ]
        assert browser.get("api/rows?ids=3")[0]["text"] == "<b>3</b>, 1,5"
        answer = browser.ask("GET", "api/image/3")
        assert answer.content == b"\x89PNG\r\n\x1a\nrest"
        assert answer.headers["content-type"] == "image/png"
        assert [browser.ask("GET", f"api/image/{k}").status for k in (4, 5)] == [415, 404]
        assert server.session.material.points.shape == (40, 2)
        words = take_along(browser, "labels.csv", "predictions.csv")
    assert words[words.index("--drop") + 1] == "note"
    gives_the_same(words)


@pytest.mark.parametrize("named", [(), ("note, more",)])
def test_texts_are_learnt_from(named: tuple[str, ...]) -> None:
    notes = [f"{('a cat and a small dog', 'the car on a road')[k % 2]} {k}" for k in range(40)]
    rows = [{"note": note, "more": f"{k} of some 40 rows"} for k, note in enumerate(notes)]
    write("t.csv", [row | {"y": ""} for row in rows])
    with page(label="y", text=named) as (server, browser):
        assert browser.get("api/state")["warnings"] == []
        text = browser.get("api/rows?ids=3")[0]["text"]
        assert text == "note: the car on a road 3\n\nmore: 3 of some 40 rows"
        server.session.give([0], "pets")
        server.session.give([1], "traffic")
        assert server.session.wait()
        assert server.session.state()["predicted"] == {"pets": 20, "traffic": 20}
        words = take_along(browser, "labels.csv", "predictions.csv")
    gives_the_same(words)


@pytest.mark.parametrize("drop", ["more", "note,more"])
def test_texts_in_a_list_may_be_dropped(drop: str) -> None:
    write("t.csv", [row | {"note": "a cat", "more": "a dog"} for row in table()])
    with page(label="y", id="name", text=("note, more",), drop=(drop,)) as (server, browser):
        assert browser.get("api/rows?ids=3")[0]["text"] == "note: a cat\n\nmore: a dog"
        learnt = {"a", "b", *["note"] * (drop == "more")}
        assert set(server.session.material.table.feature_names) == learnt
        words = take_along(browser, "labels.csv", "predictions.csv")
    gives_the_same(words)


def test_map_columns_and_order_of_known_classes() -> None:
    rows = [row | {"y": {"u": "1", "v": "2"}.get(row["y"], "")} for row in table()]
    write("t.csv", [row | {"east": str(k), "north": "1"} for k, row in enumerate(rows)])
    # A class in another notation is that of the table.
    options = {"drop": ("name",), "layout": ("east", "north"), "classes": ("w, 1.0", "3")}
    with page(label="y", **options) as (_, browser):
        state = browser.get("api/state")
        assert state["classes"] == ["w", "1", "3", "2"]
        assert state["maps"][0] == {"key": "own", "title": "east and north"}
        content = browser.ask("GET", "api/map/own").content
    assert np.frombuffer(content, "<f4", 80, offset=4 * 41).tolist() == [*range(40), *[1] * 40]


# --- the verb -------------------------------------------------------------------------------------


def test_label_prints_the_address_and_the_numbers_of_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(LabelServer, "wait", lambda self: None)  # ends when the page is open
    monkeypatch.setattr("typer.launch", shown.append)
    write("t.csv", table())
    address, words, end = done(run("label t.csv --label y --id name")).splitlines()
    assert shown == [address]
    assert address.startswith("http://127.0.0.1:")
    assert words == (
        "t.csv: 40 rows, 4 labels. Your labels are saved in t.csv.labels.jsonl while you label. "
        "Press Ctrl-C to end; run the same command again to continue."
    )
    assert end == (
        "0 labels in t.csv.labels.jsonl, and 4 labels in the table, of 40 rows. "
        "Run the same command again to continue."
    )
    assert Path("t.csv.labels.jsonl.address").read_text() == f"{address}\n"
    unlabeled()
    said = done(run("label t.csv --no-browser --journal new.jsonl")).splitlines()
    assert said[1].endswith("holds labels, start again with --label COLUMN.")
    assert said[2].startswith("t.csv: 40 rows, no label yet. Your labels are saved in new.jsonl ")
    write("t.csv", table())
    Path("r5").write_bytes(b"GIF89a")  # some pictures may be missing
    said = done(run(f"{LABEL} --quiet --image name --journal other.jsonl --port 0"))
    assert (said.count("\n"), len(shown)) == (1, 1)
    assert Path("other.jsonl").exists()
    monkeypatch.setattr(LabelServer, "wait", lambda self: self.session.give([10, 11, 12], "u"))
    end = done(run(f"{LABEL} --id name")).splitlines()[-1]
    assert end.startswith("3 labels in t.csv.labels.jsonl, and 4 labels in the table, of 40 rows. ")


def test_ctrl_c_closes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    write("t.csv", table())

    def interrupted(self: Any) -> bool:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with page(str(Path("t.csv").absolute()), label="y", drop=("name",)) as (server, browser):
        monkeypatch.setattr(type(server._thread), "is_alive", interrupted)
        server.wait()
        with pytest.raises(OSError, match="refused"):
            browser.get("api/state")
