"""The command line: results, errors and pipes; signals and terminals in separate processes."""

from __future__ import annotations

import errno
import io
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import scipy.io

import lapwing
from lapwing import LapSVC
from lapwing._app import cli, fitting
from lapwing._app.fitting import LEVELS
from lapwing._app.methods import METHODS
from lapwing._host import terminal
from lapwing._tables import predictions as predictions_module
from lapwing.model_selection import sure_rows
from tests.helpers.commandline import done, found, refused, run

COMMAND = [sys.executable, "-m", "lapwing"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs signals, FIFOs and terminals of POSIX")
FIT = "fit iris.csv --label kind --id flower"
TO_FILE = f"{FIT} --predictions out.csv"


@pytest.fixture(autouse=True)
def iris(flowers: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """A table of numbers, and an existing file with the name of the predictions."""
    numbers = flowers.drop("site", "truth")
    numbers.write_csv("iris.csv")
    Path("out.csv").write_text("precious")
    return numbers


def precious() -> bool:
    return Path("out.csv").read_text() == "precious"


# --- answers --------------------------------------------------------------------------------------


def test_fit_labels_every_row_of_a_csv_file(iris: pl.DataFrame) -> None:
    said = done(run(f"{TO_FILE} --probabilities --model m"))
    assert "iris.csv: 60 rows, 15 with a label\n" in said
    for part in ("LapSVC, 4 columns", "Columns as they are", "out.csv"):
        assert part in said
    answers = pl.read_csv("out.csv")
    kinds = ["setosa", "versicolor", "virginica"]
    shares, scores = ([f"{what}_{kind}" for kind in kinds] for what in ("probability", "score"))
    expected = ["id", "label", "probability", "sure", *shares, *scores, "margin", "was_labeled"]
    assert answers.columns == expected
    assert answers["id"].to_list() == iris["flower"].to_list()
    assert answers["was_labeled"].to_list() == iris["kind"].is_not_null().to_list()

    # The file has the scores of the estimator to the last bit.
    X = iris.drop("flower", "kind").to_numpy()
    model = LapSVC(unlabeled="", random_state=0).fit(X, iris["kind"].fill_null("").to_numpy())
    F = answers.select(scores).to_numpy()
    np.testing.assert_allclose(F, model.decision_function(X), rtol=1e-9, atol=1e-12)
    assert answers["label"].to_list() == model.predict(X).tolist()
    np.testing.assert_allclose(answers.select(shares), model.predict_proba(X), rtol=1e-7)
    best = answers.select(pl.max_horizontal(shares)).to_series()
    np.testing.assert_array_equal(answers["probability"], best)
    sure = next((s for p in LEVELS if (s := sure_rows(model, precision=p).sure).any()), None)
    assert sure is not None
    np.testing.assert_array_equal(answers["sure"].to_numpy() & ~model.labeled_, sure)
    ahead = np.diff(np.sort(F, axis=1)[:, -2:], axis=1)[:, 0]
    np.testing.assert_array_equal(answers["margin"], ahead)
    assert np.mean(answers["label"].to_numpy() != np.repeat(model.classes_, 20)) < 0.15
    new = pl.read_csv(done(run("predict m iris.csv --probabilities")).encode())
    assert new.drop("was_labeled").equals(answers.drop("was_labeled"))
    assert not new["was_labeled"].any()


@pytest.mark.parametrize(
    ("limit", "n", "option", "told"),
    [
        ("_SHEET_ROWS", 20, "--predictions", "19 rows below the names, and there are 60 in the p"),
        ("_SHEET_COLUMNS", 3, "--next", "3 columns, and there are 7 in the rows to label next. Wr"),
    ],
)
def test_rejects_sheets_larger_than_those_of_excel(
    monkeypatch: pytest.MonkeyPatch, limit: str, n: int, option: str, told: str
) -> None:
    Path("p.xlsx").write_text("precious")
    monkeypatch.setattr(predictions_module, limit, n)
    refused(run(f"{FIT} {option} p.xlsx"), f"a sheet of Excel holds {told}")
    assert Path("p.xlsx").read_text() == "precious"


def test_version_and_help() -> None:
    assert run("--version") == (0, f"lapwing {lapwing.__version__}\n", "")
    assert "Usage: lapwing" in done(run())
    for verb in ("fit", "predict", "report", "info", "demo"):
        said = done(run(f"{verb} --help"))
        assert f"Usage: lapwing {verb}" in said
        assert "\x1b" not in said
        assert verb == "demo" or "Example" in said
    assert "--unlabeled" in run("fit --help").out
    said = run("label --help").out
    assert "[default: laperls]" in said
    assert "Default: auto" not in said


# --- errors ---------------------------------------------------------------------------------------


def test_not_enough_memory_is_forecast() -> None:
    told = "needs", "available", "LAPWING_MEMORY_LIMIT"
    refused(run(TO_FILE, LAPWING_MEMORY_LIMIT="10k"), *told)
    assert precious()
    said = done(run("info iris.csv --label kind", LAPWING_MEMORY_LIMIT="2k"))
    assert said.count("(too much)") == sum(not one.regression for one in METHODS.values())
    assert "other method" not in said


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("typer", "--version", "the lapwing command needs 'typer'"),
        ("rich", "--version", "lapwing-learn[cli]"),
        ("skops.io", f"{FIT} --model m", "lapwing-learn[model]"),
        ("jinja2", f"{FIT} --report r.html", "lapwing-learn[report]"),
        ("onnx", f"{FIT} --onnx m.onnx", "lapwing-learn[onnx]"),
        ("polars", f"{FIT} --predictions p.parquet", "lapwing-learn[cli]"),
        ("xlsxwriter", f"{FIT} --predictions p.xlsx", "lapwing-learn[excel]"),
        ("polars", f"{FIT} --next n.parquet", "writing n.parquet needs"),
        ("xlsxwriter", f"{FIT} --next n.xlsx", "lapwing-learn[excel]"),
        ("polars", "suggest iris.csv --label kind --out n.parquet", "lapwing-learn[cli]"),
        ("xlsxwriter", "suggest iris.csv --label kind --out n.xlsx", "writing n.xlsx needs"),
        ("starlette", "label iris.csv --label kind --no-browser", "lapwing-learn[label]"),
    ],
)
def test_a_missing_extra_is_named_before_the_work(
    monkeypatch: pytest.MonkeyPatch, module: str, words: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(fitting, "fit", None)
    refused(run(words), extra)


def test_options_of_several_values_and_flags_may_be_repeated() -> None:
    assert run(f"{FIT} --drop sl --drop sw -q --quiet") == (0, "", "")


# --- pipes, terminals and signals -----------------------------------------------------------------


@POSIX
@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "mtx"])
def test_formats_of_standard_input_and_of_pipes_of_the_shell(
    iris: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    iris.write_parquet("iris.parquet")
    np.save("iris.npy", X)
    scipy.io.mmwrite("iris.mtx", X)
    content = Path(f"iris.{suffix}").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    said = found(run("info - --json"))
    assert (said["rows"], said["source"]) == (60, "standard input")
    for place in filter(os.path.exists, ("/dev/fd", "/proc/self/fd")):
        reader, writer = os.pipe()
        os.write(writer, content)  # fits the buffer of a pipe
        os.close(writer)
        assert found(run(f"info {place}/{reader} --json"))["rows"] == 60
        os.close(reader)


@POSIX
def test_a_named_pipe_is_read_to_its_end_if_it_has_an_extension() -> None:
    for name in ("pipe", "pipe.csv"):
        os.mkfifo(name)
    told = "pipe is a pipe whose name has no extension. Give a file, or - for standard input.\n"
    for words in ("info pipe", "fit pipe --label y --predictions p.csv"):
        refused(run(words), told)
    writer = threading.Thread(
        target=Path("pipe.csv").write_bytes, args=(Path("iris.csv").read_bytes(),)
    )
    writer.start()
    assert found(run("info pipe.csv --json"))["rows"] == 60
    writer.join()


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
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"error: interrupted\n")


def test_closed_streams_lose_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python has None in their place, as after ``>&-`` in a shell."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        patch.setattr(sys, "stderr", None)
        assert cli.main([*TO_FILE.split(), "--method", "laperls"]) == 0
        assert cli.main(["fit", "missing.csv", "--label", "kind"]) == 2
        sys.stdout.close()
        sys.stderr.close()
    assert Path("out.csv").read_text().startswith("id,label,")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_exits_130_and_leaves_no_file(folder: Path, number: int) -> None:
    os.mkfifo("t.csv")
    words = [*COMMAND, "fit", "t.csv", "--label", "kind", "--predictions", "out.csv"]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process,
        open("t.csv", "wb"),  # returns once the command has opened the table for reading
    ):
        process.send_signal(number)
        printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, b"", b"error: interrupted\n")
    assert precious()
    assert {p.name for p in folder.iterdir()} == {"iris.csv", "t.csv", "out.csv"}


def test_a_terminal_sees_progress_and_standard_output_stays_clean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(terminal, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(terminal, "DELAY", 0.0)
    said = done(run(TO_FILE))
    for work in ("Reading iris.csv", "LapSVC: solve", "Summarising", "Writing"):
        assert f"\r{work}" in screen.getvalue()
    assert "60 rows" in said
    assert "\x1b" not in said


def test_standard_output_on_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done(run(f"{FIT} --method laperls --model m"))
    stream = io.StringIO()

    def flush() -> None:
        if stream.getvalue():
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stream, "flush", flush)
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["predict", "m", "iris.csv"]) == 2
    told = "error: the output could not be written: No space left on device. Free some space.\n"
    assert capsys.readouterr().err == told


@pytest.mark.slow
def test_a_pipe_closed_by_its_reader_ends_the_command_silently() -> None:
    words = [*COMMAND, "--help"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_shell_completion() -> None:
    def complete(words: str, place: int) -> list[str]:
        names = {"_LAPWING_COMPLETE": "complete_bash", "COMP_CWORD": str(place)}
        return run(COMP_WORDS=words, **names).out.split()

    assert complete("lapwing pre", 1) == ["predict"]
    methods = complete("lapwing fit --method lapr", 3)
    assert {"laprls", "laprls-regressor"} < set(methods)
    assert all(name.startswith("lapr") for name in methods)


# --- warnings, errors and defects -----------------------------------------------------------------


def fail(monkeypatch: pytest.MonkeyPatch, place: object, name: str, error: BaseException) -> None:
    """Make a function raise an error."""

    def raise_error(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(place, name, raise_error)


def test_warnings_are_printed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object, **__: object) -> None:
        for text in ("first", "second", "first"):
            warnings.warn(text, lapwing.exceptions.LapwingWarning, stacklevel=1)
        warnings.warn("of no use to a user", DeprecationWarning, stacklevel=1)
        raise ValueError("enough")

    monkeypatch.setattr(fitting, "fit", warn)
    assert run(TO_FILE) == (2, "", "warning: first\nwarning: second\nerror: enough\n")


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("gamma_A is\n  wrong"), 2, "gamma_A is wrong\n"),
        (MemoryError(), 2, "not enough memory\n"),
        (OSError(errno.EIO, "Input/output error", "f"), 2, "f: Input/output error\n"),
        (OSError(errno.ENOSPC, "None left"), 2, "the output could not be written: None left. Free"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (TypeError("oops"), 1, "unexpected TypeError: oops. This is a defect of lapwing: please"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_error_is_one_line(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, fitting, "fit", error)
    answer = run(TO_FILE)
    assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1)
    assert answer.err.startswith(f"error: {said}")
    assert precious()
    if code == 1:
        with pytest.raises(TypeError, match="oops"):
            run(TO_FILE, LAPWING_DEBUG="1")


# --- files are whole or not there -----------------------------------------------------------------


@POSIX
def test_a_full_disk_leaves_no_partial_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would keep a part of it
    names = {"p.csv", "p.parquet", "m.lapwing", "r.html"}
    for name in names:
        Path(name).write_text("precious")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    outputs = "--predictions p.csv --model m.lapwing --report r.html", "--predictions p.parquet"
    for places in outputs:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, limits[1]))
        try:
            answer = run(f"{FIT} {places}")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        refused(answer)
    assert {path.read_text() for path in map(Path, names)} == {"precious"}
    assert {path.name for path in folder.iterdir()} == {"iris.csv", "out.csv", *names}


def test_a_full_disk_is_reported_for_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    # What polars 1.x says when a file finds no room.
    wrong = pl.exceptions.ComputeError("parquet: Invalid thrift: transport error")
    fail(monkeypatch, pl.DataFrame, "write_parquet", wrong)
    fit = f"{FIT} --predictions p.parquet"
    refused(run(fit), f"the Parquet file could not be written: {wrong}\n")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=1, used=1, free=0))
    refused(run(fit), "error: p.parquet: the disk is full")
    assert not Path("p.parquet").exists()
