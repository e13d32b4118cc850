"""Machines of pairs of classes: rounds, threads and reports."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from lapwing import S3VC
from lapwing._host import threads
from lapwing.solvers.base import Serialized
from lapwing.solvers.low_density import machines
from tests.helpers.data import first_labels
from tests.helpers.low_density import ONE_DESCENT


def four_classes() -> tuple[Any, Any]:
    X, truth = make_blobs(60, centers=4, cluster_std=2.0, random_state=3)
    return X, first_labels(truth, 2)


def model(**options: Any) -> S3VC:
    return S3VC(random_state=0, **ONE_DESCENT, **options)


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random starts of a pair are its own, whichever thread comes first."""
    X, y = four_classes()
    alone = model(n_init=2).fit(X, y)
    seen = set()
    fit_pair = machines._fit_pair

    def watched(*args: Any) -> Any:
        seen.add(threading.current_thread().name)
        return fit_pair(*args)

    monkeypatch.setattr(machines, "_fit_pair", watched)
    monkeypatch.setattr(machines, "available_threads", lambda: 3)
    model(n_init=2).fit(X, y)
    assert seen == {threading.current_thread().name}  # small pairs wait for the interpreter
    monkeypatch.setattr(machines, "_SHARED", 0)
    shared = model(n_init=2).fit(X, y)
    assert len(seen) > 2
    np.testing.assert_array_equal(shared.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(shared.objective_, alone.objective_)


def test_one_start_draws_nothing_from_the_generator_of_the_caller() -> None:
    random = np.random.RandomState(0)
    S3VC(random_state=random, **ONE_DESCENT).fit(*four_classes())
    assert random.rand() == np.random.RandomState(0).rand()


def test_callbacks_are_called_by_one_thread_at_a_time() -> None:
    inside, most = [0], [0]

    def tell(column: int, known: Any) -> bool:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        for _ in range(200):
            known()
        inside[0] -= 1
        return False

    told = Serialized(tell)
    threads.share(4, lambda column: told(column, lambda: (np.zeros(1), 0.0)), range(50))
    assert most == [1]


def test_pairs_weight_unlabelled_points_by_the_shares_of_their_classes() -> None:
    indices, ones = np.arange(3), np.ones(3)
    observations = machines.ClassObservations(indices, indices, ones, 3 + indices, 2 * ones, 3)
    pair = observations.of_classes(np.array([0, 2]), np.array([0.1, 0.5, 1.0]))
    assert pair.index.tolist() == pair.codes.tolist() == [0, 2]
    assert pair.unlabeled.tolist() == [4, 5]  # without negligible shares
    assert pair.unlabeled_weights.tolist() == [1.0, 2.0]


def test_only_the_last_round_is_minimised_to_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes are asked of the others: they end near a minimum."""
    X, y = four_classes()
    minimize, rough = machines.minimize_low_density, []

    def counted(*args: Any, **options: Any) -> Any:
        rough.append(options["rough"])
        return minimize(*args, **options)

    monkeypatch.setattr(machines, "minimize_low_density", counted)
    model = S3VC().fit(X, y)
    assert rough == [True] * 6 * machines.ROUNDS + [False] * 6
    assert (model.optimality_ <= 1e-4).all()
