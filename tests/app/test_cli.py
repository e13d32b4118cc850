"""The command as users meet it; signals, pipes and terminals in a process of its own."""

from __future__ import annotations

import csv
import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from python_calamine import CalamineWorkbook
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import lapwing
from lapwing import LapSVC
from lapwing._app import cli, demo, fitting
from lapwing._app.fitting import LEVELS
from lapwing._host.files import atomic_write
from lapwing._tables import predictions as predictions_module
from lapwing._tables.predictions import Predictions, write_predictions
from lapwing._tables.preprocessing import choose_scaling, spreads
from lapwing.model_selection import sure_rows
from tests.helpers.commandline import Answer, command, refused, with_method

COMMAND = [sys.executable, "-m", "lapwing"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs signals, FIFOs and terminals of POSIX")


def run(*args: object, **environment: str) -> Answer:
    return command(*with_method(args), **environment)


@pytest.fixture(scope="module")
def iris() -> pl.DataFrame:
    """Iris with five labels a class, as text."""
    X, y = load_iris(return_X_y=True)
    kinds = np.array(["setosa", "versicolor", "virginica"])[y]
    given = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(3)])
    kind = [kinds[i] if i in given else None for i in range(150)]
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    columns = dict(zip(names, X.T, strict=True))
    return pl.DataFrame({"flower": [f"f{i}" for i in range(150)], **columns, "kind": kind})


@pytest.fixture
def table(tmp_path: Path, iris: pl.DataFrame) -> Path:
    path = tmp_path / "iris.csv"
    iris.write_csv(path)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "out.csv"
    path.write_text("precious")
    return path


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# --- the two verbs -------------------------------------------------------------------------------


def test_fit_labels_every_row_of_a_csv_file(table: Path, out: Path, iris: pl.DataFrame) -> None:
    done = run("fit", table, "--label", "kind", "--id", "flower", "--predictions", out)
    assert (done.code, done.err) == (0, "")
    assert "iris.csv: 150 rows, 15 with a label\n" in done.out
    assert "LapSVC, 4 columns" in done.out
    assert "Columns as they are" in done.out
    assert str(out) in done.out
    found = rows(out)
    assert list(found[0]) == [
        "id",
        "label",
        "probability",
        "sure",
        "score_setosa",
        "score_versicolor",
        "score_virginica",
        "margin",
        "was_labeled",
    ]
    assert [row["id"] for row in found] == iris["flower"].to_list()
    assert [row["was_labeled"] == "true" for row in found] == iris["kind"].is_not_null().to_list()

    # The file holds to the last bit what the estimator says of the same numbers.
    X = iris.drop("flower", "kind").to_numpy()
    y = iris["kind"].fill_null("").to_numpy()
    model = LapSVC(unlabeled="", random_state=0).fit(X, y)
    scores = np.array([[float(row[f"score_{c}"]) for c in model.classes_] for row in found])
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert [row["label"] for row in found] == model.predict(X).tolist()
    chances = model.transduction_proba_.max(axis=1)
    np.testing.assert_allclose([float(row["probability"]) for row in found], chances, rtol=1e-9)
    sure = next((s for p in LEVELS if (s := sure_rows(model, precision=p).sure).any()), None)
    assert sure is not None
    free = ~model.labeled_
    assert (np.array([row["sure"] == "true" for row in found]) & free).tolist() == sure.tolist()
    ahead = np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
    np.testing.assert_array_equal([float(row["margin"]) for row in found], ahead)
    truth = np.repeat(["setosa", "versicolor", "virginica"], 50)
    assert np.mean([row["label"] for row in found] != truth) < 0.15


def test_parquet_in_and_out_says_the_same_as_csv(
    table: Path, tmp_path: Path, iris: pl.DataFrame
) -> None:
    iris.write_parquet(tmp_path / "iris.parquet")
    options = ("--label", "kind", "--id", "flower", "--quiet")
    first = run("fit", table, *options, "--predictions", tmp_path / "a.csv")
    second = run(
        "fit", tmp_path / "iris.parquet", *options, "--predictions", tmp_path / "b.parquet"
    )
    for done in (first, second):
        assert done == (0, "", "")
    found = pl.read_parquet(tmp_path / "b.parquet")
    assert found.schema["was_labeled"] == pl.Boolean
    assert found.schema["label"] == pl.String
    assert found.equals(pl.read_csv(tmp_path / "a.csv"))


def test_npz_with_two_classes_and_the_usual_marker(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], np.where(np.arange(100) % 20 == 0, y[:100], -1)
    np.savez(tmp_path / "t.npz", X=X, y=y)
    done = run("fit", tmp_path / "t.npz", "--label", "y", "--predictions", tmp_path / "p.csv")
    assert (done.code, done.err) == (0, "")
    found = rows(tmp_path / "p.csv")
    assert [row["id"] for row in found[:2]] == ["1", "2"]
    assert [row["label"] for row in found] == ["0"] * 50 + ["1"] * 50
    for row in found:
        assert float(row["score_0"]) == -float(row["score_1"])
        assert float(row["margin"]) == 2 * abs(float(row["score_1"]))


@pytest.fixture
def few_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration of 300 digits, drawn along two pixels; `make demo` takes all of it."""

    class TwoPixels:
        def __init__(self, *args: Any, **options: Any) -> None: ...

        def fit_transform(self, X: Any) -> Any:
            return X[:, [20, 43]]

    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(demo, "load_digits", lambda **_: (X[:300], y[:300]))
    monkeypatch.setattr(demo, "TSNE", TwoPixels)


@pytest.mark.usefixtures("few_digits")
def test_demo_compares_three_methods_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "demo.png"
    done = run("demo", "--output", picture, "--draws", "1")
    assert (done.code, done.err) == (0, "")
    errors = {}
    for name in ("supervised SVM", "LabelSpreading", "LapSVC()"):
        (line,) = (line for line in done.out.splitlines() if name in line)
        errors[name] = float(line.split("±")[0].split()[-1])
    assert errors["LapSVC()"] < errors["supervised SVM"]
    assert str(picture) in done.out
    assert picture.read_bytes().startswith(b"\x89PNG")


# --- what they say of wrong input ----------------------------------------------------------------

GOOD = "x,z,kind\n1,2,a\n3,1,b\n2,5,\n"
WRONG: dict[str, tuple[str | bytes | None, list[str], tuple[str, ...]]] = {
    "no such file": (None, [], ("t.csv", "No such file")),
    "empty file": ("", [], ("t.csv is empty",)),
    "binary garbage": (bytes(range(256)), [], ("line 1 is not UTF-8 text",)),
    "ragged": (GOOD + "1,2\n", [], ("line 5 has 2 fields", "3 columns")),
    "no such label": (GOOD.replace("kind", "Kinds"), [], ("'kind' (--label)", "mean 'Kinds'?")),
    "no labelled row": ("x,z,kind\n1,2,\n3,1,\n", [], ("no row has a label", "Label some rows")),
    "one class": ("x,kind\n1,a\n3,\n", [], ("only one class, 'a'", "--unlabeled")),
    "repeated names": ("x,x,kind\n1,2,a\n", ["--strict"], ("'x' occurs more than once",)),
    "infinite": (GOOD.replace("5", "inf"), [], ("infinite values in 'z' (1)", "row 3", "--drop")),
    "bad cell": (
        GOOD.replace("5", "five"),
        ["--strict"],
        ("'z' holds text in 1 row", "row 3: 'five'"),
    ),
    "text": (
        GOOD + "q,w,\nr,s,\nt,u,\n",
        ["--strict"],
        ("'x' cannot be used: not numeric", "--drop z"),
    ),
    "missing": (
        GOOD.replace("5", ""),
        ["--strict"],
        ("missing values in 'z' (1)", "row 3", "--drop"),
    ),
    "classes as numbers": (GOOD, ["--method", "lapsvr"], ("row 1 holds 'a'", "--method lapsvc")),
    "method": (GOOD, ["--method", "svm"], ("--method 'svm' must be one of auto, lapsvc, laprls",)),
    "scale": (GOOD, ["--scale", "log"], ("--scale 'log' must be one of auto, standard, none",)),
    "option": (GOOD, ["--lables", "kind"], ("--lables", "--help")),
    "seed": (GOOD, ["--seed", "-1"], ("--seed",)),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_leaves_the_output_alone(
    tmp_path: Path, out: Path, case: str
) -> None:
    content, options, parts = WRONG[case]
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("fit", path, "--label", "kind", "--predictions", out, *options)
    refused(done, *parts)
    assert out.read_text() == "precious"
    assert {p.name for p in tmp_path.iterdir()} <= {"t.csv", "out.csv"}


def test_a_folder_and_an_unknown_format(tmp_path: Path, out: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    done = run("fit", tmp_path / "d.csv", "--label", "y", "--predictions", out)
    refused(done, "d.csv is a folder")
    (tmp_path / "t.docx").write_text("x")
    code, _, said = command("fit", tmp_path / "t.docx", "--label", "y", "--predictions", out)
    assert code == 2
    assert "extension '.docx'" in said


def test_truncated_parquet(tmp_path: Path, out: Path, iris: pl.DataFrame) -> None:
    path = tmp_path / "t.parquet"
    iris.write_parquet(path)
    path.write_bytes(path.read_bytes()[:900])
    done = run("fit", path, "--label", "kind", "--predictions", out)
    refused(done, "t.parquet is not a readable Parquet file")


def test_not_enough_memory_is_forecast(table: Path, out: Path) -> None:
    done = run(
        "fit", table, "--label", "kind", "--id", "flower", "--predictions", out,
        LAPWING_MEMORY_LIMIT="50k",
    )  # fmt: skip
    refused(done, "needs", "available", "LAPWING_MEMORY_LIMIT")
    assert out.read_text() == "precious"


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    refused(run("--version"), f"the lapwing command needs {module!r}", "lapwing-learn[cli]")


@pytest.mark.slow
@POSIX
def test_ctrl_c_while_lapwing_is_imported_is_quiet() -> None:
    code = """
import os, signal, sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "lapwing.estimators":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupted())
from lapwing_command import main
assert "lapwing" not in sys.modules
sys.exit(main())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, b"", b"error: interrupted\n")


def test_closed_streams_lose_no_result(
    table: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python has None in their place, as after ``>&-`` in a shell."""
    arguments = ["fit", str(table), "--label", "kind", "--method", "laperls"]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        patch.setattr(sys, "stderr", None)
        assert cli.main([*arguments, "--predictions", str(out)]) == 0
        assert cli.main(["fit", "missing.csv", "--label", "kind"]) == 2
        sys.stdout.close()
        sys.stderr.close()
    assert out.read_text().startswith("id,label,")


def test_closed_standard_input_is_no_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert cli.main(["fit", "-", "--label", "kind"]) == 2
    assert capsys.readouterr().err.startswith("error: Standard input is closed. Name a file")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_exits_130_and_leaves_no_file(tmp_path: Path, out: Path, number: int) -> None:
    fifo = tmp_path / "t.csv"
    os.mkfifo(fifo)
    command = [*COMMAND, "fit", fifo, "--label", "kind", "--predictions", out]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        fifo.open("wb"),  # returns once the command has opened the table for reading
    ):
        process.send_signal(number)
        printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, b"", b"error: interrupted\n")
    assert out.read_text() == "precious"
    assert {p.name for p in tmp_path.iterdir()} == {"t.csv", "out.csv"}


@pytest.mark.slow
@POSIX
def test_a_terminal_sees_progress_and_standard_output_stays_clean(table: Path, out: Path) -> None:
    reader, writer = os.openpty()
    at_once = "import sys, lapwing._host.terminal as t; t.DELAY = 0.0; "
    run = "from lapwing._app.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", at_once + run]
    command += ["fit", str(table), "--label", "kind", "--id", "flower", "--predictions", str(out)]
    command += ["--method", "auto", "--set", "n_draws=1", "--set", "max_left_out=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer) as process:
        os.close(writer)
        seen = b""
        try:
            while chunk := os.read(reader, 4096):
                seen += chunk
        except OSError:  # Linux's way to say that the other end of a terminal is closed
            pass
        printed = process.communicate(timeout=60)[0]
    os.close(reader)
    assert process.returncode == 0
    assert b"method" in seen
    assert b"\x1b" not in printed
    assert b"150 rows" in printed


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device of a full disk")
def test_standard_output_on_a_full_disk(table: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "info", table], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    told = "error: the output could not be written: No space left on device. Free some space.\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.slow
def test_the_reader_of_a_pipe_may_leave() -> None:
    with subprocess.Popen(
        [*COMMAND, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 1


# --- the rest in this process --------------------------------------------------------------------


@pytest.fixture
def fit_args(table: Path, out: Path) -> list[object]:
    return ["fit", table, "--label", "kind", "--id", "flower", "--predictions", out]


def test_the_same_seed_gives_the_same_bytes(fit_args: list[object], out: Path) -> None:
    written = []
    for _ in range(2):
        assert command(*fit_args, "--seed", "3", "--quiet") == (0, "", "")
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_version_and_help() -> None:
    assert command("--version") == (0, f"lapwing {lapwing.__version__}\n", "")
    code, printed, _ = command("fit", "--help")
    assert code == 0
    assert "--unlabeled" in printed
    assert "Examples" in printed
    code, printed, said = command()
    assert (code, said) == (0, "")
    assert "Usage: lapwing" in printed


def test_standardises_when_scales_differ_and_says_so(tmp_path: Path) -> None:
    X, y = load_wine(return_X_y=True)
    given = [str(c) if i % 12 == 0 else "" for i, c in enumerate(y)]
    frame = pl.DataFrame(X, schema=load_wine().feature_names).with_columns(kind=pl.Series(given))
    frame.write_csv(tmp_path / "wine.csv")
    args = ["fit", tmp_path / "wine.csv", "--label", "kind", "--predictions", tmp_path / "p.csv"]
    code, printed, said = command(*args)
    assert (code, said) == (0, "")
    assert "Columns standardised: 'proline' varies 2,5" in printed
    assert "--scale none" in printed
    y_given = np.array([int(c) if c else -1 for c in given])
    Z = StandardScaler().fit_transform(X)
    expected = LapSVC(random_state=0).fit(Z, y_given).predict(Z)
    assert [int(row["label"]) for row in rows(tmp_path / "p.csv")] == expected.tolist()
    assert np.mean(expected != y) < 0.1

    code, printed, _ = command(*args, "--scale", "none")
    assert code == 0
    assert "Columns as they are, as told" in printed
    labels = [int(row["label"]) for row in rows(tmp_path / "p.csv")]
    assert np.mean(labels != y) > 0.2
    assert "Columns standardised, as told" in command(*args, "--scale", "standard")[1]


@pytest.mark.parametrize(
    ("varying", "standardised"),
    [
        ([1, 9], False),
        ([1, 11], True),
        ([1, 0, 0, 1], False),
        ([1e-3, 1, 1, 1], True),
        ([1e-3, *[1] * 30], False),
        ([1, *[1e-3] * 40, 1], True),
        ([5], False),
    ],
)
def test_when_scales_differ(varying: list[float], standardised: bool) -> None:
    names = [f"x{j}" for j in range(len(varying))]
    assert choose_scaling(np.array(varying), names, "auto").standardize is standardised


def test_categories_are_no_yardstick() -> None:
    spread, names = np.array([1.0, 2.0, 0.01]), ["a", "b", "(rare)"]
    assert not choose_scaling(spread, names, "auto", 2).standardize
    found = choose_scaling(spread, names, "auto")
    assert (found.standardize, "'b' varies 200 times as much as '(rare)'" in found.reason) == (
        True,
        True,
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_constant_columns_do_not_vary(container: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(1001, 0.1), rng.normal(size=1001), rng.normal(size=1001) + 1e9])
    found = spreads(container(X))
    assert found[0] == 0
    np.testing.assert_allclose(found[1:], 1, atol=0.1)
    assert not choose_scaling(found, ["a", "b", "c"], "auto").standardize


def test_warnings_are_single_lines_on_stderr(tmp_path: Path) -> None:
    lines = "".join(f"{i},{i % 2 * 9 + i / 99},{'ab'[i % 2] if i < 4 else ''}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("row,x,kind\n" + lines)
    places = ("--predictions", tmp_path / "p.csv")
    code, _, said = command("fit", tmp_path / "t.csv", "--label", "kind", *places, "--strict")
    assert code == 0
    assert said.startswith("warning: column 'row' counts the rows")
    assert all(line.startswith("warning: ") for line in said.splitlines())


def test_a_warning_is_said_once(fit_args: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object, **__: object) -> None:
        for text in ("first", "second", "first"):
            warnings.warn(text, lapwing.exceptions.LapwingWarning, stacklevel=1)
        warnings.warn("of no use to a user", DeprecationWarning, stacklevel=1)
        raise ValueError("enough")

    monkeypatch.setattr(fitting, "fit", warn)
    said = "warning: first\nwarning: second\nerror: enough\n"
    assert command(*fit_args) == (2, "", said)


def test_an_error_of_the_estimator_is_one_line(
    fit_args: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for error, said in (
        (ValueError("gamma_A is\n  wrong"), "error: gamma_A is wrong\n"),
        (MemoryError(), "error: not enough memory\n"),
        (OSError(errno.EIO, "Input/output error", "f"), "error: f: Input/output error\n"),
    ):
        monkeypatch.setattr(fitting, "fit", lambda *_, error=error, **__: raise_(error))
        assert command(*fit_args) == (2, "", said)


def raise_(error: BaseException) -> None:
    raise error


def test_a_defect_is_said_to_be_one_and_can_be_traced(
    fit_args: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "fit", lambda *_, **__: raise_(TypeError("oops")))
    code, _, said = command(*fit_args)
    assert code == 1
    assert said.startswith("error: unexpected TypeError: oops. This is a defect of lapwing")
    assert said.count("\n") == 1
    monkeypatch.setenv("LAPWING_DEBUG", "1")
    with pytest.raises(TypeError, match="oops"):
        cli.main([str(arg) for arg in fit_args])


def test_interrupted_while_fitting(
    fit_args: list[object],
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "fit", lambda *_, **__: raise_(KeyboardInterrupt()))
    assert command(*fit_args) == (130, "", "error: interrupted\n")
    assert out.read_text() == "precious"


def test_a_full_disk_loses_nothing(
    fit_args: list[object],
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(os, "fsync", lambda _: raise_(full))
    message = "the disk is full; free some space there, or write to another place"
    assert command(*fit_args) == (2, "", f"error: {out}: {message}\n")
    assert out.read_text() == "precious"
    assert [p.name for p in out.parent.iterdir() if p.suffix == ".tmp"] == []


def test_a_full_disk_is_told_for_parquet_too(
    table: Path,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What polars 1.x says when a file finds no room.
    wrong = pl.exceptions.ComputeError("parquet: Invalid thrift: transport error")
    monkeypatch.setattr(pl.DataFrame, "write_parquet", lambda *_: raise_(wrong))
    args = [
        "fit",
        table,
        "--label",
        "kind",
        "--id",
        "flower",
        "--method",
        "laprls",
        "--predictions",
    ]
    path = out.with_suffix(".parquet")
    code, _, said = command(*args, path)
    assert (code, said) == (2, f"error: the Parquet file could not be written: {wrong}\n")
    full = SimpleNamespace(total=10**6, used=10**6, free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    code, _, said = command(*args, path)
    assert (code, said.startswith(f"error: {path}: the disk is full")) == (2, True)
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.txt", "the extension of --predictions is .csv, .xlsx, .parquet or .npz"),
        ("none/out.csv", "there is no folder"),
        ("folder.csv", "it is a folder"),
        ("iris.csv", "is the input itself"),
    ],
)
def test_places_that_cannot_be_written(table: Path, name: str, message: str) -> None:
    before = table.read_bytes()
    (table.parent / "folder.csv").mkdir()
    path = table.parent / name
    code, _, said = command("fit", table, "--label", "kind", "--predictions", path)
    assert code == 2
    assert message in said
    assert said.count("\n") == 1
    assert table.read_bytes() == before


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_protected_folder(table: Path) -> None:
    folder = table.parent / "locked"
    folder.mkdir(mode=0o500)
    code, _, said = command("fit", table, "--label", "kind", "--predictions", folder / "p.csv")
    assert code == 2
    assert "no permission" in said


@pytest.mark.parametrize(
    ("module", "name", "extra"), [("polars", "p.parquet", "cli"), ("xlsxwriter", "p.xlsx", "excel")]
)
def test_output_needs_an_extra_before_the_work(
    table: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    name: str,
    extra: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    path = table.parent / name
    code, _, said = command("fit", table, "--label", "kind", "--predictions", path)
    assert code == 2
    assert f"lapwing-learn[{extra}]" in said


def test_predictions_in_an_excel_file(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book, flat = table.parent / "p.xlsx", table.parent / "p.csv"
    for path in (book, flat):
        assert command("fit", table, "--label", "kind", "--predictions", path, "-q")[0] == 0
    names, *rows = CalamineWorkbook.from_path(book).get_sheet_by_name("predictions").to_python()
    frame = pl.read_csv(flat)
    assert names == frame.columns
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        if frame[name].dtype == pl.Float64:
            np.testing.assert_allclose(cells, frame[name].to_numpy(), rtol=1e-14, atol=0)
        else:
            assert list(cells) == frame[name].to_list()
    before = book.read_bytes()
    monkeypatch.setattr(predictions_module, "_SHEET_ROWS", 20)
    code, _, said = command("fit", table, "--label", "kind", "--predictions", book)
    assert code == 2
    assert "a sheet of Excel holds 19 rows below the names, and there are" in said
    assert book.read_bytes() == before


def test_texts_of_an_excel_file_are_no_formulas(tmp_path: Path) -> None:
    ids = np.array(["=1+1", "007", "é"], dtype=object)
    path, known = tmp_path / "p.xlsx", np.zeros(3, dtype=bool)
    write_predictions(Predictions(ids, np.array([1.5, np.nan, 1e300]), known), path)
    rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    assert rows[1:] == [["=1+1", 1.5, False], ["007", "", False], ["é", "1e+300", False]]
    ids[1] = "x" * 32768
    with pytest.raises(ValueError, match="row 2 has a text of 32768 characters"):
        write_predictions(Predictions(ids, np.zeros(3), known), path)
    assert CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python() == rows


@pytest.mark.usefixtures("few_digits")
def test_demo_without_matplotlib_still_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = tmp_path / "p.png"
    code, printed, said = command("demo", "--draws", "1", "--output", picture)
    assert (code, said) == (0, "")
    assert "LapSVC()" in printed
    assert "No picture" in printed
    assert "lapwing-learn[plot]" in printed
    assert not picture.exists()


def test_the_picture_of_the_demonstration_is_no_figure_of_pyplot() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = np.arange(60) % 2
    figure = demo.draw_demo(demo.DemoResult((), X, y, np.arange(60) < 4, y, np.ones(60)))
    assert len(figure.axes) == 1
    assert pyplot.get_fignums() == []  # no window may open


def test_demo_refuses_wrong_options(tmp_path: Path) -> None:
    for args, message in (
        (["--output", tmp_path / "p.bmp"], ".png, .pdf or .svg"),
        (["--output", tmp_path / "none" / "p.png"], "there is no folder"),
        (["--labels-per-class", "0"], "--labels-per-class"),
    ):
        code, printed, said = command("demo", *args)
        assert (code, printed) == (2, "")
        assert message in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels_per_class": 0}, "labels_per_class must be from 1 to 100, got 0"),
        ({"labels_per_class": 101}, "got 101"),
        ({"n_draws": 0}, "n_draws must be 1 or more"),
        ({"seed": -1}, "seed must be 0 or more"),
    ],
)
def test_wrong_parameters_of_the_demonstration(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        demo.run_demo(**options)


@pytest.mark.usefixtures("few_digits")
def test_the_demonstration_is_honest() -> None:
    result = demo.run_demo(labels_per_class=2, n_draws=3, seed=1)
    assert result.labeled.sum() == 20
    assert np.bincount(result.y[result.labeled]).tolist() == [2] * 10
    hidden = ~result.labeled
    shown = np.mean(result.predicted[hidden] != result.y[hidden])
    # The picture is of the draw in the middle, not of the best.
    assert shown == np.median(result.scores[-1].errors)
    again = demo.run_demo(labels_per_class=2, n_draws=1, seed=1)
    for one, other in zip(result.scores, again.scores, strict=True):
        np.testing.assert_array_equal(one.errors[:1], other.errors)


def test_predictions_survive_the_file_to_the_bit(tmp_path: Path) -> None:
    scores = (
        np.random.default_rng(0).normal(size=(5, 2)) * 10.0 ** np.arange(-200, 300, 100)[:, None]
    )
    predictions = Predictions(
        np.array(['a,"b"', "c\nd", "é", " f", "g"], dtype=object),
        np.array([1, 2, 1, 2, 1]),
        np.array([True, False, True, False, False]),
        np.array([1, 2]),
        scores,
    )
    for name in ("p.csv", "p.parquet"):
        write_predictions(predictions, tmp_path / name)
        read = pl.read_csv if name == "p.csv" else pl.read_parquet
        frame: Any = read(tmp_path / name)
        assert frame["id"].to_list() == predictions.ids.tolist()
        np.testing.assert_array_equal(frame["score_2"].to_numpy(), scores[:, 1])
        assert frame["was_labeled"].to_list() == predictions.was_labeled.tolist()


def test_atomic_write_replaces_whole_files_only(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("old")

    def stop_half_way() -> None:
        with atomic_write(path) as temporary:
            temporary.write_text("half")
            assert temporary.parent == tmp_path
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_half_way()
    assert path.read_text() == "old"
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@POSIX
def test_atomic_write_keeps_links_and_the_usual_permissions(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    link.symlink_to(real)
    before = os.umask(0o027)
    try:
        with atomic_write(link) as temporary:
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert real.read_text() == "x"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    with pytest.raises(ValueError, match="not a regular file"), atomic_write("/dev/null"):
        pass
