"""Sparse points, weights, priors and given graphs; and inputs that are an answer or one error."""

from __future__ import annotations

import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lapwing
from lapwing import AffinityGraph, Landmarks
from lapwing.dask import DaskEigenfunctionClassifier, DaskLapERLSClassifier, DaskS3VC
from lapwing.dask._data import read_points
from lapwing.dask._engine import ClusterProblem
from lapwing.dask._halos import given_affinity
from lapwing.dask._low_density import _ClusterObservations
from lapwing.dask._session import ClusterSession
from lapwing.graphs import KNNGraph
from lapwing.losses.labeled import SquaredHinge
from lapwing.losses.registry import UNLABELED_LOSSES
from lapwing.objectives.low_density import Function
from lapwing.solvers.low_density.machines import ClassObservations
from lapwing.spaces.linear import LinearSpace
from tests.cluster.conftest import Case, array

delayed = pytest.importorskip("dask", reason="dask is not installed").delayed

CASE = Case(n=120, n_classes=2, distance=2.0)
THREE = Case(n=120)
LINEAR: dict[str, Any] = {"loss": "squared_hinge", "method": "quasi-newton", "tol": 1e-8}
LOCAL: dict[str, Any] = {**LINEAR, "kernel": "linear", "multi_class": "ovr"}
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 1e-7}
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2, 120)


def sparse_chunks(X: Any, *sizes: int) -> Any:
    """A Dask array of sparse row chunks."""
    starts = np.cumsum([0, *sizes])
    parts = [
        array.from_delayed(
            delayed(sp.csr_array)(X[a:z]), (z - a, X.shape[1]), meta=sp.csr_array((0, 0))
        )
        for a, z in pairwise(starts)
    ]
    return array.concatenate(parts).persist()


def same(model: Any, local: Any) -> None:
    np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
    shares = model.transduction_proba_.compute()
    np.testing.assert_allclose(shares, local.transduction_proba_, **CLOSE)


def test_sparse_points_are_fitted_as_in_memory(client: Any) -> None:
    rng = np.random.default_rng(0)
    X = sp.csr_array(CASE.X * (rng.uniform(size=CASE.X.shape) < 0.7))
    names = np.where(CASE.y < 0, None, np.array(["no", "yes"])[CASE.y])
    chunks = sparse_chunks(X, 50, 30, 40)
    model = DaskS3VC(**LINEAR).fit(chunks, array.from_array(names, chunks=(60,)), WEIGHTS)
    local = lapwing.S3VC(**LOCAL).fit(X, names, WEIGHTS)
    same(model, local)
    np.testing.assert_allclose(model.coef_, local.coef_, **CLOSE)
    np.testing.assert_array_equal(model.predict(chunks).compute(), local.predict(X))
    assert model.score(chunks, names) == local.score(X, names)
    with pytest.raises(TypeError, match=r"sparse chunks, which only DaskS3VC takes"):
        DaskEigenfunctionClassifier().fit(chunks, CASE.y)
    holed = X.copy()
    holed.data[holed.indptr[70]] = np.nan
    with pytest.raises(ValueError, match=r"first in row 70"):
        model.fit(sparse_chunks(holed, 50, 30, 40), CASE.y)
    mixed = array.concatenate([chunks, array.from_array(CASE.X[:1])], allow_unknown_chunksizes=True)
    with pytest.raises(TypeError, match=r"sparse and dense chunks"):
        model.fit(mixed.persist(), np.append(CASE.y, -1))


def test_single_precision_and_smoothed_losses_as_in_memory(client: Any) -> None:
    X = CASE.X.astype(np.float32)
    chunks = array.from_array(X, chunks=(50, -1)).persist()
    options: dict[str, Any] = {"method": "gradient", "tol": 1e-6}  # smooths the hinge losses
    model = DaskS3VC(**options).fit(chunks, CASE.labels, WEIGHTS)
    local = lapwing.S3VC(kernel="linear", multi_class="ovr", **options).fit(X, CASE.y, WEIGHTS)
    assert model.coef_.dtype == np.float32
    np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-5)
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-4)


@pytest.mark.parametrize("loss", list(UNLABELED_LOSSES))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_in_blocks_is_that_in_memory(client: Any, loss: str, weighted: bool) -> None:
    known, mass = np.flatnonzero(CASE.y >= 0), WEIGHTS if weighted else np.ones(120)
    rest = np.setdiff1d(np.arange(120), known)
    targets = np.where(CASE.y[known, None] == [0, 1], 1.0, -1.0)
    in_chunks = array.from_array(mass[:, None], chunks=(CASE.sizes, 1)).persist()
    weights = read_points(ClusterSession.of(client), in_chunks).rows
    points = read_points(ClusterSession.of(client), CASE.chunks)
    problem = ClusterProblem(points, known, targets, mass[known], weights if weighted else None)
    on_cluster = _ClusterObservations.of(problem, 2)
    local = ClassObservations(known, CASE.y[known], mass[known], rest, mass[rest], 2)
    settings: Any = SimpleNamespace(
        C=2.0, C_star=0.3, loss=SquaredHinge(), unlabeled_loss=UNLABELED_LOSSES[loss]()
    )
    column, bounds = targets[:, 1], (0.1, 0.1)
    ours = on_cluster.objective(LinearSpace(points.rows), column, bounds, settings)
    theirs = local.objective(LinearSpace(CASE.X), column, bounds, settings)
    function = Function(np.random.default_rng(2).normal(size=4) / 4, 0.1)
    for gamma in (0.0, 0.02):
        a, b = (one.smoothed(gamma) if gamma else one for one in (ours, theirs))
        assert a.value(function) == pytest.approx(b.value(function), rel=1e-12)
        for mine, other in zip(
            a.value_and_gradient(function), b.value_and_gradient(function), strict=True
        ):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
    held = np.arange(len(known))
    np.testing.assert_allclose(
        ours.ranks(function, held, mass[rest]), theirs.ranks(function, held, mass[rest])
    )
    assert ours.largest_norm == pytest.approx(theirs.largest_norm)
    assert on_cluster.mean(ours, function) == pytest.approx(local.mean(theirs, function))


def test_weights_count_as_in_memory(client: Any) -> None:
    local = lapwing.EigenfunctionClassifier().fit(CASE.X, CASE.y, WEIGHTS)
    for weights in (WEIGHTS, array.from_array(WEIGHTS, chunks=(77,))):
        same(DaskEigenfunctionClassifier().fit(CASE.chunks, CASE.labels, weights), local)
    some = np.where(CASE.y < 0, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"S3VC weighs unlabelled rows"):
        DaskS3VC().fit(CASE.chunks, CASE.labels, some)


@pytest.mark.parametrize("prior", ["uniform", {0: 0.5, 1: 0.3, 2: 0.2}])
def test_a_class_prior_is_met_as_in_memory(prior: Any, client: Any) -> None:
    model = DaskEigenfunctionClassifier(class_prior=prior).fit(THREE.chunks, THREE.labels)
    local = lapwing.EigenfunctionClassifier(class_prior=prior).fit(THREE.X, THREE.y)
    same(model, local)
    np.testing.assert_allclose(model.class_offsets_, local.class_offsets_, **CLOSE)
    np.testing.assert_allclose(model.intercept_, local.intercept_, **CLOSE)


def test_given_graphs(client: Any) -> None:
    W = KNNGraph(4).affinity(THREE.X)
    parameters: dict[str, Any] = {"space": Landmarks(centers=THREE.X[::10])}
    local = lapwing.LapERLSClassifier(graph=AffinityGraph(W), **parameters).fit(THREE.X, THREE.y)
    for graph in (W, AffinityGraph(sparse_chunks(W, 70, 0, 50))):
        model = DaskLapERLSClassifier(graph=graph, **parameters).fit(THREE.chunks, THREE.labels)
        same(model, local)

    with pytest.raises(ValueError, match=r"affinity has 100 rows but X has 120"):
        model.set_params(graph=W[:100][:, :100]).fit(THREE.chunks, THREE.labels)
    points = read_points(ClusterSession.of(client), THREE.chunks)

    def refused(chunks: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            given_affinity(chunks, points)

    refused(sparse_chunks(W[:100], 50, 50), re.escape("the shape (100, 120) but X has 120"))
    refused(array.from_array(W.toarray(), chunks=(60, 60)), r"cut by rows only")
    one_sided = sp.csr_array(sp.triu(W))
    refused(sparse_chunks(one_sided, 70, 50), r"The affinity is not symmetric")
    refused(sparse_chunks(-W, 70, 50), r"negative, NaN or infinite")


def test_points_are_summarised_in_one_pass(client: Any) -> None:
    points = read_points(ClusterSession.of(client), THREE.chunks)
    assert points.shape == THREE.X.shape
    assert points.largest == np.abs(THREE.X).max()
    np.testing.assert_allclose(points.mean, THREE.X.mean(axis=0))
    np.testing.assert_allclose(points.variances(), THREE.X.var(axis=0))
    np.testing.assert_array_equal(points.sample(200), THREE.X)
    assert points.sample(7).shape == (7, 4)
    halves = sp.csr_array(THREE.X)
    halves = sp.csr_array(
        (np.repeat(halves.data / 2, 2), np.repeat(halves.indices, 2), 2 * halves.indptr)
    )
    split = read_points(ClusterSession.of(client), sparse_chunks(halves, 70, 50))
    assert split.largest == points.largest
    assert split.stored == THREE.X.size
    np.testing.assert_array_equal(split[[3, 90]].toarray(), THREE.X[[3, 90]])


def test_blocks_smaller_than_the_neighbours(client: Any) -> None:
    X = array.from_array(THREE.X[:8], chunks=((1, 3, 4), -1)).persist()
    y = [0, 1, *[-1] * 6]
    graph = KNNGraph(6)
    parameters: dict[str, Any] = {"space": Landmarks(centers=THREE.X[:4]), "n_eigenvectors": 3}
    model = DaskLapERLSClassifier(graph=graph, **parameters).fit(X, y)
    local = lapwing.LapERLSClassifier(graph=graph, **parameters).fit(THREE.X[:8], y)
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::lapwing.exceptions.LapwingWarning")
def test_equal_rows_and_a_class_in_one_block_and_columns_in_several(client: Any) -> None:
    ones = array.ones((60, 2), chunks=((30, 30), -1)).persist()
    y = [0, 1, *[-1] * 58]
    equal = DaskLapERLSClassifier(space=Landmarks(centers=np.ones((1, 2)))).fit(ones, y)
    assert np.isfinite(equal.transduction_proba_.compute()).all()
    order = np.argsort(np.where(THREE.y == 0, -1, 0), kind="stable")
    X = array.from_array(THREE.X[order], chunks=((5, 0, 115), (3, 1))).persist()
    model = DaskEigenfunctionClassifier().fit(X, THREE.y[order])
    local = lapwing.EigenfunctionClassifier().fit(THREE.X[order], THREE.y[order])
    np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)
