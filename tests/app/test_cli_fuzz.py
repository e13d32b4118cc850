"""Tables and settings of anything: always an answer or one line, never half a file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.settings import setting_names
from tests.helpers.commandline import run
from tests.helpers.tables import table, write

FEW = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=settings.default.max_examples // 4,
)


def check(command: str, *words: str) -> None:
    """Run a verb; see that it ends as it should and that its output is whole or as before."""
    out = Path("out.csv")
    out.write_text("precious")
    code, said, err = run(command, *words, "--predictions", "out.csv", "--quiet")
    assert (code in (0, 2), said) == (True, ""), err
    lines = err.splitlines()
    assert all(line.startswith(("error: ", "warning: ")) for line in lines), err
    assert sum(line.startswith("error: ") for line in lines) == (code != 0), err
    assert not list(Path().glob("*.tmp"))
    if code:
        assert out.read_text() == "precious"
        return
    content = out.read_bytes()  # encoded as the table is
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = content.decode("utf-16" if wide else "utf-8-sig", "replace")
    assert text[2] in ",;\t|"  # whatever separates the cells of the table
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=text[2]))
    assert len({len(row) for row in rows}) == 1
    assert rows[0][:2] == ["id", "label"]


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
def test_any_table_gives_predictions_or_one_error(how: str, names: Any, rows: Any) -> None:
    text = written([["y", *names], *rows])
    Path("any.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    check(f"fit any.csv --label y {how}")


@FEW
@given(
    texts=st.lists(cells, min_size=12, max_size=30),
    encoding=st.sampled_from(["utf-8", "utf-16", "cp1252"]),
)
def test_any_column_gives_predictions_or_one_error(texts: list[str], encoding: str) -> None:
    """Enough rows for every question that is asked of a column, in a model and back."""
    rows = [[text, i % 7, "ab"[i % 2]] for i, text in enumerate(texts)]
    text = written([["x", "z", "y"], *rows], delimiter=";")
    Path("any.csv").write_bytes(text.encode(encoding, "replace"))
    Path("m").unlink(missing_ok=True)
    check("fit any.csv --label y --model m")
    if Path("m").exists():
        check("predict m any.csv")


@FEW
@given(
    name=st.sampled_from(setting_names(COMMAND_METHODS["lapsvc"])),
    value=st.one_of(
        st.sampled_from(["0", "-1", "none", "true", "1e308", "nan", "poly", "haversine", "dice"]),
        st.text(letters, max_size=5),
        st.integers(-3, 4).map(str),
    ),
)
@pytest.mark.filterwarnings("ignore")
def test_any_setting_gives_predictions_or_one_error(name: str, value: str) -> None:
    write("t.csv", table(24, site=["a", "b", "c"] * 8))
    check("fit t.csv --label y --id name --set", f"{name}={value}")
