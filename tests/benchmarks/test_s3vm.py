"""The S3VM benchmark: partitions, model selection, fits, expectations, and one small run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.s3vm.few_labels import METHODS as FEW
from benchmarks.s3vm.few_labels import error_of, row
from benchmarks.s3vm.fits import (
    FITTERS,
    LossWeights,
    Task,
    self_training,
    solve,
    svc,
)
from benchmarks.s3vm.many_classes import topics
from benchmarks.s3vm.partitions import QN_SETS as PROBLEMS
from benchmarks.s3vm.partitions import SignedPoints, partition
from benchmarks.s3vm.plan import Plan
from benchmarks.s3vm.selection import (
    Grid,
    Score,
    best,
    contenders,
    folds,
    on_labels,
    on_test,
    weights_of,
)
from benchmarks.s3vm.shares import draw_errors
from benchmarks.s3vm.transduction import (
    FAMILIES,
    STANDARD,
    Record,
    agreement,
    differences,
    labeled_sets,
    run_pairs,
    shown,
)
from benchmarks.shared.data import Data
from benchmarks.shared.labels import draw_per_class
from lapwing.spaces.linear import LinearSpace
from tests.helpers.data import around_corners, two_clouds


def clouds(n: int = 60, apart: float = 4.0) -> SignedPoints:
    return SignedPoints(*two_clouds(n, apart=(apart, 0, 0), first=-1.0))


@pytest.fixture
def task() -> Task:
    X, y = clouds()
    return Task(LinearSpace(X), y, np.array([0, 1, 2, 4]), np.arange(5, 60))


# Fits


@pytest.mark.parametrize("name", FITTERS)
def test_every_method_separates_two_clouds(task: Task, name: str) -> None:
    found = FITTERS[name].fit(task, LossWeights(1.0, 0.1))
    assert task.error(found.values(task.space.features)) == 0
    assert found.seconds > 0
    assert np.isnan(found.objective) == (name in ("svc", "self-training"))


def test_objective_of_a_fit_is_that_of_the_qn_paper() -> None:
    # Errata Q8: dividing by 2 lambda turns means into sums.
    X, y = clouds(apart=1.0)
    task = Task(LinearSpace(X), y, np.array([0, 1, 2, 4]), np.arange(5, 60))
    lam, lam_prime = 0.3, 7.0
    found = solve(task, "gradient", weights_of(task, lam, lam_prime))
    values, coef = found.values(X), found.function.coef
    assert values[task.unlabeled].mean() == pytest.approx(y[task.labeled].mean())
    hinge = np.maximum(0, 1 - y * values)[task.labeled].mean()
    bump = np.exp(-3 * values**2)[task.unlabeled].mean()
    assert 2 * lam * found.objective == pytest.approx(hinge + lam_prime * bump + lam * coef @ coef)


def test_one_class_of_labels_is_a_constant(task: Task) -> None:
    one = replace(task, labeled=np.array([1, 3, 5]))
    assert_array_equal(svc(one, 1.0).values(task.space.features), np.ones(60))


def test_self_training_labels_all_points(task: Task) -> None:
    # Ten rounds of a tenth each end at the SVC of all points, which is not that of the labels.
    all_labels = replace(task, labeled=np.concatenate([task.labeled, task.unlabeled]))
    fits = self_training(task, 1.0), svc(all_labels, 1.0), svc(task, 1.0)
    trained, full, few = (fit.function.coef for fit in fits)
    assert_allclose(trained, full, rtol=1e-2)
    assert np.linalg.norm(trained - few) > 0.1 * np.linalg.norm(few)


def test_zero_is_positive() -> None:
    task = Task(None, np.array([1.0, 1.0, -1.0, 1.0]), np.array([], int), np.arange(4))
    assert task.error(np.zeros(4)) == 25
    assert Score.of(task.y, np.zeros(4)) == (1, 4.0)


# Partitions


@pytest.mark.parametrize("even", [False, True])
def test_parts_are_disjoint_and_have_their_sizes(even: bool) -> None:
    points, sizes = clouds(100), (6, 50, 40)
    for seed in range(5):
        part = partition(points, sizes, np.random.default_rng(seed), even=even)
        task = part.task
        assert (len(task.labeled), len(task.unlabeled), len(part.test_y)) == sizes
        assert_array_equal(np.sort(np.concatenate([task.labeled, task.unlabeled])), np.arange(56))
        assert set(task.y[task.labeled]) == {-1.0, 1.0}
        assert task.y[task.labeled].sum() == 0 or not even
        everything = np.vstack([part.X, part.test_features])
        assert len(np.unique(everything, axis=0)) == 96


@pytest.mark.parametrize("sigma", [None, 0.7])
def test_coordinates_keep_the_kernel(sigma: float | None) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 50 if sigma is None else 2))
    points = SignedPoints(X, np.where(np.arange(30) % 2, 1.0, -1.0))
    part = partition(points, (4, 16, 10), np.random.default_rng(1), sigma)
    order = np.random.default_rng(1).permutation(30)
    train, test = X[order[:20]], X[order[20:]]
    if sigma is None:
        expected = test @ train.T
    else:
        squares = ((test[:, None] - train) ** 2).sum(axis=2)
        expected = np.exp(-squares / (2 * sigma**2))
    features = part.task.space.features
    assert features.shape[1] <= 20
    assert_allclose(part.test_features @ features.T, expected, atol=1e-10)


@pytest.mark.parametrize(("name", "count"), [("gaussian2c", 2), ("gaussian4c", 4)])
def test_clusters_are_where_the_paper_has_them(name: str, count: int) -> None:
    X, y = PROBLEMS[name].points(None, np.random.default_rng(0))
    assert X.shape == (500, 500)
    assert y.sum() == 0
    # Means of 250 unit Gaussians are within 0.2 of the truth; the label is the first coordinate's.
    assert X[y > 0, 0].mean() == pytest.approx(2.5, abs=0.2)
    assert X[y < 0, 0].mean() == pytest.approx(-2.5, abs=0.2)
    second = np.abs(X[:, 1]).mean()
    assert (second > 4.5) == (count == 4)
    assert np.abs(X[:, 2:].mean(axis=0)).max() < 0.2


def test_pairs_have_their_classes() -> None:
    data = Data(np.arange(20.0)[:, None], np.arange(20) % 10)
    X, y = PROBLEMS["usps(8,0)"].points(data, np.random.default_rng(0))
    assert_array_equal(X.ravel(), [0, 8, 10, 18])
    assert_array_equal(y, [1, -1, 1, -1])
    assert PROBLEMS["coil(3,6)"].classes == (2, 5)


# Model selection


def test_folds_spread_both_classes() -> None:
    y = np.array([1.0] * 7 + [-1.0] * 11)
    parts = folds(y, np.random.default_rng(0))
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(18))
    for part in parts:
        assert 1 <= (y[part] > 0).sum() <= 2
        assert 2 <= (y[part] < 0).sum() <= 3


def test_fewest_errors_then_smallest_loss_then_first() -> None:
    scores = {"a": Score(2, 0.1), "b": Score(1, 0.9), "c": Score(1, 0.4), "d": Score(1, 0.4)}
    assert best(scores) == "c"
    assert Score(1, 0.5).plus(Score(2, 0.25)) == (3, 0.75)
    assert Grid().lam == tuple(sorted(Grid().lam, reverse=True))
    assert len(Grid().lam) == 21


@pytest.mark.parametrize("name", ["svc", "quasi-newton"])
def test_selection_scores_every_candidate(name: str) -> None:
    part = partition(clouds(120), (10, 70, 40), np.random.default_rng(0))
    grid = Grid((1.0, 0.1), (1.0, 0.01))
    candidates, final = contenders(grid)[name]
    test, cross = on_test(part, candidates), on_labels(part, candidates, np.random.default_rng(0))
    assert list(test) == list(cross)
    assert len(test) == (2 if name == "svc" else 4)
    assert all(score.errors == 0 for score in (*test.values(), *cross.values()))
    assert final(part, best(cross)) == 0


def test_cross_validation_hides_the_fold() -> None:
    # Noise in more dimensions than points: only a fit that uses the hidden labels gets them right.
    rng = np.random.default_rng(0)
    points = SignedPoints(rng.standard_normal((60, 80)), rng.choice([-1.0, 1.0], 60))
    part = partition(points, (40, 10, 10), rng)
    candidates, _ = contenders(Grid((2.0**-10,), (0.01,)))["svc"]
    (score,) = on_labels(part, candidates, rng).values()
    assert score.errors > 10


def test_candidates_are_near_the_final_fit() -> None:
    part = partition(clouds(100, apart=1.0), (10, 70, 20), np.random.default_rng(0))
    weights = weights_of(part.task, 0.01, 1.0)
    candidates, _ = contenders(Grid((0.01,), (1.0,)))["quasi-newton"]
    ((_, values),) = candidates(part.task)
    features = part.task.space.features
    exact = solve(part.task, "quasi-newton", weights).values(features)
    labels = solve(part.task, "quasi-newton", weights._replace(C_star=0.0)).values(features)
    # Surrogates of slope 20 against the hinge itself; the unlabelled points matter more.
    assert np.linalg.norm(values(features) - exact) < 0.06 * np.linalg.norm(exact)
    assert np.linalg.norm(labels - exact) > 0.12 * np.linalg.norm(exact)


# Pairs of classes


def test_two_labels_per_class_without_published_splits() -> None:
    y = np.repeat(np.arange(4), 9)
    sets = labeled_sets(Data(np.zeros((36, 1)), y), seed=0)
    assert len({tuple(rows) for rows in sets}) == 10
    assert all(np.bincount(y[rows]).tolist() == [2, 2, 2, 2] for rows in sets)
    published = (np.array([1, 2]),)
    assert labeled_sets(Data(np.zeros((36, 1)), y, None, published), 0) is published


def test_pairs_use_their_two_classes_only() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = rng.standard_normal((60, 2)) + 9.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    records = run_pairs(
        Plan(splits=2), FAMILIES["uspst"], Data(X, y), STANDARD, ["svc", "continuation", "cccp"]
    )
    assert {record.pair for record in records} == {(0, 1), (0, 2), (1, 2)}
    assert len([r for r in records if r.method == "continuation"]) == 6
    assert len([r for r in records if r.method == "cccp"]) == 3
    assert all(record.error == 0 for record in records)
    assert shown(records, "continuation", 2.9) == "0.00 [2.9]"
    assert shown(records, "cccp", None) == "0.00 (3 fits)"
    assert shown(records, "gradient", 4.6) == "- [4.6]"


def test_agreement_counts_by_the_sign_of_the_objective() -> None:
    def record(split: int, method: str, error: float, objective: float) -> Record:
        return Record((0, 1), split, method, error, objective, 0.1)

    records = [record(k, "continuation", 2.0, 100.0) for k in range(5)]
    for k, (objective, error) in enumerate(
        [(110.0, 5.0), (120.0, 4.0), (100.001, 2.0), (90.0, 1.0), (95.0, 3.0)]
    ):
        records.append(record(k, "gradient", error, objective))
    assert_allclose(differences(records)[0], [10, 3])
    table = agreement(records)
    assert [row[1:] for row in table.rows] == [
        ["2", "2", "0", "0", "+2.50"],
        ["1", "0", "1", "0", "+0.00"],
        ["2", "1", "0", "1", "+0.00"],
    ]
    assert "0.80" in table.notes[0]  # ranks 3 4 1 2 against 4 3 1 2


# Few labels


@pytest.mark.parametrize("name", FEW)
def test_one_label_a_class_is_enough_for_two_clouds(name: str) -> None:
    truth = np.arange(80) % 2
    data = Data(around_corners(truth, np.random.default_rng(0), distance=20.0), truth)
    labeled = draw_per_class(data.y, 1, np.random.default_rng(0))
    assert sorted(data.y[labeled].tolist()) == [0, 1]
    assert error_of(FEW[name](), data, labeled) == 0
    swapped = data._replace(y=data.y.copy())
    swapped.y[labeled] = 1 - swapped.y[labeled]
    assert error_of(FEW[name](), swapped, labeled) == 100


def test_row_of_few_labels_counts_swapped_classes() -> None:
    assert row("a", [1.0, 93.0, 2.0, 50.0]) == ["a", "4", "26.0", "1.0", "93.0", "1"]


# Many classes, and shares of labels


def test_topics_are_texts_of_unit_length() -> None:
    data = topics(30, 3, np.random.default_rng(0), n_words=500)
    assert data.X.shape == (30, 500)
    np.testing.assert_allclose(data.X.multiply(data.X).sum(axis=1), 1)
    assert np.bincount(data.y).tolist() == [10, 10, 10]
    products = (data.X @ data.X.T).toarray() - np.eye(30)
    same = data.y[:, None] == data.y
    assert products[same].mean() > products[~same].mean()


def test_warning_of_uneven_classes_with_equal_numbers_of_labels() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.uniform(size=160) > 0.85).astype(int)
    truth[:24] = np.arange(24) % 2
    data = Data(rng.standard_normal((160, 3)) + 3.0 * truth[:, None], truth)
    errors, warned = draw_errors(Plan(), data, 10, "rbf", Plan().rng(0))
    assert warned
    free, held, true, _ = errors.values()
    assert true <= free < held
