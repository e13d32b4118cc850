"""Every method of the command line, from a table to a report and back to new rows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lapwing._app import fitting, reading
from lapwing._app.forecast import FitSize
from lapwing._app.methods import COMMAND_METHODS
from lapwing._app.requests import FitRequest
from lapwing.models import load_model
from tests.helpers.commandline import done, found, run

FIT = "--label kind --id flower --truth truth"
REFINED = ("lapsvc", "laprls", "laperls", "lapesvc")
# Small grids.
GRIDS = dict.fromkeys(("lapsvc-cv", "laprls-cv", "laprls-regressor-cv"), "--set gammas=1")
GRIDS |= {"laperls-cv": "--set mus=1000 --set lams=100"}


@pytest.mark.parametrize("method", COMMAND_METHODS)
def test_every_method_fits_predicts_and_reports(flowers: pl.DataFrame, method: str) -> None:
    chosen = COMMAND_METHODS[method]
    if chosen.regression:
        known = pl.int_range(pl.len()) % 3 == 0
        numbers = {"kind": pl.when(known).then("pl"), "truth": pl.col("pl")}
        flowers = flowers.with_columns(**numbers).drop("pl")
    flowers.write_csv("t.csv")
    names = {"model": "m.lapwing", "predictions": "p.csv", "report": "r.html", "next": "n.csv"}
    names |= {} if chosen.no_onnx else {"onnx": "m.onnx"}
    places = " ".join(f"--{what} {name}" for what, name in names.items())
    grid = GRIDS.get(method, "")
    answer = run(f"fit t.csv {FIT} {places} --method {method} {grid} --json")
    # Methods that choose a graph may warn about components without labels.
    assert answer.err == "" or "-cv" in method
    told = found(answer)
    assert (told["method"], set(told["written"])) == (method, set(names))
    known = pl.col("kind").is_not_null()
    n_columns = 1 if chosen.regression else 3
    size = FitSize(60, 7, n_columns, flowers.filter(known).height)
    assert told["solver"] == chosen.forecast(size).solver
    blank = flowers.filter(~known)["flower"]
    asked = pl.read_csv("n.csv")["flower"]
    assert asked.n_unique() == 10
    assert asked.is_in(blank.to_list()).all()
    assert told["error"].get("share_wrong", 0) < 0.25
    assert told["error"].get("root_mean_square", 0) < 0.8  # the standard deviation is 1.8

    page = Path("r.html").read_text(encoding="utf-8")
    assert f"{chosen.class_name} on" in page
    assert ("supervised twin" in page.lower()) == (chosen.twin is not None)
    new = pl.read_csv(io.StringIO(done(run("predict m.lapwing t.csv --id flower"))))
    own = pl.read_csv("p.csv")
    if chosen.virtual:
        model = load_model("m.lapwing").pipeline[-1]
        assert own["label"].to_list() == model.transduction_.tolist()
        scores = own.select("label" if chosen.regression else pl.col("^score_.*$")).to_numpy()
        np.testing.assert_array_equal(scores, model.virtual_labels_)
    if not chosen.regression:
        # Virtual labels may differ from the function for new rows; nothing else does.
        assert (new["label"] == own["label"]).mean() >= (0.85 if chosen.virtual else 1.0)
        return
    assert float(((new["label"] - own["label"]) ** 2).mean()) < 0.3
    # Intervals belong to the function, not to virtual labels.
    residuals = getattr(load_model("m.lapwing").pipeline[-1], "left_out_residuals_", None)
    assert residuals is not None or not method.startswith("laprls")
    ends = [] if residuals is None or chosen.virtual else ["low", "high"]
    assert [name for name in own.columns if name in ("low", "high")] == ends
    if ends:
        low, high = own.select(ends).to_numpy().T
        truth = flowers["truth"].to_numpy()
        assert np.mean((low <= truth) & (truth <= high)) > 0.7
        assert np.median(high - low) < 2.5
        assert np.ptp(high - low) > 0  # of each row by its own left-out values
        np.testing.assert_allclose(new.select(ends), own.select(ends), atol=1e-6)


def fitted(path: Path | str, **options: Any) -> fitting.Outcome:
    """A fit as the command makes it, with its twin."""
    options = {"label": "kind", "id": "flower", "report": Path("r.html")} | options
    request = FitRequest(data=(Path(path),), **options)
    return fitting.fit(reading.read(request), request)


@pytest.mark.parametrize(
    ("method", "settings", "term"),
    [
        ("s3vc", ("C=5", "gamma_I=0.1"), {"C_star": 0.0, "gamma_I": 0.0, "balance": None, "C": 5}),
        ("laperls", ("graph.n_neighbors=15",), {"mu": 0.0}),
        # A refinement walks on the graph, which the twin does without.
        *((name, ("refine=cut",), {"refine": None}) for name in REFINED),
    ],
)
def test_the_twin_ignores_unlabeled_rows(
    home: Path, method: str, settings: tuple[str, ...], term: dict[str, Any]
) -> None:
    outcome = fitted(home / "t.csv", method=method, settings=settings)
    assert outcome.twin is not None
    model, table = outcome.twin.estimator, outcome.table
    assert {name: getattr(model, name) for name in term} == term
    assert model.kernel_.gamma == outcome.estimator.kernel_.gamma
    # The same from points moved about where there is no label.
    moved = outcome.points.copy()
    moved[~table.labeled] += 5.0
    twin = fitting.fit_twin(outcome.estimator, COMMAND_METHODS[method], moved, table)
    assert twin is not None
    np.testing.assert_array_equal(twin.answers[table.labeled], outcome.twin.answers[table.labeled])
    scores = (one.decision_function(outcome.points) for one in (twin.estimator, model))
    np.testing.assert_allclose(*scores, rtol=1e-6, atol=1e-7)


def test_equal_rows_share_a_vertex() -> None:
    rows = "0,0,a\n1,0,\n2,1,\n3,2,\n4,5,b\n5,5,\n6,6,\n7,7,\n"
    Path("t.csv").write_text(f"flower,x,kind\n{rows}")
    outcome = fitted("t.csv")
    assert outcome.vertex.tolist() == [0, 0, 1, 2, 3, 3, 4, 5]
    assert outcome.estimator.affinity_.shape == (6, 6)


# --- low-density separation -----------------------------------------------------------------------


@pytest.mark.usefixtures("home")
def test_output_notes_that_margins_of_s3vc_do_not_measure_certainty() -> None:
    note = COMMAND_METHODS["s3vc"].margin_note
    fit = f"fit home/t.csv {FIT} --method s3vc --set C=5"
    said = done(run(f"{fit} --model m --report r.html"))
    assert note in said
    # Nothing is left out.
    assert "No answer is sure: all 45 rows without a label are to check." in said
    assert "Nothing here says how often this method is right" in said
    told = found(run(f"{fit} --json"))
    assert (told["sure"], told["trust"]["threshold"]) == (0, None)
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.count(note) == 2  # at the figures, and a finding
    assert "The unlabelled rows were used through their density (C* = " in page
    assert "no balance" in page
    assert note in done(run("predict m home/t.csv --predictions p.csv"))


# --- sizes of the classes -------------------------------------------------------------------------


def test_all_rows_of_a_class_may_be_labelled() -> None:
    truth = np.repeat([0, 1, 2], [30, 30, 2])
    X = np.random.default_rng(0).normal(size=(62, 2)) + 9 * np.eye(3, 2)[truth]
    labels = np.where((np.arange(62) % 15 == 0) | (truth == 2), np.array(list("abc"))[truth], "")
    pl.DataFrame(X, schema=["u", "v"]).with_columns(kind=pl.Series(labels)).write_csv("t.csv")
    fit = "fit t.csv --label kind --method balanced --set class_prior=a:30,b:30,c"
    assert "No unlabelled row was given" not in done(run(f"{fit}:2"))
    assert run(f"{fit}:0.1").code == 2
