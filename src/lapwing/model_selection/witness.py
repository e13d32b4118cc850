"""What the labels alone say against an answer that came by unlabelled rows.

A method may be stable and wrong: it finds the same gap from any labels, and the gap is not between
the classes. Neither reproducibility nor a few labels left out show it. A second learner does. The
fit to the labels alone knows nothing of gaps and graphs, so it differs from every answer, and by
how much it would differ from a right one can be computed: draw labels out of the answer, fit the
labels alone to those, and count. If the fit to the given labels differs by more, they do not look
like labels of such an answer. (Statisticians call this a posterior predictive check: data that the
model would make are compared with those that are there.)

On g241d, made to mislead, the labels alone differ from `S3VC` on 36 % of the rows with three labels
a class, and would on 13 if it were right; on g241c, where it is right, on 37 and 41.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing._arrays import Array
from lapwing.model_selection.candidates import LABELS_ALONE, Candidate
from lapwing.model_selection.reproducibility import changes_of, mean_of_classes
from lapwing.model_selection.trials import Trial, start

# Draws of labels, each of which costs a fit to the labels alone.
_DRAWS = 10


@dataclass(frozen=True, eq=False)
class Witness:
    """The labels alone.

    Attributes
    ----------
    trial : Trial
    """

    trial: Trial

    def against(self, codes: Array, seed: int) -> float:
        """Share of the rows by which the witness contradicts an answer more than a right one.

        In the mean over the classes of the answer, beyond one standard deviation of what chance
        draws; 0 where nothing speaks against it.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            The answer: class codes, -1 for rows that are left out.
        seed : int
        """
        problem = self.trial.prepared.problem
        answer = codes[problem.rows]
        free = (problem.vertex >= 0) & ~problem.labeled_rows & (codes >= 0)
        if (answer < 0).any() or not free.any():
            return 0.0
        own = self.trial.answers(self.trial.values)[problem.vertex]
        seen = self._mean_of_classes(np.where(free, own != codes, np.nan)[None], codes)
        changes, _ = changes_of(self.trial, answer, _DRAWS, seed)
        by_chance = self._mean_of_classes(changes, codes)
        if not len(by_chance):  # the draws label every row
            return 0.0
        return float(max(0.0, seen[0] - by_chance.mean() - by_chance.std()))

    def _mean_of_classes(self, changes: Array, codes: Array) -> Array:
        """What changes in the mean over the classes; draws that leave no row are left out."""
        each = mean_of_classes(changes, codes, len(self.trial.classes))
        there = ~np.isnan(each)
        count = there.sum(axis=1)
        return np.asarray(np.where(there, each, 0.0).sum(axis=1)[count > 0] / count[count > 0])


def call_witness(
    candidates: Sequence[Candidate], X: Any, y: Any, sample_weight: Any
) -> Witness | None:
    """The first candidate of the labels alone; None without one, or if it cannot be fitted."""
    for candidate in candidates:
        if candidate.assumption == LABELS_ALONE:
            try:
                return Witness(start(candidate.estimator, X, y, sample_weight))
            except Exception:  # it is told where the candidate itself is tried
                return None
    return None
