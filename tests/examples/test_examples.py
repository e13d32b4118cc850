"""Every example of the gallery runs without a warning, and finds what its text claims."""

from __future__ import annotations

import ast
import re
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

plt = pytest.importorskip("matplotlib.pyplot")

ROOT = Path(__file__).resolve().parents[2] / "examples"
# The claims of each example, by functions of its name, are below.
EXAMPLES = {path.stem: path for path in sorted(ROOT.rglob("plot_*.py"))}


def two_moons(found: dict[str, Any]) -> None:
    titles = [axes.get_title(loc="left") for axes in found["figure"].axes]
    assert titles == ["Supervised SVM: 26.6% wrong", "LapSVC: 0.0% wrong"]


def text(found: dict[str, Any]) -> None:
    alone, halves, told = map(np.median, found["errors"].values())
    assert told < 10 < halves < alone
    assert max(found["errors"]["S3VC"]) > 50  # the swapped draw that the text speaks of


def images(found: dict[str, Any]) -> None:
    assert found["error"] < 0.1 < found["svm_error"]
    truth, edges, svm = found["truth"], found["model"].affinity_, found["svm"]
    assert len(found["paths"]) == 4
    for path in found["paths"]:
        steps = list(pairwise(path))
        assert len(steps) >= 4
        assert all(edges[a, b] > 0 for a, b in steps)  # neighbours in the graph
        assert found["y"][path[0]] == truth[path[-1]] != svm.predict(found["X"][path[-1:]])[0]


def embeddings(found: dict[str, Any]) -> None:
    alone, five, fifteen = found["errors"].mean(axis=-1)
    assert (fifteen < 0.8 * five).all()
    assert (fifteen < 0.8 * alone).all()


def spectra(found: dict[str, Any]) -> None:
    alone, together = map(np.mean, found["errors"].values())
    assert together < 0.4 * alone


def regression(found: dict[str, Any]) -> None:
    alone, together = map(np.median, found["errors"].values())
    assert together < 2 < 5 < alone
    assert found["error"] > 10  # the last one: of the normalised Laplacian


def imbalance(found: dict[str, Any]) -> None:
    wrong = {
        name: np.mean(found["missed"][name]) + np.mean(found["alarms"][name])
        for name in found["models"]
    }
    assert wrong["S3VC(balance=...)"] < 3 < wrong["SVM, labels alone"] < wrong["S3VC()"]
    assert wrong["LapSVC(class_prior=...)"] < wrong["LapSVC()"] / 3


def many_points(found: dict[str, Any]) -> None:
    assert len(found["X"]) == 68_480
    assert sum(map(len, found["strokes"])) == 25
    assert min(found["right"].values()) > 0.9


def compare(found: dict[str, Any]) -> None:
    chosen = {name: comparison.chosen.name for name, comparison in found["found"].items()}
    assert chosen["clusters"] == "S3VC()"
    assert chosen["sheets"] == "LapSVC()"
    assert found["found"]["neither"].error_interval[1] > 0.5
    missed = [round(row.left_out_error * row.n_left_out) for row in found["found"]["neither"].table]
    assert missed[:2] == [2, 2]


def calibration(found: dict[str, Any]) -> None:
    gaps = [found["kept"][n] - found["promised"][n] for n in (3, 10)]
    assert 0 < gaps[1] < gaps[0]
    assert found["sure_shares"][3, 0.9] < found["sure_shares"][10, 0.9]
    assert all(right >= asked for (_, asked), right in found["right_shares"].items())


def active_labelling(found: dict[str, Any]) -> None:
    suggested, drawn = (np.mean(lines, axis=0) for lines in found["curves"].values())
    assert suggested[0] == drawn[0]
    assert suggested[4] < 0.8 * drawn[4]
    assert suggested[-1] < 0.8 * drawn[-1]


def class_volumes(found: dict[str, Any]) -> None:
    means = {name: np.mean(errors) for name, errors in found["errors"].items()}
    assert max(means["volumes known"], means["volumes unknown"]) < 0.8 * means["LapSVC"]
    assert np.ptp(found["sizes"]["volumes known"]) <= 1
    assert found["models"]["volumes known"].edge_cut_ < 0.1


def own_graph(found: dict[str, Any]) -> None:
    plain, moved = map(np.mean, found["errors"].values())
    assert moved < 15 < 40 < plain


def own_loss(found: dict[str, Any]) -> None:
    squared, own = found["errors"].mean(axis=-1)
    assert abs(own[0] - squared[0]) < 0.5
    assert own[-1] < squared[-1] / 2


def own_kernel(found: dict[str, Any]) -> None:
    mean = {names: np.mean(wrong) for names, wrong in found["errors"].items()}
    assert mean["chi_squared", "labels alone"] < mean["rbf", "labels alone"]
    assert mean["rbf", "with the graph"] < mean["chi_squared", "labels alone"]


def pipelines(found: dict[str, Any]) -> None:
    assert found["errors"]["standardised features"] < found["errors"]["unscaled features"] / 3
    best = found["search"].best_index_
    assert found["real"].ravel()[best] > np.median(found["real"])


def callbacks(found: dict[str, Any]) -> None:
    assert found["stopped"].n_iter_ < found["whole"].n_iter_ / 3
    assert found["stopped"].status_ == "stopped by a callback"
    assert found["same"] > 0.99
    assert found["callback"].stages[-1] == "solve"


def saving(found: dict[str, Any]) -> None:
    assert found["difference"] == 0
    assert found["agree"] == 1
    assert found["onnx_difference"] < 1e-10


# Packages that an example requires, besides matplotlib.
NEEDS = {"plot_saving": ("skops", "onnx", "onnxruntime")}
# Of tens of thousands of points, or of many draws: more than a second.
LONG = {
    *("plot_active_labelling", "plot_callbacks", "plot_class_volumes", "plot_compare"),
    *("plot_embeddings", "plot_imbalance", "plot_many_points", "plot_own_graph"),
    *("plot_own_kernel", "plot_own_loss", "plot_pipelines", "plot_spectra", "plot_text"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in EXAMPLES]
)
def test_example_runs_and_its_claims_hold(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    monkeypatch.setattr("sys.argv", [name])
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("Agg")
    try:
        found = runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
        assert plt.get_fignums(), "an example shows a picture"
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip(), "an example prints what can be checked"
    globals()[name.removeprefix("plot_")](found)


def test_every_example_has_a_claim() -> None:
    assert {name.removeprefix("plot_") for name in EXAMPLES} <= {*globals()}


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=lambda path: path.stem)
def test_example_names_its_kind_of_data(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert re.search(r"\breal\b|\bsynthetic\b", text), "say what the data are"
