"""Table III and Figure 3: FACEMIT, MNIST and extended USPS, with few labels.

Section V-C1: ten draws of ten labelled points per class and 1000 validation points, parameters with
the least mean error on the validation points, errors on all other points. To save time, the paper
selects parameters on small problems of labelled and validation points only; here the validation
points are among the unlabelled points of the large problem, for which all settings are computed
anyway. So all draws use the same graph, eigenpairs and landmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.embedded.grid import (
    DEFAULT_N_EV,
    DEFAULTS,
    GRID,
    WEIGHT_VALUES,
    Embedding,
    GridFit,
    Tuning,
    landmark_embedding,
    paper_gamma,
)
from benchmarks.embedded.library import SOLVERS, Agreement, library_values
from benchmarks.shared.data import Data, load_extended_usps, load_facemit, load_mnist
from lapwing import AffinityGraph, KNNGraph, Landmarks
from lapwing.datasets import mask_labels
from lapwing.graphs import Laplacian, smallest_eigenpairs
from lapwing.kernels import make_kernel, scale_gamma

Array = NDArray[Any]
Targets = Callable[[NDArray[np.int64]], NDArray[np.int64]]
LABELS_A_CLASS, N_VALIDATION = 10, 1000
N_LANDMARKS = 1000  # lapwing's default; the paper's functions are expansions over all points
# Number of principal components for the neighbour search, which takes a tenth of the time.
N_COMPONENTS = 50
# LapESVR uses the setting of LapERLS, with this limit of C, on this number of draws, as a column
# takes seconds instead of a millisecond for LapERLS.
TUBE_LIMIT, TUBE_DRAWS = 10.0, 3
CHECK_POINTS, CHECK_LANDMARKS = 4000, 200
LARGE_N_EV = (4, 8, 10, 20, 30, 50, 100)  # Figure 3


class BinaryTask(NamedTuple):
    """Problem with two classes."""

    name: str
    title: str
    targets: Targets


class Source(NamedTuple):
    """Set of Table I with its binary problems; points are drawn by its original classes."""

    name: str
    load: Callable[[], Data]
    n_neighbors: int
    n_ev: int
    tasks: tuple[BinaryTask, ...]


def load_mnist_training() -> Data:
    """Load the first 60,000 digits, with pixels in [0, 1]."""
    data = load_mnist()
    return Data(data.X[:60_000] / np.float32(255), data.y[:60_000])


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source("facemit", load_facemit, 6, 10, (BinaryTask("facemit", "FACEMIT", lambda y: y),)),
        Source(
            "mnist",
            load_mnist_training,
            20,
            20,
            (
                BinaryTask("mnist1", "MNIST1", lambda y: (y >= 5).astype(np.int64)),
                BinaryTask("mnist2", "MNIST2", lambda y: y % 2),
            ),
        ),
        Source(
            "usps", load_extended_usps, 6, 10, (BinaryTask("usps", "extended USPS", lambda y: y),)
        ),
    )
}


class Draw(NamedTuple):
    """Rows of labelled, validation and all other points."""

    labeled: NDArray[np.int64]
    validation: NDArray[np.int64]
    unlabeled: NDArray[np.int64]


def draw_rows(y: NDArray[np.int64], seed: int, number: int) -> Draw:
    """Draw ten points of each class, 1000 of the others, and return the rest."""
    rng = np.random.default_rng([seed, number])
    labeled = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), LABELS_A_CLASS, replace=False) for c in np.unique(y)]
    )
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), labeled))
    return Draw(labeled, np.sort(rest[:N_VALIDATION]), np.sort(rest[N_VALIDATION:]))


class Recipe(NamedTuple):
    """Graph and function space."""

    graph: KNNGraph
    n_ev: int
    gamma: float
    n_landmarks: int


def search_graph(n_neighbors: int, X: Any, power: int = 1) -> KNNGraph:
    """Return the graph recipe for points with many features."""
    reduced = N_COMPONENTS if min(X.shape) > N_COMPONENTS else None
    return KNNGraph(n_neighbors, power=power, n_components=reduced)


def paper_recipe(
    source: Source, X: Any, *, curves: bool = False, n_landmarks: int = N_LANDMARKS
) -> Recipe:
    """Return the recipe of Table I and Section V."""
    n_ev = max(LARGE_N_EV) if curves else source.n_ev
    return Recipe(search_graph(source.n_neighbors, X), n_ev, paper_gamma(X), n_landmarks)


def default_recipe(X: Any) -> Recipe:
    """Return the defaults of lapwing's classifiers (for more than three features)."""
    return Recipe(search_graph(5, X, power=2), DEFAULT_N_EV, scale_gamma(X), N_LANDMARKS)


@dataclass(frozen=True)
class Ground:
    """Data, graph and embedding that all draws of a source share.

    Attributes
    ----------
    data : Data
    recipe : Recipe
    affinity : sparse
    embedding : Embedding
    draws : sequence of Draw
    """

    data: Data
    recipe: Recipe
    affinity: Any
    embedding: Embedding
    draws: Sequence[Draw]


@dataclass(frozen=True)
class LargeResult:
    """Results of one task.

    Attributes
    ----------
    task : Task
    n_points : int
    errors : mapping of str to list of float
        Error (%) on the unlabelled points for each draw, by 'method answer choice'.
    chosen : mapping of str to Tuning
    fits : mapping of str to GridFit
        Fits by 'method choice', at the setting selected for f; columns are draws.
    curves : mapping of str to list of float
        Mean errors against `SHOWN_N_EV`, and seconds of one fit of the library ('seconds').
    agreement : mapping of str to Agreement
        Agreement with the library's estimators, for LapESVR on a part of the points.
    """

    task: BinaryTask
    n_points: int
    errors: dict[str, list[float]] = field(default_factory=dict)
    chosen: dict[str, Tuning] = field(default_factory=dict)
    fits: dict[str, GridFit] = field(default_factory=dict)
    curves: dict[str, list[float]] = field(default_factory=dict)
    agreement: dict[str, Agreement] = field(default_factory=dict)


def prepare_ground(data: Data, recipe: Recipe, draws: Sequence[Draw]) -> Ground:
    """Compute graph, eigenpairs and landmarks."""
    affinity = recipe.graph.affinity(data.X)
    laplacian = Laplacian.from_affinity(affinity, dtype=data.X.dtype)
    pairs = smallest_eigenpairs(laplacian, recipe.n_ev)
    kernel = make_kernel("rbf", data.X, gamma=recipe.gamma)
    embedding = landmark_embedding(kernel, data.X, pairs, recipe.graph.power, recipe.n_landmarks)
    return Ground(data, recipe, affinity, embedding, draws)


def run_task(source: Source, task: BinaryTask, ground: Ground, *, checked: bool) -> LargeResult:
    """Run both methods, select parameters on validation points, and compare with the library."""
    y = task.targets(ground.data.y)
    result = LargeResult(task, len(y))
    grid = validation_errors(ground, y, "laperls", GRID, source.n_ev)
    for answer, rows in grid.items():
        result.chosen[f"laperls {answer}"] = GRID[int(np.argmin(rows.mean(axis=0)))]
        fit = fit_draws("laperls", ground, y, [result.chosen[f"laperls {answer}"]], source.n_ev)
        result.errors[f"laperls {answer} validated"] = errors(ground, y, fit)[answer]
        if answer == "f":
            result.fits["laperls validated"] = fit
    base = result.chosen["laperls f"]
    result.chosen["lapesvr f"] = base._replace(C=min(base.C, TUBE_LIMIT))
    few = replace(ground, draws=ground.draws[:TUBE_DRAWS])
    fit = fit_draws("lapesvr", few, y, [result.chosen["lapesvr f"]], source.n_ev)
    for answer, row in errors(few, y, fit).items():
        result.errors[f"lapesvr {answer} validated"] = row
    result.fits["lapesvr validated"] = fit
    if not checked:
        return result
    result.agreement["laperls"] = _agreement(
        "laperls", ground, y, result.chosen["laperls f"], source.n_ev
    )
    part = _part(ground, source.n_ev)
    rows = part.draws[0].labeled
    known = y[: len(part.data.y)]
    if len(np.unique(known[rows])) == 2:
        result.agreement["lapesvr"] = _agreement(
            "lapesvr", part, known, result.chosen["lapesvr f"], source.n_ev
        )
    return result


def add_defaults(result: LargeResult, preset: Ground) -> None:
    """Add LapERLS with lapwing's defaults."""
    y = result.task.targets(preset.data.y)
    fit = fit_draws("laperls", preset, y, [DEFAULTS], preset.recipe.n_ev)
    for answer, row in errors(preset, y, fit).items():
        result.errors[f"laperls {answer} default"] = row
    result.fits["laperls default"] = fit


def add_curves(result: LargeResult, ground: Ground, *, timed: bool) -> None:
    """Add Figure 3: LapERLS at the selected setting against the number of eigenvectors."""
    y = result.task.targets(ground.data.y)
    for answer in "fg":
        tuning = result.chosen[f"laperls {answer}"]
        fits = (fit_draws("laperls", ground, y, [tuning], k) for k in LARGE_N_EV)
        result.curves[f"laperls {answer}"] = [
            float(np.mean(errors(ground, y, fit)[answer])) for fit in fits
        ]
    if timed:
        result.curves["seconds"] = [
            _library("laperls", ground, y, result.chosen["laperls f"], k, N_LANDMARKS)[1]
            for k in LARGE_N_EV
        ]


def validation_errors(
    ground: Ground, y: NDArray[np.int64], method: str, grid: Sequence[Tuning], n_ev: int
) -> dict[str, Array]:
    """Compute errors on the validation points, (n_draws, len(grid)) for f and g."""
    shape = (len(ground.draws), len(grid))
    found = {"f": np.empty(shape), "g": np.empty(shape)}
    for C in WEIGHT_VALUES:
        at = [number for number, tuning in enumerate(grid) if tuning.C == C]
        if not at:
            continue
        fit = fit_draws(method, ground, y, [grid[j] for j in at], n_ev)
        for number, one in enumerate(ground.draws):
            columns = slice(number * len(at), (number + 1) * len(at))
            part = GridFit(*(values[..., columns] for values in fit))
            truth = y[one.validation, None] == 1
            for answer, values in _answers(ground.embedding, part, one.validation).items():
                found[answer][number, at] = 100 * np.mean((values >= 0) != truth, axis=0)
    return found


def fit_draws(
    method: str, ground: Ground, y: NDArray[np.int64], grid: Sequence[Tuning], n_ev: int
) -> GridFit:
    """Fit all settings with one C to all draws, one column for each, draw by draw."""
    sides = [
        ground.embedding.side(one.labeled, 2.0 * y[one.labeled, None] - 1, tuning, n_ev)
        for one in ground.draws
        for tuning in grid
    ]
    return SOLVERS[method](ground.embedding, grid[0].C, sides)


def errors(ground: Ground, y: NDArray[np.int64], fit: GridFit) -> dict[str, list[float]]:
    """Compute the error (%) of f and g on the unlabelled points of each draw."""
    found = {}
    for answer, values in _answers(ground.embedding, fit, slice(None)).items():
        wrong = (values >= 0) != (y[:, None] == 1)
        found[answer] = [
            100 * float(np.mean(wrong[one.unlabeled, j])) for j, one in enumerate(ground.draws)
        ]
    return found


def _answers(embedding: Embedding, fit: GridFit, rows: Any) -> dict[str, Array]:
    return {"f": embedding.values(fit, rows), "g": embedding.virtual(fit, rows)}


def _part(ground: Ground, n_ev: int) -> Ground:
    """Return a problem with the first points only, with a separate draw."""
    data = Data(ground.data.X[:CHECK_POINTS], ground.data.y[:CHECK_POINTS])
    recipe = ground.recipe._replace(n_landmarks=CHECK_LANDMARKS, n_ev=n_ev)
    labeled = np.random.default_rng(0).permutation(CHECK_POINTS)[:100]
    rest = np.setdiff1d(np.arange(CHECK_POINTS), labeled)
    return prepare_ground(data, recipe, [Draw(labeled, rest[:0], rest)])


def _agreement(
    method: str, ground: Ground, y: NDArray[np.int64], tuning: Tuning, n_ev: int
) -> Agreement:
    """Compare the library's estimator with the grid on the first draw."""
    theirs, _ = _library(method, ground, y, tuning, n_ev, ground.recipe.n_landmarks)
    fit = fit_draws(method, ground, y, [tuning], n_ev)
    return Agreement.of(ground.embedding.values(fit)[:, 0], theirs)


def _library(
    method: str, ground: Ground, y: NDArray[np.int64], tuning: Tuning, n_ev: int, n_landmarks: int
) -> tuple[Array, float]:
    marked = mask_labels(y, labeled_indices=ground.draws[0].labeled)
    return library_values(
        method,
        ground.data.X,
        marked,
        tuning,
        gamma=ground.recipe.gamma,
        n_eigenvectors=n_ev,
        graph=AffinityGraph(ground.affinity, power=ground.recipe.graph.power),
        space=Landmarks(n_landmarks),
    )
