"""Requests: what typer reads is what the request says, and its command says it again."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from lapwing import estimators
from lapwing._app import cli, fitting, predicting, reading, verbs
from lapwing._app.inspection import inspect
from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.options import flag_of, helps
from lapwing._app.requests import (
    CompareRequest,
    DemoRequest,
    FitRequest,
    InfoRequest,
    LabelRequest,
    PredictRequest,
    ReportRequest,
    SuggestRequest,
    TuneRequest,
)
from lapwing._app.verbs import app
from tests.helpers.members import check_examples

FULL = [
    "a b.csv", "c.csv", "--label", "kind of", "--id", "row", "--features", "x,z", "--features", "w",
    "--drop", "v", "--unlabeled", "?", "--scale", "standard", "--seed", "7", "--truth", "known",
    "--map", "east", "--map", "north", "--method", "LapRLSClassifier", "--set", "gamma_I=2",
    "--set", "graph.power=1", "--impute", "mean",
]  # fmt: skip


class StoppedError(Exception):
    """The verb got its request."""


def asked(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    """The request that a command line makes."""
    found: list[Any] = []

    def take(*values: Any, **_: Any) -> Any:
        found.extend(values)
        raise StoppedError

    for where, name in ((reading, "read"), (verbs, "inspect"), (predicting, "read_for")):
        monkeypatch.setattr(where, name, take)
    monkeypatch.setattr(predicting, "load", lambda path: path)
    with pytest.raises(StoppedError):
        verbs.run(arguments)
    return found[-1]


def test_options_become_fields(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    request = asked(monkeypatch, "fit", *FULL, "--predictions", "p.csv", "--quiet")
    assert request == FitRequest(
        data=(Path("a b.csv"), Path("c.csv")), label="kind of", id="row",
        features=("x,z", "w"), drop=("v",), unlabeled=("?",), scale="standard", seed=7,
        truth="known",
        layout=("east", "north"), method="laprls", settings=("gamma_I=2", "graph.power=1"),
        impute="mean", predictions=Path("p.csv"), quiet=True,
    )  # fmt: skip
    assert request.parameters == {"gamma_I": 2, "graph.power": 1}


@pytest.mark.parametrize(
    "arguments",
    [["fit", "t.csv"], ["fit", *FULL], ["fit", "t.npy", "--labels", "l.npy"],
     ["info", "t.csv", "--label", "-x", "--n-neighbors", "9"]],
)  # fmt: skip
def test_the_command_of_a_request_asks_for_the_same(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    first = asked(monkeypatch, *arguments)
    words = shlex.split(first.command)
    assert words[0] == "lapwing"
    again = asked(monkeypatch, *words[1:])
    assert again == first
    assert again.command == first.command


def test_the_command_of_a_suggestion_asks_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["suggest", "a b.csv", "--label", "y", "--set", "gamma_A=2", "-k", "3", "--seed", "4"]
    first = asked(monkeypatch, *words, "--method", "laprls", "--out", "n.csv")
    assert (first.n_rows, first.out, first.method) == (3, Path("n.csv"), "laprls")
    assert asked(monkeypatch, *shlex.split(first.full_command)[1:]) == first
    again = asked(monkeypatch, *shlex.split(first.next_command)[1:])
    assert (again.data, again.out) == ((Path("a b.csv"), Path("n.csv")), Path("n-2.csv"))
    assert again.next_command.endswith("--out n-3.csv")
    fit = asked(monkeypatch, *shlex.split(first.answer_command)[1:])
    assert fit == FitRequest(
        data=again.data, label="y", settings=("gamma_A=2",), seed=4, method="laprls"
    )


def test_outputs_are_no_part_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "fit", None)
    request = FitRequest(data=(Path("t.csv"),), report=Path("r.html"), quiet=True, as_json=True)
    assert request.command == FitRequest(data=(Path("t.csv"),)).command
    assert "r.html" not in request.command
    assert request.wants_report
    assert request.written == {"report": "r.html"}


def test_every_field_is_an_option_of_its_verb() -> None:
    kinds: dict[str, Any] = {"fit": FitRequest, "info": InfoRequest, "suggest": SuggestRequest}
    kinds |= {"predict": PredictRequest, "compare": CompareRequest, "tune": TuneRequest}
    kinds |= {"label": LabelRequest, "report": ReportRequest, "demo": DemoRequest}
    # `info` has no progress to be quiet about; `label` prints no summary.
    without = {"info": {"quiet"}, "label": {"as_json"}}
    commands = typer.main.get_command(app).commands
    for verb, kind in kinds.items():
        found = {p.name: p for p in commands[verb].params if p.name != "help"}
        assert set(found) == {one.name for one in fields(kind)} - without.get(verb, set())
        told = helps(kind)
        for one in fields(kind):
            if one.name in found and found[one.name].param_type_name == "option":
                assert flag_of(one) in found[one.name].opts
                assert found[one.name].help == told[one.name] != ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "log"}, "--scale 'log' must be one of auto, standard, none"),
        ({"impute": "zero"}, "--impute 'zero' must be one of auto, none, median, mean"),
        ({"method": "svm"}, "--method 'svm' must be one of auto, lapsvc"),
        ({"settings": ("gama_I=1",)}, "Did you mean 'gamma_I'"),
        ({"method": "anchors", "onnx": Path("m.onnx")}, "AnchorGraphClassifier cannot be exported"),
        ({"method": "eigenfunctions", "onnx": Path("m.onnx")}, "go through histograms"),
        ({"method": "balanced", "onnx": Path("m.onnx")}, "--set n_votes=0 leaves them out"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FitRequest(data=(Path("t.csv"),), **options)


def test_nothing_is_read_before_a_refusal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["fit", str(tmp_path / "none.csv"), "--method", "anchors", "--onnx", "m.onnx"]
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert "no ONNX" not in said
    assert "AnchorGraphClassifier cannot be exported to ONNX" in said
    assert "--method laperls" in said
    with pytest.raises(OSError, match=r"none\.csv"):
        inspect(InfoRequest(data=(tmp_path / "none.csv",)))


def test_the_documentation_lists_the_methods() -> None:
    page = "docs/guide/cli_methods.md"
    text = (Path(__file__).resolve().parents[2] / page).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| `lap") or "`" in line]
    for name, method in COMMAND_METHODS.items():
        assert any(
            line.startswith(f"| `{name}`") and f"| `{method.name}` | {method.learns_by} |" in line
            for line in lines
        ), f"{page} lacks | `{name}` | `{method.name}` | {method.learns_by} |"


def test_every_estimator_has_a_method() -> None:
    check_examples(
        [method.name for method in COMMAND_METHODS.values()],
        estimators.__all__,
        registry="__all__ of lapwing.estimators",
        place="COMMAND_METHODS in lapwing._app.methods",
    )
