"""``lapwing fit`` of Parquet files whose features stay on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lapwing._app import reading
from lapwing._app.requests import FitRequest
from lapwing.estimators import prepared as points
from lapwing.models import load_model
from tests.helpers.commandline import done, found, refused, run

N = 90
FIT = "fit a.parquet b.parquet --label y"
QUICK = f"{FIT} --drop name --method eigenfunctions"
STAYED = "stayed in their files"


@pytest.fixture(autouse=True)
def parts() -> list[pl.DataFrame]:
    """Two groups, in two files."""
    group = np.arange(N) % 2
    X = np.random.default_rng(0).standard_normal((N, 4)) + 5 * group[:, None]
    label = ["uv"[g] if i < 12 else None for i, g in enumerate(group)]
    columns: dict[str, Any] = {f"x{j}": X[:, j] * 10.0**j for j in range(4)}
    frame = pl.DataFrame(columns | {"y": label, "name": [f"r{i}" for i in range(N)]})
    for name, part in (("a", frame[:50]), ("b", frame[50:])):
        part.write_parquet(f"{name}.parquet")
    return [frame[:50], frame[50:]]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LARGE_BYTES", 0)
    monkeypatch.setattr(points, "_SMALL_BYTES", 0)


@pytest.mark.parametrize(
    "options",
    [
        "--scale none --method laperls --set space.n_components=20",
        "--scale standard --method laperls",  # few rows
        "--scale standard --method anchors --set graph.n_anchors=25",
        "--scale none --method eigenfunctions",
        "--scale none --method lapsvc --set kernel=linear --set graph.n_neighbors=5",
    ],
)
def test_fits_in_blocks_equal_fits_of_the_table(
    monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    fit = f"{FIT} --id name {options}"
    done(run(f"{fit} --predictions whole.csv --model plain"))
    read: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(reading, "_LARGE_BYTES", 0)
        patch.setattr(points, "_SMALL_BYTES", 0)
        patch.setattr(pl, "read_parquet", lambda *args, **kwargs: read.append(args))
        told = found(run(f"{fit} --predictions out.csv --model m --json"))
    assert read == []
    assert (told["rows"], told["labeled"]) == (N, 12)
    labels = pl.read_csv("out.csv")["label"].to_list()
    assert told["predicted"] == {c: labels.count(c) for c in "uv"}
    assert told["features"] == ["x0", "x1", "x2", "x3"]
    close = {"rel_tol": 1e-5, "abs_tol": 1e-6}
    assert_frame_equal(pl.read_csv("out.csv"), pl.read_csv("whole.csv"), **close)
    new = []
    for model in ("m", "plain"):
        done(run(f"predict {model} a.parquet b.parquet --predictions out.csv"))
        new.append(pl.read_csv("out.csv"))
    assert_frame_equal(*new, **close)
    assert new[0]["id"].to_list() == [f"r{i}" for i in range(N)]
    assert load_model("m").info["feature_names"] == ["x0", "x1", "x2", "x3"]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "extra", ["--method lapsvc", "--report r.html", "--keep x1", "--text x1", "missing"]
)
def test_options_that_need_the_whole_table_read_it(parts: list[pl.DataFrame], extra: str) -> None:
    if extra == "missing":  # such numbers are filled in
        hole = pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("x1")).alias("x1")
        parts[0].with_columns(hole).write_parquet("a.parquet")
        extra = ""
    fit = QUICK if "lapsvc" not in extra else f"{FIT} --drop name"
    said = done(run(f"{fit} {extra} --predictions out.csv"))
    assert STAYED not in said


@pytest.mark.usefixtures("large")
def test_columns_in_a_list_are_dropped() -> None:
    data = (Path("a.parquet"), Path("b.parquet"))
    request = FitRequest(data=data, label="y", drop=("name,x1", "x3"), method="eigenfunctions")
    table = reading.read(request)
    unused = ("x1", "x3", "name")
    assert (table.feature_names, table.dropped) == (("x0", "x2"), unused)
    table = reading.read(replace(request, features=("x0,x2",), drop=()))
    assert (table.feature_names, table.dropped) == (("x0", "x2"), unused)
    refused(run(f"{QUICK} --drop x9"), "no column 'x9' (--drop)")
    refused(run(f"{QUICK} --features x1,x2 --drop x2"), "'x2' cannot be --features and --drop")


def test_features_of_more_than_256_mb_stay_in_their_files(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (Path("a.parquet"), Path("b.parquet"))
    request = FitRequest(data=data, label="y", drop=("name",), method="eigenfunctions")
    monkeypatch.setattr(reading, "moments_of", lambda rows: SimpleNamespace(not_finite=None))
    for n, stays in ((2**23, False), (2**23 + 1, True)):  # of 4 features of 8 bytes
        rows = SimpleNamespace(shape=(n, 4), dtype=np.dtype(float))
        monkeypatch.setattr(reading, "_open_features", lambda _, rows=rows: rows)
        assert (reading.block_source(request) is not None) == stays
    # A fit on a cluster reads the table.
    assert reading.block_source(replace(request, workers=1)) is None


@pytest.mark.usefixtures("large")
def test_invalid_files_of_blocks_have_the_errors_of_tables(parts: list[pl.DataFrame]) -> None:
    whole = parts[1]
    for other, name in ((whole.drop("x3"), "x3"), (whole.with_columns(x4=pl.lit(1.0)), "x4")):
        other.write_parquet("b.parquet")
        refused(run(QUICK), name)
    for damaged in ("b.parquet", "a.parquet"):
        Path(damaged).write_bytes(b"PAR1")
        refused(run(QUICK), f"{damaged} is not a readable Parquet file")


@pytest.mark.usefixtures("large")
def test_brackets_in_file_names_are_not_patterns() -> None:
    Path("a.parquet").rename("a[1].parquet")
    said = done(run(QUICK.replace("a.", "a[1].") + " --predictions out.csv"))
    assert f"The features {STAYED}" in said
