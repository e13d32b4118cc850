"""Evidence for candidates, the selection, and the verdict in words."""

from __future__ import annotations

import math
import pickle
import re
import warnings
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import beta
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import S3VC, FewLabelClassifier, LapERLSClassifier, LapESVC, LapRLSRegressor, LapSVC
from lapwing.classes.label_checks import look_like_quantities
from lapwing.datasets import mask_labels
from lapwing.estimators.prepared import SILENT, without
from lapwing.exceptions import FeatureScaleWarning, LapwingWarning
from lapwing.model_selection import (
    Candidate,
    Comparison,
    Evidence,
    compare,
    default_candidates,
    reproducibility,
)
from lapwing.model_selection.candidates import CLUSTERS, LABELS_ALONE, SHEETS
from lapwing.model_selection.comparison import (
    CompareSettings,
    ComparisonBasis,
    caveats,
    compared,
    in_order,
    message_of,
    verdict,
)
from lapwing.model_selection.evidence import (
    CONSTANTS,
    Effort,
    estimate_error,
    objection_to,
    try_out,
)
from lapwing.model_selection.trials import leave_out_rounds, start
from lapwing.models import load_model, save_model
from tests.helpers.callbacks import Record
from tests.helpers.data import labeled_clusters
from tests.helpers.low_density import ONE_DESCENT

SVM = Candidate("SVM", LapSVC(gamma_I=0), LABELS_ALONE)
GRAPH = Candidate("graph", LapSVC(), SHEETS)
GAP = Candidate("gap", S3VC(**ONE_DESCENT), CLUSTERS)
QUICK = {"n_draws": 2, "max_left_out": 4, "random_state": 0}


def moons(n: int = 120, n_labels: int = 2, seed: int = 0) -> tuple[Any, Any, Any]:
    X, truth = make_moons(n, noise=0.05, random_state=seed)
    return X, mask_labels(truth, n_labels, random_state=seed), truth


def clouds(n: int = 160, n_labels: int = 2, seed: int = 0) -> tuple[Any, Any, Any]:
    """Two normal clouds in 40 dimensions, where neighbours hardly know the classes."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 40))
    X[:, :16] += np.where(truth == 1, 0.4, -0.4)[:, None]
    return X, mask_labels(truth, n_labels, random_state=seed), truth


@pytest.fixture(scope="module")
def pair() -> Any:
    """The SVM and the graph method on moons: their comparison, and the classifier that chose."""
    X, y, truth = moons()
    found = compare(X, y, candidates=[SVM, GRAPH], **QUICK)
    model = FewLabelClassifier([SVM, GRAPH], **QUICK).fit(X, y)
    return SimpleNamespace(X=X, y=y, truth=truth, found=found, model=model)


def error_of(model: Any, y: Any, truth: Any) -> float:
    return float((model.transduction_ != truth)[y < 0].mean())


def row(name: str = "graph", assumption: str = SHEETS, **changes: Any) -> Evidence:
    """Made-up evidence."""
    made = Evidence(
        name=name,
        estimator=LapSVC(),
        assumption=assumption,
        error=0.1,
        error_interval=(0.05, 0.2),
        left_out_error=0.1,
        left_out_standard_error=0.07,
        n_left_out=20,
        reproducibility=0.1,
        reproducibility_standard_error=0.01,
        smallest_share=0.9,
        fitted=1.0,
        objection="",
        seconds=0.1,
    )
    return replace(made, **changes)


def alone(**changes: Any) -> Evidence:
    return row("SVM", LABELS_ALONE, **changes)


def setting(*counts: int, n_used: int = 100) -> ComparisonBasis:
    return ComparisonBasis(
        np.array(list("abcdefghij"))[: len(counts)], np.array(counts), 100, n_used
    )


# --- the evidence of one candidate ----------------------------------------------------------------


@pytest.mark.parametrize("estimator", [LapSVC(), LapERLSClassifier()], ids=["LapSVC", "LapERLS"])
def test_evidence_agrees_with_leave_one_out_and_reproducibility(estimator: Any) -> None:
    X, y, _ = labeled_clusters(3, n_labels=4)
    found = try_out(Candidate("one", estimator, SHEETS), X, y, None, Effort(3, 100, 7)).evidence
    left_out = leave_out_rounds(start(estimator, X, y), 12, 7)  # all labels
    repeated = reproducibility(estimator, X, y, 3, random_state=7)
    error = left_out.missed.mean()
    assert found.left_out_error == pytest.approx(error)
    assert found.left_out_standard_error == pytest.approx(np.sqrt(error * (1 - error) / 12))
    assert found.n_left_out == 12
    assert found.reproducibility == pytest.approx(repeated.of_class.mean())
    model = clone(estimator).fit(X, y)
    counts = np.bincount(model.transduction_, minlength=3)
    assert found.smallest_share == pytest.approx(counts.min() / (len(y) / 3))
    assert found.fitted == (model.transduction_ == y)[y >= 0].mean()


@pytest.mark.parametrize(("asked", "each"), [(0, 0), (3, 1), (7, 3), (100, 6)])
def test_as_many_labels_of_each_class_are_left_out(asked: int, each: int) -> None:
    X, y, _ = labeled_clusters(3, n_labels=6)
    for estimator in (LapESVC(), LapSVC()):  # whether a fit takes long or none is needed
        tried = try_out(Candidate("one", estimator, SHEETS), X, y, None, Effort(1, asked, 0))
        assert tried.n_left_out.tolist() == [each] * 3
        assert math.isnan(tried.evidence.left_out_error) == (each == 0)
        assert (tried.n_missed <= tried.n_left_out).all()


def test_all_candidates_leave_out_the_same_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slowest candidate limits the labels left out for all, as their errors are compared."""
    X, y, _ = moons(60, 4)
    rounds: list[list[int]] = []

    def noted(prepared: Any, left: Any) -> Any:
        rounds.append(left.tolist())
        return without(prepared, left)

    monkeypatch.setattr("lapwing.model_selection.trials.without", noted)
    efforts = {"gap": Effort(1, 4, 0)}
    asked = CompareSettings([SVM, GAP, GRAPH], Effort(1, 8, 0), 60, efforts=efforts)
    comparison, _ = compared(X, y, None, asked, SILENT)
    table = comparison.table
    assert [one.n_left_out for one in table] == [4, 4, 4]
    assert len(rounds) == 6
    assert rounds[:2] == rounds[2:4] == rounds[4:]


def test_costly_refits_make_fewer_draws() -> None:
    for asked, n_classes, made in ((5, 2, 5), (5, 4, 3), (5, 10, 2), (20, 4, 10), (1, 10, 1)):
        assert Effort(asked, 16, 0).of_refits(n_classes) == Effort(made, 16, 0)


def test_a_candidate_above_the_bar_is_not_reproduced() -> None:
    X, y, _ = clouds(n_labels=3)
    whole, _, n_missed, n_left_out, _ = try_out(GAP, X, y, None, Effort(2, 6, 0))
    low = estimate_error(0.0, n_missed, n_left_out).error
    same = try_out(GAP, X, y, None, Effort(2, 6, 0), bar=low).evidence
    assert (same.error, same.reproducibility) == (whole.error, whole.reproducibility)
    dropped = try_out(GAP, X, y, None, Effort(2, 6, 0), bar=low - 1e-6).evidence
    assert math.isnan(dropped.reproducibility)
    assert dropped.error == pytest.approx(low)
    assert dropped.error <= whole.error


def test_left_out_labels_of_s3vc_do_not_move_its_balance() -> None:
    """Two labels to one are a balance of 1/3, and one to one would be another."""
    X, y, _ = clouds(n_labels=2)
    y[np.flatnonzero(y == 1)[0]] = -1  # of the class that is left with one, none can be left out
    found = try_out(GAP, X, y, None, Effort(1, 10, 0)).evidence
    model = S3VC(balance={0: 2 / 3, 1: 1 / 3}, **ONE_DESCENT)
    missed = []
    for i in np.flatnonzero(y == 0):
        without = y.copy()
        without[i] = -1
        missed.append(clone(model).fit(X, without).transduction_[i] != y[i])
    assert found.n_left_out == 2
    assert found.left_out_error == np.mean(missed)


def test_weights_count_as_copies() -> None:
    X, y, _ = labeled_clusters(2, n_labels=3)
    i = np.flatnonzero(y >= 0)[0]
    weights = np.ones(len(y))
    weights[i] = 2.0
    one = try_out(SVM, X, y, weights, Effort(1, 9, 0)).evidence
    two = try_out(SVM, np.vstack([X, X[i]]), np.append(y, y[i]), None, Effort(1, 9, 0)).evidence
    assert one.fitted == two.fitted
    assert (one.left_out_error, one.n_left_out) == (two.left_out_error, two.n_left_out)
    assert one.smallest_share == pytest.approx(two.smallest_share)


# --- candidates that cannot be fitted -------------------------------------------------------------

BROKEN = Candidate("broken", LapSVC(gamma_A=-1), SHEETS)


def test_a_failed_candidate_is_reported_and_the_others_are_compared(pair: Any) -> None:
    with pytest.warns(FitFailedWarning, match=r"'broken' cannot be fitted, .* gamma_A=-1 must be"):
        found = compare(pair.X, pair.y, candidates=[SVM, BROKEN, GRAPH], **QUICK)
    plain = pair.found
    assert [r.name for r in found.table] == [r.name for r in plain.table]
    assert found.error == plain.error
    assert found.failed.keys() == {"broken"}
    assert found.failed["broken"].startswith("gamma_A=-1 must be")


def test_comparisons_are_printed_with_objections_and_failures_and_escaped_on_pages() -> None:
    table = row("<b>"), row("odd", objection="contradicts 30 %")
    found = Comparison(table, "Use <b>.", ("A note.",), 9, 9, 4, {"<i>": "is no number"})
    cells = ["10 % (5-20 %)", "2 of 20", "10 %", "0.90", "100 %", "0.1"]
    header, first, second, *texts = str(found).splitlines()
    assert re.split(" {2,}", first) == ["<b>", SHEETS, *cells]
    assert re.split(" {2,}", second) == ["odd", SHEETS, *cells[:3], "0.90 !", *cells[4:]]
    assert header.index("seconds") == first.index("0.1")
    excluded = ["", "Excluded:", "odd: contradicts 30 %."]
    end = ["", "Use <b>.", "A note."]
    assert texts == [*excluded, "", "Could not be fitted:", "<i>: is no number", *end]
    assert str(replace(found, failed={})).splitlines()[3:] == [*excluded, *end]
    page = found._repr_html_()
    for text in ("<td>&lt;b&gt;</td>", "<p>Use &lt;b&gt;.</p>", "<p>A note.</p>"):
        assert text in page
    assert "<p>Could not be fitted: &lt;i&gt;: is no number</p>" in page


@pytest.mark.parametrize("max_samples", [2000, 50])
def test_points_in_a_file_are_compared_as_those_in_memory(tmp_path: Path, max_samples: int) -> None:
    X, y, _ = moons()
    path = str(tmp_path / "X.npy")
    np.save(path, X)
    options = QUICK | {"max_samples": max_samples}
    found, same = (compare(points, y, candidates=[SVM, GRAPH], **options) for points in (path, X))
    assert [r.name for r in found.table] == [r.name for r in same.table]
    assert found.error == same.error
    model = FewLabelClassifier([SVM, GRAPH], **options).fit(path, y)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(path), model.predict(X))


def test_failures_are_reported_by_the_first_line_of_the_error() -> None:
    for error, text in (
        (ValueError("Input X contains NaN.\nAnd much advice."), "Input X contains NaN."),
        (ZeroDivisionError("nothing there"), "ZeroDivisionError: nothing there"),
        (ValueError(""), "ValueError: "),
    ):
        assert message_of(error) == text


def test_the_errors_of_all_candidates_are_named_unless_they_share_one() -> None:
    X, y, _ = moons()
    other = Candidate("other", LapSVC(gamma_I=-1), SHEETS)
    gap = np.where(np.arange(len(X)) == 3, np.nan, X.T).T
    for points, candidates, message in (
        (X, [BROKEN, other], r"No candidate .* 'broken': gamma_A=-1 .* 'other': gamma"),
        (X, [BROKEN], r"No candidate can be fitted\. 'broken': gamma_A=-1 must"),
        (gap, [SVM, GRAPH], "^Input X contains NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(points, y, candidates=candidates, **QUICK)


# --- rejected candidates --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "counts", "fitted", "said"),
    [
        ([0.5, 0.5], [3, 3], 1.0, ""),
        ([0.06, 0.94], [3, 3], 1.0, ""),  # just above 0.1 of a half
        ([0.04, 0.96], [3, 3], 1.0, "gives the class 'a' to 4.0 % of the rows"),
        ([0.04, 0.96], [2, 18], 1.0, ""),  # the labels say that the class is rare
        ([0.005, 0.995], [2, 18], 1.0, "gives the class 'a' to 0.5 %"),
        ([0.04, 0.96], [1, 4], 1.0, "gives the class 'a'"),  # five labels cannot say so
        ([0.14, 0.86], [1, 1], 1.0, "gives the class 'a' to 14.0 %"),  # no label can be left out
        ([0.16, 0.84], [1, 1], 1.0, ""),
        ([0.12, 0.78, 0.1], [1, 3, 3], 1.0, ""),
        ([0.09, 0.81, 0.1], [1, 3, 3], 1.0, "gives the class 'a'"),
        ([0.5, 0.5], [5, 5], 0.8, ""),
        ([0.5, 0.5], [5, 5], 0.7, "contradicts 30 % of the given labels"),
        ([0.36, 0.6, 0.04], [3, 3, 3], 1.0, ""),
        ([0.36, 0.61, 0.03], [3, 3, 3], 1.0, "gives the class 'c'"),
    ],
)
def test_objections(shares: Any, counts: Any, fitted: float, said: str) -> None:
    names = np.array(["a", "b", "c"])[: len(shares)]
    found = objection_to(np.array(shares), np.array(counts), fitted, names)
    assert found.startswith(said)
    assert bool(found) == bool(said)


def test_a_class_may_be_as_rare_as_its_given_proportion() -> None:
    shares, counts, names = np.array([0.02, 0.98]), np.array([3, 3]), np.array(["a", "b"])
    for sizes, objected in ((None, True), (shares, False), (np.array([0.3, 0.7]), True)):
        assert bool(objection_to(shares, counts, 1.0, names, sizes)) is objected


def test_a_class_may_be_as_rare_as_labels_or_given_sizes_say() -> None:
    """A label of 80 is less than 0.3 of a twentieth, and no surprise among twenty classes."""
    counts = np.array([1, *[4] * 17, 5, 6])
    truth = np.repeat(np.arange(20), 3 * counts)
    X = 20 * np.eye(20)[truth] + np.random.default_rng(0).normal(size=(len(truth), 20)) / 10
    y = np.full(len(truth), -1)
    for code, count in enumerate(counts):
        y[np.flatnonzero(truth == code)[:count]] = code

    def found(estimator: Any) -> Evidence:
        return try_out(Candidate("-", estimator, SHEETS), X, y, None, Effort(1, 0)).evidence

    refused = found(LapSVC())
    assert "gives the class 0 to 1.2 %" in refused.objection
    # That the answer is repeated from any labels says nothing of it, and no label was left out.
    assert refused.error == 0.5
    assert refused.error_interval == pytest.approx(beta(0.5, 0.5).interval(0.9))
    told = LapSVC(class_prior=counts)
    for estimator in (LapSVC(class_prior="labels"), told, make_pipeline(StandardScaler(), told)):
        assert found(estimator).objection == ""


def test_the_smallest_estimated_error_of_those_admitted_comes_first() -> None:
    lost = row("lost", error=0.01, objection="gives the class 'a' to 0.0 % of the rows")
    tie, steady = row("tie", error=0.2 + 1e-12), row("steady", error=0.2, reproducibility=0.05)
    found = in_order([lost, alone(error=0.3), tie, steady], 2)
    # of equals the first, whatever their estimates rest on
    assert [r.name for r in found] == ["tie", "steady", "SVM", "lost"]
    said = "steady has the same estimate as tie, which comes first among the candidates."
    assert said in caveats(found, setting(10, 10))
    assert not any("the same estimate" in each for each in caveats(found[1:], setting(10, 10)))


TWO = np.array([0.8, 0.2])  # sizes of two classes


def test_the_supervised_candidate_comes_first_near_guessing() -> None:
    wild = [row("graph", error=0.4), alone(error=0.45)]
    # Six labels miss four by chance too often to give up what uses the other rows.
    few, enough = ([replace(r, n_left_out=n) for r in wild] for n in (6, 10))
    told = [row("graph", error=0.27), alone(error=0.3)]
    contradicted = [wild[0], alone(error=0.45, objection="contradicts")]
    for table, n_classes, sizes, first in (
        (wild, 2, None, "SVM"),
        (wild, 10, None, "graph"),  # guessing would miss 90 %
        (few, 2, None, "graph"),
        (enough, 2, None, "SVM"),
        (contradicted, 2, None, "graph"),
        (told, 2, None, "graph"),
        (told, 2, TWO, "SVM"),  # guessing would miss 32 %
        ([replace(one, n_left_out=0) for one in told], 2, TWO, "graph"),
    ):
        assert in_order(table, n_classes, sizes)[0].name == first


# --- the estimate ---------------------------------------------------------------------------------


U, JEFFREYS = CONSTANTS.unseen, 1 / CONSTANTS.prior_labels
FEWER = {"sizes": np.array([0.6, 0.3, 0.1])}
FIVE_TO_FOUR = {"contradiction": 0.05, "sizes": TWO}  # guessing is wrong on 0.32 instead of 0.5


@pytest.mark.parametrize(
    ("changed", "missed", "left_out", "options", "mean", "weight", "counted"),
    [
        (0.1, [0, 0], [0, 0], {}, U + 0.1, 1, (0, 0)),
        (0.1, [0] * 32, [0] * 32, {}, U / 2 + 0.1, 1, (0, 0)),
        (0.1, [0, 0], [0, 0], {"contradiction": 0.2}, U + 0.3, 1, (0, 0)),
        (0.1, [0, 0], [5, 5], {}, U + 0.1, 1, (0, 10)),
        # Of 30 and 2 left-out labels 5 and 2 count, at the rates 0.3 and 0.5.
        (0.1, [9, 1], [30, 2], {}, U + 0.1, 1, (2.5, 4.5)),
        # Ten labels of each of two classes of 80:20 are 6.25 and 25 rows.
        (0.1, [1, 1], [10, 10], FIVE_TO_FOUR, 0.64 * (U + 0.15), 1 / 0.64, (2, 29.25)),
        # Every row has a label: Jeffreys' prior, of one label.
        (math.nan, [10, 10], [40, 40], {}, 0.5, JEFFREYS, (20, 60)),
        (math.nan, [8, 8], [40, 40], {"sizes": TWO}, 0.5, JEFFREYS, (16, 109)),
        # Rows that one class of two loses are gained by the other.
        (math.nan, [1, 0], [5, 0], {"sizes": TWO}, 0.5, JEFFREYS, (1, 5 * 0.625 - 1)),
        (math.nan, [5, 0], [5, 0], {"sizes": TWO}, 0.5, JEFFREYS, (5, 0)),  # more than can be
        (math.nan, [1, 2, 1], [12, 6, 2], FEWER, 0.5, JEFFREYS, (4, 16)),  # in proportion
    ],
)
def test_the_estimate_is_the_mean_of_a_beta_distribution(
    changed: float,
    missed: Any,
    left_out: Any,
    options: Any,
    mean: float,
    weight: float,
    counted: Any,
) -> None:
    found = estimate_error(changed, np.array(missed), np.array(left_out), **options)
    weight *= CONSTANTS.prior_labels
    a = weight * mean + CONSTANTS.of_a_label * counted[0]
    b = weight * (1 - mean) + CONSTANTS.of_a_label * counted[1]
    assert found.error == pytest.approx(a / (a + b))
    low, high = beta(a, b).interval(0.9)
    # An answer that misses none of some labels may be perfect.
    perfect = sum(left_out) > 0 and sum(missed) == 0
    np.testing.assert_allclose([found.low, found.high], [0 if perfect else low, high])


# --- words ----------------------------------------------------------------------------------------


SVM_3, HELP = alone(error=0.3), "The unlabelled rows help: "
TEN = setting(10, 10)
WITHIN = (
    "The unlabelled rows seem to help: neighbours have the same class. Use graph. The difference "
    "is within chance: 4 of 20 labels are missed when they are left out, {} by the labels alone. "
    "More labels would tell."
)


@pytest.mark.parametrize(
    ("table", "basis", "said"),
    [
        ([alone(), row(error=0.2)], TEN._replace(untried=("S3VC()",)),
            "No method compared does better than the labels alone; not compared: S3VC(). Use SVM."),
        ([row(), SVM_3], TEN, HELP + "neighbours have the same class. Use graph."),
        ([row("gap", CLUSTERS), SVM_3], TEN, HELP + "the classes look like clusters"),
        ([row(n_left_out=0), SVM_3], setting(1, 1), "The unlabelled rows seem to help"),
        *(
            ([row(left_out_error=0.2), alone(error=0.15, left_out_error=by_labels)], TEN,
                WITHIN.format(beside))
            for by_labels, beside in ((0.3, "6 of 20"), (0.2, "as"))
        ),
        ([row(), alone(error=0.11)], TEN, "The unlabelled rows make little difference"),
        ([alone(), row(error=0.2)], TEN, "The unlabelled rows do not help"),
        ([alone(error=0.45)], TEN, "Nothing here follows the classes: label more rows, or"),
        ([row(error=0.45, n_left_out=0)], setting(1, 1), "These labels are too few to say"),
        ([row(), alone(error=0.02, objection="gives the class 'b' to 2 %")], TEN,
            "Of these candidates graph is the best: neighbours have the same class."),
        ([row(objection="contradicts 30 %")], TEN, "No candidate keeps all classes"),
        ([row(reproducibility=math.nan)], setting(50, 50), "Every row has a label"),
        ([row("mine", "classes are topics")], TEN, "Of these candidates mine is the best"),
    ],
)  # fmt: skip
def test_verdicts(table: Any, basis: ComparisonBasis, said: str) -> None:
    assert verdict(table, basis).startswith(said)


@pytest.mark.parametrize(
    ("made", "asked", "said"),
    [
        (row(n_left_out=0), setting(1, 1), "An answer can be stable and wrong"),
        (row(), TEN, "comes from 20 labels that were left out"),
        (row(), setting(10, 1), "Classes with one label only: 'b'"),
        (row(), setting(9, 1, 1, 1, 1, 1, 1), "'b', 'c', 'd', 'e', 'f' and 1 more"),
        (row(left_out_error=0.4, reproducibility=0.02), TEN,
            "it may follow groups that are not your classes"),
        (row(contradiction=0.23), TEN,
            "contradict the answer on 23 % more of the rows than they would if it were right"),
        (row(), setting(10, 10, n_used=40), "The evidence is of 40 of the 100 rows"),
    ],
)  # fmt: skip
def test_caveats(made: Evidence, asked: ComparisonBasis, said: str) -> None:
    assert said in " ".join(caveats([made], asked))
    assert said not in " ".join(caveats([row()], setting(11, 11))) or asked.counts[0] == 10


def test_a_far_better_estimate_that_is_rejected_is_reported() -> None:
    """A class may be as rare as the rejected answer has it."""

    def said(*table: Evidence) -> str:
        return " ".join(caveats(table, setting(9, 9)))

    chosen, worse = row(error=0.3), row("worse", error=0.15, objection="-")
    rare = row("rare", error=0.12, objection="gives the class 'b' to 2.0 % of the rows")
    assert (
        "rare would be at 12 %, and is not chosen as it gives the class 'b' to 2.0 % of the rows. "
        "If that may be right, use it, or give the classes' sizes." in said(chosen, worse, rare)
    )
    near, unknown = replace(rare, error=0.25), replace(chosen, n_left_out=0)
    for table in ([chosen, near], [unknown, rare], [rare]):
        assert "would be at" not in said(*table)


# --- together -------------------------------------------------------------------------------------


def test_clusters_are_found_by_s3vc() -> None:
    X, y, truth = clouds(n_labels=3)
    found = compare(X, y, random_state=0)
    assert found.chosen.assumption == CLUSTERS
    assert isinstance(found.best, S3VC)
    assert found.verdict.startswith("The unlabelled rows seem to help: the classes look like clus")
    # The verdict gives the evidence of the six labels.
    assert "within chance: 1 of 6 labels are missed when they are left out, 2 of" in found.verdict
    best = error_of(found.best.fit(X, y), y, truth)
    assert best < error_of(LapSVC().fit(X, y), y, truth) - 0.1
    assert found.error_interval[0] <= best <= found.error_interval[1]


def test_noise_is_reported_and_the_supervised_candidate_chosen() -> None:
    X = np.random.default_rng(4).standard_normal((80, 6))
    y = mask_labels(np.arange(80) % 2, 12, random_state=4)
    found = compare(X, y, candidates=[SVM, GRAPH], random_state=1)
    assert found.verdict.startswith("Nothing here follows the classes")
    assert found.chosen.assumption == LABELS_ALONE
    assert found.error_interval[0] <= 0.5 <= found.error_interval[1]


def test_neither_names_of_classes_nor_the_order_of_candidates_matter(pair: Any) -> None:
    names = "b", "a"
    renamed = [names[label] if label >= 0 else None for label in pair.y]
    model, plain = FewLabelClassifier([GRAPH, SVM], **QUICK).fit(pair.X, renamed), pair.model
    assert [r.name for r in model.evidence_.table] == [r.name for r in plain.evidence_.table]
    assert model.error_ == plain.error_
    assert model.transduction_.tolist() == [names[label] for label in plain.transduction_]
    assert model.evidence_.chosen.name == plain.evidence_.chosen.name
    assert model.unlabeled_ == (None,)


def test_agreement_is_the_share_of_equal_answers(pair: Any) -> None:
    rows = {r.name: r for r in pair.found.table}
    by_graph, alone = (m.fit(pair.X, pair.y) for m in (LapSVC(), LapSVC(gamma_I=0)))
    same = by_graph.transduction_ == alone.transduction_
    assert rows["SVM"].agreement == {"graph": same.mean()}
    assert rows["graph"].agreement == {"SVM": same.mean()}


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_the_table_as_a_frame(library: str, kind: Any, pair: Any) -> None:
    found = pair.found
    frame = found.to_frame(library)
    with config_context(transform_output=library):
        assert type(found.to_frame()) is type(frame) is kind
    assert isinstance(found.to_frame(), pd.DataFrame)
    ends = {"error_low": [0], "error_high": [1]}
    left = {"estimator", "error_interval", "agreement"}
    assert set(frame.columns) == {part.name for part in fields(Evidence)} - left | ends.keys()
    for name in ("name", "error", "objection"):
        assert list(frame[name]) == [getattr(r, name) for r in found.table]
    for k, name in enumerate(ends):
        assert list(frame[name]) == [r.error_interval[k] for r in found.table]
    with pytest.raises(ValueError, match="library='numpy' must be one of 'pandas', 'polars'"):
        found.to_frame("numpy")


def test_a_warning_of_all_candidates_is_issued_once() -> None:
    X, y, _ = moons()
    options = {"candidates": [SVM, GRAPH], **QUICK}
    for run in (partial(compare, **options), FewLabelClassifier(**options).fit):
        with pytest.warns(FeatureScaleWarning) as told:
            run(X * [1.0, 1e7], y)
        assert len(told) == 1


NUMBERS = Candidate("numbers", LapRLSRegressor(), SHEETS)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        *(
            ({"candidates": given}, TypeError, "must be a list of Candidate, and has .* Give each")
            for given in ([LapSVC()], LapSVC(), SVM, "LapSVC")
        ),
        ({"candidates": []}, ValueError, "candidates is empty"),
        ({"candidates": [SVM, SVM]}, ValueError, "Two candidates are called 'SVM'"),
        ({"candidates": [SVM, NUMBERS]}, TypeError, "'numbers' is not a classifier"),
        ({"n_draws": 0}, ValueError, "n_draws=0 must be a whole number of at least 1"),
        ({"max_left_out": -1}, ValueError, "max_left_out=-1 must be a whole number of at least 0"),
        ({"max_samples": 1}, ValueError, "max_samples=1 must be a whole number of at least 2"),
        ({"n_draws": 1.5}, ValueError, r"n_draws=1\.5 must be a whole number"),
        ({"max_left_out": "a"}, ValueError, "max_left_out='a' must be a whole number"),
        ({"max_samples": np.nan}, ValueError, "max_samples=nan must be a whole number"),
        ({"random_state": -1}, ValueError, "random_state=-1 must be None, a whole number from 0"),
    ],
)
def test_wrong_options_are_refused(options: Any, error: type[Exception], message: str) -> None:
    X, y, _ = moons(40)
    with pytest.raises(error, match=message):
        compare(X, y, **options)
    with pytest.raises(error, match=message):
        FewLabelClassifier(**options).fit(X, y)


@pytest.mark.parametrize(
    "model", [LapSVC("precomputed", gamma_I=0), LapSVC(graph=np.ones((40, 40)))], ids=str
)
def test_matrices_of_all_rows_are_not_sampled(model: LapSVC) -> None:
    X, y, _ = moons(40)
    given = [Candidate("matrix", model, SHEETS)]
    K = X @ X.T if model.kernel == "precomputed" else X
    with pytest.raises(ValueError, match=r"a matrix of all 40 rows, .* Give max_samples=40\."):
        compare(K, y, candidates=given, max_samples=20)


@pytest.mark.parametrize("weights", [2.0, "a", [1.0, 2.0], ["a"] * 40])
def test_wrong_weights_are_refused(weights: Any) -> None:
    X, y, _ = moons(40)
    model = LapSVC().fit(X, y)
    for use in (compare, LapSVC().fit, FewLabelClassifier().fit, model.score):
        with pytest.raises(ValueError, match=r"sample_weight (has the shape|must be numbers)"):
            use(X, y, sample_weight=weights)


# --- the candidates -------------------------------------------------------------------------------


def test_candidates_suit_the_points() -> None:
    tall, wide = np.ones((50, 3)), sp.csr_array((50, 3))
    two = ["LapSVC(gamma_I=0)", "LapSVC()", "LapERLSClassifier()", "S3VC()"]
    assert [c.name for c in default_candidates(tall, n_classes=2)] == two
    volumes = "BalancedGraphClassifier()"  # tried for three classes and more
    for n_classes in (3, None):
        found = [c.name for c in default_candidates(tall, n_classes=n_classes)]
        assert found == [*two[:3], volumes, two[3]]
    kernels = {c.name: c.estimator.kernel for c in default_candidates(wide)}
    assert set(kernels.values()) == {"linear", "rbf"}
    assert any("LapSVC(kernel='linear')" in name for name in kernels)
    for dense in (tall, tall.T):  # more features than rows are no reason for linear functions
        assert {c.estimator.kernel for c in default_candidates(dense)} == {"rbf"}
    assert all(c.estimator.unlabeled == "?" for c in default_candidates(tall, "?"))


def test_many_points_have_no_matrix_of_all_pairs() -> None:
    found = default_candidates(np.ones((12_001, 2)))
    assert [c.assumption for c in found] == [LABELS_ALONE, SHEETS, SHEETS, CLUSTERS]
    assert not any(isinstance(c.estimator, LapSVC) for c in found)
    linear = default_candidates(sp.csr_array((12_001, 2)))
    alone, sheets = (c.estimator for c in linear if isinstance(c.estimator, LapSVC))
    assert alone.kernel == sheets.kernel == "linear"  # no matrix at all
    assert (alone.gamma_I, sheets.gamma_I) == (0, LapSVC().gamma_I)
    X, y, truth = clouds(80, 3)
    for candidate in found:
        model = clone(candidate.estimator)
        if model.space not in (None, "auto"):
            model.set_params(space__n_components=30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LapwingWarning)
            assert error_of(model.fit(X, y), y, truth) < 0.35


# --- the classifier -------------------------------------------------------------------------------


def test_the_classifier_predicts_as_the_chosen_estimator(pair: Any) -> None:
    X, evidence, model = pair.X, pair.found, pair.model
    direct = LapSVC().fit(X, pair.y)
    assert model.evidence_.chosen.name == evidence.chosen.name == "graph"
    assert (model.error_, model.error_interval_) == (evidence.error, evidence.error_interval)
    for method in ("decision_function", "predict_proba", "predict"):
        np.testing.assert_array_equal(getattr(model, method)(X), getattr(direct, method)(X))
    np.testing.assert_array_equal(model.transduction_, direct.transduction_)
    np.testing.assert_array_equal(model.transduction_proba_, direct.transduction_proba_)
    np.testing.assert_array_equal(model.labeled_, pair.y >= 0)
    assert model.score(X, pair.truth) == model.score(X, pair.y) == 1.0


def test_a_saved_model_keeps_its_evidence(tmp_path: Path) -> None:
    X, y, _ = moons()
    sizes = {0: 0.5, 1: 0.5}  # a parameter that is no number
    with pytest.warns(FitFailedWarning, match="'broken' cannot be fitted"):
        model = FewLabelClassifier([SVM, BROKEN, GRAPH], **QUICK).fit(X, y)
    model.set_params(class_prior=sizes)
    save_model(model, tmp_path / "model.lapwing")
    loaded = load_model(tmp_path / "model.lapwing").pipeline
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.transduction_, model.transduction_)
        assert str(again.evidence_) == str(model.evidence_)
        assert again.error_interval_ == model.error_interval_
        assert (again.evidence_.failed, again.class_prior) == (model.evidence_.failed, sizes)


def test_progress_is_reported_for_every_candidate(pair: Any) -> None:
    told = Record()
    FewLabelClassifier([GAP, SVM, GRAPH], **QUICK).set_callbacks(told).fit(pair.X, pair.y)
    stages = [name for name, _ in told.begun]
    assert stages[:4] == ["fit", "SVM", "graph", "gap"]  # the costly one last
    assert "fit graph" in stages


def test_a_pipeline_may_be_chosen() -> None:
    X, y, _ = moons()
    X = X * [1.0, 1e6]
    weights = np.where(y == 0, 2.0, 1.0)
    pipe = make_pipeline(StandardScaler(), LapSVC())
    model = FewLabelClassifier([Candidate("scaled", pipe, SHEETS)], **QUICK)
    model.fit(X, y, sample_weight=weights)
    direct = clone(pipe).fit(X, y, lapsvc__sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), direct.predict(X))
    np.testing.assert_array_equal(model.transduction_, direct[-1].transduction_)


def test_fully_labeled_data_has_no_reproducibility() -> None:
    X, _, truth = moons(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        model = FewLabelClassifier(**QUICK).fit(X, truth)
    assert math.isnan(model.evidence_.chosen.reproducibility)
    assert model.evidence_.verdict.startswith("Every row has a label")
    assert CLUSTERS not in {r.assumption for r in model.evidence_.table}


@pytest.mark.parametrize("first", [0.0, -1.0])  # -1 may be a number beside NaN
def test_quantities_are_refused_as_classes(first: float) -> None:
    """A comparison would fit each of forty classes, for minutes and to no use."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((90, 3)), np.full(90, np.nan)
    y[:40] = [first, *rng.permutation(np.arange(1, 300))[:39]]
    message = r"y contains 40 different whole numbers in 40 labels.*such as FewLabelRegressor"
    for run in (compare, FewLabelClassifier().fit):
        with pytest.raises(ValueError, match=message):
            run(X, y)


@pytest.mark.parametrize(
    ("numbers", "n_labeled", "quantities"),
    [
        (range(9), 9, False),  # few: grades
        (range(1, 41), 40, False),  # codes of many classes
        (range(0, 400, 10), 40, True),
        (range(0, 400, 10), 200, False),  # five rows of each
        (range(500, 531), 100, True),  # many, and no codes from 0 or 1 on
        (range(500, 530), 100, False),
    ],
)
def test_quantities_differ_from_codes(numbers: range, n_labeled: int, quantities: bool) -> None:
    assert look_like_quantities(list(numbers), n_labeled) is quantities
