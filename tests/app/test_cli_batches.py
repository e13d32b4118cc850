"""``lapwing predict`` of Parquet files: batch by batch, and the same as in one piece."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lapwing._app import predicting

N = 130


@pytest.fixture
def model(main: Any, tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    group = np.arange(40) % 2
    X = rng.standard_normal((40, 3)) + 4 * group[:, None]
    label = ["uv"[g] if i < 8 else None for i, g in enumerate(group)]
    color = [("red", "blue")[g] for g in group]
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "color": color, "y": label})
    frame.write_parquet(tmp_path / "fit.parquet")
    path = tmp_path / "m.lapwing"
    code, _, err = main("fit", tmp_path / "fit.parquet", "--label", "y", "--model", path)
    assert code == 0, err
    return path


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(1)
    paths = []
    for number, n in enumerate((N, 7)):
        X = rng.standard_normal((n, 3)) * 3 + 2
        columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "color": ["red"] * n}
        paths.append(tmp_path / f"new{number}.parquet")
        pl.DataFrame(columns | {"name": [f"{number}-{i}" for i in range(n)]}).write_parquet(
            paths[-1]
        )
    return paths


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of the batches that are answered."""
    seen: list[int] = []
    original = predicting.answer

    def watched(loaded: Any, table: Any, request: Any, *progress: Any) -> Any:
        seen.append(len(table.ids))
        return original(loaded, table, request, *progress)

    monkeypatch.setattr(predicting, "answer", watched)
    monkeypatch.setattr(predicting, "_ROWS", 50)
    return seen


@pytest.mark.parametrize("options", [(), ("--probabilities",), ("--id", "name")])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_batches_say_the_same_as_one_piece(
    main: Any,
    model: Path,
    parts: list[Path],
    tmp_path: Path,
    sizes: list[int],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    suffix: str,
) -> None:
    out, whole = tmp_path / f"out{suffix}", tmp_path / f"whole{suffix}"
    code, said, err = main("predict", model, *parts, "--predictions", out, *options)
    assert code == 0, err
    assert sizes == [50, 50, 30, 7]
    assert "137 rows" in said
    monkeypatch.setattr(predicting, "_ROWS", 10**6)
    assert main("predict", model, *parts, "--predictions", whole, *options)[0] == 0
    read = {".csv": pl.read_csv, ".parquet": pl.read_parquet}[suffix]
    assert_frame_equal(read(out), read(whole), rel_tol=1e-9)  # products of other sizes round
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_batches_are_printed_with_one_line_of_names(
    main: Any, model: Path, parts: list[Path], sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said, _ = main("predict", model, *parts, "--quiet")
    assert code == 0
    assert len(sizes) == 4
    monkeypatch.setattr(predicting, "_ROWS", 10**6)
    whole = main("predict", model, *parts, "--quiet")[1]
    assert_frame_equal(pl.read_csv(said.encode()), pl.read_csv(whole.encode()), rel_tol=1e-9)


def test_batches_are_counted(
    main: Any, model: Path, parts: list[Path], sizes: list[int], tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    code, said, _ = main("predict", model, *parts, "--predictions", out, "--json")
    assert code == 0
    found = json.loads(said)
    labels = pl.read_csv(out)["label"].to_list()
    assert found["rows"] == 137
    assert found["predicted"] == {name: labels.count(name) for name in "uv"}
    assert len(sizes) == 4


def test_an_error_in_a_late_batch_leaves_no_file(
    main: Any, model: Path, parts: list[Path], sizes: list[int], tmp_path: Path
) -> None:
    pl.read_parquet(parts[1]).drop("b").write_parquet(parts[1])
    out = tmp_path / "out.csv"
    code, _, err = main("predict", model, *parts, "--predictions", out)
    assert code != 0
    assert "'b'" in err
    assert sizes == [50, 50, 30]
    assert not out.exists()
