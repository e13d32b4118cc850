"""One suite for all graph recipes; a new one gets its examples here."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from lapwing.graphs import (
    GRAPHS,
    AffinityGraph,
    AnchorGraph,
    GraphRecipe,
    KNNGraph,
    Laplacian,
    TransformerGraph,
    build_laplacian,
)
from tests.helpers.data import gaussian_points, halves, long_indices
from tests.helpers.graphs import gaussian_affinity, inverse, needs_faiss
from tests.helpers.members import check_examples

Make = Callable[[Any], Any]


def knn(**options: Any) -> Make:
    return lambda X: KNNGraph(5, **options)


GIVEN = np.random.default_rng(5).normal(size=(9, 4))  # anchors


# name in GRAPHS -> examples: from the points to a recipe.
EXAMPLES: dict[str, dict[str, Make]] = {
    "KNNGraph": {
        "heat": knn(),
        "binary": knn(weights="binary", normalized=False, power=3),
        "self-tuning": knn(weights="self-tuning", normalized=False),
        "function": knn(weights=inverse),
        "mutual": knn(mutual=True),
        "cosine": knn(metric="cosine"),
        "manhattan": knn(metric="manhattan"),
        "faiss": knn(backend="faiss"),
        "faiss-cosine": knn(backend="faiss", metric="cosine"),
        "faiss-approximate": knn(approximate=True, target_recall=1.0),
        "reduced": knn(n_components=3),
    },
    "AffinityGraph": {
        "dense": lambda X: AffinityGraph(gaussian_affinity(X)),
        "sparse": lambda X: AffinityGraph(sp.coo_matrix(gaussian_affinity(X)), normalized=False),
    },
    "TransformerGraph": {
        "knn": lambda X: TransformerGraph(KNeighborsTransformer(n_neighbors=4)),
        "radius": lambda X: TransformerGraph(
            RadiusNeighborsTransformer(radius=1.5), weights="self-tuning", normalized=False
        ),
        "connectivity": lambda X: TransformerGraph(
            KNeighborsTransformer(mode="connectivity"), power=2
        ),
    },
    "AnchorGraph": {
        "kmeans": lambda X: AnchorGraph(8, random_state=3),
        "random": lambda X: AnchorGraph(12, anchors="random", power=2),
        "embedding": lambda X: AnchorGraph(12, weights="embedding", n_nearest=4),
        "given": lambda X: AnchorGraph(anchors=GIVEN, normalized=True),
    },
}
CASES = [
    pytest.param(make, id=f"{name}-{label}", marks=needs_faiss if label.startswith("faiss") else ())
    for name, examples in EXAMPLES.items()
    for label, make in examples.items()
]


def recipes(*without: str) -> Any:
    """Run a test for all recipes whose ids contain none of some words."""
    kept = [case for case in CASES if not any(word in str(case.id) for word in without)]
    return pytest.mark.parametrize("make", kept)


each_recipe = recipes()
# One recipe of each class, for what does not depend on its other parameters.
FIRST = [next(iter(examples.values())) for examples in EXAMPLES.values()]
each_kind = pytest.mark.parametrize("make", FIRST, ids=EXAMPLES)


def test_every_graph_has_an_example() -> None:
    check_examples(
        EXAMPLES,
        GRAPHS,
        registry="GRAPHS in lapwing.graphs",
        place="EXAMPLES in tests/graphs/test_base.py",
    )


@each_recipe
def test_affinity_is_symmetric_nonnegative_and_without_loops(make: Make) -> None:
    X = gaussian_points()
    W = make(X).affinity(X)
    assert isinstance(W, sp.csr_array)
    assert W.shape == (40, 40)
    assert W.nnz > 40
    assert abs(W - W.T).max() == 0
    assert (W.data > 0).all()  # nothing negative, no stored zero
    assert_array_equal(W.diagonal(), 0)
    assert W.has_sorted_indices
    assert W.indices.dtype == np.int32


@each_recipe
def test_the_order_of_rows_does_not_change_the_graph(make: Make) -> None:
    X = gaussian_points()
    order = np.random.default_rng(1).permutation(len(X))
    W = make(X).affinity(X).toarray()
    permuted = make(X[order]).affinity(X[order]).toarray()
    assert_allclose(permuted, W[np.ix_(order, order)], rtol=1e-9)


@each_recipe
def test_recipe_is_cloned_pickled_and_never_changed(make: Make) -> None:
    X = gaussian_points()
    recipe = make(X)
    assert isinstance(recipe, GraphRecipe)
    assert isinstance(recipe, BaseEstimator)
    before = recipe.get_params(deep=False)
    expected = recipe.affinity(X).toarray()
    assert repr(recipe).startswith(type(recipe).__name__)
    after = recipe.get_params(deep=False)
    assert before.keys() == after.keys()
    assert all(after[name] is value for name, value in before.items())
    twins = [clone(recipe), type(recipe)(**before)]
    if "function" not in repr(recipe):
        twins.append(pickle.loads(pickle.dumps(recipe)))
    for twin in twins:
        assert twin is not recipe
        assert_array_equal(twin.affinity(X).toarray(), expected)
        assert (twin.normalized, twin.power) == (recipe.normalized, recipe.power)


@each_recipe
def test_float32_points_give_the_same_graph(make: Make) -> None:
    X = gaussian_points()
    expected, X32 = make(X).affinity(X).toarray(), X.astype(np.float32)
    assert_allclose(make(X32).affinity(X32).toarray(), expected, rtol=1e-4, atol=1e-6)


@recipes("faiss", "reduced")  # which take dense points only
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.coo_array, halves, long_indices])
def test_sparse_points_give_the_same_graph(form: Any, make: Make) -> None:
    X = gaussian_points()
    X[:, 1:][np.abs(X[:, 1:]) < 0.5] = 0  # but no empty rows: see their own test
    expected, S = make(X).affinity(X).toarray(), form(X)
    assert_allclose(make(S).affinity(S).toarray(), expected, rtol=1e-9)


@recipes("AffinityGraph")  # which sees no points
def test_rejects_empty_and_infinite_points(make: Make) -> None:
    X = gaussian_points()
    recipe = make(X)
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"X contains (NaN|infinity)"):
            recipe.affinity(Z)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        recipe.affinity(X[:0])


@each_kind
@pytest.mark.parametrize("value", ["no", 1, None])
def test_rejects_other_values_of_normalized(make: Make, value: Any) -> None:
    X = gaussian_points()
    recipe = make(X).set_params(normalized=value)
    with pytest.raises(ValueError, match=f"normalized={value!r} must be True, False or 'auto'"):
        recipe.affinity(X)
    with pytest.raises(ValueError, match=f"normalized={value!r} must be True or False"):
        Laplacian.from_affinity(gaussian_affinity(X), normalized=value)
    recipe.set_params(normalized=np.bool_(False))
    assert build_laplacian(recipe, X).normalized is False


@each_kind
@pytest.mark.parametrize(
    ("value", "expected"), [("auto", [True, False]), (True, [True] * 2), (False, [False] * 2)]
)
def test_auto_is_normalized_for_classes_only(make: Make, value: Any, expected: list[bool]) -> None:
    X = gaussian_points()
    recipe = make(X).set_params(normalized=value, power=3)
    laplacians = [build_laplacian(recipe, X, regression=task) for task in (False, True)]
    assert [laplacian.normalized for laplacian in laplacians] == expected
    assert all(laplacian.power == 3 for laplacian in laplacians)
