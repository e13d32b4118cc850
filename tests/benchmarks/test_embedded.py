"""The benchmark of the embedded-regression paper: grids, protocol, expectations, a small run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.embedded.digits import DigitsResult, predictions
from benchmarks.embedded.grid import GRID, Tuning, left_out, paper_gamma, squared_fit
from benchmarks.embedded.large import (
    LABELS_PER_CLASS,
    N_VALIDATION,
    SOURCES,
    draw_rows,
)
from benchmarks.embedded.library import SOLVERS, Agreement
from benchmarks.embedded.outside import OutsideResult
from benchmarks.embedded.prepared import Draw, Prepared, Recipe, prepare
from benchmarks.embedded.report import (
    AGREEMENT_LIMITS,
    NOTES,
    _use_checks,
    digits_results,
    large_results,
    scaling_results,
    small_results,
)
from benchmarks.embedded.results import SetResult
from benchmarks.embedded.scaling import STAGES, Use, measure_fit
from benchmarks.embedded.small import SMALL_SETS, transductive_draw
from benchmarks.shared import points as points_of_kinds
from benchmarks.shared.data import Data, shifted
from benchmarks.shared.output import Results
from benchmarks.shared.points import KINDS, N_FEATURES
from lapwing import KNNGraph


@pytest.fixture(scope="module")
def points() -> Prepared:
    """Two bent clouds, twice ten labels."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1], 60))
    X = rng.standard_normal((120, 4)) + 1.5 * y[:, None]
    splits = [
        np.concatenate([np.flatnonzero(y == c)[5 * k : 5 * k + 5] for c in (0, 1)])
        for k in range(2)
    ]
    return prepared(X, y, splits, 20)


def prepared(X: np.ndarray, y: np.ndarray, splits: list[np.ndarray], n_ev: int) -> Prepared:
    draws = [transductive_draw(y, labeled) for labeled in splits]
    return prepare(Data(X, y), Recipe(KNNGraph(5, power=2), n_ev, paper_gamma(X), None), draws)


# Grids


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize(
    ("n_landmarks", "tuning"),
    [
        (None, Tuning(0.1, 1e2, 1.0)),
        (None, Tuning(10.0, 1e4, 1e2)),
        (None, Tuning(1e4, 1e2, 1e-2)),
        (30, Tuning(1.0, 1e4, 1.0)),
    ],
)
def test_grid_equals_the_library(
    points: Prepared, method: str, n_landmarks: int | None, tuning: Tuning
) -> None:
    X, y = points.data.X, points.data.y
    points = replace(points, draws=points.draws[:1])
    if n_landmarks is not None:
        recipe = points.recipe._replace(n_landmarks=n_landmarks)
        points = prepare(points.data, recipe, points.draws)
    fit = points.fit(method, y, [tuning], 20)
    theirs, seconds = points.library(method, y, tuning, 20)
    found = Agreement.of(points.embedding.values(fit)[:, 0], theirs)
    assert found == points.agreement(method, y, tuning, 20)
    assert found.difference < (1e-6 if method == "laperls" else 2e-2)
    assert found.signs == 0
    assert seconds > 0
    if n_landmarks is not None:
        values = points.embedding.values(fit, slice(0, 7))
        assert_allclose(points.embedding.predict(X[:7], fit), values, atol=1e-9)


@pytest.mark.parametrize("tuning", [GRID[0], GRID[70], GRID[-1]])
def test_left_out_is_a_fit_without_the_label(points: Prepared, tuning: Tuning) -> None:
    e, labeled = points.embedding, points.draws[0].labeled
    y = 2.0 * points.data.y[labeled, None] - 1
    f, g = left_out(e, tuning, labeled, y)
    for i, row in enumerate(labeled):
        side = e.side(np.delete(labeled, i), np.delete(y, i, axis=0), tuning)
        fit = squared_fit(e, tuning.C, [side])
        assert_allclose(f[i], e.values(fit, [row])[0], rtol=1e-5, atol=1e-7)
        assert_allclose(g[i], e.virtual(fit, [row])[0], rtol=1e-5, atol=1e-7)


def test_grid_errors_are_those_of_single_fits(points: Prepared) -> None:
    """Of the grid on validation points, and of a fit on the unlabelled points."""
    y = points.data.y
    draws = [Draw(labeled, rest[:50], rest[50:]) for labeled, rest, _ in points.draws]
    points = replace(points, draws=draws)
    grid = points.grid_errors("laperls", y, GRID, 8)
    assert grid["f"].shape == grid["g"].shape == (2, len(GRID))
    for j in (0, 50, 146):
        fit = points.fit("laperls", y, [GRID[j]], 8)
        found = points.errors(y, fit)
        for answer, values in (
            ("f", points.embedding.values(fit)),
            ("g", points.embedding.virtual(fit)),
        ):
            for k, draw in enumerate(draws):
                wrong = (values[:, k] >= 0) != (y == 1)
                assert grid[answer][k, j] == pytest.approx(100 * wrong[draw.validation].mean())
                assert found[answer][k] == pytest.approx(100 * wrong[draw.unlabeled].mean())


def test_paper_gamma_is_the_mean_squared_distance() -> None:
    X = np.random.default_rng(1).standard_normal((30, 3))
    squares = ((X[:, None] - X) ** 2).sum()
    assert paper_gamma(X) == pytest.approx(30**2 / squares)


# Protocol


def test_draws_have_ten_labels_a_class() -> None:
    y = np.repeat([0, 1, 2], [20, 3000, 500])
    one, same, other = draw_rows(y, 0, 0), draw_rows(y, 0, 0), draw_rows(y, 0, 1)
    assert_array_equal(np.bincount(y[one.labeled]), [LABELS_PER_CLASS] * 3)
    assert one.validation.size == N_VALIDATION
    assert_array_equal(np.sort(np.concatenate(one)), np.arange(y.size))
    assert_array_equal(one.labeled, same.labeled)
    assert not np.array_equal(one.labeled, other.labeled)


def test_tasks_of_mnist() -> None:
    one, two = SOURCES["mnist"].tasks
    digits = np.arange(10)
    assert_array_equal(one.targets(digits), digits >= 5)
    assert_array_equal(two.targets(digits), digits % 2)


def test_shifted_images_are_at_all_offsets() -> None:
    images = np.random.default_rng(0).uniform(0.5, 1, (2, 16, 16)).astype(np.float32)
    canvas = shifted(images).reshape(2, 11, 11, 26, 26)
    assert_array_equal(canvas[1, 3, 10, 3:19, 10:26], images[1])
    expected = np.broadcast_to(images.sum(axis=(1, 2))[:, None, None], (2, 11, 11))
    assert_allclose(canvas.sum(axis=(3, 4)), expected, rtol=1e-5)


def test_digits_meet_the_prior() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 20)
    X = rng.standard_normal((200, 5)) + 3 * rng.standard_normal((10, 5))[y]
    labeled = np.flatnonzero(np.arange(200) % 20 == 0)
    e = prepared(X, y, [labeled], 30).embedding
    found = predictions(e, y, labeled, 20)
    assert set(found) == {"g", "g prior", "f", "f prior"}
    assert_array_equal(np.bincount(found["g prior"]), np.full(10, 20))


# Scaling


@pytest.mark.parametrize("kind", ["sheets", "blobs"])
def test_points_are_the_same_every_time(kind: str) -> None:
    X, y = KINDS[kind](500)
    assert X.shape == (500, N_FEATURES)
    assert X.dtype == np.float32
    assert_array_equal(np.bincount(y), np.full(10, 50))
    assert_array_equal(X, KINDS[kind](500)[0])


def test_images_are_digits_moved_and_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn and a move as a map of pixels, and every image in another way each time."""
    drawn = np.zeros((28, 28), dtype=np.float32)
    drawn[12:16, 5:23] = 1  # a bar
    moved = (drawn.ravel() @ points_of_kinds._changed(0, 2, -1)).reshape(28, 28)
    assert_array_equal(moved, np.roll(drawn, (2, -1), axis=(0, 1)))
    turned = (drawn.ravel() @ points_of_kinds._changed(6, 0, 0)).reshape(28, 28)
    assert_allclose(turned.sum(), drawn.sum(), rtol=0.05)
    assert_allclose(turned, turned[::-1, ::-1], atol=1e-5)  # about the middle
    assert turned[:14, 14:].sum() != pytest.approx(turned[:14, :14].sum(), rel=0.1)
    rng = np.random.default_rng(0)
    some = Data(rng.uniform(0, 255, (100, 784)).astype(np.float32), np.arange(100) % 10)
    monkeypatch.setattr(points_of_kinds, "load", lambda name: some)
    monkeypatch.setattr(points_of_kinds, "_DEGREES", (0, 6))
    X, y = KINDS["images"](450)
    assert X.shape == (450, N_FEATURES)
    assert np.bincount(y).min() >= 40
    assert len(np.unique(X.round(4), axis=0)) == 450
    assert_array_equal(X, KINDS["images"](450)[0])


@pytest.mark.parametrize("exact", ["", ":exact"])
def test_scaling_measures_every_stage(exact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    if not exact:
        monkeypatch.setattr("lapwing.graphs.neighbors._SKLEARN_POINTS", 1000)
        monkeypatch.setattr("lapwing.graphs.neighbors._FLAT_OPERATIONS", 0)
    use = measure_fit(f"sheets:2000{exact}")
    assert use.n_points == 2000
    assert max(use.errors.values()) < 5
    assert 0.9 < use.recall <= 1
    assert (use.recall == 1) == bool(exact) == ("search" not in use.limits)
    assert use.total == pytest.approx(sum(use.seconds[name] for name in STAGES), rel=0.2)
    assert min(use.seconds.values()) > 0
    (table,) = scaling_results([use]).tables
    assert table.rows[0][0] == f"sheets:2000{exact}"
    assert (table.rows[0][7] == "-") == bool(exact)


# Expectations


def small(name: str, error: float, difference: float = 0.0) -> SetResult:
    rows = {f"{m} {a} tuned": [error] for m in SOLVERS for a in "fg"}
    chosen = {f"{m} {a}": GRID[0] for m in SOLVERS for a in "fg"}
    agreement = {"laperls": Agreement(difference, 100 * difference)}
    return SetResult(name, SMALL_SETS[name].title, rows, chosen, {}, agreement)


def table_ii(error: float) -> Results:
    return small_results([small(name, error) for name in SMALL_SETS])


def agreement(difference: float) -> Results:
    return small_results([small("usps", 1.0, difference * AGREEMENT_LIMITS["laperls"][0])])


def mnist1(error: float) -> Results:
    rates = {f"laperls {a} {c}": [error] * 10 for a in "fg" for c in ("validated", "default")}
    return large_results([SetResult("mnist1", "MNIST1", rates)])


def ten_classes(error: float, differ: float = 0.0) -> Results:
    rates = {f"{count} 50 g prior": [error] * 100 for count in (1, 5)}
    return digits_results(DigitsResult(70_000, rates, {"5 50": differ}))


def use_of(points: str, seconds: float, n: int, peak: float = 1.0, error: float = 1.0) -> Use:
    return Use(points, n, {"fit": seconds}, {}, int(peak * 1e9), {"g": 1.0, "f": error}, 1.0, 1.0)


def beside_exact(error: float) -> Results:
    uses = [use_of("blobs:1000", 1, 1000, error=error), use_of("blobs:1000:exact", 1, 1000)]
    return Results([], _use_checks(uses))


def growth(seconds: float) -> Results:
    uses = [use_of("sheets:10000", 1, 10_000), use_of("blobs:20", 9, 20)]
    uses += [use_of("sheets:100000", seconds, 100_000), use_of("sheets:10000:exact", 9, 10_000)]
    return Results([], _use_checks(uses))


def fit(seconds: float, gigabytes: float) -> Results:
    return Results([], _use_checks([use_of("pixels:70000", seconds, 70_000, gigabytes)]))


@pytest.mark.parametrize(
    ("what", "met", "missed"),
    [
        ("Table II, mean of six sets, LapERLS", table_ii(27.9), table_ii(28.2)),
        ("grid against the library, USPS, LapERLS", agreement(0.5), agreement(2)),
        ("MNIST1, LapERLS f, defaults", mnist1(5.4), mnist1(5.5)),
        ("MNIST1, LapERLS g, by validation", mnist1(4.0), mnist1(5.4)),
        ("MNIST, ten classes, 5 labels per class, prior known", ten_classes(4.5), ten_classes(4.6)),
        (
            "grid against LapERLSClassifier(class_prior=...), 5 labels per class",
            ten_classes(4.5),
            ten_classes(4.5, 0.2),
        ),
        ("fit, pixels:70000", fit(7.9, 2.9), fit(9, 2)),
        ("memory of a fit, pixels:70000", fit(7.9, 2.9), fit(7, 4)),
        ("error above that of an exact search, blobs:1000", beside_exact(1.15), beside_exact(1.3)),
        ("time from 10000 to 100000 sheets", growth(12), growth(13)),
    ],
)
def test_limits(what: str, met: Results, missed: Results) -> None:
    assert [check.passed for check in met.checks if check.what == what] == [True]
    assert [check.passed for check in missed.checks if check.what == what] == [False]


def test_notes_are_about_checks_that_exist() -> None:
    tasks = [task for source in SOURCES.values() for task in source.tasks]
    rates = {f"laperls {a} {c}": [1.0] for a in "fg" for c in ("validated", "default")}
    outside = {"laperls validated": [1.0], "laperls default": [1.0]}
    digits = {f"{count} 50 g prior": [1.0] for count in (1, 5)}
    large = [SetResult(task.name, task.title, rates) for task in tasks]
    beyond = OutsideResult(1, outside, dict.fromkeys(outside, 1.0))
    parts = large_results(large, beyond), digits_results(DigitsResult(1, digits, {}))
    assert set(NOTES) <= {check.what for part in parts for check in part.checks}
