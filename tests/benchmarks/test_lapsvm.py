"""The benchmarks: protocol, statistics, tables, expectations, and one small run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from benchmarks.lapsvm import paper
from benchmarks.lapsvm.command import methods_of
from benchmarks.lapsvm.descents import Descent, descend, mean_descent
from benchmarks.lapsvm.figures import settled_at
from benchmarks.lapsvm.limits import NOTES, check_all, printed_loss
from benchmarks.lapsvm.memory import MemoryUse
from benchmarks.lapsvm.methods import METHODS, STOPS, MethodRun, run_method
from benchmarks.lapsvm.problems import PROBLEMS, Problem
from benchmarks.lapsvm.protocol import cross_validation_splits, official_splits
from benchmarks.lapsvm.report import SetResult, all_tables
from benchmarks.lapsvm.setting import Setting, prepare_setting
from benchmarks.lapsvm.spread import spread_table
from benchmarks.shared.checks import Check
from benchmarks.shared.data import Data
from benchmarks.shared.kernels import gaussian
from benchmarks.shared.labels import error_rate, macro_error_rate
from benchmarks.shared.stats import Stat

# Points of each class, as the sets of the paper have them.
G50C, PCMAC = (275, 275), (961, 985)
USPST = (327, 273, 206, 178, 196, 140, 174, 173, 160, 180)


def classes(counts: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))


# Protocol


@pytest.mark.parametrize(
    ("counts", "name"),
    [(G50C, "g50c"), (PCMAC, "pcmac"), (USPST, "uspst"), ((72,) * 20, "coil20")],
)
def test_last_fold_has_the_sizes_of_table_2(counts: tuple[int, ...], name: str) -> None:
    sizes = paper.SIZES[name]
    assert PROBLEMS[name].sizes == (sizes[0], sizes[2])
    splits = cross_validation_splits(classes(counts), (sizes[0], sizes[2]))
    assert len(splits) == 12
    last = splits[3]
    found = tuple(p.size for p in (last.labeled, last.unlabeled, last.validation, last.test))
    assert found == sizes


@given(
    counts=st.lists(st.integers(8, 40), min_size=2, max_size=4).map(tuple),
    n_folds=st.integers(2, 5),
    seed=st.integers(0, 9),
)
def test_splits_are_disjoint_stratified_and_cover(
    counts: tuple[int, ...], n_folds: int, seed: int
) -> None:
    y = classes(counts, seed)
    sizes = (len(counts), len(counts) + 1)
    splits = cross_validation_splits(y, sizes, n_folds=n_folds, n_repeats=2, seed=seed)
    assert len(splits) == 2 * n_folds
    for split in splits:
        parts = [split.labeled, split.unlabeled, split.validation, split.test]
        assert_array_equal(np.sort(np.concatenate(parts)), np.arange(y.size))
        assert (split.labeled.size, split.validation.size) == sizes
        for part in (split.labeled, split.validation):
            assert_array_equal(np.unique(y[part]), np.arange(len(counts)))
        assert_array_equal(split.train, np.concatenate([split.labeled, split.unlabeled]))
        assert_array_equal(split.held_out, np.concatenate([split.validation, split.test]))
        # Rounding leaves the last fold n_folds / 2 points a class away from the mean at most.
        per_class = np.bincount(y[split.test], minlength=len(counts))
        assert np.all(np.abs(per_class - np.array(counts) / n_folds) <= n_folds / 2)
    for repeat in range(2):
        tests = [s.test for s in splits[repeat * n_folds : (repeat + 1) * n_folds]]
        assert_array_equal(np.sort(np.concatenate(tests)), np.arange(y.size))


def test_splits_of_a_seed_are_those_of_published_results() -> None:
    y = classes(G50C)
    splits = cross_validation_splits(y, (50, 50), seed=3)
    assert [split.labeled.sum() for split in splits[::5]] == [13173, 13765, 14159]
    # Repetitions and folds differ, and fewer repetitions are the first of more.
    assert len({tuple(split.labeled) for split in splits}) == 12
    short = cross_validation_splits(y, (50, 50), n_repeats=1, seed=3)
    assert_array_equal(short[2].validation, splits[2].validation)


def test_official_splits_keep_the_test_part() -> None:
    y = classes((40, 60))
    is_test = np.arange(100) % 4 == 0
    splits = official_splits(y, is_test, (2, 10), n_repeats=3)
    assert len(splits) == 3
    for split in splits:
        assert_array_equal(split.test, np.flatnonzero(is_test))
        assert_array_equal(np.unique(y[split.labeled]), [0, 1])
        assert split.unlabeled.size == 75 - 12
    assert not np.array_equal(splits[0].validation, splits[1].validation)


def test_two_class_versions_have_the_splits_of_the_classes() -> None:
    data = Data(np.zeros((2007, 1)), classes(USPST))
    ten, two = PROBLEMS["uspst"], PROBLEMS["uspstb"]
    for a, b in zip(ten.splits(data), two.splits(data), strict=True):
        assert_array_equal(a.labeled, b.labeled)
        assert_array_equal(a.test, b.test)
    assert_array_equal(ten.targets(data), data.y)
    assert_array_equal(two.targets(data), (data.y >= 5).astype(int))


def test_error_rates() -> None:
    y, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0])
    assert error_rate(y, predicted) == 50.0
    assert macro_error_rate(y, predicted) == pytest.approx(100 * (1 / 3 + 1) / 2)
    assert macro_error_rate(y, y) == 0.0


# Statistics, tables, and the paper's figures


def test_stat_is_the_sample_deviation() -> None:
    # MNIST3VS8 in Table 4: 1.67 (1.44) % on 80 validation points is 0, 2 and 2 errors.
    assert Stat.of([0.0, 2.5, 2.5]).show() == "1.67 (1.44)"
    assert Stat.of([3.0]) == (3.0, 0.0)
    with pytest.raises(ValueError, match="one value at least"):
        Stat.of([])


def test_the_papers_loss_of_accuracy_is_half_a_point() -> None:
    for stop in STOPS:
        assert printed_loss(PROBLEMS, stop) == pytest.approx(0.5, abs=0.02)


# Expectations


def outcome(error: float = 1.0, seconds: float = 1.0, objective: float = 2.0) -> MethodRun:
    return MethodRun(dict.fromkeys("LUVT", error), seconds, 7, (objective,), "pcg", "converged")


def result_of(
    problem: Problem, outcomes: dict[str, list[MethodRun]], **references: list[float]
) -> SetResult:
    return SetResult(problem, (1, 2, 3, 4), outcomes, references)


def checks_of(
    name: str, outcomes: dict[str, list[MethodRun]], **references: list[float]
) -> dict[str, Check]:
    result = result_of(PROBLEMS[name], outcomes, **references)
    return {check.what: check for check in check_all([result], None)}


def exact_error(error: float) -> dict[str, Check]:
    return checks_of("g50c", {"newton": [outcome(error)] * 12})


def early_error(error: float) -> dict[str, Check]:
    return checks_of("coil20", {"newton": [outcome(1.0)] * 12, "mixed": [outcome(error)] * 12})


def objective_gap(gap: float) -> dict[str, Check]:
    pcg = [outcome(objective=2 + 2 * gap)]
    return checks_of("g50c", {"newton": [outcome()] * 2, "pcg": pcg})


def exact_time(seconds: float) -> dict[str, Check]:
    runs = {"newton": [outcome()], "exact": [outcome(seconds=seconds)]}
    return checks_of("uspst", runs, lu=[0.2])


def pcg_time(seconds: float) -> dict[str, Check]:
    runs = {"newton": [outcome()], "stability": [outcome(seconds=seconds)]}
    return checks_of("mnist3vs8", runs, products=[2.0])


def memory(peak: int) -> dict[str, Check]:
    return {check.what: check for check in check_all([], MemoryUse(5, 100, 10, peak, 3, 1.0))}


@pytest.mark.parametrize(
    ("what", "met", "missed"),
    [
        ("error U, exact, G50C", exact_error(6.6), exact_error(6.61)),
        ("loss of accuracy, PCG [Mixed Check]", early_error(1.29), early_error(1.31)),
        ("objective of PCG against Newton, G50C", objective_gap(1e-9), objective_gap(-1e-7)),
        ("objective of PCG against Newton, G50C", objective_gap(1e-9), objective_gap(1e-7)),
        ("USPST, ten classes, exact, seconds", exact_time(0.39), exact_time(0.41)),
        ("MNIST3VS8, PCG to the stability stop, seconds", pcg_time(2.9), pcg_time(3.1)),
        ("FACEMIT training part, PCG, peak memory", memory(120), memory(121)),
    ],
)
def test_limits(what: str, met: dict[str, Check], missed: dict[str, Check]) -> None:
    assert met[what].passed is True
    assert missed[what].passed is False


def test_spread_counts_the_seeds_within_the_limit() -> None:
    table = spread_table({"g50c": [6.0, 6.6, 7.0]}, {"g50c": "G50C"})
    assert table.rows == [["G50C", "6.53 (0.50)", "6.16", "0.44", "2 of 3"]]


def test_notes_are_about_checks_that_exist() -> None:
    runs = {name: [outcome()] * 12 for name in METHODS}
    results = [result_of(problem, runs, lu=[1.0], products=[1.0]) for problem in PROBLEMS.values()]
    known = {check.what for check in check_all(results, MemoryUse(1, 1, 1, 1, 1, 1.0))}
    assert set(NOTES) <= known


# Runs


@pytest.fixture(scope="module")
def setting() -> Setting:
    """Three well separated clouds as a problem of the benchmark."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = rng.standard_normal((120, 2)) + 7.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    problem = Problem("g50c", "Clouds", lambda: Data(X, y), gaussian(2.0), 5, 2, (6, 6))
    data = problem.load()
    return prepare_setting(problem, data, problem.splits(data)[0])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_three_clouds(setting: Setting, name: str) -> None:
    weights = paper.NormWeights(1e-2, 0.0 if METHODS[name].supervised else 1.0)
    found = run_method(METHODS[name], setting, weights)
    assert found.errors == dict.fromkeys("LUVT", 0.0)
    assert found.seconds > 0
    assert len(found.objective) == 3
    assert (found.solver == "pcg") == (name in (*STOPS, "pcg"))


def test_setting_orders_rows_by_part(setting: Setting) -> None:
    split, y = setting.split, setting.problem.load().y
    for part, rows in zip(
        "LUVT", (split.labeled, split.unlabeled, split.validation, split.test), strict=True
    ):
        assert_array_equal(setting.y[setting.parts()[part]], y[rows])
    X = setting.problem.load().X
    distances = ((X[split.held_out][:, None] - X[split.train]) ** 2).sum(axis=2)
    np.testing.assert_allclose(setting.K_new, np.exp(-distances / (2 * 2.0**2)), atol=1e-12)
    assert_array_equal(setting.y_train[: setting.n_labeled], y[split.labeled])
    assert (setting.y_train[setting.n_labeled :] == -1).all()


def test_descent_equals_that_of_the_estimator(setting: Setting) -> None:
    weights = paper.NormWeights(1e-2, 1.0)
    path = descend(setting, weights, 30)
    assert all(curve.shape == (30,) for curve in (*path.errors.values(), *path.values.values()))
    assert all(curve[0] == 1 for curve in path.values.values())
    assert (np.diff(path.values["objective"]) <= 1e-12).all()
    assert path.values["mixed"][-1] < 1e-2
    final = run_method(METHODS["newton"], setting, weights)
    assert {part: curve[-1] for part, curve in path.errors.items()} == final.errors


def test_mean_path_continues_short_curves() -> None:
    def path(curve: list[float]) -> Descent:
        values = {"objective", "gradient", "preconditioned", "mixed"}
        array = np.array(curve)
        return Descent(dict.fromkeys("LUVT", array), dict.fromkeys(values, array))

    mean = mean_descent([path([4.0, 2.0]), path([2.0, 2.0, 0.0])])
    assert_array_equal(mean.errors["U"], [3.0, 2.0, 1.0])
    assert [settled_at(mean, within) for within in (0.5, 1.0, 2.0)] == [3, 2, 1]


def test_slow_methods_have_one_split_of_a_large_set() -> None:
    large, small = PROBLEMS["mnist3vs8"], PROBLEMS["uspst"]
    assert {"newton", "dual"} <= set(methods_of(large, first=True))
    assert not {"newton", "dual"} & set(methods_of(large, first=False))
    assert {"exact", "stability"} <= set(methods_of(large, first=False))
    assert {"newton", "dual"} <= set(methods_of(small, first=False))


def test_fewer_splits_of_a_slow_method_are_shown() -> None:
    runs = {"newton": [outcome(9.0)], "exact": [outcome(2.0)] * 3, "mixed": [outcome(2.2)] * 3}
    result = result_of(PROBLEMS["mnist3vs8"], runs)
    checks = checks_of("mnist3vs8", runs)
    assert checks["error U, exact, MNIST3VS8"].passed
    assert checks["error U, exact, MNIST3VS8"].measured == "2.00 (0.00) %"
    assert checks["loss of accuracy, PCG [Mixed Check]"].measured == "0.20 (0.00) points"
    table = next(t for t in all_tables([result]) if "Table 7" in t.title)
    assert [row[1:3] for row in table.rows] == [
        ["LapSVM Primal (Newton)", "9.00 (0.00) [2.20 (0.14)] (1 split)"],
        ["LapSVM exact (auto)", "2.00 (0.00)"],
        ["PCG [Mixed Check]", "2.20 (0.00) [2.11 (0.06)]"],
    ]
