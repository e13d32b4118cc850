"""BalancedGraphClassifier: volumes, methods, new points, warnings and errors."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from lapwing import BalancedGraphClassifier, KNNGraph, Landmarks
from lapwing.estimators.balanced import _volume_problem
from lapwing.estimators.diagnostics import warn_contradicted_prior
from lapwing.estimators.template import prepare
from lapwing.exceptions import (
    ClassPriorWarning,
    LapwingWarning,
    NoClassStructureWarning,
    UnlabeledComponentWarning,
)
from lapwing.solvers.graph import partition as partition_module
from lapwing.solvers.graph import registry as registry_module
from lapwing.solvers.graph.registry import PARTITIONS, partition_bytes
from tests.helpers.answers import scores
from tests.helpers.data import first_labels

every_method = pytest.mark.parametrize("method", PARTITIONS)


def blobs(
    sizes: tuple[int, ...] = (40, 40, 40), gap: float = 9.0, labels: int = 1, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make Gaussian clusters in random order: points, labels and true classes."""
    angles = 2 * np.pi * np.arange(len(sizes)) / len(sizes)
    centers = gap / 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    X, truth = make_blobs(sizes, centers=centers, random_state=seed)
    return X, first_labels(truth, labels), truth


# ---- answers and attributes ----------------------------------------------------------------------


@every_method
@pytest.mark.parametrize("n_classes", [2, 3])
def test_finds_blobs_with_consistent_attributes(method: str, n_classes: int) -> None:
    X, y, truth = blobs((40,) * n_classes)
    prior = "unknown" if n_classes == 2 else None
    model = BalancedGraphClassifier(method=method, class_prior=prior).fit(X, y)
    assert_array_equal(model.transduction_, truth)
    assert_array_equal(model.predict(X + 0.01), truth)
    assert model.label_distributions_.shape == (len(X), n_classes)
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert_allclose(model.class_volumes_, np.bincount(model.transduction_) / len(X))
    assert_array_equal(model.label_distributions_.argmax(axis=1), truth)
    values = model.history_["objective"][:, 0]
    assert (np.diff(values) < 0).all()
    assert model.objective_ == values[-1]
    assert 0 <= model.optimality_ < 1e-2
    assert 0 <= model.edge_cut_ < 0.1
    assert not hasattr(model, "class_prior_")


def test_default_graph_has_steep_weights() -> None:
    X, y, _ = blobs()
    expected = KNNGraph(10, weights="steep").affinity(X)
    assert_allclose(BalancedGraphClassifier().fit(X, y).affinity_.toarray(), expected.toarray())


@every_method
def test_known_volumes_are_met(method: str) -> None:
    X, y, _ = blobs(gap=3.0)
    model = BalancedGraphClassifier(method=method, class_prior={0: 5, 1: 3, 2: 2}).fit(X, y)
    assert_array_equal(np.bincount(model.transduction_), [60, 36, 24])
    assert_allclose(model.class_prior_, [0.5, 0.3, 0.2])


def test_repeated_rows_count_in_the_volumes() -> None:
    X, y, _ = blobs(gap=3.0)
    X, y = np.vstack([X, X[:60]]), np.append(y, np.full(60, -1))
    model = BalancedGraphClassifier(class_prior="uniform").fit(X, y)
    assert_allclose(np.bincount(model.transduction_), 60, atol=1)
    assert_array_equal(model.transduction_[120:], model.transduction_[:60])


def test_unknown_volumes_start_from_the_label_counts() -> None:
    """Nine of ten labels are of one class."""
    X, y, truth = blobs((100, 20), gap=3.5, labels=0, seed=1)
    rng = np.random.default_rng(0)
    y[rng.choice(np.flatnonzero(truth == 0), 9, replace=False)] = 0
    y[rng.choice(np.flatnonzero(truth == 1), 1)] = 1
    unknown = BalancedGraphClassifier().fit(X, y)
    with pytest.warns(ClassPriorWarning, match="classes of other sizes, with 36 % of the rows"):
        equal = BalancedGraphClassifier(class_prior="uniform").fit(X, y)
    assert (unknown.transduction_ != truth).mean() < (equal.transduction_ != truth).mean() - 0.1


def test_distributions_of_two_labels_of_one_point_and_of_weight_0() -> None:
    X, y, _ = blobs(labels=2)
    twice, gone = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 2)[0]
    X, y = np.vstack([X, X[twice]]), np.append(y, [1])
    weights = np.ones(len(X))
    weights[[-1, gone]] = 0.25, 0
    model = BalancedGraphClassifier().fit(X, y, sample_weight=weights)
    assert_allclose(model.label_distributions_[twice], [0.8, 0.2, 0], atol=1e-6)
    assert model.transduction_[twice] == 0
    # A row of weight 0 is predicted as a new point.
    shares = model.label_distributions_[gone]
    assert_allclose(shares.sum(), 1)
    assert model.transduction_[gone] == shares.argmax() == 2


# ---- new points ----------------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["auto", None])
def test_new_points_get_the_mean_of_regression_and_vote(space: Any) -> None:
    X, y, _ = blobs(gap=3.0)
    model = BalancedGraphClassifier(space=space, n_votes=3, C=2.0).fit(X, y)
    Z = X[:15] + 0.3
    distances = ((Z[:, None] - X) ** 2).sum(axis=2)
    nearest = np.argsort(distances, axis=1)[:, :3]
    near = np.take_along_axis(distances, nearest, axis=1)
    weights = np.exp(-(near - near[:, :1]) / (2 * model.neighbors_.bandwidth**2))
    weights /= weights.sum(axis=1, keepdims=True)
    vote = np.einsum("nk,nkc->nc", weights, model.virtual_labels_[nearest])
    K = rbf_kernel(X, gamma=model.kernel_.gamma)
    n, g = len(X), model.virtual_labels_
    # min |f|^2 / 2 + C/2 sum (f + b - g)^2, without a penalty on the bias.
    system = np.block([[K + np.eye(n) / 2.0, np.ones((n, 1))], [np.ones((1, n)), 0]])
    solved = np.linalg.solve(system, np.vstack([g, np.zeros((1, 3))]))
    smooth = rbf_kernel(Z, X, gamma=model.kernel_.gamma) @ solved[:n] + solved[n]
    assert_allclose(scores(model, Z), (smooth + vote) / 2, atol=1e-6)
    assert_allclose(scores(model.set_params(n_votes=0).fit(X, y), Z), smooth, atol=1e-6)


@pytest.mark.parametrize("space", [None, Landmarks(20)], ids=["full", "landmarks"])
def test_functions_of_a_precomputed_kernel(space: Any) -> None:
    X, y, _ = blobs()
    K = rbf_kernel(X)
    model = BalancedGraphClassifier(
        KNNGraph(5).affinity(X), kernel="precomputed", space=space, n_votes=0
    ).fit(K, y)
    assert_allclose(scores(model, K), K @ model.alpha_ + model.intercept_, atol=1e-8)


def test_sparse_points_are_partitioned_like_dense_ones() -> None:
    X, y, _ = blobs(gap=4.0)
    dense = BalancedGraphClassifier(n_votes=0).fit(X, y)
    sparse = BalancedGraphClassifier().fit(sp.csr_array(X), y)
    assert_allclose(sparse.virtual_labels_, dense.virtual_labels_, atol=1e-6)
    assert not hasattr(sparse, "neighbors_")
    assert_allclose(scores(sparse, X), scores(dense, X), atol=1e-5)


# ---- warnings ------------------------------------------------------------------------------------


def test_warns_about_a_graph_without_class_structure() -> None:
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((60, 60)), 1)
    y = np.full(60, -1)
    y[:9] = np.arange(9) % 3
    with pytest.warns(NoClassStructureWarning, match=r"3 classes that were found cut \d+ %"):
        model = BalancedGraphClassifier(W + W.T).fit(rng.standard_normal((60, 2)), y)
    assert model.edge_cut_ > 0.8


def test_warns_if_left_out_labels_are_not_predicted() -> None:
    # Along a line, every label lies between two of the other class.
    X = np.arange(126.0)[:, None]
    y = np.full(126, -1)
    y[3::6] = np.arange(21) % 2
    message = r"Of 21 labels .*, \d+ are predicted .* 10 by guessing"
    with pytest.warns(NoClassStructureWarning, match=message):
        BalancedGraphClassifier().fit(X, y)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_warns_if_the_graph_contradicts_the_prior(part: float) -> None:
    """The evidence against a prior grows with its error."""
    X, y, truth = blobs((100, 60, 40), gap=9.0, labels=5, seed=1)
    message = r"contradict it: .* with (\d+) % of the rows in another class, are .* times as likely"
    prior = [(1 - part) / 2, part, (1 - part) / 2] if part > 0.2 else [0.2, 0.3, 0.5]
    with pytest.warns(ClassPriorWarning, match=message) as caught:
        model = BalancedGraphClassifier(class_prior=prior).fit(X, y)
    assert_allclose(model.class_volumes_, prior, atol=1 / 200)
    moved = re.search(message, str(caught[0].message))
    assert moved is not None
    true = np.bincount(truth) / 200
    assert int(moved[1]) == pytest.approx(50 * np.abs(true - prior).sum(), abs=2)
    fine = BalancedGraphClassifier(class_prior=true).fit(X, y)  # warnings are errors
    assert_array_equal(fine.transduction_, truth)


def test_names_the_odds_against_the_prior() -> None:
    for odds, shown in ((50, "50"), (2000, "more than 1000")):
        with pytest.warns(ClassPriorWarning, match=f"are {shown} times as likely"):
            warn_contradicted_prior(np.array([0.5, 0.5]), np.log(odds), np.array([0.7, 0.3]))


def test_warns_once_if_ties_miss_the_prior() -> None:
    # Five complete subgraphs with equal points; two have no label.
    graph = sp.block_diag([np.ones((40, 40)) - np.eye(40)] * 5, format="csr")
    y = np.full(200, -1)
    y[[0, 45, 81]] = 0, 1, 2
    X = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.warns((ClassPriorWarning, UnlabeledComponentWarning)) as caught:
        BalancedGraphClassifier(graph, class_prior="uniform", method="mbo").fit(X, y)
    texts = [str(each.message) for each in caught if each.category is ClassPriorWarning]
    assert len(texts) == 1
    assert "class_prior is missed by" in texts[0]


def test_warns_if_the_partition_does_not_converge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.solvers.graph.propagation._MAX_ITER", 1)
    X, y, _ = blobs((40, 40), gap=6.0)
    with pytest.warns(ConvergenceWarning, match=r"'laplace' did not converge: its last .*KNNGraph"):
        model = BalancedGraphClassifier(method="laplace").fit(X, y)
    assert model.status_ == "not converged"


def test_all_rows_labelled_and_few_points() -> None:
    X = np.array([[0.0], [0.2], [5.0], [5.1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BalancedGraphClassifier().fit(X, [0, 0, 1, 1])
    assert_array_equal(model.transduction_, [0, 0, 1, 1])


# ---- errors --------------------------------------------------------------------------------------


def test_rejects_a_prior_below_the_labels() -> None:
    X, y, _ = blobs()
    message = r"gives the class 1 0.06 of 120 rows, fewer than its labelled rows \(1\)"
    with pytest.raises(ValueError, match=message):
        BalancedGraphClassifier(class_prior=[1000, 1, 1000]).fit(X, y)


@pytest.mark.parametrize(("unit", "dtype"), [(1e-40, np.float32), (1e200, np.float64)])
def test_rejects_weights_whose_products_overflow(unit: float, dtype: Any) -> None:
    X, y, truth = blobs()
    W = (KNNGraph(10, weights="steep").affinity(X) * unit).astype(dtype)
    with pytest.raises(ValueError, match=r"degrees of the graph are about \de.*Rescale"):
        BalancedGraphClassifier(W).fit(X.astype(dtype), y)
    near = (KNNGraph(10, weights="steep").affinity(X) * 1e-12).astype(dtype)
    assert_array_equal(BalancedGraphClassifier(near).fit(X.astype(dtype), y).transduction_, truth)


def test_warns_about_outvoted_classes() -> None:
    X, y, _ = blobs((30, 30), seed=6)
    first = int(np.flatnonzero(y == 0)[0])
    X, y = np.vstack([X, X[[first, first]]]), np.append(y, [0, 7])
    with pytest.warns(LapwingWarning, match=r"All labels of the class 7 are at rows with"):
        model = BalancedGraphClassifier().fit(X, y)
    assert 7 not in model.transduction_
    y[-3] = 7  # another row of it, amid another class
    with pytest.warns(NoClassStructureWarning, match=r"two partitions are about equally likely"):
        BalancedGraphClassifier().fit(X, y)


@pytest.mark.parametrize("n", [7, 11, 13, 19, 29])
@pytest.mark.parametrize("rare", [2, 1.6], ids=["as counted", "rounded"])
def test_prior_allows_fully_labelled_classes(n: int, rare: float) -> None:
    """For n / (3n + 2) rounded up or down."""
    X, y, truth = blobs((n, n, n, 2))
    y[truth == 3] = 3
    sizes = np.array([n, n, n, rare])
    model = BalancedGraphClassifier(class_prior=sizes / sizes.sum()).fit(X, y)
    counts = np.bincount(model.transduction_)
    assert counts[3] == 2
    assert np.abs(counts[:3] - n).max() <= 1


def test_memory_grows_with_candidate_volumes_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = blobs()
    prepared = [prepare(BalancedGraphClassifier(class_prior=p), X, y) for p in ("uniform", None)]
    known, unknown = (_volume_problem(each) for each in prepared)
    needs = {1: (partition_bytes(known), partition_bytes(unknown))}  # of few points: one thread
    monkeypatch.setattr(partition_module, "_SMALL", 0)
    for n_threads in (2, 4, 16):
        monkeypatch.setattr(partition_module, "available_threads", lambda n=n_threads: n)
        needs[n_threads] = partition_bytes(known), partition_bytes(unknown)
    assert all(both[0] < both[1] for both in (needs[1], needs[4]))
    assert needs[1][0] < needs[2][0] == needs[4][0]  # the answer, and free volumes beside it
    assert needs[1][1] < needs[2][1] < needs[4][1] == needs[16][1]  # three jobs at most
    alone = partition_bytes(known)
    monkeypatch.setattr(registry_module, "_CACHED", 0)
    assert partition_bytes(known) == alone + known.graph.nbytes  # once more, in another order


def test_forecasts_the_memory_of_a_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = blobs()
    model = BalancedGraphClassifier(kernel="linear", n_votes=0)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "20k")
    with pytest.raises(MemoryError, match=r"Partitioning 120 points into 3 classes needs .* Fit "):
        model.fit(X, y)
    monkeypatch.setenv("LAPWING_MEMORY_LIMIT", "1m")
    model.fit(X, y)
