"""Fixtures of tests of the commands; the choice of a method has separate tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import chdir
from copy import deepcopy
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from lapwing._app import choosing
from lapwing._app.requests import FitRequest
from tests.helpers.commandline import done, run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, a new one for each test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _plain_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit `LapSVC` by default, which takes a twentieth of the time of a comparison."""
    monkeypatch.setattr(FitRequest, "default_method", "lapsvc")


@pytest.fixture(scope="session", autouse=True)
def _remembered_comparisons() -> Iterator[None]:
    """Each comparison of methods is made once a session, by its points, labels and settings.

    Many tests read another file or line of the same comparison. Results of comparisons are tested
    in `tests/model_selection`.
    """
    known: dict[str, Any] = {}
    compare = choosing.compared

    def remembered(X: Any, y: Any, weights: Any, asked: Any, progress: Any) -> Any:
        settings = asked._replace(efforts=dict(asked.efforts))  # a proxy has no hash
        key = joblib.hash((X, y, weights, settings))
        if key not in known:
            known[key] = compare(X, y, weights, asked, progress)
        return deepcopy(known[key])  # the fit of its best method is one of this estimator

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choosing, "compared", remembered)
        yield


@pytest.fixture(scope="session")
def flowers() -> pl.DataFrame:
    """Sixty flowers with a column of text, five labels per class, and the truth."""
    X, y = load_iris(return_X_y=True)
    X, y = X[np.arange(150) % 50 < 20], np.repeat([0, 1, 2], 20)
    kinds = np.array(["setosa", "versicolor", "virginica"])[y]
    site = np.array(["north", "south", "west"])[np.random.default_rng(0).integers(0, 3, 60)]
    columns: dict[str, Any] = {"flower": [f"f{i}" for i in range(60)]}
    columns |= dict(zip(["sl", "sw", "pl", "pw"], X.T, strict=True))
    columns |= {"site": site, "kind": [k if i % 20 < 5 else None for i, k in enumerate(kinds)]}
    return pl.DataFrame(columns | {"truth": kinds})


@pytest.fixture(scope="session")
def _home(tmp_path_factory: pytest.TempPathFactory, flowers: pl.DataFrame) -> Path:
    folder = tmp_path_factory.mktemp("flowers")
    with chdir(folder):
        Path("home").mkdir()
        flowers.write_csv("home/t.csv")
        flowers.write_parquet("home/t.parquet")
        said = run(
            "fit home/t.csv --label kind --id flower --truth truth --method lapsvc --model home/m "
            "--predictions home/p.csv --report home/r.html --onnx home/m.onnx"
        )
        assert done(said)
    return folder / "home"


@pytest.fixture
def home(_home: Path, folder: Path) -> Path:
    """The folder `home`: the flowers in files, and all that a fit of them can write."""
    return Path(shutil.copytree(_home, folder / "home")).relative_to(folder)
