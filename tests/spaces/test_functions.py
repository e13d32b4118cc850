"""Fitted functions: their values, and the attributes that they are made again of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lapwing import AnchorGraph
from lapwing.graphs.eigenfunctions import fit_eigenfunctions
from lapwing.kernels import make_kernel
from lapwing.spaces import functions
from lapwing.spaces.functions import (
    AnchorFunction,
    EigenfunctionSum,
    FittedFunction,
    KernelExpansion,
    LinearFunction,
    NeighborhoodFunction,
    VotedFunction,
    function_from,
)
from tests.helpers.problems import rbf
from tests.helpers.spaces import GAMMA, random

N = 30
X, X_NEW = random(N, 4), random(7, 4, seed=1)
CLASSES = np.array(["ash", "beech", "cedar"], dtype=object)
ROWS = np.array([3, 4, 11, 25])


def expansion(basis: Any = X, coef: Any = None, rows: Any = None) -> KernelExpansion:
    n = basis.shape[0]
    coef = random(n, 3, seed=2) if coef is None else coef
    return KernelExpansion(make_kernel("rbf", X, gamma=GAMMA), basis, coef, random(3), rows)


def precomputed(rows: Any = None) -> KernelExpansion:
    n = N if rows is None else len(rows)
    kernel = make_kernel("precomputed", np.eye(N))
    return KernelExpansion(kernel, None, random(n, 3, seed=2), random(3), rows)


def linear() -> LinearFunction:
    return LinearFunction(random(4, 3, seed=2), random(3))


def anchored() -> AnchorFunction:
    anchors, _ = AnchorGraph(8, n_nearest=3).weigh(X)
    return AnchorFunction(anchors, random(8, 3, seed=2), random(3))


def eigenfunctions() -> EigenfunctionSum:
    found = fit_eigenfunctions(X, n_functions=5)
    return EigenfunctionSum(found, random(len(found.dimension), 3, seed=2), random(3))


def with_neighbors() -> NeighborhoodFunction:
    found = anchored()
    return NeighborhoodFunction(expansion(), found.anchors, random(*found.coef.shape, seed=4))


K_NEW = rbf(X_NEW, X, GAMMA)
# A function, and new points for it.
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "linear": (linear, X_NEW),
    "linear, sparse points": (linear, sp.csr_array(X_NEW)),
    "expansion": (expansion, X_NEW),
    "expansion over some rows": (lambda: expansion(X[ROWS], rows=ROWS), X_NEW),
    "expansion over sparse points": (lambda: expansion(sp.csr_array(X)), sp.csr_array(X_NEW)),
    "precomputed": (precomputed, K_NEW),
    "precomputed of some rows": (lambda: precomputed(ROWS), K_NEW),
    "precomputed, sparse": (lambda: precomputed(ROWS), sp.csr_array(K_NEW)),
    "anchors": (anchored, X_NEW),
    "eigenfunctions": (eigenfunctions, X_NEW),
    "neighbours": (with_neighbors, X_NEW),
    "voted linear": (lambda: VotedFunction(linear(), CLASSES), X_NEW),
    "voted expansion": (lambda: VotedFunction(expansion(), CLASSES), X_NEW),
    "voted precomputed": (lambda: VotedFunction(precomputed(ROWS), CLASSES), K_NEW),
}
# Order matters: a voted function also has the attributes of its pairs.
KINDS = (
    NeighborhoodFunction,
    VotedFunction,
    LinearFunction,
    AnchorFunction,
    EigenfunctionSum,
    KernelExpansion,
)
every_function = pytest.mark.parametrize("name", EXAMPLES)


def test_every_kind_has_an_example() -> None:
    assert {type(make()) for make, _ in EXAMPLES.values()} == set(KINDS)
    public = (kind for name, kind in vars(functions).items() if not name.startswith("_"))
    kinds = {kind for kind in public if hasattr(kind, "fitted")} - {FittedFunction}
    assert set(KINDS) == kinds


# --- the suite ------------------------------------------------------------------------------------


@every_function
def test_functions_are_restored_from_attributes(name: str) -> None:
    make, points = EXAMPLES[name]
    function = make()
    kept = dict(function.attributes)
    assert all(key.endswith("_") and not key.startswith("_") for key in kept)
    others = {"classes_": CLASSES, "solver_": "dual", "basis_": None}
    again = function_from(others | kept, KINDS)
    assert type(again) is type(function)
    np.testing.assert_array_equal(again(points), function(points))
    np.testing.assert_array_equal(again.intercept, function.intercept)
    assert again.attributes.keys() >= kept.keys() - {"basis_"}
    for key in again.attributes:
        np.testing.assert_array_equal(
            *(v.toarray() if sp.issparse(v) else v for v in (again.attributes[key], kept[key]))
        )


@every_function
def test_other_kinds_do_not_take_the_attributes(name: str) -> None:
    """Except voted functions, with those of their pairs, and functions with neighbours."""
    function = EXAMPLES[name][0]()
    inner = getattr(function, "pairs", getattr(function, "smooth", function))
    for kind in KINDS:
        if kind not in (type(function), type(inner)):
            assert kind.fitted(function.attributes) is None


def test_rejects_attributes_without_a_function() -> None:
    with pytest.raises(ValueError, match=r"There is no fitted function among the attributes\."):
        function_from({"classes_": CLASSES, "intercept_": np.zeros(1)}, KINDS)


# --- values ---------------------------------------------------------------------------------------


def test_linear_functions_keep_their_coefficients_as_scikit_learn_does() -> None:
    kept = linear().attributes["coef_"]
    assert kept.shape == (3, 4)
    assert kept.flags.c_contiguous


def test_kernel_values_may_be_of_the_basis_alone() -> None:
    f = precomputed(ROWS)
    np.testing.assert_array_equal(f(K_NEW[:, ROWS]), f(K_NEW))


def test_pairs_are_kept_with_their_classes() -> None:
    kept = VotedFunction(expansion(), CLASSES).attributes
    assert kept["pairs_"].tolist() == [["ash", "beech"], ["ash", "cedar"], ["beech", "cedar"]]
    assert kept["classes_"] is CLASSES


# --- pruning --------------------------------------------------------------------------------------


def sparse_coef(used: list[int]) -> Any:
    coef = np.zeros((N, 3))
    coef[used, np.arange(len(used)) % 3] = 1.0 + np.arange(len(used))
    return coef


@pytest.mark.parametrize("used", [[0, 7, 29], list(range(N)), []])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_points_without_a_coefficient_are_pruned(container: Any, used: list[int]) -> None:
    f = expansion(container(X), sparse_coef(used), 2 * np.arange(N))
    pruned, kept = f.pruned(), used or [0]  # the zero function keeps one point
    assert pruned.coef.shape == (len(kept), 3)
    assert pruned.basis.shape == (len(kept), 4)
    assert pruned.rows.tolist() == [2 * i for i in kept]
    np.testing.assert_allclose(pruned(container(X_NEW)), f(container(X_NEW)), atol=1e-14)
    assert pruned.pruned() is pruned
    assert (pruned is f) == (len(used) == N)


def test_precomputed_expansions_are_pruned_where_their_columns_are_known() -> None:
    kernel, coef = precomputed().kernel, sparse_coef([4, 9])
    bare = KernelExpansion(kernel, None, coef, random(3))
    assert bare.pruned() is bare  # which columns to look at would be lost
    known = replace(bare, rows=np.arange(N))
    pruned = known.pruned()
    assert pruned.basis is None
    assert pruned.rows.tolist() == [4, 9]
    np.testing.assert_allclose(pruned(K_NEW), known(K_NEW), atol=1e-14)
