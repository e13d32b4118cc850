"""``lapwing predict`` of Parquet files: batch by batch, and the same as in one piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lapwing._app import predicting
from tests.helpers.commandline import done, found, run

PREDICT = "predict m new0.parquet new1.parquet"


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A model, files of 130 and 7 new rows, and the rows of the batches that are answered."""
    rng = np.random.default_rng(0)
    group = np.arange(40) % 2
    X = rng.standard_normal((40, 3)) + 4 * group[:, None]
    label = ["uv"[g] if i < 8 else None for i, g in enumerate(group)]
    color = [("red", "blue")[g] for g in group]
    frame = pl.DataFrame(X, schema=list("abc")).with_columns(
        color=pl.Series(color), y=pl.Series(label)
    )
    frame.write_parquet("fit.parquet")
    done(run("fit fit.parquet --label y --model m"))
    for number, n in enumerate((130, 7)):
        X = rng.standard_normal((n, 3)) * 3 + 2
        names = pl.Series([f"{number}-{i}" for i in range(n)])
        rows = pl.int_range(pl.len())
        frame = pl.DataFrame(X, schema=list("abc")).with_columns(
            color=pl.lit("red"),
            name=names,
            # Whole in one batch, fractions in another, nothing in the last; and texts.
            k=pl.when(rows < 50).then(rows.cast(float)).when(rows < 100).then(rows / 4),
            note=pl.when(rows >= 50).then(pl.format("n{}", rows)),
        )
        frame.write_parquet(f"new{number}.parquet")
    seen: list[int] = []
    original = predicting.predict_rows

    def watched(estimator: Any, points: Any, *others: Any, **how: Any) -> Any:
        seen.append(len(points))
        return original(estimator, points, *others, **how)

    monkeypatch.setattr(predicting, "predict_rows", watched)
    monkeypatch.setattr(predicting, "_ROWS", 50)
    return seen


@pytest.mark.parametrize(
    ("options", "suffix"),
    [
        ("", ".csv"),
        ("--probabilities", ".parquet"),
        ("--id name", ".csv"),
        ("--with-columns", ".csv"),
        ("--with-columns", ".parquet"),
    ],
)
def test_predictions_in_batches_equal_those_of_the_whole_table(
    folder: Path, sizes: list[int], monkeypatch: pytest.MonkeyPatch, options: str, suffix: str
) -> None:
    # Some do not know the column of names.
    told = found(run(f"{PREDICT} --predictions out{suffix} {options} --json"))
    assert (told["rows"], sizes) == (137, [50, 50, 30, 7])
    printed = run(f"{PREDICT} {options} -q").out
    monkeypatch.setattr(predicting, "_ROWS", 10**6)
    assert run(f"{PREDICT} --predictions whole{suffix} {options}").code == 0
    read: Any = {".csv": pl.read_csv, ".parquet": pl.read_parquet}[suffix]
    whole = read(f"whole{suffix}")
    labels = whole["label"].to_list()
    assert told["predicted"] == {name: labels.count(name) for name in "uv"}
    # Products of other sizes round.
    assert_frame_equal(read(f"out{suffix}"), whole, rel_tol=1e-9)
    answers = pl.read_csv(printed.encode())  # with one line of names
    assert_frame_equal(answers.cast(dict(whole.schema)), whole, rel_tol=1e-9)
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_rows_without_the_ids_of_the_fit_are_numbered(sizes: list[int]) -> None:
    pl.read_parquet("fit.parquet").with_row_index("key").write_parquet("fit.parquet")
    done(run("fit fit.parquet --label y --id key --method laperls --model m"))
    run(f"{PREDICT} --predictions out.csv")
    assert sizes == [50, 50, 30, 7]
    assert pl.read_csv("out.csv")["id"].to_list() == list(range(1, 138))


def test_an_error_in_a_late_batch_leaves_no_file(sizes: list[int]) -> None:
    pl.read_parquet("new1.parquet").drop("b").write_parquet("new1.parquet")
    code, _, err = run(f"{PREDICT} --predictions out.csv")
    assert code != 0
    assert "'b'" in err
    assert sizes == [50, 50, 30]
    assert not Path("out.csv").exists()
    a = pl.when(pl.int_range(pl.len()) == 120).then(float("inf")).otherwise("a").alias("a")
    pl.read_parquet("new0.parquet").with_columns(a).write_parquet("new0.parquet")
    told = "error: new0.parquet: infinite values in 'a' (1); the first is in row 121. Correct them."
    assert run(f"{PREDICT} --predictions out.csv").err.splitlines()[-1] == told
