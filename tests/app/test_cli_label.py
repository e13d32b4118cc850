"""The verb ``label``: a table in, a page out, and what is taken along can be fitted."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from lapwing._app import console, labelling, reading
from lapwing._app.requests import LabelRequest
from lapwing._label.serving import LabelServer
from tests.app.test_cli_answers import Main, Rows, main, read, table, write
from tests.helpers.commandline import asked, refused
from tests.label.pages import Browser

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

__all__ = ["main"]


@pytest.fixture(autouse=True)
def _no_neighbour_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that nobody waits for."""
    monkeypatch.setattr(labelling, "can_map", lambda: False)


@contextmanager
def page(*data: str, **options: Any) -> Iterator[tuple[LabelServer, Browser]]:
    request = LabelRequest(data=tuple(map(Path, data)), **options)
    with labelling.start(reading.read(request), request) as server:
        assert server.session.wait()
        yield server, Browser(server.url)


def unlabeled(n: int = 40) -> Rows:
    """A table without a column of labels."""
    return [{k: v for k, v in row.items() if k != "y"} for row in table(n)]


def truth(row: dict[str, str]) -> str:
    return "u" if float(row["a"]) < 2.5 else "v"


def take_along(browser: Browser, *names: str) -> list[str]:
    """Save files beside the table; the words of the command that fits with them."""
    for name in names:
        answer = browser.ask("GET", f"api/export/{name}")
        assert answer.status == 200, answer.content
        Path(name).write_bytes(answer.content)
    words = shlex.split(browser.get("api/state")["fit_command"])
    assert words[:2] == ["lapwing", "fit"]
    return words[1:]


def test_the_labels_say_which_rows_were_suggested(main: Main) -> None:
    rows = unlabeled()
    write("t.csv", rows)
    with page("t.csv", label="y", id="name") as (server, browser):
        for _ in range(6):
            assert server.session.rest()
            row = browser.get("api/state")["suggestions"][0]
            browser.post("api/batch", {"rows": [row], "label": truth(rows[row])})
        words = take_along(browser, "labels.csv")
    chosen = [row["chosen"] for row in read("labels.csv")]
    assert set(chosen) == {"suggested", "random"}
    n = chosen.count("suggested")
    code, _, err = main(*words)
    assert code == 0
    assert f"{n} of the 6 labels are of rows that were suggested" in err


@pytest.mark.parametrize("column", ["y", None], ids=["named", "unnamed"])
@pytest.mark.parametrize("key", [{"id": "name"}, {"drop": ("name",)}], ids=["id", "row"])
def test_labels_that_were_given_are_fitted_to_the_same_answers(
    main: Main, key: dict[str, Any], column: str | None
) -> None:
    """From a table without any column of labels."""
    rows = unlabeled()
    write("t.csv", rows)
    with page("t.csv", label=column, **key) as (_, browser):
        for k in range(6):
            browser.post("api/batch", {"rows": [k], "label": truth(rows[k])})
        words = take_along(browser, "labels.csv", "predictions.csv", "model", "report.html")
    given = read("labels.csv")
    key_name = "name" if "id" in key else "row"
    assert list(given[0]) == [key_name, column or "label", "chosen"]
    assert len(given) == 6
    made = Path("predictions.csv").read_bytes()
    assert words[1:3] == ["t.csv", "labels.csv"]
    assert words[-2:] == ["--predictions", "predictions.csv"]
    code, said, err = main(*words)
    assert (code, err) == (0, "")
    assert "6 rows got their label from labels.csv" in said
    assert Path("predictions.csv").read_bytes() == made
    assert "LapERLSClassifier" in Path("report.html").read_text(encoding="utf-8")


def test_the_model_predicts_new_rows(main: Main) -> None:
    rows = table()
    write("t.csv", rows)
    with page("t.csv", label="y", id="name") as (_, browser):
        Path("m.lapwing").write_bytes(browser.ask("GET", "api/export/model").content)
    found = asked(main("predict", "m.lapwing", "t.csv", "--predictions", "p.csv", "--json"))
    assert found["predicted"] == {"u": 20, "v": 20}


def test_labels_of_the_table_can_be_changed(main: Main) -> None:
    """A second file cannot contradict the table: the labels go into a file of their own."""
    rows = table()
    write("t.csv", rows)
    known = [k for k, row in enumerate(rows) if row["y"]]
    with page("t.csv", label="y", id="name") as (_, browser):
        assert "labels.csv" in browser.get("api/state")["fit_command"]
        browser.post("api/batch", {"rows": known[:1], "label": None})
        for k in (20, 21, 22, 23):
            browser.post("api/batch", {"rows": [k], "label": truth(rows[k])})
        words = take_along(browser, "labels.txt", "predictions.csv")
    made = Path("predictions.csv").read_bytes()
    assert words[words.index("--labels") + 1] == "labels.txt"
    assert words[words.index("--drop") + 1] == "y"
    code, _, err = main(*words)
    assert (code, err) == (0, "")
    assert Path("predictions.csv").read_bytes() == made


@pytest.mark.parametrize("form", ["svm", "npz", "npy"])
def test_matrices_are_labelled_too(main: Main, form: str) -> None:
    rows = unlabeled()
    X = np.array([[float(row["a"]), float(row["b"])] for row in rows])
    path = f"t.{form}"
    if form == "svm":
        dump_svmlight_file(X, np.full(40, -1), path)
    elif form == "npz":
        np.savez(path, X=X)
    else:
        np.save(path, X)
    marked = {"unlabeled": ("-1",)} if form == "svm" else {}
    with page(path, **marked) as (_, browser):
        for k in range(6):
            browser.post("api/batch", {"rows": [k], "label": truth(rows[k])})
        words = take_along(browser, "labels.txt", "predictions.csv")
    made = Path("predictions.csv").read_bytes()
    words = [word for word in words if word not in ("--unlabeled", "-1")]
    code, _, err = main(*words)
    assert (code, err) == (0, "")
    assert Path("predictions.csv").read_bytes() == made


def test_texts_and_pictures_are_shown(main: Main, tmp_path: Path) -> None:
    rows = [row | {"note": f"<b>{k}</b>, 1,5", "file": f"{k}.png"} for k, row in enumerate(table())]
    write("t.csv", rows)
    (tmp_path / "3.png").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (tmp_path / "4.png").write_bytes(b"<svg onload='alert(1)'/>")
    options = {"label": "y", "id": "name", "text": ("note",), "image": "file"}
    with page("t.csv", **options, drop=("note",)) as (server, browser):
        state = browser.get("api/state")
        assert (state["has_text"], state["has_image"]) == (True, True)
        assert state["columns"] == ["a", "b"]
        assert state["warnings"] == [
            "The column 'note' is shown, and the model does not learn from it. It learns from the "
            "other columns."
        ]
        assert browser.get("api/rows?ids=3")[0]["text"] == "<b>3</b>, 1,5"
        answer = browser.ask("GET", "api/image/3")
        assert answer.content == b"\x89PNG\r\n\x1a\nrest"
        assert answer.headers["content-type"] == "image/png"
        assert browser.ask("GET", "api/image/4").status == 415
        assert browser.ask("GET", "api/image/5").status == 404
        assert server.session.material.points.shape == (40, 2)
        words = take_along(browser, "labels.csv", "predictions.csv")
    made = Path("predictions.csv").read_bytes()
    assert words[words.index("--drop") + 1] == "note"
    assert main(*words)[0] == 0
    assert Path("predictions.csv").read_bytes() == made


@pytest.mark.parametrize("named", [(), ("note, more",)])
def test_texts_are_learnt_from(main: Main, named: tuple[str, ...]) -> None:
    kinds = ["a cat and a small dog", "the car on a road"]
    rows = [
        {"note": f"{kinds[k % 2]} {k}", "more": f"{k} of some 40 rows", "y": ""} for k in range(40)
    ]
    write("t.csv", rows)
    with page("t.csv", label="y", text=named) as (server, browser):
        assert browser.get("api/state")["warnings"] == []
        assert browser.get("api/rows?ids=3")[0]["text"] == (
            "note: the car on a road 3\n\nmore: 3 of some 40 rows"
        )
        server.session.give([0], "pets")
        server.session.give([1], "traffic")
        assert server.session.wait()
        assert server.session.state()["predicted"] == {"pets": 20, "traffic": 20}
        words = take_along(browser, "labels.csv", "predictions.csv")
    made = Path("predictions.csv").read_bytes()
    assert main(*words)[0] == 0
    assert Path("predictions.csv").read_bytes() == made


def test_own_columns_place_the_rows(main: Main) -> None:
    write("t.csv", [row | {"east": str(k), "north": "1"} for k, row in enumerate(table())])
    with page("t.csv", label="y", drop=("name",), layout=("east", "north")) as (_, browser):
        state = browser.get("api/state")
        assert state["maps"][0] == {"key": "own", "title": "east and north"}
        content = browser.ask("GET", "api/map/own").content
    assert np.frombuffer(content, "<f4", 80, offset=4 * 41).tolist() == [*range(40), *[1] * 40]


def test_classes_are_known_in_their_order(main: Main) -> None:
    write("t.csv", table())
    with page("t.csv", label="y", classes=("w, v", "x")) as (_, browser):
        assert browser.get("api/state")["classes"] == ["w", "v", "x", "u"]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The verb ends when the page is open; the addresses that were shown in a browser."""
    shown: list[str] = []
    monkeypatch.setattr(LabelServer, "wait", lambda self: None)
    monkeypatch.setattr("typer.launch", shown.append)
    return lambda: shown


def test_the_verb_says_where_and_opens_the_browser(main: Main, ended: Any) -> None:
    write("t.csv", table())
    code, said, err = main("label", "t.csv", "--label", "y", "--id", "name")
    assert (code, err) == (0, "")
    address, words, end = said.splitlines()
    assert ended() == [address]
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
    code, said, err = main("label", "t.csv", "--label", "y", "--no-browser", "--quiet",
                           "--id", "name", "--journal", "other.jsonl", "--port", "0")  # fmt: skip
    assert (code, err, said.count("\n")) == (0, "", 1)
    assert len(ended()) == 1
    assert Path("other.jsonl").exists()


def test_wrong_usage_is_told(main: Main, ended: Any) -> None:
    write("t.csv", table())
    options = ("t.csv", "--label", "y", "--no-browser")
    refused(main("label", *options, "--text", "nothing"), "has no column 'nothing' (--text)")
    refused(
        main("label", *options, "--method", "s3vc"),
        "--method s3vc cannot be updated with labels of classes. Use one of lapsvc, laprls, "
        "laperls, balanced.",
    )
    refused(
        main("label", *options, "--method", "lapsvr"), "cannot be updated with labels of classes"
    )
    refused(
        main("label", *options, "--method", "lapsvc", "--set", "gamma_I=0"), "removes the graph"
    )
    refused(main("label", *options, "--classes", "a,NA"), "--classes: 'NA' means \"no label\"")
    refused(main("label", *options, "--map", "a"), "--map takes two columns")
    refused(main("label", *options, "--journal", "."), "it is a folder")
    refused(main("label", "-"), "Standard input has no folder for the labels. Name a file with")
    refused(
        main("label", *options, "--journal", "t.csv"), "t.csv is not a journal of lapwing label"
    )


def test_a_column_that_names_no_picture_is_told(main: Main, ended: Any, tmp_path: Path) -> None:
    write("t.csv", table())
    options = ("t.csv", "--label", "y", "--no-browser", "--image", "name")
    told = "nor any other of those that the column names first. Names of files begin at the folder"
    refused(main("label", *options), told)
    (tmp_path / table()[5]["name"]).write_bytes(b"GIF89a")
    assert main("label", *options)[0] == 0


def test_a_dropped_text_alone_is_nothing_to_learn_from(main: Main, ended: Any) -> None:
    write("t.csv", [{"note": f"text {k}", "y": ""} for k in range(12)])
    told = "no column to learn from besides the label. The columns of --id, --image,"
    command = ("label", "t.csv", "--label", "y", "--text", "note")
    refused(main(*command, "--drop", "note"), told)


def test_one_journal_has_one_page(main: Main, ended: Any) -> None:
    write("t.csv", table())
    with page("t.csv", label="y", drop=("name",)) as (server, _):
        said = main("label", "t.csv", "--label", "y", "--drop", "name", "--no-browser")
        refused(said, f"t.csv.labels.jsonl is open already at {server.url}. Label there, or end")
    assert main("label", "t.csv", "--label", "y", "--drop", "name", "--no-browser")[0] == 0


def test_without_the_extra_the_error_names_it(
    main: Main, ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("t.csv", table())
    monkeypatch.setitem(sys.modules, "starlette", None)
    said = main("label", "t.csv", "--label", "y", "--no-browser")
    refused(said, "lapwing label needs 'starlette'", "pip install 'lapwing-learn[label]'")


def test_fit_takes_the_labels_from_a_later_file_alone(main: Main) -> None:
    rows = unlabeled()
    write("t.csv", rows)
    write("l.csv", [{"name": row["name"], "y": truth(row)} for row in rows[:4]])
    found = asked(main("fit", "t.csv", "l.csv", "--label", "y", "--id", "name", "--json"))
    assert found["labeled"] == 4
    # Without such a file it is a mistake, and told as before.
    refused(
        main("fit", "t.csv", "--label", "y", "--id", "name"), "t.csv has no column 'y' (--label)"
    )
    write("u.csv", [row | {"name": row["name"] + "x"} for row in rows])
    refused(
        main("fit", "t.csv", "u.csv", "--label", "y", "--id", "name"), "no column 'y' (--label)"
    )


START = [sys.executable, "-c", "import sys; from lapwing._app.cli import main; sys.exit(main())"]


@pytest.mark.slow
def test_killed_it_goes_on_where_it_was(main: Main) -> None:
    """The real process, which ends without a word."""
    write("t.csv", table())
    command = [*START, "label", "t.csv", "--label", "y", "--id", "name", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        browser = Browser(process.stdout.readline().strip())
        assert browser.post("api/batch", {"rows": [7, 8], "label": "w"}).json["version"] == 1
        process.kill()
        assert process.wait(30) == -signal.SIGKILL
    with page("t.csv", label="y", id="name") as (server, browser):
        assert server.labels()[[7, 8]].tolist() == ["w", "w"]
        assert browser.get("api/state")["version"] == 1
        assert browser.get("api/state")["model"]["fitted"]


def test_the_end_says_how_many_labels_are_where(
    main: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("t.csv", table())
    monkeypatch.setattr(
        LabelServer,
        "wait",
        lambda self: self.session.give([10, 11, 12], "u"),
    )
    code, said, _ = main("label", "t.csv", "--label", "y", "--id", "name", "--no-browser")
    assert code == 0
    assert said.splitlines()[-1] == (
        "3 labels in t.csv.labels.jsonl, and 4 labels in the table, of 40 rows. "
        "Run the same command again to continue."
    )


@pytest.mark.slow
def test_sigterm_ends_it_as_ctrl_c_does(main: Main) -> None:
    write("t.csv", table())
    command = [*START, "label", "t.csv", "--label", "y", "--id", "name", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http")
        process.terminate()
        assert process.wait(30) in (0, 130)  # 130 if it had not begun to wait


def test_ctrl_c_closes_the_page(main: Main, monkeypatch: pytest.MonkeyPatch) -> None:
    write("t.csv", table())

    def interrupted(self: Any) -> bool:
        monkeypatch.undo()
        raise KeyboardInterrupt

    with page("t.csv", label="y", drop=("name",)) as (server, browser):
        monkeypatch.setattr(type(server._thread), "is_alive", interrupted)
        server.wait()
        with pytest.raises(OSError, match="refused"):
            browser.get("api/state")


@pytest.mark.parametrize("column", ["y", None], ids=["named", "unnamed"])
def test_whoever_names_no_label_column_is_told_what_is_learnt_from(
    main: Main, column: str | None
) -> None:
    write("t.csv", unlabeled())
    request = LabelRequest(data=(Path("t.csv"),), label=column)
    with labelling.start(reading.read(request), request) as server:
        said = console.describe_labelling(server.session, request)
    assert ("start again with --label COLUMN" in said) == (column is None)
    assert "t.csv: 40 rows, no label yet" in said
