"""Damaged and hostile files: always an answer or one line, never a traceback, never half a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lapwing._app import cli
from tests.helpers.customers import LABEL, write_ods

ENCODINGS = ("utf-8", "utf-16", "cp1252")
CASES = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FEW = settings(CASES, max_examples=settings.default.max_examples // 4)
N = 24


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "name": [f"r{i}" for i in range(N)],
            "x": rng.normal(size=N).round(3),
            "z": rng.normal(size=N).round(3),
            "site": ["a", "b", "c"] * (N // 3),
            "y": ["u" if i % 2 else "v" if i < 12 else None for i in range(N)],
        }
    )
    frame.write_csv(folder / "t.csv")
    frame.write_parquet(folder / "t.parquet")
    frame.write_excel(folder / "t.xlsx")
    write_ods(folder / "t.ods")
    options = ["--label", "y", "--id", "name", "--quiet", "--model", str(folder / "m.lapwing")]
    options += ["--method", "lapsvc"]
    code = cli.main(["fit", str(folder / "t.csv"), *options])
    assert code == 0
    return folder


# Where to change, and how: flips, cuts, insertions and repetitions.
edits = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.sampled_from(["flip", "cut", "insert", "repeat", "delete"]),
        st.binary(min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=4,
)


def damage(content: bytes, changes: list[tuple[float, str, bytes]]) -> bytes:
    for where, how, extra in changes:
        at = int(where * len(content))
        if how == "flip" and content:
            at = min(at, len(content) - 1)
            content = content[:at] + bytes([content[at] ^ extra[0] or 1]) + content[at + 1 :]
        elif how == "cut":
            content = content[:at]
        elif how == "insert":
            content = content[:at] + extra + content[at:]
        elif how == "repeat":
            content = content[:at] + content[max(0, at - 40) :]
        else:
            content = content[:at] + content[at + len(extra) :]
    return content


Check = Callable[..., None]


def decoded(content: bytes) -> str:
    """The text of a file that is encoded as the table is."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


@pytest.fixture
def check(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Check:
    """Run a verb; see that it ends as it should and that its output is whole or as before."""

    def run(*args: object) -> None:
        out = tmp_path / "out.csv"
        out.write_text("precious")
        code = cli.main([*map(str, args), "--predictions", str(out), "--quiet"])
        said = capfd.readouterr()
        assert code in (0, 2), said.err
        assert "Traceback" not in said.err
        assert said.out == ""
        lines = said.err.splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        assert len(errors) == (code != 0), said.err
        assert all(line.startswith(("error: ", "warning: ")) for line in lines), said.err
        if code == 0:
            text = decoded(out.read_bytes())
            assert text[2] in ",;\t|"  # whatever separates the cells of the table
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=text[2]))
            assert len({len(row) for row in rows}) == 1
            assert rows[0][:2] == ["id", "label"]
        else:
            assert out.read_text() == "precious"
        assert not [path for path in tmp_path.iterdir() if path.suffix == ".tmp"]

    return run


@FEW
@given(changes=edits)
def test_damaged_open_documents(files: Path, tmp_path: Path, check: Check, changes: Any) -> None:
    path = tmp_path / "d.ods"
    path.write_bytes(damage((files / "t.ods").read_bytes(), changes))
    check("fit", path, "--label", LABEL)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
@FEW
@given(changes=edits)
def test_damaged_tables(
    files: Path, tmp_path: Path, check: Check, suffix: str, changes: Any
) -> None:
    path = tmp_path / f"d.{suffix}"
    path.write_bytes(damage((files / f"t.{suffix}").read_bytes(), changes))
    check("fit", path, "--label", "y", "--id", "name")


@FEW
@given(changes=edits)
def test_damaged_models(files: Path, tmp_path: Path, check: Check, changes: Any) -> None:
    path = tmp_path / "d.lapwing"
    path.write_bytes(damage((files / "m.lapwing").read_bytes(), changes))
    check("predict", path, files / "t.csv")


@FEW
@given(changes=edits)
def test_damaged_tables_at_predict_time(
    files: Path, tmp_path: Path, check: Check, changes: Any
) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(damage((files / "t.csv").read_bytes(), changes))
    check("predict", files / "m.lapwing", path)


cells = st.one_of(
    st.sampled_from(["", "1", "-2.5", "nan", "inf", "1e400", "a", "b", "true", "NA", '"', " 7 "]),
    st.sampled_from(["1,5", "1.234", "1.234,5 €", "7 %", "-", "0037", "1_0", "(3)", "5-", "€"]),
    st.sampled_from(["3.4.2020", "4/3/20", "2020-04-03T10:11Z", "99:99", "10:30", "31.02.2020"]),
    st.text(max_size=4),
)


@FEW
@given(
    names=st.lists(st.text(max_size=3), min_size=1, max_size=4),
    rows=st.lists(st.lists(cells, min_size=1, max_size=5), max_size=9),
)
@example(names=["y", "x"], rows=[["a", "1"], ["b", "1"], ["", "1"]])
@example(names=["y", "x"], rows=[["a", "1e308"], ["b", "-1e308"], ["", "0"]])
@example(names=["y"], rows=[])
@pytest.mark.parametrize("how", [[], ["--strict"], ["--decimal", ","]])
def test_tables_of_anything(
    tmp_path: Path, check: Check, how: list[str], names: Any, rows: Any
) -> None:
    stream = io.StringIO()
    csv.writer(stream).writerows([["y", *names], *rows])
    path = tmp_path / "any.csv"
    path.write_bytes(stream.getvalue().encode("utf-8", "surrogatepass"))
    check("fit", path, "--label", "y", *how)


@FEW
@given(texts=st.lists(cells, min_size=12, max_size=30), encoding=st.sampled_from(ENCODINGS))
def test_columns_of_anything(tmp_path: Path, check: Check, texts: list[str], encoding: str) -> None:
    """Enough rows for every question that is asked of a column, in a model and back."""
    stream = io.StringIO()
    table = csv.writer(stream, delimiter=";")
    table.writerows([["x", "z", "y"], *([t, i % 7, "ab"[i % 2]] for i, t in enumerate(texts))])
    path, model = tmp_path / "any.csv", tmp_path / "m.lapwing"
    path.write_bytes(stream.getvalue().encode(encoding, "replace"))
    model.unlink(missing_ok=True)
    check("fit", path, "--label", "y", "--model", model)
    if model.exists():
        check("predict", model, path)


@FEW
@given(
    name=st.sampled_from(
        [
            *("gamma", "gamma_A", "gamma_I", "degree", "coef0", "kernel", "tol", "max_iter"),
            *("solver", "loss", "stopping", "class_weight", "fit_intercept", "graph.weights"),
            *("graph.n_neighbors", "graph.metric", "graph.power", "graph.normalized"),
            *("graph.n_jobs", "graph.mutual"),
        ]
    ),
    value=st.one_of(
        st.sampled_from(["0", "-1", "none", "true", "1e308", "nan", "poly", "haversine", "dice"]),
        st.text(max_size=5),
        st.integers(-3, 4).map(str),
    ),
)
@pytest.mark.filterwarnings("ignore")
def test_settings_of_anything(files: Path, check: Check, name: str, value: str) -> None:
    check("fit", files / "t.csv", "--label", "y", "--id", "name", "--set", f"{name}={value}")
