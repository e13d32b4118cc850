"""Fits with other labels: as fits from scratch, by every estimator."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from lapwing import S3VC, KNNGraph, LapRLSClassifier, LapSVC
from lapwing._host.threads import share
from lapwing.classes.decoding import predict_codes
from lapwing.estimators import s3vm
from lapwing.estimators.prepared import Refits, removable, without
from lapwing.estimators.template import prepare, solve
from lapwing.solvers.manifold.deformed import DeformedKernel
from tests.estimators.test_prepare import EXAMPLES, data_for, every_example

APART = 1e-7
# S3VC ends in one of several minima, and a duality gap of tol leaves some digits of the values.
LOOSE = {"LapSVC, pcg": 1e-4, "LapSVC, hinge": 1e-4, "LapSVR": 1e-4, "LapESVR": 1e-4}


def refits_of(estimator: Any) -> tuple[Any, Any, Any]:
    X, y, other, weights = data_for(estimator)
    estimator = clone(estimator)
    prepared = prepare(estimator, X, y, weights)
    return estimator._refits(prepared), prepared, (X, y, other, weights)


@every_example
def test_other_labels_give_what_a_solution_from_scratch_gives(name: str) -> None:
    estimator, _ = EXAMPLES[name]
    refits, prepared, (_, _, other, weights) = refits_of(estimator)
    changed = prepared.relabeled(refits.estimator._read_targets(other), weights)
    refits = refits.covering(changed.problem.index)
    expected = solve(refits.estimator, changed)
    scale = max(1.0, np.abs(expected.values).max())
    atol = scale * LOOSE.get(name, APART)
    np.testing.assert_allclose(refits.values(changed), expected.values, atol=atol)
    found = refits.solve(changed)
    np.testing.assert_allclose(found.values, expected.values, atol=atol)
    assigned, wanted = SimpleNamespace(), SimpleNamespace()
    found.assign(assigned)
    expected.assign(wanted)
    np.testing.assert_allclose(assigned.objective_, wanted.objective_, rtol=1e-6)
    assert set(vars(assigned)) == set(vars(wanted))


@every_example
def test_left_out_values_are_those_of_fits_without_the_label(name: str) -> None:
    estimator, _ = EXAMPLES[name]
    refits, prepared, _ = refits_of(estimator)
    found = refits.left_out()
    assert found.shape == prepared.problem.targets.shape or name.startswith("S3VC")
    some = np.flatnonzero(removable(prepared, refits.estimator._regression))[1::9]
    assert len(some)
    for i in some:
        rest = without(prepared, i)
        assert len(rest.problem.index) == len(prepared.problem.index) - 1
        expected = solve(refits.estimator, rest).values
        atol = max(1.0, np.abs(expected).max()) * LOOSE.get(name, APART)
        at = prepared.problem.index[i]
        np.testing.assert_allclose(found[i], expected[at], atol=atol)


def test_the_only_label_of_a_class_cannot_be_left_out() -> None:
    X, y, _, _ = data_for(LapSVC())
    first = np.flatnonzero(y == 2)
    y[first[1:]] = -1
    for estimator in (LapSVC(), Generic()):
        prepared = prepare(estimator, X, y)
        missing = np.isnan(estimator._refits(prepared).left_out()).any(axis=1)
        np.testing.assert_array_equal(missing, predict_codes(prepared.problem.targets) == 2)


class Generic(LapRLSClassifier):
    """Keeps nothing between fits."""

    def _refits(self, prepared: Any) -> Refits:
        return Refits(self, prepared)


def test_what_a_family_keeps_changes_no_answer() -> None:
    X, y, _, weights = data_for(LapRLSClassifier())
    prepared = prepare(LapRLSClassifier(), X, y, weights)
    special, plain = LapRLSClassifier()._refits(prepared), Generic()._refits(prepared)
    np.testing.assert_allclose(special.left_out(), plain.left_out(), atol=1e-8)


def test_one_factorisation_serves_all(monkeypatch: pytest.MonkeyPatch) -> None:
    factored, solved = [], []
    of, at = DeformedKernel.of.__func__, DeformedKernel.at

    def counted_of(cls: Any, objective: Any) -> Any:
        factored.append(1)
        return of(cls, objective)

    def counted_at(self: Any, points: Any, known: Any = None) -> Any:
        made = at(self, points, known)
        solved.append(made is not known)
        return made

    monkeypatch.setattr(DeformedKernel, "of", classmethod(counted_of))
    monkeypatch.setattr(DeformedKernel, "at", counted_at)
    estimator = LapSVC(graph=KNNGraph(5))
    refits, prepared, (_, _, other, _) = refits_of(estimator)
    refits.left_out()
    changed = prepared.relabeled(refits.estimator._read_targets(other))
    refits = refits.covering(changed.problem.index)
    for _ in range(3):
        refits.values(changed)
        refits.solve(changed)
    assert len(factored) == 1
    assert sum(solved) == 2  # the labels of the fit, and the others at once


def test_every_family_is_tried_with_weights_and_repeated_rows() -> None:
    """What the shared data of this file hold: the tests above would miss them silently."""
    for estimator, _ in EXAMPLES.values():
        X, y, _, weights = data_for(estimator)
        assert (X[10] == X[11]).all()
        assert np.ptp(weights) > 0
        assert is_classifier(estimator) or np.isnan(y).any()


@pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)])
def test_threads_share_what_is_left_out_of_low_density(
    random_state: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generator is drawn from in the order of the labels: its fits stay in one thread."""
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.full(40, -1)
    y[:6] = np.arange(6) % 2
    estimator = S3VC("linear", random_state=random_state)
    refits = estimator._refits(prepare(estimator, X, y))
    asked = []

    def shared(n_threads: int, *work: Any) -> Any:
        asked.append(n_threads)
        return share(n_threads, *work)

    monkeypatch.setattr(s3vm, "share", shared)
    monkeypatch.setattr(s3vm, "available_threads", lambda: 3)
    found = refits.left_out_of(np.arange(4))
    assert asked == [3 if random_state == 0 else 1]
    for i in range(4):
        alone = solve(estimator, without(refits.prepared, i))
        np.testing.assert_array_equal(found[i], alone.values[refits.prepared.problem.index[i]])
    assert np.isnan(found[4:]).all()
