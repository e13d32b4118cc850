"""Class proportions in a comparison."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lapwing import S3VC, BalancedGraphClassifier, FewLabelClassifier, LapERLSClassifier, LapSVC
from lapwing.classes.labels import code_classes
from lapwing.datasets import mask_labels
from lapwing.model_selection import Candidate, compare, default_candidates, leave_one_out
from lapwing.model_selection.candidates import (
    LABELS_ALONE,
    SHEETS,
    agreed_sizes,
    given_sizes,
    guessing_error,
    rows_per_label,
    with_sizes,
)
from tests.helpers.data import around_corners

QUICK = {"n_draws": 2, "max_left_out": 4, "random_state": 0}
NAMES = np.array(["a", "b"])
CODES = np.array([0, 0, 0, 1, -1])


def unequal(
    sizes: Any = (90, 24, 6), n_labels: int = 3, distance: float = 3.0
) -> tuple[Any, Any, Any]:
    """Clusters of unequal sizes, as many labels of each."""
    truth = np.repeat(np.arange(len(sizes)), sizes)
    X = around_corners(truth, np.random.default_rng(0), distance=distance)
    return X, mask_labels(truth, n_labels, random_state=0), truth


def default_estimators(
    class_prior: Any, *, n_rows: int = 50, n_classes: int = 3, labels: Any = None
) -> dict[str, Any]:
    """The default candidates by their names."""
    y = [0, 0, *range(1, n_classes), -1] if labels is None else labels
    found = default_candidates(np.ones((n_rows, 2)), n_classes=n_classes)
    return {c.name: c.estimator for c in with_sizes(found, class_prior, code_classes(y))}


# --- candidates -----------------------------------------------------------------------------------


def test_default_candidates_get_class_sizes_by_their_own_parameter() -> None:
    prior = [3, 1, 1]
    found = default_estimators(prior)
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
    labels = default_estimators("labels")
    assert labels["LapERLSClassifier(class_prior='labels')"].class_prior == "labels"
    assert labels["S3VC(balance='labels')"].balance == "labels"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [50, 12_001])
def test_every_default_candidate_with_class_sizes_gets_them(n_rows: int, n_classes: int) -> None:
    """New recipes must accept sizes or be listed here."""
    found = default_estimators("uniform", n_rows=n_rows, n_classes=n_classes)
    for one in found.values():
        sized = getattr(one, "class_prior", None) == "uniform" or bool(getattr(one, "balance", 0))
        assert sized or one.C_star == 0  # the supervised SVM of many rows


def test_given_candidates_are_not_changed() -> None:
    plain, labels = default_candidates(np.ones((50, 2)), n_classes=3), code_classes([0, 1, 2, -1])
    before = [repr(c) for c in plain]
    for prior in (None, "unknown"):
        assert [repr(c) for c in with_sizes(plain, prior, labels)] == before
    assert with_sizes(plain, [1, 2, 3], labels)[0].estimator.class_prior == [1, 2, 3]
    assert [repr(c) for c in plain] == before


def test_balance_is_by_the_names_of_the_classes() -> None:
    y = np.array(["ash", "beech", ""])
    for prior in ({"beech": 1, "ash": 3}, pd.Series({"beech": 25, "ash": 75}), [0.75, 0.25]):
        gap = default_estimators(prior, n_classes=2, labels=y)["S3VC(balance=...)"]
        assert gap.balance == {"ash": 0.75, "beech": 0.25}


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["LapSVC", "BalancedGraphClassifier"])
def test_the_chosen_estimator_meets_the_prior(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    X, y, truth = unequal()
    one = [c for c in default_candidates(X) if c.name == f"{name}()"]
    monkeypatch.setattr(
        "lapwing.model_selection.comparison.default_candidates", lambda *_, **__: one
    )
    sizes = np.bincount(truth)
    model = FewLabelClassifier(class_prior=sizes, **QUICK).fit(X, y)
    assert model.evidence_.chosen.name == f"{name}(class_prior=...)"
    assert model.best_estimator_.class_prior is not sizes  # a clone has its own
    np.testing.assert_array_equal(model.best_estimator_.class_prior, sizes)
    np.testing.assert_allclose(model.best_estimator_.class_prior_, sizes / sizes.sum())
    assert np.abs(np.bincount(model.transduction_) - sizes).max() <= 1


def test_class_prior_is_set_in_the_default_candidates() -> None:
    X, y, _ = unequal((48, 12), n_labels=2, distance=1.5)
    sizes = {0: 4, 1: 1}
    found = FewLabelClassifier(class_prior=sizes, **QUICK).fit(X, y).evidence_
    told = with_sizes(default_candidates(X, n_classes=2), sizes, code_classes(y))
    again = compare(X, y, candidates=told, **QUICK)
    one, other = (each.to_frame().drop(columns="seconds") for each in (found, again))
    pd.testing.assert_frame_equal(one, other)
    assert "S3VC(balance=...)" in {row.name for row in found.table}
    assert f"Use {found.chosen.name}." in str(found)


# --- errors ---------------------------------------------------------------------------------------


def test_invalid_priors_are_refused_before_any_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = unequal()
    prior = {0: 1, 1: 1}
    with pytest.raises(ValueError, match=r"has no proportion for \[2\]") as known:
        LapSVC(class_prior=prior).fit(X, y)
    monkeypatch.setattr("lapwing.model_selection.comparison._try_all", None)
    for fit in (FewLabelClassifier(class_prior=prior).fit, partial(compare, class_prior=prior)):
        with pytest.raises(ValueError, match=re.escape(str(known.value))):
            fit(X, y)


def test_a_prior_beside_given_candidates_is_refused() -> None:
    X, y, _ = unequal()
    own = [Candidate("own", LapSVC(gamma_I=0), LABELS_ALONE)]
    message = r"candidates are given, which keep their own\. Set class_prior \(of S3VC: balance\)"
    with pytest.raises(ValueError, match=message):
        FewLabelClassifier(own, class_prior="uniform").fit(X, y)
    with pytest.raises(ValueError, match=message):
        compare(X, y, candidates=own, class_prior=[90, 24, 6])
    model = FewLabelClassifier(own, class_prior="unknown", **QUICK).fit(X, y)
    assert model.best_estimator_.class_prior is None


# --- labels and rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[0.8, 0.2], [0.5, 0.3, 0.2], [0.97, 0.02, 0.01]])
def test_rows_per_label_are_the_ratio_of_error_rates(sizes: list[float]) -> None:
    """Guessing by the sizes misses 1 - p of the labels of a class of proportion p."""
    parts = np.array(sizes)
    wrong = 1 - parts
    assert guessing_error(len(parts), parts) == pytest.approx(parts @ wrong)
    np.testing.assert_allclose(rows_per_label(len(parts), parts), wrong / (parts @ wrong))
    assert (100 * parts) @ rows_per_label(len(parts), parts) == pytest.approx(100)
    assert guessing_error(4) == guessing_error(4, np.full(4, 0.25)) == 0.75


# --- known proportions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "known"),
    [
        (LapSVC(class_prior={"b": 1, "a": 4}), [0.8, 0.2]),
        (LapERLSClassifier(class_prior=[0.8, 0.2]), [0.8, 0.2]),
        (BalancedGraphClassifier(class_prior=np.array([80, 20])), [0.8, 0.2]),
        (S3VC(balance={"a": 0.8, "b": 0.2}), [0.8, 0.2]),
        # Sizes estimated from the labels do not count as known.
        (LapSVC(), None),
        (LapSVC(class_prior="unknown"), None),
        (LapSVC(class_prior="labels"), None),
        (S3VC(), None),
        (S3VC(balance=None), None),
        (S3VC(balance=(0.1, 0.4)), None),
    ],
)
def test_given_sizes_of_an_estimator(estimator: Any, known: Any) -> None:
    assert given_sizes(estimator, CODES, NAMES) == (None if known is None else pytest.approx(known))


def test_agreed_sizes_of_candidates() -> None:
    def agreed(*estimators: Any) -> Any:
        candidates = [Candidate(str(k), one, SHEETS) for k, one in enumerate(estimators)]
        return agreed_sizes(candidates, CODES, NAMES)

    told, same = LapSVC(class_prior=[4, 1]), S3VC(balance={"a": 0.8, "b": 0.2})
    np.testing.assert_allclose(agreed(LapSVC(), told, same), [0.8, 0.2])
    assert agreed(LapSVC(), LapSVC(class_prior="labels")) is None
    assert agreed(told, LapSVC(class_prior="uniform")) is None
    np.testing.assert_allclose(agreed(told, LapSVC(class_prior=[1, 2, 3])), [0.8, 0.2])


# --- one estimator --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "n_rows"),
    [
        (LapSVC(class_prior={0: 4, 1: 1}), (6 * 0.2 + 3 * 0.8) / 0.32),
        (S3VC(balance={0: 0.8, 1: 0.2}), (6 * 0.2 + 3 * 0.8) / 0.32),
        *((LapSVC(class_prior=prior), 9) for prior in (None, "unknown", "labels", "uniform")),
    ],
)
def test_leave_one_out_estimates_the_error_rate_of_rows(estimator: Any, n_rows: float) -> None:
    """Given sizes make labels of the small class stand for more rows; counted ones do not."""
    X, y, _ = unequal((160, 40), n_labels=6, distance=1.5)
    y[np.flatnonzero(y == 1)[3:]] = -1
    found = leave_one_out(estimator, X, y)
    n_missed = (found.predicted != found.labels)[found.left_out].sum()
    assert n_missed > 0
    assert found.error == pytest.approx(n_missed / n_rows)
    variance = found.error * (1 - found.error) / n_rows
    assert found.standard_error == pytest.approx(np.sqrt(variance))
