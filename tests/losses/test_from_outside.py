"""Losses and methods of users as parameters of estimators.

They are written in tests/helpers/outside.py. Their optima are checked with those of the library, in
tests/solvers.
"""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from lapwing import S3VC, KNNGraph, LapSVC
from lapwing.losses import LOSSES, UNLABELED_LOSSES, Kind, SquaredHinge, TargetKind
from lapwing.losses import as_loss as as_labeled
from lapwing.losses.registry import loss_names
from lapwing.solvers.base import Status
from lapwing.solvers.low_density.methods import METHODS, Method, scheduled
from lapwing.solvers.manifold import dual as reduced
from lapwing.solvers.manifold import kinks
from lapwing.solvers.manifold.dual import dual
from lapwing.solvers.manifold.newton import newton
from tests.helpers.data import drawn_labels
from tests.helpers.outside import (
    CauchyBump,
    NearerHuber,
    Pinball,
    RoundedHinge,
    SteepHinge,
    halving,
)
from tests.helpers.problems import make_case

NAMES = ", ".join(map(repr, loss_names(TargetKind.SIGNS)))  # before any is added


@cache
def blobs() -> tuple[Any, Any]:
    """Points of two classes, and labels with -1 for none."""
    X, truth = make_blobs(60, centers=2, cluster_std=3.0, random_state=3)
    return X / np.abs(X).max(), drawn_labels(truth, 7, np.random.default_rng(0))


def svc(loss: Any, **changes: Any) -> LapSVC:
    graph = KNNGraph(4, normalized=True, power=2)
    options = {"gamma": 2.0, "gamma_A": 0.05, "gamma_I": 0.3, "graph": graph, "tol": 1e-11}
    return LapSVC(loss=loss, **(options | changes))


# ---- LapSVC --------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1e-2, 1e-3])
@pytest.mark.parametrize("graph", ["no graph", "normalized"])
def test_steep_losses_on_kernels_of_low_rank(graph: str, width: float) -> None:
    """An expansion over 30 labels in four dimensions loses the digits that a narrow corner asks."""
    for fit_intercept in (False, True):
        options = {"graph": graph, "fit_intercept": fit_intercept, "loss": RoundedHinge(width)}
        objective = make_case(space="linear", c=1, **options).objective()
        least = newton(objective)
        assert least.status == Status.CONVERGED
        value = objective.value(dual(objective).state)
        assert value == pytest.approx(objective.value(least.state), rel=1e-6)


def test_gap_bounds_the_excess_of_the_objective() -> None:
    """Of any slopes that the loss has somewhere, far from the optimum too."""
    rng = np.random.default_rng(0)
    case = make_case(n=30, graph="no graph", loss=SteepHinge(), c=1, gamma_A=1.0)
    objective = case.objective()
    least = objective.value(dual(objective).state)[0]
    for size in (0.1, 1.0, 5.0):
        seen = size * rng.standard_normal(case.y.shape)
        beta = -case.weights[:, None] * case.loss.derivative(case.y, seen)
        found = kinks._certified(objective, beta, np.zeros(1), seen)
        value = objective.value(found.state)[0]
        assert found.gap * value >= value - least > 0
    # sum beta = 0, the constraint of a bias, is violated by 0.3.
    biased, beta = replace(objective, fit_intercept=True), 0.3 * np.eye(30)[:, :1]
    scores = biased.labeled(biased.space.values(biased.scatter(beta))) + 2.0
    found = kinks._certified(biased, beta, np.full(1, 2.0), scores)
    assert found.gap * biased.value(found.state) == pytest.approx(0.3 * 2)


# ---- names, messages, scikit-learn ---------------------------------------------------------------


def test_registered_losses_and_methods_have_names(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = blobs()
    with pytest.raises(ValueError, match=re.escape(f"{NAMES}, or an object of")):
        LapSVC(loss="rounded_hinge").fit(X, y)
    monkeypatch.setitem(LOSSES, RoundedHinge.name, RoundedHinge)
    monkeypatch.setitem(UNLABELED_LOSSES, CauchyBump.name, CauchyBump)
    monkeypatch.setitem(METHODS, "halving", Method(scheduled(halving)))
    assert RoundedHinge.name == "rounded_hinge"
    assert loss_names(TargetKind.SIGNS)[:2] == ("squared_hinge", "hinge")
    assert loss_names(TargetKind.SIGNS)[-1] == "rounded_hinge"
    named, given = svc("rounded_hinge").fit(X, y), svc(RoundedHinge()).fit(X, y)
    np.testing.assert_array_equal(named.alpha_, given.alpha_)
    options = {"loss": "rounded_hinge", "unlabeled_loss": "cauchy_bump", "method": "halving"}
    named = S3VC(s=1.5, **options).fit(X, y)
    given = S3VC(
        loss=RoundedHinge(),
        unlabeled_loss=CauchyBump(1.5),  # by name it takes the estimator's s, as it has one
        method=Method(scheduled(halving)),
    ).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), given.decision_function(X))
    for estimator, known in (
        (LapSVC(loss="?"), f"{NAMES}, 'rounded_hinge', or"),
        (S3VC(loss="?"), f"{NAMES}, 'rounded_hinge', or"),
        (S3VC(unlabeled_loss="?"), "'auto', 'gaussian', 'symmetric_hinge', 'cauchy_bump', or"),
        (S3VC(method="?"), "'cccp', 'switching', 'halving', or"),
    ):
        with pytest.raises(ValueError, match=re.escape(known)):
            estimator.fit(X, y)


def test_losses_are_parameters_like_others() -> None:
    X, y = blobs()
    estimator = svc(RoundedHinge(0.2))
    assert estimator.get_params()["loss__width"] == 0.2
    copy = clone(estimator)
    assert copy.loss is not estimator.loss
    assert copy.loss == estimator.loss
    assert "RoundedHinge(width=0.2)" in repr(estimator)
    copy.set_params(loss__width=0.7)
    assert estimator.loss.width == 0.2
    fitted = copy.fit(X, y)
    np.testing.assert_array_equal(fitted.alpha_, svc(RoundedHinge(0.7)).fit(X, y).alpha_)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.loss == RoundedHinge(0.7)
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))
    method = Method(scheduled(halving))
    assert clone(S3VC(unlabeled_loss=CauchyBump(), method=method)).unlabeled_loss == CauchyBump()


def test_own_solvers_are_preferred_to_general_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that is made for a loss is one line in REDUCED."""

    seen = []

    def own(objective: Any, settings: Any) -> Any:
        seen.append(type(objective.loss))
        return newton(objective)

    monkeypatch.setitem(reduced.REDUCED, RoundedHinge, own)
    svc(RoundedHinge(0.5), solver="dual").fit(*blobs())
    assert seen == [RoundedHinge]
    assert reduced.reduced_solver(SquaredHinge()) is newton


# ---- what does not go together -------------------------------------------------------------------

REFUSED: list[tuple[Any, str]] = [
    (LapSVC(loss=RoundedHinge), f"must be one of {NAMES}, or an object of lapwing.losses.Loss."),
    (LapSVC(loss=CauchyBump()), f"loss=CauchyBump(s=3.0) must be one of {NAMES}, or"),
    (S3VC(unlabeled_loss=RoundedHinge()), "unlabeled_loss=RoundedHinge(width=0.5) must be one of"),
    (
        LapSVC(loss=SteepHinge(), solver="newton"),
        "a differentiable loss, and loss=SteepHinge(slope=3.0) is not. Use solver='dual' (or",
    ),
    (
        LapSVC(loss=SteepHinge(), stopping="stability"),
        "stopping needs solver='pcg' and a differentiable loss, not solver='auto' with loss=Steep",
    ),
    (
        S3VC(loss=RoundedHinge(0.2), method="cccp"),
        "knows the hinge only, not loss=RoundedHinge(width=0.2). Use loss='hinge', or another",
    ),
    (
        S3VC(loss=RoundedHinge(0.2), unlabeled_loss=NearerHuber(0.3), method="cccp"),
        "knows the RoundedHinge(width=0.3) only, not loss=RoundedHinge(width=0.2). Use loss=Round",
    ),
    (
        S3VC(loss=RoundedHinge(0.2), unlabeled_loss=NearerHuber(0.3)),
        "unlabeled_loss=NearerHuber(width=0.3) goes with loss=RoundedHinge(width=0.3), not loss=R",
    ),
    (
        S3VC(unlabeled_loss=CauchyBump(), method="continuation"),
        "unlabeled_loss=CauchyBump(s=3.0) has no smoothed and no bend. Add them, or use another",
    ),
]


@pytest.mark.parametrize(("estimator", "message"), REFUSED)
def test_rejects_incompatible_losses_before_any_work(estimator: Any, message: str) -> None:
    def never(a: Any, b: Any) -> Any:
        raise AssertionError("the kernel was computed")

    X, y = blobs()
    with pytest.raises(ValueError, match=re.escape(message)):
        clone(estimator).set_params(kernel=never).fit(X, y)


def test_rejects_kinked_unlabelled_loss_without_label_loss() -> None:
    class Kinked(CauchyBump):
        kind = Kind.KINKED

    X, y = blobs()
    with pytest.raises(ValueError, match=r"has kinks and does not say .*Add label_loss, that loss"):
        S3VC(unlabeled_loss=Kinked()).fit(X, y)


def test_rejects_classification_losses_for_regression() -> None:
    with pytest.raises(ValueError, match=r"RoundedHinge\(width=0.5\) is for classes: its targets"):
        as_labeled(RoundedHinge(), TargetKind.VALUES)
    assert as_labeled(Pinball(), TargetKind.SIGNS) == Pinball()
    with pytest.raises(TypeError, match=r"Did you mean RoundedHinge\(\.\.\.\)\?"):
        as_labeled(RoundedHinge, TargetKind.SIGNS)
    with pytest.raises(ValueError, match=f"loss='pinball' must be one of {NAMES}, or"):
        as_labeled("pinball", TargetKind.SIGNS)
