"""``lapwing fit`` of Parquet files whose features stay on disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lapwing._app import reading
from lapwing._app.requests import FitRequest
from lapwing.estimators import prepared as points
from lapwing.models import load_model

N = 90


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    group = np.arange(N) % 2
    X = rng.standard_normal((N, 4)) + 5 * group[:, None]
    names = {f"x{j}": X[:, j] * 10.0**j for j in range(4)}
    label = ["uv"[g] if i < 12 else None for i, g in enumerate(group)]
    frame = pl.DataFrame(names | {"y": label, "name": [f"r{i}" for i in range(N)]})
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    frame[:50].write_parquet(paths[0])
    frame[50:].write_parquet(paths[1])
    return paths


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LARGE_BYTES", 0)
    monkeypatch.setattr(points, "_SMALL_BYTES", 0)


METHODS = {
    "laperls": ("--set", "space.n_components=20"),
    "anchors": ("--set", "graph.n_anchors=25"),
    "eigenfunctions": (),
}


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("method", METHODS)
def test_a_fit_in_blocks_writes_what_a_fit_of_the_table_does(
    main: Any,
    parts: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    scale: str,
) -> None:
    options = ["--label", "y", "--id", "name", "--scale", scale, "--method", method]
    options += METHODS[method]
    whole, out, model = tmp_path / "whole.csv", tmp_path / "out.csv", tmp_path / "m.lapwing"
    plain = tmp_path / "plain.lapwing"
    code, _, err = main("fit", *parts, *options, "--predictions", whole, "--model", plain)
    assert code == 0, err
    monkeypatch.setattr(reading, "_LARGE_BYTES", 0)
    monkeypatch.setattr(points, "_SMALL_BYTES", 0)
    read: list[Any] = []
    monkeypatch.setattr(pl, "read_parquet", lambda *args, **kwargs: read.append(args))
    code, said, err = main("fit", *parts, *options, "--predictions", out, "--model", model)
    monkeypatch.undo()
    assert code == 0, err
    assert read == []
    assert "The features stayed in their files" in said
    assert_frame_equal(pl.read_csv(out), pl.read_csv(whole), rel_tol=1e-5, abs_tol=1e-6)
    new = []
    for path in (model, plain):
        assert main("predict", path, *parts, "--predictions", out)[0] == 0
        new.append(pl.read_csv(out))
    assert_frame_equal(*new, rel_tol=1e-5, abs_tol=1e-6)
    assert new[0]["id"].to_list() == [f"r{i}" for i in range(N)]
    assert load_model(model).info["feature_names"] == ["x0", "x1", "x2", "x3"]


@pytest.mark.usefixtures("large")
def test_the_summary_counts(main: Any, parts: list[Path], tmp_path: Path) -> None:
    code, said, err = main(
        *("fit", *parts, "--label", "y", "--drop", "name", "--method", "eigenfunctions"),
        *("--predictions", tmp_path / "out.csv", "--json"),
    )
    assert code == 0, err
    found = json.loads(said)
    assert (found["rows"], found["labeled"]) == (N, 12)
    assert found["predicted"] == {"u": 45, "v": 45}
    assert found["features"] == ["x0", "x1", "x2", "x3"]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize(
    "extra",
    [
        ("--method", "lapsvc"),
        ("--method", "eigenfunctions", "--report", "r.html"),
        ("--method", "eigenfunctions", "--keep", "x1"),
    ],
    ids=["method", "report", "keep"],
)
def test_what_needs_the_table_reads_it(
    main: Any,
    parts: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    extra: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, said, err = main("fit", *parts, "--label", "y", *extra, "--predictions", "out.csv")
    assert code == 0, err
    assert "stayed in their files" not in said


@pytest.mark.usefixtures("large")
def test_what_a_cluster_fits_is_read(parts: list[Path]) -> None:
    here = FitRequest(data=tuple(parts), label="y", drop=("name",), method="eigenfunctions")
    assert reading.block_source(here) is not None
    assert reading.block_source(replace(here, workers=1)) is None


@pytest.mark.usefixtures("large")
def test_missing_numbers_are_filled_in_a_table_that_is_read(
    main: Any, parts: list[Path], tmp_path: Path
) -> None:
    frame = pl.read_parquet(parts[0])
    missing = pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("x1")).alias("x1")
    frame.with_columns(missing).write_parquet(parts[0])
    code, said, err = main(
        *("fit", *parts, "--label", "y", "--drop", "name", "--method", "eigenfunctions"),
        *("--predictions", tmp_path / "out.csv"),
    )
    assert code == 0, err
    assert "stayed in their files" not in said


@pytest.mark.usefixtures("large")
def test_files_that_are_no_blocks_are_told_as_those_of_a_table(
    main: Any, parts: list[Path]
) -> None:
    command = ("fit", *parts, "--label", "y", "--method", "eigenfunctions")
    whole = pl.read_parquet(parts[1])
    for other in (whole.drop("x3"), whole.with_columns(x4=pl.lit(1.0))):
        other.write_parquet(parts[1])
        code, _, err = main(*command, "--drop", "name")
        assert code == 2, err
        assert re.search(r"x[34]", err), err
    for damaged in (parts[1], parts[0]):
        damaged.write_bytes(b"PAR1")
        code, _, err = main(*command)
        assert code == 2
        assert f"{damaged} is not a readable Parquet file" in err


@pytest.mark.usefixtures("large")
def test_brackets_in_the_name_of_a_file_are_no_pattern(
    main: Any, parts: list[Path], tmp_path: Path
) -> None:
    bracketed = parts[0].rename(tmp_path / "a[1].parquet")
    code, said, err = main(
        *("fit", bracketed, parts[1], "--label", "y", "--drop", "name"),
        *("--method", "eigenfunctions", "--predictions", tmp_path / "out.csv"),
    )
    assert code == 0, err
    assert "stayed in their files" in said
