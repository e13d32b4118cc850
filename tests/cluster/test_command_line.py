"""``lapwing fit --cluster`` and ``--workers``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing._app.cli import main
from lapwing._app.requests import FitRequest
from tests.cluster.conftest import Case

pytest.importorskip("typer", reason="typer is not installed")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    case = Case(n=120)
    path = tmp_path / "points.csv"
    names = ["low", "mid", "top"]
    rows = ["a,b,c,d,kind"]
    for x, label in zip(case.X, case.y, strict=True):
        cells = [f"{value:.6f}" for value in x]
        rows.append(",".join([*cells, names[label] if label >= 0 else ""]))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def run(*words: object) -> int:
    return main([str(word) for word in words])


def test_a_fit_on_a_cluster_answers_as_one_here(
    client: Any, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = ["fit", table, "--label", "kind", "--method", "eigenfunctions", "--json"]
    files = tmp_path / "there.csv", tmp_path / "here.csv"
    address = client.scheduler.address
    assert run(*fit, "--cluster", address, "--predictions", files[0]) == 0
    there = json.loads(capsys.readouterr().out)
    assert run(*fit, "--predictions", files[1]) == 0
    here = json.loads(capsys.readouterr().out)
    assert there["predicted"] == here["predicted"]
    labels = [
        np.array([line.split(",")[1] for line in file.read_text().splitlines()]) for file in files
    ]
    np.testing.assert_array_equal(*labels)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    words = ["green sea shells", "red desert stones"]
    rng = np.random.default_rng(0)
    rows = ["text,kind"]
    for i in range(30):
        own = [*words[i % 2].split(), "sand", "sun", "sky", "wind"]
        rows.append(f"{' '.join(rng.choice(own, 9))} at day {i},{('sea', 'land')[i % 2]}")
    rows[7:] = [row.rpartition(",")[0] + "," for row in rows[7:]]
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_texts_are_fitted_on_a_cluster(
    client: Any, texts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linear = ["--method", "s3vc", "--set", "kernel=linear", "--set", "multi_class=ovr"]
    quick = ["--set", "method=quasi-newton", "--set", "tol=0.01"]
    fit = ["fit", texts, "--label", "kind", "--text", "text", "--json", *linear, *quick]
    assert run(*fit, "--cluster", client.scheduler.address) == 0
    there = json.loads(capsys.readouterr().out)
    assert run(*fit) == 0
    assert there["predicted"] == json.loads(capsys.readouterr().out)["predicted"]


def test_rejects_texts_for_dense_methods(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", texts, "--label", "kind", "--text", "text", "--workers", "2"]
    assert run(*fit, "--method", "anchors") != 0
    message = " ".join(capsys.readouterr().err.split())
    assert "the table is a sparse matrix" in message
    assert "--method s3vc --set kernel=linear --set multi_class=ovr" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "2", "--method", "lapsvc"], "LapSVC does not run on a cluster"),
        (["--workers", "2", "--method", "s3vc"], "kernel=rbf is not supported on a cluster"),
        (["--workers", "2"], "--workers needs the name of a method"),
        (["--workers", "2", "--cluster", "tcp://a:1", "--method", "laperls"], "not both"),
        (
            ["--workers", "2", "--method", "laperls", "--next", "next.csv"],
            "the rows to label next are not found on a cluster",
        ),
    ],
)
def test_rejects_requests_that_clusters_do_not_support(
    words: list[str], message: str, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("fit", table, "--label", "kind", *words) != 0
    assert message in " ".join(capsys.readouterr().err.split())


def test_an_address_without_a_scheduler(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lapwing._app.fitting._CONNECT", 0.2)
    fit = ["fit", table, "--label", "kind", "--method", "anchors"]
    assert run(*fit, "--cluster", "tcp://127.0.0.1:1") != 0
    assert "no Dask scheduler answers there" in " ".join(capsys.readouterr().err.split())


def test_requests_with_workers_are_distributed() -> None:
    request = FitRequest(data=(Path("a.csv"),), label="y", method="laperls", workers=2)
    assert request.distributed
    assert "--workers 2" in request.command


def test_logs_of_workers_are_silent_when_a_fit_is_interrupted(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**options: Any) -> None:
        # Workers that lose their scheduler log a traceback each, as errors.
        assert options["silence_logs"] == "CRITICAL"
        raise KeyboardInterrupt

    monkeypatch.setattr("distributed.LocalCluster", interrupted)
    assert run("fit", table, "--label", "kind", "--method", "anchors", "--workers", "2") == 130
    assert capsys.readouterr().err.strip() == "error: interrupted"
