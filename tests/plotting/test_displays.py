"""What all displays have in common, and what each of them draws."""

from __future__ import annotations

import doctest
import inspect
import io
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib import pyplot
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray
from numpydoc.docscrape import ClassDoc
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import lapwing
from lapwing import S3VC, AffinityGraph, LapRLSClassifierCV, LapSVC, plotting
from lapwing.datasets import mask_labels
from tests.helpers.colors import contrast

Array = NDArray[Any]

X, TRUTH = make_blobs(30, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
Y = mask_labels(TRUTH, 2, random_state=0)
GRID = {"gamma_As": [1e-4, 1e-2], "gamma_Is": [0.1, 1.0, 10.0]}


MODEL = LapSVC().fit(X, Y)
PATH = LapRLSClassifierCV(**GRID).fit(X, Y)
SOLVED = LapSVC(solver="pcg").fit(X, Y)
PROBA = np.random.default_rng(0).random(200)
SO = np.random.default_rng(1).random(200) < PROBA
ENDS = np.column_stack([PROBA**2 - 0.1, PROBA**2 + 0.2])

draw_map = partial(plotting.DecisionMapDisplay.from_estimator, resolution=20)
scatter = plotting.scatter_predictions
draw_graph = plotting.GraphDisplay.from_estimator
draw_path = plotting.PathDisplay.from_estimator
draw_convergence = plotting.ConvergenceDisplay.from_estimator
calibrate = plotting.CalibrationDisplay.from_predictions
draw_intervals = plotting.PredictionIntervalDisplay.from_predictions

# An example of every display, to be called with the Axes to draw into.
EXAMPLES: dict[str, Callable[..., Any]] = {
    "DecisionMapDisplay": partial(draw_map, MODEL, X, Y),
    "GraphDisplay": partial(draw_graph, MODEL, X),
    "PathDisplay": partial(draw_path, PATH),
    "ConvergenceDisplay": partial(draw_convergence, SOLVED),
    "CalibrationDisplay": partial(calibrate, SO, PROBA),
    "PredictionIntervalDisplay": partial(
        draw_intervals, PROBA, y_pred=PROBA**2, y_interval=ENDS, coverage=0.8
    ),
}
NAMES = sorted(EXAMPLES)


def example(name: str, ax: Any = None) -> Any:
    return EXAMPLES[name](ax=ax, title="A title")


def test_every_display_has_an_example() -> None:
    assert [name for name in plotting.__all__ if name.endswith("Display")] == NAMES


def artists(display: Any) -> dict[str, Any]:
    return {key: value for key, value in vars(display).items() if key.endswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_display_draws_into_given_axes_or_those_of_pyplot_and_is_kept(name: str) -> None:
    axes = Figure().add_subplot()
    before = dict(mpl.rcParams)
    display = example(name, axes)
    assert (display.ax_, display.figure_) == (axes, axes.figure)
    assert axes.get_title(loc="left") == "A title"
    assert pyplot.get_fignums() == []
    assert display.plot() is display
    assert display.ax_ is not axes
    assert display.ax_.dataLim.bounds == axes.dataLim.bounds, "the same once more"
    figures = [display.figure_, example(name).figure_]
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == figures
    figures[1].savefig(io.BytesIO(), dpi=20)
    assert dict(mpl.rcParams) == before
    make = getattr(plotting, name)
    kept = {key: getattr(display, key) for key in inspect.signature(make).parameters}
    assert make(**kept).plot().ax_.dataLim.bounds == axes.dataLim.bounds
    documented = {entry.name for entry in ClassDoc(make)["Attributes"]}
    assert set(artists(display)) == documented
    assert {"ax_", "figure_"} < documented


@pytest.mark.parametrize("ground", ["#f4f1ea", "#1e2228"])
@pytest.mark.parametrize("name", NAMES)
def test_contrast_of_texts_on_light_and_dark_ground(name: str, ground: str) -> None:
    figure = Figure(facecolor=ground)
    axes = figure.add_subplot(facecolor=ground)
    display = example(name, axes)
    inside = getattr(display, "texts_", []) if name == "PathDisplay" else []  # these lie on cells
    texts = [text for text in figure.findobj(Text) if text.get_text() and text not in inside]
    assert len(texts) > 3
    for text in texts:
        assert contrast(to_rgb(text.get_color()), to_rgb(ground)) > 4.5, text.get_text()


@pytest.mark.parametrize(("paper", "ground"), [("black", (0, 0, 0)), ("none", (1, 1, 1))])
def test_ground_of_a_part_is_that_of_its_figure_or_white_paper(paper: str, ground: Any) -> None:
    part = Figure(facecolor=paper).subfigures(1, 2)[0]
    axes = example("GraphDisplay", part.add_subplot(facecolor="none")).ax_
    for text in (axes.xaxis.label, axes.get_legend().get_texts()[0]):
        assert contrast(to_rgb(text.get_color()), ground) > 4.5


@pytest.mark.parametrize("name", [*NAMES, "scatter_predictions"])
def test_a_missing_matplotlib_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [m for m in sys.modules if m.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, module, None)
    named = r"lapwing\.plotting needs 'matplotlib'.*lapwing-learn\[plot\]"
    with pytest.raises(ImportError, match=named):
        example(name) if name in NAMES else scatter(X, TRUTH)


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_documentation(name: str) -> None:
    (test,) = doctest.DocTestFinder(recurse=False).find(getattr(plotting, name), name)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


# --- a decision map ------------------------------------------------------------------------------


def offsets(artist: Any) -> Array:
    return np.asarray(artist.get_offsets())


@pytest.mark.parametrize("framed", [False, True])
def test_axes_are_named_by_columns(framed: bool) -> None:
    points = pd.DataFrame(X, columns=["width", "height"]) if framed else X
    model = LapSVC().fit(points, Y)
    axes = draw_map(model, points, Y, resolution=5).ax_
    assert (axes.get_xlabel(), axes.get_ylabel()) == (("width", "height") if framed else ("", ""))
    axes = draw_graph(model, points).ax_
    named = ("width", "height") if framed else ("first feature", "second feature")
    assert (axes.get_xlabel(), axes.get_ylabel()) == named


def of_kernel() -> Any:
    """A fit to a kernel matrix."""
    graph = AffinityGraph(MODEL.affinity_)
    return LapSVC("precomputed", graph=graph).fit(X @ X.T, Y)


# --- a graph -------------------------------------------------------------------------------------


def test_edges_join_neighbours_and_weigh_as_in_the_graph() -> None:
    W = np.array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]])
    places = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    model = LapSVC(graph=AffinityGraph(sp.csr_array(W))).fit(places, [0, -1, 1])
    display = draw_graph(model, places)
    light, heavy = display.edges_.get_segments()
    np.testing.assert_array_equal(heavy, places[[0, 1]])
    np.testing.assert_array_equal(light, places[[1, 2]])
    np.testing.assert_allclose(display.edges_.get_linewidths(), [0.9, 1.5])
    alpha = display.edges_.get_colors()[:, 3]
    np.testing.assert_allclose(alpha, [0.525, 0.9])
    np.testing.assert_array_equal(offsets(display.unlabeled_), places[[1]])
    np.testing.assert_array_equal([offsets(one)[0] for one in display.labeled_], places[[0, 2]])


def test_points_have_the_colour_of_their_answer() -> None:
    display = draw_graph(MODEL, X)
    free = Y == -1
    expected = [to_rgba(plotting.PALETTE[k]) for k in MODEL.transduction_[free]]
    np.testing.assert_allclose(display.unlabeled_.get_facecolors(), expected)
    assert isinstance(display.edges_, LineCollection)
    assert len(display.edges_.get_segments()) == MODEL.affinity_.nnz // 2


@pytest.mark.parametrize("estimator", [LapSVC(), lapwing.LapERLSClassifier(), S3VC(gamma_I=0.1)])
def test_equal_rows_are_one_point_labelled_by_any_of_them(estimator: Any) -> None:
    # The last row is the first one again, and the only one of both that has a label.
    points, y = np.vstack([X, X[:1]]), np.append(Y, TRUTH[0])
    y[0] = -1
    display = draw_graph(estimator.fit(points, y), points)
    assert display.affinity.shape == (30, 30)
    np.testing.assert_array_equal(display.layout, X)
    assert display.labeled.tolist() == ((Y != -1) | (np.arange(30) == 0)).tolist()


@pytest.mark.parametrize("sparse", [False, True])
def test_many_features_are_drawn_by_principal_components(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    wide = np.column_stack([rng.normal(size=30), 9 * TRUTH, 5 * rng.normal(size=30), X])
    model = LapSVC().fit(sp.csr_array(wide) if sparse else wide, Y)
    display = draw_graph(model, sp.csr_array(wide) if sparse else wide)
    centred = wide - wide.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(display.layout), np.abs(U[:, :2] * s[:2]), atol=1e-6)
    assert display.ax_.get_xlabel() == "first principal component"


def test_graphs_of_other_inputs() -> None:
    display = draw_graph(LapSVC().fit(X[:, :1], Y), X[:, :1])
    np.testing.assert_array_equal(display.layout, np.column_stack([X[:, 0], np.zeros(30)]))
    pipeline = make_pipeline(StandardScaler(), LapSVC()).fit(X, Y)
    np.testing.assert_allclose(draw_graph(pipeline, X).layout, StandardScaler().fit_transform(X))
    display = draw_graph(of_kernel(), X @ X.T, layout=X, legend=False)
    np.testing.assert_array_equal(display.layout, X)
    assert display.ax_.get_xlabel() == ""
    numbers = lapwing.LapRLSRegressor().fit(X, np.where(Y < 0, np.nan, X[:, 0]))
    display = draw_graph(numbers, X)
    legend = display.ax_.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["unlabelled", "labelled"]
    np.testing.assert_array_equal(offsets(display.labeled_[0]), X[Y >= 0])


# --- a path of parameters ------------------------------------------------------------------------


def errors_of_settings(measure: str = "left_out_squared_error") -> pd.DataFrame:
    return pd.DataFrame(PATH.cv_results_["params"]).assign(error=PATH.cv_results_[measure])


@pytest.mark.parametrize("measure", ["left_out_squared_error", "left_out_error"])
def test_cells_hold_the_least_error_of_their_values(measure: str) -> None:
    display = draw_path(PATH, measure=measure)
    assert display.parameters == ("gamma_A", "gamma_I")
    least = errors_of_settings(measure).pivot_table("error", "gamma_I", "gamma_A", aggfunc="min")
    np.testing.assert_array_equal(display.image_.get_array(), least)
    written = {text.get_text() for text in display.texts_}
    assert written == {f"{error:.3g}" for error in least.to_numpy().flat}
    best = PATH.best_params_
    at = (GRID["gamma_As"].index(best["gamma_A"]), GRID["gamma_Is"].index(best["gamma_I"]))
    assert display.best == at
    ((x, y),) = display.best_.get_xydata()
    assert (round(x), round(y)) == at
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0.0001", "0.01"]
    assert display.colorbar_.ax.get_ylabel().startswith("Leave-one-out sq") == ("sq" in measure)


def test_the_chosen_setting_has_the_least_squared_error_of_all() -> None:
    display = draw_path(PATH, colorbar=False)
    assert display.errors[display.best] == np.nanmin(display.errors) == -PATH.best_score_
    assert display.colorbar_ is None


def test_one_parameter_is_a_line() -> None:
    display = draw_path(PATH, parameters=["gamma_I"])
    assert display.image_ is None
    expected = errors_of_settings().groupby("gamma_I")["error"].min().to_numpy()
    np.testing.assert_array_equal(display.line_.get_ydata(), expected)
    chosen = GRID["gamma_Is"].index(PATH.best_params_["gamma_I"])
    np.testing.assert_array_equal(display.best_.get_xydata(), [[chosen, expected[chosen]]])
    assert display.ax_.get_ylabel() == "Leave-one-out squared error"


def test_graphs_as_values_of_an_axis() -> None:
    display = draw_path(PATH, parameters=["graph"])
    assert len(display.values[0]) == len({repr(p["graph"]) for p in PATH.cv_results_["params"]})
    words = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert words[0].startswith("KNNGraph(")
    assert repr(display.values[0][display.best[0]]) == repr(PATH.best_params_["graph"])


def test_axes_are_the_parameters_with_several_values() -> None:
    one = LapRLSClassifierCV(gamma_As=[0.01], gamma_Is=[0.1, 1.0], gammas=[0.5, 1.0])
    assert draw_path(one.fit(X, Y)).parameters == ("gamma_I", "gamma")
    y = np.where(Y < 0, np.nan, X[:, 0])
    fixed = {"gammas": [0.5], "graphs": [MODEL.affinity_]}
    alone = lapwing.LapRLSRegressorCV(gamma_As=[0.01], gamma_Is=[0.1], **fixed).fit(X, y)
    assert draw_path(alone).errors.shape == (1,)


def test_errors_are_written_in_at_most_a_hundred_cells() -> None:
    shared: Any = {"parameters": ("gamma_A", "gamma_I"), "best": (0, 0)}
    for errors, written in (
        (np.array([[0.1, np.nan], [0.2, 0.3]]), ["0.1", "none", "0.2", "0.3"]),
        (np.ones((1, 100)), 100 * ["1"]),
        (np.ones((1, 101)), []),
    ):
        values = tuple([*range(n)] for n in errors.shape)
        display = plotting.PathDisplay(values=values, errors=errors, **shared).plot()
        assert [text.get_text() for text in display.texts_] == written
        display.figure_.savefig(io.BytesIO())


# --- convergence ---------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["objective", "gradient", "preconditioned", "mixed"])
def test_history_by_iteration(quantity: str) -> None:
    display = draw_convergence(SOLVED, quantity=quantity)
    history = SOLVED.history_[quantity]
    for k, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_ydata(), history[:, k])
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(history) + 1))
        assert line.get_label() == str(k)
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == "Iteration"


def test_objectives_of_starts() -> None:
    model = S3VC(n_init=3, random_state=0).fit(X, Y)
    display = draw_convergence(model)
    assert len(display.lines_) == 3
    for line, values, pair in zip(display.lines_, model.objectives_, model.pairs_, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
        assert line.get_linestyle() == "None"
        assert line.get_label() == f"{pair[0]} or {pair[1]}"
    assert display.ax_.get_xlabel() == "Start"
    assert display.ax_.get_ylabel() == "Objective at the end"


def test_single_column_has_no_legend() -> None:
    model = lapwing.BalancedGraphClassifier().fit(X, Y)
    display = draw_convergence(model)
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_ydata(), model.history_["objective"][:, 0])
    assert display.ax_.get_legend() is None
    with pytest.raises(ValueError, match="quantity='gradient' is not one of objective"):
        draw_convergence(model, quantity="gradient")


# --- calibration ---------------------------------------------------------------------------------


def test_calibration_bins() -> None:
    display = calibrate(SO, PROBA, n_bins=4)
    quarter = np.minimum((4 * PROBA).astype(int), 3)
    expected = [(PROBA[quarter == k].mean(), SO[quarter == k].mean()) for k in range(4)]
    np.testing.assert_allclose(display.points_.get_xydata(), expected)
    assert display.counts.tolist() == np.bincount(quarter).tolist()
    assert [text.get_text() for text in display.texts_] == [f"{n} rows" for n in display.counts]
    distances = [abs(a - b) for a, b in expected]
    mean = float(np.average(distances, weights=np.bincount(quarter)))
    assert display.expected_calibration_error == pytest.approx(mean)
    assert display.ax_.get_xlabel() == "Probability of True"
    np.testing.assert_array_equal(display.line_.get_xydata(), [[0, 0], [1, 1]])


def test_intervals_are_wilsons() -> None:
    """The bounds p are where the share lies as many standard errors of p itself away."""
    display = calibrate(SO, PROBA, confidence=0.9)
    z = 1.6448536269514722
    for bound in (display.lower, display.upper):
        distance = np.abs(display.prob_true - bound)
        np.testing.assert_allclose(distance, z * np.sqrt(bound * (1 - bound) / display.counts))
    assert (display.lower < display.prob_true).all()
    assert (display.prob_true < display.upper).all()
    drawn = [segment[:, 1].tolist() for segment in display.intervals_.get_segments()]
    np.testing.assert_array_equal(drawn, np.column_stack([display.lower, display.upper]))


@pytest.mark.parametrize(
    ("y", "proba", "options", "counts", "predicted", "occurred"),
    [
        ([0, 1], [0.0, 1.0], {"n_bins": 2}, [1, 1], [0, 1], [0, 1]),
        # Rows without a label and empty bins are left out.
        (["a", "b", None, "b"], [0.1, 0.9, 0.5, 0.9], {"n_bins": 9}, [1, 2], [0.1, 0.9], [0, 1]),
        ([*"ab?b"], [0.1, 0.9, 0.5, 0.9], {"unlabeled": "?"}, [1, 2], [0.1, 0.9], [0, 1]),
        # 0.5 and 0.4 lie in the lower half, which holds its upper edge.
        ([0, 1, 2, 1], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5], [0.3, 0.3, 0.4]],
         {"n_bins": 2}, [2, 2], [0.45, 0.75], [0.5, 1]),
        ([0, 0, 1, 1], [0, 0.01, 0.02, 1], {"n_bins": 2, "strategy": "quantile"}, [2, 2],
         [0.005, 0.51], [0, 1]),
    ],
)  # fmt: skip
def test_bins_of_labelled_rows(
    y: Any, proba: Any, options: Any, counts: Any, predicted: Any, occurred: Any
) -> None:
    display = calibrate(y, proba, **options)
    assert display.counts.tolist() == counts
    np.testing.assert_allclose(display.prob_pred, predicted)
    np.testing.assert_array_equal(display.prob_true, occurred)
    bounds = np.concatenate([display.lower, display.upper])
    assert bounds.min() >= 0
    assert bounds.max() <= 1
    assert [text.get_text() for text in display.texts_] == [
        f"{n} row{'s' * (n > 1)}" for n in counts
    ]
    words = "is right" if np.ndim(proba) == 2 else f"is {y[-1]}"
    assert display.ax_.get_ylabel() == f"Share that {words}"


def test_calibration_of_an_estimator() -> None:
    y = TRUTH > 0
    model = LogisticRegression().fit(X, y)
    display = plotting.CalibrationDisplay.from_estimator(model, X, y)
    other = calibrate(y, model.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(display.prob_true, other.prob_true)
    np.testing.assert_array_equal(display.prob_pred, other.prob_pred)


# --- intervals of numbers ------------------------------------------------------------------------


def test_true_values_within_and_outside_their_intervals() -> None:
    true = np.where(np.arange(200) % 4, PROBA, np.nan)
    display = draw_intervals(true, y_pred=PROBA**2, y_interval=ENDS)
    holds = (ENDS[:, 0] <= true) & (true <= ENDS[:, 1])
    known = ~np.isnan(true)
    assert 0.2 < display.held == holds[known].mean() < 0.9
    for artist, rows in ((display.points_, holds), (display.missed_, known & ~holds)):
        drawn = np.column_stack([PROBA[rows] ** 2, true[rows]])
        np.testing.assert_array_equal(artist.get_xydata(), drawn)
    segments = np.stack(display.intervals_.get_segments())
    np.testing.assert_array_equal(segments[:, :, 1], ENDS)
    np.testing.assert_array_equal(segments[:, 0, 0], PROBA**2)


def test_intervals_of_a_model_over_a_column() -> None:
    x = np.linspace(0, 1, 30)
    y = np.where(np.arange(30) % 2, np.sin(x), np.nan)
    model = lapwing.LapRLSRegressor().fit(x[:, None], y)
    axes = Figure().add_subplot()
    display = plotting.PredictionIntervalDisplay.from_estimator(
        model, x[:, None], coverage=0.8, x=x, ax=axes
    )
    ends = np.column_stack([display.lower, display.upper])
    np.testing.assert_array_equal(ends, model.predict_interval(x[:, None], 0.8))
    np.testing.assert_array_equal(display.line_.get_xydata().T, [x, model.predict(x[:, None])])
    assert np.isnan(display.held)
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["80% interval", "predicted"]


# --- errors --------------------------------------------------------------------------------------


def without_left_out_labels() -> Any:
    y = Y.copy()
    y[np.flatnonzero(Y == 0)[1:]] = -1
    with pytest.warns(UserWarning, match="label"):
        return LapRLSClassifierCV(**GRID).fit(X, y)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: draw_map(MODEL, X, np.where(Y == 2, 7, Y)),
         "y contains the label 7, which is not one of the classes 0, 1, 2. If it marks rows "
         "without a label, pass unlabeled=7."),
        (lambda: draw_map(MODEL, X[:, :1]), "draws two features, but X has 1"),
        (lambda: draw_map(MODEL, X, [0]), "inconsistent numbers of samples: [30, 1]"),
        *((lambda size=size: draw_map(MODEL, X, resolution=size),
           f"resolution={size!r} must be a whole number of 2 or more.") for size in (1, 8.0, "8")),
        (lambda: draw_map(SVC(), X), "not fitted"),
        (lambda: draw_map(SVR(), X), "SVR is no classifier with decision_function."),
        (lambda: draw_map(KNeighborsClassifier().fit(X, TRUTH), X),
         "KNeighborsClassifier is no classifier with decision_function."),
        (lambda: draw_map(SVC(decision_function_shape="ovo").fit(X, np.arange(30) % 4), X),
         "The decision_function of SVC must have a column for each of the 4 classes, and has 6."),
        (lambda: scatter(np.ones((30, 3)), TRUTH), "two columns, got 3"),
        (lambda: scatter(X, TRUTH[1:]), "numbers of samples: [30, 29, 30, 30]"),
        *((lambda confidence=confidence: scatter(X, TRUTH, confidence=confidence),
           "confidence must not be negative, NaN or infinite; give")
          for confidence in (np.full(30, -1.0), np.full(30, np.nan), np.full(30, np.inf))),
        (lambda: scatter(X, TRUTH, confidence=np.ones((30, 3))),
         "confidence has shape (30, 3): give one value for each point."),
        (lambda: scatter(X, TRUTH, classes=[1, 2]),
         "The predicted class 0 is not in classes. Add it."),
        (lambda: scatter(X, TRUTH, labeled=[True]),
         "numbers of samples: [30, 30, 1, 30]"),
        (lambda: scatter(X, TRUTH, truth=TRUTH[:3]),
         "truth must have one entry for each of the 30 points"),
        (lambda: draw_graph(LapSVC(), X), "not fitted yet"),
        (lambda: draw_graph(LapSVC(gamma_I=0).fit(X, Y), X),
         "This LapSVC has no graph of neighbours. Fit with gamma_I > 0."),
        (lambda: draw_graph(S3VC().fit(X, Y), X),
         "This S3VC has no graph of neighbours. Fit with gamma_I > 0."),
        (lambda: draw_graph(lapwing.AnchorGraphClassifier().fit(X, Y), X),
         "This AnchorGraphClassifier has no graph of neighbours. LapSVC, "),
        (lambda: draw_graph(LogisticRegression().fit(X, TRUTH), X),
         "This LogisticRegression has no graph of neighbours. LapSVC, "),
        *((lambda draw=draw, model=model: draw(model.fit(X, np.where(Y < 0, np.nan, [Y, Y]).T)),
           "The display is for a single target, and this model was fitted to 2. Use")
          for draw, model in ((lambda model: draw_graph(model, X), lapwing.LapRLSRegressor()),
                              (draw_path, lapwing.LapRLSRegressorCV()),
                              (draw_convergence, lapwing.LapRLSRegressor(solver="pcg")))),
        (lambda: draw_graph(MODEL, X[:5]),
         "X has 5 rows and the fit had 30. Give the X of the fit."),
        (lambda: draw_graph(MODEL, X, layout=X[:, :1]),
         "layout must have two columns and 30 rows, got shape (30, 1)."),
        (lambda: draw_graph(of_kernel(), X @ X.T),
         "X is a kernel matrix. Give coordinates of the rows by layout=."),
        (lambda: draw_path(MODEL),
         "LapSVC has no leave-one-out errors of several settings. Fit LapRLSClassifierCV"),
        (lambda: draw_path(PATH, measure="fit_time"),
         "measure='fit_time' is not one of left_out_squared_error, left_out_error."),
        (lambda: draw_path(PATH, parameters=["C"]),
         "parameters=['C'] must be one or two different names out of gamma_A, gamma_I, "),
        (lambda: draw_path(PATH, parameters=["gamma", "gamma"]),
         "must be one or two different names"),
        (lambda: draw_path(without_left_out_labels()),
         "No setting has an error, because a class has a single label"),
        (lambda: draw_convergence(MODEL),
         "LapSVC was solved by 'dual', which records no iterations. Fit with solver='pcg'."),
        (lambda: draw_convergence(lapwing.AnchorGraphClassifier().fit(X, Y)),
         "AnchorGraphClassifier records no iterations. LapSVC, "),
        (lambda: draw_convergence(SOLVED, quantity="loss"),
         "quantity='loss' is not one of objective, gradient, preconditioned, mixed."),
        (lambda: plotting.CalibrationDisplay.from_estimator(SVR().fit(X, TRUTH), X, TRUTH),
         "SVR has no predict_proba. Give labels and probabilities to CalibrationDisplay."),
        (lambda: plotting.PredictionIntervalDisplay.from_estimator(SVR().fit(X, TRUTH), X),
         "SVR has no predict_interval. Give predictions and their intervals to "
         "PredictionIntervalDisplay.from_predictions."),
        (lambda: draw_intervals(y_pred=[1, 2], y_interval=[1, 2]),
         "y_pred has shape (2,) and y_interval (2,): give n values"),
        (lambda: draw_intervals(y_pred=[1], y_interval=[[2, 1]]),
         "The lower end of row 0 of y_interval, 2, lies above its upper one."),
        (lambda: draw_intervals([1], y_pred=[1, 2], y_interval=ENDS[:2]),
         "inconsistent numbers of samples: [2, 1]"),
        (lambda: draw_intervals(y_pred=[1, 2], y_interval=ENDS[:2], x=[[1], [2]]),
         "x has shape (2, 1): give one value for each row."),
        (lambda: draw_intervals(y_pred=[1, 2], y_interval=ENDS[:2], coverage=90),
         "coverage=90 must be a number between 0 and 1, or None."),
        (lambda: calibrate([0, 1], [0.1, 1.2]),
         "y_proba must hold probabilities, numbers from 0 to 1 and no NaN."),
        (lambda: calibrate([0, 1], [0.1, np.nan]), "y_proba must hold probabilities"),
        (lambda: calibrate([0, 1, 2], [0.1, 0.2, 0.3]),
         "y_proba has shape (3,) and there are 3 classes (0, 1, 2). Give a column for each"),
        (lambda: calibrate([0, 1], np.ones((2, 2, 2))), "y_proba has shape (2, 2, 2)"),
        (lambda: calibrate([0, 1, 1], [0.1, 0.2]), "inconsistent numbers of samples: [2, 3]"),
        *((lambda classes=classes: calibrate([-1, -1], [0.1, 0.2], classes=classes),
           "No row of y_true has a label.") for classes in (None, [0, 1])),
        (lambda: calibrate([0, 1], [0.1, 0.2], n_bins=0),
         "n_bins=0 must be an integer of 1 or more."),
        (lambda: calibrate([0, 1], [0.1, 0.2], strategy="same"),
         "strategy='same' is not one of uniform, quantile."),
        *((lambda level=level: calibrate([0, 1], [0.1, 0.2], confidence=level),
           f"confidence={level!r} must lie between 0 and 1.") for level in (95, "95")),
    ],
)  # fmt: skip
def test_rejects_wrong_input(draw: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        draw()
