"""``--set``: what its texts mean, and which are refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lapwing import Landmarks
from lapwing._app.methods import COMMAND_METHODS, find_method
from lapwing._app.settings import format_setting, make_estimator, parse_settings, setting_names
from lapwing.models import load_model
from tests.helpers.commandline import done, found, refused, run

LAPSVC, S3VC = COMMAND_METHODS["lapsvc"], COMMAND_METHODS["s3vc"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gama_I=1", "LapSVC has no parameter 'gama_I'. Did you mean 'gamma_I'?"),
        ("graph.n_neigbours=1", "Did you mean 'graph.n_neighbors'?"),
        ("n_neighbors=1", "Did you mean 'graph.n_neighbors'?"),
        ("zzzz=1", "It has class_prior, class_weight, coef0"),
        ("gamma_I", "must be NAME=VALUE, such as --set gamma_I=VALUE."),
        ("=1", "must be NAME=VALUE"),
        ("gamma_I=1 gamma_I=2", "given twice"),
        ("gamma_I=[1]", "must be a number, true, false, none or a word"),
        ("gamma_I=", "must be a number"),
        ("unlabeled=0", "use --unlabeled"),
        ("random_state=0", "use --seed"),
        ("graph=5", "graph.n_neighbors"),
        ("class_prior=a:0.2,b", "write each class once with its proportion, such as"),
        ("class_prior=0.2,0.8", "with its proportion, such as class_prior=a:0.2,b:0.8"),
        ("class_prior=a:0.2,a:0.8", "write each class once"),
        ("class_prior=:0.2,b:0.8", "write each class once"),
        ("class_prior=a:much,b:0.8", "such as class_prior=a:0.2,b:0.8"),
        ("kernel=precomputed", "no kernel matrix"),
        ("graph.mutual=maybe", "graph.mutual=maybe: this is a switch; write yes or no"),
        ("graph.normalized=1", "graph.normalized=1: this is a switch; write yes, no or auto"),
        ("graph.approximate=1", "graph.approximate=1: this is a switch; write yes, no or auto"),
        ("space.n_component=7", "Did you mean 'space.n_components'?"),
        ("space=Linear", "set its parameters, such as space.n_components"),
        ("space.random_state=1", "use --seed"),
        ("space.centers=1", "landmarks are drawn from the rows, see space.method"),
        ("Cstar=1", "Did you mean 'C_star'?"),
    ],
)
def test_rejects_wrong_settings(text: str, message: str) -> None:
    method = S3VC if text.startswith(("space", "C")) else LAPSVC
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        parse_settings(text.split(), method)
    assert str(caught.value).startswith("--set")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("gamma_I=1e-3", 1e-3),
        ("max_iter=7", 7),
        ("stopping=none", None),
        ("loss=hinge", "hinge"),
        ("kernel=no", "no"),  # a word, where there is no switch
        ("graph__power=2", 2),
        ("graph.mutual=yes", True),
        ("fit_intercept=On", True),
        ("graph.normalized=true", True),
        ("graph.mutual=no", False),
        ("fit_intercept=OFF", False),
        ("graph.approximate=false", False),
        ("graph.normalized=Auto", "auto"),
        ("class_prior=a:0.2,b:0.8", {"a": 0.2, "b": 0.8}),
        ("class_prior= red : 3 , dark:blue:5", {"red": 3, "dark:blue": 5}),
        ("class_prior=1:20,2.5:30,-3:1e2", {1: 20, 2.5: 30, -3: 100.0}),
        ("class_prior=1:20,two:30", {"1": 20, "two": 30}),
        ("class_prior=uniform", "uniform"),
        ("class_prior=none", None),
    ],
)
def test_values_of_settings(text: str, value: Any) -> None:
    name = text.partition("=")[0]
    expected = {name.replace("__", "."): value}
    assert parse_settings([text], LAPSVC) == expected
    assert parse_settings([f"{name}={format_setting(value)}"], LAPSVC) == expected
    if name == "class_prior":
        assert parse_settings([text.replace(name, "balance")], S3VC) == {"balance": value}


def test_settings_of_a_space_and_of_a_grid() -> None:
    values = parse_settings(["space.n_components=7", "space__method=kmeans", "s=2"], S3VC)
    estimator = make_estimator(S3VC, values, 3)
    assert repr(estimator.space) == repr(Landmarks(7, method="kmeans", random_state=3))
    assert estimator.s == 2
    assert not any(name.startswith("space") for name in setting_names(LAPSVC))
    assert "epsilon" in setting_names(COMMAND_METHODS["lapsvr"])
    grid = parse_settings(["gamma_Is=0.1,10"], COMMAND_METHODS["lapsvc-cv"])["gamma_Is"]
    assert (grid, format_setting(grid)) == ((0.1, 10), "0.1,10")


@pytest.mark.parametrize("name", ["lapsvc", "LapSVC", "LAPRLS", "LapRLSClassifier"])
def test_methods_by_their_names(name: str) -> None:
    assert find_method(name).name in ("lapsvc", "laprls")


FIT = "fit home/t.csv --label kind --id flower --truth truth"


@pytest.mark.usefixtures("home")
def test_settings_reach_the_estimator_and_the_graph() -> None:
    settings = "--set gamma_A=0.5 --set graph.power=3 --set kernel=laplacian --set gamma=0.2"
    done(run(f"{FIT} {settings} --model m.lapwing"))
    estimator = load_model("m.lapwing").pipeline[-1]
    assert (estimator.gamma_A, estimator.kernel, estimator.gamma) == (0.5, "laplacian", 0.2)
    assert (estimator.graph.power, estimator.graph.n_neighbors) == (3, 5)
    answer = found(run(f"{FIT} --method anchors --set graph.n_anchors=9 --seed 4 --json"))
    parameters = answer["parameters"]
    assert (parameters["graph.n_anchors"], parameters["graph.random_state"]) == (9, 4)


@pytest.mark.usefixtures("home")
def test_metrics_that_cannot_work_are_not_listed() -> None:
    answer = run(f"{FIT} --set graph.metric=mahalanobis")
    refused(answer, "metric='mahalanobis' must be one of")
    listed = answer.err.partition("must be one of ")[2]
    for name in ("seuclidean", "mahalanobis", "precomputed", "nan_euclidean"):
        assert f"'{name}'" not in listed
    assert "'cosine'" in listed
