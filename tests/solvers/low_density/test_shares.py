"""Shares of labels that the unlabelled points contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing.losses import GaussianBump, Hinge
from lapwing.objectives import low_density
from lapwing.objectives.low_density import CenteredFeatures, LowDensityObjective
from lapwing.solvers.low_density import shares
from lapwing.solvers.low_density.shares import contradiction
from lapwing.spaces.linear import LinearSpace


def column(
    positive: float, n_labels: tuple[int, int] = (10, 10), seed: int = 0, distance: float = 3.0
) -> LowDensityObjective:
    """Two clusters with a share of the positive one among 200 unlabelled points."""
    rng = np.random.default_rng(seed)
    unlabeled = np.where(np.arange(200) < 200 * positive, 1.0, -1.0)
    labels = np.repeat([-1.0, 1.0], n_labels)
    signs = np.concatenate([labels, unlabeled])
    X = rng.standard_normal((len(signs), 3)) + np.outer(signs, [distance / 2, 0, 0])
    l, rows = len(labels), np.arange(len(signs))
    features = CenteredFeatures.on(LinearSpace(X), np.where(rows < l, 0.0, 1 / 200))
    known = rows[:l], labels, np.full(l, 5.0)
    others = rows[l:], np.full(200, 0.1)
    return LowDensityObjective(features, Hinge(), GaussianBump(), *known, *others)


def found(objective: LowDensityObjective, **options: Any) -> Any:
    return contradiction(objective, np.ones(len(objective.unlabeled)), **options)


@pytest.mark.parametrize("positive", [0.1, 0.2, 0.8, 0.9])
def test_uneven_shares_are_found_and_estimated(positive: float) -> None:
    for seed in range(5):
        result = found(column(positive, (20, 20), seed))
        assert result.labels == 0.5
        assert abs(result.unlabeled - positive) < 0.15


@pytest.mark.parametrize(("positive", "n_labels"), [(0.5, (10, 10)), (0.2, (16, 4))])
def test_true_proportions_are_seldom_rejected(positive: float, n_labels: tuple[int, int]) -> None:
    """The test has a level of 1 %, and is not sure with few labels of a class."""
    results = [found(column(positive, n_labels, seed)) for seed in range(200)]
    assert sum(result is not None and result.sure for result in results) <= 6
    assert sum(result is not None for result in results) <= 12


def test_few_labels_give_unsure_contradictions() -> None:
    """Nine of a class, nearly all unlabelled points of the other one."""
    results = [found(column(0.02, (6, 6), seed)) for seed in range(20)]
    suspected = [result for result in results if result is not None]
    assert len(suspected) >= 10
    assert not any(result.sure for result in suspected)
    assert all(result.unlabeled < 0.4 for result in suspected)
    assert found(column(0.02, (6, 6)), n_tests=2) is None
    assert found(column(0.02, (3, 3))) is None


def test_too_little_information_gives_no_contradiction() -> None:
    assert found(column(0.1, (1, 10))) is None  # none is left to fit without it
    objective = column(0.1)
    one_place = replace(objective, features=CenteredFeatures(LinearSpace(np.ones((220, 3)))))
    assert found(one_place) is None
    nowhere = replace(objective, features=CenteredFeatures(LinearSpace(np.zeros((220, 3)))))
    assert found(nowhere) is None


def test_machine_with_reversed_ranks_gives_no_contradiction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objective, ranks = column(0.1), low_density.weighted_ranks
    assert found(objective) is not None
    monkeypatch.setattr(
        low_density, "weighted_ranks", lambda scores, *among: 1 - ranks(scores, *among)
    )
    assert found(objective) is None


def test_many_columns_share_the_level() -> None:
    assert found(column(0.2)) is not None
    assert found(column(0.2), n_tests=1000) is None


def test_is_invariant_to_order_scale_and_translation() -> None:
    objective = column(0.15)
    features = objective.features.space.features
    expected = found(objective)
    order = np.random.default_rng(1).permutation(20)
    shuffled = replace(objective, index=objective.index[order], targets=objective.targets[order])
    tiny = LinearSpace(features * 1e-6)
    far = LinearSpace(features + 50.0)
    sparse = LinearSpace(sp.csr_array(features))
    mean = np.where(np.arange(220) < 20, 0.0, 1 / 200)
    for other in (
        shuffled,
        *(replace(objective, features=CenteredFeatures.on(s, mean)) for s in (tiny, far, sparse)),
    ):
        np.testing.assert_allclose(found(other), expected, atol=1e-6)


def test_weights_are_repetitions() -> None:
    objective = column(0.15)
    mass = np.where(np.arange(200) % 3 == 0, 2.0, 1.0)
    twice = np.concatenate([objective.unlabeled, objective.unlabeled[mass == 2]])
    expected = found(replace(objective, unlabeled=twice, unlabeled_weights=np.ones(len(twice))))
    np.testing.assert_allclose(contradiction(objective, mass), expected, atol=1e-9)


def test_many_labels_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = column(0.2, (60, 60))
    monkeypatch.setattr(shares, "_MOST_LABELS", 30)
    fold = shares._folds(objective)[1]
    assert [np.count_nonzero(fold[objective.targets == sign] >= 0) for sign in (-1, 1)] == [30, 30]
    assert abs(found(objective).unlabeled - 0.2) < 0.15


def test_ranks_count_half_of_ties() -> None:
    among, mass = np.array([0.0, 1.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0, 4.0])
    ranks = low_density.weighted_ranks(np.array([-1.0, 0.0, 1.0, 2.0, 9.0]), among, mass)
    np.testing.assert_allclose(ranks, [0, 1 / 16, 2.5 / 8, 4 / 8, 1])


def test_the_classifier_is_by_least_squares_with_balanced_classes() -> None:
    objective, rows = column(0.3, (16, 4)), np.arange(20) != 3
    machine = shares._LeastSquaresClassifier.on(objective, np.arange(20))
    assert machine is not None
    found = machine.fitted(rows)
    Z = np.stack([objective.features.values(unit) for unit in np.eye(3)], axis=1)[:20]
    B, y = np.column_stack([Z, np.ones(20)])[rows], objective.targets[rows]
    weights = np.where(y > 0, 19 / 8, 19 / 30)  # half of the 19 labels for each class
    ridge = 0.01 * (Z * Z).sum() / 20 * np.diag([1, 1, 1, 0])
    expected = np.linalg.solve(B.T @ (weights[:, None] * B) + ridge, B.T @ (weights * y))
    np.testing.assert_allclose(np.append(found.coef, found.intercept), expected, atol=1e-10)


def test_equal_ranks_have_a_variance() -> None:
    assert shares._Ranks.of(np.full(4, 0.7), np.ones(4)).variance == pytest.approx(2 / 12 / 6 / 4)
