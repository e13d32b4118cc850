"""Requests: values parsed by typer, and the command that repeats a request."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from inspect import get_annotations
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import typer

from lapwing import estimators
from lapwing._app import reading, verbs
from lapwing._app.console import say
from lapwing._app.methods import COMMAND_METHODS, derive_method
from lapwing._app.options import SAY, LabeledRequest, flag_of, help_texts, option
from lapwing._app.requests import FitRequest, InfoRequest
from lapwing._app.verbs import app, verb
from tests.helpers.commandline import done, refused, run

Asked = Callable[[str], Any]
FULL = (
    "'a b.csv' c.csv --label 'kind of' --id row --features x,z --features w --drop v --unlabeled ? "
    "--scale standard --seed 7 --truth known --map east --map north --method LapRLSClassifier "
    "--set gamma_I=2 --set graph.power=1 --impute mean"
)


class StoppedError(Exception):
    """Raised instead of work, with the request of the verb."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A function from a command line, without the name of the program, to its request."""

    def stop(request: Any, *_: Any) -> Any:
        raise StoppedError(request)

    monkeypatch.setattr(reading, "read", stop)
    monkeypatch.setattr(verbs, "inspect", stop)

    def ask(command: str) -> Any:
        with pytest.raises(StoppedError) as stopped:
            verbs.run(shlex.split(command.removeprefix("lapwing ")))
        return stopped.value.args[0]

    return ask


def test_options_become_fields(asked: Asked) -> None:
    request = asked(f"fit {FULL} --predictions p.csv --quiet")
    assert request == FitRequest(
        data=(Path("a b.csv"), Path("c.csv")), label="kind of", id="row",
        features=("x,z", "w"), drop=("v",), unlabeled=("?",), scale="standard", seed=7,
        truth="known", layout=("east", "north"), method="laprls",
        settings=("gamma_I=2", "graph.power=1"), impute="mean", predictions=Path("p.csv"),
        quiet=True,
    )  # fmt: skip
    assert request.parameters == {"gamma_I": 2, "graph.power": 1}


@pytest.mark.parametrize(
    "command",
    [
        "fit t.csv",
        f"fit {FULL} --predictions p.csv --report r.html",
        "fit t.npy --labels l.npy",
        "info t.csv --label -x --n-neighbors 9",
        "suggest 'a b.csv' --label y --set gamma_A=2 -k 3 --seed 4 --method laprls --out n.csv",
        "compare 'a b.csv' --label y --rows 70 --out o.csv",
        "info --label y -- -t.csv",
    ],
)
def test_the_command_of_a_request_asks_for_the_same(asked: Asked, command: str) -> None:
    first = asked(command)
    assert asked(first.full_command) == first
    assert "--decimal" not in first.full_command  # nor any other default
    if isinstance(first, FitRequest | InfoRequest):
        again = asked(first.command)  # all options but those of the output
        assert (again.command, again.written) == (first.command, {})
        assert "--decimal auto" in first.command


def test_the_commands_that_follow_a_suggestion(asked: Asked) -> None:
    options = "--label y --set gamma_A=2 -k 3 --seed 4 --method laprls"
    first = asked(f"suggest 'a b.csv' {options} --out n.csv")
    again = asked(first.next_command)
    assert (again.data, again.out) == ((Path("a b.csv"), Path("n.csv")), Path("n-2.csv"))
    assert again.next_command.endswith("--out n-3.csv")
    expected = {"settings": ("gamma_A=2",), "seed": 4, "method": "laprls"}
    expected["predictions"] = Path("predictions.csv")
    assert asked(first.answer_command) == FitRequest(data=again.data, label="y", **expected)


def test_every_field_is_an_option_of_its_verb() -> None:
    for name, command in typer.main.get_command(app).commands.items():
        kind = get_type_hints(getattr(verbs, name))["request"]
        assert getattr(kind, "verb", name) == name, f"{kind.__name__}.verb is not {name!r}"
        found = {p.name: p for p in command.params if p.name != "help"}
        known = {one.name: one for one in fields(kind)}
        assert set(found) <= set(known)
        # `info` has no progress to be quiet about, and `label` prints no summary.
        for field in known.keys() - found.keys():
            assert field not in get_annotations(kind), f"lapwing {name} lacks its own {field!r}"
            assert known[field].default is not MISSING, f"lapwing {name} requires {field!r}"
        told = help_texts(kind)
        for one in fields(kind):
            if one.name in found and found[one.name].param_type_name == "option":
                assert flag_of(one) in found[one.name].opts
                assert found[one.name].help == told[one.name] != ""


@dataclass(frozen=True, kw_only=True)
class CountRequest(LabeledRequest):
    """Options of ``lapwing count``.

    Attributes
    ----------
    least : int
        Smallest number of rows of a listed class.
    """

    verb = "count"
    least: int = option(1, panel=SAY)


def test_a_verb_is_a_request_and_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    monkeypatch.setattr(verbs, "_command", verbs._command.__wrapped__)  # which is cached

    @verb(CountRequest, epilog="Example: lapwing count t.csv --label y")
    def count(request: CountRequest) -> None:
        """Count the labels of each class."""
        counts = Counter(verbs.read_table(request).y.tolist())
        for label in sorted(set(counts) - {""}):
            if counts[label] >= request.least:
                say(f"{label}: {counts[label]}")

    Path("t.csv").write_text("x,y\n0.7,a\n0.1,a\n0.4,a\n2.5,b\n2.2,b\n0.3,\n")
    assert done(run("count t.csv --label y")) == "a: 3\nb: 2\n"
    assert done(run("count t.csv --label y --least 3")) == "a: 3\n"
    shown = done(run("count --help"))
    for part in ("Count the labels of each class.", "Smallest number of rows", "--unlabeled"):
        assert part in shown
    refused(run("count t.csv --label z"), "t.csv", "'z'")


def test_wrong_declarations_of_a_verb_are_errors() -> None:
    message = "CountRequest has no field 'json', 'leest': without= takes names of fields, such as"
    with pytest.raises(TypeError, match=message):
        verb(CountRequest, without=("json", "quiet", "leest"))
    with pytest.raises(ValueError, match="panel='Rows' must be one of PANELS: '', 'The table', "):
        option(1, panel="Rows")

    @dataclass(frozen=True, kw_only=True)
    class PlainRequest(LabeledRequest):
        least: int = 1

    with pytest.raises(TypeError, match=r"'least' .* not declared .*option\(default, panel="):
        verb(PlainRequest)


def test_the_documentation_lists_the_verbs_and_the_methods() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "guide"
    text = (guide / "cli.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `lapwing (\w+)", text, re.MULTILINE)
    assert sorted(listed) == sorted(typer.main.get_command(app).commands)
    text = (guide / "cli_methods.md").read_text(encoding="utf-8")
    for name, method in COMMAND_METHODS.items():
        assert f"\n| `{name}` | `{method.class_name}` |" in text


def test_an_estimator_is_a_method_by_its_parameters() -> None:
    assert {one.class_name for one in COMMAND_METHODS.values()} == set(estimators.__all__)

    class OtherClassifier(estimators.LapESVC):
        pass

    class LinearRegressorCV:
        @classmethod
        def _get_param_names(cls) -> list[str]:
            return []

    other, known = derive_method(OtherClassifier), COMMAND_METHODS["laperls"]
    assert (other.name, other.virtual, other.twin) == ("other", True, known.twin)
    assert (other.forecast, other.remedies) == (known.forecast, known.remedies)
    plain = derive_method(LinearRegressorCV)
    assert (plain.name, plain.virtual, plain.twin) == ("linear-regressor-cv", False, None)
