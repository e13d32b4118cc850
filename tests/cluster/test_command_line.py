"""``lapwing fit --cluster`` and ``--workers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.conftest import Case
from tests.helpers.commandline import found, refused, run

pytest.importorskip("typer", reason="typer is not installed")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    case, names = Case(n=120), ["low", "mid", "top", ""]
    rows = [f"{','.join(map(str, x))},{names[k]}" for x, k in zip(case.X, case.y, strict=True)]
    path = tmp_path / "points.csv"
    path.write_text("\n".join(["a,b,c,d,kind", *rows, ""]), encoding="utf-8")
    return path


def test_a_fit_on_a_cluster_answers_as_one_here(client: Any, table: Path, tmp_path: Path) -> None:
    fit = ["fit", table, "--label", "kind", "--method", "eigenfunctions", "--json"]
    there, here = tmp_path / "there.csv", tmp_path / "here.csv"
    on_cluster = found(run(*fit, "--cluster", client.scheduler.address, "--predictions", there))
    assert on_cluster["predicted"] == found(run(*fit, "--predictions", here))["predicted"]
    labels = [
        [line.split(",")[1] for line in file.read_text().splitlines()] for file in (there, here)
    ]
    assert labels[0] == labels[1]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    kinds = [("green sea shells", "sea"), ("red desert stones", "land")] * 15
    rows = ["text,kind"]
    for i, (words, kind) in enumerate(kinds):
        drawn = rng.choice([*words.split(), "sand", "sun", "sky", "wind"], 9)
        rows.append(f"{' '.join(drawn)} at day {i},{kind if i < 6 else ''}")
    path = tmp_path / "texts.csv"
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    return path


def test_texts_are_fitted_on_a_cluster(client: Any, texts: Path) -> None:
    linear = ["--method", "s3vc", "--set", "kernel=linear", "--set", "multi_class=ovr"]
    quick = ["--set", "method=quasi-newton", "--set", "tol=0.01"]
    fit = ["fit", texts, "--label", "kind", "--text", "text", "--json", *linear, *quick]
    there = found(run(*fit, "--cluster", client.scheduler.address))
    assert there["predicted"] == found(run(*fit))["predicted"]


def test_rejects_texts_for_dense_methods(texts: Path) -> None:
    fit = ["fit", texts, "--label", "kind", "--text", "text", "--workers", "2"]
    refused(
        run(*fit, "--method", "anchors"),
        "the table is a sparse matrix",
        "--method s3vc --set kernel=linear --set multi_class=ovr",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--workers 2 --method lapsvc", "LapSVC does not run on a cluster"),
        ("--workers 2 --method s3vc", "kernel=rbf is not supported on a cluster"),
        ("--workers 2", "--workers needs the name of a method"),
        ("--workers 2 --cluster tcp://a:1 --method laperls", "not both"),
        (
            "--workers 2 --method laperls --next next.csv",
            "the rows to label next are not found on a cluster",
        ),
        ("--cluster tcp://127.0.0.1:1 --method anchors", "no Dask scheduler answers there"),
    ],
)
def test_rejects_requests_that_clusters_do_not_support(
    options: str, message: str, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing._app.fitting._CONNECT", 0.2)
    refused(run("fit", table, "--label", "kind", *options.split()), message)


def test_interrupted_workers_log_nothing(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**options: Any) -> None:
        # Workers that lose their scheduler log a traceback each, as errors.
        assert options["silence_logs"] == "CRITICAL"
        raise KeyboardInterrupt

    monkeypatch.setattr("distributed.LocalCluster", interrupted)
    answer = run("fit", table, "--label", "kind", "--method", "anchors", "--workers", "2")
    assert answer.code == 130
    assert answer.err.strip() == "error: interrupted"
