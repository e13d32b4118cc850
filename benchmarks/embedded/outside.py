"""Table IV and Figure 4: extended USPS, predictions for 266,079 points of the training part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.embedded.grid import GridFit, Tuning
from benchmarks.embedded.large import N_LANDMARKS
from benchmarks.embedded.prepared import Prepared, search_graph
from benchmarks.shared.data import Data, extended_usps_training
from benchmarks.shared.measuring import timed_fit, with_seconds
from lapwing import Landmarks, LapERLSClassifier

UNLABELED_COUNTS = (500, 2000, 8000, 30_000, 75_363)  # Figure 4: unlabelled points
EVERY = 13  # every 13th point outside is used in Figure 4; not a divisor of the 121 offsets


@dataclass(frozen=True)
class OutsideResult:
    """Errors and times for points outside the sample.

    Attributes
    ----------
    n_points : int
    errors : mapping of str to list of float
        Error (%) of each draw (a single one for baselines).
    seconds : mapping of str to float
        Seconds of a prediction per point.
    """

    n_points: int
    errors: Mapping[str, list[float]]
    seconds: Mapping[str, float]


def run_outside(
    fits: Mapping[str, tuple[Prepared, GridFit]], models: Mapping[str, Any]
) -> OutsideResult:
    """Evaluate all fits of embedded regression and one model per baseline, block by block."""
    wrong: dict[str, Any] = dict.fromkeys((*fits, *models), 0)
    seconds = dict.fromkeys(wrong, 0.0)
    n_points = 0
    for block in extended_usps_training():
        n_points += len(block.y)
        for name, (where, fit) in fits.items():
            values, took = with_seconds(where.embedding.predict, block.X, fit)
            seconds[name] += took / values.shape[1]
            wrong[name] = wrong[name] + np.sum((values >= 0) != (block.y[:, None] == 1), axis=0)
        for name, model in models.items():
            predicted, took = with_seconds(model.predict, block.X)
            seconds[name] += took
            wrong[name] = wrong[name] + np.array([np.sum(predicted != block.y)])
    return OutsideResult(
        n_points,
        {name: (100 * count / n_points).tolist() for name, count in wrong.items()},
        {name: took / n_points for name, took in seconds.items()},
    )


def run_sizes(
    points: Prepared,
    tuning: Tuning,
    n_ev: int,
    n_draws: int,
    sizes: Sequence[int] = UNLABELED_COUNTS,
) -> dict[str, list[float]]:
    """Compute Figure 4: mean error outside and seconds of a fit by number of unlabelled points."""
    X, y = points.data.X, points.data.y
    blocks = [(block.X[::EVERY], block.y[::EVERY]) for block in extended_usps_training()]
    outside = Data(np.vstack([b for b, _ in blocks]), np.concatenate([b for _, b in blocks]))
    found: dict[str, list[float]] = {"size": [], "error": [], "seconds": []}
    for size in sizes:
        rates, times = [], []
        for number, one in enumerate(points.draws[:n_draws]):
            rng = np.random.default_rng([number, size])
            rest = np.setdiff1d(np.arange(len(y)), one.labeled)
            rows = np.concatenate([one.labeled, rng.permutation(rest)[:size]])
            marked = np.where(np.arange(len(rows)) < len(one.labeled), y[rows], -1)
            model = LapERLSClassifier(
                **tuning._asdict(),
                gamma=points.recipe.gamma,
                n_eigenvectors=n_ev,
                graph=search_graph(points.recipe.graph.n_neighbors, X[rows]),
                space=Landmarks(N_LANDMARKS),
            )
            model, seconds = timed_fit(model, X[rows], marked.astype(np.int64))
            rates.append(100 * float(np.mean(model.predict(outside.X) != outside.y)))
            times.append(seconds)
        found["size"].append(float(size))
        found["error"].append(float(np.mean(rates)))
        found["seconds"].append(float(np.mean(times)))
    return found
