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

FEW = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=settings.default.max_examples // 4,
)
N = 24
NAMED = "--label y --id name"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    columns = {
        "name": [f"r{i}" for i in range(N)],
        "x": rng.normal(size=N).round(3),
        "z": rng.normal(size=N).round(3),
        "site": ["a", "b", "c"] * (N // 3),
        "y": ["u" if i % 2 else "v" if i < 12 else None for i in range(N)],
    }
    frame = pl.DataFrame(columns)
    frame.write_csv(folder / "t.csv")
    frame.write_excel(folder / "t.xlsx")
    fit = ["fit", str(folder / "t.csv"), *NAMED.split(), "--quiet", "--method", "lapsvc"]
    assert cli.main([*fit, "--model", str(folder / "t.lapwing")]) == 0
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
        else:
            rest = {
                "cut": b"",
                "insert": extra + content[at:],
                "repeat": content[max(0, at - 40) :],
            }
            content = content[:at] + rest.get(how, content[at + len(extra) :])
    return content


def decoded(content: bytes) -> str:
    """The text of a file that is encoded as the table is."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


Check = Callable[..., None]


@pytest.fixture
def check(capfd: pytest.CaptureFixture[str], folder: Path) -> Check:
    """Run a verb; see that it ends as it should and that its output is whole or as before."""
    out = Path("out.csv")

    def run(command: str, *words: str) -> None:
        out.write_text("precious")
        code = cli.main([*command.split(), *words, "--predictions", "out.csv", "--quiet"])
        said = capfd.readouterr()
        assert code in (0, 2), said.err
        assert "Traceback" not in said.err
        assert said.out == ""
        lines = said.err.splitlines()
        assert all(line.startswith(("error: ", "warning: ")) for line in lines), said.err
        assert sum(line.startswith("error: ") for line in lines) == (code != 0), said.err
        if code == 0:
            text = decoded(out.read_bytes())
            assert text[2] in ",;\t|"  # whatever separates the cells of the table
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=text[2]))
            assert len({len(row) for row in rows}) == 1
            assert rows[0][:2] == ["id", "label"]
        else:
            assert out.read_text() == "precious"
        assert not [path for path in folder.iterdir() if path.suffix == ".tmp"]

    return run


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("t.csv", f"fit d.csv {NAMED}"),
        ("t.xlsx", f"fit d.xlsx {NAMED}"),
        ("t.lapwing", "predict d.lapwing {files}/t.csv"),
    ],
)
@FEW
@given(changes=edits)
def test_damaged_files(files: Path, check: Check, name: str, command: str, changes: Any) -> None:
    path = files / name
    Path("d").with_suffix(path.suffix).write_bytes(damage(path.read_bytes(), changes))
    check(command.format(files=files))


letters = st.characters(exclude_categories=["Cs"])
cells = st.one_of(
    st.sampled_from(["", "1", "-2.5", "nan", "inf", "1e400", "a", "b", "true", "NA", '"', " 7 "]),
    st.sampled_from(["1,5", "1.234", "1.234,5 €", "7 %", "-", "0037", "1_0", "(3)", "5-", "€"]),
    st.sampled_from(["3.4.2020", "4/3/20", "2020-04-03T10:11Z", "99:99", "10:30", "31.02.2020"]),
    st.text(letters, max_size=4),
)


def written(rows: list[list[Any]], **how: Any) -> str:
    stream = io.StringIO()
    csv.writer(stream, **how).writerows(rows)
    return stream.getvalue()


@FEW
@given(
    names=st.lists(st.text(letters, max_size=3), min_size=1, max_size=4),
    rows=st.lists(st.lists(cells, min_size=1, max_size=5), max_size=9),
)
@example(names=["y", "x"], rows=[["a", "1"], ["b", "1"], ["", "1"]])
@example(names=["y", "x"], rows=[["a", "1e308"], ["b", "-1e308"], ["", "0"]])
@example(names=["y"], rows=[])
@pytest.mark.parametrize("how", ["", "--strict", "--decimal ,"])
def test_tables_of_anything(check: Check, how: str, names: Any, rows: Any) -> None:
    text = written([["y", *names], *rows])
    Path("any.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    check(f"fit any.csv --label y {how}")


@FEW
@given(
    texts=st.lists(cells, min_size=12, max_size=30),
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252"]),
)
def test_columns_of_anything(check: Check, texts: list[str], encoding: str) -> None:
    """Enough rows for every question that is asked of a column, in a model and back."""
    rows = [[text, i % 7, "ab"[i % 2]] for i, text in enumerate(texts)]
    text = written([["x", "z", "y"], *rows], delimiter=";")
    Path("any.csv").write_bytes(text.encode(encoding, "replace"))
    Path("m").unlink(missing_ok=True)
    check("fit any.csv --label y --model m")
    if Path("m").exists():
        check("predict m any.csv")


SETTINGS = (
    "gamma gamma_A gamma_I degree coef0 kernel tol max_iter solver loss stopping class_weight "
    "fit_intercept graph.weights graph.n_neighbors graph.metric graph.power graph.normalized "
    "graph.n_jobs graph.mutual"
)


@FEW
@given(
    name=st.sampled_from(SETTINGS.split()),
    value=st.one_of(
        st.sampled_from(["0", "-1", "none", "true", "1e308", "nan", "poly", "haversine", "dice"]),
        st.text(letters, max_size=5),
        st.integers(-3, 4).map(str),
    ),
)
@pytest.mark.filterwarnings("ignore")
def test_settings_of_anything(files: Path, check: Check, name: str, value: str) -> None:
    check(f"fit {files}/t.csv {NAMED} --set", f"{name}={value}")
