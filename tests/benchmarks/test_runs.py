"""A quick run of every benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.shared.archives import data_folder
from benchmarks.shared.pieces import QUICK, Piece
from tests.helpers.browser import CHROMIUM

# Packages beyond those of the library.
PACKAGES = {
    "cluster": ("distributed",),
    "disk": ("polars",),
    "embedded": ("faiss", "matplotlib"),
    "labelling": ("playwright",),
    "lapsvm": ("matplotlib",),
    "page": ("playwright",),
    "reading": ("polars",),
    "s3vm": ("matplotlib",),
}


# The papers' grids have values of C that are too small for some sets.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::lapwing.exceptions.FeatureScaleWarning")
@pytest.mark.parametrize("piece", QUICK, ids=lambda piece: piece.name)
def test_quick_run(piece: Piece, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for package in PACKAGES.get(piece.suite, ()):
        pytest.importorskip(package)
    if "playwright" in PACKAGES.get(piece.suite, ()) and CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    if data_folder() is None:
        pytest.skip("the data of the papers are missing")
    main([*piece.arguments, "--output", str(tmp_path)])  # times may miss their limits
    kept = json.loads((tmp_path / f"{piece.suite}.json").read_text(encoding="utf-8"))
    assert kept["tables"]
    assert all(
        len(row) == len(table["header"]) for table in kept["tables"] for row in table["rows"]
    )
    assert (tmp_path / f"{piece.suite}.md").read_text(encoding="utf-8") in capsys.readouterr().out
