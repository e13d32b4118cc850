"""Sizes of the classes in a comparison: who is told them, and what follows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lapwing import FewLabelClassifier, LapSVC
from lapwing.classes.labels import code_classes
from lapwing.datasets import mask_labels
from lapwing.model_selection import Candidate, compare, default_candidates
from lapwing.model_selection.candidates import LABELS_ALONE, SHEETS, with_sizes
from lapwing.model_selection.evidence import Effort, try_out
from tests.helpers.data import around_corners

QUICK = {"n_draws": 2, "max_left_out": 4, "random_state": 0}


def unequal(
    sizes: Any = (90, 24, 6), n_labels: int = 3, seed: int = 0, distance: float = 3.0
) -> tuple[Any, Any, Any]:
    """Clusters of unequal sizes, as many labels of each."""
    truth = np.repeat(np.arange(len(sizes)), sizes)
    X = around_corners(truth, np.random.default_rng(seed), distance=distance)
    return X, mask_labels(truth, n_labels, random_state=seed), truth


def told(
    class_prior: Any, *, n_rows: int = 50, n_classes: int = 3, labels: Any = None
) -> dict[str, Any]:
    """The default candidates by their names."""
    y = [0, 0, *range(1, n_classes), -1] if labels is None else labels
    found = default_candidates(np.ones((n_rows, 2)), n_classes=n_classes)
    return {c.name: c.estimator for c in with_sizes(found, class_prior, code_classes(y))}


# --- who is told ----------------------------------------------------------------------------------


def test_each_default_candidate_is_told_in_its_own_words() -> None:
    prior = [3, 1, 1]
    found = told(prior)
    assert list(found) == [
        "LapSVC(gamma_I=0, class_prior=...)",
        "LapSVC(class_prior=...)",
        "LapERLSClassifier(class_prior=...)",
        "BalancedGraphClassifier(class_prior=...)",
        "S3VC(balance=...)",
    ]
    *others, gap = found.values()
    assert all(one.class_prior == prior for one in others)
    assert gap.balance == pytest.approx({0: 0.6, 1: 0.2, 2: 0.2})
    labels = told("labels")
    assert labels["LapERLSClassifier(class_prior='labels')"].class_prior == "labels"
    assert labels["S3VC(balance='labels')"].balance == "labels"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [50, 12_001])
def test_no_default_candidate_that_holds_sizes_is_forgotten(n_rows: int, n_classes: int) -> None:
    """A recipe that is added is told as well, or says here that it can hold none."""
    found = told("uniform", n_rows=n_rows, n_classes=n_classes)
    for one in found.values():
        sized = getattr(one, "class_prior", None) == "uniform" or bool(getattr(one, "balance", 0))
        assert sized or one.C_star == 0  # the supervised SVM of many rows


@pytest.mark.parametrize("nothing", [None, "unknown"])
def test_what_is_not_known_changes_no_candidate(nothing: Any) -> None:
    plain = default_candidates(np.ones((50, 2)), n_classes=3)
    assert list(told(nothing)) == [c.name for c in plain]
    assert [repr(e) for e in told(nothing).values()] == [repr(c.estimator) for c in plain]


def test_the_defaults_of_others_are_not_touched() -> None:
    plain = default_candidates(np.ones((50, 2)), n_classes=3)
    before = [repr(c.estimator) for c in plain]
    with_sizes(plain, [1, 2, 3], code_classes([0, 1, 2, -1]))
    assert [repr(c.estimator) for c in plain] == before


def test_names_of_classes_are_the_keys_of_the_balance() -> None:
    y = np.array(["ash", "beech", ""])
    for prior in ({"beech": 1, "ash": 3}, pd.Series({"beech": 25, "ash": 75}), [0.75, 0.25]):
        gap = told(prior, n_classes=2, labels=y)["S3VC(balance=...)"]
        assert gap.balance == {"ash": 0.75, "beech": 0.25}


# --- what is fitted -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kept", ["LapSVC(class_prior=...)", "BalancedGraphClassifier(class_prior=...)"]
)
def test_the_chosen_one_shows_and_meets_the_prior(
    monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    X, y, truth = unequal()
    one = next(c for c in default_candidates(X) if c.name == kept.replace("class_prior=...", ""))
    monkeypatch.setattr("lapwing.model_selection.comparison.default_candidates", lambda *_: (one,))
    sizes = np.bincount(truth)
    model = FewLabelClassifier(class_prior=sizes, **QUICK).fit(X, y)
    assert model.evidence_.chosen.name == kept
    assert model.best_estimator_.class_prior is not sizes  # a clone has its own
    np.testing.assert_array_equal(model.best_estimator_.class_prior, sizes)
    np.testing.assert_allclose(model.best_estimator_.class_prior_, sizes / sizes.sum())
    assert np.abs(np.bincount(model.transduction_) - sizes).max() <= 1


def test_compare_tells_the_same() -> None:
    X, y, _ = unequal((45, 12), n_labels=2)
    found = compare(X, y, class_prior={0: 45, 1: 12}, **QUICK)
    model = FewLabelClassifier(class_prior={0: 45, 1: 12}, **QUICK).fit(X, y)
    assert [r.name for r in found.table] == [r.name for r in model.evidence_.table]
    assert found.error == model.error_
    assert f"Use {found.chosen.name}." in str(found)
    assert any(r.name == "S3VC(balance=...)" for r in found.table)


def test_a_class_may_be_as_rare_as_the_labels_if_they_are_taken_for_the_sizes() -> None:
    """A label of 80 is less than 0.3 of a twentieth, and no surprise among twenty classes."""
    counts = np.array([1, *[4] * 17, 5, 6])
    truth = np.repeat(np.arange(20), 3 * counts)
    X = 20 * np.eye(20)[truth] + np.random.default_rng(0).normal(size=(len(truth), 20)) / 10
    y = np.full(len(truth), -1)
    for code, count in enumerate(counts):
        y[np.flatnonzero(truth == code)[:count]] = code
    found = {}
    for prior in (None, "labels"):
        candidate = Candidate("-", LapSVC(class_prior=prior), SHEETS)
        found[prior] = try_out(candidate, X, y, None, Effort(1, 0, 0)).evidence.objection
    assert "gives the class 0 to 1.2 %" in found[None]
    assert found["labels"] == ""


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("class_prior", "message"),
    [
        (3, "class_prior=3 must be 'labels', 'uniform', 'unknown', None, a dict or an array"),
        ("labls", "class_prior='labls' must be 'labels', 'uniform'"),
        ({0: 1, 1: 1}, "has no proportion for [2]. Give every class a prop"),
        ({0: 1, 1: 1, 2: 1, "b": 1}, "names ['b'], which are not classes."),
        ([1, 2], "its shape is (2,), but there are 3 classes"),
        ([1, -2, 3], "it holds -2 for the class 1"),
        ([0, 0, 0], "it is 0 for every class"),
        ([1, 1, 0], "class_prior is 0 for the class 2, which has labels (3)"),
        ([1, np.nan, 3], "it holds NaN or infinite entries"),
        (["a", "b", "c"], "is not an array of numbers"),
    ],
)
def test_no_prior_of_these_classes_is_refused_as_by_an_estimator(
    class_prior: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = unequal()
    with pytest.raises(ValueError, match=re.escape(message)) as known:
        LapSVC(class_prior=class_prior).fit(X, y)

    def no_fit(*_: Any) -> None:
        raise AssertionError("something was fitted")

    monkeypatch.setattr("lapwing.model_selection.comparison._try_all", no_fit)
    for refused in (
        lambda: FewLabelClassifier(class_prior=class_prior).fit(X, y),
        lambda: compare(X, y, class_prior=class_prior),
    ):
        with pytest.raises(ValueError, match=re.escape(message)) as said:
            refused()
        assert str(said.value) == str(known.value)


def test_candidates_of_ones_own_keep_their_sizes() -> None:
    X, y, _ = unequal()
    own = [Candidate("own", LapSVC(gamma_I=0), LABELS_ALONE)]
    message = r"candidates are given, which keep their own\. Set class_prior \(of S3VC: balance\)"
    with pytest.raises(ValueError, match=message):
        FewLabelClassifier(own, class_prior="uniform").fit(X, y)
    with pytest.raises(ValueError, match=message):
        compare(X, y, candidates=own, class_prior=[90, 24, 6])
    model = FewLabelClassifier(own, class_prior="unknown", **QUICK).fit(X, y)
    assert model.best_estimator_.class_prior is None


# --- as scikit-learn and model files have it ------------------------------------------------------
